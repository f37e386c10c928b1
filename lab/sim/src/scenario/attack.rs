//! Who does more than listen, and motes that go and come.

use super::{Scenario, Time};
use motemix_toml::Fault;
use serde::{Deserialize, Serialize};

/// Motes that work for the observer: they tell which packet that came is which that left, and are
/// otherwise as all others, unless an [`Attack`] is theirs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Corrupt {
    /// This share of all motes, drawn by the seed.
    Share(f64),
    /// The motes with these ids.
    Motes(Vec<u16>),
}

impl Default for Corrupt {
    fn default() -> Self {
        Self::Share(0.0)
    }
}

/// An attack that somebody could notice.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attack {
    /// What is done.
    pub kind: AttackKind,
    /// Whom it is about: `"block"` and `"follow"` need one at least.
    pub targets: Vec<u16>,
    /// Share of the packets of others that corrupt motes drop or hold up.
    pub share: f64,
    /// For how long they are held up.
    pub held_up: Time,
    /// When it begins.
    pub from: Time,
    /// When it ends; without it, never.
    pub until: Option<Time>,
    /// It is on in one of each two windows of this length, drawn by the seed; without it, always.
    pub window: Option<Time>,
}

impl Default for Attack {
    fn default() -> Self {
        Self {
            kind: AttackKind::Drop,
            targets: Vec::new(),
            share: 1.0,
            held_up: Time::seconds(60),
            from: Time::seconds(0),
            until: None,
            window: None,
        }
    }
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttackKind {
    /// Corrupt motes drop packets of others.
    Drop,
    /// Corrupt motes hold packets of others up.
    Delay,
    /// Corrupt motes drop the packets of messages that they receive, as if they never had.
    Withhold,
    /// Frames of the targets reach nobody: each is jammed at its receiver, and acknowledged by the
    /// attacker, for acknowledgements prove nothing (IEEE 802.15.4-2006, 7.5.6.4).
    Block,
    /// n − 1: in the same way, all frames but those of one datagram of the first target, and then
    /// of one of the mote that received it, and so on; again and again.
    Follow,
}

/// Motes that go and come: each is there and away for exponential times, by itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Churn {
    /// For how long a mote is there, in the mean.
    pub there: Time,
    /// For how long it is away.
    pub away: Time,
}

/// What types cannot exclude.
pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    let count = scenario.count();
    let corrupt = scenario.adversary.as_ref().map(|adversary| &adversary.corrupt);
    let are_there = |field: &str, motes: &[u16]| match motes.iter().find(|mote| u32::from(**mote) >= count) {
        None => Ok(()),
        Some(mote) => {
            let problem = format!("names mote {mote}, and there are {count}");
            Err(Fault::new(field, problem, "motes are counted from 0, group by group"))
        }
    };
    match corrupt {
        Some(Corrupt::Motes(motes)) => are_there("adversary.corrupt", motes)?,
        Some(Corrupt::Share(share)) if !(0.0..=1.0).contains(share) => {
            let remedy = "it must be 0 to 1, or a list of motes";
            return Err(Fault::new("adversary.corrupt", format!("is {share}"), remedy));
        }
        _ => {}
    }
    // What a corrupt mote passes on is told apart by contents, which nobody sees on such links.
    if scenario.motes.link.protected && corrupt.is_some_and(|corrupt| *corrupt != Corrupt::default()) {
        let problem = "names motes, and what they tell of protected links is not followed";
        return Err(Fault::new("adversary.corrupt", problem, "leave motes.link.protected out"));
    }
    if let Some(churn) = &scenario.churn {
        for (field, time) in [("churn.there", churn.there), ("churn.away", churn.away)] {
            if time.0.is_zero() {
                return Err(Fault::new(field, "is no time", "it must be longer, for example \"10 min\""));
            }
        }
    }
    let Some(attack) = &scenario.attack else { return Ok(()) };
    are_there("attack.targets", &attack.targets)?;
    let needs_targets = matches!(attack.kind, AttackKind::Block | AttackKind::Follow);
    if needs_targets && attack.targets.is_empty() {
        let problem = "is empty, and the attack is about a mote";
        return Err(Fault::new("attack.targets", problem, "name one, as targets = [3]"));
    }
    if !needs_targets && corrupt.is_none_or(|corrupt| *corrupt == Corrupt::default()) {
        let problem = "is of corrupt motes, and there is none";
        return Err(Fault::new("attack.kind", problem, "name some, as adversary.corrupt = [3]"));
    }
    if !(0.0..=1.0).contains(&attack.share) {
        return Err(Fault::new("attack.share", format!("is {}", attack.share), "it must be 0 to 1"));
    }
    if attack.window.is_some_and(|window| window.0.is_zero()) {
        return Err(Fault::new("attack.window", "is no time", "it must be longer, for example \"1 min\""));
    }
    if attack.until.is_some_and(|until| until.0 <= attack.from.0) {
        return Err(Fault::new("attack.until", "is no later than attack.from", "it must be later"));
    }
    Ok(())
}
