//! What a store says when it cannot do what it was asked for.

use core::fmt;

use embedded_storage::nor_flash::{NorFlashError, NorFlashErrorKind};

/// A part of the flash that fills and fails on its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Region {
    /// Key ratchet, sequence numbers, newest epoch: the first two pages of the settings.
    Journal,
    /// Address, authorities and network document: the other pages of the settings.
    Settings,
    /// Replay tags.
    Tags,
    /// Messages.
    Messages,
    /// Own readings.
    Readings,
    /// Devices whose readings are checked.
    Devices,
}

/// What is wrong with a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutProblem {
    /// A range does not begin and end at a page of the flash, or ends beyond it.
    Alignment,
    /// Two ranges overlap.
    Overlap,
    /// A range has too few pages: four for settings, two for tags, two for messages.
    TooSmall,
    /// The flash has pages below 512 bytes, or words that do not divide 32 bytes.
    Flash,
}

/// Why the store did not do what it was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The layout cannot be used with this flash.
    Layout(LayoutProblem),
    /// The flash failed. What the operation had begun is undone or finished by opening the store
    /// again.
    Flash(NorFlashErrorKind),
    /// What was read back is not what was written.
    NotWritten,
    /// There is no room; what was stored is untouched.
    Full(Region),
    /// The region holds what no power cut explains.
    Corrupted(Region),
    /// The network document in flash is damaged.
    DocumentDamaged,
    /// More bytes than fit, or more authorities than four.
    TooLong {
        /// The most there may be.
        most: usize,
    },
    /// The memory lent is too short; nothing was read.
    BufferTooShort {
        /// Bytes that are needed.
        needed: usize,
    },
    /// All 2^32 sequence numbers have been used.
    SequenceExhausted,
}

impl NorFlashError for StoreError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::Flash(kind) => *kind,
            _ => NorFlashErrorKind::Other,
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Journal => "journal of keys and sequence numbers",
            Self::Settings => "settings",
            Self::Tags => "replay tags",
            Self::Messages => "messages",
            Self::Readings => "own readings",
            Self::Devices => "list of devices",
        })
    }
}

impl fmt::Display for LayoutProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alignment => "a range is not made of whole pages of this flash; move its ends",
            Self::Overlap => "two ranges overlap; separate them",
            Self::TooSmall => {
                "a range is too small; give settings four pages, tags two and messages two, or more"
            }
            Self::Flash => "pages are below 512 bytes or words do not divide 32 bytes; use another flash",
        })
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(problem) => write!(f, "flash layout: {problem}"),
            Self::Flash(NorFlashErrorKind::NotAligned | NorFlashErrorKind::OutOfBounds) => {
                f.write_str("flash: its driver has other pages or words; compare it with the layout")
            }
            Self::Flash(_) => f.write_str(
                "flash: it does not answer; switch the power off and on, and replace the part if it stays so",
            ),
            Self::NotWritten => {
                f.write_str("flash: reads back something else; try again, or replace the part")
            }
            // Nobody can remove them before.
            Self::Full(Region::Tags) => f.write_str("replay tags: full; the next epoch makes room"),
            Self::Full(Region::Devices) => f.write_str("list of devices: full; format the store to empty it"),
            Self::Full(region) => write!(f, "{region}: full; remove what is no longer needed"),
            Self::Corrupted(region) => {
                write!(f, "{region}: corrupted; format the store and provision the mote anew")
            }
            Self::DocumentDamaged => f.write_str("network document: damaged; fetch it again"),
            Self::TooLong { most } => write!(f, "too long; store at most {most}"),
            Self::BufferTooShort { needed } => write!(f, "buffer too short; lend {needed} bytes"),
            Self::SequenceExhausted => f.write_str("sequence numbers are used up; provision a new identity"),
        }
    }
}

impl core::error::Error for StoreError {}
