//! What is in the messages (RFC 9528, section 5), and what connection identifiers look like.

use core::ops::Range;

use motemix_crypto::Secret;

use super::cbor::{BYTES, Head, MAP, Reader, Writer, compact_head};
use super::credential::HeaderMap;
use super::schedule::{Label, Prk, Transcript};
use super::{CipherSuite, CredentialId, Ead, Method, Refused};
use crate::suite::{Aes as _, SIGNATURE_LEN, TAG_LEN};

/// The longest connection identifier here. One of OSCORE has at most 7 bytes.
pub const MAX_CONNECTION_ID_LEN: usize = 8;
/// The longest PLAINTEXT_2 here: connection identifier, credential's name, signature or MAC, and
/// authorization data together.
pub const MAX_PLAINTEXT_LEN: usize = 512;
/// Bytes of a MAC in method 3.
pub(super) const MAC_LEN: usize = 8;

/// How the other side names this connection (`C_I`, `C_R`; RFC 9528, 3.3). Its owner chooses it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConnectionId {
    bytes: [u8; MAX_CONNECTION_ID_LEN],
    len: u8,
}

impl ConnectionId {
    /// The bytes as OSCORE has them. One byte from 00 to 17 or 20 to 37 takes one byte of a
    /// message. [`Refused::ConnectionId`] above [`MAX_CONNECTION_ID_LEN`] bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, Refused> {
        let mut id = Self { bytes: [0; MAX_CONNECTION_ID_LEN], len: bytes.len() as u8 };
        id.bytes.get_mut(..bytes.len()).ok_or(Refused::ConnectionId)?.copy_from_slice(bytes);
        Ok(id)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len.into()).unwrap_or_default()
    }

    /// As it stands in messages: the head of a byte string, unless the byte is an integer.
    pub(super) fn pieces<'a>(&'a self, head: &'a mut Option<Head>) -> Result<[&'a [u8]; 2], Refused> {
        *head = compact_head(self.as_bytes())?;
        Ok([head.as_ref().map_or(&[], Head::as_slice), self.as_bytes()])
    }

    pub(super) fn emit(&self, writer: &mut Writer) -> Result<(), Refused> {
        let mut head = None;
        self.pieces(&mut head)?.into_iter().try_for_each(|piece| writer.raw(piece))
    }

    pub(super) fn parse(reader: &mut Reader) -> Result<Self, Refused> {
        Self::new(reader.compact()?)
    }
}

/// Signature or MAC, as long as its method has it.
pub(crate) struct Proof {
    pub(super) bytes: [u8; SIGNATURE_LEN],
    pub(super) len: usize,
}

impl Proof {
    pub(super) const fn len_in(method: Method) -> usize {
        match method {
            Method::Signatures => SIGNATURE_LEN,
            Method::StaticKeys => MAC_LEN,
        }
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Which part of a plaintext is the name of the credential, and of which kind.
#[derive(Clone, Debug)]
enum IdAt {
    Kid(Range<usize>),
    Header(Range<usize>),
}

/// Where the parts of PLAINTEXT_2 (behind C_R) or of PLAINTEXT_3 are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    id: IdAt,
    proof: Range<usize>,
    ead: Range<usize>,
}

impl Layout {
    /// Reads what is left of a plaintext of so many bytes. A proof of the wrong length is refused
    /// here, and so is critical data that nobody understands.
    pub(super) fn parse(
        mut reader: Reader,
        len: usize,
        method: Method,
        understood: &[u32],
    ) -> Result<Self, Refused> {
        let at = |reader: &Reader, taken: &[u8]| {
            let end = len - reader.rest().len();
            end - taken.len()..end
        };
        let id = if reader.major() == Some(MAP) {
            let map = reader.item()?;
            match CredentialId::from_header(map)? {
                // A kid alone stands as its bytes (RFC 9528, 3.5.3.2).
                CredentialId::Kid(_) => return Err(Refused::Malformed),
                _ => IdAt::Header(at(&reader, map)),
            }
        } else {
            let kid = reader.compact()?;
            IdAt::Kid(at(&reader, kid))
        };
        let proof = reader.string(BYTES)?;
        if proof.len() != Proof::len_in(method) {
            return Err(Refused::Malformed);
        }
        let proof = at(&reader, proof);
        let ead = Ead::new(reader.rest())?.understood(understood)?.as_bytes();
        Ok(Self { id, proof, ead: len - ead.len()..len })
    }

    pub(super) fn id<'a>(&self, plaintext: &'a [u8]) -> CredentialId<'a> {
        let part = |range: &Range<usize>| plaintext.get(range.clone()).unwrap_or_default();
        match &self.id {
            IdAt::Kid(range) => CredentialId::Kid(part(range)),
            // Was one when it was parsed.
            IdAt::Header(range) => {
                CredentialId::from_header(part(range)).unwrap_or(CredentialId::Header(part(range)))
            }
        }
    }

    pub(super) fn proof<'a>(&self, plaintext: &'a [u8]) -> &'a [u8] {
        plaintext.get(self.proof.clone()).unwrap_or_default()
    }

    pub(super) fn ead<'a>(&self, plaintext: &'a [u8]) -> Ead<'a> {
        Ead::new(plaintext.get(self.ead.clone()).unwrap_or_default()).unwrap_or_default()
    }
}

