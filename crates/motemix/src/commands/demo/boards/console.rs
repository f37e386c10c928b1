//! A board's console: lines to it, lines from it.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Emulated boards share this machine's cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a console.
pub struct Console {
    board: String,
    stream: UnixStream,
    lines: Receiver<String>,
    /// News that came while an answer was waited for.
    news: Vec<String>,
}

impl Console {
    pub fn connect(board: &str, path: &Path) -> Result<Self> {
        let stream = UnixStream::connect(path).with_context(|| format!("cannot open {}", path.display()))?;
        let reader = stream.try_clone().context("cannot read a console")?;
        let (tell, lines) = mpsc::channel();
        // It ends with the connection.
        std::thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { board: board.to_owned(), stream, lines, news: Vec::new() })
    }

    /// Types a line, and returns the lines of the answer; the last one is `ok…` or begins with `last`.
    pub fn ask(&mut self, line: &str, last: &str) -> Result<Vec<String>> {
        writeln!(self.stream, "{line}").with_context(|| format!("{}: its console is gone", self.board))?;
        let until = Instant::now() + PATIENCE;
        let mut answer = Vec::new();
        loop {
            let line = self.next_line(until)?.trim_end().to_owned();
            if is_news(&line) {
                self.news.push(line);
            } else if line.starts_with("ok") || line.starts_with(last) {
                answer.push(line);
                return Ok(answer);
            } else if let Some(error) = line.strip_prefix("error: ") {
                bail!("{}: {error}", self.board);
            } else {
                answer.push(line);
            }
        }
    }

    fn next_line(&mut self, until: Instant) -> Result<String> {
        match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => bail!("{} does not answer on its console", self.board),
            Err(RecvTimeoutError::Disconnected) => bail!("{}: its console is gone", self.board),
        }
    }

    /// What the board said by itself since the last call.
    pub fn news(&mut self) -> Vec<String> {
        let mut news = std::mem::take(&mut self.news);
        news.extend(
            self.lines.try_iter().map(|line| line.trim_end().to_owned()).filter(|line| is_news(line)),
        );
        news
    }

    /// Waits for a line that begins so.
    pub fn wait_for(&mut self, beginning: &str) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while !self.next_line(until)?.starts_with(beginning) {}
        Ok(())
    }
}

/// Said at any time, not as an answer.
fn is_news(line: &str) -> bool {
    [
        "acknowledged ",
        "discarded ",
        "received ",
        "error: messages",
        "error: stops",
        "error: the network document has",
    ]
    .iter()
    .any(|beginning| line.starts_with(beginning))
        && !line.strip_prefix("acknowledged ").or(line.strip_prefix("discarded ")).is_some_and(is_count)
}

/// A line of `status` has a number alone.
fn is_count(rest: &str) -> bool {
    rest.parse::<u64>().is_ok()
}
