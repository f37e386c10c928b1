//! The network documents of a folder: which one is in force, and which comes next.
//!
//! What keeps a document from coming back from the past is the node's key file: it has no key for
//! an epoch before its own, and it moves on only when that epoch's successor was used.

mod folder;
mod outlook;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use motemix_crypto::PublicKey;
use motemix_directory::{
    Authorities, AuthorityKey, DocumentError, Entry, Epoch, NetworkDocument, Parameters, ProfileName, Role,
    SignedDocument, UnixTime, VerifiedDocument,
};
use motemix_sphinx::NodeId;

pub use folder::{Folder, listed};
pub use outlook::{Lasts, Outlook};

use crate::NodeConfig;

/// A folder of signed network documents, `<epoch>.cbor`.
#[derive(Debug)]
pub struct Documents {
    folder: Folder,
    authorities: Vec<AuthorityKey>,
    threshold: u8,
    /// The network's name.
    network: String,
    known: BTreeMap<Epoch, Known>,
}

/// What a file of the folder looks like from outside. Another one means that the file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    inode: u64,
    len: u64,
}

/// What is known of a file as long as it does not change.
#[derive(Debug)]
struct Known {
    stamp: Stamp,
    /// `None` if it is refused.
    times: Option<Times>,
}

#[derive(Debug, Clone, Copy)]
struct Times {
    valid_after: UnixTime,
    valid_until: UnixTime,
}

/// What a folder has for later epochs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Later {
    /// The latest epoch that is in force already.
    pub in_force: Option<Epoch>,
    /// The epoch that begins next, and when.
    pub next: Option<(Epoch, UnixTime)>,
    /// Until when there are documents, if there is a later one.
    pub signed_until: Option<UnixTime>,
    /// How many documents follow that of the epoch without a gap.
    pub following: u32,
    /// Until when these last, if there is one.
    pub covered_until: Option<UnixTime>,
}

/// A network document that has been admitted, in memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// The epoch that it is about.
    pub epoch: Epoch,
    /// The first second in which it may be used.
    pub valid_after: UnixTime,
    /// The first second in which it may no longer be used.
    pub valid_until: UnixTime,
    /// The network's name.
    pub name: String,
    /// The packet profile.
    pub profile: ProfileName,
    /// What all nodes agree on.
    pub parameters: Parameters,
    /// Who has which id; the index is the [`NodeId`].
    pub(crate) ids: Vec<Option<NetworkNode>>,
}

/// A node of a [`Network`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkNode {
    /// Its name.
    pub name: String,
    /// What it does for others.
    pub role: Role,
    /// Its X25519 key of the epoch.
    pub mix_key: PublicKey,
    /// One or two addresses, the preferred one first.
    pub addresses: Vec<SocketAddr>,
}

impl Network {
    /// The id of the node of that name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        let index = self.ids.iter().position(|node| node.as_ref().is_some_and(|node| node.name == name))?;
        NodeId::new(u16::try_from(index).ok()?)
    }

    /// The nodes, in the order of their ids.
    pub fn nodes(&self) -> impl Iterator<Item = &NetworkNode> {
        self.ids.iter().flatten()
    }

    /// What stands at each id, in their order: a node, or nobody.
    pub fn ids(&self) -> impl Iterator<Item = Option<&NetworkNode>> {
        self.ids.iter().map(Option::as_ref)
    }

    /// The node of that id.
    pub fn node(&self, id: NodeId) -> Option<&NetworkNode> {
        self.ids.get(usize::from(id.get()))?.as_ref()
    }

    /// What paths are made of, in the order of ids.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + Clone {
        self.ids.iter().map(|node| {
            node.as_ref().map_or(Entry::VACANT, |node| Entry { mix_key: node.mix_key, role: node.role })
        })
    }

    fn of(document: &NetworkDocument<'_>) -> Self {
        let mut ids = vec![None; document.id_count()];
        for node in document.nodes() {
            ids[usize::from(node.id.get())] = Some(NetworkNode {
                name: node.name.to_owned(),
                role: node.role,
                mix_key: node.mix_key,
                addresses: node.addresses.iter().collect(),
            });
        }
        Self {
            epoch: document.epoch(),
            valid_after: document.valid_after(),
            valid_until: document.valid_until(),
            name: document.network_name().to_owned(),
            profile: document.profile(),
            parameters: document.parameters(),
            ids,
        }
    }
}

