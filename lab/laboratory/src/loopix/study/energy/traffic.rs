//! The packets of a Loopix client: three Poisson streams, and a timer that pulls.

use super::{Direction, Packet, micros};
use crate::loopix::study::chance::{Chance, Purpose};
use crate::loopix::study::cost::PACKET_LEN;
use std::time::Duration;

/// Headers of IPv4 and UDP, bytes.
pub const HEADERS_LEN: u32 = 28;

/// What a client does while it runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Client {
    /// Packets a second: payload (or cover in its place), loops, drops.
    pub rates: [f64; 3],
    /// Bytes of a packet, without the headers of IP and UDP.
    pub packet_len: u32,
    /// How it gets its mail.
    pub pull: Pull,
}

/// How a client gets its mail: it asks, and the provider answers with a fixed number of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pull {
    /// TIME_PULL.
    pub every: Duration,
    /// MAX_RETRIEVE: mail, filled up with dummies.
    pub packets: u32,
    /// Bytes of the SUBSCRIBE that goes before each PULL.
    pub subscribe_len: u32,
    /// Bytes of the PULL.
    pub pull_len: u32,
    /// Until the first packet of the answer is there.
    pub answer_after: Duration,
    /// Between two packets of the answer.
    pub answer_gap: Duration,
}

impl Client {
    /// Sends `rate` packets a second in three equal streams, and pulls as the network of the
    /// dissertation did unless it was told otherwise: 50 packets every 10 s.
    pub fn of_dissertation(rate: f64) -> Self {
        let pull = Pull {
            every: Duration::from_secs(10),
            packets: 50,
            subscribe_len: 72,
            pull_len: 16,
            answer_after: Duration::from_millis(5),
            answer_gap: Duration::ZERO,
        };
        Self { rates: [rate / 3.0; 3], packet_len: PACKET_LEN, pull }
    }

    /// Its packets from `from` until `until`, in the order of their time. Like the clients of 2017
    /// it pulls at once and then every [`Pull::every`]. A stream begins with a gap, which of a
    /// Poisson process is right at any moment.
    pub fn traffic(self, from: Duration, until: Duration, chance: Chance) -> Traffic {
        let (from, until) = (micros(from), micros(until));
        let mut traffic = Traffic {
            client: self,
            chance,
            until,
            streams: [u64::MAX; 3],
            pull_at: from,
            request: 0,
            answer: None,
        };
        for stream in 0..3 {
            traffic.streams[stream] = traffic.after(from, stream);
        }
        traffic
    }

    /// Its packets until `until`, as the seed has it.
    pub fn seeded(self, until: Duration, seed: u64) -> Traffic {
        self.traffic(Duration::ZERO, until, Chance::of(seed, Purpose::Traffic))
    }
}

/// The packets of a client.
#[derive(Debug)]
pub struct Traffic {
    client: Client,
    chance: Chance,
    /// µs, as all times here.
    until: u64,
    /// When each stream sends next.
    streams: [u64; 3],
    /// When the client pulls next, and how much of the request has gone.
    pull_at: u64,
    request: u8,
    /// When the next packet of an answer comes, and how many do.
    answer: Option<(u64, u32)>,
}

impl Traffic {
    /// A time of a Poisson stream after another; never if its rate is not positive.
    fn after(&mut self, at: u64, stream: usize) -> u64 {
        let rate = self.client.rates[stream];
        if rate <= 0.0 {
            return u64::MAX;
        }
        // A gap is not negative, and a conversion of floating point to integers saturates.
        #[allow(clippy::cast_sign_loss, reason = "see above")]
        let gap = libm::round(self.chance.exponential(1e6 / rate)) as u64;
        at.saturating_add(gap)
    }

    fn made(at: u64, bytes: u32, direction: Direction) -> Packet {
        Packet { at: Duration::from_micros(at), bytes: bytes + HEADERS_LEN, direction }
    }

    fn request(&mut self) -> Packet {
        let (at, pull) = (self.pull_at, self.client.pull);
        if self.request == 0 {
            self.request = 1;
            return Self::made(at, pull.subscribe_len, Direction::Up);
        }
        self.request = 0;
        self.pull_at = at.saturating_add(micros(pull.every).max(1));
        if pull.packets > 0 {
            // An answer that has not ended is continued after this one began.
            let begins = at + micros(pull.answer_after);
            let (next, left) = self.answer.unwrap_or((begins, 0));
            self.answer = Some((next, left + pull.packets));
        }
        Self::made(at, pull.pull_len, Direction::Up)
    }
}

impl Iterator for Traffic {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let (stream, sends) = self.streams.iter().copied().enumerate().min_by_key(|(_, at)| *at)?;
        let answers = self.answer.map_or(u64::MAX, |(at, _)| at);
        let next = sends.min(answers).min(self.pull_at);
        if next >= self.until {
            return None;
        }
        if next == self.pull_at {
            return Some(self.request());
        }
        if let Some((at, left)) = self.answer.filter(|_| answers <= sends) {
            let gap = micros(self.client.pull.answer_gap);
            self.answer = (left > 1).then_some((at + gap, left - 1));
            return Some(Self::made(at, self.client.packet_len, Direction::Down));
        }
        self.streams[stream] = self.after(sends, stream);
        Some(Self::made(sends, self.client.packet_len, Direction::Up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_client_that_sends_nothing_pulls() {
        let trace: Vec<_> = Client::of_dissertation(0.0).seeded(HOUR, 1).collect();
        assert_eq!(trace.len(), 360 * 52);
        let up: Vec<_> = trace.iter().filter(|packet| packet.direction == Direction::Up).collect();
        assert_eq!(up.len(), 720);
        assert_eq!((up[0].bytes, up[1].bytes), (100, 44));
        assert_eq!(up[2].at, Duration::from_secs(10));
    }

    #[test]
    fn times_never_go_back_and_rates_are_kept() {
        for seed in 0..5 {
            let trace: Vec<_> = Client::of_dissertation(1.5).seeded(HOUR, seed).collect();
            assert!(trace.windows(2).all(|pair| pair[0].at <= pair[1].at));
            let sent =
                trace.iter().filter(|packet| packet.bytes == 2107 && packet.direction == Direction::Up);
            // 5,400 are expected, with a standard deviation of 73.
            assert!((5_100..5_700).contains(&sent.count()));
        }
    }
}
