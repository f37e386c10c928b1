//! What an authority would put into a document, and what it saw of the others.
//! `docs/spec/authority.md` is normative for the bytes.

use std::collections::HashSet;

use blake2::{Blake2s256, Digest as _};
use minicbor::data::Type;
use minicbor::{Decoder, Encoder};
use motemix_directory::{
    AuthorityKey, AuthoritySecret, BuildError, Descriptor, Draft, Epoch, Label, MAX_DESCRIPTOR_LEN,
    MAX_DRAFT_LEN, MAX_LAYERS, MAX_NODES, Role, STATEMENT_OVERHEAD, SignedDescriptor, SignedStatement,
    sign_statement,
};

use crate::evidence::{Evidence, Reference};
use crate::roster::Roster;

/// The format's version.
const VERSION: u64 = 1;

/// The most that a signed vote has, in bytes: some 800 nodes with keys of 72 epochs each.
///
/// Without a bound a vote could fill a transcript, and who gave it to some of the others would keep
/// these from hearing each other.
pub const MAX_VOTE_LEN: usize = 2 << 20;

/// What a payload or a vote is known by: BLAKE2s-256 with a label before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// That of a document's payload.
    pub fn of_document(payload: &[u8]) -> Self {
        Self::labelled(b"motemix/1 document digest", payload)
    }

    /// That of a signed vote.
    pub fn of_vote(file: &[u8]) -> Self {
        Self::labelled(b"motemix/1 vote digest", file)
    }

    fn labelled(label: &[u8], bytes: &[u8]) -> Self {
        Self(Blake2s256::new().chain_update(label).chain_update(bytes).finalize().into())
    }
}

/// One try to agree on the document of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round {
    /// The epoch of the document.
    pub epoch: Epoch,
    /// Counts the tries of all epochs: seconds since 1970 by the length of one.
    pub attempt: u64,
}

/// A node that an authority would have in the network.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'v> {
    /// What it should do there.
    pub role: Role,
    /// What it says of itself.
    pub descriptor: Descriptor<'v>,
    /// The same as it was signed.
    pub file: &'v [u8],
}

/// What one authority would put into the document of an epoch.
#[derive(Debug, Clone)]
pub struct Vote<'v> {
    /// For which round.
    pub round: Round,
    /// The latest document before that epoch that it has.
    pub previous: Option<(Epoch, Digest)>,
    /// All but the nodes.
    pub draft: Draft<'v>,
    /// `draft` as it was encoded: two of them are the same if these bytes are.
    pub encoded_draft: &'v [u8],
    /// The nodes, in the order of their identities.
    pub candidates: Vec<Candidate<'v>>,
    /// Why its authority promised a document of the epoch in an earlier round, if it did.
    pub evidence: Option<Reference<'v>>,
}

/// A vote that one of the authorities signed, before what it says of nodes is checked: that takes a
/// signature for each of them.
#[derive(Debug)]
pub(crate) struct OpenedVote<'v> {
    pub(crate) round: Round,
    previous: Option<(Epoch, Digest)>,
    pub(crate) draft: Draft<'v>,
    encoded_draft: &'v [u8],
    nodes: Vec<(Role, &'v [u8])>,
    pub(crate) evidence: Option<Reference<'v>>,
}

/// A vote that is to be written.
#[derive(Debug, Clone)]
pub struct NewVote<'v> {
    /// For which try.
    pub attempt: u64,
    /// The latest document before that epoch.
    pub previous: Option<(Epoch, Digest)>,
    /// All but the nodes.
    pub draft: Draft<'v>,
    /// Roles and descriptors whose signatures were checked, in any order; each identity once.
    pub candidates: Vec<(Role, &'v [u8])>,
    /// Why its authority promised a document of the epoch in an earlier round, if it did.
    pub evidence: Option<&'v Evidence>,
}

/// Why a vote cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VoteError {
    /// The bytes are not a vote of version 1.
    #[error("not a vote of version 1 ({0})")]
    Malformed(&'static str),
    /// None of the authorities signed it.
    #[error("not signed by an authority of this network")]
    Stranger,
    /// It is for another round than the one that is on.
    #[error("for attempt {attempt} at epoch {epoch}, which is not on")]
    OtherRound {
        /// The epoch that it is for.
        epoch: Epoch,
        /// The attempt.
        attempt: u64,
    },
    /// It came when votes were no longer taken.
    #[error("too late")]
    Late,
    /// Its authority has said enough in this round.
    #[error("one of too many of its authority")]
    TooMany,
    /// It names votes of an earlier round that did not come with it.
    #[error("without the earlier votes that it names")]
    Incomplete,
}

