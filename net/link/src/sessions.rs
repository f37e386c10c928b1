//! Protected datagrams: the link of neighbours that share a network of IPv6 in place of a radio's
//! channel, such as the UDP sockets of an operating system.
//!
//! ```text
//! payload ─ session (next number) ─ seal ─ socket ─ socket ─ whose? ─ open (a new number?) ─ payload
//!    └─ no session yet: one waits ─ handshake
//! ```
//!
//! What passes is what hosts send each other ([`motemix_neighbour::datagram`]), with a datagram of
//! the layer above as its content. There are no sockets here: the owner hands in what arrives, and
//! sends what it is given.
//!
//! A neighbour is named by a number of its address ([`station_at`]), which stands where the radio
//! has an extended address: handshakes are those of [`Meeting`](crate::meeting::Meeting).

use core::net::SocketAddrV6;
use core::time::Duration;

use motemix_crypto::Secret;
use motemix_neighbour::Refused;
use motemix_neighbour::datagram::{
    Content, Datagram, MAX_FORGED, MAX_SEALED, Protected, SecurityContext, carry,
};
pub use motemix_neighbour::datagram::{HANDSHAKE_OVERHEAD, PAYLOAD_OVERHEAD};
use motemix_neighbour::doubt::Doubt;
use motemix_time::Instant;

use crate::counters::LinkDrop;
use crate::protection::{HandshakeMessage, KEY_LEN, Keys, KeysWanted, MAX_HANDSHAKE, Role, moment, ticks};
use crate::serial::ExtendedAddress;
use crate::settings::LinkSettings;

/// Bytes of a message of a handshake in its datagram, at most.
pub const MAX_CARRIED: usize = MAX_HANDSHAKE + HANDSHAKE_OVERHEAD;

/// Datagrams under one key after which another is asked for: an eighth before it ends.
const RENEW_AFTER: u32 = MAX_SEALED / 8 * 7;

/// The same of datagrams that were forged.
const RENEW_AFTER_FORGED: u32 = MAX_FORGED / 8 * 7;
/// Datagrams after which it is asked for again.
const RENEW_EVERY: u32 = 1024;

/// What handshakes call whoever has this address. Both halves of the IPv6 address are in it, and
/// the port, so that neighbours of one prefix and one port have different numbers.
pub const fn station_at(address: SocketAddrV6) -> ExtendedAddress {
    let [high, low] = halves(address.ip().to_bits());
    let port = (address.port() as u64) << 48;
    ExtendedAddress((high ^ low ^ port).to_be_bytes())
}

const fn halves(bits: u128) -> [u64; 2] {
    [(bits >> 64) as u64, bits as u64]
}

/// A place for the session with one neighbour.
#[derive(Debug)]
pub struct SessionSlot {
    session: Option<(ExtendedAddress, SecurityContext)>,
    /// When a datagram was sealed or opened under it, in [`ticks`].
    used: u32,
    doubt: Doubt,
}

impl SessionSlot {
    /// A place without a session.
    pub const FREE: Self = Self { session: None, used: 0, doubt: Doubt::NONE };

    fn is_with(&self, peer: ExtendedAddress) -> bool {
        self.session.as_ref().is_some_and(|(other, _)| *other == peer)
    }
}

/// A datagram whose neighbour has no session yet.
#[derive(Debug)]
struct Waiting<const LEN: usize> {
    to: SocketAddrV6,
    until: Instant,
    payload: [u8; LEN],
}

/// What a datagram turned out to be.
#[derive(Debug)]
pub enum Arrived<'d> {
    /// A message of a handshake, which was kept for [`Keys::poll_handshake`].
    Handshake,
    /// It is for [`Sessions::open`].
    Protected(Protected<'d>),
}

