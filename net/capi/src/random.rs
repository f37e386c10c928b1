//! The callback that random bytes come from.

use core::ffi::{c_int, c_void};

use motemix_crypto::Secret;

use crate::status::Status;

/// Where random bytes come from: the hardware's generator, or a generator seeded by it. Whoever can
/// guess these bytes can read, trace and forge what the node sends.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Random {
    /// Writes `len` unpredictable bytes to `out` and returns 0, or returns anything else. Is called
    /// with 32 when the node is made and once in some thousand uses; the same 16 bytes twice count
    /// as failure. Must not call this library with the node that it is called for.
    pub fill: Option<unsafe extern "C" fn(context: *mut c_void, out: *mut u8, len: usize) -> c_int>,
    /// Handed to `fill`, and never looked at.
    pub context: *mut c_void,
}

/// A callback that is there.
pub(crate) struct Source {
    fill: unsafe extern "C" fn(*mut c_void, *mut u8, usize) -> c_int,
    context: *mut c_void,
}

impl Source {
    /// # Safety
    /// `random.fill` can be called with `random.context` for as long as the source is used.
    pub(crate) unsafe fn new(random: &Random) -> Result<Self, Status> {
        let fill = random.fill.ok_or(Status::Null)?;
        Ok(Self { fill, context: random.context })
    }

    /// Thirty-two fresh bytes.
    pub(crate) fn seed(&self) -> Result<Secret<32>, Status> {
        let mut seed = Secret::<32>::zero();
        let out = seed.expose_mut();
        // SAFETY: `new`'s caller promised that the callback can be called; `out` holds 32 bytes.
        let failed = unsafe { (self.fill)(self.context, out.as_mut_ptr(), out.len()) } != 0;
        // A generator that was not switched on reads as zeros, or as one word again and again.
        let (first, second) = seed.expose().split_at(16);
        if failed || first == second { Err(Status::RandomFailed) } else { Ok(seed) }
    }
}
