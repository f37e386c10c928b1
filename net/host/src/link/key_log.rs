//! The keys of links, written down for Wireshark. Off unless [`VARIABLE`] is set.
//!
//! Whoever reads these files and heard the radio reads the packets that passed between this node
//! and its neighbours. Packets are encrypted for their hops all the same; what is lost is what the
//! protection of frames adds.
//!
//! The folder is one of Wireshark's configuration: it takes keys of IEEE 802.15.4 from
//! `ieee802154_keys`, and extended addresses, which nonces begin with, from `802154_addresses`.

use std::collections::HashSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use motemix_crypto::Secret;
use motemix_link::protection::KEY_LEN;
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::PAN;
use zeroize::Zeroizing;

use motemix_os::store::file::open_to_append;

/// The environment variable that names the folder.
pub const VARIABLE: &str = "MOTEMIX_LINK_KEYS";

/// The files in it: of keys, and of addresses.
pub const FILES: [&str; 2] = ["ieee802154_keys", "802154_addresses"];

/// The files of keys and of addresses, which are appended to: several nodes may share them.
#[derive(Debug)]
pub struct KeyLog {
    keys: File,
    addresses: File,
    named: HashSet<ExtendedAddress>,
}

impl KeyLog {
    /// Opens the files in a folder, and makes all that is missing. Nobody but their owner may read
    /// them.
    ///
    /// # Errors
    /// The file system's.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let open = |name: &str| {
            let file = open_to_append(&folder.join(name))?;
            // One that was here may have had another mode.
            file.set_permissions(Permissions::from_mode(0o600))?;
            mend(&file)?;
            Ok::<_, io::Error>(file)
        };
        let [keys, addresses] = FILES;
        Ok(Self { keys: open(keys)?, addresses: open(addresses)?, named: HashSet::new() })
    }

    /// Writes a key of two stations down.
    ///
    /// # Errors
    /// The file system's. Each line that is in the files is whole.
    pub fn key(&mut self, stations: [ExtendedAddress; 2], key: &Secret<KEY_LEN>) -> io::Result<()> {
        for station in stations {
            if !self.named.contains(&station) {
                let [low, high] = station.short();
                let ExtendedAddress(mut extended) = station;
                extended.reverse();
                let extended = hex::encode(extended);
                let line = format!("\"0x{high:02x}{low:02x}\",\"0x{PAN:04x}\",{extended}\n");
                append(&mut self.addresses, line.as_bytes())?;
                self.named.insert(station);
            }
        }
        // The key is that of the two addresses, not one with an index.
        let digits = Zeroizing::new(hex::encode(key.expose()));
        let line = Zeroizing::new(format!("\"{}\",\"0\",\"No hash\"\n", *digits));
        append(&mut self.keys, line.as_bytes())
    }
}

/// The file of keys of datagrams between nodes: a line has who made the key, with whom, and the
/// key.
#[derive(Debug)]
pub struct DatagramKeyLog(File);

impl DatagramKeyLog {
    /// Its name in the folder.
    pub const FILE: &str = "datagram_keys";

    /// Opens the file in a folder, and makes all that is missing.
    ///
    /// # Errors
    /// The file system's.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let file = open_to_append(&folder.join(Self::FILE))?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(Self(file))
    }

    fn key(&mut self, [own, peer]: [ExtendedAddress; 2], key: &Secret<KEY_LEN>) -> io::Result<()> {
        let digits = Zeroizing::new(hex::encode(key.expose()));
        let [own, peer] = [own, peer].map(|ExtendedAddress(bytes)| hex::encode(bytes));
        append(&mut self.0, Zeroizing::new(format!("{own} {peer} {}\n", *digits)).as_bytes())
    }
}

/// Writes a key of datagrams down, as [`note`] does.
pub(super) fn note_of_datagrams(
    log: &mut Option<DatagramKeyLog>,
    stations: [ExtendedAddress; 2],
    key: &Secret<KEY_LEN>,
) {
    let written = log.as_mut().map(|log| log.key(stations, key));
    give_up(log, written.and_then(Result::err));
}

