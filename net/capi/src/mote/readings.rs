//! A mote's own readings: what C lends for them, and what the mote asks of it.
//!
//! The mote knows them by [`Signs`] alone, whose functions are linked where C calls
//! `motemix_mote_sign_readings` and nowhere else: a program that signs nothing has no signature in
//! its flash.

use core::mem::{MaybeUninit, align_of, size_of};
use core::ptr::NonNull;

#[cfg(not(motemix_without_console))]
use motemix_mote::KeyMaker;
use motemix_mote::{INTRODUCTION_LEN, Readings};
use motemix_node::{Event, Instant};
use motemix_sphinx::NodeId;

use super::ear::Ear;
use super::memory::{Inner, MoteHandle, RunningOfC};
use super::platform::{Platform, WarningKind};
use crate::entered::Entered;
use crate::limits::PACKET_LEN;
use crate::raw;
use crate::reading_face::IDENTITY_LEN;
use crate::record::{Record, Sensor};
use crate::status::{Status, done};
use crate::wiped::{self, wiped};

/// Words of 64 bits of a motemix_readings.
pub const READINGS_WORDS: usize = 20;

/// What a mote needs to sign readings. Only the library knows what is in it. It belongs to the mote
/// until motemix_mote_close, and is not to be moved.
#[repr(C)]
#[derive(Debug)]
pub struct ReadingsOfC {
    /// The library's.
    pub opaque: [u64; READINGS_WORDS],
}

/// What is in it.
struct Signing {
    sensor: Sensor,
    readings: Readings,
}

const _: () = assert!(
    size_of::<Signing>() <= size_of::<ReadingsOfC>() && align_of::<Signing>() <= align_of::<ReadingsOfC>()
);

/// What a mote asks of its readings.
pub(super) trait Signs {
    /// A node begins.
    fn begin(&mut self);
    fn ask(&mut self, now: Instant, to: Option<NodeId>, seconds: u32);
    fn hear(&mut self, event: &Event<'_>);
    fn due(&self) -> Option<Instant>;
    /// Does what is due.
    fn poll(&mut self, now: Instant, running: &mut RunningOfC, platform: &Platform);
    #[cfg(not(motemix_without_console))]
    fn key_maker(&self) -> KeyMaker;
}

impl Signs for Signing {
    fn begin(&mut self) {
        self.readings = Readings::new();
    }

    fn ask(&mut self, now: Instant, to: Option<NodeId>, seconds: u32) {
        self.readings.ask(now, to, seconds);
    }

    fn hear(&mut self, event: &Event<'_>) {
        self.readings.hear(event);
    }

    fn due(&self) -> Option<Instant> {
        self.readings.due()
    }

    fn poll(&mut self, now: Instant, running: &mut RunningOfC, platform: &Platform) {
        let Self { sensor, readings } = self;
        let measure = || {
            let mut record = MaybeUninit::<Record>::zeroed();
            // SAFETY: motemix_mote_sign_readings asks that the callback can be called for as long
            // as the mote is there. All bytes of a record are zero before, which is one, and
            // texts that it writes stay until it is called again.
            let read = unsafe {
                if sensor.measure?(sensor.context, record.as_mut_ptr()) != 0 {
                    return None;
                }
                record.assume_init().read()
            };
            read.map_err(|reason| warn(platform, reason)).ok()
        };
        // It hears nothing of readings: they are being worked with.
        let mut ear = Ear { platform, readings: None };
        readings.poll(now, running, measure, &mut ear, &mut [0; PACKET_LEN]);
    }

    #[cfg(not(motemix_without_console))]
    fn key_maker(&self) -> KeyMaker {
        motemix_object::Ed25519Key::new
    }
}

fn warn(platform: &Platform, reason: Status) {
    if let Some(warned) = platform.warned {
        // SAFETY: motemix_mote_open asks that the callback can be called for as long as the mote is
        // there.
        unsafe { warned(platform.context, WarningKind::ReadingsDropped, reason) }
    }
}

/// The readings of a mote, in memory that C lent.
#[derive(Clone, Copy)]
pub(super) struct Lent(NonNull<dyn Signs>);

impl Lent {
    /// # Safety
    /// Nobody else uses them during `'a`. The memory is the mote's until it is closed.
    pub(super) unsafe fn get<'a>(mut self) -> &'a mut dyn Signs {
        // SAFETY: the caller's promise.
        unsafe { self.0.as_mut() }
    }
}

impl Inner {
    fn sign_with(&mut self, place: NonNull<ReadingsOfC>, sensor: Sensor) -> Result<(), Status> {
        self.standing()?;
        if self.platform.flash.readings_pages == 0 {
            return Err(Status::BadFlash);
        }
        sensor.measure.ok_or(Status::Null)?;
        let place = place.cast::<Signing>();
        // SAFETY: aligned and large enough, as the assertion above has it; the header asks that the
        // memory is the mote's.
        unsafe { place.write(Signing { sensor, readings: Readings::new() }) };
        self.readings = Some(Lent(place));
        Ok(())
    }

