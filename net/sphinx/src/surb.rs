//! Stand-alone SURBs: a header given away, so that somebody else can send one reply later. Cut to
//! 67 + 18·(n − 1) bytes: with three hops, exactly what a MOTE message carries.

use core::fmt;

use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{PublicKey, Secret, hash, stream};

use crate::delay::HopDelay;
use crate::geometry::{BLOCK_LEN, GROUP_ELEMENT_LEN, HEADER_MAC_LEN, MAX_HOPS, ROUTING_FIELD_LEN};
use crate::header::{HeaderBuilder, PathError, PathHop, Shape};
use crate::keys::HopKey;
use crate::message::{self, Message, MessageId, TooLong};
use crate::onion::LayerKeys;
use crate::profile::Profile;
use crate::reply::HeaderId;
use crate::routing::{NodeId, YOURS_BYTE, split_block};

const SURB: &[u8] = b"motemix/1 surb";
const TAIL: &stream::Label = b"motemix/tail";
const REPLY: &stream::Label = b"motemix/rply";
const SURB_SEED_LEN: usize = 16;
const ROUTING_BYTES: usize = MAX_HOPS * BLOCK_LEN;

/// A reply block in the hands of the one who will reply.
pub struct Surb<P: Profile> {
    first: NodeId,
    group_element: PublicKey,
    routing_info: P::PerHop<[u8; BLOCK_LEN]>,
    header_mac: [u8; HEADER_MAC_LEN],
    reply_keys: WideBlockKeys,
}

/// What the owner keeps to open the reply.
pub struct SurbKeys<P: Profile> {
    header_id: HeaderId,
    /// The keys of all hops but the owner's own.
    hop_keys: P::PerHop<HopKey>,
    hops: usize,
    reply_keys: WideBlockKeys,
}

impl<P: Profile> Surb<P> {
    /// The bytes of an encoded SURB for a path of `hops`.
    pub const fn encoded_len(hops: usize) -> usize {
        ROUTING_FIELD_LEN + GROUP_ELEMENT_LEN + kept_len(hops) + HEADER_MAC_LEN + SURB_SEED_LEN
    }

    /// Makes a SURB for `path`, which ends with the owner, and writes it to the beginning of `out`.
    /// Costs `hops + 1` multiplications. Returns the owner's part and the number of bytes written.
    ///
    /// # Panics
    /// If `out` has fewer than [`encoded_len`](Self::encoded_len) bytes.
    pub fn create(
        path: &[PathHop],
        seed: Secret<32>,
        out: &mut [u8],
    ) -> Result<(SurbKeys<P>, usize), PathError> {
        let mut builder = SurbBuilder::new(path, seed)?;
        while !builder.step()? {}
        builder.finish(out).ok_or(PathError::Length)
    }

    /// Reads an encoded SURB. `None` if it has the length of no path of the profile, or names no
    /// node.
    pub fn parse(encoded: &[u8]) -> Option<Self> {
        let hops = (1..=P::GEOMETRY.hops()).find(|hops| Self::encoded_len(*hops) == encoded.len())?;
        let (first, rest) = encoded.split_first_chunk()?;
        let first = NodeId::new(u16::from_be_bytes(*first))?;
        let (group_element, rest) = rest.split_first_chunk()?;
        let (kept, rest) = rest.split_at_checked(kept_len(hops))?;
        let (header_mac, surb_seed) = rest.split_first_chunk()?;

        let surb_key = hash::blake2s_256(surb_seed, SURB);
        let mut routing_info = P::per_hop(|_| [0; BLOCK_LEN]);
        let (head, tail) = routing_info.as_mut().as_flattened_mut().split_at_mut(kept.len());
        head.copy_from_slice(kept);
        stream::fill(surb_key.expose(), TAIL, tail);
        let reply_keys = WideBlockKeys::derive(surb_key.expose(), REPLY);
        Some(Self {
            first,
            group_element: PublicKey(*group_element),
            routing_info,
            header_mac: *header_mac,
            reply_keys,
        })
    }

    /// Writes the reply packet; returns the node to send it to. Single use, as a header is.
    ///
    /// # Panics
    /// If `packet` does not have the profile's `packet_len` bytes.
    pub fn reply(self, id: MessageId, data: &[u8], packet: &mut [u8]) -> Result<NodeId, TooLong> {
        let (header, payload) = packet.split_at_mut(P::GEOMETRY.header_len());
        let (group_element, rest) = header.split_at_mut(GROUP_ELEMENT_LEN);
        let (routing_info, header_mac) = rest.split_at_mut(P::GEOMETRY.routing_info_len());
        group_element.copy_from_slice(&self.group_element.0);
        routing_info.copy_from_slice(self.routing_info.as_ref().as_flattened());
        header_mac.copy_from_slice(&self.header_mac);
        message::emit(payload, id, data)?;
        self.reply_keys.encrypt::<P::WideHash>(payload);
        Ok(self.first)
    }
}

