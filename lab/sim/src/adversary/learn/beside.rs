//! Whose packets reach a receiver more often than they reach others at the same time.
//!
//! With a payload stream a node sends as much whether it has messages or not, so how much left it
//! of late says nothing of its messages. But an observer who weighs each packet that left takes a
//! node for the sender of all receivers' messages while more leaves it than usual. That is the same
//! for all receivers. So each probability counts by how far it is above those of the messages that
//! others received at about that time, and the logarithms are added up, message by message.
//!
//! For whoever knows that each receiver has one sender, as where `load.receivers` is `even`.

use super::named::{Naming, by_parts};
use libm::log;
use motemix_air::Instant;
use std::ops::Range;
use std::time::Duration;

/// However improbable a sender is by one message, it is no less probable than such a part of what
/// all have in common: the observer may have followed another packet.
const LEAST: f64 = 1e-3;

/// One message: when and to whom it came, and the probabilities of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub at: Instant,
    pub receiver: u16,
    pub senders: Vec<f64>,
}

/// Names the sender of each receiver, which `truth` has behind it, by more and more messages in the
/// order in which they came. Those are compared that came within `near` of each other.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn naming(came: &[Came], nodes: usize, truth: &[(u16, u16)], near: Duration) -> Naming {
    let scores = scores(came, nodes, near);
    by_parts(came.len(), truth.len(), |part: Range<usize>| {
        let mut sums = vec![0.0; nodes * nodes];
        for (message, scores) in came[part.clone()].iter().zip(scores[part.start * nodes..].chunks(nodes)) {
            let sums = &mut sums[usize::from(message.receiver) * nodes..][..nodes];
            sums.iter_mut().zip(scores).for_each(|(sum, score)| *sum += f64::from(*score));
        }
        let right = truth.iter().filter(|(sender, receiver)| {
            let sums = sums[usize::from(*receiver) * nodes..][..nodes].iter();
            let others = (0_u16..).zip(sums).filter(|(node, _)| node != receiver);
            // The first of equals.
            others.reduce(|a, b| if b.1 > a.1 { b } else { a }).is_some_and(|(node, _)| node == *sender)
        });
        right.count() as f64 / truth.len().max(1) as f64
    })
}

/// How far each message's probabilities are above those of messages near to it: logarithms, so
/// many for each message as there are nodes. In single precision, because there are many.
///
/// Nobody writes to itself, so a message tells nothing of its receiver, neither by itself nor
/// beside others: that it is improbable there says to whom the message came and no more.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn scores(came: &[Came], nodes: usize, near: Duration) -> Vec<f32> {
    let own: Vec<Vec<f64>> = came.iter().map(|message| logarithms(message, nodes)).collect();
    let (mut sums, mut received, mut around) = (vec![0.0; nodes], vec![0_usize; nodes], 0..0);
    let mut scores = Vec::with_capacity(came.len() * nodes);
    for (message, of) in came.iter().zip(&own) {
        while came.get(around.end).is_some_and(|other| other.at <= message.at + near) {
            sums.iter_mut().zip(&own[around.end]).for_each(|(sum, other)| *sum += other);
            received[usize::from(came[around.end].receiver)] += 1;
            around.end += 1;
        }
        while came[around.start].at + near < message.at {
            sums.iter_mut().zip(&own[around.start]).for_each(|(sum, other)| *sum -= other);
            received[usize::from(came[around.start].receiver)] -= 1;
            around.start += 1;
        }
        scores.extend((0..nodes).map(|node| {
            if node == usize::from(message.receiver) {
                return 0.0;
            }
            // Never zero: this message is one of them.
            let count = (around.len() - received[node]) as f64;
            (of[node] - sums[node] / count) as f32
        }));
    }
    scores
}

/// The logarithms of a message's probabilities, above their mean; nothing for its receiver.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn logarithms(message: &Came, nodes: usize) -> Vec<f64> {
    let least = LEAST / nodes.max(1) as f64;
    let receiver = usize::from(message.receiver);
    let mut logarithms: Vec<f64> = message.senders.iter().map(|p| log(p + least)).collect();
    logarithms[receiver] = 0.0;
    let mean = logarithms.iter().sum::<f64>() / nodes.saturating_sub(1).max(1) as f64;
    let others = (0..).zip(&mut logarithms).filter(|(node, _)| *node != receiver);
    others.for_each(|(_, logarithm)| *logarithm -= mean);
    logarithms
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: usize = 4;

    /// A minute of messages, one a second, in turn to the receivers of this pattern. Node 0 writes
    /// to 2 and 1 to 3, which shows in each message a little. More than that leaves node 0 `busy`
    /// times as much as node 1 in that minute.
    fn minute(number: u64, pattern: &[u16], busy: f64) -> Vec<Came> {
        let message = |(second, receiver): (u64, &u16)| {
            let shows = if *receiver == 2 { 1.1 } else { 1.0 / 1.1 };
            let of_0 = busy * shows / (1.0 + busy * shows);
            Came {
                at: Instant::from_micros((60 * number + second) * 1_000_000),
                receiver: *receiver,
                senders: vec![of_0, 1.0 - of_0, 0.0, 0.0],
            }
        };
        (0..60).zip(pattern.iter().cycle()).map(message).collect()
    }

    #[test]
    fn how_much_leaves_a_node_is_not_taken_for_messages() {
        // Node 2 gets more messages while less leaves node 0, by chance.
        let minutes = (0..20).flat_map(|number| {
            if number % 2 == 0 { minute(number, &[2, 2, 3], 0.5) } else { minute(number, &[2, 3, 3], 2.0) }
        });
        let (came, truth): (Vec<Came>, _) = (minutes.collect(), [(0, 2), (1, 3)]);
        let named = |near| naming(&came, NODES, &truth, Duration::from_secs(near)).named;
        assert_eq!(named(10).to_bits(), 1.0_f64.to_bits());
        // Compared with the whole run it is.
        assert_eq!(named(1200).to_bits(), 0.0_f64.to_bits());
    }

    /// A receiver is never the sender of what comes to it. Whoever looks for the sender of other
    /// messages meanwhile must not be led by how many those were.
    #[test]
    fn that_nobody_writes_to_itself_says_nothing_of_other_messages() {
        let vague = |message: Came| {
            let receiver = usize::from(message.receiver);
            let senders = (0..NODES).map(|node| if node == receiver { 0.0 } else { 1.0 / 3.0 });
            Came { senders: senders.collect(), ..message }
        };
        let came: Vec<Came> = minute(0, &[2, 3, 3, 3, 3], 1.0).into_iter().map(vague).collect();
        let scores = scores(&came, NODES, Duration::from_secs(5));
        assert!(scores.iter().all(|score| score.abs() < 1e-6), "{scores:?}");
    }

    #[test]
    fn messages_that_show_nothing_score_nothing_and_none_is_no_number() {
        let vague: Vec<Came> = minute(0, &[2, 3], 1.0)
            .into_iter()
            .map(|message| Came { senders: vec![0.5, 0.5, 0.0, 0.0], ..message })
            .collect();
        for near in [0, 10, 1200] {
            let scores = scores(&vague, NODES, Duration::from_secs(near));
            assert!(scores.len() == vague.len() * NODES && scores.iter().all(|score| score.abs() < 1e-6));
        }
        assert_eq!(naming(&[], NODES, &[], Duration::ZERO).named.to_bits(), 0.0_f64.to_bits());
    }
}
