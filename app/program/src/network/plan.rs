//! Which nodes a network has, and where they listen.

use super::ports::{Taken, udp_taken};
use crate::cli::{Size, Traffic};
use crate::failure::Failure;
use anyhow::Context;
use motemix_os::rng::HostRng;
use rand_core::Rng;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::RangeInclusive;
use std::time::Duration;

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

/// Which cover a network of this size cannot send, with a remedy; `None` if there is none of that.
/// Nobody is on a path of its own, so a mix needs as many others in its layer as a path takes of
/// one.
pub fn without_cover(size: &Size, traffic: &Traffic, hops: RangeInclusive<u8>) -> Option<String> {
    let layers = u16::from(size.layers);
    if [traffic.loop_cover, traffic.drop_cover, traffic.payload_rate].iter().all(Duration::is_zero) {
        return None;
    }
    // The layers are as large as each other, or one larger than the others.
    let (smallest, larger) = (size.mixes / layers, size.mixes % layers);
    let largest = smallest + u16::from(larger > 0);
    let of_a_layer = |hops: u8| u16::from(hops - 1).div_ceil(layers);
    let needed = of_a_layer(*hops.end());
    if smallest > needed {
        return None;
    }
    // What the others lack: those of larger layers may have enough, and some paths are shorter.
    let which = match (largest > needed, smallest > of_a_layer(*hops.start())) {
        (false, false) => "mixes send no cover",
        (true, false) => "mixes of the smaller layers send no cover",
        (_, true) => "mixes send no cover over the longest paths",
    };
    Some(format!(
        "{which}: a path takes {needed} of a layer besides the mix itself; \
         use --mixes {} for cover of all nodes",
        (needed + 1) * layers
    ))
}

/// The name of the first receiver, where messages go if nothing else is said.
pub const RECEIVER: &str = "receiver";

fn receiver_name(number: u16) -> String {
    if number == 1 { RECEIVER.to_owned() } else { format!("{RECEIVER}-{number}") }
}

fn node(name: String, duty: Duty) -> PlannedNode {
    PlannedNode { name, duty }
}

/// Where networks of this machine run: over IPv6 if it has that, as on the radio.
pub fn loopback() -> IpAddr {
    let there_is = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    let ipv6 = IpAddr::from(Ipv6Addr::LOCALHOST);
    if there_is(ipv6) { ipv6 } else { Ipv4Addr::LOCALHOST.into() }
}

/// Binds a socket for each node, on ports that the system gives to nobody who asks for any, as long
/// as it has such: a node that is started later, or again, finds its port as it left it.
///
/// Whoever keeps the sockets keeps the ports.
pub fn bind(host: IpAddr, count: usize) -> Result<Vec<(SocketAddr, UdpSocket)>, Failure> {
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    bind_below(host, count, lowest_that_the_system_gives().saturating_sub(1), &mut rng)
}

/// The first of the ports that the system gives to whoever asks for any.
fn lowest_that_the_system_gives() -> u16 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|port| port.parse().ok()).unwrap_or(LOWEST_ON_LINUX)
}

/// As Linux has it where nobody changed it.
const LOWEST_ON_LINUX: u16 = 32_768;

