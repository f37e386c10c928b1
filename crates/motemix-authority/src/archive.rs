//! The documents that were agreed on, `documents/<epoch>.cbor`.

use std::fs;
use std::io;
use std::path::Path;

use motemix_directory::{Epoch, SignedDocument};
use motemix_host::documents::Folder;
use motemix_host::store::file;

use crate::roster::Roster;
use crate::tally::Previous;
use crate::vote::Digest;

/// As many of the latest documents are kept: more than may be signed ahead, and two days of those
/// before.
const KEPT: usize = 96;

/// A folder of documents.
#[derive(Debug, Clone)]
pub struct Archive {
    folder: Folder,
}

impl Archive {
    /// The folder, made if it is not there.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { folder: Folder::new(folder) })
    }

    /// The documents, as files and for whoever asks.
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The epochs that have a document, in ascending order.
    ///
    /// # Errors
    /// The system refuses.
    pub fn epochs(&self) -> io::Result<Vec<Epoch>> {
        self.folder.epochs()
    }

    /// The file of an epoch, if it is there.
    pub fn read(&self, epoch: Epoch) -> Option<Vec<u8>> {
        self.folder.read(epoch)
    }

    /// Keeps a document of this network that enough authorities signed. `false` if it is none, or
    /// there is one of its epoch.
    ///
    /// # Errors
    /// The system refuses.
    pub fn keep(&self, document: &[u8], network: &str, roster: &Roster) -> io::Result<bool> {
        let Some(epoch) = epoch_of(document, network, roster) else { return Ok(false) };
        if self.folder.file(epoch).exists() {
            return Ok(false);
        }
        file::replace(&self.folder.file(epoch), 0o644, document)?;
        Ok(true)
    }

    /// Removes documents that nobody needs any more: by their number and not by the time, so that a
    /// clock that is ahead removes nothing that is in force.
    ///
    /// # Errors
    /// The system refuses.
    pub fn prune(&self) -> io::Result<()> {
        let epochs = self.epochs()?;
        for epoch in epochs.iter().take(epochs.len().saturating_sub(KEPT)) {
            fs::remove_file(self.folder.file(*epoch))?;
        }
        Ok(())
    }

    /// The latest document before an epoch.
    pub fn before(&self, epoch: Epoch) -> Option<(Epoch, Digest)> {
        let earlier = self.epochs().ok()?.into_iter().rev().find(|other| *other < epoch)?;
        let file = self.read(earlier)?;
        Some((earlier, Digest::of_document(SignedDocument::parse(&file).ok()?.payload())))
    }

    /// Names and ids of a document, if it is the one of this digest.
    pub fn ids(&self, (epoch, digest): (Epoch, Digest), roster: &Roster) -> Option<Previous> {
        let file = self.read(epoch)?;
        let signed = SignedDocument::parse(&file).ok()?;
        if Digest::of_document(signed.payload()) != digest {
            return None;
        }
        let verified = signed.verify(&roster.authorities().ok()?).ok()?;
        let then = verified.valid_after();
        Some(Previous::of(&verified.admit(then, None).ok()?))
    }
}

/// The epoch of a document, if enough authorities signed it and it is of this network.
pub fn epoch_of(document: &[u8], network: &str, roster: &Roster) -> Option<Epoch> {
    let verified = SignedDocument::parse(document).ok()?.verify(&roster.authorities().ok()?).ok()?;
    (verified.network_name() == network).then(|| verified.epoch())
}
