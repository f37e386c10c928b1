//! What the observer knows before it listens: the network document, the boards, and how often nodes
//! send.

use super::dwell::Dwell;
use std::rc::Rc;

/// What paths are for. All have the same length on the air; they differ in where they lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A message to its receiver and back.
    Trip = 0,
    /// Drop cover: as a trip, ending where that would turn round.
    Drop = 1,
    /// Loop cover: as long as a trip.
    Loop = 2,
}

/// All of them.
pub(crate) const PURPOSES: [Purpose; 3] = [Purpose::Trip, Purpose::Drop, Purpose::Loop];

/// What is known of a node.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub sends: bool,
    pub forwards: bool,
    pub receives: bool,
    /// Packets a second that begin here, by [`Purpose`].
    pub begins: [f64; 3],
    /// How long packets stay here.
    pub dwell: Rc<Dwell>,
}

/// What is known of the network.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub nodes: Vec<Known>,
    /// Hops of each way.
    pub hops: usize,
    /// Share of the packets that vanish in a node although their path goes on.
    pub vanish: f64,
}

/// Which transmission of its path a packet is at: `hop` is 1 for the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stage {
    pub purpose: Purpose,
    pub hop: usize,
}

impl Network {
    /// The stages of all paths.
    pub fn stages(&self) -> impl Iterator<Item = Stage> {
        let hops = |purpose| 1..=self.last_hop(purpose);
        PURPOSES.into_iter().flat_map(move |purpose| hops(purpose).map(move |hop| Stage { purpose, hop }))
    }

    /// Their number.
    pub fn stage_count(&self) -> usize {
        5 * self.hops
    }

    /// Packets that wait at a node on average, by Little's law: all nodes are alike, and each
    /// packet waits at each node of its path but its ends.
    #[allow(clippy::cast_precision_loss, reason = "as many as nodes and hops")]
    pub fn packets_held(&self) -> f64 {
        let held = |node: &Known| {
            let waits = |purpose| (self.last_hop(purpose) - 1) as f64;
            let begun = PURPOSES.map(|purpose| node.begins[purpose as usize] * waits(purpose));
            begun.iter().sum::<f64>() * node.dwell.mean()
        };
        self.nodes.iter().map(held).sum::<f64>() / self.nodes.len().max(1) as f64
    }

    /// The place of a stage among them.
    pub fn place(&self, stage: Stage) -> usize {
        let before = [0, 2 * self.hops, 3 * self.hops];
        before[stage.purpose as usize] + stage.hop - 1
    }

    /// The transmission with which a path ends.
    pub fn last_hop(&self, purpose: Purpose) -> usize {
        match purpose {
            Purpose::Trip | Purpose::Loop => 2 * self.hops,
            Purpose::Drop => self.hops,
        }
    }

    /// The stage after this one.
    pub fn next(&self, stage: Stage) -> Option<Stage> {
        (stage.hop < self.last_hop(stage.purpose)).then(|| Stage { hop: stage.hop + 1, ..stage })
    }

    /// Whether the network document lets a packet at this stage go to that node.
    pub fn may_lead_to(&self, node: u16, stage: Stage) -> bool {
        let Some(node) = self.nodes.get(usize::from(node)) else { return false };
        let begins = node.begins[stage.purpose as usize] > 0.0;
        match stage.purpose {
            Purpose::Trip if stage.hop == self.hops => node.receives,
            // Cover goes to any node, as a message might.
            Purpose::Drop | Purpose::Loop if stage.hop == self.hops => true,
            Purpose::Trip | Purpose::Loop if stage.hop == 2 * self.hops => begins,
            _ => node.forwards,
        }
    }
}