impl Documents {
    /// No document yet.
    ///
    /// # Errors
    /// The authorities are unusable.
    pub fn open(config: &NodeConfig) -> Result<Self, DocumentsError> {
        let keys = config.authorities.iter().map(AuthorityKey::from_bytes).collect::<Result<Vec<_>, _>>();
        let authorities = keys
            .ok()
            .filter(|keys| Authorities::new(keys, config.threshold).is_ok())
            .ok_or_else(|| DocumentsError::new(&config.documents, DocumentsProblem::Authorities))?;
        Ok(Self {
            folder: Folder::new(&config.documents),
            authorities,
            threshold: config.threshold,
            network: config.network.clone(),
            known: BTreeMap::new(),
        })
    }

    /// The newest document of the folder that is in force at `now`, is not of an epoch before
    /// `oldest`, and that `accept` takes. Nothing is remembered of those that are refused: an
    /// older one may be right.
    ///
    /// # Errors
    /// There is none; the error is that of the newest document which is not for later.
    pub fn current<E: From<DocumentsError>>(
        &self,
        now: UnixTime,
        oldest: Epoch,
        mut accept: impl FnMut(&Network) -> Result<(), E>,
    ) -> Result<Network, E> {
        let (mut refused, mut for_later) = (None, None);
        for epoch in self.epochs()?.into_iter().rev() {
            // Those before it could only be refused as rolled back, one after the other.
            if epoch < oldest && (refused.is_some() || for_later.is_some()) {
                break;
            }
            match self.read(epoch, |document| Ok(Network::of(&document.admit(now, Some(oldest))?))) {
                Ok(network) => match accept(&network) {
                    Ok(()) => return Ok(network),
                    Err(error) => refused = refused.or(Some(error)),
                },
                Err(error) => match error.problem {
                    DocumentsProblem::Refused(DocumentError::NotYetValid { .. }) => for_later = Some(error),
                    _ => refused = refused.or(Some(error.into())),
                },
            }
        }
        let none = || DocumentsError::new(self.folder.path(), DocumentsProblem::Empty);
        Err(refused.unwrap_or_else(|| for_later.unwrap_or_else(none).into()))
    }

    /// The document of an epoch before the one in force, for packets that are still under way at
    /// `now`.
    ///
    /// # Errors
    /// It is not there, or is refused, or its overlap is over.
    pub fn earlier(&self, epoch: Epoch, now: UnixTime) -> Result<Network, DocumentsError> {
        self.read(epoch, |document| Ok(Network::of(&document.admit_neighbour(now, Some(epoch))?)))
    }

    /// When an epoch began, by its document, whether or not that is in force.
    pub fn beginning(&mut self, epoch: Epoch) -> Option<UnixTime> {
        self.times(epoch).map(|times| times.valid_after)
    }

