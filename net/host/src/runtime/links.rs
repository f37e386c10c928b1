//! How a node reaches the others: a socket for each address family that it speaks, or a radio.

use std::env;
use std::future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use motemix_crypto::{Curve as _, Secret};
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::PORT;
use motemix_neighbour::datagram::Datagram;
use tokio::time::sleep_until;

use super::RuntimeError;
use crate::config::{NodeConfig, RadioConfig};
use crate::documents::{Network, NetworkNode};
use crate::link::{
    BATCH, Batch, DatagramKeyLog, KeyLog, LinkCounters, Loss, Outbox, Outgoing, PAYLOAD_OVERHEAD, RadioLink,
    RadioNetwork, SessionCounters, Sessions, SocketNetwork, SocketNode, UdpLink, key_log,
};
use motemix_os::clock::HostClock;
use motemix_os::curve::HostCurve;
use motemix_os::rng::HostRng;

/// One or two sockets, or a radio, or both.
#[derive(Debug)]
pub(super) struct Links {
    sockets: Vec<UdpLink>,
    radio: Option<Box<RadioLink>>,
    /// What protects datagrams of the sockets, if they are protected.
    sessions: Option<Box<Protected>>,
    /// Where their keys are written down, until there are sessions.
    key_log: Option<DatagramKeyLog>,
    clock: HostClock,
}

#[derive(Debug)]
struct Protected {
    sessions: Sessions,
    /// Packets that were sealed.
    sealed: Outbox,
}

impl Links {
    /// Takes over `sockets` if there are any, else binds `addresses`; connects to the radio if
    /// there is one.
    pub(super) fn open(config: &NodeConfig, sockets: Vec<UdpSocket>) -> Result<Self, RuntimeError> {
        let taken = if sockets.is_empty() {
            let bind = |&address| {
                UdpLink::bind(address).map_err(|error| RuntimeError::Bind("listen", address, error))
            };
            config.listen.iter().map(bind).collect::<Result<_, _>>()?
        } else {
            let taken = sockets.into_iter().map(UdpLink::from_std).collect::<io::Result<Vec<_>>>();
            taken.map_err(|error| RuntimeError::System("an inherited socket", error))?
        };
        // As `listen` is checked. A packet leaves by each socket of its family, and one of each
        // family is waited at.
        match taken.as_slice() {
            [] | [_] => {}
            [one, other] if !same_family(one.local_addr(), other.local_addr()) => {}
            _ => return Err(RuntimeError::Sockets),
        }
        let radio = config.radio.as_ref().map(connect).transpose()?;
        let key_log = if taken.is_empty() { None } else { link_keys(DatagramKeyLog::open)? };
        Ok(Self { sockets: taken, radio, sessions: None, key_log, clock: HostClock::start() })
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let radio = self.radio.as_ref().map(|radio| SocketAddr::from((radio.local_addr(), PORT)));
        self.sockets.iter().map(UdpLink::local_addr).chain(radio).collect()
    }

    /// The node's preferred address among those that a socket or the radio here can reach.
    pub(super) fn route(&self, node: &NetworkNode) -> Option<SocketAddr> {
        let by_socket = |to: &SocketAddr| self.sockets.iter().any(|link| same_family(link.local_addr(), *to));
        let by_radio = |to: &SocketAddr| self.radio.is_some() && on_radio(*to).is_some();
        node.addresses
            .iter()
            .copied()
            .find(|to| if on_radio(*to).is_some() { by_radio(to) } else { by_socket(to) })
    }

