//! Packets that are processed together, so that their multiplications are done side by side
//! ([`Curve::diffie_hellman_batch`]). What becomes of each is what would become of it alone:
//!
//! ```text
//! datagrams ─ push ─ Batch ─ authenticate ─▶ AuthenticBatch ─ admit ─▶ FreshBatch
//!                      ▲                       each: own return, replay filter    │
//!                      └──── take_each: Hop ──── UnwrappedBatch ◀─ unwrap_layers ─┘
//! ```
//!
//! The order is one of types, as for single packets. The two steps with multiplications need
//! nothing but the mix keys, so they may run on any thread; the batch stays where it is, in memory
//! that a `Box` or a borrow leads to, so that no key is ever moved.

use core::ops::DerefMut;

use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{Curve, Pair, PublicKey, Secret};

use crate::geometry::GROUP_ELEMENT_LEN;
use crate::keys::{HeaderKeys, HopKey, MixKey, ReplayTag};
use crate::message::Found;
use crate::process::{
    Forward, Hop, Keys, ProcessError, ReplayError, ReplayFilter, TurnRound, Yours, advance,
};
use crate::profile::Profile;
use crate::reply::{HeaderId, TurnKey};
use crate::routing::{Command, NodeId, split_block};

/// The most packets of a batch.
pub const BATCH: usize = 16;

/// Memory for packets that are processed together. `T` is what the caller keeps with each, such as
/// whom it came from; `K` tells mix keys apart.
pub struct Batch<P: Profile, T, K> {
    entries: [Entry<P, T, K>; BATCH],
    len: usize,
}

struct Entry<P: Profile, T, K> {
    packet: P::Packet,
    tag: Option<T>,
    keys: Keys,
    state: State<K>,
}

/// How far a packet has come.
#[derive(Clone, Copy)]
enum State<K> {
    Refused(ProcessError),
    Authentic(K),
    /// The replay filter has admitted it.
    Fresh,
    /// The header's layer is removed.
    Opened(Opened),
    Unwrapped(Result<Told, ProcessError>),
    /// It goes no further.
    Out,
}

impl<P: Profile, T, K: Copy> Batch<P, T, K> {
    /// An empty batch.
    pub fn new() -> Self {
        let entry = |_| Entry { packet: P::packet(), tag: None, keys: Keys::zero(), state: State::Out };
        Self { entries: core::array::from_fn(entry), len: 0 }
    }

    /// How many packets there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether nothing more fits.
    pub const fn is_full(&self) -> bool {
        self.len == BATCH
    }

    /// Adds a datagram, if it has the length of a packet.
    ///
    /// # Errors
    /// It has another length. The batch is as it was.
    ///
    /// # Panics
    /// If the batch is [full](Self::is_full).
    pub fn push(&mut self, tag: T, datagram: &[u8]) -> Result<(), ProcessError> {
        if datagram.len() != P::GEOMETRY.packet_len() {
            return Err(ProcessError::WrongLength);
        }
        let entry = &mut self.entries[self.len];
        entry.packet.as_mut().copy_from_slice(datagram);
        entry.tag = Some(tag);
        entry.state = State::Refused(ProcessError::BadHeaderMac);
        self.len += 1;
        Ok(())
    }

    /// Forgets all packets, and wipes their keys.
    pub fn clear(&mut self) {
        for entry in self.present() {
            entry.keys = Keys::zero();
            (entry.tag, entry.state) = (None, State::Out);
        }
        self.len = 0;
    }

    fn present(&mut self) -> impl Iterator<Item = &mut Entry<P, T, K>> {
        self.entries[..self.len].iter_mut()
    }