    /// The latest epoch before `epoch` that has a document, whatever the time is.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn before(&mut self, epoch: Epoch) -> Result<Option<Epoch>, DocumentsError> {
        let earlier = self.epochs()?.into_iter().rev().filter(|other| *other < epoch);
        Ok(earlier.into_iter().find(|other| self.times(*other).is_some()))
    }

    /// What the folder has for epochs after `epoch`, but for one that was `refused`. A file is read
    /// again only when it has changed.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn later(
        &mut self,
        epoch: Epoch,
        refused: Option<Epoch>,
        now: UnixTime,
    ) -> Result<Later, DocumentsError> {
        let mut later = Later::default();
        // If its own document is gone, whichever is there follows.
        let mut until = self.times(epoch).map(|times| times.valid_until);
        for epoch in self.epochs()?.into_iter().filter(|other| *other > epoch && Some(*other) != refused) {
            let Some(times) = self.times(epoch) else { continue };
            if now < times.valid_after {
                let sooner = |(_, begins): &(Epoch, UnixTime)| times.valid_after < *begins;
                if later.next.as_ref().is_none_or(sooner) {
                    later.next = Some((epoch, times.valid_after));
                }
            } else if now < times.valid_until {
                later.in_force = Some(epoch);
            }
            later.signed_until = later.signed_until.max(Some(times.valid_until));
            if until.is_none_or(|until| times.valid_after <= until) {
                until = until.max(Some(times.valid_until));
                (later.following, later.covered_until) = (later.following + 1, until);
            }
        }
        Ok(later)
    }

    /// From when until when a document says that it is in force, if it is one of this network.
    fn times(&mut self, epoch: Epoch) -> Option<Times> {
        let stamp = self.stamp(epoch)?;
        if let Some(known) = self.known.get(&epoch).filter(|known| known.stamp == stamp) {
            return known.times;
        }
        let times = self.read(epoch, |document| {
            Ok(Times { valid_after: document.valid_after(), valid_until: document.valid_until() })
        });
        if let Err(DocumentsError { problem: DocumentsProblem::Read(_), .. }) = times {
            return None;
        }
        let times = times.ok();
        self.known.insert(epoch, Known { stamp, times });
        times
    }

    /// What changes when a file does; `None` if there is none.
    fn stamp(&self, epoch: Epoch) -> Option<Stamp> {
        let found = fs::metadata(self.folder.file(epoch)).ok()?;
        Some(Stamp { modified: found.modified().ok(), inode: found.ino(), len: found.len() })
    }

    /// The epochs of the files, in ascending order.
    fn epochs(&self) -> Result<Vec<Epoch>, DocumentsError> {
        let failed = |error| DocumentsError::new(self.folder.path(), DocumentsProblem::Read(error));
        self.folder.epochs().map_err(failed)
    }

    /// Reads a document and checks all but its time, which is left to `take`.
    fn read<T>(
        &self,
        epoch: Epoch,
        take: impl FnOnce(VerifiedDocument<'_>) -> Result<T, DocumentError>,
    ) -> Result<T, DocumentsError> {
        let path = self.folder.file(epoch);
        let failed = |problem| DocumentsError::new(&path, problem);
        let bytes = self.folder.load(epoch).map_err(|error| failed(DocumentsProblem::Read(error)))?;
        let authorities = Authorities::new(&self.authorities, self.threshold)
            .map_err(|_| failed(DocumentsProblem::Authorities))?;
        let refused = |error| failed(DocumentsProblem::Refused(error));
        let document =
            SignedDocument::parse(&bytes).map_err(refused)?.verify(&authorities).map_err(refused)?;
        if document.network_name() != self.network {
            let (of, ours) = (document.network_name().to_owned(), self.network.clone());
            return Err(failed(DocumentsProblem::OtherNetwork { of, ours }));
        }
        if document.epoch() != epoch {
            return Err(failed(DocumentsProblem::Misnamed(document.epoch())));
        }
        take(document).map_err(refused)
    }
}

/// Why there is no network document; prints as one line with the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct DocumentsError {
    /// The document, or its folder.
    pub file: PathBuf,
    /// What is wrong.
    pub problem: DocumentsProblem,
}

/// What is wrong with a network document.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentsProblem {
    /// The folder has none.
    #[error("there is no network document here; sign or fetch the one of this epoch (`motemix net renew`)")]
    Empty,
    /// It cannot be read.
    #[error("cannot read it: {0}; check the path and its permissions")]
    Read(io::Error),
    /// The document itself is refused.
    #[error("{}", refusal(.0))]
    Refused(DocumentError),
    /// The file has the name of another epoch.
    #[error("it is the document of epoch {0}; name it after its epoch")]
    Misnamed(Epoch),
    /// The configured authorities cannot be used.
    #[error("the configured authorities and threshold cannot verify documents; correct the configuration")]
    Authorities,
    /// The authorities have several networks, and this is not ours.
    #[error(
        "it is of the network {of:?} and not of {ours:?}; fetch the right one, or correct `network` in the configuration"
    )]
    OtherNetwork {
        /// Its network's name.
        of: String,
        /// The configured one.
        ours: String,
    },
}

/// In words for a host, where times have dates and a command signs what is missing.
fn refusal(error: &DocumentError) -> String {
    match error {
        DocumentError::Expired { at, .. } => format!(
            "it expired at {at}; sign or fetch the document of this epoch (`motemix net renew`), or check the clock"
        ),
        DocumentError::NotYetValid { from, now } => format!(
            "it is for later, from {from} on, and by the clock it is {}; sign or fetch the document of this epoch \
             (`motemix net renew`), or check the clock",
            minute(*now)
        ),
        other => other.to_string(),
    }
}

/// The beginning of a minute: many nodes say the same, and no moment before seems to be it.
fn minute(now: UnixTime) -> UnixTime {
    UnixTime(now.0 - now.0 % 60)
}

impl DocumentsError {
    fn new(file: &Path, problem: DocumentsProblem) -> Self {
        Self { file: file.to_owned(), problem }
    }
}
