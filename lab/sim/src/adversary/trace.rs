//! From a transfer back to who may have begun the packet, and on to where its reply may end.
//!
//! A path is a chain of transfers; its probability is the product of its links'. No mix of a way is
//! there twice, so chains in which one is are left out. The ends may be mixes too.

use super::knowledge::{Network, Purpose, Stage};
use super::pool::Origin;
use super::sniffer::Transfer;

/// How improbable chains are that are not followed.
const NEGLIGIBLE: f64 = 1e-6;

/// A transfer with which a message may have begun.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Start {
    pub transfer: u32,
    /// Who made it.
    pub sender: u16,
    /// How probably it was this one, as far as the message by itself tells. In single precision:
    /// there are hundreds for each message.
    pub weight: f32,
    /// How probably its sender began it, whatever it has to do with the message.
    pub begun: f32,
}

/// All that was inferred of the transfers of a run.
pub(crate) struct Traffic<'t> {
    network: &'t Network,
    transfers: &'t [Transfer],
    origins: &'t [Origin],
    /// By transfer: later ones that may be the same packet, with the factor of the link.
    effects: Vec<Vec<(u32, f64)>>,
    /// Chains that are less probable than this are not followed.
    pub(super) negligible: f64,
}

impl<'t> Traffic<'t> {
    pub fn new(network: &'t Network, transfers: &'t [Transfer], origins: &'t [Origin]) -> Self {
        let mut effects = vec![Vec::new(); transfers.len()];
        for (number, origin) in (0_u32..).zip(origins) {
            for cause in &origin.causes {
                if let Some(effects) = effects.get_mut(cause.transfer as usize) {
                    effects.push((number, cause.factor));
                }
            }
        }
        Self { network, transfers, origins, effects, negligible: NEGLIGIBLE }
    }

    /// The network that it is the traffic of.
    pub fn network(&self) -> &'t Network {
        self.network
    }

    /// All of them, in the order of their begins.
    pub fn transfers(&self) -> &'t [Transfer] {
        self.transfers
    }

    /// The transfer of this number.
    pub fn transfer(&self, number: u32) -> Option<&'t Transfer> {
        self.transfers.get(number as usize)
    }

    /// Where a message that this transfer brings to its receiver may have begun, in the order of
    /// the transfers. The sum is the probability that it brings one to its receiver at all.
    pub fn starts(&self, transfer: u32) -> Vec<Start> {
        let mut starts: Vec<(u32, u16, f64)> = Vec::new();
        if let Some(last) = self.transfers.get(transfer as usize) {
            self.back(transfer, self.network.hops, 1.0, &mut Vec::new(), &mut starts);
            // Nobody writes to itself.
            starts.retain(|(_, sender, _)| *sender != last.to);
        }
        // Several chains may lead to one transfer.
        starts.sort_by_key(|(transfer, ..)| *transfer);
        starts.dedup_by(|later, first| {
            let same = later.0 == first.0;
            first.2 += if same { later.2 } else { 0.0 };
            same
        });
        let begun =
            |at: u32| self.origins.get(at as usize).map_or(0.0, |of| of.begun[Purpose::Trip as usize]);
        let single = |(transfer, sender, weight)| {
            let begun = begun(transfer) as f32;
            Start { transfer, sender, weight: weight as f32, begun }
        };
        starts.into_iter().map(single).collect()
    }

    fn back(
        &self,
        number: u32,
        hop: usize,
        weight: f64,
        mixes: &mut Vec<u16>,
        starts: &mut Vec<(u32, u16, f64)>,
    ) {
        let index = number as usize;
        let (Some(transfer), Some(origin)) = (self.transfers.get(index), self.origins.get(index)) else {
            return;
        };
        let stage = Stage { purpose: Purpose::Trip, hop };
        if !self.network.may_lead_to(transfer.to, stage) {
            return;
        }
        if hop == 1 {
            let weight = weight * origin.begun[Purpose::Trip as usize];
            if weight > 0.0 {
                starts.push((number, transfer.from, weight));
            }
            return;
        }
        if mixes.contains(&transfer.from) {
            return;
        }
        mixes.push(transfer.from);
        for cause in &origin.causes {
            let weight = weight * cause.factor;
            if weight > self.negligible {
                self.back(cause.transfer, hop - 1, weight, mixes, starts);
            }
        }
        mixes.pop();
    }

    /// How probably the reply to a message that this transfer brought to its receiver ends at each
    /// node. What is missing to one is the probability that none was seen.
    pub fn returns(&self, transfer: u32) -> Vec<f64> {
        let mut ends = vec![0.0; self.network.nodes.len()];
        if let Some(last) = self.transfers.get(transfer as usize) {
            self.on(transfer, self.network.hops, 1.0, &mut Vec::new(), &mut ends);
            // Nobody writes to itself.
            ends[usize::from(last.to)] = 0.0;
        }
        ends
    }

    fn on(&self, number: u32, hop: usize, weight: f64, mixes: &mut Vec<u16>, ends: &mut [f64]) {
        for (next, factor) in self.effects.get(number as usize).into_iter().flatten() {
            let (weight, hop) = (weight * factor, hop + 1);
            let Some(transfer) = self.transfers.get(*next as usize) else { continue };
            let stage = Stage { purpose: Purpose::Trip, hop };
            if weight <= self.negligible || !self.network.may_lead_to(transfer.to, stage) {
                continue;
            }
            if hop == self.network.last_hop(Purpose::Trip) {
                if let Some(end) = ends.get_mut(usize::from(transfer.to)) {
                    *end += weight;
                }
                continue;
            }
            if mixes.contains(&transfer.to) {
                continue;
            }
            mixes.push(transfer.to);
            self.on(*next, hop, weight, mixes, ends);
            mixes.pop();
        }
    }
}
