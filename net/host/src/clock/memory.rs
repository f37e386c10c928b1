//! What a node remembers of its clocks from one run to the next: `state/clock`.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::witnesses::{Reading, Record, Timekeeper};
use motemix_os::clock::boot_id;
use motemix_os::store::file;

const TITLE: &str = "motemix clock 1";
/// More bytes than the file ever has.
const LONGEST: u64 = 4096;
/// The least that has to pass before it is written again.
const WRITE_EVERY: Duration = Duration::from_mins(1);

/// The file, and when it was last written.
///
/// It is a help and not a need: without it keys are erased later, and nothing else. So a node runs
/// on when it cannot be read or written, and says so once.
#[derive(Debug)]
pub struct ClockMemory {
    path: PathBuf,
    written: Option<Duration>,
    failed: bool,
}

impl ClockMemory {
    /// The memory in the folder of a node's state.
    pub fn of(state: &Path) -> Self {
        Self { path: state.join("clock"), written: None, failed: false }
    }

    /// Starts to keep time with what an earlier run knew.
    pub fn start(&self, now: Reading) -> Timekeeper {
        let earlier = match text_of(&self.path) {
            Ok(text) => {
                let read = read(&text);
                if read.is_none() {
                    let file = self.path.display();
                    tracing::warn!("{file}: not what a node remembers of its clocks; it is made anew");
                }
                read
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!("{}: cannot read it: {error}; check its permissions", self.path.display());
                None
            }
        };
        let same_boot = earlier.as_ref().is_some_and(|(of, _)| boot_id().is_some_and(|id| id == *of));
        Timekeeper::start(now, earlier.map(|(_, record)| record), same_boot)
    }

    /// Writes what the next run has to know, once a minute, or `at_once`.
    pub fn keep(&mut self, keeper: &Timekeeper, at_once: bool) {
        let record = keeper.record();
        let due = |written| record.boot.saturating_sub(written) >= WRITE_EVERY;
        if !(at_once || self.written.is_none_or(due)) {
            return;
        }
        self.written = Some(record.boot);
        let id = boot_id().unwrap_or_default();
        let written = file::replace_unsynced(&self.path, 0o600, text(&id, &record).as_bytes());
        if let (Err(error), false) = (&written, self.failed) {
            tracing::warn!("{}: cannot write it: {error}; keys may be erased later", self.path.display());
        }
        self.failed = written.is_err();
    }
}

fn text(boot_id: &str, record: &Record) -> String {
    let Record { boot, steady, assured, agreed } = record;
    let (boot, agreed) = (boot.as_micros(), agreed.as_micros());
    format!("{TITLE}\nboot-id {boot_id}\nboot {boot}\nsteady {steady}\nassured {assured}\nagreed {agreed}\n")
}

fn read(text: &str) -> Option<(String, Record)> {
    let mut lines = text.lines();
    let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
    value("motemix").filter(|rest| TITLE.ends_with(rest.as_str()))?;
    let boot_id = value("boot-id")?;
    let boot = Duration::from_micros(value("boot")?.parse().ok()?);
    let steady = value("steady")?.parse().ok()?;
    let assured = value("assured")?.parse().ok()?;
    let agreed = Duration::from_micros(value("agreed")?.parse().ok()?);
    lines.next().is_none().then_some((boot_id, Record { boot, steady, assured, agreed }))
}

/// What a regular file holds, as far as this one can be long.
fn text_of(path: &Path) -> io::Result<String> {
    io::read_to_string(file::open(path)?.take(LONGEST))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use motemix_directory::UnixTime;

    fn reading(wall: u64, boot: u64) -> Reading {
        Reading { wall: Duration::from_secs(wall), boot: Duration::from_secs(boot) }
    }

    #[test]
    fn what_was_known_is_known_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = ClockMemory::of(folder.path());
        let mut keeper = memory.start(reading(1_000_000, 50));
        keeper.observe(reading(1_000_010, 60), Duration::ZERO);
        keeper.assure(UnixTime(999_000));
        memory.keep(&keeper, false);
        let again = ClockMemory::of(folder.path()).start(reading(1_000_010, 60));
        assert_eq!(again.record(), keeper.record());
    }

    #[test]
    fn what_is_no_file_of_it_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clock");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        ClockMemory::of(folder.path()).start(reading(1_000_000, 50));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        ClockMemory::of(folder.path()).start(reading(1_000_000, 50));
    }

    #[test]
    fn it_is_written_once_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = ClockMemory::of(folder.path());
        let mut keeper = memory.start(reading(1_000_000, 0));
        let mut texts = Vec::new();
        for second in 1..=120 {
            keeper.observe(reading(1_000_000 + second, second), Duration::ZERO);
            memory.keep(&keeper, false);
            texts.push(fs::read_to_string(folder.path().join("clock")).unwrap());
        }
        texts.dedup();
        assert_eq!(texts.len(), 2);
    }

    #[test]
    fn a_damaged_memory_is_none_wherever_it_is_damaged() {
        let record =
            Record { boot: Duration::from_secs(5), steady: 7, assured: i64::MIN, agreed: Duration::ZERO };
        let whole = text("an-id", &record);
        assert_eq!(read(&whole), Some(("an-id".to_owned(), record)));
        for len in 0..whole.len() - 1 {
            // A number that lost its last digits is another number; then a later line is missing.
            if whole.is_char_boundary(len) && whole[..len].lines().count() < 6 {
                assert_eq!(read(&whole[..len]), None, "{len} bytes");
            }
        }
        assert_eq!(read(&(whole + "more\n")), None);
    }
}
