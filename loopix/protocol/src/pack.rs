//! msgpack as petlib writes it: the shortest form of each type, floats always of 64 bits, byte
//! strings as *bin*, text as *str*, and extension types for big integers and points
//! (`docs/spec/loopix.md`).
//!
//! Python 2 sent its native strings as *bin*, Python 3 sends text as *str*: whoever reads takes
//! both ([`text`]), whoever writes picks what its profile says.

use std::fmt;

pub use rmpv::Value;

/// OpenSSL's number for NIST P-224.
pub const P224_NID: u64 = 713;
/// The extension types.
const BIG_INTEGER: i8 = 0;
const POINT: i8 = 2;
/// A packed point of P-224: extension header, array header, curve, string header, compressed point.
pub const PACKED_POINT_LEN: usize = 37;
/// What stands before the 29 bytes of a compressed point.
pub const POINT_PREFIX: [u8; 8] = [0xc7, 0x22, 0x02, 0x92, 0xcd, 0x02, 0xc9, 0xbd];

/// Arrays in arrays that a reader follows. The deepest value of the protocol has four.
const MAX_DEPTH: usize = 16;

/// Why bytes are no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// Not msgpack, cut short, or nested too deeply.
    Malformed,
    /// Bytes are left after the value.
    Trailing,
    /// Text is not UTF-8.
    NotText,
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a msgpack value",
            Self::Trailing => "bytes are left after the msgpack value",
            Self::NotText => "msgpack text is not UTF-8",
        })
    }
}

impl std::error::Error for PackError {}

/// Writes a value.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, value).expect("a vector takes all bytes");
    bytes
}

/// Reads one value and nothing more. What is allocated is bounded by the length of `bytes`.
///
/// # Errors
/// See [`PackError`].
pub fn decode(mut bytes: &[u8]) -> Result<Value, PackError> {
    let value =
        rmpv::decode::read_value_with_max_depth(&mut bytes, MAX_DEPTH).map_err(|_| PackError::Malformed)?;
    if !bytes.is_empty() {
        return Err(PackError::Trailing);
    }
    if is_text_sound(&value) { Ok(value) } else { Err(PackError::NotText) }
}

fn is_text_sound(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_str(),
        Value::Array(values) => values.iter().all(is_text_sound),
        Value::Map(pairs) => pairs.iter().all(|(key, value)| is_text_sound(key) && is_text_sound(value)),
        _ => true,
    }
}

/// Text, which Python 2 packs as *bin*.
pub fn text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => text.as_str(),
        Value::Binary(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// A byte string, packed as *bin*.
pub fn binary(bytes: impl Into<Vec<u8>>) -> Value {
    Value::Binary(bytes.into())
}

/// A point of P-224, compressed.
pub fn point(compressed: &[u8; 29]) -> Value {
    let mut inner = POINT_PREFIX[3..].to_vec();
    inner.extend_from_slice(compressed);
    Value::Ext(POINT, inner)
}

/// The compressed bytes of a packed point. Only the form that petlib writes is read: this curve, 29
/// bytes.
pub fn compressed_point(value: &Value) -> Option<[u8; 29]> {
    let Value::Ext(POINT, inner) = value else { return None };
    inner.strip_prefix(&POINT_PREFIX[3..])?.try_into().ok()
}

/// A number that is not negative, big endian; leading zeros are left out as petlib does.
pub fn big_integer(magnitude: &[u8]) -> Value {
    let first = magnitude.iter().position(|byte| *byte != 0).unwrap_or(magnitude.len());
    let mut inner = vec![b'+'];
    inner.extend_from_slice(&magnitude[first..]);
    Value::Ext(BIG_INTEGER, inner)
}

/// The magnitude of a packed number that is not negative and has `N` bytes at most.
pub fn magnitude<const N: usize>(value: &Value) -> Option<[u8; N]> {
    let Value::Ext(BIG_INTEGER, inner) = value else { return None };
    let digits = inner.strip_prefix(b"+")?;
    let mut bytes = [0; N];
    bytes.get_mut(N.checked_sub(digits.len())?..)?.copy_from_slice(digits);
    Some(bytes)
}
