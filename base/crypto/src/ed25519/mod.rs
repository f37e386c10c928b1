//! Ed25519 (RFC 8032) with little flash and stack, for boards: they check the signatures of network
//! documents, and sign what they measure. Hosts have a library that is faster.
//!
//! | module | what |
//! |---|---|
//! | `verify` | public keys and signatures checked, in variable time: nothing in them is secret |
//! | `sign` | keys and signatures made, in constant time |
//! | `multiply` | multiples of the base point, in constant time |
//! | `comb` | its table |
//! | `point` | points of the curve: doubling, addition, bytes |
//!
//! Points are those of eight words, as those of [`Words`](crate::curve::words::Words), and scalars
//! are those of [half words](crate::curve::half_words): each takes the same time
//! for all secrets on a Cortex-M0+, M3 and M4 (`docs/explanation/constant-time.md`).

mod comb;
mod multiply;
pub(crate) mod point;
mod sign;
mod verify;

use sha2::{
    Sha512,
    digest::{FixedOutputReset as _, Update as _},
};

use crate::Secret;

pub(crate) use multiply::{SHORT_TOOTH, base_times_montgomery, eighth_times_montgomery};
pub use sign::SigningKey;
pub use verify::{is_key, is_signed};

/// Bytes of a signature: R, then S (RFC 8032 §5.1.6).
pub const SIGNATURE_LEN: usize = 64;

/// SHA-512 of one thing after the other.
#[inline(never)]
fn hash(first: &[u8], second: &[u8], parts: &[&[u8]]) -> [u8; 64] {
    let mut hash = Sha512::default();
    hash.update(first);
    hash.update(second);
    for part in parts {
        hash.update(part);
    }
    let mut digest = [0; 64];
    // In place: the state would be moved otherwise, and lie on the stack twice.
    hash.finalize_into_reset((&mut digest).into());
    digest
}

/// The clamped number (RFC 8032 §5.1.5, RFC 7748 §5).
#[inline(never)]
pub(crate) fn clamp(number: &Secret<32>) -> Secret<32> {
    let mut clamped = number.duplicate();
    let [low, .., high] = clamped.expose_mut();
    *low &= 0xf8;
    *high = *high & 0x7f | 0x40;
    clamped
}
