//! Keys with neighbours, made over the link itself: what a stack that protects frames asks for
//! ([`Keys`]), made by [`Handshakes`].
//!
//! Static keys are those of X25519 that a network names its nodes by, so whoever is in a network
//! document is admitted, and nobody else.

use core::net::SocketAddrV6;

use motemix_crypto::{Curve, Secret};
use motemix_neighbour::edhoc::{CoseKey, Suite0, WithoutSignatures};
use motemix_neighbour::handshakes::{Admission, Event, Identity, Peer};
pub use motemix_neighbour::handshakes::{
    Admitted, Failure, HandshakeCounters, HandshakeDrop, Handshakes, MAX_KID,
};
use motemix_time::Instant;
use rand_core::CryptoRng;

use crate::heard::Heard;
use crate::protection::{HandshakeMessage, Keys, KeysWanted, Role};
use crate::serial::ExtendedAddress;
use crate::settings::HeardCalls;
use crate::stack::{PORT, link_local};

/// The stations of a network, as their owner knows them.
pub trait Neighbourhood {
    /// The key that a station has to prove; `None` for a stranger.
    fn admitted(&self, station: ExtendedAddress) -> Option<Admitted>;
    /// The one station with this short address; `None` if there is none, or more than one.
    fn station_with(&self, short: [u8; 2]) -> Option<ExtendedAddress>;
    /// Whether another station has the same short address.
    fn shares_short(&self, station: ExtendedAddress) -> bool;
    /// Where a station is reached, for a link that sends to addresses.
    fn address_of(&self, station: ExtendedAddress) -> Option<SocketAddrV6> {
        Some(SocketAddrV6::new(link_local(station), PORT, 0, 0))
    }
}

struct ByPeer<'n>(&'n dyn Neighbourhood);

impl Admission for ByPeer<'_> {
    fn admitted(&self, Peer(station): Peer) -> Option<Admitted> {
        self.0.admitted(ExtendedAddress(station))
    }
}

/// The key of a station, as others know it.
pub const fn admitted(mix_key: [u8; 32], epoch: u32) -> Admitted {
    // One key an epoch: its number tells them apart, as far as they are known at a time.
    Admitted { key: CoseKey::X25519(mix_key), kid: (epoch % (MAX_KID as u32 + 1)) as u8 }
}

/// The handshakes of one station. `C` is the backend of its curve.
pub struct Meeting<C: Curve> {
    handshakes: Handshakes<WithoutSignatures<Suite0<C>>>,
    heard: Heard,
    /// Whoever is called was heard, and nothing is to be sent to it as far as is known.
    is_for_heard: bool,
}

impl<C: Curve> Meeting<C> {
    /// For the station with this address, which has no key of its own yet.
    // Not inlined, so that it is made where it stays.
    #[inline(never)]
    pub fn new<R: CryptoRng + ?Sized>(address: ExtendedAddress, rng: &mut R) -> Self {
        let handshakes = Handshakes::new(WithoutSignatures(Suite0::new()), Peer(address.0), rng);
        Self { handshakes, heard: Heard::new(HeardCalls::new()), is_for_heard: false }
    }

    /// Calls as often for what was heard from now on.
    pub const fn set_heard_calls(&mut self, calls: HeardCalls) {
        self.heard = Heard::new(calls);
    }

    /// Proves this private key from now on, of which others know `public`; `None`: none, and no
    /// more handshakes are made.
    pub fn set_identity(&mut self, identity: Option<(Secret<32>, Admitted)>) {
        self.handshakes.set_identity(identity.map(|(secret, public)| Identity::new(secret, public)));
    }

    /// Neighbours know this node by another address from now on, if it is another. Handshakes under
    /// way end, and are made again.
    pub fn set_address(&mut self, address: ExtendedAddress) {
        self.handshakes.set_address(Peer(address.0));
    }

    /// What happened so far.
    pub const fn counters(&self) -> &HandshakeCounters {
        self.handshakes.counters()
    }

