//! Holds a connection to the MQTT broker, and what goes over it.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::backoff::Backoff;
use super::inbound::{Act, Inbound, count};
use super::mirror::Mirror;
use super::publisher::{self, Order, Outcome};
use super::record_file::RecordFile;
use super::session::{Heard, Session};
use super::settings::Plan;
use super::status::Status;
use super::trouble::Trouble;
use crate::Moment;
use crate::serve::{Feed, Inner, Update};

/// A bridge to an MQTT broker.
#[derive(Debug)]
pub struct Bridge {
    plan: Arc<Plan>,
    mirror: Mirror,
    inbound: Inbound,
    status: watch::Sender<Status>,
    /// The line that was told last.
    told: Option<String>,
    /// The last line about what was left out.
    notice: Option<String>,
    /// Whether it was told that another bridge has this one's name.
    has_told_of_namesake: bool,
    /// Where the newest records are kept over a restart.
    folder: Option<PathBuf>,
    file: Option<RecordFile>,
    /// When their changes are written.
    write_at: Option<Instant>,
}

/// How long what was retained before may take to come.
const SWEEP: Duration = Duration::from_secs(10);
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long changes of records wait for more of them before they are written.
const WRITE: Duration = Duration::from_secs(1);
/// The clock on the wall, by which records grow old, is looked at so often at least.
const LOOK: Duration = Duration::from_mins(1);

impl Bridge {
    /// A bridge, and where it says how it is doing.
    pub fn new(plan: Plan) -> (Self, watch::Receiver<Status>) {
        let plan = Arc::new(plan);
        let (status, watched) = watch::channel(Status::default());
        let mirror = Mirror::new(Arc::clone(&plan));
        let inbound = Inbound::new(Arc::clone(&plan), String::new(), Instant::now());
        let bridge = Self {
            plan,
            mirror,
            inbound,
            status,
            told: None,
            notice: None,
            has_told_of_namesake: false,
            folder: None,
            file: None,
            write_at: None,
        };
        (bridge, watched)
    }

