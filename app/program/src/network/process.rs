//! Which process a node is, in a way that neither a reused number nor a copied folder can fake.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "motemix tells processes apart by Linux's /proc and pidfd; use the crate motemix-host elsewhere"
);

use anyhow::{Context, Result, anyhow, bail};
use motemix_os::store::file;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A pid file is shorter, in bytes.
const LONGEST: u64 = 4096;

/// A process: its number, when it started, and under which boot of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    /// Clock ticks from boot to the process's start.
    started: u64,
    boot: String,
}

impl Process {
    /// The process that has this number now.
    pub fn running(pid: u32) -> Result<Self> {
        let started = start_time(pid)?.ok_or_else(|| anyhow!("process {pid} has ended"))?;
        Ok(Self { pid, started, boot: boot_id()? })
    }

    /// The process recorded in a pid file; `None` if there is no such file, it has no bytes, as
    /// after a power cut, or it was copied here with its folder: its process belongs to the
    /// original.
    ///
    /// # Errors
    /// The file cannot be read, or is none, or names a process of another user than its own: who
    /// may write it would have that process ended by root.
    pub fn load(path: &Path) -> Result<Option<Self>> {
        let read = |file: fs::File| {
            let writer = file.metadata()?.uid();
            Ok((io::read_to_string(file.take(LONGEST))?, writer))
        };
        let (text, writer) = match file::open(path).and_then(read) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.with_context(|| format!("cannot read {}", path.display()))?,
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        let mut words = text.split_whitespace();
        let mut folder = None;
        let mut parse = || {
            let process = Self {
                pid: words.next()?.parse().ok()?,
                started: words.next()?.parse().ok()?,
                boot: words.next()?.to_owned(),
            };
            // Files of earlier versions end here.
            folder = words.next().map(str::to_owned);
            words.next().is_none().then_some(process)
        };
        let process = parse().ok_or_else(|| {
            anyhow!("{}: not a pid file; stop the node by hand and remove the file", path.display())
        })?;
        let is_of_here = folder.is_none_or(|folder| folder_of(path).is_ok_and(|here| here == folder));
        if !is_of_here {
            return Ok(None);
        }
        let user = user_of(process.pid).with_context(|| format!("cannot look at process {}", process.pid))?;
        if process.is_running()? && writer != 0 && user.is_some_and(|user| user != writer) {
            bail!(
                "{}: written by user {writer}, and names process {} of another user; look who wrote it, and \
                 remove it",
                path.display(),
                process.pid
            );
        }
        Ok(Some(process))
    }

    /// Records the process in a pid file, beside the identity of the file's folder.
    pub fn save(&self, path: &Path) -> Result<()> {
        let folder = folder_of(path)?;
        let text = format!("{} {} {} {folder}\n", self.pid, self.started, self.boot);
        file::replace_unsynced(path, 0o644, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it is still there. Its number may meanwhile name another process.
    pub fn is_running(&self) -> Result<bool> {
        Ok(boot_id()? == self.boot && start_time(self.pid)? == Some(self.started))
    }

    /// Whether it is there and was told to stand still, by SIGSTOP or Ctrl-Z.
    pub fn is_stopped(&self) -> bool {
        let stat = proc_file(self.pid, "stat").ok().flatten().unwrap_or_default();
        matches!(fields_of(&stat).first(), Some(&("T" | "t"))) && self.is_running().unwrap_or(false)
    }

    /// Sends a signal to exactly this process; `false` if it has ended.
    pub fn signal(&self, signal: Signal) -> Result<bool> {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return Ok(false) };
        // The handle is taken first: what is checked after that cannot become another process.
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(rustix::io::Errno::SRCH) => return Ok(false),
            other => other.with_context(|| format!("cannot open process {pid}"))?,
        };
        if !self.is_running()? {
            return Ok(false);
        }
        match pidfd_send_signal(&handle, signal) {
            Err(rustix::io::Errno::SRCH) => Ok(false),
            other => other.map(|()| true).with_context(|| format!("cannot signal process {pid}")),
        }
    }
}

/// Device and inode of the folder of a file: they stay when the folder is renamed, and a copy has
/// others.
fn folder_of(path: &Path) -> Result<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let data = fs::metadata(folder).with_context(|| format!("cannot look at {}", folder.display()))?;
    Ok(format!("{}:{}", data.dev(), data.ino()))
}

fn boot_id() -> Result<String> {
    let path = "/proc/sys/kernel/random/boot_id";
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    Ok(text.trim().to_owned())
}

