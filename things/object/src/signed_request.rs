//! A request to a resource directory that its device signs (RFC 8387, 7.3;
//! `docs/spec/identity.md`): whoever carries it can neither change it, nor show it again.

use minicbor::Decoder;

use crate::external::{Audience, Purpose};
use crate::identity::Identity;
use crate::key::{PublicKey, Signer};
use crate::labelled::{Hash, REQUEST};
use crate::sign1::{ObjectError, Part, Sign1, end, expect, take};
use crate::statement::sign_built;

/// Everything that a request asks for, as one hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestDigest([u8; RequestDigest::LEN]);

impl RequestDigest {
    const LEN: usize = 32;

    /// Covers the method, as CoAP numbers it, the segments of the path and the parameters of the
    /// query, in order and decoded, and the payload. What carries the proof is not among them.
    ///
    /// # Errors
    /// [`ObjectError::Room`]: more than 65,535 segments or parameters, or bytes of one.
    pub fn of<P: AsRef<str>, Q: AsRef<str>>(
        method: u8,
        path: &[P],
        query: &[Q],
        payload: &[u8],
    ) -> Result<Self, ObjectError> {
        let len = u32::try_from(payload.len()).map_err(|_| ObjectError::Room)?;
        let hash = strings(Hash::new(&REQUEST).raw(&[method]), path)?;
        let hash = strings(hash, query)?.raw(&len.to_be_bytes()).raw(payload);
        Ok(Self(hash.finish()))
    }

    /// The hash.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The sequence number, then the hash.
    fn numbered(&self, sequence: u64) -> [u8; 8 + Self::LEN] {
        let mut number = [0; 8 + Self::LEN];
        let (first, last) = number.split_at_mut(8);
        first.copy_from_slice(&sequence.to_be_bytes());
        last.copy_from_slice(&self.0);
        number
    }
}

/// How many strings, and each with its length before it.
fn strings<S: AsRef<str>>(hash: Hash, strings: &[S]) -> Result<Hash, ObjectError> {
    let count = u16::try_from(strings.len()).map_err(|_| ObjectError::Room)?;
    strings.iter().map(AsRef::as_ref).try_fold(hash.raw(&count.to_be_bytes()), |hash, string| {
        if string.len() > usize::from(u16::MAX) {
            return Err(ObjectError::Room);
        }
        Ok(hash.string(string.as_bytes()))
    })
}

/// Signs a request under a number that the device uses for nothing else: neither for a reading nor
/// for another request. The proof has up to [`MAX_REQUEST_PROOF_LEN`] bytes, and `out` has 32 more.
///
/// # Errors
/// [`ObjectError::Room`] and [`ObjectError::Signer`].
pub fn sign_request<S: Signer + ?Sized>(
    signer: &mut S,
    identity: &Identity,
    sequence: u64,
    digest: &RequestDigest,
    audience: Audience<'_>,
    out: &mut [u8],
) -> Result<usize, ObjectError> {
    let (number, mut length) = (digest.numbered(sequence), [0; 2]);
    let external = Purpose::REQUEST.external(identity, &number, audience, &mut length);
    sign_built(signer, &external, out, |encoder| {
        let written = encoder.array(2).and_then(|encoder| encoder.u64(sequence));
        written.and_then(|encoder| encoder.bytes(&identity.short())).map(drop).map_err(|_| ObjectError::Room)
    })
}

/// Bytes of the longest proof.
pub const MAX_REQUEST_PROOF_LEN: usize = 101;

/// A proof before anybody has looked whose it is.
#[derive(Clone, Copy, Debug)]
pub struct RequestProof<'b> {
    object: Sign1<'b>,
    sequence: u64,
    short: [u8; Identity::SHORT_LEN],
}

impl<'b> RequestProof<'b> {
    /// # Errors
    /// [`ObjectError::Malformed`].
    pub fn parse(bytes: &'b [u8]) -> Result<Self, ObjectError> {
        let object = Sign1::parse(bytes)?;
        let mut decoder = Decoder::new(object.unverified_payload());
        expect(&mut decoder, Part::Payload, |decoder| decoder.array().map(|len| len == Some(2)))?;
        let sequence = take(&mut decoder, Part::Sequence, Decoder::u64)?;
        let malformed = ObjectError::malformed(Part::Credential, decoder.position());
        let short = take(&mut decoder, Part::Credential, Decoder::bytes)?;
        let short = short.try_into().map_err(|_| malformed)?;
        end(&decoder)?;
        Ok(Self { object, sequence, short })
    }

    /// The number that it says to have.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Checks that a device signed this request. Returns the number: whether it is new is for the
    /// caller to say.
    ///
    /// # Errors
    /// [`ObjectError::Identity`] if it is of another device, and [`ObjectError::Signature`].
    pub fn verify(
        &self,
        identity: &Identity,
        key: &PublicKey,
        digest: &RequestDigest,
        audience: Audience<'_>,
    ) -> Result<u64, ObjectError> {
        if self.short != identity.short() {
            return Err(ObjectError::Identity);
        }
        let (number, mut length) = (digest.numbered(self.sequence), [0; 2]);
        self.object.verify(key, &Purpose::REQUEST.external(identity, &number, audience, &mut length))?;
        Ok(self.sequence)
    }
}