impl NewVote<'_> {
    /// Encodes and signs it.
    ///
    /// # Errors
    /// The draft is one that no node would follow.
    pub fn sign(&self, secret: &AuthoritySecret) -> Result<Vec<u8>, BuildError> {
        let mut draft = [0; MAX_DRAFT_LEN];
        let draft = self.draft.encode(&mut draft)?;
        let mut candidates: Vec<_> = self
            .candidates
            .iter()
            .filter_map(|(role, file)| Some((described_before(file)?.identity, *role, *file)))
            .collect();
        candidates.sort_unstable_by_key(|(identity, ..)| *identity);
        candidates.dedup_by_key(|(identity, ..)| *identity);
        let mut payload = Vec::new();
        // Writing to a vector cannot fail.
        let _ = self.write(&mut payload, draft, &candidates);
        let mut out = vec![0; payload.len() + STATEMENT_OVERHEAD];
        sign_statement(&mut out, Label::Vote, &payload, secret).map(<[u8]>::to_vec)
    }

    fn write<I>(
        &self,
        out: &mut Vec<u8>,
        draft: &[u8],
        candidates: &[(I, Role, &[u8])],
    ) -> Result<(), minicbor::encode::Error<std::convert::Infallible>> {
        let mut out = Encoder::new(out);
        out.array(5 + u64::from(self.evidence.is_some()))?.u64(VERSION)?.u64(self.attempt)?;
        match self.previous {
            Some((epoch, digest)) => out.array(2)?.u32(epoch.0)?.bytes(&digest.0)?,
            None => out.null()?,
        };
        out.bytes(draft)?.array(candidates.len() as u64)?;
        for (_, role, file) in candidates {
            out.array(2)?;
            match role {
                Role::Mix { layer } => out.u8(*layer)?,
                Role::Endpoint => out.null()?,
            };
            out.bytes(file)?;
        }
        self.evidence.map_or(Ok(()), |evidence| evidence.reference().write(&mut out))
    }
}

/// What a node says of itself, if it signed it, and if it is no longer than what a vote may have:
/// whoever took a longer one would have its votes refused.
pub(crate) fn described(file: &[u8]) -> Option<Descriptor<'_>> {
    if file.len() > MAX_DESCRIPTOR_LEN {
        return None;
    }
    SignedDescriptor::parse(file).ok()?.verify().ok()
}

/// The same of a file whose signature was checked before.
fn described_before(file: &[u8]) -> Option<Descriptor<'_>> {
    if file.len() > MAX_DESCRIPTOR_LEN {
        return None;
    }
    SignedDescriptor::parse(file).ok()?.unverified().ok()
}

/// Descriptors whose signatures were checked. Votes have most of them in common, those of a round
/// as well as those that evidence names.
#[derive(Debug, Default)]
pub(crate) struct CheckedDescriptors(HashSet<Digest>);

impl CheckedDescriptors {
    fn described<'f>(&mut self, file: &'f [u8]) -> Option<Descriptor<'f>> {
        let digest = Digest::labelled(b"motemix/1 descriptor digest", file);
        if self.0.contains(&digest) {
            return described_before(file);
        }
        let descriptor = described(file)?;
        self.0.insert(digest);
        Some(descriptor)
    }
}

impl<'v> Vote<'v> {
    /// Reads a vote and checks who signed it. What is said of nodes is checked as well: nobody can
    /// vote for what a node did not say.
    ///
    /// # Errors
    /// [`VoteError::Malformed`] or [`VoteError::Stranger`].
    pub fn verify(file: &'v [u8], roster: &Roster) -> Result<(AuthorityKey, Self), VoteError> {
        let (key, vote) = OpenedVote::open(file, roster)?;
        Ok((key, vote.checked(&mut CheckedDescriptors::default())?))
    }

    /// Reads a vote that was verified before.
    pub(crate) fn verified_before(file: &'v [u8], roster: &Roster) -> Option<(AuthorityKey, Self)> {
        let (key, vote) = OpenedVote::open(file, roster).ok()?;
        Some((key, vote.of(described_before).ok()?))
    }
}

