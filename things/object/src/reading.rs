//! A signed reading: SenML in a `COSE_Sign1`, of which a whole one fits a packet of 103 bytes
//! (`docs/spec/reading.md`).

use sha2::{Digest, Sha256};

use crate::external::{Audience, Purpose};
use crate::identity::Identity;
use crate::key::{PublicKey, SIGNATURE_LEN, Signer};
use crate::key_id::KeyId;
use crate::sign1::{ObjectError, Part, Sign1, sign};

/// Bytes of a signed reading beside its SenML, if that has 23 bytes or less.
pub const OVERHEAD: usize = 81;

/// Bytes of SenML that fit a signed reading of `room` bytes.
pub const fn senml_len(room: usize) -> usize {
    // The head of a byte string is one byte up to 23, two up to 255, and three up to 65,535.
    match room.saturating_sub(OVERHEAD) {
        len @ ..=23 => len,
        len @ 24..=256 => len.saturating_sub(1),
        len => len.saturating_sub(2),
    }
}

/// How a reading travels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Path {
    /// To somebody who may know who sent it: the key id says so.
    Direct,
    /// Through mixes: the key id changes with each reading.
    Anonymous,
}

/// Signs readings of one device for one audience.
#[derive(Debug)]
pub struct Sealer<'s, S: ?Sized> {
    /// What signs.
    pub signer: &'s mut S,
    /// The device's identity.
    pub identity: Identity,
    /// How the readings travel.
    pub path: Path,
    /// For whom they are.
    pub audience: Audience<'s>,
}

impl<S: Signer + ?Sized> Sealer<'_, S> {
    /// Signs one pack of SenML under a number that was never used before, into `out`. Returns how
    /// long the reading is.
    ///
    /// # Errors
    /// [`ObjectError::Room`] and [`ObjectError::Signer`].
    #[expect(clippy::needless_pass_by_value, reason = "a number is used once")]
    pub fn seal(&mut self, sequence: Reserved, senml: &[u8], out: &mut [u8]) -> Result<usize, ObjectError> {
        let Reserved(sequence) = sequence;
        let key_id = self.key_id(sequence);
        let (number, mut length) = (sequence.to_be_bytes(), [0; 2]);
        let external = Purpose::READING.external(&self.identity, &number, self.audience, &mut length);
        sign(self.signer, key_id.as_bytes(), &external, senml, out)
    }

    /// The hint that goes with a number on this path.
    pub fn key_id(&self, sequence: u64) -> KeyId {
        match self.path {
            Path::Direct => KeyId::direct(&self.identity, sequence),
            Path::Anonymous => KeyId::rotating(&self.identity, sequence),
        }
    }
}

/// A sequence number that is used once. What hands it out has noted, where it survives a loss of
/// power, that it is used.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "the number is lost"]
pub struct Reserved(u64);

impl Reserved {
    /// Says that `number` was never used before and will not be used again, whatever happens.
    pub const fn promised(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(&self) -> u64 {
        self.0
    }
}

/// A reading whose shape is right, and whose signature nobody has checked.
#[derive(Clone, Copy, Debug)]
pub struct SealedReading<'b> {
    object: Sign1<'b>,
    key_id: KeyId,
}

impl<'b> SealedReading<'b> {
    /// # Errors
    /// [`ObjectError::Malformed`].
    pub fn parse(bytes: &'b [u8]) -> Result<Self, ObjectError> {
        let object = Sign1::parse(bytes)?;
        let key_id = KeyId::from_slice(object.key_id()).ok_or(ObjectError::malformed(Part::KeyId, 0))?;
        Ok(Self { object, key_id })
    }

