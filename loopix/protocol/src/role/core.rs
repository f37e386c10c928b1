//! What all roles have in common: keys, tags, the queue, and sending along a path.

use std::sync::Arc;
use std::time::Duration;

use motemix_crypto::p224::Scalar;
use motemix_node::Instant;
use rand_core::CryptoRng;
use rmpv::Value;

use super::peers::{Duty, Peer, Peers};
use super::queue::DelayQueue;
use super::replay::ReplayTags;
use super::stream::{exponential, one_of};
use super::{Address, Counters, DropReason, Hosts, Limits, Rates, Setup, Transmit, when_full};
use crate::files::{Directory, Profile};
use crate::packet::{self, CreateError, Format, Hop, Layer, Packet, Surb, SurbKeys, surb};

/// A node without its duties.
pub(super) struct Core {
    pub(super) profile: Profile,
    pub(super) format: Format,
    pub(super) secret: Box<Scalar>,
    pub(super) me: Peer,
    pub(super) peers: Peers,
    pub(super) rates: Rates,
    pub(super) limits: Limits,
    pub(super) counters: Counters,
    pub(super) hosts: Hosts,
    tags: ReplayTags,
    queue: DelayQueue,
}

/// A path, and what is set on its last command.
pub(super) struct Route<'p> {
    pub(super) hops: Vec<&'p Peer>,
    /// Drop cover of the originals.
    pub(super) drop: bool,
}

impl<'p> Route<'p> {
    pub(super) const fn new(hops: Vec<&'p Peer>) -> Self {
        Self { hops, drop: false }
    }
}

/// What became of a packet.
pub(super) enum Taken {
    /// It is in the queue, or was drop cover.
    Done,
    /// The datagram is now what this user of ours is to receive.
    ForUser {
        name: Arc<str>,
        /// Where the directory has the user.
        to: Address,
    },
    /// For this node.
    Payload(Vec<u8>),
    /// A reply for this node.
    Reply { id: [u8; 16], payload: Vec<u8> },
}

impl Core {
    pub(super) fn new(setup: Setup, me: Peer) -> Self {
        let is_client = matches!(me.duty, Duty::User { .. });
        let format = match setup.profile {
            Profile::Hardened => Format::HARDENED,
            Profile::Ucl2017 | Profile::Fork2018 => Format::LOOPIX,
        };
        let tags = ReplayTags::new(setup.limits.replay_tags, when_full(setup.profile, is_client));
        let counters = Counters { replay_tags_most: tags.most(), ..Counters::default() };
        let max_delay = setup.rates.longest_delay(&setup.limits);
        let mut peers = Peers::new(setup.profile, max_delay, &setup.directory);
        // Addresses that the directory itself has need no name server.
        peers.set_hosts(&Hosts::default());
        Self {
            profile: setup.profile,
            format,
            secret: setup.secret,
            me,
            peers,
            rates: setup.rates,
            queue: DelayQueue::new(setup.limits.queue),
            limits: setup.limits,
            counters,
            hosts: Hosts::default(),
            tags,
        }
    }

    /// From now on the network is what this directory says.
    pub(super) fn set_directory(&mut self, directory: &Directory) {
        self.peers = Peers::new(self.profile, self.rates.longest_delay(&self.limits), directory);
        self.peers.set_hosts(&self.hosts);
    }

    pub(super) fn set_hosts(&mut self, hosts: Hosts) {
        self.hosts = hosts;
        self.peers.set_hosts(&self.hosts);
    }

    pub(super) fn is_hardened(&self) -> bool {
        self.profile == Profile::Hardened
    }

    /// Opens a packet, and queues it if it is to be sent on.
    pub(super) fn take(&mut self, now: Instant, datagram: &mut [u8]) -> Result<Taken, DropReason> {
        let format = self.format;
        let packet = Packet::parse(&format, datagram)?.authenticate(&self.secret, &[])?;
        // Only after the MAC: otherwise anybody could fill the filter.
        match packet.admit(&mut self.tags)?.read()? {
            Layer::Relay(_) if matches!(self.me.duty, Duty::User { .. }) => Err(DropReason::NotForThisRole),
            Layer::Relay(relay) => {
                let (next, delay, drop) = self.next_hop(&relay.command)?;
                let to = next.address.clone();
                if let Duty::User { provider } = &next.duty {
                    if self.me.duty != Duty::Provider || *provider != self.me.name {
                        return Err(DropReason::UnknownNextHop);
                    }
                    let name = next.name.clone();
                    if drop {
                        self.counters.drops_received += 1;
                        return Ok(Taken::Done);
                    }
                    relay.forward()?;
                    return Ok(Taken::ForUser { name, to });
                }
                if !self.may_send_to(next) {
                    return Err(DropReason::UnknownNextHop);
                }
                // Before the multiplication: a full queue must cost little.
                if self.queue.is_full() {
                    return Err(DropReason::QueueFull);
                }
                relay.forward()?;
                self.queue(now + delay, to, datagram.to_vec())?;
                self.counters.forwarded += 1;
                Ok(Taken::Done)
            }
            Layer::Destination(arrival) => Ok(Taken::Payload(arrival.open()?.to_vec())),
            Layer::Surb(reply) => Ok(Taken::Reply { id: reply.id, payload: reply.into_payload().to_vec() }),
        }
    }

