//! The one place that starts a node inside this process.

use crate::commands::send::Outcome;
use crate::failure::Failure;
use motemix_host::NodeConfig;
use std::net::UdpSocket;

/// Runs the node until SIGINT, SIGTERM or a request to stop.
pub fn run(_config: NodeConfig, _sockets: Vec<UdpSocket>) -> Result<(), Failure> {
    Err(Failure::failed("this build of motemix has no node in it"))
}

/// Runs the node until one message is acknowledged or discarded.
pub fn send_once(_config: NodeConfig, _to: &str, _data: &[u8]) -> Result<Outcome, Failure> {
    Err(Failure::failed("this build of motemix has no node in it; send through a running one"))
}
