//! The network documents of a folder: which one is in force, and the newest epoch ever seen.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use motemix_crypto::PublicKey;
use motemix_directory::{
    Authorities, AuthorityKey, DocumentError, Entry, Epoch, MAX_NODES, MAX_SIGNATURES, NetworkDocument,
    Parameters, ProfileName, Role, SignedDocument, UnixTime, VerifiedDocument, document_len_limit,
};
use motemix_sphinx::NodeId;

use crate::NodeConfig;
use crate::store::file;

/// A folder of signed network documents, `<epoch>.cbor`, and the memory of the newest one.
#[derive(Debug)]
pub struct Documents {
    folder: PathBuf,
    authorities: Vec<AuthorityKey>,
    threshold: u8,
    newest_file: PathBuf,
    newest: Option<Epoch>,
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
    /// The nodes; the index is the [`NodeId`].
    pub nodes: Vec<NetworkNode>,
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
        let index = self.nodes.iter().position(|node| node.name == name)?;
        NodeId::new(u16::try_from(index).ok()?)
    }

    /// The node of that id.
    pub fn node(&self, id: NodeId) -> Option<&NetworkNode> {
        self.nodes.get(usize::from(id.get()))
    }

    /// What paths are made of, in the order of ids.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + Clone {
        self.nodes.iter().map(|node| Entry { mix_key: node.mix_key, role: node.role })
    }

    fn of(document: &NetworkDocument<'_>) -> Self {
        let nodes = document.nodes().map(|node| NetworkNode {
            name: node.name.to_owned(),
            role: node.role,
            mix_key: node.mix_key,
            addresses: node.addresses.iter().collect(),
        });
        Self {
            epoch: document.epoch(),
            valid_after: document.valid_after(),
            valid_until: document.valid_until(),
            name: document.network_name().to_owned(),
            profile: document.profile(),
            parameters: document.parameters(),
            nodes: nodes.collect(),
        }
    }
}

impl Documents {
    /// Reads the newest epoch seen; no document yet.
    ///
    /// # Errors
    /// The authorities are unusable, or the memory of the newest epoch is unreadable.
    pub fn open(config: &NodeConfig) -> Result<Self, DocumentsError> {
        let keys = config.authorities.iter().map(AuthorityKey::from_bytes).collect::<Result<Vec<_>, _>>();
        let authorities = keys
            .ok()
            .filter(|keys| Authorities::new(keys, config.threshold).is_ok())
            .ok_or_else(|| DocumentsError::new(&config.documents, DocumentsProblem::Authorities))?;
        let newest_file = config.state.join("newest-epoch");
        Ok(Self {
            folder: config.documents.clone(),
            authorities,
            threshold: config.threshold,
            newest: read_newest(&newest_file)?,
            newest_file,
        })
    }

    /// The newest epoch ever admitted, also before this start of the program.
    pub fn newest_seen(&self) -> Option<Epoch> {
        self.newest
    }

    /// The newest document of the folder that is in force at `now`. Its epoch is remembered durably before this
    /// returns, so that no older document is admitted ever after.
    ///
    /// # Errors
    /// The folder has no document in force; the error is that of the newest one which is not for later.
    pub fn current(&mut self, now: UnixTime) -> Result<Network, DocumentsError> {
        let mut refused = None;
        for epoch in self.epochs()? {
            // Those before it could only be refused as rolled back, one after the other.
            if self.newest.is_some_and(|newest| epoch < newest) && refused.is_some() {
                break;
            }
            match self.read(epoch, |document| document.admit(now, self.newest).map(|it| Network::of(&it))) {
                Ok(network) => {
                    self.remember(epoch)?;
                    return Ok(network);
                }
                Err(error) => {
                    let for_later = |error: &DocumentsError| {
                        matches!(error.problem, DocumentsProblem::Refused(DocumentError::NotYetValid { .. }))
                    };
                    if refused.as_ref().is_none_or(|earlier| for_later(earlier) && !for_later(&error)) {
                        refused = Some(error);
                    }
                }
            }
        }
        Err(refused.unwrap_or_else(|| DocumentsError::new(&self.folder, DocumentsProblem::Empty)))
    }

