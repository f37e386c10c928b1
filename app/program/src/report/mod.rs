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
use std::time::Duration;

/// Writes to stdout; a reader that has seen enough, as `head`, is no error.
pub fn print(bytes: &[u8]) -> anyhow::Result<()> {
    print_to_reader(bytes).map(|_| ())
}

/// Writes to stdout. `false` if its reader has gone, as `head` does when it has seen enough.
pub fn print_to_reader(bytes: &[u8]) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).context("cannot write to stdout"),
    }
}

/// Writes to stdout what nobody can get a second time: here a reader that has gone is an error.
/// `lost` says what that means.
pub fn print_once(bytes: &[u8], lost: &'static str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| anyhow::anyhow!("cannot write to stdout: {error}; {lost}"))
}

/// One JSON value, indented, and the end of the line.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(json(value)?.as_bytes())
}

/// What [`print_json`] prints.
pub fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(value).context("cannot write JSON")?;
    Ok(printable_json(&text) + "\n")
}

/// One JSON value on one line, for programs that read a line at a time.
pub fn json_line(value: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string(value).context("cannot write JSON")?;
    Ok(printable_json(&text) + "\n")
}

/// A figure with as many significant digits, where more would say nothing: what it was computed
/// from was not measured better.
pub fn rounded(value: f64, digits: usize) -> f64 {
    // Through decimal digits, so that the text of the result has no more of them.
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

/// A count and what is counted, such as `1 epoch` and `2 epochs`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A length of time, as exactly as people want to know it.
pub fn length(seconds: u64) -> String {
    let step = match seconds {
        0..3600 => 1,
        3600..172_800 => 60,
        _ => 3600,
    };
    humantime::format_duration(Duration::from_secs(seconds / step * step)).to_string()
}

/// A line for each thing that is said, and before it who says it. Of many the first are named, and
/// all are counted: `many` is what they are.
pub fn by_words(said: &[(String, String)], many: &str) -> Vec<String> {
    const NAMED: usize = 3;
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for (who, words) in said {
        match lines.iter_mut().find(|(known, _)| known == words) {
            Some((_, names)) => names.push(who),
            None => lines.push((words, vec![who])),
        }
    }
    let line = |(words, names): (&str, Vec<&str>)| match names.len() {
        1 => format!("{}: {words}", names[0]),
        count if count <= NAMED + 1 => format!("{count} {many} ({}): {words}", names.join(", ")),
        count => {
            format!("{count} {many} ({} and {} more): {words}", names[..NAMED].join(", "), count - NAMED)
        }
    };
    lines.into_iter().map(line).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_say_is_one_line_with_their_count() {
        let said = |who: &str, words: &str| (who.to_owned(), words.to_owned());
        assert_eq!(
            by_words(&[said("mix-1", "full"), said("mix-2", "late")], "nodes"),
            ["mix-1: full", "mix-2: late"]
        );
        let all: Vec<_> = (1..=11).map(|number| said(&format!("mix-{number}"), "late")).collect();
        assert_eq!(by_words(&all[..2], "nodes"), ["2 nodes (mix-1, mix-2): late"]);
        assert_eq!(by_words(&all, "nodes"), ["11 nodes (mix-1, mix-2, mix-3 and 8 more): late"]);
    }

    #[test]
    fn a_figure_has_no_more_digits_than_asked_for() {
        for (value, text) in [
            (0.090_781_249 * 60.0, "5.447"),
            (0.069_75, "0.06975"),
            (123_456.789, "123500.0"),
            (24.0, "24.0"),
            (0.0, "0.0"),
        ] {
            assert_eq!(format!("{:?}", rounded(value, 4)), text);
        }
    }

    #[test]
    fn a_length_of_time_is_in_the_units_that_people_use() {
        let said = [81, 270, 3_661, 200_000].map(length);
        assert_eq!(said, ["1m 21s", "4m 30s", "1h 1m", "2days 7h"]);
    }

    #[test]
    fn one_is_counted_in_the_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "node", "nodes")), ["0 nodes", "1 node", "2 nodes"]);
    }
}
