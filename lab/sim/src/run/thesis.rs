//! A run of the thesis' experiment.

use super::{Cast, Impossible, channel, ids};
use crate::board::Traits;
use crate::observe::Observers;
use crate::outcome::{Outcome, Share};
use crate::random::{self, Purpose};
use crate::riot::{self, Costs, MAX_HOPS, Sphinx};
use crate::scenario::{Protocol, Scenario};
use crate::world::World;
use std::rc::Rc;

pub(super) fn run(scenario: &Scenario, observers: &mut Observers<'_>) -> Result<Outcome, Impossible> {
    let impossible = |text: &str| Impossible::Network(text.into());
    let cast = Cast::of(scenario);
    let mixes = ids(&cast.members, |group| group.forwards);
    let plain = scenario.protocol == Protocol::Udp;
    let mut settings = scenario.thesis.clone();
    if plain {
        settings.hops = [1, 1];
    }
    let [there, back] = settings.hops;
    let longest = usize::from(there.max(back));
    if there == 0 || back == 0 || 2 * longest > MAX_HOPS {
        return Err(impossible("a path of the thesis has 1 to 5 hops each way"));
    }
    if longest > 1 && mixes.len() < longest + 1 {
        return Err(impossible("too few nodes forward for paths of distinct ones"));
    }
    if !(64..=1232).contains(&settings.packet) {
        return Err(impossible("a packet of the thesis has 64 to 1232 bytes"));
    }
    let mut world = World::new(channel(scenario, cast.members.len(), observers.witness.is_some()));
    for (id, group) in cast.each() {
        let costs = if plain { Costs::NONE } else { Costs::of(group.board, &settings) };
        let rng = random::stream(scenario.seed, id.into(), Purpose::Node);
        let (room, source) = (scenario.riot.socket_box, cast.source(id, group));
        let sphinx = Sphinx::new(id, &settings, room, costs, Rc::clone(&mixes), source, rng);
        let mote = riot::Mote::new(id, &scenario.riot, settings.packet, sphinx);
        let joined = world.place(riot::address(id), mote);
        joined.map_err(|error| Impossible::Network(error.to_string()))?;
    }
    if world.run(cast.stop, &mut None, observers).is_break() {
        return Err(Impossible::Stopped);
    }
    Ok(cast.outcome(
        &world,
        |mote, radio, group| Share { meter: mote.meter(), radio, board: Traits::of(group.board), mote: None },
        None,
    ))
}
