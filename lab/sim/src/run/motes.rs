//! A run of the shipping code.

use super::attacked::{self, Heard};
use super::{Cast, Impossible, channel};
use crate::adversary::{Cut, Sniffer};
use crate::attack::{self, Absences, Jammer, Plan};
use crate::authority::{Authority, BEGIN, FIRST, Listed, name};
use crate::board::Traits;
use crate::flash::Flash;
use crate::load::Source;
use crate::mote::{
    Devices, Enlist, Handed, Interval, NAMED, Orders, STORED, Signed, Spy, Standing, Verifier,
};
use crate::observe::Observers;
use crate::outcome::{Outcome, Share};
use crate::random::{self, Purpose, part_of};
use crate::scenario::{Content, GivenTo, Group, Scenario, fits};
use crate::world::{Watch, World};
use motemix_air::Instant;
use motemix_directory::Epoch;
use motemix_link::serial::ExtendedAddress;
use motemix_mote::Refusal;
use motemix_node::Window;
use motemix_sphinx::{NodeId, Profile};
use motemix_toml::Fault;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

/// A new board of a group, switched on.
fn switch_on<P: Profile + 'static>(
    scenario: &Scenario,
    id: u16,
    group: &Group,
) -> Result<Box<dyn Enlist>, Impossible> {
    let (limits, board) = (group.limits(), Traits::of(group.board));
    let rng = random::stream(scenario.seed, id.into(), Purpose::Node);
    Ok(match limits.flash.page {
        1024 => Box::new(Standing::<P, Flash<4, 1024>>::new(limits, board, rng).map_err(refused)?),
        // The STM32F103's words are half-words.
        2048 => Box::new(Standing::<P, Flash<2, 2048>>::new(limits, board, rng).map_err(refused)?),
        4096 => Box::new(Standing::<P, Flash<4, 4096>>::new(limits, board, rng).map_err(refused)?),
        page => return Err(Impossible::Network(format!("there is no flash with pages of {page} bytes"))),
    })
}

fn refused(refusal: Refusal) -> Impossible {
    Impossible::Network(refusal.to_string())
}

/// The network documents of a run, the first epoch's first.
fn documents(
    cast: &Cast<'_>,
    authority: &Authority,
    boards: &mut [Box<dyn Enlist>],
) -> Result<Vec<(Duration, Vec<u8>)>, Impossible> {
    let listed: Vec<_> = cast
        .each()
        .zip(&*boards)
        .map(|((id, group), board)| Listed {
            name: name(id),
            forwards: group.forwards,
            address: board.address(),
        })
        .collect();
    let lasts = cast.stop - Instant::default();
    let mut documents = Vec::new();
    for epoch in (FIRST.0..).map(Epoch).take_while(|epoch| authority.begin_of(*epoch) < lasts) {
        let keys: Result<Vec<_>, _> = boards.iter_mut().map(|board| board.public_key(epoch)).collect();
        let document = authority.document(epoch, &listed, &keys.map_err(refused)?);
        let document = document.map_err(|error| Impossible::Network(error.to_string()))?;
        documents.push((authority.begin_of(epoch), document));
    }
    Ok(documents)
}

/// As the authority gives it away.
fn signed<'d>(
    authority: &Authority,
    (begin, bytes): &'d (Duration, Vec<u8>),
) -> Result<Signed<'d>, Impossible> {
    let admitted = (bytes.len() > STORED).then(|| authority.admit(bytes)).transpose();
    let admitted = admitted.map_err(|error| Impossible::Network(error.to_string()))?;
    Ok(Signed { begin: *begin, bytes, admitted })
}

/// When a node is given the documents: the first one at once. A board that can check it beside its
/// node has each of the others in the second half of the epoch before, at a time of its own; one
/// that has to stop for it, when the epoch has begun.
fn handed<'d>(
    scenario: &Scenario,
    id: u16,
    group: &Group,
    documents: &'d [Signed<'d>],
) -> VecDeque<Handed<'d>> {
    let mut rng = random::stream(scenario.seed, id.into(), Purpose::Deliveries);
    let half = scenario.motes.epoch.length.0 / 2;
    let count = match scenario.motes.epoch.given_to {
        GivenTo::One if id > 0 => 1,
        _ => documents.len(),
    };
    let handed = documents.iter().take(count).map(|signed| {
        let stops = !group.limits().document_while_running || signed.admitted.is_some();
        let before = if signed.begin.is_zero() || stops { Duration::ZERO } else { half };
        let at = signed.begin.saturating_sub(before) + part_of(&mut rng, before / 2);
        Handed { at: Instant::default() + at, signed }
    });
    handed.collect()
}

