//! The settled protocol: handshakes, and messages in their sessions.

use motemix_neighbour::diet::settled::{ANSWER_LEN, Admission, HELLO_LEN, Identity, OVERHEAD};
use motemix_neighbour::suite::PUBLIC_KEY_LEN;

use super::functions_face::private_key_at;
use super::memory::{Diet, DietInitiator, DietPending, DietSession, Node, vacant};
use super::{call, call_with_keys};
use crate::entered::Entered;
use crate::raw;
use crate::status::Status;
use crate::wiped::diet;

/// Bytes of an identity: a compressed point of P-256.
pub const DIET_IDENTITY_LEN: usize = 33;
/// Bytes of a hello. No message is as short.
pub const DIET_HELLO_LEN: usize = 75;
/// Bytes of an answer.
pub const DIET_ANSWER_LEN: usize = 139;
/// Bytes that a message has besides its text.
pub const DIET_OVERHEAD: usize = 81;

const _: () = {
    assert!(DIET_IDENTITY_LEN == PUBLIC_KEY_LEN && DIET_HELLO_LEN == HELLO_LEN);
    assert!(DIET_ANSWER_LEN == ANSWER_LEN && DIET_OVERHEAD == OVERHEAD);
};

/// Whom a node takes for a neighbour.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DietAdmission {
    /// Identities of MOTEMIX_DIET_IDENTITY_LEN bytes each, one after the other.
    pub identities: *const u8,
    /// How many. With none, and without `anybody`, nobody is admitted.
    pub count: usize,
    /// Whoever comes, instead. A man in the middle comes as well: remember the first identity at
    /// each address, and let a person compare it.
    pub anybody: bool,
}

/// # Safety
/// `admission` is null or valid, and so is what it points to, during `'a`.
unsafe fn admission<'a>(admission: *const DietAdmission) -> Result<Admission<'a>, Status> {
    // SAFETY: the caller's promise.
    let admission = unsafe { raw::value(admission)? };
    if admission.anybody {
        return Ok(Admission::Anybody);
    }
    let len = admission.count.checked_mul(PUBLIC_KEY_LEN).ok_or(Status::TooLong)?;
    // SAFETY: the caller's promise.
    Ok(Admission::OfBytes(unsafe { raw::bytes(admission.identities, len)? }.as_chunks().0))
}

/// Gives the node its identity: the private key of a pair from motemix_diet_generate_key_pair that
/// signs nothing else, and is kept over restarts. Writes MOTEMIX_DIET_IDENTITY_LEN bytes to
/// `identity`, by which others admit it. One scalar multiplication.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_set_identity(
    diet: *mut Diet,
    private_key: *const u8,
    identity: *mut u8,
) -> Status {
    call_with_keys::<{ diet::IDENTITY }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, private, out) = unsafe {
            (
                Entered::new(diet)?,
                private_key_at(private_key)?,
                raw::place::<[u8; PUBLIC_KEY_LEN]>(identity.cast())?,
            )
        };
        let made = Identity::new(private, &mut node.suite)?;
        out.put(*made.public_key().as_bytes());
        node.identity = Some(made);
        Ok(())
    })
}

/// Begins a handshake: writes a hello of MOTEMIX_DIET_HELLO_LEN bytes, to be sent or broadcast
/// until an answer comes. One scalar multiplication.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_hello(
    diet: *mut Diet,
    initiator: *mut DietInitiator,
    hello: *mut u8,
) -> Status {
    call_with_keys::<{ diet::HELLO }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, place, out) = unsafe {
            (Entered::new(diet)?, vacant(initiator)?, raw::place::<[u8; HELLO_LEN]>(hello.cast())?)
        };
        let Node { generator, suite, identity: Some(identity) } = &mut *node else {
            return Err(Status::NoIdentity);
        };
        let (made, bytes) = identity.hello(suite, generator)?;
        place.put(made);
        out.put(bytes);
        Ok(())
    })
}

/// Answers a hello of `len` bytes: writes an answer of MOTEMIX_DIET_ANSWER_LEN bytes. A hello that
/// is refused changes nothing: MOTEMIX_STATUS_BAD_LENGTH, _OTHER_KIND, _STRANGER or
/// _BAD_PUBLIC_KEY. Three scalar multiplications, none for a stranger. The sender of a hello may be
/// invented: bound how many you answer in a second, and how many wait. If the same hello comes
/// again, send the same answer again.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_answer(
    diet: *mut Diet,
    hello: *const u8,
    len: usize,
    admission: *const DietAdmission,
    pending: *mut DietPending,
    answer: *mut u8,
) -> Status {
    call_with_keys::<{ diet::ANSWER }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, hello, admission, place, out) = unsafe {
            (
                Entered::new(diet)?,
                raw::bytes(hello, len)?,
                self::admission(admission)?,
                vacant(pending)?,
                raw::place::<[u8; ANSWER_LEN]>(answer.cast())?,
            )
        };
        let Node { generator, suite, identity: Some(identity) } = &mut *node else {
            return Err(Status::NoIdentity);
        };
        let (made, bytes) = identity.answer(hello, admission, suite, generator)?;
        place.put(made);
        out.put(bytes);
        Ok(())
    })
}

