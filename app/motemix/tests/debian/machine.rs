//! A machine of its own with systemd, beside this one. It goes when the story ends.

use super::program::{Run, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

pub struct Machine {
    boot: Child,
    /// The number of its first process on this machine.
    first: String,
    _changes: TempDir,
}

impl Machine {
    /// Boots the Debian of that folder, which does not change.
    pub fn boot(tree: &Path) -> Self {
        // Not among temporary files: they may be on a file system that none can be laid over.
        let changes = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debian/machine");
        let mut boot = Command::new(script);
        boot.arg(tree).arg(changes.path()).stdin(Stdio::null()).stdout(Stdio::null());
        let boot = boot.spawn().expect("it starts");
        let pid = changes.path().join("pid");
        let mut machine = Self { boot, first: String::new(), _changes: changes };
        wait_until("the machine boots", || pid.exists());
        fs::read_to_string(pid).expect("a number").trim().clone_into(&mut machine.first);
        wait_until("it is up", || machine.run(&["systemctl", "is-system-running"]).stdout() == "running\n");
        machine
    }

    /// A file or folder of the machine, as this one sees it.
    pub fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.first))
    }

    /// Runs a program of the machine there, as root.
    pub fn run(&self, words: &[&str]) -> Run {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.first, "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup"]);
        command.args([
            "--root",
            "--wd=/",
            "env",
            "-i",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL=C.UTF-8",
        ]);
        Run::by(command.current_dir("/").args(words).stdin(Stdio::null()))
    }

    /// Runs the installed program as the package's user.
    pub fn motemix(&self, words: &[&str]) -> Run {
        let user = ["setpriv", "--reuid=motemix", "--regid=motemix", "--clear-groups", "motemix"];
        self.run(&[&user, words].concat())
    }

    pub fn show(&self, unit: &str, property: &str) -> String {
        self.run(&["systemctl", "show", "--value", "--property", property, unit]).succeeds().trim().to_owned()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.first.is_empty() {
            eprintln!("{}", self.run(&["journalctl", "--no-pager", "--lines=60"]).stdout());
        }
        // Asked, and not killed: it tidies up.
        if let Some(pid) = i32::try_from(self.boot.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.boot.wait();
    }
}
