//! A mote in the caller's memory: laid out, recognised, ended.
//!
//! ```text
//! handle │ mote │ generator │ running │ tables │ neighbours │ sessions │ routes │ network document
//! ```
//!
//! A mote that runs is borrowed by `running`, so none of these parts is inside another: the handle
//! knows where they are. `running` is there between `start` and `stop`, and with it, on a network
//! whose links are protected, `neighbours`, which borrows the sessions.

use core::mem::MaybeUninit;
use core::net::SocketAddrV6;
use core::ptr::{self, NonNull};
use core::slice;

use motemix_link::counters::{LinkCounters, LinkDrop};
use motemix_link::sessions::{SessionSlot, station_at};
use motemix_mote::{Mote, Next, PlaceInNetwork, Route, Running, StartAsked};
use motemix_node::{Instant, Storage, Window, WindowKey};

use super::draws::Draws;
use super::ear::Ear;
use super::flash::{Callbacks, layout};
use super::link::{Sockets, Waiting};
use super::neighbours::Neighbours;
use super::plan::MotePlan;
use super::platform::Platform;
use super::readings::Lent;
use crate::entered::{Entered, Handle};
use crate::generator::Generator;
use crate::limits::{Limits, Motes, NODE_ALIGN, PACKET_LEN};
use crate::random::Source;
use crate::status::Status;
use crate::wiped::{self, zeroize_stack};

pub(super) type MoteOfC = Mote<Motes, Callbacks, Draws>;
pub(super) type RunningOfC = Running<'static, Motes, Callbacks, Draws>;

/// A mote. Only the library knows what is in it.
pub struct MoteHandle {
    /// See [`Handle::state`].
    state: u32,
    inner: Inner,
}

/// What the calls work with.
pub(crate) struct Inner {
    begin: NonNull<u8>,
    plan: MotePlan,
    limits: Limits,
    pub(super) platform: Platform,
    pub(super) link: LinkCounters,
    pub(super) runs: bool,
    /// Whether `neighbours` is there.
    protects_links: bool,
    /// The mote's own readings, if it signs any.
    pub(super) readings: Option<Lent>,
}

/// The bytes that a mote with these limits needs.
pub(super) fn size(limits: &Limits) -> Result<usize, Status> {
    MotePlan::new(limits).map(|plan| plan.size)
}

/// Makes a mote in lent memory, which opens its flash.
///
/// # Safety
/// `memory` is null, or `len` bytes can be read and written there for as long as the mote lives,
/// and nobody else does so. The callbacks can be called for as long.
pub(super) unsafe fn open(
    memory: *mut u8,
    len: usize,
    limits: &Limits,
    platform: &Platform,
) -> Result<*mut MoteHandle, Status> {
    let plan = MotePlan::new(limits)?;
    let begin = NonNull::new(memory).ok_or(Status::Null)?;
    if !begin.addr().get().is_multiple_of(NODE_ALIGN) {
        return Err(Status::Misaligned);
    }
    if len < plan.size {
        return Err(Status::MemoryTooSmall);
    }
    platform.send.ok_or(Status::Null)?;
    // SAFETY: the caller's promise.
    let (source, flash) = unsafe { (Source::new(&platform.random)?, Callbacks::new(&platform.flash)?) };
    let generator = Generator::new(source)?;
    let inner = Inner {
        begin,
        plan,
        limits: *limits,
        platform: *platform,
        link: LinkCounters::default(),
        runs: false,
        protects_links: false,
        readings: None,
    };
    // SAFETY: the plan has room for a generator there, in memory that is the mote's.
    let draws = unsafe {
        let place = inner.part::<Generator>(inner.plan.generator);
        place.write(generator);
        Draws::new(place)
    };
    let mote = Mote::new(flash, layout(&platform.flash), draws);
    match mote {
        Ok(mote) => {
            let handle = begin.cast::<MoteHandle>().as_ptr();
            // SAFETY: the plan begins with the handle and has room for a mote, in memory that is
            // the mote's.
            unsafe {
                inner.part::<MoteOfC>(inner.plan.mote).write(mote);
                handle.write(MoteHandle { state: MoteHandle::READY, inner });
            }
            Ok(handle)
        }
        Err(error) => {
            // SAFETY: written above, and nobody has a handle any more.
            unsafe { inner.part::<Generator>(inner.plan.generator).drop_in_place() };
            Err(error.into())
        }
    }
}

