//! Pointers from C, checked as far as they can be, become slices and references.
//!
//! Each function is unsafe for the same reason: whether memory is behind a pointer, and whether
//! nobody else uses it meanwhile, only the C program knows. `include/motemix.h` asks it of the
//! program.

use core::slice;

use crate::status::Status;

/// Bytes to read. Null is an empty slice if `len` is 0.
///
/// # Safety
/// `data` is null, or `len` bytes can be read there and nobody writes to them during `'a`.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Status> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Status::Null);
    }
    if isize::try_from(len).is_err() {
        return Err(Status::TooLong);
    }
    // SAFETY: not null, not longer than an object may be; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// Bytes to overwrite.
///
/// # Safety
/// `data` is null, or `len` bytes can be read and written there, and nobody else does so during
/// `'a`.
pub(crate) unsafe fn bytes_mut<'a>(data: *mut u8, len: usize) -> Result<&'a mut [u8], Status> {
    if len == 0 {
        return Ok(&mut []);
    }
    if data.is_null() {
        return Err(Status::Null);
    }
    if isize::try_from(len).is_err() {
        return Err(Status::TooLong);
    }
    // SAFETY: not null, not longer than an object may be; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts_mut(data, len) })
}

/// A value to read.
///
/// # Safety
/// `value` is null, or a `T` is there and nobody writes to it during `'a`.
pub(crate) unsafe fn value<'a, T>(value: *const T) -> Result<&'a T, Status> {
    if value.is_null() {
        return Err(Status::Null);
    }
    if !value.is_aligned() {
        return Err(Status::Misaligned);
    }
    // SAFETY: not null, aligned; the rest is the caller's promise.
    Ok(unsafe { &*value })
}

/// A place for a result.
///
/// # Safety
/// `place` is null, or a `T` can be written there. What is there before is not read.
pub(crate) unsafe fn place<T>(place: *mut T) -> Result<Place<T>, Status> {
    if place.is_null() {
        return Err(Status::Null);
    }
    if !place.is_aligned() {
        return Err(Status::Misaligned);
    }
    Ok(Place(place))
}

/// A checked place for a result.
pub(crate) struct Place<T>(*mut T);

impl<T: Copy> Place<T> {
    pub(crate) fn put(self, value: T) {
        // SAFETY: `place` checked the pointer, and its caller promised the memory.
        unsafe { self.0.write(value) }
    }
}
