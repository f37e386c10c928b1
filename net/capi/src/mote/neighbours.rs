//! What makes keys with neighbours over an operating system's sockets, and protects what passes.

use core::net::SocketAddrV6;

use motemix_crypto::Secret;
use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::meeting::{Admitted, Meeting, Neighbourhood};
use motemix_link::protection::Keys as _;
use motemix_link::serial::ExtendedAddress;
use motemix_link::sessions::{Arrived, MAX_CARRIED, SessionSlot, Sessions, station_at};
use motemix_link::settings::LinkSettings;
use motemix_node::Instant;
use rand_core::CryptoRng;

use super::link::Waiting;
use crate::limits::{DATAGRAM_LEN, MoteCurve, PACKET_LEN};

/// The handshakes of a mote, and the sessions that come of them.
pub(super) struct Neighbours {
    meeting: Meeting<MoteCurve>,
    pub(super) sessions: Sessions<'static, PACKET_LEN>,
    /// The time of the round.
    now: Instant,
}

/// Sends a datagram, and tells whether it was accepted; one that was not is counted.
pub(super) type Send<'s> = &'s mut dyn FnMut(&mut LinkCounters, SocketAddrV6, &[u8]) -> bool;

/// Nobody else is called as one that has no address.
const NOWHERE: ExtendedAddress = ExtendedAddress([0; 8]);

impl Neighbours {
    /// For the mote that others find at this address.
    pub(super) fn new<R: CryptoRng>(
        me: Option<SocketAddrV6>,
        slots: &'static mut [SessionSlot],
        random: &mut R,
    ) -> Self {
        Self {
            meeting: Meeting::new(me.map_or(NOWHERE, station_at), random),
            sessions: Sessions::new(&LinkSettings::new(), slots),
            now: Instant::default(),
        }
    }

    /// Wipes all keys.
    pub(super) fn forget_sessions(&mut self) {
        self.sessions.retain_keys(&mut |_| false);
    }

    /// A document may also give the mote another address.
    pub(super) fn set_identity(
        &mut self,
        me: Option<ExtendedAddress>,
        identity: Option<(Secret<32>, Admitted)>,
        is_named: &mut dyn FnMut(ExtendedAddress) -> bool,
    ) {
        self.meeting.set_address(me.unwrap_or(NOWHERE));
        self.meeting.set_identity(identity);
        self.sessions.retain_keys(is_named);
    }

    /// Looks at what waits to be taken in, and leaves there what is under a key.
    #[inline(never)]
    pub(super) fn look<'d>(
        &mut self,
        now: Instant,
        waiting: Option<Waiting<'d>>,
        is_neighbour: &dyn Fn(u64) -> bool,
        counters: &mut LinkCounters,
    ) -> Option<Waiting<'d>> {
        self.now = now;
        for _ in 0..self.sessions.expire(now) {
            counters.drop(LinkDrop::NoHandshake);
        }
        let waiting = waiting?;
        if !is_neighbour(waiting.number()) {
            counters.drop(LinkDrop::Stranger);
            return None;
        }
        match self.sessions.take_in(waiting.from, waiting.bytes) {
            Ok(Arrived::Protected(_)) => Some(waiting),
            Ok(Arrived::Handshake) => None,
            Err(reason) => {
                counters.drop(reason);
                None
            }
        }
    }

    /// Opens what is under a key, and writes what it carries to the beginning of `out`: its length.
    #[inline(never)]
    pub(super) fn open(&mut self, waiting: &Waiting<'_>, out: &mut [u8]) -> Result<usize, LinkDrop> {
        let mut room = [0; DATAGRAM_LEN];
        let Arrived::Protected(protected) = self.sessions.take_in(waiting.from, waiting.bytes)? else {
            return Err(LinkDrop::Unprotected);
        };
        let packet = self.sessions.open(waiting.from, &protected, &mut room)?;
        out.get_mut(..packet.len()).ok_or(LinkDrop::TooLong)?.copy_from_slice(packet);
        Ok(packet.len())
    }

    /// Sends a packet under the key of its receiver, or keeps it until there is one.
    #[inline(never)]
    pub(super) fn send(
        &mut self,
        to: SocketAddrV6,
        packet: &[u8],
        counters: &mut LinkCounters,
        send: Send<'_>,
    ) -> bool {
        let mut room = [0; DATAGRAM_LEN];
        match self.sessions.seal(self.now, to, packet, &mut room) {
            Ok(Some(datagram)) => send(counters, to, datagram),
            Ok(None) => true,
            Err(reason) => {
                counters.drop(reason);
                false
            }
        }
    }

    /// Makes keys, by one scalar multiplication at most; `true` if there was one.
    pub(super) fn meet<R: CryptoRng>(
        &mut self,
        now: Instant,
        around: &dyn Neighbourhood,
        random: &mut R,
        counters: &mut LinkCounters,
        send: Send<'_>,
    ) -> bool {
        let met = self.meeting.poll(now, &mut self.sessions, around, random);
        counters.keys_replaced += self.sessions.poll_replaced();
        self.send_on(now, around, counters, send);
        met
    }

    // Not inlined: it must not lie on the stack beneath a multiplication.
    #[inline(never)]
    fn send_on(
        &mut self,
        now: Instant,
        around: &dyn Neighbourhood,
        counters: &mut LinkCounters,
        send: Send<'_>,
    ) {
        // The last message of a handshake goes first: its receiver has no key before.
        let mut carried = [0; MAX_CARRIED];
        if let Some((station, datagram)) = self.sessions.poll_leaving(&mut carried)
            && let Some(to) = around.address_of(station)
        {
            send(counters, to, datagram);
        }
        let mut room = [0; DATAGRAM_LEN];
        if let Some((to, datagram)) = self.sessions.poll_waiting(now, &mut room) {
            send(counters, to, datagram);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let due = [self.meeting.poll_timeout(&self.sessions), self.sessions.poll_timeout()];
        due.into_iter().flatten().min()
    }
}
