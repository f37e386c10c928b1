//! The radio of a telephone, fed with a packet trace.
//!
//! A radio is a state machine (radio resource control, RRC): packets raise it, silence lets it
//! fall. Each state draws a power; each packet costs something more. [`Meter`] is given packets in
//! the order of their time and adds up. The machines are data, in [`radios`]; [`traffic`] makes the
//! packets of a Loopix client; [`recording`] reads those of others; [`dissertation`] repeats what
//! the dissertation has.
//!
//! The screen, the processor and everything else of the telephone is not counted.

pub mod dissertation;
pub mod radios;
pub mod recording;
pub mod traffic;

pub use radios::{Fall, Power, Radio, Rise, State};

use std::time::Duration;

/// Which way a packet goes, seen from the telephone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the telephone.
    Up,
    /// To the telephone.
    Down,
}

/// A packet as the radio sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Since the trace began.
    pub at: Duration,
    /// Bytes with the headers of IP and UDP.
    pub bytes: u32,
    /// Which way.
    pub direction: Direction,
}

/// Energy in picojoules: a microwatt for a microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Energy(u128);

impl Energy {
    /// In picojoules.
    pub fn from_picojoules(energy: u64) -> Self {
        Self(u128::from(energy))
    }

    /// In joules.
    #[allow(clippy::cast_precision_loss, reason = "a day of any radio is below 2^60 pJ")]
    pub fn joules(self) -> f64 {
        self.0 as f64 / 1e12
    }

    fn add(&mut self, power: Power, micros: u64) {
        self.0 += u128::from(power.microwatts()) * u128::from(micros);
    }
}

/// What a trace cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    /// Everything.
    pub energy: Energy,
    /// How long the radio was in each of its states, in the order of the machine.
    pub in_state: Vec<(&'static str, Duration)>,
    /// Until when it was counted.
    pub until: Duration,
    /// How often the radio left its lowest state.
    pub awakenings: u64,
    /// Bytes from the telephone.
    pub bytes_up: u64,
    /// Bytes to the telephone.
    pub bytes_down: u64,
}

impl Bill {
    /// Average power, watts; zero of no time.
    pub fn watts(&self) -> f64 {
        let seconds = self.until.as_secs_f64();
        if seconds > 0.0 { self.energy.joules() / seconds } else { 0.0 }
    }

    /// Joules of a day that goes on like this.
    pub fn joules_per_day(&self) -> f64 {
        self.watts() * 86_400.0
    }

    /// Bytes of a day that goes on like this, both ways.
    #[allow(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
    pub fn bytes_per_day(&self) -> f64 {
        let seconds = self.until.as_secs_f64();
        if seconds > 0.0 { (self.bytes_up + self.bytes_down) as f64 / seconds * 86_400.0 } else { 0.0 }
    }
}

/// A radio at work.
#[derive(Debug)]
pub struct Meter<'r> {
    radio: &'r Radio,
    state: usize,
    /// Counted up to here, µs.
    now: u64,
    /// Silent since, µs: the last packet, or the last fall.
    since: u64,
    /// What waits in FACH, and the time of the last packet, up and down.
    waiting: [(u32, u64); 2],
    energy: Energy,
    micros: Vec<u64>,
    awakenings: u64,
    bytes: [u64; 2],
}

impl<'r> Meter<'r> {
    /// In the lowest state, at time zero.
    pub fn new(radio: &'r Radio) -> Self {
        Self {
            radio,
            state: 0,
            now: 0,
            since: 0,
            waiting: [(0, 0); 2],
            energy: Energy::default(),
            micros: vec![0; radio.states.len()],
            awakenings: 0,
            bytes: [0; 2],
        }
    }

