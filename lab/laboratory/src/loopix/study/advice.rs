//! Rates and delays within a budget and a latency.
//!
//! | of | this is taken |
//! |---|---|
//! | packets sent | payload, loops and drops alike: λ_P = λ_L = λ_D = λ_send/3 |
//! | packets that come to a mailbox | originals: the client's own loops, and messages; hardened: drop cover and acknowledgements too, so as many as a client sends |
//! | packets pulled | `MAX_RETRIEVE`, at least [`ROOMS`]`[0]` times as many as come |
//! | data | all datagrams both ways, SUBSCRIBE, PULL and dummies too, with headers of IPv4 and UDP |
//! | latency, mean | waiting for the payload stream ([`payload`]), four delays 4/μ, waiting in the mailbox ([`mailbox`]), six links, lost tries |
//! | delay | all the latency that is left |
//! | ρ of a mix | users · λ_send/(mixes of a layer · μ) |
//!
//! Of all ways to pull, the one is taken that leaves the most for λ_send/μ.

mod mailbox;
mod payload;
#[cfg(test)]
mod simulated;
mod wire;

use super::cost::{DELAYS, MONTH_S, STRONG};
use super::energy::traffic::{Client, Pull};
use mailbox::Pulls;
use motemix_loopix::files::Profile;
use motemix_loopix::wire::hardened::MAX_CONFIRMED;
use payload::{Payload, Way, lost_tries, never_arrive};
use std::sync::LazyLock;
use std::time::Duration;
use wire::Lengths;
pub use wire::on_link;

/// Links between client, provider, three mixes, provider and client.
pub const LINKS: u32 = 6;
/// One of them, seconds: what the dissertation takes (section 4.3.1).
pub const LINK_S: f64 = 0.2;
/// The share of its payload packets that a client uses for messages, if nothing is said.
pub const SHARE: f64 = 0.1;
/// How many packets a pull takes for each that comes between two of them. A mailbox that gets half
/// as much again as others still empties.
pub const ROOMS: [f64; 8] = [1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0];
/// No shorter time between pulls: a provider answers two a second, counted in whole half seconds,
/// and pulls at random come in bursts.
const SHORTEST_PULL_S: f64 = 1.0;
/// No more packets of a pull: a mailbox has room for twice as many, and refuses what comes then.
const MOST_PULLED: u32 = 5_000;
/// No longer mean delay: a node cuts delays after an hour, which leaves the mean of these.
const LONGEST_DELAY_S: f64 = 600.0;

/// What somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Wish {
    /// Bytes a second, both ways.
    pub bytes_per_s: f64,
    /// Mean seconds from the application of the sender to that of the receiver.
    pub latency_s: f64,
    /// Messages that a client sends in a second, and gets, in the mean; [`SHARE`] of its payload
    /// packets if nothing is said.
    pub messages_per_s: Option<f64>,
    /// What the nodes speak.
    pub profile: Profile,
    /// Users who are there and send alike.
    pub users: u32,
    /// Bytes of a packet.
    pub packet_len: u32,
    /// Mixes in a layer.
    pub width: u32,
    /// Mean seconds on one link.
    pub link_s: f64,
    /// The share of packets that are lost between a client and a mailbox.
    pub loss: f64,
    /// The least ρ of a mix: all users' packets in a second times the mean delay.
    pub least_pool: f64,
    /// The least λ_send/μ of a client alone.
    pub least_own: f64,
}

