//! Many stations at once: how much gets through, and what always holds.

mod radio;

use motemix_air::Instant;
use motemix_air::channel::{Channel, Event, Link, Loss, Settings, Station};
use proptest::prelude::*;
use radio::{Radio, address, broadcast, frame, short_frame};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

const STATIONS: u8 = 60;

/// Poisson arrivals, spread evenly over the stations; each frame is for the next station.
struct Load {
    radio: Radio,
    queues: Vec<VecDeque<Vec<u8>>>,
    chance: u64,
}

impl Load {
    fn new(seed: u64) -> Self {
        let radio = Radio::new(STATIONS, Settings::default(), seed);
        Self { radio, queues: vec![VecDeque::new(); usize::from(STATIONS)], chance: seed }
    }

    /// SplitMix64: the channel's own generator is not the one to test it with.
    fn random(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.chance ^ self.chance >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "53 bits are kept; it is positive")]
    fn gap(&mut self, a_second: f64) -> Duration {
        let uniform = ((self.random() >> 11) as f64 + 0.5) / 2_f64.powi(53);
        Duration::from_secs_f64(-uniform.ln() / a_second)
    }

    /// The share of acknowledged frames that did not get there, in percent.
    fn lost(&mut self, a_second: f64, frames: u32) -> f64 {
        let mut arrival = Instant::default();
        let mut offered = 0;
        let mut arrived = 0_u32;
        // A frame whose acknowledgement was lost comes again, and counts once.
        let mut came = [false; STATIONS as usize];
        loop {
            while let Some(event) = self.radio.channel.poll_event() {
                match event {
                    Event::Delivered { from, .. } => {
                        let before = std::mem::replace(&mut came[usize::from(from.number())], true);
                        arrived += u32::from(!before);
                    }
                    Event::Done { station, .. } => {
                        let station = usize::from(station.number());
                        came[station] = false;
                        self.queues[station].pop_front();
                        self.send(station);
                    }
                    Event::OnAir { .. } => {}
                }
            }
            let due = self.radio.channel.poll_timeout();
            if offered < frames && due.is_none_or(|due| arrival <= due) {
                self.radio.now = arrival;
                self.radio.channel.handle_timeout(arrival);
                let station = (self.random() % u64::from(STATIONS)) as usize;
                let next = (station as u8 + 1) % STATIONS;
                self.queues[station].push_back(short_frame(station as u8, next, offered as u8, 127));
                if self.queues[station].len() == 1 {
                    self.send(station);
                }
                offered += 1;
                arrival = arrival + self.gap(a_second);
            } else if let Some(due) = due {
                self.radio.now = due;
                self.radio.channel.handle_timeout(due);
            } else {
                return 100.0 * (1.0 - f64::from(arrived) / f64::from(offered));
            }
        }
    }

    fn send(&mut self, station: usize) {
        if let Some(sent) = self.queues[station].front() {
            self.radio.transmit(station, 0, &sent.clone());
        }
    }
}

/// ns-3.37 lost .17 to 13.6 %. There the stronger of two frames that overlap often survives and the
/// earlier one mostly; here both are lost and sent again, which loads the channel more. So this
/// model may lose up to a third more. Its own spread at 20 frames/s is a tenth, for 100,000 frames.
/// Assessing the channel only at the end of the 128 µs, or not sending again, falls outside.
#[test]
fn sixty_stations_lose_as_much_as_in_ns3() {
    for (a_second, known) in
        [(20.0, 0.17), (40.0, 0.67), (60.0, 2.3), (80.0, 4.7), (100.0, 8.1), (120.0, 13.6)]
    {
        let lost = Load::new(1).lost(a_second, 100_000);
        println!("{a_second} frames/s: {lost:.2} % lost, ns-3 {known} %");
        assert!((0.75..1.34).contains(&(lost / known)), "{a_second} frames/s: {lost:.2} %, not {known} %");
    }
}

/// What may be done to a channel.
#[derive(Clone, Debug)]
enum Act {
    Transmit(usize, Vec<u8>),
    Outside(Vec<u8>),
    Link(usize, usize, Option<f64>),
    Leave(usize),
    Join(usize),
    Wait(u64),
    /// Until the next thing is due.
    Next,
}

const CROWD: usize = 4;

