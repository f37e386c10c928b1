//! What a link does, for whoever looks on: keys, with which a capture of the run can be read, and
//! the packets that it has brought.

use crate::mote::desk::Desk;
use crate::mote::spy::Spy;
use motemix_air::Instant;
use motemix_crypto::{Curve, Secret};
use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::meeting::{Admitted, Neighbourhood};
use motemix_link::radio::Transceiver;
use motemix_link::serial::ExtendedAddress;
use motemix_link::watched_keys::WatchedKeys;
use motemix_mote::{Link, OnAir, Received};
use rand_core::CryptoRng;
use std::net::SocketAddrV6;

/// A mote's link, whose keys and packets are told, and at which a spy may sit.
pub(super) struct Watched<'a, 's, T, C: Curve> {
    pub link: OnAir<'a, 's, T, C>,
    pub me: ExtendedAddress,
    pub desk: &'a Desk,
    /// There, if the mote is corrupt.
    pub spy: Option<&'a Spy>,
}

impl<T: Transceiver, C: Curve> Link for Watched<'_, '_, T, C> {
    fn poll(&mut self, now: Instant, is_neighbour: &dyn Fn(u64) -> bool) {
        self.link.poll(now, is_neighbour);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout()
    }

    fn has_datagram(&self) -> bool {
        self.link.has_datagram()
    }

    fn receive(&mut self, out: &mut [u8]) -> Option<Received> {
        let received = self.link.receive(out)?;
        self.desk.takes_in(received.from, out.get(..received.len).unwrap_or_default());
        Some(received)
    }

    fn can_send(&self) -> bool {
        self.link.can_send()
    }

    fn send(&mut self, to: SocketAddrV6, datagram: &[u8]) -> bool {
        let leaves = self.spy.is_none_or(|spy| spy.lets_leave(self.desk.now(), to, datagram));
        // For all that its node knows, it has left.
        !leaves || self.link.send(to, datagram)
    }

    fn refuse(&mut self, reason: LinkDrop) {
        self.link.refuse(reason);
    }

    fn counters(&self) -> &LinkCounters {
        self.link.counters()
    }

    fn set_identity(
        &mut self,
        me: Option<ExtendedAddress>,
        identity: Option<(Secret<32>, Admitted)>,
        is_named: &mut dyn FnMut(ExtendedAddress) -> bool,
    ) {
        self.link.set_identity(me, identity, is_named);
    }

    fn meet<R: CryptoRng>(&mut self, now: Instant, around: &dyn Neighbourhood, random: &mut R) -> bool {
        match (&mut self.link.meeting, self.link.stack.keys()) {
            (Some(meeting), Some(keys)) => {
                let watch = |peer, key: &_| self.desk.keyed([self.me, peer], key);
                meeting.poll(now, &mut WatchedKeys { keys, watch }, around, random)
            }
            _ => false,
        }
    }
}
