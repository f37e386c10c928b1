//! The suite on the crates `p256` and `ecdsa`.

use ecdsa::hazmat::sign_prehashed_rfc6979;
use motemix_crypto::Secret;
use p256::NistP256;
use p256::ecdsa::VerifyingKey;
use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::elliptic_curve::sec1::ToSec1Point;
use rand_core::CryptoRng;
use sha2::Sha256;

use super::{PrivateKey, PublicKey, Refused, Signature, SoftwareAes, Suite};

/// The suite in software: the crates `p256`, `aes` and `ccm`. In constant time wherever the core
/// multiplies in constant time, which a Cortex-M3 does not: there, whoever measures how long a node
/// computes learns something of its keys.
#[derive(Clone, Copy, Default, Debug)]
pub struct P256;

impl Suite for P256 {
    type Aes<'s> = SoftwareAes;

    fn public_key(&mut self, private: &PrivateKey) -> Result<PublicKey, Refused> {
        let point = secret_key(private)?.public_key().to_sec1_point(true);
        point.as_bytes().try_into().map(PublicKey).map_err(|_| Refused::PublicKey)
    }

    fn agree(&mut self, private: &PrivateKey, peer: &PublicKey) -> Result<Secret<32>, Refused> {
        let peer = p256::PublicKey::from_sec1_bytes(&peer.0).map_err(|_| Refused::PublicKey)?;
        let shared = secret_key(private)?.diffie_hellman(&peer);
        let mut secret = Secret::zero();
        secret.expose_mut().copy_from_slice(shared.raw_secret_bytes());
        Ok(secret)
    }

    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        private: &PrivateKey,
        digest: &[u8; 32],
        rng: &mut R,
    ) -> Result<Signature, Refused> {
        let scalar = secret_key(private)?.to_nonzero_scalar();
        let mut fresh = Secret::<32>::zero();
        rng.fill_bytes(fresh.expose_mut());
        // A signing key would compute its public key first, which is half of all the work.
        let (signature, _) = sign_prehashed_rfc6979::<NistP256, Sha256>(&scalar, digest, fresh.expose());
        Ok(Signature(signature.to_bytes().into()))
    }

    fn verify(
        &mut self,
        public: &PublicKey,
        digest: &[u8; 32],
        signature: &Signature,
    ) -> Result<(), Refused> {
        let key = VerifyingKey::from_sec1_bytes(&public.0).map_err(|_| Refused::PublicKey)?;
        let signature = p256::ecdsa::Signature::from_slice(&signature.0).map_err(|_| Refused::Signature)?;
        key.verify_prehash(digest, &signature).map_err(|_| Refused::Signature)
    }

    fn aes(&mut self) -> SoftwareAes {
        SoftwareAes
    }
}

fn secret_key(private: &PrivateKey) -> Result<p256::SecretKey, Refused> {
    p256::SecretKey::from_slice(private.0.expose()).map_err(|_| Refused::PrivateKey)
}
