//! The toy protocol of IoT-CryptoDiet, section 5.3 and figure 1, to the letter. Not for use: it
//! trusts whoever answers first, shows which blocks of messages are equal, and forgets what it has
//! seen.
//!
//! ```text
//! sensor                                                   router
//!   ── pk_s ‖ ver_s ───────────────────────────────────────▶       step 1
//!   ◀─────────────────────────────────────── pk_r ‖ ver_r ──       step 2
//!        K = x(sk_s · pk_r) = x(sk_r · pk_s)
//!   ── R1 ‖ c = Enc(K, m) ‖ σ_s(H(c ‖ R1)) ────────────────▶       msg1
//! ```
//!
//! The paper leaves lengths open. Here a public key is 64 bytes, as TinyCrypt has it, R1 has four,
//! and a receiver remembers [`REMEMBERED`] numbers.

use crate::functions::{KeyPair, SharedKey, ciphertext_len, decrypt, encrypt, generate_key_pair, shared_key};
use crate::suite::{COORDINATES_LEN, SIGNATURE_LEN, digest};
use crate::{PublicKey, Refused, Signature, Suite};
use rand_core::CryptoRng;

/// Bytes of R1.
pub const NUMBER_LEN: usize = 4;
/// Bytes of steps 1 and 2. No message is as long.
pub const KEYS_LEN: usize = 2 * COORDINATES_LEN;
/// Numbers that a receiver remembers of a sender. The paper's set has no bound.
pub const REMEMBERED: usize = 64;

/// Bytes of msg1.
pub const fn message_len(len: usize) -> usize {
    NUMBER_LEN + ciphertext_len(len) + SIGNATURE_LEN
}

/// A node with its two key pairs, which are made when it starts.
#[derive(Debug)]
pub struct Node {
    exchange: KeyPair,
    signing: KeyPair,
}

impl Node {
    /// The initialisation: two key pairs.
    pub fn generate<S: Suite, R: CryptoRng + ?Sized>(suite: &mut S, rng: &mut R) -> Result<Self, Refused> {
        Ok(Self { exchange: generate_key_pair(suite, rng)?, signing: generate_key_pair(suite, rng)? })
    }

    /// Steps 1 and 2: both public keys.
    pub fn keys(&self) -> [u8; KEYS_LEN] {
        let mut keys = [0; KEYS_LEN];
        let (exchange, verifying) = keys.split_at_mut(COORDINATES_LEN);
        exchange.copy_from_slice(&self.exchange.public.coordinates());
        verifying.copy_from_slice(&self.signing.public.coordinates());
        keys
    }

    /// The shared key with whoever sent these keys.
    pub fn meet<S: Suite>(&self, keys: &[u8], suite: &mut S) -> Result<Peer, Refused> {
        let (exchange, rest) = keys.split_first_chunk().ok_or(Refused::Length)?;
        let verifying = rest.try_into().map_err(|_| Refused::Length)?;
        let exchange = PublicKey::from_coordinates(exchange)?;
        let verifying = PublicKey::from_coordinates(verifying)?;
        let key = shared_key(suite, &self.exchange.private, &exchange)?;
        Ok(Peer { key, verifying, remembered: [None; REMEMBERED], oldest: 0 })
    }

    /// Puts msg1 for `peer` into `out`, of which it returns what it used.
    pub fn protect<'o, S: Suite, R: CryptoRng + ?Sized>(
        &self,
        peer: &Peer,
        message: &[u8],
        out: &'o mut [u8],
        suite: &mut S,
        rng: &mut R,
    ) -> Result<&'o mut [u8], Refused> {
        let out = out.get_mut(..message_len(message.len())).ok_or(Refused::Length)?;
        let (number, rest) = out.split_first_chunk_mut::<NUMBER_LEN>().ok_or(Refused::Length)?;
        let (ciphertext, signature) = rest.split_last_chunk_mut::<SIGNATURE_LEN>().ok_or(Refused::Length)?;
        rng.fill_bytes(number);
        encrypt(suite, &peer.key, message, ciphertext)?;
        *signature = suite.sign(&self.signing.private, &digest(&[ciphertext, number]), rng)?.0;
        Ok(out)
    }
}

/// Another node, after the handshake.
#[derive(Debug)]
pub struct Peer {
    key: SharedKey,
    verifying: PublicKey,
    /// R1 of the last messages, in a ring.
    remembered: [Option<[u8; NUMBER_LEN]>; REMEMBERED],
    oldest: usize,
}

impl Peer {
    /// Decrypts msg1 in place, checks its signature, and whether its number was seen.
    pub fn open<'d, S: Suite>(
        &mut self,
        datagram: &'d mut [u8],
        suite: &mut S,
    ) -> Result<&'d mut [u8], Refused> {
        let (number, rest) = datagram.split_first_chunk_mut::<NUMBER_LEN>().ok_or(Refused::Length)?;
        let (ciphertext, signature) = rest.split_last_chunk_mut::<SIGNATURE_LEN>().ok_or(Refused::Length)?;
        let signed = digest(&[ciphertext, number]);
        let message = decrypt(suite, &self.key, ciphertext)?;
        suite.verify(&self.verifying, &signed, &Signature(*signature))?;
        if self.remembered.contains(&Some(*number)) {
            return Err(Refused::Replayed);
        }
        self.remembered[self.oldest] = Some(*number);
        self.oldest = (self.oldest + 1) % REMEMBERED;
        Ok(message)
    }
}
