//! Who may have begun each message, and where its reply may end, without the way between.
//!
//! Where mixes hold hundreds of packets, a message has more chains of transfers than can be gone
//! through one by one. But a chain's probability is the product of its links', so chains are added
//! up link by link: each transfer has a row with a number for each node. No chain is left out, and
//! of three hops each way there is no rule for paths that needs more: the two mixes of a way
//! differ, and so do its ends.
//!
//! A row is needed while its packet may be inside of a node, so memory grows with the packets that
//! are under way, and not with the run. What is lost is which transfer a message began with:
//! whoever asks for that goes through the chains (`trace`).

use super::knowledge::{Network, Purpose, Stage};
use super::pool::{Cause, Follow, Origin};
use super::sniffer::Transfer;
use std::collections::BTreeMap;

/// Hops of each way for which the rules for paths are rules for neighbours: nobody sends to itself.
pub(crate) const HOPS: usize = 3;

/// A number for each node.
type Row = Vec<f32>;

/// What is found out of one message.
#[derive(Clone, Default, Debug)]
pub(crate) struct Ends {
    /// How probably each node began it. The sum is the probability that it is a message at all.
    pub senders: Row,
    /// How probably its reply ends at each node.
    pub returns: Row,
}

/// An earlier transfer that may be the same packet, as [`Cause`]. There are hundreds for each
/// transfer, so this is short, and has what is asked for most.
#[derive(Clone, Copy)]
struct Link {
    transfer: u32,
    factor: f32,
    /// Where its rows are among those of the node that it came to.
    place: u32,
    /// Its sender.
    from: u16,
}

/// Follows packets by their ends.
pub(crate) struct Flow<'f> {
    network: &'f Network,
    transfers: &'f [Transfer],
    /// By transfer: the probability that a message begins with it.
    begun: Vec<f32>,
    /// By transfer: if it is the second of a message, who began that.
    senders: Vec<Row>,
    /// By transfer.
    causes: Vec<Vec<Link>>,
    /// By transfer: where its rows are.
    places: Vec<Option<u32>>,
    /// By transfer: what has to be done until its rows are complete. One is that it is forgotten.
    undone: Vec<u32>,
    /// By transfer: whether it brought a message.
    brought: Vec<bool>,
    /// By node: where replies end, by what came to the node.
    rows: Vec<Rows>,
    ends: BTreeMap<u32, Ends>,
}

/// Two rows for each transfer that came to a node, in the order of coming: where a reply ends whose
/// last transfer but one it is, and where one ends whose first it is. One after the other, because
/// all of a node's are asked for together.
struct Rows {
    numbers: Vec<f32>,
    /// Which are not needed any more; the first of them has this place.
    done: Vec<bool>,
    first: u32,
    /// So many at the beginning are not needed.
    passed: usize,
    nodes: usize,
}

impl Rows {
    fn new(nodes: usize) -> Self {
        Self { numbers: Vec::new(), done: Vec::new(), first: 0, passed: 0, nodes }
    }

    fn add(&mut self) -> u32 {
        self.numbers.resize(self.numbers.len() + 2 * self.nodes, 0.0);
        self.done.push(false);
        self.first + self.done.len() as u32 - 1
    }

    fn last_but_one(&mut self, place: u32) -> &mut [f32] {
        let begin = (place - self.first) as usize * 2 * self.nodes;
        &mut self.numbers[begin..begin + self.nodes]
    }

    fn first_of(&mut self, place: u32) -> &mut [f32] {
        let begin = ((place - self.first) as usize * 2 + 1) * self.nodes;
        &mut self.numbers[begin..begin + self.nodes]
    }

    fn remove(&mut self, place: u32) {
        self.done[(place - self.first) as usize] = true;
        while self.done.get(self.passed) == Some(&true) {
            self.passed += 1;
        }
        // Seldom, because all others move.
        if 2 * self.passed > self.done.len() {
            self.numbers.drain(..self.passed * 2 * self.nodes);
            self.done.drain(..self.passed);
            self.first += self.passed as u32;
            self.passed = 0;
        }
    }
}

