//! Once a second: how the node is.

mod loops;
mod silence;

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use motemix_directory::{Epoch, UnixTime};
use motemix_node::{DropReason, EpochFill};
use motemix_sphinx::Profile;

use super::{Driver, node_config};
use crate::control::DiskRoom;
use crate::documents::{DocumentsProblem, Lasts, Outlook};
use crate::health::{Concern, Reason};
use crate::link::SessionCounters;
use crate::runtime::detail::disk_room;
use crate::runtime::forecast::Forecast;
use crate::runtime::patience::named_later;
use crate::runtime::readings::Readings;
use crate::runtime::watch::Watch;
use crate::runtime::{RuntimeError, find_me};
use motemix_os::key_file::KeyProblem;
use motemix_os::store::{StoreError, StoreProblem};
use silence::{LoopReturns, Silence};

const TWO_MINUTES: Duration = Duration::from_mins(2);
/// How long before the documents end a warning comes.
const DAY: Duration = Duration::from_hours(24);
/// For epochs shorter than an hour: so many of them before.
const EPOCHS: u32 = 24;
/// The same for a node that gets documents by itself.
const EPOCHS_BY_ITSELF: u32 = 2;
/// Per cent of the inbox's quota, and of the window, from which on a warning is given.
const NEARLY: usize = 90;
/// A refusal for want of room is told for this long.
const RECENT: Duration = Duration::from_secs(10);

/// What the examinations remember from one to the next.
#[derive(Debug, Default)]
pub(in crate::runtime) struct Examination {
    watch: Watch,
    forecast: Forecast,
    outlook: Outlook,
    /// Until when the documents last, and as far ahead as was looked for more.
    lasts: Option<(Lasts, UnixTime)>,
    without_document: Option<WithoutDocument>,
    /// The clocks disagree, in words.
    clock: Option<String>,
    /// What is wrong with paths of own cover, in words, and in which epoch.
    cover: Option<(Epoch, Option<String>)>,
    /// Packets refused for want of room in the replay filter.
    refusals: Refusals,
    /// Packets refused for want of room in the window.
    window_refusals: Refusals,
    /// Datagrams that came faster than they were read.
    overflow: Refusals,
    returns: LoopReturns,
    /// Endpoints by way of which no loop comes back, as the log has it.
    silent: usize,
}

/// Why no document is in force.
#[derive(Debug, Clone)]
pub(in crate::runtime) struct WithoutDocument {
    pub(in crate::runtime) problem: String,
    /// Whether the next one comes by itself.
    pub(in crate::runtime) comes: bool,
    /// Whether there is one, which does not have this node.
    pub(in crate::runtime) is_of_others: bool,
}

/// How many packets were refused, and when that was seen last.
#[derive(Debug, Default)]
struct Refusals {
    count: u64,
    seen: Option<Instant>,
}

impl Refusals {
    fn see(&mut self, now: Instant, count: u64) {
        if count > std::mem::replace(&mut self.count, count) {
            self.seen = Some(now);
        }
    }

    fn is_recent(&self, now: Instant) -> bool {
        self.seen.is_some_and(|seen| now.saturating_duration_since(seen) < RECENT)
    }
}

fn left(fill: EpochFill) -> u64 {
    fill.capacity.saturating_sub(fill.tags).into()
}

impl Examination {
    pub(in crate::runtime) fn without_document(&mut self, why: WithoutDocument) {
        self.without_document = Some(why);
        // What follows the next one that is in force is to be looked at anew.
        self.lasts = None;
    }

    /// What is said while no document is in force, with the reason; `None` while one is.
    pub(in crate::runtime) fn nothing_in_force(&self) -> Option<String> {
        let why = self.without_document.as_ref()?;
        Some(format!("no network document is in force, so nothing is sent: {}", why.problem))
    }

    pub(in crate::runtime) fn has_document(&mut self) {
        self.without_document = None;
    }

    /// The clocks of this machine disagree, in words with a remedy; `None` if they agree again.
    pub(in crate::runtime) fn clock(&mut self, words: Option<String>) {
        self.clock = words;
    }