    /// Moves handshakes forward, by one scalar multiplication at most; `true` if there was one, or
    /// a handshake ended.
    pub fn poll<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        keys: &mut dyn Keys,
        around: &dyn Neighbourhood,
        rng: &mut R,
    ) -> bool {
        self.take_in(now, keys, around);
        let worked = self.handshakes.work(now, &ByPeer(around), rng);
        let ended = self.settle(keys, around);
        self.transmit(now, keys);
        worked || ended
    }

    // None of these is inlined: what one needs on the stack must not lie beneath a multiplication.
    #[inline(never)]
    fn take_in(&mut self, now: Instant, keys: &mut dyn Keys, around: &dyn Neighbourhood) {
        let (handshakes, admission) = (&mut self.handshakes, ByPeer(around));
        handshakes.handle_timeout(now);
        if let Some(ExtendedAddress(station)) = keys.poll_undelivered() {
            handshakes.undelivered(Peer(station));
        }
        if let Some(message) = keys.poll_handshake() {
            let ExtendedAddress(station) = message.peer;
            // What is dropped is counted.
            let _ = handshakes.handle(now, Peer(station), message.as_bytes(), &admission);
        }
        if !handshakes.is_idle() {
            return;
        }
        if let Some(ExtendedAddress(station)) = self.next_to_call(now, keys, around) {
            self.handshakes.call(now, Peer(station), &ByPeer(around));
        }
    }

    /// Those to whom something is to be sent are called first; after one of them, one that was
    /// heard has its turn.
    fn next_to_call(
        &mut self,
        now: Instant,
        keys: &mut dyn Keys,
        around: &dyn Neighbourhood,
    ) -> Option<ExtendedAddress> {
        if !self.is_for_heard
            && let Some(heard) = self.next_heard(now, keys)
        {
            return Some(heard);
        }
        while let Some(wanted) = keys.poll_wanted() {
            let heard = match wanted {
                KeysWanted::ToSend(station) => {
                    self.is_for_heard = false;
                    return Some(station);
                }
                KeysWanted::Heard(short) => around.station_with(short),
                KeysWanted::HeardFrom(station) => Some(station),
            };
            if let Some(station) = heard.filter(|station| around.admitted(*station).is_some()) {
                self.heard.note(station);
            }
        }
        self.next_heard(now, keys)
    }

    fn next_heard(&mut self, now: Instant, keys: &dyn Keys) -> Option<ExtendedAddress> {
        // It costs no more than a search, and no token, if its key would have no place.
        let station = self.heard.poll(now).filter(|station| keys.has_place_for(*station))?;
        self.heard.spend(now);
        self.is_for_heard = true;
        Some(station)
    }

    /// Tells the link how a handshake ended, if one did.
    #[inline(never)]
    fn settle(&mut self, keys: &mut dyn Keys, around: &dyn Neighbourhood) -> bool {
        match self.handshakes.poll_event() {
            Some(Event::Key { peer: Peer(station), key, role }) => {
                let station = ExtendedAddress(station);
                self.heard.settled(station);
                // Places may have been taken since it was called.
                let is_for_heard = self.is_for_heard && role == Role::Initiator;
                if !is_for_heard || keys.has_place_for(station) {
                    keys.set_key(station, &key, role, around.shares_short(station));
                }
            }
            Some(Event::Failed { peer: Peer(station), reason }) => {
                let station = ExtendedAddress(station);
                keys.refuse_key(station);
                // It may have another key now than this side: what passes is lost until both have
                // the same again.
                if reason == Failure::Unconfirmed {
                    self.heard.note(station);
                }
            }
            None => return false,
        }
        true
    }

    #[inline(never)]
    fn transmit(&mut self, now: Instant, keys: &mut dyn Keys) {
        if keys.can_send_handshake()
            && let Some(transmit) = self.handshakes.poll_transmit(now)
            && let Some(message) = HandshakeMessage::new(ExtendedAddress(transmit.to.0), transmit.as_bytes())
        {
            keys.send_handshake(message);
        }
    }

    /// When [`poll`](Self::poll) has something to do, besides when the link has news.
    pub fn poll_timeout(&self, keys: &dyn Keys) -> Option<Instant> {
        if self.handshakes.has_work() {
            return Some(Instant::default());
        }
        let due = if keys.can_send_handshake() {
            self.handshakes.poll_timeout()
        } else {
            // A message that cannot leave yet is not due: the link has news when it can.
            self.handshakes.poll_deadline()
        };
        let heard = if self.handshakes.is_idle() { self.heard.due() } else { None };
        due.into_iter().chain(heard).min()
    }
}
