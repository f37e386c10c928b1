//! `motemix broker`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
#[cfg(feature = "nats")]
use std::str::FromStr;

/// Runs a broker and resource directory.
///
/// Devices register with their public keys and publish signed readings over CoAP. The broker holds
/// the newest while devices sleep, and tells who observes. Whoever wants checks the signatures, at
/// any time (RFC 8387, section 7.3). Receivers of the network hand in what came through mixes, over
/// the local socket: the broker learns what was measured and that it is genuine, and no address of
/// a mote.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  motemix broker --listen '[::1]:5683' --data broker
  motemix broker --listen '[::1]:5683' --data broker --page 127.0.0.1:8080
  motemix broker --listen '[::1]:5683' --data broker --config broker.toml
  motemix broker --listen '[::1]:5683' --data broker --store nats://10.0.0.1,10.0.0.2,10.0.0.3/building")]
pub struct Broker {
    /// An address for CoAP, over UDP, TCP and WebSockets; may be given once for IPv4 and once for
    /// IPv6.
    #[arg(long, value_name = "ADDRESS", required = true)]
    pub listen: Vec<SocketAddr>,
    /// The folder that keeps topics, values and registrations. The socket for receivers of this
    /// machine is in it: `local.sock`.
    #[arg(long, value_name = "DIR", required = true)]
    pub data: PathBuf,
    /// Limits, and who may do what; without it, usual limits, and what is signed by devices.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Serves the page with devices and readings here; nowhere by default.
    #[arg(long, value_name = "ADDRESS")]
    pub page: Option<SocketAddr>,
    /// Servers of NATS with JetStream, where several brokers store together: `nats://HOST:PORT`,
    /// further servers after commas, and the network's name after a slash (broker by default). Each
    /// broker has a folder of its own, with a copy. By default a broker stores in its folder alone.
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "URL")]
    pub store: Option<NatsUrl>,
    /// How many servers keep a stream that is made: 1, 3 or 5. By default 3 if three servers are
    /// named, and 1 otherwise.
    #[cfg(feature = "nats")]
    #[arg(long, value_name = "COUNT", requires = "store")]
    pub replicas: Option<usize>,
}

/// Servers of NATS and the name of a network.
#[cfg(feature = "nats")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsUrl {
    /// `host` or `host:port`.
    pub servers: Vec<String>,
    /// What the stream is called by.
    pub name: String,
}

#[cfg(feature = "nats")]
impl FromStr for NatsUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("nats://").ok_or("write it as nats://HOST:PORT/NAME")?;
        let (servers, name) = rest.split_once('/').unwrap_or((rest, "broker"));
        let servers: Vec<String> = servers.split(',').map(str::to_owned).collect();
        if servers.iter().any(String::is_empty) {
            return Err("a server has no name".to_owned());
        }
        Ok(Self { servers, name: name.to_owned() })
    }
}
