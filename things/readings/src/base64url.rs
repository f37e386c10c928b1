//! Base64 in the URL-safe alphabet without padding (RFC 4648, 5), of which each text has one form.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes as text.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_usize, |group, byte| (group << 8) | usize::from(*byte))
            << (8 * (3 - chunk.len()));
        for position in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(group >> (18 - 6 * position)) & 63]));
        }
    }
    text
}

/// The bytes of a text; `None` for another alphabet, padding, a length that cannot be, and bits
/// that no byte has.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len().div_ceil(4).saturating_mul(3));
    for chunk in text.as_bytes().chunks(4) {
        let mut group = 0_u32;
        for character in chunk {
            group = (group << 6) | u32::from(digit(*character)?);
        }
        let missing = 4 - chunk.len();
        let [_, decoded @ ..] = (group << (6 * missing)).to_be_bytes();
        let (decoded, rest) = decoded.split_at(3 - missing.min(3));
        // One character alone is six bits and no byte.
        if chunk.len() == 1 || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(decoded);
    }
    Some(bytes)
}

const fn digit(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_vectors_of_the_standard_without_their_padding() {
        // RFC 4648, 10.
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("__4").as_deref(), Some(&[0xff, 0xfe][..]));
    }

    #[test]
    fn a_text_in_another_form_is_refused() {
        for text in ["Zg==", "Zh", "Zm9", "Z", "Zm9vZ", "Zm 9v", "Zm9v\n", "//4", "Zmé"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
