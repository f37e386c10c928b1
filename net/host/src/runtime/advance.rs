//! From one epoch to the next: what the clocks say, which document is in force, which keys go.

use std::time::{Duration, Instant as HostInstant};

use motemix_directory::{Epoch, UnixTime};
use motemix_sphinx::Profile;

use super::driver::{Driver, WithoutDocument};
use super::epochs::{Due, Epochs};
use super::patience::comes_by_itself;
use super::{RuntimeError, WallClock, find_me, without_document};
use crate::clock::{ClockMemory, ClockVerdict, Reading, Timekeeper};
use crate::documents::{Documents, DocumentsError, DocumentsProblem, Later, Network};
use crate::keys::NodeKey;

/// How often the folder of documents is looked at when nothing is due.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How many looks a document that was refused is left alone for.
const LOOKS_UNTIL_RETRY: u32 = 12;
/// Own packets that have to come back before an epoch counts as used by others.
const ANSWERS: u32 = 3;

/// The time that a node goes by.
pub(super) struct Time {
    wall: WallClock,
    keeper: Timekeeper,
    memory: ClockMemory,
    /// What the two clocks said of each other at the last look.
    pub(super) verdict: ClockVerdict,
}

impl Time {
    /// Looks at both clocks for the first time. A step of the wall clock is judged when the overlap
    /// of epochs is known.
    pub(super) fn start(mut wall: WallClock, memory: ClockMemory) -> Self {
        let reading = Reading { wall: wall(), boot: motemix_os::clock::boot_time() };
        let mut keeper = memory.start(reading);
        let verdict = keeper.observe(reading, Duration::MAX);
        Self { wall, keeper, memory, verdict }
    }

    pub(super) fn now(&self) -> UnixTime {
        self.keeper.now()
    }

    /// `time` is known to have come.
    pub(super) fn assure(&mut self, time: UnixTime) {
        self.keeper.assure(time);
    }

    pub(super) fn keep(&mut self, at_once: bool) {
        self.memory.keep(&self.keeper, at_once);
    }

    pub(super) fn observe(&mut self, patience: Duration) {
        let reading = Reading { wall: (self.wall)(), boot: motemix_os::clock::boot_time() };
        let verdict = self.keeper.observe(reading, patience);
        match (self.verdict.agrees(), verdict.agrees()) {
            (true, false) => tracing::warn!("{verdict}"),
            (false, true) => tracing::info!("{verdict} again"),
            _ => {}
        }
        self.verdict = verdict;
        self.keep(false);
    }
}

/// The epoch before the first one, while packets of it may still be under way and its document and
/// key are here.
pub(super) fn before(
    documents: &mut Documents,
    epochs: &Epochs,
    key: &NodeKey,
    now: UnixTime,
) -> Result<Option<Epoch>, DocumentsError> {
    if epochs.overlap_left(now).is_zero() {
        return Ok(None);
    }
    let before = documents.before(epochs.epoch())?.filter(|before| *before >= key.epoch());
    Ok(before.filter(|before| documents.earlier(*before, now).is_ok()))
}

/// What was seen of the folder of documents.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) later: Later,
    next_look: Option<HostInstant>,
    /// Refused when it was in force; tried again after so many looks.
    refused: Option<(Epoch, u32)>,
}

impl<P: Profile + 'static> Driver<'_, P> {
    /// Does what has become due about epochs; once a second.
    pub(super) fn advance(&mut self, host_now: HostInstant) -> Result<(), RuntimeError> {
        self.time.observe(self.epochs.overlap());
        let verdict = self.time.verdict;
        self.examination.clock((!verdict.agrees()).then(|| verdict.to_string()));
        let now = self.time.now();
        if self.time.verdict.agrees() && self.node.answers() >= ANSWERS {
            self.time.assure(self.epochs.earliest_use());
        }
        let look_due = self.seen.next_look.is_none_or(|next| host_now >= next);
        let mut looked = Ok(());
        if look_due || self.epochs.needs_news(now, &self.seen.later) {
            self.epochs.look_again();
            looked = self.look(now);
            self.seen.next_look = looked.is_ok().then_some(host_now + LOOK_EVERY);
        }
        // What fails is tried again before anything else.
        while let Some(due) = self.undone.take().or_else(|| self.due(now)) {
            self.undone = Some(due);
            match due {
                Due::Erase(epoch) => self.erase_before(epoch)?,
                Due::Prepare(epoch) => self.prepare(epoch)?,
                Due::Begin(epoch) => self.begin_later_epoch(now, epoch)?,
                Due::Expired => self.expire(now),
                Due::End => self.end_epoch(),
                Due::TooEarly => self.go_back(now)?,
            }
            self.undone = None;
        }
        // What is known of the folder serves until it can be read again.
        Ok(looked?)
    }

    fn due(&mut self, now: UnixTime) -> Option<Due> {
        self.epochs.due(now, &self.seen.later, |time| self.time.keeper.has_passed(time))
    }

    fn look(&mut self, now: UnixTime) -> Result<(), DocumentsError> {
        let refused = self.seen.refused.filter(|(_, looks)| *looks < LOOKS_UNTIL_RETRY);
        if refused.is_none() && self.seen.refused.is_some() && !self.in_force {
            self.tell_why_none_is_in_force(now);
        }
        self.seen.refused = refused.map(|(epoch, looks)| (epoch, looks + 1));
        let refused = refused.map(|(epoch, _)| epoch);
        self.seen.later = self.documents.later(self.epochs.epoch(), refused, now)?;
        Ok(())
    }