    /// What a relay is told: the next hop, if it is one that there is.
    fn next_hop(&self, command: &Value) -> Result<(&Peer, Duration, bool), DropReason> {
        let command = self.peers.command(command).ok_or(DropReason::BadRouting)?;
        let peer = self.peers.find(&command.next).ok_or(DropReason::UnknownNextHop)?;
        Ok((peer, command.delay, command.drop))
    }

    /// Whether packets may pass from here to `next`. Networks of the originals with one mix in a
    /// layer have loops that leave out layers, so only the hardened profile looks at the order.
    fn may_send_to(&self, next: &Peer) -> bool {
        if !self.is_hardened() {
            return true;
        }
        let layers = self.peers.layers.len();
        match (&self.me.duty, &next.duty) {
            (Duty::Mix { layer }, Duty::Mix { layer: next }) => layer + 1 == *next,
            (Duty::Mix { layer }, Duty::Provider) => layer + 1 == layers,
            (Duty::Provider, Duty::Mix { layer }) => *layer == 0,
            // A network of providers alone has no layer between them.
            (Duty::Provider, Duty::Provider) => layers == 0,
            _ => false,
        }
    }

    /// Queues a datagram for `due`.
    pub(super) fn queue(&mut self, due: Instant, to: Address, bytes: Vec<u8>) -> Result<(), DropReason> {
        self.queue.push(due, Transmit { to, bytes }).map_err(|_| DropReason::QueueFull)
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn pop(&mut self, now: Instant) -> Option<Transmit> {
        self.queue.pop(now)
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.queue.due()
    }

    pub(super) fn restore(&mut self, tags: &[u64]) {
        self.tags.restore(tags);
        self.count_tags();
    }

    pub(super) fn take_admitted(&mut self) -> Vec<u64> {
        self.count_tags();
        self.tags.take_admitted()
    }

    fn count_tags(&mut self) {
        self.counters.replay_tags = self.tags.held();
        self.counters.replay_tags_forgotten = self.tags.forgotten();
    }

    /// A random mix of each layer in the range.
    pub(super) fn mixes(&self, layers: std::ops::Range<usize>, rng: &mut impl CryptoRng) -> Vec<&Peer> {
        let layers = self.peers.layers.get(layers).unwrap_or_default();
        layers.iter().map(|layer| &self.peers.all[*one_of(layer, rng)]).collect()
    }

    /// A packet that carries `payload` along the route.
    pub(super) fn create(
        &self,
        route: &Route<'_>,
        payload: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u8>, CreateError> {
        let routings = self.routings(route, rng);
        packet::create(&self.format, &hops(route, &routings), payload, rng)
    }

    /// A SURB that brings its payload along the route.
    pub(super) fn create_surb(
        &self,
        route: &Route<'_>,
        rng: &mut impl CryptoRng,
    ) -> Result<(Surb, SurbKeys), CreateError> {
        let routings = self.routings(route, rng);
        surb::create(&self.format, &hops(route, &routings), Value::Nil, rng)
    }

    fn routings(&self, route: &Route<'_>, rng: &mut impl CryptoRng) -> Vec<Vec<u8>> {
        let last = route.hops.len().saturating_sub(1);
        let routing = |(number, peer): (usize, &&Peer)| {
            let delay = exponential(self.rates.delay, rng);
            peer.routing(self.profile, &self.format, delay, route.drop && number == last)
        };
        route.hops.iter().enumerate().map(routing).collect()
    }
}

fn hops<'r>(route: &Route<'_>, routings: &'r [Vec<u8>]) -> Vec<Hop<'r>> {
    let hop = |(peer, routing): (&&Peer, &'r Vec<u8>)| Hop { key: peer.key, routing, associated: &[] };
    route.hops.iter().zip(routings).map(hop).collect()
}