    /// A packet. One that comes while the radio still rises waits for it; so does one out of order.
    pub fn packet(&mut self, packet: Packet) {
        let at = micros(packet.at);
        self.advance(at);
        let (state, transfer) = (&self.radio.states[self.state], &self.radio.transfer);
        let direction = packet.direction as usize;
        if let Some((to, takes, power)) = self.rise(state.rise, packet, at) {
            self.energy.add(power, takes);
            self.awakenings += u64::from(self.state == 0);
            // The time of rising counts for where it leads.
            self.micros[to] += takes;
            self.now += takes;
            self.state = to;
        }
        self.since = self.now;
        self.bytes[direction] += u64::from(packet.bytes);
        self.energy.0 += u128::from(transfer.per_packet[direction])
            + u128::from(transfer.per_byte[direction]) * u128::from(packet.bytes);
    }

    /// Where a packet raises the radio to, how many microseconds that takes, and with which power.
    fn rise(&mut self, rise: Rise, packet: Packet, at: u64) -> Option<(usize, u64, Power)> {
        let direction = packet.direction as usize;
        match rise {
            Rise::Stays => {
                self.waiting = [(0, at); 2];
                None
            }
            Rise::Always { to, takes, power } => Some((to, micros(takes), power)),
            Rise::BySize { limit, above, below } => {
                self.waiting = [(0, at); 2];
                let to = if packet.bytes > limit[direction] { above } else { below };
                Some((to, 0, Power::ZERO))
            }
            Rise::WhenWaiting { limit, empties, to } => {
                let (waits, last) = self.waiting[direction];
                let waits =
                    if at.saturating_sub(last) > empties[direction].micros(waits) { 0 } else { waits };
                let waits = waits.saturating_add(packet.bytes);
                let over = waits > limit[direction];
                self.waiting[direction] = (if over { 0 } else { waits }, at);
                over.then_some((to, 0, Power::ZERO))
            }
        }
    }

    /// Counts up to a time; the radio falls where its timers run out.
    fn advance(&mut self, until: u64) {
        while self.now < until {
            let State { power, fall, .. } = &self.radio.states[self.state];
            let falls = fall.map(|fall| (self.since + micros(fall.after), fall.to));
            let next = falls.map_or(until, |(at, _)| at.min(until));
            let takes = next.saturating_sub(self.now);
            self.energy.add(*power, takes);
            self.micros[self.state] += takes;
            self.now = self.now.max(next);
            if let Some((at, to)) = falls.filter(|(at, _)| *at <= self.now && *at < until) {
                (self.state, self.since) = (to, at);
            }
        }
    }

    /// What it cost up to a time; no less than what was counted already.
    pub fn until(mut self, until: Duration) -> Bill {
        self.advance(micros(until));
        self.bill()
    }

    /// What it cost until the radio is back in its lowest state.
    pub fn to_rest(mut self) -> Bill {
        while self.state != 0 {
            let Some(fall) = self.radio.states[self.state].fall else { break };
            // One more than when it falls: a timer runs out after its time, not with it.
            self.advance(self.since + micros(fall.after) + 1);
            if self.state == 0 {
                self.now -= 1;
                self.micros[0] -= 1;
                self.energy.0 -= u128::from(self.radio.states[0].power.microwatts());
            }
        }
        self.bill()
    }

    fn bill(self) -> Bill {
        let names = self.radio.states.iter().map(|state| state.name);
        Bill {
            energy: self.energy,
            in_state: names.zip(self.micros.into_iter().map(Duration::from_micros)).collect(),
            until: Duration::from_micros(self.now),
            awakenings: self.awakenings,
            bytes_up: self.bytes[0],
            bytes_down: self.bytes[1],
        }
    }
}

/// What a trace costs until a time.
pub fn cost(radio: &Radio, trace: impl IntoIterator<Item = Packet>, until: Duration) -> Bill {
    let mut meter = Meter::new(radio);
    trace.into_iter().for_each(|packet| meter.packet(packet));
    meter.until(until)
}

