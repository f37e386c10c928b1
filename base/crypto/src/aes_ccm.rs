//! AES-CCM with a nonce of 13 bytes and a tag of 8: AES-CCM-16-64-128 of COSE (RFC 9053, section
//! 4.2), and level ENC-MIC-64 of IEEE 802.15.4-2020, section 9. Between neighbours it protects
//! frames, and messages of handshakes. Packets have a wide block instead.

use aes::Aes128;
use ccm::aead::AeadInOut;
use ccm::consts::{U8, U13};
use ccm::{Ccm, KeyInit as _};
use core::fmt;

use crate::Secret;

/// Bytes of a key.
pub const KEY_LEN: usize = 16;
/// Bytes of a nonce. A nonce may be used once with a key.
pub const NONCE_LEN: usize = 13;
/// Bytes of a tag.
pub const TAG_LEN: usize = 8;

/// The message is longer than 65,535 bytes, or a tag is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AeadError;

impl fmt::Display for AeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message was altered, or is too long")
    }
}

impl core::error::Error for AeadError {}

type Cipher = Ccm<Aes128, U8, U13>;

/// Encrypts a message in place.
///
/// # Errors
/// The message is longer than 65,535 bytes.
pub fn seal(
    key: &Secret<KEY_LEN>,
    nonce: &[u8; NONCE_LEN],
    associated: &[u8],
    message: &mut [u8],
) -> Result<[u8; TAG_LEN], AeadError> {
    let tag =
        Cipher::new(key.expose().into()).encrypt_inout_detached(nonce.into(), associated, message.into());
    tag.map(Into::into).map_err(|_| AeadError)
}

/// Decrypts a message in place.
///
/// # Errors
/// Anything was altered, or the key is another. The bytes are then not to be used.
pub fn open(
    key: &Secret<KEY_LEN>,
    nonce: &[u8; NONCE_LEN],
    associated: &[u8],
    ciphertext: &mut [u8],
    tag: &[u8; TAG_LEN],
) -> Result<(), AeadError> {
    // Disclosed: whether the tag holds. Whoever sent the message sees what follows.
    Cipher::new(key.expose().into())
        .decrypt_inout_detached(nonce.into(), associated, ciphertext.into(), tag.into())
        .map_err(|_| AeadError)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3610, packet vector 1.
    #[test]
    fn the_first_vector_of_rfc_3610_holds() {
        let key = Secret::new(core::array::from_fn(|index| 0xc0 + index as u8));
        let nonce = [0, 0, 0, 3, 2, 1, 0, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5];
        let associated = [0, 1, 2, 3, 4, 5, 6, 7];
        let mut message: [u8; 23] = core::array::from_fn(|index| 8 + index as u8);
        let text = message;
        let tag = seal(&key, &nonce, &associated, &mut message).expect("short enough");
        assert_eq!(message[..8], [0x58, 0x8c, 0x97, 0x9a, 0x61, 0xc6, 0x63, 0xd2]);
        assert_eq!(tag, [0x17, 0xe8, 0xd1, 0x2c, 0xfd, 0xf9, 0x26, 0xe0]);
        assert_eq!(open(&key, &nonce, &associated, &mut message.clone(), &[0; 8]), Err(AeadError));
        assert_eq!(open(&key, &nonce, &associated[1..], &mut message.clone(), &tag), Err(AeadError));
        assert_eq!(open(&key, &nonce, &associated, &mut message, &tag), Ok(()));
        assert_eq!(message, text);
    }

    /// IEEE 802.15.4-2006, annex C.2.3: a MAC command under level ENC-MIC-64. What is not encrypted
    /// of it is authenticated: header, auxiliary security header, command identifier.
    #[test]
    fn the_example_of_802_15_4_holds() {
        let key = Secret::new(core::array::from_fn(|index| 0xc0 + index as u8));
        let nonce = [0xac, 0xde, 0x48, 0, 0, 0, 0, 1, 0, 0, 0, 5, 6];
        let header = [
            0x2b, 0xdc, 0x84, 0x21, 0x43, 0x02, 0, 0, 0, 0, 0x48, 0xde, 0xac, 0xff, 0xff, 0x01, 0, 0, 0, 0,
            0x48, 0xde, 0xac, 0x06, 0x05, 0, 0, 0, 0x01,
        ];
        let mut message = [0xce];
        let tag = seal(&key, &nonce, &header, &mut message).expect("short enough");
        assert_eq!((message, tag), ([0xd8], [0x4f, 0xde, 0x52, 0x90, 0x61, 0xf9, 0xc6, 0xf1]));
    }
}
