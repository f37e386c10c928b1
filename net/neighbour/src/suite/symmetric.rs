//! AES-128 in software, by blocks on the crate `aes`, and as AES-CCM-16-64-128.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use motemix_crypto::{Secret, aes_ccm};

use super::{Aes, BLOCK_LEN, KEY_LEN, NONCE_LEN, Refused, TAG_LEN};

/// AES in software: the crates `aes` and `ccm`. It never fails for want of an engine.
#[derive(Clone, Copy, Default, Debug)]
pub struct SoftwareAes;

impl Aes for SoftwareAes {
    fn encrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) -> Result<(), Refused> {
        Aes128::new(&Array(*key.expose())).encrypt_block(block.into());
        Ok(())
    }

    fn decrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) -> Result<(), Refused> {
        Aes128::new(&Array(*key.expose())).decrypt_block(block.into());
        Ok(())
    }

    fn seal(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Refused> {
        aes_ccm::seal(key, nonce, associated, message).map_err(|_| Refused::Length)
    }

    fn open(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        ciphertext: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Refused> {
        aes_ccm::open(key, nonce, associated, ciphertext, tag).map_err(|_| Refused::Ciphertext)
    }
}
