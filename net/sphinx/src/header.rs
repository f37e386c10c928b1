//! Creating headers, one scalar multiplication at a time or many headers side by side, and sealing
//! messages under them.

mod batch;

use core::fmt;

use motemix_crypto::curve::scalar::BlindedScalar;
use motemix_crypto::{Curve, PublicKey, Secret, SharedSecret, stream};

use crate::delay::HopDelay;
use crate::geometry::{BLOCK_LEN, GROUP_ELEMENT_LEN, HEADER_MAC_LEN, MAX_HOPS, ROUTING_FIELD_LEN};
use crate::keys::HopKey;
use crate::message::{self, MessageId, TooLong};
use crate::onion;
use crate::profile::Profile;
use crate::reply::{HeaderId, ReturnKeys};
use crate::routing::{Block, Command, NodeId, block};

const SEED: &stream::Label = b"motemix/seed";

/// One node of a path: what its sender has to know of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathHop {
    /// Where the previous hop sends to.
    pub id: NodeId,
    /// Its mix key for the epoch.
    pub mix_key: PublicKey,
}

/// What happens along a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Shape {
    /// The last node takes the message; there is no reply.
    OneWay,
    /// Drop cover: the last node drops the packet.
    Drop,
    /// Node `receiver` (an index into the path) takes the message and sends the packet on with its
    /// reply; the last node is the sender.
    RoundTrip {
        /// Index of the receiver in the path, 0-based.
        receiver: usize,
    },
    /// Loop cover: the last node is the sender.
    Loop,
}

/// A path that no header can be made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathError {
    /// No hops, or more than the profile's headers have blocks for.
    Length,
    /// A round trip whose receiver is not before the last hop, or a way longer than the profile's.
    Receiver,
    /// A node's mix key has small order: the network document is broken.
    SmallOrderKey(NodeId),
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => {
                f.write_str("a path has one hop at least and at most as many as the profile's headers")
            }
            Self::Receiver => {
                f.write_str("a round trip's receiver must lie before its end, within the hops of one way")
            }
            Self::SmallOrderKey(id) => {
                write!(f, "the mix key of node {} has small order; get a sound network document", id.get())
            }
        }
    }
}

impl core::error::Error for PathError {}

/// What a header's seed is expanded to (`docs/spec/packet.md`, "Creating a header").
pub(crate) struct SeedBytes(Secret<{ 66 + MAX_HOPS * BLOCK_LEN }>);

impl SeedBytes {
    fn expand(seed: &Secret<32>) -> Self {
        let mut bytes = Secret::zero();
        stream::fill(seed.expose(), SEED, bytes.expose_mut());
        Self(bytes)
    }

    fn part<const N: usize>(&self, at: usize) -> &[u8; N] {
        self.0.expose()[at..].first_chunk().expect("the parts lie inside the seed bytes")
    }

    fn first_scalar(&self) -> Secret<32> {
        Secret::new(*self.part::<32>(0))
    }

    fn header_id(&self) -> &[u8; HEADER_MAC_LEN] {
        self.part(32)
    }

    pub(crate) fn surb_seed(&self) -> Secret<16> {
        Secret::new(*self.part::<16>(48))
    }

    pub(crate) fn spare(&self) -> u16 {
        u16::from_be_bytes(*self.part(64))
    }

    fn padding(&self) -> &[u8] {
        &self.0.expose()[66..]
    }
}

/// A header in the making. Each [`step`](Self::step) costs one scalar multiplication and no more,
/// so a board can build headers between packets.
pub struct HeaderBuilder<P: Profile> {
    path: P::PerHop<NodeId>,
    hops: usize,
    shape: Shape,
    seed: Secret<32>,
    scalar: BlindedScalar,
    group_element: PublicKey,
    /// Until a hop's key is derived, its node's mix key is in the place: a small board has no room
    /// for both.
    hop_keys: P::PerHop<HopKey>,
    /// The sum of delays of the hops whose keys are there, less the last of the path.
    delay: HopDelay,
    steps: usize,
}

impl<P: Profile> HeaderBuilder<P> {
    /// Begins a header for `path`. `seed` must be fresh from a cryptographic generator: two headers
    /// from one seed are linkable.
    pub fn new(path: &[PathHop], shape: Shape, seed: Secret<32>) -> Result<Self, PathError> {
        let hops = path.len();
        let first = *path.first().ok_or(PathError::Length)?;
        if hops > P::GEOMETRY.hops() {
            return Err(PathError::Length);
        }
        if let Shape::RoundTrip { receiver } = shape {
            let each_way = P::GEOMETRY.hops_each_way();
            if receiver + 1 >= hops || receiver >= each_way || hops - 1 - receiver > each_way {
                return Err(PathError::Receiver);
            }
        }
        let first_scalar = SeedBytes::expand(&seed).first_scalar();
        Ok(Self {
            path: P::per_hop(|hop| path.get(hop).unwrap_or(&first).id),
            hops,
            shape,
            scalar: BlindedScalar::from_clamped(&first_scalar),
            seed,
            group_element: PublicKey([0; GROUP_ELEMENT_LEN]),
            hop_keys: P::per_hop(|hop| HopKey::in_place_of(&path.get(hop).unwrap_or(&first).mix_key)),
            delay: HopDelay::default(),
            steps: 0,
        })
    }