/// The sessions of a station with its neighbours, for payloads of `LEN` bytes each.
#[derive(Debug)]
pub struct Sessions<'s, const LEN: usize> {
    slots: &'s mut [SessionSlot],
    keys_within: Duration,
    idle_after: u32,
    now: u32,
    wanted: Option<ExtendedAddress>,
    /// From whom something came without a session.
    heard: Option<ExtendedAddress>,
    /// Whom a payload waits for is called before whom is wanted: they take turns, because one of
    /// them may not answer.
    waiting_first: bool,
    arrived: Option<HandshakeMessage>,
    leaving: Option<HandshakeMessage>,
    waiting: Option<Waiting<LEN>>,
    /// Sessions that had to go for another, and payloads that went for want of one.
    replaced: u32,
    unheard: u32,
}

impl<'s, const LEN: usize> Sessions<'s, LEN> {
    /// Bytes of a payload's datagram.
    pub const DATAGRAM: usize = LEN + PAYLOAD_OVERHEAD;

    /// With as many neighbours at a time as there are slots. What is in them is forgotten.
    pub fn new(settings: &LinkSettings, slots: &'s mut [SessionSlot]) -> Self {
        slots.fill_with(|| SessionSlot::FREE);
        Self {
            slots,
            keys_within: settings.keys_within,
            idle_after: ticks(settings.idle_after.as_micros() as u64),
            now: 0,
            wanted: None,
            heard: None,
            waiting_first: false,
            arrived: None,
            leaving: None,
            waiting: None,
            replaced: 0,
            unheard: 0,
        }
    }

