//! What commands are given: keys, cards, groups, identities and statements, in files and pipes.

use motemix_object::IdentityLabel;
use motemix_program::failure::Failure;
use motemix_readings::keys::{DeviceCard, DeviceKey, GroupFile, LONGEST_CARD};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest statement, in hexadecimal, with room for blanks: one with all keys of a group.
const LONGEST: usize = 2 * LONGEST_CARD;

/// Something about identities, read from a file.
enum Source {
    Device(DeviceCard),
    Group(GroupFile),
}

/// A device's card, or that of a key.
pub fn card(path: &Path) -> Result<DeviceCard, Failure> {
    match read(path)? {
        Source::Device(card) => Ok(card),
        Source::Group(_) => Err(Failure::broken(format!(
            "{}: it is a group; name the key or card of one device",
            path.display()
        ))),
    }
}

pub fn group(path: &Path) -> Result<GroupFile, Failure> {
    match read(path)? {
        Source::Group(group) => Ok(group),
        Source::Device(_) => Err(Failure::broken(format!(
            "{}: it is one device; name a group, as `motemix id group new` makes it",
            path.display()
        ))),
    }
}

/// An identity: digits, the text of a QR code, or the file of a device or group.
pub fn label(text: &str) -> Result<IdentityLabel, Failure> {
    if let Ok(label) = IdentityLabel::parse(text) {
        return Ok(label);
    }
    let path = Path::new(text);
    if text != "-" && !path.exists() {
        return Err(Failure::broken(format!(
            "{text}: neither a file nor an identity of 32 or 64 hex digits; check the path or the digits"
        )));
    }
    Ok(IdentityLabel::Full(match read(path)? {
        Source::Device(card) => card.identity(),
        Source::Group(group) => group.group().identity(),
    }))
}

fn read(path: &Path) -> Result<Source, Failure> {
    let text = bytes(path, LONGEST_CARD)?;
    let place = place(path);
    if DeviceKey::is_title(&text) {
        let key = if is_stdin(path) {
            return Err(Failure::broken("stdin: it is a private key; name its file"));
        } else {
            DeviceKey::load(path).map_err(Failure::broken)?
        };
        return Ok(Source::Device(DeviceCard::new(&key.credential())));
    }
    // What is no text has none of the titles.
    let text = String::from_utf8(text).unwrap_or_default();
    let broken = |error| Failure::broken(format!("{place}: {error}"));
    if DeviceCard::is_title(&text) {
        return DeviceCard::parse(&text).map(Source::Device).map_err(broken);
    }
    if GroupFile::is_title(&text) {
        return GroupFile::parse(&text).map(Source::Group).map_err(broken);
    }
    Err(Failure::broken(format!(
        "{place}: line 1: neither a device's key (`motemix id new`), nor its card (`motemix id show --card`), nor a \
         group (`motemix id group new`); check the path"
    )))
}

/// A proof or a statement: hex digits, with blanks and line ends between them.
pub fn statement(path: &Path) -> Result<Vec<u8>, Failure> {
    let text = bytes(path, LONGEST)?;
    let mut digits = Vec::with_capacity(text.len());
    for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        for (column, byte) in (1..).zip(text) {
            if byte.is_ascii_hexdigit() {
                digits.push(*byte);
            } else if !byte.is_ascii_whitespace() {
                return Err(Failure::broken(format!(
                    "{}: line {line}, column {column}: not a hex digit; a proof or a statement is hex digits, as \
                     `motemix id prove` and `motemix id rotate` write them",
                    place(path)
                )));
            }
        }
    }
    if digits.is_empty() {
        return Err(Failure::broken(format!("{}: it is empty; make the proof again", place(path))));
    }
    hex::decode(&digits)
        .map_err(|_| Failure::broken(format!("{}: an odd number of hex digits; copy all of it", place(path))))
}

fn bytes(path: &Path, longest: usize) -> Result<Vec<u8>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::broken(format!("{}: cannot read it: {error}; check the path and its owner", place(path)))
    };
    let mut bytes = Vec::new();
    let limit = longest as u64 + 1;
    if is_stdin(path) {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(failed)?;
    }
    if bytes.len() > longest {
        return Err(Failure::broken(format!("{}: longer than {longest} bytes; check the path", place(path))));
    }
    Ok(bytes)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Where it came from, for messages.
pub fn place(path: &Path) -> String {
    if is_stdin(path) { "stdin".to_owned() } else { path.display().to_string() }
}
