//! What a device signs beside readings: that it has the key of its identity, that it is of a
//! group, that another key takes the place of its own, and which number comes next.

use minicbor::data::Type;
use minicbor::encode::write::Cursor;
use minicbor::{Decoder, Encoder};

use crate::credential::Credential;
use crate::external::{Audience, Purpose};
use crate::group::Group;
use crate::identity::Identity;
use crate::key::{Algorithm, PublicKey, SIGNATURE_LEN, Signer};
use crate::sign1::{ObjectError, Part, Sign1, end, expect, sign, take};

/// Bytes of a challenge: whoever wants a proof draws them at random and uses them once.
pub const CHALLENGE_LEN: usize = 16;
/// What a challenge is where nobody asked: the statement may be shown at any time.
pub const NO_CHALLENGE: [u8; CHALLENGE_LEN] = [0; CHALLENGE_LEN];

pub(crate) type Memory<'m> = Encoder<Cursor<&'m mut [u8]>>;

/// Builds a payload in the front of `out` and signs it into what is behind it, then moves it to the
/// front. So one buffer is lent, which has to have room for both.
pub(crate) fn sign_built<S: Signer + ?Sized>(
    signer: &mut S,
    external: &[&[u8]],
    out: &mut [u8],
    build: impl FnOnce(&mut Memory<'_>) -> Result<(), ObjectError>,
) -> Result<usize, ObjectError> {
    let mut encoder = Encoder::new(Cursor::new(&mut *out));
    build(&mut encoder)?;
    let len = encoder.writer().position();
    let (payload, rest) = out.split_at_mut_checked(len).ok_or(ObjectError::Room)?;
    let object_len = sign(signer, &[], external, payload, rest)?;
    let end = len.checked_add(object_len).ok_or(ObjectError::Room)?;
    out.copy_within(len..end, 0);
    Ok(object_len)
}

/// Proves that whoever answers a challenge has the key of its identity.
///
/// # Errors
/// [`ObjectError::Room`] and [`ObjectError::Signer`].
pub fn prove_possession<S: Signer + ?Sized>(
    signer: &mut S,
    credential: &Credential<'_>,
    challenge: &[u8; CHALLENGE_LEN],
    audience: Audience<'_>,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let (identity, mut length) = (credential.identity()?, [0; 2]);
    let external = Purpose::POSSESSION.external(&identity, challenge, audience, &mut length);
    sign_built(signer, &external, out, |encoder| credential.write(encoder))
}

/// The identity that a proof of possession says to be of. Nobody has checked it: it is for whoever
/// knows the short form alone, and compares that before [`check_possession`].
///
/// # Errors
/// [`ObjectError::Malformed`], and [`ObjectError::Room`] if a value beside the key is too long.
pub fn claimed_possessor(proof: &[u8]) -> Result<Identity, ObjectError> {
    Credential::read(&mut Decoder::new(Sign1::parse(proof)?.unverified_payload()))?.identity()
}

/// The credential of an identity, from a proof that its owner made for this challenge.
///
/// # Errors
/// [`ObjectError::Malformed`], [`ObjectError::Identity`] and [`ObjectError::Signature`].
pub fn check_possession<'b>(
    proof: &'b [u8],
    identity: &Identity,
    challenge: &[u8; CHALLENGE_LEN],
    audience: Audience<'_>,
) -> Result<Credential<'b>, ObjectError> {
    let object = Sign1::parse(proof)?;
    let mut decoder = Decoder::new(object.unverified_payload());
    let credential = Credential::read(&mut decoder)?;
    end(&decoder)?;
    is_of(&credential, identity)?;
    let mut length = [0; 2];
    object.verify(
        credential.key(),
        &Purpose::POSSESSION.external(identity, challenge, audience, &mut length),
    )?;
    Ok(credential)
}

/// Proves that a device is of a group, by showing all keys of it (RFC 8387, 4.1).
///
/// # Errors
/// [`ObjectError::Room`], [`ObjectError::Signer`], and [`ObjectError::Identity`] if it is not.
pub fn prove_membership<S: Signer + ?Sized>(
    signer: &mut S,
    group: &Group<'_>,
    challenge: &[u8; CHALLENGE_LEN],
    audience: Audience<'_>,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let device = signer.public_key();
    let at = group.keys().binary_search(&device).map_err(|_| ObjectError::Identity)?;
    let (identity, mut length) = (group.identity(), [0; 2]);
    let external = Purpose::MEMBERSHIP.external(&identity, challenge, audience, &mut length);
    sign_built(signer, &external, out, |encoder| {
        let mut written = || {
            encoder.array(1 + 2 * group.keys().len() as u64)?.u64(at as u64)?;
            for key in group.keys() {
                encoder.u8(key.algorithm().curve())?.bytes(key.as_bytes())?;
            }
            Ok::<_, minicbor::encode::Error<_>>(())
        };
        written().map_err(|_| ObjectError::Room)
    })
}

