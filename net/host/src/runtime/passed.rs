//! The nodes that this node's loops pass, by their names, and what became of the loops.

use motemix_directory::Role;
use motemix_node::LoopTally;
use motemix_sphinx::NodeId;

use crate::control::LoopsThrough;
use crate::documents::Network;

/// The nodes of the document in use, by their ids.
#[derive(Debug, Default)]
pub(super) struct Passed(Vec<Option<PassedNode>>);

#[derive(Debug, Clone)]
struct PassedNode {
    name: String,
    /// `None` for an endpoint.
    layer: Option<u8>,
    /// Since it is in the documents, or since this node's start.
    total: LoopTally,
    /// The same when this epoch began, and when the one before it began.
    at_begin: [LoopTally; 2],
}

impl PassedNode {
    /// Loops of this epoch and of the one before: what was lost a month ago must not hide what is
    /// lost today, and an epoch that has just begun says nothing yet.
    fn lately(&self) -> LoopTally {
        let [_, earlier] = self.at_begin;
        LoopTally {
            returned: self.total.returned.saturating_sub(earlier.returned),
            lost: self.total.lost.saturating_sub(earlier.lost),
            missing: self.total.missing,
        }
    }
}

impl Passed {
    /// An epoch begins. Returns the ids that others have now than those who had them: what was
    /// counted for these is to be forgotten.
    #[must_use]
    pub(super) fn begin(&mut self, network: &Network) -> Vec<NodeId> {
        let before = std::mem::take(&mut self.0);
        let mut anew = Vec::new();
        for (at, node) in network.ids().enumerate() {
            let known = before.get(at).and_then(Option::as_ref);
            self.0.push(node.map(|node| {
                let same = known.filter(|known| known.name == node.name);
                if known.is_some() && same.is_none() {
                    anew.extend(u16::try_from(at).ok().and_then(NodeId::new));
                }
                let (total, [begin, _]) = same.map(|known| (known.total, known.at_begin)).unwrap_or_default();
                let layer = match node.role {
                    Role::Mix { layer } => Some(layer),
                    Role::Endpoint => None,
                };
                PassedNode { name: node.name.clone(), layer, total, at_begin: [total, begin] }
            }));
        }
        anew
    }

    /// Asks what was counted for each node up to now.
    pub(super) fn count(&mut self, tally: impl Fn(NodeId) -> Option<LoopTally>) {
        for (at, node) in (0..).zip(&mut self.0) {
            if let Some(node) = node {
                node.total = NodeId::new(at).and_then(&tally).unwrap_or_default();
            }
        }
    }

    /// Each mix with its layer, and all loops through it.
    pub(super) fn mixes(&self) -> impl Iterator<Item = (&str, u8, LoopTally)> {
        self.0.iter().flatten().filter_map(|node| Some((&*node.name, node.layer?, node.total)))
    }

    /// Loops of this epoch and of the one before, through each node that any passed.
    pub(super) fn lately(&self) -> Vec<LoopsThrough> {
        let nodes = self.0.iter().flatten().filter(|node| node.lately() != LoopTally::NONE);
        let through = nodes.map(|node| {
            let LoopTally { returned, lost, missing } = node.lately();
            let (name, layer) = (node.name.clone(), node.layer);
            let [returned, lost, missing] = [returned, lost, missing].map(u64::from);
            LoopsThrough { name, layer, returned, lost, missing }
        });
        through.collect()
    }

    /// Endpoints by way of which no loop comes back. None while a mix loses all of them: then loops
    /// by way of anybody are lost, and it is the mix that has to be found.
    pub(super) fn silent_endpoints(&self) -> usize {
        let silent = |is_mix| {
            let nodes = self.0.iter().flatten().filter(move |node| node.layer.is_some() == is_mix);
            nodes.filter(|node| node.total.is_silent()).count()
        };
        if silent(true) > 0 { 0 } else { silent(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::NetworkNode;
    use motemix_crypto::PublicKey;
    use motemix_directory::{Epoch, Parameters, ProfileName, UnixTime};

    /// A document with these nodes; a name that begins with `mix` is a mix's.
    fn network(names: &[Option<&str>]) -> Network {
        let node = |name: &str| NetworkNode {
            name: name.to_owned(),
            role: if name.starts_with("mix") { Role::Mix { layer: 1 } } else { Role::Endpoint },
            mix_key: PublicKey([9; 32]),
            addresses: Vec::new(),
        };
        Network {
            epoch: Epoch(1),
            valid_after: UnixTime(0),
            valid_until: UnixTime(1),
            name: "orchard".to_owned(),
            profile: ProfileName::Mote,
            parameters: Parameters::new(1, 1),
            ids: names.iter().map(|name| name.map(node)).collect(),
        }
    }

    fn lost(lost: u32) -> impl Fn(NodeId) -> Option<LoopTally> {
        move |_| Some(LoopTally { returned: 1, lost, missing: lost })
    }

    fn lately(passed: &Passed) -> Vec<(String, u64)> {
        passed.lately().into_iter().map(|through| (through.name, through.lost)).collect()
    }

    #[test]
    fn what_is_told_is_of_this_epoch_and_the_one_before() {
        let network = network(&[Some("mix-1"), None, Some("mote")]);
        let mut passed = Passed::default();
        assert!(passed.begin(&network).is_empty());
        for (counted, told) in [(5, 5), (7, 7), (8, 3), (20, 13)] {
            passed.count(lost(counted));
            assert_eq!(lately(&passed), [("mix-1".to_owned(), told), ("mote".to_owned(), told)]);
            assert!(passed.begin(&network).is_empty());
        }
        let all: Vec<_> = passed.mixes().map(|(name, layer, tally)| (name, layer, tally.lost)).collect();
        assert_eq!(all, [("mix-1", 1, 20)]);
    }

    #[test]
    fn an_endpoint_is_silent_unless_a_mix_loses_its_loops() {
        let mut passed = Passed::default();
        let _ = passed.begin(&network(&[Some("mix-1"), Some("mote-1"), Some("mote-2")]));
        let missing = |of: [u32; 3]| {
            move |id: NodeId| Some(LoopTally { missing: of[usize::from(id.get())], ..LoopTally::NONE })
        };
        for (of, silent) in [([1, 5, 2], 0), ([1, 6, 2], 1), ([1, 60, 7], 2), ([9, 60, 7], 0)] {
            passed.count(missing(of));
            assert_eq!(passed.silent_endpoints(), silent, "{of:?}");
        }
    }

    #[test]
    fn whoever_has_an_id_next_inherits_nothing() {
        let mut passed = Passed::default();
        let _ = passed.begin(&network(&[Some("mix-1"), Some("mix-2"), Some("mix-3")]));
        passed.count(lost(9));
        let anew = passed.begin(&network(&[Some("mix-1"), Some("mix-4"), None]));
        assert_eq!(anew, [NodeId::new(1).unwrap()]);
        // The node has forgotten; what is vacant it forgets by itself.
        let tally = |lost| LoopTally { returned: 0, lost, missing: lost };
        passed.count(|id| Some(tally(if id == NodeId::MIN { 9 } else { 1 })));
        assert_eq!(lately(&passed), [("mix-1".to_owned(), 9), ("mix-4".to_owned(), 1)]);
        let anew = passed.begin(&network(&[Some("mix-1"), Some("mix-4"), Some("mix-5")]));
        assert!(anew.is_empty(), "it was vacant in between");
    }
}