    /// Seconds until more packets have come than the replay filter takes.
    pub(in crate::runtime) fn full_in(&self, fill: EpochFill) -> Option<u64> {
        self.forecast.full_in(left(fill)).map(|time| time.as_secs())
    }
}

impl<P: Profile + 'static> Driver<'_, P> {
    /// Finds out how the node is, and tells it. `error` is what failed at the boundary of epochs;
    /// `descriptors` says whether the reserve of file descriptors is complete.
    pub(super) fn examine(&mut self, now: Instant, error: Option<&RuntimeError>, descriptors: bool) {
        if let Some(words) = self.folder.moved() {
            // Whatever else is found follows from that, and has another remedy by itself.
            let reason = Reason::failing(Concern::Disk, words);
            return self.shared.set_health(self.examination.watch.tell(vec![reason]));
        }
        let mut reasons = Vec::new();
        reasons.extend(self.examine_documents());
        reasons.extend(self.examine_replay_filter(now));
        reasons.extend(self.examine_disk(error));
        reasons.extend(self.examine_inbox());
        reasons.extend(self.examine_window(now));
        reasons.extend(self.examination.clock.clone().map(|words| Reason::failing(Concern::Clock, words)));
        reasons.extend(self.examine_descriptors(error, descriptors));
        reasons.extend(self.examine_link(now));
        reasons.extend(self.examine_loops());
        reasons.extend(self.examine_cover());
        let trouble = self.trouble.as_mut().and_then(|trouble| trouble());
        reasons.extend(trouble.map(|words| Reason::warning(Concern::Broker, words)));
        let unmeasured = self.readings.as_ref().and_then(Readings::problem);
        let unmeasured = unmeasured.map(|words| format!("readings are not sent: {words}"));
        reasons.extend(unmeasured.map(|words| Reason::warning(Concern::Readings, words)));
        self.shared.set_health(self.examination.watch.tell(reasons));
    }

    fn examine_documents(&mut self) -> Option<Reason> {
        let (now, begins) = (self.time.now(), self.begins());
        if let Some(why) = self.examination.without_document.clone().filter(|_| !self.in_force) {
            let Self { documents, examination, config, key, .. } = self;
            if why.is_of_others
                && let Some(waits) =
                    named_later(documents, &mut examination.outlook, now, |of| find_me(config, key, of))
            {
                return Some(waits);
            }
            let words = self.examination.nothing_in_force().unwrap_or_default();
            let reason = if why.comes && begins { Reason::starting } else { Reason::failing };
            return Some(reason(Concern::Documents, words));
        }
        let horizon = UnixTime(now.0.saturating_add(self.warn_before().as_secs()));
        let Self { documents, examination, network, config, key, .. } = self;
        let usable = |of: &_| find_me(config, key, of).map(drop).map_err(|error| error.to_string());
        if let Some(lasts) = documents.last(&mut examination.outlook, network, horizon, usable) {
            examination.lasts = Some((lasts, horizon));
        }
        // Against the horizon of that time: until a document that has come into view is read,
        // nothing is known of it.
        let (lasts, _) = examination.lasts.as_ref().filter(|(lasts, horizon)| lasts.until < *horizon)?;
        let left = Duration::from_secs(lasts.until.0.saturating_sub(now.0));
        // In words that many nodes say at once.
        let left =
            if left < TWO_MINUTES { "within two minutes".to_owned() } else { format!("in {}", span(left)) };
        let until = lasts.until;
        // Of a network that begins, one after the other is being made.
        if begins && lasts.refused.is_none() && self.shared.silence().is_none() {
            return None;
        }
        let words = match &lasts.refused {
            None if config.directory.is_some() => {
                let why = self
                    .shared
                    .silence()
                    .unwrap_or_else(|| "none had come when they were asked for last".to_owned());
                format!(
                    "the network documents end {left}, at {until}, and there are no later ones: {why}; see \
                     `motemix authority status`"
                )
            }
            None => format!(
                "the network documents end {left}, at {until}; sign or fetch those of later epochs \
                 (`motemix net renew`)"
            ),
            Some(problem) => {
                format!("the network document for {until}, {left}, cannot be used: {problem}")
            }
        };
        Some(Reason::warning(Concern::Documents, words))
    }

