//! The key schedule (RFC 9528, 4.1): transcript hashes and pseudorandom keys. Both suites have
//! SHA-256, so all of these have 32 bytes.

use hkdf::Hkdf;
use motemix_crypto::Secret;
use motemix_crypto::secret::zeroize_stack;
use sha2::Sha256;

use super::cbor::{BYTES, Head, UNSIGNED};
use super::{Credential, Refused};
use crate::suite::{KEY_LEN, NONCE_LEN, digest};

/// Bytes of a hash, a pseudorandom key and a transcript hash.
pub(super) const HASH_LEN: usize = 32;

/// What each key is for (RFC 9528, figures 6 and 7).
#[derive(Clone, Copy)]
pub(super) enum Label {
    Keystream2 = 0,
    Salt3e2m = 1,
    Mac2 = 2,
    Key3 = 3,
    Nonce3 = 4,
    Salt4e3m = 5,
    Mac3 = 6,
    Out = 7,
    Key4 = 8,
    Nonce4 = 9,
    Exporter = 10,
    Update = 11,
}

/// The head of a byte string of [`HASH_LEN`] bytes.
pub(super) const HASH_HEAD: [u8; 2] = [0x58, HASH_LEN as u8];
/// Associated data of AES-CCM: `["Encrypt0", h'', transcript hash]` (RFC 9052, 5.3).
const ENCRYPT0: [u8; 11] = *b"\x83\x68Encrypt0\x40";

/// A transcript hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transcript(pub(super) [u8; HASH_LEN]);

impl Transcript {
    /// TH_2, over G_Y and the hash of message_1.
    pub(super) fn of_ephemerals(g_y: &[u8; 32], message_1: &[u8; HASH_LEN]) -> Self {
        Self(digest(&[&HASH_HEAD, g_y, &HASH_HEAD, message_1]))
    }

    /// TH_3 and TH_4: this hash, then a plaintext and the sender's credential.
    pub(super) fn and(&self, plaintext: &[u8], credential: Credential) -> Self {
        let head = credential.head();
        let head = head.as_ref().map_or(&[][..], Head::as_slice);
        Self(digest(&[&HASH_HEAD, &self.0, plaintext, head, credential.as_bytes()]))
    }

    pub(super) fn associated_data(&self) -> [u8; ENCRYPT0.len() + HASH_HEAD.len() + HASH_LEN] {
        let mut data = [0; ENCRYPT0.len() + HASH_HEAD.len() + HASH_LEN];
        let (encrypt0, rest) = data.split_at_mut(ENCRYPT0.len());
        let (head, hash) = rest.split_at_mut(HASH_HEAD.len());
        encrypt0.copy_from_slice(&ENCRYPT0);
        head.copy_from_slice(&HASH_HEAD);
        hash.copy_from_slice(&self.0);
        data
    }
}

/// A pseudorandom key. Each use of it has a label and a context.
#[derive(Debug)]
pub(crate) struct Prk(Secret<HASH_LEN>);

impl Prk {
    /// PRK_2e: what both get from their ephemeral keys.
    pub(super) fn of_ephemerals(shared: &Secret<32>, th_2: &Transcript) -> Self {
        Self(extract(&th_2.0, shared))
    }

    /// PRK_3e2m and PRK_4e3m of method 3: a static key's shared secret is added.
    pub(super) fn and_static(
        &self,
        salt: Label,
        transcript: &Transcript,
        shared: &Secret<32>,
    ) -> Result<Self, Refused> {
        let salt: Secret<HASH_LEN> = self.derive(salt, &[&transcript.0])?;
        Ok(Self(extract(salt.expose(), shared)))
    }

    /// EDHOC_KDF under one of the protocol's own labels. The pieces of the context are joined.
    pub(super) fn derive<const N: usize>(
        &self,
        label: Label,
        context: &[&[u8]],
    ) -> Result<Secret<N>, Refused> {
        let mut out = Secret::zero();
        self.expand(label as u16, context, out.expose_mut())?;
        Ok(out)
    }

    pub(super) fn derive_prk(&self, label: Label, context: &[&[u8]]) -> Result<Self, Refused> {
        self.derive(label, context).map(Self)
    }

    /// Key and nonce of message_3 or message_4.
    pub(super) fn key_and_nonce(
        &self,
        [key, nonce]: [Label; 2],
        transcript: &Transcript,
    ) -> Result<(Secret<KEY_LEN>, Secret<NONCE_LEN>), Refused> {
        Ok((self.derive(key, &[&transcript.0])?, self.derive(nonce, &[&transcript.0])?))
    }

    /// EDHOC_KDF (RFC 9528, 4.1.2): HKDF-Expand of (label, context, length).
    pub(super) fn expand(&self, label: u16, context: &[&[u8]], out: &mut [u8]) -> Result<(), Refused> {
        let expanded = expand(&self.0, label, context, out);
        zeroize_stack::<STACK_LEN>();
        expanded
    }

    pub(super) const fn duplicate(&self) -> Self {
        Self(self.0.duplicate())
    }

    #[cfg(test)]
    pub(super) const fn expose(&self) -> &[u8; HASH_LEN] {
        self.0.expose()
    }
}

/// What HKDF and its HMAC keep on the stack, at least: blocks and outputs do not wipe themselves.
const STACK_LEN: usize = 768;

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
fn expand(prk: &Secret<HASH_LEN>, label: u16, context: &[&[u8]], out: &mut [u8]) -> Result<(), Refused> {
    const MAX_PIECES: usize = 13;
    let label = Head::new(UNSIGNED, label);
    let context_head = Head::of_len(BYTES, context.iter().map(|piece| piece.len()).sum())?;
    let length = Head::of_len(UNSIGNED, out.len())?;
    let mut info = [&[][..]; MAX_PIECES];
    let pieces = [label.as_slice(), context_head.as_slice()];
    let pieces = pieces.into_iter().chain(context.iter().copied()).chain([length.as_slice()]);
    let mut places = info.iter_mut();
    for piece in pieces {
        *places.next().ok_or(Refused::Length)? = piece;
    }
    let hkdf = Hkdf::<Sha256>::from_prk(prk.expose()).map_err(|_| Refused::Length)?;
    hkdf.expand_multi_info(&info, out).map_err(|_| Refused::Length)
}

fn extract(salt: &[u8; HASH_LEN], shared: &Secret<32>) -> Secret<HASH_LEN> {
    let mut prk = Secret::zero();
    extract_into(salt, shared, &mut prk);
    zeroize_stack::<STACK_LEN>();
    prk
}

#[inline(never)]
fn extract_into(salt: &[u8; HASH_LEN], shared: &Secret<32>, prk: &mut Secret<HASH_LEN>) {
    let (extracted, _) = Hkdf::<Sha256>::extract(Some(salt), shared.expose());
    prk.expose_mut().copy_from_slice(&extracted);
}
