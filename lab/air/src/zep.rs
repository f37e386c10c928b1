//! ZEP version 2: frames in UDP datagrams, as RIOT's `native` boards and Wireshark speak it.
//!
//! ```text
//!  0      "EX"                             9–16   NTP time: seconds since 1900, fraction
//!  2      version, 2                      17–20   sequence number
//!  3      type: 1 data, 2 ack, 255 hello  21–30   0
//!  4      channel                         31      length of the frame
//!  5–6    device                          32–     frame with its check sequence
//!  7      mode: 1 check sequence, 0 LQI
//!  8      link quality
//! ```
//!
//! Numbers are big-endian. There is no standard: this is what Wireshark's dissector
//! (`packet-zep.c`) and RIOT (`sys/include/net/zep.h`, `cpu/native/socket_zep`) agree on. What is
//! known of RIOT's `native`:
//!
//! - It sends to the dispatcher, and takes data of version 2 on its own channel only, which is 26
//!   unless told otherwise.
//! - It makes acknowledgements itself, and repeats a frame that nobody acknowledged within 864 µs,
//!   four times. 2023.01 sends and acknowledges at once. 2026.07 sends a datagram when the frame's
//!   airtime is over, and acknowledges 192 µs after a frame came.
//! - It does not listen before it sends. 2026.07 ends if it is given a frame before it has
//!   acknowledged the last one; `server/peers/pacing.rs` says why, and keeps it from that.
//! - A hello is sent when it knows its address, if its module `socket_zep_hello` is there: a data
//!   header and the extended address. It makes the sender a station, nothing else.
//! - 2023.01 sends a wrong check sequence and looks at none. 2026.07 sends the right one, and drops
//!   frames with another one. So none is looked at here, and the right one is put in its place.
//!
//! In mode 0 the frame's last two bytes are signal and quality instead of the check sequence. They
//! are put away in both modes.

use crate::frame::Frame;
use std::time::Duration;

/// Where a dispatcher listens, by custom.
pub const PORT: u16 = 17754;
/// RIOT's default.
pub const CHANNEL: u8 = 26;
/// The most bytes of a datagram that is read.
pub const MAX_LEN: usize = HEADER_LEN + 127;

const HEADER_LEN: usize = 32;
const PREAMBLE: [u8; 2] = *b"EX";
const VERSION: u8 = 2;
const DATA: u8 = 1;
const ACKNOWLEDGEMENT: u8 = 2;
const HELLO: u8 = 255;
const WITH_CHECK: u8 = 1;
const CHECK_LEN: usize = 2;
/// From 1900, NTP's beginning, to 1970.
const NTP_TO_UNIX: u64 = 2_208_988_800;

/// What a datagram says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datagram<'a> {
    /// A frame.
    Data {
        /// Where it was sent.
        channel: u8,
        /// Without its last two bytes.
        frame: &'a [u8],
    },
    /// Somebody is there.
    Hello,
    /// A datagram arrived. Nobody needs it here.
    Acknowledgement,
}

/// Why a datagram is none of ZEP version 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoZep {
    /// It does not begin with "EX".
    #[error("does not begin with \"EX\"")]
    Preamble,
    /// Another version, or an unknown type.
    #[error("another version than 2, or an unknown type")]
    Unsupported,
    /// The length in it is not that of what follows.
    #[error("its length is not that of its frame")]
    Length,
}

impl<'a> Datagram<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// Says what it is not.
    pub fn read(bytes: &'a [u8]) -> Result<Self, NoZep> {
        let (preamble, rest) = bytes.split_first_chunk::<2>().ok_or(NoZep::Preamble)?;
        if *preamble != PREAMBLE {
            return Err(NoZep::Preamble);
        }
        let (&[version, kind], _) = rest.split_first_chunk::<2>().ok_or(NoZep::Length)?;
        match (version, kind) {
            (VERSION, HELLO) => return Ok(Self::Hello),
            (VERSION, ACKNOWLEDGEMENT) => return Ok(Self::Acknowledgement),
            (VERSION, DATA) => {}
            _ => return Err(NoZep::Unsupported),
        }
        let (header, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(NoZep::Length)?;
        let [_, _, _, _, channel, .., len] = *header;
        let frame = rest.split_last_chunk::<CHECK_LEN>().ok_or(NoZep::Length)?.0;
        if usize::from(len) != rest.len() {
            return Err(NoZep::Length);
        }
        Ok(Self::Data { channel, frame })
    }
}

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Where the frame was.
    pub channel: u8,
    /// Who sent it, of the stations that are there.
    pub device: u16,
    /// When, since the beginning of 1970.
    pub at: Duration,
    /// The datagram's number.
    pub sequence: u32,
    /// What.
    pub frame: &'a Frame,
}

impl Outgoing<'_> {
    /// The datagram's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MAX_LEN);
        bytes.extend(PREAMBLE);
        bytes.extend([VERSION, DATA, self.channel]);
        bytes.extend(self.device.to_be_bytes());
        bytes.extend([WITH_CHECK, u8::MAX]);
        // Era 0 ends in 2036, and the next one begins with 0.
        bytes.extend(((self.at.as_secs() + NTP_TO_UNIX) as u32).to_be_bytes());
        let fraction = (u64::from(self.at.subsec_nanos()) << 32) / 1_000_000_000;
        bytes.extend((fraction as u32).to_be_bytes());
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend([0; 10]);
        bytes.push(self.frame.psdu_len() as u8);
        bytes.extend(self.frame.bytes());
        bytes.extend(self.frame.check());
        bytes
    }
}
