//! Starts the process of a node and waits until it says that it is ready.

use anyhow::{Context, Result};
use motemix_loopix::files::{NodeEntry, Role};
use motemix_os::store::file;
use motemix_program::network::{Launched, NodeDir, log_file};
use rustix::fs::{FileType, Mode, OFlags, mknodat};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a node prints until it is ready is shorter, in bytes.
const EARLY_EVENTS: u64 = 1 << 16;

/// Has `program` run a node of Loopix, which goes on when this process ends, and writes down which
/// process it is.
pub fn launch(program: &Path, node: NodeDir, entry: NodeEntry) -> Result<Launched<NodeEntry>> {
    let mut command = Command::new(program);
    command.args(["--log", "info", entry.role().name(), "--dir"]).arg(node.path());
    let events = node.events();
    // Emptied, so that an earlier process's words are not taken for this one's.
    let out = file::open_to_append(&events).and_then(|out| out.set_len(0).map(|()| out));
    command.stdout(out.with_context(|| format!("cannot write {}", events.display()))?);
    command.stderr(log_file(&node)?);
    command.stdin(match entry.role() {
        Role::Client => Stdio::from(input(&node.input())?),
        Role::Mix | Role::Provider => Stdio::null(),
    });
    // Ctrl-C in the terminal is not for them.
    command.process_group(0);
    let mut launched = Launched::spawn(node, entry, &mut command)?;
    launched.record()?;
    Ok(launched)
}

/// A FIFO that whoever wants to may write to. The client has it open for writing as well, so that
/// it never ends.
fn input(path: &Path) -> Result<File> {
    let open = || {
        match path.symlink_metadata() {
            Ok(metadata) if metadata.file_type().is_fifo() => {}
            _ => mknodat(rustix::fs::CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?,
        }
        // A link that took its place meanwhile may lead to any file of the machine.
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(no_link).open(path)?;
        let is_fifo = file.metadata()?.file_type().is_fifo();
        if is_fifo { Ok(file) } else { Err(io::Error::other("it is no FIFO")) }
    };
    open().with_context(|| format!("cannot make {}", path.display()))
}

/// Waits for the event `ready`, and returns it.
pub fn wait_until_ready(launched: &mut Launched<NodeEntry>, events: &Path, until: Instant) -> Result<Value> {
    launched.wait_for(until, |_| {
        let printed = BufReader::new(file::open(events).ok()?.take(EARLY_EVENTS));
        let lines = printed.lines().map_while(Result::ok);
        lines
            .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
            .find(|event| event["event"] == "ready")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_crypto::p224::Point;
    use motemix_loopix::files::UserEntry;
    use motemix_program::network::{NetworkDir, process_of, terminate};
    use std::fs;
    use std::io::Write;
    use std::time::Duration;
    use tempfile::TempDir;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn client() -> NodeEntry {
        NodeEntry::Client(UserEntry {
            name: "Client1".into(),
            host: "127.0.0.1".into(),
            port: 20_000,
            public_key: Point::GENERATOR,
            provider: "Provider1".into(),
        })
    }

    /// A program that does what the script says, and a node's folder for it to run in.
    fn stand_in(script: &str) -> (TempDir, std::path::PathBuf, NodeDir) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let text = folder.path().join("script");
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // By a process of its own. The kernel runs no file that somebody has open for writing, and
        // a program that another test starts at that moment would have inherited the open file.
        let made = Command::new("install").args(["-m", "700"]).args([&text, &program]).status();
        assert!(made.unwrap().success());
        let node = NetworkDir::new(folder.path()).node("Client1");
        fs::create_dir_all(node.path()).unwrap();
        (folder, program, node)
    }

    #[test]
    fn a_node_is_started_told_and_stopped() {
        let (_folder, program, node) = stand_in(
            r#"echo "{\"event\":\"ready\",\"words\":\"$*\"}"; read line; echo "$line" >&2; exec sleep 60"#,
        );
        let mut launched = launch(&program, node.clone(), client()).unwrap();
        let ready = wait_until_ready(&mut launched, &node.events(), Instant::now() + PATIENCE).unwrap();
        let words = format!("--log info client --dir {}", node.path().display());
        assert_eq!(ready["words"], words);

        let found = process_of(&node).unwrap().expect("it runs");
        assert_eq!(found.pid(), launched.process().unwrap().pid());

        let mut input = OpenOptions::new().write(true).open(node.input()).unwrap();
        input.write_all(b"send Client2 hello\n").unwrap();
        let until = Instant::now() + PATIENCE;
        while launched.last_words() != "send Client2 hello" {
            assert!(Instant::now() < until, "the client has read nothing");
            std::thread::sleep(Duration::from_millis(10));
        }

        // The test is the parent, so somebody has to collect the process for it to have ended.
        let waiting = std::thread::spawn(move || while launched.has_ended().unwrap().is_none() {});
        assert_eq!(terminate(&node, PATIENCE).unwrap(), motemix_program::network::Stopped::Terminated);
        waiting.join().unwrap();
        assert!(!node.pid().exists());
        assert!(process_of(&node).unwrap().is_none());
    }

    #[test]
    fn a_node_that_ends_at_once_leaves_its_last_words() {
        let (_folder, program, node) =
            stand_in("echo '{\"event\":\"stopped\"}'; echo no such port >&2; exit 3");
        let mut launched = launch(&program, node.clone(), client()).unwrap();
        while launched.has_ended().unwrap().is_none() {}
        launched.record().unwrap();
        let error = wait_until_ready(&mut launched, &node.events(), Instant::now() + PATIENCE).unwrap_err();
        assert_eq!(error.to_string(), "Client1 ended at once (exit status: 3): no such port");
    }
}
