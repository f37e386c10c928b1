//! What a scenario may ask for: values that types cannot exclude.

use super::{
    Board, Content, Epochs, GivenTo, Group, Load, Motes, Protocol, Radio, Receivers, Room, Scenario, Spread,
    Sweep, fits,
};
use motemix_sphinx::{MOTE, NodeId};
use motemix_toml::Fault;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Most nodes of a network: a packet names them with 14 bits.
const NODES: u32 = NodeId::LIMIT as u32;
/// Hops each way in a packet of the profile `mote`.
const HOPS: RangeInclusive<u64> = 1..=3;

type Checked = Result<(), Fault>;

impl Scenario {
    pub(super) fn check(&self) -> Checked {
        if self.name.is_empty() {
            return Err(Fault::new("name", "is empty", "name the scenario, for tables and plots"));
        }
        longer("run.send_for", self.run.send_for.0, Duration::ZERO)?;
        nodes(self)?;
        load(&self.load)?;
        readings(self)?;
        radio(&self.radio)?;
        match self.protocol {
            Protocol::Motes => {
                motes(&self.motes, self)?;
                super::attack::check(self)?;
            }
            Protocol::Thesis => thesis(self)?,
            Protocol::Udp => {}
        }
        self.sweep.as_ref().map_or(Ok(()), sweep)
    }

    /// Nodes of all groups.
    pub fn count(&self) -> u32 {
        self.nodes.values().map(|group| u32::from(group.count)).sum()
    }

    pub(super) fn count_of(&self, which: fn(&Group) -> bool) -> u32 {
        self.nodes.values().filter(|group| which(group)).map(|group| u32::from(group.count)).sum()
    }
}

fn nodes(scenario: &Scenario) -> Checked {
    let add = "add a group, as [nodes.mote] with count = 20";
    if scenario.nodes.is_empty() {
        return Err(Fault::new("nodes", "has no group", add));
    }
    for (name, group) in &scenario.nodes {
        between(&format!("nodes.{name}.count"), u64::from(group.count), 1..=u64::from(NODES))?;
    }
    let count = scenario.count();
    if count > NODES {
        return Err(Fault::new(
            "nodes",
            format!("has {count} nodes"),
            format!("a network has at most {NODES}"),
        ));
    }
    if scenario.count_of(|group| group.sends) == 0 {
        return Err(Fault::new("nodes", "has nobody who sends", "give a group sends = true"));
    }
    if scenario.count_of(|group| group.receives) == 0 {
        return Err(Fault::new("nodes", "has nobody who receives", "give a group receives = true"));
    }
    if count < 2 {
        return Err(Fault::new("nodes", "has one node", "a message needs two at least"));
    }
    Ok(())
}

fn load(load: &Load) -> Checked {
    longer("load.interval", load.interval.0, Duration::ZERO)?;
    load.payload
        .map_or(Ok(()), |payload| between("load.payload", u64::from(payload), 0..=MOTE.data_len() as u64))
}

/// How readings are sent is the mote's own doing.
fn readings(scenario: &Scenario) -> Checked {
    let load = &scenario.load;
    if load.content == Content::Messages {
        return Ok(());
    }
    if scenario.protocol != Protocol::Motes {
        let remedy = "set protocol to \"motes\", or load.content to \"messages\"";
        return Err(Fault::new("load.content", "is \"readings\", and motes alone sign them", remedy));
    }
    if load.receivers == Receivers::Random {
        let remedy = "set it to \"even\" or \"fixed\"";
        let problem = "is \"random\", and readings go to one receiver";
        return Err(Fault::new("load.receivers", problem, remedy));
    }
    if load.spread != Spread::default() || load.payload.is_some() {
        let field = if load.payload.is_some() { "load.payload" } else { "load.spread" };
        return Err(Fault::new(field, "is the mote's own choice for readings", "leave it out"));
    }
    let seconds = load.interval.0.as_secs();
    if seconds == 0 || load.interval.0.subsec_nanos() != 0 || u32::try_from(seconds).is_err() {
        let remedy = "take a whole number of seconds, 1 at least";
        return Err(Fault::new("load.interval", "is no interval of readings", remedy));
    }
    Ok(())
}

fn radio(radio: &Radio) -> Checked {
    let access = &radio.access;
    between("radio.access.max_exponent", u64::from(access.max_exponent), 0..=16)?;
    if access.min_exponent > access.max_exponent {
        let (least, most) = (access.min_exponent, access.max_exponent);
        return Err(Fault::new(
            "radio.access.min_exponent",
            format!("is {least}, and radio.access.max_exponent is {most}"),
            "it may not be the greater one",
        ));
    }
    number("radio.loss", radio.loss, 0.0..=1.0)?;
    if let Some(threshold) = radio.capture_db {
        number("radio.capture_db", threshold, 0.0..=100.0)?;
    }
    radio.room.as_ref().map_or(Ok(()), room)
}

fn room(room: &Room) -> Checked {
    for side in room.size {
        number("radio.room.size", side, 0.0..=1e6)?;
    }
    number("radio.room.exponent", room.exponent, 0.1..=10.0)?;
    number("radio.room.reference_db", room.reference_db, 0.0..=200.0)?;
    number("radio.room.shadowing_db", room.shadowing_db, 0.0..=50.0)?;
    number("radio.room.power_dbm", room.power_dbm, -100.0..=100.0)
}