/// The key of the device that proved to be of the group `identity`, and all keys of it in the lent
/// memory.
///
/// # Errors
/// [`ObjectError::Malformed`], [`ObjectError::Identity`], [`ObjectError::Signature`], and
/// [`ObjectError::Room`] for more keys than were lent places.
pub fn check_membership<'k>(
    proof: &[u8],
    identity: &Identity,
    challenge: &[u8; CHALLENGE_LEN],
    audience: Audience<'_>,
    places: &'k mut [PublicKey],
) -> Result<(PublicKey, Group<'k>), ObjectError> {
    let object = Sign1::parse(proof)?;
    let mut members = Members::parse(object.unverified_payload())?;
    let count = usize::try_from(members.left).map_err(|_| ObjectError::Room)?;
    let places = places.get_mut(..count).ok_or(ObjectError::Room)?;
    for (place, key) in places.iter_mut().zip(&mut members) {
        *place = key?;
    }
    end(&members.decoder)?;
    let malformed = ObjectError::malformed(Part::Members, 0);
    let group = Group::new(places).map_err(|_| malformed)?;
    if group.identity() != *identity {
        return Err(ObjectError::Identity);
    }
    let device = *group.keys().get(usize::from(members.device)).ok_or(malformed)?;
    let mut length = [0; 2];
    object.verify(&device, &Purpose::MEMBERSHIP.external(identity, challenge, audience, &mut length))?;
    Ok((device, group))
}

/// The keys that a proof of membership shows, as they stand in it. Nobody has checked that they are
/// a group, nor that a device of it made the proof.
///
/// # Errors
/// [`ObjectError::Malformed`], of the proof and of each key.
pub fn claimed_members(
    proof: &[u8],
) -> Result<impl Iterator<Item = Result<PublicKey, ObjectError>> + '_, ObjectError> {
    Members::parse(Sign1::parse(proof)?.unverified_payload())
}

/// The payload of a proof of membership: which key made it, and all keys. Ends with the first that
/// is none.
struct Members<'b> {
    decoder: Decoder<'b>,
    device: u16,
    left: u64,
}

impl<'b> Members<'b> {
    fn parse(payload: &'b [u8]) -> Result<Self, ObjectError> {
        let mut decoder = Decoder::new(payload);
        let malformed = ObjectError::malformed(Part::Members, 0);
        let len = take(&mut decoder, Part::Members, Decoder::array)?.ok_or(malformed)?;
        let left = len.checked_sub(1).filter(|values| values % 2 == 0).ok_or(malformed)? / 2;
        let device = take(&mut decoder, Part::Members, Decoder::u16)?;
        Ok(Self { decoder, device, left })
    }
}

impl Iterator for Members<'_> {
    type Item = Result<PublicKey, ObjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let key = read_key(&mut self.decoder);
        if key.is_err() {
            self.left = 0;
        }
        Some(key)
    }
}

fn read_key(decoder: &mut Decoder<'_>) -> Result<PublicKey, ObjectError> {
    let malformed = ObjectError::malformed(Part::Members, decoder.position());
    let curve = take(decoder, Part::Members, Decoder::u8)?;
    let algorithm = [Algorithm::Ed25519, Algorithm::Es256].into_iter().find(|known| known.curve() == curve);
    let bytes = take(decoder, Part::Members, Decoder::bytes)?;
    PublicKey::new(algorithm.ok_or(malformed)?, bytes).map_err(|_| malformed)
}

/// Retires an identity for another one: signed by the old key, and by the new one, so that nobody
/// makes a stranger's key a successor. Made before the old key is wiped.
///
/// # Errors
/// [`ObjectError::Room`], [`ObjectError::Signer`], and [`ObjectError::Identity`] if both are one.
pub fn retire<O: Signer + ?Sized, N: Signer + ?Sized>(
    old: &mut O,
    old_credential: &Credential<'_>,
    new: &mut N,
    new_credential: &Credential<'_>,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let (before, after) = (old_credential.identity()?, new_credential.identity()?);
    if before == after {
        return Err(ObjectError::Identity);
    }
    let none = Audience::default();
    let mut length = [0; 2];
    let mut accepted = [0; SIGNATURE_LEN];
    new.sign(&Purpose::SUCCESSOR.external(&before, after.as_bytes(), none, &mut length), &mut accepted)
        .map_err(|_| ObjectError::Signer)?;
    let external = Purpose::RETIREMENT.external(&before, after.as_bytes(), none, &mut length);
    sign_built(old, &external, out, |encoder| {
        encoder.array(3).map_err(|_| ObjectError::Room)?;
        old_credential.write(encoder)?;
        new_credential.write(encoder)?;
        encoder.bytes(&accepted).map_err(|_| ObjectError::Room)?;
        Ok(())
    })
}

