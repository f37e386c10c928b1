//! The key that a device signs its readings with, and what stands beside it in its identity.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::path::Path;

use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Credential, Identity, MAX_OTHER_LEN, MAX_OTHERS, Other, OtherKind, PrivateKey, Signer as _,
};
use zeroize::Zeroizing;

use super::card::{CARD_TITLE, OTHER, parse_other};
use motemix_os::key_file::{self as file, KeyError, KeyProblem, fresh_seed, write_new};
use motemix_os::memory::wiped;
use motemix_os::store::file::{open, open_itself};

pub(super) const TITLE: &str = "motemix device key 1";
const DEVICE: file::Kind = file::Kind {
    title: TITLE,
    remedy: "restore it from a backup; without one the device needs a new key (`motemix id new`), and its receivers and \
             servers have to learn that",
};

/// What a file is that is no device's key, with the remedy; `None` if it may be one.
fn other_kind(path: &Path) -> Option<&'static str> {
    const NO_KEY: &str = "no device's key; check the path, or make a key with `motemix id new`";
    let mut start = Vec::new();
    open(path).ok()?.take(TITLE.len() as u64 + 2).read_to_end(&mut start).ok()?;
    if DeviceKey::is_title(&start) {
        return None;
    }
    if start.starts_with(CARD_TITLE.as_bytes()) {
        return Some("it is a device's card, which has no secret; name the device's key");
    }
    // A title of a later version, and one that was damaged, are told with their line.
    if start.starts_with(b"motemix device key") { None } else { Some(NO_KEY) }
}

/// A device's key with what stands beside it, and the file that it lives in.
pub struct DeviceKey {
    key: Box<PrivateKey>,
    others: Vec<(OtherKind, Vec<u8>)>,
}

impl DeviceKey {
    /// Makes a key of the platform's entropy and writes it to a new file.
    ///
    /// # Errors
    /// There is such a file already, it cannot be written, the platform has no entropy, or too much
    /// stands beside the key.
    pub fn create(
        path: impl AsRef<Path>,
        algorithm: Algorithm,
        others: &[(OtherKind, Vec<u8>)],
    ) -> Result<Self, KeyError> {
        wiped(|| Self::make(path.as_ref(), algorithm, others))
    }

    fn make(path: &Path, algorithm: Algorithm, others: &[(OtherKind, Vec<u8>)]) -> Result<Self, KeyError> {
        let key = loop {
            // One seed of 2³² is no scalar of the curve.
            if let Ok(key) = PrivateKey::new(algorithm, Secret::new(*fresh_seed(path)?)) {
                break Box::new(key);
            }
        };
        let device = Self { key, others: others.to_vec() };
        if !device.is_short() {
            return Err(KeyError::new(path, KeyProblem::TooMuchBeside));
        }
        write_new(path, &device.text())?;
        Ok(device)
    }

    /// Whether a file says that it is a device's key.
    pub fn is_title(text: &[u8]) -> bool {
        text.split(|byte| *byte == b'\n').next().map(<[u8]>::trim_ascii_end) == Some(TITLE.as_bytes())
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// It cannot be read, others than its owner may use it, or its text is malformed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        wiped(|| Self::read(open, path.as_ref()))
    }

    /// Like [`load`](Self::load), and follows no symbolic link.
    pub(super) fn load_itself(path: &Path) -> Result<Self, KeyError> {
        wiped(|| Self::read(open_itself, path))
    }

    fn read(open: file::Open, path: &Path) -> Result<Self, KeyError> {
        const ALGORITHM: &str = "`algorithm` and `ed25519` or `es256`";
        const SEED: &str = "`seed` and 64 hex digits, which are a key";
        // Before its mode: a card or a label may be read by everybody.
        if let Some(what) = other_kind(path) {
            return Err(KeyError::new(path, KeyProblem::OtherKind(what)));
        }
        let text = file::read_by(open, path, DEVICE)?;
        let mut lines = file::Lines::below(path, &text, DEVICE)?;
        let algorithm = lines.text("algorithm").and_then(Algorithm::named);
        let algorithm = algorithm.ok_or_else(|| lines.malformed(ALGORITHM))?;
        let mut others = Vec::new();
        while let Some(other) = lines.text("other") {
            others.push(parse_other(other).ok_or_else(|| lines.malformed(OTHER))?);
        }
        let seed = lines.last_seed("seed", SEED)?;
        let malformed = |expected| DEVICE.malformed(path, 3 + others.len(), expected);
        let key = PrivateKey::new(algorithm, Secret::new(*seed)).map_err(|_| malformed(SEED))?;
        let device = Self { key: Box::new(key), others: others.clone() };
        if device.is_short() { Ok(device) } else { Err(malformed(OTHER)) }
    }

