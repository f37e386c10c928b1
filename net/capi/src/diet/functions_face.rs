//! The six functions of IoT-CryptoDiet (section 4.1).

use motemix_crypto::Secret;
use motemix_neighbour::functions::{
    SharedKey, ciphertext_len, decrypt, encrypt, generate_key_pair, shared_key, sign, verify,
};
use motemix_neighbour::suite::{COORDINATES_LEN, KEY_LEN, PRIVATE_KEY_LEN, SIGNATURE_LEN};
use motemix_neighbour::{PrivateKey, PublicKey, Signature};

use super::memory::{Diet, Node, vacant};
use super::{SuiteOfC, call, call_with_keys};
use crate::entered::Entered;
use crate::generator::Generator;
use crate::random::{Random, Source};
use crate::raw;
use crate::status::Status;
use crate::wiped::diet;

/// Bytes of a private key of P-256.
pub const DIET_PRIVATE_KEY_LEN: usize = 32;
/// Bytes of a public key of the six functions: both coordinates, big-endian, as TinyCrypt has them.
pub const DIET_COORDINATES_LEN: usize = 64;
/// Bytes of a key of AES-128.
pub const DIET_KEY_LEN: usize = 16;
/// Bytes of an ECDSA signature: r and s, big-endian.
pub const DIET_SIGNATURE_LEN: usize = 64;

const _: () = {
    assert!(DIET_PRIVATE_KEY_LEN == PRIVATE_KEY_LEN && DIET_COORDINATES_LEN == COORDINATES_LEN);
    assert!(DIET_KEY_LEN == KEY_LEN && DIET_SIGNATURE_LEN == SIGNATURE_LEN);
};

/// Sets the source of random bytes, which is copied: nothing of motemix_diet_... works before, but
/// answers MOTEMIX_STATUS_NOT_A_DIET. Makes no key yet. The callback has to outlive `diet`.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_new(diet: *mut Diet, random: *const Random) -> Status {
    call_with_keys::<{ diet::NEW }>(|| {
        // SAFETY: the caller's promise; the header asks that the callback outlives the diet.
        let (place, source) = unsafe { (vacant(diet)?, Source::new(raw::value(random)?)?) };
        place.put(Node { generator: Generator::new(source)?, suite: SuiteOfC::default(), identity: None });
        Ok(())
    })
}

/// Wipes it, and its identity. Its sessions go on, but every call needs a motemix_diet: another
/// one.
///
/// # Safety
/// As for all calls: `diet` is null or memory of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_end(diet: *mut Diet) -> Status {
    // SAFETY: the caller's promise.
    call(|| unsafe { Entered::new(diet) }.map(Entered::empty))
}

/// ECC_GenKeyPair of the paper (algorithm 1): a key pair on P-256, for key exchange or for
/// signatures, not for both. Writes MOTEMIX_DIET_PRIVATE_KEY_LEN and MOTEMIX_DIET_COORDINATES_LEN
/// bytes. One scalar multiplication.
///
/// # Safety
/// As for all calls; the keys are null or valid for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_generate_key_pair(
    diet: *mut Diet,
    private_key: *mut u8,
    public_key: *mut u8,
) -> Status {
    call_with_keys::<{ diet::GENERATE }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, private, public) = unsafe {
            (
                Entered::new(diet)?,
                raw::place::<[u8; PRIVATE_KEY_LEN]>(private_key.cast())?,
                raw::place::<[u8; COORDINATES_LEN]>(public_key.cast())?,
            )
        };
        let Node { generator, suite, .. } = &mut *node;
        let made = generate_key_pair(suite, generator)?;
        public.put(made.public.coordinates());
        private.put(*made.private.expose());
        Ok(())
    })
}

/// ECDH_GenSharedKey of the paper (algorithm 2): the key that the owners of two key pairs share,
/// MOTEMIX_DIET_KEY_LEN bytes to `key`. MOTEMIX_STATUS_BAD_PRIVATE_KEY or
/// MOTEMIX_STATUS_BAD_PUBLIC_KEY if one is none. One scalar multiplication.
///
/// # Safety
/// As for all calls; the keys are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_shared_key(
    diet: *mut Diet,
    private_key: *const u8,
    peer_public_key: *const u8,
    key: *mut u8,
) -> Status {
    call_with_keys::<{ diet::AGREE }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, private, peer, out) = unsafe {
            (
                Entered::new(diet)?,
                private_key_at(private_key)?,
                raw::value::<[u8; COORDINATES_LEN]>(peer_public_key.cast())?,
                raw::place::<[u8; KEY_LEN]>(key.cast())?,
            )
        };
        let shared = shared_key(&mut node.suite, &private, &PublicKey::from_coordinates(peer)?)?;
        out.put(*shared.expose());
        Ok(())
    })
}

