//! Lengths, packets, and the making of headers.

use std::fmt;

use motemix_crypto::Secret;
use motemix_sphinx::onion::{self, LayerKeys as _};
use rand_core::CryptoRng;
use rmpv::Value;

use super::group::Group;
use super::keys::{HopKeys, decrypt_block};
use motemix_loopix::pack::{self, binary, encode};
use motemix_loopix::packet::format::{K, MAX_ROUTING};
use motemix_loopix::packet::{Flag, Flags};

/// What `header_len` counts in excess of β.
const HEADER_EXCESS: usize = 32;
/// The longest name of a destination.
pub const MAX_DESTINATION: usize = 16;

/// Lengths and choices of one network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// 32 more than the bytes of β.
    pub header_len: usize,
    /// Bytes of δ: a multiple of 16, and 32 at least.
    pub body_len: usize,
    /// How the flags are packed.
    pub flags: Flags,
}

impl Format {
    /// Bytes of β.
    pub const fn routing_info_len(&self) -> usize {
        self.header_len - HEADER_EXCESS
    }
}

/// One node of a path.
#[derive(Debug)]
pub struct Hop<'a, G: Group> {
    /// Its public key.
    pub key: G::Element,
    /// What the hop before it is told; that of the first hop is never sent.
    pub routing: &'a [u8],
    /// What its keys depend on beside the header.
    pub associated: &'a [u8],
}

/// Why a packet cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateError {
    /// The path has no hops.
    NoHops,
    /// The public key of a node has small order.
    BadKey,
    /// A routing string of more than 127 bytes.
    LongRouting,
    /// The routing strings do not fit into β.
    HeaderFull,
    /// A destination of more than 16 bytes.
    LongDestination,
    /// The message does not fit into the body.
    BodyFull,
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHops => "the path has no hops",
            Self::BadKey => "a node's public key has small order",
            Self::LongRouting => "a routing string has more than 127 bytes",
            Self::HeaderFull => "the path is too long for the header",
            Self::LongDestination => "the destination has more than 16 bytes",
            Self::BodyFull => "the message is too long for the packet",
        })
    }
}

impl std::error::Error for CreateError {}

/// A packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet<G: Group> {
    /// α.
    pub group_element: G::Element,
    /// β.
    pub routing_info: Vec<u8>,
    /// γ.
    pub chain: [u8; K],
    /// Under one more layer for each hop that it has yet to pass.
    pub destination_key: [u8; K],
    /// δ.
    pub payload: Vec<u8>,
}

impl<G: Group> Packet<G> {
    /// The packet as one msgpack value: ((α, β, γ, destination key), δ).
    pub fn encode(&self) -> Vec<u8> {
        let header = vec![
            G::pack(&self.group_element),
            binary(&*self.routing_info),
            binary(self.chain),
            binary(self.destination_key),
        ];
        encode(&Value::Array(vec![Value::Array(header), binary(&*self.payload)]))
    }

    /// Reads what [`Self::encode`] writes. Lengths are checked when it is opened.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let Value::Array(outer) = pack::decode(bytes).ok()? else { return None };
        let [Value::Array(header), Value::Binary(payload)] = <[Value; 2]>::try_from(outer).ok()? else {
            return None;
        };
        let [element, Value::Binary(routing_info), Value::Binary(chain), Value::Binary(key)] =
            <[Value; 4]>::try_from(header).ok()?
        else {
            return None;
        };
        Some(Self {
            group_element: G::unpack(&element)?,
            routing_info,
            chain: chain.try_into().ok()?,
            destination_key: key.try_into().ok()?,
            payload,
        })
    }
}

/// A header, and the keys of the payload's layers.
#[derive(Debug)]
pub struct Header<G: Group> {
    group_element: G::Element,
    routing_info: Vec<u8>,
    chain: [u8; K],
    destination_key: [u8; K],
    /// The hops' keys, in order.
    pub payload_keys: Vec<Secret<K>>,
}