/// Writes what [`Layout`] reads.
pub(super) fn emit_parts(
    writer: &mut Writer,
    id: CredentialId,
    proof: &Proof,
    ead: Ead,
) -> Result<(), Refused> {
    match id {
        CredentialId::Kid(kid) => {
            let head = compact_head(kid)?;
            writer.raw(head.as_ref().map_or(&[], Head::as_slice))?;
            writer.raw(kid)?;
        }
        CredentialId::Ccs(_) | CredentialId::Header(_) => {
            let map: HeaderMap = id.header_map()?;
            map.pieces().into_iter().try_for_each(|piece| writer.raw(piece))?;
        }
    }
    writer.string(BYTES, proof.as_slice())?;
    writer.raw(ead.as_bytes())
}

/// PLAINTEXT_2 ⇄ CIPHERTEXT_2 in place (RFC 9528, 4.1.1.2): a keystream, and no tag. The MAC inside
/// says whether it was altered.
pub(super) fn apply_keystream_2(prk_2e: &Prk, th_2: &Transcript, text: &mut [u8]) -> Result<(), Refused> {
    // What motes say to each other is short, and so are their stacks.
    const SHORT: usize = 32;
    if text.len() <= SHORT {
        apply_within::<SHORT>(prk_2e, th_2, text)
    } else {
        apply_within::<MAX_PLAINTEXT_LEN>(prk_2e, th_2, text)
    }
}

#[inline(never)]
fn apply_within<const N: usize>(prk_2e: &Prk, th_2: &Transcript, text: &mut [u8]) -> Result<(), Refused> {
    let mut keystream = Secret::<N>::zero();
    let keystream = keystream.expose_mut().get_mut(..text.len()).ok_or(Refused::Length)?;
    prk_2e.expand(Label::Keystream2 as u16, &[&th_2.0], keystream)?;
    text.iter_mut().zip(keystream).for_each(|(byte, key)| *byte ^= *key);
    Ok(())
}

/// The longest head that a message gets, when it is one byte string.
pub(super) const MAX_HEAD_LEN: usize = 3;

/// Makes one byte string of the content that stands [`MAX_HEAD_LEN`] into `out`.
pub(super) fn wrap(out: &mut [u8], len: usize) -> Result<&mut [u8], Refused> {
    let head = Head::of_len(BYTES, len)?;
    let head = head.as_slice();
    let end = MAX_HEAD_LEN.checked_add(len).filter(|end| *end <= out.len()).ok_or(Refused::Room)?;
    out.copy_within(MAX_HEAD_LEN..end, head.len());
    out.get_mut(..head.len()).ok_or(Refused::Room)?.copy_from_slice(head);
    out.get_mut(..head.len() + len).ok_or(Refused::Room)
}

/// The content of a message that is one byte string: where it begins.
pub(super) fn unwrap(message: &[u8]) -> Result<Range<usize>, Refused> {
    let mut reader = Reader::new(message);
    let content = reader.string(BYTES)?;
    if reader.is_empty() { Ok(message.len() - content.len()..message.len()) } else { Err(Refused::Malformed) }
}

/// Which keys encrypt: those of message_3 or of message_4.
pub(super) struct Sealing<'a> {
    pub(super) labels: [Label; 2],
    pub(super) prk: &'a Prk,
    pub(super) transcript: &'a Transcript,
}

impl Sealing<'_> {
    /// Encrypts a plaintext of so many bytes, which stands [`MAX_HEAD_LEN`] into `out`, and wraps
    /// it.
    pub(super) fn seal<'o, S: CipherSuite>(
        &self,
        suite: &mut S,
        out: &'o mut [u8],
        len: usize,
    ) -> Result<&'o [u8], Refused> {
        let (key, nonce) = self.prk.key_and_nonce(self.labels, self.transcript)?;
        let (_, content) = out.split_at_mut_checked(MAX_HEAD_LEN).ok_or(Refused::Room)?;
        let (text, rest) = content.split_at_mut_checked(len).ok_or(Refused::Room)?;
        let to_tag = rest.first_chunk_mut().ok_or(Refused::Room)?;
        *to_tag = suite.aes().seal(&key, nonce.expose(), &self.transcript.associated_data(), text)?;
        Ok(wrap(out, len + TAG_LEN)?)
    }

    /// Decrypts a message in place: where its plaintext is.
    pub(super) fn open<S: CipherSuite>(
        &self,
        suite: &mut S,
        message: &mut [u8],
    ) -> Result<Range<usize>, Refused> {
        let content = unwrap(message)?;
        let ciphertext = message.get_mut(content.clone()).ok_or(Refused::Malformed)?;
        let (text, tag) = ciphertext.split_last_chunk_mut().ok_or(Refused::Malformed)?;
        let (key, nonce) = self.prk.key_and_nonce(self.labels, self.transcript)?;
        suite.aes().open(&key, nonce.expose(), &self.transcript.associated_data(), text, tag)?;
        Ok(content.start..content.end - TAG_LEN)
    }
}