    /// Keeps the newest record of each SenML name in a file of this folder, over a restart.
    #[must_use]
    pub fn keeping_records_in(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Runs until `stop` is done. `draw` gives random numbers, for pauses.
    pub async fn run(mut self, inner: Inner, mut draw: impl FnMut() -> u64, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        let queue = usize::from(self.plan.settings().limits.queue_in);
        let (orders, taken) = mpsc::channel(queue);
        let (done, mut outcomes) = mpsc::channel(queue);
        let publisher = tokio::spawn(publisher::publish(inner.clone(), taken, done));
        let mut feed = self.take_state(&inner);
        self.open_file();
        let (least, most) = self.plan.pauses();
        let mut backoff = Backoff::new(least, most);
        let instance = instance(draw());
        self.inbound = Inbound::new(Arc::clone(&self.plan), instance.clone(), Instant::now());
        loop {
            let begin = Instant::now();
            let ended = match Session::open(&self.plan, &instance) {
                Ok(mut session) => {
                    let inside =
                        Inside { inner: &inner, feed: &mut feed, orders: &orders, outcomes: &mut outcomes };
                    let ended = self.hold(&mut session, inside, &mut backoff, &mut stop).await;
                    if ended.is_none() {
                        session.say_farewell(&self.plan, FAREWELL).await;
                    }
                    ended
                }
                Err(trouble) => Some(trouble),
            };
            self.mirror.disconnected();
            let Some(trouble) = ended else { break };
            count(&mut self.mirror.counters.lost);
            // One that ends at once is no success: two bridges of one name end each other's.
            if begin.elapsed() > most {
                backoff.reset();
            }
            if trouble.is_for_people() {
                backoff.be_patient();
            }
            self.tell_trouble(&trouble);
            self.show(false, false);
            let until = Instant::now() + backoff.pause(draw());
            if self.wait(until, &inner, &mut feed, &mut outcomes, &mut stop).await {
                break;
            }
        }
        self.write_records();
        self.show(false, false);
        publisher.abort();
    }

    /// What was kept over a restart.
    fn open_file(&mut self) {
        let Some(folder) = &self.folder else { return };
        match RecordFile::open(folder, self.plan.id()) {
            Ok((file, records)) => {
                self.file = Some(file);
                self.mirror.restore(records, now());
            }
            Err(error) => tracing::warn!(
                "the bridge to MQTT begins without the records of SenML names that newest values lack: {error}"
            ),
        }
    }

    fn write_records(&mut self) {
        self.write_at = None;
        let changes = self.mirror.take_record_changes();
        let Some(file) = self.file.as_mut().filter(|_| !changes.is_empty()) else { return };
        if let Err(error) = file.write(&changes) {
            self.mirror.notices.say("the bridge's file", "", || {
                format!("records of SenML names that newest values lack may be gone after a restart: {error}")
            });
        }
    }

    /// When there is something to do without anything that happens.
    fn wake(&mut self) -> Instant {
        let at = Instant::now();
        if self.write_at.is_none() && self.mirror.has_record_changes() {
            self.write_at = Some(at + WRITE);
        }
        let due = self.mirror.next_due().map(|due| {
            let left = due.as_millis().saturating_sub(now().as_millis());
            at + Duration::from_millis(left).min(LOOK)
        });
        due.into_iter().chain(self.write_at).min().unwrap_or(at + LOOK)
    }

    /// Does what is due, and tells what there is to tell.
    fn attend(&mut self) {
        self.mirror.expire(now());
        if self.write_at.is_some_and(|at| at <= Instant::now()) {
            self.write_records();
        }
        self.say_notices();
    }

    fn say_notices(&mut self) {
        while let Some(line) = self.mirror.notices.next_line() {
            tracing::warn!("{line}");
            self.notice = Some(line);
        }
    }

    /// Listens first and looks then, so that nothing is missed.
    fn take_state(&mut self, inner: &Inner) -> Feed {
        let feed = inner.listen();
        // A copy is a few pointers a topic: the broker does not wait while they are gone through.
        let state = inner.state().clone();
        self.mirror.reset(&state);
        feed
    }

    fn take(&mut self, update: Option<Update>, inner: &Inner, feed: &mut Feed) {
        match update {
            Some(Update::Changes(changes)) => changes.iter().for_each(|change| self.mirror.apply(change)),
            Some(Update::Health(_)) => {}
            None => {
                count(&mut self.mirror.counters.lagged);
                *feed = self.take_state(inner);
            }
        }
    }

    /// Waits for the next attempt; `true` if the bridge has to end.
    async fn wait(
        &mut self,
        until: Instant,
        inner: &Inner,
        feed: &mut Feed,
        outcomes: &mut mpsc::Receiver<Outcome>,
        stop: &mut (impl Future<Output = ()> + Unpin),
    ) -> bool {
        loop {
            self.say_notices();
            let wake = self.wake();
            tokio::select! {
                () = &mut *stop => return true,
                () = tokio::time::sleep_until(until) => return false,
                () = tokio::time::sleep_until(wake) => self.attend(),
                update = feed.next() => self.take(update, inner, feed),
                Some(outcome) = outcomes.recv() => self.learn(outcome),
            }
        }
    }

    /// Works with a connection until it ends; `None`, if the bridge has to.
    async fn hold(
        &mut self,
        session: &mut Session,
        inside: Inside<'_>,
        backoff: &mut Backoff,
        stop: &mut (impl Future<Output = ()> + Unpin),
    ) -> Option<Trouble> {
        let Inside { inner, feed, orders, outcomes } = inside;
        let mut is_announced = false;
        loop {
            while session.has_room() {
                let Some(message) = self.mirror.next(now()) else { break };
                if let Err(topic) = session.send(message) {
                    self.mirror.return_to_queue(topic);
                    break;
                }
            }
            self.say_notices();
            self.show(session.is_connected(), session.is_listening());
            let wake = self.wake();
            tokio::select! {
                () = &mut *stop => return None,
                () = tokio::time::sleep_until(wake) => self.attend(),
                heard = session.next() => match heard {
                    Heard::Connected { max_packet } => {
                        count(&mut self.mirror.counters.connected);
                        self.quieten();
                        tracing::info!(host = %self.plan.settings().host, "the MQTT broker is reached");
                        session.begin(&self.plan, Instant::now() + SWEEP);
                        is_announced = true;
                        self.mirror.connected(max_packet);
                    }
                    Heard::Message(message) => {
                        match self.inbound.sort(&mut self.mirror, &message, session.is_sweeping(), Instant::now()) {
                            Act::SweepEnds => session.end_sweep(&self.plan),
                            Act::Found(topic) => self.mirror.found(&topic),
                            Act::HomeAssistant => {
                                count(&mut self.mirror.counters.home_assistant_online);
                                self.mirror.send_all();
                            }
                            Act::Namesake => {
                                backoff.be_patient();
                                self.tell_trouble(&Trouble::TakenOver);
                            }
                            Act::Publish(order) => if orders.try_send(order).is_err() {
                                count(&mut self.mirror.counters.too_many);
                            },
                            Act::Nothing => {}
                        }
                    }
                    Heard::Subscribed => {}
                    Heard::SweepTooLong => session.end_sweep(&self.plan),
                    Heard::Acknowledged(kind) => self.mirror.acknowledged(kind),
                    Heard::Refused(trouble) => {
                        let counters = &mut self.mirror.counters;
                        let is_subscription = matches!(trouble, Trouble::SubscriptionDenied(_));
                        let counter =
                            if is_subscription { &mut counters.subscriptions_refused } else { &mut counters.refused };
                        count(counter);
                        // The first of a connection; more of them are counted.
                        if session.is_first_refusal() {
                            self.tell(&trouble.to_string());
                        }
                    }
                    Heard::Ended(trouble) => {
                        if is_announced {
                            self.inbound.was_connected();
                        }
                        return Some(trouble);
                    }
                },
                update = feed.next() => self.take(update, inner, feed),
                Some(outcome) = outcomes.recv() => self.learn(outcome),
            }
        }
    }

    fn learn(&mut self, outcome: Outcome) {
        let counters = &mut self.mirror.counters;
        match outcome.result {
            Ok(()) if outcome.command => count(&mut counters.commands),
            Ok(()) => count(&mut counters.imported),
            Err(refusal) => {
                count(&mut counters.refused_here);
                if counters.refused_here == 1 {
                    self.tell(&format!(
                        "what MQTT has at {:?} cannot be published to {:?} here: {}; correct mqtt.import or \
                         mqtt.commands, or the broker's policy (more of these are counted)",
                        refusal.from, refusal.name, refusal.why
                    ));
                }
            }
        }
    }

    /// Tells a person what is wrong: of another bridge with this one's name once and for all, for
    /// each of them comes back again and again.
    fn tell_trouble(&mut self, trouble: &Trouble) {
        let is_namesake = *trouble == Trouble::TakenOver;
        if is_namesake && std::mem::replace(&mut self.has_told_of_namesake, true) {
            self.told = Some(trouble.to_string());
            return;
        }
        self.tell(&trouble.to_string());
    }

    /// Tells a person, once.
    fn tell(&mut self, line: &str) {
        if self.told.as_deref() != Some(line) {
            tracing::warn!("{line}");
            self.told = Some(line.to_owned());
        }
    }

    /// It is better again.
    fn quieten(&mut self) {
        self.told = None;
    }

    fn show(&self, connected: bool, listening: bool) {
        let new = Status {
            connected,
            listening,
            trouble: self.told.clone(),
            notice: self.notice.clone(),
            counters: self.mirror.counters,
        };
        self.status.send_if_modified(|status| {
            let differs = *status != new;
            *status = new;
            differs
        });
    }
}

/// What a connection works with.
struct Inside<'b> {
    inner: &'b Inner,
    feed: &'b mut Feed,
    orders: &'b mpsc::Sender<Order>,
    outcomes: &'b mut mpsc::Receiver<Outcome>,
}

/// A number that no other process has, be it of this machine.
fn instance(draw: u64) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{draw:016x}-{:x}-{:x}", std::process::id(), since.as_nanos())
}

/// When messages expire is told in whole seconds of a clock on the wall.
fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
