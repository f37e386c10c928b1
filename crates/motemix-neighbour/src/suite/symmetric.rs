//! AES-128, by blocks on the crate `aes`, and as AES-CCM-16-64-128.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use motemix_crypto::{Secret, aes_ccm};

use super::{BLOCK_LEN, KEY_LEN, NONCE_LEN, Refused, TAG_LEN};

pub(super) fn encrypt_block(key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) {
    Aes128::new(&Array(*key.expose())).encrypt_block(block.into());
}

pub(super) fn decrypt_block(key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) {
    Aes128::new(&Array(*key.expose())).decrypt_block(block.into());
}

pub(crate) fn seal(
    key: &Secret<KEY_LEN>,
    nonce: &[u8; NONCE_LEN],
    associated: &[u8],
    message: &mut [u8],
) -> Result<[u8; TAG_LEN], Refused> {
    aes_ccm::seal(key, nonce, associated, message).map_err(|_| Refused::Length)
}

pub(crate) fn open(
    key: &Secret<KEY_LEN>,
    nonce: &[u8; NONCE_LEN],
    associated: &[u8],
    ciphertext: &mut [u8],
    tag: [u8; TAG_LEN],
) -> Result<(), Refused> {
    aes_ccm::open(key, nonce, associated, ciphertext, &tag).map_err(|_| Refused::Ciphertext)
}