    fn introduction(&mut self) -> Result<([u8; IDENTITY_LEN], [u8; INTRODUCTION_LEN]), Status> {
        let made = if self.runs { self.running()?.introduction() } else { self.standing()?.introduction() };
        let (identity, introduction) = made?;
        Ok((*identity.as_bytes(), introduction))
    }

    fn send_readings(&mut self, now: Instant, name: &str, seconds: u32) -> Result<(), Status> {
        let lent = self.readings.ok_or(Status::NoReadings)?;
        let running = self.running()?;
        let to = match seconds {
            0 => None,
            _ => Some(running.named(name).ok_or(Status::UnknownReceiver)?),
        };
        // SAFETY: nobody else uses them during this call.
        unsafe { lent.get() }.ask(now, to, seconds);
        Ok(())
    }

    /// Does what is due for readings, one signature at most, and leaves nothing of the key on the
    /// stack.
    #[inline(never)]
    pub(super) fn poll_readings(&mut self, now: Instant, platform: &Platform) -> Result<(), Status> {
        let Some(lent) = self.readings else { return Ok(()) };
        let running = self.running()?;
        // SAFETY: nobody else uses them during this call.
        let signs = unsafe { lent.get() };
        if signs.due().is_some_and(|due| due <= now) {
            wiped::<{ wiped::READING }, _>(|| signs.poll(now, running, platform));
        }
        Ok(())
    }

    /// When there is something to do for readings.
    pub(super) fn readings_due(&self) -> Option<Instant> {
        // SAFETY: nobody else uses them during this look.
        self.readings.and_then(|lent| unsafe { lent.get() }.due())
    }
}

/// Lets the mote sign readings of this sensor, with a key of its own that it makes when it is first
/// needed. Each is signed once, stays in flash until it is acknowledged, and is sent at random
/// intervals: motemix_mote_send_readings says to whom. Takes `motemix_flash.readings_pages`, 2 or
/// more. `readings` belongs to the mote until motemix_mote_close; `sensor` is copied, and its
/// callback has to outlive the mote. While the mote stands.
///
/// # Safety
/// As for all calls; the pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_sign_readings(
    mote: *mut MoteHandle,
    readings: *mut ReadingsOfC,
    sensor: *const Sensor,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (mut mote, sensor) = unsafe { (Entered::new(mote)?, raw::value(sensor)?) };
        let place = NonNull::new(readings).ok_or(Status::Null)?;
        if !readings.is_aligned() {
            return Err(Status::Misaligned);
        }
        mote.sign_with(place, *sensor)
    };
    done(call())
}

/// The identity of this device, MOTEMIX_IDENTITY_LEN bytes, and its introduction,
/// MOTEMIX_INTRODUCTION_LEN bytes, which shows the key to whoever has the identity. Makes the key
/// and keeps it in flash if there is none. Does what signing a reading does, in about half the
/// time.
///
/// # Safety
/// As for all calls; `identity` and `introduction` are null or valid for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_identity(
    mote: *mut MoteHandle,
    identity: *mut u8,
    introduction: *mut u8,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (mut mote, identity, introduction) = unsafe {
            (
                Entered::new(mote)?,
                raw::place::<[u8; IDENTITY_LEN]>(identity.cast())?,
                raw::place::<[u8; INTRODUCTION_LEN]>(introduction.cast())?,
            )
        };
        let (own, shown) = mote.introduction()?;
        identity.put(own);
        introduction.put(shown);
        Ok(())
    };
    wiped::<{ wiped::READING }, _>(|| done(call()))
}

/// From now on measures, signs and sends a reading to the node of this name, of `name_len`
/// bytes, at random times (a Poisson process), `seconds` apart on average; 0 seconds:
/// measures no more. One reading is under way at a time, and `acknowledged` and `discarded` tell
/// of it as of any message. When the flash is full, later ones are dropped, and `warned` says
/// so. A stop ends it. While the mote runs. Poll the mote afterwards.
///
/// # Safety
/// As for all calls; `name` is null or valid for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_send_readings(
    mote: *mut MoteHandle,
    now_us: u64,
    name: *const u8,
    name_len: usize,
    seconds: u32,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (mut mote, name) = unsafe { (Entered::new(mote)?, raw::bytes(name, name_len)?) };
        let name = core::str::from_utf8(name).map_err(|_| Status::UnknownReceiver)?;
        mote.send_readings(Instant::from_micros(now_us), name, seconds)
    };
    done(call())
}
