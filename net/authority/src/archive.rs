//! The documents that were agreed on, `documents/<epoch>.cbor`.

use std::fs;
use std::io;
use std::path::Path;

use motemix_directory::{Epoch, SignedDocument};
use motemix_host::documents::Folder;
use motemix_os::store::file;

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
    /// clock that is ahead removes nothing that is in force. Those of epochs after `last`, which
    /// clocks that were ahead have made, are counted for themselves: they take no other's place.
    ///
    /// # Errors
    /// The system refuses.
    pub fn prune(&self, last: Epoch) -> io::Result<()> {
        let epochs = self.epochs()?;
        let (early, late) = epochs.split_at(epochs.partition_point(|epoch| *epoch <= last));
        for epochs in [early, late] {
            for epoch in epochs.iter().take(epochs.len().saturating_sub(KEPT)) {
                fs::remove_file(self.folder.file(*epoch))?;
            }
        }
        Ok(())
    }

    /// The latest document before an epoch. What is in the place of one and is none is passed over.
    pub fn before(&self, epoch: Epoch) -> Option<(Epoch, Digest)> {
        let mut earlier = self.epochs().ok()?.into_iter().rev().filter(|other| *other < epoch);
        earlier.find_map(|epoch| {
            let file = self.read(epoch)?;
            Some((epoch, Digest::of_document(SignedDocument::parse(&file).ok()?.payload())))
        })
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

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use motemix_crypto::PublicKey;
    use motemix_directory::{
        AuthoritySecret, DocumentBuilder, Draft, NewNode, Parameters, ProfileName, Role, UnixTime,
        document_len_limit,
    };

    use super::*;

    fn document(epoch: u32, authority: &AuthoritySecret) -> Vec<u8> {
        let draft = Draft {
            network_name: "orchard",
            epoch: Epoch(epoch),
            valid_after: UnixTime(u64::from(epoch) * 3600),
            valid_until: UnixTime(u64::from(epoch + 1) * 3600),
            profile: ProfileName::Mote,
            parameters: Parameters::new(2, 3),
        };
        let node = NewNode {
            name: "mix-1",
            role: Role::Mix { layer: 0 },
            mix_key: PublicKey([9; 32]),
            addresses: &[([192, 0, 2, 1], 4000).into()],
        };
        let mut out = vec![0; document_len_limit(1, 1)];
        let mut builder = DocumentBuilder::encode(&mut out, &draft, [node].into_iter()).unwrap();
        builder.sign(authority).unwrap();
        builder.finish().unwrap().to_vec()
    }

    #[test]
    fn documents_that_a_clock_ahead_made_take_the_place_of_no_others() {
        let place = tempfile::tempdir().unwrap();
        let archive = Archive::open(place.path()).unwrap();
        let put = |epochs: std::ops::Range<u32>| {
            epochs.for_each(|epoch| fs::write(archive.folder().file(Epoch(epoch)), []).unwrap());
        };
        // For days it was a year ahead.
        put(5000..5200);
        put(10..13);
        archive.prune(Epoch(20)).unwrap();
        assert_eq!(archive.epochs().unwrap().len(), KEPT + 3);
        assert_eq!(archive.epochs().unwrap()[..3], [10, 11, 12].map(Epoch));
        put(13..200);
        archive.prune(Epoch(210)).unwrap();
        assert_eq!(archive.epochs().unwrap()[..KEPT], (104..200).map(Epoch).collect::<Vec<_>>());
    }

    #[test]
    fn a_pipe_in_a_document_s_place_is_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let archive = Archive::open(place.path()).unwrap();
        let authority = AuthoritySecret::from_bytes(&[7; 32]);
        let roster = Roster::new(vec![authority.public_key()], 1).unwrap();
        assert!(archive.keep(&document(6, &authority), "orchard", &roster).unwrap());
        let pipe = archive.folder().file(Epoch(7));
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        let (tell, hear) = mpsc::channel();
        thread::spawn(move || tell.send((archive.read(Epoch(7)), archive.before(Epoch(8)))));
        let (read, before) = hear.recv_timeout(Duration::from_secs(20)).expect("nobody waits for a pipe");
        assert_eq!((read, before.map(|(epoch, _)| epoch)), (None, Some(Epoch(6))));
    }
}
