//! What a command prints: a table for people, JSON for programs, progress on the side.

mod progress;
mod table;
mod text;

pub use progress::Progress;
pub use table::Table;
pub use text::{printable, printable_json};

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
    let text = serde_json::to_string_pretty(value).context("cannot write JSON")?;
    print((printable_json(&text) + "\n").as_bytes())
}

/// A count and what is counted, such as `1 epoch` and `2 epochs`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What became of messages that were not acknowledged, in words; `None` if all were.
pub fn shortfall(discarded: u64, undecided: u64) -> Option<String> {
    let lost = match discarded {
        0 => None,
        1 => Some("1 message was given up after the last try".to_owned()),
        count => Some(format!("{count} messages were given up after the last try")),
    };
    let open = match undecided {
        0 => None,
        1 => Some("1 message is undecided: its acknowledgement did not come in time".to_owned()),
        count => Some(format!("{count} messages are undecided: their acknowledgements did not come in time")),
    };
    let words: Vec<_> = [lost, open].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", and "))
}
