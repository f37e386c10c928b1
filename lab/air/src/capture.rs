//! What was on the air, as a PCAP file.
//!
//! ```text
//! file header 24:  magic 4 ‖ version 2.4 4 ‖ 0 8 ‖ longest frame 4 ‖ link type 195 4
//! frame header 16: seconds 4 ‖ microseconds 4 ‖ length in the file 4 ‖ length on the air 4
//! ```
//!
//! Little-endian; [draft-ietf-opsawg-pcap]. Link type 195 is IEEE 802.15.4 with the check sequence.
//! A frame that collided is written with its check sequence inverted, so that programs show it as a
//! broken one: which bytes a receiver would have made of it, the model does not say. Frames come in
//! the order in which they end, each with the time of its begin.
//!
//! [draft-ietf-opsawg-pcap]: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/

use crate::frame::Frame;
use std::io::{self, Write};
use std::time::Duration;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const VERSION: [u16; 2] = [2, 4];
const LONGEST: u32 = 127;
const LINK_TYPE: u32 = 195;

/// A capture that is being written.
pub struct Capture<W: Write> {
    to: W,
}

impl<W: Write> Capture<W> {
    /// Writes the file's header. Give it a writer that collects, and flush at the end of a round:
    /// what was flushed is a whole file.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(mut to: W) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(MICROSECONDS.to_le_bytes());
        header.extend(VERSION.into_iter().flat_map(u16::to_le_bytes));
        header.extend([0; 8]);
        header.extend(LONGEST.to_le_bytes());
        header.extend(LINK_TYPE.to_le_bytes());
        to.write_all(&header)?;
        Ok(Self { to })
    }

    /// Writes a frame that began at `at`, since the beginning of 1970.
    ///
    /// # Errors
    /// The writer's.
    pub fn frame(&mut self, at: Duration, frame: &Frame, collided: bool) -> io::Result<()> {
        let len = u32::try_from(frame.psdu_len()).unwrap_or(LONGEST);
        let mut record = Vec::with_capacity(16 + frame.psdu_len());
        // The format's seconds end in 2106.
        record.extend((at.as_secs() as u32).to_le_bytes());
        record.extend(at.subsec_micros().to_le_bytes());
        record.extend(len.to_le_bytes());
        record.extend(len.to_le_bytes());
        record.extend(frame.bytes());
        record.extend(frame.check().map(|byte| if collided { !byte } else { byte }));
        self.to.write_all(&record)
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// The writer's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// The writer, unflushed.
    pub fn into_inner(self) -> W {
        self.to
    }
}
