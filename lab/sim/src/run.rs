//! One run: from a scenario to its outcome.

mod attacked;
mod motes;
mod thesis;

use crate::adversary::Anonymity;
use crate::curve::{Modelled, Real};
use crate::device::Device;
use crate::load::Source;
use crate::observe::Observers;
use crate::outcome::{Outcome, Share};
use crate::room::Places;
use crate::scenario::{CurveModel, Group, Protocol, Scenario};
use crate::world::World;
use motemix_air::Instant;
use motemix_air::channel::{Centibels, Channel, Counters, Loss, Settings};
use std::rc::Rc;

/// Why a run has no outcome.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Impossible {
    /// Nodes and roles make no network.
    #[error("{0}")]
    Network(String),
    /// Somebody stopped the run.
    #[error("the run was stopped")]
    Stopped,
}

/// Runs a scenario with its seed.
///
/// # Errors
/// The network cannot be, for instance because paths are longer than it has mixes.
pub fn run(scenario: &Scenario) -> Result<Outcome, Impossible> {
    run_with(scenario, Observers::default())
}

/// Runs a scenario with its seed while others look on.
///
/// # Errors
/// As [`run`], and [`Impossible::Stopped`] if the observer of its progress stopped it.
pub fn run_with(scenario: &Scenario, mut observers: Observers<'_>) -> Result<Outcome, Impossible> {
    let observers = &mut observers;
    match (scenario.protocol, scenario.run.curve) {
        (Protocol::Motes, CurveModel::Real) => motes::run::<motemix_sphinx::Mote<Real>>(scenario, observers),
        (Protocol::Motes, CurveModel::Modelled) => {
            motes::run::<motemix_sphinx::Mote<Modelled>>(scenario, observers)
        }
        (Protocol::Thesis | Protocol::Udp, _) => thesis::run(scenario, observers),
    }
}

/// Who is there, and when it ends.
struct Cast<'s> {
    scenario: &'s Scenario,
    /// Every node's group, in the order of ids.
    members: Vec<&'s Group>,
    /// Those whom messages are for.
    receivers: Rc<[u16]>,
    /// No message is given after that.
    ends: Instant,
    /// The end of the run.
    stop: Instant,
}

impl<'s> Cast<'s> {
    fn of(scenario: &'s Scenario) -> Self {
        let groups = scenario.nodes.values();
        let members: Vec<_> =
            groups.flat_map(|group| std::iter::repeat_n(group, usize::from(group.count))).collect();
        let ends = Instant::default() + scenario.run.send_for.0;
        let stop = ends + scenario.run.cool_down.0;
        let receivers = ids(&members, |group| group.receives);
        Self { scenario, members, receivers, ends, stop }
    }

    /// Each node's id and group.
    fn each(&self) -> impl Iterator<Item = (u16, &'s Group)> {
        (0_u16..).zip(self.members.iter().copied())
    }

    fn ids(&self) -> impl Iterator<Item = u16> {
        (0_u16..).take(self.members.len())
    }

    fn source(&self, id: u16, group: &Group) -> Source {
        if group.sends {
            let receivers = Rc::clone(&self.receivers);
            Source::new(self.scenario.seed, id, &self.scenario.load, receivers, self.ends)
        } else {
            Source::silent(id)
        }
    }

    /// One row of what everybody counted.
    fn outcome<D: Device>(
        &self,
        world: &World<D>,
        share: fn(&D, Counters, &Group) -> Share,
        anonymity: Option<Anonymity>,
    ) -> Outcome {
        let stations = world.devices().zip(world.stations());
        let shares = stations.zip(&self.members).map(|((device, radio), group)| share(device, radio, group));
        Outcome::of(self.scenario, shares.collect(), anonymity, self.stop - Instant::default(), world.steps)
    }
}

/// The ids of nodes in groups that are wanted.
fn ids(members: &[&Group], wanted: fn(&Group) -> bool) -> Rc<[u16]> {
    (0_u16..).zip(members).filter(|(_, group)| wanted(group)).map(|(id, _)| id).collect()
}

fn channel(scenario: &Scenario, stations: usize, report_air: bool) -> Channel {
    let radio = &scenario.radio;
    let access = motemix_air::channel::Access {
        min_exponent: radio.access.min_exponent,
        max_exponent: radio.access.max_exponent,
        max_backoffs: radio.access.max_backoffs,
        max_retries: radio.access.max_retries,
    };
    let loss = Loss::from_probability(radio.loss).unwrap_or(Loss::NONE);
    let capture = radio.capture_db.map(|decibels| Centibels((decibels * 100.0).clamp(0.0, 10_000.0) as i16));
    let stations = u16::try_from(stations).unwrap_or(u16::MAX);
    let settings = Settings {
        access,
        loss,
        capture,
        stations,
        report_air: report_air || scenario.adversary.is_some(),
        ..Settings::default()
    };
    match &radio.room {
        None => Channel::new(settings, scenario.seed),
        Some(room) => {
            let places = Places::new(room.clone(), loss, scenario.seed, usize::from(stations));
            Channel::on(Box::new(places), settings, scenario.seed)
        }
    }
}