/// Appends a line whole or not at all: Wireshark reads no further than a line that is cut off.
fn append(file: &mut File, line: &[u8]) -> io::Result<()> {
    // Another node that shares the file must not write meanwhile. Where a file system has no locks,
    // its lines may be lost when there is no more room.
    let is_locked = file.lock().is_ok();
    let len = file.metadata()?.len();
    let written = file.write_all(line);
    if written.is_err() {
        let _ = file.set_len(len);
    }
    if is_locked {
        let _ = file.unlock();
    }
    written
}

/// Ends the last line of a file, or removes it if whoever wrote it did not come to its end.
fn mend(file: &File) -> io::Result<()> {
    let is_locked = file.lock().is_ok();
    let len = file.metadata()?.len();
    let start = len.saturating_sub(LONGEST);
    let mut last = Zeroizing::new(vec![0; usize::try_from(len - start).unwrap_or_default()]);
    file.read_exact_at(&mut last, start)?;
    let begins = last.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    match last.get(begins..).unwrap_or_default() {
        [] => {}
        line if is_cut_off(line) => file.set_len(len - line.len() as u64)?,
        _ => (&*file).write_all(b"\n")?,
    }
    if is_locked {
        file.unlock()?;
    }
    Ok(())
}

/// More bytes than a line of either file has.
const LONGEST: u64 = 256;

/// Whether a line is the beginning of one of ours, and no more. Others' are left alone.
fn is_cut_off(line: &[u8]) -> bool {
    line.starts_with(b"\"") && (line.len() as u64) < LONGEST && !is_whole(line)
}

/// Whether a line has all of its three fields: the last one is a text, or an extended address.
fn is_whole(line: &[u8]) -> bool {
    let mut fields = line.split(|byte| *byte == b',');
    match (fields.nth(2), fields.next()) {
        (Some([b'"', text @ ..]), None) => text.ends_with(b"\""),
        (Some(address), None) => address.len() == 16,
        _ => false,
    }
}

/// Writes a key down, if keys are; no more after the first that cannot be.
pub(super) fn note(log: &mut Option<KeyLog>, stations: [ExtendedAddress; 2], key: &Secret<KEY_LEN>) {
    let written = log.as_mut().map(|log| log.key(stations, key));
    give_up(log, written.and_then(Result::err));
}

