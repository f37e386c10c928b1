//! The registers of the chip itself, and the memory that its DMA works on. All unsafe code of this
//! crate is here: a register is an address, and a DMA is a second writer that the compiler does
//! not know.

#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{AtomicBool, Ordering, fence};

use crate::registers::{BUFFER_LEN, Register, Registers};

#[repr(C, align(4))]
struct Buffer(UnsafeCell<[u8; BUFFER_LEN]>);

// SAFETY: nobody gets a reference to the bytes. The one `Memory` copies them byte by byte with
// volatile accesses, whatever the DMA does meanwhile; it may then see a mixture of old and new
// bytes, and never anything but bytes.
unsafe impl Sync for Buffer {}

static BUFFER: Buffer = Buffer(UnsafeCell::new([0; BUFFER_LEN]));
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The chip's registers and the buffer of its AES engine. There is one.
#[derive(Debug)]
pub struct Memory(());

impl Memory {
    /// The registers, to whoever asks first. To be asked for on a CC2538 alone, by a program in
    /// which nothing else uses the two engines.
    pub fn take() -> Option<Self> {
        (!IS_TAKEN.swap(true, Ordering::AcqRel)).then_some(Self(()))
    }
}

impl Registers for Memory {
    fn read(&mut self, register: Register) -> u32 {
        // SAFETY: only this crate makes values of `Register`, from the guide's map of the chip; all
        // are words of peripherals. Reading one changes no memory that the compiler knows.
        unsafe { read_volatile(register.address() as *const u32) }
    }

    fn write(&mut self, register: Register, value: u32) {
        // SAFETY: as for reading. What a write starts is an engine's work on its own memory, or on
        // `BUFFER`: the driver tells the DMA no other address.
        unsafe { write_volatile(register.address() as *mut u32, value) };
    }

    fn buffer_address(&self) -> u32 {
        BUFFER.0.get() as u32
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        for (at, byte) in (at..BUFFER_LEN).zip(bytes) {
            // SAFETY: `at` is below `BUFFER_LEN`; for the rest see `Sync` above.
            unsafe { write_volatile(BUFFER.0.get().cast::<u8>().add(at), *byte) };
        }
        // The bytes are in the memory before the register that starts the DMA is written.
        fence(Ordering::SeqCst);
    }

    fn get(&mut self, at: usize, bytes: &mut [u8]) {
        // The register that tells the DMA's end was read before the bytes are.
        fence(Ordering::SeqCst);
        for (at, byte) in (at..BUFFER_LEN).zip(bytes) {
            // SAFETY: as above.
            *byte = unsafe { read_volatile(BUFFER.0.get().cast::<u8>().add(at)) };
        }
    }
}
