//! The program under test, as a user runs it.
#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../../../motemix/tests/program/manual.rs"]
mod manual;
#[path = "../../../motemix/tests/program/run.rs"]
mod run;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

#[allow(unused_imports, reason = "each test file uses a part")]
pub use {
    manual::Manual,
    run::{Run, wait_until},
};

/// Sees to it that the program in which nodes run is beside this one, and not an older one.
pub fn build_nodes() {
    let folder = Path::new(env!("CARGO_BIN_EXE_motemix-lab")).parent().expect("a folder");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--locked", "--quiet", "--package", "motemix", "--target-dir"]);
    build.arg(folder.parent().expect("a folder of folders"));
    if folder.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.status().expect("cargo starts").success(), "the program of the nodes is not built");
}

/// Runs the program with these words.
pub fn lab<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(words: I) -> Run {
    Run::of(env!("CARGO_BIN_EXE_motemix-lab"), words)
}
