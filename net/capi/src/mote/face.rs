//! The mote's calls. Each turns pointers into references and enters the mote.

use core::ffi::c_void;

use motemix_directory::{Epoch, UnixTime};
use motemix_mote::{Next, NotSent};
use motemix_node::Instant;

use super::memory::{MoteHandle, open, size};
use super::platform::Platform;
use crate::counters::Counters;
use crate::descriptor::Address;
use crate::entered::Entered;
use crate::limits::Limits;
use crate::node_face::NEVER;
use crate::raw;
use crate::status::{Status, done};
use crate::wiped::{self, wiped};

/// Runs a call's body, in which `?` answers with a status.
fn call(body: impl FnOnce() -> Result<(), Status>) -> Status {
    done(body())
}

/// The same of a body that works with keys.
pub(super) fn call_with_keys<const DEPTH: usize>(body: impl FnOnce() -> Result<(), Status>) -> Status {
    wiped::<DEPTH, _>(|| call(body))
}

/// The bytes of memory that a mote with these limits needs on this machine; 0 if the limits make no
/// mote. MOTEMIX_MOTE_SIZE says it at compile time, and a little more than is needed.
///
/// # Safety
/// `limits` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_size(limits: *const Limits) -> usize {
    // SAFETY: the caller's promise.
    unsafe { raw::value(limits) }.and_then(size).unwrap_or(0)
}

/// Makes a mote in `memory`, which belongs to it until motemix_mote_close: `len` bytes, aligned to
/// MOTEMIX_NODE_ALIGN. Opens its flash, and makes a key if there is none. `platform` is copied; its
/// callbacks and contexts have to outlive the mote. Writes the mote to `mote`: the same address as
/// `memory`. The mote stands: motemix_mote_start runs it.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_open(
    memory: *mut c_void,
    len: usize,
    limits: *const Limits,
    platform: *const Platform,
    mote: *mut *mut MoteHandle,
) -> Status {
    call_with_keys::<{ wiped::OPEN }>(|| {
        // SAFETY: the caller's promise.
        let (limits, platform, out) =
            unsafe { (raw::value(limits)?, raw::value(platform)?, raw::place(mote)?) };
        // SAFETY: the header asks that the memory is the mote's until it is closed, and that the
        // callbacks outlive it.
        out.put(unsafe { open(memory.cast(), len, limits, platform)? });
        Ok(())
    })
}

/// Ends a mote: its keys and tables in memory are overwritten with zeros, and the memory is the
/// caller's again. The flash stays as it is. Nothing is called back.
///
/// # Safety
/// As for all calls: `mote` is null or memory of a mote.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_close(mote: *mut MoteHandle) -> Status {
    // SAFETY: the caller's promise.
    call(|| unsafe { Entered::new(mote) }.map(Entered::close))
}

/// Where others send to, an IPv6 address: the command `key` tells it to the network's authority.
/// While the mote stands.
///
/// # Safety
/// As for all calls; `address` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_set_address(mote: *mut MoteHandle, address: *const Address) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, address) = unsafe { (Entered::new(mote)?, raw::value(address)?) };
        mote.set_address(address.v6()?)
    })
}

/// Sets the clock, in seconds since 1970. While the mote stands.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_set_time(mote: *mut MoteHandle, now_us: u64, unix_time: u64) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let mut mote = unsafe { Entered::new(mote)? };
        mote.set_time(Instant::from_micros(now_us), UnixTime(unix_time))
    })
}

/// The mote's public key of an epoch, for the network's authority: 32 bytes. One scalar
/// multiplication.
///
/// # Safety
/// As for all calls; `public_key` is null or valid for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_public_key(
    mote: *mut MoteHandle,
    epoch: u32,
    public_key: *mut u8,
) -> Status {
    call_with_keys::<{ wiped::KEY }>(|| {
        // SAFETY: the caller's promise.
        let (mut mote, out) = unsafe { (Entered::new(mote)?, raw::place::<[u8; 32]>(public_key.cast())?) };
        out.put(mote.public_key(Epoch(epoch))?.0);
        Ok(())
    })
}

