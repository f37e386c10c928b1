//! What a person can say to a mote.

use core::fmt;

use motemix_directory::{Epoch, UnixTime};

use crate::store::MAX_AUTHORITIES;

/// A command of the shell.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Command<'a> {
    /// Lists the commands.
    Help,
    /// Prints this node's address and its public key for an epoch: what an authority needs to know.
    Key(Epoch),
    /// Trusts documents that so many of these authorities signed.
    Trust {
        /// How many have to sign.
        threshold: u8,
        /// Their Ed25519 keys.
        keys: [[u8; 32]; MAX_AUTHORITIES],
        /// How many of the keys were given.
        count: usize,
        /// Whether they join those that are trusted already: four keys are longer than a line.
        joins: bool,
    },
    /// Sets the clock.
    Time(UnixTime),
    /// A network document follows, in pieces.
    DocumentBegin,
    /// A piece of it, as hex digits.
    DocumentPiece(&'a str),
    /// All of it has been given: checks it and keeps it.
    DocumentEnd,
    /// Prints the network.
    Network,
    /// Runs the node.
    Start,
    /// Stops the node.
    Stop,
    /// Sends a message.
    Send {
        /// The receiver's name.
        to: &'a str,
        /// What to say.
        text: &'a str,
    },
    /// Prints the messages that were received, and forgets them.
    Inbox,
    /// Prints what the node did.
    Status,
    /// Prints the identity of this device, and what shows its key.
    Identity,
    /// Sends a reading at intervals, or stops doing so.
    Readings {
        /// The receiver's name; `off` for none.
        to: &'a str,
        /// Mean time between two.
        seconds: u32,
    },
    /// Believes the readings of a device, from a number on.
    Authorise {
        /// What it is to be called.
        name: &'a str,
        /// Its key and what stands beside it, as hex digits.
        introduction: &'a str,
        /// The number of its next reading.
        number: u64,
    },
    /// Prints whose readings are believed.
    Devices,
}

/// Why a line is no command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Misread {
    /// There is no such command.
    Unknown,
    /// How the command is used.
    Usage(&'static str),
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("there is no such command; `help` lists them"),
            Self::Usage(usage) => write!(f, "usage: {usage}"),
        }
    }
}

/// The commands, for people.
pub(crate) const HELP: &str = "\
key EPOCH             this node's address and public key, for the network's authority
trust K KEY...        takes network documents that K of these authorities signed
trust K and KEY...    the same, of these and of those before: keys for which a line is too short
time SECONDS          sets the clock, in seconds since 1970
document begin        takes a network document: then `document HEX` for each piece,
document end          and this, which checks it and keeps it
network               prints the network
start                 runs the node
stop                  stops the node
send NAME TEXT        sends a message and waits for its acknowledgement
inbox                 prints the messages received and forgets them
status                prints what the node did";

/// Those of a mote that signs readings.
pub(crate) const HELP_ON_READINGS: &str = "\
identity              prints who signs this device's readings, for whoever is to believe them
readings NAME SECONDS signs and sends a reading so often in the mean
readings off          sends no more";

/// Those of a mote that checks readings.
pub(crate) const HELP_ON_DEVICES: &str = "\
authorise NAME INTRODUCTION NUMBER
                      believes a device's readings from a number on; its `identity` prints both
devices               prints whose readings are believed";

/// How `authorise` is used.
pub(crate) const AUTHORISE: &str =
    "authorise NAME INTRODUCTION NUMBER, as the device's `identity` prints them";

/// How `trust` is used.
pub(crate) const TRUST: &str = "trust K KEY..., trust K and KEY..., 1 to 4 keys of 64 hex digits in all";

impl<'a> Command<'a> {
    /// Reads a line.
    pub fn read(line: &'a str) -> Result<Self, Misread> {
        let (word, rest) = split_word(line);
        let alone = |command, usage| if rest.is_empty() { Ok(command) } else { Err(Misread::Usage(usage)) };
        match word {
            "help" | "?" => Ok(Self::Help),
            "key" => {
                rest.parse().map(|epoch| Self::Key(Epoch(epoch))).map_err(|_| Misread::Usage("key EPOCH"))
            }
            "trust" => read_trust(rest).ok_or(Misread::Usage(TRUST)),
            "time" => {
                let time = rest.parse().map(|seconds| Self::Time(UnixTime(seconds)));
                time.map_err(|_| Misread::Usage("time SECONDS, since 1970"))
            }
            "document" => match rest {
                "" => Err(Misread::Usage("document begin, document HEX, document end")),
                "begin" => Ok(Self::DocumentBegin),
                "end" => Ok(Self::DocumentEnd),
                piece => Ok(Self::DocumentPiece(piece)),
            },
            "network" => alone(Self::Network, "network"),
            "start" => alone(Self::Start, "start"),
            "stop" => alone(Self::Stop, "stop"),
            "send" => match split_word(rest) {
                ("", _) | (_, "") => Err(Misread::Usage("send NAME TEXT")),
                (to, text) => Ok(Self::Send { to, text }),
            },
            "inbox" => alone(Self::Inbox, "inbox"),
            "status" => alone(Self::Status, "status"),
            "identity" => alone(Self::Identity, "identity"),
            "readings" => {
                read_readings(rest).ok_or(Misread::Usage("readings NAME SECONDS, from 1 on, or readings off"))
            }
            "authorise" => read_authorise(rest).ok_or(Misread::Usage(AUTHORISE)),
            "devices" => alone(Self::Devices, "devices"),
            _ => Err(Misread::Unknown),
        }
    }
}

