//! Creating headers.

use std::fmt;

use motemix_crypto::Secret;
use motemix_crypto::p224::{self, Point, SCALAR_LEN, Scalar};
use motemix_sphinx::onion;
use rand_core::CryptoRng;

use super::format::{Format, GROUP_ELEMENT_LEN, K, MAX_ROUTING, Parts};
use super::keys::{Bound, HopKeys};

/// Why a packet cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateError {
    /// The path has no hops.
    NoHops,
    /// A routing string of more than 127 bytes.
    LongRouting,
    /// The routing strings do not fit into β.
    HeaderFull,
    /// The message does not fit into the body.
    BodyFull,
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHops => "the path has no hops",
            Self::LongRouting => "a routing string has more than 127 bytes; use shorter host names or names",
            Self::HeaderFull => "the path is too long for the header; use fewer hops, or shorter names",
            Self::BodyFull => "the message is too long for the packet",
        })
    }
}

impl std::error::Error for CreateError {}

/// One node of a path.
#[derive(Debug, Clone, Copy)]
pub struct Hop<'a> {
    /// Its public key.
    pub key: Point,
    /// What the hop before it is told; that of the first hop is never sent.
    pub routing: &'a [u8],
    /// What its header MAC covers beside β. Empty in Loopix.
    pub associated: &'a [u8],
}

/// A header, and the keys that its hops will find.
#[derive(Debug)]
pub struct Header {
    /// α.
    pub group_element: Point,
    /// β.
    pub routing_info: Vec<u8>,
    /// γ.
    pub header_mac: [u8; K],
    /// The hops' keys, in order.
    pub hop_keys: Vec<HopKeys>,
}

impl Header {
    /// Makes a header for `path` whose last hop reads `last`. Draws the exponent, then the padding
    /// of β.
    ///
    /// # Errors
    /// See [`CreateError`].
    pub fn create(
        format: &Format,
        path: &[Hop<'_>],
        last: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Self, CreateError> {
        let told = |hop: usize| path[hop + 1].routing;
        let before = path.len().checked_sub(1).ok_or(CreateError::NoHops)?;
        if (0..before).map(told).chain([last]).any(|routing| routing.len() > MAX_ROUTING) {
            return Err(CreateError::LongRouting);
        }
        let taken = |hop: usize| 1 + told(hop).len() + K;
        let mut routing_info = vec![0; format.routing_info_len()];
        let others = (0..before).map(taken).sum::<usize>();
        let own_len = routing_info.len().checked_sub(others).ok_or(CreateError::HeaderFull)?;
        let (own, _) = routing_info.split_at_mut(own_len);
        let (own, padding) = own.split_at_mut_checked(1 + last.len()).ok_or(CreateError::HeaderFull)?;
        write_routing(own, last);

        let Exponents { group_element, group_elements, hop_keys } = Exponents::draw(format, path, rng);
        rng.fill_bytes(padding);
        let bound = |hop: usize| Bound {
            keys: &hop_keys[hop],
            associated: [format.bound(&group_elements[hop]), path[hop].associated],
        };
        let header_mac =
            onion::wrap(&mut routing_info, path.len(), bound, taken, |hop, header_mac, bytes| {
                let (routing, mac) = bytes.split_at_mut(1 + told(hop).len());
                write_routing(routing, told(hop));
                mac.copy_from_slice(header_mac);
            });
        Ok(Self { group_element, routing_info, header_mac, hop_keys })
    }

    /// Writes the header into a datagram's parts.
    pub fn emit(&self, parts: &mut Parts<'_>) {
        *parts.group_element = self.group_element.compress();
        parts.routing_info.copy_from_slice(&self.routing_info);
        *parts.header_mac = self.header_mac;
    }
}

fn write_routing(bytes: &mut [u8], routing: &[u8]) {
    if let Some((len, rest)) = bytes.split_first_mut() {
        *len = routing.len() as u8;
        rest.copy_from_slice(routing);
    }
}

/// The sender's side of the blinding.
struct Exponents {
    group_element: Point,
    /// What each hop will see.
    group_elements: Vec<[u8; GROUP_ELEMENT_LEN]>,
    hop_keys: Vec<HopKeys>,
}

impl Exponents {
    fn draw(format: &Format, path: &[Hop<'_>], rng: &mut impl CryptoRng) -> Self {
        loop {
            // A factor of zero would need a new exponent; it does not happen.
            if let Some(exponents) = Self::follow(format, path, draw_scalar(rng)) {
                return exponents;
            }
        }
    }

    fn follow(format: &Format, path: &[Hop<'_>], mut exponent: Scalar) -> Option<Self> {
        let first = Point::mul_generator(&exponent);
        let mut group_element = first;
        let mut group_elements = Vec::with_capacity(path.len());
        let mut hop_keys = Vec::with_capacity(path.len());
        for (number, hop) in path.iter().enumerate() {
            // Only a format that looks at them needs all of them.
            if number > 0 && format.binds_group_element() {
                group_element = Point::mul_generator(&exponent);
            }
            let shared = p224::diffie_hellman(&exponent, &hop.key);
            let keys = HopKeys::new(&shared);
            exponent = keys.blinding(format.blinding, &group_element, &shared)?.times(&exponent);
            group_elements.push(group_element.compress());
            hop_keys.push(keys);
        }
        Some(Self { group_element: first, group_elements, hop_keys })
    }
}

/// A scalar that is neither zero nor too large.
pub fn draw_scalar(rng: &mut impl CryptoRng) -> Scalar {
    loop {
        let mut bytes = Secret::<SCALAR_LEN>::zero();
        rng.fill_bytes(bytes.expose_mut());
        if let Some(scalar) = Scalar::from_be_bytes(&bytes) {
            return scalar;
        }
    }
}
