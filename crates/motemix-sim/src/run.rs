//! One run: from a scenario to its outcome.

use crate::board::Traits;
use crate::curve::{Modelled, Real};
use crate::device::Antenna;
use crate::load::Source;
use crate::mote::{self, ARRIVALS, DEPARTURES, FRAMES, Memory, Mote, NAMED, PACKET};
use crate::observe::Observers;
use crate::observer::{self, Delivery, Sniffer};
use crate::outcome::{Outcome, Share};
use crate::random::{self, Purpose};
use crate::riot::{self, Costs, MAX_HOPS, Sphinx};
use crate::room::Places;
use crate::scenario::{CurveModel, Group, Protocol, Scenario, Time};
use crate::world::{Watch, World};
use motemix_air::Instant;
use motemix_air::channel::{Centibels, Channel, Loss, Settings};
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
        (Protocol::Motes, CurveModel::Real) => motes::<motemix_sphinx::Mote<Real>>(scenario, observers),
        (Protocol::Motes, CurveModel::Modelled) => {
            motes::<motemix_sphinx::Mote<Modelled>>(scenario, observers)
        }
        (Protocol::Thesis | Protocol::Udp, _) => thesis(scenario, observers),
    }
}

/// Every node's group, in the order of ids.
fn members(scenario: &Scenario) -> Vec<&Group> {
    let groups = scenario.nodes.values();
    groups.flat_map(|group| std::iter::repeat_n(group, usize::from(group.count))).collect()
}

fn mix_key(seed: u64, id: u32) -> Secret<32> {
    let mut secret = Secret::<32>::zero();
    random::stream(seed, id, Purpose::Keys).fill_bytes(secret.expose_mut());
    secret
}

fn address(id: u16) -> ExtendedAddress {
    let [high, low] = id.to_be_bytes();
    ExtendedAddress([low, high, 0, 0, 0, 0, 0, 0x02])
}

