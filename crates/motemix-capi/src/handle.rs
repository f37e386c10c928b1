//! A node in the caller's memory: laid out, recognised, entered by one call at a time, ended.

use core::mem::{align_of, size_of};
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};
use core::slice;

use motemix_crypto::PublicKey;
use motemix_directory::{Entry, Epoch};
use motemix_node::{FingerprintBits, HeaderSlot, MessageSlot, Node, PacketSlot, ReturnSlot, Storage};

use crate::generator::Generator;
use crate::journal::Callbacks;
use crate::limits::{LOOPS, Motes, NODE_ALIGN, Plan};
use crate::status::Status;

/// A node. Only the library knows what is in it.
pub struct NodeHandle {
    /// [`READY`], [`ENTERED`], or anything else where there is no node.
    state: u32,
    /// Bytes of the node and its tables.
    size: usize,
    inner: Inner,
}

/// What the calls work with.
pub(crate) struct Inner {
    pub(crate) node: Node<'static, Motes, Generator>,
    pub(crate) journal: Callbacks,
    pub(crate) answer_within: core::time::Duration,
    /// Headers are built for it before the first message.
    pub(crate) receiver: Option<motemix_sphinx::NodeId>,
    /// The key that the network document must have for this node.
    pub(crate) prepared: Option<(Epoch, PublicKey)>,
}

/// Unlikely in memory that no node was made in.
const READY: u32 = 0x6d6f_7465;
const ENTERED: u32 = 0x6d6f_7466;

/// Memory for a node, checked for size and alignment.
pub(crate) struct Room {
    begin: NonNull<u8>,
    plan: Plan,
}

impl Room {
    /// # Safety
    /// `memory` is null, or `len` bytes can be read and written there for as long as the node
    /// lives, and nobody else does so.
    pub(crate) unsafe fn new(memory: *mut u8, len: usize, plan: Plan) -> Result<Self, Status> {
        let begin = NonNull::new(memory).ok_or(Status::Null)?;
        if !begin.addr().get().is_multiple_of(NODE_ALIGN) {
            return Err(Status::Misaligned);
        }
        if len < plan.size {
            return Err(Status::MemoryTooSmall);
        }
        Ok(Self { begin, plan })
    }

    /// A table of `len` values, at the offset that the plan has for it.
    ///
    /// # Safety
    /// `offset` is that of a table of `len` values of `T` in this room's plan, and is used once.
    unsafe fn table<T>(&self, offset: usize, len: u16, make: impl Fn() -> T) -> &'static mut [T] {
        debug_assert!(offset.is_multiple_of(align_of::<T>()));
        // SAFETY: the plan's tables lie inside its size, `Room::new` found the memory that large.
        let first = unsafe { self.begin.add(offset) }.cast::<T>();
        for at in 0..usize::from(len) {
            // SAFETY: as above; the plan aligns each table, on top of memory aligned for all of
            // them.
            unsafe { first.add(at).write(make()) };
        }
        // SAFETY: just written; the plan's tables do not overlap, and nothing else uses this one.
        // The memory outlives the node by the promise to `Room::new`, and the slice is in the node.
        unsafe { slice::from_raw_parts_mut(first.as_ptr(), len.into()) }
    }

    /// Makes tables, and the node that `make` makes of them.
    pub(crate) fn fill(
        self,
        limits: &crate::limits::Limits,
        make: impl FnOnce(Storage<'static, Motes>) -> Inner,
    ) -> *mut NodeHandle {
        let (plan, window) = (&self.plan, limits.window);
        // SAFETY: each offset is the plan's for this table with these limits, from which it was
        // made.
        let storage = unsafe {
            Storage {
                packets: self.table(plan.packets, limits.packets, PacketSlot::new),
                schedule: self.table(plan.schedule, limits.packets, || 0),
                replay: self.table(plan.replay, limits.replay, || 0),
                fingerprint: FingerprintBits::BOARD,
                window: [self.table(plan.window[0], window, || 0), self.table(plan.window[1], window, || 0)],
                messages: self.table(plan.messages, limits.messages, MessageSlot::new),
                returns: self.table(plan.returns, limits.returns, ReturnSlot::new),
                headers: self.table(plan.headers, limits.headers, HeaderSlot::new),
                loops: self.table(plan.loops, LOOPS as u16, || 0),
                nodes: self.table(plan.nodes, limits.nodes, Entry::default),
            }
        };
        let handle = self.begin.cast::<NodeHandle>().as_ptr();
        let inner = make(storage);
        // SAFETY: the plan begins with the handle; `Room::new` checked size and alignment.
        unsafe { handle.write(NodeHandle { state: READY, size: self.plan.size, inner }) };
        handle
    }
}

/// A node during one call. Leaving the call makes it ready for the next.
pub(crate) struct Entered {
    handle: NonNull<NodeHandle>,
}

impl Entered {
    /// # Safety
    /// `handle` is null, or memory of a node: made by [`Room::fill`], ended, or never made but
    /// readable. Calls come from one thread at a time.
    pub(crate) unsafe fn new(handle: *mut NodeHandle) -> Result<Self, Status> {
        let handle = NonNull::new(handle).ok_or(Status::Null)?;
        if !handle.is_aligned() {
            return Err(Status::Misaligned);
        }
        // SAFETY: not null, aligned, readable by the caller's promise. Through the pointer, because
        // a call that this one interrupts holds a reference to `inner`.
        let state = unsafe { ptr::addr_of!((*handle.as_ptr()).state).read() };
        match state {
            READY => {
                // SAFETY: a node is there, so its state can be written.
                unsafe { ptr::addr_of_mut!((*handle.as_ptr()).state).write(ENTERED) };
                Ok(Self { handle })
            }
            ENTERED => Err(Status::Busy),
            _ => Err(Status::NotANode),
        }
    }

    /// Wipes the node and all of its tables.
    pub(crate) fn end(self) {
        let handle = self.handle.as_ptr();
        core::mem::forget(self);
        // SAFETY: the state said that a node is there, and that no other call is in it. Dropping
        // wipes what the node holds; the tables hold nothing but bytes, which are overwritten.
        unsafe {
            let size = ptr::addr_of!((*handle).size).read();
            debug_assert!(size >= size_of::<NodeHandle>());
            ptr::drop_in_place(handle);
            ptr::write_bytes(handle.cast::<u8>(), 0, size);
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // SAFETY: a node is there, as in `new`.
        unsafe { ptr::addr_of_mut!((*self.handle.as_ptr()).state).write(READY) };
    }
}

impl Deref for Entered {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        // SAFETY: a node is there, and its state keeps other calls out.
        unsafe { &*ptr::addr_of!((*self.handle.as_ptr()).inner) }
    }
}

impl DerefMut for Entered {
    fn deref_mut(&mut self) -> &mut Inner {
        // SAFETY: a node is there, and its state keeps other calls out.
        unsafe { &mut *ptr::addr_of_mut!((*self.handle.as_ptr()).inner) }
    }
}
