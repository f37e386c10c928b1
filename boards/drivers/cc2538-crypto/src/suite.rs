//! The suite on both engines.

use motemix_crypto::Secret;
use motemix_neighbour::suite::{self, BLOCK_LEN, KEY_LEN, NONCE_LEN, Nonces, Suite, TAG_LEN};
use motemix_neighbour::{PrivateKey, PublicKey, Refused, Signature};
use rand_core::CryptoRng;

use crate::aes::{Aes, Direction, MAX_ASSOCIATED_LEN, MAX_TEXT_LEN, NotOpened};
use crate::curve::GENERATOR;
use crate::ecdsa;
use crate::fault::{Counters, Fault};
use crate::pka::{self, Pka};
use crate::registers::{Registers, sys_ctrl};

/// How often the driver asks an engine whether it has done something, before it gives it up. A
/// question takes ten cycles or more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// For each operation of the PKA engine.
    pub pka_polls: u32,
    /// For each key and each text of the AES engine.
    pub aes_polls: u32,
}

impl Default for Limits {
    /// Some 2.5 s and 6 ms at 32 MHz, calculated.
    fn default() -> Self {
        Self { pka_polls: 8_000_000, aes_polls: 20_000 }
    }
}

/// The engines of a CC2538 as a [`Suite`]. SHA-256, and what a public key is when it comes from
/// outside, are computed by the core.
#[derive(Debug)]
pub struct Cc2538<R> {
    registers: R,
    limits: Limits,
    counters: Counters,
    pka_is_dirty: bool,
    aes_is_dirty: bool,
}

impl<R: Registers> Cc2538<R> {
    /// Gives both engines their clocks, resets them, and wipes what they hold.
    pub fn new(mut registers: R, limits: Limits) -> Result<Self, Fault> {
        let engines = sys_ctrl::PKA | sys_ctrl::AES;
        let clocks = registers.read(sys_ctrl::RCGCSEC);
        registers.write(sys_ctrl::RCGCSEC, clocks | engines);
        pka::reset(&mut registers, engines);
        let counters = Counters::default();
        let mut suite = Self { registers, limits, counters, pka_is_dirty: true, aes_is_dirty: true };
        // After a reset the engine runs until its first instruction.
        suite.pka().wait()?;
        suite.pka().wipe()?;
        suite.aes().wipe()?;
        Ok(suite)
    }

    /// What went wrong since the start.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the PKA engine says of itself: 0 is no additional protection against side channels, 1
    /// is the option SCAP, 3 the option PROT.
    pub fn side_channel_protection(&mut self) -> u8 {
        (self.registers.read(crate::registers::pka::OPTIONS) >> 8) as u8 & 7
    }

    fn pka(&mut self) -> Pka<'_, R> {
        Pka {
            registers: &mut self.registers,
            polls: self.limits.pka_polls,
            counters: &mut self.counters,
            is_dirty: &mut self.pka_is_dirty,
        }
    }

    fn aes(&mut self) -> Aes<'_, R> {
        Aes {
            registers: &mut self.registers,
            polls: self.limits.aes_polls,
            counters: &mut self.counters,
            is_dirty: &mut self.aes_is_dirty,
        }
    }

    fn counted<T>(&mut self, result: Result<T, Fault>) -> Result<T, Refused> {
        counted(&mut self.counters, result)
    }
}

fn counted<T>(counters: &mut Counters, result: Result<T, Fault>) -> Result<T, Refused> {
    result.map_err(|fault| {
        counters.count(fault);
        Refused::Engine
    })
}

fn check_lengths(associated: &[u8], text: &[u8]) -> Result<(), Refused> {
    let fits = associated.len() <= MAX_ASSOCIATED_LEN && text.len() <= MAX_TEXT_LEN;
    if fits { Ok(()) } else { Err(Refused::Length) }
}

impl<R: Registers> Suite for Cc2538<R> {
    type Aes<'s>
        = AesEngine<'s, R>
    where
        Self: 's;

    fn public_key(&mut self, private: &PrivateKey) -> Result<PublicKey, Refused> {
        let scalar = Secret::new(*private.expose());
        let point = self.pka().wiped(|pka| pka.point_product(&scalar, &GENERATOR));
        PublicKey::from_coordinates(self.counted(point)?.expose())
    }

    fn agree(&mut self, private: &PrivateKey, peer: &PublicKey) -> Result<Secret<32>, Refused> {
        let (scalar, peer) = (Secret::new(*private.expose()), peer.coordinates());
        let point = self.pka().wiped(|pka| pka.point_product(&scalar, &peer));
        Ok(ecdsa::x_of(&self.counted(point)?))
    }

    fn sign<G: CryptoRng + ?Sized>(
        &mut self,
        private: &PrivateKey,
        digest: &[u8; 32],
        rng: &mut G,
    ) -> Result<Signature, Refused> {
        let mut nonces = Nonces::new(private, digest, rng);
        // One in 2²⁵⁶ nonces is of no use; an engine that says so again and again has failed.
        for _ in 0..4 {
            let (nonce, mask) = (nonces.next_nonce(), PrivateKey::generate(rng));
            let mask = Secret::new(*mask.expose());
            let signed = self.pka().wiped(|pka| ecdsa::sign(pka, private.expose(), &nonce, &mask, digest));
            if let Some(signature) = self.counted(signed)? {
                return Ok(Signature(signature));
            }
        }
        Err(Refused::Engine)
    }

    fn verify(
        &mut self,
        public: &PublicKey,
        digest: &[u8; 32],
        signature: &Signature,
    ) -> Result<(), Refused> {
        let public = public.coordinates();
        let verified = self.pka().wiped(|pka| ecdsa::verify(pka, &public, digest, &signature.0));
        if self.counted(verified)? { Ok(()) } else { Err(Refused::Signature) }
    }

    fn aes(&mut self) -> AesEngine<'_, R> {
        AesEngine(Cc2538::aes(self))
    }
}

/// The AES engine of a [`Cc2538`], while it is borrowed.
pub struct AesEngine<'s, R>(Aes<'s, R>);

impl<R: Registers> suite::Aes for AesEngine<'_, R> {
    fn encrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) -> Result<(), Refused> {
        let done = self.0.block(key, Direction::Encrypt, block);
        counted(self.0.counters, done)
    }

    fn decrypt_block(&mut self, key: &Secret<KEY_LEN>, block: &mut [u8; BLOCK_LEN]) -> Result<(), Refused> {
        let done = self.0.block(key, Direction::Decrypt, block);
        counted(self.0.counters, done)
    }

    fn seal(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<[u8; TAG_LEN], Refused> {
        check_lengths(associated, message)?;
        let sealed = self.0.seal(key, nonce, associated, message);
        counted(self.0.counters, sealed)
    }

    fn open(
        &mut self,
        key: &Secret<KEY_LEN>,
        nonce: &[u8; NONCE_LEN],
        associated: &[u8],
        ciphertext: &mut [u8],
        tag: &[u8; TAG_LEN],
    ) -> Result<(), Refused> {
        check_lengths(associated, ciphertext)?;
        match self.0.open(key, nonce, associated, ciphertext, *tag) {
            Ok(()) => Ok(()),
            Err(NotOpened::WrongTag) => Err(Refused::Ciphertext),
            Err(NotOpened::Fault(fault)) => counted(self.0.counters, Err(fault)),
        }
    }
}
