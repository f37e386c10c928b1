//! The node's calls. Each turns pointers into references, enters the node, and calls
//! `motemix-node`.

use core::ffi::c_void;

use motemix_crypto::Secret;
use motemix_directory::Epoch;
use motemix_node::{Digest, Instant, LinkId, Node, ReceiptToken};
use motemix_sphinx::{MixKey, NodeId};

use crate::counters::Counters;
use crate::document_face::{Document, opened};
use crate::entered::Entered;
use crate::event::{Event, Transmit};
use crate::generator::Generator;
use crate::handle::{Inner, NodeHandle, Room};
use crate::journal::{Admitted, Callbacks, Journal};
use crate::limits::{Config, Limits, MoteCurve, PACKET_LEN};
use crate::random::{Random, Source};
use crate::raw;
use crate::status::{Status, done};
use crate::tables::NodePlan;

/// No time: the end of an epoch when nobody knows it.
pub const NEVER: u64 = 0xffff_ffff_ffff_ffff;

/// Runs a call's body, in which `?` answers with a status.
fn call(body: impl FnOnce() -> Result<(), Status>) -> Status {
    done(body())
}

/// `Nothing`, where an iterator would end.
fn some<T>(value: Option<T>) -> Result<T, Status> {
    value.ok_or(Status::Nothing)
}

/// The public key of a mix key: what the network document has to say of this node. One scalar
/// multiplication. `secret` and `public_key` are 32 bytes each.
///
/// # Safety
/// Both pointers are null or valid for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_public_key(secret: *const u8, public_key: *mut u8) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (secret, out) =
            unsafe { (raw::value(secret.cast::<[u8; 32]>())?, raw::place(public_key.cast())?) };
        out.put(MixKey::new(Secret::new(*secret)).public_key::<MoteCurve>().0);
        Ok(())
    })
}

/// The bytes of memory that a node with these limits needs on this machine; 0 if the limits make no
/// node. MOTEMIX_NODE_SIZE says it at compile time, and a little more than is needed.
///
/// # Safety
/// `limits` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_size(limits: *const Limits) -> usize {
    // SAFETY: the caller's promise.
    unsafe { raw::value(limits) }.and_then(NodePlan::new).map_or(0, |plan| plan.size)
}

/// Makes a node in `memory`, which belongs to it until motemix_node_end: `len` bytes, aligned to
/// MOTEMIX_NODE_ALIGN. What was there is overwritten. `random` and `journal` are copied; their
/// callbacks and contexts have to outlive the node. A node that is to write nothing down is given
/// what motemix_no_journal returns. Writes the node to `node`: the same address as `memory`.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_new(
    memory: *mut c_void,
    len: usize,
    limits: *const Limits,
    config: *const Config,
    random: *const Random,
    journal: *const Journal,
    node: *mut *mut NodeHandle,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (limits, config, random) =
            unsafe { (raw::value(limits)?, raw::value(config)?, raw::value(random)?) };
        // SAFETY: the caller's promise; the header asks that callbacks and context outlive the
        // node.
        let journal = unsafe { Callbacks::new(raw::value(journal)?)? };
        // SAFETY: the caller's promise.
        let out = unsafe { raw::place(node)? };
        let (me, receiver) = (config.me()?, config.receiver()?);
        // SAFETY: the header asks that the memory is the node's until it is ended.
        let room = unsafe { Room::new(memory.cast(), len, NodePlan::new(limits)?)? };
        // SAFETY: the header asks that callback and context outlive the node.
        let generator = Generator::new(unsafe { Source::new(random)? })?;
        let answer_within = config.answer_within();
        out.put(room.fill(limits, |storage| Inner {
            node: Node::new(me, generator, storage),
            journal,
            answer_within,
            receiver,
            prepared: None,
        }));
        Ok(())
    })
}

/// Ends a node: its keys and tables are overwritten with zeros, and the memory is the caller's
/// again.
///
/// # Safety
/// As for all calls: `node` is null or memory of a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_end(node: *mut NodeHandle) -> Status {
    // SAFETY: the caller's promise.
    call(|| unsafe { Entered::new(node) }.map(Entered::end))
}

/// Accepts packets for a later epoch from now on, under the mix key of these 32 bytes, which are
/// copied. Takes the place of the key of the epoch before. One scalar multiplication.
///
/// # Safety
/// As for all calls; `secret` is null or valid for 32 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_prepare_epoch(
    node: *mut NodeHandle,
    epoch: u32,
    secret: *const u8,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, secret) = unsafe { (Entered::new(node)?, raw::value(secret.cast::<[u8; 32]>())?) };
        let key = MixKey::new(Secret::new(*secret));
        let public_key = key.public_key::<MoteCurve>();
        inner.node.prepare_epoch(Epoch(epoch), key)?;
        inner.prepared = Some((Epoch(epoch), public_key));
        Ok(())
    })
}

