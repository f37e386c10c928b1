//! Data and money of a client, and the delay that its rate allows.
//!
//! The model is that of Cheah, "Loopix: a Java implementation", 2018, sections 4.3.1 and 4.3.3: a
//! client sends λ_send packets a second and pulls as many; all have one length; a mix is strong if
//! λ_send/μ ≥ 2 for the packets of one client alone; four delays are on the way. Headers of IP and
//! UDP are not counted, and a month has 30 days.

/// A packet of the Python nodes of 2017, bytes.
pub const PACKET_LEN: u32 = 2079;
/// Delays on the way of a packet: at the provider and at three mixes.
pub const DELAYS: u32 = 4;
/// The least λ/μ that the authors of Loopix call strong (Piotrowska and others, USENIX Security
/// 2017).
pub const STRONG: f64 = 2.0;
/// What a million bytes cost the author of the dissertation, in pounds. His prices are of these,
/// his data of [`MIB`].
pub const POUNDS_PER_MB: f64 = 0.01;
/// Seconds of a month of 30 days.
pub const MONTH_S: f64 = 30.0 * 86_400.0;
/// 2²⁰ bytes.
pub const MIB: f64 = 1_048_576.0;

/// Table 4.1 of the dissertation as it is printed: the author cuts decimals off.
pub const TABLE: [Cost; 10] = [
    printed(0.05, 320.0, 256.95, 2.69),
    printed(0.1, 160.0, 513.91, 5.38),
    printed(0.2, 80.0, 1_027.82, 10.77),
    printed(0.5, 32.0, 2_569.56, 26.94),
    printed(1.0, 16.0, 5_139.12, 53.88),
    printed(2.0, 8.0, 10_278.25, 107.77),
    printed(3.0, 5.33, 15_417.38, 161.66),
    printed(4.0, 4.0, 20_556.51, 215.55),
    printed(8.0, 2.0, 41_113.03, 431.10),
    printed(16.0, 1.0, 82_226.07, 862.20),
];

const fn printed(rate: f64, delay_s: f64, mib_per_month: f64, price_per_month: f64) -> Cost {
    Cost { rate, delay_s, mib_per_month, price_per_month }
}

/// A client's traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Client {
    /// Packets a second, sent and pulled together: λ_total.
    pub rate: f64,
    /// Bytes of a packet.
    pub packet_len: u32,
    /// Money for a million bytes.
    pub price: f64,
}

/// What a client costs, and what delay it needs.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Cost {
    /// Packets a second, sent and pulled together.
    pub rate: f64,
    /// Seconds that the delays of a packet take together, on average, if λ_send/μ is just
    /// [`STRONG`].
    pub delay_s: f64,
    /// Units of 2²⁰ bytes in a month.
    pub mib_per_month: f64,
    /// Money in a month.
    pub price_per_month: f64,
}

impl Client {
    /// The dissertation's client at this rate.
    pub fn of_dissertation(rate: f64) -> Self {
        Self { rate, packet_len: PACKET_LEN, price: POUNDS_PER_MB }
    }

    /// The client at whose rate a month takes so many bytes.
    pub fn within(bytes_per_month: f64, packet_len: u32) -> Self {
        let rate = bytes_per_month / f64::from(packet_len) / MONTH_S;
        Self { rate, packet_len, price: POUNDS_PER_MB }
    }

    /// Packets a second that are sent: half of all.
    pub fn sent(&self) -> f64 {
        self.rate / 2.0
    }

    /// Bytes a second.
    pub fn bytes_per_s(&self) -> f64 {
        self.rate * f64::from(self.packet_len)
    }

    /// What it costs.
    pub fn cost(&self) -> Cost {
        let bytes_per_month = self.bytes_per_s() * MONTH_S;
        Cost {
            rate: self.rate,
            delay_s: f64::from(DELAYS) * STRONG / self.sent(),
            mib_per_month: bytes_per_month / MIB,
            price_per_month: bytes_per_month / 1e6 * self.price,
        }
    }
}

/// A number with so many decimals, the others cut off: so the dissertation rounds.
pub fn truncated(value: f64, decimals: u32) -> f64 {
    let scale = f64::from(10_u32.pow(decimals));
    // What lies a hair below a round number is that number, and was computed.
    libm::floor(value * scale + 1e-6) / scale
}
