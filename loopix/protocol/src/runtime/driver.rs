//! The loop around a role.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant as HostInstant};

use motemix_host::link::{BATCH, Batch, FairQueue, Outgoing, Sources, UdpLink};
use motemix_os::clock::HostClock;
use motemix_os::memory;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio::time::sleep_until;

use super::addresses::Addresses;
use super::alarm::Alarm;
use super::event::{Event, Request, Totals};
use super::journal::Journal;
use super::manners::Manners;
use super::record::Record;
use super::station::Station;
use super::watch::Watch;
use super::{Report, RuntimeError};
use crate::role::{Role as _, Transmit};

/// How often files are looked at.
const TICK: Duration = Duration::from_secs(1);
/// The most batches that are sent in one turn: datagrams that arrive meanwhile are to be taken in,
/// too.
const BATCHES_A_TURN: usize = 8;
/// The most batches that are read in one turn, and sorted by where they came from. One of them is
/// worked on.
const READS_A_TURN: usize = 8;
/// The most requests that are answered in one turn.
const REQUESTS_A_TURN: usize = 64;

/// A station with everything around it.
pub(super) struct Driver<'r, S> {
    pub(super) station: S,
    pub(super) link: UdpLink,
    pub(super) journal: Journal,
    pub(super) addresses: Addresses,
    pub(super) watch: Watch,
    pub(super) manners: Manners,
    pub(super) record: Record,
    pub(super) alarm: Alarm,
    pub(super) clock: HostClock,
    /// Hears when a disk has done what it was asked.
    pub(super) wake: Arc<Notify>,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) report: Report<'r>,
    pub(super) report_every: Option<Duration>,
}

/// What the loop keeps from one turn to the next.
struct Turns {
    incoming: Batch,
    /// What was read, by source: whoever floods waits for itself.
    waiting: FairQueue,
    sources: Sources,
    leaving: Vec<(SocketAddr, Vec<u8>)>,
    next_tick: HostInstant,
    next_report: Option<HostInstant>,
    sync: Option<JoinHandle<io::Result<()>>>,
    unroutable: u64,
    /// It ends when nothing waits any more.
    is_finishing: bool,
}

