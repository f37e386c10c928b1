//! `motemix node`, `send` and `inbox`.

use super::address::{ListenAddresses, for_others, of_each_family};
use crate::network::documents::parse_authority;
use clap::{Args, Subcommand};
use motemix_directory::AuthorityKey;
use motemix_readings::senml::{BadNumber, Number, Record, Value};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Runs one node in the foreground until SIGINT or SIGTERM.
///
/// `motemix net up` runs this for each node of a network. If a service manager hands over UDP
/// sockets (LISTEN_FDS), the node uses those. Otherwise it opens the addresses in its
/// configuration.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_long_help = "\
Examples:
  motemix --log info node --config plant/nodes/mix-1/node.toml
  motemix node init mix-1 --listen 192.0.2.7:41001 --mix \\
      --directory 192.0.2.1:7000 --authority \"$(cat north.pub)\""
)]
pub struct Node {
    #[command(subcommand)]
    pub command: Option<NodeCommand>,
    #[command(flatten)]
    pub config: Option<ConfigFile>,
    /// Stops when the process that started this one ends.
    #[arg(long, hide = true, conflicts_with = "detached")]
    pub with_parent: bool,
    /// Continues when the terminal of the process that started this one is gone.
    #[arg(long, hide = true)]
    pub detached: bool,
}

#[derive(Debug, Subcommand)]
pub enum NodeCommand {
    Init(NodeInit),
    RenewKeys(NodeRenewKeys),
}

/// Drops the mix keys of a node that does not run, and makes new ones.
///
/// For what a node cannot notice by itself: a whole disk, or a virtual machine, that was set back
/// to an earlier snapshot. The node takes part again with the first network document that names the
/// new keys; its identity, its messages and its documents stay.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix node renew-keys --config mix-1/node.toml")]
pub struct NodeRenewKeys {
    #[command(flatten)]
    pub config: ConfigFile,
}

/// Makes the keys and the configuration of a node of a network that others run as well.
///
/// The keys are made here and stay here. Writes `NAME.descriptor` into the folder: what the
/// operators of the authorities need to admit the node. From then on the node tells its authorities
/// its keys and addresses by itself, and gets its documents from them or from other nodes.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix node init mix-1 --network orchard --listen 192.0.2.7:41001 --mix \\
      --directory 192.0.2.1:7000 --directory 192.0.2.2:7000 --threshold 2 \\
      --authority \"$(cat north.pub)\" --authority \"$(cat south.pub)\"")]
pub struct NodeInit {
    /// The node's folder, which is made.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The node's name, by default that of the folder: 1 to 32 of a-z, 0-9 and '-'.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Where it listens for datagrams, and gives out documents over TCP. Two are one of IPv4 and
    /// one of IPv6; a host's name stands for its first of each.
    #[arg(long, value_name = "ADDRESS", required = true, value_parser = of_each_family)]
    pub listen: Vec<ListenAddresses>,
    /// Where others find it, if that is somewhere else, as behind a router.
    #[arg(long, value_name = "ADDRESS", value_parser = for_others)]
    pub announce: Vec<SocketAddr>,
    /// Offers to forward packets of others.
    #[arg(long)]
    pub mix: bool,
    /// Keeps messages that arrive for it. By default a mix keeps none.
    #[arg(long)]
    pub receiver: bool,
    /// The network's name, as its authorities have it. Without it, an authority that is served is
    /// asked, and has to know the keys of all that are named here.
    #[arg(long, value_name = "NAME")]
    pub network: Option<String>,
    /// How long an epoch is at the authorities.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1h",
        value_parser = humantime::parse_duration,
        requires = "network"
    )]
    pub epoch_length: Duration,
    /// Host and port of an authority, or of a node that gives out documents; may be repeated.
    #[arg(long = "directory", value_name = "HOST:PORT", required = true)]
    pub directory: Vec<String>,
    /// Ed25519 public key of an authority, 64 hex digits; may be repeated. Compare it with what the
    /// authority's operator says.
    #[arg(long = "authority", value_name = "HEX", required = true, value_parser = parse_authority)]
    pub authorities: Vec<AuthorityKey>,
    /// How many authorities have to have signed a document. By default more than half of those
    /// that are named.
    #[arg(long, value_name = "K")]
    pub threshold: Option<u8>,
}

#[derive(Debug, Args)]
pub struct ConfigFile {
    /// The configuration of a node, DIR/nodes/<name>/node.toml in a network made by `motemix net
    /// init`.
    #[arg(long = "config", value_name = "FILE")]
    pub path: PathBuf,
}

/// Sends one message and waits for its acknowledgement.
///
/// The node of the given configuration sends the message. If that node does not run, it runs inside
/// this command for as long as the message takes. Prints how long the message took, over all tries;
/// with --json, `round_trip_ms` is the time of the acknowledged try alone. Fails if no try is
/// acknowledged.
///
/// What `motemix object` prints is sent as the bytes that were signed, whether it is a line of
/// hexadecimal digits, a JWS, or bytes (--raw).
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix send --config plant/nodes/mote-1/node.toml 'all is well'
  vmstat | tail -1 | motemix send --config plant/nodes/mote-1/node.toml \\
      --to receiver -
  motemix send --config plant/nodes/mote-1/node.toml \\
      --senml t=21.5:Cel --senml door=true --sign mote.key
  motemix object sign mote.key reading.json --path anonymous \\
      --audience motemix | motemix send --config plant/nodes/mote-1/node.toml")]
