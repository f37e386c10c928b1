//! What a station has seen.

use serde::{Serialize, Serializer};
use std::ops::AddAssign;
use std::time::Duration;

/// A station's frames, from its own side.
///
/// `frames = sent + channel_busy + no_acknowledgement`, and those under way or cut off by leaving.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Counters {
    /// Accepted for sending.
    pub frames: u64,
    /// That went out, and were acknowledged if they asked for it.
    pub sent: u64,
    /// That were acknowledged.
    pub acknowledged: u64,
    /// Times on the air, retries included.
    pub transmissions: u64,
    /// Times on the air after the first one.
    pub retries: u64,
    /// Clear-channel assessments, 128 µs each.
    pub assessments: u64,
    /// Given up because the channel was busy at every assessment.
    pub channel_busy: u64,
    /// Given up because no acknowledgement came.
    pub no_acknowledgement: u64,
    /// Refused because they are no frames that a radio sends.
    pub malformed: u64,
    /// Refused because another one was under way.
    pub under_way: u64,
    /// Transmissions and acknowledgements that something else on the air overlapped.
    pub collisions: u64,
    /// Acknowledgements made.
    pub acknowledgements: u64,
    /// Frames that arrived for this station.
    pub received: u64,
    /// Time on the air, acknowledgements included; in JSON `airtime_us`, microseconds.
    #[serde(rename = "airtime_us", serialize_with = "micros")]
    pub airtime: Duration,
    /// Frames for this station that did not arrive.
    pub drops: Drops,
}

/// Frames for a station, and acknowledgements it waited for, that did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Drops {
    /// Something else was on the air at the same time.
    pub collided: u64,
    /// The station was sending, turning round, or not listening.
    pub deaf: u64,
    /// The link lost it.
    pub lost: u64,
}

fn micros<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.sent += other.sent;
        self.acknowledged += other.acknowledged;
        self.transmissions += other.transmissions;
        self.retries += other.retries;
        self.assessments += other.assessments;
        self.channel_busy += other.channel_busy;
        self.no_acknowledgement += other.no_acknowledgement;
        self.malformed += other.malformed;
        self.under_way += other.under_way;
        self.collisions += other.collisions;
        self.acknowledgements += other.acknowledgements;
        self.received += other.received;
        self.airtime += other.airtime;
        self.drops.collided += other.drops.collided;
        self.drops.deaf += other.drops.deaf;
        self.drops.lost += other.drops.lost;
    }
}
