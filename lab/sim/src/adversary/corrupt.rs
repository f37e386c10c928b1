//! What corrupt motes tell the observer: which packet that came is which that left.
//!
//! Sphinx hides from a mix how far a packet has come, so that is not told.

use super::knowledge::{Network, PURPOSES, Stage};
use super::pool::{Cause, Origin};
use super::sniffer::Transfer;
use std::collections::{BTreeMap, BTreeSet};

/// The corrupt motes, and what they have seen.
#[derive(Clone, Default, Debug)]
pub(crate) struct Confessions {
    motes: BTreeSet<u16>,
    /// By mote and fingerprint of what left: the fingerprint of what came.
    came: BTreeMap<(u16, u64), u64>,
}

/// Where a transfer of a corrupt mote has its packet from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Confessed {
    /// From this transfer.
    Transfer(u32),
    /// It is the mote's own.
    Own,
}

impl Confessions {
    pub fn new(motes: BTreeSet<u16>) -> Self {
        Self { motes, came: BTreeMap::new() }
    }

    /// A corrupt mote passed a packet on: what came, what left.
    pub fn add(&mut self, mote: u16, passed: impl IntoIterator<Item = (u64, u64)>) {
        self.came.extend(passed.into_iter().map(|(came, left)| ((mote, left), came)));
    }

    /// Whether a mote works for the observer.
    pub fn is_corrupt(&self, mote: u16) -> bool {
        self.motes.contains(&mote)
    }

    /// What is told of each transfer; nothing of those of honest motes.
    pub fn of(&self, transfers: &[Transfer]) -> Vec<Option<Confessed>> {
        let mut arrived: BTreeMap<(u16, u64), Vec<u32>> = BTreeMap::new();
        for (number, transfer) in (0..).zip(transfers).filter(|(_, it)| self.is_corrupt(it.to)) {
            if let Some(fingerprint) = transfer.fingerprint {
                arrived.entry((transfer.to, fingerprint)).or_default().push(number);
            }
        }
        let told = |transfer: &Transfer| {
            if !self.is_corrupt(transfer.from) {
                return None;
            }
            let Some(came) = self.came.get(&(transfer.from, transfer.fingerprint?)) else {
                return Some(Confessed::Own);
            };
            // A datagram may be sent twice; the mote took the first that was whole.
            let candidates = arrived.get(&(transfer.from, *came)).into_iter().flatten();
            let whole = |number: &&u32| {
                let end = transfers.get(**number as usize).and_then(|before| before.end);
                end.is_some_and(|end| end <= transfer.begin)
            };
            candidates.copied().by_ref().find(|number| whole(&number)).map(Confessed::Transfer)
        };
        transfers.iter().map(told).collect()
    }
}

/// The origin of a transfer of which all is told but how far its packet has come.
pub(super) fn origin(network: &Network, told: Confessed, transfer: &Transfer, origins: &[Origin]) -> Origin {
    let mut origin = Origin { stages: vec![0.0; network.stage_count()], ..Origin::default() };
    match told {
        Confessed::Own => {
            let Some(known) = network.nodes.get(usize::from(transfer.from)) else { return origin };
            let fits = |purpose| network.may_lead_to(transfer.to, Stage { purpose, hop: 1 });
            let total: f64 = PURPOSES
                .into_iter()
                .filter(|purpose| fits(*purpose))
                .map(|purpose| known.begins[purpose as usize])
                .sum();
            for purpose in PURPOSES.into_iter().filter(|purpose| total > 0.0 && fits(*purpose)) {
                origin.begun[purpose as usize] = known.begins[purpose as usize] / total;
                origin.stages[network.place(Stage { purpose, hop: 1 })] = origin.begun[purpose as usize];
            }
        }
        Confessed::Transfer(number) => {
            let Some(before) = origins.get(number as usize).filter(|before| !before.stages.is_empty()) else {
                return origin;
            };
            let follows: Vec<(usize, usize)> = network
                .stages()
                .filter_map(|stage| {
                    let next = network.next(stage).filter(|next| network.may_lead_to(transfer.to, *next))?;
                    Some((network.place(stage), network.place(next)))
                })
                .collect();
            let total: f64 = follows.iter().map(|(place, _)| before.stages[*place]).sum();
            if total > 0.0 {
                for (place, next) in follows {
                    origin.stages[next] = before.stages[place] / total;
                }
                origin.causes.push(Cause { transfer: number, factor: 1.0 / total });
            }
        }
    }
    origin
}
