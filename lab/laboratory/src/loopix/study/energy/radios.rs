//! Three generations of radios, as state machines.
//!
//! | machine | values from |
//! |---|---|
//! | [`UMTS`] | EnergyBox: its published settings `3g_teliasonera` (2014) and `nexus_one_3g` (2015), which the dissertation used; Vergara, Nadjm-Tehrani and Prihodko, "EnergyBox: Disclosing the wireless transmission energy cost for mobile devices", Sustainable Computing 4(2), 2014 |
//! | [`LTE`] | Huang and others, "A close examination of performance and power characteristics of 4G LTE networks", MobiSys 2012, tables 3 and 4 |
//! | [`NR`] | 3GPP TR 38.840 (2019), section 8.1: power states in relative units, and the profile of instant messaging; see [`UNIT`] |

use std::time::Duration;

/// Power in whole microwatts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Power(u64);

impl Power {
    /// None.
    pub const ZERO: Self = Self(0);

    /// In microwatts.
    pub const fn from_microwatts(power: u64) -> Self {
        Self(power)
    }

    /// In microwatts.
    pub const fn microwatts(self) -> u64 {
        self.0
    }
}

/// A radio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Radio {
    /// What people call it.
    pub name: &'static str,
    /// Its states, the lowest first: there it begins, and there it rests.
    pub states: &'static [State],
    /// What packets cost beyond the power of the state.
    pub transfer: Transfer,
}

/// A state of a radio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// As the standards call it.
    pub name: &'static str,
    /// While it lasts.
    pub power: Power,
    /// What silence leads to.
    pub fall: Option<Fall>,
    /// What a packet leads to.
    pub rise: Rise,
}

/// A state ends by silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fall {
    /// The silence after which it ends.
    pub after: Duration,
    /// The number of the next state.
    pub to: usize,
}

/// A state ends by a packet. Limits and times are for up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rise {
    /// It does not.
    Stays,
    /// Any packet leads to this state, in this time and with this power.
    Always {
        /// The number of the state.
        to: usize,
        /// Until the state is reached; packets wait.
        takes: Duration,
        /// Meanwhile.
        power: Power,
    },
    /// A packet leads to one of two states, by its length.
    BySize {
        /// Bytes.
        limit: [u32; 2],
        /// For longer packets.
        above: usize,
        /// For all others.
        below: usize,
    },
    /// More than so many bytes that wait lead to this state.
    WhenWaiting {
        /// Bytes.
        limit: [u32; 2],
        /// How fast what waits is sent.
        empties: [Empties; 2],
        /// The number of the state.
        to: usize,
    },
}

/// How long it takes until nothing waits: a time, and a time for each byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Empties {
    /// In any case, µs.
    pub micros: u64,
    /// For each byte that waits, µs.
    pub micros_per_byte: u64,
}

impl Empties {
    /// Microseconds until so many bytes are gone.
    pub fn micros(self, bytes: u32) -> u64 {
        self.micros + self.micros_per_byte * u64::from(bytes)
    }
}

/// Energy of packets beyond the power of the state, up and down, in picojoules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// For each byte.
    pub per_byte: [u64; 2],
    /// For each packet.
    pub per_packet: [u64; 2],
}

/// A Nexus One at TeliaSonera's 3G, as EnergyBox has it: a packet of more than 1,000 bytes up or
/// 515 down takes the radio from IDLE to DCH, a shorter one to FACH; there 294 bytes up or 515 down
/// that wait lead to DCH. Like EnergyBox, this counts a rise as if it took no time; its settings
/// say 0.43 to 1.7 s, which the program hardly uses.
pub const UMTS: Radio = Radio {
    name: "3G",
    states: &[
        State {
            name: "IDLE",
            power: Power::ZERO,
            fall: None,
            rise: Rise::BySize { limit: [1000, 515], above: 2, below: 1 },
        },
        State {
            name: "FACH",
            power: Power::from_microwatts(450_000),
            fall: Some(Fall { after: Duration::from_millis(5600), to: 0 }),
            rise: Rise::WhenWaiting {
                limit: [294, 515],
                empties: [
                    Empties { micros: 10_000, micros_per_byte: 1_200 },
                    Empties { micros: 30_000, micros_per_byte: 0 },
                ],
                to: 2,
            },
        },
        State {
            name: "DCH",
            power: Power::from_microwatts(600_000),
            fall: Some(Fall { after: Duration::from_millis(4100), to: 1 }),
            rise: Rise::Stays,
        },
    ],
    transfer: Transfer { per_byte: [0; 2], per_packet: [0; 2] },
};

