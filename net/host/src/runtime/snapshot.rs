//! The totals that metrics and status read. The driver copies them once a round.
//!
//! They are told in two ways. [`Shared`] tells everything, on sockets that only the node's user may
//! use. [`Coarse`] is for whoever may ask: one number for all packets, cover, messages, refusals
//! and what is passed on together, blurred and late, so that neither the coming of one packet nor
//! its kind can be read from it.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use motemix_directory::Epoch;
use motemix_link::meeting::HandshakeDrop;
use motemix_node::{Counters, DropReason, LoopTally};

use super::Started;
use super::crew::CrewCounters;
use super::detail::disk_room;
use super::passed::Passed;
use crate::NodeConfig;
use crate::control::{DiskRoom, NodeStatus, ToldAuthority};
use crate::health::{Concern, Health};
use crate::link::{LinkCounters, SessionCounters};
use crate::metrics::{Metrics, Told};
use motemix_os::address::text;
use motemix_os::places;

/// How long documents may take to come by themselves to a node that starts. Authorities that begin
/// as well make the first one within two rounds of 75 s, and one more in each further round.
const BEGINS_WITHIN: Duration = Duration::from_mins(5);
/// One hour.
const HOUR_IN_MICROS: u64 = 3_600_000_000;

/// As the control socket and metrics tell times.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Totals since the start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) node: Counters,
    pub(super) links: LinkCounters,
    pub(super) sessions: SessionCounters,
    pub(super) host: HostCounters,
    pub(super) epoch: u32,
    pub(super) in_flight: u64,
    pub(super) replay_tags: u64,
    pub(super) replay_tags_most: u64,
    /// Seconds until the filter is full at the present rate, if that is in sight.
    pub(super) replay_full_in: Option<u64>,
    /// Messages that the window remembers, and how many it can.
    pub(super) window: (usize, usize),
    /// Per cent of the inbox's quota; 0 without an inbox.
    pub(super) inbox_percent: u64,
    /// Per cent of the evidence that raises the alarm for loops.
    pub(super) loop_evidence: u32,
    /// Packets that wait until they may leave, and how many can.
    pub(super) queue: (usize, usize),
    /// Whether a network document is in force.
    pub(super) in_force: bool,
    /// Until when documents follow each other without a gap, in seconds since 1970.
    pub(super) covered_until: u64,
}

/// What the driver itself counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HostCounters {
    /// Datagrams that `faults.loss` dropped.
    pub(super) injected_losses: u64,
    /// Packets for a node whose addresses no socket here can reach.
    pub(super) unroutable: u64,
    /// Datagrams dropped because their source had too many waiting.
    pub(super) overload: u64,
    /// Messages that the inbox could not take.
    pub(super) inbox_refusals: u64,
    /// Own readings that could not be sent.
    pub(super) readings_refused: u64,
    /// Replies that no packet carries; their senders were told that the message is here.
    pub(super) replies_too_long: u64,
    /// What was processed together.
    pub(super) crew: CrewCounters,
}

/// The totals, and what does not change.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    totals: Rc<Cell<Totals>>,
    fixed: Rc<NodeStatus>,
    state: Rc<Path>,
    /// Packets of an epoch, at most.
    replay_tags: u32,
    round_trips: Rc<RefCell<Histogram<u64>>>,
    /// From taking a message until its acknowledgement.
    elapsed: Rc<RefCell<Histogram<u64>>>,
    health: Rc<RefCell<Health>>,
    coarse: Rc<Cell<Published>>,
    /// Why no documents come, if they should come by themselves.
    silence: Rc<RefCell<Option<String>>>,
    /// What became of the last word to each authority: the first epoch of which it has no key, and
    /// why it did not take more.
    told: Rc<RefCell<BTreeMap<String, ToldAuthority>>>,
    /// Whom loops pass. It is as long as the document, so it is counted once a second.
    passed: Rc<RefCell<Passed>>,
    started: Instant,
}

