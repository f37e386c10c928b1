//! A measurement as C has it, for a record of SenML.

use core::ffi::{c_char, c_int, c_void};
use core::slice;

use motemix_mote::Measured;
use motemix_object::{Decimal, Record as Senml, is_name};

use crate::limits::DATA_LEN;
use crate::status::Status;

/// What a sensor says: one record of SenML (RFC 8428). The value is `value` divided by 10 to the
/// power of `places`: 215 with one place is 21.5.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// What was measured, NUL-terminated: letters, digits and `-:./_`, and one of the first two at
    /// its beginning. A message has room for 22 bytes of SenML, and with a time there is room for a
    /// name and a unit of four characters together beside digits from -256 to 255 with their point.
    /// Longer ones are told by `warned`, with MOTEMIX_STATUS_TOO_LONG.
    pub name: *const c_char,
    /// A unit of SenML's registry, NUL-terminated, such as `Cel`; null for a bare number.
    pub unit: *const c_char,
    /// The digits of the value.
    pub value: i64,
    /// When it was measured, in seconds since 1970. 0: a mote writes its clock's time, and
    /// motemix_reading_sign writes none.
    pub time: u64,
    /// How many of the digits are behind the point, 18 at most.
    pub places: u8,
}

impl Record {
    /// # Safety
    /// Name and unit are null or NUL-terminated, and nobody writes to them during `'a`.
    pub(crate) unsafe fn read<'a>(&self) -> Result<Measured<'a>, Status> {
        // SAFETY: the caller's promise, for both.
        let (name, unit) = unsafe { (text(self.name)?.ok_or(Status::Null)?, text(self.unit)?) };
        if !is_name(name) || unit.is_some_and(str::is_empty) {
            return Err(Status::BadRecord);
        }
        let value = Decimal::new(self.value, self.places).ok_or(Status::BadRecord)?;
        let time = Some(self.time).filter(|time| *time > 0);
        Ok(Measured { record: Senml { name, unit, value }, time })
    }
}

/// Text of printable characters, which has no end behind what a message has room for.
///
/// # Safety
/// It is null or NUL-terminated, and nobody writes to it during `'a`.
pub(crate) unsafe fn text<'a>(begin: *const c_char) -> Result<Option<&'a str>, Status> {
    if begin.is_null() {
        return Ok(None);
    }
    let mut len = 0;
    // SAFETY: the caller's promise; no byte behind the NUL is read.
    while unsafe { begin.add(len).read() } != 0 {
        len += 1;
        if len > DATA_LEN {
            return Err(Status::BadRecord);
        }
    }
    // SAFETY: so many bytes were read.
    let bytes = unsafe { slice::from_raw_parts(begin.cast::<u8>(), len) };
    let is_printed = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    let text = core::str::from_utf8(bytes).ok().filter(|_| is_printed);
    text.map(Some).ok_or(Status::BadRecord)
}

/// What measures.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sensor {
    /// Writes what it measured to `record`, whose texts stay until the next call, and returns 0. Or
    /// returns anything else: there is no reading this time. Must not call the mote.
    pub measure: Option<unsafe extern "C" fn(context: *mut c_void, record: *mut Record) -> c_int>,
    /// Handed to `measure`, and never looked at.
    pub context: *mut c_void,
}
