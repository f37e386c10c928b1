//! The six functions of IoT-CryptoDiet (section 4.1), as its authors call TinyCrypt's. Each has
//! the paper's name as an alias, and its algorithm's number.
//!
//! The paper does not say how AES treats a message that is not one block. TinyCrypt's plain
//! `tc_aes_encrypt` takes one block, so a message is padded (PKCS #7, RFC 5652, 6.3) and each block
//! is encrypted by itself. That shows which blocks are equal: see [`crate::diet::settled`] for what
//! to use instead.

use crate::suite::{Aes as _, BLOCK_LEN, KEY_LEN, digest};
use crate::{PrivateKey, PublicKey, Refused, Signature, Suite};
use motemix_crypto::Secret;
use rand_core::CryptoRng;

/// A private key and its public one, for key exchange or for signatures: not for both.
#[derive(Debug)]
pub struct KeyPair {
    /// Kept by its owner.
    pub private: PrivateKey,
    /// Told to others.
    pub public: PublicKey,
}

/// The shared key of two nodes, K of the paper.
#[derive(Debug)]
pub struct SharedKey(pub(crate) Secret<KEY_LEN>);

impl SharedKey {
    /// One that was kept.
    pub const fn new(bytes: Secret<KEY_LEN>) -> Self {
        Self(bytes)
    }

    /// The key, to be kept.
    pub const fn expose(&self) -> &[u8; KEY_LEN] {
        self.0.expose()
    }
}

/// Makes a key pair on P-256 (algorithm 1). [`Refused::Engine`] alone.
#[doc(alias = "ECC_GenKeyPair")]
#[doc(alias = "KeyGen")]
pub fn generate_key_pair<S: Suite, R: CryptoRng + ?Sized>(
    suite: &mut S,
    rng: &mut R,
) -> Result<KeyPair, Refused> {
    let private = PrivateKey::generate(rng);
    let public = suite.public_key(&private)?;
    Ok(KeyPair { private, public })
}

/// The key that two nodes share (algorithm 2): the first 16 bytes of the shared point's
/// x-coordinate, which is what an AES-128 of the paper can take of it.
#[doc(alias = "ECDH_GenSharedKey")]
pub fn shared_key<S: Suite>(
    suite: &mut S,
    private: &PrivateKey,
    peer: &PublicKey,
) -> Result<SharedKey, Refused> {
    let secret = suite.agree(private, peer)?;
    let mut key = Secret::zero();
    key.expose_mut().copy_from_slice(&secret.expose()[..KEY_LEN]);
    Ok(SharedKey(key))
}

/// Bytes of the ciphertext of a message.
pub const fn ciphertext_len(message_len: usize) -> usize {
    (message_len / BLOCK_LEN + 1) * BLOCK_LEN
}

/// Encrypts a message (algorithm 3) into `ciphertext`, of which it returns what it used.
/// [`Refused::Length`] if that is shorter than [`ciphertext_len`].
#[doc(alias = "AES_Encrypt")]
pub fn encrypt<'c, S: Suite>(
    suite: &mut S,
    key: &SharedKey,
    message: &[u8],
    ciphertext: &'c mut [u8],
) -> Result<&'c mut [u8], Refused> {
    let used = ciphertext.get_mut(..ciphertext_len(message.len())).ok_or(Refused::Length)?;
    let (text, padding) = used.split_at_mut(message.len());
    text.copy_from_slice(message);
    padding.fill(padding.len() as u8);
    for block in used.as_chunks_mut().0 {
        suite.aes().encrypt_block(&key.0, block)?;
    }
    Ok(used)
}

/// Decrypts a ciphertext in place (algorithm 4). [`Refused::Length`] if it is not of whole blocks,
/// [`Refused::Ciphertext`] if its padding is wrong, which an altered one need not be.
#[doc(alias = "AES_Decrypt")]
pub fn decrypt<'c, S: Suite>(
    suite: &mut S,
    key: &SharedKey,
    ciphertext: &'c mut [u8],
) -> Result<&'c mut [u8], Refused> {
    let (blocks, []) = ciphertext.as_chunks_mut() else { return Err(Refused::Length) };
    for block in blocks {
        suite.aes().decrypt_block(&key.0, block)?;
    }
    let padding = *ciphertext.last().ok_or(Refused::Length)?;
    let len = ciphertext.len().checked_sub(padding.into()).ok_or(Refused::Ciphertext)?;
    let (text, padded) = ciphertext.split_at_mut(len);
    let right = (1..=BLOCK_LEN as u8).contains(&padding) && padded.iter().all(|byte| *byte == padding);
    if right { Ok(text) } else { Err(Refused::Ciphertext) }
}

/// Signs the SHA-256 digest of a message (algorithm 5).
#[doc(alias = "ECDSA_sign")]
pub fn sign<S: Suite, R: CryptoRng + ?Sized>(
    suite: &mut S,
    private: &PrivateKey,
    message: &[u8],
    rng: &mut R,
) -> Result<Signature, Refused> {
    suite.sign(private, &digest(&[message]), rng)
}

/// Checks the signature of a message (algorithm 6): [`Refused::Signature`] if it is another's, or
/// the message is another.
#[doc(alias = "ECDSA_verify")]
pub fn verify<S: Suite>(
    suite: &mut S,
    public: &PublicKey,
    message: &[u8],
    signature: &Signature,
) -> Result<(), Refused> {
    suite.verify(public, &digest(&[message]), signature)
}
