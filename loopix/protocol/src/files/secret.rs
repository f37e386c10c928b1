//! The bytes of a secret key file: one big integer as petlib packs it, `c7 LEN 00 2b` and the
//! number without leading zeros. In constant time but for the number's length, which the format
//! shows.

use motemix_crypto::Secret;
use motemix_crypto::p224::{SCALAR_LEN, Scalar};
use zeroize::Zeroizing;

/// The extension type of big integers.
const BIG_INTEGER: u8 = 0;

/// The bytes of a secret key file. Written here and not as a [`Value`](crate::pack::Value), which
/// nobody wipes.
pub fn encode_secret(secret: &Scalar) -> Zeroizing<Vec<u8>> {
    let bytes = secret.to_be_bytes();
    let bytes = bytes.expose();
    // Disclosed: how many bytes of zeros the number begins with; the format leaves them out, and
    // the file's length says it.
    let leading_zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let magnitude = bytes.get(leading_zeros..).unwrap_or_default();
    let len = 1 + magnitude.len() as u8;
    let mut packed = Zeroizing::new(Vec::with_capacity(4 + SCALAR_LEN));
    match fixext(len) {
        Some(marker) => packed.push(marker),
        None => packed.extend([0xc7, len]),
    }
    packed.extend([BIG_INTEGER, b'+']);
    packed.extend_from_slice(magnitude);
    packed
}

/// The marker of an extension value of this length, where msgpack has one of its own.
const fn fixext(len: u8) -> Option<u8> {
    match len {
        1 => Some(0xd4),
        2 => Some(0xd5),
        4 => Some(0xd6),
        8 => Some(0xd7),
        16 => Some(0xd8),
        _ => None,
    }
}

/// The secret in the bytes of a secret key file.
///
/// # Errors
/// What is wrong with them.
pub fn decode_secret(bytes: &[u8]) -> Result<Scalar, &'static str> {
    const NOT_A_KEY: &str = "holds no msgpack big integer";
    let (len, rest) = match bytes {
        [0xc7, len, BIG_INTEGER, rest @ ..] => (usize::from(*len), rest),
        [marker, BIG_INTEGER, rest @ ..] if fixext(rest.len() as u8) == Some(*marker) => (rest.len(), rest),
        _ => return Err(NOT_A_KEY),
    };
    if len != rest.len() {
        return Err("is cut short, or has bytes after the number");
    }
    let magnitude = match rest {
        [b'+', magnitude @ ..] => magnitude,
        [b'-', ..] => return Err("holds a negative number"),
        _ => return Err(NOT_A_KEY),
    };
    let mut scalar = Secret::<SCALAR_LEN>::zero();
    let from = SCALAR_LEN.checked_sub(magnitude.len()).ok_or("holds a number of more than 28 bytes")?;
    let place = scalar.expose_mut().get_mut(from..).unwrap_or_default();
    place.copy_from_slice(magnitude);
    Scalar::from_be_bytes(&scalar).ok_or("holds a number that is 0, or not below the order of P-224")
}
