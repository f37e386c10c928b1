//! An emulated board.

use super::air::Air;
use super::console::Console;
use super::emulator::Emulator;
use crate::failure::Failure;
use anyhow::{Context, Result, anyhow};
use motemix_crypto::PublicKey;
use motemix_directory::Epoch;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A model of board.
pub struct Model {
    /// What boards of it are called, with a number behind.
    name: &'static str,
    /// QEMU's name for it.
    machine: &'static str,
    /// The program, and what it is compiled for.
    program: &'static str,
    target: &'static str,
    /// Cargo's: a program that is built for speed does not fit every flash.
    profile: &'static str,
}

/// A Cortex-M0, a Cortex-M3 and a Cortex-M4.
pub const MODELS: [Model; 3] = [
    Model {
        name: "microbit",
        machine: "microbit",
        program: "microbit",
        target: "thumbv6m-none-eabi",
        profile: "small",
    },
    Model {
        name: "an385",
        machine: "mps2-an385",
        program: "an385",
        target: "thumbv7m-none-eabi",
        profile: "release",
    },
    Model {
        name: "an386",
        machine: "mps2-an386",
        program: "an386",
        target: "thumbv7em-none-eabi",
        profile: "release",
    },
];

impl Model {
    pub fn board_name(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }

    /// Builds the firmware, and returns its file.
    pub fn firmware(&self) -> Result<PathBuf, Failure> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
        let source = source.canonicalize().map_err(|error| {
            Failure::broken(format!("{}: {error}; boards need the source tree", source.display()))
        })?;
        let target = source.join("target");
        let built = Command::new("cargo")
            .args([
                "build",
                "--locked",
                "--quiet",
                "--profile",
                self.profile,
                "--package",
                "motemix-emulated",
            ])
            .args(["--bin", self.program, "--target", self.target, "--target-dir"])
            .arg(&target)
            // The configuration beside the firmware counts, not that of whoever calls.
            .current_dir(&source)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS")
            .stdin(Stdio::null())
            .output()
            .context("cannot run cargo; install Rust, see https://rustup.rs")?;
        if !built.status.success() {
            let words = String::from_utf8_lossy(&built.stderr);
            let line = words.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed");
            return Err(Failure::failed(format!("firmware for {}: {line}", self.name)));
        }
        Ok(target.join(self.target).join(self.profile).join(self.program))
    }
}

/// A running board. Dropping it ends it.
pub struct Board {
    pub name: String,
    console: Console,
    emulator: Emulator,
}

/// What a board tells its authority.
pub struct Identity {
    pub address: SocketAddr,
    pub key: PublicKey,
}

impl Board {
    /// Starts the emulator with a new flash, and waits for the board's first word.
    pub fn start(model: &Model, firmware: &Path, name: &str, root: &Path, air: &Air) -> Result<Self> {
        let folder = root.join("boards").join(name);
        let console = Console::connect(name, &air.console(name))?;
        let emulator = Emulator::start(name, model.machine, firmware, &air.line(name), &folder)?;
        let mut board = Self { name: name.to_owned(), console, emulator };
        board.console.wait_for("motemix on", &mut || board.emulator.check())?;
        Ok(board)
    }

    /// Types a line, and returns the lines of the answer; the last one is `ok…` or begins with `last`.
    pub fn ask(&mut self, line: &str, last: &str) -> Result<Vec<String>> {
        self.console.ask(line, last, &mut || self.emulator.check())
    }

    /// What it said by itself since the last call.
    pub fn news(&mut self) -> Result<Vec<String>> {
        self.emulator.check()?;
        Ok(self.console.news())
    }

    /// Its address and its key for the epoch.
    pub fn identify(&mut self, epoch: Epoch) -> Result<Identity> {
        let answer = self.ask(&format!("key {epoch}"), "address ")?;
        let line = answer.last().map(String::as_str).unwrap_or_default();
        let parse = || {
            let mut words = line.strip_prefix("address ")?.split(" key ");
            let address = words.next()?.parse().ok()?;
            let mut key = [0; 32];
            hex::decode_to_slice(words.next()?, &mut key).ok()?;
            Some(Identity { address, key: PublicKey(key) })
        };
        parse().ok_or_else(|| anyhow!("{} says of its key: {line}", self.name))
    }

    /// Gives it the network, and starts it.
    pub fn begin(&mut self, document: &[u8], authority: &[u8; 32]) -> Result<()> {
        let now = motemix_host::clock::unix_seconds();
        self.ask(&format!("time {now}"), "ok")?;
        self.ask(&format!("trust 1 {}", hex::encode(authority)), "ok")?;
        self.ask("document begin", "ok")?;
        for piece in document.chunks(64) {
            self.ask(&format!("document {}", hex::encode(piece)), "ok")?;
        }
        self.ask("document end", "ok")?;
        self.ask("start", "ok")?;
        Ok(())
    }

    /// What it has counted.
    pub fn status(&mut self) -> Result<BTreeMap<String, u64>> {
        let answer = self.ask("status", "ok")?;
        Ok(answer.iter().flat_map(|line| counts(line)).collect())
    }

    /// Bytes of its memory that its stack never reached. The board stands still from now on.
    pub fn unused_ram(&mut self) -> Result<u64> {
        self.emulator.unused_ram()
    }
}

/// The same command, to end with this process however that ends. Ctrl-C is for this process alone, which then
/// ends the others in order.
pub fn with_this_process(command: &Command) -> Command {
    use std::os::unix::process::CommandExt;
    let mut bound = Command::new("setpriv");
    bound.args(["--pdeathsig", "KILL", "--"]).arg(command.get_program()).args(command.get_args());
    bound.process_group(0);
    bound
}

/// What a line of a board's status has counted, by names for programs: `headers built 7` as `headers_built`, and of
/// `ok replay tags 23 of 183` both numbers.
fn counts(line: &str) -> Vec<(String, u64)> {
    let named = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        Some((name.replace([' ', '-'], "_"), count.parse().ok()?))
    };
    let line = line.strip_prefix("ok ").unwrap_or(line);
    let Some((tags, most)) = line.split_once(" of ") else { return named(line).into_iter().collect() };
    let tags = named(tags);
    let most = tags.as_ref().and_then(|(name, _)| Some((format!("{name}_most"), most.parse().ok()?)));
    tags.into_iter().chain(most).collect()
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn what_boards_count_has_names_for_programs() {
        let told = |line: &str| -> Vec<_> {
            counts(line).into_iter().map(|(name, count)| format!("{name} {count}")).collect()
        };
        assert_eq!(told("headers built 7"), ["headers_built 7"]);
        assert_eq!(told("dropped no-epoch 2"), ["dropped_no_epoch 2"]);
        assert_eq!(told("ok replay tags 23 of 183"), ["replay_tags 23", "replay_tags_most 183"]);
        assert!(told("datagrams 3 in, 4 out, 0 given up").is_empty());
        assert!(told("ok").is_empty());
    }
}