/// AES_Encrypt of the paper (algorithm 3): AES-128 block by block, padded as PKCS #7 does, which
/// shows which blocks are equal; motemix_diet_seal_message does not. Writes `len / 16 * 16 + 16`
/// bytes to `ciphertext`, which has room for `room` and is not the message, and their number to
/// `ciphertext_len`. MOTEMIX_STATUS_BUFFER_TOO_SMALL if there is less room.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_encrypt(
    diet: *mut Diet,
    key: *const u8,
    message: *const u8,
    len: usize,
    ciphertext: *mut u8,
    room: usize,
    ciphertext_len: *mut usize,
) -> Status {
    call_with_keys::<{ diet::CIPHER }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, key, message, ciphertext, out) = unsafe {
            (
                Entered::new(diet)?,
                key_at(key)?,
                raw::bytes(message, len)?,
                raw::bytes_mut(ciphertext, room)?,
                raw::place(ciphertext_len)?,
            )
        };
        if ciphertext.len() < self::ciphertext_len(message.len()) {
            return Err(Status::BufferTooSmall);
        }
        out.put(encrypt(&mut node.suite, &key, message, ciphertext)?.len());
        Ok(())
    })
}

/// AES_Decrypt of the paper (algorithm 4), in place: the message is at the beginning of
/// `ciphertext`, and its length is written to `len_of_message`. MOTEMIX_STATUS_BAD_LENGTH if it is
/// not of whole blocks; MOTEMIX_STATUS_BAD_CIPHERTEXT if the padding is wrong, which that of an
/// altered one need not be.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_decrypt(
    diet: *mut Diet,
    key: *const u8,
    ciphertext: *mut u8,
    len: usize,
    len_of_message: *mut usize,
) -> Status {
    call_with_keys::<{ diet::CIPHER }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, key, ciphertext, out) = unsafe {
            (Entered::new(diet)?, key_at(key)?, raw::bytes_mut(ciphertext, len)?, raw::place(len_of_message)?)
        };
        out.put(decrypt(&mut node.suite, &key, ciphertext)?.len());
        Ok(())
    })
}

/// ECDSA_sign of the paper (algorithm 5), over the SHA-256 digest of a message: writes
/// MOTEMIX_DIET_SIGNATURE_LEN bytes. MOTEMIX_STATUS_BAD_PRIVATE_KEY if the key is none. One scalar
/// multiplication.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_sign(
    diet: *mut Diet,
    private_key: *const u8,
    message: *const u8,
    len: usize,
    signature: *mut u8,
) -> Status {
    call_with_keys::<{ diet::SIGN }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, private, message, out) = unsafe {
            (
                Entered::new(diet)?,
                private_key_at(private_key)?,
                raw::bytes(message, len)?,
                raw::place::<[u8; SIGNATURE_LEN]>(signature.cast())?,
            )
        };
        let Node { generator, suite, .. } = &mut *node;
        out.put(sign(suite, &private, message, generator)?.0);
        Ok(())
    })
}

/// ECDSA_verify of the paper (algorithm 6). MOTEMIX_STATUS_BAD_SIGNATURE if the signature is
/// another's, or the message is another; MOTEMIX_STATUS_BAD_PUBLIC_KEY if the key is none. Two
/// scalar multiplications.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_verify(
    diet: *mut Diet,
    public_key: *const u8,
    message: *const u8,
    len: usize,
    signature: *const u8,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut node, public, message, signature) = unsafe {
            (
                Entered::new(diet)?,
                raw::value::<[u8; COORDINATES_LEN]>(public_key.cast())?,
                raw::bytes(message, len)?,
                raw::value::<[u8; SIGNATURE_LEN]>(signature.cast())?,
            )
        };
        let public = PublicKey::from_coordinates(public)?;
        Ok(verify(&mut node.suite, &public, message, &Signature(*signature))?)
    })
}

/// # Safety
/// `private_key` is null or valid.
pub(super) unsafe fn private_key_at(private_key: *const u8) -> Result<PrivateKey, Status> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { raw::value::<[u8; PRIVATE_KEY_LEN]>(private_key.cast())? };
    Ok(PrivateKey::new(Secret::new(*bytes))?)
}

/// # Safety
/// `key` is null or valid.
unsafe fn key_at(key: *const u8) -> Result<SharedKey, Status> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { raw::value::<[u8; KEY_LEN]>(key.cast())? };
    Ok(SharedKey::new(Secret::new(*bytes)))
}
