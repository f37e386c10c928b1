//! The callbacks that write down what a node admits.

use core::ffi::{c_int, c_void};
use core::ptr;

use crate::status::Status;

/// A packet that the replay filter admitted. A node that gets these back after a restart, with
/// motemix_node_restore_admitted, refuses replays of what it took in before.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// What the filter keeps of the packet. It means nothing to who lacks the epoch's mix key.
    pub digest: u32,
    /// The epoch of the mix key.
    pub epoch: u32,
}

/// Where a node writes down what it admits, before anything of it leaves: to flash, say. A node
/// that is to keep nothing is given motemix_no_journal.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Journal {
    /// Notes what was admitted: writes it at once, or keeps it for `commit`, which tells of a
    /// failure. Must not call this library with the node that it is called for.
    pub admit: Option<unsafe extern "C" fn(context: *mut c_void, admitted: *const Admitted)>,
    /// Returns 0 when all that was noted is written, anything else if it cannot be: then nothing
    /// leaves the node. Called before each packet leaves, so it should cost nothing if nothing is
    /// new. Must not call this library with the node that it is called for.
    pub commit: Option<unsafe extern "C" fn(context: *mut c_void) -> c_int>,
    /// Handed to both, and never looked at.
    pub context: *mut c_void,
}

/// A journal that keeps nothing: after a restart with the same key, the node takes every packet
/// that was recorded before for a new one, once.
#[unsafe(no_mangle)]
pub extern "C" fn motemix_no_journal() -> Journal {
    unsafe extern "C" fn admit(_: *mut c_void, _: *const Admitted) {}
    unsafe extern "C" fn commit(_: *mut c_void) -> c_int {
        0
    }
    Journal { admit: Some(admit), commit: Some(commit), context: ptr::null_mut() }
}

/// Callbacks that are there.
pub(crate) struct Callbacks {
    admit: unsafe extern "C" fn(*mut c_void, *const Admitted),
    commit: unsafe extern "C" fn(*mut c_void) -> c_int,
    context: *mut c_void,
}

impl Callbacks {
    /// # Safety
    /// Both callbacks can be called with `journal.context` for as long as these are used.
    pub(crate) unsafe fn new(journal: &Journal) -> Result<Self, Status> {
        let (admit, commit) = journal.admit.zip(journal.commit).ok_or(Status::Null)?;
        Ok(Self { admit, commit, context: journal.context })
    }
}

impl motemix_node::Journal for Callbacks {
    type Error = Status;

    fn admit(&mut self, admitted: motemix_node::Admitted) {
        // The filter of a node of this interface has narrow fingerprints, so the short digest is
        // all of it.
        let digest = admitted.digest.to_short().unwrap_or_default();
        let admitted = Admitted { digest, epoch: admitted.epoch.0 };
        // SAFETY: `new`'s caller promised that the callback can be called; it reads one value.
        unsafe { (self.admit)(self.context, &raw const admitted) }
    }

    fn commit(&mut self) -> Result<(), Status> {
        // SAFETY: `new`'s caller promised that the callback can be called.
        let failed = unsafe { (self.commit)(self.context) } != 0;
        if failed { Err(Status::JournalFailed) } else { Ok(()) }
    }
}
