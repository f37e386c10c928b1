//! The loop around the node.

mod examine;
mod intake;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant as HostInstant};

use motemix_directory::Epoch;
use motemix_node::{Admitted, Config, Digest, Event, Journal as _, MessageHandle, Node, Paths, ReplyError};
use motemix_sphinx::{MixKey, NodeId, Profile};
use rand_core::Rng as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio::time::sleep_until;

use super::advance::{Seen, Time};
use super::crew::Crew;
use super::diary::Diary;
use super::epochs::{Due, Epochs};
use super::links::Links;
use super::mailroom::{Committed, Mailroom};
use super::pace::Pace;
use super::readings::Readings;
use super::reserve::Reserve;
use super::snapshot::{HostCounters, Shared, Totals, micros};
use super::state_folder::StateFolder;
use super::tables::Tables;
use super::{Heard, Parts, RuntimeError, Trouble, rounds};
use crate::NodeConfig;
use crate::control::{Call, Response};
use crate::documents::{Documents, Network};
use crate::keys::NodeKey;
use crate::link::{Batch, FairQueue, Loss, Outbox, PAYLOAD_OVERHEAD, Sources};
use examine::Examination;
pub(super) use examine::{WithoutDocument, passes, waits};
use intake::Intake;
use motemix_os::clock::HostClock;
use motemix_os::memory;
use motemix_os::rng::HostRng;
use motemix_os::supervisor::Supervisor;

/// How often the wall clock is looked at.
const TICK: Duration = Duration::from_secs(1);
/// For the answer to the request that ends the node.
pub(super) const FAREWELL: Duration = Duration::from_millis(50);

/// A node with everything around it.
pub(super) struct Driver<'t, P: Profile> {
    pub(super) node: Node<'t, P, HostRng, Paths<'t>>,
    pub(super) network: Network,
    pub(super) mailroom: Mailroom,
    pub(super) shared: Shared,
    /// Answers that wait for the end of their message.
    pub(super) waiting: HashMap<MessageHandle, oneshot::Sender<Response>>,
    pub(super) clock: HostClock,
    /// Whether a network document is in force: without one nothing of our own is sent.
    pub(super) in_force: bool,
    pub(super) config: &'t NodeConfig,
    pub(super) folder: StateFolder,
    pub(super) documents: Documents,
    pub(super) key: NodeKey,
    pub(super) epochs: Epochs,
    pub(super) time: Time,
    pub(super) seen: Seen,
    links: Links,
    /// By [`NodeId`].
    routes: Vec<Option<std::net::SocketAddr>>,
    loss: Loss,
    sources: Sources,
    /// Datagrams that have arrived.
    arrived: FairQueue,
    crew: Crew<P>,
    pub(super) diary: Diary,
    sync: Option<JoinHandle<std::io::Result<()>>>,
    inbound: mpsc::Receiver<Call>,
    /// Until a request ends them.
    pub(super) readings: Option<Readings>,
    heard: Option<Heard>,
    trouble: Option<Trouble>,
    supervisor: Supervisor,
    rng: HostRng,
    next_tick: HostInstant,
    host: HostCounters,
    reserve: Reserve,
    /// What was due at an epoch's boundary and could not be done yet.
    pub(super) undone: Option<Due>,
    pub(super) examination: Examination,
}

impl<P: Profile + 'static> Driver<'_, P> {
    /// Runs the node until it is asked to stop.
    pub(super) async fn drive(parts: Parts<'_>) -> Result<(), RuntimeError> {
        let entropy = |error| RuntimeError::System("the platform has no entropy", error);
        let mut tables = Tables::<P>::new(&parts.config.limits);
        let mut rng = HostRng::new().map_err(entropy)?;
        let node = Node::new(parts.me, HostRng::new().map_err(entropy)?, tables.lend());
        let mut driver = Driver {
            node,
            epochs: Epochs::of(&parts.network, parts.key.epoch()),
            time: parts.time,
            seen: Seen::default(),
            routes: Vec::new(),
            loss: Loss::new(parts.config.faults.loss, rng.next_u64()),
            readings: (parts.config.readings.as_ref().zip(parts.source))
                .map(|(readings, source)| Readings::new(readings, source, &mut rng)),
            heard: parts.heard,
            trouble: parts.trouble,
            supervisor: parts.supervisor,
            network: parts.network,
            mailroom: parts.mailroom,
            shared: parts.shared,
            waiting: HashMap::new(),
            clock: HostClock::start(),
            in_force: true,
            config: parts.config,
            folder: parts.folder,
            documents: parts.documents,
            key: parts.key,
            links: parts.links,
            sources: Sources::default(),
            arrived: FairQueue::new(P::GEOMETRY.packet_len()),
            crew: {
                let processing = &parts.config.processing;
                Crew::new(processing.threads(), Pace::of_machine::<P>(processing.batch_time))
            },
            diary: Diary::new(parts.logs),
            sync: None,
            inbound: parts.inbound,
            rng,
            next_tick: HostInstant::now(),
            host: HostCounters::default(),
            reserve: Reserve::default(),
            undone: None,
            examination: Examination::default(),
        };
        driver.begin_first_epoch()?;
        driver.run().await
    }

