//! The channel alone, under loads whose outcome others have calculated or measured.
//!
//! Frames wait at their sender; one that was given up is not sent again, and the next one follows.
//! That is what a network stack without patience does, and what ns-3 was asked to do for the
//! figures beside ours (`lab/ns3`).

use crate::random::{self, Purpose, below};
use crate::room::Places;
use crate::scenario::Room;
use chacha20::ChaCha8Rng;
use motemix_air::Instant;
use motemix_air::channel::{Centibels, Channel, Event, Loss, Settings, Station};
use motemix_link::serial::{ExtendedAddress, Outcome};
use motemix_sphinx::HopDelay;
use rand_core::Rng as _;
use std::collections::VecDeque;
use std::time::Duration;

/// Frame control, sequence number, network, two short addresses; the check sequence of two bytes is
/// not given.
const HEADER: usize = 9;

/// How stations stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surroundings {
    /// All hear each other equally well, and whatever overlaps is lost.
    Even,
    /// ns-3's defaults in the room of the testbed: path-loss exponent 3, 46.68 dB at one metre; a
    /// frame survives what is a decibel weaker, as its error model has it for frames of this
    /// length.
    Room,
}

/// Frames a second of one sender who always has one more, and the bytes of a frame's PSDU;
/// `acknowledged` or not.
pub fn saturated(psdu: usize, acknowledged: bool, seconds: u32) -> f64 {
    let mut load = Load::new(2, Surroundings::Even, 1);
    let until = Instant::default() + Duration::from_secs(seconds.into());
    let mut sent = 0_u32;
    load.put(0, Waiting { to: 1, psdu, acknowledged, train: None });
    while let Some(due) = load.channel.poll_timeout().filter(|due| *due <= until) {
        load.advance(due);
        while let Some((from, outcome, _)) = load.next_end() {
            sent += u32::from(outcome == Outcome::Sent);
            load.put(from, Waiting { to: 1, psdu, acknowledged, train: None });
        }
    }
    f64::from(sent) / f64::from(seconds)
}

/// The share of acknowledged frames of 127 bytes that were lost, percent: Poisson arrivals of
/// `rate` frames a second, spread evenly over the stations, each for its neighbour.
pub fn poisson(stations: u16, surroundings: Surroundings, rate: f64, frames: u32, seed: u64) -> f64 {
    let mut load = Load::new(stations, surroundings, seed);
    let mean = Duration::from_secs_f64(1.0 / rate);
    let (mut at, mut offered) = (Instant::default(), 0);
    let (mut ended, mut lost) = (0_u32, 0_u32);
    loop {
        while let Some((_, outcome, _)) = load.next_end() {
            ended += 1;
            lost += u32::from(outcome != Outcome::Sent);
        }
        let due = load.channel.poll_timeout();
        if offered < frames && due.is_none_or(|due| at <= due) {
            load.advance(at);
            let from = below(&mut load.rng, u32::from(stations)) as u16;
            load.put(from, Waiting { to: (from + 1) % stations, psdu: 127, acknowledged: true, train: None });
            offered += 1;
            at = at + exponential(&mut load.rng, mean);
        } else if let Some(due) = due {
            load.advance(due);
        } else {
            return 100.0 * f64::from(lost) / f64::from(ended);
        }
    }
}

/// The share of datagrams of six acknowledged frames that lost one of them, percent: every station
/// sends one to somebody at a mean `interval`, as a Poisson process.
pub fn trains(
    stations: u16,
    surroundings: Surroundings,
    interval: Duration,
    lasting: Duration,
    seed: u64,
) -> f64 {
    let mut load = Load::new(stations, surroundings, seed);
    let mean = interval / u32::from(stations);
    let until = Instant::default() + lasting;
    let mut at = Instant::default() + exponential(&mut load.rng, mean);
    let mut broken: Vec<bool> = Vec::new();
    loop {
        while let Some((_, outcome, train)) = load.next_end() {
            if let Some(broken) = train.and_then(|train| broken.get_mut(train)) {
                *broken |= outcome != Outcome::Sent;
            }
        }
        let due = load.channel.poll_timeout();
        if at < until && due.is_none_or(|due| at <= due) {
            load.advance(at);
            let from = below(&mut load.rng, u32::from(stations)) as u16;
            let other = below(&mut load.rng, u32::from(stations) - 1) as u16;
            let to = other + u16::from(other >= from);
            for fragment in 0..6 {
                let psdu = if fragment < 5 { 127 } else { 105 };
                load.put(from, Waiting { to, psdu, acknowledged: true, train: Some(broken.len()) });
            }
            broken.push(false);
            at = at + exponential(&mut load.rng, mean);
        } else if let Some(due) = due {
            load.advance(due);
        } else {
            let count = |counted: usize| f64::from(u32::try_from(counted).unwrap_or(u32::MAX));
            let lost = broken.iter().filter(|broken| **broken).count();
            return 100.0 * count(lost) / count(broken.len());
        }
    }
}

