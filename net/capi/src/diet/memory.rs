//! Sources of randomness, handshakes and sessions in memory that a C program declares by type:
//! recognised by a word, and entered by one call at a time.

use core::mem;

use motemix_neighbour::diet::settled::{Identity, Initiator, Pending, Session};

use super::SuiteOfC;
use crate::entered::{Entered, Handle};
use crate::generator::Generator;
use crate::raw;
use crate::status::Status;

/// Words of 64 bits of a motemix_diet.
pub const DIET_WORDS: usize = 18;
/// Words of a motemix_diet_initiator.
pub const DIET_INITIATOR_WORDS: usize = 23;
/// Words of a motemix_diet_pending.
pub const DIET_PENDING_WORDS: usize = 24;
/// Words of a motemix_diet_session.
pub const DIET_SESSION_WORDS: usize = 24;

/// A node of IoT-CryptoDiet: its source of random bytes, and its identity once it has one. Only the
/// library knows what is in it. It lies wherever the program puts it, and is not to be copied.
#[repr(C)]
#[derive(Debug)]
pub struct Diet {
    /// The library's.
    pub opaque: [u64; DIET_WORDS],
}

/// A handshake that waits for its answer. Not to be copied.
#[repr(C)]
#[derive(Debug)]
pub struct DietInitiator {
    /// The library's.
    pub opaque: [u64; DIET_INITIATOR_WORDS],
}

/// A handshake that was answered. Nobody has proved to share its keys, so it sends nothing. Not to
/// be copied.
#[repr(C)]
#[derive(Debug)]
pub struct DietPending {
    /// The library's.
    pub opaque: [u64; DIET_PENDING_WORDS],
}

/// What two neighbours share after a handshake. A copy would use numbers twice, which gives
/// messages away: not to be copied. It lives in RAM alone; after a restart there is another
/// handshake.
#[repr(C)]
#[derive(Debug)]
pub struct DietSession {
    /// The library's.
    pub opaque: [u64; DIET_SESSION_WORDS],
}

/// What is in a [`Diet`].
pub(crate) struct Node {
    pub(super) generator: Generator,
    pub(super) suite: SuiteOfC,
    pub(super) identity: Option<Identity>,
}

/// What lies in an object's words.
pub(crate) struct Slot<T> {
    state: u32,
    value: T,
}

/// A type that C declares.
pub(crate) trait Object: Sized {
    type Value;
    const READY: u32;
    const ENTERED: u32;
    const ABSENT: Status;
}

/// Whether an object has room for its value.
const fn fits<O: Object>() -> bool {
    size_of::<Slot<O::Value>>() <= size_of::<O>() && align_of::<Slot<O::Value>>() <= align_of::<O>()
}

const _: () = {
    assert!(fits::<Diet>() && fits::<DietInitiator>());
    assert!(fits::<DietPending>() && fits::<DietSession>());
};

impl Object for Diet {
    type Value = Node;
    const READY: u32 = 0x6469_6574;
    const ENTERED: u32 = 0x6469_6575;
    const ABSENT: Status = Status::NotADiet;
}

impl Object for DietInitiator {
    type Value = Initiator;
    const READY: u32 = 0x6469_6931;
    const ENTERED: u32 = 0x6469_6932;
    const ABSENT: Status = Status::NotAHandshake;
}

impl Object for DietPending {
    type Value = Pending;
    const READY: u32 = 0x6469_7031;
    const ENTERED: u32 = 0x6469_7032;
    const ABSENT: Status = Status::NotAHandshake;
}

impl Object for DietSession {
    type Value = Session;
    const READY: u32 = 0x6469_7331;
    const ENTERED: u32 = 0x6469_7332;
    const ABSENT: Status = Status::NotASession;
}

// SAFETY: two fields of the slot.
unsafe impl<O: Object> Handle for O {
    type Inner = O::Value;
    const READY: u32 = <O as Object>::READY;
    const ENTERED: u32 = <O as Object>::ENTERED;
    const ABSENT: Status = <O as Object>::ABSENT;

    unsafe fn state(handle: *mut Self) -> *mut u32 {
        // SAFETY: the caller's promise; a slot fits into an object by size and alignment.
        unsafe { &raw mut (*handle.cast::<Slot<O::Value>>()).state }
    }

    unsafe fn inner(handle: *mut Self) -> *mut O::Value {
        // SAFETY: as for the state.
        unsafe { &raw mut (*handle.cast::<Slot<O::Value>>()).value }
    }
}

/// A checked place for an object.
pub(super) struct Vacant<O>(*mut O);

/// # Safety
/// `object` is null, or memory for one that nobody else uses. What is there before is not read.
pub(super) unsafe fn vacant<O: Object>(object: *mut O) -> Result<Vacant<O>, Status> {
    // SAFETY: the caller's promise.
    unsafe { raw::place(object)? };
    Ok(Vacant(object))
}

impl<O: Object> Vacant<O> {
    pub(super) fn put(self, value: O::Value) {
        // SAFETY: `vacant` checked the pointer, a slot fits into an object by size and alignment,
        // and the caller of `vacant` promised the memory.
        unsafe { self.0.cast::<Slot<O::Value>>().write(Slot { state: <O as Object>::READY, value }) }
    }
}

impl<O: Object> Entered<O> {
    /// Wipes the object.
    pub(super) fn empty(self) {
        // SAFETY: a value is there, which the state keeps others from. It is dropped once: what is
        // left is words.
        unsafe {
            O::inner(self.handle()).drop_in_place();
            self.wipe(size_of::<O>());
        }
    }

    /// Takes the value out to make something else of it. If that fails, the value is back; if it
    /// does not, the object has been wiped.
    pub(super) fn turn<T, E>(self, into: impl FnOnce(O::Value) -> Result<T, (O::Value, E)>) -> Result<T, E> {
        // SAFETY: a value is there. It is written back, or the object is wiped without dropping it.
        let value = unsafe { O::inner(self.handle()).read() };
        match into(value) {
            Ok(made) => {
                // SAFETY: the object's own bytes, in which no value is any more.
                unsafe { self.wipe(size_of::<O>()) };
                Ok(made)
            }
            Err((value, error)) => {
                // SAFETY: where it was read from.
                unsafe { O::inner(self.handle()).write(value) };
                mem::drop(self);
                Err(error)
            }
        }
    }
}