impl Inner {
    /// Where a part lies.
    ///
    /// # Safety
    /// `offset` is that of a part of this type in the plan.
    unsafe fn part<T>(&self, offset: usize) -> NonNull<T> {
        // SAFETY: the plan's parts lie inside its size, `open` found the memory that large, and the
        // plan aligns each, on top of memory aligned for all of them.
        unsafe { self.begin.add(offset) }.cast()
    }

    /// The memory for a network document. It is used by nobody while the mote stands, and by
    /// `running` alone while it runs.
    ///
    /// # Safety
    /// Nobody else uses it during `'a`.
    pub(super) unsafe fn document<'a>(&self) -> &'a mut [u8] {
        // SAFETY: the plan has as many bytes there, and the caller promises that they are free.
        unsafe {
            let first = self.part::<u8>(self.plan.document);
            slice::from_raw_parts_mut(first.as_ptr(), self.limits.document.into())
        }
    }

    /// The mote, while it stands.
    pub(super) fn standing(&mut self) -> Result<&mut MoteOfC, Status> {
        if self.runs {
            return Err(Status::Runs);
        }
        // SAFETY: `open` wrote it, and only `running` borrows it besides, which is not there.
        Ok(unsafe { self.part(self.plan.mote).as_mut() })
    }

    /// The mote, while it runs.
    pub(super) fn running(&mut self) -> Result<&mut RunningOfC, Status> {
        if !self.runs {
            return Err(Status::Stands);
        }
        // SAFETY: `start` wrote it before it set `runs`.
        Ok(unsafe { self.part(self.plan.running).as_mut() })
    }

    pub(super) fn set_address(&mut self, address: SocketAddrV6) -> Result<(), Status> {
        self.standing()?.set_reached_at(address);
        Ok(())
    }

    /// Runs the node.
    pub(super) fn start(&mut self, now: Instant) -> Result<(), Status> {
        if self.runs {
            return Err(Status::Runs);
        }
        Ok(self.begin(now, StartAsked::without_console())?)
    }

    #[inline(never)]
    pub(super) fn begin(&mut self, now: Instant, asked: StartAsked) -> Result<(), motemix_mote::Refusal> {
        // SAFETY: the mote stands, so both are free; `running`, which borrows them from here on, is
        // dropped before anybody else uses them, or before they go.
        let (mote, scratch) = unsafe {
            let mote: &'static mut MoteOfC = self.part(self.plan.mote).as_mut();
            let scratch: &'static mut [u8] = self.document();
            (mote, scratch)
        };
        let place = mote.admit(asked, now, scratch)?;
        if let Some(readings) = self.readings {
            // SAFETY: nobody else uses them during this call.
            unsafe { readings.get() }.begin();
        }
        if self.limits.neighbours == 0 {
            place.needs_plain_links()?;
        }
        let (key, (storage, routes)) = (mote.draw_window_key(), self.tables());
        if place.protects_links() {
            self.make_neighbours(&place);
        }
        // SAFETY: the plan has room for it there; what was there is over.
        let running = unsafe { self.part::<MaybeUninit<RunningOfC>>(self.plan.running).as_mut() };
        let running = make_running(running, mote, &place, storage, routes, key);
        // SAFETY: just written.
        let started = unsafe { (*running).start(now, &place) };
        drop(place);
        self.runs = true;
        if let Err(refusal) = started {
            self.stop();
            return Err(refusal);
        }
        self.link = LinkCounters::default();
        // SAFETY: the network document in it was dropped, and from now on it is `running`'s.
        unsafe { (*running).lend_document(self.document()) };
        if super::EXCHANGES {
            // SAFETY: written above, and used by nobody else.
            unsafe { (*running).exchange_documents(now) };
        }
        Ok(())
    }

    /// Empty tables.
    #[inline(never)]
    fn tables(&self) -> (Storage<'static, Motes>, &'static mut [Route]) {
        // SAFETY: the plan has these tables at these places, and nothing uses them: `running` is
        // not there.
        unsafe {
            let storage = self.plan.tables.fill(self.begin, &self.limits);
            let first = self.part::<Route>(self.plan.routes);
            let routes = usize::from(self.limits.nodes);
            for at in 0..routes {
                first.add(at).write(Route::NONE);
            }
            (storage, slice::from_raw_parts_mut(first.as_ptr(), routes))
        }
    }