fn motes(motes: &Motes, scenario: &Scenario) -> Checked {
    between("motes.hops", u64::from(motes.hops), HOPS)?;
    between("motes.transmissions", u64::from(motes.transmissions), 1..=255)?;
    let Epochs { length, overlap, .. } = motes.epoch;
    for (field, time) in [("motes.epoch.length", length), ("motes.epoch.overlap", overlap)] {
        if time.0.subsec_nanos() > 0 {
            let problem = format!("is {}", humantime::format_duration(time.0));
            return Err(Fault::new(
                field,
                problem,
                "it must be whole seconds, as a network document has them",
            ));
        }
    }
    longer("motes.epoch.length", length.0, Duration::ZERO)?;
    keys_outlast_round_trips(scenario)?;
    all_can_be_told(scenario)?;
    has_paths("motes.hops", motes.hops, scenario)?;
    fits::check(scenario)
}

/// Whoever cannot check a document beside its node cannot have it over the air.
fn all_can_be_told(scenario: &Scenario) -> Checked {
    let small = |group: &Group| !group.limits().document_while_running;
    let found = scenario.nodes.iter().find(|(_, group)| small(group));
    if let (GivenTo::One, Some((name, group))) = (scenario.motes.epoch.given_to, found) {
        return Err(Fault::new(
            "motes.epoch.given_to",
            "is one",
            format!(
                "a {}, as nodes.{name} are, checks no document while it runs; take other boards, or all",
                group.limits().board
            ),
        ));
    }
    Ok(())
}

/// What is under way when an epoch ends finds the keys of that epoch for the overlap alone.
fn keys_outlast_round_trips(scenario: &Scenario) -> Checked {
    let (motes, run) = (&scenario.motes, &scenario.run);
    let Epochs { length, overlap, .. } = motes.epoch;
    let waits = motes.mean_delay.0 * (2 * u32::from(motes.hops)).saturating_sub(1);
    if run.send_for.0 + run.cool_down.0 <= length.0 || waits <= overlap.0 {
        return Ok(());
    }
    let [overlap, waits, enough] = [overlap.0, waits, waits * 5 / 2].map(humantime::format_duration);
    Err(Fault::new(
        "motes.epoch.overlap",
        format!("is {overlap}, and a round trip waits for {waits} at its nodes in the mean"),
        format!("what is under way when keys change would be lost: set it to {enough}, with longer epochs"),
    ))
}

fn thesis(scenario: &Scenario) -> Checked {
    let unknown = scenario.nodes.iter().find(|(_, group)| group.board == Board::Microbit);
    if let Some((name, _)) = unknown {
        let remedy = "take a board on which the thesis measured: samr21-xpro, iotlab-m3, nrf52840dk";
        return Err(Fault::new(format!("nodes.{name}.board"), "is microbit", remedy));
    }
    let settings = &scenario.thesis;
    between("thesis.packet", u64::from(settings.packet), 64..=1232)?;
    for hops in settings.hops {
        between("thesis.hops", u64::from(hops), 1..=5)?;
    }
    between("thesis.transmissions", u64::from(settings.transmissions), 1..=255)?;
    has_paths("thesis.hops", settings.hops.into_iter().max().unwrap_or(1), scenario)
}

/// Neither end is a mix of its own path.
fn has_paths(field: &str, hops: u8, scenario: &Scenario) -> Checked {
    let ends = |which: fn(&Group) -> bool| u32::from(scenario.count_of(which) > 0);
    let ends = ends(|group| group.sends && group.forwards) + ends(|group| group.receives && group.forwards);
    let mixes = scenario.count_of(|group| group.forwards);
    let needed = u32::from(hops).saturating_sub(1) + ends;
    if hops > 1 && mixes < needed {
        let problem = format!("is {hops}, and {mixes} nodes forward");
        let remedy = format!("such paths need {needed}; use fewer hops or more nodes");
        return Err(Fault::new(field, problem, remedy));
    }
    Ok(())
}

fn sweep(sweep: &Sweep) -> Checked {
    between("sweep.seeds", u64::from(sweep.seeds), 1..=100_000)?;
    for (field, values) in &sweep.vary {
        let place = format!("sweep.vary.{field}");
        if values.is_empty() {
            return Err(Fault::new(place, "has no values", "list those to run with"));
        }
        let section = field.split('.').next().unwrap_or_default();
        if ["version", "name", "description", "seed", "sweep"].contains(&section) {
            let remedy = "vary another field; seeds are counted by sweep.seeds";
            return Err(Fault::new(place, "cannot be varied", remedy));
        }
    }
    Ok(())
}

fn between(field: &str, value: u64, allowed: RangeInclusive<u64>) -> Checked {
    ranged(field, &value, &allowed)
}

fn number(field: &str, value: f64, allowed: RangeInclusive<f64>) -> Checked {
    ranged(field, &value, &allowed)
}

fn ranged<T: PartialOrd + Display>(field: &str, value: &T, allowed: &RangeInclusive<T>) -> Checked {
    if allowed.contains(value) {
        return Ok(());
    }
    let remedy = format!("it must be {} to {}", allowed.start(), allowed.end());
    Err(Fault::new(field, format!("is {value}"), remedy))
}

fn longer(field: &str, time: Duration, than: Duration) -> Checked {
    if time > than {
        return Ok(());
    }
    let problem = format!("is {}", humantime::format_duration(time));
    Err(Fault::new(field, problem, "it must be longer, for example \"16 s\""))
}
