//! All that a node finds in its folder.

use super::config::Config;
use super::{Directory, FileError, NodeEntry, Role, Settings, keys, names, wrong};
use motemix_crypto::p224::{Point, Scalar};
use motemix_os::store::file::folder_open_to_all;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes of a payload that destination and message have together: 1,024 less the tag, the end of
/// the padding and the heads of two arrays and a byte string.
const PAYLOAD_ROOM: usize = 1003;
/// What a destination has beside its host and name: the heads of an array and two byte strings, and
/// a port.
const DESTINATION_HEAD: usize = 8;
/// What marks cover as such, before the noise.
const MARK_LEN: usize = 2;

/// A node's folder, read and found to fit together.
#[derive(Debug)]
pub struct NodeFiles {
    /// What the node is there for.
    pub role: Role,
    /// Its secret, where it stays.
    pub secret: Box<Scalar>,
    /// What others know of it.
    pub own: NodeEntry,
    /// Everybody.
    pub directory: Directory,
    /// How often it sends, and what else it was told.
    pub config: Config,
    /// What only motemix was told.
    pub settings: Settings,
}

impl NodeFiles {
    /// Reads the folder. Which keys are there tells the role.
    ///
    /// # Errors
    /// A file is missing or broken, or two of them contradict each other; the error names the one
    /// to look at.
    pub fn open(dir: &Path) -> Result<Self, FileError> {
        let (secret, own) = keys_of(dir)?;
        let role = own.role();
        let config_file = dir.join(names::CONFIG);
        let config = Config::load(&config_file)?;
        let settings = Settings::of_node(dir, &config)?;
        let database = dir.join(config.database(role));
        if !database.exists() {
            let public = keys::public_file(dir, role);
            let remedy = format!(
                "hand {} in to whoever builds it, then run `motemix loopix directory install`",
                public.display()
            );
            return Err(wrong(&database, "", "there is no directory yet", remedy));
        }
        let directory = Directory::load(&database)?;
        must_list(&database, &directory, &own)?;
        must_fit(&config_file, &config, &directory, &own)?;
        Ok(Self { role, secret, own, directory, config, settings })
    }
}

/// A directory that was put into a node's folder.
#[derive(Debug)]
pub struct Installed {
    /// Where it is.
    pub file: PathBuf,
    /// What was there, if it could be read.
    pub before: Option<Directory>,
    /// What is there now.
    pub directory: Directory,
}

/// Puts a directory that somebody else built into the folder of a node, which need not stop.
///
/// # Errors
/// The directory or a file of the node is missing or broken, or the node could not run with it;
/// nothing has changed then. Or the system refuses.
pub fn install_directory(dir: &Path, from: &Path) -> Result<Installed, FileError> {
    let (_, own) = keys_of(dir)?;
    let config_file = dir.join(names::CONFIG);
    let config = Config::load(&config_file)?;
    let directory = Directory::load(from)?;
    if directory.mixes().next().is_none() {
        return Err(wrong(
            from,
            "",
            "has no mixes: nothing would be hidden",
            "ask whoever built it for another",
        ));
    }
    must_list(from, &directory, &own)?;
    must_fit(&config_file, &config, &directory, &own)?;
    let file = dir.join(config.database(own.role()));
    let before = Directory::load(&file).ok();
    directory.save(&file)?;
    Ok(Installed { file, before, directory })
}

/// A node's secret, and what others know of it.
fn keys_of(dir: &Path) -> Result<(Box<Scalar>, NodeEntry), FileError> {
    let role = role_of(dir)?;
    let secret_file = keys::secret_file(dir, role);
    let secret = keys::load_secret(&secret_file)?;
    warn_if_exposed(&secret_file);
    let public_file = keys::public_file(dir, role);
    let own = keys::load_public(&public_file)?;
    if own.role() != role {
        let problem = format!("is that of a {}", own.role().name());
        return Err(wrong(&public_file, "kind", problem, "restore it from a backup"));
    }
    if *own.public_key() != Point::mul_generator(&secret) {
        let problem = format!("does not belong to {}", secret_file.display());
        return Err(wrong(&public_file, "key", problem, "restore both from one backup"));
    }
    Ok((secret, own))
}