    /// The epoch of the first document, and the one before it while packets of that may still be
    /// under way.
    pub(super) fn begin_first_epoch(&mut self) -> Result<(), RuntimeError> {
        let (epoch, now) = (self.epochs.epoch(), self.time.now());
        // A key file is made in its first epoch, and moved on when the one before is over for sure.
        if let Some(begun) = self.documents.beginning(self.key.epoch()) {
            self.time.assure(begun.min(now));
        }
        if let Some(before) = before(&mut self.documents, &self.epochs, &self.key, now)? {
            self.prepare(before)?;
            self.begin(before, self.epochs.overlap_left(now))?;
        }
        self.prepare(epoch)?;
        self.begin(epoch, self.epochs.left(now))?;
        self.diary.logs.begun();
        self.key.set_renewed(false);
        Ok(())
    }

    fn begin_later_epoch(&mut self, now: UnixTime, due: Epoch) -> Result<(), RuntimeError> {
        match self.accepted(now) {
            (Some(network), _) if network.epoch > self.epochs.epoch() => {
                let prepared = self.epochs.is_prepared(network.epoch);
                self.enter(network, prepared)?;
                tracing::info!(epoch = %self.epochs.epoch(), "an epoch begins");
            }
            (_, Some(RuntimeError::Documents(error)))
                if matches!(error.problem, DocumentsProblem::Read(_)) =>
            {
                // No descriptor is left, perhaps: the next second may have one.
                return Err(error.into());
            }
            (_, error) => {
                let error = error.map_or_else(String::new, |error| error.to_string());
                tracing::error!("the document of epoch {due} is in force and cannot be used: {error}");
                self.seen.refused = Some((due, 0));
                if !self.in_force {
                    self.tell_why_none_is_in_force(now);
                }
                // There may be another one behind it.
                self.look(now)?;
            }
        }
        Ok(())
    }

    /// The clock was ahead and is believed no more: nothing was erased for it, so the epoch before
    /// comes back.
    fn go_back(&mut self, now: UnixTime) -> Result<(), RuntimeError> {
        let (Some(network), _) = self.accepted(now) else { return Ok(()) };
        if network.epoch < self.epochs.epoch() || self.epochs.has_expired() {
            self.node.end_epoch();
            self.enter(network, false)?;
            tracing::info!(epoch = %self.epochs.epoch(), "the clock was ahead; the node is back in this epoch");
        }
        Ok(())
    }

    /// The newest document in force that describes this node, and why a newer one was refused.
    fn accepted(&self, now: UnixTime) -> (Option<Network>, Option<RuntimeError>) {
        let mut refused = None;
        let network = self.documents.current(now, self.key.epoch(), |network| {
            let refusal = find_me(self.config, &self.key, network).err();
            let taken = refusal.is_none();
            refused = refused.take().or(refusal);
            if taken { Ok(()) } else { Err(None) }
        });
        match network {
            Ok(network) => (Some(network), refused),
            Err(error) => (None, refused.or(error.map(RuntimeError::from))),
        }
    }

    fn enter(&mut self, network: Network, prepared: bool) -> Result<(), RuntimeError> {
        if network.profile != self.network.profile {
            return Err(RuntimeError::Profile(network.profile));
        }
        let epoch = network.epoch;
        // First what may have to be tried again.
        if !prepared {
            self.prepare(epoch)?;
        }
        self.epochs = Epochs::of(&network, self.key.epoch());
        self.renumber(&network);
        self.network = network;
        self.seen = Seen::default();
        self.begin(epoch, self.epochs.left(self.time.now()))?;
        self.in_force = true;
        self.examination.has_document();
        Ok(())
    }

    /// Documents that were made out of their order give a node that is new in both another id in
    /// each. A node that left keeps its id while nobody has it, and may be back in the next one.
    fn renumber(&mut self, next: &Network) {
        let number = |id| {
            let named = self.network.node(id).and_then(|node| next.find(&node.name));
            named.or_else(|| next.node(id).is_none().then_some(id))
        };
        let me = next.find(&self.config.name).unwrap_or_else(|| self.node.id());
        self.node.renumber(me, number);
    }

    fn expire(&mut self, now: UnixTime) {
        self.in_force = false;
        self.node.fall_silent();
        self.tell_why_none_is_in_force(now);
    }

    fn tell_why_none_is_in_force(&mut self, now: UnixTime) {
        let reason = self.accepted(now).1;
        let comes = reason
            .as_ref()
            .map_or(self.config.directory.is_some(), |error| comes_by_itself(self.config, error));
        let is_of_others = matches!(reason, Some(RuntimeError::NotMe { .. }));
        let problem = reason.map_or_else(
            || format!("the network document expired at {}", self.epochs.valid_until()),
            |error| without_document(self.config, &error),
        );
        self.examination.without_document(WithoutDocument { problem, comes, is_of_others });
    }

    fn erase_before(&mut self, epoch: Epoch) -> Result<(), RuntimeError> {
        // In this order: a replay log must not go while its key can come back, and what says that
        // the key is gone is there before it is.
        self.diary.logs.erasing(epoch)?;
        self.key.advance_to(epoch)?;
        self.diary.forget_before(epoch);
        self.diary.logs.remove_older_than(epoch)?;
        self.time.keep(true);
        Ok(())
    }
}
