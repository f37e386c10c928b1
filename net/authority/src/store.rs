//! What an authority keeps: whom its operator admitted, what nodes said last, how it voted, and
//! what it has promised to sign, with what shows why. A promise is on the disk before the signature
//! leaves.

use std::path::Path;

use motemix_directory::{Epoch, IdentityKey, Role, UnixTime};
use motemix_os::store::StoreError;
use motemix_os::store::sqlite::{Guarded, Layout, failure};
use rusqlite::{OptionalExtension as _, params};

use crate::evidence::Evidence;
use crate::vote::{Digest, Round, described};

const LAYOUT: Layout = Layout {
    kind: "store of an authority",
    application_id: 0x6d6d_6175,
    version: 1,
    schema: "
        CREATE TABLE member (
            identity BLOB PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            layer INTEGER
        ) STRICT;
        CREATE TABLE descriptor (
            identity BLOB PRIMARY KEY REFERENCES member ON DELETE CASCADE,
            issued INTEGER NOT NULL,
            file BLOB NOT NULL
        ) STRICT;
        CREATE TABLE vote (
            attempt INTEGER PRIMARY KEY,
            epoch INTEGER NOT NULL,
            file BLOB NOT NULL
        ) STRICT;
        CREATE TABLE promise (
            epoch INTEGER PRIMARY KEY,
            digest BLOB NOT NULL
        ) STRICT;
        CREATE TABLE evidence (
            epoch INTEGER PRIMARY KEY REFERENCES promise,
            transcript BLOB NOT NULL
        ) STRICT;
    ",
    guards: &["member", "vote", "promise"],
    loss: "An authority that forgot what it voted or promised may sign a second document of an epoch, and nodes that it \
           admitted may be missing: wait until the epochs that are signed already are over",
};

/// Epochs of which evidence is kept: as many as are signed ahead at most, and the present one. It
/// is of use while an epoch has no document, and later epochs may have theirs before it.
const EVIDENCE_KEPT: u64 = 49;

/// Votes that are kept: an authority votes once in a round, also after a restart. As many of rounds
/// that are yet to come, in which it voted when its clock was ahead.
const VOTES: u64 = 8;

/// A node that the operator admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// By which key it is known.
    pub identity: IdentityKey,
    /// Its name, which no other member has.
    pub name: String,
    /// What it does in the network.
    pub role: Role,
    /// What it said last of itself, as it was signed.
    pub descriptor: Option<Vec<u8>>,
}

/// What became of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is kept.
    New,
    /// It is the one that is kept already.
    Known,
    /// A later one is kept.
    Older,
    /// Its node was not admitted.
    Stranger,
    /// Its node was admitted by another name.
    Renamed,
}

/// The store, a file of SQLite.
#[derive(Debug)]
pub struct Store {
    path: std::path::PathBuf,
    connection: Guarded,
}

