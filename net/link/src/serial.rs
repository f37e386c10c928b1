//! The serial line to a radio: messages and console text share one pair of wires.
//!
//! ```text
//! byte 0x00–0x7f             console text
//! 0xf1 ‖ escaped ‖ 0xf2      a message; escaped is kind ‖ body ‖ CRC-16, in which each of the bytes
//!                            0xf0–0xf2 is written as 0xf0 ‖ (byte ^ 0x80)
//! ```
//!
//! The CRC is CRC-16/KERMIT, little-endian, over kind and body: the polynomial of IEEE 802.15.4's
//! frame check sequence. A message that is damaged, too long or cut off by the start of another is
//! counted and forgotten; whatever the bytes, the next message is read.
//!
//! | kind | direction | body |
//! |---|---|---|
//! | 0x01 join | to the radio | extended address, 8 bytes as on the air (little-endian) |
//! | 0x02 transmit | to the radio | handle, 1 byte; frame without its check sequence |
//! | 0x81 received | from the radio | link quality, 1 byte; signal in dBm, 1 byte signed; frame without its check sequence |
//! | 0x82 done | from the radio | handle, 1 byte; outcome, 1 byte |

use core::fmt;

use crc::{CRC_16_KERMIT, Crc, Table};

const ESCAPE: u8 = 0xf0;
const START: u8 = 0xf1;
const END: u8 = 0xf2;
const FLIP: u8 = 0x80;

/// The longest frame without its check sequence: IEEE 802.15.4's 127 bytes less two.
pub const MAX_FRAME: usize = 125;
/// Kind, link quality, signal, frame, CRC.
const MAX_CONTENT: usize = 1 + 2 + MAX_FRAME + 2;
/// The most bytes that a message takes on the line.
pub const MAX_ON_LINE: usize = 2 + 2 * MAX_CONTENT;

/// The check of a message, and of a frame on the air.
pub const CHECK: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_KERMIT);

/// A radio's extended address (EUI-64), in the order of the air: least significant byte first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExtendedAddress(pub [u8; 8]);

/// What became of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was on the air, and acknowledged if it asked for that.
    Sent = 0,
    /// The channel was busy at every assessment.
    ChannelBusy = 1,
    /// No acknowledgement came.
    NoAcknowledgement = 2,
    /// It is no frame, or another one is still under way.
    Refused = 3,
}

/// A message on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A station is there, with this address. Frames for it are acknowledged by the radio.
    Join(ExtendedAddress),
    /// A frame to put on the air, one at a time. Its fate comes back under the same handle.
    Transmit {
        /// Any number.
        handle: u8,
        /// Without the check sequence, at most [`MAX_FRAME`] bytes.
        frame: &'a [u8],
    },
    /// A frame for this station or for all.
    Received {
        /// 0 is worst.
        link_quality: u8,
        /// In dBm.
        signal: i8,
        /// Without the check sequence.
        frame: &'a [u8],
    },
    /// What became of a frame.
    Done {
        /// The frame's.
        handle: u8,
        /// Its fate.
        outcome: Outcome,
    },
}

impl<'a> Message<'a> {
    fn read(content: &'a [u8]) -> Option<Self> {
        let (content, check) = content.split_last_chunk::<2>()?;
        if CHECK.checksum(content) != u16::from_le_bytes(*check) {
            return None;
        }
        match content.split_first()? {
            (0x01, body) => Some(Self::Join(ExtendedAddress(body.try_into().ok()?))),
            (0x02, body) => {
                let (&handle, frame) = body.split_first()?;
                (frame.len() <= MAX_FRAME).then_some(Self::Transmit { handle, frame })
            }
            (0x81, body) => {
                let (&[link_quality, signal], frame) = body.split_first_chunk()?;
                let signal = signal.cast_signed();
                (frame.len() <= MAX_FRAME).then_some(Self::Received { link_quality, signal, frame })
            }
            (0x82, &[handle, outcome]) => {
                let outcome = match outcome {
                    0 => Outcome::Sent,
                    1 => Outcome::ChannelBusy,
                    2 => Outcome::NoAcknowledgement,
                    3 => Outcome::Refused,
                    _ => return None,
                };
                Some(Self::Done { handle, outcome })
            }
            _ => None,
        }
    }

    /// Writes the message as it goes over the line, at most [`MAX_ON_LINE`] bytes, one by one to
    /// `out`.
    ///
    /// # Panics
    /// A frame is longer than [`MAX_FRAME`]: no radio has received it, and none could send it.
    pub fn write(&self, mut out: impl FnMut(u8)) {
        let (head, head_len, body): ([u8; 3], usize, &[u8]) = match self {
            Self::Join(address) => ([0x01, 0, 0], 1, &address.0),
            Self::Transmit { handle, frame } => ([0x02, *handle, 0], 2, frame),
            Self::Received { link_quality, signal, frame } => {
                ([0x81, *link_quality, signal.cast_unsigned()], 3, frame)
            }
            Self::Done { handle, outcome } => ([0x82, *handle, *outcome as u8], 3, &[]),
        };
        assert!(body.len() <= MAX_FRAME, "no frame is longer");
        let head = &head[..head_len];
        let mut digest = CHECK.digest();
        digest.update(head);
        digest.update(body);
        let check = digest.finalize().to_le_bytes();
        out(START);
        for &byte in head.iter().chain(body).chain(&check) {
            if (ESCAPE..=END).contains(&byte) {
                out(ESCAPE);
                out(byte ^ FLIP);
            } else {
                out(byte);
            }
        }
        out(END);
    }
}

/// What the line brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item<'a> {
    /// A character of the console.
    Text(u8),
    /// A message for or from the radio.
    Message(Message<'a>),
}

/// Reads a line byte by byte.
#[derive(Clone)]
pub struct Decoder {
    content: [u8; MAX_CONTENT],
    len: usize,
    state: State,
    damaged: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    Inside,
    Escaped,
}

impl Decoder {
    /// A decoder between two messages.
    pub const fn new() -> Self {
        Self { content: [0; MAX_CONTENT], len: 0, state: State::Text, damaged: 0 }
    }

    /// Messages that were cut off, too long, or not what their check says.
    pub const fn damaged(&self) -> u32 {
        self.damaged
    }

    /// Takes the next byte in; what it completes, if anything.
    pub fn push(&mut self, byte: u8) -> Option<Item<'_>> {
        match (self.state, byte) {
            (State::Text, START) => self.begin(),
            (State::Text, 0x00..=0x7f) => return Some(Item::Text(byte)),
            // What is left of a message whose beginning was lost.
            (State::Text, _) => {}
            (_, START) => {
                self.damaged += 1;
                self.begin();
            }
            (State::Inside, END) => {
                self.state = State::Text;
                let message = Message::read(&self.content[..self.len]);
                if message.is_none() {
                    self.damaged += 1;
                }
                return message.map(Item::Message);
            }
            (State::Inside, ESCAPE) => self.state = State::Escaped,
            (State::Inside, _) => self.append(byte),
            (State::Escaped, _) => {
                self.state = State::Inside;
                self.append(byte ^ FLIP);
            }
        }
        None
    }

    fn begin(&mut self) {
        self.len = 0;
        self.state = State::Inside;
    }

    fn append(&mut self, byte: u8) {
        if let Some(place) = self.content.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        } else {
            self.damaged += 1;
            self.state = State::Text;
        }
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("damaged", &self.damaged).finish_non_exhaustive()
    }
}