    async fn run(&mut self) -> Result<(), RuntimeError> {
        let mut batch = Batch::new(P::GEOMETRY.packet_len() + PAYLOAD_OVERHEAD);
        let mut outbox = Outbox::new(P::GEOMETRY.packet_len());
        loop {
            let others_wait = self.take_in(&mut batch)?;
            // One write a round. If the disk refuses, nothing leaves below.
            let _ = self.diary.commit();
            if self.mailroom.has_committed() {
                let committed = self.mailroom.committed().await;
                self.acknowledge(committed);
            }
            self.handle_time()?;
            self.handle_events();
            self.mailroom.begin(HostInstant::now());
            self.transmit(&mut outbox).await?;
            while let Ok(call) = self.inbound.try_recv() {
                if self.answer(call) {
                    return self.end().await;
                }
            }
            self.share();
            let clock = self.clock;
            let building = rounds::build(&mut self.node, others_wait, || clock.now());
            if others_wait || building {
                yield_now().await;
                continue;
            }
            let (wake, open) = (self.wake(), self.diary.refused().is_none());
            tokio::select! {
                readable = self.links.readable(), if open => readable.map_err(broken_link)?,
                () = sleep_until(wake.into()) => {}
                () = self.crew.has_done() => {}
                committed = self.mailroom.committed() => self.acknowledge(committed),
                Some(call) = self.inbound.recv() => if self.answer(call) {
                    return self.end().await;
                },
            }
        }
    }

    /// Reads what has arrived, and hands the node its share of it. `true` if more is to be done.
    fn take_in(&mut self, batch: &mut Batch) -> Result<bool, RuntimeError> {
        let Self { node, loss, sources, arrived, crew, clock, links, diary, .. } = self;
        if diary.refused().is_some() && diary.commit().is_err() {
            // What could not be written down could not be passed on: the kernel keeps some, and
            // drops the rest.
            return Ok(crew.go_on(node, diary, || clock.now()));
        }
        let mut any = false;
        for _ in 0..rounds::READS {
            let mut intake = Intake { node, sources, arrived, journal: diary, clock: *clock };
            let received = links.receive(batch, loss, &mut intake);
            if !received.map_err(broken_link)? {
                break;
            }
            any = true;
        }
        let more = crew.take_in(node, arrived, diary, || clock.now());
        Ok(any || more)
    }

    fn acknowledge(&mut self, committed: Committed) {
        let now = self.clock.now();
        self.host.inbox_refusals += committed.refusals;
        // One that waited for too long is tried again by its sender, and is known then.
        for (token, reply) in committed.safe {
            if self.node.reply(now, token, &reply) == Err(ReplyError::TooLong) {
                self.host.replies_too_long += 1;
                let _ = self.node.reply(now, token, &[]);
            }
        }
        for token in committed.refused {
            let _ = self.node.refuse(token);
        }
    }

