//! The loop around the node.

use std::collections::HashMap;
use std::time::{Duration, Instant as HostInstant};

use motemix_directory::Epoch;
use motemix_node::{Admitted, Config, Event, MessageHandle, Node};
use motemix_sphinx::{MixKey, NodeId, Profile};
use rand_core::Rng as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio::time::sleep_until;

use super::epochs::{Due, Epochs};
use super::links::Links;
use super::mailroom::{Committed, Mailroom};
use super::readings::Readings;
use super::snapshot::{HostCounters, Shared, Totals};
use super::tables::Tables;
use super::{Parts, RuntimeError, find_me};
use crate::NodeConfig;
use crate::clock::{HostClock, unix_seconds};
use crate::control::{Call, Response};
use crate::documents::{Documents, Network};
use crate::keys::NodeKey;
use crate::link::{Batch, Loss, Outbox};
use crate::rng::HostRng;
use crate::store::ReplayLogs;

/// How often the wall clock is looked at.
const TICK: Duration = Duration::from_secs(1);
/// For the answer to the request that ends the node.
const FAREWELL: Duration = Duration::from_millis(50);

/// A node with everything around it.
pub(super) struct Driver<'t, P: Profile> {
    pub(super) node: Node<'t, P, HostRng>,
    pub(super) network: Network,
    pub(super) mailroom: Mailroom,
    pub(super) shared: Shared,
    /// Answers that wait for the end of their message.
    pub(super) waiting: HashMap<MessageHandle, oneshot::Sender<Response>>,
    pub(super) clock: HostClock,
    /// Whether a network document is in force: without one nothing of our own is sent.
    pub(super) in_force: bool,
    config: &'t NodeConfig,
    documents: Documents,
    key: NodeKey,
    epochs: Epochs,
    links: Links,
    /// By [`NodeId`].
    routes: Vec<Option<std::net::SocketAddr>>,
    loss: Loss,
    logs: ReplayLogs,
    admitted: Vec<Admitted>,
    tags: Vec<u64>,
    sync: Option<JoinHandle<std::io::Result<()>>>,
    inbound: mpsc::Receiver<Call>,
    /// Until a request ends them.
    pub(super) readings: Option<Readings>,
    rng: HostRng,
    next_tick: HostInstant,
    host: HostCounters,
}