impl Shared {
    pub(super) fn new(config: &NodeConfig, started: &Started) -> Self {
        let fixed = NodeStatus {
            name: config.name.clone(),
            id: config.id.unwrap_or_default(),
            listen: started.listen.iter().map(|address| text(*address)).collect(),
            metrics: started.metrics.map(text),
            ..NodeStatus::default()
        };
        // Two digits are precise to one in a hundred; an hour is longer than any round trip.
        let times = || {
            let histogram =
                Histogram::new_with_max(HOUR_IN_MICROS, 2).expect("the bounds are constants in range");
            Rc::new(RefCell::new(histogram))
        };
        let begins = "the node looks for the network document of this time";
        Self {
            totals: Rc::default(),
            fixed: Rc::new(fixed),
            state: config.state.as_path().into(),
            replay_tags: config.limits.replay_tags,
            round_trips: times(),
            elapsed: times(),
            health: Rc::new(RefCell::new(Health::beginning(begins))),
            coarse: Rc::default(),
            silence: Rc::default(),
            told: Rc::default(),
            passed: Rc::default(),
            started: Instant::now(),
        }
    }

    pub(super) fn set(&self, totals: &Totals) {
        self.totals.set(*totals);
    }

    /// Keeps why no documents come; `None` if somebody gives some.
    pub(super) fn set_silence(&self, why: Option<String>) {
        *self.silence.borrow_mut() = why;
    }

    /// Why no documents come.
    pub(super) fn silence(&self) -> Option<String> {
        self.silence.borrow().clone()
    }

    /// An authority has this node's keys of all epochs before `until`.
    pub(super) fn told(&self, at: &str, until: Epoch) {
        let told = ToldAuthority { at: at.to_owned(), keys_until: Some(until.0.into()), problem: None };
        self.told.borrow_mut().insert(at.to_owned(), told);
    }

    /// An authority was told nothing, for this reason.
    pub(super) fn told_nothing(&self, at: &str, problem: &str) {
        let mut told = self.told.borrow_mut();
        let known = told.entry(at.to_owned()).or_default();
        at.clone_into(&mut known.at);
        known.problem = Some(problem.to_owned());
    }

    /// The authorities, by their places.
    pub(super) fn authorities(&self) -> Vec<ToldAuthority> {
        self.told.borrow().values().cloned().collect()
    }