    fn handle_time(&mut self) -> Result<(), RuntimeError> {
        let now = self.clock.now();
        if self.node.poll_timeout().is_some_and(|due| due <= now) {
            self.node.handle_timeout(now);
        }
        let host_now = HostInstant::now();
        if let Some(readings) = &mut self.readings
            && let Some(reading) = readings.take(host_now, P::GEOMETRY.data_len(), &mut self.rng)
        {
            let to = self.network.find(&readings.to).filter(|_| self.in_force);
            let sent = to.is_some_and(|to| self.node.send(now, to, &reading).is_ok());
            self.host.readings_refused += u64::from(!sent);
        }
        let ticks = host_now >= self.next_tick;
        if ticks {
            self.next_tick = host_now + TICK;
            self.reserve.release();
            self.sync_logs(host_now);
            let boundary = self.advance(host_now);
            let complete = self.reserve.fill();
            let error = match boundary {
                Ok(()) => None,
                Err(error) if passes(&error) => Some(error),
                Err(error) => return Err(error),
            };
            // What is said of readiness, and of health, is of one moment.
            self.share();
            self.examine(host_now, error.as_ref(), complete);
            self.count_loops();
            self.supervisor.status(&self.shared.in_short(&format!("epoch {}", self.network.epoch)));
            // Here and nowhere else: whatever holds this loop up for long is worth a restart.
            self.supervisor.alive();
            self.shared.publish(host_now, || self.rng.next_u64());
        }
        self.crew.keep_keys(&self.node.epochs_with_keys());
        // What the node did with keys that have ended since, it did below.
        if ticks {
            memory::wipe_stack();
        }
        Ok(())
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.node.poll_event() {
            match event {
                Event::Received { token, id, data, .. } => {
                    let taken = self.mailroom.take(Some(token), id, data);
                    self.host.inbox_refusals += u64::from(!taken);
                    if !taken {
                        // It does wait: its event has just been polled.
                        let _ = self.node.refuse(token);
                    }
                }
                Event::Delivered { id, data } => {
                    self.host.inbox_refusals += u64::from(!self.mailroom.take(None, id, data));
                }
                Event::Acknowledged { message, round_trip, elapsed, tries, reply } => {
                    self.shared.acknowledged(round_trip, elapsed);
                    if let Some(heard) = self.heard.as_mut().filter(|_| !reply.is_empty()) {
                        heard(reply);
                    }
                    if let Some(answer) = self.waiting.remove(&message) {
                        // A client that has gone needs no answer.
                        let _ = answer.send(Response::Acknowledged {
                            message: message.number(),
                            round_trip_us: micros(round_trip),
                            elapsed_us: micros(elapsed),
                            tries: tries.into(),
                            reply_hex: Some(reply).filter(|reply| !reply.is_empty()).map(hex::encode),
                        });
                    }
                }
                Event::Discarded { message, .. } => {
                    if let Some(answer) = self.waiting.remove(&message) {
                        let _ = answer.send(Response::Discarded { message: message.number() });
                    }
                }
                // The examination looks at the alarm itself, and tells it.
                Event::LoopAlarm { .. } => {}
                _ => debug_assert!(false, "an event that nobody handles: {event:?}"),
            }
        }
    }

    async fn transmit(&mut self, outbox: &mut Outbox) -> Result<(), RuntimeError> {
        loop {
            let Some(slot) = outbox.next_slot() else {
                self.links.flush(outbox).await.map_err(broken_link)?;
                continue;
            };
            // What cannot be written down must not leave.
            let transmit = self.node.poll_transmit(self.clock.now(), &mut self.diary, slot);
            let Ok(Some(transmit)) = transmit else { break };
            match self.routes.get(usize::from(transmit.to.get())) {
                Some(Some(to)) => outbox.push(*to, transmit.len),
                _ => self.host.unroutable += 1,
            }
        }
        if !outbox.is_empty() || self.links.has_leaving() {
            self.links.flush(outbox).await.map_err(broken_link)?;
        }
        Ok(())
    }

    /// When there is something to do, whatever else happens.
    fn wake(&self) -> HostInstant {
        let node = self.node.poll_timeout().map(|due| self.clock.at(due));
        let reading = self.readings.as_ref().map(Readings::next);
        let wake = [node, reading].into_iter().flatten().fold(self.next_tick, HostInstant::min);
        // While nothing may leave, packets are due and stay: there is no point in looking at them.
        self.diary.refused().map_or(wake, |(_, again)| again.min(self.next_tick))
    }

    fn sync_logs(&mut self, now: HostInstant) {
        if self.sync.as_ref().is_some_and(|sync| !sync.is_finished()) {
            return;
        }
        // Without a file descriptor to spare, the next second will do: only the whole machine's end
        // could tell.
        if let Ok(files) = self.diary.logs.due_for_sync(now)
            && !files.is_empty()
        {
            self.sync = Some(spawn_blocking(move || files.iter().try_for_each(std::fs::File::sync_data)));
        }
    }

    fn share(&self) {
        let fill = self.node.replay_fill().current;
        self.shared.set(&Totals {
            node: *self.node.counters(),
            links: self.links.counters(),
            sessions: self.links.session_counters().copied().unwrap_or_default(),
            host: HostCounters {
                injected_losses: self.loss.dropped(),
                overload: self.arrived.dropped(),
                crew: self.crew.counters(),
                ..self.host
            },
            epoch: self.epochs.epoch().0,
            in_flight: self.node.in_flight() as u64,
            replay_tags: fill.tags.into(),
            replay_tags_most: fill.capacity.into(),
            replay_full_in: self.examination.full_in(fill),
            window: self.node.window_fill(),
            inbox_percent: self.mailroom.percent().unwrap_or(0),
            loop_evidence: self.node.loop_evidence(),
            queue: self.node.queue_fill(),
            in_force: self.in_force,
            covered_until: self.covered_until().0,
        });
    }

