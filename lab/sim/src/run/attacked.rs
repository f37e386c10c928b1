//! What the observer makes of a run, and what the attack on it came to.

use super::Cast;
use crate::adversary::{self, Anonymity, Confessions, Delivery, Findings, TakenIn, Transfer, partners};
use crate::attack::{Absences, Attacked, Jammer, Plan};
use crate::mote::{Intake, Mote};
use crate::scenario::{AttackKind, Receivers};
use crate::world::World;
use motemix_air::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Windows of counting where an attack has none of its own.
const WINDOW: Duration = Duration::from_secs(60);

/// What the observer heard, and who tells it what.
pub(super) struct Heard<'f> {
    pub transfers: Vec<Transfer>,
    /// Motes that work for it.
    pub corrupt: BTreeSet<u16>,
    /// Stations by their addresses as links say them.
    pub by_number: BTreeMap<u64, u16>,
    /// Where its findings are kept, if somebody wants them.
    pub findings: Option<&'f mut Findings>,
}

/// The observer's conclusions, and the attack's outcome if there is an attack or churn.
pub(super) fn conclude(
    cast: &Cast<'_>,
    world: &World<Mote<'_>>,
    heard: Heard<'_>,
    plan: Option<&Plan>,
) -> (Option<Anonymity>, Option<Attacked>) {
    let scenario = cast.scenario;
    let Heard { mut transfers, corrupt, by_number, mut findings } = heard;
    if let Some(jammer) = &world.jammer {
        for transfer in &mut transfers {
            if jammer.broke(transfer.from, transfer.to, transfer.begin, transfer.end) {
                transfer.end = None;
            }
        }
    }
    let tallies: Vec<_> = world.devices().map(Mote::tally).collect();
    let mut confessions = Confessions::new(corrupt);
    let mut deliveries = Vec::new();
    for (mote, tally) in (0..).zip(&tallies) {
        confessions.add(mote, tally.passed.iter().copied());
        deliveries.extend(tally.arrived.iter().filter_map(|&(sender, Intake { from, at, fingerprint })| {
            let from = *by_number.get(&from)?;
            Some(Delivery { receiver: mote, sender, packet: TakenIn { from, at, fingerprint } })
        }));
    }
    // Whoever works for the observer hides nothing from it.
    deliveries.retain(|delivery| !confessions.is_corrupt(delivery.sender));
    let network = adversary::network(scenario, &cast.members);
    let conclude = |deliveries: &[Delivery], findings: Option<&mut Findings>| {
        let asked = scenario.adversary.as_ref()?;
        let heard = (&transfers[..], &confessions);
        Some(adversary::conclude(asked, scenario, &network, heard, deliveries, findings))
    };
    let anonymity = conclude(&deliveries, findings.take());
    if plan.is_none() && scenario.churn.is_none() {
        return (anonymity, None);
    }
    let mut attacked = Attacked {
        loops_sent: tallies.iter().map(|tally| tally.loops[0]).sum(),
        loops_lost: tallies.iter().map(|tally| tally.loops[1]).sum(),
        packets_dropped: tallies.iter().map(|tally| tally.betrayed[0]).sum(),
        packets_held_up: tallies.iter().map(|tally| tally.betrayed[1]).sum(),
        frames_jammed: world.jammer.as_ref().map_or(0, Jammer::count),
        ..Attacked::default()
    };
    let begin = plan.map_or(Instant::default(), Plan::begin);
    attacked.hear(&tallies.iter().map(|tally| tally.alarms.clone()).collect::<Vec<_>>(), begin);
    let seen = Seen::new(cast, &transfers, &deliveries, begin, plan);
    match plan {
        Some(plan) if plan.attack.kind == AttackKind::Follow => {
            let of_target: Vec<_> = seen
                .deliveries
                .iter()
                .filter(|(at, delivery)| plan.is_on(*at) && plan.attack.targets.contains(&delivery.sender))
                .map(|(_, delivery)| *delivery)
                .collect();
            attacked.messages_of_targets = of_target.len() as u64;
            if !of_target.is_empty() {
                let found = conclude(&of_target, None);
                attacked.first_guess_of_targets =
                    found.map(|found| found.there.first_guess.max(found.round_trip.first_guess));
            }
        }
        Some(plan) if plan.attack.window.is_some() && plan.attack.kind == AttackKind::Block => {
            seen.receivers_of(&plan.attack.targets, &mut attacked, |_, window| !plan.is_on_in(window));
        }
        Some(plan) if plan.attack.window.is_some() && plan.attack.kind == AttackKind::Withhold => {
            seen.senders_to(&confessions, &mut attacked, |window| plan.is_on_in(window));
            let first = (0..seen.windows as u32).find(|window| plan.is_on_in(*window));
            let since = begin + seen.window * first.unwrap_or(0);
            let of_senders = (0..).zip(&tallies).filter(|(id, _)| seen.sends_to(*id, &confessions));
            let given_up = of_senders.flat_map(|(_, tally)| tally.given_up.iter().copied());
            let first = given_up.filter(|at| *at >= since).min();
            attacked.first_given_up_s = first.map(|at| (at - since).as_secs_f64());
        }
        None => {
            let stay =
                cast.ids().map(|id| Absences::of(scenario.seed, id, scenario.churn.as_ref(), cast.stop));
            let stay: Vec<_> = stay.collect();
            let senders: Vec<u16> = cast.ids().collect();
            seen.receivers_of(&senders, &mut attacked, |sender, window| {
                let middle = seen.middle_of(window);
                stay.get(usize::from(sender)).is_none_or(|absences| absences.at(middle).is_none())
            });
        }
        _ => {}
    }
    (anonymity, Some(attacked))
}