fn some_frame() -> impl Strategy<Value = Vec<u8>> {
    let ends = (0..CROWD as u8 + 1, 0..CROWD as u8 + 1, any::<u8>(), 23_usize..=127);
    prop_oneof![
        4 => ends.clone().prop_map(|(from, to, sequence, psdu)| frame(from, to, sequence, psdu)),
        2 => ends.prop_map(|(from, _, sequence, psdu)| broadcast(from, sequence, psdu)),
        1 => any::<u8>().prop_map(|sequence| vec![0x02, 0x00, sequence]),
        1 => prop::collection::vec(any::<u8>(), 0..140),
    ]
}

fn some_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..CROWD, some_frame()).prop_map(|(station, frame)| Act::Transmit(station, frame)),
        1 => some_frame().prop_map(Act::Outside),
        1 => (0..CROWD, 0..CROWD, prop::option::of(0.0..=1.0)).prop_map(|(a, b, loss)| Act::Link(a, b, loss)),
        1 => (0..CROWD).prop_map(Act::Leave),
        1 => (0..CROWD).prop_map(Act::Join),
        3 => (0..6000_u64).prop_map(Act::Wait),
        3 => Just(Act::Next),
    ]
}

/// What the acts lead to, and how many frames each station was given under each handle.
fn play(acts: &[Act], seed: u64) -> (Vec<Event>, BTreeMap<(Station, u8), usize>) {
    let settings = Settings { report_air: true, ..Settings::default() };
    let mut channel = Channel::new(settings, seed);
    let mut now = Instant::default();
    let outside = channel.join_outside(now).expect("there is room");
    let mut stations: Vec<_> =
        (0..CROWD as u8).map(|number| channel.join(now, address(number)).expect("there is room")).collect();
    let mut given = BTreeMap::new();
    let mut events = Vec::new();
    for (number, act) in acts.iter().enumerate() {
        match act {
            Act::Transmit(station, frame) => {
                *given.entry((stations[*station], number as u8)).or_default() += 1;
                channel.transmit(now, stations[*station], number as u8, frame);
            }
            Act::Outside(frame) => drop(channel.send_from_outside(now, outside, frame)),
            Act::Link(from, to, loss) => {
                let link = loss.and_then(Loss::from_probability).map_or(Link::Silent, Link::Audible);
                channel.set_link(stations[*from], stations[*to], link);
            }
            Act::Leave(station) => channel.leave(now, stations[*station]),
            Act::Join(station) => {
                if let Ok(joined) = channel.join(now, address(*station as u8)) {
                    stations[*station] = joined;
                }
            }
            Act::Wait(micros) => {
                now = now + Duration::from_micros(*micros);
                channel.handle_timeout(now);
            }
            Act::Next => {
                now = channel.poll_timeout().unwrap_or(now).max(now);
                channel.handle_timeout(now);
            }
        }
        events.extend(std::iter::from_fn(|| channel.poll_event()));
    }
    while let Some(due) = channel.poll_timeout() {
        channel.handle_timeout(due);
        events.extend(std::iter::from_fn(|| channel.poll_event()));
    }
    (events, given)
}

fn at(event: &Event) -> Instant {
    match event {
        Event::Delivered { at, .. } | Event::Done { at, .. } | Event::OnAir { end: at, .. } => *at,
    }
}

proptest! {
    #[test]
    fn every_frame_ends_with_exactly_one_outcome(acts in prop::collection::vec(some_act(), 0..200), seed: u64) {
        let (events, given) = play(&acts, seed);
        let mut done = BTreeMap::new();
        for event in &events {
            if let Event::Done { station, handle, .. } = event {
                *done.entry((*station, *handle)).or_default() += 1;
            }
        }
        prop_assert_eq!(done, given);
        prop_assert!(events.is_sorted_by_key(at));
    }

    #[test]
    fn the_same_seed_gives_the_same_events(acts in prop::collection::vec(some_act(), 0..200), seed: u64) {
        prop_assert_eq!(play(&acts, seed).0, play(&acts, seed).0);
    }
}

#[test]
fn another_seed_gives_other_backoffs() {
    let acts = vec![Act::Transmit(0, frame(0, 1, 1, 40)); 1];
    let first = play(&acts, 1).0;
    assert!((2..20).any(|seed| play(&acts, seed).0 != first));
}
