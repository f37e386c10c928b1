//! A message that tells a device whom to obey (RFC 8387, 4.1): signed by a server, and sealed to
//! the device's key, so that nobody else learns what it says (`docs/spec/pairing.md`).

use minicbor::encode::write::Cursor;
use minicbor::{Decoder, Encoder};
use rand_core::CryptoRng;

use crate::credential::Credential;
use crate::external::{Audience, MAX_AUDIENCE_LEN, Purpose};
use crate::hpke::{AgreementKey, Ephemeral, TAG_LEN, enc_len, forget, kem_of, open};
use crate::identity::Identity;
use crate::key::{Agrees, Algorithm, PublicKey, Signer};
use crate::sign1::{ObjectError, Part, Sign1, end, expect, take};
use crate::statement::sign_built;
use crate::text::{is_text, read_text};

/// The longest place and the longest purpose, in bytes.
pub const MAX_TEXT_LEN: usize = 128;

/// What a server tells a device.
#[derive(Clone, Copy, Debug)]
pub struct Pairing<'b> {
    /// Whose commands to obey.
    pub server: Credential<'b>,
    /// Counts what the server signs: an older pairing is not accepted again.
    pub sequence: u64,
    /// For whom commands are, such as the name of a network.
    pub audience: Audience<'b>,
    /// Where the device is, or nothing.
    pub place: &'b str,
    /// What it is for, or nothing.
    pub purpose: &'b str,
}

/// The device that a pairing is for.
#[derive(Clone, Copy, Debug)]
pub struct To<'a> {
    /// Its identity, to which the message is bound.
    pub identity: &'a Identity,
    /// Its key, to which the message is sealed.
    pub key: &'a PublicKey,
}

/// Signs a pairing and seals it to a device. Returns how long it is. `out` needs room for the
/// message and for what is signed in it, one behind the other.
///
/// # Errors
/// [`ObjectError::Room`], also for a text that is too long or has control characters,
/// [`ObjectError::Signer`], and [`ObjectError::Identity`] if nothing can be sealed to the key.
pub fn pair<S: Signer + ?Sized, R: CryptoRng + ?Sized>(
    server: &mut S,
    pairing: &Pairing<'_>,
    to: To<'_>,
    rng: &mut R,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let texts = [(pairing.place, MAX_TEXT_LEN), (pairing.purpose, MAX_TEXT_LEN)];
    let audience = (pairing.audience.as_str(), MAX_AUDIENCE_LEN);
    if !texts.into_iter().chain([audience]).all(|(text, most)| is_text(text, most)) {
        return Err(ObjectError::Room);
    }
    let refused = |_| ObjectError::Identity;
    let algorithm = to.key.algorithm();
    let ephemeral = Ephemeral::generate(algorithm, rng).map_err(refused)?;
    // The longest head: what is signed is moved to behind the one that there is.
    let (head, signed) = out.split_at_mut_checked(MAX_HEAD_LEN).ok_or(ObjectError::Room)?;
    let number = pairing.sequence.to_be_bytes();
    let mut length = [0; 2];
    let external = Purpose::PAIRING.external(to.identity, &number, pairing.audience, &mut length);
    let signed_len = sign_built(server, &external, signed, |encoder| {
        let room = |_| ObjectError::Room;
        encoder.array(5).map_err(room)?.u64(pairing.sequence).map_err(room)?;
        encoder.str(pairing.audience.as_str()).map_err(room)?;
        encoder.str(pairing.place).map_err(room)?.str(pairing.purpose).map_err(room)?;
        pairing.server.write(encoder)
    })?;
    let sealed_len = signed_len.checked_add(TAG_LEN).ok_or(ObjectError::Room)?;
    let head_len = write_head(algorithm, ephemeral.enc(), sealed_len, head)?;
    let (head, _) = head.split_at_checked(head_len).ok_or(ObjectError::Room)?;
    let (text, rest) = signed.split_at_mut_checked(signed_len).ok_or(ObjectError::Room)?;
    let info = [Purpose::SEALED_PAIRING.label(), to.identity.as_bytes().as_slice()];
    let tag = ephemeral.seal(to.key, &info, head, text).map_err(refused)?;
    *rest.first_chunk_mut().ok_or(ObjectError::Room)? = tag;
    let end = MAX_HEAD_LEN.checked_add(sealed_len).ok_or(ObjectError::Room)?;
    out.copy_within(MAX_HEAD_LEN..end, head_len);
    head_len.checked_add(sealed_len).ok_or(ObjectError::Room)
}

/// An array's head, a number of two bytes, and two strings' heads with what is in the first.
const MAX_HEAD_LEN: usize = 1 + 2 + 2 + crate::hpke::MAX_ENC_LEN + 5;