impl<'v> OpenedVote<'v> {
    /// Reads a vote and checks who signed it, and no other signature.
    pub(crate) fn open(file: &'v [u8], roster: &Roster) -> Result<(AuthorityKey, Self), VoteError> {
        if file.len() > MAX_VOTE_LEN {
            return Err(VoteError::Malformed("length"));
        }
        let (key, payload) = opened(file, roster, Label::Vote)?;
        Ok((key, Self::read(payload)?))
    }

    fn read(payload: &'v [u8]) -> Result<Self, VoteError> {
        let malformed = VoteError::Malformed;
        let mut reader = Decoder::new(payload);
        let wrong = |_| malformed("CBOR");
        let fields = reader.array().map_err(wrong)?;
        if !matches!(fields, Some(5 | 6)) || reader.u64().map_err(wrong)? != VERSION {
            return Err(malformed("version"));
        }
        let attempt = reader.u64().map_err(wrong)?;
        let previous = if reader.datatype().map_err(wrong)? == Type::Null {
            reader.null().map_err(wrong)?;
            None
        } else {
            if reader.array().map_err(wrong)? != Some(2) {
                return Err(malformed("previous document"));
            }
            let epoch = Epoch(reader.u32().map_err(wrong)?);
            let digest = reader.bytes().map_err(wrong)?.try_into();
            Some((epoch, Digest(digest.map_err(|_| malformed("previous document"))?)))
        };
        let encoded_draft = reader.bytes().map_err(wrong)?;
        let draft = Draft::parse(encoded_draft).map_err(|_| malformed("draft"))?;
        let count = reader.array().map_err(wrong)?.filter(|count| *count <= MAX_NODES as u64);
        let count = count.ok_or(malformed("number of nodes"))?;
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(Self::node(&mut reader, wrong)?);
        }
        let evidence = match fields {
            Some(6) => Some(Reference::read(&mut reader).ok_or(malformed("evidence"))?),
            _ => None,
        };
        if reader.position() != payload.len() {
            return Err(malformed("end"));
        }
        let round = Round { epoch: draft.epoch, attempt };
        Ok(Self { round, previous, draft, encoded_draft, nodes, evidence })
    }

    fn node(
        reader: &mut Decoder<'v>,
        wrong: impl Fn(minicbor::decode::Error) -> VoteError + Copy,
    ) -> Result<(Role, &'v [u8]), VoteError> {
        let malformed = VoteError::Malformed;
        if reader.array().map_err(wrong)? != Some(2) {
            return Err(malformed("node"));
        }
        let role = if reader.datatype().map_err(wrong)? == Type::Null {
            reader.null().map_err(wrong)?;
            Role::Endpoint
        } else {
            let layer = reader.u8().map_err(wrong)?;
            if layer >= MAX_LAYERS {
                return Err(malformed("layer"));
            }
            Role::Mix { layer }
        };
        let file = reader.bytes().map_err(wrong)?;
        if file.len() > MAX_DESCRIPTOR_LEN {
            return Err(malformed("length of a descriptor"));
        }
        Ok((role, file))
    }

    /// The vote, if each of its nodes said of itself what the vote has.
    pub(crate) fn checked(self, known: &mut CheckedDescriptors) -> Result<Vote<'v>, VoteError> {
        self.of(|file| known.described(file))
    }

    fn of(
        self,
        mut described: impl FnMut(&'v [u8]) -> Option<Descriptor<'v>>,
    ) -> Result<Vote<'v>, VoteError> {
        let malformed = VoteError::Malformed;
        let Self { round, previous, draft, encoded_draft, nodes, evidence } = self;
        let mut candidates: Vec<Candidate<'v>> = Vec::with_capacity(nodes.len());
        for (role, file) in nodes {
            let descriptor = described(file).ok_or(malformed("descriptor"))?;
            if candidates.last().is_some_and(|last| last.descriptor.identity >= descriptor.identity) {
                return Err(malformed("order of nodes"));
            }
            if descriptor.network_name != draft.network_name {
                return Err(malformed("node of another network"));
            }
            candidates.push(Candidate { role, descriptor, file });
        }
        Ok(Vote { round, previous, draft, encoded_draft, candidates, evidence })
    }
}

/// Which votes of a round an authority had in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The round.
    pub round: Round,
    /// The votes, at most two of each authority, in ascending order.
    pub votes: Vec<Digest>,
}