/// The identity that a statement says to retire. Nobody has checked it, as for
/// [`claimed_possessor`].
///
/// # Errors
/// [`ObjectError::Malformed`], and [`ObjectError::Room`] if a value beside the key is too long.
pub fn claimed_retired(statement: &[u8]) -> Result<Identity, ObjectError> {
    let object = Sign1::parse(statement)?;
    let mut decoder = Decoder::new(object.unverified_payload());
    expect(&mut decoder, Part::Payload, |decoder| decoder.array().map(|len| len == Some(3)))?;
    Credential::read(&mut decoder)?.identity()
}

/// The successor of an identity, if both keys say so.
///
/// # Errors
/// [`ObjectError::Malformed`], [`ObjectError::Identity`] and [`ObjectError::Signature`].
pub fn check_retirement<'b>(
    statement: &'b [u8],
    identity: &Identity,
) -> Result<(Identity, Credential<'b>), ObjectError> {
    let object = Sign1::parse(statement)?;
    let mut decoder = Decoder::new(object.unverified_payload());
    expect(&mut decoder, Part::Payload, |decoder| decoder.array().map(|len| len == Some(3)))?;
    let old = Credential::read(&mut decoder)?;
    let new = Credential::read(&mut decoder)?;
    let malformed = ObjectError::malformed(Part::Signature, decoder.position());
    let accepted = take(&mut decoder, Part::Signature, Decoder::bytes)?;
    let accepted: &[u8; SIGNATURE_LEN] = accepted.try_into().map_err(|_| malformed)?;
    end(&decoder)?;
    is_of(&old, identity)?;
    let (after, none, mut length) = (new.identity()?, Audience::default(), [0; 2]);
    // It would be retired, and nobody would follow.
    if after == *identity {
        return Err(ObjectError::Identity);
    }
    object.verify(old.key(), &Purpose::RETIREMENT.external(identity, after.as_bytes(), none, &mut length))?;
    let external = Purpose::SUCCESSOR.external(identity, after.as_bytes(), none, &mut length);
    if !new.key().verifies(&external, accepted) {
        return Err(ObjectError::Signature);
    }
    Ok((after, new))
}

/// What a device says when it registers, or registers again after its numbers and its verifier's
/// have parted.
#[derive(Clone, Copy, Debug)]
pub struct Registration<'b> {
    /// Key and what stands beside it; a verifier that knows them needs no second copy.
    pub credential: Option<Credential<'b>>,
    /// The number of the reading that comes next.
    pub sequence: u64,
}

/// Signs a registration. With `whole`, the credential is in it.
///
/// # Errors
/// [`ObjectError::Room`] and [`ObjectError::Signer`].
pub fn register<S: Signer + ?Sized>(
    signer: &mut S,
    credential: &Credential<'_>,
    whole: bool,
    sequence: u64,
    audience: Audience<'_>,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let identity = credential.identity()?;
    if !whole {
        return register_short(signer, &identity, sequence, audience, out);
    }
    let (number, mut length) = (sequence.to_be_bytes(), [0; 2]);
    let external = Purpose::REGISTRATION.external(&identity, &number, audience, &mut length);
    sign_built(signer, &external, out, |encoder| {
        let room = |_| ObjectError::Room;
        encoder.array(2).map_err(room)?.u64(sequence).map_err(room)?;
        credential.write(encoder)
    })
}

/// Signs a registration without a credential, for programs that have no room to write one.
///
/// # Errors
/// As for [`register`].
pub fn register_short<S: Signer + ?Sized>(
    signer: &mut S,
    identity: &Identity,
    sequence: u64,
    audience: Audience<'_>,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let (number, mut length) = (sequence.to_be_bytes(), [0; 2]);
    let external = Purpose::REGISTRATION.external(identity, &number, audience, &mut length);
    sign_built(signer, &external, out, |encoder| {
        let written = encoder.array(2).and_then(|encoder| encoder.u64(sequence));
        // Which device it is: a verifier knows the identity then.
        written.and_then(|encoder| encoder.bytes(&identity.short())).map(drop).map_err(|_| ObjectError::Room)
    })
}