/// Parameters, and what they come to.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Plan {
    /// Packets a second that a client sends, of all three streams: λ_send.
    pub sent: f64,
    /// Packets a second of each stream: λ_P = λ_L = λ_D.
    pub stream: f64,
    /// Packets of a pull: `MAX_RETRIEVE`.
    pub pull_packets: u32,
    /// Seconds between pulls: `TIME_PULL`.
    pub pull_every_s: f64,
    /// Mean delay of a mix, seconds: 1/μ.
    pub delay_s: f64,
    /// ρ of a mix.
    pub pool: f64,
    /// λ_send/μ of a client alone.
    pub own: f64,
    /// Messages a second for which the latency holds.
    pub messages_per_s: f64,
    /// Packets of a message that leave, in the mean: more than one if it is acknowledged.
    pub tries: f64,
    /// The share of messages that arrive.
    pub arrive: f64,
    /// Packets that come to a mailbox in a second.
    pub mail_per_s: f64,
    /// Mean seconds of which the latency consists.
    pub parts: Parts,
    /// Mean seconds from application to application: all of them.
    pub latency_s: f64,
    /// Bytes a month of 30 days.
    pub bytes_per_month: f64,
}

/// Mean seconds of which a latency consists.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Parts {
    /// Waiting for the payload stream.
    pub stream_s: f64,
    /// At the provider and the mixes, 1/μ each.
    pub delays_s: f64,
    /// In the mailbox.
    pub mailbox_s: f64,
    /// On the links.
    pub links_s: f64,
    /// Tries that were lost.
    pub lost_s: f64,
}

/// Why a wish cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// The payload stream that the budget pays does not carry so many messages.
    Messages,
    /// At the rate that the budget pays, a packet is late before any mix delays it.
    Latency,
    /// Mixes would hold too few packets.
    Pool,
    /// A client's own packets are too few for its delays.
    Own,
}

/// What would make a wish possible, each alone; none where nothing of the kind would.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Remedies {
    /// At least so many bytes a second.
    pub bytes_per_s: Option<f64>,
    /// At least so many seconds.
    pub latency_s: Option<f64>,
    /// At least so many users.
    pub users: Option<u32>,
    /// At most so many bytes of a packet.
    pub packet_len: Option<u32>,
    /// At most so many messages a second.
    pub messages_per_s: Option<f64>,
}

/// The shortest packet that is suggested: 512 bytes, of which a few dozen are left for a message.
pub const SHORTEST: u32 = 512;

/// A way to pull: how many packets at most, how many come meanwhile, and how long they wait as a
/// multiple of the time between pulls.
#[derive(Debug, Clone, Copy)]
struct Pulling {
    most: u32,
    room: f64,
    wait: f64,
}

/// All that are considered, for pulls by the clock and at random.
static PULLINGS: LazyLock<[Vec<Pulling>; 2]> = LazyLock::new(|| {
    [Pulls::ByTheClock, Pulls::AtRandom].map(|pulls| {
        let (mut most, mut all) = (1_u32, Vec::new());
        while most <= MOST_PULLED {
            let wait = |room: f64| mailbox::wait(pulls, f64::from(most) / room, most);
            all.extend(ROOMS.map(|room| Pulling { most, room, wait: wait(room) }));
            most += 1.max(most / 16);
        }
        all
    })
});

impl Pulling {
    /// Bytes a second of a client that sends so many packets a second, and gets so many.
    fn bytes(&self, lengths: &Lengths, sent: f64, mail_per_s: f64) -> f64 {
        let answered = mail_per_s * (on_link(lengths.packet) + (self.room - 1.0) * on_link(lengths.dummy));
        let pulls_per_s = mail_per_s * self.room / f64::from(self.most);
        let request = on_link(lengths.subscribe) + on_link(lengths.pull);
        sent * on_link(lengths.packet) + answered + pulls_per_s * request
    }
}

impl Wish {
    /// What is wanted if nothing is said about it: the dissertation's packets, links and layers of
    /// two mixes, a hundred users, and the λ/μ that the authors of Loopix call strong.
    pub fn new(profile: Profile, bytes_per_s: f64, latency_s: f64) -> Self {
        Self {
            bytes_per_s,
            latency_s,
            messages_per_s: None,
            profile,
            users: 100,
            packet_len: Lengths::packet_of(profile),
            width: 2,
            link_s: LINK_S,
            loss: 0.0,
            least_pool: STRONG,
            least_own: 0.0,
        }
    }

