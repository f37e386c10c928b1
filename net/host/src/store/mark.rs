//! What the replay logs of a node must look like, as the node left them: `state/replay-mark`.
//!
//! ```text
//! motemix replay mark 1
//! boot 1b0b6c1e-…                 the start of the machine in which this was written
//! end open                        `clean` when the node has ended in order
//! erased 7                        keys and logs of all epochs before this one are gone
//! renewed no                      whether the keys were made anew and no epoch has begun since
//! log 7 1234:1795823328… 48 1795…  epoch, which file, bytes, when it was last changed
//! ```
//!
//! It is written after each write to a log, in place and with one write, so that it lives as long
//! as its folder does. When a log was last changed (its `ctime`) is the system's own: no tool that
//! puts an earlier copy of a log back in its place can set it.

use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use motemix_directory::Epoch;

use super::replay_log::HEADER_LEN;
use motemix_os::clock::boot_id;
use motemix_os::store::birth::Birth;
use motemix_os::store::lock::lock;
use motemix_os::store::{StoreError, file};

const FILE: &str = "replay-mark";
const TITLE: &str = "motemix replay mark 1";
/// All of it is written each time, so that nothing of a longer text before stays.
const LEN: usize = 4096;
/// A node that was killed may have written to a log and not here any more.
const KILLED: i128 = 2_000_000_000;
/// The same for the whole machine, whose disk may have this file as it was half a minute before.
const POWER_CUT: i128 = 60_000_000_000;
const SECOND: i128 = 1_000_000_000;

/// The mark of one state folder, locked: a second process that would use it is refused.
#[derive(Debug)]
pub struct Mark {
    path: PathBuf,
    file: File,
    birth: Birth,
    body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Body {
    boot: String,
    clean: bool,
    erased: Epoch,
    renewed: bool,
    logs: Vec<Noted>,
}

/// A log as it was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Noted {
    epoch: Epoch,
    /// `None` if it was about to be made.
    birth: Option<Birth>,
    len: u64,
    /// In nanoseconds since 1970.
    changed: i128,
}

impl Noted {
    fn of(epoch: Epoch, found: &Metadata) -> Self {
        Self { epoch, birth: Some(Birth::of(found)), len: found.len(), changed: changed(found) }
    }

    /// Whether nobody but the node has written to the log that was found. `cut_off` tells whether
    /// the machine ended before the node could.
    fn is_as_left(&self, found: Option<&Metadata>, cut_off: bool) -> bool {
        let Some(birth) = self.birth else {
            return found.is_none_or(|found| found.len() <= HEADER_LEN);
        };
        let Some(found) = found.filter(|found| Birth::of(found).is_of_same_file(&birth) && found.is_file())
        else {
            return false;
        };
        let later = changed(found) - self.changed;
        // Some file systems keep whole seconds, once the system has put the file out of its memory.
        let same = later == 0 || (changed(found) % SECOND == 0 && later <= 0 && later > -SECOND);
        if cut_off {
            return later.abs() <= POWER_CUT;
        }
        (found.len() == self.len && same) || (found.len() > self.len && (0..=KILLED).contains(&later))
    }
}

fn changed(found: &Metadata) -> i128 {
    i128::from(found.ctime()) * SECOND + i128::from(found.ctime_nsec())
}

impl Mark {
    /// Opens the mark of a state folder; `None` if it has none, or a damaged one.
    ///
    /// # Errors
    /// Another process uses it, or the system refuses.
    pub fn open(state: &Path) -> Result<Option<Self>, StoreError> {
        let path = state.join(FILE);
        let failed = |error| StoreError::io(&path, error);
        // What is no regular file with this name alone is nobody's mark.
        if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
            return Ok(None);
        }
        let file = match file::open_to_write(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => {
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        };
        lock(&file, &path)?;
        let mut text = String::new();
        let read = (&file).take(LEN as u64).read_to_string(&mut text);
        if read.is_err_and(|error| error.kind() != ErrorKind::InvalidData) {
            return Err(failed(io::Error::other("it cannot be read")));
        }
        let birth = Birth::of(&file.metadata().map_err(failed)?);
        Ok(parse(&text).map(|body| Self { path, file, birth, body }))
    }

