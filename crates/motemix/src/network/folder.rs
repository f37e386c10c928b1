//! Makes a network's folder, whole or not at all.

use crate::failure::Failure;
use anyhow::{Context, Result, anyhow};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Has `fill` make the network in a folder beside `dir`, then gives it its name. Nothing is overwritten.
pub fn make_whole(dir: &Path, fill: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    let occupied = || anyhow!("{}: not empty; choose another folder, nothing is overwritten", dir.display());
    match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
        Ok(true) => return Err(occupied().into()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Err(occupied().into()),
        _ => {}
    }
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
        ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory => occupied(),
        _ => anyhow::Error::new(error).context(format!("cannot make {}", dir.display())),
    })?;
    // It has another name now, and nothing is left to clean up.
    let _ = unfinished.keep();
    Ok(())
}

/// A folder in it.
pub fn make(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}
