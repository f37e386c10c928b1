//! A signed object: a `COSE_Sign1` (RFC 9052, 4.2) whose signature also covers what is not sent.

use core::fmt;
use core::ops::Range;

use minicbor::encode::write::{Cursor, EndOfSlice};
use minicbor::{Decoder, Encoder};

use crate::key::{Algorithm, PublicKey, SIGNATURE_LEN, Signer, ed25519_verifies};

/// Labels of header parameters (RFC 9052, 3.1).
const ALGORITHM: u8 = 1;
const KEY_ID: u8 = 4;
/// The heads of an array of four, of maps of no, one and two entries, and the one before a
/// signature.
const ARRAY_OF_4: u8 = 0x84;
const EMPTY_MAP: u8 = 0xa0;
const MAP_OF_1: u8 = 0xa1;
const MAP_OF_2: u8 = 0xa2;
/// The `Sig_structure` up to the protected header: array of 4, "Signature1" (RFC 9052, 4.4).
const SIGNED_HEAD: &[u8] = b"\x84\x6aSignature1";
/// The longest key id that is written, in bytes.
pub const MAX_KEY_ID_LEN: usize = 23;
/// The most parts of external data.
const MAX_EXTERNAL: usize = 8;

/// A part of a signed object or of what is in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Part {
    /// The array of four that a `COSE_Sign1` is.
    Envelope,
    /// The protected or the unprotected header.
    Header,
    /// The key id.
    KeyId,
    /// The payload.
    Payload,
    /// The signature.
    Signature,
    /// A public key and what stands beside it.
    Credential,
    /// The keys of a group.
    Members,
    /// A sequence number.
    Sequence,
    /// What is encrypted, and for which key.
    Sealed,
    /// A name, a place or a purpose.
    Text,
    /// What follows the end.
    End,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Envelope => "the envelope",
            Self::Header => "a header",
            Self::KeyId => "the key id",
            Self::Payload => "the payload",
            Self::Signature => "the signature",
            Self::Credential => "the public key",
            Self::Members => "the group's keys",
            Self::Sequence => "the sequence number",
            Self::Sealed => "what is encrypted",
            Self::Text => "a name, a place or a purpose",
            Self::End => "what follows the end",
        })
    }
}

/// Why bytes are no signed object. Whoever sent it learns nothing of this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ObjectError {
    /// The bytes are malformed.
    Malformed {
        /// In what.
        part: Part,
        /// Behind how many bytes of it.
        at: usize,
    },
    /// The signature was not made by this key, over these bytes, for this purpose.
    Signature,
    /// The key is not the one that the identity was made of.
    Identity,
    /// The lent memory is too short.
    Room,
    /// What holds the private key failed.
    Signer,
    /// It was sealed for another key or identity, or changed on its way.
    Sealed,
}

impl ObjectError {
    pub(crate) const fn malformed(part: Part, at: usize) -> Self {
        Self::Malformed { part, at }
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { part, at } => write!(f, "no signed object: {part} is malformed, at byte {at}"),
            Self::Signature => f.write_str("the signature does not hold"),
            Self::Identity => f.write_str("the key is not the identity's"),
            Self::Room => f.write_str("no room for the signed object"),
            Self::Signer => f.write_str("what holds the private key could not sign"),
            Self::Sealed => f.write_str("it is for another device, or was changed on its way"),
        }
    }
}

impl core::error::Error for ObjectError {}

/// A signed object whose shape is right and whose signature nobody has checked.
#[derive(Clone, Copy, Debug)]
pub struct Sign1<'b> {
    protected: &'b [u8],
    algorithm: Algorithm,
    key_id: &'b [u8],
    payload: &'b [u8],
    signature: &'b [u8; SIGNATURE_LEN],
}

impl<'b> Sign1<'b> {
    /// Takes bytes apart that are in the one form of an object (`docs/spec/reading.md`): whoever
    /// passes it on can change nothing that the signature does not cover.
    ///
    /// # Errors
    /// [`ObjectError::Malformed`]: not exactly one `COSE_Sign1` in this form.
    pub fn parse(bytes: &'b [u8]) -> Result<Self, ObjectError> {
        let malformed =
            |part, rest: &[u8]| ObjectError::malformed(part, bytes.len().saturating_sub(rest.len()));
        let rest = bytes.strip_prefix(&[ARRAY_OF_4]).ok_or(malformed(Part::Envelope, bytes))?;
        let (protected, behind) = byte_string(rest).ok_or(malformed(Part::Header, rest))?;
        let (algorithm, key_id) = protected_header(protected).ok_or(malformed(Part::Header, rest))?;
        let rest = behind.strip_prefix(&[EMPTY_MAP]).ok_or(malformed(Part::Header, behind))?;
        let (payload, behind) = byte_string(rest).ok_or(malformed(Part::Payload, rest))?;
        let (signature, end) = byte_string(behind).ok_or(malformed(Part::Signature, behind))?;
        let signature: &[u8; SIGNATURE_LEN] =
            signature.try_into().map_err(|_| malformed(Part::Signature, behind))?;
        if !algorithm.is_canonical(signature) {
            return Err(malformed(Part::Signature, behind));
        }
        if !end.is_empty() {
            return Err(malformed(Part::End, end));
        }
        Ok(Self { protected, algorithm, key_id, payload, signature })
    }