    /// Makes a new mark in the place of any that is there. `logs` are those that are there
    /// already.
    ///
    /// # Errors
    /// The system refuses.
    pub fn make(
        state: &Path,
        erased: Epoch,
        renewed: bool,
        logs: impl Iterator<Item = (Epoch, Metadata)>,
    ) -> Result<Self, StoreError> {
        let path = state.join(FILE);
        let failed = |error| StoreError::io(&path, error);
        let logs = logs.map(|(epoch, found)| Noted::of(epoch, &found)).collect();
        let boot = boot_id().unwrap_or_default();
        let body = Body { boot, clean: true, erased, renewed, logs };
        let file = file::replace_and_keep(&path, 0o600, text(&body).as_bytes()).map_err(failed)?;
        lock(&file, &path)?;
        let birth = Birth::of(&file.metadata().map_err(failed)?);
        Ok(Self { path, file, birth, body })
    }

    /// Which file it is, for the key file to name.
    pub const fn birth(&self) -> Birth {
        self.birth
    }

    /// The earliest epoch whose key and log may be there.
    pub const fn erased(&self) -> Epoch {
        self.body.erased
    }

    /// Whether the keys were made anew and no epoch has begun with them.
    pub const fn renewed(&self) -> bool {
        self.body.renewed
    }

    /// The first epoch whose log is not as the node left it: removed, put back, cut, or written to
    /// by somebody else. `epochs` are those that have a log, `path_of` says where.
    pub fn altered(&self, epochs: &[Epoch], path_of: impl Fn(Epoch) -> PathBuf) -> Option<Epoch> {
        let Body { clean, boot, erased, logs, .. } = &self.body;
        let cut_off = !clean && boot_id().is_none_or(|now| now != *boot);
        let is_altered = |noted: &&Noted| {
            let found = fs::symlink_metadata(path_of(noted.epoch)).ok();
            !noted.is_as_left(found.as_ref(), cut_off)
        };
        let counts = |epoch: Epoch| epoch >= *erased;
        let altered = logs.iter().filter(|noted| counts(noted.epoch)).find(is_altered);
        let stranger =
            epochs.iter().find(|epoch| counts(**epoch) && !logs.iter().any(|noted| noted.epoch == **epoch));
        altered.map(|noted| noted.epoch).or(stranger.copied())
    }

    /// A log is about to be made; on the disk when this returns.
    pub(super) fn begin(&mut self, epoch: Epoch) -> io::Result<()> {
        if self.body.logs.iter().any(|noted| noted.epoch == epoch) {
            return Ok(());
        }
        let before = self.body.clone();
        self.body.logs.push(Noted { epoch, birth: None, len: 0, changed: 0 });
        self.write_to_disk(before)
    }

    /// A log could not be made, and is not there.
    pub(super) fn forget(&mut self, epoch: Epoch) {
        self.body.logs.retain(|noted| noted.epoch != epoch || noted.birth.is_some());
        let _ = self.write();
    }

    /// A log is like this now. What cannot be written costs epochs and admits nothing, so nobody
    /// waits for it.
    pub(super) fn note(&mut self, epoch: Epoch, found: &Metadata) {
        let noted = Noted::of(epoch, found);
        match self.body.logs.iter_mut().find(|noted| noted.epoch == epoch) {
            Some(before) => *before = noted,
            None => self.body.logs.push(noted),
        }
        let _ = self.write();
    }

    /// Keys and logs of epochs before `epoch` go; on the disk when this returns, before they do.
    pub(super) fn erase(&mut self, epoch: Epoch) -> io::Result<()> {
        if epoch <= self.body.erased {
            return Ok(());
        }
        let before = self.body.clone();
        self.body.erased = epoch;
        self.body.logs.retain(|noted| noted.epoch >= epoch);
        self.write_to_disk(before)
    }

    /// An epoch has begun with these keys.
    pub(super) fn begun(&mut self) {
        if std::mem::replace(&mut self.body.renewed, false) {
            let _ = self.write();
        }
    }