/// Takes network documents that `threshold` of these authorities signed: `authorities` Ed25519
/// keys of 32 bytes each, four at most. They are kept in flash. While the mote stands.
///
/// # Safety
/// As for all calls; `authority_keys` is null or valid for as many keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_trust(
    mote: *mut MoteHandle,
    threshold: u8,
    authority_keys: *const u8,
    authorities: u8,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, keys) = unsafe { (Entered::new(mote)?, keys_of(authority_keys, authorities)?) };
        Ok(mote.standing()?.trust(threshold, keys)?)
    })
}

/// The same of these authorities and of those that are trusted already: four in all.
///
/// # Safety
/// As for motemix_mote_trust.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_trust_also(
    mote: *mut MoteHandle,
    threshold: u8,
    authority_keys: *const u8,
    authorities: u8,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, keys) = unsafe { (Entered::new(mote)?, keys_of(authority_keys, authorities)?) };
        Ok(mote.standing()?.trust_also(threshold, keys)?)
    })
}

/// # Safety
/// `authority_keys` is null or valid for as many keys during `'a`.
unsafe fn keys_of<'a>(authority_keys: *const u8, authorities: u8) -> Result<&'a [[u8; 32]], Status> {
    let len = usize::from(authorities) * 32;
    // SAFETY: the caller's promise.
    let (keys, _) = unsafe { raw::bytes(authority_keys, len)? }.as_chunks::<32>();
    Ok(keys)
}

/// Puts `len` bytes of a network document, those from its byte `at` on, into the mote's memory for
/// one. MOTEMIX_STATUS_TOO_LONG if they do not fit into `motemix_limits.document` bytes.
///
/// While the mote runs, documents of neighbours come into the same memory. So the piece at byte 0
/// has to come first. From then on no other document is collected, until this one is kept or
/// refused, or ten minutes after its last piece. No bytes at 0 drop what was given.
/// MOTEMIX_STATUS_NO_DOCUMENT if `at` is not 0 and none is being given.
///
/// # Safety
/// As for all calls; `piece` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_give_document(
    mote: *mut MoteHandle,
    at: usize,
    piece: *const u8,
    len: usize,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, piece) = unsafe { (Entered::new(mote)?, raw::bytes(piece, len)?) };
        mote.give_piece(at, piece)
    })
}

/// Checks the network document that was given, `len` bytes in all, and keeps it in flash. While the
/// mote stands, it has to be valid now; while it runs, it is the next epoch's, which begins in its
/// time. MOTEMIX_STATUS_KEY_MOVED: call again. MOTEMIX_STATUS_NO_DOCUMENT if it runs and none is
/// being given.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_keep_document(
    mote: *mut MoteHandle,
    now_us: u64,
    len: usize,
) -> Status {
    call_with_keys::<{ wiped::DOCUMENT }>(|| {
        // SAFETY: the caller's promise.
        let mut mote = unsafe { Entered::new(mote)? };
        mote.keep_document(Instant::from_micros(now_us), len)
    })
}

/// Runs the node in the epoch of the network document in flash, whose signatures it checks.
/// MOTEMIX_STATUS_KEY_MOVED: call again.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_start(mote: *mut MoteHandle, now_us: u64) -> Status {
    // SAFETY: the caller's promise.
    call_with_keys::<{ wiped::START }>(|| unsafe { Entered::new(mote)? }.start(Instant::from_micros(now_us)))
}

/// Stops the node and wipes its keys from memory. Messages under way are given up, with a call of
/// `discarded` for each. MOTEMIX_STATUS_STANDS if it does not run.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_stop(mote: *mut MoteHandle) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let mut mote = unsafe { Entered::new(mote)? };
        mote.running()?;
        mote.stop();
        Ok(())
    })
}

/// Takes a datagram in: two scalar multiplications at most, three where two epochs meet. `from` is
/// the IPv6 address and the port that it came from. It tells neighbours apart, so that none of them
/// uses up the others' share, and where links are protected it says whose key the datagram is
/// under. What the node does not take it counts, and no answer to a peer may depend on it. Poll the
/// mote afterwards.
///
/// # Safety
/// As for all calls; `from` is null or valid, `bytes` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_handle_datagram(
    mote: *mut MoteHandle,
    now_us: u64,
    from: *const Address,
    bytes: *const u8,
    len: usize,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, from, bytes) =
            unsafe { (Entered::new(mote)?, raw::value(from)?, raw::bytes(bytes, len)?) };
        mote.handle_datagram(Instant::from_micros(now_us), from.v6()?, bytes)
    })
}