impl<'f> Flow<'f> {
    /// One who is asked for these transfers, which brought messages. Paths have [`HOPS`] each way.
    pub fn new(network: &'f Network, transfers: &'f [Transfer], numbers: impl Iterator<Item = u32>) -> Self {
        let (nodes, count) = (network.nodes.len(), transfers.len());
        let (mut ends, mut brought) = (BTreeMap::new(), vec![false; count]);
        for number in numbers {
            brought[number as usize] = true;
            ends.insert(number, Ends { senders: vec![0.0; nodes], returns: vec![0.0; nodes] });
        }
        Self {
            network,
            transfers,
            begun: vec![0.0; count],
            senders: vec![Row::new(); count],
            causes: vec![Vec::new(); count],
            places: vec![None; count],
            undone: vec![1; count],
            brought,
            rows: (0..nodes).map(|_| Rows::new(nodes)).collect(),
            ends,
        }
    }

    /// What was found out, by transfer.
    pub fn into_ends(self) -> BTreeMap<u32, Ends> {
        self.ends
    }

    fn may_be(&self, transfer: &Transfer, hop: usize) -> bool {
        self.network.may_lead_to(transfer.to, Stage { purpose: Purpose::Trip, hop })
    }

    /// All that may be the same packet has left: where replies end whose last transfer but one this
    /// is, is where those end whose first are its causes.
    fn pass_back(&mut self, number: u32) {
        let transfer = self.transfers[number as usize];
        let causes = std::mem::take(&mut self.causes[number as usize]);
        let place = self.places[number as usize].filter(|_| self.may_be(&transfer, HOPS + 2));
        let last = place.map(|place| self.rows[usize::from(transfer.to)].last_but_one(place).to_vec());
        let is_first = self.may_be(&transfer, HOPS + 1);
        let mut told = Vec::new();
        for cause in causes {
            // The first of a reply left its receiver, which is not its end.
            if let Some(last) = &last {
                let first = self.rows[usize::from(transfer.from)].first_of(cause.place);
                add(first, last, cause.factor);
                first[usize::from(cause.from)] = 0.0;
            }
            if is_first && self.brought[cause.transfer as usize] {
                told.push(cause);
            }
            self.did_one(cause.transfer);
        }
        self.causes[number as usize] = told;
    }

    /// Tells those messages whose reply this transfer may begin where it ends, if that is known.
    fn did_one(&mut self, number: u32) {
        let undone = &mut self.undone[number as usize];
        *undone -= 1;
        if *undone > 0 {
            return;
        }
        let causes = std::mem::take(&mut self.causes[number as usize]);
        let Some(place) = self.places[number as usize] else { return };
        let rows = &mut self.rows[usize::from(self.transfers[number as usize].to)];
        for cause in causes {
            if let Some(ends) = self.ends.get_mut(&cause.transfer) {
                add(&mut ends.returns, rows.first_of(place), cause.factor);
            }
        }
        rows.remove(place);
    }
}

/// Adds a row times a factor.
fn add(to: &mut [f32], row: &[f32], factor: f32) {
    for (to, number) in to.iter_mut().zip(row) {
        *to += number * factor;
    }
}

impl Follow for Flow<'_> {
    fn left(&mut self, number: u32, origin: &mut Origin) {
        let transfer = self.transfers[number as usize];
        let [is_first, is_second, is_third] = [1, 2, HOPS].map(|hop| self.may_be(&transfer, hop));
        let is_last = self.may_be(&transfer, 2 * HOPS);
        let mut senders = vec![0.0; self.network.nodes.len()];
        let mut ends = self.ends.get_mut(&number).filter(|_| is_third);
        let mut links = Vec::with_capacity(origin.causes.len());
        for Cause { transfer: before, factor } in std::mem::take(&mut origin.causes) {
            let (at, factor) = (before as usize, factor as f32);
            let Transfer { from, to, .. } = self.transfers[at];
            let rows = &mut self.rows[usize::from(to)];
            let place = *self.places[at].get_or_insert_with(|| rows.add());
            self.undone[at] += 1;
            links.push(Link { transfer: before, factor, place, from });
            if is_second {
                senders[usize::from(from)] += self.begun[at] * factor;
            }
            if let Some(ends) = &mut ends {
                add(&mut ends.senders, &self.senders[at], factor);
            }
            if is_last {
                rows.last_but_one(place)[usize::from(transfer.to)] += factor;
            }
        }
        if let Some(ends) = ends {
            // Nobody writes to itself.
            ends.senders[usize::from(transfer.to)] = 0.0;
        }
        let number = number as usize;
        self.begun[number] = if is_first { origin.begun[Purpose::Trip as usize] as f32 } else { 0.0 };
        (self.senders[number], self.causes[number]) = (senders, links);
    }

    fn forgotten(&mut self, number: u32) {
        self.senders[number as usize] = Row::new();
        self.pass_back(number);
        self.did_one(number);
    }
}
