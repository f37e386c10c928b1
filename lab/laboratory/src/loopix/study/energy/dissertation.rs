//! What the dissertation has on energy, and how it came to that.
//!
//! It recorded the datagrams of a client for 180 s, which began 30 s after the network did, gave
//! them to EnergyBox, and multiplied what that said by 480 to get a day. EnergyBox goes on after
//! the last packet until the radio rests: the tail, 4.1 s of DCH and 5.6 s of FACH, is in the 180
//! s' energy but not in its time. So the plateau of figure 4.8 is not the power of DCH, 51,840 J a
//! day, but 4.6 % more.

use super::radios::UMTS;
use super::traffic::Client;
use super::{Packet, cost, cost_to_rest};
use crate::loopix::study::estimate::{Estimate, Gathered};
use std::time::Duration;

/// How long a recording took.
pub const RECORDED: Duration = Duration::from_secs(180);
/// How long the network ran before.
pub const BEFORE: Duration = Duration::from_secs(30);
/// Joules of a day at send rate zero.
pub const AT_ZERO: f64 = 43_356.82;
/// Joules of a day with many packets: the plateau, as the text has it.
pub const PLATEAU: f64 = 54_000.0;
/// Joules of a recording of three hours at 1.5 packets a second, and of the day it was taken for.
pub const THREE_HOURS: (f64, f64) = (6_695.0, 53_562.0);
/// The battery of a Nexus One, joules: 5.18 Wh.
pub const BATTERY: f64 = 5.18 * 3600.0;
/// Between two packets of an answer so that the figure at send rate zero comes out: the one number
/// that is fitted. 50 packets take 61 ms; the provider makes each with six scalar multiplications
/// when it is asked.
pub const FITTED_GAP: Duration = Duration::from_micros(1_220);
/// How long "three hours" must have been so that the radio of [`UMTS`], which never leaves DCH,
/// takes 6,695 J.
pub const FITTED_THREE_HOURS: Duration = Duration::from_secs(11_150);

/// The client that was recorded, with the fitted pace of the answers.
pub fn recorded(rate: f64) -> Client {
    let mut client = Client::of_dissertation(rate);
    client.pull.answer_gap = FITTED_GAP;
    client
}

/// Joules of a day as the dissertation computes them: `recordings` of 180 s, each until the radio
/// rests, times 480.
pub fn reckoned(client: Client, recordings: u32, seed: u64) -> Estimate {
    let of_each = (0..u64::from(recordings)).map(|more| {
        let trace = client.seeded(BEFORE + RECORDED, seed + more).filter(|packet| packet.at >= BEFORE);
        let shifted = trace.map(|packet| Packet { at: packet.at.saturating_sub(BEFORE), ..packet });
        cost_to_rest(&UMTS, shifted).energy.joules() * 86_400.0 / RECORDED.as_secs_f64()
    });
    of_each.collect::<Gathered>().estimate()
}

/// Joules of a day that was simulated whole.
pub fn whole_day(client: Client, seed: u64) -> f64 {
    let day = Duration::from_secs(86_400);
    cost(&UMTS, client.seeded(day, seed), day).energy.joules()
}

/// Joules of one long recording until the radio rests.
pub fn long_recording(client: Client, length: Duration, seed: u64) -> f64 {
    cost_to_rest(&UMTS, client.seeded(length, seed)).energy.joules()
}