/// Makes the prepared epoch the current one, with the network of an opened document, until about
/// `ends_us` of the caller's clock, when the next document should be in force: the replay filter is
/// made to last until then. MOTEMIX_NEVER if nobody knows; then its places go to whoever comes
/// first. Nothing keeps `document` after the call. Finished headers are forgotten, messages in
/// flight stay.
///
/// # Safety
/// As for all calls; `document` is null or memory of a document, and so are the bytes it was opened
/// from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_begin_epoch(
    node: *mut NodeHandle,
    now_us: u64,
    ends_us: u64,
    document: *const Document,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, document) = unsafe { (Entered::new(node)?, opened(document)?) };
        let (epoch, me) = (document.epoch(), inner.node.id());
        let key = inner.prepared.filter(|(prepared, _)| *prepared == epoch).ok_or(Status::NotPrepared)?.1;
        let described = document.nodes().find(|node| node.id == me).ok_or(Status::UnknownNode)?;
        if described.mix_key != key {
            return Err(Status::KeyMismatch);
        }
        // From the first epoch on, headers are built for the receiver of the last message.
        let receiver = if inner.node.epoch().is_none() { inner.receiver } else { None };
        let config = motemix_node::Config::of_shared_channel(document.parameters())
            .with_answer_within(inner.answer_within)
            .with_receiver(receiver);
        let (now, ends) = (Instant::from_micros(now_us), Instant::from_micros(ends_us));
        Ok(inner.node.begin_epoch(now, epoch, ends, document.entries(), config)?)
    })
}

/// The current epoch, written to `epoch`. MOTEMIX_STATUS_NO_EPOCH if none has begun.
///
/// # Safety
/// As for all calls; `epoch` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_epoch(node: *mut NodeHandle, epoch: *mut u32) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (inner, out) = unsafe { (Entered::new(node)?, raw::place(epoch)?) };
        out.put(inner.node.epoch().ok_or(Status::NoEpoch)?.0);
        Ok(())
    })
}

/// Takes a datagram in: two scalar multiplications at most, three where two epochs meet. `from`
/// names the neighbour that it came from: any number that is the same for the same neighbour, such
/// as its link-layer address, so that none of them uses up the others' share. The bytes are
/// overwritten. MOTEMIX_STATUS_DROPPED if it goes no further; no answer to a peer may depend on it.
///
/// # Safety
/// As for all calls; `bytes` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_handle_datagram(
    node: *mut NodeHandle,
    now_us: u64,
    from: u64,
    bytes: *mut u8,
    len: usize,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, bytes) = unsafe { (Entered::new(node)?, raw::bytes_mut(bytes, len)?) };
        let Inner { node, journal, .. } = &mut *inner;
        let taken = node.handle_datagram(Instant::from_micros(now_us), LinkId(from), bytes, journal);
        taken.map_err(|_| Status::Dropped)
    })
}

/// Does what has become due: retries, cover, the end of an overlap of epochs. To be called when
/// motemix_node_poll_timeout says so; more often does no harm.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_handle_timeout(node: *mut NodeHandle, now_us: u64) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let mut inner = unsafe { Entered::new(node)? };
        inner.node.handle_timeout(Instant::from_micros(now_us));
        Ok(())
    })
}

/// When motemix_node_handle_timeout or motemix_node_poll_transmit has something to do next, in
/// microseconds of the caller's clock. MOTEMIX_STATUS_NOTHING if only a datagram or a message can
/// change anything.
///
/// # Safety
/// As for all calls; `at_us` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_poll_timeout(node: *mut NodeHandle, at_us: *mut u64) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (inner, out) = unsafe { (Entered::new(node)?, raw::place(at_us)?) };
        out.put(some(inner.node.poll_timeout())?.as_micros());
        Ok(())
    })
}

/// The next packet that is due, written to `out`, which has room for `len` bytes:
/// MOTEMIX_PACKET_LEN at least. Before anything leaves, the journal has all that was admitted.
/// MOTEMIX_STATUS_NOTHING if none is due, MOTEMIX_STATUS_JOURNAL_FAILED if the journal cannot be
/// written.
///
/// # Safety
/// As for all calls; `out` is null or valid for `len` bytes, `transmit` null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_poll_transmit(
    node: *mut NodeHandle,
    now_us: u64,
    out: *mut u8,
    len: usize,
    transmit: *mut Transmit,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, place) = unsafe { (Entered::new(node)?, raw::place(transmit)?) };
        if len < PACKET_LEN {
            return Err(Status::BufferTooSmall);
        }
        // SAFETY: the caller's promise. No more than a packet is touched.
        let out = unsafe { raw::bytes_mut(out, PACKET_LEN)? };
        let Inner { node, journal, .. } = &mut *inner;
        let due = some(node.poll_transmit(Instant::from_micros(now_us), journal, out)?)?;
        place.put(Transmit { to: due.to.get(), len: due.len as u16 });
        Ok(())
    })
}

