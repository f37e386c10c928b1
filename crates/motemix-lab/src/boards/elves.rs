//! The ELF files: built from the source tree by cargo, or found in a folder.

use super::board::Board;
use crate::failure::Failure;
use anyhow::Context;
use motemix_mcu::Image;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which file of a board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elf {
    /// The operations, one by one.
    Bench,
    /// A whole mote in little memory.
    Size,
    /// One operation at a time, with secrets from outside.
    Secrets,
    /// The thesis' operations on TweetNaCl.
    Baseline,
}

impl Elf {
    const fn file(self) -> &'static str {
        match self {
            Self::Bench => "mote_bench",
            Self::Size => "mote_size",
            Self::Secrets => "mote_secrets",
            Self::Baseline => "tweetnacl_bench",
        }
    }

    const fn package(self) -> &'static str {
        match self {
            Self::Bench => "motemix-board-bench",
            Self::Size => "motemix-board-size",
            Self::Secrets => "motemix-board-secrets",
            Self::Baseline => "motemix-tweetnacl-bench",
        }
    }

    const fn profile(self) -> &'static str {
        match self {
            Self::Size => "small",
            _ => "release",
        }
    }
}

/// Where the files come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A folder with a folder for each target, with the files in it.
    Folder(PathBuf),
    /// The firmware's workspace, to be built.
    Workspace(PathBuf),
}

impl Origin {
    /// The folder if there is one, or else the firmware of the source tree.
    pub fn of(folder: Option<&Path>, firmware: &Path) -> Result<Self, Failure> {
        match folder {
            Some(folder) => Ok(Self::Folder(folder.to_owned())),
            None if firmware.join("Cargo.toml").is_file() => Ok(Self::Workspace(firmware.to_owned())),
            None => Err(Failure::broken(format!(
                "there is no firmware in {}; run this in the source tree, say where it is with --firmware, or \
                 give built files with --elf",
                firmware.display()
            ))),
        }
    }

    /// Reads a board's file, after building it.
    pub fn image(&self, board: &Board, elf: Elf) -> Result<Image, Failure> {
        let path = match self {
            Self::Folder(folder) => folder.join(board.target).join(elf.file()),
            Self::Workspace(firmware) => build(firmware, board, elf)?,
        };
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Image::parse(&bytes).map_err(|error| Failure::broken(format!("{}: {error}", path.display())))
    }
}

/// Variables with which cargo is told how to build for a host.
const OF_HOSTS: [&str; 3] = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"];

/// A line of cargo's JSON, as far as it matters here.
#[derive(Deserialize)]
struct Line {
    executable: Option<PathBuf>,
}

fn build(firmware: &Path, board: &Board, elf: Elf) -> Result<PathBuf, Failure> {
    // What is said of this host's own build is not for this one.
    let is_ours = |name: &str| name.starts_with("CARGO_PROFILE_") || OF_HOSTS.contains(&name);
    let outer = std::env::vars_os().filter(|(name, _)| name.to_str().is_none_or(|name| !is_ours(name)));
    let output = Command::new("cargo")
        .env_clear()
        .envs(outer)
        // Code that is compiled in pieces is other code, by a little.
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(firmware)
        .args(["build", "--quiet", "--locked", "--message-format", "json-render-diagnostics"])
        .args(["--target", board.target, "--package", elf.package(), "--profile", elf.profile()])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo to build the firmware; give built files with --elf")?;
    if !output.status.success() {
        let hint = match elf {
            Elf::Baseline => {
                "; it needs arm-none-eabi-gcc (scripts/setup arm_gcc), or leave it out with --no-baseline"
            }
            _ => "; it needs the compiler's target (scripts/setup boards)",
        };
        return Err(Failure::failed(format!("{} was not built for {}{hint}", elf.file(), board.target)));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let mut executables =
        lines.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()?.executable);
    executables.find(|path| path.ends_with(elf.file())).ok_or_else(|| {
        Failure::failed(format!("cargo built {} for {}, and did not say where", elf.file(), board.target))
    })
}
