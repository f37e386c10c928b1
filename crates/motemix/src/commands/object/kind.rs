//! What a message is, for whoever took one for another.

use crate::failure::Failure;
use motemix_object::{SealedReading, UnverifiedCommand, claimed_algorithm};

/// What a command of this program reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pairing,
    Command,
    /// A reading, or anything else that a device says of itself.
    OfDevice,
}

/// Refuses what is plainly of another kind, and says which. What is of no kind is left to whoever
/// reads it.
pub fn is(wanted: Kind, bytes: &[u8], place: &str) -> Result<(), Failure> {
    match what(bytes) {
        Some((kind, what)) if kind != Some(wanted) => Err(Failure::broken(format!("{place}: {what}"))),
        _ => Ok(()),
    }
}

fn what(bytes: &[u8]) -> Option<(Option<Kind>, &'static str)> {
    let none = |what| Some((None, what));
    if bytes.trim_ascii().is_empty() {
        return none("it is empty; make the message again");
    }
    if bytes.starts_with(b"motemix device ") {
        return none("it is a file about a device and no message; check the path");
    }
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    if matches!(text, [b'[' | b'{', ..]) && std::str::from_utf8(text).is_ok() {
        return none("it is SenML that nobody has signed: `motemix object sign`, or `command`, signs it");
    }
    if claimed_algorithm(bytes).is_ok() {
        return Some((Some(Kind::Pairing), "it is a pairing; the device opens it with `motemix id pair`"));
    }
    // Its payload is an array of three, which is no SenML of a reading.
    if UnverifiedCommand::parse(bytes).is_ok() {
        return Some((
            Some(Kind::Command),
            "it is a command; the device checks it with `motemix object obey`",
        ));
    }
    if SealedReading::parse(bytes).is_ok() {
        return Some((Some(Kind::OfDevice), "it is a reading; `motemix object verify` checks it"));
    }
    None
}