/// The next thing that the application should know. MOTEMIX_STATUS_NOTHING if there is none. What
/// `event->data` points to lasts until the next call with this node.
///
/// # Safety
/// As for all calls; `event` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_poll_event(node: *mut NodeHandle, event: *mut Event) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, out) = unsafe { (Entered::new(node)?, raw::place(event)?) };
        loop {
            // An event that has no kind here does not concern the caller.
            if let Some(event) = Event::of_node(some(inner.node.poll_event())?) {
                out.put(event);
                return Ok(());
            }
        }
    })
}

/// Accepts a message of `len` bytes for node `to`; they are copied. It leaves when a header is
/// ready, see motemix_node_work. Writes the message's number to `message`, for the event that ends
/// it.
///
/// # Safety
/// As for all calls; `data` is null or valid for `len` bytes, `message` null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_send(
    node: *mut NodeHandle,
    now_us: u64,
    to: u16,
    data: *const u8,
    len: usize,
    message: *mut u64,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, out) = unsafe { (Entered::new(node)?, raw::place(message)?) };
        // SAFETY: the caller's promise.
        let data = unsafe { raw::bytes(data, len)? };
        let to = NodeId::new(to).ok_or(Status::UnknownReceiver)?;
        out.put(inner.node.send(Instant::from_micros(now_us), to, data)?.number());
        Ok(())
    })
}

/// Replies to a received message with `len` bytes; without any it is an acknowledgement. Only now
/// does the sender learn that the message arrived: make it safe first.
///
/// # Safety
/// As for all calls; `data` is null or valid for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_reply(
    node: *mut NodeHandle,
    now_us: u64,
    token: u64,
    data: *const u8,
    len: usize,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, data) = unsafe { (Entered::new(node)?, raw::bytes(data, len)?) };
        Ok(inner.node.reply(Instant::from_micros(now_us), ReceiptToken::from_bits(token), data)?)
    })
}

/// Lets go of a received message that cannot be made safe. Its sender tries again.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_refuse(node: *mut NodeHandle, token: u64) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let mut inner = unsafe { Entered::new(node)? };
        Ok(inner.node.refuse(ReceiptToken::from_bits(token))?)
    })
}

/// Builds headers when there is nothing else to do: one scalar multiplication a call, the longest
/// that any call takes without an answer. MOTEMIX_STATUS_OK if there is more to do,
/// MOTEMIX_STATUS_NOTHING if not.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_work(node: *mut NodeHandle, now_us: u64) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let mut inner = unsafe { Entered::new(node)? };
        inner.node.work(Instant::from_micros(now_us)).then_some(()).ok_or(Status::Nothing)
    })
}

/// Puts back what the journal kept before a restart, once its epoch is prepared or begun. Other
/// epochs are passed over. MOTEMIX_STATUS_FILTER_FULL if the memory is smaller than it was: packets
/// that are not put back could pass again, so the node must not run.
///
/// # Safety
/// As for all calls; `admitted` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_restore_admitted(
    node: *mut NodeHandle,
    admitted: *const Admitted,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (mut inner, admitted) = unsafe { (Entered::new(node)?, raw::value(admitted)?) };
        let digest = Digest::from_short(admitted.digest);
        let admitted = motemix_node::Admitted { epoch: Epoch(admitted.epoch), digest };
        inner.node.restore_admitted(admitted).map_err(|_| Status::FilterFull)
    })
}

/// Stops or resumes this node's own cover traffic. What it forwards goes on.
///
/// # Safety
/// As for all calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_set_cover(node: *mut NodeHandle, now_us: u64, on: bool) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let mut inner = unsafe { Entered::new(node)? };
        inner.node.set_cover(Instant::from_micros(now_us), on);
        Ok(())
    })
}

/// Messages that motemix_node_send accepted and whose end was not polled yet.
///
/// # Safety
/// As for all calls; `messages` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_in_flight(node: *mut NodeHandle, messages: *mut usize) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (inner, out) = unsafe { (Entered::new(node)?, raw::place(messages)?) };
        out.put(inner.node.in_flight());
        Ok(())
    })
}