    /// Looks at what arrived from a station that the network names. It computes nothing.
    ///
    /// # Errors
    /// [`LinkDrop::Unprotected`] if it is neither a message of a handshake nor under a key,
    /// [`LinkDrop::TooLong`] if it is a message that none is as long as,
    /// [`LinkDrop::HandshakeBusy`] if the one before it was not taken yet.
    pub fn take_in<'d>(
        &mut self,
        from: ExtendedAddress,
        datagram: &'d [u8],
    ) -> Result<Arrived<'d>, LinkDrop> {
        match Datagram::parse(datagram).map_err(|_| LinkDrop::Unprotected)? {
            Datagram::Protected(protected) => Ok(Arrived::Protected(protected)),
            Datagram::Handshake(_) if self.arrived.is_some() => Err(LinkDrop::HandshakeBusy),
            Datagram::Handshake(message) => {
                self.arrived = Some(HandshakeMessage::new(from, message).ok_or(LinkDrop::TooLong)?);
                Ok(Arrived::Handshake)
            }
        }
    }

    /// Whether a message of a handshake was taken in, and nobody has asked for it yet.
    pub const fn has_handshake(&self) -> bool {
        self.arrived.is_some()
    }

    /// Opens what arrived into `out`, of which [`DATAGRAM`](Self::DATAGRAM) bytes are enough. Whose
    /// address somebody else claims costs one run of AES-CCM, and changes nothing.
    ///
    /// # Errors
    /// [`LinkDrop::NoKey`] if there is no session with the station, which is called then;
    /// [`LinkDrop::Forged`], [`LinkDrop::RepeatedFrame`] if it came before or too late;
    /// [`LinkDrop::BadHeader`] if it is the neighbour's, and no payload of this length.
    pub fn open<'o>(
        &mut self,
        from: ExtendedAddress,
        datagram: &Protected<'_>,
        out: &'o mut [u8],
    ) -> Result<&'o [u8; LEN], LinkDrop> {
        let slot = self.slots.iter_mut().find(|slot| slot.is_with(from));
        let Some(SessionSlot { session: Some((_, session)), used, doubt }) = slot else {
            // It may not know that this station was restarted; or it is a lie.
            self.heard.get_or_insert(from);
            return Err(LinkDrop::NoKey);
        };
        let opened = match session.open(datagram, out) {
            Ok((_, opened)) => opened,
            Err(Refused::Ciphertext) => {
                let now = moment(self.now);
                if session.forged() >= RENEW_AFTER_FORGED || doubt.is_due(now) {
                    self.heard.get_or_insert(from);
                }
                // It is asked if nobody else is to be.
                if self.heard == Some(from) {
                    *doubt = Doubt::none(now);
                }
                return Err(LinkDrop::Forged);
            }
            Err(Refused::Replayed) => return Err(LinkDrop::RepeatedFrame),
            Err(Refused::Exhausted) => {
                self.heard.get_or_insert(from);
                return Err(LinkDrop::NoKey);
            }
            Err(_) => return Err(LinkDrop::BadHeader),
        };
        (*used, *doubt) = (self.now, Doubt::none(moment(self.now)));
        match opened {
            Content::Payload(payload) => payload.try_into().map_err(|_| LinkDrop::BadHeader),
            Content::Text { .. } | Content::Receipt(_) => Err(LinkDrop::BadHeader),
        }
    }

    /// Seals a payload for the station at this address, and returns the datagram that is to leave,
    /// in the beginning of `out`. `None`: there is no session with it yet, and the payload waits
    /// for one.
    ///
    /// # Errors
    /// [`LinkDrop::QueueFull`] if another one waits already, [`LinkDrop::TooLong`] if it has
    /// another length than payloads here.
    pub fn seal<'o>(
        &mut self,
        now: Instant,
        to: SocketAddrV6,
        payload: &[u8],
        out: &'o mut [u8],
    ) -> Result<Option<&'o [u8]>, LinkDrop> {
        let payload: &[u8; LEN] = payload.try_into().map_err(|_| LinkDrop::TooLong)?;
        self.now = ticks(now.as_micros());
        let station = station_at(to);
        if let Some(context) = self.session(station) {
            let out = out.get_mut(..Self::DATAGRAM).ok_or(LinkDrop::TooLong)?;
            context.seal(&Content::Payload(payload), out).map_err(|_| LinkDrop::NoHandshake)?;
            let beyond = context.sealed().checked_sub(RENEW_AFTER);
            if beyond.is_some_and(|beyond| beyond.is_multiple_of(RENEW_EVERY)) {
                self.wanted.get_or_insert(station);
            }
            return Ok(Some(out));
        }
        // Called in its turn, so that there is a session when its sender tries again.
        self.wanted.get_or_insert(station);
        if self.waiting.is_some() {
            return Err(LinkDrop::QueueFull);
        }
        self.waiting = Some(Waiting { to, until: now + self.keys_within, payload: *payload });
        Ok(None)
    }

    /// The datagram that waited for its session, sealed now, and where it is to go. What
    /// [`poll_leaving`](Self::poll_leaving) has leaves first: the neighbour may have no key before.
    pub fn poll_waiting<'o>(&mut self, now: Instant, out: &'o mut [u8]) -> Option<(SocketAddrV6, &'o [u8])> {
        let to = self.waiting.as_ref()?.to;
        self.session(station_at(to))?;
        let Waiting { payload, .. } = self.waiting.take()?;
        let datagram = self.seal(now, to, &payload, out).ok().flatten()?;
        Some((to, datagram))
    }

    /// The message of a handshake that is to leave, with whom, and written to `out`.
    pub fn poll_leaving<'o>(
        &mut self,
        out: &'o mut [u8; MAX_CARRIED],
    ) -> Option<(ExtendedAddress, &'o [u8])> {
        let message = self.leaving.take()?;
        let out = out.get_mut(..message.as_bytes().len() + HANDSHAKE_OVERHEAD)?;
        carry(message.as_bytes(), out).ok()?;
        Some((message.peer, out))
    }

    /// Gives up what has waited for too long; how many datagrams were given up since this was asked
    /// last, for that reason or because there will be no session.
    pub fn expire(&mut self, now: Instant) -> u32 {
        self.now = ticks(now.as_micros());
        if self.waiting.as_ref().is_some_and(|waiting| waiting.until <= now) {
            self.waiting = None;
            self.unheard += 1;
        }
        core::mem::take(&mut self.unheard)
    }

    /// When [`expire`](Self::expire) has something to give up.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|waiting| waiting.until)
    }

    /// How many sessions had to go for another's since this was asked last.
    pub const fn poll_replaced(&mut self) -> u32 {
        core::mem::replace(&mut self.replaced, 0)
    }

    /// A session that can seal.
    fn session(&mut self, peer: ExtendedAddress) -> Option<&mut SecurityContext> {
        let slot = self.slots.iter_mut().find(|slot| slot.is_with(peer))?;
        slot.used = self.now;
        let (_, context) = slot.session.as_mut()?;
        (!context.has_ended()).then_some(context)
    }
}

