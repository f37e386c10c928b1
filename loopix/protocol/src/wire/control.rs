//! What clients and providers of the originals say to each other outside of packets, in the clear.

use rand_core::CryptoRng;
use rmpv::Value;

use crate::pack::{binary, compressed_point, decode, encode, point, text};

/// The longest control message that anybody sends; longer datagrams are packets or nothing.
pub const MAX_CONTROL: usize = 1200;

/// A control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Packets for this user go to this address.
    Subscribe {
        /// The user.
        name: String,
        /// IP address or DNS name.
        host: String,
        /// UDP port.
        port: u16,
        /// The user's public key, which the fork of 2018 adds.
        key: Option<[u8; 29]>,
    },
    /// Asks for the user's mail.
    Pull {
        /// The user.
        name: String,
    },
    /// Sent by a provider that has less mail than a pull asks for.
    Dummy,
}

impl Control {
    /// Reads a control message. `None` if it is something else.
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        if datagram.len() > MAX_CONTROL {
            return None;
        }
        let value = decode(datagram).ok()?;
        let fields = value.as_array()?;
        let (kind, fields) = fields.split_first()?;
        match (text(kind)?, fields) {
            ("SUBSCRIBE", [name, host, port, rest @ ..]) if rest.len() <= 1 => Some(Self::Subscribe {
                name: text(name)?.to_owned(),
                host: text(host)?.to_owned(),
                port: u16::try_from(port.as_u64()?).ok()?,
                key: rest.first().map(|key| compressed_point(key).ok_or(())).transpose().ok()?,
            }),
            ("PULL", [name]) => Some(Self::Pull { name: text(name)?.to_owned() }),
            // Its fields are noise in any encoding.
            ("DUMMY", [_, _]) => Some(Self::Dummy),
            _ => None,
        }
    }

    /// The datagram. A dummy has its own function, as it is random.
    pub fn datagram(&self) -> Vec<u8> {
        let fields = match self {
            Self::Subscribe { name, host, port, key } => {
                let mut fields = vec![
                    binary("SUBSCRIBE"),
                    binary(name.as_str()),
                    binary(host.as_str()),
                    Value::from(*port),
                ];
                fields.extend(key.as_ref().map(point));
                fields
            }
            Self::Pull { name } => vec![binary("PULL"), binary(name.as_str())],
            Self::Dummy => vec![binary("DUMMY"), binary(""), binary("")],
        };
        encode(&Value::Array(fields))
    }
}

/// A dummy of 2017: two fields of noise.
pub fn dummy(noise_len: usize, rng: &mut impl CryptoRng) -> Vec<u8> {
    let mut noise = || {
        let mut bytes = vec![0; noise_len];
        rng.fill_bytes(&mut bytes);
        binary(bytes)
    };
    encode(&Value::Array(vec![binary("DUMMY"), noise(), noise()]))
}
