//! How an authority makes a document.

use core::fmt;
use core::net::SocketAddr;

use motemix_crypto::PublicKey;

use crate::authority::{AuthorityKey, AuthoritySecret, KeyId};
use crate::cbor::{Full, Writer};
use crate::contents::{Contents, Draft, write_head};
use crate::document::SignedDocument;
use crate::envelope::{MAX_HEAD_LEN, frame};
use crate::error::{DocumentError, Field};
use crate::node::write_node;
use crate::signature::{self, Label, SIGNATURE_LEN};
use crate::types::{MAX_NODES, MAX_SIGNATURES, Role};

/// Bytes for everything but nodes and signatures, at most, and for encoding.
const OVERHEAD: usize = 192;
/// Bytes for a node, at most.
const MAX_NODE_LEN: usize = 1 + (2 + 32) + 1 + (2 + 32) + 1 + 2 * (1 + 18);

/// The length of a buffer that surely holds a document of that many nodes and signatures.
pub const fn document_len_limit(nodes: usize, signatures: usize) -> usize {
    OVERHEAD + MAX_NODE_LEN * nodes + SIGNATURE_LEN * signatures
}

/// A node to be described. Its id is its place in the order given; [`VACANT`](Self::VACANT) leaves
/// an id to nobody.
#[derive(Clone, Copy, Debug)]
pub struct NewNode<'n> {
    /// Unique; 1 to 32 bytes of `[a-z0-9-]`.
    pub name: &'n str,
    /// What it does for others.
    pub role: Role,
    /// Its X25519 key of the epoch; unique.
    pub mix_key: PublicKey,
    /// One or two, unicast, port not 0. Flow label and scope of an IPv6 address are not carried.
    pub addresses: &'n [SocketAddr],
}

impl NewNode<'_> {
    /// Nobody has this id: its node left the network, and those behind it keep theirs.
    pub const VACANT: Self =
        Self { name: "", role: Role::Endpoint, mix_key: PublicKey([0; 32]), addresses: &[] };

    fn is_vacant(&self) -> bool {
        self.name.is_empty() && self.addresses.is_empty()
    }
}

/// A document that waits for signatures, in the caller's buffer.
pub struct DocumentBuilder<'b> {
    out: &'b mut [u8],
    /// Where the array of signatures begins.
    payload_end: usize,
    /// How many bytes precede the payload: array of 2, head of its byte string.
    payload_start: usize,
    signers: [KeyId; MAX_SIGNATURES],
    signed: usize,
}

