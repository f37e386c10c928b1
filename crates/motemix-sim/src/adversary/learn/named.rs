//! After how many messages receivers are known: the estimate on growing parts of the run.

use super::{Estimate, Message, Prior};

/// Shares of the senders whose receivers are to be named.
const SHARES: [f64; 2] = [0.5, 0.95];

/// How many receivers are named, and when.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Naming {
    /// Share of the senders whose receiver is named after the whole run.
    pub named: f64,
    /// Messages of a sender after which half and 95 % are; `None` if the run is too short.
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
    let share = |heard: usize| {
        let estimate = Estimate::fit(&messages[..heard], nodes, prior, |_| true);
        let right = truth.iter().filter(|(sender, receiver)| {
            let others = among.iter().copied().filter(|other| other != sender);
            estimate.receiver(*sender, others) == Some(*receiver)
        });
        right.count() as f64 / truth.len().max(1) as f64
    };
    let mut naming = Naming { named: share(messages.len()), after: [None; 2] };
    for each in steps(messages.len() / truth.len().max(1)) {
        if naming.after.iter().all(Option::is_some) {
            break;
        }
        let reached = share(each * truth.len());
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