impl<S: Station> Driver<'_, S> {
    /// Runs the station until it is asked to stop.
    pub(super) async fn run(mut self) -> Result<(), RuntimeError> {
        self.tell_hosts();
        let now = HostInstant::now();
        let mut turns = Turns {
            incoming: Batch::new(self.station.role().max_datagram_len()),
            waiting: FairQueue::new(self.station.role().max_datagram_len()),
            sources: Sources::default(),
            leaving: Vec::with_capacity(BATCH),
            next_tick: now,
            next_report: self.report_every.map(|every| now + every),
            sync: None,
            unroutable: 0,
            is_finishing: false,
        };
        loop {
            let took_in = self.take_in(&mut turns)?;
            // Before anything leaves, so that a restart knows what has left.
            let admitted = self.station.role().take_admitted();
            if self.journal.append(admitted) {
                let now = self.clock.now();
                if self.station.role().poll_timeout().is_some_and(|due| due <= now) {
                    self.station.role().handle_timeout(now);
                }
                self.transmit(&mut turns).await?;
            }
            self.station.settle(self.clock.now(), self.report);
            self.do_due(&mut turns).await?;
            for _ in 0..REQUESTS_A_TURN {
                let Ok(request) = self.requests.try_recv() else { break };
                if self.is_to_stop(request, &mut turns) {
                    return self.end(&turns);
                }
            }
            if turns.is_finishing && self.station.waiting() == 0 {
                return self.end(&turns);
            }
            if took_in {
                yield_now().await;
                continue;
            }
            let wake = self.wake_at(&mut turns);
            tokio::select! {
                readable = self.link.readable(), if !self.journal.is_failing() => readable.map_err(broken_socket)?,
                () = sleep_until(wake.into()) => {}
                () = self.wake.notified() => {}
                Some(request) = self.requests.recv() => if self.is_to_stop(request, &mut turns) {
                    return self.end(&turns);
                },
            }
        }
    }

    fn take_in(&mut self, turns: &mut Turns) -> Result<bool, RuntimeError> {
        // Tags that cannot be written down are not to become more.
        if self.journal.is_failing() {
            return Ok(false);
        }
        let Turns { incoming, waiting, sources, .. } = turns;
        for _ in 0..READS_A_TURN {
            let received = self.link.try_recv_batch(incoming).map_err(broken_socket)?;
            for (from, datagram) in incoming.with_sources() {
                waiting.push(sources.of(from), datagram);
            }
            if received < BATCH {
                break;
            }
        }
        let had_some = !waiting.is_empty();
        for _ in 0..BATCH {
            let (role, now) = (self.station.role(), self.clock.now());
            let taken = waiting.pop(|_, datagram| {
                // Refusals are counted by the role.
                let _ = role.handle_datagram(now, datagram);
            });
            if taken.is_none() {
                break;
            }
        }
        Ok(had_some)
    }

    async fn transmit(&mut self, turns: &mut Turns) -> Result<(), RuntimeError> {
        for _ in 0..BATCHES_A_TURN {
            let now = self.clock.now();
            let mut polled = 0;
            while polled < BATCH
                && let Some(Transmit { to, bytes }) = self.station.role().poll_transmit(now)
            {
                polled += 1;
                match self.addresses.find(&to) {
                    Some(to) => turns.leaving.push((to, bytes)),
                    None => turns.unroutable += 1,
                }
            }
            let outgoing: Vec<_> =
                turns.leaving.iter().map(|(to, bytes)| Outgoing { to: *to, bytes }).collect();
            self.link.send_batch(&outgoing).await.map_err(broken_socket)?;
            turns.leaving.clear();
            if polled > 0 {
                self.station.role().flushed(self.clock.now());
            }
            if polled < BATCH {
                break;
            }
        }
        Ok(())
    }

    async fn do_due(&mut self, turns: &mut Turns) -> Result<(), RuntimeError> {
        let now = HostInstant::now();
        if let (Some(next), Some(every)) = (turns.next_report, self.report_every)
            && now >= next
        {
            // Not once for each that a pause of the machine has left out.
            turns.next_report = Some(if next + every > now { next + every } else { now + every });
            let totals = self.totals(turns);
            (self.report)(Event::Counters(Box::new(totals)));
        }
        if now < turns.next_tick {
            return Ok(());
        }
        turns.next_tick = now + TICK;
        // What opening and making packets left there.
        memory::wipe_stack();
        self.journal.look();
        self.addresses.refresh(now);
        self.tell_hosts();
        if let Some(directory) = self.watch.poll().await {
            self.addresses.set_directory(&directory);
            self.station.set_directory(&directory);
            self.tell_hosts();
            (self.report)(Event::Directory { users: users(&directory) });
        }
        let counters = self.station.role().counters();
        let said = [self.manners.look(counters), self.record.look(now, counters), self.alarm.look(counters)];
        for event in said.into_iter().flatten() {
            (self.report)(event);
        }
        if turns.sync.as_ref().is_none_or(JoinHandle::is_finished) {
            let files = self.journal.due_for_sync(now)?;
            if !files.is_empty() {
                turns.sync =
                    Some(spawn_blocking(move || files.iter().try_for_each(std::fs::File::sync_data)));
            }
        }
        Ok(())
    }

    /// Tells the role where hosts are, if that has changed.
    fn tell_hosts(&mut self) {
        if let Some(hosts) = self.addresses.take_news() {
            self.station.role().set_hosts(hosts);
        }
    }

    /// When there is something to do, whatever else happens.
    fn wake_at(&mut self, turns: &mut Turns) -> HostInstant {
        let role = self.station.role().poll_timeout().map(|due| self.clock.at(due));
        let role = role.filter(|_| !self.journal.is_failing());
        [role, turns.next_report].into_iter().flatten().fold(turns.next_tick, HostInstant::min)
    }

    fn is_to_stop(&mut self, request: Request, turns: &mut Turns) -> bool {
        match request {
            Request::Send { to, message, told } => {
                self.station.send(&to, &message, told, self.report);
                false
            }
            Request::Counters(answer) => {
                // Whoever asked may have gone.
                let _ = answer.send(self.totals(turns));
                false
            }
            Request::Finish => {
                turns.is_finishing = true;
                false
            }
            Request::Stop => true,
        }
    }

    fn totals(&mut self, turns: &Turns) -> Totals {
        let link = self.link.counters();
        Totals {
            role: self.station.role().counters().clone(),
            unsendable: link.send_errors + turns.unroutable,
            waiting: self.station.waiting(),
            hosts_missing: self.addresses.missing(),
            replay_tags_lost: self.journal.is_lost().into(),
            replay_full_in_s: self.record.full_in().map(|time| time.as_secs()),
        }
    }

    fn end(mut self, turns: &Turns) -> Result<(), RuntimeError> {
        self.station.finish(self.clock.now(), self.report);
        self.journal.sync()?;
        let totals = self.totals(turns);
        (self.report)(Event::Counters(Box::new(totals)));
        Ok(())
    }
}

pub(super) fn users(directory: &crate::files::Directory) -> Vec<Arc<str>> {
    directory.users().iter().map(|user| user.name.as_str().into()).collect()
}

fn broken_socket(error: io::Error) -> RuntimeError {
    RuntimeError::System("the socket does not work any more", error)
}
