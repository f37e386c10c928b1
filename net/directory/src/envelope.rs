//! What all signed files have in common: a payload, and signatures of it.
//!
//! `file = [ payload: bstr, signatures: [ 1*16 COSE_Sign1 ] ]`, see `docs/spec/directory.md`.

use crate::authority::KeyId;
use crate::cbor::{Full, Reader, Writer};
use crate::error::{DocumentError, Field, Flaw};
use crate::signature::{self, Label, SIGNATURE_LEN};

/// The file's array of 2 and the longest head of the payload's byte string.
pub(crate) const MAX_HEAD_LEN: usize = 1 + 5;

/// A file taken apart. Nothing of what it says is known to be true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    /// The payload with the head of its byte string, as it is signed.
    framed_payload: &'a [u8],
    pub(crate) payload: &'a [u8],
    /// That of the payload in the file, for errors.
    pub(crate) payload_offset: usize,
    signatures: &'a [[u8; SIGNATURE_LEN]],
}

impl<'a> Envelope<'a> {
    /// Work is linear in the number of signatures; the payload is left alone.
    pub(crate) fn parse(file: &'a [u8], most_signatures: u32) -> Result<Self, DocumentError> {
        let reader = &mut Reader::new(file, 0, Field::File);
        reader.array(2, 2)?;
        let framed = reader.rest();
        let payload = reader.at(Field::Payload).bytes(0, u32::MAX)?;
        let (framed_payload, _) = framed.split_at(framed.len() - reader.rest().len());
        let payload_offset = reader.offset() - payload.len();
        let count = reader.at(Field::Signatures).array(1, most_signatures)?;
        let start = reader.rest();
        for _ in 0..count {
            let signature = reader.at(Field::Signatures).take(SIGNATURE_LEN)?;
            let signature = signature.first_chunk().and_then(signature::decode);
            signature.ok_or_else(|| reader.refuse(Flaw::NotOurSignature))?;
        }
        reader.finish(Field::File)?;
        let (signatures, _) = start.as_chunks();
        Ok(Self { framed_payload, payload, payload_offset, signatures })
    }

    pub(crate) fn signatures(&self) -> impl Iterator<Item = (KeyId, &'a [u8; 64])> + use<'a> {
        self.signatures.iter().filter_map(signature::decode)
    }

    /// What was signed, to be concatenated.
    pub(crate) const fn signed_parts(&self, label: Label) -> [&'a [u8]; 2] {
        [label.signed_head(), self.framed_payload]
    }
}

/// Puts the payload, which stands `MAX_HEAD_LEN` bytes into `out`, behind its head. Returns where
/// it begins.
pub(crate) fn frame(out: &mut [u8], len: usize) -> Result<usize, Full> {
    let mut head = [0; MAX_HEAD_LEN];
    let mut writer = Writer::new(&mut head);
    writer.array(2)?;
    writer.bytes_head(len)?;
    let start = writer.written();
    if out.len() < MAX_HEAD_LEN + len {
        return Err(Full);
    }
    out.copy_within(MAX_HEAD_LEN..MAX_HEAD_LEN + len, start);
    out.iter_mut().zip(head).take(start).for_each(|(to, from)| *to = from);
    Ok(start)
}
