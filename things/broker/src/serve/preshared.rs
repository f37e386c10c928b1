//! Security contexts that devices and the broker were both given (RFC 8613, section 3.2), for
//! devices that have no room for EDHOC.
//!
//! Each is a file in `oscore` of the broker's folder. Its sequence numbers are reserved in
//! `oscore.sqlite` before they are used, so that a power cut has none used twice; what was received
//! before a restart is forgotten, and the first request is asked for an Echo (appendix B.1.2).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use motemix_coap::oscore::{
    BLOCK, Context, ContextId, Contexts, ECHO_LEN, NotStored, NumberStore, Numbers, Preshared,
};
use motemix_object::Identity;
use motemix_os::store::sqlite::{self, Guarded, Layout};
use motemix_readings::keys::SharedContext;
use motemix_time::Instant;
use rand_core::Rng as _;
use rusqlite::{OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::ServeError;
use crate::store::StoreError;

/// Where the files are, how they end, and where their numbers are noted.
const FOLDER: &str = "oscore";
const EXTENSION: &str = "context";
const NUMBERS: &str = "oscore.sqlite";

const LAYOUT: Layout = Layout {
    kind: "broker's sequence numbers",
    // "mmos"
    application_id: 0x6d6d_6f73,
    version: 1,
    schema: "
        CREATE TABLE numbers (
            context TEXT PRIMARY KEY,
            below   INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;",
    guards: &["numbers"],
    loss: "Numbers that were used under a key would be used again, and whoever listens could read what was sent under \
           them: first give both sides of each context in `oscore` a new secret",
};

/// Where sequence numbers are reserved.
#[derive(Debug)]
pub(super) struct Reserved(Guarded);

impl Reserved {
    fn open(folder: &Path) -> Result<Self, StoreError> {
        Ok(Self(LAYOUT.open(folder.join(NUMBERS))?))
    }

    /// Up to where the numbers of a context may have been used.
    fn below(&self, name: &str) -> rusqlite::Result<u64> {
        let mut query = self.0.prepare_cached("SELECT below FROM numbers WHERE context = ?1")?;
        let below: Option<i64> = query.query_row([name], |row| row.get(0)).optional()?;
        Ok(below.map_or(0, |below| u64::try_from(below).unwrap_or(u64::MAX)))
    }

    fn note(&self, name: &str, below: u64) -> rusqlite::Result<()> {
        // Never back, whoever asks.
        let statement = "INSERT INTO numbers (context, below) VALUES (?1, ?2)
            ON CONFLICT (context) DO UPDATE SET below = max(below, excluded.below)";
        let below = i64::try_from(below).unwrap_or(i64::MAX);
        self.0.prepare_cached(statement)?.execute(params![name, below])?;
        self.0.note();
        Ok(())
    }
}

impl NumberStore for Reserved {
    fn reserve(&mut self, name: &str, below: u64) -> Result<(), NotStored> {
        self.note(name, below).map_err(|problem| {
            tracing::error!(%problem, "no sequence numbers can be reserved: nothing is sent that needs one");
            NotStored
        })
    }
}

/// Takes up all contexts of a folder. Returns whose requests are under which, and where their
/// numbers are reserved; nothing if there are none.
pub(super) fn take_up(
    folder: &Path,
    contexts: &mut Contexts,
    most: usize,
) -> Result<(BTreeMap<ContextId, Identity>, Option<Reserved>), ServeError> {
    let files = files(&folder.join(FOLDER)).map_err(|error| ServeError::System("oscore", error))?;
    if files.is_empty() {
        return Ok((BTreeMap::new(), None));
    }
    // They make room for nobody: half of the places is for devices that prove their keys.
    if files.len() > most / 2 {
        let problem = format!("there are {} contexts; raise oscore.contexts to twice as many", files.len());
        return Err(ServeError::Shared { file: folder.join(FOLDER), problem });
    }
    let reserved = Reserved::open(folder)?;
    let mut rng = motemix_os::rng::HostRng::new()
        .map_err(|error| ServeError::System("the platform has no entropy", error))?;
    let (mut devices, mut names) = (BTreeMap::new(), BTreeMap::new());
    for file in files {
        let shared = SharedContext::load(&file)?;
        let wrong = |problem: String| ServeError::Shared { file: file.clone(), problem };
        let name = name_of(&shared);
        if let Some(other) = names.insert(name.clone(), file.clone()) {
            let other = other.display();
            return Err(wrong(format!(
                "the broker would send under the same keys as by {other}; remove one"
            )));
        }
        let below = reserved
            .below(&name)
            .map_err(|error| ServeError::Store(sqlite::failure(folder.join(NUMBERS), error).into()))?;
        let mut echo = [0; ECHO_LEN];
        rng.fill_bytes(&mut echo);
        let given = Preshared {
            name: &name,
            master_secret: shared.secret(),
            master_salt: &shared.salt,
            id_context: shared.id_context.as_deref(),
            sender: &shared.own_id,
            recipient: &shared.peer_id,
        };
        // A context that was never sent under may have been received under all the same.
        let now = Instant::from_micros(1);
        let context = Context::preshared(now, &given, Numbers::restored(below, BLOCK), Some(echo));
        let context = context.map_err(|problem| wrong(problem.to_string()))?;
        let before = contexts.len();
        let id = contexts.insert(now, context).map_err(|full| wrong(full.to_string()))?;
        if contexts.len() == before {
            return Err(wrong("another context has its recipient and id-context; change one".to_owned()));
        }
        devices.extend(shared.device.map(|device| (id, device)));
    }
    Ok((devices, Some(reserved)))
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let mut files: Vec<_> =
        files.into_iter().filter(|file| file.extension().is_some_and(|found| found == EXTENSION)).collect();
    files.sort();
    Ok(files)
}

/// What numbers are noted under: a digest of what the sender's key follows from. A file may be
/// renamed, and its numbers go on.
fn name_of(shared: &SharedContext) -> String {
    let mut hash = Sha256::new();
    hash.update("motemix/1 oscore numbers");
    let id_context = shared.id_context.as_deref();
    for part in [shared.secret(), &shared.salt, id_context.unwrap_or_default(), &shared.own_id] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update([u8::from(id_context.is_some())]);
    let digest: [u8; 32] = hash.finalize().into();
    base16ct::lower::encode_string(&digest[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_reserved_is_never_given_again() {
        let folder = tempfile::tempdir().unwrap();
        for below in [256, 512, 300] {
            let mut reserved = Reserved::open(folder.path()).unwrap();
            reserved.reserve("gate", below).unwrap();
        }
        let reserved = Reserved::open(folder.path()).unwrap();
        assert_eq!((reserved.below("gate").unwrap(), reserved.below("door").unwrap()), (512, 0));
    }

    /// RFC 8613, appendix C: each context of it is a file, and makes and opens the messages there.
    #[test]
    fn the_contexts_of_rfc_8613_are_files() {
        use motemix_coap::oscore::message::number;
        use motemix_coap::oscore::{Message, Unopened};
        use std::os::unix::fs::PermissionsExt as _;

        let path = format!("{}/../../vectors/oscore.json", env!("CARGO_MANIFEST_DIR"));
        let all: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let now = Instant::from_micros(2);
        let taken_up = |section: &str, next: u64| {
            let text = |name: &str| all[section].get(name).map(|text| text.as_str().unwrap());
            let line =
                |name: &str, text: &str| format!("{name}{}{text}\n", if text.is_empty() { "" } else { " " });
            let mut lines = line("motemix oscore context 1", "") + &line("device", &"11".repeat(32));
            for (name, of_rfc) in
                [("sender", "Sender ID"), ("recipient", "Recipient ID"), ("salt", "Master Salt")]
            {
                lines += &text(of_rfc).map_or(String::new(), |text| line(name, text));
            }
            lines += &text("ID Context").map_or(String::new(), |text| line("id-context", text));
            lines += &line("secret", text("Master Secret").unwrap());
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(FOLDER).join("rfc.context");
            fs::create_dir(folder.path().join(FOLDER)).unwrap();
            fs::write(&file, lines).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            let name = name_of(&SharedContext::load(&file).unwrap());
            Reserved::open(folder.path()).unwrap().reserve(&name, next).unwrap();
            let mut contexts = Contexts::new(motemix_coap::oscore::Settings::default());
            let (devices, reserved) = take_up(folder.path(), &mut contexts, 8).unwrap();
            (folder, contexts, *devices.keys().next().unwrap(), reserved.unwrap())
        };
        for (client, server, messages) in
            [("C.1.1", "C.1.2", "C.4"), ("C.2.1", "C.2.2", "C.5"), ("C.3.1", "C.3.2", "C.6")]
        {
            let bytes = |name: &str| hex::decode(all[messages][name].as_str().unwrap()).unwrap();
            let (_folder, mut contexts, id, mut reserved) = taken_up(client, 20);
            let inner = Message::from_bytes(&bytes("plaintext")).unwrap();
            let (outer, _) = contexts.protect_request(now, id, inner, &mut reserved).unwrap();
            assert_eq!(outer.payload, bytes("ciphertext"), "{messages}");
            assert_eq!(outer.option(number::OSCORE), Some(&bytes("OSCORE option value")[..]), "{messages}");
            let (_folder, mut contexts, _, mut reserved) = taken_up(server, 0);
            // It opens, and what was seen before the start is forgotten.
            let opened = contexts.unprotect_request(now, &outer, &mut reserved);
            assert!(matches!(opened, Err(Unopened::Forgotten(_))), "{messages}: {opened:?}");
        }
    }

    #[test]
    fn without_a_disk_nothing_is_reserved() {
        let folder = tempfile::tempdir().unwrap();
        let mut reserved = Reserved::open(folder.path()).unwrap();
        reserved.0.pragma_update(None, "query_only", true).unwrap();
        assert_eq!(reserved.reserve("gate", 256), Err(NotStored));
        assert_eq!(reserved.below("gate").unwrap(), 0);
    }
}
