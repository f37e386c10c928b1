//! What carries datagrams to neighbours: a board's own radio, or the network stack of an operating
//! system.

use core::net::SocketAddrV6;

use motemix_crypto::{BoardCurve, Curve, Secret};
use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::meeting::{Admitted, Meeting, Neighbourhood};
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::ExtendedAddress;
pub use motemix_link::stack::Received;
use motemix_link::stack::{Stack, station_of};
use motemix_node::Instant;
use rand_core::CryptoRng;

use crate::network::Route;

/// A way to neighbours, for one mote that runs.
pub trait Link {
    /// What handshakes and keys call whoever has this address; `None` for whom it does not reach.
    fn station_at(address: SocketAddrV6) -> Option<ExtendedAddress> {
        station_of(*address.ip())
    }

    /// Whether what comes from this number, as [`Received::from`] has it, is this node's.
    fn is_from(route: &Route, from: u64) -> bool {
        route.is_at(from)
    }

    /// Moves what it keeps forward. `is_neighbour` tells, by the number of an address, whether the
    /// network document names a station; a link that knows who its neighbours are takes nothing
    /// from others.
    fn poll(&mut self, now: Instant, is_neighbour: &dyn Fn(u64) -> bool);
    /// When [`poll`](Self::poll) has something to do, besides when something arrives.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Whether [`poll`](Self::poll) has left a datagram to be received: nobody must sleep on it.
    fn has_datagram(&self) -> bool;
    /// The next datagram that arrived, written to the beginning of `out`.
    fn receive(&mut self, out: &mut [u8]) -> Option<Received>;
    /// Whether another datagram may leave now.
    fn can_send(&self) -> bool;
    /// Sends a datagram, and tells whether it was accepted; one that was not is counted.
    fn send(&mut self, to: SocketAddrV6, datagram: &[u8]) -> bool;
    /// Counts a datagram that was received and not read.
    fn refuse(&mut self, reason: LinkDrop);
    /// What happened so far.
    fn counters(&self) -> &LinkCounters;

    /// Proves this key to neighbours from now on, or none any more, and forgets the keys of those
    /// for which `is_named` says `false`. `me` is where the network document says that this node
    /// is, as [`station_at`](Self::station_at) has it. A link that does not protect frames has no
    /// use for it.
    fn set_identity(
        &mut self,
        me: Option<ExtendedAddress>,
        identity: Option<(Secret<32>, Admitted)>,
        is_named: &mut dyn FnMut(ExtendedAddress) -> bool,
    ) {
        let _ = (me, identity, is_named);
    }

    /// Makes keys with neighbours, by one scalar multiplication at most; `true` if there was one.
    fn meet<R: CryptoRng>(&mut self, now: Instant, around: &dyn Neighbourhood, random: &mut R) -> bool {
        let _ = (now, around, random);
        false
    }
}

/// A board's own radio, with the layers above it. Every neighbour has the one port that 6LoWPAN
/// writes in four bits, whatever a network document says.
pub struct OnAir<'a, 's, T, C: Curve = BoardCurve> {
    /// UDP over 6LoWPAN.
    pub stack: &'a mut Stack<'s>,
    /// The radio, which outlives the stack.
    pub radio: &'a mut Radio<T>,
    /// What makes keys with neighbours, if the stack protects frames.
    pub meeting: Option<&'a mut Meeting<C>>,
}

impl<T: Transceiver, C: Curve> Link for OnAir<'_, '_, T, C> {
    fn poll(&mut self, now: Instant, is_neighbour: &dyn Fn(u64) -> bool) {
        self.stack.poll_among(now, self.radio, is_neighbour);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let stack = self.stack.poll_timeout(self.radio);
        let meeting = self.meeting.as_ref().zip(self.stack.keys_ref());
        let meeting = meeting.and_then(|(meeting, keys)| meeting.poll_timeout(keys));
        [stack, meeting].into_iter().flatten().min()
    }

    fn has_datagram(&self) -> bool {
        self.stack.has_datagram()
    }

    fn receive(&mut self, out: &mut [u8]) -> Option<Received> {
        self.stack.receive(out)
    }

    fn can_send(&self) -> bool {
        self.stack.can_send()
    }

    fn send(&mut self, to: SocketAddrV6, datagram: &[u8]) -> bool {
        self.stack.send(*to.ip(), datagram).is_ok()
    }

    fn refuse(&mut self, reason: LinkDrop) {
        self.stack.refuse(reason);
    }

    fn counters(&self) -> &LinkCounters {
        self.stack.counters()
    }

    // Wherever a document says that it is, a radio is at its own address.
    fn set_identity(
        &mut self,
        _: Option<ExtendedAddress>,
        identity: Option<(Secret<32>, Admitted)>,
        is_named: &mut dyn FnMut(ExtendedAddress) -> bool,
    ) {
        if let (Some(meeting), Some(keys)) = (&mut self.meeting, self.stack.keys()) {
            meeting.set_identity(identity);
            keys.retain_keys(is_named);
        }
    }

    fn meet<R: CryptoRng>(&mut self, now: Instant, around: &dyn Neighbourhood, random: &mut R) -> bool {
        match (&mut self.meeting, self.stack.keys()) {
            (Some(meeting), Some(keys)) => meeting.poll(now, keys, around, random),
            _ => false,
        }
    }
}
