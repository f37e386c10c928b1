//! A key of either algorithm in memory. A mote that signs with one alone links that one alone.

use core::fmt;

use motemix_crypto::Secret;
use p256::ecdsa::SigningKey;
use p256::ecdsa::signature::hazmat::PrehashSigner;
use rand_core::CryptoRng;

use crate::hpke::AgreementKey;

use super::{
    Agrees, Algorithm, BadKey, Ed25519Key, NeverFails, PRIVATE_KEY_LEN, PublicKey, SIGNATURE_LEN, Signer,
    digest,
};

/// A private key, which is wiped when it is dropped. Its signatures are deterministic (RFC 8032;
/// RFC 6979): a poor generator cannot give the key away.
pub struct PrivateKey(Either);

enum Either {
    Ed25519(Ed25519Key),
    Es256 { secret: Secret<PRIVATE_KEY_LEN>, key: SigningKey, public: PublicKey },
}

impl PrivateKey {
    /// A new key. Takes 32 bytes from the generator, and for ES256 as many again with a probability
    /// of 2⁻³².
    pub fn generate<R: CryptoRng + ?Sized>(algorithm: Algorithm, rng: &mut R) -> Self {
        loop {
            let mut secret = Secret::zero();
            rng.fill_bytes(secret.expose_mut());
            if let Ok(key) = Self::new(algorithm, secret) {
                return key;
            }
        }
    }

    /// A key that was kept.
    ///
    /// # Errors
    /// A scalar of P-256 is zero or not below the group's order.
    pub fn new(algorithm: Algorithm, secret: Secret<PRIVATE_KEY_LEN>) -> Result<Self, BadKey> {
        if algorithm == Algorithm::Ed25519 {
            return Ok(Self(Either::Ed25519(Ed25519Key::new(secret))));
        }
        let bad = BadKey(algorithm);
        let key = SigningKey::from_slice(secret.expose()).map_err(|_| bad)?;
        let point = key.verifying_key().to_sec1_point(true);
        let public = PublicKey::of(algorithm, point.as_bytes()).ok_or(bad)?;
        Ok(Self(Either::Es256 { secret, key, public }))
    }

    /// The bytes, to be kept.
    pub const fn expose(&self) -> &[u8; PRIVATE_KEY_LEN] {
        match &self.0 {
            Either::Ed25519(key) => key.expose(),
            Either::Es256 { secret, .. } => secret.expose(),
        }
    }
}

impl Signer for PrivateKey {
    type Error = NeverFails;

    fn public_key(&self) -> PublicKey {
        match &self.0 {
            Either::Ed25519(key) => key.public_key(),
            Either::Es256 { public, .. } => *public,
        }
    }

    fn sign(&mut self, parts: &[&[u8]], signature: &mut [u8; SIGNATURE_LEN]) -> Result<(), NeverFails> {
        match &mut self.0 {
            Either::Ed25519(key) => key.sign(parts, signature),
            Either::Es256 { key, .. } => {
                let made: p256::ecdsa::Signature =
                    key.sign_prehash(&digest(parts)).map_err(|_| NeverFails(()))?;
                *signature = made.to_bytes().into();
                Ok(())
            }
        }
    }
}

impl Agrees for PrivateKey {
    fn agreement_key(&self) -> AgreementKey {
        match &self.0 {
            Either::Ed25519(key) => key.agreement_key(),
            Either::Es256 { secret, .. } => AgreementKey::P256(secret.duplicate()),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}
