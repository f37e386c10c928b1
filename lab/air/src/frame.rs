//! What a radio reads of a frame: IEEE 802.15.4-2006, section 7.2.
//!
//! ```text
//! frame control 2 ‖ sequence 1 ‖ [PAN 2 ‖ destination 2|8] ‖ [PAN 2] ‖ [source 2|8] ‖ … ‖ check sequence 2
//! ```
//!
//! | bits of the frame control | |
//! |---|---|
//! | 0–2 | type: 0 beacon, 1 data, 2 acknowledgement, 3 command |
//! | 5 | an acknowledgement is asked for |
//! | 6 | the source is in the destination's PAN, whose number is not repeated |
//! | 10–11, 14–15 | how the destination, the source is given: 0 not, 2 short, 3 extended |
//! | 12–13 | version: 0 and 1 are read here |

use motemix_link::serial::{CHECK, ExtendedAddress, MAX_FRAME};
use std::fmt;
use std::time::Duration;

/// Everybody, as a PAN and as a short address.
pub(crate) const BROADCAST: u16 = 0xffff;
/// Bytes of the check sequence.
const CHECK_LEN: usize = 2;
/// Preamble, start delimiter and length.
const SYNCHRONISATION: u64 = 6;
/// 250 kbit/s.
const MICROS_A_BYTE: u64 = 32;

/// A frame's bytes as its sender gave them, without the check sequence.
#[derive(Clone, Copy)]
pub struct Frame {
    bytes: [u8; MAX_FRAME],
    len: u8,
}

impl Frame {
    fn new(bytes: &[u8]) -> Option<Self> {
        let mut frame = Self { bytes: [0; MAX_FRAME], len: u8::try_from(bytes.len()).ok()? };
        frame.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(frame)
    }

    /// The immediate acknowledgement of a frame with this sequence number.
    pub(crate) fn acknowledgement(sequence: u8) -> (Self, Header) {
        let mut frame = Self { bytes: [0; MAX_FRAME], len: 3 };
        frame.bytes[0] = Type::Acknowledgement as u8;
        frame.bytes[2] = sequence;
        (
            frame,
            Header {
                kind: Type::Acknowledgement,
                wants_acknowledgement: false,
                sequence,
                to: To::Nobody,
                from: To::Nobody,
            },
        )
    }

    /// Without the check sequence.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The sequence that ends the frame on the air, in the order of the air.
    pub fn check(&self) -> [u8; 2] {
        CHECK.checksum(self.bytes()).to_le_bytes()
    }

    /// Bytes on the air after the length field: the PSDU.
    pub fn psdu_len(&self) -> usize {
        usize::from(self.len) + CHECK_LEN
    }

    /// How long it is on the air: 32 µs a byte, with 6 bytes of synchronisation.
    pub fn airtime(&self) -> Duration {
        Duration::from_micros((SYNCHRONISATION + self.psdu_len() as u64) * MICROS_A_BYTE)
    }
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Frame {}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    Beacon = 0,
    Data = 1,
    Acknowledgement = 2,
    Command = 3,
}

/// Whom it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    /// No destination; for a beacon, the PAN it is of.
    Nobody,
    Pan(u16),
    Short(u16, u16),
    Extended(u16, ExtendedAddress),
}

/// What a radio goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub kind: Type,
    pub wants_acknowledgement: bool,
    pub sequence: u8,
    pub to: To,
    /// The sender, as a frame to it alone would name it; nobody if the frame does not say.
    pub from: To,
}

/// Why bytes are no frame that a radio sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Malformed {
    /// The header does not fit in, or the frame is too long.
    Length,
    /// A reserved type, version or address mode.
    Reserved,
    /// No address, or a PAN that is left out and not given elsewhere.
    Addresses,
}

/// A station's own addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Addresses {
    pub extended: ExtendedAddress,
    pub short: Option<u16>,
    pub pan: Option<u16>,
}

impl Addresses {
    fn in_pan(&self, pan: u16) -> bool {
        pan == BROADCAST || self.pan.is_none_or(|own| own == pan)
    }

    /// Whether a frame is for this station, alone or with others.
    pub fn accept(&self, header: &Header) -> bool {
        match header.to {
            To::Nobody => false,
            To::Pan(pan) | To::Short(pan, BROADCAST) => self.in_pan(pan),
            To::Short(..) | To::Extended(..) => self.is_alone_meant(header),
        }
    }

    /// Whether a frame is for this station and no other, so that it is the one to acknowledge.
    pub fn is_alone_meant(&self, header: &Header) -> bool {
        match header.to {
            To::Nobody | To::Pan(_) | To::Short(_, BROADCAST) => false,
            To::Short(pan, address) => self.in_pan(pan) && self.short == Some(address),
            To::Extended(pan, address) => self.in_pan(pan) && self.extended == address,
        }
    }
}

/// Reads what a radio goes by, and keeps the bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<(Frame, Header), Malformed> {
    let frame = Frame::new(bytes).ok_or(Malformed::Length)?;
    let mut rest = bytes;
    let [low, high, sequence] = take(&mut rest)?;
    let control = u16::from_le_bytes([low, high]);
    let bit = |n: u16| control >> n & 1 == 1;
    let kind = match control & 7 {
        0 => Type::Beacon,
        1 => Type::Data,
        2 => Type::Acknowledgement,
        3 => Type::Command,
        _ => return Err(Malformed::Reserved),
    };
    if control >> 12 & 3 > 1 {
        return Err(Malformed::Reserved);
    }
    let (destination, source) = (Mode::read(control >> 10)?, Mode::read(control >> 14)?);
    if kind == Type::Acknowledgement {
        let plain = destination == Mode::Absent && source == Mode::Absent && rest.is_empty();
        return if plain { Ok(Frame::acknowledgement(sequence)) } else { Err(Malformed::Addresses) };
    }
    let one_pan = bit(6);
    let both = destination != Mode::Absent && source != Mode::Absent;
    let none = destination == Mode::Absent && source == Mode::Absent;
    if none || one_pan && !both {
        return Err(Malformed::Addresses);
    }
    let mut to = match destination {
        Mode::Absent => To::Nobody,
        Mode::Short => To::Short(u16::from_le_bytes(take(&mut rest)?), u16::from_le_bytes(take(&mut rest)?)),
        Mode::Extended => {
            To::Extended(u16::from_le_bytes(take(&mut rest)?), ExtendedAddress(take(&mut rest)?))
        }
    };
    let mut from = To::Nobody;
    if source != Mode::Absent {
        let pan = match to {
            To::Short(pan, _) | To::Extended(pan, _) if one_pan => pan,
            _ => u16::from_le_bytes(take(&mut rest)?),
        };
        if kind == Type::Beacon && to == To::Nobody {
            to = To::Pan(pan);
        }
        from = if source == Mode::Short {
            To::Short(pan, u16::from_le_bytes(take(&mut rest)?))
        } else {
            To::Extended(pan, ExtendedAddress(take(&mut rest)?))
        };
    }
    let wants_acknowledgement = bit(5) && kind != Type::Beacon;
    Ok((frame, Header { kind, wants_acknowledgement, sequence, to, from }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Absent,
    Short,
    Extended,
}

impl Mode {
    fn read(bits: u16) -> Result<Self, Malformed> {
        match bits & 3 {
            0 => Ok(Self::Absent),
            2 => Ok(Self::Short),
            3 => Ok(Self::Extended),
            _ => Err(Malformed::Reserved),
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (head, tail) = rest.split_first_chunk().ok_or(Malformed::Length)?;
    *rest = tail;
    Ok(*head)
}
