//! Signed network documents as files.

use super::NetworkDir;
use crate::failure::Failure;
use anyhow::{Context, Result};
use motemix_directory::{
    Authorities, AuthorityKey, AuthoritySecret, BuildError, DocumentBuilder, DocumentError, Draft, Epoch,
    Flaw, NetworkDocument, NewNode, SignedDocument, UnixTime, VerifiedDocument, document_len_limit,
};
use std::fs;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When epochs begin and end: the number of one is the time divided by the length of all, times the
/// numbers that each has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calendar {
    length: u64,
    numbers: u32,
}

/// Numbers of each epoch of the calendar: the first is its own, the others are for those that begin
/// early within it.
const NUMBERS: u32 = 4;

/// Shorter, and keys would change while packets are under way.
const SHORTEST_EPOCH: u64 = 10;
/// A clock that is wrong by more than this is to be noticed, not tolerated.
const LONGEST_OVERLAP: u64 = 3600;

impl Calendar {
    /// Epochs of a whole number of seconds.
    pub fn new(length: Duration) -> Result<Self, Failure> {
        if length.subsec_nanos() != 0 || length.as_secs() < SHORTEST_EPOCH {
            return Err(Failure::broken(format!(
                "--epoch-length {}: use whole seconds, {SHORTEST_EPOCH}s at least",
                humantime::format_duration(length)
            )));
        }
        Ok(Self { length: length.as_secs(), numbers: NUMBERS })
    }

    /// The calendar that a document follows; `None` for that of an epoch which began early.
    /// Networks that were made before epochs could begin early have one number for each.
    pub fn of(document: &VerifiedDocument<'_>) -> Option<Self> {
        let (begins, ends) = (document.valid_after(), document.valid_until());
        [NUMBERS, 1].into_iter().map(|numbers| Self { length: ends.0 - begins.0, numbers }).find(|calendar| {
            calendar.valid_after(document.epoch()) == begins
                && calendar.epoch_at(begins).is_ok_and(|epoch| epoch == document.epoch())
        })
    }

    pub fn epoch_at(self, now: UnixTime) -> Result<Epoch, Failure> {
        let number = u32::try_from(now.0 / self.length).ok().and_then(|of| of.checked_mul(self.numbers));
        number.map(Epoch).ok_or_else(|| Failure::broken("--epoch-length: too short for this century"))
    }

    /// The epochs of the calendar from the one at `now` on.
    pub fn upcoming(self, now: UnixTime, count: u64) -> Result<Vec<Epoch>, Failure> {
        let Epoch(first) = self.epoch_at(now)?;
        let epochs = (first..).step_by(self.numbers as usize);
        Ok(epochs.take(count.try_into().unwrap_or(usize::MAX)).map(Epoch).collect())
    }

    /// The numbers of epochs that may begin early within the one at `now`.
    pub fn early(self, now: UnixTime) -> Result<impl Iterator<Item = Epoch>, Failure> {
        let Epoch(first) = self.epoch_at(now)?;
        Ok((first + 1..first + self.numbers).map(Epoch))
    }

    /// The last number of the epoch at `now`.
    pub fn last_at(self, now: UnixTime) -> Epoch {
        self.epoch_at(now)
            .map_or(Epoch(u32::MAX), |Epoch(first)| Epoch(first.saturating_add(self.numbers - 1)))
    }

    pub fn valid_after(self, Epoch(number): Epoch) -> UnixTime {
        UnixTime(u64::from(number / self.numbers) * self.length)
    }

    pub fn valid_until(self, Epoch(number): Epoch) -> UnixTime {
        UnixTime((u64::from(number / self.numbers) + 1) * self.length)
    }

    pub fn length(self) -> Duration {
        Duration::from_secs(self.length)
    }

    /// How long before and after its epoch a key is accepted: a tenth of it.
    pub fn overlap(self) -> Duration {
        Duration::from_secs((self.length / 10).clamp(1, LONGEST_OVERLAP))
    }
}

/// The time on this machine's clock.
pub fn now() -> UnixTime {
    UnixTime(motemix_os::clock::unix_time().as_secs())
}

/// Encodes and signs one document.
pub fn sign<'n>(
    secret: &AuthoritySecret,
    draft: &Draft<'_>,
    nodes: impl ExactSizeIterator<Item = NewNode<'n>>,
) -> Result<Vec<u8>, Failure> {
    let nodes: Vec<_> = nodes.collect();
    let mut buffer = vec![0; document_len_limit(nodes.len(), 1)];
    let mut builder = DocumentBuilder::encode(&mut buffer, draft, nodes.iter().copied())
        .map_err(|error| refused(error, &nodes))?;
    builder.sign(secret).map_err(Failure::failed)?;
    Ok(builder.finish().map_err(Failure::failed)?.to_vec())
}

/// Why nodes would refuse a document. Whoever drafts it knows nodes by their names.
fn refused(error: BuildError, nodes: &[NewNode<'_>]) -> Failure {
    if let BuildError::Refused(DocumentError::Malformed { place, flaw: Flaw::SameNumber { other } }) = error
        && let [Some(one), Some(other)] =
            [Some(other), place.node].map(|id| id.and_then(|id| nodes.get(usize::from(id.get()))))
    {
        let addresses = |node: &NewNode<'_>| {
            node.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
        };
        return Failure::broken(format!(
            "nodes {} at {} and {} at {}: protected links cannot tell them apart; give one another address",
            one.name,
            addresses(one),
            other.name,
            addresses(other)
        ));
    }
    Failure::broken(error)
}

