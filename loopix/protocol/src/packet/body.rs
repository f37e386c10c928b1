//! The payload: padding, tag, and the wide block that hides them (sphinxmix' variant of LIONESS).

use motemix_crypto::Secret;
use sha2::{Digest as _, Sha256};

use super::format::{BodyTag, K};
use super::keys::{mac, macs_match, xor_ctr};

/// Ends the message; what follows is [`FILL`].
const END: u8 = 0x7f;
const FILL: u8 = 0xff;
/// The shortest wide block, in bytes.
const SHORTEST: usize = 2 * K;

/// π. `block` has 32 bytes at least.
///
/// # Panics
/// If it is shorter.
pub fn encrypt(key: &Secret<K>, block: &mut [u8]) {
    hash_round(key, b'1', block);
    stream_round(key, block);
    hash_round(key, b'3', block);
    stream_round(key, block);
}

/// π⁻¹.
///
/// # Panics
/// If `block` has fewer than 32 bytes.
pub fn decrypt(key: &Secret<K>, block: &mut [u8]) {
    stream_round(key, block);
    hash_round(key, b'3', block);
    stream_round(key, block);
    hash_round(key, b'1', block);
}

/// The left half is xored with a stream whose first counter is a hash of the right half.
fn hash_round(key: &Secret<K>, number: u8, block: &mut [u8]) {
    let (left, right) = halves(block);
    let digest =
        Sha256::new().chain_update(&*right).chain_update(key.expose()).chain_update([number]).finalize();
    let iv = digest.first_chunk().expect("a digest of 32 bytes has 16");
    xor_ctr(key.expose(), iv, left);
}

/// The right half is xored with a stream whose first counter is the left half.
fn stream_round(key: &Secret<K>, block: &mut [u8]) {
    let (left, right) = halves(block);
    xor_ctr(key.expose(), left, right);
}

fn halves(block: &mut [u8]) -> (&mut [u8; K], &mut [u8]) {
    assert!(block.len() >= SHORTEST, "a wide block has 32 bytes at least");
    block.split_first_chunk_mut().expect("it has been measured")
}

/// Writes `message` and its padding. `None` if it does not fit with one byte of padding.
pub fn pad(message: &[u8], padded: &mut [u8]) -> Option<()> {
    let (front, rest) = padded.split_at_mut_checked(message.len())?;
    let (end, fill) = rest.split_first_mut()?;
    front.copy_from_slice(message);
    *end = END;
    fill.fill(FILL);
    Some(())
}

/// The message in front of its padding. `None` if there is no padding.
pub fn unpad(padded: &[u8]) -> Option<&[u8]> {
    // Disclosed: the length of the message. Whoever it is for handles it in time that depends on
    // the length.
    let end = padded.iter().rposition(|byte| *byte != FILL)?;
    (padded[end] == END).then_some(&padded[..end])
}

/// Writes tag, `message` and padding, not yet encrypted. `None` if it does not fit, or the body is
/// no wide block.
pub fn write(tag: BodyTag, key: &Secret<K>, message: &[u8], body: &mut [u8]) -> Option<()> {
    if body.len() < SHORTEST {
        return None;
    }
    let (tag_bytes, padded) = body.split_first_chunk_mut::<K>()?;
    pad(message, padded)?;
    *tag_bytes = expected_tag(tag, key, padded);
    Some(())
}

/// The message in a decrypted body. `None` if tag or padding are not as they were written.
pub fn read<'a>(tag: BodyTag, key: &Secret<K>, body: &'a [u8]) -> Option<&'a [u8]> {
    let (found, padded) = body.split_first_chunk::<K>()?;
    // Disclosed: whether the tag holds. Who forged it sees nothing of what this node then does.
    if macs_match(found, &expected_tag(tag, key, padded)) { unpad(padded) } else { None }
}

fn expected_tag(tag: BodyTag, key: &Secret<K>, padded: &[u8]) -> [u8; K] {
    match tag {
        BodyTag::Zero => [0; K],
        BodyTag::Hmac => mac(key.expose(), &[padded]),
    }
}