/// Binds a socket for each node, on ports that the system chooses.
fn bind_any(host: IpAddr, count: usize) -> Result<Vec<(SocketAddr, UdpSocket)>, Failure> {
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

/// TCP ports on loopback: the numbers of the nodes' UDP ports. Where no base was given, a number
/// that somebody has is replaced by the system's choice.
pub fn metrics_addresses(base_port: u16, nodes: &[SocketAddr]) -> Result<Vec<SocketAddr>, Failure> {
    let of_node = |node: &SocketAddr| SocketAddr::from((Ipv4Addr::LOCALHOST, node.port()));
    if base_port != 0 {
        return Ok(nodes.iter().map(of_node).collect());
    }
    // All are open until all are known: none is given twice.
    let open =
        |node| TcpListener::bind(of_node(node)).or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listeners: Vec<_> =
        nodes.iter().map(open).collect::<Result<_, _>>().context("cannot open a TCP socket on loopback")?;
    let addresses = listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>();
    Ok(addresses.context("a TCP socket without an address")?)
}

/// Binds a socket for each node, on ports up to `highest` as long as such can be found, and then
/// on those that the system chooses.
pub fn bind_below(
    host: IpAddr,
    count: usize,
    highest: u16,
    rng: &mut impl Rng,
) -> Result<Vec<(SocketAddr, UdpSocket)>, Failure> {
    let mut sockets = Vec::with_capacity(count);
    // Ports that others have are as likely to be drawn as any: so many tries fail only where few
    // are left.
    let tries = if highest < FIRST_FREE { 0 } else { count.saturating_add(1) * TRIES };
    for _ in 0..tries {
        if sockets.len() == count {
            break;
        }
        let port = FIRST_FREE + (rng.next_u32() % (u32::from(highest - FIRST_FREE) + 1)) as u16;
        let address = SocketAddr::new(host, port);
        if let Ok(socket) = UdpSocket::bind(address) {
            sockets.push((address, socket));
        }
    }
    sockets.extend(bind_any(host, count - sockets.len())?);
    Ok(sockets)
}

/// Services that are known to everybody have lower ports.
const FIRST_FREE: u16 = 10_000;
/// How many ports to try for each one that is needed.
const TRIES: usize = 16;

/// Ports that follow each other and are free.
pub fn consecutive(host: IpAddr, base_port: u16, count: usize) -> Result<Vec<SocketAddr>, Failure> {
    let ports: Vec<u16> = (base_port..=u16::MAX).take(count).collect();
    if ports.len() < count {
        return Err(Failure::broken(format!(
            "--base-port {base_port}: no room for {count} nodes above it; choose a smaller one, or 0"
        )));
    }
    // One that this machine does not have is said now, and not by each node that cannot start.
    bind_any(host, 1)?;
    let addresses: Vec<_> = ports.into_iter().map(|port| SocketAddr::new(host, port)).collect();
    match addresses.iter().find_map(|address| udp_taken(*address)) {
        Some(taken) => Err(port_is_taken(base_port, &taken)),
        None => Ok(addresses),
    }
}

/// Why a network cannot have its ports there, and what to do.
pub fn port_is_taken(base_port: u16, taken: &Taken) -> Failure {
    Failure::failed(format!(
        "--base-port {base_port}: {taken}; choose another port, or 0 to let the system choose"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { mixes: 5, layers: 3, motes: 1, receivers: 2 };

    #[test]
    fn the_address_of_this_machine_is_one_that_it_has() {
        assert_eq!(bind(loopback(), 2).unwrap().len(), 2);
    }

    #[test]
    fn ports_are_those_that_the_system_gives_to_nobody_by_itself() {
        let mut rng = HostRng::new().unwrap();
        let bound = bind_below(loopback(), 30, 30_000, &mut rng).unwrap();
        assert!(bound.iter().all(|(address, _)| (FIRST_FREE..=30_000).contains(&address.port())));
        let any = UdpSocket::bind((loopback(), 0)).unwrap().local_addr().unwrap().port();
        assert!(lowest_that_the_system_gives() <= any);
        // Where the system gives nearly all ports to anybody, there are none below.
        assert_eq!(bind_below(loopback(), 3, FIRST_FREE - 1, &mut rng).unwrap().len(), 3);
    }

    #[test]
    fn spreads_mixes_over_layers_and_numbers_further_receivers() {
        let nodes = plan(&SIZE).unwrap();
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["mix-1", "mix-2", "mix-3", "mix-4", "mix-5", "mote-1", "receiver", "receiver-2"]);
        let layers: Vec<_> = nodes[..5].iter().map(|node| node.duty).collect();
        assert_eq!(layers, [0, 1, 2, 0, 1].map(|layer| Duty::Mix { layer }));
    }

    #[test]
    fn says_which_mixes_would_send_no_cover() {
        let every = Duration::from_secs(2);
        let traffic = Traffic {
            profile: crate::cli::Profile::Mote,
            mean_delay: every,
            hop_allowance: every,
            plain_links: false,
            transmissions: 1,
            loop_cover: every,
            drop_cover: Duration::ZERO,
            payload_rate: Duration::ZERO,
        };
        let said = |mixes, hops| without_cover(&Size { mixes, ..SIZE }, &traffic, hops).unwrap_or_default();
        assert!(said(3, 3..=3).starts_with("mixes send no cover: ") && said(3, 3..=3).contains("--mixes 6"));
        assert!(said(5, 3..=3).starts_with("mixes of the smaller layers send no cover: "));
        assert_eq!(said(6, 3..=3), "");
        assert!(said(6, 3..=5).starts_with("mixes send no cover over the longest paths: "));
        assert_eq!(said(9, 3..=5), "");
        let none = Traffic { loop_cover: Duration::ZERO, ..traffic.clone() };
        assert_eq!(without_cover(&Size { mixes: 3, ..SIZE }, &none, 3..=3), None, "none is asked for");
    }

    #[test]
    fn says_what_is_wrong_with_the_size() {
        let error = plan(&Size { mixes: 2, ..SIZE }).unwrap_err().to_string();
        assert_eq!(error, "--mixes 2: too few for --layers 3; give each layer a mix");
        let error = consecutive(IpAddr::from([127, 0, 0, 1]), 65_534, 3).unwrap_err().to_string();
        assert!(error.contains("--base-port 65534"), "{error}");
    }
}