    /// How it was signed.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The hint which key signed it; it proves nothing.
    pub const fn key_id(&self) -> &'b [u8] {
        self.key_id
    }

    /// What was signed, or so it says.
    pub const fn unverified_payload(&self) -> &'b [u8] {
        self.payload
    }

    /// The payload, if `key` signed it together with `external`, the concatenated external data.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    pub fn verify(&self, key: &PublicKey, external: &[&[u8]]) -> Result<&'b [u8], ObjectError> {
        self.verify_by(key, external, PublicKey::verifies)
    }

    /// The same by another function than [`PublicKey::verifies`], which has to say what that says.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    pub fn verify_by(
        &self,
        key: &PublicKey,
        external: &[&[u8]],
        checks: impl FnOnce(&PublicKey, &[&[u8]], &[u8; SIGNATURE_LEN]) -> bool,
    ) -> Result<&'b [u8], ObjectError> {
        let verified = self.algorithm == key.algorithm()
            && with_signed_parts(self.protected, external, self.payload, |parts| {
                checks(key, parts, self.signature)
            })
            .unwrap_or(false);
        if verified { Ok(self.payload) } else { Err(ObjectError::Signature) }
    }

    /// The same with an Ed25519 key that was checked before, for programs that have no room for
    /// P-256.
    ///
    /// # Errors
    /// [`ObjectError::Signature`].
    // Not inlined: what a check needs on a board's stack must not stay there.
    #[inline(never)]
    pub fn verify_ed25519(&self, key: &[u8; 32], external: &[&[u8]]) -> Result<&'b [u8], ObjectError> {
        let verified = self.algorithm == Algorithm::Ed25519
            && with_signed_parts(self.protected, external, self.payload, |parts| {
                ed25519_verifies(key, parts, self.signature)
            })
            .unwrap_or(false);
        if verified { Ok(self.payload) } else { Err(ObjectError::Signature) }
    }
}

/// Signs `payload` and the concatenated `external` data into `out`: an untagged `COSE_Sign1` with
/// algorithm and key id in the protected header, in its one form. Returns how long it is.
///
/// # Errors
/// [`ObjectError::Room`], also for a key id above [`MAX_KEY_ID_LEN`], and [`ObjectError::Signer`].
// Not inlined: on a board nothing of a caller's may lie on the stack beneath a signature that need
// not.
#[inline(never)]
pub fn sign<S: Signer + ?Sized>(
    signer: &mut S,
    key_id: &[u8],
    external: &[&[u8]],
    payload: &[u8],
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    if key_id.len() > MAX_KEY_ID_LEN {
        return Err(ObjectError::Room);
    }
    let algorithm = signer.public_key().algorithm();
    let spans = write_unsigned(algorithm, key_id, payload, out).map_err(|_| ObjectError::Room)?;
    // The signature goes to its place; nothing of it or of what it covers is copied.
    let (body, rest) = out.split_at_mut_checked(spans.end).ok_or(ObjectError::Room)?;
    let signature = rest.first_chunk_mut().ok_or(ObjectError::Room)?;
    let protected = body.get(spans.protected).ok_or(ObjectError::Room)?;
    with_signed_parts(protected, external, payload, |parts| signer.sign(parts, signature))
        .ok_or(ObjectError::Room)?
        .map_err(|_| ObjectError::Signer)?;
    algorithm.make_canonical(signature);
    Ok(spans.end.saturating_add(SIGNATURE_LEN))
}

/// Where parts of an object are that has no signature yet.
struct Spans {
    protected: Range<usize>,
    /// Where the signature begins.
    end: usize,
}

type Written<T> = Result<T, minicbor::encode::Error<EndOfSlice>>;

