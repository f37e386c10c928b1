//! Where the tables of a node lie in lent memory, and what is in them at first.

use core::alloc::{Layout, LayoutError};
use core::mem::align_of;
use core::ptr::NonNull;
use core::slice;

use motemix_directory::Entry;
use motemix_node::{FingerprintBits, HeaderSlot, MessageSlot, NoPaths, PacketSlot, ReturnSlot, Storage};

use crate::handle::NodeHandle;
use crate::limits::{LOOPS, Limits, Motes};
use crate::status::Status;

/// Where the tables lie, in bytes from the beginning of the memory.
pub(crate) struct TablePlan {
    packets: usize,
    schedule: usize,
    replay: usize,
    window: [usize; 2],
    messages: usize,
    returns: usize,
    headers: usize,
    loops: usize,
    nodes: usize,
}

impl TablePlan {
    /// Tables behind what is there already, and where they end. Large alignments first, so that
    /// nothing is lost between them.
    pub(crate) fn after(first: Layout, limits: &Limits) -> Result<(Self, Layout), LayoutError> {
        let mut end = first;
        let mut table = |layout: Result<Layout, LayoutError>| -> Result<usize, LayoutError> {
            let (extended, offset) = end.extend(layout?)?;
            end = extended;
            Ok(offset)
        };
        let window = usize::from(limits.window);
        let plan = Self {
            loops: table(Layout::array::<u64>(LOOPS))?,
            window: [table(Layout::array::<u64>(window))?, table(Layout::array::<u64>(window))?],
            packets: table(Layout::array::<PacketSlot<Motes>>(limits.packets.into()))?,
            messages: table(Layout::array::<MessageSlot<Motes>>(limits.messages.into()))?,
            returns: table(Layout::array::<ReturnSlot<Motes>>(limits.returns.into()))?,
            headers: table(Layout::array::<HeaderSlot<Motes>>(limits.headers.into()))?,
            schedule: table(Layout::array::<u32>(limits.packets.into()))?,
            nodes: table(Layout::array::<Entry>(limits.nodes.into()))?,
            replay: table(Layout::array::<u8>(limits.replay.into()))?,
        };
        Ok((plan, end))
    }

    /// Empty tables.
    ///
    /// # Safety
    /// The plan was made with these limits; at `begin` is memory as large as its layout says, and
    /// aligned for it; and nobody else uses the tables' part of it for as long as the storage
    /// lives.
    pub(crate) unsafe fn fill(&self, begin: NonNull<u8>, limits: &Limits) -> Storage<'static, Motes> {
        let window = limits.window;
        // SAFETY: each offset is the plan's for this table with these limits.
        unsafe {
            Storage {
                packets: table(begin, self.packets, limits.packets, PacketSlot::new),
                schedule: table(begin, self.schedule, limits.packets, || 0),
                replay: table(begin, self.replay, limits.replay, || 0),
                fingerprint: FingerprintBits::BOARD,
                window: [
                    table(begin, self.window[0], window, || 0),
                    table(begin, self.window[1], window, || 0),
                ],
                messages: table(begin, self.messages, limits.messages, MessageSlot::new),
                returns: table(begin, self.returns, limits.returns, ReturnSlot::new),
                headers: table(begin, self.headers, limits.headers, HeaderSlot::new),
                loops: table(begin, self.loops, LOOPS as u16, || 0),
                nodes: table(begin, self.nodes, limits.nodes, Entry::default),
                paths: NoPaths,
            }
        }
    }
}

/// A table of `len` values, `offset` bytes behind `begin`.
///
/// # Safety
/// As many values of `T` can be written there, aligned, and nobody else uses the place for as long
/// as the slice lives.
unsafe fn table<T>(begin: NonNull<u8>, offset: usize, len: u16, make: impl Fn() -> T) -> &'static mut [T] {
    debug_assert!(offset.is_multiple_of(align_of::<T>()));
    // SAFETY: the caller's promise.
    let first = unsafe { begin.add(offset) }.cast::<T>();
    for at in 0..usize::from(len) {
        // SAFETY: the caller's promise.
        unsafe { first.add(at).write(make()) };
    }
    // SAFETY: just written; nobody else uses it.
    unsafe { slice::from_raw_parts_mut(first.as_ptr(), len.into()) }
}

/// A node and its tables.
pub(crate) struct NodePlan {
    pub(crate) tables: TablePlan,
    /// Bytes of all of it.
    pub(crate) size: usize,
}

impl NodePlan {
    pub(crate) fn new(limits: &Limits) -> Result<Self, Status> {
        limits.check()?;
        let (tables, end) =
            TablePlan::after(Layout::new::<NodeHandle>(), limits).map_err(|_| Status::BadLimits)?;
        Ok(Self { tables, size: end.pad_to_align().size() })
    }
}
