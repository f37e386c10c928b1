//! Identities of devices and signed readings, for programs without a mote: `docs/spec/identity.md`
//! and `docs/spec/reading.md`.

use core::ffi::c_char;

use motemix_crypto::Secret;
use motemix_mote::{INTRODUCTION_LEN as SHOWN_LEN, introduce};
use motemix_object::{
    Algorithm, Audience, Credential, Ed25519Key, Freshness, Identity, ObjectError, Path, Policy, PublicKey,
    Reserved, SealedReading, Sealer, Stale, write_pack,
};

use crate::generator::Generator;
use crate::limits::DATA_LEN;
use crate::random::{Random, Source};
use crate::raw;
use crate::record::{Record, text};
use crate::status::{Status, done};
use crate::wiped::{self, wiped};

/// Bytes of the seed that a device's key is made of.
pub const SEED_LEN: usize = 32;
/// Bytes of the identity of a device.
pub const IDENTITY_LEN: usize = 32;
/// Bytes of an introduction that shows a device's key and nothing beside it.
pub const INTRODUCTION_LEN: usize = 36;
/// Bytes of the longest public key.
pub const DEVICE_KEY_LEN: usize = 33;

const _: () = assert!(INTRODUCTION_LEN == SHOWN_LEN && DEVICE_KEY_LEN == motemix_object::MAX_PUBLIC_KEY_LEN);

/// How a reading travels, which decides what its key id shows.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadingPath {
    /// To somebody who may know who sent it.
    Direct = 0,
    /// Through mixes: the key id is another one in each reading, and names nobody.
    Anonymous = 1,
}

/// A device whose readings are believed. Keep all of it where it survives a restart: whoever
/// forgets what arrived takes it again.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// One above the highest number that was accepted.
    pub next: u64,
    /// Which of the 64 numbers below that were accepted.
    pub seen: u64,
    /// Its identity.
    pub identity: [u8; IDENTITY_LEN],
    /// Its public key: 32 bytes of Ed25519, or 33 of P-256.
    pub key: [u8; DEVICE_KEY_LEN],
    /// How many of them there are.
    pub key_len: u8,
}

impl Device {
    fn key(&self) -> Result<PublicKey, Status> {
        let bytes = self.key.get(..self.key_len.into()).ok_or(Status::BadPublicKey)?;
        let algorithm = if bytes.len() == DEVICE_KEY_LEN { Algorithm::Es256 } else { Algorithm::Ed25519 };
        PublicKey::new(algorithm, bytes).map_err(|_| Status::BadPublicKey)
    }
}

/// A new seed of a device's key, MOTEMIX_IDENTITY_SEED_LEN bytes, from a source of random bytes.
/// Whoever has it signs as this device: keep it in flash, and make it once.
///
/// # Safety
/// `random` is null or valid, `seed` is null or valid for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_identity_make(random: *const Random, seed: *mut u8) -> Status {
    let call = || {
        // SAFETY: the caller's promise; the callback is called during this call alone.
        let (source, out) =
            unsafe { (Source::new(raw::value(random)?)?, raw::place::<[u8; SEED_LEN]>(seed.cast())?) };
        let key = Ed25519Key::generate(&mut Generator::new(source)?);
        out.put(*key.expose());
        Ok(())
    };
    wiped::<{ wiped::READING }, _>(|| done(call()))
}

/// The identity of a seed's key, MOTEMIX_IDENTITY_LEN bytes, which a person or a list tells to
/// whoever is to believe its readings; and its introduction, MOTEMIX_INTRODUCTION_LEN bytes, which
/// anybody may hand on.
///
/// # Safety
/// The pointers are null or valid for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_identity(
    seed: *const u8,
    identity: *mut u8,
    introduction: *mut u8,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (seed, identity, introduction) = unsafe {
            (
                raw::value::<[u8; SEED_LEN]>(seed.cast())?,
                raw::place::<[u8; IDENTITY_LEN]>(identity.cast())?,
                raw::place::<[u8; INTRODUCTION_LEN]>(introduction.cast())?,
            )
        };
        let (own, shown) = introduce(&Ed25519Key::new(Secret::new(*seed)));
        identity.put(*own.as_bytes());
        introduction.put(shown);
        Ok(())
    };
    wiped::<{ wiped::READING }, _>(|| done(call()))
}