pub struct Send {
    #[command(flatten)]
    pub config: ConfigFile,
    /// Name of the node to send to. By default the node that gets this node's readings, else
    /// `receiver`.
    #[arg(long, value_name = "NAME")]
    pub to: Option<String>,
    /// The message; without it, or with `-`, it is read from stdin.
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Sends what was measured, as SenML with the time of this moment: a number with or without a
    /// unit (`t=21.5:Cel`), `true`, `false`, or a text (`state=open`). May be repeated.
    #[arg(long, value_name = "NAME=VALUE[:UNIT]", value_parser = parse_record, conflicts_with = "text")]
    pub senml: Vec<Measured>,
    /// Signs it with this key (`motemix id new`), for the node's network and an anonymous path.
    #[arg(long, value_name = "KEY", requires = "senml")]
    pub sign: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Shows what a receiver has received.
///
/// Shows readings in SenML-CBOR (RFC 8428) as values with units, text as text, and everything else
/// in hexadecimal. Works whether the node runs or not. A full inbox takes no more messages; --keep
/// makes room.
///
/// With --json, each message is one JSON object on a line of its own, which `motemix object verify`
/// and other programs take from a pipe.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix inbox --config plant/nodes/receiver/node.toml --last 5
  motemix inbox --config plant/nodes/receiver/node.toml --verify
  motemix inbox --config plant/nodes/receiver/node.toml --since 1h --follow
  motemix inbox --config plant/nodes/receiver/node.toml --json \\
      | motemix object verify --devices devices.db --audience motemix
  motemix inbox --config plant/nodes/receiver/node.toml --keep 1000")]
pub struct Inbox {
    #[command(flatten)]
    pub config: ConfigFile,
    /// How many of the latest messages to show: 20, or with --since all of that time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub last: Option<u32>,
    /// Shows messages that arrived since then: a time such as 2026-11-29T12:00:00Z, or so long ago,
    /// such as 90min.
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub since: Option<SystemTime>,
    /// Goes on, and shows each message when it arrives.
    #[arg(long)]
    pub follow: bool,
    /// Checks signed readings, and shows whose each is; those that are not believed are shown with
    /// the reason. Notes in the list of devices which it has believed, so that none is believed
    /// again.
    #[arg(long)]
    pub verify: bool,
    /// The list of devices, by default that in the node's folder (state/devices.db).
    #[arg(long, value_name = "FILE", requires = "verify")]
    pub devices: Option<PathBuf>,
    /// Shows nothing, and removes all messages but the newest N.
    #[arg(long, value_name = "N", conflicts_with_all = ["last", "since", "follow", "verify"])]
    pub keep: Option<u32>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// One thing that was measured, from the command line.
#[derive(Debug, Clone)]
pub struct Measured(pub Record);

fn parse_record(text: &str) -> Result<Measured, String> {
    let (name, value) =
        text.split_once('=').ok_or("write a name, `=` and a value, for example t=21.5:Cel")?;
    if !motemix_object::is_name(name) {
        return Err(
            "a name begins with a letter or digit, and has letters, digits and -:./_ alone".to_owned()
        );
    }
    let (value, unit) = parse_value(value)?;
    Ok(Measured(Record { name: Some(name.to_owned()), unit, value: Some(value), ..Record::default() }))
}

/// What programs print in place of a number that they do not have, in small letters.
const NO_VALUES: [&str; 10] =
    ["nan", "inf", "infinity", "null", "none", "nil", "n/a", "na", "undefined", "error"];

fn parse_value(text: &str) -> Result<(Value, Option<String>), String> {
    if let Some(text) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok((Value::Text(text.to_owned()), None));
    }
    let (number, unit) = text.split_once(':').map_or((text, None), |(number, unit)| (number, Some(unit)));
    match number.parse::<Number>() {
        Ok(_) if unit == Some("") => Err("a unit is missing behind `:`".to_owned()),
        Ok(number) => Ok((Value::Number(number), unit.map(str::to_owned))),
        Err(BadNumber::Range) => Err(BadNumber::Range.to_string()),
        // A decimal comma makes no text of a temperature.
        Err(_) if text.starts_with(|first: char| first.is_ascii_digit() || "+-.,".contains(first)) => {
            Err(format!("{number} is no number; write it as 21.5, or a text in double quotes"))
        }
        Err(_) if number.is_empty() => Err("a value is missing behind `=`".to_owned()),
        // What a sensor that failed is printed as must not pass for what it says.
        Err(_) if unit.is_some() || NO_VALUES.contains(&&*number.to_ascii_lowercase()) => {
            Err(format!("{number} is no number; send nothing, or a text in double quotes"))
        }
        Err(_) => match text {
            "true" | "false" => Ok((Value::Boolean(text == "true"), None)),
            "True" | "False" => Err("write true or false, or a text in double quotes".to_owned()),
            text => Ok((Value::Text(text.to_owned()), None)),
        },
    }
}

/// A moment, or how long ago it was.
fn parse_since(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        return Ok(SystemTime::now().checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH));
    }
    humantime::parse_rfc3339_weak(text).map_err(|_| {
        "write a time such as 2026-11-29T12:00:00Z (UTC), or so long ago, such as 90min".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failed_sensor_is_printed_as_is_no_text() {
        for text in ["t=nan:Cel", "t=NaN", "t=-inf", "t=Infinity", "t=null", "t=None", "t=N/A:Cel", "t=True"]
        {
            let refused = parse_record(text).unwrap_err();
            assert!(refused.contains("no number") || refused.contains("true or false"), "{text}: {refused}");
        }
        for text in ["t=", "t=:Cel", "t=21.5:"] {
            assert!(parse_record(text).unwrap_err().contains("is missing"), "{text}");
        }
        for text in ["t=21.5:Cel", "state=open", "on=true", "state=\"nan\"", "t=-4e-1"] {
            assert!(parse_record(text).is_ok(), "{text}");
        }
    }
}
