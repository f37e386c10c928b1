//! The program under test, as a user runs it.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

#[allow(unused_imports, reason = "each test file uses a part")]
pub use motemix_testbed::{Manual, Run, wait_until};

/// Sees to it that the programs in which nodes run are beside this one.
pub fn build_nodes() {
    motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix-lab"));
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

    /// Puts the programs of the nodes beside it.
    pub fn with_nodes(self) -> Self {
        build_nodes();
        for name in ["motemix", "motemix-loopix"] {
            let nodes = Path::new(env!("CARGO_BIN_EXE_motemix-lab")).with_file_name(name);
            copy_program(&nodes, &self.path().join("bin").join(name));
        }
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
