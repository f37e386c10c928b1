//! Attacks on a run: who is corrupt, when an attack is on, which frames are jammed, and what became
//! of it all.

use crate::random::{self, Purpose, below};
use crate::scenario::{Attack, AttackKind, Churn, Corrupt, Scenario};
use motemix_air::Instant;
use motemix_sphinx::HopDelay;
use rand_core::Rng as _;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

/// Streams of this purpose that belong to no mote.
const OF_WINDOWS: u32 = 1 << 20;
const OF_CORRUPT: u32 = 1 << 30;
/// A round trip is followed for so many mean delays for each of its hops, and the time of a radio.
const FOLLOWED_FOR: u32 = 2;
const RADIO: Duration = Duration::from_secs(2);
/// Frames of a datagram come within this time.
const DATAGRAM: Duration = Duration::from_secs(2);

/// The motes that are corrupt.
pub(crate) fn corrupt(scenario: &Scenario) -> BTreeSet<u16> {
    let count = u16::try_from(scenario.count()).unwrap_or(u16::MAX);
    match scenario.adversary.as_ref().map(|adversary| &adversary.corrupt) {
        None => BTreeSet::new(),
        Some(Corrupt::Motes(motes)) => motes.iter().copied().filter(|mote| *mote < count).collect(),
        Some(Corrupt::Share(share)) => {
            let mut rng = random::stream(scenario.seed, OF_CORRUPT, Purpose::Attack);
            let mut motes: Vec<u16> = (0..count).collect();
            let wanted =
                (1..=count).filter(|mote| f64::from(*mote) <= share * f64::from(count) + 0.5).count();
            (0..wanted).map(|_| motes.swap_remove(below(&mut rng, motes.len() as u32) as usize)).collect()
        }
    }
}

/// When an attack is on.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub attack: Attack,
    seed: u64,
}

impl Plan {
    pub fn of(scenario: &Scenario) -> Option<Rc<Self>> {
        let attack = scenario.attack.clone()?;
        Some(Rc::new(Self { attack, seed: scenario.seed }))
    }

    pub fn begin(&self) -> Instant {
        Instant::default() + self.attack.from.0
    }

    /// Whether it is on.
    pub fn is_on(&self, at: Instant) -> bool {
        let ended = self.attack.until.is_some_and(|until| at >= Instant::default() + until.0);
        if at < self.begin() || ended {
            return false;
        }
        self.window_of(at).is_none_or(|window| self.is_on_in(window))
    }

    /// The number of the window, if there are windows.
    pub fn window_of(&self, at: Instant) -> Option<u32> {
        let window = self.attack.window?.0;
        let since = (at - self.begin()).as_micros();
        Some(u32::try_from(since / window.as_micros().max(1)).unwrap_or(u32::MAX))
    }

    /// One of each pair of windows is chosen.
    pub fn is_on_in(&self, window: u32) -> bool {
        let pair = OF_WINDOWS + window / 2;
        let first = random::stream(self.seed, pair, Purpose::Attack).next_u32() & 1 == 0;
        first == window.is_multiple_of(2)
    }
}

/// Where the packet is that is followed.
struct Followed {
    round: u128,
    /// Who has it.
    by: u16,
    /// Who gave it, to whom, and until when the rest of its frames may come.
    last: Option<(u16, u16, Instant)>,
}

/// Jams frames at their receivers and acknowledges them itself.
pub(crate) struct Jammer {
    plan: Rc<Plan>,
    /// For how long one packet is followed.
    round: Duration,
    followed: Followed,
    /// Sender, receiver and time of what was jammed.
    jammed: BTreeMap<(u16, u16), Vec<Instant>>,
}

impl Jammer {
    /// `None` if the attack jams nothing.
    pub fn of(plan: &Rc<Plan>, scenario: &Scenario) -> Option<Self> {
        matches!(plan.attack.kind, AttackKind::Block | AttackKind::Follow).then(|| Self {
            plan: Rc::clone(plan),
            round: (scenario.motes.mean_delay.0 * FOLLOWED_FOR + RADIO) * 2 * u32::from(scenario.motes.hops),
            followed: Followed { round: u128::MAX, by: 0, last: None },
            jammed: BTreeMap::new(),
        })
    }

    /// Whether a frame reaches its receiver.
    pub fn passes(&mut self, now: Instant, from: u16, to: u16) -> bool {
        let passes = !self.plan.is_on(now)
            || match self.plan.attack.kind {
                AttackKind::Block => !self.plan.attack.targets.contains(&from),
                AttackKind::Follow => self.follows(now, from, to),
                AttackKind::Drop | AttackKind::Delay | AttackKind::Withhold => true,
            };
        if !passes {
            self.jammed.entry((from, to)).or_default().push(now);
        }
        passes
    }

