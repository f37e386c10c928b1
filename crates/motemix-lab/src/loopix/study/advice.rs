//! Rates and delays within a budget and a latency.
//!
//! | of | this is taken |
//! |---|---|
//! | packets sent | payload, loops and drops alike: λ_P = λ_L = λ_D = λ_send/3 |
//! | packets pulled | as many as are sent, `k` at a time every k/λ_send seconds; k ≥ 1 is chosen so that a pull comes about every tenth of the latency |
//! | data | packets both ways, SUBSCRIBE and PULL, each with 28 bytes of IP and UDP |
//! | latency, mean | waiting for the payload stream 1/λ_P, four delays 4/μ, half the interval of pulls, and 0.8 s of network |
//! | delay | all the latency that is left |
//! | ρ of a mix | users · λ_send/(mixes of a layer · μ) |

use super::cost::{DELAYS, MONTH_S, STRONG};
use super::energy::traffic::{Client, HEADERS_LEN, Pull};
use std::time::Duration;

/// On the way between five nodes and two clients, seconds: 200 ms for each of four hops (the
/// dissertation, section 4.3.1).
pub const NETWORK_S: f64 = 0.8;
/// Bytes of SUBSCRIBE and PULL with headers.
const REQUEST: f64 = (72 + 16 + 2 * HEADERS_LEN) as f64;
/// The share of a pull's interval in the latency.
const PULLS: f64 = 0.1;

/// What somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Wish {
    /// Bytes a second, both ways.
    pub bytes_per_s: f64,
    /// Mean seconds from the application of the sender to that of the receiver.
    pub latency_s: f64,
    /// Users who are there and send alike.
    pub users: u32,
    /// Bytes of a packet.
    pub packet_len: u32,
    /// Mixes in a layer.
    pub width: u32,
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
    /// Mean seconds of which the latency consists: stream, delays, pull, network.
    pub latency_parts_s: [f64; 4],
    /// Bytes a month of 30 days.
    pub bytes_per_month: f64,
}

/// Why a wish cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
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
}

/// The shortest packet that is suggested: 512 bytes, of which a few dozen are left for a message.
pub const SHORTEST: u32 = 512;

impl Wish {
    /// What is wanted if nothing is said about it: the dissertation's packets and layers of two
    /// mixes, a hundred users, and the λ/μ that the authors of Loopix call strong.
    pub fn new(bytes_per_s: f64, latency_s: f64) -> Self {
        Self {
            bytes_per_s,
            latency_s,
            users: 100,
            packet_len: super::cost::PACKET_LEN,
            width: 2,
            least_pool: STRONG,
            least_own: 0.0,
        }
    }

    /// Parameters that keep to it.
    ///
    /// # Errors
    /// What stands against it.
    pub fn plan(&self) -> Result<Plan, Obstacle> {
        let packet = f64::from(self.packet_len + HEADERS_LEN);
        let rate = |packets: u32| self.bytes_per_s / (2.0 * packet + REQUEST / f64::from(packets));
        // A tenth of the latency times the rate at which packets are pulled; at least one.
        #[allow(clippy::cast_sign_loss, reason = "at least one")]
        let packets = libm::floor(rate(1) * self.latency_s * PULLS).clamp(1.0, 1e6) as u32;
        let sent = rate(packets);
        let pull_every_s = f64::from(packets) / sent;
        let (stream_s, pull_s) = (3.0 / sent, pull_every_s / 2.0);
        let left_s = self.latency_s - NETWORK_S - stream_s - pull_s;
        if left_s.is_nan() || left_s <= 0.0 {
            return Err(Obstacle::Latency);
        }
        let delay_s = left_s / f64::from(DELAYS);
        let own = sent * delay_s;
        let pool = f64::from(self.users) * own / f64::from(self.width);
        if pool < self.least_pool {
            return Err(Obstacle::Pool);
        }
        if own < self.least_own {
            return Err(Obstacle::Own);
        }
        Ok(Plan {
            sent,
            stream: sent / 3.0,
            pull_packets: packets,
            pull_every_s,
            delay_s,
            pool,
            own,
            latency_parts_s: [stream_s, left_s, pull_s, NETWORK_S],
            bytes_per_month: (2.0 * sent * packet + REQUEST / pull_every_s) * MONTH_S,
        })
    }

