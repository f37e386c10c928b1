//! Cipher suites 0 and 2 (RFC 9528, 3.6) as types. Both have SHA-256 and AES-CCM-16-64-128; they
//! differ in curve and signatures.
//!
//! A suite is a value, because an accelerator has registers. What a type does not call is not
//! linked: [`WithoutSignatures`] of a suite leaves its signatures out of an image.

use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;

use ed25519_dalek::ed25519::signature::MultipartSigner;
use motemix_crypto::{Curve, Secret, ed25519};
use rand_core::CryptoRng;

use super::{CoseKey, Refused};
use crate::suite::{self, Aes, PUBLIC_KEY_LEN, SIGNATURE_LEN, SoftwareAes};
use crate::{PrivateKey, PublicKey, Signature, Suite};

/// Bytes of an ephemeral public key: an x-coordinate, or X25519's u-coordinate.
pub const EPHEMERAL_LEN: usize = 32;

/// What a handshake computes with. Each function does one multiplication or none, and may say
/// [`Refused::Engine`], which none in software does.
pub trait CipherSuite {
    /// IANA's number of the suite.
    const NUMBER: i16;
    /// A private key of Diffie-Hellman, ephemeral or static. It wipes itself.
    type PrivateKey: fmt::Debug;
    /// A static public key of Diffie-Hellman.
    type PublicKey: Copy + fmt::Debug;
    /// A private key of signatures.
    type SigningKey: fmt::Debug;
    /// A public key of signatures.
    type VerifyingKey: Copy + fmt::Debug;
    /// AES, for AES-CCM-16-64-128.
    type Aes<'s>: Aes
    where
        Self: 's;

    /// A random key. No multiplication.
    fn generate<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> Self::PrivateKey;

    /// A second copy, which wipes itself as well.
    fn duplicate(private: &Self::PrivateKey) -> Self::PrivateKey;

    /// The coordinate of a key's point, as messages have it. One multiplication.
    fn coordinate(&mut self, private: &Self::PrivateKey) -> Result<[u8; EPHEMERAL_LEN], Refused>;

    /// The public key with this coordinate. [`Refused::PublicKey`] if there is none.
    fn from_coordinate(coordinate: &[u8; EPHEMERAL_LEN]) -> Result<Self::PublicKey, Refused>;

    /// The shared secret. One multiplication. [`Refused::PublicKey`] if the peer's key is not one
    /// to agree with.
    fn agree(&mut self, private: &Self::PrivateKey, peer: &Self::PublicKey) -> Result<Secret<32>, Refused>;

    /// Signs the joined pieces. As much as one multiplication.
    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        key: &Self::SigningKey,
        message: &[&[u8]],
        rng: &mut R,
    ) -> Result<[u8; SIGNATURE_LEN], Refused>;

    /// Checks a signature of the joined pieces: [`Refused::Signature`]. As much as two
    /// multiplications.
    fn verify(
        &mut self,
        key: &Self::VerifyingKey,
        message: &[&[u8]],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), Refused>;

    /// The static Diffie-Hellman key in a credential: [`Refused::Key`] if it is another suite's,
    /// [`Refused::PublicKey`] if it is no point of P-256.
    fn public_key(key: &CoseKey) -> Result<Self::PublicKey, Refused>;

    /// The signature key in a credential, with the same reasons.
    fn verifying_key(key: &CoseKey) -> Result<Self::VerifyingKey, Refused>;

    /// What computes AES.
    fn aes(&mut self) -> Self::Aes<'_>;
}

/// Suite 0: X25519 by the backend `C`, EdDSA with Ed25519.
pub struct Suite0<C>(PhantomData<C>);

impl<C> Suite0<C> {
    /// The suite has no state.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<C> Default for Suite0<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> fmt::Debug for Suite0<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Suite0")
    }
}

/// A private key of Ed25519: the 32 bytes that RFC 8032 begins with. Wiped when it is dropped.
#[derive(Debug)]
pub struct Ed25519Key(Secret<32>);

impl Ed25519Key {
    /// Any 32 random bytes are one.
    pub const fn new(bytes: Secret<32>) -> Self {
        Self(bytes)
    }

    /// The public key, for a credential. One multiplication.
    pub fn verifying_key(&self) -> [u8; 32] {
        ed25519_dalek::SigningKey::from_bytes(self.0.expose()).verifying_key().to_bytes()
    }
}

impl<C: Curve> CipherSuite for Suite0<C> {
    const NUMBER: i16 = 0;
    type PrivateKey = Secret<32>;
    type PublicKey = motemix_crypto::PublicKey;
    type SigningKey = Ed25519Key;
    type VerifyingKey = [u8; 32];
    type Aes<'s>
        = SoftwareAes
    where
        Self: 's;

    fn generate<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> Secret<32> {
        let mut private = Secret::zero();
        rng.fill_bytes(private.expose_mut());
        private
    }

    fn duplicate(private: &Secret<32>) -> Secret<32> {
        private.duplicate()
    }

    fn coordinate(&mut self, private: &Secret<32>) -> Result<[u8; EPHEMERAL_LEN], Refused> {
        Ok(C::public_key(private).0)
    }

    fn from_coordinate(coordinate: &[u8; EPHEMERAL_LEN]) -> Result<Self::PublicKey, Refused> {
        Ok(motemix_crypto::PublicKey(*coordinate))
    }

