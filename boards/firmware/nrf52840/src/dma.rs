//! Memory that the radio reads and writes by itself.

use core::cell::UnsafeCell;
use core::ptr::{read_volatile, write_volatile};

/// Length, frame without check sequence, link quality; the radio is told never to write more than
/// 127 behind the length.
pub(crate) const LEN: usize = 132;

/// A frame with its length before it.
#[repr(C, align(4))]
pub(crate) struct Buffer(UnsafeCell<[u8; LEN]>);

// SAFETY: nobody gets a reference to the bytes. The core copies them one by one with volatile
// accesses, whatever the radio does meanwhile; it may then see a mixture of two frames, and never
// anything but bytes.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new([0; LEN]))
    }

    /// Where the radio finds it.
    pub(crate) fn address(&self) -> u32 {
        self.0.get() as u32
    }

    /// Copies the beginning out.
    pub(crate) fn read(&self, out: &mut [u8]) {
        for (index, byte) in out.iter_mut().enumerate().take(LEN) {
            // SAFETY: `index` is below `LEN`; for the rest see `Sync` above.
            *byte = unsafe { read_volatile(self.0.get().cast::<u8>().add(index)) };
        }
    }

    /// Copies into the beginning.
    pub(crate) fn write(&self, bytes: impl Iterator<Item = u8>) {
        for (index, byte) in bytes.enumerate().take(LEN) {
            // SAFETY: as above; only `radio` calls this, and only while the radio does not send
            // from here.
            unsafe { write_volatile(self.0.get().cast::<u8>().add(index), byte) };
        }
    }
}
