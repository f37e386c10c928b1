//! The suite of products of half words.

use motemix_crypto::Secret;
use motemix_crypto::p256::{Point, Scalar, diffie_hellman, ecdsa};
use rand_core::CryptoRng;

use super::{Nonces, PrivateKey, PublicKey, Refused, Signature, SoftwareAes, Suite};

/// The suite in software for boards: P-256 from products of 13-bit numbers
/// ([`motemix_crypto::p256`]), and the crates `aes` and `ccm`. In constant time on a Cortex-M0+, M3
/// and M4.
#[derive(Clone, Copy, Default, Debug)]
pub struct HalfWordsP256;

impl Suite for HalfWordsP256 {
    type Aes<'s> = SoftwareAes;

    fn public_key(&mut self, private: &PrivateKey) -> Result<PublicKey, Refused> {
        Ok(PublicKey::of(&Point::mul_generator(&private.0)))
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
        let mut nonces = Nonces::new(private, digest, rng);
        loop {
            let nonce = Scalar::from_be_bytes(&nonces.next_nonce());
            let made = nonce.and_then(|nonce| ecdsa::sign(scalar, &nonce, digest));
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

    fn aes(&mut self) -> SoftwareAes {
        SoftwareAes
    }
}