/// Ends a handshake with its answer of `len` bytes: wipes `initiator` and makes `session`. An
/// answer that is refused changes nothing, for the right one may still come:
/// MOTEMIX_STATUS_BAD_LENGTH, _OTHER_KIND, _STRANGER, _BAD_PUBLIC_KEY or _BAD_SIGNATURE. Three
/// scalar multiplications, none for a stranger.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_finish(
    diet: *mut Diet,
    initiator: *mut DietInitiator,
    answer: *const u8,
    len: usize,
    admission: *const DietAdmission,
    session: *mut DietSession,
) -> Status {
    call_with_keys::<{ diet::FINISH }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, initiator, answer, admission, place) = unsafe {
            (
                Entered::new(diet)?,
                Entered::new(initiator)?,
                raw::bytes(answer, len)?,
                self::admission(admission)?,
                vacant(session)?,
            )
        };
        let made = initiator.finish(answer, admission, &mut node.suite)?;
        initiator.empty();
        place.put(made);
        Ok(())
    })
}

/// Opens the first message of a handshake that was answered, which proves the peer: wipes `pending`
/// and makes `session`, whatever was there before. Otherwise as motemix_diet_open_message; a
/// message that is refused leaves both as they were.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
#[expect(clippy::result_large_err, reason = "what is refused is still needed")]
pub unsafe extern "C" fn motemix_diet_open_first(
    diet: *mut Diet,
    pending: *mut DietPending,
    datagram: *mut u8,
    len: usize,
    session: *mut DietSession,
    text: *mut *const u8,
    text_len: *mut usize,
) -> Status {
    call_with_keys::<{ diet::OPEN }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, pending, datagram, place, at, out) = unsafe {
            (
                Entered::new(diet)?,
                Entered::new(pending)?,
                raw::bytes_mut(datagram, len)?,
                vacant(session)?,
                raw::place(text)?,
                raw::place(text_len)?,
            )
        };
        let (made, text) = pending.turn(|pending| pending.open(datagram, &mut node.suite))?;
        place.put(made);
        at.put(text.as_ptr());
        out.put(text.len());
        Ok(())
    })
}

/// Seals a message of `len` bytes into `datagram`, which has room for `room`, and writes to
/// `datagram_len` how many it has: MOTEMIX_DIET_OVERHEAD more than the text. A receipt is a message
/// without text. MOTEMIX_STATUS_BUFFER_TOO_SMALL if there is less room; MOTEMIX_STATUS_EXHAUSTED
/// after 2^64 - 1 messages. One scalar multiplication.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_seal_message(
    diet: *mut Diet,
    session: *mut DietSession,
    message: *const u8,
    len: usize,
    datagram: *mut u8,
    room: usize,
    datagram_len: *mut usize,
) -> Status {
    call_with_keys::<{ diet::SEAL }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, mut session, message, datagram, out) = unsafe {
            (
                Entered::new(diet)?,
                Entered::new(session)?,
                raw::bytes(message, len)?,
                raw::bytes_mut(datagram, room)?,
                raw::place(datagram_len)?,
            )
        };
        // The length of AES-CCM's counter bounds a message.
        let needed = u16::try_from(message.len()).map_err(|_| Status::TooLong)?;
        if datagram.len() < OVERHEAD + usize::from(needed) {
            return Err(Status::BufferTooSmall);
        }
        let Node { generator, suite, .. } = &mut *node;
        out.put(session.seal(message, datagram, suite, generator)?.len());
        Ok(())
    })
}

/// Opens a datagram of `len` bytes in place: `text` is where the text is in it, `text_len` its
/// length. A datagram that is refused leaves the session as it was, but not the datagram, so keep a
/// copy if it is to be opened by another: MOTEMIX_STATUS_BAD_LENGTH, _OTHER_KIND, _REPLAYED,
/// _REPEATED, _BAD_CIPHERTEXT or _BAD_SIGNATURE. A datagram of a stranger costs no scalar
/// multiplication, one of the peer two.
///
/// # Safety
/// As for all calls; the pointers are null or valid for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_open_message(
    diet: *mut Diet,
    session: *mut DietSession,
    datagram: *mut u8,
    len: usize,
    text: *mut *const u8,
    text_len: *mut usize,
) -> Status {
    call_with_keys::<{ diet::OPEN }>(|| {
        // SAFETY: the caller's promise.
        let (mut node, mut session, datagram, at, out) = unsafe {
            (
                Entered::new(diet)?,
                Entered::new(session)?,
                raw::bytes_mut(datagram, len)?,
                raw::place(text)?,
                raw::place(text_len)?,
            )
        };
        let text = session.open(datagram, &mut node.suite)?;
        at.put(text.as_ptr());
        out.put(text.len());
        Ok(())
    })
}

/// The identity of a session's peer: MOTEMIX_DIET_IDENTITY_LEN bytes.
///
/// # Safety
/// As for all calls; `identity` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_peer(session: *mut DietSession, identity: *mut u8) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (session, out) =
            unsafe { (Entered::new(session)?, raw::place::<[u8; PUBLIC_KEY_LEN]>(identity.cast())?) };
        out.put(*session.peer().as_bytes());
        Ok(())
    })
}

/// Wipes a handshake that is given up.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_end_initiator(initiator: *mut DietInitiator) -> Status {
    // SAFETY: the caller's promise.
    call(|| unsafe { Entered::new(initiator) }.map(Entered::empty))
}

/// Wipes a handshake that was answered and is given up.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_end_pending(pending: *mut DietPending) -> Status {
    // SAFETY: the caller's promise.
    call(|| unsafe { Entered::new(pending) }.map(Entered::empty))
}

/// Wipes a session.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_diet_end_session(session: *mut DietSession) -> Status {
    // SAFETY: the caller's promise.
    call(|| unsafe { Entered::new(session) }.map(Entered::empty))
}
