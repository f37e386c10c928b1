//! What the observer has of each delivered message before it learns anything from the others.

use super::Delivery;
use super::flow::Ends;
use super::sniffer::Transfer;
use super::trace::{Start, Traffic};
use motemix_air::Instant;
use std::collections::BTreeMap;

/// What was heard of one delivered message.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The truth, to score by.
    pub sender: u16,
    pub receiver: u16,
    /// The transfer that brought it.
    pub transfer: u32,
    /// Where it may have begun, by the way there; weights add up to one.
    pub starts: Vec<Start>,
    /// The weights of the same starts with the way back; they add up to one.
    pub round_trip: Vec<f32>,
}

/// All messages that could be traced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// In the order in which the transfers that brought them began.
    pub heard: Vec<Heard>,
    /// Messages for which no possible sender was found.
    pub untraced: u64,
}

/// Which part of a message's way the observer goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    There,
    RoundTrip,
}

/// However sure the observer is of the reply's way, it may have followed another packet.
const LEAST_UNSEEN: f64 = 1e-3;

/// One delivered message in `sample`, each with the transfer that brought it if one was found, in
/// the order in which those began.
pub(crate) fn delivered(
    transfers: &[Transfer],
    deliveries: &[Delivery],
    sample: usize,
) -> Vec<(Option<u32>, Delivery)> {
    let number = brought(transfers);
    let mut delivered: Vec<_> = deliveries.iter().map(|delivery| (number(delivery), *delivery)).collect();
    delivered.sort_by_key(|(transfer, delivery)| {
        (*transfer, delivery.receiver, delivery.packet.at, delivery.packet.fingerprint)
    });
    delivered.into_iter().step_by(sample).collect()
}

impl Evidence {
    /// Traces each message through all chains of transfers.
    pub fn of(traffic: &Traffic<'_>, delivered: &[(Option<u32>, Delivery)]) -> Self {
        Self::gather(delivered, |transfer| (traffic.starts(transfer), traffic.returns(transfer)))
    }

    /// Takes the senders of each message, and the ends of its reply, from who followed packets by
    /// their ends.
    pub fn of_ends(ends: &BTreeMap<u32, Ends>, delivered: &[(Option<u32>, Delivery)]) -> Self {
        Self::gather(delivered, |transfer| {
            let Some(Ends { senders, returns }) = ends.get(&transfer) else { return Default::default() };
            // With which transfer it began is not known, nor when.
            let start =
                |(sender, weight): (u16, &f32)| Start { transfer, sender, weight: *weight, begun: 0.0 };
            let starts = (0..).zip(senders).filter(|(_, weight)| **weight > 0.0).map(start).collect();
            (starts, returns.iter().map(|end| f64::from(*end)).collect())
        })
    }

    fn gather(delivered: &[(Option<u32>, Delivery)], traced: impl Fn(u32) -> (Vec<Start>, Vec<f64>)) -> Self {
        let mut evidence = Self::default();
        for (transfer, delivery) in delivered {
            match transfer.and_then(|transfer| Heard::of(traced(transfer), transfer, delivery)) {
                Some(heard) => evidence.heard.push(heard),
                None => evidence.untraced += 1,
            }
        }
        evidence
    }
}

/// Finds the transfer that brought a message, which receivers would tell the observer: the one with
/// these contents, or if they cannot be seen, the last one of that neighbour that was complete when
/// the receiver turned to it.
fn brought(transfers: &[Transfer]) -> impl Fn(&Delivery) -> Option<u32> {
    let mut by_contents: BTreeMap<(u16, u64), u32> = BTreeMap::new();
    let mut by_link: BTreeMap<(u16, u16), BTreeMap<Instant, u32>> = BTreeMap::new();
    for (transfer, number) in transfers.iter().zip(0..) {
        if let Some(fingerprint) = transfer.fingerprint {
            by_contents.insert((transfer.to, fingerprint), number);
        } else if let Some(end) = transfer.end {
            by_link.entry((transfer.from, transfer.to)).or_default().insert(end, number);
        }
    }
    move |Delivery { receiver, packet, .. }| {
        let seen = || by_contents.get(&(*receiver, packet.fingerprint)).copied();
        let on_link = by_link.get(&(packet.from, *receiver));
        let last = on_link.and_then(|ends| ends.range(..=packet.at).next_back());
        last.map(|(_, number)| *number).or_else(seen)
    }
}

impl Heard {
    fn of((mut starts, returns): (Vec<Start>, Vec<f64>), transfer: u32, delivery: &Delivery) -> Option<Self> {
        let mut weights: Vec<f32> = starts.iter().map(|start| start.weight).collect();
        normalise(&mut weights)?;
        starts.iter_mut().zip(weights).for_each(|(start, weight)| start.weight = weight);
        let round_trip = with_return(&starts, &returns);
        Some(Self { sender: delivery.sender, receiver: delivery.receiver, transfer, starts, round_trip })
    }

    /// Starts with their weights.
    pub fn weights(&self, way: Way) -> impl Iterator<Item = (&Start, f32)> {
        self.starts.iter().zip(&self.round_trip).map(move |(start, both)| match way {
            Way::There => (start, start.weight),
            Way::RoundTrip => (start, *both),
        })
    }

    /// The distribution over all nodes.
    pub fn senders(&self, way: Way, nodes: usize) -> Vec<f64> {
        let mut senders = vec![0.0; nodes];
        for (start, weight) in self.weights(way) {
            if let Some(sum) = senders.get_mut(usize::from(start.sender)) {
                *sum += f64::from(weight);
            }
        }
        senders
    }
}

/// Makes probabilities of weights; `None` of nothing.
pub(crate) fn normalise(weights: &mut [f32]) -> Option<()> {
    let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    let scale = (1.0 / sum) as f32;
    (sum > 0.0).then(|| weights.iter_mut().for_each(|weight| *weight *= scale))
}

/// The reply may not have been seen; then nothing is learned of where it went.
#[allow(clippy::cast_precision_loss, reason = "as many as nodes")]
fn with_return(starts: &[Start], returns: &[f64]) -> Vec<f32> {
    let seen: f64 = returns.iter().sum();
    let scale = if seen > 1.0 { 1.0 / seen } else { 1.0 };
    let mut senders: Vec<u16> = starts.iter().map(|start| start.sender).collect();
    senders.sort_unstable();
    senders.dedup();
    let unseen = (1.0 - seen * scale).max(LEAST_UNSEEN) / senders.len().max(1) as f64;
    let back = |sender: u16| returns.get(usize::from(sender)).copied().unwrap_or_default() * scale;
    let both = |start: &Start| start.weight * (back(start.sender) + unseen) as f32;
    let mut both: Vec<f32> = starts.iter().map(both).collect();
    // The unseen part keeps every start possible.
    let _ = normalise(&mut both);
    both
}

/// When the transfer of a start began.
pub(crate) fn begin(traffic: &Traffic<'_>, start: &Start) -> Option<Instant> {
    traffic.transfer(start.transfer).map(|transfer| transfer.begin)
}