    fn authenticate<'k>(&mut self, candidates: impl IntoIterator<Item = (K, &'k MixKey)>) {
        for (which, mix_key) in candidates {
            let mut pairs = [mix_key.with(PublicKey([0; GROUP_ELEMENT_LEN])); BATCH];
            let mut count = 0;
            let others = || |entry: &&mut Entry<P, T, K>| matches!(entry.state, State::Refused(_));
            for (pair, entry) in pairs.iter_mut().zip(self.present().filter(others())) {
                pair.point = group_element(entry.packet.as_ref());
                count += 1;
            }
            if count == 0 {
                return;
            }
            let mut shared = [const { None }; BATCH];
            P::Curve::diffie_hellman_batch(&pairs[..count], &mut shared[..count]);
            for (shared, entry) in shared.iter().zip(self.present().filter(others())) {
                let Some(shared) = shared else {
                    entry.state = State::Refused(ProcessError::NonContributory);
                    continue;
                };
                entry.state = match Keys::if_authentic::<P>(shared, entry.packet.as_ref()) {
                    None => State::Refused(ProcessError::BadHeaderMac),
                    Some(keys) => {
                        entry.keys = keys;
                        State::Authentic(which)
                    }
                };
            }
        }
    }

    /// Decrypts the payload of each packet whose command says that there is something in it.
    fn decrypt_payloads(&mut self) {
        let mut keys = [const { WideBlockKeys::new(Secret::zero()) }; BATCH];
        let mut payloads: [&mut [u8]; BATCH] = core::array::from_fn(|_| [].as_mut_slice());
        let mut count = 0;
        let has_payload = |state: &State<K>| matches!(state, State::Opened(opened) if opened.has_payload());
        for entry in self.present().filter(|entry| has_payload(&entry.state)) {
            keys[count] = entry.keys.hop_key.payload_keys();
            payloads[count] = &mut entry.packet.as_mut()[P::GEOMETRY.payload()];
            count += 1;
        }
        WideBlockKeys::decrypt_each::<P::WideHash>(&keys[..count], &mut payloads[..count]);
    }

    fn unwrap_layers(&mut self) {
        for entry in self.present().filter(|entry| matches!(entry.state, State::Fresh)) {
            let opened = open_header::<P>(entry.packet.as_mut(), &entry.keys.header);
            entry.state = opened.map_or_else(|error| State::Unwrapped(Err(error)), State::Opened);
        }
        self.decrypt_payloads();
        let mut blindings = [const { Secret::zero() }; BATCH];
        let mut points = [PublicKey([0; GROUP_ELEMENT_LEN]); BATCH];
        let mut count = 0;
        for entry in self.present() {
            let State::Opened(opened) = entry.state else { continue };
            let header = &entry.keys.header;
            let told = opened.told::<P>(entry.packet.as_ref(), header);
            if told.is_ok_and(|told| told.leaves()) {
                blindings[count] = header.blinding();
                points[count] = group_element(entry.packet.as_ref());
                count += 1;
            }
            entry.state = State::Unwrapped(told);
        }
        let pairs: [_; BATCH] = core::array::from_fn(|at| Pair { secret: &blindings[at], point: points[at] });
        let mut blinded = [const { None }; BATCH];
        P::Curve::diffie_hellman_batch(&pairs[..count], &mut blinded[..count]);
        let leave =
            |entry: &&mut Entry<P, T, K>| matches!(entry.state, State::Unwrapped(Ok(told)) if told.leaves());
        for (blinded, entry) in blinded.iter().zip(self.present().filter(leave)) {
            match blinded {
                None => entry.state = State::Unwrapped(Err(ProcessError::NonContributory)),
                Some(blinded) => {
                    entry.packet.as_mut()[..GROUP_ELEMENT_LEN].copy_from_slice(blinded.expose());
                }
            }
        }
    }
}

impl<P: Profile, T, K: Copy> Default for Batch<P, T, K> {
    fn default() -> Self {
        Self::new()
    }
}

fn group_element(packet: &[u8]) -> PublicKey {
    PublicKey(*packet.first_chunk().expect("a packet begins with its group element"))
}

impl Keys {
    const fn zero() -> Self {
        Self { hop_key: HopKey::zero(), header: HeaderKeys::zero() }
    }
}

/// What the layer that was removed said.
#[derive(Clone, Copy)]
enum Told {
    Forward(Forward),
    TurnRound { forward: Forward, message: Option<Found> },
    Deliver(Found),
    Drop,
    Yours(HeaderId),
}

impl Told {
    /// Whether the packet leaves, once its group element is blinded.
    const fn leaves(&self) -> bool {
        matches!(self, Self::Forward(_) | Self::TurnRound { .. })
    }

