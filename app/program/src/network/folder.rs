//! Makes a network's folder, whole or not at all.

use crate::failure::Failure;
use anyhow::{Context, Result, anyhow};
use motemix_directory::{MAX_NAME_LEN, is_name};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

fn occupied(dir: &Path) -> anyhow::Error {
    anyhow!("{}: not empty; choose another folder, nothing is overwritten", dir.display())
}

/// Why the nodes of a network cannot be listed, and what to do. `init` is the command that makes
/// such a network.
pub fn no_nodes(folder: &Path, error: &io::Error, init: &str) -> Failure {
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied => {
            "networks belong to the user who made them; become that user".to_owned()
        }
        _ => format!("check the path, or make a network with `{init}`"),
    };
    Failure::broken(format!("{}: {error}; {remedy}", folder.display()))
}

/// Refuses a folder in which something is.
pub fn check_empty(dir: &Path) -> Result<()> {
    match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(occupied(dir)),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(occupied(dir)),
        _ => Ok(()),
    }
}

/// Refuses a network's or node's name that documents cannot have, and names the option that it was
/// given by.
pub fn check_name(option: &str, name: &str) -> Result<(), Failure> {
    if is_name(name.as_bytes()) {
        return Ok(());
    }
    Err(Failure::broken(format!(
        "{option}: {name:?} is not 1 to {MAX_NAME_LEN} of a-z, 0-9 and '-'; choose another"
    )))
}

/// The longest path of a socket, without the zero that ends it (`sun_path`, unix(7)).
const LONGEST_SOCKET: usize = 107;

/// Refuses a folder of a network whose nodes could not make these sockets below it: the system's
/// limit is short.
pub fn check_sockets(dir: &Path, sockets: impl Iterator<Item = PathBuf>) -> Result<(), Failure> {
    let whole = std::path::absolute(dir).with_context(|| format!("cannot find {}", dir.display()))?;
    let lengths = sockets.map(|socket| whole.join(socket).as_os_str().len());
    let longest = lengths.max().unwrap_or_default();
    if longest <= LONGEST_SOCKET {
        return Ok(());
    }
    Err(Failure::broken(format!(
        "{}: too long by {} bytes: the nodes' sockets below it may have paths of {LONGEST_SOCKET} bytes; choose a folder \
         with a shorter path",
        whole.display(),
        longest - LONGEST_SOCKET
    )))
}

/// Has `fill` make the network in a folder beside `dir`, then gives it its name. Nothing is
/// overwritten.
pub fn make_whole(dir: &Path, fill: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    check_empty(dir)?;
    let parent = match dir.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    make(parent)?;
    let unfinished = tempfile::Builder::new()
        .prefix(".motemix-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .with_context(|| format!("cannot make a folder in {}", parent.display()))?;
    // Whoever is told what is wrong looks for it where the folder was to be.
    fill(unfinished.path()).map_err(|failure| failure.about(dir, unfinished.path()))?;
    fs::rename(unfinished.path(), dir).map_err(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => occupied(dir),
        _ => anyhow::Error::new(error).context(format!("cannot make {}", dir.display())),
    })?;
    // It has another name now, and nothing is left to clean up.
    let _ = unfinished.keep();
    Ok(())
}

/// A folder in it, in which nobody else may put anything.
pub fn make(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.with_context(|| format!("cannot make {}", path.display()))
}
