//! Bounds and times.

use std::time::Duration;

/// Bounds and times of an endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The longest body, in bytes, of requests that arrive and of responses to own requests.
    pub body: usize,
    /// Bodies that are gathered at a time, and as many that are sent in blocks. Half of the places,
    /// and of the bytes, is for addresses that are proven. A source has an eighth.
    pub bodies: usize,
    /// Bytes of all bodies that are gathered, and of all that are sent.
    pub body_bytes: usize,
    /// Requests whose duplicates are recognised. Beyond these the oldest is forgotten; a duplicate
    /// of it is a request of its own, as RFC 7252 §4.5 allows for those that may be repeated.
    pub exchanges: usize,
    /// Requests that wait for the application.
    pub requests: usize,
    /// Requests and responses that are repeated until they are acknowledged. Of notifications, one
    /// is for each observer.
    pub repetitions: usize,
    /// Observations by others.
    pub relations: usize,
    /// Own requests and observations.
    pub calls: usize,
    /// How long the application may take until a request is acknowledged without a response.
    pub separate_after: Duration,
    /// The time until the first repetition, ACK_TIMEOUT: 1 to 1.5 of it (RFC 7252 §4.8).
    pub ack_timeout: Duration,
    /// How often a message is repeated, MAX_RETRANSMIT.
    pub max_retransmit: u32,
    /// Whether a stranger's address is to be proven by Echo before any request is looked at
    /// (RFC 9175). libcoap's client does that by itself; aiocoap hands 4.01 to its user, and fails.
    /// So it is off: a stranger gets smaller blocks instead, one notification, and half of the
    /// places for bodies in blocks; Echo is asked for only when that half is taken.
    pub challenge: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body: 64 << 10,
            bodies: 256,
            body_bytes: 8 << 20,
            exchanges: 1 << 16,
            requests: 4096,
            repetitions: 4096,
            relations: 1 << 16,
            calls: 1024,
            separate_after: Duration::from_secs(1),
            ack_timeout: Duration::from_secs(2),
            max_retransmit: 4,
            challenge: false,
        }
    }
}