/// What a trace costs until the radio rests.
pub fn cost_to_rest(radio: &Radio, trace: impl IntoIterator<Item = Packet>) -> Bill {
    let mut meter = Meter::new(radio);
    trace.into_iter().for_each(|packet| meter.packet(packet));
    meter.to_rest()
}

/// Microseconds of a time; five hundred thousand years fit.
fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::radios::{LTE, NR, UMTS};
    use super::*;
    use Direction::{Down, Up};

    fn packet(at_ms: u64, bytes: u32, direction: Direction) -> Packet {
        Packet { at: Duration::from_millis(at_ms), bytes, direction }
    }

    fn states(bill: &Bill) -> Vec<(&'static str, u64)> {
        bill.in_state.iter().map(|(name, time)| (*name, time.as_millis() as u64)).collect()
    }

    #[test]
    fn silence_costs_the_lowest_state() {
        let bill = cost(&UMTS, [], Duration::from_secs(100));
        assert_eq!(bill.energy, Energy::default());
        assert_eq!(states(&bill), [("IDLE", 100_000), ("FACH", 0), ("DCH", 0)]);
    }

    #[test]
    fn a_large_packet_takes_the_dedicated_channel_and_then_the_shared_one() {
        let bill = cost(&UMTS, [packet(1_000, 2107, Down)], Duration::from_secs(20));
        assert_eq!(states(&bill), [("IDLE", 10_300), ("FACH", 5_600), ("DCH", 4_100)]);
        assert!((bill.energy.joules() - (4.1 * 0.6 + 5.6 * 0.45)).abs() < 1e-9);
        assert_eq!(bill.awakenings, 1);
    }

    #[test]
    fn small_packets_share_a_channel_until_too_much_waits() {
        let few = [packet(0, 44, Up), packet(10, 44, Up)];
        assert_eq!(states(&cost_to_rest(&UMTS, few)), [("IDLE", 0), ("FACH", 5_610), ("DCH", 0)]);
        // The first raises the radio; of the others 294 bytes may wait.
        let many = [packet(0, 100, Up), packet(10, 200, Up), packet(11, 100, Up)];
        assert_eq!(states(&cost_to_rest(&UMTS, many)), [("IDLE", 0), ("FACH", 5_611), ("DCH", 4_100)]);
        // What waited has gone in the meantime.
        let slow = [packet(0, 100, Up), packet(10, 200, Up), packet(3_000, 100, Up)];
        assert_eq!(states(&cost_to_rest(&UMTS, slow)), [("IDLE", 0), ("FACH", 8_600), ("DCH", 0)]);
    }

    #[test]
    fn a_packet_during_the_tail_begins_it_anew() {
        let one = cost_to_rest(&LTE, [packet(0, 100, Up)]);
        let two = cost_to_rest(&LTE, [packet(0, 100, Up), packet(5_000, 100, Up)]);
        // Rising, then 11.576 s.
        assert_eq!(one.until.as_micros(), 260_100 + 11_576_000);
        assert_eq!(two.until.as_micros(), 5_000_000 + 11_576_000);
        assert_eq!((one.awakenings, two.awakenings), (1, 1));
    }

    #[test]
    fn the_states_fill_the_time_and_their_powers_the_energy() {
        for radio in [&UMTS, &LTE, &NR] {
            let trace =
                (0..200).map(|number| packet(number * 777, 500, if number % 3 == 0 { Up } else { Down }));
            let bill = cost(radio, trace, Duration::from_secs(300));
            let whole: Duration = bill.in_state.iter().map(|(_, time)| *time).sum();
            assert_eq!(whole, bill.until, "{}", radio.name);
            assert_eq!(bill.until, Duration::from_secs(300), "{}", radio.name);
            let most = radio.states.iter().map(|state| state.power.microwatts()).max().unwrap();
            assert!(bill.watts() > 0.0 && bill.watts() < f64::from(u32::try_from(most).unwrap()) / 1e6 * 1.2);
        }
    }
}
