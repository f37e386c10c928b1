//! `motemix broker`.

use super::address::{ListenAddresses, of_each_family, of_host};
use super::object::For;
use clap::{Args, Subcommand};
use motemix_broker_client::client::Address;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Runs a broker and resource directory, or talks to one.
///
/// Devices register with their public keys and publish signed readings over CoAP. The broker holds
/// the newest while devices sleep, and tells those who observe. Applications check the signatures
/// themselves, at any time (RFC 8387, section 7.3). A receiver of the network hands over what came
/// through mixes, through the local socket. The broker learns what was measured and that it is
/// genuine, and no address of a mote.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_long_help = "\
Examples:
  motemix broker --listen '[::1]:5683' --data broker
  motemix broker --listen '[::1]:5683' --data broker --page 127.0.0.1:8080
  motemix broker --listen '[::1]:5683' --data broker --config broker.toml
  motemix broker --listen '[::1]:5683' --data b --store nats://n1,n2,n3/building
  motemix broker watch 'coap://[::1]:5683'"
)]
pub struct Broker {
    #[command(subcommand)]
    pub client: Option<BrokerClient>,
    #[command(flatten)]
    pub server: BrokerServer,
}

/// What the server needs.
#[derive(Debug, Args)]
pub struct BrokerServer {
    /// Address and port for CoAP, over UDP, TCP and WebSockets: `[::1]:5683` or `127.0.0.1:5683`.
    /// May be given twice, once for IPv6 and once for IPv4: `[::]:5683` are all IPv6 addresses of
    /// this machine and no other, `0.0.0.0:5683` all of IPv4. A link-local address has its
    /// interface behind it, `[fe80::1%eth0]:5683`; a host's name stands for its first address of
    /// each family.
    #[arg(long, value_name = "ADDRESS", required = true, value_parser = of_each_family)]
    pub listen: Vec<ListenAddresses>,
    /// The folder that keeps topics, values and registrations. The socket for receivers of this
    /// machine is in it: `local.sock`.
    #[arg(long, value_name = "DIR", required = true)]
    pub data: Option<PathBuf>,
    /// The broker's settings: the network's name, limits, and who may do what. Without it, readings
    /// are for no network, and a receiver's readings are refused.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port of the page with devices and readings; there is no page by default. Whoever
    /// reaches the address reads everything.
    #[arg(long, value_name = "ADDRESS", value_parser = of_host)]
    pub page: Option<SocketAddr>,
    /// Servers of NATS with JetStream, where several brokers store together: `nats://HOST:PORT`,
    /// further servers after commas, and the network's name after a slash (broker by default). Each
    /// broker has a folder of its own, with a copy. A server that does not listen yet is waited
    /// for, for a minute. By default a broker stores in its folder alone.
    #[arg(long, value_name = "URL")]
    pub store: Option<NatsUrl>,
    /// How many servers keep a stream that is made: 1, 3 or 5. By default 3 if three servers are
    /// named, and 1 otherwise.
    #[arg(long, value_name = "COUNT", requires = "store")]
    pub replicas: Option<usize>,
    /// Ends when the process that started it ends.
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

#[derive(Debug, Subcommand)]
pub enum BrokerClient {
    Register(BrokerRegister),
    Publish(BrokerPublish),
    Watch(BrokerWatch),
    Command(BrokerCommand),
}

/// The broker that is asked.
#[derive(Debug, Args)]
pub struct BrokerAt {
    /// The broker: `coap://HOST:PORT` over UDP, `coap+tcp://HOST:PORT`, or the path of its
    /// `local.sock` on this machine. A link-local address has its interface behind it:
    /// `coap://[fe80::1%eth0]`.
    #[arg(value_name = "BROKER")]
    pub at: Address,
}

/// Registers a device and its public key, and makes a topic for its readings.
///
/// The device signs the request. From then on nobody else changes the registration or the topic.
/// Register again before the lifetime is over, or when place or purpose have changed: give both
/// each time. The topic and its value stay when the lifetime is over, and nothing is published
/// until the device registers again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix id new mote.key
  motemix broker register 'coap://[::1]:5683' --key mote.key --audience home \\
      --place cellar --purpose temperature")]
pub struct BrokerRegister {
    #[command(flatten)]
    pub broker: BrokerAt,
    /// The file of the device's key, made by `motemix id new`.
    #[arg(long, value_name = "KEY")]
    pub key: PathBuf,
    /// Where the device is. Without it, the registration names no place any more.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub place: String,
    /// What it is for. Without it, the registration names no purpose any more.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub purpose: String,
    /// How long the registration lasts: `25h`, `30days`.
    #[arg(long, value_name = "TIME", default_value = "25h", value_parser = humantime::parse_duration)]
    pub lifetime: Duration,
    #[command(flatten)]
    pub audience: For,
}

/// Publishes a reading that a registered device signs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  echo '[{\"n\":\"t\",\"u\":\"Cel\",\"v\":21.5}]' | \\
      motemix broker publish 'coap://[::1]:5683' --key mote.key --audience home")]
pub struct BrokerPublish {
    #[command(flatten)]
    pub broker: BrokerAt,
    /// The file of the device's key.
    #[arg(long, value_name = "KEY")]
    pub key: PathBuf,
    /// A file with SenML in JSON or CBOR; without it, from standard input.
    #[arg(value_name = "FILE")]
    pub reading: Option<PathBuf>,
    #[command(flatten)]
    pub audience: For,
}

/// Looks devices up, observes their readings, and checks each itself.
///
/// Prints a line for each reading: when it came, whose it is, what it says, and what this program's
/// own check of the signature found. It goes on until it is interrupted, or as long as `--seconds`
/// says. It fails (status 1) if a reading is not what its device signed. Over UDP, a broker that
/// says nothing is asked anew after a minute: it may have been started again. A connection that
/// ends, ends this too.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix broker watch 'coap://[::1]:5683'
  motemix broker watch 'coap://[::1]:5683' --device mote.card
  motemix broker watch 'coap://[::1]:5683' --audience plant --json \\
      | jq .senml")]
pub struct BrokerWatch {
    #[command(flatten)]
    pub broker: BrokerAt,
    #[command(flatten)]
    pub audience: For,
    /// Watches this device alone: its card, its identity, or the text of its label. Others may
    /// register what fills a look-up for all devices.
    #[arg(long, value_name = "ID")]
    pub device: Option<String>,
    /// How long to watch.
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Prints one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

/// Hands a signed command to a device, by way of its receiver's replies.
///
/// The receiver says it with each acknowledgement until another command takes its place, and the
/// device obeys it once. By default the broker takes commands over its `local.sock` alone; rules
/// (`--config`) let servers that prove by OSCORE who they are. Whom the device obeys is in its own
/// list (`motemix id servers`). A mote of the network obeys if `[readings]` of its node.toml says
/// where its commands go: `commands = "state/commands.json"`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  echo '[{\"n\":\"valve\",\"v\":1}]' |
      motemix object command server.key --device valve.card --audience plant \\
      > open.txt
  motemix broker command broker/local.sock --device MOTEMIX:ID:… open.txt")]
pub struct BrokerCommand {
    #[command(flatten)]
    pub broker: BrokerAt,
    /// The device: its card, its identity, or the text of its label.
    #[arg(long, value_name = "ID")]
    pub device: String,
    /// A file that `motemix object command` made; without it, from standard input.
    #[arg(value_name = "FILE")]
    pub command: Option<PathBuf>,
}

/// Servers of NATS and the name of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsUrl {
    /// `host` or `host:port`.
    pub servers: Vec<String>,
    /// What the stream is called by.
    pub name: String,
}

impl FromStr for NatsUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("nats://").ok_or("write it as nats://HOST:PORT/NAME")?;
        let (servers, name) = rest.split_once('/').unwrap_or((rest, "broker"));
        let servers: Vec<String> = servers.split(',').map(str::to_owned).collect();
        if servers.iter().any(String::is_empty) {
            return Err("a server has no name".to_owned());
        }
        if servers.iter().any(|server| server.contains('%')) {
            return Err(
                "servers are asked without an interface (%): name another address of theirs".to_owned()
            );
        }
        Ok(Self { servers, name: name.to_owned() })
    }
}