impl Sighting {
    /// Encodes and signs it.
    ///
    /// # Errors
    /// Never, with memory for it.
    pub fn sign(&self, secret: &AuthoritySecret) -> Result<Vec<u8>, BuildError> {
        let mut payload = Vec::new();
        // Writing to a vector cannot fail.
        let _ = self.write(&mut payload);
        let mut out = vec![0; payload.len() + STATEMENT_OVERHEAD];
        sign_statement(&mut out, Label::Sighting, &payload, secret).map(<[u8]>::to_vec)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), minicbor::encode::Error<std::convert::Infallible>> {
        let mut out = Encoder::new(out);
        out.array(4)?.u64(VERSION)?.u32(self.round.epoch.0)?.u64(self.round.attempt)?;
        out.array(self.votes.len() as u64)?;
        for vote in &self.votes {
            out.bytes(&vote.0)?;
        }
        Ok(())
    }

    /// Reads a sighting and checks who signed it.
    ///
    /// # Errors
    /// [`VoteError::Malformed`] or [`VoteError::Stranger`].
    pub fn verify(file: &[u8], roster: &Roster) -> Result<(AuthorityKey, Self), VoteError> {
        let (key, payload) = opened(file, roster, Label::Sighting)?;
        let sighting = Self::read(payload, roster).ok_or(VoteError::Malformed("sighting"))?;
        Ok((key, sighting))
    }

    fn read(payload: &[u8], roster: &Roster) -> Option<Self> {
        let mut reader = Decoder::new(payload);
        if reader.array().ok()? != Some(4) || reader.u64().ok()? != VERSION {
            return None;
        }
        let round = Round { epoch: Epoch(reader.u32().ok()?), attempt: reader.u64().ok()? };
        let count = reader.array().ok()?.filter(|count| *count <= 2 * roster.len() as u64)?;
        let votes: Vec<_> =
            (0..count).map_while(|_| Some(Digest(reader.bytes().ok()?.try_into().ok()?))).collect();
        let whole = votes.len() as u64 == count && reader.position() == payload.len();
        (whole && votes.is_sorted_by(|one, next| one < next)).then_some(Self { round, votes })
    }
}

/// Which document of a round an authority counted, and could sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preparation {
    /// The round.
    pub round: Round,
    /// The document.
    pub document: Digest,
}

impl Preparation {
    /// Encodes and signs it.
    ///
    /// # Errors
    /// Never, with memory for it.
    pub fn sign(&self, secret: &AuthoritySecret) -> Result<Vec<u8>, BuildError> {
        let mut payload = Vec::new();
        // Writing to a vector cannot fail.
        let _ = self.write(&mut payload);
        let mut out = vec![0; payload.len() + STATEMENT_OVERHEAD];
        sign_statement(&mut out, Label::Preparation, &payload, secret).map(<[u8]>::to_vec)
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), minicbor::encode::Error<std::convert::Infallible>> {
        let mut out = Encoder::new(out);
        out.array(4)?.u64(VERSION)?.u32(self.round.epoch.0)?.u64(self.round.attempt)?;
        out.bytes(&self.document.0)?;
        Ok(())
    }

    /// Reads a preparation and checks who signed it.
    ///
    /// # Errors
    /// [`VoteError::Malformed`] or [`VoteError::Stranger`].
    pub fn verify(file: &[u8], roster: &Roster) -> Result<(AuthorityKey, Self), VoteError> {
        let (key, payload) = opened(file, roster, Label::Preparation)?;
        let preparation = Self::read(payload).ok_or(VoteError::Malformed("preparation"))?;
        Ok((key, preparation))
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let mut reader = Decoder::new(payload);
        if reader.array().ok()? != Some(4) || reader.u64().ok()? != VERSION {
            return None;
        }
        let round = Round { epoch: Epoch(reader.u32().ok()?), attempt: reader.u64().ok()? };
        let document = Digest(reader.bytes().ok()?.try_into().ok()?);
        (reader.position() == payload.len()).then_some(Self { round, document })
    }
}

/// The payload of a statement, and who of the roster signed it.
fn opened<'f>(file: &'f [u8], roster: &Roster, label: Label) -> Result<(AuthorityKey, &'f [u8]), VoteError> {
    let statement = SignedStatement::parse(file).map_err(|_| VoteError::Malformed("envelope"))?;
    let key = statement.signer().and_then(|id| roster.find(id)).ok_or(VoteError::Stranger)?;
    let payload = statement.payload_by(key, label).ok_or(VoteError::Stranger)?;
    Ok((*key, payload))
}