/// Signs one record for an audience: the name of a network or of a topic, NUL-terminated, which the
/// verifier has to know as well. Writes the reading to `reading`, which has room for `room` bytes,
/// and its length to `len`. MOTEMIX_DATA_LEN bytes are enough for any that fits a message.
///
/// `number` must never have been used with this seed before, whatever happens: count in flash, and
/// write the next number before this call.
///
/// # Safety
/// The pointers are null or valid for their lengths; the texts are NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_reading_sign(
    seed: *const u8,
    number: u64,
    path: u8,
    audience: *const c_char,
    record: *const Record,
    reading: *mut u8,
    room: usize,
    len: *mut usize,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (seed, audience, record, out, written) = unsafe {
            (
                raw::value::<[u8; SEED_LEN]>(seed.cast())?,
                audience_of(audience)?,
                raw::value(record)?.read()?,
                raw::bytes_mut(reading, room)?,
                raw::place(len)?,
            )
        };
        let path = match path {
            0 => Path::Direct,
            1 => Path::Anonymous,
            _ => return Err(Status::OtherKind),
        };
        let mut senml = [0; SENML_LEN];
        let pack = write_pack(record.time, core::slice::from_ref(&record.record), &mut senml);
        let senml = pack.and_then(|len| senml.get(..len)).ok_or(Status::TooLong)?;
        let mut key = Ed25519Key::new(Secret::new(*seed));
        let identity = Identity::of_key(&key.public_key());
        let mut sealer = Sealer { signer: &mut key, identity, path, audience };
        written.put(sealer.seal(Reserved::promised(number), senml, out)?);
        Ok(())
    };
    wiped::<{ wiped::READING }, _>(|| done(call()))
}

/// The longest record: name and unit of DATA_LEN characters each.
const SENML_LEN: usize = 2 * DATA_LEN + 48;

/// Begins to believe a device, which shows its key in its introduction, of `len` bytes: from number
/// `next` on, 0 for a new one. Compare `device->identity` with what the device's label says before
/// anything of it is believed.
///
/// # Safety
/// `device` is null or valid, `introduction` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_device_new(
    device: *mut Device,
    introduction: *const u8,
    len: usize,
    next: u64,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (place, bytes) = unsafe { (raw::place(device)?, raw::bytes(introduction, len)?) };
        let credential = Credential::parse(bytes)?;
        let identity = *credential.identity()?.as_bytes();
        let shown = credential.key().as_bytes();
        let mut key = [0; DEVICE_KEY_LEN];
        key.get_mut(..shown.len()).ok_or(Status::BadPublicKey)?.copy_from_slice(shown);
        let [next, seen] = Freshness::starting_at(next).to_words();
        place.put(Device { next, seen, identity, key, key_len: shown.len() as u8 });
        Ok(())
    };
    done(call())
}

/// Checks a reading of `len` bytes of this device for an audience, and notes its number in
/// `device`: keep that before the reading is used. Writes the number to `number`, and where the
/// SenML lies, in CBOR inside `reading`, to `senml` and `senml_len`.
///
/// MOTEMIX_STATUS_STRANGER: not of this device, or with a number more than 1,024 above the highest,
/// or 64 below. MOTEMIX_STATUS_BAD_SIGNATURE, MOTEMIX_STATUS_REPLAYED,
/// MOTEMIX_STATUS_NOT_A_READING: nothing is noted, and nothing written. Computes up to 1,089
/// hashes, and two signatures at most.
///
/// # Safety
/// The pointers are null or valid, `reading` for `len` bytes; the text is NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_reading_verify(
    device: *mut Device,
    audience: *const c_char,
    reading: *const u8,
    len: usize,
    number: *mut u64,
    senml: *mut *const u8,
    senml_len: *mut usize,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (mut known, audience, bytes) =
            unsafe { (*raw::value(device.cast_const())?, audience_of(audience)?, raw::bytes(reading, len)?) };
        // SAFETY: the same.
        let (noted, number, begin, count) =
            unsafe { (raw::place(device)?, raw::place(number)?, raw::place(senml)?, raw::place(senml_len)?) };
        let sealed = SealedReading::parse(bytes)?;
        let (key, identity) = (known.key()?, Identity::from_bytes(known.identity));
        let mut fresh = Freshness::from_words([known.next, known.seen]);
        let direct = sealed.key_id().names(&identity).then(|| fresh.nearest(sealed.key_id().low()));
        let rotating = fresh.sequence_of(&identity, sealed.key_id(), Policy::WINDOW);
        let mut verified = Err(Status::Stranger);
        for sequence in [direct, rotating].into_iter().flatten() {
            verified = match fresh.check(sequence, Policy::WINDOW) {
                Ok(()) => sealed.verify(&key, &identity, sequence, audience).map_err(Status::from),
                Err(stale) => Err(stale.into()),
            };
            if verified.is_ok() {
                break;
            }
        }
        let verified = verified?;
        fresh.admit(&verified, Policy::WINDOW)?;
        [known.next, known.seen] = fresh.to_words();
        noted.put(known);
        number.put(verified.sequence());
        begin.put(verified.senml().as_ptr());
        count.put(verified.senml().len());
        Ok(())
    };
    done(call())
}

/// # Safety
/// It is null or NUL-terminated, and nobody writes to it during `'a`.
unsafe fn audience_of<'a>(name: *const c_char) -> Result<Audience<'a>, Status> {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name)? }.ok_or(Status::Null)?;
    Audience::new(name).map_err(|_| Status::BadLength)
}

impl From<ObjectError> for Status {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::Malformed { .. } => Self::NotAReading,
            ObjectError::Room => Self::BufferTooSmall,
            ObjectError::Signature => Self::BadSignature,
            _ => Self::Refused,
        }
    }
}

impl From<Stale> for Status {
    fn from(stale: Stale) -> Self {
        match stale {
            Stale::Replayed | Stale::Late => Self::Replayed,
            Stale::FarAhead => Self::Stranger,
        }
    }
}