impl<const LEN: usize> Keys for Sessions<'_, LEN> {
    fn poll_wanted(&mut self) -> Option<KeysWanted> {
        if let Some(station) = self.heard.take() {
            return Some(KeysWanted::HeardFrom(station));
        }
        let waiting = self.waiting.as_ref().map(|waiting| station_at(waiting.to));
        // One that has its session leaves with the next poll_waiting.
        let waiting = waiting.filter(|to| self.session(*to).is_none());
        let first = if self.waiting_first { waiting } else { None };
        let wanted = first.or_else(|| self.wanted.take()).or(waiting)?;
        self.waiting_first = waiting != Some(wanted);
        Some(KeysWanted::ToSend(wanted))
    }

    fn poll_handshake(&mut self) -> Option<HandshakeMessage> {
        self.arrived.take()
    }

    fn can_send_handshake(&self) -> bool {
        self.leaving.is_none()
    }

    fn send_handshake(&mut self, message: HandshakeMessage) -> bool {
        let is_free = self.leaving.is_none();
        self.leaving.get_or_insert(message);
        is_free
    }

    // A network of IPv6 says nothing of what it loses.
    fn poll_undelivered(&mut self) -> Option<ExtendedAddress> {
        None
    }

    fn set_key(&mut self, peer: ExtendedAddress, key: &Secret<KEY_LEN>, role: Role, _shares_short: bool) {
        let used = self.now;
        // The one that was used longest ago is the first.
        let by_age = |slot: &&mut SessionSlot| {
            (!slot.is_with(peer), slot.session.is_some(), !used.wrapping_sub(slot.used))
        };
        let Some(slot) = self.slots.iter_mut().min_by_key(by_age) else { return };
        self.replaced += u32::from(slot.session.is_some() && !slot.is_with(peer));
        let context = SecurityContext::new(key.duplicate(), role);
        let doubt = Doubt::none(moment(used));
        *slot = SessionSlot { session: Some((peer, context)), used, doubt };
        self.heard = self.heard.filter(|heard| *heard != peer);
        self.wanted = self.wanted.filter(|wanted| *wanted != peer);
    }

    fn refuse_key(&mut self, peer: ExtendedAddress) {
        if self.waiting.as_ref().is_some_and(|waiting| station_at(waiting.to) == peer) {
            self.waiting = None;
            self.unheard += 1;
        }
        self.wanted = self.wanted.filter(|wanted| *wanted != peer);
    }

    fn has_place_for(&self, peer: ExtendedAddress) -> bool {
        let is_idle = |slot: &SessionSlot| self.now.wrapping_sub(slot.used) >= self.idle_after;
        self.slots.iter().any(|slot| slot.is_with(peer) || slot.session.is_none() || is_idle(slot))
    }

    fn retain_keys(&mut self, keep: &mut dyn FnMut(ExtendedAddress) -> bool) {
        for slot in self.slots.iter_mut() {
            if slot.session.as_ref().is_some_and(|(peer, _)| !keep(*peer)) {
                *slot = SessionSlot::FREE;
            }
        }
    }
}