    /// Whether the network may be about to begin as well, so that what is missing comes by itself.
    fn begins(&self) -> bool {
        self.config.directory.is_some() && self.shared.is_young()
    }

    fn warn_before(&self) -> Duration {
        // Documents that come by themselves are signed some epochs ahead, three at least.
        let epochs = if self.config.directory.is_some() { EPOCHS_BY_ITSELF } else { EPOCHS };
        DAY.min(self.epoch_length().saturating_mul(epochs))
    }

    fn epoch_length(&self) -> Duration {
        let Self { network, .. } = self;
        Duration::from_secs(network.valid_until.0.saturating_sub(network.valid_after.0))
    }

    fn examine_replay_filter(&mut self, now: Instant) -> Option<Reason> {
        let fill = self.node.replay_fill().current;
        let counters = self.node.counters();
        let refused =
            counters.dropped(DropReason::ReplayFilterFull) + counters.dropped(DropReason::AdmissionRate);
        let length = self.epoch_length();
        let Examination { forecast, refusals, .. } = &mut self.examination;
        forecast.sample(now, fill.epoch, fill.tags.into(), refused, length);
        refusals.see(now, refused);
        let ends = self.network.valid_until;
        let damaged = self.diary.logs.damaged() == Some(self.network.epoch);
        let remedy = "raise `limits.replay_tags`, or have epochs that are shorter";
        if fill.is_full() {
            let words = format!(
                "the replay filter is full, so no packet is taken until the next epoch, at {ends}; {remedy}"
            );
            return Some(Reason::failing(Concern::ReplayFilter, words));
        }
        if refusals.is_recent(now) {
            let (admitted, refused) = forecast.lately();
            let words = format!(
                "packets are refused, because what is left of the replay filter has to last until {ends}; \
                 {remedy}, or find the neighbour that sends too much"
            );
            // A flood of one neighbour costs that neighbour's packets; when most are refused, it is
            // ours.
            let most = refused > admitted;
            let reason = if most { Reason::failing } else { Reason::warning };
            return Some(reason(Concern::ReplayFilter, words));
        }
        if damaged {
            let words = format!(
                "the replay log of this epoch was removed, replaced or cut short; the running node knows what \
                 passed, but one that is started again before {ends} would not, and makes new keys; let the next epoch \
                 begin early first (`motemix net renew --early`)"
            );
            return Some(Reason::warning(Concern::ReplayFilter, words));
        }
        let full_in = self.examination.forecast.full_in(left(fill))?;
        let rest = Duration::from_secs(ends.0.saturating_sub(self.time.now().0));
        (full_in < rest).then(|| {
            let words = format!(
                "at this rate the replay filter is full in {}, and its epoch ends in {}; {remedy}",
                span(full_in),
                span(rest)
            );
            Reason::warning(Concern::ReplayFilter, words)
        })
    }

    fn examine_disk(&self, error: Option<&RuntimeError>) -> Option<Reason> {
        let failing = |words| Some(Reason::failing(Concern::Disk, words));
        if let Some((error, _)) = self.diary.refused().filter(|(error, _)| !is_shortage(error)) {
            let problem = without_restart(error);
            return failing(format!("replay tags cannot be written, so nothing is passed on: {problem}"));
        }
        if let Some(error) = self.mailroom.problem().filter(|error| !is_shortage(error)) {
            return failing(format!("the inbox takes no messages: {}", without_restart(error)));
        }
        if let Some(error) = error.filter(|error| !is_descriptor_shortage(error)) {
            return Some(waits("the change of epochs", error));
        }
        let packets = self.node.replay_fill().current.capacity;
        let DiskRoom { free, needed } = disk_room(&self.config.state, packets)?;
        (free < needed).then(|| {
            let words = format!(
                "{}: {} MiB are free, and an epoch may need {}; free some space",
                self.config.state.display(),
                free >> 20,
                needed >> 20
            );
            Reason::warning(Concern::Disk, words)
        })
    }

