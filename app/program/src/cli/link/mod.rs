//! `motemix link`.

use super::address::of_host;
use clap::{Args, Subcommand, ValueEnum, value_parser};
use motemix_neighbour::PublicKey;
use motemix_neighbour::datagram::MAX_SEALED;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Link {
    Identity(LinkIdentity),
    Router(LinkRouter),
    Sensor(LinkSensor),
}

/// Prints the identity that belongs to a key, so that neighbours can admit it.
///
/// Makes the key if there is no such file. An identity is a public key, and no secret.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  motemix link identity sensor.key")]
pub struct LinkIdentity {
    /// The file of the private key.
    #[arg(value_name = "KEY")]
    pub key: PathBuf,
}

/// Answers neighbours and prints their messages, until SIGINT (Ctrl-C) or SIGTERM.
///
/// Each message is a line: the first digits of its sender's identity (in the modes `literal` and
/// `plain` its address), and the text. Whoever is refused is named once on stderr, with what admits
/// it. At the end it prints on stderr how many datagrams were dropped, and why.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix link router --listen '[::1]:61618' --key router.key \\
      --admit \"$(motemix link identity sensor.key)\"
  motemix link router --listen 0.0.0.0:61618 --mode plain")]
pub struct LinkRouter {
    /// Address and UDP port. Port 0 takes a free one, which is printed.
    #[arg(long, value_name = "ADDRESS", default_value = "[::1]:61618", value_parser = of_host)]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub neighbours: Neighbours,
    /// Prints each message as one line of JSON.
    #[arg(long)]
    pub json: bool,
}

/// Sends messages to a neighbour, and waits until it has acknowledged each.
///
/// In the mode `edhoc` a message is sent up to five times until it is acknowledged; then a new
/// handshake and five more are tried. The router prints it once, unless it was restarted in
/// between. This mode needs the address of one router.
///
/// In the mode `diet` it is three times, and the router may print a message twice if
/// acknowledgements were lost. In the modes `literal` and `plain` nothing is acknowledged, and a
/// message may be lost.
///
/// It fails (status 1) if a message was not delivered.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix link sensor --to '[::1]:61618' --key sensor.key \\
      --admit \"$(motemix link identity router.key)\" '21.5 degrees'
  motemix link sensor --to '[::1]:61618' --key sensor.key --anybody \\
      --known routers.txt '21.5 degrees'
  motemix link sensor --to 255.255.255.255:61618 --key sensor.key \\
      --mode diet --anybody hello
  motemix link sensor --listen '[::1]:7001' --to '[::1]:7002' --key a.key \\
      --admit \"$(motemix link identity b.key)\"
  vmstat 10 | motemix link sensor --to '[::1]:61618' --mode plain")]
pub struct LinkSensor {
    /// Address and UDP port of a router, or a broadcast or multicast address.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_neighbour)]
    pub to: SocketAddr,
    /// Listens at this address as well: answers neighbours and prints their messages, as a router
    /// does, until SIGINT or SIGTERM. Two sensors that both listen need no router. Without an
    /// address it takes a free port, which is printed.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "[::]:0", value_parser = of_host)]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub neighbours: Neighbours,
    /// How long to wait for an answer, such as 500ms, before a datagram is sent again.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub wait: Duration,
    /// Makes new keys after this many datagrams, in the mode `edhoc`.
    #[arg(long, value_name = "COUNT", default_value_t = MAX_SEALED / 2, value_parser = value_parser!(u32).range(1..=i64::from(MAX_SEALED)))]
    pub renew_after: u32,
    /// Prints JSON: a line for each message that was sent, and for each that was received.
    #[arg(long)]
    pub json: bool,
    /// The message. Without it, each line of stdin is a message.
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
}

/// How neighbours treat each other.
#[derive(Debug, Args)]
pub struct Neighbours {
    /// How messages are protected.
    #[arg(long, value_enum, default_value_t = Mode::Edhoc)]
    pub mode: Mode,
    /// The file of this node's private key, for the modes `edhoc` and `diet`; made if it does not
    /// exist.
    #[arg(long, value_name = "FILE", required_if_eq_any([("mode", "edhoc"), ("mode", "diet")]))]
    pub key: Option<PathBuf>,
    /// A neighbour's identity, 66 hex digits, as `motemix link identity` prints it there, for the
    /// modes `edhoc` and `diet`. May be repeated.
    #[arg(long = "admit", value_name = "HEX", value_parser = parse_identity)]
    pub admitted: Vec<PublicKey>,
    /// Admits whoever comes, and prints who it is, so that it can be compared and named with
    /// --admit. Without --admit somebody between the two can read and change everything. In the
    /// mode `edhoc`, which needs --known then, that is so at the first meeting only.
    #[arg(long, conflicts_with = "admitted")]
    pub anybody: bool,
    /// Keeps in this file whom --anybody met first at each address, and refuses any other key
    /// there, in the mode `edhoc`. A router looks at addresses without their ports.
    #[arg(long, value_name = "FILE", requires = "anybody")]
    pub known: Option<PathBuf>,
    /// Bytes of each datagram in the mode `edhoc`, whatever is in it; the same on both sides. By
    /// default 512, and on a radio 160. On a radio 376 is the most.
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u16).range(160..=1232))]
    pub length: Option<u16>,
    /// Speaks over a radio in place of the system's UDP: to boards, and to whoever else is on its
    /// air. LINE is the socket of the radio's serial line, as `motemix-lab air` makes it.
    #[arg(long, value_name = "LINE")]
    pub radio: Option<PathBuf>,
    /// The radio's extended address (EUI-64), 16 hex digits. By default a random one at each start,
    /// so give one if a neighbour goes by addresses (--known).
    #[arg(long, value_name = "HEX", requires = "radio", value_parser = parse_address)]
    pub radio_address: Option<[u8; 8]>,
}

impl Neighbours {
    /// Bytes of each datagram in the mode `edhoc`.
    pub fn length(&self) -> u16 {
        self.length.unwrap_or(if self.radio.is_some() { 160 } else { 512 })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// EDHOC (RFC 9528), then datagrams of one length, fresh and encrypted: recommended.
    Edhoc,
    /// The protocol of IoT-CryptoDiet, settled: what the programs for Contiki-NG speak.
    Diet,
    /// The protocol of the paper to the letter, with its weaknesses. Not for use.
    Literal,
    /// Neither signed nor encrypted.
    Plain,
}

/// Where somebody listens, so not at port 0, which takes any free one.
fn parse_neighbour(text: &str) -> Result<SocketAddr, String> {
    let address = of_host(text)?;
    if address.port() == 0 {
        return Err("nobody listens at port 0; a neighbour prints its port when it starts".to_owned());
    }
    Ok(address)
}

fn parse_address(text: &str) -> Result<[u8; 8], String> {
    let mut bytes = [0; 8];
    hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| "16 hex digits are expected".to_owned())?;
    Ok(bytes)
}

fn parse_identity(text: &str) -> Result<PublicKey, String> {
    let mut bytes = [0; motemix_neighbour::suite::PUBLIC_KEY_LEN];
    hex::decode_to_slice(text.trim(), &mut bytes)
        .map_err(|_| "66 hex digits are expected, as `motemix link identity` prints".to_owned())?;
    PublicKey::new(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_listens_at_port_0() {
        assert!(of_host("[::1]:0").is_ok());
        assert!(parse_neighbour("[::1]:0").is_err_and(|said| said.contains("port 0")));
        assert_eq!(parse_neighbour("[::1]:9"), of_host("[::1]:9"));
    }
}
