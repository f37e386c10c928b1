//! A folder of built images, which needs no source tree: a folder for each target with the images
//! in it, and the version that they were built from.

use super::program::Program;
use crate::failure::Failure;
use anyhow::Context;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file with the version.
const VERSION: &str = "VERSION";

/// The version of the images in a folder; `None` if it does not say.
///
/// # Errors
/// It cannot be read.
pub fn version(folder: &Path) -> Result<Option<String>, Failure> {
    let file = folder.join(VERSION);
    match fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Failure::broken(format!("cannot read {}: {error}", file.display()))),
    }
}

/// The images of these programs.
///
/// # Errors
/// The first one that is missing, and what puts it there.
pub fn images(folder: &Path, programs: &[Program]) -> Result<Vec<PathBuf>, Failure> {
    let image = |program: &Program| {
        let image = folder.join(program.place());
        if image.is_file() {
            return Ok(image);
        }
        let (image, folder) = (image.display(), folder.display());
        Err(Failure::broken(format!(
            "{image}: not found; in the source tree `motemix-lab boards build --out {folder}` makes it"
        )))
    };
    programs.iter().map(image).collect()
}

/// Copies built images into a folder, made if it does not exist, and returns where they are now.
///
/// # Errors
/// A file cannot be written, or the folder has images of another version.
pub fn fill(folder: &Path, programs: &[Program], images: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let own = env!("CARGO_PKG_VERSION");
    if let Some(other) = version(folder)?.filter(|version| version != own) {
        return Err(Failure::broken(format!(
            "{} has images of version {other}, and these are of {own}; remove it, or name another folder",
            folder.display()
        )));
    }
    let mut copies = Vec::new();
    for (program, image) in programs.iter().zip(images) {
        let copy = folder.join(program.place());
        let of_target = folder.join(program.target);
        fs::create_dir_all(&of_target).with_context(|| format!("cannot make {}", of_target.display()))?;
        fs::copy(image, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
        copies.push(copy);
    }
    let file = folder.join(VERSION);
    fs::write(&file, format!("{own}\n")).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(copies)
}