/// When the sensor of a node measures, if readings are what it sends.
fn interval(cast: &Cast<'_>, id: u16, group: &Group) -> Option<Interval> {
    let (from, to) = cast.source(id, group).into_first()?;
    let seconds = u32::try_from(cast.scenario.load.interval.0.as_secs()).ok()?;
    Some(Interval { to: NodeId::new(to)?, seconds, from, until: cast.ends })
}

pub(super) fn run<P: Profile + 'static>(
    scenario: &Scenario,
    observers: &mut Observers<'_>,
) -> Result<Outcome, Impossible> {
    let (settings, cast) = (&scenario.motes, Cast::of(scenario));
    let payload = scenario.load.payload.map_or(P::GEOMETRY.data_len(), usize::from);
    if scenario.adversary.is_some() && payload < NAMED {
        let reason =
            "the observer is scored by what messages say of their senders: load.payload must be at least 2";
        return Err(Impossible::Network(reason.into()));
    }
    fits::check(scenario).map_err(|fault| {
        let Fault { field, problem, remedy } = fault;
        Impossible::Network(format!("{field}: {problem}; {remedy}"))
    })?;
    let boards: Result<Vec<_>, _> =
        cast.each().map(|(id, group)| switch_on::<P>(scenario, id, group)).collect();
    let mut boards = boards?;
    let authority = Authority::new(scenario.seed, settings);
    let documents = documents(&cast, &authority, &mut boards)?;
    let documents: Result<Vec<_>, _> =
        documents.iter().map(|document| signed(&authority, document)).collect();
    let documents = documents?;
    let signs = scenario.load.content == Content::Readings;
    let devices: Result<Vec<_>, _> =
        boards.iter_mut().filter(|_| signs).map(|board| board.device()).collect();
    let devices = Rc::new(Devices::new(devices.map_err(refused)?));
    let (plan, corrupt) = (Plan::of(scenario), attack::corrupt(scenario));
    let mut world = World::new(channel(scenario, cast.members.len(), observers.witness.is_some()));
    let mut stations = Vec::new();
    for ((id, group), board) in cast.each().zip(boards) {
        let address = board.address();
        let orders = Orders {
            me: id,
            authority: authority.public_key(),
            time: BEGIN,
            documents: handed(scenario, id, group, &documents),
            exchange: (settings.epoch.given_to == GivenTo::One).then_some(&authority),
            source: if signs { Source::silent(id) } else { cast.source(id, group) },
            payload,
            interval: if signs { interval(&cast, id, group) } else { None },
            verifier: signs.then(|| Verifier::new(Rc::clone(&devices))),
            link: settings.link.settings(),
            window: if settings.rate_control { Window::SHARED_CHANNEL } else { Window::Open },
            absences: Absences::of(scenario.seed, id, scenario.churn.as_ref(), cast.stop),
            spy: corrupt.contains(&id).then(|| {
                Spy::new(plan.clone(), random::stream(scenario.seed, id.into(), random::Purpose::Spy))
            }),
        };
        stations.push((address, id));
        let joined = world.place(address, board.live(orders));
        joined.map_err(|error| Impossible::Network(error.to_string()))?;
    }
    world.jammer = plan.as_ref().and_then(|plan| Jammer::of(plan, scenario));
    let by_number: BTreeMap<u64, u16> =
        stations.iter().map(|(address, id)| (interface(*address), *id)).collect();
    let cut = Cut { packet: P::GEOMETRY.packet_len(), recovery: settings.link.recovery };
    let listens = scenario.adversary.as_ref();
    let mut sniffer = listens.map(|_| Sniffer::new(stations.into_iter().collect(), cut));
    let mut watch = sniffer.as_mut().map(|sniffer| sniffer as &mut dyn Watch);
    if world.run(cast.stop, &mut watch, observers).is_break() {
        return Err(Impossible::Stopped);
    }
    let heard = Heard {
        transfers: sniffer.map(Sniffer::into_transfers).unwrap_or_default(),
        corrupt,
        by_number,
        findings: observers.findings.as_deref_mut(),
    };
    let (anonymity, attacked) = attacked::conclude(&cast, &world, heard, plan.as_deref());
    Ok(Outcome { attacked, ..cast.outcome(&world, Share::of_mote, anonymity) })
}

/// A station's address as its neighbours' links say it: its interface identifier (RFC 4291,
/// appendix A), as a number.
fn interface(ExtendedAddress(mut address): ExtendedAddress) -> u64 {
    const UNIVERSAL: u64 = 0x02 << 56;
    address.reverse();
    u64::from_be_bytes(address) ^ UNIVERSAL
}
