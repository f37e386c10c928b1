//! Keys that live in files.
//!
//! A node's mix key changes with each epoch. All of them follow from one seed that only moves
//! forward, so that whoever takes the file learns no key of an epoch before its own;
//! `docs/spec/epochs.md` has the derivation and test vectors.

mod place;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use motemix_crypto::Secret;
use motemix_directory::{
    AuthorityKey, AuthoritySecret, Epoch, IdentityKey, IdentitySecret, KeyRatchet, RatchetError,
};
use motemix_neighbour::PrivateKey;
use zeroize::Zeroizing;

use motemix_os::key_file::{
    self as file, KeyError, KeyProblem, Kind, create_seed, fresh_seed, load_seed, refused, write_new,
};
use motemix_os::memory::wiped;
use motemix_os::store::Birth;
use motemix_os::store::birth::machine;
use place::Place;
pub(crate) use place::birth_of;

const NODE: Kind = Kind {
    title: "motemix node key 1",
    remedy: "`motemix node renew-keys` makes new mix keys, and the node stays who it is",
};
const AUTHORITY: Kind = Kind {
    title: "motemix authority key 1",
    remedy: "restore it from a backup; without one the authority is lost, and nodes and the other authorities have to \
             be told of another (`motemix authority init`)",
};
const IDENTITY: Kind = Kind {
    title: "motemix node identity 1",
    remedy: "restore it from a backup (`motemix restore`); without one the node leaves its network: make another \
             (`motemix node init`), and have authorities remove the name and admit it anew",
};
const NEIGHBOUR: Kind = Kind {
    title: "motemix neighbour key 1",
    remedy: "restore it from a backup, or remove it and make another (`motemix link identity`), which neighbours have \
             to admit",
};

/// A node's forward-secure key and the file it lives in.
pub struct NodeKey {
    path: PathBuf,
    /// Where the seed lies and stays: a value that is moved leaves a copy behind.
    ratchet: Box<KeyRatchet>,
    /// What the file says of where it is. Files of earlier versions did not.
    place: Option<Box<Place>>,
    /// Whether it was made anew, and no epoch has begun with it since.
    renewed: bool,
}