fn give_up<L>(log: &mut Option<L>, error: Option<io::Error>) {
    if let Some(error) = error {
        tracing::warn!(
            "{VARIABLE}: keys of links are no longer written: {error}; those that were are whole. Make room there, and \
             start the node again"
        );
        *log = None;
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    use super::*;
    use motemix_link::protection::{KeySlot, Keys, Role};
    use motemix_link::settings::LinkSettings;
    use motemix_link::stack::{Stack, StackMemory, link_local};
    use motemix_link::watched_keys::WatchedKeys;

    #[test]
    fn keys_are_lines_that_nobody_else_may_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("keys");
        let station = |number| ExtendedAddress([number, 0x92, 3, 4, 5, 6, 7, 2]);
        // Two nodes write to one folder, one of them twice.
        for _ in 0..2 {
            let mut log = KeyLog::open(&folder).expect("it opens");
            for (peer, key) in [(2, 0xa0), (2, 0xa1), (3, 0xa2)] {
                log.key([station(1), station(peer)], &Secret::new([key; 16])).expect("it is written");
            }
        }
        let read = |name: &str| {
            let path = folder.join(name);
            assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
            fs::read_to_string(path).expect("text")
        };
        let key = |byte: &str| format!("\"{}\",\"0\",\"No hash\"\n", byte.repeat(16));
        assert_eq!(read("ieee802154_keys"), ["a0", "a1", "a2"].map(key).concat().repeat(2));
        let address = |number: u8| format!("\"0x120{number}\",\"0x0023\",020706050403920{number}\n");
        assert_eq!(read("802154_addresses"), [1, 2, 3].map(address).concat().repeat(2));
    }

    /// The folder of a test that runs once more where there is no room.
    const FULL: &str = "MOTEMIX_TEST_FULL_FOLDER";

    fn lines(folder: &Path, name: &str) -> Vec<String> {
        let text = fs::read_to_string(folder.join(name)).expect("text");
        assert!(text.is_empty() || text.ends_with('\n'), "{name} ends with a whole line");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn where_there_is_no_room_for_a_line_there_is_none_of_it() {
        if let Some(folder) = env::var_os(FULL) {
            let mut log = KeyLog::open(Path::new(&folder)).expect("it opens");
            let station = |number: u8| ExtendedAddress([number, 0, 3, 4, 5, 6, 7, 2]);
            let write = |number| log.key([station(0), station(number)], &Secret::new([number; 16]));
            let error = (1..200).map(write).find_map(Result::err).expect("there is no room for all");
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let whole = format!("\"{}\",\"0\",\"No hash\"", "11".repeat(16));
        // A person's own key, in a line without an end.
        fs::write(folder.path().join(FILES[0]), &whole).expect("written");
        let run = || {
            let name = "link::key_log::tests::where_there_is_no_room_for_a_line_there_is_none_of_it";
            let mut command = Command::new("sh");
            command
                .args(["-c", "ulimit -f 2; trap '' XFSZ; exec \"$@\"", "sh"])
                .arg(env::current_exe().expect("it runs"));
            let run = command.args(["--exact", name]).env(FULL, folder.path()).output().expect("a shell");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        };
        run();
        let before = lines(folder.path(), FILES[0]);
        assert!(
            before.len() > 15 && before[0] == whole && before.iter().all(|line| is_whole(line.as_bytes()))
        );
        run();
        assert_eq!(lines(folder.path(), FILES[0]), before);
        assert!(lines(folder.path(), FILES[1]).iter().all(|line| is_whole(line.as_bytes())));
    }

    #[test]
    fn a_line_that_a_crash_cut_off_is_removed_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILES[0]);
        let line = format!("\"{}\",\"0\",\"No hash\"\n", "07".repeat(16));
        for cut in 1..line.len() - 1 {
            fs::write(&path, [&line[..], &line[..cut]].concat()).expect("written");
            let mut log = KeyLog::open(folder.path()).expect("it opens");
            assert_eq!(fs::read_to_string(&path).expect("text"), line, "{cut}");
            let station = |number| ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2]);
            log.key([station(1), station(2)], &Secret::new([7; 16])).expect("it is written");
            assert_eq!(fs::read_to_string(&path).expect("text"), line.repeat(2), "{cut}");
        }
    }

    #[test]
    fn a_key_that_is_set_is_written_down_and_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let station = |number| ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2]);
        let (mut memory, mut slots) = (StackMemory::<8, 1, 1>::new(), [KeySlot::FREE]);
        let mut stack = Stack::new(station(1), 1, &LinkSettings::new(), memory.lend());
        stack.protect(&mut slots);
        let mut log = Some(KeyLog::open(folder.path()).expect("it opens"));
        let keys = stack.keys().expect("it protects frames");
        let watch = |peer, key: &Secret<KEY_LEN>| note(&mut log, [station(1), peer], key);
        let mut keys = WatchedKeys { keys, watch };
        keys.set_key(station(2), &Secret::new([7; 16]), Role::Initiator, false);
        let written = fs::read_to_string(folder.path().join("ieee802154_keys")).expect("text");
        assert_eq!(written, format!("\"{}\",\"0\",\"No hash\"\n", "07".repeat(16)));
        stack.send(link_local(station(2)), &[1]).expect("there is room");
        assert_eq!(stack.keys().and_then(Keys::poll_wanted), None, "it waits for no key");
    }
}