    /// Whom loops pass.
    pub(super) fn passed(&self) -> RefMut<'_, Passed> {
        self.passed.borrow_mut()
    }

    /// Whether the node has not been there for long, so that what comes by itself may be on its
    /// way.
    pub(super) fn is_young(&self) -> bool {
        self.started.elapsed() < BEGINS_WITHIN
    }

    pub(super) fn set_health(&self, health: Health) {
        *self.health.borrow_mut() = health;
    }

    /// Publishes the coarse figures of this moment, at most once a minute. `random` are random
    /// numbers.
    pub(super) fn publish(&self, now: Instant, mut random: impl FnMut() -> u64) {
        let (mut published, totals) = (self.coarse.get(), self.totals.get());
        if published.at.is_some_and(|at| now.saturating_duration_since(at) < PUBLISHED_EVERY) {
            return;
        }
        let packets = totals.links.received + totals.links.sent;
        // A step is passed at a random place, so that who sends a packet does not learn from it
        // what others sent.
        let blur = |value: u64, step: u64, random: u64| (value + random % step) / step * step;
        let first = published.at.replace(now).is_none();
        if !first {
            published.packets = published.packets.max(blur(packets, PACKET_STEP, random()));
            let fill = totals.replay_tags * 100 / totals.replay_tags_most.max(1);
            published.replay_percent = blur(fill, PERCENT_STEP, random()).min(100);
        }
        self.coarse.set(published);
    }

    /// Counts what an acknowledged message took: its last try, and all of them.
    pub(super) fn acknowledged(&self, round_trip: Duration, elapsed: Duration) {
        self.round_trips.borrow_mut().saturating_record(micros(round_trip));
        self.elapsed.borrow_mut().saturating_record(micros(elapsed));
    }

    /// The status, without the inbox.
    pub(super) fn status(&self) -> NodeStatus {
        let totals = self.totals.get();
        let mut counters = BTreeMap::new();
        for (name, _, value) in totals.counters() {
            counters.insert(name.trim_start_matches("motemix_").to_owned(), value);
        }
        for reason in DropReason::ALL {
            counters
                .insert(format!("dropped_{}", reason.name().replace('-', "_")), totals.node.dropped(*reason));
        }
        let sessions = &totals.sessions;
        counters.extend([
            ("link_keys".to_owned(), sessions.keys),
            ("link_calls_failed".to_owned(), sessions.failed),
            ("link_untried".to_owned(), sessions.untried),
            ("link_neighbours".to_owned(), sessions.neighbours),
            ("link_neighbours_with_key".to_owned(), sessions.with_key),
        ]);
        for reason in SessionCounters::DROPS {
            let name = format!("link_dropped_{}", reason.name().replace('-', "_"));
            counters.insert(name, sessions.dropped(reason));
        }
        for reason in HandshakeDrop::ALL {
            let name = format!("link_handshakes_dropped_{}", reason.name().replace('-', "_"));
            counters.insert(name, sessions.refused(*reason));
        }
        for (name, times) in [("round_trip_us", &self.round_trips), ("elapsed_us", &self.elapsed)] {
            for step in times.borrow().iter_recorded() {
                counters.insert(format!("{name}_{}", step.value_iterated_to()), step.count_at_value());
            }
        }
        let mut status = NodeStatus::clone(&self.fixed);
        status.epoch = Epoch(totals.epoch).0.into();
        status.uptime_s = self.started.elapsed().as_secs();
        status.counters = counters;
        status.health = self.health.borrow().clone();
        status
    }

    /// What the node is about and how it is, in a few words that stay the same while nothing
    /// changes.
    pub(super) fn in_short(&self, about: &str) -> String {
        let health = self.health.borrow();
        let concerns: Vec<_> = health.reasons.iter().map(|reason| reason.concern.name()).collect();
        let why = if concerns.is_empty() { String::new() } else { format!(": {}", concerns.join(", ")) };
        format!("{about}, {}{why}", health.state.name())
    }

    /// What may be told to every user of the machine.
    pub(super) fn coarse(&self) -> Coarse {
        Coarse(self.clone())
    }

    fn fill(&self, metrics: &mut Metrics) {
        let totals = self.totals.get();
        for (name, help, value) in totals.counters() {
            metrics.counter(name, help, value);
        }
        let help = "Packets and datagrams that went no further, by reason";
        for reason in DropReason::ALL {
            metrics.counter_with(
                "motemix_dropped",
                help,
                ("reason", reason.name()),
                totals.node.dropped(*reason),
            );
        }
        fill_sessions(&totals.sessions, metrics);
        fill_passed(&self.passed.borrow(), metrics);
        let last_try = "Round trip of the try that was acknowledged, in microseconds";
        let all_tries = "From taking a message until its acknowledgement, in microseconds";
        for (name, help, times, share) in [
            ("motemix_round_trip_p50_us", last_try, &self.round_trips, 50.0),
            ("motemix_round_trip_p99_us", last_try, &self.round_trips, 99.0),
            ("motemix_elapsed_p50_us", all_tries, &self.elapsed, 50.0),
            ("motemix_elapsed_p99_us", all_tries, &self.elapsed, 99.0),
        ] {
            metrics.gauge(name, help, gauge(times.borrow().value_at_percentile(share)));
        }
        metrics.gauge("motemix_in_flight", "Own messages whose end is not known", gauge(totals.in_flight));
        metrics.gauge("motemix_replay_tags", "Tags in the replay filter", gauge(totals.replay_tags));
        let (packets, most) = totals.queue;
        metrics.gauge("motemix_queue", "Packets that wait until they may leave", gauge(packets as u64));
        metrics.gauge("motemix_queue_most", "How many packets the queue holds", gauge(most as u64));
        let help = "Threads that process packets; others start when there is work for them";
        metrics.gauge("motemix_threads", help, gauge(totals.host.crew.threads));
        let help = "Tags that the replay filter takes";
        metrics.gauge("motemix_replay_tags_most", help, gauge(totals.replay_tags_most));
        let help = "Seconds until the replay filter is full at the present rate; -1 if that is not in sight";
        let full_in = totals.replay_full_in.map_or(-1, gauge);
        metrics.gauge("motemix_replay_full_in_seconds", help, full_in);
        let (messages, most) = totals.window;
        let help = "Messages of the present lifetime that are remembered to recognise repeated ones";
        metrics.gauge("motemix_window_messages", help, gauge(messages as u64));
        let help = "How many messages of one lifetime can be remembered";
        metrics.gauge("motemix_window_messages_most", help, gauge(most as u64));
        let help = "Per cent of the evidence at which the alarm for loops begins";
        metrics.gauge("motemix_loop_evidence_percent", help, totals.loop_evidence.into());
        if let Some(DiskRoom { free, needed }) = disk_room(&self.state, self.replay_tags) {
            metrics.gauge("motemix_disk_free_bytes", "What the node may still write", gauge(free));
            let help = "What the replay log of an epoch may need, and some to spare";
            metrics.gauge("motemix_disk_needed_bytes", help, gauge(needed));
        }
        let help = "Per cent of the inbox's quota";
        metrics.gauge("motemix_inbox_percent", help, gauge(totals.inbox_percent));
        self.fill_health(metrics);
    }

    /// What everybody may know, and is needed of each node.
    fn fill_health(&self, metrics: &mut Metrics) {
        let totals = self.totals.get();
        metrics.gauge("motemix_epoch", "The current epoch", totals.epoch.into());
        if totals.covered_until > 0 {
            let help = "Until when network documents follow each other, in seconds since 1970";
            metrics.gauge("motemix_documents_until_seconds", help, gauge(totals.covered_until));
        }
        let health = self.health.borrow();
        let help = "How the node is: -1 starting, 0 ok, 1 warning, 2 failing";
        metrics.gauge("motemix_health", help, health.state.figure());
        let help = "The same by concern";
        for concern in Concern::ALL {
            let state = health.of_concern(concern).figure();
            metrics.gauge_with("motemix_health_of", help, ("concern", concern.name()), state);
        }
        let uptime = i64::try_from(self.started.elapsed().as_secs()).unwrap_or(i64::MAX);
        metrics.gauge("motemix_uptime_seconds", "Seconds since the start", uptime);
    }
}