impl<'b> DocumentBuilder<'b> {
    /// Encodes the payload into `out` ([`document_len_limit`] bytes are enough) and reads it again,
    /// so that what a node would refuse is refused here.
    ///
    /// # Errors
    /// [`BuildError::BufferTooSmall`], [`BuildError::Inexact`], or [`BuildError::Refused`] with the
    /// field and node at fault.
    pub fn encode<'n>(
        out: &'b mut [u8],
        draft: &Draft<'_>,
        nodes: impl ExactSizeIterator<Item = NewNode<'n>>,
    ) -> Result<Self, BuildError> {
        if let Some(field) = draft.parameters.inexact() {
            return Err(BuildError::Inexact { field });
        }
        // The head's length follows from the payload's: write that behind the longest one, then
        // move it.
        let scratch = out.get_mut(MAX_HEAD_LEN..).ok_or(BuildError::BufferTooSmall)?;
        let mut writer = Writer::new(scratch);
        let count = nodes.len();
        write_head(&mut writer, draft, count)?;
        for node in nodes.take(MAX_NODES) {
            if node.is_vacant() {
                writer.null()?;
                continue;
            }
            write_node(&mut writer, node.name, node.role, &node.mix_key, node.addresses)?;
        }
        let len = writer.written();
        Self::framed(out, len)
    }

    /// Reads the payload that stands behind the longest head, and puts it behind its own.
    fn framed(out: &'b mut [u8], len: usize) -> Result<Self, BuildError> {
        let payload_start = frame(out, len)?;
        let payload_end = payload_start + len;
        let builder =
            Self { out, payload_end, payload_start, signers: [KeyId([0; 8]); MAX_SIGNATURES], signed: 0 };
        Contents::read(builder.payload(), payload_start)?;
        Ok(builder)
    }

    /// A document with a payload that was encoded before, to be signed or to collect signatures.
    /// `out` is as long as for [`encode`](Self::encode).
    ///
    /// # Errors
    /// [`BuildError::BufferTooSmall`], or [`BuildError::Refused`].
    pub fn of_payload(out: &'b mut [u8], payload: &[u8]) -> Result<Self, BuildError> {
        let place = out.get_mut(MAX_HEAD_LEN..).and_then(|out| out.get_mut(..payload.len()));
        place.ok_or(BuildError::BufferTooSmall)?.copy_from_slice(payload);
        Self::framed(out, payload.len())
    }

    /// The payload. Authorities that agree on a draft get the same bytes, and compare them.
    pub fn payload(&self) -> &[u8] {
        self.out.get(self.payload_start..self.payload_end).unwrap_or_default()
    }

    /// The bytes that an authority signs, in two parts to be concatenated, for a key kept
    /// elsewhere.
    pub fn to_be_signed(&self) -> [&[u8]; 2] {
        [Label::Document.signed_head(), self.out.get(1..self.payload_end).unwrap_or_default()]
    }

    /// Signs.
    ///
    /// # Errors
    /// As [`DocumentBuilder::attach`].
    pub fn sign(&mut self, secret: &AuthoritySecret) -> Result<(), BuildError> {
        let signature = secret.signer().sign(&self.to_be_signed()).ok_or(BuildError::BadSignature)?;
        self.attach(&secret.public_key(), &signature)
    }

    /// Adds a signature made elsewhere, after verifying it.
    ///
    /// # Errors
    /// [`BuildError::BadSignature`], [`BuildError::SignedTwice`],
    /// [`BuildError::TooManySignatures`], [`BuildError::BufferTooSmall`].
    pub fn attach(&mut self, key: &AuthorityKey, signature: &[u8; 64]) -> Result<(), BuildError> {
        if self.signers.iter().take(self.signed).any(|id| *id == key.id()) {
            return Err(BuildError::SignedTwice(key.id()));
        }
        if !key.verifies(&self.to_be_signed(), signature) {
            return Err(BuildError::BadSignature);
        }
        let at = self.end();
        let signer = self.signers.get_mut(self.signed).ok_or(BuildError::TooManySignatures)?;
        let place = self.out.get_mut(at..at + SIGNATURE_LEN).ok_or(BuildError::BufferTooSmall)?;
        place.copy_from_slice(&signature::encode(key.id(), signature));
        *signer = key.id();
        self.signed += 1;
        Ok(())
    }

    /// The file.
    ///
    /// # Errors
    /// [`BuildError::NotSigned`].
    pub fn finish(self) -> Result<&'b [u8], BuildError> {
        let end = self.end();
        if self.signed == 0 {
            return Err(BuildError::NotSigned);
        }
        let count = self.out.get_mut(self.payload_end..).ok_or(BuildError::BufferTooSmall)?;
        Writer::new(count).array(self.signed)?;
        let file = self.out.get(..end).ok_or(BuildError::BufferTooSmall)?;
        SignedDocument::parse(file)?;
        Ok(file)
    }

    /// Where the next signature goes. The head of their array is one byte, as there are at most 16.
    fn end(&self) -> usize {
        self.payload_end + 1 + self.signed * SIGNATURE_LEN
    }
}

impl fmt::Debug for DocumentBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.payload().len();
        f.debug_struct("DocumentBuilder").field("payload_len", &bytes).field("signed", &self.signed).finish()
    }
}

/// Why a document could not be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The buffer is too small; see [`document_len_limit`].
    BufferTooSmall,
    /// Nodes would refuse this draft.
    Refused(DocumentError),
    /// A parameter that its unit on the wire cannot express: whole microseconds, whole seconds for
    /// the overlap, `None` and not zero for cover that is off.
    Inexact {
        /// Which.
        field: Field,
    },
    /// The signature is not by this key over this payload.
    BadSignature,
    /// The authority signed already.
    SignedTwice(KeyId),
    /// There are [`MAX_SIGNATURES`] already.
    TooManySignatures,
    /// Nobody signed.
    NotSigned,
}

impl From<Full> for BuildError {
    fn from(_: Full) -> Self {
        Self::BufferTooSmall
    }
}

impl From<DocumentError> for BuildError {
    fn from(error: DocumentError) -> Self {
        Self::Refused(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferTooSmall => f.write_str("the buffer is too small; lend document_len_limit bytes"),
            Self::Refused(error) => write!(f, "nodes would refuse this document: {error}"),
            Self::Inexact { field } => write!(
                f,
                "{field} has no exact form on the wire; use whole microseconds (overlap: seconds), and None for off"
            ),
            Self::BadSignature => {
                f.write_str("the signature is not by this authority over this payload; compare the payloads")
            }
            Self::SignedTwice(id) => write!(f, "authority {id} signed already; sign once with each key"),
            Self::TooManySignatures => {
                write!(f, "no room for another signature; use at most {MAX_SIGNATURES}")
            }
            Self::NotSigned => f.write_str("nobody signed; sign before finishing"),
        }
    }
}

impl core::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            _ => None,
        }
    }
}