/// A registration before anybody has looked whose it is.
#[derive(Clone, Copy, Debug)]
pub struct UnverifiedRegistration<'b> {
    object: Sign1<'b>,
    sequence: u64,
    credential: Option<Credential<'b>>,
    short: Option<[u8; Identity::SHORT_LEN]>,
}

impl<'b> UnverifiedRegistration<'b> {
    /// # Errors
    /// [`ObjectError::Malformed`].
    pub fn parse(bytes: &'b [u8]) -> Result<Self, ObjectError> {
        Self::parse_with(bytes, Credential::read)
    }

    /// The same without a credential, for programs that have no room for the keys of P-256.
    ///
    /// # Errors
    /// [`ObjectError::Malformed`], also if there is a credential.
    pub fn parse_short(bytes: &'b [u8]) -> Result<Self, ObjectError> {
        Self::parse_with(bytes, |decoder| Err(ObjectError::malformed(Part::Credential, decoder.position())))
    }

    fn parse_with(
        bytes: &'b [u8],
        credential: impl FnOnce(&mut Decoder<'b>) -> Result<Credential<'b>, ObjectError>,
    ) -> Result<Self, ObjectError> {
        let object = Sign1::parse(bytes)?;
        let mut decoder = Decoder::new(object.unverified_payload());
        expect(&mut decoder, Part::Payload, |decoder| decoder.array().map(|len| len == Some(2)))?;
        let sequence = take(&mut decoder, Part::Sequence, Decoder::u64)?;
        let (credential, short) = match take(&mut decoder, Part::Credential, |decoder| decoder.datatype())? {
            Type::Bytes => {
                let malformed = ObjectError::malformed(Part::Credential, decoder.position());
                let short = take(&mut decoder, Part::Credential, Decoder::bytes)?;
                (None, Some(short.try_into().map_err(|_| malformed)?))
            }
            _ => (Some(credential(&mut decoder)?), None),
        };
        end(&decoder)?;
        Ok(Self { object, sequence, credential, short })
    }

    /// The key and what stands beside it, if they are in it.
    pub const fn credential(&self) -> Option<&Credential<'b>> {
        self.credential.as_ref()
    }

    /// The number that it says comes next.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The identity that it says to be of.
    ///
    /// # Errors
    /// [`ObjectError::Room`] if a value beside the key is too long.
    pub fn short_identity(&self) -> Result<[u8; Identity::SHORT_LEN], ObjectError> {
        match (self.short, &self.credential) {
            (Some(short), _) => Ok(short),
            (None, Some(credential)) => Ok(credential.identity()?.short()),
            (None, None) => Err(ObjectError::Identity),
        }
    }

    /// Checks it for an identity, with the key that is in it, or else with `known`.
    ///
    /// # Errors
    /// [`ObjectError::Identity`] if the key is another or there is none, and
    /// [`ObjectError::Signature`].
    pub fn verify(
        &self,
        identity: &Identity,
        known: Option<&PublicKey>,
        audience: Audience<'_>,
    ) -> Result<Registration<'b>, ObjectError> {
        let key = match &self.credential {
            Some(credential) => {
                is_of(credential, identity)?;
                credential.key()
            }
            None => known.filter(|_| self.short == Some(identity.short())).ok_or(ObjectError::Identity)?,
        };
        let (number, mut length) = (self.sequence.to_be_bytes(), [0; 2]);
        self.object.verify(key, &Purpose::REGISTRATION.external(identity, &number, audience, &mut length))?;
        Ok(Registration { credential: self.credential, sequence: self.sequence })
    }

    /// Checks one without a credential, with an Ed25519 key that was checked before, for programs
    /// that have no room for P-256. Returns the number of the reading that comes next.
    ///
    /// # Errors
    /// [`ObjectError::Identity`] if it is of another device, and [`ObjectError::Signature`].
    pub fn verify_ed25519(
        &self,
        key: &[u8; 32],
        identity: &Identity,
        audience: Audience<'_>,
    ) -> Result<u64, ObjectError> {
        if self.short != Some(identity.short()) {
            return Err(ObjectError::Identity);
        }
        let (number, mut length) = (self.sequence.to_be_bytes(), [0; 2]);
        let external = Purpose::REGISTRATION.external(identity, &number, audience, &mut length);
        self.object.verify_ed25519(key, &external).map(|_| self.sequence)
    }
}

pub(crate) fn is_of(credential: &Credential<'_>, identity: &Identity) -> Result<(), ObjectError> {
    if credential.identity()? == *identity { Ok(()) } else { Err(ObjectError::Identity) }
}