    /// Whom the radio hears from now on, and with whom sockets have sessions where links are
    /// protected: the nodes of a network document, and for one epoch more those of the document
    /// before, whose packets are under way. `secret` is this node's mix key.
    pub(super) fn set_network(
        &mut self,
        network: &Network,
        packet_len: usize,
        secret: &Secret<32>,
    ) -> io::Result<()> {
        let own = || (Box::new(secret.duplicate()), HostCurve::public_key(secret));
        let protects = network.parameters.protected_links;
        if let Some(radio) = &mut self.radio {
            let nodes = network.nodes().filter_map(|node| {
                let address = node.addresses.iter().copied().find_map(on_radio)?;
                Some((address, node.mix_key))
            });
            let own_key = protects.then(own);
            radio.set_network(RadioNetwork { nodes: nodes.collect(), epoch: network.epoch, own_key });
        }
        if !protects || self.sockets.is_empty() {
            self.sessions = None;
            return Ok(());
        }
        let nodes = network.nodes().map(|node| SocketNode {
            name: node.name.clone(),
            addresses: node.addresses.clone(),
            route: self.route(node).filter(|to| on_radio(*to).is_none()),
            mix_key: node.mix_key,
        });
        let network = SocketNetwork { nodes: nodes.collect(), epoch: network.epoch, own_key: own() };
        let begins = self.sessions.is_none();
        if begins {
            let mut sessions = Sessions::new(packet_len, HostRng::new()?);
            if let Some(log) = self.key_log.take() {
                sessions.write_keys(log);
            }
            let sealed = Outbox::new(packet_len + PAYLOAD_OVERHEAD);
            self.sessions = Some(Box::new(Protected { sessions, sealed }));
        }
        if let Some(protected) = &mut self.sessions {
            protected.sessions.follow(network);
            if begins {
                protected.sessions.call_all();
            }
        }
        Ok(())
    }

    /// The epoch is over, and its key is gone.
    pub(super) fn forget_key(&mut self) {
        if let Some(radio) = &mut self.radio {
            radio.forget_key();
        }
        if let Some(protected) = &mut self.sessions {
            protected.sessions.forget_key();
        }
    }

    /// Waits until datagrams may be there.
    pub(super) async fn readable(&mut self) -> io::Result<()> {
        let first = self.sockets.first().map(UdpLink::readable);
        let second = self.sockets.get(1).map(UdpLink::readable);
        let radio = self.radio.as_mut().map(|radio| radio.readable());
        let due = self.sessions.as_ref().and_then(|protected| protected.sessions.poll_timeout());
        let timer = due.map(|due| {
            let due = sleep_until(self.clock.at(due).into());
            async move {
                due.await;
                Ok(())
            }
        });
        tokio::select! {
            ready = or_never(first) => ready,
            ready = or_never(second) => ready,
            ready = or_never(radio) => ready,
            ready = or_never(timer) => ready,
        }
    }

    /// Hands each batch that is there, at most one for each socket, to `intake`, without what
    /// `loss` loses.
    pub(super) fn receive(
        &mut self,
        batch: &mut Batch,
        loss: &mut Loss,
        intake: &mut impl Intake,
    ) -> io::Result<bool> {
        let mut any = false;
        for link in &self.sockets {
            if link.try_recv_batch(batch)? > 0 {
                any = true;
                loss.apply(batch);
                if let Some(protected) = &mut self.sessions {
                    let now = self.clock.now();
                    batch.open_each(|from, datagram| {
                        // Decrypting costs more than reading, and would be in vain.
                        let opens = !is_packet(datagram) || intake.has_room(from);
                        if opens { protected.sessions.open(now, from, datagram) } else { None }
                    });
                }
                intake.take(batch);
            }
        }
        if let Some(protected) = &mut self.sessions {
            protected.sessions.poll(self.clock.now());
        }
        if let Some(radio) = &mut self.radio
            && radio.try_recv_batch(batch)? > 0
        {
            any = true;
            loss.apply(batch);
            intake.take(batch);
        }
        Ok(any)
    }

    /// Whether messages of handshakes are to be sent.
    pub(super) fn has_leaving(&self) -> bool {
        self.sessions.as_ref().is_some_and(|protected| protected.sessions.leaving().len() > 0)
    }

    /// Sends everything in the outbox, and messages of handshakes.
    pub(super) async fn flush(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        let by_socket = outbox.datagrams().filter(|outgoing| on_radio(outgoing.to).is_none());
        match &mut self.sessions {
            None => send(&self.sockets, by_socket).await?,
            Some(protected) => {
                let Protected { sessions, sealed } = &mut **protected;
                sealed.clear();
                sessions.seal(self.clock.now(), by_socket, sealed);
                // In this order: whoever is told that there is a key then gets packets under it.
                send(&self.sockets, sessions.leaving()).await?;
                sessions.has_left();
                send(&self.sockets, sealed.datagrams()).await?;
            }
        }
        if let Some(radio) = &mut self.radio {
            for outgoing in outbox.datagrams() {
                if let Some(to) = on_radio(outgoing.to) {
                    // One for which there is no room is lost and counted, as on a full channel.
                    radio.send(to, outgoing.bytes)?;
                }
            }
        }
        outbox.clear();
        Ok(())
    }