    /// The same with what it says in the packet.
    fn hop<P: Profile>(self, hop_key: HopKey, bytes: &mut [u8]) -> Hop<'_> {
        let payload = &mut bytes[P::GEOMETRY.payload()];
        match self {
            Self::Forward(forward) => Hop::Forward(forward),
            Self::TurnRound { forward, message } => {
                let message = message.map(|found| found.message(payload));
                Hop::TurnRound(TurnRound { forward, turn_key: TurnKey::new(hop_key), message })
            }
            Self::Deliver(found) => Hop::Deliver(found.message(payload)),
            Self::Drop => Hop::Drop,
            Self::Yours(header_id) => Hop::Yours(Yours { header_id, payload }),
        }
    }
}

/// What a header says, before the payload is decrypted.
#[derive(Clone, Copy)]
enum Opened {
    Forward(NodeId),
    TurnRound(NodeId),
    Deliver,
    Drop,
    Yours(HeaderId),
}

/// Removes the layer of the header, as `unwrap_layer` of a single packet: apart from it, so that
/// boards have the shortest code for that one. What is left to do is to decrypt the payload, if the
/// packet [has one](Opened::has_payload) for this node, and to blind the group element of a packet
/// that leaves.
fn open_header<P: Profile>(bytes: &mut [u8], header: &HeaderKeys) -> Result<Opened, ProcessError> {
    let (head, _) = bytes.split_at_mut(P::GEOMETRY.header_len());
    let (routing_info, header_mac) = head[GROUP_ELEMENT_LEN..].split_at_mut(P::GEOMETRY.routing_info_len());

    let (field, after_field) = split_block(advance(routing_info, header));
    header_mac.copy_from_slice(&after_field);
    // Disclosed: the command. It is for this node alone, which now does what it says.
    Ok(match Command::parse(field).ok_or(ProcessError::UnknownCommand)? {
        Command::Forward(next) => Opened::Forward(next),
        Command::TurnRound(next) => Opened::TurnRound(next),
        Command::Yours => Opened::Yours(HeaderId(after_field)),
        Command::Drop => Opened::Drop,
        Command::Deliver => Opened::Deliver,
    })
}

impl Opened {
    /// Whether the payload is to be decrypted.
    const fn has_payload(self) -> bool {
        matches!(self, Self::Forward(_) | Self::TurnRound(_) | Self::Deliver)
    }

    /// With what the payload says, now that it is decrypted.
    fn told<P: Profile>(self, bytes: &[u8], header: &HeaderKeys) -> Result<Told, ProcessError> {
        let found = || Found::parse(&bytes[P::GEOMETRY.payload()]);
        let forward = |next| Forward { next, delay: header.delay() };
        // Disclosed: the command, as above.
        Ok(match self {
            Self::Forward(next) => Told::Forward(forward(next)),
            Self::TurnRound(next) => Told::TurnRound { forward: forward(next), message: found() },
            Self::Deliver => Told::Deliver(found().ok_or(ProcessError::BadPayload)?),
            Self::Drop => Told::Drop,
            Self::Yours(header_id) => Told::Yours(header_id),
        })
    }
}

/// A batch whose header MACs have been checked. `H` leads to the [`Batch`].
pub struct AuthenticBatch<H>(H);