impl NodeKey {
    /// Makes a key of the platform's entropy, for `epoch` and those after it, and writes it to a
    /// new file.
    ///
    /// # Errors
    /// There is such a file already, it cannot be written, or the platform has no entropy.
    pub fn create(path: impl AsRef<Path>, epoch: Epoch) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let ratchet = wiped(|| fresh_ratchet(path, epoch))?;
        let mut key = Self { path: path.to_owned(), ratchet, place: None, renewed: false };
        key.write(None, Replace::Never)?;
        Ok(key)
    }

    /// Puts a new key, for `epoch` and those after it, in place of one that may have been used
    /// elsewhere. `mark` is that of the new mark of replay logs.
    pub(crate) fn renew(path: &Path, epoch: Epoch, mark: Birth) -> Result<Self, KeyError> {
        let ratchet = wiped(|| fresh_ratchet(path, epoch))?;
        let mut key = Self { path: path.to_owned(), ratchet, place: None, renewed: true };
        key.write(Some(mark), Replace::Earlier)?;
        Ok(key)
    }

    /// The node has a mark of replay logs from now on, and the key is used with that one only.
    pub(crate) fn bind(&mut self, mark: Birth) -> Result<(), KeyError> {
        self.write(Some(mark), Replace::Earlier)
    }

    /// What the file says of where it is.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_deref()
    }

    /// Whether it was made anew, and no epoch has begun with it since.
    pub(crate) fn is_renewed(&self) -> bool {
        self.renewed
    }

    pub(crate) fn set_renewed(&mut self, renewed: bool) {
        self.renewed = renewed;
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// It cannot be read, others than its owner may use it, or its text is malformed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        wiped(|| Self::read(path.as_ref()))
    }

    fn read(path: &Path) -> Result<Self, KeyError> {
        let text = file::read(path, NODE)?;
        let mut lines = file::Lines::below(path, &text, NODE)?;
        let epoch = Epoch(lines.number("epoch", "`epoch` and a number")?);
        let place = lines.text("place").map(Place::parse);
        if place == Some(None) {
            return Err(lines.malformed("`place` and where the file is"));
        }
        let seed = lines.last_seed("seed", "`seed` and 64 hex digits")?;
        let ratchet = Box::new(KeyRatchet::new(epoch, Secret::new(*seed)));
        Ok(Self { path: path.to_owned(), ratchet, place: place.flatten().map(Box::new), renewed: false })
    }

    /// The earliest epoch whose key this file still has.
    pub fn epoch(&self) -> Epoch {
        self.ratchet.epoch()
    }

    /// The X25519 mix key of an epoch, in a box of its own.
    ///
    /// # Errors
    /// The epoch has passed, or it is implausibly far ahead.
    pub fn mix_secret(&self, epoch: Epoch) -> Result<Box<Secret<32>>, KeyError> {
        let secret = wiped(|| self.ratchet.mix_secret(epoch).map(Box::new));
        secret.map_err(|refused| self.refused(refused))
    }

    /// Erases the keys of all epochs before `epoch`, in memory and in the file.
    ///
    /// The file is replaced as a whole: after a crash it has either the earlier seed or the later
    /// one.
    ///
    /// # Errors
    /// The epoch has passed or is implausibly far ahead, or the file cannot be replaced; the key
    /// has not moved then.
    pub fn advance_to(&mut self, epoch: Epoch) -> Result<(), KeyError> {
        if epoch == self.epoch() {
            return Ok(());
        }
        let ratchet = wiped(|| {
            let mut ratchet = Box::new(self.ratchet.duplicate());
            ratchet.advance_to(epoch).map(|()| ratchet)
        });
        let ratchet = ratchet.map_err(|refused| self.refused(refused))?;
        let mut next = Self { path: self.path.clone(), ratchet, place: None, renewed: self.renewed };
        next.write(self.place.as_ref().and_then(|place| place.mark), Replace::Earlier)?;
        *self = next;
        Ok(())
    }

    fn refused(&self, refused: RatchetError) -> KeyError {
        let problem = match refused {
            RatchetError::Passed { asked, have } => KeyProblem::Passed { asked, have },
            RatchetError::TooFarAhead { asked, have } => KeyProblem::TooFarAhead { asked, have },
        };
        KeyError::new(&self.path, problem)
    }

    fn write(&mut self, mark: Option<Birth>, replace: Replace) -> Result<(), KeyError> {
        let place = |file| Place { machine: machine(), file, mark };
        let text = |file| {
            let mut text = Zeroizing::new(Vec::with_capacity(512));
            // Writing to a vector cannot fail.
            let _ = writeln!(text, "{}\nepoch {}\nplace {}", NODE.title, self.epoch(), place(file));
            file::push_seed(&mut text, "seed", self.ratchet.expose_seed());
            text
        };
        let written = wiped(|| match replace {
            Replace::Never => motemix_os::store::file::create_knowing(&self.path, &self.path, 0o600, text),
            Replace::Earlier => {
                motemix_os::store::file::replace_knowing(&self.path, &self.path, 0o600, text).map(drop)
            }
        });
        written.map_err(|error| refused(&self.path, error))?;
        self.place = birth_of(&self.path).map(place).map(Box::new);
        Ok(())
    }
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeKey(..)")
    }
}

/// The key with which an authority signs network documents, and the file it lives in.
pub struct AuthorityKeyFile {
    secret: Box<AuthoritySecret>,
}

