//! Protection of frames (IEEE 802.15.4-2020, 9): the keys of neighbours, and who is to get one.
//!
//! Each neighbour has a key of its own, which serves both directions: a nonce begins with its
//! sender's extended address. Frames name stations by their short addresses, which saves what the
//! protection costs. A frame counter is used once with a key. A frame whose counter is not above
//! that of the last one is a repetition, and is refused before anything is computed; the order of
//! a neighbour's frames is that in which they were sent.
//!
//! How two neighbours come to a key is not for this crate to know: it carries their messages,
//! which are not protected, and is told the outcome.

use motemix_crypto::Secret;
pub use motemix_crypto::aes_ccm::KEY_LEN;
use motemix_crypto::aes_ccm::{NONCE_LEN, TAG_LEN, open, seal};
use motemix_neighbour::doubt::Doubt;
pub use motemix_neighbour::edhoc::Role;
use motemix_time::Instant;

use crate::counters::LinkDrop;
use crate::mac::{Envelope, Frame, LinkAddress, MacHeader};
use crate::serial::{ExtendedAddress, MAX_FRAME};
use crate::settings::LinkSettings;
use crate::stack::FRAMES_AT_ONCE;

/// The longest message of a handshake. A frame would have room for more, and small boards have
/// none.
pub const MAX_HANDSHAKE: usize = 48;

/// Level ENC-MIC-64, the last byte of a nonce.
const LEVEL: u8 = 6;
/// Neighbours of one short address whose keys are tried: more than two are not met.
const CANDIDATES: usize = 3;
/// Frames after which another key is asked for again.
const RENEW_EVERY: u32 = 256;

/// A place for the key of one neighbour.
#[derive(Debug)]
pub struct KeySlot {
    peer: Option<ExtendedAddress>,
    key: Secret<KEY_LEN>,
    /// The frame counter of the next frame to it.
    next: u32,
    /// The least that the counter of its next frame may be.
    expected: u32,
    envelope: Envelope,
    /// When a frame was sent or opened under it, in [`ticks`].
    used: u32,
    doubt: Doubt,
}

/// Sixteenths of a second, about: they last for eight years.
pub(crate) const fn ticks(micros: u64) -> u32 {
    (micros >> 16) as u32
}

/// The moment of which these are the [`ticks`].
pub(crate) const fn moment(ticks: u32) -> Instant {
    Instant::from_micros((ticks as u64) << 16)
}

impl KeySlot {
    /// A place without a key.
    pub const FREE: Self = Self {
        peer: None,
        key: Secret::zero(),
        next: 0,
        expected: 0,
        envelope: Envelope::Protected,
        used: 0,
        doubt: Doubt::NONE,
    };

    const fn is_of(&self, peer: ExtendedAddress) -> bool {
        matches!(self.peer, Some(it) if u64::from_le_bytes(it.0) == u64::from_le_bytes(peer.0))
    }
}

/// With whom keys are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeysWanted {
    /// A datagram waits for this neighbour, or the counters of its key will be used up.
    ToSend(ExtendedAddress),
    /// A protected frame came from a station with this short address, and there is no key for it.
    /// That may be a neighbour that does not know that this station was restarted; or a lie.
    Heard([u8; 2]),
    /// The same of a station that is known by all of its address.
    HeardFrom(ExtendedAddress),
}

/// A message of a handshake, and with whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandshakeMessage {
    /// From whom it came, as the frame says. Nobody vouches for it.
    pub peer: ExtendedAddress,
    len: u8,
    bytes: [u8; MAX_HANDSHAKE],
}

impl HandshakeMessage {
    /// `None` if it is longer than [`MAX_HANDSHAKE`].
    pub fn new(peer: ExtendedAddress, message: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_HANDSHAKE];
        bytes.get_mut(..message.len())?.copy_from_slice(message);
        Some(Self { peer, len: message.len() as u8, bytes })
    }

    /// The message.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// The side of a link that makes keys: what a [`Stack`](crate::stack::Stack) that protects frames
/// asks for, and is given. Full is a state of each: one message of a handshake that arrived waits
/// until it is taken, and one that leaves until it has left.
pub trait Keys {
    /// With whom keys are wanted: first for what was heard, which is said once, then for what is to
    /// be sent, which is said again when it is still so.
    fn poll_wanted(&mut self) -> Option<KeysWanted>;
    /// A message of a handshake that arrived.
    fn poll_handshake(&mut self) -> Option<HandshakeMessage>;
    /// Whether a message of a handshake can leave.
    fn can_send_handshake(&self) -> bool;
    /// Sends a message of a handshake. `false`: another one is still leaving.
    fn send_handshake(&mut self, message: HandshakeMessage) -> bool;
    /// To whom a message of a handshake could not be delivered: its radio does not answer.
    fn poll_undelivered(&mut self) -> Option<ExtendedAddress>;
    /// Protects what passes to and from a neighbour with this key from now on, instead of the one
    /// before. `role` is this side's in the handshake. `shares_short`: another station of the
    /// network has the same short address. If all places are taken, the neighbour that was silent
    /// longest loses its key, which is counted.
    fn set_key(&mut self, peer: ExtendedAddress, key: &Secret<KEY_LEN>, role: Role, shares_short: bool);
    /// There will be no further key for a neighbour: datagrams that wait for one are dropped. If it
    /// has one, that stays, because anybody may make a handshake fail.
    fn refuse_key(&mut self, peer: ExtendedAddress);
    /// Whether a key for this neighbour takes the place of no other that was used lately.
    fn has_place_for(&self, peer: ExtendedAddress) -> bool;
    /// Forgets the keys of all neighbours but those for which this says `true`.
    fn retain_keys(&mut self, keep: &mut dyn FnMut(ExtendedAddress) -> bool);
}

