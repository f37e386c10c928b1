//! From a master secret to the keys of both directions (RFC 8613, section 3.2), nonces (5.2) and
//! associated data (5.4). AES-CCM-16-64-128 and HKDF with SHA-256, and no others.

use std::fmt;

use hkdf::Hkdf;
use motemix_crypto::Secret;
use motemix_crypto::aes_ccm::{self, KEY_LEN, NONCE_LEN, TAG_LEN};
use motemix_crypto::secret::zeroize_stack;
use sha2::Sha256;

/// COSE's number of AES-CCM-16-64-128.
const ALGORITHM: u8 = 10;
/// The numbers that a sender has: below 2^40 (RFC 8613, section 7.2.1).
pub const MAX_NUMBER: u64 = (1 << 40) - 1;
/// Bytes of a Partial IV at most.
const PARTIAL_IV_LEN: usize = 5;
/// What HKDF and its HMAC keep on the stack, at least: blocks and outputs do not wipe themselves.
const STACK_LEN: usize = 1536;

/// A Sender ID or Recipient ID: up to 7 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Id {
    len: u8,
    bytes: [u8; Id::MAX_LEN],
}

impl Id {
    /// The longest: the nonce's length less 6 (RFC 8613, section 3.3).
    pub const MAX_LEN: usize = NONCE_LEN - 6;

    /// Made of up to 7 bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = Self { len: u8::try_from(bytes.len()).ok()?, ..Self::default() };
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(id)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A Sender Sequence Number as a Partial IV: no zeros in front, and one byte for 0.
pub(super) struct PartialIv([u8; 8], usize);

impl PartialIv {
    pub(super) fn new(number: u64) -> Self {
        let zeros = number.leading_zeros() as usize / 8;
        Self(number.to_be_bytes(), zeros.min(7))
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0[self.1..]
    }

    /// The number of a Partial IV in its one form.
    pub(super) fn parse(bytes: &[u8]) -> Option<u64> {
        if bytes.is_empty() || bytes.len() > PARTIAL_IV_LEN || (bytes.len() > 1 && bytes[0] == 0) {
            return None;
        }
        Some(bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}

/// Which side chose a number, and the number: what makes a nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Numbered {
    pub(super) by: Id,
    pub(super) number: u64,
}

/// The keys of a context. Wiped when it is dropped.
pub(super) struct Keys {
    pub(super) sender: Secret<KEY_LEN>,
    pub(super) recipient: Secret<KEY_LEN>,
    pub(super) common_iv: Secret<NONCE_LEN>,
}

/// What cannot be opened: altered, or under another key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NotOpened;

impl Keys {
    /// Nothing if the ID Context is longer than 255 bytes.
    pub(super) fn derive(
        [master_secret, master_salt]: [&[u8]; 2],
        id_context: Option<&[u8]>,
        [sender, recipient]: [Id; 2],
    ) -> Option<Box<Self>> {
        let [sender, recipient, iv] = [(sender, true), (recipient, true), (Id::default(), false)]
            .map(|(id, is_key)| info(id, id_context, is_key));
        let [sender, recipient, iv] = [sender?, recipient?, iv?];
        // Derived where they stay, whoever has the context moved.
        let [sender_key, recipient_key] = [(); 2].map(|()| Secret::zero());
        let mut keys =
            Box::new(Self { sender: sender_key, recipient: recipient_key, common_iv: Secret::zero() });
        expand(
            [master_secret, master_salt],
            &mut [
                (&sender, keys.sender.expose_mut()),
                (&recipient, keys.recipient.expose_mut()),
                (&iv, keys.common_iv.expose_mut()),
            ],
        );
        zeroize_stack::<STACK_LEN>();
        Some(keys)
    }

    pub(super) fn nonce(&self, numbered: &Numbered) -> [u8; NONCE_LEN] {
        let mut nonce = [0; NONCE_LEN];
        let id = numbered.by.as_bytes();
        nonce[0] = numbered.by.len;
        nonce[NONCE_LEN - PARTIAL_IV_LEN - id.len()..NONCE_LEN - PARTIAL_IV_LEN].copy_from_slice(id);
        nonce[NONCE_LEN - PARTIAL_IV_LEN..].copy_from_slice(&numbered.number.to_be_bytes()[3..]);
        nonce.iter_mut().zip(self.common_iv.expose()).for_each(|(byte, iv)| *byte ^= iv);
        nonce
    }

    /// Ciphertext and tag. Nothing above 65,535 bytes.
    pub(super) fn seal(&self, numbered: &Numbered, request: &Numbered, mut text: Vec<u8>) -> Option<Vec<u8>> {
        let tag = aes_ccm::seal(&self.sender, &self.nonce(numbered), &associated(request), &mut text).ok()?;
        text.extend(tag);
        Some(text)
    }

    /// The tag is compared in constant time, in AES-CCM.
    pub(super) fn open(
        &self,
        numbered: &Numbered,
        request: &Numbered,
        ciphertext: &[u8],
    ) -> Result<Vec<u8>, NotOpened> {
        let (text, tag) = ciphertext.split_last_chunk::<TAG_LEN>().ok_or(NotOpened)?;
        let mut text = text.to_vec();
        aes_ccm::open(&self.recipient, &self.nonce(numbered), &associated(request), &mut text, tag)
            .map_err(|_| NotOpened)?;
        Ok(text)
    }
}

/// In a frame of its own, so that the frame can be wiped.
#[inline(never)]
fn expand([master_secret, master_salt]: [&[u8]; 2], wanted: &mut [(&Vec<u8>, &mut [u8])]) {
    let hkdf = Hkdf::<Sha256>::new(Some(master_salt), master_secret);
    for (info, out) in wanted {
        hkdf.expand(info, out).expect("16 bytes are less than HKDF gives at most");
    }
}

/// A byte string in CBOR.
fn byte_string(to: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
    match u8::try_from(bytes.len()).ok()? {
        len @ 0..=23 => to.push(0x40 | len),
        len => to.extend([0x58, len]),
    }
    to.extend(bytes);
    Some(())
}

/// `[id, id_context, alg_aead, type, L]`.
pub(super) fn info(id: Id, id_context: Option<&[u8]>, is_key: bool) -> Option<Vec<u8>> {
    let mut info = vec![0x85];
    byte_string(&mut info, id.as_bytes())?;
    match id_context {
        Some(id_context) => byte_string(&mut info, id_context)?,
        None => info.push(0xf6),
    }
    info.push(ALGORITHM);
    info.extend(if is_key { &b"\x63Key\x10"[..] } else { b"\x62IV\x0d" });
    Some(info)
}

/// `["Encrypt0", h'', h'[1, [alg_aead], request_kid, request_piv, options]']`, without options:
/// none is of class I.
pub(super) fn associated(request: &Numbered) -> Vec<u8> {
    let mut external = vec![0x85, 0x01, 0x81, ALGORITHM];
    let partial_iv = PartialIv::new(request.number);
    let mut data = b"\x83\x68Encrypt0\x40".to_vec();
    byte_string(&mut external, request.by.as_bytes())
        .and_then(|()| byte_string(&mut external, partial_iv.as_slice()))
        .and_then(|()| byte_string(&mut external, &[]))
        .and_then(|()| byte_string(&mut data, &external))
        .expect("each is short");
    data
}
