//! A document on its way from bytes to something that a node acts on.

use crate::authority::{Authorities, KeyId};
use crate::contents::{Contents, Draft};
use crate::envelope::Envelope;
use crate::error::DocumentError;
use crate::node::{DocumentNode, Nodes};
use crate::parameters::Parameters;
use crate::profile::ProfileName;
use crate::signature::Label;
use crate::topology::{Entry, Topology, TopologyError};
use crate::types::MAX_SIGNATURES;
use motemix_time::{Epoch, UnixTime};

/// Bytes in the shape of a signed document. Nothing of what they say is known to be true.
#[derive(Clone, Copy, Debug)]
pub struct SignedDocument<'a>(Envelope<'a>);

impl<'a> SignedDocument<'a> {
    /// Takes the envelope apart: payload and signatures. Work is linear in their number (at most
    /// 16); the payload is left alone.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`].
    pub fn parse(file: &'a [u8]) -> Result<Self, DocumentError> {
        Envelope::parse(file, MAX_SIGNATURES as u32).map(Self)
    }

    /// The payload, for comparison with another authority's. Unverified.
    pub fn payload(&self) -> &'a [u8] {
        self.0.payload
    }

    /// The signatures with the keys they name, to be collected from several copies. Unverified.
    pub fn signatures(&self) -> impl Iterator<Item = (KeyId, &'a [u8; 64])> + use<'a> {
        self.0.signatures()
    }

    /// Counts the distinct authorities that signed, then checks every field of the payload.
    ///
    /// # Errors
    /// Those of [`authenticate`](Self::authenticate) and of [`AuthenticDocument::read`].
    pub fn verify(self, authorities: &Authorities<'_>) -> Result<VerifiedDocument<'a>, DocumentError> {
        self.authenticate(authorities)?.read()
    }

    /// Counts the distinct authorities that signed. The fields are to be read after that, so that
    /// unsigned bytes cost little.
    ///
    /// Signatures by keys that are not among the authorities are passed over, so that an authority
    /// can be added before every node knows it. One signature of each authority is verified, the
    /// first, until enough are valid or too few can be: of 2 of 3 authorities, three signatures at
    /// most, and two of a file that is signed by none of them.
    ///
    /// # Errors
    /// [`DocumentError::TooFewSignatures`].
    // Not inlined: on a board nothing else may lie on the stack beneath the points of a signature.
    #[inline(never)]
    pub fn authenticate(self, authorities: &Authorities<'_>) -> Result<AuthenticDocument<'a>, DocumentError> {
        let needed = authorities.threshold();
        let mut tried = [false; MAX_SIGNATURES];
        let (mut valid, mut invalid) = (0, 0);
        for (id, signature) in self.signatures() {
            let Some((index, key)) = authorities.find(id) else { continue };
            let Some(seen @ false) = tried.get_mut(index) else { continue };
            *seen = true;
            if key.verifies(&self.0.signed_parts(Label::Document), signature) {
                valid += 1;
            } else {
                invalid += 1;
            }
            if valid == needed {
                let Envelope { payload, payload_offset, .. } = self.0;
                return Ok(AuthenticDocument { payload, payload_offset });
            }
            if invalid > authorities.dispensable() {
                break;
            }
        }
        Err(DocumentError::TooFewSignatures { valid, invalid, needed })
    }
}

/// Bytes that enough authorities signed.
#[derive(Clone, Copy, Debug)]
pub struct AuthenticDocument<'a> {
    payload: &'a [u8],
    payload_offset: usize,
}

impl<'a> AuthenticDocument<'a> {
    /// Checks every field of the payload.
    ///
    /// # Errors
    /// [`DocumentError::Malformed`]: the authorities signed what is not a document.
    pub fn read(self) -> Result<VerifiedDocument<'a>, DocumentError> {
        Ok(VerifiedDocument { contents: Contents::read(self.payload, self.payload_offset)? })
    }
}

/// What the authorities say, perhaps about another time.
#[derive(Clone, Debug)]
pub struct VerifiedDocument<'a> {
    contents: Contents<'a>,
}

impl<'a> VerifiedDocument<'a> {
    /// The epoch that it is about.
    pub fn epoch(&self) -> Epoch {
        self.contents.draft.epoch
    }

    /// The first second in which it may be used.
    pub fn valid_after(&self) -> UnixTime {
        self.contents.draft.valid_after
    }

    /// The first second in which it may no longer be used.
    pub fn valid_until(&self) -> UnixTime {
        self.contents.draft.valid_until
    }