/// An HTC Thunderbolt at Verizon's LTE of 2011. Connected, it receives all the time for 100 ms
/// after a packet, then wakes every 20 ms, and 20 ms later every 40 ms, up to 11.576 s after the
/// packet; each time 1 ms of 1,680 mW within 1,060 mW. At rest it wakes for 43.2 ms of 594.3 mW
/// every 1,280.2 ms. A megabit a second costs 438.39 mW up and 51.97 mW down more than the 1,288.04
/// mW of none: nanojoules for each bit.
pub const LTE: Radio = Radio {
    name: "LTE",
    states: &[
        State {
            name: "IDLE",
            power: Power::from_microwatts(20_054),
            fall: None,
            rise: Rise::Always {
                to: 1,
                takes: Duration::from_micros(260_100),
                power: Power::from_microwatts(1_210_700),
            },
        },
        State {
            name: "CONNECTED",
            power: Power::from_microwatts(1_288_040),
            fall: Some(Fall { after: Duration::from_millis(100), to: 2 }),
            rise: Rise::Stays,
        },
        State {
            name: "short DRX",
            power: Power::from_microwatts(1_060_000 + 620_200 / 20),
            fall: Some(Fall { after: Duration::from_millis(20), to: 3 }),
            rise: RECONNECTED,
        },
        State {
            name: "long DRX",
            power: Power::from_microwatts(1_060_000 + 620_100 / 40),
            fall: Some(Fall { after: Duration::from_millis(11_576 - 120), to: 0 }),
            rise: RECONNECTED,
        },
    ],
    transfer: Transfer { per_byte: [438_390 * 8, 51_970 * 8], per_packet: [0; 2] },
};

const RECONNECTED: Rise = Rise::Always { to: 1, takes: Duration::ZERO, power: Power::ZERO };

/// The unit of power of TR 38.840, in microwatts: deep sleep takes one, watching the control
/// channel a hundred. The report does not say what it is. Here a hundred are what [`LTE`] draws
/// while it receives nothing, so that the two differ by what the standards let a radio do and not
/// by nine years of silicon; a modem of today draws less.
pub const UNIT: u64 = 12_880;

/// Microwatts of something that takes `units` times milliseconds in a cycle of `cycle_ms`.
const fn average(units_ms: u64, cycle_ms: u64) -> Power {
    Power(units_ms * UNIT / cycle_ms)
}

/// Picojoules of half a millisecond (a slot of 30 kHz) at `units` more than the control channel
/// alone.
const fn slot(units: u64) -> u64 {
    (units - 100) * UNIT * 500
}

/// A telephone at 5G NR below 6 GHz. Connected, it watches the control channel for 80 ms after a
/// packet, then for 10 ms of every 320 (to sleep deeply and wake again takes 450
/// unit-milliseconds); after 10 s the network makes it INACTIVE, after half an hour IDLE. There it
/// wakes every 1.28 s for 2 ms of synchronisation and 2 ms of paging. A packet takes one
/// slot: 700 units up (at 23 dBm), 300 down. From INACTIVE it needs 20 ms (the aim of TR 38.913),
/// from IDLE 60 ms.
///
/// The 10 s and the half hour (timer T380 of TS 38.331) are settings of operators: assumptions.
pub const NR: Radio = Radio {
    name: "5G",
    states: &[
        State { name: "IDLE", power: PAGED, fall: None, rise: connected(60) },
        State {
            name: "INACTIVE",
            power: PAGED,
            fall: Some(Fall { after: Duration::from_mins(30), to: 0 }),
            rise: connected(20),
        },
        State {
            name: "CONNECTED",
            power: average(100, 1),
            fall: Some(Fall { after: Duration::from_millis(80), to: 3 }),
            rise: Rise::Stays,
        },
        State {
            name: "DRX",
            power: average(10 * 100 + 450 + (320 - 10 - 20), 320),
            fall: Some(Fall { after: Duration::from_millis(10_000 - 80), to: 1 }),
            rise: Rise::Always { to: 2, takes: Duration::ZERO, power: Power::ZERO },
        },
    ],
    transfer: Transfer { per_byte: [0; 2], per_packet: [slot(700), slot(300)] },
};

const PAGED: Power = average(2 * 100 + 2 * 170 + 450 + (1280 - 4 - 20), 1280);

const fn connected(ms: u64) -> Rise {
    Rise::Always { to: 2, takes: Duration::from_millis(ms), power: average(100, 1) }
}

/// All of them.
pub const ALL: [&Radio; 3] = [&UMTS, &LTE, &NR];
