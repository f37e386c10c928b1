//! TweetNaCl's functions, with slices for pointers.

use tweetnacl_sys as c;

/// Under every key the stream is used once.
const NONCE: [u8; 24] = [0x6e; 24];

/// `secret · point` on Curve25519.
pub fn multiply(secret: &[u8; 32], point: &[u8; 32]) -> [u8; 32] {
    let mut product = [0; 32];
    // Three arrays of 32 bytes, which is what the function reads and writes.
    unsafe { c::crypto_scalarmult_curve25519_tweet(product.as_mut_ptr(), secret.as_ptr(), point.as_ptr()) };
    product
}

/// `secret · 9` on Curve25519.
pub fn multiply_base(secret: &[u8; 32]) -> [u8; 32] {
    let mut product = [0; 32];
    // Two arrays of 32 bytes, which is what the function reads and writes.
    unsafe { c::crypto_scalarmult_curve25519_tweet_base(product.as_mut_ptr(), secret.as_ptr()) };
    product
}

/// The first half of SHA-512.
pub fn hash(message: &[u8]) -> [u8; 32] {
    let mut digest = [0; 64];
    // The function writes 64 bytes and reads as many as it is told.
    unsafe { c::crypto_hash_sha512_tweet(digest.as_mut_ptr(), message.as_ptr(), message.len() as u64) };
    let (half, _) = digest.split_first_chunk().expect("64 bytes have a first half");
    *half
}

/// The XSalsa20 stream of a key.
pub fn stream(out: &mut [u8], key: &[u8; 32]) {
    // The function writes as many bytes as it is told, and reads 24 and 32.
    unsafe {
        c::crypto_stream_xsalsa20_tweet(out.as_mut_ptr(), out.len() as u64, NONCE.as_ptr(), key.as_ptr())
    };
}

/// Poly1305.
pub fn mac(message: &[u8], key: &[u8; 32]) -> [u8; 16] {
    let mut tag = [0; 16];
    // The function writes 16 bytes, and reads as many as it is told and 32.
    unsafe {
        c::crypto_onetimeauth_poly1305_tweet(
            tag.as_mut_ptr(),
            message.as_ptr(),
            message.len() as u64,
            key.as_ptr(),
        )
    };
    tag
}

/// Whether Poly1305 gives this tag.
pub fn mac_holds(tag: &[u8; 16], message: &[u8], key: &[u8; 32]) -> bool {
    // The function reads 16 bytes, as many as it is told, and 32.
    let difference = unsafe {
        c::crypto_onetimeauth_poly1305_tweet_verify(
            tag.as_ptr(),
            message.as_ptr(),
            message.len() as u64,
            key.as_ptr(),
        )
    };
    difference == 0
}

/// TweetNaCl asks for random bytes by this name; nothing measured uses them.
// Unsafe: the name is the one that the C code links to.
#[unsafe(no_mangle)]
extern "C" fn randombytes(out: *mut u8, len: u64) {
    for at in 0..len as usize {
        // The caller owns `len` bytes there.
        unsafe { out.add(at).write(at as u8) };
    }
}