/// What protects links. All of it is zero where none are protected.
fn fill_sessions(sessions: &SessionCounters, metrics: &mut Metrics) {
    let help = "Keys made with neighbours";
    metrics.counter("motemix_link_keys", help, sessions.keys);
    let help = "Calls for a key that failed";
    metrics.counter("motemix_link_calls_failed", help, sessions.failed);
    let help = "Packets from ports that no document names, which came faster than keys are tried";
    metrics.counter("motemix_link_untried", help, sessions.untried);
    let help = "Datagrams of protected links that went no further, by reason";
    // The others happen on a radio.
    for reason in SessionCounters::DROPS {
        let label = ("reason", reason.name());
        metrics.counter_with("motemix_link_dropped", help, label, sessions.dropped(reason));
    }
    let help = "Messages of handshakes with neighbours that went no further, by reason";
    for reason in HandshakeDrop::ALL {
        let label = ("reason", reason.name());
        metrics.counter_with("motemix_link_handshakes_dropped", help, label, sessions.refused(*reason));
    }
    let help = "Neighbours with whom links are to be protected";
    metrics.gauge("motemix_link_neighbours", help, gauge(sessions.neighbours));
    let help = "Neighbours with whom there is a key";
    metrics.gauge("motemix_link_neighbours_with_key", help, gauge(sessions.with_key));
}

/// What became of loops, by the mixes that they passed.
fn fill_passed(passed: &Passed, metrics: &mut Metrics) {
    type Figure = fn(LoopTally) -> u32;
    let figures: [(&str, &str, Figure); 2] = [
        ("motemix_loops_through_returned", "Loops through this mix that came back in time", |of| of.returned),
        ("motemix_loops_through_lost", "Loops through this mix that were not back in time", |of| of.lost),
    ];
    for (name, help, figure) in figures {
        for (mix, layer, tally) in passed.mixes() {
            let labels = [("mix", mix.to_owned().into()), ("layer", layer.to_string().into())];
            metrics.counter_of(name, help, labels, figure(tally).into());
        }
    }
}

fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Told for Shared {
    fn metrics(&self, metrics: &mut Metrics) {
        self.fill(metrics);
    }

    fn health(&self) -> Health {
        self.health.borrow().clone()
    }

    fn unready(&self) -> Option<String> {
        if self.totals.get().in_force {
            return None;
        }
        let health = self.health.borrow();
        // With a document, what waits is the first epoch.
        let of_documents = health.reasons.iter().find(|reason| reason.concern == Concern::Documents);
        let why = of_documents.or_else(|| health.reasons.first());
        Some(why.map_or_else(|| "the node starts".to_owned(), |reason| reason.words.clone()))
    }
}

