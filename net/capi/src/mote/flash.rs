//! The callbacks of a flash, as the store of a mote sees them.

use core::ffi::{c_int, c_void};

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash, check_erase,
    check_read, check_write,
};
use motemix_mote::limits::FlashLimits;
use motemix_mote::store::Layout;

use super::platform::{Flash, PAGE_LEN};
use crate::status::Status;

/// Callbacks that are there.
pub(super) struct Callbacks {
    read: unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize) -> c_int,
    write: unsafe extern "C" fn(*mut c_void, u32, *const u8, usize) -> c_int,
    erase: unsafe extern "C" fn(*mut c_void, u32, usize) -> c_int,
    context: *mut c_void,
    len: u32,
}

/// What went wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed(NorFlashErrorKind);

impl NorFlashError for Failed {
    fn kind(&self) -> NorFlashErrorKind {
        self.0
    }
}

impl From<NorFlashErrorKind> for Failed {
    fn from(kind: NorFlashErrorKind) -> Self {
        Self(kind)
    }
}

fn limits(flash: &Flash) -> FlashLimits {
    let pages = [flash.settings_pages, flash.tags_pages, flash.messages_pages, flash.readings_pages];
    let [settings, tags, messages, readings] = pages.map(u32::from);
    FlashLimits { page: PAGE_LEN, settings, tags, messages, readings, devices: 0 }
}

/// Which pages hold what.
pub(super) fn layout(flash: &Flash) -> Layout {
    limits(flash).layout(0)
}

impl Callbacks {
    /// # Safety
    /// The callbacks can be called with `flash.context` for as long as these are used.
    pub(super) unsafe fn new(flash: &Flash) -> Result<Self, Status> {
        Ok(Self {
            read: flash.read.ok_or(Status::Null)?,
            write: flash.write.ok_or(Status::Null)?,
            erase: flash.erase.ok_or(Status::Null)?,
            context: flash.context,
            len: limits(flash).len(),
        })
    }
}

/// Bytes that are read back at once.
const PIECE_LEN: usize = 64;
const ERASED: [u8; PIECE_LEN] = [0xff; PIECE_LEN];

impl Callbacks {
    /// Some drivers do not notice that nothing was written: a worn page, a lock, a supply that is
    /// too low. Keys and replay tags must not be taken for written then.
    fn reads(&mut self, offset: u32, expected: &[u8]) -> Result<(), Failed> {
        let mut piece = [0; PIECE_LEN];
        let piece = &mut piece[..expected.len()];
        self.read(offset, piece)?;
        if piece == expected { Ok(()) } else { Err(Failed(NorFlashErrorKind::Other)) }
    }
}

fn done(failed: c_int) -> Result<(), Failed> {
    if failed == 0 { Ok(()) } else { Err(Failed(NorFlashErrorKind::Other)) }
}

impl ErrorType for Callbacks {
    type Error = Failed;
}

impl ReadNorFlash for Callbacks {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Failed> {
        check_read(self, offset, bytes.len())?;
        // SAFETY: `new`'s caller promised that the callback can be called; `bytes` are as many.
        done(unsafe { (self.read)(self.context, offset, bytes.as_mut_ptr(), bytes.len()) })
    }

    fn capacity(&self) -> usize {
        self.len as usize
    }
}

impl NorFlash for Callbacks {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE_LEN as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Failed> {
        check_erase(self, from, to)?;
        // SAFETY: `new`'s caller promised that the callback can be called.
        done(unsafe { (self.erase)(self.context, from, (to - from) as usize) })?;
        (from..to).step_by(PIECE_LEN).try_for_each(|at| {
            let len = PIECE_LEN.min((to - at) as usize);
            self.reads(at, &ERASED[..len])
        })
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Failed> {
        check_write(self, offset, bytes.len())?;
        // SAFETY: `new`'s caller promised that the callback can be called; `bytes` are as many.
        done(unsafe { (self.write)(self.context, offset, bytes.as_ptr(), bytes.len()) })?;
        (offset..)
            .step_by(PIECE_LEN)
            .zip(bytes.chunks(PIECE_LEN))
            .try_for_each(|(at, piece)| self.reads(at, piece))
    }
}

impl MultiwriteNorFlash for Callbacks {}