fn write_head(
    algorithm: Algorithm,
    enc: &[u8],
    sealed_len: usize,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let mut encoder = Encoder::new(Cursor::new(out));
    let mut written = || {
        encoder.array(3)?.u8(kem_of(algorithm))?.bytes(enc)?.bytes_len(sealed_len as u64)?;
        Ok::<_, minicbor::encode::Error<_>>(())
    };
    written().map_err(|_| ObjectError::Room)?;
    Ok(encoder.writer().position())
}

/// The head of a message: which KEM it is for, where the encapsulated key is, where the ciphertext
/// begins, and where its tag does.
struct Head {
    algorithm: Algorithm,
    enc: core::ops::Range<usize>,
    sealed: usize,
    tag: usize,
}

impl Head {
    fn parse(message: &[u8]) -> Result<Self, ObjectError> {
        let mut decoder = Decoder::new(message);
        expect(&mut decoder, Part::Sealed, |decoder| decoder.array().map(|len| len == Some(3)))?;
        let malformed = |at| ObjectError::malformed(Part::Sealed, at);
        let at = decoder.position();
        let kem = take(&mut decoder, Part::Sealed, Decoder::u8)?;
        let known = [Algorithm::Ed25519, Algorithm::Es256].into_iter().find(|known| kem_of(*known) == kem);
        let algorithm = known.ok_or(malformed(at))?;
        let at = decoder.position();
        let len = take(&mut decoder, Part::Sealed, Decoder::bytes)?.len();
        let behind = decoder.position();
        let enc = behind.checked_sub(len).ok_or(malformed(at))?..behind;
        if len != enc_len(algorithm) {
            return Err(malformed(at));
        }
        let sealed_len = take(&mut decoder, Part::Sealed, Decoder::bytes)?.len();
        end(&decoder)?;
        let sealed = decoder.position().saturating_sub(sealed_len);
        let tag = decoder.position().saturating_sub(TAG_LEN);
        if sealed_len < TAG_LEN { Err(malformed(sealed)) } else { Ok(Self { algorithm, enc, sealed, tag }) }
    }
}

/// For which kind of key a message is sealed; a hint that proves nothing.
///
/// # Errors
/// [`ObjectError::Malformed`]: it is no pairing.
pub fn claimed_algorithm(message: &[u8]) -> Result<Algorithm, ObjectError> {
    Head::parse(message).map(|head| head.algorithm)
}

/// Opens a pairing with the key of the device that it is for, in its own memory, and checks that
/// the server in it signed it for this device. Whether to trust that server, and whether the number
/// is new, is the caller's to say.
///
/// # Errors
/// [`ObjectError::Malformed`], [`ObjectError::Sealed`], and [`ObjectError::Signature`].
pub fn open_pairing<'b, K: Agrees + ?Sized>(
    device: &K,
    identity: &Identity,
    message: &'b mut [u8],
) -> Result<Pairing<'b>, ObjectError> {
    let head = Head::parse(message)?;
    let key: AgreementKey = device.agreement_key();
    if key.algorithm() != head.algorithm {
        forget(key);
        return Err(ObjectError::Sealed);
    }
    let (associated, sealed) = message.split_at_mut_checked(head.sealed).ok_or(ObjectError::Sealed)?;
    let text_len = head.tag.checked_sub(head.sealed).ok_or(ObjectError::Sealed)?;
    let (text, tag) = sealed.split_at_mut_checked(text_len).ok_or(ObjectError::Sealed)?;
    let enc = associated.get(head.enc).ok_or(ObjectError::Sealed)?;
    let tag = tag.first_chunk().ok_or(ObjectError::Sealed)?;
    let info = [Purpose::SEALED_PAIRING.label(), identity.as_bytes().as_slice()];
    // Disclosed: whether the tag holds, which the operator of the device learns.
    open(&key, enc, &info, associated, text, tag).map_err(|_| ObjectError::Sealed)?;
    check(text, identity)
}

/// What is inside: who sealed it is nobody, and who signed it is the server.
fn check<'b>(signed: &'b [u8], identity: &Identity) -> Result<Pairing<'b>, ObjectError> {
    let object = Sign1::parse(signed)?;
    let mut decoder = Decoder::new(object.unverified_payload());
    expect(&mut decoder, Part::Payload, |decoder| decoder.array().map(|len| len == Some(5)))?;
    let sequence = take(&mut decoder, Part::Sequence, Decoder::u64)?;
    let malformed = ObjectError::malformed(Part::Text, decoder.position());
    let audience = Audience::new(read_text(&mut decoder, MAX_AUDIENCE_LEN)?).map_err(|_| malformed)?;
    let place = read_text(&mut decoder, MAX_TEXT_LEN)?;
    let purpose = read_text(&mut decoder, MAX_TEXT_LEN)?;
    let server = Credential::read(&mut decoder)?;
    end(&decoder)?;
    let (number, mut length) = (sequence.to_be_bytes(), [0; 2]);
    object.verify(server.key(), &Purpose::PAIRING.external(identity, &number, audience, &mut length))?;
    Ok(Pairing { server, sequence, audience, place, purpose })
}