    /// The SenML, which anybody may have written.
    pub const fn unverified_senml(&self) -> &'b [u8] {
        self.object.unverified_payload()
    }

    /// The hint which key signed it under which number.
    pub const fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// Checks the signature for a device, a number and an audience.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    pub fn verify(
        &self,
        key: &PublicKey,
        identity: &Identity,
        sequence: u64,
        audience: Audience<'_>,
    ) -> Result<Verified<'b>, ObjectError> {
        self.verify_by(key, identity, sequence, audience, PublicKey::verifies)
    }

    /// The same by another function than [`PublicKey::verifies`], which has to say what that says.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    pub fn verify_by(
        &self,
        key: &PublicKey,
        identity: &Identity,
        sequence: u64,
        audience: Audience<'_>,
        checks: impl FnOnce(&PublicKey, &[&[u8]], &[u8; SIGNATURE_LEN]) -> bool,
    ) -> Result<Verified<'b>, ObjectError> {
        let (number, mut length) = (sequence.to_be_bytes(), [0; 2]);
        let external = Purpose::READING.external(identity, &number, audience, &mut length);
        self.object.verify_by(key, &external, checks).map(|senml| Verified { senml, sequence })
    }

    /// The same with an Ed25519 key that was checked before, for programs that have no room for
    /// P-256.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    pub fn verify_ed25519(
        &self,
        key: &[u8; 32],
        identity: &Identity,
        sequence: u64,
        audience: Audience<'_>,
    ) -> Result<Verified<'b>, ObjectError> {
        let (number, mut length) = (sequence.to_be_bytes(), [0; 2]);
        let external = Purpose::READING.external(identity, &number, audience, &mut length);
        self.object.verify_ed25519(key, &external).map(|senml| Verified { senml, sequence })
    }
}

/// What a reading's signature covers and nobody sends, as a hash: for forms of a reading whose
/// signature covers no external data (`docs/spec/reading-jws.md`). Only who knows the identity can
/// compute it, and it is another one for each number.
pub fn reading_context(identity: &Identity, sequence: u64, audience: Audience<'_>) -> [u8; 32] {
    let (number, mut length) = (sequence.to_be_bytes(), [0; 2]);
    let external = Purpose::READING.external(identity, &number, audience, &mut length);
    external.iter().fold(Sha256::new(), Sha256::chain_update).finalize().into()
}

/// A reading in another form than COSE, whose signature nobody has checked.
#[derive(Clone, Copy, Debug)]
pub struct Twin<'b> {
    /// What the signature is over: context and SenML are in it.
    pub signed: &'b [u8],
    /// The signature.
    pub signature: &'b [u8; SIGNATURE_LEN],
    /// What it says its [`reading_context`] is.
    pub context: [u8; 32],
    /// The SenML in it, as text.
    pub senml: &'b [u8],
}

impl<'b> Twin<'b> {
    /// Checks context and signature for a device, a number and an audience, by a function that says
    /// what [`PublicKey::verifies`] says.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    pub fn verify_by(
        &self,
        key: &PublicKey,
        identity: &Identity,
        sequence: u64,
        audience: Audience<'_>,
        checks: impl FnOnce(&PublicKey, &[&[u8]], &[u8; SIGNATURE_LEN]) -> bool,
    ) -> Result<Verified<'b>, ObjectError> {
        let is_here = self.context == reading_context(identity, sequence, audience);
        if is_here && checks(key, &[self.signed], self.signature) {
            Ok(Verified { senml: self.senml, sequence })
        } else {
            Err(ObjectError::Signature)
        }
    }
}

/// A reading whose signature was checked. Whether it is fresh is another question:
/// [`Freshness::admit`](crate::Freshness::admit).
#[derive(Clone, Copy, Debug)]
#[must_use = "nobody has looked whether it is fresh"]
pub struct Verified<'b> {
    senml: &'b [u8],
    sequence: u64,
}

impl<'b> Verified<'b> {
    /// The pack of SenML: in CBOR, or in JSON if it came as a [`Twin`].
    pub const fn senml(&self) -> &'b [u8] {
        self.senml
    }

    /// The number that it was signed under.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }
}
