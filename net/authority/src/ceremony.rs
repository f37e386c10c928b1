//! One round in which authorities agree on a document, without input and output.
//!
//! ```text
//! voting     each signs its vote, and takes those of others
//! sighting   each signs which votes it had by then; a vote that comes now counts if another
//!            authority than its own had it in time
//! preparing  each counts the same votes, makes the same document, and signs which one it is
//! signing    each that knows of enough who made the same writes down that it will sign it, and signs
//! rest       whoever has enough signatures has the document
//! ```
//!
//! An authority that lies can vote twice, or give its vote to one of the others at the last moment.
//! Two votes of one authority count for nothing, and what one honest authority had in time counts
//! for all (Dolev and Strong, "Authenticated algorithms for Byzantine agreement", SIAM J. Comput.
//! 12, 1983, with two rounds for one liar).
//!
//! Where words are lost, authorities may count other votes each. If each signed what it made, and
//! all made another document, nobody would ever have enough signatures. But an authority prepares
//! one document in a round, so that no two of one round are prepared by more than half.
//!
//! Whoever promised a document in an earlier round names its
//! [`Evidence`](crate::evidence::Evidence) in its vote. What holds for votes holds for evidence
//! then: all honest authorities have the same.

mod count;

use std::collections::{BTreeMap, BTreeSet};

use motemix_directory::{
    Authorities, AuthoritySecret, BuildError, DocumentBuilder, KeyId, SignedDocument, SignedStatement,
    VerifiedDocument, document_len_limit,
};

pub use count::Counted;

use crate::evidence::{Cast, MAX_EVIDENCE_LEN, Seen, VOTES_EACH};
use crate::roster::Roster;
use crate::vote::{
    CheckedDescriptors, Digest, MAX_VOTE_LEN, OpenedVote, Preparation, Round, Sighting, VoteError,
};

/// Where a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Votes are given and taken.
    Voting,
    /// What was seen is told.
    Sighting,
    /// Votes are counted, and it is told which document they make.
    Preparing,
    /// The document is signed.
    Signing,
    /// Nothing is left to do.
    Rest,
}

impl Phase {
    /// All of them, in their order; each takes the same time.
    pub const ALL: [Self; 5] = [Self::Voting, Self::Sighting, Self::Preparing, Self::Signing, Self::Rest];
}

/// Sightings of one authority that are kept, and preparations.
const SAID_EACH: usize = 2;

/// What an authority knows of a round.
#[derive(Debug)]
pub struct Ceremony {
    roster: Roster,
    round: Round,
    network: String,
    votes: BTreeMap<KeyId, Vec<HeldVote>>,
    /// Votes of earlier rounds that votes of this one name.
    earlier: BTreeMap<Digest, EarlierVote>,
    descriptors: CheckedDescriptors,
    sightings: BTreeMap<KeyId, Vec<(Sighting, Vec<u8>)>>,
    preparations: BTreeMap<KeyId, Vec<(Preparation, Vec<u8>)>>,
    /// Signatures of documents, by their payload.
    signed: BTreeMap<Digest, Signed>,
    taken: u64,
}

#[derive(Debug)]
struct HeldVote {
    digest: Digest,
    file: Vec<u8>,
    /// Whether it came while votes were taken.
    in_time: bool,
    /// The earlier votes that it names, and which of them count.
    evidence: Option<HeldEvidence>,
}

#[derive(Debug)]
struct HeldEvidence {
    named: Vec<Digest>,
    /// Empty if the evidence is not sound.
    counted: Vec<Digest>,
}

#[derive(Debug)]
struct EarlierVote {
    file: Vec<u8>,
    /// `None` if its signatures are not valid.
    cast: Option<Cast>,
}

/// Votes of earlier rounds that came beside those of a round. Nothing of them is known.
#[derive(Debug, Clone, Default)]
pub struct Offered<'t>(BTreeMap<Digest, &'t [u8]>);

impl<'t> FromIterator<&'t [u8]> for Offered<'t> {
    fn from_iter<I: IntoIterator<Item = &'t [u8]>>(files: I) -> Self {
        Self(files.into_iter().map(|file| (Digest::of_vote(file), file)).collect())
    }
}

#[derive(Debug)]
struct Signed {
    signatures: BTreeMap<KeyId, [u8; 64]>,
    /// The document with all of them.
    file: Vec<u8>,
}

/// A document that enough authorities signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// Its file.
    pub file: Vec<u8>,
    /// How many signed.
    pub signatures: usize,
}