fn read_authorise(rest: &str) -> Option<Command<'_>> {
    let (name, rest) = split_word(rest);
    let (introduction, number) = split_word(rest);
    Some(Command::Authorise { name, introduction, number: number.parse().ok()? })
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    (word, rest.trim_start())
}

fn read_readings(rest: &str) -> Option<Command<'_>> {
    let (to, seconds) = split_word(rest);
    match (to, seconds) {
        ("off", "") => Some(Command::Readings { to, seconds: 0 }),
        ("" | "off", _) => None,
        _ => Some(Command::Readings { to, seconds: seconds.parse().ok().filter(|seconds| *seconds > 0)? }),
    }
}

fn read_trust(rest: &str) -> Option<Command<'_>> {
    let mut words = rest.split_ascii_whitespace().peekable();
    let threshold = words.next()?.parse().ok()?;
    let joins = words.next_if_eq(&"and").is_some();
    let mut keys = [[0; 32]; MAX_AUTHORITIES];
    let mut count = 0;
    for word in words {
        let key = keys.get_mut(count)?;
        if read_hex(word, key)? != key.len() {
            return None;
        }
        count += 1;
    }
    // How many there are besides, the mote knows.
    let most = if joins { MAX_AUTHORITIES } else { count };
    let is_sound = count > 0 && (1..=most).contains(&usize::from(threshold));
    is_sound.then_some(Command::Trust { threshold, keys, count, joins })
}

/// Reads hex digits into the beginning of `out`, and tells how many bytes they are. `None` if they
/// are no hex digits, or too many.
pub(crate) fn read_hex(text: &str, out: &mut [u8]) -> Option<usize> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.len() > out.len() {
        return None;
    }
    let digit = |character: u8| char::from(character).to_digit(16).map(|digit| digit as u8);
    for (place, &[high, low]) in out.iter_mut().zip(pairs) {
        *place = (digit(high)? << 4) | digit(low)?;
    }
    Some(pairs.len())
}

/// Bytes as hex digits.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    #[test]
    fn a_message_keeps_the_spaces_inside() {
        let command = Command::read("send  receiver-1   all  is well ");
        assert_eq!(command, Ok(Command::Send { to: "receiver-1", text: "all  is well" }));
        assert_eq!(Command::read("send receiver-1"), Err(Misread::Usage("send NAME TEXT")));
    }

    #[test]
    fn authorities_are_whole_keys_and_as_many_as_sign() {
        let key = "ab".repeat(32);
        let line = format!("trust 2 {key} {key}");
        assert!(matches!(Command::read(&line), Ok(Command::Trust { threshold: 2, joins: false, .. })));
        let line = format!("trust 2 and {key}");
        assert!(matches!(Command::read(&line), Ok(Command::Trust { threshold: 2, joins: true, .. })));
        for bad in [
            format!("trust 2 {key}"),
            format!("trust 0 {key}"),
            format!("trust 1 {key}0"),
            format!("trust 1 {key} and {key}"),
            format!("trust 5 and {key}"),
            format!("trust 0 and {key}"),
            "trust 1 and".into(),
            "trust".into(),
        ] {
            assert!(matches!(Command::read(&bad), Err(Misread::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn what_is_no_command_says_so() {
        assert_eq!(Command::read("sned x y"), Err(Misread::Unknown));
        assert_eq!(Command::read("start now"), Err(Misread::Usage("start")));
        assert_eq!(Command::read("time soon"), Err(Misread::Usage("time SECONDS, since 1970")));
    }

    #[test]
    fn readings_have_a_receiver_and_an_interval() {
        assert_eq!(
            Command::read("readings receiver 30"),
            Ok(Command::Readings { to: "receiver", seconds: 30 })
        );
        assert_eq!(Command::read("readings off"), Ok(Command::Readings { to: "off", seconds: 0 }));
        for bad in
            ["readings", "readings receiver", "readings receiver 0", "readings off 3", "readings receiver -1"]
        {
            assert!(matches!(Command::read(bad), Err(Misread::Usage(_))), "{bad}");
        }
    }

    #[test]
    fn hex_digits_come_in_pairs() {
        let mut out = [0; 3];
        assert_eq!(read_hex("00fFa0", &mut out), Some(3));
        assert_eq!(out, [0x00, 0xff, 0xa0]);
        for bad in ["0", "0g", "00000000", "é"] {
            assert_eq!(read_hex(bad, &mut out), None, "{bad}");
        }
    }
}