/// What the settings say of keys.
#[derive(Clone, Copy)]
pub(crate) struct KeyAges {
    /// Another key is wanted from this counter on.
    rekey_at: u32,
    /// A key that was not used for so long is idle, in [`ticks`].
    idle_after: u32,
}

impl KeyAges {
    pub(crate) const fn of(settings: &LinkSettings) -> Self {
        let idle_after = ticks(settings.idle_after.as_micros() as u64);
        Self { rekey_at: settings.rekey_at, idle_after }
    }
}

/// The keys of a station's neighbours.
pub(crate) struct Protection<'s> {
    me: ExtendedAddress,
    slots: &'s mut [KeySlot],
    ages: KeyAges,
    now: u32,
    /// Whose counters will be used up.
    renewed: Option<ExtendedAddress>,
    /// From whom frames came without a key: as many as are taken in before somebody asks, so that
    /// a stranger's do not hide a neighbour's.
    heard: [Option<[u8; 2]>; FRAMES_AT_ONCE as usize],
    /// Whose key may be another one than the neighbour's.
    doubted: Option<ExtendedAddress>,
    /// With whom a datagram waits for keys comes before whose counters will be used up: they take
    /// turns, because one of them may not answer.
    waiting_first: bool,
}

impl<'s> Protection<'s> {
    pub(crate) fn new(me: ExtendedAddress, ages: KeyAges, slots: &'s mut [KeySlot]) -> Self {
        // A stack before this one may have left keys in it.
        slots.fill_with(|| KeySlot::FREE);
        Self {
            me,
            slots,
            ages,
            now: 0,
            renewed: None,
            heard: [None; FRAMES_AT_ONCE as usize],
            doubted: None,
            waiting_first: false,
        }
    }

    pub(crate) const fn advance(&mut self, now: Instant) {
        self.now = ticks(now.as_micros());
    }

    /// With whom keys are wanted; a datagram waits for those of `waiting`.
    pub(crate) fn poll_wanted(&mut self, waiting: Option<ExtendedAddress>) -> Option<KeysWanted> {
        if let Some(short) = self.heard.iter_mut().find_map(Option::take) {
            return Some(KeysWanted::Heard(short));
        }
        if let Some(station) = self.doubted.take() {
            return Some(KeysWanted::HeardFrom(station));
        }
        let first = if self.waiting_first { waiting } else { None };
        let wanted = first.or_else(|| self.renewed.take()).or(waiting)?;
        self.waiting_first = waiting != Some(wanted);
        Some(KeysWanted::ToSend(wanted))
    }

    /// Whether a key for this neighbour takes the place of no other that was used lately.
    pub(crate) fn has_place_for(&self, peer: ExtendedAddress) -> bool {
        let is_idle = |slot: &KeySlot| self.now.wrapping_sub(slot.used) >= self.ages.idle_after;
        self.slots.iter().any(|slot| slot.is_of(peer) || slot.peer.is_none() || is_idle(slot))
    }

    /// How frames to a neighbour are addressed; `None` if there is no key for it.
    pub(crate) fn envelope(&self, peer: ExtendedAddress) -> Option<Envelope> {
        self.slots.iter().find(|slot| slot.is_of(peer)).map(|slot| slot.envelope)
    }

    /// Keeps a key; `true` if another neighbour's had to go.
    pub(crate) fn set_key(
        &mut self,
        peer: ExtendedAddress,
        key: &Secret<KEY_LEN>,
        shares_short: bool,
    ) -> bool {
        let envelope = if shares_short { Envelope::ProtectedToExtended } else { Envelope::Protected };
        for heard in self.heard.iter_mut().filter(|heard| **heard == Some(peer.short())) {
            *heard = None;
        }
        self.doubted = self.doubted.filter(|doubted| *doubted != peer);
        let (used, doubt) = (self.now, Doubt::none(moment(self.now)));
        // The one that was used longest ago is the first.
        let by_age =
            |slot: &&mut KeySlot| (!slot.is_of(peer), slot.peer.is_some(), !used.wrapping_sub(slot.used));
        let Some(slot) = self.slots.iter_mut().min_by_key(by_age) else { return false };
        let replaces = slot.peer.is_some() && !slot.is_of(peer);
        *slot = KeySlot { peer: Some(peer), key: key.duplicate(), envelope, used, doubt, ..KeySlot::FREE };
        replaces
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(ExtendedAddress) -> bool) {
        for slot in self.slots.iter_mut().filter(|slot| slot.peer.is_some_and(|peer| !keep(peer))) {
            *slot = KeySlot::FREE;
        }
    }

