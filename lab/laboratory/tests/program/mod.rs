//! The program under test, as a user runs it.
#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../../../../app/motemix/tests/program/manual.rs"]
mod manual;
#[path = "../../../../app/motemix/tests/program/run.rs"]
mod run;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

#[allow(unused_imports, reason = "each test file uses a part")]
pub use {
    manual::Manual,
    run::{Run, wait_until},
};

/// Sees to it that the program in which nodes run is beside this one, and not older than its
/// sources. `scripts/run-tests` has built it with the tests of all packages; alone it has other
/// features, and is built anew.
pub fn build_nodes() {
    let folder = Path::new(env!("CARGO_BIN_EXE_motemix-lab")).parent().expect("a folder");
    if std::env::var_os("MOTEMIX_PROGRAMS_ARE_BUILT").is_some() || is_current(&folder.join("motemix")) {
        return;
    }
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--locked", "--quiet", "--package", "motemix", "--target-dir"]);
    build.arg(folder.parent().expect("a folder of folders"));
    if folder.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().expect("cargo starts").success(), "the program of the nodes is not built");
}

/// Whether a program is newer than every source that cargo has noted beside it.
fn is_current(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Ok(noted) = fs::read_to_string(program.with_extension("d")) else { return false };
    let built = changed(program);
    let sources = noted.split_once(": ").map_or("", |(_, sources)| sources);
    built.is_some() && sources.split_whitespace().all(|source| changed(Path::new(source)) <= built)
}

/// Copies by a process of its own. The kernel runs no file that somebody has open for writing, and
/// a program that another test starts at that moment would have inherited the open file.
fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").args([from, to]).status().expect("cp starts");
    assert!(copied.success(), "cp {} {}", from.display(), to.display());
}

/// The laboratory where it is installed: the program and that of the nodes in a `bin` of their own,
/// far from the source tree and from everybody's data.
pub struct Installed {
    folder: TempDir,
}

impl Installed {
    pub fn new() -> Self {
        let installed = Self { folder: tempfile::tempdir().expect("a folder") };
        let bin = installed.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        copy_program(Path::new(env!("CARGO_BIN_EXE_motemix-lab")), &bin.join("motemix-lab"));
        installed
    }

    /// Puts the program of the nodes beside it.
    pub fn with_nodes(self) -> Self {
        build_nodes();
        let nodes = Path::new(env!("CARGO_BIN_EXE_motemix-lab")).with_file_name("motemix");
        copy_program(&nodes, &self.path().join("bin/motemix"));
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where images belong that are installed with it.
    pub fn images(&self) -> PathBuf {
        self.path().join("share/motemix/firmware")
    }

    /// What runs it, to be given words. `MOTEMIX_SOURCE` hides the source tree.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.path().join("bin/motemix-lab"));
        command.current_dir(self.path()).env("MOTEMIX_SOURCE", "").env("HOME", self.path().join("home"));
        command.env_remove("MOTEMIX_FIRMWARE").env_remove("XDG_DATA_HOME");
        command
    }
}

/// Runs the program with these words.
pub fn lab<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(words: I) -> Run {
    Run::of(env!("CARGO_BIN_EXE_motemix-lab"), words)
}
