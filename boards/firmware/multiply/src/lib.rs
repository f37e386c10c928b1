//! A Cortex-M0+ multiplies 32 by 32 bits to 32. Everything longer is a call of `__aeabi_lmul`, and
//! an X25519 makes a quarter of a million of them. The compiler's own takes about 50 cycles; the
//! one in here takes 25 with its return, has no branch and no memory access, and is used because a
//! linker prefers it to the weak symbol of the compiler's library:
//!
//! ```text
//! use motemix_multiply as _;
//! ```
//!
//! On other cores this crate is empty: they have long multiplications.

#![no_std]

#[cfg(armv6m)]
mod armv6m;
