//! Single-use reply blocks: a header given away, so that somebody else can send one reply.

use motemix_crypto::Secret;
use motemix_crypto::p224::Point;
use rand_core::CryptoRng;
use rmpv::Value;

use super::body;
use super::format::{BodyTag, Flag, Format, K};
use super::header::{CreateError, Header, Hop};
use super::process::ProcessError;
use crate::pack::{binary, encode};

/// What is given away.
#[derive(Debug)]
pub struct Surb {
    /// The first hop's routing string: where the reply goes. Empty if the SURB was read.
    pub first: Vec<u8>,
    header: Header,
    key: Secret<K>,
}

/// What its maker keeps.
#[derive(Debug)]
pub struct SurbKeys {
    /// The name under which the reply arrives.
    pub id: [u8; K],
    key: Secret<K>,
    payload_keys: Vec<Secret<K>>,
}

/// Makes a SURB for `path`, whose last hop hands the reply to `destination`. Draws id, exponent,
/// padding, key.
///
/// # Errors
/// See [`CreateError`].
pub fn create(
    format: &Format,
    path: &[Hop<'_>],
    destination: Value,
    rng: &mut impl CryptoRng,
) -> Result<(Surb, SurbKeys), CreateError> {
    let mut id = [0; K];
    rng.fill_bytes(&mut id);
    let last = encode(&Value::Array(vec![Flag::Surb.value(format.flags), destination, binary(id)]));
    let header = Header::create(format, path, &last, rng)?;
    let mut key = Secret::zero();
    rng.fill_bytes(key.expose_mut());
    let keys = SurbKeys {
        id,
        key: key.duplicate(),
        payload_keys: header.hop_keys.iter().map(|keys| keys.payload().duplicate()).collect(),
    };
    let first = path.first().ok_or(CreateError::NoHops)?.routing.to_vec();
    Ok((Surb { first, header, key }, keys))
}

impl Surb {
    /// A datagram that carries `message` to whoever made the SURB. One message only: two under one
    /// header are linkable.
    ///
    /// # Errors
    /// [`CreateError::BodyFull`].
    pub fn reply(self, format: &Format, message: &[u8]) -> Result<Vec<u8>, CreateError> {
        let mut datagram = format.blank();
        let mut parts = format.split(&mut datagram).expect("a blank datagram is a datagram");
        self.header.emit(&mut parts);
        body::write(format.body_tag, &self.key, message, parts.payload).ok_or(CreateError::BodyFull)?;
        body::encrypt(&self.key, parts.payload);
        Ok(datagram)
    }

    /// Group element, routing info, MAC and key, one after the other; where the reply goes is left
    /// out.
    pub fn encode(&self) -> Vec<u8> {
        let Header { group_element, routing_info, header_mac, .. } = &self.header;
        [&group_element.compress(), routing_info.as_slice(), header_mac, self.key.expose()].concat()
    }

    /// Reads what [`Self::encode`] wrote. `None` if it has another length, or its group element is
    /// no point.
    pub fn parse(format: &Format, bytes: &[u8]) -> Option<Self> {
        let (group_element, rest) = bytes.split_first_chunk()?;
        let (routing_info, rest) = rest.split_at_checked(format.routing_info_len())?;
        let (header_mac, key) = rest.split_first_chunk()?;
        let header = Header {
            group_element: Point::decompress(group_element)?,
            routing_info: routing_info.to_vec(),
            header_mac: *header_mac,
            hop_keys: Vec::new(),
        };
        Some(Self { first: Vec::new(), header, key: Secret::new(key.try_into().ok()?) })
    }

    /// What the bytes of the SURB are: α, β, γ and the key, for whoever sends it to another
    /// program.
    pub fn parts(&self) -> (&Header, &Secret<K>) {
        (&self.header, &self.key)
    }
}

impl SurbKeys {
    /// Keys that were kept elsewhere, in the order of [`Self::keys`]. `None` without the reply's.
    pub fn from_keys(id: [u8; K], keys: impl IntoIterator<Item = Secret<K>>) -> Option<Self> {
        let mut keys = keys.into_iter();
        Some(Self { id, key: keys.next()?, payload_keys: keys.collect() })
    }

    /// The keys, in the order of sphinxmix: the reply's, then each hop's.
    pub fn keys(&self) -> impl Iterator<Item = &Secret<K>> {
        std::iter::once(&self.key).chain(&self.payload_keys)
    }

    /// Opens the reply. The keys are used up: a second payload under them is not what was made for
    /// them.
    ///
    /// # Errors
    /// [`ProcessError::BadPayload`]: the payload was changed, or is not for this SURB.
    pub fn open(self, tag: BodyTag, payload: &mut [u8]) -> Result<&[u8], ProcessError> {
        // Nodes decrypted, so encrypting takes that back.
        for key in self.payload_keys.iter().rev() {
            body::encrypt(key, payload);
        }
        body::decrypt(&self.key, payload);
        body::read(tag, &self.key, payload).ok_or(ProcessError::BadPayload)
    }
}
