//! How long a message waits for the payload stream, and how often it is sent.
//!
//! The stream has a turn after exponential times of mean 1/λ_P, whether anything waits or not, and
//! each turn takes one thing along. So it serves a queue with exponential times, of which none is
//! lost when the queue was empty: M/M/1, in which everything stays 1/(λ_P − λ), its own turn
//! included. λ counts messages; in the hardened profile their further tries and acknowledgements as
//! well, which take turns with messages and thereby wait alike.
//!
//! A hardened sender tries again after R, 2R, 4R, 8R and then every 16R until an acknowledgement
//! comes (`docs/spec/loopix-hardened.md`, "Messages"). That of a try comes back with probability
//! (1 − ℓ)² if ℓ is the share of packets that are lost on the way; and some come later than R,
//! which makes one try too many.

/// Tries for a message: `Limits::tries`.
const TRIES: i32 = 12;
/// The longest pause is this many R.
const LONGEST_PAUSE: f64 = 16.0;

/// What happens on the way from a sender to a receiver, and back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Way {
    /// Mean delay of a hop, seconds, and how many delay.
    pub delay_s: f64,
    pub delays: u32,
    /// Mean wait in a mailbox, seconds.
    pub mailbox_s: f64,
    /// On the links, seconds.
    pub links_s: f64,
    /// The share of packets that are lost.
    pub loss: f64,
}

/// The payload stream of a client in a network where all send and get alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Payload {
    /// Packets of a message that leave, in the mean.
    pub tries: f64,
    /// Mean wait, seconds.
    pub wait_s: f64,
}

impl Payload {
    /// A stream of this rate that carries so many messages a second, in the originals.
    pub fn plain(rate: f64, messages: f64) -> Option<Self> {
        (messages < rate).then(|| Self { tries: 1.0, wait_s: 1.0 / (rate - messages) })
    }

    /// The same in the hardened profile, where the client waits for R seconds. `None` if more is to
    /// be said than the stream carries.
    pub fn acknowledged(rate: f64, messages: f64, way: &Way, patience_s: f64) -> Option<Self> {
        let lost = 1.0 - (1.0 - way.loss) * (1.0 - way.loss);
        let after = |late: f64| {
            // The first pause is the one that acknowledgements may outlast.
            let tries = (1.0 - libm::pow(lost, f64::from(TRIES))) / (1.0 - lost) + (1.0 - lost) * late;
            // Each packet of a message that arrives is acknowledged.
            let load = messages * tries * (2.0 - way.loss);
            (load < rate).then(|| Self { tries, wait_s: 1.0 / (rate - load) })
        };
        let mut payload = after(0.0)?;
        for _ in 0..8 {
            payload = after(late(&payload, way, patience_s))?;
        }
        Some(payload)
    }
}

/// How much later messages arrive because tries were lost, as multiples of R and of the wait for
/// the stream, in the mean of those that arrive.
pub(super) fn lost_tries(loss: f64) -> [f64; 2] {
    let (mut pauses, mut waits, mut arrived) = (0.0, 0.0, 0.0);
    // Of the next try: multiples of R and tries before it, and the share of messages it brings.
    let (mut waited, mut pause, mut before, mut share) = (0.0_f64, 1.0_f64, 0.0, 1.0 - loss);
    for _ in 0..TRIES {
        pauses += share * waited;
        waits += share * before;
        arrived += share;
        waited += pause;
        pause = (2.0 * pause).min(LONGEST_PAUSE);
        before += 1.0;
        share *= loss;
    }
    [pauses / arrived, waits / arrived]
}

/// The share of messages of which no try arrives.
pub(super) fn never_arrive(loss: f64) -> f64 {
    libm::pow(loss, f64::from(TRIES))
}

/// The probability that an acknowledgement comes later than R. The time until then is a sum of
/// exponential ones; an Erlang distribution of the same mean, and about the same variance, stands
/// for it.
fn late(payload: &Payload, way: &Way, patience_s: f64) -> f64 {
    let Way { delay_s, delays, mailbox_s, links_s, .. } = *way;
    let twice = 2.0 * f64::from(delays);
    let mean = twice * delay_s + 2.0 * mailbox_s + payload.wait_s;
    let variance = twice * delay_s * delay_s + 2.0 * mailbox_s * mailbox_s + payload.wait_s * payload.wait_s;
    let left_s = patience_s - 2.0 * links_s;
    if left_s <= 0.0 {
        return 1.0;
    }
    let stages = libm::round(mean * mean / variance).max(1.0);
    let x = left_s * stages / mean;
    if x > 700.0 {
        return 0.0;
    }
    let (mut term, mut sum, mut stage) = (libm::exp(-x), 0.0, 0.0);
    while stage < stages {
        sum += term;
        stage += 1.0;
        term *= x / stage;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way = Way { delay_s: 1.0, delays: 4, mailbox_s: 2.0, links_s: 0.1, loss: 0.0 };

    #[test]
    fn a_stream_carries_what_it_has_turns_for() {
        assert!((Payload::plain(1.0, 0.5).unwrap().wait_s - 2.0).abs() < 1e-9);
        assert_eq!(Payload::plain(1.0, 1.0), None);
        // Each message is acknowledged by a packet of its receiver.
        let patient = Payload::acknowledged(1.0, 0.25, &WAY, 1e6).unwrap();
        assert!((patient.wait_s - 2.0).abs() < 1e-9 && (patient.tries - 1.0).abs() < 1e-9);
        assert_eq!(Payload::acknowledged(1.0, 0.5, &WAY, 1e6), None);
        // Who cannot wait says everything twice.
        let hasty = Payload::acknowledged(1.0, 0.1, &WAY, 0.1).unwrap();
        assert!((hasty.tries - 2.0).abs() < 1e-9, "{hasty:?}");
    }

    #[test]
    fn what_is_lost_is_tried_again_and_comes_later() {
        let way = Way { loss: 0.5, ..WAY };
        let tries = Payload::acknowledged(1.0, 0.01, &way, 1e6).unwrap().tries;
        // Three of four tries are not acknowledged, up to the twelfth.
        assert!((tries - 4.0 * (1.0 - 0.75_f64.powi(12))).abs() < 1e-9, "{tries}");
        assert!(lost_tries(0.0).iter().all(|later| *later <= 0.0));
        // One in ten after R, one in a hundred after 3R, one in a thousand after 7R, …
        let [pauses, waits] = lost_tries(0.1);
        let mean = 0.9 * (0.1 * 1.0 + 0.01 * 3.0 + 0.001 * 7.0 + 1e-4 * 15.0 + 1e-5 * 31.0 + 1e-6 * 47.0);
        assert!((pauses - mean).abs() < 1e-5, "{pauses} {mean}");
        assert!((waits - 1.0 / 9.0).abs() < 1e-6, "{waits}");
        assert!(never_arrive(0.1) < 1e-11);
    }
}