    fn agree(&mut self, private: &Secret<32>, peer: &Self::PublicKey) -> Result<Secret<32>, Refused> {
        let shared = C::diffie_hellman(private, peer).ok_or(Refused::PublicKey)?;
        Ok(Secret::new(*shared.expose()))
    }

    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        key: &Ed25519Key,
        message: &[&[u8]],
        _: &mut R,
    ) -> Result<[u8; SIGNATURE_LEN], Refused> {
        let key = ed25519_dalek::SigningKey::from_bytes(key.0.expose());
        let signature = key.try_multipart_sign(message).map_err(|_| Refused::Key)?;
        Ok(signature.to_bytes())
    }

    fn verify(
        &mut self,
        key: &[u8; 32],
        message: &[&[u8]],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), Refused> {
        if !ed25519::is_key(key) {
            return Err(Refused::PublicKey);
        }
        if ed25519::is_signed(key, message, signature) { Ok(()) } else { Err(Refused::Signature) }
    }

    fn public_key(key: &CoseKey) -> Result<Self::PublicKey, Refused> {
        match key {
            CoseKey::X25519(bytes) => Ok(motemix_crypto::PublicKey(*bytes)),
            _ => Err(Refused::Key),
        }
    }

    fn verifying_key(key: &CoseKey) -> Result<[u8; 32], Refused> {
        match key {
            CoseKey::Ed25519(bytes) => Ok(*bytes),
            _ => Err(Refused::Key),
        }
    }

    fn aes(&mut self) -> SoftwareAes {
        SoftwareAes
    }
}

/// Suite 2: P-256 and ES256 by the primitives `S`.
#[derive(Clone, Copy, Default, Debug)]
pub struct Suite2<S>(pub S);

impl<S: Suite> CipherSuite for Suite2<S> {
    const NUMBER: i16 = 2;
    type PrivateKey = PrivateKey;
    type PublicKey = PublicKey;
    type SigningKey = PrivateKey;
    type VerifyingKey = PublicKey;
    type Aes<'s>
        = S::Aes<'s>
    where
        Self: 's;

    fn generate<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> PrivateKey {
        PrivateKey::generate(rng)
    }

    fn duplicate(private: &PrivateKey) -> PrivateKey {
        private.duplicate()
    }

    fn coordinate(&mut self, private: &PrivateKey) -> Result<[u8; EPHEMERAL_LEN], Refused> {
        let public = self.0.public_key(private)?;
        let [_, x @ ..] = public.as_bytes();
        Ok(*x)
    }

    fn from_coordinate(coordinate: &[u8; EPHEMERAL_LEN]) -> Result<PublicKey, Refused> {
        // Either point with this x leads to the same shared x.
        let mut point = [2; PUBLIC_KEY_LEN];
        point[1..].copy_from_slice(coordinate);
        Ok(PublicKey::new(point)?)
    }

    fn agree(&mut self, private: &PrivateKey, peer: &PublicKey) -> Result<Secret<32>, Refused> {
        Ok(self.0.agree(private, peer)?)
    }

    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        key: &PrivateKey,
        message: &[&[u8]],
        rng: &mut R,
    ) -> Result<[u8; SIGNATURE_LEN], Refused> {
        Ok(self.0.sign(key, &suite::digest(message), rng)?.0)
    }

    fn verify(
        &mut self,
        key: &PublicKey,
        message: &[&[u8]],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), Refused> {
        Ok(self.0.verify(key, &suite::digest(message), &Signature(*signature))?)
    }

    fn public_key(key: &CoseKey) -> Result<PublicKey, Refused> {
        match key {
            CoseKey::P256 { x, y } => y.point(x),
            _ => Err(Refused::Key),
        }
    }

    fn verifying_key(key: &CoseKey) -> Result<PublicKey, Refused> {
        Self::public_key(key)
    }

    fn aes(&mut self) -> S::Aes<'_> {
        self.0.aes()
    }
}

/// The suite `S` for method 3 alone. It has no value of a signature key, so an image has no code
/// of signatures.
#[derive(Clone, Copy, Default, Debug)]
pub struct WithoutSignatures<S>(pub S);

impl<S: CipherSuite> CipherSuite for WithoutSignatures<S> {
    const NUMBER: i16 = S::NUMBER;
    type PrivateKey = S::PrivateKey;
    type PublicKey = S::PublicKey;
    type SigningKey = Infallible;
    type VerifyingKey = Infallible;
    type Aes<'s>
        = S::Aes<'s>
    where
        Self: 's;

    fn generate<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> S::PrivateKey {
        self.0.generate(rng)
    }

    fn duplicate(private: &S::PrivateKey) -> S::PrivateKey {
        S::duplicate(private)
    }

    fn coordinate(&mut self, private: &S::PrivateKey) -> Result<[u8; EPHEMERAL_LEN], Refused> {
        self.0.coordinate(private)
    }

    fn from_coordinate(coordinate: &[u8; EPHEMERAL_LEN]) -> Result<S::PublicKey, Refused> {
        S::from_coordinate(coordinate)
    }

    fn agree(&mut self, private: &S::PrivateKey, peer: &S::PublicKey) -> Result<Secret<32>, Refused> {
        self.0.agree(private, peer)
    }

    fn sign<R: CryptoRng + ?Sized>(
        &mut self,
        key: &Infallible,
        _: &[&[u8]],
        _: &mut R,
    ) -> Result<[u8; SIGNATURE_LEN], Refused> {
        match *key {}
    }

    fn verify(&mut self, key: &Infallible, _: &[&[u8]], _: &[u8; SIGNATURE_LEN]) -> Result<(), Refused> {
        match *key {}
    }

    fn public_key(key: &CoseKey) -> Result<S::PublicKey, Refused> {
        S::public_key(key)
    }

    fn verifying_key(_: &CoseKey) -> Result<Infallible, Refused> {
        Err(Refused::Key)
    }

    fn aes(&mut self) -> S::Aes<'_> {
        self.0.aes()
    }
}
