//! Progress on stderr: a bar on a terminal, plain lines elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// Elsewhere than on a terminal a line is written this often, at most.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// How far a command has come.
pub struct Progress {
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
}

impl Progress {
    /// Begins something of `length` steps.
    pub fn new(length: u64) -> Self {
        let bar = stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{spinner} [{bar:24}] {msg}").expect("a sound template");
            ProgressBar::new(length).with_style(style.progress_chars("=> "))
        });
        Self { bar, last_line: None }
    }

    /// So many steps are done, and this is how it stands.
    pub fn at(&mut self, position: u64, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
            bar.set_message(message.to_owned());
        } else if self.last_line.is_none_or(|at| at.elapsed() >= LINE_EVERY) {
            self.last_line = Some(Instant::now());
            eprintln!("{message}");
        }
    }

    /// Something that has to be seen, whatever the bar does.
    pub fn note(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{message}")),
            None => eprintln!("{message}"),
        }
    }

    /// Leaves nothing of the bar on the terminal.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
