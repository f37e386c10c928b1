//! A node in the caller's memory: laid out, recognised, ended.

use core::ptr::NonNull;

use motemix_crypto::PublicKey;
use motemix_directory::Epoch;
use motemix_node::{Node, Storage};

use crate::entered::{Entered, Handle};
use crate::generator::Generator;
use crate::journal::Callbacks;
use crate::limits::{Motes, NODE_ALIGN};
use crate::status::Status;
use crate::tables::NodePlan;

/// A node. Only the library knows what is in it.
pub struct NodeHandle {
    /// See [`Handle::state`].
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

/// Memory for a node, checked for size and alignment.
pub(crate) struct Room {
    begin: NonNull<u8>,
    plan: NodePlan,
}

impl Room {
    /// # Safety
    /// `memory` is null, or `len` bytes can be read and written there for as long as the node
    /// lives, and nobody else does so.
    pub(crate) unsafe fn new(memory: *mut u8, len: usize, plan: NodePlan) -> Result<Self, Status> {
        let begin = NonNull::new(memory).ok_or(Status::Null)?;
        if !begin.addr().get().is_multiple_of(NODE_ALIGN) {
            return Err(Status::Misaligned);
        }
        if len < plan.size {
            return Err(Status::MemoryTooSmall);
        }
        Ok(Self { begin, plan })
    }

    /// Makes tables, and the node that `make` makes of them.
    pub(crate) fn fill(
        self,
        limits: &crate::limits::Limits,
        make: impl FnOnce(Storage<'static, Motes>) -> Inner,
    ) -> *mut NodeHandle {
        // SAFETY: the plan was made with these limits, `Room::new` found the memory as large as it
        // says, and nothing else uses it. It outlives the node by the promise to `Room::new`.
        let storage = unsafe { self.plan.tables.fill(self.begin, limits) };
        let handle = self.begin.cast::<NodeHandle>().as_ptr();
        let inner = make(storage);
        // SAFETY: the plan begins with the handle; `Room::new` checked size and alignment.
        unsafe { handle.write(NodeHandle { state: NodeHandle::READY, size: self.plan.size, inner }) };
        handle
    }
}

// SAFETY: two fields.
unsafe impl Handle for NodeHandle {
    type Inner = Inner;
    const READY: u32 = 0x6d6f_7465;
    const ENTERED: u32 = 0x6d6f_7466;
    const ABSENT: Status = Status::NotANode;

    unsafe fn state(handle: *mut Self) -> *mut u32 {
        // SAFETY: the caller's promise.
        unsafe { &raw mut (*handle).state }
    }

    unsafe fn inner(handle: *mut Self) -> *mut Inner {
        // SAFETY: the caller's promise.
        unsafe { &raw mut (*handle).inner }
    }
}

impl Entered<NodeHandle> {
    /// Wipes the node and all of its tables.
    pub(crate) fn end(self) {
        // SAFETY: a node is there, and has the size that it was made with. Dropping it wipes what
        // it holds; the tables behind it hold nothing but bytes.
        unsafe {
            let size = (&raw const (*self.handle()).size).read();
            self.wipe(size);
        }
    }
}
