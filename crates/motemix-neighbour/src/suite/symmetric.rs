//! AES-128, by blocks and as AES-CCM-16-64-128, on the crates `aes` and `ccm`.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use ccm::aead::AeadInOut;
use ccm::consts::{U8, U13};
use motemix_crypto::Secret;

use super::{BLOCK_LEN, KEY_LEN, NONCE_LEN, Refused, TAG_LEN};

type Ccm = ccm::Ccm<Aes128, U8, U13>;

pub(super) fn encrypt_block(key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) {
    Aes128::new(&Array(*key.expose())).encrypt_block(block.into());
}

pub(super) fn decrypt_block(key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) {
    Aes128::new(&Array(*key.expose())).decrypt_block(block.into());
}

pub(super) fn seal(
    key: &Secret<KEY_LEN>,
    nonce: &[u8; NONCE_LEN],
    associated: &[u8],
    message: &mut [u8],
) -> Result<[u8; TAG_LEN], Refused> {
    let ccm = Ccm::new(&Array(*key.expose()));
    let tag = ccm.encrypt_inout_detached(&Array(*nonce), associated, message.into());
    tag.map(Into::into).map_err(|_| Refused::Length)
}

pub(super) fn open(
    key: &Secret<KEY_LEN>,
    nonce: &[u8; NONCE_LEN],
    associated: &[u8],
    ciphertext: &mut [u8],
    tag: [u8; TAG_LEN],
) -> Result<(), Refused> {
    let ccm = Ccm::new(&Array(*key.expose()));
    ccm.decrypt_inout_detached(&Array(*nonce), associated, ciphertext.into(), &Array(tag))
        .map_err(|_| Refused::Ciphertext)
}