fn exponential(rng: &mut ChaCha8Rng, mean: Duration) -> Duration {
    HopDelay::from_seed(rng.next_u64()).of_mean(mean)
}

#[derive(Clone, Copy)]
struct Waiting {
    to: u16,
    psdu: usize,
    acknowledged: bool,
    /// The datagram of which it is a part.
    train: Option<usize>,
}

/// Stations, and the frames that wait at them.
struct Load {
    channel: Channel,
    stations: Vec<Station>,
    lines: Vec<VecDeque<Waiting>>,
    sequence: u8,
    now: Instant,
    rng: ChaCha8Rng,
}

impl Load {
    fn new(stations: u16, surroundings: Surroundings, seed: u64) -> Self {
        let settings = Settings { stations, ..Settings::default() };
        let mut channel = match surroundings {
            Surroundings::Even => Channel::new(settings, seed),
            Surroundings::Room => {
                let room = Room { exponent: 3.0, reference_db: 46.68, shadowing_db: 0.0, ..Room::default() };
                let places = Places::new(room, Loss::NONE, seed, usize::from(stations));
                let settings = Settings { capture: Some(Centibels(100)), ..settings };
                Channel::on(Box::new(places), settings, seed)
            }
        };
        let join = |number: u16| {
            let [low, high] = number.to_le_bytes();
            channel.join(Instant::default(), ExtendedAddress([low, high, 0, 0, 0, 0, 0, 2])).ok()
        };
        let joined: Vec<_> = (0..stations).filter_map(join).collect();
        Self {
            lines: vec![VecDeque::new(); joined.len()],
            channel,
            stations: joined,
            sequence: 0,
            now: Instant::default(),
            rng: random::stream(seed, 0, Purpose::Arrivals),
        }
    }

    fn advance(&mut self, to: Instant) {
        self.now = to;
        self.channel.handle_timeout(to);
    }

    fn put(&mut self, from: u16, frame: Waiting) {
        let line = &mut self.lines[usize::from(from)];
        line.push_back(frame);
        if line.len() == 1 {
            self.transmit(from);
        }
    }

    fn transmit(&mut self, from: u16) {
        let Some(frame) = self.lines[usize::from(from)].front() else { return };
        self.sequence = self.sequence.wrapping_add(1);
        let mut bytes = [0; 125];
        let control: u16 = 0x8841 | u16::from(frame.acknowledged) << 5;
        bytes[..2].copy_from_slice(&control.to_le_bytes());
        bytes[2] = self.sequence;
        bytes[3..5].copy_from_slice(&0x23_u16.to_le_bytes());
        bytes[5..7].copy_from_slice(&frame.to.to_le_bytes());
        bytes[7..HEADER].copy_from_slice(&from.to_le_bytes());
        let len = frame.psdu.saturating_sub(2).clamp(HEADER, bytes.len());
        self.channel.transmit(self.now, self.stations[usize::from(from)], 0, &bytes[..len]);
    }

    /// A frame whose fate is known; the one behind it is on its way.
    fn next_end(&mut self) -> Option<(u16, Outcome, Option<usize>)> {
        loop {
            if let Event::Done { station, outcome, .. } = self.channel.poll_event()? {
                let from = station.number();
                let train = self.lines[usize::from(from)].pop_front().and_then(|frame| frame.train);
                self.transmit(from);
                return Some((from, outcome, train));
            }
        }
    }
}
