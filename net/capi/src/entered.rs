//! Nodes and motes in lent memory: recognised by a word, and entered by one call at a time.

use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};

use crate::status::Status;

/// What lies at the beginning of lent memory, and C knows by its address alone.
///
/// # Safety
/// `state` and `inner` give the addresses of two different fields, and read neither.
pub(crate) unsafe trait Handle {
    /// What the calls work with.
    type Inner;
    /// The state of one that waits for calls: unlikely in memory in which none was made, and no
    /// state of another type.
    const READY: u32;
    /// The state of one during a call, just as unlikely.
    const ENTERED: u32;
    /// The answer where there is none.
    const ABSENT: Status;

    /// Where [`READY`](Self::READY) or [`ENTERED`](Self::ENTERED) is; anything else is there where
    /// there is no handle.
    ///
    /// # Safety
    /// A handle's memory is behind the pointer, aligned for it.
    unsafe fn state(handle: *mut Self) -> *mut u32;

    /// # Safety
    /// As for `state`.
    unsafe fn inner(handle: *mut Self) -> *mut Self::Inner;
}

/// A node or a mote during one call. Leaving the call makes it ready for the next.
pub(crate) struct Entered<H: Handle> {
    handle: NonNull<H>,
}

impl<H: Handle> Entered<H> {
    /// # Safety
    /// `handle` is null, or memory for one: where one was made, was ended, or was never made but
    /// that can be read. Calls come from one thread at a time.
    pub(crate) unsafe fn new(handle: *mut H) -> Result<Self, Status> {
        let handle = NonNull::new(handle).ok_or(Status::Null)?;
        if !handle.is_aligned() {
            return Err(Status::Misaligned);
        }
        // SAFETY: not null, aligned, readable by the caller's promise. Through the pointer, because
        // a call that this one interrupts holds a reference to `inner`.
        let state = unsafe { H::state(handle.as_ptr()).read() };
        if state == H::ENTERED {
            return Err(Status::Busy);
        }
        if state != H::READY {
            return Err(H::ABSENT);
        }
        // SAFETY: one is there, so its state can be written.
        unsafe { H::state(handle.as_ptr()).write(H::ENTERED) };
        Ok(Self { handle })
    }

    pub(crate) fn handle(&self) -> *mut H {
        self.handle.as_ptr()
    }

    /// Ends it: drops the handle, and overwrites `size` bytes from its beginning on.
    ///
    /// # Safety
    /// So much memory was lent to it, and nothing behind the handle is left to be dropped.
    pub(crate) unsafe fn wipe(self, size: usize) {
        let handle = self.handle();
        // Nothing is there any more that could be ready.
        mem::forget(self);
        debug_assert!(size >= size_of::<H>());
        // SAFETY: the state said that one is there, and that no other call is in it; the rest is
        // the caller's promise.
        unsafe {
            ptr::drop_in_place(handle);
            ptr::write_bytes(handle.cast::<u8>(), 0, size);
        }
    }
}

impl<H: Handle> Drop for Entered<H> {
    fn drop(&mut self) {
        // SAFETY: one is there, as in `new`.
        unsafe { H::state(self.handle()).write(H::READY) };
    }
}

impl<H: Handle> Deref for Entered<H> {
    type Target = H::Inner;

    fn deref(&self) -> &H::Inner {
        // SAFETY: one is there, and its state keeps other calls out.
        unsafe { &*H::inner(self.handle()) }
    }
}

impl<H: Handle> DerefMut for Entered<H> {
    fn deref_mut(&mut self) -> &mut H::Inner {
        // SAFETY: one is there, and its state keeps other calls out.
        unsafe { &mut *H::inner(self.handle()) }
    }
}