    /// Begins a frame to a neighbour, which takes one of its frame counters; `None` if there is no
    /// key for it, or all counters of that are used.
    pub(crate) fn begin(&mut self, peer: ExtendedAddress, envelope: Envelope, sequence: u8) -> Option<Frame> {
        let slot = self.slots.iter_mut().find(|slot| slot.is_of(peer))?;
        // Whoever does not answer is not called for each frame.
        if slot.next.checked_sub(self.ages.rekey_at).is_some_and(|beyond| beyond.is_multiple_of(RENEW_EVERY))
        {
            self.renewed.get_or_insert(peer);
        }
        let counter = slot.next;
        // The highest is not used (9.4.3).
        slot.next = counter.checked_add(1)?;
        slot.used = self.now;
        let destination = match envelope {
            Envelope::Protected => LinkAddress::Short(peer.short()),
            Envelope::ProtectedToExtended | Envelope::Plain => LinkAddress::Extended(peer),
        };
        Some(Frame::protected(self.me, destination, sequence, counter))
    }

    /// Encrypts what a frame carries, and appends its MIC. `None`: it was not begun under a key
    /// that is there, and must not leave.
    pub(crate) fn seal(&self, peer: ExtendedAddress, mut frame: Frame) -> Option<Frame> {
        let counter = MacHeader::read(frame.as_bytes())?.frame_counter?;
        let slot = self.slots.iter().find(|slot| slot.is_of(peer))?;
        let (header, carried) = frame.split_mut();
        let tag = seal(&slot.key, &nonce(self.me, counter), header, carried).ok()?;
        frame.push(&tag);
        Some(frame)
    }

    /// Decrypts a frame with this header and counter. Whose it is, and what it carries.
    ///
    /// # Errors
    /// There is no key for its source, its counter is no new one, or it was altered.
    pub(crate) fn open<'b>(
        &mut self,
        header: &MacHeader,
        counter: u32,
        frame: &[u8],
        buffer: &'b mut [u8; MAX_FRAME],
    ) -> Result<(ExtendedAddress, &'b [u8]), LinkDrop> {
        let LinkAddress::Short(short) = header.addresses.source else { return Err(LinkDrop::Foreign) };
        let (associated, carried) = frame.split_at_checked(header.len).ok_or(LinkDrop::BadHeader)?;
        let (ciphertext, tag) = carried.split_last_chunk::<TAG_LEN>().ok_or(LinkDrop::BadHeader)?;
        let (mut reason, now) = (LinkDrop::NoKey, moment(self.now));
        let mut doubtful = None;
        let candidates = self.slots.iter_mut().filter(|slot| slot.peer.is_some_and(|it| it.short() == short));
        for slot in candidates.take(CANDIDATES) {
            let Some(peer) = slot.peer else { continue };
            if slot.doubt.is_due(now) {
                doubtful = Some(peer);
            }
            if counter < slot.expected || counter == u32::MAX {
                if reason != LinkDrop::Forged {
                    reason = LinkDrop::RepeatedFrame;
                }
                continue;
            }
            // What does not open is no ciphertext any more: each key has a copy.
            let text = buffer.get_mut(..ciphertext.len()).ok_or(LinkDrop::BadHeader)?;
            text.copy_from_slice(ciphertext);
            if open(&slot.key, &nonce(peer, counter), associated, text, tag).is_ok() {
                (slot.expected, slot.used, slot.doubt) = (counter + 1, self.now, Doubt::none(now));
                return Ok((peer, buffer.get(..ciphertext.len()).unwrap_or_default()));
            }
            reason = LinkDrop::Forged;
        }
        if reason == LinkDrop::NoKey {
            self.hear(short);
        }
        if let Some(peer) = doubtful.filter(|_| self.doubted.is_none()) {
            self.doubt(peer);
        }
        Err(reason)
    }

    /// Has a neighbour asked for another key. The counters of one that has another key begin anew,
    /// so what it sends may look repeated as well as forged.
    fn doubt(&mut self, peer: ExtendedAddress) {
        self.doubted = Some(peer);
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.is_of(peer)) {
            slot.doubt = Doubt::none(moment(self.now));
        }
    }

    fn hear(&mut self, short: [u8; 2]) {
        if !self.heard.contains(&Some(short))
            && let Some(place) = self.heard.iter_mut().find(|place| place.is_none())
        {
            *place = Some(short);
        }
    }
}

/// The nonce of a frame (9.3.3.1): its sender's extended address, most significant byte first, its
/// counter and its level.
fn nonce(ExtendedAddress(mut sender): ExtendedAddress, counter: u32) -> [u8; NONCE_LEN] {
    sender.reverse();
    let mut nonce = [0; NONCE_LEN];
    let (address, rest) = nonce.split_at_mut(sender.len());
    address.copy_from_slice(&sender);
    let [c3, c2, c1, c0] = counter.to_be_bytes();
    rest.copy_from_slice(&[c3, c2, c1, c0, LEVEL]);
    nonce
}