/// How often the coarse figures change.
const PUBLISHED_EVERY: Duration = Duration::from_mins(1);
/// In steps of so many packets.
const PACKET_STEP: u64 = 1000;
/// In steps of so many per cent.
const PERCENT_STEP: u64 = 10;

/// The coarse figures of the last minute's end.
#[derive(Debug, Clone, Copy, Default)]
struct Published {
    at: Option<Instant>,
    packets: u64,
    replay_percent: u64,
}

/// Tells no more than everybody may know.
#[derive(Debug, Clone)]
pub(super) struct Coarse(Shared);

impl Told for Coarse {
    fn metrics(&self, metrics: &mut Metrics) {
        let published = self.0.coarse.get();
        let help = "Datagrams in and out of all kinds, in thousands, of a minute ago";
        metrics.counter("motemix_datagrams_about", help, published.packets);
        let help = "How full the replay filter is, in tens of per cent, of a minute ago";
        let percent = i64::try_from(published.replay_percent).unwrap_or(100);
        metrics.gauge("motemix_replay_percent_about", help, percent);
        self.0.fill_health(metrics);
    }

    fn health(&self) -> Health {
        self.0.health()
    }

    fn unready(&self) -> Option<String> {
        self.0.unready()
    }
}

impl Totals {
    /// Name, meaning and value of each counter.
    fn counters(&self) -> [(&'static str, &'static str, u64); 32] {
        let Self { node, links, host, .. } = self;
        [
            ("motemix_datagrams", "Datagrams handed to the node", node.datagrams),
            ("motemix_transmitted", "Packets sent", node.transmitted),
            ("motemix_forwarded", "Packets taken in to be sent on", node.forwarded),
            ("motemix_delivered", "Messages received, each once", node.delivered),
            ("motemix_duplicates", "Tries of messages received before", node.duplicates),
            ("motemix_replied", "Replies and acknowledgements sent", node.replied),
            ("motemix_sent", "Messages accepted for sending", node.sent),
            ("motemix_retransmitted", "Tries after the first", node.retransmitted),
            ("motemix_acknowledged", "Messages whose reply came back", node.acknowledged),
            ("motemix_discarded", "Messages given up after the last try", node.discarded),
            ("motemix_loops_sent", "Loop cover sent", node.loops_sent),
            ("motemix_loops_returned", "Loop cover that came back", node.loops_returned),
            ("motemix_loops_lost", "Loop cover that was not back in its time", node.loops_lost),
            ("motemix_loop_alarms", "Alarms for loops that do not come back", node.loop_alarms),
            ("motemix_drops_sent", "Drop cover sent", node.drops_sent),
            ("motemix_drops_received", "Drop cover that ended here", node.drops_received),
            ("motemix_cover_missed", "Times at which cover was due and could not be sent", node.cover_missed),
            ("motemix_headers_built", "Headers built ahead of time", node.headers_built),
            ("motemix_udp_received", "Datagrams that arrived", links.received),
            ("motemix_udp_sent", "Datagrams given to the kernel", links.sent),
            ("motemix_udp_send_errors", "Datagrams that the kernel refused", links.send_errors),
            ("motemix_udp_receive_errors", "Errors that the network reported", links.receive_errors),
            ("motemix_udp_overflow", "Datagrams that came faster than they were read", links.overflow),
            ("motemix_injected_losses", "Datagrams dropped by an experiment", host.injected_losses),
            ("motemix_unroutable", "Packets for a node that no socket reaches", host.unroutable),
            (
                "motemix_overload",
                "Datagrams dropped because their source had too many waiting",
                host.overload,
            ),
            ("motemix_batches", "Batches of two packets or more", host.crew.batches),
            ("motemix_batched", "Packets that were processed in batches", host.crew.batched),
            (
                "motemix_connections_closed",
                "Connections to the node's sockets and ports that were closed because others came",
                places::closed(),
            ),
            ("motemix_inbox_refusals", "Messages that the inbox could not take", host.inbox_refusals),
            ("motemix_readings_refused", "Own readings that could not be sent", host.readings_refused),
            ("motemix_replies_too_long", "Replies that no packet carries", host.replies_too_long),
        ]
    }
}