    fn examine_inbox(&self) -> Option<Reason> {
        let percent = self.mailroom.percent()?;
        let remedy = "remove messages (`motemix inbox --keep`), or raise `limits.inbox_messages` and \
                      `limits.inbox_bytes`";
        if percent >= 100 {
            let words = format!("the inbox has reached its quota and takes no messages; {remedy}");
            return Some(Reason::failing(Concern::Inbox, words));
        }
        if percent >= NEARLY as u64 {
            let words = format!("{percent} % of the inbox's quota is used; {remedy}");
            return Some(Reason::warning(Concern::Inbox, words));
        }
        if let Some(doubt) = self.mailroom.doubt() {
            let words = format!(
                "the inbox is not as this node left it ({doubt}): messages that were acknowledged before may be \
                 gone, and others may come again. This is told until the node is started again"
            );
            return Some(Reason::warning(Concern::Inbox, words));
        }
        let lost = self.mailroom.lost()?;
        let words = format!(
            "the inbox was removed, replaced or cut short while the node ran, seen at {lost}: messages that were \
             acknowledged before may be gone. This is told until the node is started again"
        );
        Some(Reason::warning(Concern::Inbox, words))
    }

    fn examine_window(&mut self, now: Instant) -> Option<Reason> {
        let refused = self.node.counters().dropped(DropReason::WindowFull);
        self.examination.window_refusals.see(now, refused);
        let remedy = "raise `limits.inbox_window`";
        if self.examination.window_refusals.is_recent(now) {
            let words = "more messages arrive than can be told from repeated ones, and some are refused";
            return Some(Reason::failing(Concern::Window, format!("{words}; {remedy}")));
        }
        let (messages, most) = self.node.window_fill();
        let percent = messages * 100 / most.max(1);
        (percent >= NEARLY).then(|| {
            let words = format!("{percent} % of the memory of received messages is used; {remedy}");
            Reason::warning(Concern::Window, words)
        })
    }

    fn examine_descriptors(&self, error: Option<&RuntimeError>, complete: bool) -> Option<Reason> {
        let waits = self.diary.refused().is_some_and(|(error, _)| is_shortage(error))
            || self.mailroom.problem().is_some_and(is_shortage)
            || error.is_some_and(is_descriptor_shortage);
        if waits {
            return Some(no_descriptor_left());
        }
        let words = || format!("file descriptors are nearly used up; {MORE_DESCRIPTORS}");
        (!complete).then(|| Reason::warning(Concern::Descriptors, words()))
    }
}

const MORE_DESCRIPTORS: &str = "raise the limit (`ulimit -n`, or LimitNOFILE= of systemd)";

fn no_descriptor_left() -> Reason {
    let words = format!("there is no file descriptor left for what the node must open; {MORE_DESCRIPTORS}");
    Reason::failing(Concern::Descriptors, words)
}

/// What is told while `what` waits for what the system refuses.
pub(in crate::runtime) fn waits(what: &str, error: &RuntimeError) -> Reason {
    if is_descriptor_shortage(error) {
        return no_descriptor_left();
    }
    Reason::failing(Concern::Disk, format!("{what} waits: {error}"))
}