/// The one role whose keys are in the folder.
///
/// # Errors
/// There are none, or those of several roles.
pub fn role_of(dir: &Path) -> Result<Role, FileError> {
    let mut roles = Role::ALL
        .into_iter()
        .filter(|role| keys::secret_file(dir, *role).exists() || keys::public_file(dir, *role).exists());
    match (roles.next(), roles.next()) {
        (Some(role), None) => Ok(role),
        (None, _) if !dir.is_dir() => {
            Err(wrong(dir, "", "there is no such folder", "name that of a node, as loops/nodes/Client1"))
        }
        (None, _) => {
            let problem = "has no keys: neither secretMixnode.prv, secretProvider.prv nor secretClient.prv";
            Err(wrong(dir, "", problem, "name the folder of a node"))
        }
        (Some(one), Some(other)) => {
            let problem = format!("has the keys of a {} and of a {}", one.name(), other.name());
            Err(wrong(dir, "", problem, "give each node a folder of its own"))
        }
    }
}

/// Only a warning: the originals make their keys this way.
fn warn_if_exposed(secret_file: &Path) {
    let mode = fs::metadata(secret_file).map_or(0, |metadata| metadata.mode() & 0o777);
    if mode & 0o077 != 0 {
        let file = secret_file.display();
        tracing::warn!("{file}: others may use this key (mode {mode:04o}); run `chmod 600 {file}`");
    }
    if let Ok(Some((folder, mode))) = folder_open_to_all(secret_file) {
        let folder = folder.display();
        tracing::warn!(
            "{folder}: others may put another key and directory here (mode {mode:04o}); run `chmod 700 {folder}`"
        );
    }
}

/// Others only find what the directory says; a node that it says something else about would wait in
/// vain.
fn must_list(database: &Path, directory: &Directory, own: &NodeEntry) -> Result<(), FileError> {
    const REMEDY: &str = "it is of another network, or of another time; build the directory again with this node's \
                          public*.bin, or hand that in to whoever builds it";
    let name = own.name();
    let (is_listed, is_there) = match own {
        NodeEntry::Mix(mix) => (directory.mix(name) == Some(mix), directory.mix(name).is_some()),
        NodeEntry::Provider(provider) => {
            (directory.provider(name) == Some(provider), directory.provider(name).is_some())
        }
        NodeEntry::Client(user) => (directory.user(name) == Some(user), directory.user(name).is_some()),
    };
    let role = own.role().name();
    if !is_there {
        return Err(wrong(database, "", format!("has no {role} {name}"), REMEDY));
    }
    if !is_listed {
        let problem = format!("says something else about the {role} {name} than its own public key file");
        return Err(wrong(database, "", problem, REMEDY));
    }
    if let NodeEntry::Client(user) = own
        && directory.provider(&user.provider).is_none()
    {
        let problem = format!("has no provider {}, which {name} needs", user.provider);
        return Err(wrong(database, "", problem, REMEDY));
    }
    Ok(())
}

/// Cover has to fit its packet, whoever of these it is for.
fn must_fit(
    config_file: &Path,
    config: &Config,
    directory: &Directory,
    own: &NodeEntry,
) -> Result<(), FileError> {
    let users = directory.users().iter().map(|user| user.host.len() + user.name.len());
    let longest = users.chain([own.host().len() + own.name().len()]).max().unwrap_or(0);
    let room = PAYLOAD_ROOM - MARK_LEN - DESTINATION_HEAD - longest;
    if config.noise_len > room {
        let problem = format!("is {}, which does not fit a packet", config.noise_len);
        return Err(wrong(config_file, "NOISE_LENGTH", problem, format!("choose {room} at most")));
    }
    Ok(())
}
