//! Two ways to spend less, which the dissertation leaves to others (section 5.1), as exact
//! policies.
//!
//! `docs/research/loopix-study.md` says what an observer learns of each.

use super::chance::{Chance, Purpose};
use super::energy::Packet;
use super::energy::traffic::Client;
use std::time::Duration;

/// Cover that follows the number of users.
///
/// The network document of an epoch announces how many users there were, rounded down to a power of
/// two. In that epoch every client sends at the one rate that gives each mix ρ = `pool` if so many
/// send, within bounds. All change together, and nobody's rate depends on what he or she does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adaptive {
    /// ρ = λ/μ that each mix is to have.
    pub pool: f64,
    /// Mixes in a layer.
    pub width: u32,
    /// 1/μ, seconds.
    pub delay_s: f64,
    /// Packets a second that a client sends at least, so that its messages need not wait long.
    pub least: f64,
    /// Packets a second that a client sends at most, whatever becomes of the pool.
    pub most: f64,
}

impl Adaptive {
    /// What is announced of so many users: the greatest power of two that is not more; one of none.
    pub fn announced(users: u32) -> u32 {
        1 << users.max(1).ilog2()
    }

    /// Packets a second that each of so many users sends.
    pub fn rate(&self, users: u32) -> f64 {
        let needed = self.pool * f64::from(self.width) / self.delay_s / f64::from(Self::announced(users));
        needed.clamp(self.least, self.most)
    }

    /// ρ of a mix at a rate of each of so many users.
    pub fn pool_at(&self, rate: f64, users: u32) -> f64 {
        f64::from(users) * rate * self.delay_s / f64::from(self.width)
    }

    /// ρ that is left if a share of the users is the adversary's: it knows its own packets, and
    /// subtracts them.
    pub fn pool_despite(&self, users: u32, fake: f64) -> f64 {
        self.pool_at(self.rate(users), users) * (1.0 - fake)
    }
}

/// Sending in the foreground alone.
///
/// While somebody uses the application the client sends and pulls as `foreground`; otherwise it
/// sends nothing and only pulls, as `background`. Sessions and the times between them are
/// exponential.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Foreground {
    /// Sessions in a day, on average.
    pub sessions: f64,
    /// The mean length of a session.
    pub session: Duration,
    /// During a session.
    pub foreground: Client,
    /// Between sessions; its rates are of no matter.
    pub background: Client,
}

impl Foreground {
    /// The share of its time that a client sends.
    pub fn share(&self) -> f64 {
        (self.sessions * self.session.as_secs_f64() / 86_400.0).min(1.0)
    }

    /// Mean time between sessions, seconds.
    fn between_s(&self) -> f64 {
        (86_400.0 / self.sessions - self.session.as_secs_f64()).max(0.0)
    }

    /// When sessions begin and end, seconds, until a time; it may begin within one.
    pub fn presence(&self, until_s: f64, chance: &mut Chance) -> Vec<(f64, f64)> {
        let mut sessions = Vec::new();
        let mut at = 0.0;
        let mut is_present = chance.happens(self.share());
        while at < until_s {
            let mean = if is_present { self.session.as_secs_f64() } else { self.between_s() };
            let end = at + chance.exponential(mean);
            if is_present {
                sessions.push((at, end.min(until_s)));
            }
            (at, is_present) = (end, !is_present);
        }
        sessions
    }

    /// The packets of one client until a time, in the order of their time.
    pub fn traffic(&self, until: Duration, seed: u64) -> impl Iterator<Item = Packet> + use<> {
        let mut chance = Chance::of(seed, Purpose::Presence);
        let end_s = until.as_secs_f64();
        let sessions = self.presence(end_s, &mut chance);
        let quiet = Client { rates: [0.0; 3], ..self.background };
        let mut phases = Vec::new();
        let mut at = 0.0;
        for (begin, end) in sessions {
            phases.extend([(quiet, at, begin), (self.foreground, begin, end)]);
            at = end;
        }
        phases.push((quiet, at, end_s));
        let seconds = move |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(until);
        let traffic = phases.into_iter().zip(1_u64..).flat_map(move |((client, from, until), phase)| {
            let chance = Chance::of(seed.wrapping_mul(1 << 20).wrapping_add(phase), Purpose::Traffic);
            client.traffic(seconds(from), seconds(until), chance)
        });
        traffic.take_while(move |packet| packet.at < until)
    }