impl<P: Profile> Driver<'_, P> {
    /// Runs the node until it is asked to stop.
    pub(super) async fn drive(parts: Parts<'_>) -> Result<(), RuntimeError> {
        let entropy = |error| RuntimeError::System("the platform has no entropy", error);
        let mut tables = Tables::<P>::new(&parts.config.limits);
        let mut rng = HostRng::new().map_err(entropy)?;
        let config = node_config(parts.config, &parts.network);
        let node = Node::new(parts.me, config, HostRng::new().map_err(entropy)?, tables.lend());
        let mut driver = Driver {
            node,
            epochs: Epochs::of(&parts.network),
            routes: Vec::new(),
            loss: Loss::new(parts.config.faults.loss, rng.next_u64()),
            readings: (parts.config.readings.as_ref().zip(parts.source))
                .map(|(readings, source)| Readings::new(readings, source, &mut rng)),
            network: parts.network,
            mailroom: parts.mailroom,
            shared: parts.shared,
            waiting: HashMap::new(),
            clock: HostClock::start(),
            in_force: true,
            config: parts.config,
            documents: parts.documents,
            key: parts.key,
            links: parts.links,
            logs: parts.logs,
            admitted: Vec::new(),
            tags: Vec::new(),
            sync: None,
            inbound: parts.inbound,
            rng,
            next_tick: HostInstant::now(),
            host: HostCounters::default(),
        };
        driver.begin_first_epoch()?;
        driver.run().await
    }

    async fn run(&mut self) -> Result<(), RuntimeError> {
        let mut batch = Batch::new(P::GEOMETRY.packet_len());
        let mut outbox = Outbox::new(P::GEOMETRY.packet_len());
        loop {
            let busy = self.take_in(&mut batch)?;
            // Before anything leaves, so that a restart knows what has left.
            self.write_tags()?;
            if self.mailroom.has_committed() {
                let committed = self.mailroom.committed().await;
                self.acknowledge(committed);
            }
            self.handle_time()?;
            self.handle_events();
            self.mailroom.begin();
            self.transmit(&mut outbox).await?;
            while let Ok(call) = self.inbound.try_recv() {
                if self.answer(call) {
                    return self.end().await;
                }
            }
            self.share();
            // One multiplication, and then again a look at what has arrived.
            if busy || self.node.work(self.clock.now()) {
                yield_now().await;
                continue;
            }
            let wake = self.wake();
            tokio::select! {
                readable = self.links.readable() => readable.map_err(broken_link)?,
                () = sleep_until(wake.into()) => {}
                committed = self.mailroom.committed() => self.acknowledge(committed),
                Some(call) = self.inbound.recv() => if self.answer(call) {
                    return self.end().await;
                },
            }
        }
    }

    fn take_in(&mut self, batch: &mut Batch) -> Result<bool, RuntimeError> {
        let Self { node, loss, admitted, clock, links, .. } = self;
        let received = links.receive(batch, |batch| {
            loss.apply(batch);
            for datagram in batch.datagrams() {
                // Refusals are counted by the node.
                let _ = node.handle_datagram(clock.now(), datagram);
                admitted.extend(node.take_admitted());
            }
        });
        received.map_err(broken_link)
    }

    fn write_tags(&mut self) -> Result<(), RuntimeError> {
        // One epoch, or two at their boundary.
        while let Some(epoch) = self.admitted.first().map(|admitted| admitted.epoch) {
            self.tags.clear();
            let tags = self.admitted.extract_if(.., |admitted| admitted.epoch == epoch);
            self.tags.extend(tags.map(|admitted| admitted.tag));
            self.logs.append(epoch, &self.tags)?;
        }
        Ok(())
    }

    fn acknowledge(&mut self, committed: Committed) {
        let now = self.clock.now();
        if let Err(error) = &committed.result {
            tracing::error!("messages cannot be taken: {}", error.problem);
            self.host.inbox_refusals += committed.tokens.len() as u64;
        }
        for token in committed.tokens {
            // One that waited for too long is tried again by its sender, and is known then.
            let _ = match committed.result {
                Ok(()) => self.node.reply(now, token, &[]),
                Err(_) => self.node.refuse(token),
            };
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
        if host_now >= self.next_tick {
            self.next_tick = host_now + TICK;
            self.sync_logs(host_now)?;
            while let Some(due) = self.epochs.due(unix_seconds()) {
                match due {
                    Due::Erase(epoch) => {
                        // In this order: a replay log must not go while its key can come back.
                        self.key.advance_to(epoch)?;
                        self.logs.remove_older_than(epoch)?;
                    }
                    Due::Prepare(epoch) => self.prepare(epoch)?,
                    Due::Next => {
                        if !self.begin_next_epoch()? {
                            break;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.node.poll_event() {
            match event {
                Event::Received { token, id, data, .. } => {
                    if !self.mailroom.take(Some(token), id, data) {
                        self.host.inbox_refusals += 1;
                        // It does wait: its event has just been polled.
                        let _ = self.node.refuse(token);
                    }
                }
                Event::Delivered { id, data } => {
                    self.host.inbox_refusals += u64::from(!self.mailroom.take(None, id, data));
                }
                Event::Acknowledged { message, round_trip, tries, reply, .. } => {
                    self.shared.round_trip(round_trip);
                    if let Some(answer) = self.waiting.remove(&message) {
                        // A client that has gone needs no answer.
                        let _ = answer.send(Response::Acknowledged {
                            message: message.number(),
                            round_trip_us: u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX),
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
            }
        }
    }

    async fn transmit(&mut self, outbox: &mut Outbox) -> Result<(), RuntimeError> {
        loop {
            let Some(slot) = outbox.next_slot() else {
                self.links.flush(outbox).await.map_err(broken_link)?;
                continue;
            };
            let Some(transmit) = self.node.poll_transmit(self.clock.now(), slot) else { break };
            match self.routes.get(usize::from(transmit.to.get())) {
                Some(Some(to)) => outbox.push(*to, transmit.len),
                _ => self.host.unroutable += 1,
            }
        }
        if !outbox.is_empty() {
            self.links.flush(outbox).await.map_err(broken_link)?;
        }
        Ok(())
    }

    /// When there is something to do, whatever else happens.
    fn wake(&self) -> HostInstant {
        let node = self.node.poll_timeout().map(|due| self.clock.at(due));
        let reading = self.readings.as_ref().map(Readings::next);
        [node, reading].into_iter().flatten().fold(self.next_tick, HostInstant::min)
    }

    fn sync_logs(&mut self, now: HostInstant) -> Result<(), RuntimeError> {
        if self.sync.as_ref().is_some_and(|sync| !sync.is_finished()) {
            return Ok(());
        }
        let files = self.logs.due_for_sync(now)?;
        if !files.is_empty() {
            self.sync = Some(spawn_blocking(move || files.iter().try_for_each(std::fs::File::sync_data)));
        }
        Ok(())
    }

    fn share(&self) {
        let (replay_tags, replay_tags_most) = self.node.replay_filter_fill();
        self.shared.set(&Totals {
            node: *self.node.counters(),
            links: self.links.counters(),
            host: HostCounters { injected_losses: self.loss.dropped(), ..self.host },
            epoch: self.epochs.epoch().0,
            in_flight: self.node.in_flight() as u64,
            replay_tags: replay_tags as u64,
            replay_tags_most: replay_tags_most as u64,
        });
    }

    async fn end(&mut self) -> Result<(), RuntimeError> {
        self.logs.sync()?;
        tracing::info!("the node stops");
        tokio::time::sleep(FAREWELL).await;
        Ok(())
    }

    /// The epoch of the first document, and the one before it while packets of that may still be under way.
    fn begin_first_epoch(&mut self) -> Result<(), RuntimeError> {
        let epoch = self.epochs.epoch();
        let before = epoch.0.checked_sub(1).map(Epoch).filter(|before| *before >= self.key.epoch());
        if let Some(before) = before.filter(|_| !self.epochs.overlap_left(unix_seconds()).is_zero()) {
            self.prepare(before)?;
            self.begin(before)?;
        }
        self.prepare(epoch)?;
        self.begin(epoch)
    }

    /// Whether there is a later epoch, and it has begun.
    fn begin_next_epoch(&mut self) -> Result<bool, RuntimeError> {
        let next = self.documents.current(unix_seconds()).map_err(RuntimeError::from);
        let next = next.and_then(|network| Ok((find_me(self.config, &self.key, &network)?, network)));
        let (me, network) = match next {
            Ok(next) => next,
            Err(error) => {
                if std::mem::take(&mut self.in_force) {
                    tracing::error!("no network document is in force, so nothing is sent: {error}");
                    self.node.set_cover(self.clock.now(), false);
                }
                return Ok(false);
            }
        };
        debug_assert_eq!(me, self.node.id(), "the configuration names one id");
        if network.profile != self.network.profile {
            return Err(RuntimeError::Profile(network.profile));
        }
        let epoch = network.epoch;
        self.epochs = Epochs::of(&network);
        self.network = network;
        self.prepare(epoch)?;
        self.begin(epoch)?;
        self.in_force = true;
        tracing::info!(%epoch, "an epoch begins");
        Ok(true)
    }

    /// Accepts packets of an epoch; refuses those that an earlier run of this node has admitted.
    fn prepare(&mut self, epoch: Epoch) -> Result<(), RuntimeError> {
        let key = MixKey::new(self.key.mix_secret(epoch)?);
        self.node.prepare_epoch(epoch, key).map_err(|error| RuntimeError::Epoch(epoch, error))?;
        for tag in self.logs.load(epoch)? {
            if self.node.restore_tag(Admitted { epoch, tag }).is_err() {
                tracing::error!("the replay filter is full; raise `limits.replay_tags`");
                break;
            }
        }
        Ok(())
    }

    fn begin(&mut self, epoch: Epoch) -> Result<(), RuntimeError> {
        let mut config = node_config(self.config, &self.network);
        config.parameters.overlap = self.epochs.overlap_left(unix_seconds());
        self.routes = self.network.nodes.iter().map(|node| self.links.route(node)).collect();
        let begun = self.node.begin_epoch(self.clock.now(), epoch, self.network.entries(), config);
        begun.map_err(|error| RuntimeError::Epoch(epoch, error))
    }
}

fn node_config(config: &NodeConfig, network: &Network) -> Config {
    let receiver: Option<NodeId> = config.readings.as_ref().and_then(|readings| network.find(&readings.to));
    let in_flight = config.limits.in_flight as usize;
    Config { in_flight, receiver, ..Config::of_network(network.parameters) }
}

fn broken_link(error: std::io::Error) -> RuntimeError {
    RuntimeError::System("a socket does not work any more", error)
}
