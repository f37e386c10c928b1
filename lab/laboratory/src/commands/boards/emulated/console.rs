//! A board's console: lines to it, lines from it.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Emulated boards share this machine's cores.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often to look whether the board still runs while it is waited for: its console stays open
/// without it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An error once the board has ended.
pub type Check<'c> = &'c mut dyn FnMut() -> Result<()>;

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

    /// Types a line, and returns the lines of the answer; the last one is `ok…` or begins with
    /// `last`.
    pub fn ask(&mut self, line: &str, last: &str, check: Check<'_>) -> Result<Vec<String>> {
        writeln!(self.stream, "{line}").with_context(|| format!("{}: its console is gone", self.board))?;
        let until = Instant::now() + PATIENCE;
        let mut answer = Vec::new();
        loop {
            let line = self.next_line(until, check)?.trim_end().to_owned();
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

    fn next_line(&mut self, until: Instant, check: Check<'_>) -> Result<String> {
        while Instant::now() < until {
            match self.lines.recv_timeout(LOOK_EVERY) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => bail!("{}: its console is gone", self.board),
                Err(RecvTimeoutError::Timeout) => check()?,
            }
        }
        bail!("{} does not answer on its console", self.board)
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
    pub fn wait_for(&mut self, beginning: &str, check: Check<'_>) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while !self.next_line(until, check)?.starts_with(beginning) {}
        Ok(())
    }
}

/// Said at any time, not as an answer.
fn is_news(line: &str) -> bool {
    let is_told = ["acknowledged ", "discarded ", "discarded, ", "heard ", "received ", "warning: "]
        .iter()
        .any(|beginning| line.starts_with(beginning));
    line == "left" || is_told && !line.split_once(' ').is_some_and(|(_, rest)| is_count(rest))
}

/// A line of `status` has a number alone.
fn is_count(rest: &str) -> bool {
    rest.parse::<u64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::Console;
    use anyhow::bail;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use tempfile::TempDir;

    /// A console, and the board's end of it.
    fn console() -> (TempDir, Console, UnixStream) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tty");
        let listener = UnixListener::bind(&path).unwrap();
        let console = Console::connect("board", &path).unwrap();
        let (board, _) = listener.accept().unwrap();
        (folder, console, board)
    }

    #[test]
    fn a_board_that_ends_is_not_waited_for() {
        let (_folder, mut console, _board) = console();
        let mut looks = 0;
        // The second look finds it gone; the console itself is as open as before.
        let asked = console.ask("status", "ok", &mut || {
            looks += 1;
            if looks == 2 {
                bail!("the board has ended");
            }
            Ok(())
        });
        assert_eq!(asked.unwrap_err().to_string(), "the board has ended");
        assert_eq!(looks, 2);
        let waited = console.wait_for("motemix on", &mut || bail!("it has ended"));
        assert_eq!(waited.unwrap_err().to_string(), "it has ended");
    }

    #[test]
    fn an_answer_counts_even_if_news_come_between() {
        let (_folder, mut console, board) = console();
        let answer = std::thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(&board).read_line(&mut line).unwrap();
            let said = b"warning: it rains\nsent 3\nacknowledged 7 after 10 ms, tries 1\nok\n";
            (&board).write_all(said).unwrap();
            line
        });
        assert_eq!(console.ask("status", "ok", &mut || Ok(())).unwrap(), ["sent 3", "ok"]);
        assert_eq!(answer.join().unwrap(), "status\n");
        assert_eq!(console.news(), ["warning: it rains", "acknowledged 7 after 10 ms, tries 1"]);
    }
}
