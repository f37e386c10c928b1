//! `motemix broker`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

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
  motemix broker --listen '[::1]:5683' --data broker --config broker.toml")]
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
}
