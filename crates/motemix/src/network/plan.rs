//! Which nodes a network has, and where they listen.

use crate::cli::Size;
use crate::failure::Failure;
use anyhow::Context;
use rand_core::Rng;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// A node to be made. Its id is its place in the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedNode {
    pub name: String,
    pub duty: Duty,
}

/// What a node is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    Mix { layer: u8 },
    Mote,
    Receiver,
}

/// Mixes first, in turn over the layers, then motes, then receivers.
pub fn plan(size: &Size) -> Result<Vec<PlannedNode>, Failure> {
    if size.mixes < u16::from(size.layers) {
        return Err(Failure::broken(format!(
            "--mixes {}: too few for --layers {}; give each layer a mix",
            size.mixes, size.layers
        )));
    }
    let layer = |number: u16| ((number - 1) % u16::from(size.layers)) as u8;
    let mixes = (1..=size.mixes).map(|n| node(format!("mix-{n}"), Duty::Mix { layer: layer(n) }));
    let motes = (1..=size.motes).map(|n| node(format!("mote-{n}"), Duty::Mote));
    let receivers = (1..=size.receivers).map(|n| node(receiver_name(n), Duty::Receiver));
    Ok(mixes.chain(motes).chain(receivers).collect())
}

/// Each path takes one mix fewer than it has hops, spread over the layers: all must have enough.
pub fn check_paths(size: &Size, max_hops: u8) -> Result<(), Failure> {
    let mixes = u16::from(max_hops - 1);
    let needed = mixes.div_ceil(u16::from(size.layers)) * u16::from(size.layers);
    if size.mixes < needed {
        return Err(Failure::broken(format!(
            "--mixes {}: a path of this profile takes {mixes} from {} layers; use {needed} mixes at least",
            size.mixes, size.layers
        )));
    }
    Ok(())
}

/// The name of the first receiver, where messages go if nothing else is said.
pub const RECEIVER: &str = "receiver";

fn receiver_name(number: u16) -> String {
    if number == 1 { RECEIVER.to_owned() } else { format!("{RECEIVER}-{number}") }
}

fn node(name: String, duty: Duty) -> PlannedNode {
    PlannedNode { name, duty }
}

/// Binds a socket for each node, on ports that the system chooses.
///
/// Whoever keeps the sockets keeps the ports.
pub fn bind(host: IpAddr, count: usize) -> Result<Vec<(SocketAddr, UdpSocket)>, Failure> {
    let mut sockets = Vec::with_capacity(count);
    for _ in 0..count {
        let socket = UdpSocket::bind((host, 0)).with_context(|| {
            format!("cannot open a UDP socket on {host}; choose an address of this machine with --host")
        })?;
        let address = socket.local_addr().context("a UDP socket without an address")?;
        sockets.push((address, socket));
    }
    Ok(sockets)
}

/// Like [`bind`], but on ports up to `highest` as long as such can be found: the system's own choice is higher.
pub fn bind_below(
    host: IpAddr,
    count: usize,
    highest: u16,
    rng: &mut impl Rng,
) -> Result<Vec<(SocketAddr, UdpSocket)>, Failure> {
    let mut sockets = Vec::with_capacity(count);
    // Ports that others have are as likely to be drawn as any: so many tries fail only where few are left.
    for _ in 0..count.saturating_add(1) * TRIES {
        if sockets.len() == count {
            break;
        }
        let port = FIRST_FREE + (rng.next_u32() % u32::from(highest - FIRST_FREE + 1)) as u16;
        let address = SocketAddr::new(host, port);
        if let Ok(socket) = UdpSocket::bind(address) {
            sockets.push((address, socket));
        }
    }
    sockets.extend(bind(host, count - sockets.len())?);
    Ok(sockets)
}

/// Services that are known to everybody have lower ports.
const FIRST_FREE: u16 = 10_000;
/// How many ports to try for each one that is needed.
const TRIES: usize = 16;

/// Ports that follow each other.
pub fn consecutive(host: IpAddr, base_port: u16, count: usize) -> Result<Vec<SocketAddr>, Failure> {
    let ports: Vec<u16> = (base_port..=u16::MAX).take(count).collect();
    if ports.len() < count {
        return Err(Failure::broken(format!(
            "--base-port {base_port}: no room for {count} nodes above it; choose a smaller one, or 0"
        )));
    }
    Ok(ports.into_iter().map(|port| SocketAddr::new(host, port)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { mixes: 5, layers: 3, motes: 1, receivers: 2 };

    #[test]
    fn spreads_mixes_over_layers_and_numbers_further_receivers() {
        let nodes = plan(&SIZE).unwrap();
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["mix-1", "mix-2", "mix-3", "mix-4", "mix-5", "mote-1", "receiver", "receiver-2"]);
        let layers: Vec<_> = nodes[..5].iter().map(|node| node.duty).collect();
        assert_eq!(layers, [0, 1, 2, 0, 1].map(|layer| Duty::Mix { layer }));
    }

    #[test]
    fn says_what_is_wrong_with_the_size() {
        let error = plan(&Size { mixes: 2, ..SIZE }).unwrap_err().to_string();
        assert_eq!(error, "--mixes 2: too few for --layers 3; give each layer a mix");
        let error = consecutive(IpAddr::from([127, 0, 0, 1]), 65_534, 3).unwrap_err().to_string();
        assert!(error.contains("--base-port 65534"), "{error}");
    }
}
