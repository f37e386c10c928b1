//! Single-use reply blocks.

use motemix_crypto::Secret;
use rand_core::CryptoRng;

use super::forward::write;
use super::group::Group;
use super::header::{CreateError, Format, Header, Hop, MAX_DESTINATION, Packet, last};
use super::keys::{decrypt_chained, xor_stream};
use super::process::{ProcessError, read};
use motemix_loopix::packet::Flag;
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::keys::mac;

/// What is given away.
#[derive(Debug)]
pub struct Surb<G: Group> {
    /// The first hop's routing string: where the reply goes.
    pub first: Vec<u8>,
    header: Header<G>,
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

/// Makes a SURB for `path`, whose last hop hands the reply to `destination`. Draws the id, what the
/// header draws, and the key.
///
/// # Errors
/// See [`CreateError`].
pub fn create<G: Group>(
    format: &Format,
    path: &[Hop<'_, G>],
    destination: &[u8],
    rng: &mut impl CryptoRng,
) -> Result<(Surb<G>, SurbKeys), CreateError> {
    if destination.len() > MAX_DESTINATION {
        return Err(CreateError::LongDestination);
    }
    let mut id = [0; K];
    rng.fill_bytes(&mut id);
    let mut hidden = destination.to_vec();
    xor_stream(&Secret::new(id), &mut hidden);
    let header = Header::create(format, path, &last(Flag::Surb, format.flags, hidden), id, rng)?;
    let mut key = Secret::zero();
    rng.fill_bytes(key.expose_mut());
    let payload_keys = header.payload_keys.iter().map(Secret::duplicate).collect();
    let first = path.first().ok_or(CreateError::NoHops)?.routing.to_vec();
    Ok((Surb { first, header, key: key.duplicate() }, SurbKeys { id, key, payload_keys }))
}

impl<G: Group> Surb<G> {
    /// A packet that carries `message` to whoever made the SURB.
    ///
    /// # Errors
    /// [`CreateError::BodyFull`].
    pub fn reply(self, format: &Format, message: &[u8]) -> Result<Packet<G>, CreateError> {
        let mut payload = vec![0; format.body_len];
        write(&mut payload, message, |padded| mac(self.key.expose(), &[padded]))
            .ok_or(CreateError::BodyFull)?;
        xor_stream(&self.key, &mut payload);
        Ok(self.header.carry(payload))
    }
}

impl SurbKeys {
    /// The keys, in the order of sphinxmix: the reply's, then each hop's.
    pub fn keys(&self) -> impl Iterator<Item = &Secret<K>> {
        std::iter::once(&self.key).chain(&self.payload_keys)
    }

    /// Opens the reply.
    ///
    /// # Errors
    /// [`ProcessError::BadPayload`]: header or payload were changed, or it is not for this SURB.
    pub fn open(self, mut payload: Vec<u8>) -> Result<Vec<u8>, ProcessError> {
        // Nodes encrypted.
        for key in self.payload_keys.iter().rev() {
            decrypt_chained(key, &mut payload);
        }
        xor_stream(&self.key, &mut payload);
        read(&self.key, &payload).map(<[u8]>::to_vec).ok_or(ProcessError::BadPayload)
    }
}