    /// Counts what was dropped before it could be read.
    pub(super) fn look_at_overflow(&self) {
        self.sockets.iter().for_each(UdpLink::look_at_overflow);
    }

    pub(super) fn counters(&self) -> LinkCounters {
        let mut sum = LinkCounters::default();
        let radio = self.radio.as_ref().map(|radio| radio.counters());
        for counters in self.sockets.iter().map(UdpLink::counters).chain(radio) {
            sum.received += counters.received;
            sum.sent += counters.sent;
            sum.send_errors += counters.send_errors;
            sum.receive_errors += counters.receive_errors;
            sum.overflow += counters.overflow;
        }
        sum
    }

    /// What the sessions of the sockets have seen, if there are any.
    pub(super) fn session_counters(&self) -> Option<&SessionCounters> {
        self.sessions.as_ref().map(|protected| protected.sessions.counters())
    }
}

/// Who takes in what has arrived.
pub(super) trait Intake {
    /// Whether a packet from there would be taken in. If not, it is counted as dropped.
    fn has_room(&mut self, from: Option<SocketAddr>) -> bool;
    /// Takes in what is in the batch.
    fn take(&mut self, batch: &mut Batch);
}

/// Whether it is a packet under a key, and no message of a handshake.
fn is_packet(datagram: &[u8]) -> bool {
    matches!(Datagram::parse(datagram), Ok(Datagram::Protected(_)))
}

/// Sends each datagram by the socket of its family.
async fn send<'d>(
    sockets: &[UdpLink],
    datagrams: impl Iterator<Item = Outgoing<'d>> + Clone,
) -> io::Result<()> {
    let nowhere = Outgoing { to: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), bytes: &[] };
    for link in sockets {
        let mut of_family =
            datagrams.clone().filter(|outgoing| same_family(link.local_addr(), outgoing.to)).peekable();
        while of_family.peek().is_some() {
            let mut batch = [nowhere; BATCH];
            let count =
                batch.iter_mut().zip(&mut of_family).map(|(place, outgoing)| *place = outgoing).count();
            let batch = batch.get_mut(..count).unwrap_or_default();
            // Those for one neighbour leave together, in the order that they had.
            batch.sort_by_key(|outgoing| outgoing.to);
            link.send_batch(batch).await?;
        }
    }
    Ok(())
}

fn connect(radio: &RadioConfig) -> Result<Box<RadioLink>, RuntimeError> {
    let failed = |problem| RuntimeError::Radio { line: radio.line.clone(), problem };
    let rng = HostRng::new().map_err(failed)?;
    let mut address = radio.address;
    address.reverse();
    let mut link = RadioLink::connect(&radio.line, ExtendedAddress(address), rng).map_err(failed)?;
    if let Some(log) = link_keys(KeyLog::open)? {
        link.write_keys(log);
    }
    Ok(Box::new(link))
}

/// What writes keys of links down, if the environment names a folder for them.
fn link_keys<L>(open: impl FnOnce(&Path) -> io::Result<L>) -> Result<Option<L>, RuntimeError> {
    let Some(folder) = env::var_os(key_log::VARIABLE).map(PathBuf::from) else { return Ok(None) };
    let log = open(&folder).map_err(|problem| RuntimeError::LinkKeys { folder: folder.clone(), problem })?;
    tracing::warn!("keys of links are written to {}: whoever has them reads what passed", folder.display());
    Ok(Some(log))
}

async fn or_never(ready: Option<impl Future<Output = io::Result<()>>>) -> io::Result<()> {
    match ready {
        Some(ready) => ready.await,
        None => future::pending().await,
    }
}

/// The neighbour on the radio that has this address. Sockets do not reach link-local addresses:
/// those have no meaning without an interface.
fn on_radio(address: SocketAddr) -> Option<Ipv6Addr> {
    match address {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => Some(*v6.ip()),
        _ => None,
    }
}

fn same_family(one: SocketAddr, other: SocketAddr) -> bool {
    one.is_ipv4() == other.is_ipv4()
}
