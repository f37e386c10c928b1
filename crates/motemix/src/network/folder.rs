//! Makes a network's folder, whole or not at all.

use crate::failure::Failure;
use anyhow::{Context, Result, anyhow};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

fn occupied(dir: &Path) -> anyhow::Error {
    anyhow!("{}: not empty; choose another folder, nothing is overwritten", dir.display())
}

/// Refuses a folder in which something is.
pub fn check_empty(dir: &Path) -> Result<()> {
    match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
        Ok(true) => Err(occupied(dir)),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(occupied(dir)),
        _ => Ok(()),
    }
}

/// Has `fill` make the network in a folder beside `dir`, then gives it its name. Nothing is overwritten.
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
    fill(unfinished.path())?;
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