    /// The network's name; the caller compares it with the one configured.
    pub fn network_name(&self) -> &'a str {
        self.contents.draft.network_name
    }

    /// Admits the document for use at `now`. `newest_seen` is the newest epoch ever admitted, which
    /// the caller keeps across restarts; the same epoch may be admitted again.
    ///
    /// # Errors
    /// [`DocumentError::RolledBack`], [`DocumentError::NotYetValid`] or [`DocumentError::Expired`].
    pub fn admit(
        self,
        now: UnixTime,
        newest_seen: Option<Epoch>,
    ) -> Result<NetworkDocument<'a>, DocumentError> {
        self.admit_within(now, 0, newest_seen)
    }

    /// Admits the document of a neighbouring epoch for forwarding packets of that epoch: up to
    /// `overlap` before and after its time, and one epoch behind the newest seen. Never create
    /// packets from it.
    ///
    /// # Errors
    /// As [`VerifiedDocument::admit`].
    pub fn admit_neighbour(
        self,
        now: UnixTime,
        newest_seen: Option<Epoch>,
    ) -> Result<NetworkDocument<'a>, DocumentError> {
        let overlap = self.contents.draft.parameters.overlap.as_secs();
        self.admit_within(now, overlap, newest_seen.map(|Epoch(newest)| Epoch(newest.saturating_sub(1))))
    }

    fn admit_within(
        self,
        now: UnixTime,
        overlap: u64,
        newest_seen: Option<Epoch>,
    ) -> Result<NetworkDocument<'a>, DocumentError> {
        let Draft { epoch, valid_after, valid_until, .. } = self.contents.draft;
        if let Some(newest_seen) = newest_seen.filter(|newest| epoch < *newest) {
            return Err(DocumentError::RolledBack { epoch, newest_seen });
        }
        let from = UnixTime(valid_after.0.saturating_sub(overlap));
        let at = UnixTime(valid_until.0.saturating_add(overlap));
        if now < from {
            return Err(DocumentError::NotYetValid { from, now });
        }
        if now >= at {
            return Err(DocumentError::Expired { at, now });
        }
        Ok(NetworkDocument { contents: self.contents })
    }
}

/// The network of an epoch: signed by enough authorities, of this time, not rolled back.
#[derive(Clone, Debug)]
pub struct NetworkDocument<'a> {
    contents: Contents<'a>,
}

impl<'a> NetworkDocument<'a> {
    /// The epoch that it is about.
    pub fn epoch(&self) -> Epoch {
        self.contents.draft.epoch
    }

    /// The first second in which it may be used.
    pub fn valid_after(&self) -> UnixTime {
        self.contents.draft.valid_after
    }

    /// The first second in which it may no longer be used.
    pub fn valid_until(&self) -> UnixTime {
        self.contents.draft.valid_until
    }

    /// The network's name; the caller compares it with the one configured.
    pub fn network_name(&self) -> &'a str {
        self.contents.draft.network_name
    }

    /// All that it says besides its nodes.
    pub fn draft(&self) -> Draft<'a> {
        self.contents.draft
    }

    /// The packet profile.
    pub fn profile(&self) -> ProfileName {
        self.contents.draft.profile
    }

    /// What all nodes must agree on.
    pub fn parameters(&self) -> Parameters {
        self.contents.draft.parameters
    }

    /// How many nodes there are, 1 to 16,384.
    pub fn node_count(&self) -> usize {
        self.contents.nodes.len()
    }

    /// How many ids there are, 1 to 16,384: as many as nodes, if no id is vacant.
    pub fn id_count(&self) -> usize {
        usize::from(self.contents.nodes.ids())
    }

    /// The nodes, in the order of their ids.
    pub fn nodes(&self) -> Nodes<'a> {
        self.contents.nodes.clone()
    }

    /// The node of that name. Reads the document from its beginning.
    pub fn find(&self, name: &str) -> Option<DocumentNode<'a>> {
        self.nodes().find(|node| node.name == name)
    }

    /// What paths are made of, in the order of ids; [`Entry::VACANT`] where an id has no node.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + Clone + use<'a> {
        let mut nodes = self.nodes().peekable();
        (0..self.contents.nodes.ids()).map(move |id| {
            let node = nodes.next_if(|node| node.id.get() == id);
            node.map_or(Entry::VACANT, |node| Entry { mix_key: node.mix_key, role: node.role })
        })
    }

    /// Copies what paths are made of into `entries`, 34 bytes an id.
    ///
    /// # Errors
    /// [`TopologyError::TooSmall`] if `entries` is shorter than [`NetworkDocument::id_count`].
    pub fn fill_entries<'t>(&self, entries: &'t mut [Entry]) -> Result<Topology<'t>, TopologyError> {
        let lent = entries.len();
        let (entries, _) = entries
            .split_at_mut_checked(self.id_count())
            .ok_or(TopologyError::TooSmall { needed: self.id_count(), lent })?;
        entries.iter_mut().zip(self.entries()).for_each(|(place, entry)| *place = entry);
        Topology::new(entries)
    }
}