/// What there is to count.
struct Seen<'c> {
    cast: &'c Cast<'c>,
    begin: Instant,
    window: Duration,
    windows: usize,
    /// When each message arrived.
    deliveries: Vec<(Instant, Delivery)>,
    /// Transfers that each mote began, by window.
    departures: Vec<Vec<f64>>,
    /// Messages that each mote received, by window.
    arrivals: Vec<Vec<f64>>,
    /// Receivers by sender, of scenarios in which they stay the same.
    always: BTreeMap<u16, u16>,
}

#[allow(clippy::cast_precision_loss, reason = "counts of windows and motes")]
impl<'c> Seen<'c> {
    fn new(
        cast: &'c Cast<'c>,
        transfers: &[Transfer],
        deliveries: &[Delivery],
        begin: Instant,
        plan: Option<&Plan>,
    ) -> Self {
        let until =
            plan.and_then(|plan| plan.attack.until).map_or(cast.ends, |until| Instant::default() + until.0);
        let window = plan.and_then(|plan| plan.attack.window).map_or(WINDOW, |window| window.0);
        let windows = ((until - begin).as_micros() / window.as_micros().max(1)) as usize;
        let deliveries: Vec<_> = deliveries.iter().map(|delivery| (delivery.packet.at, *delivery)).collect();
        let nothing = vec![vec![0.0; windows]; cast.members.len()];
        let mut seen = Self {
            cast,
            begin,
            window,
            windows,
            departures: nothing.clone(),
            arrivals: nothing,
            always: deliveries.iter().map(|(_, delivery)| (delivery.sender, delivery.receiver)).collect(),
            deliveries,
        };
        for transfer in transfers {
            if let Some(window) = seen.window_of(transfer.begin) {
                seen.departures[usize::from(transfer.from)][window] += 1.0;
            }
        }
        for number in 0..seen.deliveries.len() {
            let (at, delivery) = seen.deliveries[number];
            if let Some(window) = seen.window_of(at) {
                seen.arrivals[usize::from(delivery.receiver)][window] += 1.0;
            }
        }
        seen
    }

    fn window_of(&self, at: Instant) -> Option<usize> {
        let window = ((at - self.begin).as_micros() / self.window.as_micros().max(1)) as usize;
        (at >= self.begin && window < self.windows).then_some(window)
    }

    fn middle_of(&self, window: u32) -> Instant {
        self.begin + self.window * window + self.window / 2
    }

    /// Who receives what these motes send: whoever gets less when they are away, or cannot send.
    fn receivers_of(&self, senders: &[u16], attacked: &mut Attacked, speaks: impl Fn(u16, u32) -> bool) {
        if self.cast.scenario.load.receivers == Receivers::Random {
            return;
        }
        let (mut named, mut chance, mut count) = (0.0, 0.0, 0.0);
        for (place, sender) in senders.iter().enumerate() {
            let Some(receiver) = self.always.get(sender) else { continue };
            let marked: Vec<bool> = (0..self.windows as u32).map(|window| speaks(*sender, window)).collect();
            let others = || self.cast.receivers.iter().copied().filter(|other| other != sender);
            let guess = |marked: &[bool]| {
                let counts = others().map(|other| (other, self.arrivals[usize::from(other)].as_slice()));
                partners::most(marked, counts, 1.0)
            };
            named += f64::from(guess(&marked) == Some(*receiver));
            chance += 1.0 / others().count().max(1) as f64;
            count += 1.0;
            if place == 0 {
                attacked.partner_named_after_s = self.after(partners::named_after(&marked, guess, *receiver));
            }
        }
        Self::note(attacked, named, chance, count);
    }

    /// Who sends to corrupt receivers that drop what they receive: whoever sends more then, for it
    /// tries again. As many motes are named as do send to them.
    fn senders_to(&self, confessions: &Confessions, attacked: &mut Attacked, is_on: impl Fn(u32) -> bool) {
        let marked: Vec<bool> = (0..self.windows as u32).map(is_on).collect();
        let sends_to_corrupt = |id: &u16| self.sends_to(*id, confessions);
        let departures = |id: u16| self.departures[usize::from(id)].as_slice();
        let mut ranked: Vec<_> = (self.cast.ids().filter(|id| !confessions.is_corrupt(*id)))
            .map(|id| (partners::excess(&marked, departures(id)), id))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let wanted = ranked.iter().filter(|(_, id)| sends_to_corrupt(id)).count();
        let named = ranked.iter().take(wanted).filter(|(_, id)| sends_to_corrupt(id)).count();
        let chance = (wanted * wanted) as f64 / ranked.len().max(1) as f64;
        Self::note(attacked, named as f64, chance, wanted as f64);
    }

    /// Whether a mote's receiver is corrupt.
    fn sends_to(&self, id: u16, confessions: &Confessions) -> bool {
        self.always.get(&id).is_some_and(|receiver| confessions.is_corrupt(*receiver))
    }

    fn after(&self, windows: Option<usize>) -> Option<f64> {
        windows.map(|windows| windows as f64 * self.window.as_secs_f64())
    }

    fn note(attacked: &mut Attacked, named: f64, chance: f64, count: f64) {
        if count > 0.0 {
            attacked.partners_named = Some(named / count);
            attacked.partners_by_chance = Some(chance / count);
        }
    }
}