    /// The epochs of the files, newest first.
    fn epochs(&self) -> Result<Vec<Epoch>, DocumentsError> {
        let failed = |error| DocumentsError::new(&self.folder, DocumentsProblem::Read(error));
        let mut epochs = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            epochs.extend(name.to_str().and_then(|name| name.strip_suffix(".cbor")?.parse().ok()).map(Epoch));
        }
        epochs.sort_unstable_by(|one, other| other.cmp(one));
        Ok(epochs)
    }

    fn read(
        &self,
        epoch: Epoch,
        admit: impl FnOnce(VerifiedDocument<'_>) -> Result<Network, DocumentError>,
    ) -> Result<Network, DocumentsError> {
        let path = self.folder.join(format!("{epoch}.cbor"));
        let failed = |problem| DocumentsError::new(&path, problem);
        let limit = document_len_limit(MAX_NODES, MAX_SIGNATURES) as u64;
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
        read.map_err(|error| failed(DocumentsProblem::Read(error)))?;
        let authorities = Authorities::new(&self.authorities, self.threshold)
            .map_err(|_| failed(DocumentsProblem::Authorities))?;
        let refused = |error| failed(DocumentsProblem::Refused(error));
        let document =
            SignedDocument::parse(&bytes).map_err(refused)?.verify(&authorities).map_err(refused)?;
        if document.epoch() != epoch {
            return Err(failed(DocumentsProblem::Misnamed(document.epoch())));
        }
        admit(document).map_err(refused)
    }

    fn remember(&mut self, epoch: Epoch) -> Result<(), DocumentsError> {
        if self.newest.is_none_or(|newest| newest < epoch) {
            file::replace(&self.newest_file, 0o600, format!("{epoch}\n").as_bytes())
                .map_err(|error| DocumentsError::new(&self.newest_file, DocumentsProblem::Write(error)))?;
            self.newest = Some(epoch);
        }
        Ok(())
    }
}

fn read_newest(path: &Path) -> Result<Option<Epoch>, DocumentsError> {
    match fs::read_to_string(path) {
        Ok(text) => match text.trim_end().parse() {
            Ok(epoch) => Ok(Some(Epoch(epoch))),
            Err(_) => Err(DocumentsError::new(path, DocumentsProblem::NewestDamaged)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DocumentsError::new(path, DocumentsProblem::Read(error))),
    }
}

/// Why there is no network document; prints as one line with the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct DocumentsError {
    /// The document, its folder, or the memory of the newest epoch.
    pub file: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: DocumentsProblem,
}

/// What is wrong with a network document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsProblem {
    /// The folder has none.
    #[error("there is no network document here; fetch the one of this epoch")]
    Empty,
    /// It cannot be read.
    #[error("cannot read it: {0}; check the path and its permissions")]
    Read(io::Error),
    /// The newest epoch cannot be remembered.
    #[error("cannot write it: {0}; check the folder, its permissions and its free space")]
    Write(io::Error),
    /// The document itself is refused.
    #[error("{0}")]
    Refused(DocumentError),
    /// The file has the name of another epoch.
    #[error("it is the document of epoch {0}; name it after its epoch")]
    Misnamed(Epoch),
    /// The configured authorities cannot be used.
    #[error("the configured authorities and threshold cannot verify documents; correct the configuration")]
    Authorities,
    /// Without this number an old document could come back.
    #[error("not the number of an epoch; write the newest epoch that this node has seen into it")]
    NewestDamaged,
}

impl DocumentsError {
    fn new(file: &Path, problem: DocumentsProblem) -> Self {
        Self { file: file.to_owned(), problem }
    }
}