fn motes<P: Profile>(scenario: &Scenario, observers: &mut Observers<'_>) -> Result<Outcome, Impossible>
where
    P::Curve: Curve,
{
    let (settings, seed) = (&scenario.motes, scenario.seed);
    let members = members(scenario);
    let keys: Vec<_> = (0..members.len() as u32).map(|id| mix_key(seed, id)).collect();
    let entries: Vec<_> = members
        .iter()
        .zip(&keys)
        .map(|(group, secret)| Entry {
            mix_key: MixKey::new(secret.duplicate()).public_key::<P::Curve>(),
            role: if group.forwards { Role::Mix { layer: 0 } } else { Role::Endpoint },
        })
        .collect();
    let addresses: Rc<[Ipv6Addr]> = (0..members.len() as u16).map(|id| link_local(address(id))).collect();
    let receivers: Rc<[u16]> = (0..members.len() as u16)
        .zip(&members)
        .filter(|(_, group)| group.receives)
        .map(|(id, _)| id)
        .collect();
    let config = Config {
        in_flight: usize::from(settings.in_flight),
        window: if settings.rate_control { Window::Adaptive { first: 2 } } else { Window::Open },
        ..Config::of_network(Parameters {
            min_hops: settings.hops,
            max_hops: settings.hops,
            mean_delay: settings.mean_delay.0,
            hop_allowance: settings.hop_allowance.0,
            transmissions: settings.transmissions,
            loop_mean: settings.loop_mean.and_then(Time::unless_zero),
            drop_mean: settings.drop_mean.and_then(Time::unless_zero),
            payload_mean: settings.payload_mean.and_then(Time::unless_zero),
            overlap: std::time::Duration::ZERO,
        })
    };
    let link = settings.link.settings();
    let payload = scenario.load.payload.map_or(P::GEOMETRY.data_len(), usize::from);
    if scenario.adversary.is_some() && payload < NAMED {
        let reason =
            "the observer is scored by what messages say of their senders: load.payload must be at least 2";
        return Err(Impossible::Network(reason.into()));
    }
    let ends = Instant::default() + scenario.run.send_for.0;
    let stop = ends + scenario.run.cool_down.0;

    let mut memories: Vec<(Memory<P>, StackMemory<PACKET, ARRIVALS, DEPARTURES>)> =
        members.iter().map(|_| (Memory::new(settings), StackMemory::new())).collect();
    let mut world = World::new(channel(scenario, members.len(), observers.witness.is_some()));
    for ((id, (memory, stack_memory)), (group, secret)) in
        (0_u16..).zip(&mut memories).zip(members.iter().zip(keys))
    {
        let board = Traits::of(group.board);
        let mut radio = Radio::new(Antenna::new(FRAMES));
        let link_seed = random::stream(seed, u32::from(id), Purpose::Link).next_u64();
        let stack =
            Stack::new(address(id), link_seed, &link, stack_memory, &mut radio, std::time::Duration::ZERO);
        let me = NodeId::new(id).ok_or_else(|| Impossible::Network("more nodes than ids".into()))?;
        let rng = random::stream(seed, u32::from(id), Purpose::Node);
        let mut node = Node::new(me, config, rng, mote::storage(memory));
        let epoch = Epoch(1);
        let network = |error| Impossible::Network(format!("{error:?}"));
        node.prepare_epoch(epoch, MixKey::new(secret)).map_err(network)?;
        node.begin_epoch_among(motemix_node::Instant::default(), epoch, &entries, config).map_err(network)?;
        let source = if group.sends {
            Source::new(seed, id, &scenario.load, Rc::clone(&receivers), ends)
        } else {
            Source::silent(id)
        };
        let mote = Mote::new(node, (stack, radio), source, Rc::clone(&addresses), board, payload);
        let joined = world.place(address(id), mote);
        joined.map_err(|error| Impossible::Network(error.to_string()))?;
    }
    let listens = scenario.adversary.as_ref();
    let mut sniffer =
        listens.map(|_| Sniffer::new((0..).map(|id| (address(id), id)).take(members.len()).collect()));
    let mut watch = sniffer.as_mut().map(|sniffer| sniffer as &mut dyn Watch);
    if world.run(stop, &mut watch, observers).is_break() {
        return Err(Impossible::Stopped);
    }
    let anonymity = listens.zip(sniffer).map(|(adversary, sniffer)| {
        let arrived = (0..).zip(world.devices()).flat_map(|(receiver, mote)| {
            let named = mote.arrived().iter();
            named.map(move |(sender, fingerprint)| Delivery {
                receiver,
                sender: *sender,
                fingerprint: *fingerprint,
            })
        });
        let deliveries: Vec<_> = arrived.collect();
        let network = observer::network(scenario, &members);
        observer::conclude(adversary, scenario, &network, &sniffer.into_transfers(), &deliveries)
    });
    let boards = members.iter().map(|group| Traits::of(group.board));
    let shares = world
        .devices()
        .zip(world.stations())
        .zip(boards)
        .map(|((mote, radio), board)| Share { meter: mote.meter(), radio, board })
        .collect();
    let lasted = stop - Instant::default();
    Ok(Outcome::of(scenario, shares, anonymity, lasted, world.steps))
}

fn thesis(scenario: &Scenario, observers: &mut Observers<'_>) -> Result<Outcome, Impossible> {
    let impossible = |text: &str| Impossible::Network(text.into());
    let seed = scenario.seed;
    let members = members(scenario);
    let ids = |wanted: fn(&Group) -> bool| -> Rc<[u16]> {
        (0_u16..).zip(&members).filter(|(_, group)| wanted(group)).map(|(id, _)| id).collect()
    };
    let (receivers, mixes) = (ids(|group| group.receives), ids(|group| group.forwards));
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
    let ends = Instant::default() + scenario.run.send_for.0;
    let stop = ends + scenario.run.cool_down.0;
    let mut world = World::new(channel(scenario, members.len(), observers.witness.is_some()));
    for (id, group) in (0_u16..).zip(&members) {
        let source = if group.sends {
            Source::new(seed, id, &scenario.load, Rc::clone(&receivers), ends)
        } else {
            Source::silent(id)
        };
        let costs = if plain { Costs::NONE } else { Costs::of(group.board, &settings) };
        let rng = random::stream(seed, u32::from(id), Purpose::Node);
        let room = scenario.riot.socket_box;
        let sphinx = Sphinx::new(id, &settings, room, costs, Rc::clone(&mixes), source, rng);
        let mote = riot::Mote::new(id, &scenario.riot, settings.packet, sphinx);
        let joined = world.place(riot::address(id), mote);
        joined.map_err(|error| Impossible::Network(error.to_string()))?;
    }
    if world.run(stop, &mut None, observers).is_break() {
        return Err(Impossible::Stopped);
    }
    let boards = members.iter().map(|group| Traits::of(group.board));
    let shares = world
        .devices()
        .zip(world.stations())
        .zip(boards)
        .map(|((mote, radio), board)| Share { meter: mote.meter(), radio, board })
        .collect();
    let lasted = stop - Instant::default();
    Ok(Outcome::of(scenario, shares, None, lasted, world.steps))
}

fn channel(scenario: &Scenario, stations: usize, is_seen: bool) -> Channel {
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
        report_air: is_seen || scenario.adversary.is_some(),
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