impl AuthorityKeyFile {
    /// Makes a key of the platform's entropy and writes it to a new file.
    ///
    /// # Errors
    /// There is such a file already, it cannot be written, or the platform has no entropy.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let made = |seed: &[u8; 32]| Box::new(AuthoritySecret::from_bytes(seed));
        wiped(|| create_seed(path.as_ref(), AUTHORITY).map(|seed| made(&seed))).map(|secret| Self { secret })
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// It cannot be read, others than its owner may use it, or its text is malformed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let made = |seed: &[u8; 32]| Box::new(AuthoritySecret::from_bytes(seed));
        wiped(|| load_seed(path.as_ref(), AUTHORITY).map(|seed| made(&seed))).map(|secret| Self { secret })
    }

    /// The key itself; it wipes itself when it is dropped.
    pub fn secret(&self) -> &AuthoritySecret {
        &self.secret
    }

    /// The public half, as configurations and documents name it.
    pub fn public_key(&self) -> AuthorityKey {
        self.secret.public_key()
    }
}

impl fmt::Debug for AuthorityKeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthorityKeyFile(..)")
    }
}

/// The key by which authorities know a node for as long as it exists, and the file it lives in.
pub struct IdentityKeyFile {
    secret: Box<IdentitySecret>,
}

impl IdentityKeyFile {
    /// Makes a key of the platform's entropy and writes it to a new file.
    ///
    /// # Errors
    /// There is such a file already, it cannot be written, or the platform has no entropy.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let made = |seed: &[u8; 32]| Box::new(IdentitySecret::from_bytes(seed));
        wiped(|| create_seed(path.as_ref(), IDENTITY).map(|seed| made(&seed))).map(|secret| Self { secret })
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// It cannot be read, others than its owner may use it, or its text is malformed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let made = |seed: &[u8; 32]| Box::new(IdentitySecret::from_bytes(seed));
        wiped(|| load_seed(path.as_ref(), IDENTITY).map(|seed| made(&seed))).map(|secret| Self { secret })
    }

    /// The key itself; it wipes itself when it is dropped.
    pub fn secret(&self) -> &IdentitySecret {
        &self.secret
    }

    /// The public half, by which authorities admit the node.
    pub fn public_key(&self) -> IdentityKey {
        self.secret.public_key()
    }
}

impl fmt::Debug for IdentityKeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdentityKeyFile(..)")
    }
}

/// Makes the key by which neighbours know a node, and writes it to a new file.
///
/// # Errors
/// There is such a file already, it cannot be written, or the platform has no entropy.
pub fn create_neighbour_key(path: impl AsRef<Path>) -> Result<Box<PrivateKey>, KeyError> {
    wiped(|| make_neighbour_key(path.as_ref()))
}

fn make_neighbour_key(path: &Path) -> Result<Box<PrivateKey>, KeyError> {
    let key = loop {
        // One seed of 2³² is no scalar of the curve.
        if let Ok(key) = PrivateKey::new(Secret::new(*fresh_seed(path)?)) {
            break Box::new(key);
        }
    };
    let mut text = Zeroizing::new(Vec::with_capacity(256));
    text.extend_from_slice(NEIGHBOUR.title.as_bytes());
    text.push(b'\n');
    file::push_seed(&mut text, "key", key.expose());
    write_new(path, &text)?;
    Ok(key)
}

/// Reads such a file.
///
/// # Errors
/// It cannot be read, others than its owner may use it, or its text is malformed.
pub fn load_neighbour_key(path: impl AsRef<Path>) -> Result<Box<PrivateKey>, KeyError> {
    wiped(|| read_neighbour_key(path.as_ref()))
}

fn read_neighbour_key(path: &Path) -> Result<Box<PrivateKey>, KeyError> {
    const FORMAT: &str = "`key` and 64 hex digits, which are a P-256 key";
    let text = file::read(path, NEIGHBOUR)?;
    let lines = file::Lines::below(path, &text, NEIGHBOUR)?;
    let key = lines.last_seed("key", FORMAT)?;
    PrivateKey::new(Secret::new(*key)).map(Box::new).map_err(|_| NEIGHBOUR.malformed(path, 2, FORMAT))
}

#[derive(Clone, Copy)]
enum Replace {
    Never,
    Earlier,
}

fn fresh_ratchet(path: &Path, epoch: Epoch) -> Result<Box<KeyRatchet>, KeyError> {
    Ok(Box::new(KeyRatchet::new(epoch, Secret::new(*fresh_seed(path)?))))
}
