//! What all packets of one network have in common, and the datagram they make.

use rmpv::Value;

use crate::pack::{POINT_PREFIX, binary};

/// Bytes of MACs, tags, keys and counters: the security parameter k.
pub const K: usize = 16;
/// A compressed point.
pub const GROUP_ELEMENT_LEN: usize = 29;
/// The longest routing string: its length is written as a signed byte.
pub const MAX_ROUTING: usize = 127;
/// What `header_len` counts in excess of β.
const HEADER_EXCESS: usize = 32;

/// How the one-byte flags are packed: native strings are *bin* on Python 2 and *str* on Python 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    /// `c4 01 f0`.
    Bin,
    /// `a2 c3 b0`.
    Str,
}

/// What stands before the payload, to be checked at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyTag {
    /// Zeros, as in sphinxmix 0.0.6.
    Zero,
    /// An HMAC under the last hop's payload key, as in sphinxmix 0.0.7.
    Hmac,
}

/// How a hop's blinding factor is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blinding {
    /// 128 bits of the shared secret alone, as sphinxmix does. Two group elements of one packet can
    /// be linked with 2⁶⁴ work.
    Short,
    /// As wide as the group's order, of group element and shared secret; the header MAC covers the
    /// group element too.
    Wide,
}

/// What a hop is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// Send the packet on.
    Relay,
    /// The payload is for this node.
    Destination,
    /// The payload is a reply for somebody who is named.
    Surb,
}

impl Flag {
    const ALL: [Self; 3] = [Self::Relay, Self::Destination, Self::Surb];

    const fn byte(self) -> u8 {
        match self {
            Self::Relay => 0xf0,
            Self::Destination => 0xf1,
            Self::Surb => 0xf2,
        }
    }

    /// Takes both encodings.
    pub fn parse(value: &Value) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| match value {
            Value::Binary(bytes) => bytes.as_slice() == [flag.byte()],
            Value::String(text) => {
                text.as_str().is_some_and(|text| text.chars().eq([char::from(flag.byte())]))
            }
            _ => false,
        })
    }

    /// Packs it as the format says.
    pub fn value(self, flags: Flags) -> Value {
        match flags {
            Flags::Bin => binary([self.byte()]),
            Flags::Str => Value::from(char::from(self.byte()).to_string()),
        }
    }
}

/// Lengths and choices of one network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// sphinxmix's `max_len`: 32 more than the bytes of β.
    pub header_len: usize,
    /// Bytes of δ. At least 32.
    pub body_len: usize,
    /// See [`Flags`].
    pub flags: Flags,
    /// See [`BodyTag`].
    pub body_tag: BodyTag,
    /// See [`Blinding`].
    pub blinding: Blinding,
}

impl Format {
    /// What the Python nodes of Loopix send: 2,079 bytes.
    pub const LOOPIX: Self = Self {
        header_len: 1024,
        body_len: 1024,
        flags: Flags::Bin,
        body_tag: BodyTag::Zero,
        blinding: Blinding::Short,
    };

    /// Packets of the hardened profile: 1,222 bytes, which every link that carries IPv6 takes whole
    /// (RFC 8200, §5).
    pub const HARDENED: Self = Self {
        header_len: 232,
        body_len: 960,
        flags: Flags::Bin,
        body_tag: BodyTag::Hmac,
        blinding: Blinding::Wide,
    };

    /// Bytes of β.
    pub const fn routing_info_len(&self) -> usize {
        self.header_len.saturating_sub(HEADER_EXCESS)
    }

    /// Bytes of a datagram that carries one packet.
    pub fn datagram_len(&self) -> usize {
        let brackets = 2 + POINT_PREFIX.len();
        let strings = [self.routing_info_len(), K, self.body_len];
        brackets + GROUP_ELEMENT_LEN + strings.map(|len| bin_prefix(len).len() + len).iter().sum::<usize>()
    }

    /// Whether the header MAC covers the group element.
    pub const fn binds_group_element(&self) -> bool {
        matches!(self.blinding, Blinding::Wide)
    }

    /// What the header MAC covers of a group element.
    pub(super) const fn bound<'a>(&self, group_element: &'a [u8; GROUP_ELEMENT_LEN]) -> &'a [u8] {
        if self.binds_group_element() { group_element } else { &[] }
    }

    /// Finds the parts of a datagram. `None` unless every byte between them is as petlib writes it:
    /// other encodings of the same values are never sent, and would only be a way to mark
    /// packets.
    pub fn split<'a>(&self, datagram: &'a mut [u8]) -> Option<Parts<'a>> {
        let (brackets, rest) = datagram.split_first_chunk_mut::<2>()?;
        let (prefix, rest) = rest.split_first_chunk_mut::<{ POINT_PREFIX.len() }>()?;
        let (group_element, rest) = rest.split_first_chunk_mut::<GROUP_ELEMENT_LEN>()?;
        let (routing_info, rest) = split_bin(rest, self.routing_info_len())?;
        let (header_mac, rest) = split_bin(rest, K)?;
        let (payload, rest) = split_bin(rest, self.body_len)?;
        let sound = *brackets == BRACKETS && *prefix == POINT_PREFIX && rest.is_empty();
        let header_mac = header_mac.try_into().ok()?;
        sound.then_some(Parts { group_element, routing_info, header_mac, payload })
    }

    /// A datagram whose parts are zero.
    pub fn blank(&self) -> Vec<u8> {
        let mut datagram = Vec::with_capacity(self.datagram_len());
        datagram.extend(BRACKETS);
        datagram.extend(POINT_PREFIX);
        datagram.extend([0; GROUP_ELEMENT_LEN]);
        for len in [self.routing_info_len(), K, self.body_len] {
            datagram.extend(bin_prefix(len));
            datagram.resize(datagram.len() + len, 0);
        }
        datagram
    }
}

/// An array of two, the first of which is an array of three.
const BRACKETS: [u8; 2] = [0x92, 0x93];

/// The shortest prefix of a byte string.
fn bin_prefix(len: usize) -> Vec<u8> {
    match u8::try_from(len) {
        Ok(len) => vec![0xc4, len],
        Err(_) => vec![0xc5, (len >> 8) as u8, len as u8],
    }
}

fn split_bin(bytes: &mut [u8], len: usize) -> Option<(&mut [u8], &mut [u8])> {
    let prefix = bin_prefix(len);
    let (found, rest) = bytes.split_at_mut_checked(prefix.len())?;
    if *found == *prefix { rest.split_at_mut_checked(len) } else { None }
}

/// The parts of a packet in its datagram.
#[derive(Debug)]
pub struct Parts<'a> {
    /// α, compressed.
    pub group_element: &'a mut [u8; GROUP_ELEMENT_LEN],
    /// β.
    pub routing_info: &'a mut [u8],
    /// γ.
    pub header_mac: &'a mut [u8; K],
    /// δ.
    pub payload: &'a mut [u8],
}
