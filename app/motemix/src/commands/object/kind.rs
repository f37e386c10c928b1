//! What a message is, for whoever took one for another.

use motemix_object::{SealedReading, UnverifiedCommand, claimed_algorithm};
use motemix_program::failure::Failure;
use motemix_readings::senml::Pack;

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

/// What a message is that nobody has signed, as any node may send one.
pub fn unsigned(bytes: &[u8]) -> Option<&'static str> {
    if bytes.trim_ascii().is_empty() {
        return Some("it is empty; make the message again");
    }
    if bytes.starts_with(b"motemix device ") {
        return Some("it is a file about a device and no message; check the path");
    }
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let text = std::str::from_utf8(text).ok();
    let is_senml = text.is_some_and(|text| text.starts_with(['[', '{']));
    if is_senml || Pack::read_valid(bytes).is_ok() {
        return Some("it is SenML that nobody has signed: `motemix object sign`, or `command`, signs it");
    }
    // One that is cut or changed is a signed object for whoever made it.
    let is_jws = |text: &str| text.starts_with("ey") && !text.contains(' ');
    let is_hexadecimal = |text: &str| text.bytes().all(|letter| letter.is_ascii_hexdigit());
    let is_text = |text: &&str| !text.chars().any(|letter| letter.is_control() && !letter.is_whitespace());
    let text = text.map(str::trim_ascii).filter(is_text)?;
    (!is_jws(text) && !is_hexadecimal(text))
        .then_some("it is a text and no signed object; of an inbox, give the lines of `motemix inbox --json`")
}

fn what(bytes: &[u8]) -> Option<(Option<Kind>, &'static str)> {
    if let Some(what) = unsigned(bytes) {
        return Some((None, what));
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
