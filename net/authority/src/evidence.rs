//! Why an authority promised a document: what it counted, so that others can count it again.
//!
//! An authority signs one document of an epoch. If it promised one in a round that the others
//! missed, and they count other votes later, nobody has enough signatures ever. So it shows what it
//! counted: the votes, and sightings of as many authorities as sign a document.
//!
//! Votes alone would show too little. Whoever lies could put an old vote of another beside one of
//! its own, and have a document in which the nodes are that it likes. Among the sightings is one of
//! an authority that does not lie, and all votes that this one had in time must be there.

use std::collections::{BTreeMap, BTreeSet};

use minicbor::{Decoder, Encoder};
use motemix_directory::{KeyId, MAX_SIGNATURES};

use crate::roster::Roster;
use crate::transcript::{Transcript, Word};
use crate::vote::{CheckedDescriptors, Digest, OpenedVote, Round, Sighting};

/// The most that the votes of one evidence have together, in bytes: a fourth of a transcript, so
/// that the votes of the round that is on have room beside it.
pub const MAX_EVIDENCE_LEN: usize = 8 << 20;

/// Most votes of one authority that are kept of a round: with two it is a liar, and more say no
/// more.
pub(crate) const VOTES_EACH: usize = 2;

/// What an authority counted before it promised a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    sightings: Vec<Vec<u8>>,
    votes: BTreeMap<Digest, Vec<u8>>,
}

impl Evidence {
    /// That of sightings, one of an authority, and of votes. Nothing is checked.
    pub fn new(sightings: Vec<Vec<u8>>, votes: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { sightings, votes: votes.into_iter().map(|file| (Digest::of_vote(&file), file)).collect() }
    }

    /// The signed votes.
    pub fn votes(&self) -> impl Iterator<Item = &[u8]> {
        self.votes.values().map(Vec::as_slice)
    }

    /// As a vote names it.
    pub fn reference(&self) -> Reference<'_> {
        let sightings = self.sightings.iter().map(Vec::as_slice).collect();
        Reference { sightings, votes: self.votes.keys().copied().collect() }
    }

    /// Whether the others take it: a later round counts by it, and it is not too long.
    pub fn is_sound(&self, later: Round, network: &str, roster: &Roster) -> bool {
        let seen = self.reference().open(later, roster);
        let mut known = CheckedDescriptors::default();
        let votes =
            self.votes.iter().map(|(digest, file)| (*digest, Cast::of(file, network, roster, &mut known)));
        self.votes.values().map(Vec::len).sum::<usize>() <= MAX_EVIDENCE_LEN
            && seen.is_some_and(|seen| seen.counted(&votes.collect(), roster).is_some())
    }

    /// A transcript of it, for a store.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut transcript = Transcript::default();
        for file in &self.sightings {
            transcript.push(Word::Sighting(file));
        }
        for file in self.votes.values() {
            transcript.push(Word::Vote(file));
        }
        transcript.into_bytes()
    }

    /// What [`to_bytes`](Self::to_bytes) made; `None` if it is nothing of the kind.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mut sightings, mut votes) = (Vec::new(), Vec::new());
        for word in Transcript::read(bytes)? {
            match word {
                Word::Sighting(file) => sightings.push(file.to_vec()),
                Word::Vote(file) => votes.push(file.to_vec()),
                Word::Document(_) | Word::EarlierVote(_) | Word::Preparation(_) => return None,
            }
        }
        Some(Self::new(sightings, votes))
    }
}

/// Evidence as a vote names it. The votes themselves travel beside it, once for all that name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<'v> {
    /// Signed sightings.
    pub sightings: Vec<&'v [u8]>,
    /// The votes, in ascending order.
    pub votes: Vec<Digest>,
}

impl<'v> Reference<'v> {
    pub(crate) fn write<W: minicbor::encode::Write>(
        &self,
        out: &mut Encoder<W>,
    ) -> Result<(), minicbor::encode::Error<W::Error>> {
        out.array(2)?.array(self.sightings.len() as u64)?;
        for file in &self.sightings {
            out.bytes(file)?;
        }
        out.array(self.votes.len() as u64)?;
        for digest in &self.votes {
            out.bytes(&digest.0)?;
        }
        Ok(())
    }

