//! A program of the user's that measures: it prints SenML, and the node sends what it says.
//!
//! It runs on a thread of its own, for as long and with as much output as [`Bounds`] say, and is
//! ended with all that it has started.

use super::with_time;
use crate::report::printable;
use motemix_host::Source;
use motemix_readings::senml::Pack;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a program may run, and how much it may print.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub time: Duration,
    /// Bytes, to stdout as to stderr.
    pub output: usize,
}

impl Bounds {
    /// Longer than a slow sensor takes, and more than any packet carries.
    pub const USUAL: Self = Self { time: Duration::from_secs(30), output: 1 << 16 };
}

/// How long its thread sleeps between two looks at it.
const LOOK: Duration = Duration::from_millis(20);

/// What a program prints, as readings.
pub struct Program {
    command: String,
    folder: PathBuf,
    bounds: Bounds,
    running: Option<Running>,
    problem: Option<String>,
}

impl Program {
    /// A command of the shell that runs in this folder.
    pub fn new(command: &str, folder: &Path, bounds: Bounds) -> Self {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        Self { command: command.to_owned(), folder: folder.to_owned(), bounds, running: None, problem: None }
    }

    fn start(&self) -> std::io::Result<Running> {
        let (send, printed) = mpsc::channel();
        let is_unwanted = Arc::new(AtomicBool::new(false));
        let (stop, command) = (is_unwanted.clone(), shell(&self.command, &self.folder));
        let bounds = self.bounds;
        let thread = thread::Builder::new().name("readings".to_owned()).spawn(move || {
            // A node that ends wants nothing any more.
            let _ = send.send(run(command, bounds, &stop));
        })?;
        Ok(Running { printed, is_unwanted, thread: Some(thread) })
    }

    /// What it printed, as SenML in CBOR of at most `most` bytes.
    fn senml(printed: Result<Vec<u8>, String>, most: usize) -> Result<Vec<u8>, String> {
        let printed = printed?;
        if printed.trim_ascii().is_empty() {
            return Err("printed nothing".to_owned());
        }
        let pack = Pack::read_valid(&printed).map_err(|error| format!("printed what is {error}"))?;
        with_time(pack, most).map_err(|error| format!("printed too much: {error}"))
    }
}

impl Source for Program {
    fn poll(&mut self, most: usize) -> Poll<Vec<u8>> {
        let running = match self.running.take().map_or_else(|| self.start(), Ok) {
            Ok(running) => running,
            Err(error) => {
                self.problem = Some(format!("no thread for `{}`: {error}", self.command));
                return Poll::Ready(Vec::new());
            }
        };
        let printed = match running.printed.try_recv() {
            Ok(printed) => printed,
            Err(TryRecvError::Empty) => {
                self.running = Some(running);
                return Poll::Pending;
            }
            Err(TryRecvError::Disconnected) => Err("ended unexpectedly".to_owned()),
        };
        let senml = Self::senml(printed, most);
        self.problem = senml.as_ref().err().map(|why| {
            format!(
                "`{}` {why}; run it by hand in {}, and correct it or readings.command",
                self.command,
                self.folder.display()
            )
        });
        Poll::Ready(senml.unwrap_or_default())
    }

    fn problem(&self) -> Option<String> {
        self.problem.clone()
    }
}

/// A program that runs. Dropped, it is ended.
struct Running {
    printed: Receiver<Result<Vec<u8>, String>>,
    is_unwanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.is_unwanted.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It looks every few milliseconds.
            let _ = thread.join();
        }
    }
}

fn shell(command: &str, folder: &Path) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir(folder).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// A program of a process group of its own, which is ended and waited for whatever happens.
struct Group(Child);

impl Group {
    /// Whether it has ended. Its process id stays its own: nobody else's group is ended for it.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.0)), options), Ok(None))
    }

    /// Ends all that is left of the group.
    fn end(&mut self) -> std::io::Result<ExitStatus> {
        // Nothing is left, or the system has no such group any more.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// What a program prints until it has ended, or why that is nothing.
fn run(mut command: Command, bounds: Bounds, is_unwanted: &AtomicBool) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("cannot be run: {error}");
    let mut group = Group(command.spawn().map_err(cannot)?);
    let (mut stdout, mut stderr) = (group.0.stdout.take(), group.0.stderr.take());
    // A program that is slow, or has left its output to another one, holds nobody up.
    for pipe in [stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)].into_iter().flatten() {
        fcntl_getfl(pipe)
            .and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK))
            .map_err(|error| cannot(error.into()))?;
    }
    let end = Instant::now() + bounds.time;
    let (mut printed, mut said) = (Vec::new(), Vec::new());
    loop {
        // First, so that what it printed before its end is read after it.
        let has_ended = group.has_ended();
        take(&mut stdout, &mut printed, bounds.output);
        take(&mut stderr, &mut said, bounds.output);
        if has_ended {
            break;
        }
        if printed.len() > bounds.output || said.len() > bounds.output {
            return Err(format!("printed more than {} bytes, and was ended", bounds.output));
        }
        if Instant::now() >= end {
            let time = humantime::format_duration(bounds.time);
            return Err(format!("took longer than {time}, and was ended"));
        }
        if is_unwanted.load(Ordering::Relaxed) {
            return Err("was ended with the node".to_owned());
        }
        thread::sleep(LOOK);
    }
    let status = group.end().map_err(cannot)?;
    if printed.len() > bounds.output {
        return Err(format!("printed more than {} bytes", bounds.output));
    }
    if status.success() {
        return Ok(printed);
    }
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    let last: String = last.trim().chars().take(200).collect();
    Err(format!("ended with {status}: {}", printable(&last)))
}