impl Ceremony {
    /// A round of which nothing is known yet.
    pub fn new(roster: Roster, network: &str, round: Round) -> Self {
        Self {
            roster,
            round,
            network: network.to_owned(),
            votes: BTreeMap::new(),
            earlier: BTreeMap::new(),
            descriptors: CheckedDescriptors::default(),
            sightings: BTreeMap::new(),
            preparations: BTreeMap::new(),
            signed: BTreeMap::new(),
            taken: 0,
        }
    }

    /// How often something new was taken: what is given to the others is the same as long as this.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// Which round it is.
    pub const fn round(&self) -> Round {
        self.round
    }

    /// Takes a vote, one's own as well, and the earlier votes that it names of those that are
    /// offered. `true` if it is new.
    ///
    /// # Errors
    /// See [`VoteError`]. Whoever sent it need not be who made it.
    pub fn take_vote(&mut self, phase: Phase, file: &[u8], offered: &Offered<'_>) -> Result<bool, VoteError> {
        let digest = Digest::of_vote(file);
        if self.votes.values().flatten().any(|held| held.digest == digest) {
            return Ok(false);
        }
        if phase > Phase::Sighting {
            return Err(VoteError::Late);
        }
        // Reading a vote takes a signature for each of its nodes: who has said enough is not read.
        let signer = SignedStatement::parse(file).ok().and_then(|statement| statement.signer());
        if signer.and_then(|id| self.votes.get(&id)).is_some_and(|held| held.len() == VOTES_EACH) {
            return Err(VoteError::TooMany);
        }
        let (key, vote) = OpenedVote::open(file, &self.roster)?;
        self.check_round(vote.round)?;
        if vote.draft.network_name != self.network {
            return Err(VoteError::Malformed("of another network"));
        }
        let in_time = phase == Phase::Voting;
        if !in_time && !self.is_seen(key.id(), digest) {
            return Err(VoteError::Late);
        }
        // Whoever has other authorities in its configuration may find it sound: the vote counts.
        let seen = vote.evidence.as_ref().and_then(|evidence| evidence.open(self.round, &self.roster));
        let named = vote.evidence.as_ref().filter(|_| seen.is_some()).map(|evidence| evidence.votes.clone());
        let named = named.unwrap_or_default();
        let files = self.named(&named, offered)?;
        vote.checked(&mut self.descriptors)?;
        // From here on the vote is held: evidence that turns out unsound is looked at once.
        let evidence = seen.map(|seen| self.hold_evidence(&seen, named, files));
        let held = self.votes.entry(key.id()).or_default();
        held.push(HeldVote { digest, file: file.to_vec(), in_time, evidence });
        self.taken += 1;
        Ok(true)
    }

