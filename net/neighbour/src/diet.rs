//! The protocol of IoT-CryptoDiet: a handshake, a shared key, and messages that are encrypted,
//! fresh and signed.
//!
//! [`literal`] is what the paper says and no more, so that its figures can be measured and its
//! weaknesses shown. [`settled`] is what to use: the same steps and functions, with all that the
//! paper leaves open decided. `docs/spec/link/diet.md` has the bytes of both and the reasons.

pub mod literal;
pub mod settled;
