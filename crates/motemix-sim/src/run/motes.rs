//! A run of the shipping code.

use super::{Cast, Impossible, channel};
use crate::adversary::{self, Anonymity, Delivery, Sniffer};
use crate::board::Traits;
use crate::device::Antenna;
use crate::mote::{self, ARRIVALS, DEPARTURES, FRAMES, Memory, Mote, NAMED, PACKET};
use crate::observe::Observers;
use crate::outcome::Outcome;
use crate::random::{self, Purpose};
use crate::scenario::{Adversary, Motes, Scenario, Time};
use crate::world::{Watch, World};
use motemix_crypto::{Curve, Secret};
use motemix_directory::{Entry, Epoch, Parameters, Role};
use motemix_link::radio::Radio;
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::{Stack, StackMemory, link_local};
use motemix_node::{Config, Node, Window};
use motemix_sphinx::{MixKey, NodeId, Profile};
use rand_core::Rng as _;
use std::net::Ipv6Addr;
use std::rc::Rc;
use std::time::Duration;

fn address(id: u16) -> ExtendedAddress {
    let [high, low] = id.to_be_bytes();
    ExtendedAddress([low, high, 0, 0, 0, 0, 0, 0x02])
}

fn key(seed: u64, id: u16) -> MixKey {
    let mut secret = Secret::<32>::zero();
    random::stream(seed, id.into(), Purpose::Keys).fill_bytes(secret.expose_mut());
    MixKey::new(secret)
}

fn config(settings: &Motes) -> Config {
    let parameters = Parameters {
        min_hops: settings.hops,
        max_hops: settings.hops,
        mean_delay: settings.mean_delay.0,
        hop_allowance: settings.hop_allowance.0,
        transmissions: settings.transmissions,
        loop_mean: settings.loop_mean.and_then(Time::unless_zero),
        drop_mean: settings.drop_mean.and_then(Time::unless_zero),
        payload_mean: settings.payload_mean.and_then(Time::unless_zero),
        overlap: Duration::ZERO,
    };
    Config {
        in_flight: usize::from(settings.in_flight),
        window: if settings.rate_control { Window::Adaptive { first: 2 } } else { Window::Open },
        ..Config::of_network(parameters)
    }
}

pub(super) fn run<P: Profile>(
    scenario: &Scenario,
    observers: &mut Observers<'_>,
) -> Result<Outcome, Impossible>
where
    P::Curve: Curve,
{
    let (settings, seed, cast) = (&scenario.motes, scenario.seed, Cast::of(scenario));
    let entries: Vec<_> = cast
        .each()
        .map(|(id, group)| Entry {
            mix_key: key(seed, id).public_key::<P::Curve>(),
            role: if group.forwards { Role::Mix { layer: 0 } } else { Role::Endpoint },
        })
        .collect();
    let addresses: Rc<[Ipv6Addr]> = cast.each().map(|(id, _)| link_local(address(id))).collect();
    let (config, link) = (config(settings), settings.link.settings());
    let payload = scenario.load.payload.map_or(P::GEOMETRY.data_len(), usize::from);
    if scenario.adversary.is_some() && payload < NAMED {
        let reason =
            "the observer is scored by what messages say of their senders: load.payload must be at least 2";
        return Err(Impossible::Network(reason.into()));
    }

    let mut memories: Vec<(Memory<P>, StackMemory<PACKET, ARRIVALS, DEPARTURES>)> =
        cast.each().map(|_| (Memory::new(settings), StackMemory::new())).collect();
    let mut world = World::new(channel(scenario, cast.members.len(), observers.witness.is_some()));
    for ((id, group), (memory, stack_memory)) in cast.each().zip(&mut memories) {
        let mut radio = Radio::new(Antenna::new(FRAMES));
        let link_seed = random::stream(seed, id.into(), Purpose::Link).next_u64();
        let stack = Stack::new(address(id), link_seed, &link, stack_memory, &mut radio, Duration::ZERO);
        let me = NodeId::new(id).ok_or_else(|| Impossible::Network("more nodes than ids".into()))?;
        let rng = random::stream(seed, id.into(), Purpose::Node);
        let mut node = Node::new(me, config, rng, mote::storage(memory));
        let network = |error| Impossible::Network(format!("{error:?}"));
        node.prepare_epoch(Epoch(1), key(seed, id)).map_err(network)?;
        let now = motemix_node::Instant::default();
        node.begin_epoch_among(now, Epoch(1), &entries, config).map_err(network)?;
        let (source, board) = (cast.source(id, group), Traits::of(group.board));
        let mote = Mote::new(node, (stack, radio), source, Rc::clone(&addresses), board, payload);
        let joined = world.place(address(id), mote);
        joined.map_err(|error| Impossible::Network(error.to_string()))?;
    }
    let listens = scenario.adversary.as_ref();
    let mut sniffer = listens.map(|_| Sniffer::new(cast.each().map(|(id, _)| (address(id), id)).collect()));
    let mut watch = sniffer.as_mut().map(|sniffer| sniffer as &mut dyn Watch);
    if world.run(cast.stop, &mut watch, observers).is_break() {
        return Err(Impossible::Stopped);
    }
    let anonymity = listens.zip(sniffer).map(|(asked, sniffer)| listen(asked, &cast, &world, sniffer));
    Ok(cast.outcome(&world, Mote::meter, anonymity))
}

/// What the observer makes of the frames, and how right it is.
fn listen<P: Profile>(
    asked: &Adversary,
    cast: &Cast<'_>,
    world: &World<Mote<'_, P>>,
    sniffer: Sniffer,
) -> Anonymity {
    let arrived = (0..).zip(world.devices()).flat_map(|(receiver, mote)| {
        let named = mote.arrived().iter();
        named.map(move |&(sender, fingerprint)| Delivery { receiver, sender, fingerprint })
    });
    let deliveries: Vec<_> = arrived.collect();
    let network = adversary::network(cast.scenario, &cast.members);
    adversary::conclude(asked, cast.scenario, &network, &sniffer.into_transfers(), &deliveries)
}