/// Does what is due, one scalar multiplication at most, or the check of the signatures of a network
/// document that a neighbour had, one for each authority. MOTEMIX_STATUS_OK: call again, and let
/// others take their turn before. MOTEMIX_STATUS_NOTHING: call again at the time that is written to
/// `next_us`, MOTEMIX_NEVER for none, or after any other call. MOTEMIX_STATUS_STANDS: the node does
/// not run, or has just stopped because the flash does not work; what it printed says why.
///
/// # Safety
/// As for all calls; `next_us` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_poll(mote: *mut MoteHandle, now_us: u64, next_us: *mut u64) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, out) = unsafe { (Entered::new(mote)?, raw::place(next_us)?) };
        match mote.poll(Instant::from_micros(now_us))? {
            Next::TookIn | Next::Again => Ok(()),
            Next::Wait(due) => {
                out.put(due.map_or(NEVER, Instant::as_micros));
                Err(Status::Nothing)
            }
            Next::Stop => Err(Status::Stands),
        }
    })
}

/// Sends `len` bytes to the node of this name, of `name_len` bytes. A sequence number in decimal
/// and a space go in front of them: up to eleven bytes of MOTEMIX_DATA_LEN. Writes the message's
/// number to `message`, for the callback that ends it. Poll the mote afterwards.
///
/// # Safety
/// As for all calls; `name` and `data` are null or valid for as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_send(
    mote: *mut MoteHandle,
    now_us: u64,
    name: *const u8,
    name_len: usize,
    data: *const u8,
    len: usize,
    message: *mut u64,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, name, data, out) = unsafe {
            (Entered::new(mote)?, raw::bytes(name, name_len)?, raw::bytes(data, len)?, raw::place(message)?)
        };
        let name = core::str::from_utf8(name).map_err(|_| Status::UnknownReceiver)?;
        let sent = mote.running()?.send_to(Instant::from_micros(now_us), name, data);
        out.put(sent?.0.number());
        Ok(())
    })
}

impl From<NotSent> for Status {
    fn from(reason: NotSent) -> Self {
        match reason {
            NotSent::Expired => Self::DocumentExpired,
            NotSent::UnknownName => Self::UnknownReceiver,
            NotSent::Store(error) => error.into(),
            NotSent::Refused(error) => error.into(),
            _ => Self::Refused,
        }
    }
}

/// The message that has been in flash longest: its id, 4 bytes, to `id`, which may be null, its
/// data to `data`, which has room for MOTEMIX_DATA_LEN bytes, and its length to `len`. It stays
/// until motemix_mote_forget_message. MOTEMIX_STATUS_NOTHING if there is none.
///
/// # Safety
/// As for all calls; `id` is null or valid for 4 bytes, `data` for MOTEMIX_DATA_LEN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_message(
    mote: *mut MoteHandle,
    id: *mut u8,
    data: *mut u8,
    len: *mut usize,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, data, out) = unsafe {
            (Entered::new(mote)?, raw::bytes_mut(data, crate::limits::DATA_LEN)?, raw::place(len)?)
        };
        let (read, data) = mote.message(data)?.ok_or(Status::Nothing)?;
        out.put(data.len());
        if !id.is_null() {
            // SAFETY: the caller's promise.
            unsafe { raw::place::<[u8; 4]>(id.cast())? }.put(read.0);
        }
        Ok(())
    })
}

/// Removes the message that has been in flash longest, once it is safe elsewhere.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_forget_message(mote: *mut MoteHandle) -> Status {
    // SAFETY: the caller's promise.
    call(|| unsafe { Entered::new(mote)? }.forget_message())
}

/// The epoch in which the node runs, written to `epoch`.
///
/// # Safety
/// As for all calls; `epoch` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_epoch(mote: *mut MoteHandle, epoch: *mut u32) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, out) = unsafe { (Entered::new(mote)?, raw::place(epoch)?) };
        out.put(mote.running()?.node().epoch().ok_or(Status::NoEpoch)?.0);
        Ok(())
    })
}

/// What the node did since motemix_mote_start.
///
/// # Safety
/// As for all calls; the pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_mote_counters(mote: *mut MoteHandle, counters: *mut Counters) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut mote, out) = unsafe { (Entered::new(mote)?, raw::place(counters)?) };
        out.put(Counters::from(mote.running()?.node().counters()));
        Ok(())
    })
}
