//! The form of a signature, a `COSE_Sign1` (RFC 9052 §4.2) of fixed length, and what is signed.

use ed25519_dalek::SigningKey;
use ed25519_dalek::ed25519::signature::MultipartSigner;
#[cfg(not(target_os = "none"))]
use ed25519_dalek::{Signature, VerifyingKey, ed25519::signature::MultipartVerifier};
#[cfg(target_os = "none")]
use motemix_crypto::ed25519;

use crate::authority::KeyId;

/// Tag 18, array of 4; protected header `{1: -8}` in a byte string; unprotected header `{4: key
/// id}`.
const COSE_HEAD: [u8; 9] = [0xd2, 0x84, 0x43, 0xa1, 0x01, 0x27, 0xa1, 0x04, 0x48];
/// Detached payload; byte string of 64.
const COSE_MIDDLE: [u8; 3] = [0xf6, 0x58, 0x40];
/// Length of an encoded signature.
pub(crate) const SIGNATURE_LEN: usize = 9 + 8 + 3 + 64;

/// What a signature says that it is of, so that nobody passes one thing off as another. Each is the
/// external data of its `Sig_structure`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Label {
    /// A network document.
    Document,
    /// What a node says of itself.
    Descriptor,
    /// What an authority would put into a document.
    Vote,
    /// Which votes an authority had in time.
    Sighting,
    /// Which document an authority counted.
    Preparation,
}

impl Label {
    /// The `Sig_structure` (RFC 9052 §4.4) up to the payload's byte string: array of 4,
    /// "Signature1", the protected header, the external data.
    pub(crate) const fn signed_head(self) -> &'static [u8] {
        match self {
            Self::Document => b"\x84\x6aSignature1\x43\xa1\x01\x27\x58\x1amotemix/1 network document",
            Self::Descriptor => b"\x84\x6aSignature1\x43\xa1\x01\x27\x58\x19motemix/1 node descriptor",
            Self::Vote => b"\x84\x6aSignature1\x43\xa1\x01\x27\x58\x18motemix/1 authority vote",
            Self::Sighting => b"\x84\x6aSignature1\x43\xa1\x01\x27\x54motemix/1 votes seen",
            Self::Preparation => b"\x84\x6aSignature1\x43\xa1\x01\x27\x58\x1bmotemix/1 document prepared",
        }
    }
}

/// An Ed25519 secret key. Wiped when dropped.
pub(crate) struct Signer(SigningKey);

impl Signer {
    pub(crate) fn from_bytes(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    pub(crate) fn public_key(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    /// Signs the concatenated parts; `None` never happens for Ed25519.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> Option<[u8; 64]> {
        self.0.try_multipart_sign(parts).ok().map(|signature| signature.to_bytes())
    }
}

/// Whether `signature` is by this key over the concatenated parts.
///
/// The point is computed anew: that is a tenth of a verification, and 40 bytes an authority are
/// kept instead of 200.
#[cfg(not(target_os = "none"))]
pub(crate) fn is_valid(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(key)
        .is_ok_and(|point| point.multipart_verify(parts, &Signature::from_bytes(signature)).is_ok())
}

/// The same on a board.
#[cfg(target_os = "none")]
pub(crate) fn is_valid(key: &[u8; 32], parts: &[&[u8]], signature: &[u8; 64]) -> bool {
    ed25519::is_signed(key, parts, signature)
}

/// The encoded signature.
pub(crate) fn encode(id: KeyId, signature: &[u8; 64]) -> [u8; SIGNATURE_LEN] {
    let mut out = [0; SIGNATURE_LEN];
    let parts = COSE_HEAD.iter().chain(&id.0).chain(&COSE_MIDDLE).chain(signature);
    out.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
    out
}

/// Takes an encoded signature apart; `None` if it is not in the one form that there is.
pub(crate) fn decode(bytes: &[u8; SIGNATURE_LEN]) -> Option<(KeyId, &[u8; 64])> {
    let bytes = bytes.strip_prefix(&COSE_HEAD)?;
    let (id, bytes) = bytes.split_first_chunk()?;
    let signature = bytes.strip_prefix(&COSE_MIDDLE)?.first_chunk()?;
    Some((KeyId(*id), signature))
}
