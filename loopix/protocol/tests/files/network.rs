//! A small network to write down, and folders to write it to.

use chacha20::ChaCha20Rng;
use motemix_crypto::p224::{Point, Scalar};
use motemix_loopix::files::{
    Config, Directory, FileError, MixEntry, NodeEntry, ProviderEntry, Role, Settings, UserEntry, config,
    keys, names,
};
use rand_core::SeedableRng as _;
use std::path::Path;
use tempfile::TempDir;

pub fn secret(number: u64) -> Scalar {
    keys::generate(&mut ChaCha20Rng::seed_from_u64(number))
}

fn point(number: u64) -> Point {
    Point::mul_generator(&secret(number))
}

pub fn mix(number: u64, layer: i64) -> MixEntry {
    let port = 20_000 + number as u16;
    let (name, host) = (format!("Mix{number}"), "127.0.0.1".to_owned());
    MixEntry { name, host, port, public_key: point(number), layer }
}

pub fn provider(number: u64) -> ProviderEntry {
    let port = 20_000 + number as u16;
    let (name, host) = (format!("Provider{number}"), "127.0.0.1".to_owned());
    ProviderEntry { name, host, port, public_key: point(number) }
}

pub fn user(number: u64, provider: &str) -> UserEntry {
    let port = 20_000 + number as u16;
    let (name, host) = (format!("Clië{number}"), "host.example".to_owned());
    UserEntry { name, host, port, public_key: point(number), provider: provider.to_owned() }
}

/// Three layers that are numbered with a gap and not in order, two providers, two users.
pub fn directory() -> Directory {
    Directory::new(
        vec![mix(1, 7), mix(2, -1), mix(3, 7), mix(4, 2)],
        vec![provider(10), provider(11)],
        vec![user(20, "Provider11"), user(21, "Provider10")],
    )
}

/// The folder of a client whose secret is that of `number`.
pub fn client_folder(number: u64) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    let own = NodeEntry::Client(user(number, "Provider11"));
    keys::create_secret(&keys::secret_file(dir, Role::Client), &secret(number)).expect("a secret");
    keys::save_public(&keys::public_file(dir, Role::Client), &own).expect("a public key");
    Config::default().save(&dir.join(names::CONFIG), config::Form::Sections).expect("a configuration");
    Settings::default().save(&dir.join(names::SETTINGS)).expect("settings");
    directory().save(&dir.join(names::DATABASE)).expect("a directory");
    folder
}

/// The error is one line, which names the file and has all of these words.
#[track_caller]
pub fn says(error: &FileError, file: &Path, words: &[&str]) {
    let line = error.to_string();
    assert!(line.starts_with(&file.display().to_string()), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(line.contains("; "), "no remedy: {line}");
    for word in words {
        assert!(line.contains(word), "{word:?} is not in: {line}");
    }
}
