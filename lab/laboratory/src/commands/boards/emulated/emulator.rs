//! An emulator's process, and what of the board's memory it never saw used.

use super::board::with_this_process;
use super::ram::Ram;
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PROGRAM: &str = "qemu-system-arm";
const HINT: &str = "install it with `scripts/setup qemu boards`, or on Debian with `apt-get install \
                    qemu-system-arm`";
/// In the emulator's folder: the program's and the emulator's own words.
const LOG: &str = "emulator.log";

/// Whether there is an emulator to run; it says what to do if not.
pub fn check_installed() -> Result<()> {
    let run = Command::new(PROGRAM).arg("--version").stdin(Stdio::null()).output();
    match run {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => bail!("{PROGRAM} --version ended with {}; {HINT}", output.status),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("{PROGRAM} is missing; {HINT}"),
        Err(error) => Err(error).with_context(|| format!("cannot run {PROGRAM}")),
    }
}

/// A running emulator. Dropping it ends it.
pub struct Emulator {
    name: String,
    child: Child,
    /// Its monitor, which speaks QMP (QEMU Machine Protocol) over its standard streams.
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    ram: Ram,
}

impl Emulator {
    /// Starts one in `folder`, where it finds the board's flash; `line` is the socket of the
    /// board's serial line.
    pub fn start(name: &str, machine: &str, firmware: &Path, line: &Path, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let ram = Ram::of(firmware)?;
        let log = folder.join(LOG);
        let log = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(PROGRAM);
        command
            .args(["-machine", machine, "-display", "none", "-qmp", "stdio"])
            .args(["-semihosting-config", "enable=on,target=native"])
            .args(["-chardev", &format!("socket,id=line,path={}", line.display())])
            .args(["-serial", "chardev:line", "-kernel"])
            .arg(firmware);
        let mut child = with_this_process(&command)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot run setpriv, which is part of util-linux")?;
        let (Some(commands), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{name}: its emulator has no monitor");
        };
        let answers = BufReader::new(answers);
        Ok(Self { name: name.to_owned(), child, commands, answers, folder: folder.to_owned(), ram })
    }

    /// An error once it has ended, with its last words.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait().context("cannot wait for an emulator")? {
            None => Ok(()),
            Some(exit) => Err(anyhow!("{} ended by itself ({exit}): {}", self.name, self.last_words())),
        }
    }

    fn last_words(&self) -> String {
        let words = fs::read(self.folder.join(LOG)).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        // A core that gives up is followed by its registers.
        let fatal = words.lines().find(|line| line.contains("fatal"));
        let last = words.lines().rev().find(|line| !line.trim().is_empty());
        fatal.or(last).unwrap_or("it said nothing").to_owned()
    }

    /// The memory between its static data and the beginning of its stack. The board stands still
    /// from now on.
    pub fn memory(&mut self) -> Result<Vec<u8>> {
        let memory = self.folder.join("ram.bin");
        // As the core sees it: the micro:bit's memory is not on the machine's own bus.
        let save =
            json!({ "val": self.ram.begin(), "size": self.ram.len(), "filename": memory.to_string_lossy() });
        let read = self
            .order("qmp_capabilities", &json!({}))
            .and_then(|()| self.order("stop", &json!({})))
            .and_then(|()| self.order("memsave", &save));
        if let Err(error) = read {
            // Why it does not answer is better known if it has ended.
            self.check()?;
            return Err(error.context(format!("{}: cannot read its memory", self.name)));
        }
        fs::read(&memory).with_context(|| format!("{}: cannot read its memory", self.name))
    }

    /// Bytes of that memory that were never written since it started.
    pub fn unused(&self, memory: &[u8]) -> Result<u64> {
        self.ram.unused(memory).with_context(|| format!("{}: its memory was not read whole", self.name))
    }

    fn order(&mut self, order: &str, arguments: &Value) -> Result<()> {
        let order = json!({ "execute": order, "arguments": arguments });
        writeln!(self.commands, "{order}").context("its monitor is closed")?;
        loop {
            let mut line = String::new();
            if self.answers.read_line(&mut line).context("its monitor is silent")? == 0 {
                bail!("its monitor is closed");
            }
            let answer: Value = serde_json::from_str(&line).context("its monitor speaks no JSON")?;
            if let Some(error) = answer.get("error") {
                bail!("{error}");
            }
            // Between answers it greets, and tells of events.
            if answer.get("return").is_some() {
                return Ok(());
            }
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // One that has ended cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
