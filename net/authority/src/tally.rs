//! The document that a set of votes makes. Whoever has the same votes gets the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use motemix_directory::{
    AuthorityKey, BuildError, DocumentBuilder, DocumentError, Epoch, IdentityKey, MAX_NODES, NetworkDocument,
    NewNode, Place, Role, document_len_limit,
};

use crate::roster::Roster;
use crate::vote::{Candidate, Digest, Vote};

/// By which numbers protected links know a node, over sockets and on the radio.
pub type LinkNumbers = [Option<u64>; 2];

/// Who the nodes of a document were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Previous {
    /// The node of each id, if one has it.
    pub names: Vec<Option<String>>,
    /// The numbers of protected links of the node of each id.
    pub numbers: Vec<LinkNumbers>,
}

impl Previous {
    /// Those of a document.
    pub fn of(document: &NetworkDocument<'_>) -> Self {
        let (mut names, mut numbers) =
            (vec![None; document.id_count()], vec![[None; 2]; document.id_count()]);
        for node in document.nodes() {
            names[usize::from(node.id.get())] = Some(node.name.to_owned());
            numbers[usize::from(node.id.get())] = node.addresses.link_numbers();
        }
        Self { names, numbers }
    }

    /// The nodes by their names, each with its numbers as far as they are known.
    fn nodes(&self) -> BTreeMap<&str, LinkNumbers> {
        let numbers = self.numbers.iter().copied().chain(std::iter::repeat([None; 2]));
        self.names
            .iter()
            .zip(numbers)
            .filter_map(|(name, numbers)| Some((name.as_deref()?, numbers)))
            .collect()
    }
}

/// Why votes make no document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TallyError {
    /// Fewer authorities voted than have to sign.
    #[error("{votes} of {needed} votes needed; are the other authorities running, and their clocks right?")]
    TooFew {
        /// Votes that count.
        votes: usize,
        /// The threshold.
        needed: u8,
    },
    /// No draft has enough votes.
    #[error(
        "no {needed} authorities agree on the network's parameters; compare their `authority.toml`: {differ}"
    )]
    Drafts {
        /// The threshold.
        needed: u8,
        /// Who wants what.
        differ: String,
    },
    /// The document that ids come from is not here.
    #[error("the document of epoch {epoch}, from which ids are taken, cannot be had")]
    NoBase {
        /// Its epoch.
        epoch: Epoch,
    },
    /// No node has enough votes.
    #[error(
        "no node is admitted by {needed} authorities and has a key for epoch {epoch}; admit nodes with `motemix \
         authority add`, and see whether they run"
    )]
    NoNodes {
        /// The threshold.
        needed: u8,
        /// The epoch.
        epoch: Epoch,
    },
    /// The nodes make no network.
    #[error("{0}; see whether enough authorities admit each mix, all of them in the same layer")]
    Refused(BuildError),
}