impl<G: Group> Header<G> {
    /// Makes a header whose last hop reads `last` and finds `destination_key`. Draws the exponent,
    /// γ, and the padding of β.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(
        format: &Format,
        path: &[Hop<'_, G>],
        last: &[u8],
        mut destination_key: [u8; K],
        rng: &mut impl CryptoRng,
    ) -> Result<Self, CreateError> {
        let told = |hop: usize| path[hop + 1].routing;
        let before = path.len().checked_sub(1).ok_or(CreateError::NoHops)?;
        if (0..before).map(told).chain([last]).any(|routing| routing.len() > MAX_ROUTING) {
            return Err(CreateError::LongRouting);
        }
        let taken = |hop: usize| 1 + told(hop).len();
        let mut routing_info = vec![0; format.routing_info_len()];
        let others = (0..before).map(taken).sum::<usize>();
        let own_len = routing_info.len().checked_sub(others).ok_or(CreateError::HeaderFull)?;
        let (own, _) = routing_info.split_at_mut(own_len);
        let (own, padding) = own.split_at_mut_checked(1 + last.len()).ok_or(CreateError::HeaderFull)?;
        write_routing(own, last);

        let exponent = G::draw(rng);
        let group_element = G::public(&exponent);
        let hop_keys = follow(path, exponent).ok_or(CreateError::BadKey)?;
        let mut chain = [0; K];
        rng.fill_bytes(&mut chain);
        rng.fill_bytes(padding);
        let keys = |hop: usize| &hop_keys[hop];
        onion::wrap(&mut routing_info, path.len(), keys, taken, |hop, _, bytes| {
            write_routing(bytes, told(hop));
        });

        // What each hop will find, and what follows from it.
        let mut arriving = (routing_info.clone(), chain);
        let links = hop_keys.iter().zip(path).map(|(keys, hop)| {
            let (routing_info, chain) = &mut arriving;
            let links = keys.links(hop.associated, chain, routing_info);
            // The last hop's routing string is taken off as well, which harms nobody.
            peel(keys, routing_info);
            *chain = links.chain;
            links
        });
        let links: Vec<_> = links.collect();
        links.iter().rev().for_each(|links| decrypt_block(&links.root, &mut destination_key));
        let payload_keys = links.into_iter().map(|links| links.payload).collect();
        Ok(Self { group_element, routing_info, chain, destination_key, payload_keys })
    }

    /// A packet with this header.
    pub fn carry(self, payload: Vec<u8>) -> Packet<G> {
        let Self { group_element, routing_info, chain, destination_key, .. } = self;
        Packet { group_element, routing_info, chain, destination_key, payload }
    }
}

fn follow<G: Group>(path: &[Hop<'_, G>], exponent: G::Exponent) -> Option<Vec<HopKeys>> {
    let mut exponents = vec![exponent];
    let mut hop_keys = Vec::with_capacity(path.len());
    for hop in path {
        let keys = HopKeys::new(&G::shared_key(&exponents, &hop.key)?);
        exponents.push(keys.blinding::<G>()?);
        hop_keys.push(keys);
    }
    Some(hop_keys)
}

fn write_routing(bytes: &mut [u8], routing: &[u8]) {
    if let Some((len, rest)) = bytes.split_first_mut() {
        *len = routing.len() as u8;
        rest.copy_from_slice(routing);
    }
}

/// Decrypts β and takes off a hop's routing string, which is returned. `None` if β is too short for
/// it.
pub fn peel(keys: &HopKeys, routing_info: &mut Vec<u8>) -> Option<Vec<u8>> {
    let len = routing_info.len();
    let mut longer = routing_info.clone();
    // Without a MAC the length may be any; after noise, noise follows.
    longer.resize(len + 1 + usize::from(u8::MAX), 0);
    keys.xor_stream(0, &mut longer);
    let (routing_len, rest) = longer.split_first()?;
    let (routing, rest) = rest.split_at_checked(usize::from(*routing_len))?;
    *routing_info = rest.get(..len)?.to_vec();
    Some(routing.to_vec())
}

/// The routing string that tells a last hop `fields`.
pub fn last(flag: Flag, flags: Flags, field: Vec<u8>) -> Vec<u8> {
    encode(&Value::Array(vec![flag.value(flags), binary(field)]))
}