    /// Does the next scalar multiplication. `true` when the header can be finished, after one step
    /// more than there are hops; further steps do nothing.
    // Not inlined: the multiplication needs enough of a small board's stack by itself.
    #[inline(never)]
    pub fn step(&mut self) -> Result<bool, PathError> {
        if self.steps == 0 {
            self.group_element = P::Curve::public_key(&SeedBytes::expand(&self.seed).first_scalar());
        } else if self.steps <= self.hops {
            let hop = self.steps - 1;
            let mix_key = self.hop_keys.as_ref()[hop].mix_key_in_place();
            let shared = P::Curve::diffie_hellman(&self.scalar.to_clamped(), &mix_key)
                .ok_or(PathError::SmallOrderKey(self.path.as_ref()[hop]))?;
            self.follow(hop, &shared);
        }
        self.steps += 1;
        Ok(self.is_finished())
    }

    /// Derives hop's key from what was agreed with its node, and blinds the scalar for the next.
    fn follow(&mut self, hop: usize, shared: &SharedSecret) {
        let hop_key = HopKey::extract(shared);
        let keys = hop_key.header_keys();
        self.scalar.blind(&keys.blinding());
        if hop + 1 < self.hops {
            self.delay = self.delay.plus(keys.delay());
        }
        self.hop_keys.as_mut()[hop] = hop_key;
    }

    /// Does all steps at once: `hops + 1` multiplications.
    pub fn build(mut self) -> Result<Header<P>, PathError> {
        while !self.step()? {}
        self.finish().ok_or(PathError::Length)
    }

    /// Encrypts the routing info; no multiplication. `None` if steps are missing.
    pub fn finish(self) -> Option<Header<P>> {
        self.finished()
    }

    /// The same where the builder lies, so that a board needs no stack for it; nothing is left
    /// there.
    pub fn finish_in(place: &mut Option<Self>) -> Option<Header<P>> {
        let header = place.as_ref()?.finished();
        *place = None;
        header
    }

    /// Whether all steps are done.
    pub(crate) const fn is_finished(&self) -> bool {
        self.steps > self.hops
    }

    fn finished(&self) -> Option<Header<P>> {
        if !self.is_finished() {
            return None;
        }
        let seed = SeedBytes::expand(&self.seed);
        let (command, rest) = match self.shape {
            Shape::OneWay => (Command::Deliver, &[0; HEADER_MAC_LEN]),
            Shape::Drop => (Command::Drop, &[0; HEADER_MAC_LEN]),
            Shape::RoundTrip { .. } | Shape::Loop => (Command::Yours, seed.header_id()),
        };
        let last = block(command.emit(seed.spare()), rest);
        Some(self.assemble(last, seed.padding(), HeaderId(*seed.header_id())))
    }

    /// The part of a SURB that only its owner can compute; see [`crate::surb`].
    pub(crate) fn assemble(&self, last: Block, padding: &[u8], id: HeaderId) -> Header<P> {
        let mut routing_info = P::per_hop(|_| [0; BLOCK_LEN]);
        let header_mac = encrypt_routing::<P>(
            routing_info.as_mut().as_flattened_mut(),
            &self.hop_keys.as_ref()[..self.hops],
            last,
            padding,
            |hop| {
                let next = self.path.as_ref()[hop + 1];
                match self.shape {
                    Shape::RoundTrip { receiver } if receiver == hop => Command::TurnRound(next),
                    _ => Command::Forward(next),
                }
            },
        );
        Header {
            first: self.path.as_ref()[0],
            group_element: self.group_element,
            routing_info,
            header_mac,
            hop_keys: P::per_hop(|hop| self.hop_keys.as_ref()[hop].duplicate()),
            hops: self.hops,
            shape: self.shape,
            delay: self.delay,
            id,
        }
    }

    pub(crate) fn hop_keys(&self) -> &[HopKey] {
        &self.hop_keys.as_ref()[..self.hops]
    }

    pub(crate) fn seed_bytes(&self) -> SeedBytes {
        SeedBytes::expand(&self.seed)
    }
}

impl<P: Profile> fmt::Debug for HeaderBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeaderBuilder(..)")
    }
}

