//! A key of Ed25519 in memory: all that a mote needs.

use core::fmt;

use motemix_crypto::Secret;
use motemix_crypto::curve::of_ed25519;
use rand_core::CryptoRng;

use crate::hpke::AgreementKey;

use super::{
    Agrees, Algorithm, MAX_PUBLIC_KEY_LEN, NeverFails, PRIVATE_KEY_LEN, PublicKey, SIGNATURE_LEN, Signer,
};

#[cfg(target_os = "none")]
use motemix_crypto::ed25519::SigningKey;
/// On a host a library's, which is faster.
#[cfg(not(target_os = "none"))]
type SigningKey = ed25519_dalek::SigningKey;

/// A private key of Ed25519, which is wiped when it is dropped.
pub struct Ed25519Key {
    seed: Secret<PRIVATE_KEY_LEN>,
    key: SigningKey,
}

impl Ed25519Key {
    /// A new key, of 32 bytes of the generator.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut seed = Secret::zero();
        rng.fill_bytes(seed.expose_mut());
        Self::new(seed)
    }

    /// A key that was kept: the seed of RFC 8032, 5.1.5.
    pub fn new(seed: Secret<PRIVATE_KEY_LEN>) -> Self {
        #[cfg(target_os = "none")]
        let key = SigningKey::from_seed(&seed);
        #[cfg(not(target_os = "none"))]
        let key = SigningKey::from_bytes(seed.expose());
        Self { seed, key }
    }

    /// The seed, to be kept.
    pub const fn expose(&self) -> &[u8; PRIVATE_KEY_LEN] {
        self.seed.expose()
    }

    /// The key that checks what this one signs.
    pub fn public_key(&self) -> PublicKey {
        #[cfg(target_os = "none")]
        let public = self.key.public_key();
        #[cfg(not(target_os = "none"))]
        let public = self.key.as_ref().as_bytes();
        let mut bytes = [0; MAX_PUBLIC_KEY_LEN];
        bytes.iter_mut().zip(public).for_each(|(to, from)| *to = *from);
        PublicKey { algorithm: Algorithm::Ed25519, bytes }
    }
}

impl Signer for Ed25519Key {
    type Error = NeverFails;

    fn public_key(&self) -> PublicKey {
        self.public_key()
    }

    fn sign(&mut self, parts: &[&[u8]], signature: &mut [u8; SIGNATURE_LEN]) -> Result<(), NeverFails> {
        #[cfg(target_os = "none")]
        self.key.sign_into(parts, signature);
        #[cfg(not(target_os = "none"))]
        {
            use ed25519_dalek::ed25519::signature::MultipartSigner as _;
            *signature = self.key.try_multipart_sign(parts).map_err(|_| NeverFails(()))?.to_bytes();
        }
        Ok(())
    }
}

impl Agrees for Ed25519Key {
    fn agreement_key(&self) -> AgreementKey {
        AgreementKey::X25519(of_ed25519::secret(&self.seed))
    }
}

impl fmt::Debug for Ed25519Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ed25519Key(..)")
    }
}
