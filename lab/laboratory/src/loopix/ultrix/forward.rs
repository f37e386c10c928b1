//! Creating packets that carry a message forward.

use rand_core::CryptoRng;

use super::group::Group;
use super::header::{CreateError, Format, Header, Hop, MAX_DESTINATION, Packet, last};
use super::keys::{decrypt_chained, destination_stream, payload_block, xor_stream};
use motemix_loopix::pack::{binary, encode};
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::keys::mac;
use motemix_loopix::packet::{Flag, body};

/// A packet that carries `message` to `destination` behind the last hop of `path`. Draws the
/// destination key, then what the header draws.
///
/// # Errors
/// See [`CreateError`].
pub fn create<G: Group>(
    format: &Format,
    path: &[Hop<'_, G>],
    destination: &[u8],
    message: &[u8],
    rng: &mut impl CryptoRng,
) -> Result<Packet<G>, CreateError> {
    if destination.len() > MAX_DESTINATION {
        return Err(CreateError::LongDestination);
    }
    let mut destination_key = [0; K];
    rng.fill_bytes(&mut destination_key);
    let mut hidden = destination.to_vec();
    xor_stream(&destination_stream(&destination_key), &mut hidden);
    let last = last(Flag::Destination, format.flags, hidden);
    let header = Header::create(format, path, &last, destination_key, rng)?;

    let mut payload = vec![0; format.body_len];
    let key = header.payload_keys.last().ok_or(CreateError::NoHops)?;
    write(&mut payload, &encode(&binary(message)), |padded| mac(key.expose(), &[padded]))
        .ok_or(CreateError::BodyFull)?;
    body::encrypt(&payload_block(&destination_key), &mut payload);
    for key in header.payload_keys.iter().rev() {
        decrypt_chained(key, &mut payload);
    }
    Ok(header.carry(payload))
}

/// Writes tag, message and padding. `None` if they do not fit.
pub(super) fn write(payload: &mut [u8], message: &[u8], tag: impl FnOnce(&[u8]) -> [u8; K]) -> Option<()> {
    let (tag_bytes, padded) = payload.split_first_chunk_mut::<K>()?;
    body::pad(message, padded)?;
    *tag_bytes = tag(padded);
    Some(())
}