    /// The files of earlier votes that are not held, if all are there.
    fn named<'t>(
        &self,
        named: &[Digest],
        offered: &Offered<'t>,
    ) -> Result<Vec<(Digest, &'t [u8])>, VoteError> {
        let (mut files, mut len) = (Vec::new(), 0);
        for digest in named {
            if let Some(held) = self.earlier.get(digest) {
                len += held.file.len();
            } else {
                let file = *offered.0.get(digest).ok_or(VoteError::Incomplete)?;
                len += file.len();
                files.push((*digest, file));
            }
        }
        if len > MAX_EVIDENCE_LEN {
            return Err(VoteError::Malformed("length of evidence"));
        }
        Ok(files)
    }

    fn hold_evidence(
        &mut self,
        seen: &Seen,
        named: Vec<Digest>,
        files: Vec<(Digest, &[u8])>,
    ) -> HeldEvidence {
        for (digest, file) in files {
            let cast = Cast::of(file, &self.network, &self.roster, &mut self.descriptors);
            self.earlier.insert(digest, EarlierVote { file: file.to_vec(), cast });
        }
        let votes = named.iter().filter_map(|digest| Some((*digest, self.earlier.get(digest)?.cast)));
        let counted = seen.counted(&votes.collect(), &self.roster).unwrap_or_default();
        HeldEvidence { named, counted }
    }

    /// Takes what an authority saw. `true` if it is new.
    ///
    /// # Errors
    /// As [`take_vote`](Self::take_vote).
    pub fn take_sighting(&mut self, phase: Phase, file: &[u8]) -> Result<bool, VoteError> {
        if self.sightings.values().flatten().any(|(_, held)| held == file) {
            return Ok(false);
        }
        if phase > Phase::Sighting {
            return Err(VoteError::Late);
        }
        let (key, sighting) = Sighting::verify(file, &self.roster)?;
        self.check_round(sighting.round)?;
        let held = self.sightings.entry(key.id()).or_default();
        if held.len() == SAID_EACH {
            return Err(VoteError::TooMany);
        }
        held.push((sighting, file.to_vec()));
        self.taken += 1;
        Ok(true)
    }

    /// Takes what an authority counted. `true` if it is new.
    ///
    /// # Errors
    /// As [`take_vote`](Self::take_vote).
    pub fn take_preparation(&mut self, file: &[u8]) -> Result<bool, VoteError> {
        if self.preparations.values().flatten().any(|(_, held)| held == file) {
            return Ok(false);
        }
        let signer = SignedStatement::parse(file).ok().and_then(|statement| statement.signer());
        if signer.and_then(|id| self.preparations.get(&id)).is_some_and(|held| held.len() == SAID_EACH) {
            return Err(VoteError::TooMany);
        }
        let (key, preparation) = Preparation::verify(file, &self.roster)?;
        self.check_round(preparation.round)?;
        self.preparations.entry(key.id()).or_default().push((preparation, file.to_vec()));
        self.taken += 1;
        Ok(true)
    }

    /// Whether an authority may say that it counted it: it promised nothing yet, or this.
    pub fn may_prepare(counted: &Counted, promised: Option<Digest>) -> bool {
        let document = Digest::of_document(&counted.payload);
        counted.evidence.is_some() && promised.is_none_or(|promised| promised == document)
    }

    /// Whether it may promise and sign it: k authorities prepared it, and nothing else. No other
    /// document of this round is prepared by as many, unless 2k − n of them said both. What was
    /// promised before is signed again: the others may need this signature alone.
    pub fn may_sign(&self, counted: &Counted, promised: Option<Digest>) -> bool {
        let document = Digest::of_document(&counted.payload);
        let enough = || self.prepared(document) >= usize::from(self.roster.threshold());
        promised == Some(document) || Self::may_prepare(counted, promised) && enough()
    }

    /// How many prepared this document, and nothing else.
    fn prepared(&self, document: Digest) -> usize {
        let is_of = |held: &&Vec<(Preparation, Vec<u8>)>| {
            held.iter().all(|(preparation, _)| preparation.document == document)
        };
        self.preparations.values().filter(is_of).count()
    }

    /// Who prepared two documents in this round.
    pub fn twofold(&self) -> Vec<KeyId> {
        let differ = |held: &[(Preparation, Vec<u8>)]| matches!(held, [(one, _), (other, _)] if one != other);
        self.preparations.iter().filter(|(_, held)| differ(held)).map(|(id, _)| *id).collect()
    }

    /// Takes a document of the epoch with one signature or several. `true` if one is new.
    ///
    /// # Errors
    /// As [`take_vote`](Self::take_vote).
    pub fn take_signed(&mut self, file: &[u8]) -> Result<bool, VoteError> {
        let wrong = VoteError::Malformed;
        if file.len() > MAX_VOTE_LEN {
            return Err(wrong("length of a document"));
        }
        let document = SignedDocument::parse(file).map_err(|_| wrong("document"))?;
        let payload = document.payload();
        let digest = Digest::of_document(payload);
        // A liar can make up documents without end: one of each authority is enough.
        let known = |id: KeyId| self.signed.values().any(|signed| signed.signatures.contains_key(&id));
        let new: Vec<_> = document
            .signatures()
            .filter(|(id, _)| self.roster.find(*id).is_some() && !known(*id))
            .map(|(id, signature)| (id, *signature))
            .collect();
        if new.is_empty() {
            return Ok(false);
        }
        // Before what it says is read: to read takes long, and a key's id is easily written.
        let one = Authorities::new(self.roster.keys(), 1).map_err(|_| VoteError::Stranger)?;
        let read = document.authenticate(&one).map_err(|_| VoteError::Stranger)?.read();
        // Documents of other epochs are public: they would be in the place of this one's
        // signatures.
        let of_round = |read: &VerifiedDocument<'_>| {
            (read.epoch(), read.network_name()) == (self.round.epoch, &self.network)
        };
        if !read.as_ref().is_ok_and(of_round) {
            return Err(wrong("document of another epoch"));
        }
        let known = self.signed.get(&digest).map(|signed| signed.signatures.clone()).unwrap_or_default();
        let mut out = vec![0; payload.len() + document_len_limit(0, self.roster.len())];
        let mut builder = DocumentBuilder::of_payload(&mut out, payload).map_err(|_| wrong("document"))?;
        let before = known.len();
        let mut signatures = BTreeMap::new();
        // In the order of their ids, as all have them.
        for (id, signature) in known.into_iter().chain(new).collect::<BTreeMap<_, _>>() {
            let signed = self.roster.find(id).is_some_and(|key| builder.attach(key, &signature).is_ok());
            if signed {
                signatures.insert(id, signature);
            }
        }
        if signatures.len() == before {
            return Err(VoteError::Stranger);
        }
        let file = builder.finish().map_err(|_| wrong("document"))?.to_vec();
        self.signed.insert(digest, Signed { signatures, file });
        self.taken += 1;
        Ok(true)
    }

    fn check_round(&self, round: Round) -> Result<(), VoteError> {
        if round == self.round {
            return Ok(());
        }
        Err(VoteError::OtherRound { epoch: round.epoch, attempt: round.attempt })
    }

    /// Whether another authority than its own had the vote in time.
    fn is_seen(&self, own: KeyId, vote: Digest) -> bool {
        let mut others = self.sightings.iter().filter(|(id, _)| **id != own).flat_map(|(_, held)| held);
        others.any(|(sighting, _)| sighting.votes.contains(&vote))
    }

    /// What this authority saw while votes were taken.
    pub fn sighting(&self) -> Sighting {
        let votes: BTreeSet<_> =
            self.votes.values().flatten().filter(|held| held.in_time).map(|held| held.digest).collect();
        Sighting { round: self.round, votes: votes.into_iter().collect() }
    }

    /// The document, once enough authorities have signed the same one, with all their signatures in
    /// the order of their ids.
    pub fn agreed(&self) -> Option<Agreed> {
        let enough = |signed: &&Signed| signed.signatures.len() >= usize::from(self.roster.threshold());
        let signed = self.signed.values().find(enough)?;
        Some(Agreed { file: signed.file.clone(), signatures: signed.signatures.len() })
    }

    /// Who signed another document than the one that was counted. Whoever showed why is none of
    /// them, nor is one that says again what it said in an earlier round: it cannot sign another.
    /// Nobody is, where so few are known to have prepared what was counted that k may have prepared
    /// another.
    pub fn dissenters(&self, counted: &Counted, earlier: &[Self]) -> Vec<KeyId> {
        let own = Digest::of_document(&counted.payload);
        if self.roster.len() - self.prepared(own) >= usize::from(self.roster.threshold()) {
            return Vec::new();
        }
        let others = self.signed.iter().filter(|(other, _)| **other != own && !counted.shown.contains(other));
        let signed = others.flat_map(|(other, signed)| signed.signatures.keys().map(move |id| (other, *id)));
        let is_earlier =
            |other: &&Self| other.round.epoch == self.round.epoch && other.round.attempt < self.round.attempt;
        let repeats = |document: &Digest, id: KeyId| {
            let mut before = earlier.iter().filter(is_earlier).filter_map(|other| other.signed.get(document));
            before.any(|signed| signed.signatures.contains_key(&id))
        };
        signed.filter(|(document, id)| !repeats(document, *id)).map(|(_, id)| id).collect()
    }

    /// All that was said in this round, to be given to the others: earlier votes before those that
    /// name them, and sightings before the votes that count because of them.
    pub fn statements(&self) -> impl Iterator<Item = Said<'_>> {
        let earlier = self.earlier.values().map(|vote| Said::EarlierVote(&vote.file));
        let sightings = self.sightings.values().flatten().map(|(_, file)| Said::Sighting(file));
        let votes = self.votes.values().flatten().map(|held| Said::Vote(&held.file));
        let preparations = self.preparations.values().flatten().map(|(_, file)| Said::Preparation(file));
        earlier.chain(sightings).chain(votes).chain(preparations)
    }

    /// Documents with the signatures that are known of them.
    pub fn signed_documents(&self) -> impl Iterator<Item = &[u8]> {
        self.signed.values().map(|signed| &signed.file[..])
    }
}

/// Something that an authority said in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'c> {
    /// What it saw.
    Sighting(&'c [u8]),
    /// Its vote.
    Vote(&'c [u8]),
    /// Its vote in an earlier round, which votes of this one name.
    EarlierVote(&'c [u8]),
    /// Which document it counted.
    Preparation(&'c [u8]),
}

/// Signs a document's payload. Whoever calls this has written down that it does.
///
/// # Errors
/// The payload is not one of a document.
pub fn sign_document(payload: &[u8], secret: &AuthoritySecret) -> Result<Vec<u8>, BuildError> {
    let mut out = vec![0; payload.len() + document_len_limit(0, 1)];
    let mut builder = DocumentBuilder::of_payload(&mut out, payload)?;
    builder.sign(secret)?;
    builder.finish().map(<[u8]>::to_vec)
}