    fn follows(&mut self, now: Instant, from: u16, to: u16) -> bool {
        let round = (now - self.plan.begin()).as_micros() / self.round.as_micros().max(1);
        if self.followed.round != round {
            let by = self.plan.attack.targets.first().copied().unwrap_or_default();
            self.followed = Followed { round, by, last: None };
        }
        // In the first round nothing passes, so that the motes are empty afterwards.
        if round == 0 {
            return false;
        }
        if let Some((giver, taker, until)) = self.followed.last
            && now < until
            && [(giver, taker), (taker, giver)].contains(&(from, to))
        {
            return true;
        }
        let follows = from == self.followed.by;
        if follows {
            self.followed.by = to;
            self.followed.last = Some((from, to, now + DATAGRAM));
        }
        follows
    }

    /// Frames that were jammed.
    pub fn count(&self) -> u64 {
        self.jammed.values().map(|times| times.len() as u64).sum()
    }

    /// Whether a datagram lost a frame that began then.
    pub fn broke(&self, from: u16, to: u16, begin: Instant, end: Option<Instant>) -> bool {
        let Some(times) = self.jammed.get(&(from, to)) else { return false };
        let first = times.partition_point(|at| *at < begin);
        times.get(first).is_some_and(|at| *at <= end.unwrap_or(begin + DATAGRAM))
    }
}

/// When a mote is away.
#[derive(Clone, Debug, Default)]
pub(crate) struct Absences(Vec<Range<Instant>>);

impl Absences {
    /// Those of one mote, until the end of the run.
    pub fn of(seed: u64, mote: u16, churn: Option<&Churn>, stop: Instant) -> Self {
        let Some(churn) = churn else { return Self::default() };
        let mut rng = random::stream(seed, u32::from(mote), Purpose::Churn);
        let mut draw = |mean: Duration| HopDelay::from_seed(rng.next_u64()).of_mean(mean);
        let (mut at, mut absences) = (Instant::default(), Vec::new());
        while at < stop {
            let gone = at + draw(churn.there.0).max(Duration::from_millis(1));
            at = gone + draw(churn.away.0).max(Duration::from_millis(1));
            absences.push(gone..at);
        }
        Self(absences)
    }

    /// Until when it is away, if it is.
    pub fn at(&self, now: Instant) -> Option<Instant> {
        let after = self.0.partition_point(|absence| absence.end <= now);
        self.0.get(after).filter(|absence| absence.start <= now).map(|absence| absence.end)
    }

    /// When it leaves next.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        self.0.iter().map(|absence| absence.start).find(|start| *start > now)
    }
}

/// What became of an attack.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Attacked {
    /// Loops that motes sent in the whole run.
    pub loops_sent: u64,
    /// Those that were not back in their time.
    pub loops_lost: u64,
    /// Packets that corrupt motes dropped.
    pub packets_dropped: u64,
    /// Packets that they held up.
    pub packets_held_up: u64,
    /// Frames that were jammed.
    pub frames_jammed: u64,
    /// Motes whose loops raised the alarm before the attack began.
    pub alarms_before: u64,
    /// Motes whose loops raised it afterwards.
    pub alarms: u64,
    /// Seconds until the first of them did.
    pub first_alarm_s: Option<f64>,
    /// Seconds until half of all motes did.
    pub median_alarm_s: Option<f64>,
    /// With answers withheld: seconds from the first time at which they are until a mote that sends
    /// to a corrupt one gave a message up.
    pub first_given_up_s: Option<f64>,
    /// Share of the targets' messages, during the attack, whose sender the observer names first.
    pub first_guess_of_targets: Option<f64>,
    /// How many such messages there were.
    pub messages_of_targets: u64,
    /// Share of the motes whose partner counting is to name that it does name.
    pub partners_named: Option<f64>,
    /// What guessing would name.
    pub partners_by_chance: Option<f64>,
    /// Seconds after which the partner of the first target is named, and stays so.
    pub partner_named_after_s: Option<f64>,
}

impl Attacked {
    /// Notes when motes raised the alarm: by mote, all times at which it began.
    pub fn hear(&mut self, alarms: &[Vec<Instant>], begin: Instant) {
        let is_before = |at: &&Instant| **at < begin;
        self.alarms_before =
            alarms.iter().filter(|times| times.iter().any(|at| is_before(&at))).count() as u64;
        let after = alarms.iter().filter_map(|times| times.iter().find(|at| !is_before(at)));
        let mut after: Vec<Duration> = after.map(|at| *at - begin).collect();
        after.sort_unstable();
        self.alarms = after.len() as u64;
        self.first_alarm_s = after.first().map(Duration::as_secs_f64);
        let median = alarms.len().div_ceil(2).saturating_sub(1);
        self.median_alarm_s = after.get(median).map(Duration::as_secs_f64);
    }
}
