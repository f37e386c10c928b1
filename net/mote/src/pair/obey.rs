//! The console of a board of two.

use core::fmt;
use core::net::Ipv6Addr;

use motemix_link::counters::LinkDrop;
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::stack::{Stack, interface_of, neighbour_at};
use motemix_neighbour::PublicKey;
use motemix_neighbour::suite::PUBLIC_KEY_LEN;
use motemix_node::Instant;
use rand_core::CryptoRng;

use crate::console::{Console, Ended, Line, or_say, say};

use super::station::{PairEvent, Station};
use super::{Mode, PairDrop};

const HELP: &str = "\
speak MODE         plain, literal, diet or edhoc; forgets all keys
identity           prints this board's address and identity
admit IDENTITY     takes this neighbour
anybody            takes whoever comes
to ADDRESS         sends to this neighbour
send TEXT          up to 120 bytes
status             what was counted
";

/// The line that is being typed.
pub(super) struct Typed(Line);

impl Typed {
    pub(super) const fn new() -> Self {
        Self(Line::new())
    }

    /// Does what was typed, a line at most.
    pub(super) fn obey<C: Console, R: CryptoRng, T: Transceiver, const PLACES: usize>(
        &mut self,
        now: Instant,
        console: &mut C,
        station: &mut Station<R, PLACES>,
        stack: &Stack<'_>,
        radio: &Radio<T>,
    ) {
        while let Some(character) = console.read() {
            match self.0.push(character) {
                Some(Ended::Line) => {
                    let line = self.0.take();
                    obey(line.text(), now, console, station, stack, radio);
                    return;
                }
                Some(Ended::Unread(reason)) => say!(console, "error: {}", reason.words()),
                None => {}
            }
        }
    }
}

#[inline(never)]
fn obey<C: Console, R: CryptoRng, T: Transceiver, const PLACES: usize>(
    line: &str,
    now: Instant,
    console: &mut C,
    station: &mut Station<R, PLACES>,
    stack: &Stack<'_>,
    radio: &Radio<T>,
) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "help" => console.write(HELP),
        "speak" => {
            let mode = or_say!(console, mode(rest).ok_or("say plain, literal, diet or edhoc"));
            station.speak(now, mode);
        }
        "identity" => {
            let identity = station.own.identity.public_key();
            say!(console, "address {} identity {}", neighbour_at(station.me), Hex(identity.as_bytes()));
            return;
        }
        "admit" => {
            let neighbour =
                or_say!(console, identity(rest).ok_or("66 hex digits of an identity are expected"));
            or_say!(console, station.own.admit(neighbour).ok_or("no more can be admitted"));
        }
        "anybody" => station.own.admit_anybody(),
        "to" => {
            let interface = rest.parse::<Ipv6Addr>().ok().and_then(interface_of);
            station.turn_to(or_say!(console, interface.ok_or("a link-local address is expected")));
        }
        "send" if !rest.is_empty() => {
            or_say!(console, station.say(now, rest.as_bytes()).map_err(super::NotSaid::words));
        }
        "status" => print_status(console, station, stack, radio),
        _ => {
            say!(console, "error: no such command; `help` lists them");
            return;
        }
    }
    say!(console, "ok");
}

fn mode(word: &str) -> Option<Mode> {
    Some(match word {
        "plain" => Mode::Plain,
        "literal" => Mode::Literal,
        "diet" => Mode::Diet,
        "edhoc" => Mode::Edhoc,
        _ => return None,
    })
}

fn identity(digits: &str) -> Option<PublicKey> {
    let digits = digits.as_bytes();
    let mut bytes = [0; PUBLIC_KEY_LEN];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    PublicKey::new(bytes).ok()
}

fn print_status<C: Console, R: CryptoRng, T: Transceiver, const PLACES: usize>(
    console: &mut C,
    station: &Station<R, PLACES>,
    stack: &Stack<'_>,
    radio: &Radio<T>,
) {
    let counts = &station.counts;
    say!(console, "sent {}", counts.said);
    say!(console, "acknowledged {}", counts.acknowledged);
    say!(console, "heard {}", counts.heard);
    say!(console, "handshakes {}", counts.handshakes);
    for reason in PairDrop::ALL.into_iter().filter(|reason| counts.dropped(*reason) > 0) {
        say!(console, "dropped {} {}", reason.name(), counts.dropped(reason));
    }
    let link = stack.counters();
    say!(console, "datagrams in {}", link.received);
    say!(console, "datagrams out {}", link.sent);
    for reason in LinkDrop::ALL.iter().filter(|reason| link.dropped(**reason) > 0) {
        say!(console, "link dropped {} {}", reason, link.dropped(*reason));
    }
    say!(console, "frames in {}", radio.counters().received);
    say!(console, "frames out {}", radio.counters().sent);
}

/// Prints a text, which its sender is acknowledged for next.
pub(super) fn print_text<C: Console>(console: &mut C, from: u64, who: Option<&PublicKey>, text: &[u8]) {
    let text = Printable(text);
    if let Some(who) = who {
        say!(console, "heard {} {text}", Short(who));
    } else {
        say!(console, "heard {} {text}", neighbour_at(from));
    }
}

pub(super) fn print_event<C: Console>(console: &mut C, event: PairEvent) {
    match event {
        PairEvent::Acknowledged(Some(who), time) => {
            say!(console, "acknowledged by {} after {} ms", Short(&who), time.as_millis());
        }
        PairEvent::Acknowledged(None, time) => say!(console, "acknowledged after {} ms", time.as_millis()),
        PairEvent::Sent => say!(console, "left"),
        PairEvent::NoAnswer => say!(console, "discarded, no answer; look there for what was dropped"),
        PairEvent::NoReceipt => say!(console, "discarded, no receipt; look there for what was dropped"),
    }
}

/// Bytes in hexadecimal.
struct Hex<'b>(&'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The beginning of an identity.
struct Short<'k>(&'k PublicKey);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beginning: &[u8; 6] = self.0.as_bytes().first_chunk().ok_or(fmt::Error)?;
        Hex(beginning).fmt(f)
    }
}

/// A neighbour's bytes must not move a terminal's cursor.
struct Printable<'t>(&'t [u8]);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.0.iter().try_for_each(|&byte| {
            f.write_char(if byte == b' ' || byte.is_ascii_graphic() { byte.into() } else { '?' })
        })
    }
}