/// Which earlier document ids are taken from: the latest that so many votes name that one of an
/// authority which does not lie is among them.
pub fn base(votes: &[(AuthorityKey, Vote<'_>)], roster: &Roster) -> Option<(Epoch, Digest)> {
    let mut named: BTreeMap<(Epoch, Digest), usize> = BTreeMap::new();
    for (_, vote) in votes {
        if let Some(previous) = vote.previous {
            *named.entry(previous).or_default() += 1;
        }
    }
    named.into_iter().rev().find(|(_, count)| *count >= roster.honest()).map(|(document, _)| document)
}

/// The payload of the document that these votes, one of each authority, make. `previous` is the
/// document that [`base`] names.
///
/// # Errors
/// See [`TallyError`].
pub fn tally(
    votes: &[(AuthorityKey, Vote<'_>)],
    roster: &Roster,
    previous: &Previous,
) -> Result<Vec<u8>, TallyError> {
    let needed = roster.threshold();
    if votes.len() < usize::from(needed) {
        return Err(TallyError::TooFew { votes: votes.len(), needed });
    }
    let draft = draft(votes, needed)?;
    let nodes = nodes(wanted(votes, roster), draft, previous);
    if nodes.is_empty() {
        return Err(TallyError::NoNodes { needed, epoch: draft.round.epoch });
    }
    let mut placed = place(nodes, previous);
    loop {
        match encode(draft, &placed) {
            Err(BuildError::Refused(DocumentError::Malformed {
                place: Place { node: Some(id), .. },
                ..
            })) if placed.get(usize::from(id.get())).is_some_and(Option::is_some) => {
                // One node that no document can have must not keep all others from having one.
                placed[usize::from(id.get())] = None;
                trim(&mut placed);
            }
            document => return document.map_err(TallyError::Refused),
        }
    }
}

fn encode(vote: &Vote<'_>, placed: &[Option<Candidate<'_>>]) -> Result<Vec<u8>, BuildError> {
    let addresses: Vec<Vec<SocketAddr>> = placed
        .iter()
        .map(|node| node.iter().flat_map(|node| node.descriptor.addresses.iter()).collect())
        .collect();
    let nodes = placed.iter().zip(&addresses).map(|(node, addresses)| {
        let described = node.as_ref().and_then(|node| {
            let mix_key = node.descriptor.mix_key(vote.round.epoch)?;
            Some(NewNode { name: node.descriptor.name, role: node.role, mix_key, addresses })
        });
        described.unwrap_or(NewNode::VACANT)
    });
    let mut out = vec![0; document_len_limit(placed.len(), 0)];
    Ok(DocumentBuilder::encode(&mut out, &vote.draft, nodes)?.payload().to_vec())
}

/// A vote whose draft enough authorities share.
fn draft<'a, 'v>(votes: &'a [(AuthorityKey, Vote<'v>)], needed: u8) -> Result<&'a Vote<'v>, TallyError> {
    let mut shared: BTreeMap<&[u8], Vec<&(AuthorityKey, Vote<'_>)>> = BTreeMap::new();
    for vote in votes {
        shared.entry(vote.1.encoded_draft).or_default().push(vote);
    }
    let enough = shared.values().find(|votes| votes.len() >= usize::from(needed));
    let first = enough.and_then(|votes| votes.first()).map(|(key, _)| *key);
    if let Some((_, vote)) = votes.iter().find(|(key, _)| Some(*key) == first) {
        return Ok(vote);
    }
    let groups: Vec<_> = shared
        .values()
        .map(|votes| {
            let keys: Vec<_> = votes.iter().map(|(key, _)| key.id().to_string()).collect();
            keys.join(" and ")
        })
        .collect();
    Err(TallyError::Drafts { needed, differ: groups.join(" against ") })
}

/// The nodes that enough authorities would have in one role, each as it described itself last, and
/// how many authorities want it.
fn wanted<'v>(votes: &[(AuthorityKey, Vote<'v>)], roster: &Roster) -> Vec<(usize, Candidate<'v>)> {
    let needed = usize::from(roster.threshold());
    let mut wanted: BTreeMap<(IdentityKey, String, u8), (usize, Candidate<'v>)> = BTreeMap::new();
    for (_, vote) in votes {
        let epoch = vote.round.epoch;
        for candidate in vote.candidates.iter().filter(|one| one.descriptor.mix_key(epoch).is_some()) {
            let Candidate { role, descriptor, .. } = candidate;
            let layer = match role {
                Role::Mix { layer } => *layer,
                Role::Endpoint => u8::MAX,
            };
            let key = (descriptor.identity, descriptor.name.to_owned(), layer);
            let (count, latest) = wanted.entry(key).or_insert((0, *candidate));
            *count += 1;
            let order = |one: &Candidate<'v>| (one.descriptor.issued, one.file);
            if order(candidate) > order(latest) {
                *latest = *candidate;
            }
        }
    }
    wanted.into_values().filter(|(count, _)| *count >= needed).collect()
}

/// Those of the wanted nodes that can be in one document. A node may say what it likes, the mix key
/// or the address of another as well: that must not put out whoever was there before it.
fn nodes<'v>(
    mut wanted: Vec<(usize, Candidate<'v>)>,
    draft: &Vote<'_>,
    previous: &Previous,
) -> Vec<Candidate<'v>> {
    let known = previous.nodes();
    wanted.sort_by_key(|(count, candidate)| {
        let descriptor = &candidate.descriptor;
        (!known.contains_key(descriptor.name), std::cmp::Reverse(*count), descriptor.identity)
    });
    let numbers = |candidate: &Candidate<'_>| -> Vec<(usize, u64)> {
        let numbers = candidate.descriptor.addresses.link_numbers().into_iter().enumerate();
        let told_apart = numbers.filter(|_| draft.draft.parameters.protected_links);
        told_apart.filter_map(|(link, number)| Some((link, number?))).collect()
    };
    // A node that was there before may say another's address as well: it is the one's that had it.
    let mut holders = BTreeMap::new();
    for (_, candidate) in &wanted {
        let name = candidate.descriptor.name;
        let had = known.get(name).copied().unwrap_or_default();
        for (link, number) in numbers(candidate) {
            if had[link] == Some(number) {
                holders.entry((link, number)).or_insert(name);
            }
        }
    }
    let (mut identities, mut names, mut keys) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut nodes = Vec::new();
    for (_, candidate) in wanted {
        let descriptor = &candidate.descriptor;
        let Some(mix_key) = descriptor.mix_key(draft.round.epoch) else { continue };
        let numbers = numbers(&candidate);
        let taken = identities.contains(&descriptor.identity)
            || names.contains(descriptor.name)
            || keys.contains(&mix_key.0)
            || numbers
                .iter()
                .any(|number| holders.get(number).is_some_and(|holder| *holder != descriptor.name));
        if !taken && nodes.len() < MAX_NODES {
            identities.insert(descriptor.identity);
            names.insert(descriptor.name);
            keys.insert(mix_key.0);
            holders.extend(numbers.into_iter().map(|number| (number, descriptor.name)));
            nodes.push(candidate);
        }
    }
    nodes
}

/// Gives nodes the ids that they had. New ones get those that nobody had, in the order of their
/// identities: packets for a node that left do not go to another.
fn place<'v>(mut nodes: Vec<Candidate<'v>>, previous: &Previous) -> Vec<Option<Candidate<'v>>> {
    nodes.sort_unstable_by_key(|node| node.descriptor.identity);
    let mut placed: Vec<Option<Candidate<'v>>> = vec![None; previous.names.len()];
    let mut new = Vec::new();
    for node in nodes {
        let name = node.descriptor.name;
        match previous.names.iter().position(|had| had.as_deref() == Some(name)) {
            Some(id) => placed[id] = Some(node),
            None => new.push(node),
        }
    }
    let mut vacant = (0..previous.names.len()).filter(|id| previous.names[*id].is_none());
    for node in new {
        match vacant.next() {
            Some(id) => placed[id] = Some(node),
            None if placed.len() < MAX_NODES => placed.push(Some(node)),
            None => {}
        }
    }
    trim(&mut placed);
    placed
}

/// Nobody can have the last id.
fn trim(placed: &mut Vec<Option<Candidate<'_>>>) {
    while placed.last().is_some_and(Option::is_none) {
        placed.pop();
    }
}
