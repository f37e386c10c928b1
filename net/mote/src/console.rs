//! The console: lines in, text out.

use core::fmt;

use motemix_crypto::Secret;
use motemix_directory::Epoch;
use motemix_node::{DropReason, Event};
use motemix_object::Ed25519Key;
use motemix_sphinx::NodeId;

use crate::network::Refusal;
use crate::store::StoreError;

/// The longest line that a person can type, in bytes: a message and the words before it.
pub const LINE_LEN: usize = 160;

/// A serial terminal, or what passes for one.
pub trait Console {
    /// Whether anybody reads what is written. Without a reader no text is made, and a small board
    /// need not have it in its flash: all that matters is noticed as well.
    const SAYS: bool = true;
    /// How many devices' readings this mote checks; 0 if it checks none. The check takes flash that
    /// others have not.
    const DEVICES: usize = 0;
    /// Whether neighbours have documents from this mote, and it from them. That takes flash that
    /// not everybody has.
    const EXCHANGES: bool = true;

    /// The next character that was typed.
    fn read(&mut self) -> Option<u8>;
    /// Prints text.
    fn write(&mut self, text: &str);
    /// What makes the key that signs this mote's readings; none if it signs none. What signs them
    /// takes flash that others have not.
    fn key_maker(&self) -> Option<KeyMaker> {
        None
    }
    /// Hears what the node does, as it happens. A simulator counts it; a program without a terminal
    /// has nothing else.
    fn notice(&mut self, _news: News<'_>) {}
}

/// Makes a device's key of its seed.
pub type KeyMaker = fn(Secret<32>) -> Ed25519Key;

/// What happened to a node that runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum News<'n> {
    /// A datagram arrived, and is about to be taken in.
    Datagram(&'n [u8]),
    /// The node did not take it in.
    Dropped(DropReason),
    /// What an application hears.
    Event(&'n Event<'n>),
    /// A message is in flash, and can be taken out of it.
    Kept,
    /// An epoch begins.
    EpochBegins(Epoch),
    /// The document of a later epoch came from a neighbour, and is in flash.
    DocumentCame {
        /// Which one.
        epoch: Epoch,
        /// Its length in bytes.
        len: usize,
    },
    /// Something that somebody should see to.
    Warning(Warning),
    /// Somebody asked for readings for this node, so often in the mean; for nobody ends them.
    ReadingsAsked {
        /// Who gets them.
        to: Option<NodeId>,
        /// Mean time between two.
        seconds: u32,
    },
    /// A packet was handed to the link.
    Left {
        /// The neighbour.
        to: NodeId,
        /// Whether the link took it.
        accepted: bool,
    },
}

/// What somebody should see to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Warning {
    /// The network document has expired: nothing of the node's own leaves.
    Expired,
    /// The epoch has ended and no next one has begun: nothing is forwarded.
    EpochEnded,
    /// The next epoch could not begin, or its key could not be made ready.
    NoNextEpoch(Refusal),
    /// The document that came from a neighbour is not one for this node.
    DocumentRefused(Refusal),
    /// At this rate the replay filter is full before the epoch ends.
    FilterFillsUp,
    /// Packets of others were turned away, so that the replay filter lasts.
    FilterRationed,
    /// The replay filter is full: packets of others are dropped until the next epoch.
    FilterFull,
    /// Messages are turned away, because they cannot be kept.
    MessagesTurnedAway(StoreError),
    /// This mote's own readings are dropped, because they cannot be kept.
    ReadingsDropped(StoreError),
    /// A replay tag cannot be kept: the node stops.
    TagNotKept(StoreError),
    /// Loops do not come back as they should: packets are dropped or held up somewhere.
    LoopsLost,
}

/// Lets `write!` print on a console.
pub(crate) struct Printer<'c, C>(pub(crate) &'c mut C);

impl<C: Console> fmt::Write for Printer<'_, C> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text);
        Ok(())
    }
}

/// Whether this console's text is read.
pub(crate) const fn says<C: Console>(_: &C) -> bool {
    C::SAYS
}

/// Prints one line.
macro_rules! say {
    ($console:expr, $($format:tt)*) => {{
        use core::fmt::Write as _;
        if $crate::console::says($console) {
            // A console takes everything.
            let _ = writeln!($crate::console::Printer($console), $($format)*);
        }
    }};
}
pub(crate) use say;