    /// What would make it possible.
    pub fn remedies(&self) -> Remedies {
        let possible = |wish: Wish| wish.plan().is_ok();
        let bytes = |bytes_per_s| possible(Wish { bytes_per_s, ..*self });
        let latency = |latency_s| possible(Wish { latency_s, ..*self });
        let users = |users| possible(Wish { users, ..*self });
        let packet = |shorter_by| possible(Wish { packet_len: self.packet_len - shorter_by, ..*self });
        Remedies {
            bytes_per_s: least(self.bytes_per_s, 1e12, bytes),
            latency_s: least(self.latency_s, 365.0 * 86_400.0, latency),
            users: least_whole(self.users, u32::MAX / 2, users),
            packet_len: self
                .packet_len
                .checked_sub(SHORTEST)
                .and_then(|most| least_whole(0, most, packet))
                .map(|shorter_by| self.packet_len - shorter_by),
        }
    }
}

impl Plan {
    /// A client that keeps to it.
    pub fn client(&self, packet_len: u32) -> Client {
        let pull = Pull {
            every: Duration::try_from_secs_f64(self.pull_every_s).unwrap_or(Duration::MAX),
            packets: self.pull_packets,
            ..Client::of_dissertation(0.0).pull
        };
        Client { rates: [self.stream; 3], packet_len, pull }
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
mod tests {
    use super::*;

    const GIB: f64 = 1_073_741_824.0;

    #[test]
    fn a_plan_keeps_to_budget_and_latency() {
        for (budget, latency_s) in [(GIB, 60.0), (10.0 * GIB, 10.0), (80.0 * GIB, 3.0)] {
            let plan = Wish::new(budget / MONTH_S, latency_s).plan().unwrap();
            assert!((plan.bytes_per_month / budget - 1.0).abs() < 1e-9);
            assert!((plan.latency_parts_s.iter().sum::<f64>() - latency_s).abs() < 1e-9);
            assert!(plan.pool >= STRONG);
        }
    }

    #[test]
    fn each_remedy_is_enough_and_hardly_more() {
        let wish = Wish::new(3.0 * GIB / MONTH_S, 10.0);
        assert_eq!(wish.plan(), Err(Obstacle::Latency));
        let Remedies { bytes_per_s, latency_s, users, packet_len } = wish.remedies();
        let (bytes_per_s, latency_s) = (bytes_per_s.unwrap(), latency_s.unwrap());
        assert_eq!(users, None, "users make no packet faster");
        assert!(Wish { bytes_per_s, ..wish }.plan().is_ok());
        assert!(Wish { bytes_per_s: bytes_per_s * 0.99, ..wish }.plan().is_err());
        assert!(Wish { latency_s, ..wish }.plan().is_ok());
        assert!(Wish { latency_s: latency_s * 0.99, ..wish }.plan().is_err());
        let packet_len = packet_len.unwrap();
        assert!(Wish { packet_len, ..wish }.plan().is_ok());
        assert!(Wish { packet_len: packet_len + 1, ..wish }.plan().is_err());
    }

    #[test]
    fn more_users_help_where_the_pool_is_too_small() {
        let wish = Wish { users: 2, least_pool: 10.0, ..Wish::new(10.0 * GIB / MONTH_S, 10.0) };
        assert_eq!(wish.plan(), Err(Obstacle::Pool));
        let users = wish.remedies().users.unwrap();
        assert!(Wish { users, ..wish }.plan().is_ok() && Wish { users: users - 1, ..wish }.plan().is_err());
    }

    #[test]
    fn whom_users_do_not_help_his_own_packets_must() {
        let wish = Wish { least_own: STRONG, ..Wish::new(10.0 * GIB / MONTH_S, 6.0) };
        assert_eq!(wish.plan(), Err(Obstacle::Own));
        assert_eq!(wish.remedies().users, None);
        assert!(wish.remedies().latency_s.is_some());
    }
}