/// Takes what a pipe has, up to one byte more than may come.
fn take(pipe: &mut Option<impl Read>, bytes: &mut Vec<u8>, most: usize) {
    let Some(open) = pipe else { return };
    let mut chunk = [0; 4096];
    while bytes.len() <= most {
        match open.read(&mut chunk) {
            Ok(0) => {
                *pipe = None;
                return;
            }
            Ok(len) => bytes.extend_from_slice(chunk.get(..len).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minutes, on a machine that is busy: what a story asserts is what happens, and not when.
    const LONG: Bounds = Bounds { time: Duration::from_secs(600), output: 1 << 16 };

    fn measured(program: &mut Program, most: usize) -> Vec<u8> {
        loop {
            match program.poll(most) {
                Poll::Ready(senml) => return senml,
                Poll::Pending => thread::sleep(LOOK),
            }
        }
    }

    /// Whether a process runs; one that has ended and was not waited for counts as well.
    fn is_there(pid: &str) -> bool {
        Path::new("/proc").join(pid.trim()).exists()
    }

    #[test]
    fn what_a_program_prints_is_a_reading_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("value"), "21.5").unwrap();
        let command = r#"echo '[{"n":"t","u":"Cel","v":'"$(cat value)"'}]'"#;
        let mut program = Program::new(command, folder.path(), LONG);
        for _ in 0..2 {
            let pack = Pack::from_cbor(&measured(&mut program, 22)).unwrap();
            assert_eq!(program.problem(), None);
            let [record] = &pack.records[..] else { panic!("{pack:?}") };
            assert!(record.base_time.is_some());
            assert_eq!(pack.to_json().rsplit_once(r#""n":"#).unwrap().1, r#""t","u":"Cel","v":21.5}]"#);
        }
        // Without room for the time, the time is left out.
        let pack = Pack::from_cbor(&measured(&mut program, 21)).unwrap();
        assert_eq!(pack.to_json(), r#"[{"n":"t","u":"Cel","v":21.5}]"#);
        assert_eq!(measured(&mut program, 10), b"");
        assert!(program.problem().unwrap().contains("room for 10"), "{:?}", program.problem());
    }

    #[test]
    fn what_a_program_does_wrong_is_told_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        for (command, words) in [
            (
                "echo 'reading the bus' >&2; echo 'no such bus' >&2; exit 3",
                "exit status: 3: no such bus; run it",
            ),
            ("exit 1", "exit status: 1: it said nothing"),
            (r"printf 'no \033[2Jbus\n' >&2; exit 1", r"exit status: 1: no \u{1b}[2Jbus"),
            ("kill -TERM $$", "signal: 15"),
            ("./not-there", "not-there"),
            ("true", "` printed nothing; run it"),
            ("echo", "` printed nothing; run it"),
            ("echo 21.5", "printed what is not SenML in JSON: not an array"),
            (
                r#"echo '[{"n":"a b","v":1}]'"#,
                "printed what is not valid SenML: record 1: \"a b\" is no name",
            ),
        ] {
            let mut program = Program::new(command, folder.path(), LONG);
            assert_eq!(measured(&mut program, 1000), b"");
            let problem = program.problem().unwrap();
            assert!(problem.starts_with(&format!("`{command}` ")) && problem.contains(words), "{problem}");
        }
        let mut program = Program::new("true", &folder.path().join("gone"), LONG);
        assert_eq!(measured(&mut program, 1000), b"");
        assert!(program.problem().unwrap().contains("cannot be run"), "{:?}", program.problem());
    }

    #[test]
    fn a_program_without_an_end_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let started = "sleep 100000 & echo $! > child; echo $$ > own; ";
        let short = Bounds { time: Duration::from_millis(200), ..LONG };
        let little = Bounds { output: 1000, ..LONG };
        for (rest, bounds, words) in [
            ("wait", short, "took longer than 200ms"),
            // It has gone, and what it started holds its output open.
            (r#"echo '[{"n":"t","v":1}]'"#, LONG, ""),
            ("while true; do echo more; done", little, "more than 1000 bytes"),
            ("while true; do echo more >&2; done", little, "more than 1000 bytes"),
        ] {
            let mut program = Program::new(&(started.to_owned() + rest), folder.path(), bounds);
            let senml = measured(&mut program, 1000);
            let problem = program.problem().unwrap_or_default();
            assert!(problem.contains(words) && problem.is_empty() != senml.is_empty(), "{problem}");
            assert_ended(folder.path());
        }
        // So is one that runs when the node ends.
        let mut program = Program::new(&(started.to_owned() + "wait"), folder.path(), LONG);
        assert_eq!(program.poll(1000), Poll::Pending);
        while std::fs::read_to_string(folder.path().join("own")).unwrap_or_default().is_empty() {
            thread::sleep(LOOK);
        }
        drop(program);
        assert_ended(folder.path());
    }

    /// The one that was started is waited for by whoever has orphans, some time later.
    fn assert_ended(folder: &Path) {
        for name in ["own", "child"] {
            // A program that was ended before it wrote this has started nothing.
            let Ok(pid) = std::fs::read_to_string(folder.join(name)) else { continue };
            let ends = Instant::now() + Duration::from_secs(300);
            while !pid.trim().is_empty() && is_running(&pid) {
                assert!(Instant::now() < ends, "{name} runs on");
                thread::sleep(LOOK);
            }
            assert!(name == "child" || !is_there(&pid), "a zombie");
            std::fs::remove_file(folder.join(name)).unwrap();
        }
    }

    fn is_running(pid: &str) -> bool {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }
}