/// Publishes a document: all of it or nothing, and never in place of another.
pub fn publish(network: &NetworkDir, epoch: Epoch, document: &[u8]) -> Result<()> {
    let path = network.document(epoch);
    let written = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".motemix-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(network.documents())?;
        file.write_all(document)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&path)?;
        Ok(())
    };
    written().with_context(|| format!("cannot write {}", path.display()))
}

/// Publishes a document in place of one for the same epoch, which has not begun.
pub fn publish_anew(network: &NetworkDir, epoch: Epoch, document: &[u8]) -> Result<()> {
    let path = network.document(epoch);
    motemix_os::store::file::replace(&path, 0o644, document)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A document's bytes, and where they are from.
pub struct DocumentFile {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl DocumentFile {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let read = || {
            let mut bytes = Vec::new();
            motemix_os::store::file::open(path)?.read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        let bytes = read().map_err(|error| {
            Failure::broken(format!("{}: cannot read it: {error}; check the path", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Checks the signatures and every field, but not the time.
    pub fn verify(&self, authorities: &Authorities<'_>) -> Result<VerifiedDocument<'_>, Failure> {
        let document = SignedDocument::parse(&self.bytes).and_then(|signed| signed.verify(authorities));
        document.map_err(|error| self.broken(&error))
    }

    /// Checks the time, too.
    pub fn admit(
        &self,
        authorities: &Authorities<'_>,
        now: UnixTime,
    ) -> Result<NetworkDocument<'_>, Failure> {
        self.verify(authorities)?.admit(now, None).map_err(|error| self.broken(&error))
    }

    /// The document, whatever the time is.
    pub fn at_its_time(&self, authorities: &Authorities<'_>) -> Result<NetworkDocument<'_>, Failure> {
        let verified = self.verify(authorities)?;
        let then = verified.valid_after();
        verified.admit(then, None).map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &dyn std::error::Error) -> Failure {
        Failure::broken(format!("{}: {error}", self.path.display()))
    }
}

/// The documents of a folder, the latest epoch first.
pub fn list(folder: &Path) -> Result<Vec<(Epoch, PathBuf)>, Failure> {
    let unreadable =
        |error| Failure::broken(format!("{}: cannot read it: {error}; check the path", folder.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let Some(number) = stem.filter(|_| path.extension().is_some_and(|end| end == "cbor")) {
            found.push((Epoch(number), path));
        }
    }
    found.sort_by_key(|(epoch, _)| std::cmp::Reverse(*epoch));
    Ok(found)
}

/// An authority's public key as 64 hexadecimal digits.
pub fn parse_authority(text: &str) -> Result<AuthorityKey, String> {
    let mut key = [0; 32];
    hex::decode_to_slice(text.trim(), &mut key).map_err(|_| "not 64 hex digits".to_owned())?;
    AuthorityKey::from_bytes(&key).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_crypto::PublicKey;
    use motemix_directory::{Parameters, ProfileName, Role};

    #[test]
    fn who_drafts_a_document_is_told_which_two_nodes_cannot_be_told_apart() {
        let mut parameters = Parameters::new(3, 3);
        parameters.protected_links = true;
        let draft = Draft {
            network_name: "orchard",
            epoch: Epoch(1),
            valid_after: UnixTime(0),
            valid_until: UnixTime(3600),
            profile: ProfileName::Mote,
            parameters,
        };
        let addresses = ["[fe80::1]:61616", "[fe80::2]:61616", "[fe80::3]:61616", "[fe80::2:0:0:1]:61618"]
            .map(|address| address.parse().unwrap());
        let nodes = |count: usize| {
            let nodes: Vec<_> = ["well", "gate", "barn", "shed"]
                .iter()
                .zip(&addresses)
                .zip(9..)
                .map(|((name, address), key)| NewNode {
                    name,
                    role: Role::Mix { layer: 0 },
                    mix_key: PublicKey([key; 32]),
                    addresses: std::slice::from_ref(address),
                })
                .take(count)
                .collect();
            nodes.into_iter()
        };
        let secret = AuthoritySecret::from_bytes(&[1; 32]);
        assert!(sign(&secret, &draft, nodes(3)).is_ok());
        let error = sign(&secret, &draft, nodes(4)).unwrap_err().to_string();
        let said = "nodes well at [fe80::1]:61616 and shed at [fe80::2:0:0:1]:61618: protected links cannot";
        assert!(error.starts_with(said) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn epochs_follow_each_other_without_gaps() {
        let calendar = Calendar::new(Duration::from_hours(24)).unwrap();
        let epochs = calendar.upcoming(UnixTime(1_763_000_000), 2).unwrap();
        assert_eq!(epochs, [Epoch(81_620), Epoch(81_624)]);
        let early: Vec<_> = calendar.early(UnixTime(1_763_000_000)).unwrap().collect();
        assert_eq!(early, [81_621, 81_622, 81_623].map(Epoch), "between them");
        assert_eq!(calendar.valid_until(epochs[0]), calendar.valid_after(epochs[1]));
        assert_eq!(calendar.overlap(), Duration::from_hours(1));
        for length in [Duration::from_millis(10_500), Duration::from_secs(9)] {
            assert!(Calendar::new(length).unwrap_err().to_string().contains("--epoch-length"));
        }
    }
}