impl Store {
    /// Opens it, or makes an empty one.
    ///
    /// # Errors
    /// It is something else's, damaged, or the system refuses.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = LAYOUT.open(path)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(|error| failure(path, error))?;
        Ok(Self { path: path.to_owned(), connection })
    }

    fn failed(&self, error: rusqlite::Error) -> StoreError {
        failure(&self.path, error)
    }

    /// Admits a node, or changes what it does. `false` if another has its name.
    ///
    /// # Errors
    /// The store refuses.
    pub fn admit(&self, identity: &IdentityKey, name: &str, role: Role) -> Result<bool, StoreError> {
        let layer = match role {
            Role::Mix { layer } => Some(layer),
            Role::Endpoint => None,
        };
        let key = identity.to_bytes();
        let taken: Option<Vec<u8>> = self
            .connection
            .query_row("SELECT identity FROM member WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(|error| self.failed(error))?;
        if taken.is_some_and(|other| other != key) {
            return Ok(false);
        }
        self.connection
            .execute(
                "INSERT INTO member (identity, name, layer) VALUES (?1, ?2, ?3)
                 ON CONFLICT (identity) DO UPDATE SET name = excluded.name, layer = excluded.layer",
                params![key, name, layer],
            )
            .map_err(|error| self.failed(error))?;
        self.connection.note();
        Ok(true)
    }

    /// Takes a node out of the network. `false` if there is none of that name.
    ///
    /// # Errors
    /// The store refuses.
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        let removed = self.connection.execute("DELETE FROM member WHERE name = ?1", [name]);
        self.connection.note();
        removed.map(|count| count > 0).map_err(|error| self.failed(error))
    }

    /// All nodes that were admitted, by their names.
    ///
    /// # Errors
    /// The store refuses.
    pub fn members(&self) -> Result<Vec<Member>, StoreError> {
        let failed = |error| self.failed(error);
        let mut rows = self
            .connection
            .prepare(
                "SELECT member.identity, name, layer, file FROM member
                 LEFT JOIN descriptor ON descriptor.identity = member.identity ORDER BY name",
            )
            .map_err(failed)?;
        let rows = rows.query_map([], |row| {
            let identity: [u8; 32] = row.get(0)?;
            let role = row.get::<_, Option<u8>>(2)?.map_or(Role::Endpoint, |layer| Role::Mix { layer });
            Ok((identity, row.get::<_, String>(1)?, role, row.get::<_, Option<Vec<u8>>>(3)?))
        });
        let mut members = Vec::new();
        for row in rows.map_err(failed)? {
            let (identity, name, role, descriptor) = row.map_err(failed)?;
            if let Ok(identity) = IdentityKey::from_bytes(&identity) {
                members.push(Member { identity, name, role, descriptor });
            }
        }
        Ok(members)
    }

    /// How many nodes were admitted.
    ///
    /// # Errors
    /// The store refuses.
    pub fn admitted(&self) -> Result<u32, StoreError> {
        let count = self.connection.query_row("SELECT count(*) FROM member", [], |row| row.get(0));
        count.map_err(|error| self.failed(error))
    }

    /// Keeps what a member says of itself, unless it said something later. What it said after
    /// `latest`, which has not come yet, a clock that was ahead has dated: that is not later.
    ///
    /// # Errors
    /// The store refuses.
    pub fn keep(&self, file: &[u8], latest: UnixTime) -> Result<Taken, StoreError> {
        let Some(descriptor) = described(file) else { return Ok(Taken::Stranger) };
        let key = descriptor.identity.to_bytes();
        let failed = |error| self.failed(error);
        let name: Option<String> = self
            .connection
            .query_row("SELECT name FROM member WHERE identity = ?1", [key], |row| row.get(0))
            .optional()
            .map_err(failed)?;
        match name {
            None => return Ok(Taken::Stranger),
            Some(name) if name != descriptor.name => return Ok(Taken::Renamed),
            Some(_) => {}
        }
        let held: Option<(u64, Vec<u8>)> = self
            .connection
            .query_row("SELECT issued, file FROM descriptor WHERE identity = ?1", [key], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()
            .map_err(failed)?;
        if let Some((issued, held)) = held {
            if held == file {
                return Ok(Taken::Known);
            }
            if issued <= latest.0 && (issued, &held[..]) > (descriptor.issued.0, file) {
                return Ok(Taken::Older);
            }
        }
        self.connection
            .execute(
                "INSERT INTO descriptor (identity, issued, file) VALUES (?1, ?2, ?3)
                 ON CONFLICT (identity) DO UPDATE SET issued = excluded.issued, file = excluded.file",
                params![key, descriptor.issued.0, file],
            )
            .map_err(failed)?;
        Ok(Taken::New)
    }

    /// The vote that was given in a round; `vote` if there was none, which is written down first.
    ///
    /// # Errors
    /// The store refuses: then the authority must not vote.
    pub fn vote_once(&self, round: Round, vote: &[u8]) -> Result<Vec<u8>, StoreError> {
        let failed = |error| self.failed(error);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        transaction
            .execute(
                "INSERT OR IGNORE INTO vote (attempt, epoch, file) VALUES (?1, ?2, ?3)",
                params![round.attempt, round.epoch.0, vote],
            )
            .map_err(failed)?;
        // Counted from this round: votes of later ones, which a clock that was ahead left here,
        // must not take its place. They stay, as those rounds will come.
        transaction
            .execute(
                "DELETE FROM vote
                 WHERE attempt NOT IN
                     (SELECT attempt FROM vote WHERE attempt <= ?1 ORDER BY attempt DESC LIMIT ?2)
                 AND attempt NOT IN
                     (SELECT attempt FROM vote WHERE attempt > ?1 ORDER BY attempt LIMIT ?2)",
                params![round.attempt, VOTES],
            )
            .map_err(failed)?;
        let file = transaction
            .query_row("SELECT file FROM vote WHERE attempt = ?1", [round.attempt], |row| row.get(0))
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.connection.note();
        Ok(file)
    }

    /// The document of an epoch that this authority promised to sign.
    ///
    /// # Errors
    /// The store refuses.
    pub fn promised(&self, epoch: Epoch) -> Result<Option<Digest>, StoreError> {
        let promised =
            self.connection.query_row("SELECT digest FROM promise WHERE epoch = ?1", [epoch.0], |row| {
                row.get(0).map(Digest)
            });
        promised.optional().map_err(|error| self.failed(error))
    }

    /// Promises to sign this document and no other of its epoch, and keeps why; both are on the
    /// disk when it returns. `false` if another one was promised.
    ///
    /// # Errors
    /// The store refuses: then the authority must not sign.
    pub fn promise(&self, epoch: Epoch, document: Digest, why: &Evidence) -> Result<bool, StoreError> {
        let failed = |error| self.failed(error);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        transaction
            .execute(
                "INSERT OR IGNORE INTO promise (epoch, digest) VALUES (?1, ?2)",
                params![epoch.0, document.0],
            )
            .map_err(failed)?;
        let promised: [u8; 32] = transaction
            .query_row("SELECT digest FROM promise WHERE epoch = ?1", [epoch.0], |row| row.get(0))
            .map_err(failed)?;
        if promised != document.0 {
            return Ok(false);
        }
        transaction
            .execute(
                "INSERT OR IGNORE INTO evidence (epoch, transcript) VALUES (?1, ?2)",
                params![epoch.0, why.to_bytes()],
            )
            .map_err(failed)?;
        transaction
            .execute(
                "DELETE FROM evidence WHERE epoch <> ?1
                 AND epoch NOT IN (SELECT epoch FROM evidence ORDER BY epoch DESC LIMIT ?2)",
                params![epoch.0, EVIDENCE_KEPT],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.connection.note();
        Ok(true)
    }

    /// Why a document of an epoch was promised; `None` if none was.
    ///
    /// # Errors
    /// The store refuses.
    pub fn evidence(&self, epoch: Epoch) -> Result<Option<Evidence>, StoreError> {
        let kept: Option<Vec<u8>> = self
            .connection
            .query_row("SELECT transcript FROM evidence WHERE epoch = ?1", [epoch.0], |row| row.get(0))
            .optional()
            .map_err(|error| self.failed(error))?;
        Ok(kept.and_then(|kept| Evidence::from_bytes(&kept)))
    }

    /// Forgets why documents were promised of epochs that have one. The promises stay.
    ///
    /// # Errors
    /// The store refuses.
    pub fn forget_evidence(&self, done: &[Epoch]) -> Result<(), StoreError> {
        let failed = |error| self.failed(error);
        let mut rows = self.connection.prepare("SELECT epoch FROM evidence").map_err(failed)?;
        let kept: Result<Vec<u32>, _> =
            rows.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(failed);
        for epoch in kept?.into_iter().filter(|epoch| done.contains(&Epoch(*epoch))) {
            self.connection.execute("DELETE FROM evidence WHERE epoch = ?1", [epoch]).map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use motemix_crypto::PublicKey;
    use motemix_directory::{Capabilities, IdentitySecret, MAX_DESCRIPTOR_LEN, NewDescriptor};
    use motemix_os::store::StoreProblem;

    use super::*;

    fn why(word: &[u8]) -> Evidence {
        Evidence::new(vec![b"seen".to_vec()], [word.to_vec(), b"another".to_vec()])
    }

    #[test]
    fn one_document_of_an_epoch_is_promised_also_after_a_restart_and_why_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authority.db");
        let store = Store::open(&path).unwrap();
        assert!(store.promise(Epoch(7), Digest([1; 32]), &why(b"7")).unwrap());
        assert!(store.promise(Epoch(8), Digest([2; 32]), &why(b"8")).unwrap());
        drop(store);
        let store = Store::open(&path).unwrap();
        assert!(!store.promise(Epoch(7), Digest([2; 32]), &why(b"other")).unwrap());
        assert!(store.promise(Epoch(7), Digest([1; 32]), &why(b"later")).unwrap());
        assert_eq!(store.evidence(Epoch(7)).unwrap(), Some(why(b"7")), "the first is passed on");
        assert_eq!(store.evidence(Epoch(8)).unwrap(), Some(why(b"8")));
        assert_eq!(store.evidence(Epoch(9)).unwrap(), None);
        for epoch in 9..90 {
            assert!(store.promise(Epoch(epoch), Digest([3; 32]), &why(b"more")).unwrap());
        }
        let kept: u64 =
            store.connection.query_row("SELECT count(*) FROM evidence", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, EVIDENCE_KEPT);
        assert!(!store.promise(Epoch(7), Digest([2; 32]), &why(b"7")).unwrap(), "promises are for good");
    }

    /// One epoch has no document for long, while all later ones get theirs.
    #[test]
    fn a_store_that_forgot_a_promise_or_a_vote_is_not_opened() {
        use std::fs;
        let round = Round { epoch: Epoch(8), attempt: 3 };
        let uses: [fn(&Store, Round); 2] = [
            |store, _| assert!(store.promise(Epoch(8), Digest([2; 32]), &why(b"later")).unwrap()),
            |store, round| drop(store.vote_once(round, b"a vote").unwrap()),
        ];
        let deeds: [fn(&Path, &Path); 4] = [
            |path, _| fs::write(path, "").unwrap(),
            |path, _| fs::remove_file(path).unwrap(),
            |path, backup| {
                fs::copy(backup, path).unwrap();
            },
            |path, backup| fs::rename(backup, path).unwrap(),
        ];
        for (used, deed) in uses.into_iter().flat_map(|used| deeds.map(|deed| (used, deed))) {
            let folder = tempfile::tempdir().unwrap();
            let [path, backup] = ["authority.db", "backup"].map(|name| folder.path().join(name));
            let store = Store::open(&path).unwrap();
            assert!(store.promise(Epoch(7), Digest([1; 32]), &why(b"first")).unwrap());
            drop(store);
            fs::copy(&path, &backup).unwrap();
            let store = Store::open(&path).unwrap();
            used(&store, round);
            drop(store);
            deed(&path, &backup);
            let refused = Store::open(&path).unwrap_err();
            assert!(matches!(refused.problem, StoreProblem::Doubtful { .. }), "{refused}");
        }
    }

    #[test]
    fn evidence_stays_until_its_epoch_has_a_document() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("authority.db")).unwrap();
        assert!(store.promise(Epoch(7), Digest([7; 32]), &why(b"7")).unwrap());
        for epoch in 8..100 {
            assert!(store.promise(Epoch(epoch), Digest([8; 32]), &why(b"later")).unwrap());
            // The document comes a little later.
            let done: Vec<_> = (8..epoch - 5).map(Epoch).collect();
            store.forget_evidence(&done).unwrap();
            assert_eq!(store.evidence(Epoch(7)).unwrap(), Some(why(b"7")));
            assert!(store.evidence(Epoch(epoch)).unwrap().is_some());
        }
        assert_eq!(store.evidence(Epoch(93)).unwrap(), None);
        assert!(!store.promise(Epoch(93), Digest([7; 32]), &why(b"other")).unwrap(), "promises are for good");
        store.forget_evidence(&[Epoch(7)]).unwrap();
        assert_eq!(store.evidence(Epoch(7)).unwrap(), None);
    }

    #[test]
    fn in_one_round_there_is_one_vote() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("authority.db")).unwrap();
        let round = |attempt| Round { epoch: Epoch(7), attempt };
        assert_eq!(store.vote_once(round(1), b"first").unwrap(), b"first");
        assert_eq!(store.vote_once(round(1), b"second").unwrap(), b"first");
        for attempt in 2..40 {
            assert_eq!(
                store.vote_once(round(attempt), &attempt.to_be_bytes()).unwrap(),
                attempt.to_be_bytes()
            );
        }
        let kept: u64 =
            store.connection.query_row("SELECT count(*) FROM vote", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, VOTES);
    }

    #[test]
    fn a_clock_that_was_ahead_keeps_nobody_from_voting_once_it_is_right() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("authority.db")).unwrap();
        let vote = |attempt: u64, vote: &[u8]| {
            store.vote_once(Round { epoch: Epoch(7), attempt }, vote).map_err(|error| error.to_string())
        };
        let kept = || -> u64 {
            store.connection.query_row("SELECT count(*) FROM vote", [], |row| row.get(0)).unwrap()
        };
        // Twice, and ever farther.
        for ahead in [1_000_000, 2_000_000] {
            for attempt in ahead..ahead + 20 {
                vote(attempt, b"ahead").unwrap();
            }
            for attempt in ahead / 1000..ahead / 1000 + 20 {
                assert_eq!(vote(attempt, b"right").as_deref(), Ok(&b"right"[..]));
                assert_eq!(vote(attempt, b"other").as_deref(), Ok(&b"right"[..]), "one in a round");
                assert!(kept() <= 2 * VOTES, "{} votes", kept());
            }
        }
        assert_eq!(vote(2_000_019, b"again").as_deref(), Ok(&b"ahead"[..]), "that round has come");
    }

    const DAY: u64 = 24 * 3600;

    #[test]
    fn a_node_whose_clock_was_ahead_is_heard_again_once_it_is_right() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("authority.db")).unwrap();
        let identity = IdentitySecret::from_bytes(&[1; 32]);
        store.admit(&identity.public_key(), "mix-1", Role::Endpoint).unwrap();
        let issued = |seconds: u64| {
            let descriptor = NewDescriptor {
                network_name: "orchard",
                name: "mix-1",
                issued: UnixTime(seconds),
                first_epoch: Epoch(7),
                mix_keys: &[PublicKey([9; 32])],
                addresses: &[([192, 0, 2, 1], 4000).into()],
                capabilities: Capabilities::of_mix(),
            };
            descriptor.sign(&mut [0; MAX_DESCRIPTOR_LEN], &identity).unwrap().to_vec()
        };
        // Everybody's clock was ahead by a day, the authority's too.
        let keep = |seconds, now: u64| store.keep(&issued(seconds), UnixTime(now + 3600)).unwrap();
        assert_eq!(keep(1000 + DAY, 1000 + DAY), Taken::New);
        assert_eq!(keep(900 + DAY, 1000 + DAY), Taken::Older);
        assert_eq!(keep(1000, 1000), Taken::New);
        assert_eq!(keep(900, 1000), Taken::Older);
        assert_eq!(keep(2000, 2000), Taken::New);
    }

    #[test]
    fn two_nodes_cannot_have_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("authority.db")).unwrap();
        let [one, other] = [1, 2].map(|seed| IdentitySecret::from_bytes(&[seed; 32]).public_key());
        assert!(store.admit(&one, "mix-1", Role::Mix { layer: 0 }).unwrap());
        assert!(!store.admit(&other, "mix-1", Role::Endpoint).unwrap());
        assert!(store.admit(&one, "mix-1", Role::Mix { layer: 2 }).unwrap());
        let members = store.members().unwrap();
        assert_eq!((members.len(), members[0].role), (1, Role::Mix { layer: 2 }));
        assert!(store.remove("mix-1").unwrap() && !store.remove("mix-1").unwrap());
        assert!(store.admit(&other, "mix-1", Role::Endpoint).unwrap());
    }
}