/// A file of /proc/PID; `None` for a process that is gone.
fn proc_file(pid: u32, name: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(format!("/proc/{pid}/{name}")) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // The process ended between the opening of the file and its reading.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(None),
        other => other.map(Some),
    }
}

/// The user who started a process; `None` for a process that is gone. The owner of /proc/PID is
/// root for one that nobody may look into.
fn user_of(pid: u32) -> io::Result<Option<u32>> {
    let Some(status) = proc_file(pid, "status")? else { return Ok(None) };
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    Ok(users.and_then(|users| users.split_whitespace().next()?.parse().ok()))
}

/// Its fields from the third on (proc(5)).
fn fields_of(stat: &str) -> Vec<&str> {
    // The second field is the name, in parentheses, and may have blanks and parentheses of its own.
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect()
}

/// Field 22 of /proc/PID/stat; `None` for a process that is gone or only waits to be collected.
fn start_time(pid: u32) -> io::Result<Option<u64>> {
    let Some(stat) = proc_file(pid, "stat")? else { return Ok(None) };
    let fields = fields_of(&stat);
    let ended = matches!(fields.first(), Some(&("Z" | "X")));
    Ok(fields.get(19).filter(|_| !ended).and_then(|ticks| ticks.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn tells_a_process_from_an_earlier_one_with_its_number() {
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let process = Process::running(child.id()).unwrap();
        assert!(process.is_running().unwrap());

        let earlier = Process { started: process.started - 1, ..process.clone() };
        let other_boot = Process { boot: "another".into(), ..process.clone() };
        for impostor in [earlier, other_boot] {
            assert!(!impostor.is_running().unwrap());
            assert!(!impostor.signal(Signal::TERM).unwrap());
        }
        assert!(child.try_wait().unwrap().is_none());

        assert!(process.signal(Signal::TERM).unwrap());
        child.wait().unwrap();
        assert!(!process.is_running().unwrap());
        assert!(!process.signal(Signal::TERM).unwrap());
    }

    #[test]
    fn survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("node.pid");
        assert_eq!(Process::load(&file).unwrap(), None);
        let process = Process::running(std::process::id()).unwrap();
        process.save(&file).unwrap();
        assert_eq!(Process::load(&file).unwrap(), Some(process.clone()));
        let earlier = format!("{} {} {}\n", process.pid, process.started, process.boot);
        fs::write(&file, earlier).unwrap();
        assert_eq!(Process::load(&file).unwrap(), Some(process));
        fs::write(&file, "").unwrap();
        assert_eq!(Process::load(&file).unwrap(), None);
        fs::write(&file, "not a number").unwrap();
        assert!(Process::load(&file).unwrap_err().to_string().contains("not a pid file"));
    }

    /// Who may write a pid file has no process of another user ended by it.
    #[test]
    fn names_no_process_of_another_user_than_who_wrote_the_file() {
        if !rustix::process::getuid().is_root() {
            eprintln!("only root makes files of other users; left out");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("node.pid");
        let process = Process::running(std::process::id()).unwrap();
        process.save(&file).unwrap();
        assert_eq!(Process::load(&file).unwrap(), Some(process.clone()));
        std::os::unix::fs::chown(&file, Some(1234), None).unwrap();
        let said = Process::load(&file).unwrap_err().to_string();
        assert!(said.contains("written by user 1234"), "{said}");
        // Of one that has ended nothing is at stake.
        let ended = Process { started: process.started - 1, ..process };
        ended.save(&file).unwrap();
        std::os::unix::fs::chown(&file, Some(1234), None).unwrap();
        assert_eq!(Process::load(&file).unwrap(), Some(ended));
    }

    #[test]
    fn stays_with_its_folder_and_not_with_a_copy() {
        let root = tempfile::tempdir().unwrap();
        let [folder, renamed, copied] = ["folder", "renamed", "copied"].map(|name| root.path().join(name));
        fs::create_dir(&folder).unwrap();
        let process = Process::running(std::process::id()).unwrap();
        process.save(&folder.join("node.pid")).unwrap();
        fs::rename(&folder, &renamed).unwrap();
        assert_eq!(Process::load(&renamed.join("node.pid")).unwrap(), Some(process));
        fs::create_dir(&copied).unwrap();
        fs::copy(renamed.join("node.pid"), copied.join("node.pid")).unwrap();
        assert_eq!(Process::load(&copied.join("node.pid")).unwrap(), None);
    }
}