    /// The node ends in order, and its logs are on the disk.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.write_as(true)?;
        self.file.sync_data()
    }

    /// What the disk refuses is as it was `before`, and is tried again.
    fn write_to_disk(&mut self, before: Body) -> io::Result<()> {
        let written = self.write().and_then(|()| self.file.sync_data());
        if written.is_err() {
            self.body = before;
        }
        written
    }

    fn write(&mut self) -> io::Result<()> {
        self.write_as(false)
    }

    fn write_as(&mut self, clean: bool) -> io::Result<()> {
        (self.body.clean, self.body.boot) = (clean, boot_id().unwrap_or_default());
        self.file.write_all_at(text(&self.body).as_bytes(), 0)
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn text(body: &Body) -> String {
    let Body { boot, clean, erased, renewed, logs } = body;
    let (end, renewed) = (if *clean { "clean" } else { "open" }, if *renewed { "yes" } else { "no" });
    let mut text = format!("{TITLE}\nboot {boot}\nend {end}\nerased {erased}\nrenewed {renewed}\n");
    for Noted { epoch, birth, len, changed } in logs {
        let birth = birth.map_or_else(|| "-".to_owned(), |birth| birth.to_string());
        // A string takes all that is written into it.
        let _ = writeln!(text, "log {epoch} {birth} {len} {changed}");
    }
    text.extend(std::iter::repeat_n('\n', LEN.saturating_sub(text.len())));
    text
}

fn parse(text: &str) -> Option<Body> {
    let mut lines = text.lines();
    (lines.next()? == TITLE).then_some(())?;
    let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
    let boot = value("boot")?;
    let clean = value("end")? == "clean";
    let erased = Epoch(value("erased")?.parse().ok()?);
    let renewed = value("renewed")? == "yes";
    let log = |line: &str| {
        let mut words = line.strip_prefix("log ")?.split(' ');
        let epoch = Epoch(words.next()?.parse().ok()?);
        let birth =
            words.next().map(|word| if word == "-" { Ok(None) } else { word.parse().map(Some) })?.ok()?;
        Some(Noted { epoch, birth, len: words.next()?.parse().ok()?, changed: words.next()?.parse().ok()? })
    };
    let logs = lines.take_while(|line| !line.is_empty()).map(log).collect::<Option<_>>()?;
    Some(Body { boot, clean, erased, renewed, logs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ReplayLogs;
    use motemix_os::store::StoreProblem;

    /// A state folder whose log of epoch 7 has three digests.
    fn kept() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let mut logs = ReplayLogs::open(folder.path()).unwrap();
        logs.keep(Mark::make(folder.path(), Epoch(7), false, std::iter::empty()).unwrap());
        logs.open_log(Epoch(7)).unwrap();
        logs.append(Epoch(7), &[1, 2, 3]).unwrap();
        let log = folder.path().join("replay-7.log");
        (folder, log)
    }

    fn altered_by(folder: &Path, change: impl FnOnce(&mut Body)) -> Option<Epoch> {
        let mut mark = Mark::open(folder).unwrap().unwrap();
        change(&mut mark.body);
        ReplayLogs::open(folder).unwrap().altered(&mark).unwrap()
    }

    fn altered(folder: &Path) -> Option<Epoch> {
        altered_by(folder, |_| ())
    }

    fn copy(from: &Path, to: &Path) {
        assert!(std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    }

    #[test]
    fn what_the_node_left_is_as_it_left_it() {
        let (folder, _) = kept();
        assert_eq!(altered(folder.path()), None);
        let mut logs = ReplayLogs::open(folder.path()).unwrap();
        logs.keep(Mark::open(folder.path()).unwrap().unwrap());
        logs.append(Epoch(7), &[4]).unwrap();
        logs.append(Epoch(8), &[5]).unwrap();
        logs.sync().unwrap();
        drop(logs);
        assert_eq!(altered(folder.path()), None);
        assert!(Mark::open(folder.path()).unwrap().unwrap().body.clean);
    }

    #[test]
    fn a_log_that_is_put_back_in_its_place_is_not_even_if_it_is_as_long() {
        let (folder, log) = kept();
        let earlier = folder.path().join("earlier");
        copy(&log, &earlier);
        // The same bytes, the same time of the last change of its contents, the same inode.
        copy(&earlier, &log);
        assert_eq!(altered(folder.path()), Some(Epoch(7)));
    }

    #[test]
    fn a_log_that_is_gone_cut_replaced_or_a_stranger_s_is_noticed() {
        let deeds: [fn(&Path); 4] = [
            |log| fs::remove_file(log).unwrap(),
            |log| File::options().write(true).open(log).unwrap().set_len(32).unwrap(),
            |log| {
                copy(log, &log.with_extension("new"));
                fs::rename(log.with_extension("new"), log).unwrap();
            },
            |log| {
                fs::remove_file(log).unwrap();
                std::os::unix::fs::symlink("/dev/null", log).unwrap();
            },
        ];
        for deed in deeds {
            let (folder, log) = kept();
            deed(&log);
            assert_eq!(altered(folder.path()), Some(Epoch(7)));
            // Of an epoch that is over nobody asks.
            assert_eq!(altered_by(folder.path(), |body| body.erased = Epoch(8)), None);
        }
        let (folder, log) = kept();
        copy(&log, &folder.path().join("replay-9.log"));
        assert_eq!(altered(folder.path()), Some(Epoch(9)));
    }

    #[test]
    fn a_node_that_was_killed_between_log_and_mark_is_believed_for_a_moment() {
        let (folder, _) = kept();
        let earlier = |len: u64, changed: i128| {
            move |body: &mut Body| {
                body.logs[0].len -= len;
                body.logs[0].changed -= changed;
            }
        };
        assert_eq!(altered_by(folder.path(), earlier(8, SECOND)), None);
        assert_eq!(altered_by(folder.path(), earlier(8, 3 * SECOND)), Some(Epoch(7)));
        // No write of the node leaves the length as it was.
        assert_eq!(altered_by(folder.path(), earlier(0, SECOND + 1)), Some(Epoch(7)));
    }

    #[test]
    fn a_machine_that_lost_its_power_is_believed_for_a_minute_and_never_with_another_file() {
        let (folder, log) = kept();
        let cut_off = |seconds: i128| {
            move |body: &mut Body| {
                body.boot = "another".to_owned();
                body.logs[0].len += 8;
                body.logs[0].changed += seconds * SECOND;
            }
        };
        assert_eq!(altered_by(folder.path(), cut_off(-40)), None);
        assert_eq!(altered_by(folder.path(), cut_off(2)), None);
        assert_eq!(altered_by(folder.path(), cut_off(-80)), Some(Epoch(7)));
        copy(&log, &log.with_extension("new"));
        fs::rename(log.with_extension("new"), &log).unwrap();
        assert_eq!(altered_by(folder.path(), cut_off(0)), Some(Epoch(7)));
    }

    #[test]
    fn a_log_that_was_about_to_be_made_may_be_missing_and_has_nothing_in_it() {
        let (folder, log) = kept();
        let about = |body: &mut Body| body.logs[0].birth = None;
        assert_eq!(altered_by(folder.path(), about), Some(Epoch(7)));
        fs::remove_file(&log).unwrap();
        fs::write(folder.path().join("replay-logs"), "").unwrap();
        assert_eq!(altered_by(folder.path(), about), None);
    }

    #[test]
    fn one_process_has_it_and_a_damaged_one_is_none() {
        let (folder, _) = kept();
        let held = Mark::open(folder.path()).unwrap().unwrap();
        assert!(matches!(Mark::open(folder.path()).unwrap_err().problem, StoreProblem::InUse));
        drop(held);
        let path = folder.path().join(FILE);
        let whole = fs::read_to_string(&path).unwrap();
        assert_eq!(text(&parse(&whole).unwrap()), whole);
        for damaged in [&whole[..40], "", "motemix replay mark 2\n", &whole.replace("log 7", "log x")] {
            fs::write(&path, damaged).unwrap();
            assert!(Mark::open(folder.path()).unwrap().is_none(), "{damaged}");
        }
    }
}
