//! Counting: the votes of the round, or the evidence that they name.

use std::collections::{BTreeMap, BTreeSet};

use motemix_directory::{AuthorityKey, Epoch, KeyId};

use super::{Ceremony, HeldVote};
use crate::evidence::{Evidence, accounts_for};
use crate::tally::{Previous, TallyError, base, tally};
use crate::vote::{Digest, OpenedVote, Vote};

/// What the votes of a round make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The payload of the document.
    pub payload: Vec<u8>,
    /// What shows others that it was made. `None` if too few said in time which votes they had:
    /// then the document must not be promised, as nobody could be shown why.
    pub evidence: Option<Evidence>,
    /// All documents that evidence of this round makes: whoever signs one of them does not lie.
    pub(super) shown: BTreeSet<Digest>,
}

impl Ceremony {
    /// The votes that count, each read, in the order of their keys; and the authorities that voted
    /// twice.
    pub fn counted(&self) -> (Vec<(AuthorityKey, Vote<'_>)>, Vec<KeyId>) {
        let (mut counted, mut liars) = (Vec::new(), Vec::new());
        for (id, held) in &self.votes {
            match &held[..] {
                [one] => counted.extend(Vote::verified_before(&one.file, &self.roster)),
                _ => liars.push(*id),
            }
        }
        (counted, liars)
    }

    /// The sound evidence that votes name which count: which earlier votes it counts, and the votes
    /// of this round that name it.
    fn shown(&self) -> BTreeMap<&[Digest], Vec<&HeldVote>> {
        let mut shown: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for held in self.votes.values().filter(|held| held.len() == 1).flatten() {
            if let Some(evidence) = held.evidence.as_ref().filter(|evidence| !evidence.counted.is_empty()) {
                shown.entry(&evidence.counted[..]).or_default().push(held);
            }
        }
        shown
    }

    /// Earlier votes, each read once, however much evidence counts it.
    fn earlier_votes<'c>(
        &'c self,
        counted: impl Iterator<Item = &'c [Digest]>,
    ) -> BTreeMap<Digest, (AuthorityKey, Vote<'c>)> {
        let all: BTreeSet<_> = counted.flatten().copied().collect();
        let read = |digest| {
            let earlier = self.earlier.get(&digest)?;
            earlier.cast?;
            Some((digest, Vote::verified_before(&earlier.file, &self.roster)?))
        };
        all.into_iter().filter_map(read).collect()
    }

    /// The earlier documents whose ids may count, for [`count`](Self::count).
    pub fn bases(&self) -> BTreeSet<(Epoch, Digest)> {
        let shown = self.shown();
        let earlier = self.earlier_votes(shown.keys().copied());
        let bases = shown.keys().map(|counted| base(&chosen(&earlier, counted), &self.roster));
        bases.chain([base(&self.counted().0, &self.roster)]).flatten().collect()
    }

    /// The payload of the document that the votes make. If votes that count name evidence, it is
    /// that of the evidence: the one that most of these votes show, or else the one of the least
    /// digest. `ids` has the earlier documents, those that [`bases`](Self::bases) names.
    ///
    /// # Errors
    /// See [`TallyError`].
    pub fn count(&self, ids: impl Fn((Epoch, Digest)) -> Option<Previous>) -> Result<Counted, TallyError> {
        let (votes, _) = self.counted();
        let needed = self.roster.threshold();
        if votes.len() < usize::from(needed) {
            return Err(TallyError::TooFew { votes: votes.len(), needed });
        }
        let payload = |votes: &[(AuthorityKey, Vote<'_>)]| {
            let previous = match base(votes, &self.roster) {
                None => Previous::default(),
                Some(base) => ids(base).ok_or(TallyError::NoBase { epoch: base.0 })?,
            };
            tally(votes, &self.roster, &previous)
        };
        let shown = self.shown();
        let earlier = self.earlier_votes(shown.keys().copied());
        let mut documents: BTreeMap<Digest, (Vec<u8>, Vec<&HeldVote>)> = BTreeMap::new();
        for (counted, by) in shown {
            match payload(&chosen(&earlier, counted)) {
                Ok(payload) => {
                    let digest = Digest::of_document(&payload);
                    documents.entry(digest).or_insert((payload, Vec::new())).1.extend(by);
                }
                // Whoever has that document counts the evidence, and must not be parted from.
                Err(error @ TallyError::NoBase { .. }) => return Err(error),
                Err(_) => {}
            }
        }
        let shown = documents.keys().copied().collect();
        let best =
            documents.into_iter().max_by_key(|(digest, (_, by))| (by.len(), std::cmp::Reverse(*digest)));
        match best {
            Some((_, (payload, by))) => {
                let evidence = by.first().and_then(|held| self.evidence_of(held));
                Ok(Counted { payload, evidence, shown })
            }
            None => Ok(Counted { payload: payload(&votes)?, evidence: self.evidence(), shown }),
        }
    }

    /// What a vote names, to be kept and passed on as it is: nobody's evidence depends on
    /// another's.
    fn evidence_of(&self, held: &HeldVote) -> Option<Evidence> {
        let (_, vote) = OpenedVote::open(&held.file, &self.roster).ok()?;
        let sightings = vote.evidence?.sightings.into_iter().map(<[u8]>::to_vec).collect();
        let named = held.evidence.as_ref()?.named.iter();
        let files: Option<Vec<_>> =
            named.map(|digest| Some(self.earlier.get(digest)?.file.clone())).collect();
        Some(Evidence::new(sightings, files?))
    }

    /// What shows that the votes of this round make what they make.
    fn evidence(&self) -> Option<Evidence> {
        let all = || self.votes.iter().flat_map(|(by, held)| held.iter().map(|held| (*by, held)));
        let votes = all().map(|(by, held)| (held.digest, by)).collect();
        let one_each = self.sightings.values().filter_map(|held| {
            held.iter().find(|(sighting, _)| accounts_for(&votes, sighting)).map(|(_, file)| file.clone())
        });
        let sightings: Vec<_> = one_each.collect();
        let enough = sightings.len() >= usize::from(self.roster.threshold());
        enough.then(|| Evidence::new(sightings, all().map(|(_, held)| held.file.clone())))
    }
}

/// Those of the earlier votes that an evidence counts, in the order of their keys.
fn chosen<'v>(
    earlier: &BTreeMap<Digest, (AuthorityKey, Vote<'v>)>,
    counted: &[Digest],
) -> Vec<(AuthorityKey, Vote<'v>)> {
    let mut votes: Vec<_> = counted.iter().filter_map(|digest| earlier.get(digest).cloned()).collect();
    votes.sort_unstable_by_key(|(key, _)| key.id());
    votes
}