fn write_unsigned(algorithm: Algorithm, key_id: &[u8], payload: &[u8], out: &mut [u8]) -> Written<Spans> {
    let mut encoder = Encoder::new(Cursor::new(out));
    // One byte for the head of a map of one or two, one each for both labels and the algorithm, and
    // one for the head of a key id, which is short.
    let protected_len = if key_id.is_empty() { 3 } else { key_id.len().saturating_add(5) };
    encoder.array(4)?.bytes_len(protected_len as u64)?;
    let begin = encoder.writer().position();
    let entries = if key_id.is_empty() { 1 } else { 2 };
    encoder.map(entries)?.u8(ALGORITHM)?.i8(algorithm.cose())?;
    if !key_id.is_empty() {
        encoder.u8(KEY_ID)?.bytes(key_id)?;
    }
    let protected = begin..encoder.writer().position();
    debug_assert_eq!(protected.len(), protected_len, "a key id of 24 bytes or more has a longer head");
    encoder.map(0)?.bytes(payload)?.bytes_len(SIGNATURE_LEN as u64)?;
    Ok(Spans { protected, end: encoder.writer().position() })
}

/// Hands the pieces of the `Sig_structure` (RFC 9052, 4.4) to `f`; `None` if there are too many.
fn with_signed_parts<T>(
    protected: &[u8],
    external: &[&[u8]],
    payload: &[u8],
    f: impl FnOnce(&[&[u8]]) -> T,
) -> Option<T> {
    if external.len() > MAX_EXTERNAL {
        return None;
    }
    let heads = [
        BytesHead::new(protected.len()),
        BytesHead::new(external.iter().map(|part| part.len()).sum()),
        BytesHead::new(payload.len()),
    ];
    let [protected_head, external_head, payload_head] = heads.each_ref().map(BytesHead::as_slice);
    let before = [SIGNED_HEAD, protected_head, protected, external_head];
    let all = before.iter().chain(external).chain([&payload_head, &payload]);
    let mut parts = [&[][..]; 4 + MAX_EXTERNAL + 2];
    let used = parts.iter_mut().zip(all).map(|(to, from)| *to = from).count();
    parts.get(..used).map(f)
}

/// The head of a byte string (RFC 8949, 3.1), in its shortest form.
struct BytesHead {
    bytes: [u8; 5],
    len: usize,
}

impl BytesHead {
    fn new(len: usize) -> Self {
        let mut head = Self { bytes: [0; 5], len: 0 };
        let mut encoder = Encoder::new(Cursor::new(head.bytes.as_mut_slice()));
        // Nothing here is 4 GiB long.
        let _ = encoder.bytes_len(u32::try_from(len).unwrap_or(u32::MAX).into());
        head.len = encoder.writer().position();
        head
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Algorithm and key id of a protected header in its one form; without a key id, that is empty.
fn protected_header(bytes: &[u8]) -> Option<(Algorithm, &[u8])> {
    let (algorithm, key_id) = match bytes {
        [MAP_OF_1, ALGORITHM, algorithm] => (*algorithm, &[][..]),
        [MAP_OF_2, ALGORITHM, algorithm, KEY_ID, key_id @ ..] => {
            let (key_id, end) = byte_string(key_id)?;
            if key_id.is_empty() || key_id.len() > MAX_KEY_ID_LEN || !end.is_empty() {
                return None;
            }
            (*algorithm, key_id)
        }
        _ => return None,
    };
    // A negative number of one byte (RFC 8949, 3.1): 0x20 is −1.
    Algorithm::of_cose(0x1f_i64.saturating_sub(algorithm.into())).map(|algorithm| (algorithm, key_id))
}

/// A byte string with the shortest head of its length (RFC 8949, 4.2.1), and what is behind it.
fn byte_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut decoder = Decoder::new(bytes);
    let string = decoder.bytes().ok()?;
    let behind = bytes.get(decoder.position()..)?;
    let head = decoder.position().checked_sub(string.len())?;
    (head == BytesHead::new(string.len()).len).then_some((string, behind))
}

/// One item, or where it is malformed.
pub(crate) fn take<'b, T>(
    decoder: &mut Decoder<'b>,
    part: Part,
    item: impl FnOnce(&mut Decoder<'b>) -> Result<T, minicbor::decode::Error>,
) -> Result<T, ObjectError> {
    let at = decoder.position();
    item(decoder).map_err(|_| ObjectError::malformed(part, at))
}

/// One item that has to be as `is_right` says.
pub(crate) fn expect<'b>(
    decoder: &mut Decoder<'b>,
    part: Part,
    is_right: impl FnOnce(&mut Decoder<'b>) -> Result<bool, minicbor::decode::Error>,
) -> Result<(), ObjectError> {
    let at = decoder.position();
    if take(decoder, part, is_right)? { Ok(()) } else { Err(ObjectError::malformed(part, at)) }
}

/// That nothing follows.
pub(crate) fn end(decoder: &Decoder<'_>) -> Result<(), ObjectError> {
    let at = decoder.position();
    if at == decoder.input().len() { Ok(()) } else { Err(ObjectError::malformed(Part::End, at)) }
}