    /// Writes what makes keys with neighbours to its place.
    // Not inlined: it is made on the stack, which must not lie beneath a start.
    #[inline(never)]
    fn make_neighbours(&mut self, place: &PlaceInNetwork<'_>) {
        // SAFETY: the plan has room for as many sessions there, and for what borrows them; nothing
        // uses either, because the mote stood until now. The generator is used by nobody meanwhile.
        unsafe {
            let first = self.part::<SessionSlot>(self.plan.sessions);
            let count = usize::from(self.limits.neighbours);
            for at in 0..count {
                first.add(at).write(SessionSlot::FREE);
            }
            let slots = slice::from_raw_parts_mut(first.as_ptr(), count);
            let mut draws = Draws::new(self.part(self.plan.generator));
            let neighbours = Neighbours::new(place.address(), slots, &mut draws);
            self.part::<Neighbours>(self.plan.neighbours).write(neighbours);
        }
        self.protects_links = true;
    }

    /// What makes keys with neighbours, on a network whose links are protected.
    ///
    /// # Safety
    /// Nobody else uses it during `'a`.
    unsafe fn neighbours<'a>(&self) -> Option<&'a mut Neighbours> {
        // SAFETY: `make_neighbours` wrote it before it set `protects_links`; the caller's promise.
        self.protects_links.then(|| unsafe { self.part(self.plan.neighbours).as_mut() })
    }

    /// Ends the node and all messages under way, and wipes all that it worked with.
    // Not inlined: it must not lie on the stack beneath a round.
    #[inline(never)]
    pub(super) fn stop(&mut self) {
        let platform = self.platform;
        let mut ear = Ear { platform: &platform, readings: self.readings };
        if let Ok(running) = self.running() {
            running.give_up_messages(&mut ear);
        }
        self.wipe_running();
    }

    /// Wipes all that a node that runs works with.
    fn wipe_running(&mut self) {
        if !core::mem::take(&mut self.runs) {
            return;
        }
        // SAFETY: no call uses it any more.
        if let Some(neighbours) = unsafe { self.neighbours() } {
            neighbours.forget_sessions();
            // SAFETY: `make_neighbours` wrote it; nobody uses it any more.
            unsafe { self.part::<Neighbours>(self.plan.neighbours).drop_in_place() };
        }
        self.protects_links = false;
        // SAFETY: `begin` wrote it; nobody uses it any more. What follows it in the plan holds
        // nothing but bytes now, and nobody borrows them.
        unsafe {
            self.part::<RunningOfC>(self.plan.running).drop_in_place();
            let rest = self.plan.size - self.plan.running;
            ptr::write_bytes(self.begin.add(self.plan.running).as_ptr(), 0, rest);
        }
    }

    /// Takes a datagram in.
    pub(super) fn handle_datagram(
        &mut self,
        now: Instant,
        from: SocketAddrV6,
        bytes: &[u8],
    ) -> Result<(), Status> {
        let platform = self.platform;
        let has_turned = self.turn(now, &platform)?;
        let mut waiting = Some(Waiting { from: station_at(from), bytes });
        // The number of a neighbour's address can be that of others' as well.
        if self.protects_links && !self.running()?.has_node_at(from) {
            self.link.drop(LinkDrop::Stranger);
            waiting = None;
        }
        let mut taken = Ok(());
        while taken.is_ok() && (waiting.is_some() || self.has_handshake()) {
            taken = match self.round(now, &platform, &mut waiting) {
                Ok(Next::Stop) => Err(Status::Stands),
                Ok(_) => Ok(()),
                Err(status) => Err(status),
            };
        }
        wipe_turn(has_turned);
        taken
    }

    /// Whether a message of a handshake came in that the next round looks at.
    fn has_handshake(&self) -> bool {
        // SAFETY: nobody else uses it during this look.
        unsafe { self.neighbours() }.is_some_and(|neighbours| neighbours.sessions.has_handshake())
    }