/// How many packets the current epoch's replay filter has admitted, and how many it can in all.
///
/// # Safety
/// As for all calls; `admitted` and `most` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_replay_filter_fill(
    node: *mut NodeHandle,
    admitted: *mut usize,
    most: *mut usize,
) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (inner, admitted, most) =
            unsafe { (Entered::new(node)?, raw::place(admitted)?, raw::place(most)?) };
        let fill = inner.node.replay_fill().current;
        admitted.put(fill.tags as usize);
        most.put(fill.capacity as usize);
        Ok(())
    })
}

/// What happened so far.
///
/// # Safety
/// As for all calls; `counters` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn motemix_node_counters(node: *mut NodeHandle, counters: *mut Counters) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (inner, out) = unsafe { (Entered::new(node)?, raw::place(counters)?) };
        out.put(inner.node.counters().into());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use core::ptr;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    const LIMITS: Limits = Limits {
        packets: 2,
        replay: 128,
        window: 4,
        messages: 1,
        returns: 2,
        headers: 1,
        nodes: 3,
        document: 0,
        neighbours: 0,
    };
    const CONFIG: Config = Config { answer_within_us: 0, id: 0, receiver: crate::NO_NODE };

    unsafe extern "C" fn fill(_: *mut c_void, out: *mut u8, len: usize) -> core::ffi::c_int {
        // SAFETY: the library lends `len` bytes.
        let out = unsafe { core::slice::from_raw_parts_mut(out, len) };
        out.iter_mut().zip(7..).for_each(|(byte, value)| *byte = value);
        0
    }

    fn memory() -> Vec<u64> {
        // SAFETY: the limits are a constant.
        vec![0; unsafe { motemix_node_size(&LIMITS) }.div_ceil(8)]
    }

    /// Miri runs these: they multiply no points, and touch every table.
    #[test]
    fn a_node_lives_in_exactly_the_memory_that_it_asks_for() {
        let mut memory = memory();
        let mut node: *mut NodeHandle = ptr::null_mut();
        let random = Random { fill: Some(fill), context: ptr::null_mut() };
        let journal = crate::motemix_no_journal();
        let mut event = core::mem::MaybeUninit::uninit();
        let mut counters = core::mem::MaybeUninit::uninit();
        let mut at_us = 0;
        let mut datagram = [0; PACKET_LEN];
        // SAFETY: all pointers are to places above.
        unsafe {
            let bytes = memory.len() * 8;
            let made = motemix_node_new(
                memory.as_mut_ptr().cast(),
                bytes,
                &LIMITS,
                &CONFIG,
                &raw const random,
                &raw const journal,
                &raw mut node,
            );
            assert_eq!(made, Status::Ok);
            assert_eq!(
                motemix_node_handle_datagram(node, 5, 9, datagram.as_mut_ptr(), PACKET_LEN),
                Status::Dropped
            );
            assert_eq!(motemix_node_poll_event(node, event.as_mut_ptr()), Status::Nothing);
            assert_eq!(motemix_node_handle_timeout(node, 6), Status::Ok);
            assert_eq!(motemix_node_poll_timeout(node, &raw mut at_us), Status::Nothing);
            assert_eq!(motemix_node_counters(node, counters.as_mut_ptr()), Status::Ok);
            assert_eq!(counters.assume_init().dropped.iter().sum::<u64>(), 1);
            assert_eq!(motemix_node_end(node), Status::Ok);
            assert_eq!(motemix_node_end(node), Status::NotANode);
        }
        assert!(memory.iter().all(|word| *word == 0), "an ended node leaves nothing behind");
    }

    #[test]
    fn a_node_in_a_call_is_busy_and_stays_sound() {
        let mut memory = memory();
        let mut node: *mut NodeHandle = ptr::null_mut();
        let random = Random { fill: Some(fill), context: ptr::null_mut() };
        let journal = crate::motemix_no_journal();
        // SAFETY: all pointers are to places above.
        unsafe {
            let bytes = memory.len() * 8;
            let made = motemix_node_new(
                memory.as_mut_ptr().cast(),
                bytes,
                &LIMITS,
                &CONFIG,
                &raw const random,
                &raw const journal,
                &raw mut node,
            );
            assert_eq!(made, Status::Ok);
            let mut inner = Entered::new(node).expect("a node");
            assert_eq!(motemix_node_handle_timeout(node, 0), Status::Busy);
            // The call that was there first goes on as if nothing had happened.
            inner.prepared = None;
            drop(inner);
            assert_eq!(motemix_node_handle_timeout(node, 0), Status::Ok);
            assert_eq!(motemix_node_end(node), Status::Ok);
        }
    }
}