    /// Keeps what became of loops through each node, for whoever asks.
    pub(super) fn count_loops(&self) {
        self.shared.passed().count(|id| self.node.loops_through(id));
    }

    async fn end(&mut self) -> Result<(), RuntimeError> {
        self.supervisor.stopping();
        if let Err(error) = self.diary.logs.sync() {
            tracing::error!("the last replay tags may not be on the disk: {error}");
        }
        self.time.keep(true);
        tracing::info!("the node stops");
        tokio::time::sleep(FAREWELL).await;
        Ok(())
    }

    /// Accepts packets of an epoch; refuses those that an earlier run of this node has admitted.
    pub(super) fn prepare(&mut self, epoch: Epoch) -> Result<(), RuntimeError> {
        let secret = self.key.mix_secret(epoch)?;
        // Before the key is used: without the log the node would take replays for new.
        self.diary.logs.open_log(epoch)?;
        let prepared = memory::wiped(|| {
            self.node.prepare_epoch(epoch, MixKey::new(secret.duplicate()))?;
            self.crew.add_key(epoch, Arc::new(MixKey::new(secret.duplicate())));
            Ok(())
        });
        prepared.map_err(|error| RuntimeError::Epoch(epoch, error))?;
        let Self { node, diary, supervisor, .. } = self;
        // What is not put back could pass again, so none of this is tried again while the key is in
        // use.
        let converted = diary.logs.convert(epoch, |start| {
            node.admitted_of_tag(epoch, start).map_or(0, |admitted| admitted.digest.to_bits())
        });
        converted.map_err(RuntimeError::ReplayLog)?;
        let mut restored = 0_u64;
        let loaded = diary.load(epoch, |bits| {
            let admitted = Admitted { epoch, digest: Digest::from_bits(bits) };
            // A long log takes long on a slow disk, and that is no reason to start again.
            restored += 1;
            if restored.is_multiple_of(65_536) {
                supervisor.alive();
            }
            node.restore_admitted(admitted).map_err(|_| RuntimeError::ReplayLogTooLong(epoch))
        });
        loaded.map_err(|error| match error {
            RuntimeError::Store(error) => RuntimeError::ReplayLog(error),
            other => other,
        })
    }

    /// Ends the epoch, whose key is gone.
    pub(super) fn end_epoch(&mut self) {
        self.node.end_epoch();
        self.links.forget_key();
    }

    /// Begins a prepared epoch, which lasts so long from now on.
    pub(super) fn begin(&mut self, epoch: Epoch, lasts: Duration) -> Result<(), RuntimeError> {
        let mut config = node_config(self.config, &self.network);
        config.parameters.overlap = self.epochs.overlap_left(self.time.now());
        let addresses = self.network.nodes().flat_map(|node| node.addresses.iter().copied());
        self.sources.set_nodes(addresses);
        let secret = self.key.mix_secret(epoch)?;
        memory::wiped(|| self.links.set_network(&self.network, P::GEOMETRY.packet_len(), &secret))
            .map_err(|error| RuntimeError::System("the platform has no entropy", error))?;
        self.routes = self.network.ids().map(|node| self.links.route(node?)).collect();
        self.count_loops();
        let now = self.clock.now();
        let begun = self.node.begin_epoch(now, epoch, now + lasts, self.network.entries(), config);
        begun.map_err(|error| RuntimeError::Epoch(epoch, error))?;
        for id in self.shared.passed().begin(&self.network) {
            self.node.forget_loops_through(id);
        }
        Ok(())
    }
}

fn node_config(config: &NodeConfig, network: &Network) -> Config {
    let receiver: Option<NodeId> = config.readings.as_ref().and_then(|readings| network.find(&readings.to));
    let in_flight = config.limits.in_flight as usize;
    let parameters = network.parameters;
    let loop_test = config.loops.test();
    let of_channel = if config.radio.is_some() {
        Config::of_shared_channel(parameters)
    } else {
        Config::of_network(parameters)
    };
    of_channel.with_in_flight(in_flight).with_receiver(receiver).with_loop_test(loop_test)
}

fn broken_link(error: std::io::Error) -> RuntimeError {
    RuntimeError::System("a socket does not work any more", error)
}
