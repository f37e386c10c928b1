//! The suite of products of half words.

use motemix_crypto::Secret;
use motemix_crypto::p256::{Point, Scalar, diffie_hellman, ecdsa};
use rand_core::CryptoRng;
use rfc6979::KGenerator;
use rfc6979::bigint::U256;
use sha2::Sha256;

use super::{
    BLOCK_LEN, KEY_LEN, NONCE_LEN, PrivateKey, PublicKey, Refused, Signature, Suite, TAG_LEN, symmetric,
};

/// n, the order of the group (SEC 2, 2.4.2).
const ORDER: U256 = U256::from_be_hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");

/// The suite in software for boards: P-256 from products of 13-bit numbers
/// ([`motemix_crypto::p256`]), and the crates `aes` and `ccm`. In constant time on a Cortex-M0+, M3
/// and M4.
#[derive(Clone, Copy, Default, Debug)]
pub struct HalfWordsP256;

impl Suite for HalfWordsP256 {
    fn public_key(&mut self, private: &PrivateKey) -> PublicKey {
        PublicKey::of(&Point::mul_generator(&private.0))
    }

    fn agree(&mut self, private: &PrivateKey, peer: &PublicKey) -> Result<Secret<32>, Refused> {
        Ok(diffie_hellman(&private.0, &peer.point()?))
    }

    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        private: &PrivateKey,
        digest: &[u8; 32],
        rng: &mut R,
    ) -> Result<Signature, Refused> {
        let scalar = &private.0;
        let mut fresh = Secret::<32>::zero();
        rng.fill_bytes(fresh.expose_mut());
        let mut nonces = KGenerator::<Sha256, _>::new(scalar.expose(), digest, fresh.expose(), &ORDER);
        loop {
            let mut nonce = Secret::zero();
            nonces.fill_next_k(nonce.expose_mut());
            let made = Scalar::from_be_bytes(&nonce).and_then(|nonce| ecdsa::sign(scalar, &nonce, digest));
            if let Some(signature) = made {
                return Ok(Signature(signature));
            }
        }
    }

    fn verify(
        &mut self,
        public: &PublicKey,
        digest: &[u8; 32],
        signature: &Signature,
    ) -> Result<(), Refused> {
        let holds = ecdsa::verify_vartime(&public.point()?, digest, &signature.0);
        if holds { Ok(()) } else { Err(Refused::Signature) }
    }

    fn encrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) {
        symmetric::encrypt_block(key, block);
    }

    fn decrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) {
        symmetric::decrypt_block(key, block);
    }

    fn seal(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Refused> {
        symmetric::seal(key, nonce, associated, message)
    }

    fn open(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        ciphertext: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Refused> {
        symmetric::open(key, nonce, associated, ciphertext, *tag)
    }
}