impl<P: Profile + 'static> Driver<'_, P> {
    fn examine_link(&mut self, now: Instant) -> Option<Reason> {
        self.links.look_at_overflow();
        let (node, overflow) = (self.node.counters(), self.links.counters().overflow);
        let longest = node_config(self.config, &self.network).longest_round_trip();
        let silence = self.examination.returns.see(now, node.loops_sent, node.loops_returned, longest);
        let worries = self.links.session_counters().and_then(worries);
        if let Some(silence) = silence {
            let counted = match silence {
                Silence::Whole { lost, lasts } => {
                    format!("none of the last {lost} loops came back, for {}", span(lasts))
                }
                // Without figures, which would differ from node to node.
                Silence::Broken => "few loops have come back since none did".to_owned(),
            };
            // What is known of neighbours says more than what may be.
            let (cause, passes) = worries.unwrap_or_else(|| {
                let words = "if other nodes say so too, mixes do not run that all paths need: start them. If this one \
                             alone does, it is cut off or another has its key: check its address in the network \
                             document, and the firewall";
                (words.to_owned(), true)
            });
            let words = format!("{counted}: {cause}");
            let reason = if passes && self.begins() { Reason::starting } else { Reason::failing };
            return Some(reason(Concern::Link, words));
        }
        if let Some((words, passes)) = worries {
            let reason = if passes && self.begins() { Reason::starting } else { Reason::warning };
            return Some(reason(Concern::Link, words));
        }
        self.examination.overflow.see(now, overflow);
        self.examination.overflow.is_recent(now).then(|| {
            let words = format!(
                "datagrams come faster than the node reads them: the system has dropped {overflow} of them; give the \
                 node a faster core or a larger buffer (`sysctl net.core.rmem_max`), or find who sends them"
            );
            Reason::warning(Concern::Link, words)
        })
    }
}

/// What is wrong with protected links, in words. Neighbours are counted and not named: whom a node
/// sends to is for nobody to know.
///
/// `true` beside them where neighbours that begin later mend it.
fn worries(sessions: &SessionCounters) -> Option<(String, bool)> {
    let no_wait = |words| Some((words, false));
    let SessionCounters { neighbours, without_answer, with_another_key, unprotected_from, .. } = *sessions;
    if unprotected_from > 0 {
        return no_wait(format!(
            "{unprotected_from} of {neighbours} neighbours send packets without protection, which are dropped: they \
             run an earlier version, or have another network document; start them again with this one"
        ));
    }
    if with_another_key > 0 {
        return no_wait(format!(
            "{with_another_key} of {neighbours} neighbours use another key than the network document has for them, \
             and packets for them are lost: this node or they have another document, or a wrong clock; compare \
             `motemix directory show` on both machines"
        ));
    }
    (without_answer > 0).then(|| {
        let words = format!(
            "{without_answer} of {neighbours} neighbours make no key with this node, and packets for them are lost: \
             they do not run or do not know this node's key, a firewall stands between, or this node is not at its \
             address in the network document"
        );
        (words, true)
    })
}

/// Whether waiting may mend it: a disk may have room again, and a descriptor may become free.
pub(in crate::runtime) fn passes(error: &RuntimeError) -> bool {
    match error {
        RuntimeError::Store(error) => matches!(error.problem, StoreProblem::Full | StoreProblem::Io(_)),
        RuntimeError::Key(error) => matches!(error.problem, KeyProblem::Read(_) | KeyProblem::Write(_)),
        RuntimeError::Documents(error) => matches!(error.problem, DocumentsProblem::Read(_)),
        _ => false,
    }
}

fn is_descriptor_shortage(error: &RuntimeError) -> bool {
    match error {
        RuntimeError::Store(error) => is_shortage(error),
        RuntimeError::Key(error) => match &error.problem {
            KeyProblem::Read(error) | KeyProblem::Write(error) => no_descriptor(error),
            _ => false,
        },
        RuntimeError::Documents(error) => match &error.problem {
            DocumentsProblem::Read(error) => no_descriptor(error),
            _ => false,
        },
        _ => false,
    }
}

fn is_shortage(error: &StoreError) -> bool {
    matches!(&error.problem, StoreProblem::Io(error) if no_descriptor(error))
}

fn no_descriptor(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// A running node goes on by itself.
fn without_restart(error: &StoreError) -> String {
    match &error.problem {
        StoreProblem::Full => format!("{}: the disk is full; free some space", error.file.display()),
        StoreProblem::Io(problem) if problem.kind() == ErrorKind::ReadOnlyFilesystem => {
            format!("{}: {problem}; make it writable", error.file.display())
        }
        _ => error.to_string(),
    }
}

/// In the unit that suits.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_people_say_them() {
        let told = [119, 121, 7199, 7200, 200_000].map(|seconds| span(Duration::from_secs(seconds)));
        assert_eq!(told, ["119 s", "2 min", "119 min", "2 h", "2 days"]);
    }
}