/// Prints a part of one.
macro_rules! say_part {
    ($console:expr, $($format:tt)*) => {{
        use core::fmt::Write as _;
        if $crate::console::says($console) {
            let _ = write!($crate::console::Printer($console), $($format)*);
        }
    }};
}
pub(crate) use say_part;

/// Answers with an error and ends the function that this is in.
macro_rules! or_say {
    ($console:expr, $result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => {
                $crate::console::say!($console, "error: {error}");
                return;
            }
        }
    };
}
pub(crate) use or_say;

/// Prints why the next epoch does not begin, and ends the function that this is in.
macro_rules! or_warn {
    ($console:expr, $result:expr) => {
        match $result {
            Ok(value) => value,
            Err(refusal) => {
                let warning = $crate::console::Warning::NoNextEpoch(refusal);
                $console.notice($crate::console::News::Warning(warning));
                $crate::console::say!($console, "warning: {refusal}");
                return;
            }
        }
    };
}
pub(crate) use or_warn;

/// The line that is being typed.
pub(crate) struct Line {
    bytes: [u8; LINE_LEN],
    len: usize,
    /// Why it will not be read.
    unread: Option<Unread>,
}

/// Why a line is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// It has more than [`LINE_LEN`] bytes.
    TooLong,
    /// It has other characters, without which it would say something else.
    NotAscii,
}

impl Unread {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::TooLong => "the line is too long and was not read",
            Self::NotAscii => "only printable ASCII is read; type the line again",
        }
    }
}

/// A line was ended.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// It is in [`Line::text`].
    Line,
    /// It is gone.
    Unread(Unread),
}

impl Line {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; LINE_LEN], len: 0, unread: None }
    }

    /// Takes a character; some terminals end a line with a return, some with a new line.
    pub(crate) fn push(&mut self, character: u8) -> Option<Ended> {
        match character {
            b'\r' | b'\n' if let Some(reason) = self.unread => {
                self.clear();
                return Some(Ended::Unread(reason));
            }
            b'\r' | b'\n' if self.len > 0 => return Some(Ended::Line),
            0x08 | 0x7f => self.len = self.len.saturating_sub(1),
            b' '..=b'~' => match self.bytes.get_mut(self.len) {
                Some(place) => {
                    *place = character;
                    self.len += 1;
                }
                None => self.unread = Some(Unread::TooLong),
            },
            0x80.. => self.unread = Some(Unread::NotAscii),
            _ => {}
        }
        None
    }

    pub(crate) fn text(&self) -> &str {
        // Only printable ASCII gets in.
        self.bytes.get(..self.len).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// The line as it is, and an empty one in its place.
    pub(crate) fn take(&mut self) -> Self {
        core::mem::replace(self, Self::new())
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.unread = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_in(line: &mut Line, text: &str) -> Option<Ended> {
        let mut ended = None;
        for character in text.bytes() {
            ended = line.push(character);
        }
        ended
    }

    #[test]
    fn a_line_can_be_corrected_and_control_characters_are_nothing() {
        let mut line = Line::new();
        assert_eq!(type_in(&mut line, "sta\x07tuz\x08s\r"), Some(Ended::Line));
        assert_eq!(line.text(), "status");
        line.clear();
        assert_eq!(type_in(&mut line, "\n\r\n"), None);
    }

    #[test]
    fn a_line_with_other_characters_is_refused_as_a_whole() {
        let mut line = Line::new();
        assert_eq!(type_in(&mut line, "send b grüß\n"), Some(Ended::Unread(Unread::NotAscii)));
        assert_eq!(type_in(&mut line, "stop\n"), Some(Ended::Line));
        assert_eq!(line.text(), "stop");
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_as_a_whole() {
        let mut line = Line::new();
        for _ in 0..=LINE_LEN {
            assert_eq!(line.push(b'x'), None);
        }
        assert_eq!(line.push(b'\n'), Some(Ended::Unread(Unread::TooLong)));
        assert_eq!(type_in(&mut line, "stop\n"), Some(Ended::Line));
        assert_eq!(line.text(), "stop");
    }
}