    /// Parameters that keep to it.
    ///
    /// # Errors
    /// What stands against it.
    pub fn plan(&self) -> Result<Plan, Obstacle> {
        let lengths = Lengths::of(self.profile, self.packet_len);
        let pulls = usize::from(self.is_hardened());
        let mut best: Result<Plan, Obstacle> = Err(Obstacle::Messages);
        for pulling in &PULLINGS[pulls] {
            match (self.plan_with(&lengths, pulling), best) {
                (Ok(plan), Ok(other)) if plan.own <= other.own => {}
                (Ok(plan), _) => best = Ok(plan),
                (Err(Obstacle::Latency), Err(_)) => best = Err(Obstacle::Latency),
                (Err(_), _) => {}
            }
        }
        let plan = best?;
        if plan.pool < self.least_pool {
            return Err(Obstacle::Pool);
        }
        if plan.own < self.least_own {
            return Err(Obstacle::Own);
        }
        Ok(plan)
    }

    fn is_hardened(&self) -> bool {
        self.profile == Profile::Hardened
    }

    fn plan_with(&self, lengths: &Lengths, pulling: &Pulling) -> Result<Plan, Obstacle> {
        let Pulling { most, room, wait } = *pulling;
        if self.is_hardened() && most as usize > MAX_CONFIRMED {
            return Err(Obstacle::Messages);
        }
        let mail = self.mail();
        // What the budget pays, or may be pulled as often as a provider allows.
        let paid =
            (self.bytes_per_s - pulling.bytes(lengths, 0.0, mail[1])) / pulling.bytes(lengths, 1.0, mail[0]);
        let sent = paid.min((f64::from(most) / room / SHORTEST_PULL_S - mail[1]) / mail[0]);
        if sent.is_nan() || sent <= 0.0 {
            return Err(Obstacle::Messages);
        }
        let stream = sent / 3.0;
        let messages = self.messages_per_s.unwrap_or(SHARE * stream);
        let mail_per_s = mail[0] * sent + mail[1];
        let pull_every_s = f64::from(most) / room / mail_per_s;
        let patience = |delay_s: f64| patience(delay_s, pull_every_s, stream);
        let mut way = Way {
            delay_s: 0.0,
            delays: DELAYS,
            mailbox_s: wait * pull_every_s,
            links_s: f64::from(LINKS) * self.link_s,
            loss: self.loss,
        };
        let mut payload = Payload::plain(stream, messages).ok_or(Obstacle::Messages)?;
        way.delay_s = self.delay(&payload, &way, patience);
        if self.is_hardened() {
            // R depends on the delays, and they depend on R by the tries that are made too early.
            for _ in 0..4 {
                payload = Payload::acknowledged(stream, messages, &way, patience(way.delay_s.max(0.0)))
                    .ok_or(Obstacle::Messages)?;
                way.delay_s = self.delay(&payload, &way, patience);
            }
        }
        let delay_s = way.delay_s.min(LONGEST_DELAY_S);
        if delay_s.is_nan() || delay_s <= 0.0 {
            return Err(Obstacle::Latency);
        }
        let [pauses, waits] = self.lost_tries();
        let parts = Parts {
            stream_s: payload.wait_s,
            delays_s: f64::from(DELAYS) * delay_s,
            mailbox_s: way.mailbox_s,
            links_s: way.links_s,
            lost_s: pauses * patience(delay_s) + waits * payload.wait_s,
        };
        let own = sent * delay_s;
        Ok(Plan {
            sent,
            stream,
            pull_packets: most,
            pull_every_s,
            delay_s,
            pool: f64::from(self.users) * own / f64::from(self.width),
            own,
            messages_per_s: messages,
            tries: payload.tries,
            arrive: 1.0 - if self.is_hardened() { never_arrive(self.loss) } else { self.loss },
            mail_per_s,
            parts,
            latency_s: parts.stream_s + parts.delays_s + parts.mailbox_s + parts.links_s + parts.lost_s,
            bytes_per_month: pulling.bytes(lengths, sent, mail_per_s) * MONTH_S,
        })
    }