    /// Does what is due.
    pub(super) fn poll(&mut self, now: Instant) -> Result<Next, Status> {
        let platform = self.platform;
        let has_turned = self.turn(now, &platform)?;
        self.poll_readings(now, &platform)?;
        let next = self.round(now, &platform, &mut None);
        wipe_turn(has_turned);
        next.map(|next| match next {
            Next::Wait(due) => Next::Wait([due, self.readings_due()].into_iter().flatten().min()),
            next => next,
        })
    }

    /// Turns to the next epoch when it is time. A round does so itself, but its packet would lie on
    /// the stack beneath the check of signatures.
    #[inline(never)]
    fn turn(&mut self, now: Instant, platform: &Platform) -> Result<bool, Status> {
        let mut ear = Ear { platform, readings: self.readings };
        let has_turned = self.running()?.turn(now, &mut ear);
        wipe_turn(has_turned);
        Ok(has_turned)
    }

    /// A round of the run loop, or half of one. Of the keys of neighbours it leaves nothing on the
    /// stack.
    fn round(
        &mut self,
        now: Instant,
        platform: &Platform,
        waiting: &mut Option<Waiting<'_>>,
    ) -> Result<Next, Status> {
        let (next, has_met) = self.half(now, platform, waiting)?;
        if has_met {
            zeroize_stack::<{ wiped::MEET }>();
        }
        Ok(next)
    }

    #[inline(never)]
    fn half(
        &mut self,
        now: Instant,
        platform: &Platform,
        waiting: &mut Option<Waiting<'_>>,
    ) -> Result<(Next, bool), Status> {
        let mut counters = self.link;
        // SAFETY: nobody else uses it during this round.
        let neighbours = unsafe { self.neighbours() };
        let waits = waiting.take();
        let mut link =
            Sockets { platform, counters: &mut counters, neighbours, has_met: false, waiting: waits };
        let mut ear = Ear { platform, readings: self.readings };
        let next = self.running()?.poll(now, &mut ear, &mut link, &mut [0; PACKET_LEN]);
        let has_met = link.has_met;
        *waiting = link.waiting;
        self.link = counters;
        if next == Next::Stop {
            self.stop();
        }
        Ok((next, has_met))
    }
}

/// After a turn to another epoch, and after the round that follows: there the node lets go of keys.
fn wipe_turn(has_turned: bool) {
    if has_turned {
        zeroize_stack::<{ wiped::TURN }>();
    }
}

/// Writes a node that is in no epoch yet to its place.
// Not inlined: it is made on the stack, which must not add to what the check of signatures needs.
// With the window named, because `Running::new` is a second copy on the stack.
#[inline(never)]
fn make_running(
    running: &mut MaybeUninit<RunningOfC>,
    mote: &'static mut MoteOfC,
    place: &PlaceInNetwork<'_>,
    storage: Storage<'static, Motes>,
    routes: &'static mut [Route],
    key: WindowKey,
) -> *mut RunningOfC {
    let window = Window::SHARED_CHANNEL;
    running.write(Running::with_window_key(mote, place, storage, routes, window, key))
}

// SAFETY: two fields.
unsafe impl Handle for MoteHandle {
    type Inner = Inner;
    const READY: u32 = 0x6d6f_7431;
    const ENTERED: u32 = 0x6d6f_7432;
    const ABSENT: Status = Status::NotAMote;

    unsafe fn state(handle: *mut Self) -> *mut u32 {
        // SAFETY: the caller's promise.
        unsafe { &raw mut (*handle).state }
    }

    unsafe fn inner(handle: *mut Self) -> *mut Inner {
        // SAFETY: the caller's promise.
        unsafe { &raw mut (*handle).inner }
    }
}

impl Entered<MoteHandle> {
    /// Wipes the mote and all that belongs to it, but not its flash.
    pub(super) fn close(mut self) {
        self.wipe_running();
        let size = self.plan.size;
        // SAFETY: a mote is there, and its node was ended, so nobody borrows its parts. Each wipes
        // what it holds; behind them is nothing but bytes.
        unsafe {
            self.part::<MoteOfC>(self.plan.mote).drop_in_place();
            self.part::<Generator>(self.plan.generator).drop_in_place();
            self.wipe(size);
        }
    }
}