/// Fills `routing_info` with β₀ and returns γ₀. `command` names what hop i, not the last, is told.
fn encrypt_routing<P: Profile>(
    routing_info: &mut [u8],
    hop_keys: &[HopKey],
    last: Block,
    padding: &[u8],
    command: impl Fn(usize) -> Command,
) -> [u8; HEADER_MAC_LEN] {
    let own_len = (P::GEOMETRY.hops() + 1 - hop_keys.len()) * BLOCK_LEN;
    let (own_block, own_padding) = routing_info[..own_len].split_at_mut(BLOCK_LEN);
    own_block.copy_from_slice(&last);
    own_padding.copy_from_slice(&padding[..own_len - BLOCK_LEN]);
    onion::wrap(
        routing_info,
        hop_keys.len(),
        |hop| hop_keys[hop].header_keys(),
        |_| BLOCK_LEN,
        |hop, header_mac, bytes| {
            let (field, mac) = bytes.split_at_mut(ROUTING_FIELD_LEN);
            field.copy_from_slice(&command(hop).emit(0));
            mac.copy_from_slice(header_mac);
        },
    )
}

/// A header that is ready to carry one message. It does not depend on the message, so it can be
/// made ahead of time; sealing consumes it, because two messages under one header are linkable.
pub struct Header<P: Profile> {
    pub(crate) first: NodeId,
    pub(crate) group_element: PublicKey,
    pub(crate) routing_info: P::PerHop<Block>,
    pub(crate) header_mac: [u8; HEADER_MAC_LEN],
    pub(crate) hop_keys: P::PerHop<HopKey>,
    pub(crate) hops: usize,
    shape: Shape,
    delay: HopDelay,
    pub(crate) id: HeaderId,
}

/// A packet has been written: where it goes, and what opens the reply.
#[derive(Debug)]
pub struct Departure<P: Profile> {
    /// The node to send it to.
    pub first: NodeId,
    /// What a returning packet names itself by, on a round trip or a loop.
    pub header_id: HeaderId,
    /// Opens the reply, on a round trip.
    pub return_keys: Option<ReturnKeys<P>>,
}

impl<P: Profile> Header<P> {
    /// The node that the packet will be sent to.
    pub const fn first(&self) -> NodeId {
        self.first
    }

    /// The sum of the delays of all hops that send the packet on: how long it will be under way,
    /// less transmission and processing.
    pub const fn delay(&self) -> HopDelay {
        self.delay
    }

    /// The number of transmissions until the packet has reached its end.
    pub const fn hops(&self) -> usize {
        self.hops
    }

    /// Writes a packet that carries `data` into `packet`, which has the profile's `packet_len`
    /// bytes.
    ///
    /// # Panics
    /// If `packet` has another length.
    pub fn seal(self, id: MessageId, data: &[u8], packet: &mut [u8]) -> Result<Departure<P>, TooLong> {
        self.emit(packet);
        let payload = &mut packet[P::GEOMETRY.payload()];
        message::emit(payload, id, data)?;
        let receiver = match self.shape {
            Shape::RoundTrip { receiver } => receiver,
            _ => self.hops - 1,
        };
        for key in self.hop_keys.as_ref()[..=receiver].iter().rev() {
            key.payload_keys().encrypt::<P::WideHash>(payload);
        }
        Ok(self.depart())
    }

    /// Writes a cover packet: `random` fills the payload, as a sealed payload looks random too.
    ///
    /// # Panics
    /// If `packet` does not have the profile's `packet_len` bytes.
    pub fn cover(self, packet: &mut [u8], random: impl FnOnce(&mut [u8])) -> Departure<P> {
        self.emit(packet);
        random(&mut packet[P::GEOMETRY.payload()]);
        self.depart()
    }

    /// Writes group element, routing info and MAC.
    pub(crate) fn emit(&self, packet: &mut [u8]) {
        let (header, _) = packet.split_at_mut(P::GEOMETRY.header_len());
        let (group_element, rest) = header.split_at_mut(GROUP_ELEMENT_LEN);
        let (routing_info, header_mac) = rest.split_at_mut(P::GEOMETRY.routing_info_len());
        group_element.copy_from_slice(&self.group_element.0);
        routing_info.copy_from_slice(self.routing_info.as_ref().as_flattened());
        header_mac.copy_from_slice(&self.header_mac);
    }

    fn depart(self) -> Departure<P> {
        let return_keys = match self.shape {
            Shape::RoundTrip { receiver } => {
                Some(ReturnKeys::new(&self.hop_keys.as_ref()[receiver..self.hops - 1]))
            }
            _ => None,
        };
        Departure { first: self.first, header_id: self.id, return_keys }
    }
}

impl<P: Profile> fmt::Debug for Header<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({:?}, {} hops)", self.shape, self.hops)
    }
}
