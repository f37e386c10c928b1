//! What a client is told on stdin.

use super::printer::Lines;
use anyhow::Context;
use motemix_loopix::runtime::Handle;
use motemix_program::failure::Failure;
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead, Read};
use std::thread;

/// The longest line, in bytes; what fits into a packet is far shorter.
const LONGEST: u64 = 1 << 16;

/// A message as a program writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    to: String,
    text: Option<String>,
    hex: Option<String>,
}

/// Obeys the lines on stdin, on a thread of its own. When they end, the client ends as soon as
/// nothing waits to leave; one that never was told anything, as with /dev/null for its stdin, is to
/// receive, and goes on.
pub fn obey(node: Handle, lines: Lines) -> Result<(), Failure> {
    let read = move || {
        let mut stdin = std::io::stdin().lock();
        let mut was_told = false;
        while let Some(line) = next_line(&mut stdin) {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            was_told = true;
            match parse(&line) {
                Ok((to, message)) => {
                    if node.send(to, message).is_err() {
                        return;
                    }
                }
                Err(reason) => lines.say(&json!({ "event": "refused", "reason": reason })),
            }
        }
        if was_told {
            node.finish();
        }
    };
    thread::Builder::new().name("stdin".to_owned()).spawn(read).context("cannot start a thread")?;
    Ok(())
}

/// A line without its end; the rest of one that is too long is passed over. `None` at the end.
fn next_line(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    // A line that cannot be read is the end.
    input.by_ref().take(LONGEST).read_until(b'\n', &mut line).ok()?;
    if line.is_empty() {
        return None;
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 == LONGEST {
        input.skip_until(b'\n').ok()?;
    }
    Some(line)
}

const NOT_AN_OBJECT: &str =
    r#"not understood; write {"to": NAME, "text": TEXT}, or "hex" in place of "text""#;

fn parse(line: &[u8]) -> Result<(String, Vec<u8>), &'static str> {
    if line.first() == Some(&b'{') {
        let written: Written = serde_json::from_slice(line).map_err(|_| NOT_AN_OBJECT)?;
        let message = match (written.text, written.hex) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(hex)) => hex::decode(hex).map_err(|_| NOT_AN_OBJECT)?,
            _ => return Err(NOT_AN_OBJECT),
        };
        return Ok((written.to, message));
    }
    let rest = line.strip_prefix(b"send ").ok_or("no such command; write `send NAME TEXT`")?;
    let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    let (name, text) = rest.split_at(end);
    let text = text.strip_prefix(b" ").unwrap_or(text);
    // A name that is no text is nobody's.
    let name = std::str::from_utf8(name).map_err(|_| "no such user")?;
    Ok((name.to_owned(), text.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_messages() {
        let said = |line: &[u8]| parse(line).map(|(to, message)| (to, String::from_utf8(message).unwrap()));
        let message = |to: &str, text: &str| Ok((to.to_owned(), text.to_owned()));
        assert_eq!(said(b"send Ann hello,  you"), message("Ann", "hello,  you"));
        assert_eq!(said(b"send Ann"), message("Ann", ""));
        assert_eq!(said(br#"{"to": "Ann", "text": "a\nb"}"#), message("Ann", "a\nb"));
        assert_eq!(said(br#"{"to": "Ann", "hex": "6f6b"}"#), message("Ann", "ok"));
        for line in [b"say".as_slice(), b"send"] {
            assert_eq!(said(line), Err("no such command; write `send NAME TEXT`"), "{line:?}");
        }
        for line in [b"{".as_slice(), br#"{"to": "Ann"}"#, br#"{"to":"A","hex":"x"}"#] {
            assert_eq!(said(line), Err(NOT_AN_OBJECT), "{line:?}");
        }
        assert_eq!(said(b"send \xff hello"), Err("no such user"));
    }

    #[test]
    fn a_line_may_lack_its_end_and_the_rest_of_a_long_one_is_passed_over() {
        let long = "x".repeat(LONGEST as usize + 10);
        let text = format!("one\n\n{long}\ntwo");
        let mut input = text.as_bytes();
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input) {
            lines.push(line.len());
        }
        assert_eq!(lines, [3, 0, LONGEST as usize, 3]);
    }
}
