//! The hosts: the very program that users have, with a radio on the boards' air.

use super::neighbour::{Neighbour, Outcome};
use super::show;
use crate::cli::BoardsLink as Args;
use crate::commands::boards::emulated::with_this_process;
use crate::failure::Failure;
use crate::program;
use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use motemix_program::cli::Mode;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// How long a program may take to say where it listens.
const START: Duration = Duration::from_mins(3);
/// For how long a host waits for a board's answer: it computes for a second or two.
const WAIT: &str = "5s";

/// The word of a mode.
pub fn word(mode: Mode) -> String {
    mode.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The identity of a host, whose key is made if it is not there.
pub fn identity_of(root: &Path, name: &str) -> Result<String, Failure> {
    let key = root.join(name).with_extension("key");
    let output = Command::new(program::of_nodes()?)
        .args(["link", "identity"])
        .arg(key)
        .stdin(Stdio::null())
        .output()
        .context("cannot run motemix link identity")?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() {
        Ok(said)
    } else {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Failure::failed(format!("motemix link identity: {why}")))
    }
}

/// A program of a host. Dropping it ends it.
struct Host {
    child: Child,
    printed: Receiver<String>,
    said: Receiver<String>,
    is_shown: bool,
    name: &'static str,
}

impl Host {
    fn start(
        args: &Args,
        name: &'static str,
        line: &Path,
        root: &Path,
        boards: &[Neighbour],
        more: &[String],
    ) -> Result<(Self, ChildStdin)> {
        let mut command = Command::new(program::of_nodes()?);
        command.args(["link", name, "--json", "--mode", &word(args.mode), "--radio"]).arg(line);
        if matches!(args.mode, Mode::Diet | Mode::Edhoc) {
            command.arg("--key").arg(root.join(name).with_extension("key"));
            for board in boards {
                command.arg("--admit").arg(&board.identity);
            }
        }
        command.args(more);
        let mut command = with_this_process(&command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.env_remove("MOTEMIX_LOG").spawn().context("cannot start motemix link")?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(anyhow!("motemix link has no streams"));
        };
        let (printed, said) = (lines(output), lines(errors));
        Ok((Self { child, printed, said, is_shown: !args.json, name }, input))
    }

    /// The next line that it printed.
    fn line(&self) -> Result<Option<Value>> {
        let Ok(line) = self.printed.try_recv() else { return Ok(None) };
        if self.is_shown {
            show(self.name, &line).map_err(|failure| anyhow!("{failure}"))?;
        }
        Ok(Some(serde_json::from_str(&line).context("motemix link prints no JSON")?))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // One that has ended cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, lines) = mpsc::channel();
    // It ends with the stream.
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// `motemix link router`.
pub struct Router {
    host: Host,
    _input: ChildStdin,
    pub address: Ipv6Addr,
    heard: Vec<String>,
}

impl Router {
    pub fn start(args: &Args, line: &Path, root: &Path, boards: &[Neighbour]) -> Result<Self, Failure> {
        let (host, input) = Host::start(args, "router", line, root, boards, &[])?;
        let mut last = String::new();
        let address = loop {
            let Ok(said) = host.said.recv_timeout(START) else {
                return Err(Failure::failed(format!("motemix link router does not listen: {last}")));
            };
            let address = said.split_once("listening on ").and_then(|(_, rest)| rest.split(' ').next());
            if let Some(SocketAddr::V6(address)) = address.and_then(|address| address.parse().ok()) {
                break *address.ip();
            }
            last = said;
        };
        Ok(Self { host, _input: input, address, heard: Vec::new() })
    }

    pub fn has_heard(&mut self, text: &str) -> bool {
        while let Ok(Some(line)) = self.host.line() {
            self.heard.extend(line.get("text").and_then(Value::as_str).map(str::to_owned));
        }
        self.heard.iter().filter(|heard| *heard == text).count() == 1
    }
}

/// `motemix link sensor`, which sends each line that it is told.
pub struct Sensor {
    host: Host,
    input: ChildStdin,
    outcome: Option<Outcome>,
}

impl Sensor {
    pub fn start(args: &Args, line: &Path, root: &Path, to: &Neighbour) -> Result<Self, Failure> {
        let address = format!("[{}]:61618", to.address);
        let more = ["--to", &address, "--wait", WAIT].map(str::to_owned);
        let (host, input) = Host::start(args, "sensor", line, root, std::slice::from_ref(to), &more)?;
        Ok(Self { host, input, outcome: None })
    }

    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.outcome = None;
        Ok(writeln!(self.input, "{text}").context("motemix link sensor has ended")?)
    }

    /// Whether it has said what became of the last message.
    pub fn is_done(&mut self) -> Result<bool, Failure> {
        if let Some(line) = self.host.line()? {
            let is_acknowledged = line.get("acknowledged_by").is_some_and(Value::is_string);
            self.outcome = Some(if is_acknowledged { Outcome::Acknowledged } else { Outcome::Left });
        }
        if let Some(exit) = self.host.child.try_wait().context("cannot wait for motemix link")? {
            let last = self.host.said.try_iter().last().unwrap_or_default();
            return Err(Failure::failed(format!("motemix link sensor ended by itself ({exit}): {last}")));
        }
        Ok(self.outcome.is_some())
    }

    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }
}