    /// What signs.
    pub fn signer(&mut self) -> &mut PrivateKey {
        &mut self.key
    }

    /// What signs, and what it signs for.
    ///
    /// # Panics
    /// Never, as for [`credential`](Self::credential).
    pub fn parts(&mut self) -> (&mut PrivateKey, Credential<'_>) {
        let others: Vec<_> = self.others.iter().map(|(kind, value)| Other { kind: *kind, value }).collect();
        let credential = Credential::new(self.key.public_key(), &others).expect("not too many values");
        (&mut self.key, credential)
    }

    /// What stands beside the key.
    pub fn others(&self) -> impl Iterator<Item = Other<'_>> {
        self.others.iter().map(|(kind, value)| Other { kind: *kind, value })
    }

    /// The public key, with what stands beside it.
    ///
    /// # Panics
    /// Never: what is too much is refused when the key is made or read.
    pub fn credential(&self) -> Credential<'_> {
        let others: Vec<_> = self.others().collect();
        Credential::new(self.key.public_key(), &others).expect("not too many values")
    }

    /// The identity of both.
    ///
    /// # Panics
    /// Never, as for [`credential`](Self::credential).
    pub fn identity(&self) -> Identity {
        self.credential().identity().expect("no value is too long")
    }

    fn is_short(&self) -> bool {
        self.others.len() <= MAX_OTHERS && self.others.iter().all(|(_, value)| value.len() <= MAX_OTHER_LEN)
    }

    fn text(&self) -> Zeroizing<Vec<u8>> {
        let room = 256 + self.others.len() * (16 + 2 * MAX_OTHER_LEN);
        let mut text = Zeroizing::new(Vec::with_capacity(room));
        // Writing to a vector cannot fail.
        let _ = writeln!(text, "{TITLE}\nalgorithm {}", self.key.public_key().algorithm().name());
        for (kind, value) in &self.others {
            let digits = base16ct::lower::encode_string(value);
            let _ = writeln!(text, "other {} {digits}", kind.number());
        }
        file::push_seed(&mut text, "seed", self.key.expose());
        text
    }
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_the_same_after_it_was_read_again() {
        let folder = tempfile::tempdir().unwrap();
        for algorithm in [Algorithm::Ed25519, Algorithm::Es256] {
            let path = folder.path().join(algorithm.name());
            let others = [(OtherKind::Serial, b"A-17".to_vec()), (OtherKind::Private(200), Vec::new())];
            let made = DeviceKey::create(&path, algorithm, &others).unwrap();
            let read = DeviceKey::load(&path).unwrap();
            assert_eq!(made.identity(), read.identity());
            assert!(matches!(
                DeviceKey::create(&path, algorithm, &others).unwrap_err().problem,
                KeyProblem::Exists
            ));
        }
    }

    #[test]
    fn a_malformed_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let seed = "11".repeat(32);
        for (text, line) in [
            (format!("{TITLE}\nalgorithm rsa\nseed {seed}\n"), 2),
            (format!("{TITLE}\nalgorithm ed25519\nother 4 00\nseed {seed}\n"), 3),
            (format!("{TITLE}\nalgorithm ed25519\nother 1 0\nseed {seed}\n"), 3),
            (format!("{TITLE}\nalgorithm ed25519\nother 1 00\nseed 11\n"), 4),
            (format!("{TITLE}\nalgorithm es256\nseed {}\n", "ff".repeat(32)), 3),
        ] {
            let _ = std::fs::remove_file(&path);
            motemix_os::store::file::create(&path, 0o600, text.as_bytes()).unwrap();
            match DeviceKey::load(&path).unwrap_err().problem {
                KeyProblem::Malformed { line: said, .. } => assert_eq!(said, line, "{text}"),
                other => panic!("{other}"),
            }
        }
    }
}
