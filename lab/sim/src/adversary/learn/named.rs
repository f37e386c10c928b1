//! After how many messages receivers are known: the estimate on growing parts of the run.
//!
//! In the beginning the network is empty, and whoever sends first hides among few. So the parts
//! begin when it is full.

use super::{Estimate, Message, Prior};
use std::ops::Range;

/// Shares of the senders whose receivers are to be named.
const SHARES: [f64; 2] = [0.5, 0.95];
/// One part in so many of the messages arrives while the network fills: six minutes of an hour, in
/// which a message of the longest round trips that are simulated has come and gone several times.
const FILLING: usize = 10;

/// How many receivers are named, and when.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Naming {
    /// Share of the senders whose receiver is named after the whole run.
    pub named: f64,
    /// Messages of a sender, in a network that is full, after which half and 95 % are; `None` if
    /// the run is too short.
    pub after: [Option<f64>; 2],
}

/// Names receivers by more and more messages of a run, in the order in which they arrived.
/// `truth` has senders with their receivers, `among` those who may be one.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn naming(
    messages: &[Message],
    nodes: usize,
    prior: Prior,
    truth: &[(u16, u16)],
    among: &[u16],
) -> Naming {
    let prior = Prior { habits: prior.habits.or(Some(1.0)), ..prior };
    by_parts(messages.len(), truth.len(), |part| {
        let estimate = Estimate::fit(&messages[part], nodes, prior, |_| true);
        let right = truth.iter().filter(|(sender, receiver)| {
            let others = among.iter().copied().filter(|other| other != sender);
            estimate.receiver(*sender, others) == Some(*receiver)
        });
        right.count() as f64 / truth.len().max(1) as f64
    })
}

/// What share is named by all messages, and by how many a share that is asked for.
#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn by_parts(messages: usize, senders: usize, share: impl Fn(Range<usize>) -> f64) -> Naming {
    let mut naming = Naming { named: share(0..messages), after: [None; 2] };
    let begin = messages / FILLING;
    for each in steps((messages - begin) / senders.max(1)) {
        if naming.after.iter().all(Option::is_some) {
            break;
        }
        let reached = share(begin..begin + each * senders);
        for (after, wanted) in naming.after.iter_mut().zip(SHARES) {
            *after = after.or((reached >= wanted).then_some(each as f64));
        }
    }
    naming
}

/// Numbers of messages, each a tenth more than the one before, up to the last.
fn steps(last: usize) -> impl Iterator<Item = usize> {
    let next = move |each: &usize| (*each < last).then(|| (each + (each / 10).max(1)).min(last));
    std::iter::successors((last > 0).then_some(1), next)
}

#[cfg(test)]
mod tests {
    use super::super::Choice;
    use super::*;

    const NODES: usize = 4;

    /// A message that one of these senders began, each as probably.
    fn message(receiver: u16, senders: &[u16]) -> Message {
        #[allow(clippy::cast_precision_loss, reason = "two at most")]
        let weight = 1.0 / senders.len() as f32;
        let choice = |sender: &u16| Choice { sender: *sender, bin: 0, start: 0, begun: 0.5, weight };
        Message { receiver, choices: senders.iter().map(choice).collect() }
    }

    fn named(messages: &[Message]) -> Naming {
        naming(messages, NODES, Prior { habits: Some(1.0), phases: None }, &[(0, 2), (1, 3)], &[2, 3])
    }

    #[test]
    fn messages_of_a_network_that_fills_name_nobody() {
        // The first sends to the first, the second to the second.
        let clear = [message(2, &[0]), message(3, &[1])];
        let vague = [message(2, &[0, 1]), message(3, &[0, 1])];
        let begins_clear: Vec<Message> =
            std::iter::once(&clear).chain([&vague; 9]).flatten().cloned().collect();
        let ends_clear: Vec<Message> =
            [&vague; 9].into_iter().chain(std::iter::once(&clear)).flatten().cloned().collect();
        let all_clear: Vec<Message> = [&clear; 10].into_iter().flatten().cloned().collect();
        assert_eq!(named(&all_clear), Naming { named: 1.0, after: [Some(1.0); 2] });
        assert_eq!(named(&begins_clear).named.to_bits(), 1.0_f64.to_bits());
        assert_eq!(named(&begins_clear).after[1], None);
        assert_eq!(named(&ends_clear).after[1], Some(9.0));
    }
}
