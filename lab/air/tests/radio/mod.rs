//! A channel on virtual time, and frames for it.
#![allow(dead_code, reason = "each test file uses a part")]

use motemix_air::Instant;
use motemix_air::channel::{Channel, Counters, Event, Settings, Station};
use motemix_link::serial::{ExtendedAddress, Outcome};

pub const PAN: u16 = 0x0023;

/// A channel with stations 0, 1, 2, … on it.
pub struct Radio {
    pub channel: Channel,
    pub stations: Vec<Station>,
    pub now: Instant,
}

impl Radio {
    pub fn new(stations: u8, settings: Settings, seed: u64) -> Self {
        let mut channel = Channel::new(settings, seed);
        let now = Instant::default();
        let join = |number| channel.join(now, address(number)).expect("there is room");
        Self { stations: (0..stations).map(join).collect(), channel, now }
    }

    /// Two stations or more on a channel without loss.
    pub fn quiet(stations: u8) -> Self {
        Self::new(stations, Settings::default(), 1)
    }

    pub fn transmit(&mut self, from: usize, handle: u8, frame: &[u8]) {
        self.channel.transmit(self.now, self.stations[from], handle, frame);
    }

    /// Advances to the next event.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.channel.poll_event() {
                return Some(event);
            }
            self.now = self.channel.poll_timeout()?;
            self.channel.handle_timeout(self.now);
        }
    }

    /// Until nothing is under way.
    pub fn all(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.next()).collect()
    }

    pub fn counters(&self, station: usize) -> Counters {
        *self.channel.counters(self.stations[station]).expect("it is there")
    }
}

pub fn address(number: u8) -> ExtendedAddress {
    ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2])
}

/// A data frame between extended addresses, of this many bytes with its check sequence.
pub fn frame(from: u8, to: u8, sequence: u8, psdu: usize) -> Vec<u8> {
    let mut frame =
        [&[0x61, 0xdc, sequence], &PAN.to_le_bytes()[..], &address(to).0, &address(from).0].concat();
    assert!(psdu >= frame.len() + 2, "a header has 23 bytes");
    frame.resize(psdu - 2, 0xaa);
    frame
}

/// The same with short addresses, for which eleven bytes are enough.
pub fn short_frame(from: u8, to: u8, sequence: u8, psdu: usize) -> Vec<u8> {
    let mut frame = vec![0x61, 0x98, sequence];
    for number in [PAN, u16::from(to), u16::from(from)] {
        frame.extend(number.to_le_bytes());
    }
    frame.resize(psdu - 2, 0xaa);
    frame
}

/// A data frame to all, which nobody acknowledges.
pub fn broadcast(from: u8, sequence: u8, psdu: usize) -> Vec<u8> {
    let mut frame = short_frame(from, 0xff, sequence, psdu);
    frame[0] = 0x41;
    frame[5..7].copy_from_slice(&[0xff, 0xff]);
    frame
}

pub fn outcomes(events: &[Event]) -> Vec<(Station, u8, Outcome)> {
    let outcome = |event: &Event| match event {
        Event::Done { station, handle, outcome, .. } => Some((*station, *handle, *outcome)),
        _ => None,
    };
    events.iter().filter_map(outcome).collect()
}

/// Who got how many frames.
pub fn deliveries(events: &[Event], to: Station) -> usize {
    events
        .iter()
        .filter(|event| matches!(event, Event::Delivered { to: station, .. } if *station == to))
        .count()
}
