//! Stations that hear each other, on virtual time. Two frames at once garble each other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use chacha20::ChaCha8Rng;
use motemix_csma::{Event, Mac, Phy};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use rand_core::{Rng as _, SeedableRng as _};

use crate::{PAN, frame};

/// Receiver's ramp, assessment and turnaround.
const ASSESSMENT: u64 = 128 + 40;
const TURNAROUND: u64 = 192;

#[derive(Clone, Debug)]
enum Due {
    Alarm { station: usize, version: u64 },
    Assess { station: usize },
    Begin { station: usize },
    End { station: usize },
}

struct OnAir {
    from: usize,
    bytes: Vec<u8>,
    garbled: bool,
    /// Who listened when it began, and still does.
    heard_by: Vec<usize>,
}

#[derive(Default)]
struct Room {
    now: u64,
    agenda: BTreeMap<(u64, u64), Due>,
    count: u64,
    on_air: Vec<OnAir>,
    listening: Vec<bool>,
    to_send: Vec<Vec<u8>>,
    alarms: Vec<u64>,
}

impl Room {
    fn plan(&mut self, after: u64, due: Due) {
        self.count += 1;
        self.agenda.insert((self.now + after, self.count), due);
    }
}

struct Antenna {
    room: Rc<RefCell<Room>>,
    station: usize,
}

impl Antenna {
    fn stop_listening(&mut self) {
        let mut room = self.room.borrow_mut();
        room.listening[self.station] = false;
        for frame in &mut room.on_air {
            frame.heard_by.retain(|station| *station != self.station);
        }
    }
}

impl Phy for Antenna {
    fn listen(&mut self) {
        self.room.borrow_mut().listening[self.station] = true;
    }

    fn is_receiving(&mut self) -> bool {
        self.room.borrow().on_air.iter().any(|frame| frame.heard_by.contains(&self.station))
    }

    fn send_if_clear(&mut self, frame: &[u8]) {
        self.stop_listening();
        let mut room = self.room.borrow_mut();
        room.to_send[self.station] = frame.to_vec();
        room.plan(ASSESSMENT, Due::Assess { station: self.station });
    }

    fn acknowledge(&mut self, frame: &[u8; 3]) -> bool {
        self.stop_listening();
        let mut room = self.room.borrow_mut();
        room.to_send[self.station] = frame.to_vec();
        room.plan(TURNAROUND, Due::Begin { station: self.station });
        true
    }

    fn alarm(&mut self, after: u32) {
        let mut room = self.room.borrow_mut();
        room.alarms[self.station] += 1;
        let version = room.alarms[self.station];
        room.plan(after.into(), Due::Alarm { station: self.station, version });
    }

    fn cancel_alarm(&mut self) {
        self.room.borrow_mut().alarms[self.station] += 1;
    }
}

/// Takes the next event from the agenda, and hands it to whom it concerns.
fn step(room: &Rc<RefCell<Room>>, stations: &mut [Mac<Antenna>]) -> bool {
    let next = room.borrow_mut().agenda.pop_first();
    let Some(((now, _), due)) = next else { return false };
    room.borrow_mut().now = now;
    match due {
        Due::Alarm { station, version } => {
            if room.borrow().alarms[station] == version {
                stations[station].handle(Event::Alarm);
            }
        }
        Due::Assess { station } => {
            if room.borrow().on_air.is_empty() {
                room.borrow_mut().plan(TURNAROUND, Due::Begin { station });
            } else {
                stations[station].handle(Event::Busy);
            }
        }
        Due::Begin { station } => {
            let mut room = room.borrow_mut();
            let bytes = room.to_send[station].clone();
            let garbled = !room.on_air.is_empty();
            for frame in &mut room.on_air {
                frame.garbled = true;
            }
            let heard_by = (0..stations.len()).filter(|other| room.listening[*other]).collect();
            let airtime = 32 * (6 + 2 + bytes.len() as u64);
            room.on_air.push(OnAir { from: station, bytes, garbled, heard_by });
            room.plan(airtime, Due::End { station });
        }
        Due::End { station } => {
            let at = room.borrow().on_air.iter().position(|frame| frame.from == station).unwrap();
            let frame = room.borrow_mut().on_air.remove(at);
            for hearer in frame.heard_by {
                let event = if frame.garbled { Event::Garbled } else { Event::Received(&frame.bytes) };
                stations[hearer].handle(event);
            }
            stations[station].handle(Event::Sent);
        }
    }
    true
}

fn address(station: usize) -> ExtendedAddress {
    ExtendedAddress([station as u8 + 1; 8])
}

struct Tally {
    outcomes: [u32; 4],
    delivered: BTreeMap<Vec<u8>, u32>,
    sent: Vec<Vec<u8>>,
}

/// Each of `count` stations has another frame for one of the others whenever the last has ended.
fn saturate(count: usize, frames: u32, seed: u64) -> Tally {
    let room = Rc::new(RefCell::new(Room {
        listening: vec![false; count],
        to_send: vec![Vec::new(); count],
        alarms: vec![0; count],
        ..Room::default()
    }));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut stations: Vec<_> = (0..count)
        .map(|station| Mac::new(Antenna { room: room.clone(), station }, PAN, random.next_u32()))
        .collect();
    let mut tally = Tally { outcomes: [0; 4], delivered: BTreeMap::new(), sent: Vec::new() };
    let mut under_way: Vec<Option<Vec<u8>>> = vec![None; count];
    for (number, station) in stations.iter_mut().enumerate() {
        station.join(address(number));
    }
    let mut begun = 0;
    loop {
        for number in 0..count {
            if under_way[number].is_none() && begun < frames {
                let other = (number + 1 + random.next_u32() as usize % (count - 1)) % count;
                let mut content = begun.to_le_bytes().to_vec();
                content.resize(4 + random.next_u32() as usize % 90, 0);
                let next = frame(address(other), begun as u8, &content);
                stations[number].transmit(&next);
                under_way[number] = Some(next);
                begun += 1;
            }
            let mut out = [0; MAX_FRAME];
            while let Some(len) = stations[number].receive(&mut out) {
                *tally.delivered.entry(out[..len].to_vec()).or_default() += 1;
            }
            if let Some(outcome) = stations[number].poll_outcome() {
                tally.outcomes[outcome as usize] += 1;
                let frame = under_way[number].take().unwrap();
                if outcome == Outcome::Sent {
                    tally.sent.push(frame);
                }
            }
        }
        if !step(&room, &mut stations) {
            break;
        }
    }
    assert!(under_way.iter().all(Option::is_none), "a frame has no outcome");
    tally
}

#[test]
fn a_pair_that_sends_without_pause_delivers_nine_frames_of_ten() {
    let tally = saturate(2, 2_000, 1);
    assert_eq!(tally.outcomes.iter().sum::<u32>(), 2_000);
    assert!(tally.outcomes[0] > 1_800, "{:?}", tally.outcomes);
}

#[test]
fn what_was_acknowledged_was_delivered_however_crowded_the_room_is() {
    for (count, seed) in [(2, 2), (3, 3), (5, 4), (10, 5), (20, 6)] {
        let tally = saturate(count, 3_000, seed);
        assert_eq!(tally.outcomes.iter().sum::<u32>(), 3_000);
        assert_eq!(tally.outcomes[Outcome::Refused as usize], 0);
        for frame in &tally.sent {
            assert!(tally.delivered.contains_key(frame), "{count} stations: acknowledged and lost");
        }
        if count >= 10 {
            assert!(tally.outcomes[Outcome::ChannelBusy as usize] > 0, "the room was not crowded");
        }
    }
}
