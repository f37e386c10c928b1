//! Where the parts of a mote lie in the caller's memory.

use core::alloc::{Layout, LayoutError};
use core::mem::size_of;

use motemix_directory::Entry;
use motemix_link::sessions::SessionSlot;
use motemix_mote::Route;

use super::memory::{MoteHandle, MoteOfC, RunningOfC};
use super::neighbours::Neighbours;
use crate::generator::Generator;
use crate::limits::{ENTRY_SIZE, Limits, MOTE_BASE_SIZE, NEIGHBOURS_SIZE, NODE_ALIGN, SESSION_SIZE};
use crate::status::Status;
use crate::tables::TablePlan;

/// Bytes for one node of the network, beside MOTEMIX_ENTRY_SIZE.
pub const ROUTE_SIZE: usize = 26;

const _: () = {
    let parts = size_of::<MoteHandle>()
        + size_of::<MoteOfC>()
        + size_of::<Generator>()
        + size_of::<RunningOfC>()
        + crate::limits::LOOPS * size_of::<u64>();
    // The beginning of each is rounded up, and the end of the last.
    assert!(parts + 6 * NODE_ALIGN <= MOTE_BASE_SIZE);
    // As are those of what makes keys.
    assert!(size_of::<Neighbours>() + 2 * NODE_ALIGN <= NEIGHBOURS_SIZE);
    assert!(size_of::<SessionSlot>() <= SESSION_SIZE);
    assert!(size_of::<Route>() == ROUTE_SIZE && size_of::<Entry>() == ENTRY_SIZE);
};

/// Where the parts lie, in bytes from the beginning of the memory.
pub(super) struct MotePlan {
    pub(super) mote: usize,
    pub(super) generator: usize,
    pub(super) running: usize,
    pub(super) tables: TablePlan,
    /// Where there is no place for a session, this has none either.
    pub(super) neighbours: usize,
    pub(super) sessions: usize,
    pub(super) routes: usize,
    pub(super) document: usize,
    /// Bytes of all of it.
    pub(super) size: usize,
}

impl MotePlan {
    pub(super) fn new(limits: &Limits) -> Result<Self, Status> {
        // The store keeps no digests of other filters whole.
        if limits.document == 0 || !motemix_mote::Limits::has_whole_digests(limits.replay.into()) {
            return Err(Status::BadLimits);
        }
        limits.check()?;
        Self::lay_out(limits).map_err(|_| Status::BadLimits)
    }

    fn lay_out(limits: &Limits) -> Result<Self, LayoutError> {
        let (end, mote) = Layout::new::<MoteHandle>().extend(Layout::new::<MoteOfC>())?;
        let (end, generator) = end.extend(Layout::new::<Generator>())?;
        let (end, running) = end.extend(Layout::new::<RunningOfC>())?;
        let (tables, end) = TablePlan::after(end, limits)?;
        let few = usize::from(limits.neighbours.min(1));
        let (end, neighbours) = end.extend(Layout::array::<Neighbours>(few)?)?;
        let (end, sessions) = end.extend(Layout::array::<SessionSlot>(limits.neighbours.into())?)?;
        let (end, routes) = end.extend(Layout::array::<Route>(limits.nodes.into())?)?;
        let (end, document) = end.extend(Layout::array::<u8>(limits.document.into())?)?;
        let size = end.pad_to_align().size();
        Ok(Self { mote, generator, running, tables, neighbours, sessions, routes, document, size })
    }
}