/// A SURB in the making, as [`HeaderBuilder`] makes headers: one multiplication a step, and the
/// steps of many side by side.
pub struct SurbBuilder<P: Profile>(HeaderBuilder<P>);

impl<P: Profile> SurbBuilder<P> {
    /// Begins a SURB for `path`, which ends with the owner. `seed` must be fresh, as a header's.
    pub fn new(path: &[PathHop], seed: Secret<32>) -> Result<Self, PathError> {
        HeaderBuilder::new(path, Shape::Loop, seed).map(Self)
    }

    /// See [`HeaderBuilder::step`].
    pub fn step(&mut self) -> Result<bool, PathError> {
        self.0.step()
    }

    /// See [`HeaderBuilder::step_batch`].
    pub fn step_batch<'b>(
        builders: impl IntoIterator<Item = &'b mut Self>,
        outcome: impl FnMut(usize, Result<bool, PathError>),
    ) -> usize
    where
        P: 'b,
    {
        HeaderBuilder::step_batch(builders.into_iter().map(|builder| &mut builder.0), outcome)
    }

    /// Writes the SURB to the beginning of `out`; no multiplication. Returns the owner's part and
    /// the number of bytes written. `None` if steps are missing.
    ///
    /// # Panics
    /// If `out` has fewer than [`encoded_len`](Surb::encoded_len) bytes.
    pub fn finish(self, out: &mut [u8]) -> Option<(SurbKeys<P>, usize)> {
        let Self(builder) = self;
        if !builder.is_finished() {
            return None;
        }
        let hops = builder.hop_keys().len();
        let seed = builder.seed_bytes();
        let surb_seed = seed.surb_seed();
        let surb_key = hash::blake2s_256(surb_seed.expose(), SURB);

        // Whatever the owner may choose is chosen so that it comes out as the tail.
        let mut own = [0; ROUTING_BYTES];
        let own_len = (P::GEOMETRY.hops() - hops + 1) * BLOCK_LEN;
        let own = &mut own[..own_len];
        stream::fill(surb_key.expose(), TAIL, &mut own[1..]);
        for (hop, key) in builder.hop_keys().iter().enumerate() {
            let skip = (hops - 1 - hop) * BLOCK_LEN;
            key.header_keys().xor_stream(skip, own);
        }
        own[0] = YOURS_BYTE | (seed.spare().to_be_bytes()[0] & !YOURS_BYTE);
        let (last, padding) = own.split_first_chunk().expect("the last hop has a block");
        let (_, header_id) = split_block(*last);
        let header = builder.assemble(*last, padding, HeaderId(header_id));

        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&header.first.get().to_be_bytes());
        put(&header.group_element.0);
        put(&header.routing_info.as_ref().as_flattened()[..kept_len(hops)]);
        put(&header.header_mac);
        put(surb_seed.expose());
        let keys = SurbKeys {
            header_id: header.id,
            hop_keys: header.hop_keys,
            hops,
            reply_keys: WideBlockKeys::derive(surb_key.expose(), REPLY),
        };
        Some((keys, at))
    }
}

/// Bytes of β that a SURB carries: all blocks before the last, and the last one's command.
const fn kept_len(hops: usize) -> usize {
    (hops - 1) * BLOCK_LEN + 1
}

impl<P: Profile> SurbKeys<P> {
    /// What the reply will name itself by.
    pub const fn header_id(&self) -> HeaderId {
        self.header_id
    }

    /// The sum of the delays on the reply's way.
    pub fn delay(&self) -> HopDelay {
        self.mixes().iter().fold(HopDelay::default(), |sum, key| sum.plus(key.header_keys().delay()))
    }

    /// Opens the payload of the returned packet in place. `None` if its integrity tag is wrong.
    pub fn open<'a>(&self, payload: &'a mut [u8]) -> Option<Message<'a>> {
        for mix in self.mixes().iter().rev() {
            mix.payload_keys().encrypt::<P::WideHash>(payload);
        }
        self.reply_keys.decrypt::<P::WideHash>(payload);
        message::parse(payload)
    }

    fn mixes(&self) -> &[HopKey] {
        &self.hop_keys.as_ref()[..self.hops - 1]
    }
}

impl<P: Profile> fmt::Debug for Surb<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surb(..)")
    }
}

impl<P: Profile> fmt::Debug for SurbBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SurbBuilder(..)")
    }
}

impl<P: Profile> fmt::Debug for SurbKeys<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SurbKeys(..)")
    }
}
