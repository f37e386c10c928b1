//! The program under test, as a user runs it.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod memory;
mod running;

#[allow(unused_imports, reason = "each test file uses a part")]
pub use {
    motemix_testbed::{Manual, Ports, Run, wait_until},
    running::Running,
};

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Runs the program with these words.
pub fn motemix<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(words: I) -> Run {
    Run::of(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")), words)
}

/// With these the wall clock alone is another one, as if somebody had set it.
pub fn faked_clock() -> [(&'static str, &'static str); 3] {
    let there = Command::new("faketime").arg("--version").output();
    assert!(there.is_ok(), "faketime is missing: `scripts/setup clocks`");
    // Each linker finds its own.
    let library = "/usr/$LIB/faketime/libfaketime.so.1";
    [("LD_PRELOAD", library), ("DONT_FAKE_MONOTONIC", "1"), ("FAKETIME_NO_CACHE", "1")]
}

/// A small network in a folder of its own.
pub struct Network {
    _folder: TempDir,
    _ports: Ports,
    pub dir: PathBuf,
}

impl Network {
    pub fn init(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("net");
        let ports = Ports::new();
        let base = ports.first.to_string();
        let mut words =
            vec!["net", "init", dir.to_str().expect("UTF-8"), "--epochs", "3", "--base-port", &base];
        words.extend(more);
        let epoch = if more.contains(&"1h") { 3600 } else { 86_400 };
        // A day or an hour that ends within a story is an epoch more than it counts.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let left = epoch - now % epoch;
        if left < 120 {
            thread::sleep(Duration::from_secs(left + 1));
        }
        motemix(words).succeeds();
        Self { _folder: folder, _ports: ports, dir }
    }

    pub fn path(&self, inner: &str) -> PathBuf {
        self.dir.join(inner)
    }

    pub fn config(&self, node: &str) -> PathBuf {
        self.path(&format!("nodes/{node}/node.toml"))
    }

    /// The documents, the earliest epoch first.
    pub fn documents(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("documents")).expect("documents");
        let mut documents: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        documents.sort();
        documents
    }

    pub fn authority(&self) -> String {
        fs::read_to_string(self.path("authority.pub")).expect("authority.pub").trim().to_owned()
    }
}

pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

pub fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a text file");
    assert!(text.contains(from), "{from:?} is not in {text}");
    fs::write(path, text.replacen(from, to, 1)).expect("a writable file");
}