    /// `None` if it is none, or has more than there can be.
    pub(crate) fn read(reader: &mut Decoder<'v>) -> Option<Self> {
        let fits = |count: &u64, most: usize| (1..=most as u64).contains(count);
        reader.array().ok()?.filter(|fields| *fields == 2)?;
        let count = reader.array().ok()?.filter(|count| fits(count, MAX_SIGNATURES))?;
        let sightings: Option<Vec<_>> = (0..count).map(|_| reader.bytes().ok()).collect();
        let count = reader.array().ok()?.filter(|count| fits(count, VOTES_EACH * MAX_SIGNATURES))?;
        let votes: Option<Vec<_>> =
            (0..count).map(|_| Some(Digest(reader.bytes().ok()?.try_into().ok()?))).collect();
        let reference = Self { sightings: sightings?, votes: votes? };
        reference.votes.is_sorted_by(|one, next| one < next).then_some(reference)
    }

    /// Checks the sightings, a signature for each: `None` unless they are of as many authorities as
    /// sign a document, and of one round of the same epoch before `later`.
    pub(crate) fn open(&self, later: Round, roster: &Roster) -> Option<Seen> {
        let mut sightings: BTreeMap<KeyId, Sighting> = BTreeMap::new();
        for file in &self.sightings {
            let (key, sighting) = Sighting::verify(file, roster).ok()?;
            if sightings.insert(key.id(), sighting).is_some() {
                return None;
            }
        }
        let sightings: Vec<_> = sightings.into_values().collect();
        let round = sightings.first()?.round;
        let sound = sightings.len() >= usize::from(roster.threshold())
            && sightings.iter().all(|sighting| sighting.round == round)
            && round.epoch == later.epoch
            && round.attempt < later.attempt;
        sound.then_some(Seen { round, sightings })
    }
}

/// A vote whose signatures are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cast {
    by: KeyId,
    round: Round,
}

impl Cast {
    /// `None` if it is no vote in this network. Evidence that it names itself is not looked at.
    pub(crate) fn of(
        file: &[u8],
        network: &str,
        roster: &Roster,
        known: &mut CheckedDescriptors,
    ) -> Option<Self> {
        let (key, vote) = OpenedVote::open(file, roster).ok()?;
        let vote = vote.checked(known).ok()?;
        (vote.draft.network_name == network).then_some(Self { by: key.id(), round: vote.round })
    }
}

/// What authorities saw in an earlier round.
#[derive(Debug)]
pub(crate) struct Seen {
    round: Round,
    sightings: Vec<Sighting>,
}

impl Seen {
    /// Which of these votes count, if they are those of that round and none is missing.
    pub(crate) fn counted(
        &self,
        votes: &BTreeMap<Digest, Option<Cast>>,
        roster: &Roster,
    ) -> Option<Vec<Digest>> {
        let mut cast = BTreeMap::new();
        for (digest, vote) in votes {
            let vote = vote.filter(|vote| vote.round == self.round)?;
            cast.insert(*digest, vote.by);
        }
        let of = |by: KeyId| cast.values().filter(|other| **other == by).count();
        let sound = cast.values().all(|by| of(*by) <= VOTES_EACH)
            && self.sightings.iter().all(|sighting| accounts_for(&cast, sighting));
        let counted: Vec<_> = cast.iter().filter(|(_, by)| of(**by) == 1).map(|(vote, _)| *vote).collect();
        (sound && counted.len() >= usize::from(roster.threshold())).then_some(counted)
    }
}

/// Whether these votes, with who cast them, have all that a sighting lists. Of an authority that
/// voted twice, others may have had two other votes; as many may be missing, and no more, or votes
/// of honest authorities could be passed over.
pub(crate) fn accounts_for(votes: &BTreeMap<Digest, KeyId>, sighting: &Sighting) -> bool {
    let (mut once, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for by in votes.values() {
        if !once.insert(*by) {
            twice.insert(*by);
        }
    }
    let missing = sighting.votes.iter().filter(|vote| !votes.contains_key(vote)).count();
    let listed = sighting.votes.iter().filter(|vote| votes.get(vote).is_some_and(|by| twice.contains(by)));
    missing + listed.count() <= VOTES_EACH * twice.len()
}