    /// Packets that come to a mailbox in a second, for each that a client sends and besides.
    ///
    /// In the originals drop cover ends at the last provider. In the hardened profile everything
    /// that a client sends to others comes to some mailbox, and its loops to its own.
    fn mail(&self) -> [f64; 2] {
        let arrives = 1.0 - self.loss;
        match self.messages_per_s {
            _ if self.is_hardened() => [arrives, 0.0],
            None => [arrives * (1.0 + SHARE) / 3.0, 0.0],
            Some(messages) => [arrives / 3.0, arrives * messages],
        }
    }

    /// The mean delay for which all the latency is used up. R has 30 of them.
    fn delay(&self, payload: &Payload, way: &Way, patience: impl Fn(f64) -> f64) -> f64 {
        let [pauses, waits] = self.lost_tries();
        let [none, one] = [0.0, 1.0].map(patience);
        let fixed = (1.0 + waits) * payload.wait_s + way.mailbox_s + way.links_s + pauses * none;
        (self.latency_s - fixed) / (f64::from(DELAYS) + pauses * (one - none))
    }

    fn lost_tries(&self) -> [f64; 2] {
        // The originals send a message once.
        if self.is_hardened() { lost_tries(self.loss) } else { [0.0; 2] }
    }

    /// What would make it possible.
    pub fn remedies(&self) -> Remedies {
        let possible = |wish: Wish| wish.plan().is_ok();
        let bytes = |bytes_per_s| possible(Wish { bytes_per_s, ..*self });
        let latency = |latency_s| possible(Wish { latency_s, ..*self });
        let users = |users| possible(Wish { users, ..*self });
        let packet = |shorter_by| possible(Wish { packet_len: self.packet_len - shorter_by, ..*self });
        let fewer = |by: f64| {
            possible(Wish { messages_per_s: self.messages_per_s.map(|messages| messages / by), ..*self })
        };
        // The hardened format has one length.
        let shorter = if self.is_hardened() { None } else { self.packet_len.checked_sub(SHORTEST) };
        Remedies {
            bytes_per_s: least(self.bytes_per_s, 1e12, bytes),
            latency_s: least(self.latency_s, 365.0 * 86_400.0, latency),
            users: least_whole(self.users, u32::MAX / 2, users),
            packet_len: shorter
                .and_then(|most| least_whole(0, most, packet))
                .map(|shorter_by| self.packet_len - shorter_by),
            messages_per_s: self
                .messages_per_s
                .and_then(|messages| least(1.0, 1e6, fewer).map(|by| messages / by)),
        }
    }
}

/// How long a hardened client waits for an acknowledgement at first:
/// [`Rates::patience`](motemix_loopix::role::Rates::patience) of three layers.
fn patience(delay_s: f64, pull_every_s: f64, stream: f64) -> f64 {
    3.0 * (10.0 * delay_s + 2.0 * pull_every_s + 1.0 / stream) + 1.0
}

impl Plan {
    /// A client that keeps to it.
    pub fn client(&self, wish: &Wish) -> Client {
        let lengths = Lengths::of(wish.profile, wish.packet_len);
        let pull = Pull {
            every: Duration::try_from_secs_f64(self.pull_every_s).unwrap_or(Duration::MAX),
            packets: self.pull_packets,
            subscribe_len: lengths.subscribe,
            pull_len: lengths.pull,
            ..Client::of_dissertation(0.0).pull
        };
        Client { rates: [self.stream; 3], packet_len: wish.packet_len, pull }
    }
}

/// The least number from `low` to `high` with which something holds that holds of all greater ones,
/// to a thousandth.
fn least(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(high) {
        return None;
    }
    let (mut low, mut high) = (low.max(1e-9), high);
    while high / low > 1.001 {
        let middle = libm::sqrt(low * high);
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The same of whole numbers, exactly.
fn least_whole(low: u32, high: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if !holds(high) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

#[cfg(test)]
mod tests;
