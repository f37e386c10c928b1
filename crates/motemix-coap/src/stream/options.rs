//! Options and payload, as they stand behind a token (RFC 7252 §3.1).

use std::fmt;

/// Behind these stands the payload.
const MARKER: u8 = 0xff;

/// Options in their order, and the payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Number and value.
    pub options: Vec<(u16, Vec<u8>)>,
    /// What is behind them.
    pub payload: Vec<u8>,
}

/// Why bytes are no options: nobody knows where the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoOptions(&'static str);

impl fmt::Display for NoOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for NoOptions {}

impl Options {
    /// Reads them.
    ///
    /// # Errors
    /// An option goes beyond the end or above 65,535, a length is reserved, a payload is empty.
    pub fn read(mut bytes: &[u8]) -> Result<Self, NoOptions> {
        let mut read = Self::default();
        let mut number = 0u16;
        while let Some((&first, behind)) = bytes.split_first() {
            bytes = behind;
            if first == MARKER {
                if bytes.is_empty() {
                    return Err(NoOptions("nothing stands behind the mark of a payload"));
                }
                read.payload = bytes.to_vec();
                break;
            }
            let delta = extended(first >> 4, &mut bytes)?;
            let len = extended(first & 0x0f, &mut bytes)?;
            number = u16::try_from(u32::from(number) + delta)
                .map_err(|_| NoOptions("the number of an option is greater than 65535"))?;
            let (value, behind) = bytes
                .split_at_checked(len as usize)
                .ok_or(NoOptions("an option is longer than the message"))?;
            read.options.push((number, value.to_vec()));
            bytes = behind;
        }
        Ok(read)
    }

    /// Writes them; they are put in order, and those of one number stay in theirs.
    pub fn write(mut self) -> Vec<u8> {
        self.options.sort_by_key(|(number, _)| *number);
        let mut bytes = Vec::with_capacity(self.payload.len() + 16);
        let mut before = 0;
        for (number, value) in &self.options {
            let (delta, delta_more) = split(u32::from(number - before));
            let (len, len_more) = split(value.len() as u32);
            bytes.push(delta << 4 | len);
            bytes.extend(delta_more.bytes());
            bytes.extend(len_more.bytes());
            bytes.extend_from_slice(value);
            before = *number;
        }
        if !self.payload.is_empty() {
            bytes.push(MARKER);
            bytes.extend_from_slice(&self.payload);
        }
        bytes
    }

    /// Adds an option.
    pub fn push(&mut self, number: u16, value: impl Into<Vec<u8>>) {
        self.options.push((number, value.into()));
    }

    /// Adds a number, without zeros in front.
    pub fn push_uint(&mut self, number: u16, value: u32) {
        let bytes = value.to_be_bytes();
        self.push(number, &bytes[value.leading_zeros() as usize / 8..]);
    }
}

/// The number that a value means.
pub fn uint(value: &[u8]) -> Option<u32> {
    (value.len() <= 4).then(|| value.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte)))
}

/// The bytes behind a nibble of 13 or 14.
enum More {
    None,
    One(u8),
    Two(u16),
}

impl More {
    fn bytes(&self) -> impl Iterator<Item = u8> {
        let (bytes, len) = match *self {
            Self::None => ([0, 0], 0),
            Self::One(byte) => ([byte, 0], 1),
            Self::Two(two) => (two.to_be_bytes(), 2),
        };
        bytes.into_iter().take(len)
    }
}

/// Values of options are a few hundred bytes, so no number is too great.
fn split(number: u32) -> (u8, More) {
    match number {
        0..13 => (number as u8, More::None),
        13..269 => (13, More::One((number - 13) as u8)),
        _ => (14, More::Two((number - 269) as u16)),
    }
}

fn extended(nibble: u8, bytes: &mut &[u8]) -> Result<u32, NoOptions> {
    let (least, len) = match nibble {
        13 => (13, 1),
        14 => (269, 2),
        15 => return Err(NoOptions("a length of 15 is reserved")),
        small => return Ok(u32::from(small)),
    };
    let (more, behind) = bytes.split_at_checked(len).ok_or(NoOptions("an option ends within its header"))?;
    *bytes = behind;
    Ok(least + more.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte)))
}
