//! Bodies in blocks (RFC 7959).

/// The value of a Block option: which block, whether more follow, and how long blocks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its place, from 0.
    pub number: u32,
    /// Whether others follow.
    pub more: bool,
    /// Exponent of the length: 16 · 2ˢ bytes, 0 to 6.
    pub exponent: u8,
}

impl Block {
    /// The greatest exponent, for blocks of 1,024 bytes.
    pub const MAX_EXPONENT: u8 = 6;
    const MAX_NUMBER: u32 = (1 << 20) - 1;

    /// The block that an option's value means; none if it has more than three bytes, or the
    /// exponent that is reserved (§2.2).
    pub fn read(value: &[u8]) -> Option<Self> {
        let value = crate::message::number_of(value).filter(|_| value.len() <= 3)?;
        let exponent = (value & 7) as u8;
        (exponent <= Self::MAX_EXPONENT).then_some(Self {
            number: value >> 4,
            more: value & 8 != 0,
            exponent,
        })
    }

    /// The option's value as a number.
    pub const fn value(self) -> u32 {
        self.number << 4 | (self.more as u32) << 3 | self.exponent as u32
    }

    /// Bytes of a block.
    pub const fn size(self) -> usize {
        16 << self.exponent
    }

    /// The byte of the body at which it begins.
    pub const fn start(self) -> usize {
        self.number as usize * self.size()
    }

    /// The part of a body that this block is, and the block with what follows it; `None` if the
    /// body ends before it.
    pub fn of(self, body: &[u8]) -> Option<(&[u8], Self)> {
        let start = self.start();
        if start > body.len() || (start == body.len() && start > 0) || self.number > Self::MAX_NUMBER {
            return None;
        }
        let end = body.len().min(start + self.size());
        Some((&body[start..end], Self { more: end < body.len(), ..self }))
    }
}

/// What became of a block that arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Assembled {
    /// More are to come.
    Continue,
    /// It was the last: the whole body.
    Whole(Vec<u8>),
    /// It does not continue what is here.
    Incomplete,
    /// The body would be longer than it may be.
    TooLong,
    /// No more bodies are gathered at present.
    Full,
    /// Only of those who are known.
    FullOfStrangers,
    /// What is here is certainly its owner's, and this block may be somebody else's.
    Unproven,
}