impl<H, P, T, K> AuthenticBatch<H>
where
    H: DerefMut<Target = Batch<P, T, K>>,
    P: Profile,
    K: Copy,
{
    /// Checks each packet's header MAC under each of the candidates in turn, until one fits. A
    /// second candidate costs multiplications only for packets that the first does not fit.
    pub fn authenticate<'k>(mut batch: H, candidates: impl IntoIterator<Item = (K, &'k MixKey)>) -> Self {
        batch.authenticate(candidates);
        Self(batch)
    }

    /// Hands the packets to `decide` in their order: those that are authentic, with the key that
    /// fits, and why the others are not. Only what `decide` [admits](AuthenticPacket::admit) goes
    /// further.
    pub fn admit(
        mut self,
        mut decide: impl FnMut(&T, Result<(K, AuthenticPacket<'_, P>), ProcessError>),
    ) -> FreshBatch<H> {
        for entry in self.0.present() {
            let mut admitted = false;
            let Some(tag) = &entry.tag else { continue };
            match entry.state {
                State::Authentic(which) => {
                    let packet = &mut entry.packet;
                    let packet = AuthenticPacket { packet, keys: &entry.keys, admitted: &mut admitted };
                    decide(tag, Ok((which, packet)));
                }
                State::Refused(error) => decide(tag, Err(error)),
                _ => {}
            }
            entry.state = if admitted { State::Fresh } else { State::Out };
        }
        FreshBatch(self.0)
    }
}

/// A packet of a batch whose header was made for this node and not changed since.
pub struct AuthenticPacket<'e, P: Profile> {
    packet: &'e mut P::Packet,
    keys: &'e Keys,
    admitted: &'e mut bool,
}

impl<P: Profile> AuthenticPacket<'_, P> {
    /// What the replay filter is asked about.
    pub fn replay_tag(&self) -> ReplayTag {
        self.keys.header.replay_tag()
    }

    /// As [`Authenticated::own_return`](crate::Authenticated::own_return): the packet, if it is
    /// this node's own. Then it is not to be admitted.
    pub fn own_return(&mut self, is_under_way: impl FnOnce(&HeaderId) -> bool) -> Option<Yours<'_>> {
        let header_id = self.keys.own_return(self.packet.as_ref(), is_under_way)?;
        Some(Yours { header_id, payload: &mut self.packet.as_mut()[P::GEOMETRY.payload()] })
    }

    /// Asks the filter of the mix key that the packet authenticated under.
    ///
    /// # Errors
    /// The filter's: the packet goes no further.
    pub fn admit(self, filter: &mut impl ReplayFilter) -> Result<(), ReplayError> {
        filter.admit(&self.replay_tag())?;
        *self.admitted = true;
        Ok(())
    }
}

/// A batch of which the replay filter has been asked.
pub struct FreshBatch<H>(H);

impl<H, P, T, K> FreshBatch<H>
where
    H: DerefMut<Target = Batch<P, T, K>>,
    P: Profile,
    K: Copy,
{
    /// Removes this hop's layer of each packet that was admitted.
    pub fn unwrap_layers(mut self) -> UnwrappedBatch<H> {
        self.0.unwrap_layers();
        UnwrappedBatch(self.0)
    }
}

/// A batch whose packets have said what is to be done with them.
pub struct UnwrappedBatch<H>(H);

impl<H, P, T, K> UnwrappedBatch<H>
where
    H: DerefMut<Target = Batch<P, T, K>>,
    P: Profile,
    K: Copy,
{
    /// Hands the packets that were admitted to `take`, in their order, and returns the memory with
    /// nothing in it.
    pub fn take_each(mut self, mut take: impl FnMut(&T, UnwrappedPacket<'_, P>)) -> H {
        for entry in self.0.present() {
            if let (State::Unwrapped(told), Some(tag)) = (entry.state, &entry.tag) {
                let (packet, hop_key) = (&mut entry.packet, &entry.keys.hop_key);
                take(tag, UnwrappedPacket { packet, hop_key, told });
            }
        }
        self.0.clear();
        self.0
    }
}

/// A packet of a batch whose layer was removed.
pub struct UnwrappedPacket<'e, P: Profile> {
    packet: &'e mut P::Packet,
    hop_key: &'e HopKey,
    told: Result<Told, ProcessError>,
}

impl<'e, P: Profile> UnwrappedPacket<'e, P> {
    /// What is to be done with it.
    ///
    /// # Errors
    /// As [`Fresh::unwrap_layer`](crate::Fresh::unwrap_layer).
    pub fn hop(&mut self) -> Result<Hop<'_>, ProcessError> {
        Ok(self.told?.hop::<P>(self.hop_key.duplicate(), self.packet.as_mut()))
    }

    /// The buffer, which holds what [`hop`](Self::hop) says.
    pub fn into_bytes(self) -> &'e mut [u8] {
        self.packet.as_mut()
    }
}
