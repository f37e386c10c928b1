//! The way to neighbours: one datagram in each call, and a callback for those that leave.

use core::net::{SocketAddr, SocketAddrV6};

use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_mote::{Link, Received};
use motemix_node::Instant;

use super::platform::Platform;
use crate::descriptor::Address;

/// A datagram that waits to be taken in, and whose it is.
pub(super) struct Waiting<'d> {
    pub(super) from: u64,
    pub(super) bytes: &'d [u8],
}

/// The network stack of an operating system, during one call.
pub(super) struct Sockets<'c, 'd> {
    pub(super) platform: &'c Platform,
    pub(super) counters: &'c mut LinkCounters,
    pub(super) waiting: Option<Waiting<'d>>,
}

impl Link for Sockets<'_, '_> {
    // The operating system's stack has the addresses.
    fn poll(&mut self, _now: Instant, _is_neighbour: &dyn Fn(u64) -> bool) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn receive(&mut self, out: &mut [u8]) -> Option<Received> {
        let Waiting { from, bytes } = self.waiting.take()?;
        let Some(place) = out.get_mut(..bytes.len()) else {
            self.counters.drop(LinkDrop::TooLong);
            return None;
        };
        place.copy_from_slice(bytes);
        self.counters.received += 1;
        Some(Received { len: bytes.len(), from })
    }

    fn can_send(&self) -> bool {
        true
    }

    fn send(&mut self, to: SocketAddrV6, datagram: &[u8]) -> bool {
        let to = Address::from(SocketAddr::V6(to));
        let accepted = self.platform.send.is_some_and(|send| {
            // SAFETY: motemix_mote_open asks that the callback can be called for as long as the
            // mote is there; it reads one address and as many bytes.
            unsafe { send(self.platform.context, &raw const to, datagram.as_ptr(), datagram.len()) == 0 }
        });
        if accepted {
            self.counters.sent += 1;
        } else {
            self.counters.drop(LinkDrop::Refused);
        }
        accepted
    }

    fn refuse(&mut self, reason: LinkDrop) {
        self.counters.drop(reason);
    }

    fn counters(&self) -> &LinkCounters {
        self.counters
    }
}
