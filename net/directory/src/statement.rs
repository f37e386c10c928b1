//! What authorities say to each other on the way to a document: any payload, signed by one of them.

use crate::authority::{AuthorityKey, AuthoritySecret, KeyId};
use crate::builder::BuildError;
use crate::cbor::Writer;
use crate::envelope::{Envelope, MAX_HEAD_LEN, frame};
use crate::error::DocumentError;
use crate::signature::{self, Label, SIGNATURE_LEN, Signer};

/// Bytes that a statement has besides its payload, at most.
pub const STATEMENT_OVERHEAD: usize = MAX_HEAD_LEN + 1 + SIGNATURE_LEN;

/// Bytes in the shape of a statement. Nothing of what they say is known to be true.
#[derive(Clone, Copy, Debug)]
pub struct SignedStatement<'a>(Envelope<'a>);

impl<'a> SignedStatement<'a> {
    /// Takes the envelope apart; the payload is left alone.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`].
    pub fn parse(file: &'a [u8]) -> Result<Self, DocumentError> {
        Envelope::parse(file, 1).map(Self)
    }

    /// Which key it names. Unverified.
    pub fn signer(&self) -> Option<KeyId> {
        self.0.signatures().next().map(|(id, _)| id)
    }

    /// The payload, if the key signed it as what the label says.
    pub fn payload_by(&self, key: &AuthorityKey, label: Label) -> Option<&'a [u8]> {
        let mut signatures = self.0.signatures();
        let signed = signatures
            .any(|(id, signature)| id == key.id() && key.verifies(&self.0.signed_parts(label), signature));
        signed.then_some(self.0.payload)
    }
}

/// Signs a payload. `out` needs [`STATEMENT_OVERHEAD`] bytes more than it. Returns the file.
///
/// # Errors
/// [`BuildError::BufferTooSmall`].
pub fn sign_statement<'b>(
    out: &'b mut [u8],
    label: Label,
    payload: &[u8],
    secret: &AuthoritySecret,
) -> Result<&'b [u8], BuildError> {
    let place = out.get_mut(MAX_HEAD_LEN..).and_then(|out| out.get_mut(..payload.len()));
    place.ok_or(BuildError::BufferTooSmall)?.copy_from_slice(payload);
    let start = frame(out, payload.len())?;
    sign_framed(out, start + payload.len(), label, secret.signer())
}

/// Adds the one signature to a payload that stands in `out` behind its head, up to `end`.
pub(crate) fn sign_framed<'b>(
    out: &'b mut [u8],
    end: usize,
    label: Label,
    signer: &Signer,
) -> Result<&'b [u8], BuildError> {
    let (framed, rest) = out.split_at_mut_checked(end).ok_or(BuildError::BufferTooSmall)?;
    let payload = framed.get(1..).unwrap_or_default();
    let signature = signer.sign(&[label.signed_head(), payload]).ok_or(BuildError::BadSignature)?;
    let mut writer = Writer::new(rest);
    writer.array(1)?;
    writer.raw(&signature::encode(KeyId::of(&signer.public_key()), &signature))?;
    let len = end + writer.written();
    out.get(..len).ok_or(BuildError::BufferTooSmall)
}
