//! Emulated boards on one radio channel, for the commands that run them.

mod air;
mod board;
mod console;
mod emulator;
mod ram;

pub use air::Air;
pub use board::{Board, with_this_process};
pub use emulator::check_installed;

use crate::failure::Failure;
use anyhow::Context;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The folder that is to be kept, or a temporary one that goes with the first of both.
pub fn folder(keep: Option<&Path>) -> Result<(Option<TempDir>, PathBuf), Failure> {
    if let Some(keep) = keep {
        std::fs::create_dir_all(keep).with_context(|| format!("cannot make {}", keep.display()))?;
        // Emulators run in folders of their own.
        let keep = keep.canonicalize().with_context(|| format!("cannot find {}", keep.display()))?;
        return Ok((None, keep));
    }
    let folder =
        tempfile::Builder::new().prefix("motemix-").tempdir().context("cannot make a temporary folder")?;
    let path = folder.path().to_owned();
    Ok((Some(folder), path))
}
