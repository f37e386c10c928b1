//! What signs this mote's readings.

use embedded_storage::nor_flash::MultiwriteNorFlash;
use motemix_crypto::Secret;
use motemix_object::{Credential, Ed25519Key, Identity};
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use super::Mote;
use crate::command::Hex;
use crate::console::{Console, or_say, say};
use crate::store::StoreError;

/// Bytes of an introduction without anything beside the key.
pub const INTRODUCTION_LEN: usize = 36;

impl<P: Profile, F: MultiwriteNorFlash, R: CryptoRng> Mote<P, F, R> {
    /// The key, which is made and kept in flash if there is none.
    ///
    /// # Errors
    /// The flash does not work, or is full.
    #[inline(never)]
    pub fn device_key(&mut self) -> Result<Ed25519Key, StoreError> {
        self.device_seed().map(Ed25519Key::new)
    }

    #[inline(never)]
    pub(crate) fn device_seed(&mut self) -> Result<Secret<32>, StoreError> {
        if let Some(seed) = self.store.device_seed()? {
            return Ok(seed);
        }
        let mut seed = Secret::zero();
        self.random.fill_bytes(seed.expose_mut());
        // Before anybody sees an identity that a power cut would take away.
        self.store.keep_device_seed(&seed)?;
        Ok(seed)
    }

    /// The identity of this device, and the introduction that shows the key of it. Makes the key if
    /// there is none.
    ///
    /// # Errors
    /// As for [`device_key`](Self::device_key).
    pub fn introduction(&mut self) -> Result<(Identity, [u8; INTRODUCTION_LEN]), StoreError> {
        self.device_key().map(|key| introduce(&key))
    }

    /// Prints the identity, and the introduction that shows the key of it.
    #[inline(never)]
    pub(crate) fn print_identity<C: Console>(&mut self, console: &mut C) {
        let Some(key_of) = console.key_maker() else {
            return say!(console, "error: this mote signs no readings");
        };
        let seed = or_say!(console, self.device_seed());
        let (identity, introduction) = introduce(&key_of(seed));
        say!(console, "identity {identity}");
        say!(console, "introduction {}", Hex(&introduction));
        say!(console, "number {}", self.store.unused_sequence());
    }
}

/// Identity and introduction of a key that nothing stands beside.
pub fn introduce(key: &Ed25519Key) -> (Identity, [u8; INTRODUCTION_LEN]) {
    let mut out = [0; INTRODUCTION_LEN];
    let identity = identity_of(key);
    // There is room.
    let _ = Credential::new(key.public_key(), &[]).and_then(|credential| credential.encode(&mut out));
    (identity, out)
}

/// The identity of a key that nothing stands beside.
#[inline(never)]
pub(crate) fn identity_of(key: &Ed25519Key) -> Identity {
    Identity::of_key(&key.public_key())
}
