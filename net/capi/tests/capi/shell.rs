//! A process with a shell, at which a test types.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use command_fds::{CommandFdExt, FdMapping};

/// For how long nothing may happen: far more than anything takes here.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// The number under which the process inherits its socket.
pub const SOCKET: i32 = 3;

pub struct Shell {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What it said since the last line that was waited for.
    seen: String,
}

impl Shell {
    pub fn start(program: &Path, socket: &UdpSocket, variables: &[(&str, &OsStr)]) -> Self {
        let parent_fd: OwnedFd = socket.try_clone().expect("a second descriptor").into();
        let mut command = Command::new(program);
        command.envs(variables.iter().copied());
        command.fd_mappings(vec![FdMapping { parent_fd, child_fd: SOCKET }]).expect("one mapping");
        Self::of(&mut command)
    }

    pub fn of(command: &mut Command) -> Self {
        // RIOT on a PC has a second process, which reads its input: both are ended together.
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("the program starts");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|len| len > 0) {
                let said = String::from_utf8_lossy(&line).trim_end().to_owned();
                line.clear();
                if sender.send(said).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, lines, seen: String::new() }
    }

    pub fn type_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its input is open");
        writeln!(input, "{line}").expect("the process reads");
    }

    /// Waits for a line that has `text` in it, and returns that line.
    pub fn until(&mut self, text: &str) -> String {
        self.until_within(PATIENCE, text).unwrap_or_else(|| {
            let ended = self.child.try_wait().ok().flatten();
            panic!("the process does not say {text:?} ({ended:?}), but:\n{}", self.seen)
        })
    }

    /// The same, if it comes so soon.
    pub fn until_within(&mut self, patience: Duration, text: &str) -> Option<String> {
        loop {
            let line = self.lines.recv_timeout(patience).ok()?;
            self.seen += &line;
            self.seen.push('\n');
            if line.contains(text) {
                self.seen.clear();
                return Some(line);
            }
        }
    }

    /// Types a line and waits for the answer.
    pub fn ask(&mut self, line: &str, answer: &str) -> String {
        self.type_line(line);
        self.until(answer)
    }

    /// Types a line, and returns all that is said until a line has `last` in it.
    pub fn all(&mut self, line: &str, last: &str) -> Vec<String> {
        self.type_line(line);
        let mut said = Vec::new();
        loop {
            said.push(self.until(""));
            if said.last().is_some_and(|line| line.contains(last)) {
                return said;
            }
        }
    }

    /// As when the power fails.
    pub fn kill(&mut self) {
        self.kill_group();
        self.child.wait().expect("it ends");
    }

    fn kill_group(&self) {
        let group = format!("-{}", self.child.id());
        // It may have ended already.
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|ended| ended.is_none())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.input.take());
        self.kill_group();
        let _ = self.child.wait();
    }
}