    /// Which of `users` are seen to be present at each of some messages, which are `apart`: says so
    /// of a user other than the first and a message's number.
    pub fn seen(
        &self,
        users: u32,
        apart: Duration,
        messages: u32,
        seed: u64,
    ) -> impl Fn(u32, u32) -> bool + use<> {
        let mut chance = Chance::of(seed, Purpose::Presence);
        let apart_s = apart.as_secs_f64();
        let until_s = apart_s * f64::from(messages) + 1.0;
        let sessions: Vec<_> = (1..users).map(|_| self.presence(until_s, &mut chance)).collect();
        move |user, message| {
            let at = f64::from(message) * apart_s;
            let sessions = &sessions[user as usize - 1];
            let ended = sessions.partition_point(|(_, end)| *end <= at);
            sessions.get(ended).is_some_and(|(begin, _)| *begin <= at)
        }
    }

    /// How many messages to one receiver, each `apart` from the one before it and all from one
    /// sender, until everybody else of `users` was absent for one of them; `most` if that was
    /// not enough. An observer who sees who is present then knows the sender: the intersection
    /// attack (Berthold, Pfitzmann and Standtke, "The disadvantages of free MIX routes", 2000).
    pub fn packets_until_known(&self, users: u32, apart: Duration, most: u32, seed: u64) -> u32 {
        let is_present = self.seen(users, apart, most, seed);
        let until_absent = |user| {
            let absent = (0..most).find(|message| !is_present(user, *message));
            absent.map_or(most, |message| message + 1)
        };
        (1..users).map(until_absent).max().unwrap_or(0)
    }
}

/// Expected number of packets until the sender is the only one of `users` who was present at each,
/// if the others are present with probability `share`, independently: Σ (1 − (1 −
/// shareᵏ)^(users−1)) over k ≥ 0. Infinite of a share of one.
pub fn expected_until_known(users: u32, share: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    let others = f64::from(users.saturating_sub(1));
    let mut sum = 0.0;
    let mut present = 1.0;
    loop {
        let term = 1.0 - libm::pow(1.0 - present, others);
        if term < 1e-12 {
            return sum;
        }
        sum += term;
        present *= share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopix::study::estimate::Gathered;

    const ADAPTIVE: Adaptive = Adaptive { pool: 10.0, width: 2, delay_s: 1.0, least: 0.01, most: 4.0 };

    fn foreground(sessions: f64, minutes: u64) -> Foreground {
        let client = Client::of_dissertation(3.0);
        let session = Duration::from_mins(minutes);
        Foreground { sessions, session, foreground: client, background: client }
    }

    #[test]
    fn the_pool_is_kept_between_the_bounds() {
        assert_eq!([0, 1, 2, 3, 100, 128].map(Adaptive::announced), [1, 1, 2, 2, 64, 128]);
        for users in [5, 6, 7, 10, 100, 1000] {
            let pool = ADAPTIVE.pool_at(ADAPTIVE.rate(users), users);
            assert!((10.0..20.0).contains(&pool), "{users}: {pool}");
        }
        // Four users may not send enough; of ten thousand each sends more than it must.
        assert!(ADAPTIVE.pool_at(ADAPTIVE.rate(4), 4) < 10.0);
        assert!((ADAPTIVE.rate(10_000) - 0.01).abs() < 1e-12);
        assert!((ADAPTIVE.pool_despite(64, 0.5) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn sessions_take_their_share() {
        let policy = foreground(12.0, 6);
        let mut chance = Chance::of(3, Purpose::Presence);
        let days = 1000.0 * 86_400.0;
        let present: f64 = policy.presence(days, &mut chance).iter().map(|(begin, end)| end - begin).sum();
        assert!((present / days - policy.share()).abs() < 0.002, "{}", present / days);
        assert!((policy.share() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_sent_between_sessions() {
        let policy = foreground(12.0, 6);
        let day = Duration::from_secs(86_400);
        let mut chance = Chance::of(5, Purpose::Presence);
        let sessions = policy.presence(day.as_secs_f64(), &mut chance);
        let trace: Vec<_> = policy.traffic(day, 5).collect();
        let sent: Vec<_> = trace
            .iter()
            .filter(|packet| {
                packet.bytes > 2000 && packet.direction == crate::loopix::study::energy::Direction::Up
            })
            .collect();
        assert!(!sent.is_empty());
        for packet in sent {
            let at = packet.at.as_secs_f64();
            assert!(sessions.iter().any(|(begin, end)| (begin - 1e-6..end + 1e-6).contains(&at)), "{at}");
        }
    }

    #[test]
    fn a_presence_that_is_seen_gives_the_sender_away_as_soon_as_expected() {
        // Days apart, presence is as good as independent.
        let policy = foreground(24.0, 30);
        let apart = Duration::from_secs(86_400);
        let known: Gathered =
            (0..300).map(|seed| f64::from(policy.packets_until_known(50, apart, 60, seed))).collect();
        let expected = expected_until_known(50, policy.share());
        assert!(known.estimate().agrees(expected, 1.7), "{:?} {expected}", known.estimate());
        assert!(expected_until_known(50, 1.0).is_infinite());
        assert!(expected_until_known(1, 0.5).abs() < 1e-12);
    }
}
