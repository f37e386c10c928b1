//! The way to neighbours: one datagram in each call, and a callback for those that leave.

use core::net::{SocketAddr, SocketAddrV6};

use motemix_crypto::Secret;
use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::meeting::{Admitted, Neighbourhood};
use motemix_link::serial::ExtendedAddress;
use motemix_link::sessions::station_at;
use motemix_mote::{Link, Received, Route};
use motemix_node::Instant;
use rand_core::CryptoRng;

use super::neighbours::Neighbours;
use super::platform::Platform;
use crate::descriptor::Address;

/// A datagram that waits to be taken in, and whose it is.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'d> {
    pub(super) from: ExtendedAddress,
    pub(super) bytes: &'d [u8],
}

impl Waiting<'_> {
    /// What tells neighbours apart.
    pub(super) const fn number(&self) -> u64 {
        u64::from_be_bytes(self.from.0)
    }
}

/// The network stack of an operating system, during one call.
pub(super) struct Sockets<'c, 'd> {
    pub(super) platform: &'c Platform,
    pub(super) counters: &'c mut LinkCounters,
    /// If what passes is protected.
    pub(super) neighbours: Option<&'c mut Neighbours>,
    /// Whether it worked with keys.
    pub(super) has_met: bool,
    pub(super) waiting: Option<Waiting<'d>>,
}

impl Link for Sockets<'_, '_> {
    fn station_at(address: SocketAddrV6) -> Option<ExtendedAddress> {
        Some(station_at(address))
    }

    fn is_from(route: &Route, from: u64) -> bool {
        route.address().is_some_and(|address| u64::from_be_bytes(station_at(address).0) == from)
    }

    // The operating system's stack has the addresses. A packet proves itself wherever it comes
    // from; what is protected comes from neighbours alone.
    fn poll(&mut self, now: Instant, is_neighbour: &dyn Fn(u64) -> bool) {
        if let Some(neighbours) = &mut self.neighbours {
            self.waiting = neighbours.look(now, self.waiting.take(), is_neighbour, self.counters);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.neighbours.as_ref()?.poll_timeout()
    }

    fn has_datagram(&self) -> bool {
        self.waiting.is_some()
    }

    fn receive(&mut self, out: &mut [u8]) -> Option<Received> {
        let waiting = self.waiting.take()?;
        let taken = match &mut self.neighbours {
            Some(neighbours) => neighbours.open(&waiting, out),
            None => copy(waiting.bytes, out).ok_or(LinkDrop::TooLong),
        };
        match taken {
            Ok(len) => {
                self.counters.received += 1;
                Some(Received { len, from: waiting.number() })
            }
            Err(reason) => {
                self.counters.drop(reason);
                None
            }
        }
    }

    fn can_send(&self) -> bool {
        true
    }

    fn send(&mut self, to: SocketAddrV6, datagram: &[u8]) -> bool {
        let Self { platform, counters, neighbours, .. } = self;
        let accepted = match neighbours {
            Some(neighbours) => neighbours.send(to, datagram, counters, &mut sender(platform)),
            None => send(platform, counters, to, datagram),
        };
        self.counters.sent += u32::from(accepted);
        accepted
    }

    fn refuse(&mut self, reason: LinkDrop) {
        self.counters.drop(reason);
    }

    fn counters(&self) -> &LinkCounters {
        self.counters
    }

    fn set_identity(
        &mut self,
        me: Option<ExtendedAddress>,
        identity: Option<(Secret<32>, Admitted)>,
        is_named: &mut dyn FnMut(ExtendedAddress) -> bool,
    ) {
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.set_identity(me, identity, is_named);
            self.has_met = true;
        }
    }

    fn meet<R: CryptoRng>(&mut self, now: Instant, around: &dyn Neighbourhood, random: &mut R) -> bool {
        let Self { platform, counters, neighbours, .. } = self;
        let Some(neighbours) = neighbours else { return false };
        let met = neighbours.meet(now, around, random, counters, &mut sender(platform));
        self.has_met |= met;
        met
    }
}

fn copy(bytes: &[u8], out: &mut [u8]) -> Option<usize> {
    out.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(bytes.len())
}

fn sender(platform: &Platform) -> impl FnMut(&mut LinkCounters, SocketAddrV6, &[u8]) -> bool {
    |counters, to, datagram| send(platform, counters, to, datagram)
}

/// Hands a datagram to the network stack, and tells whether it took it; if not, that is counted.
fn send(platform: &Platform, counters: &mut LinkCounters, to: SocketAddrV6, datagram: &[u8]) -> bool {
    let to = Address::from(SocketAddr::V6(to));
    let accepted = platform.send.is_some_and(|send| {
        // SAFETY: motemix_mote_open asks that the callback can be called for as long as the mote is
        // there; it reads one address and as many bytes.
        unsafe { send(platform.context, &raw const to, datagram.as_ptr(), datagram.len()) == 0 }
    });
    if !accepted {
        counters.drop(LinkDrop::Refused);
    }
    accepted
}
