//! Creating packets that carry a message forward.

use rand_core::CryptoRng;
use rmpv::Value;

use super::body;
use super::format::{Flag, Format};
use super::header::{CreateError, Header, Hop};
use crate::pack::{binary, encode};

/// The routing string that tells a hop to send the packet on.
pub fn relay(format: &Format, command: Value) -> Vec<u8> {
    encode(&Value::Array(vec![Flag::Relay.value(format.flags), command]))
}

/// The payload of a message for `destination`.
pub fn payload(destination: Value, message: &[u8]) -> Vec<u8> {
    encode(&Value::Array(vec![destination, binary(message)]))
}

/// A datagram that carries `payload` to the end of `path`.
///
/// # Errors
/// See [`CreateError`].
pub fn create(
    format: &Format,
    path: &[Hop<'_>],
    payload: &[u8],
    rng: &mut impl CryptoRng,
) -> Result<Vec<u8>, CreateError> {
    let last = encode(&Value::Array(vec![Flag::Destination.value(format.flags)]));
    let header = Header::create(format, path, &last, rng)?;
    let mut datagram = format.blank();
    let mut parts = format.split(&mut datagram).expect("a blank datagram is a datagram");
    header.emit(&mut parts);
    let last_key = header.hop_keys.last().ok_or(CreateError::NoHops)?.payload();
    body::write(format.body_tag, last_key, payload, parts.payload).ok_or(CreateError::BodyFull)?;
    for keys in header.hop_keys.iter().rev() {
        body::encrypt(keys.payload(), parts.payload);
    }
    Ok(datagram)
}
