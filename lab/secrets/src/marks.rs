//! Marks on memory: which bytes valgrind is to follow as secret. It calls them undefined.

use std::ffi::{c_int, c_uint, c_void};

unsafe extern "C" {
    fn motemix_runs_under_valgrind() -> c_int;
    fn motemix_mark_secret(bytes: *const c_void, len: usize);
    fn motemix_mark_public(bytes: *const c_void, len: usize);
    fn motemix_dependences() -> c_uint;
    fn motemix_copy_marks(bytes: *const c_void, shadow: *mut c_void, len: usize) -> c_int;
}

/// Whether this program runs under valgrind. Without it, marks do nothing.
pub fn are_followed() -> bool {
    // SAFETY: takes nothing and touches no memory.
    unsafe { motemix_runs_under_valgrind() != 0 }
}

/// How often a branch was taken or memory addressed by what depends on a secret, since the program
/// began.
pub fn dependences() -> u32 {
    // SAFETY: takes nothing and touches no memory.
    unsafe { motemix_dependences() }
}

/// From now on, a branch or an address that depends on `bytes` is reported.
pub fn mark_secret(bytes: &mut [u8]) {
    // SAFETY: valgrind changes its notes on these bytes, not the bytes.
    unsafe { motemix_mark_secret(bytes.as_ptr().cast(), bytes.len()) }
}

/// From now on, anything may depend on `bytes`.
pub fn mark_public(bytes: &mut [u8]) {
    // SAFETY: valgrind changes its notes on these bytes, not the bytes.
    unsafe { motemix_mark_public(bytes.as_ptr().cast(), bytes.len()) }
}

/// Whether any of `bytes` is secret, or was computed from a secret.
pub fn any_secret(bytes: &[u8]) -> bool {
    let mut shadow = vec![0_u8; bytes.len()];
    // SAFETY: both are `len` bytes long; valgrind writes `shadow` only.
    let answered =
        unsafe { motemix_copy_marks(bytes.as_ptr().cast(), shadow.as_mut_ptr().cast(), bytes.len()) };
    assert_eq!(answered, 1, "valgrind tells the marks of memory that it knows");
    shadow.iter().any(|bits| *bits != 0)
}
