//! What a command prints: a table for people, JSON for programs, progress on the side.

mod progress;
mod table;

pub use progress::Progress;
pub use table::Table;

use anyhow::Context;
use serde::Serialize;
use std::io::{self, ErrorKind, Write};

/// Writes to stdout; a reader that has seen enough, as `head`, is no error.
pub fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to stdout"),
    }
}

/// One JSON value, indented, and the end of the line.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_vec_pretty(value).context("cannot write JSON")?;
    text.push(b'\n');
    print(&text)
}
