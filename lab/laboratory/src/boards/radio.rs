//! What a message costs on an IEEE 802.15.4 radio with 6LoWPAN, as RIOT sends it.

/// What one frame's PDU holds, with long addresses and one PAN.
const PDU_LEN: usize = 102;
/// IPv6 and UDP, compressed.
const COMPRESSED_LEN: usize = 9;
const FIRST_HEADER_LEN: usize = 4;
const LATER_HEADER_LEN: usize = 5;
/// UDP payload of the first of several fragments: with the 48 bytes of uncompressed IPv6 and UDP
/// headers a multiple of eight.
const FIRST_LEN: usize = 88;
/// UDP payload of a later fragment: a multiple of eight.
const LATER_LEN: usize = 96;
/// Preamble, delimiter and length 6; MAC header 21; check sequence 2.
const FRAME_OVERHEAD: usize = 6 + 21 + 2;
/// A MAC acknowledgement: preamble, delimiter and length 6; frame 5.
const ACK_LEN: usize = 11;
/// Between a frame and its acknowledgement.
const TURNAROUND_US: u64 = 192;
/// At 250 kb/s.
const BYTE_US: u64 = 32;

/// One hop of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Hop {
    pub frames: usize,
    /// Sent by the sender of the frames: with preambles, without acknowledgements.
    pub bytes: usize,
    /// Acknowledgements.
    pub ack_bytes: usize,
    /// For which the channel is taken.
    pub air_us: u64,
}

impl Hop {
    /// A datagram with so many bytes of UDP payload.
    pub const fn of(len: usize) -> Self {
        let (frames, headers) = if len <= PDU_LEN - COMPRESSED_LEN {
            (1, COMPRESSED_LEN)
        } else {
            let later = (len - FIRST_LEN).div_ceil(LATER_LEN);
            (1 + later, COMPRESSED_LEN + FIRST_HEADER_LEN + later * LATER_HEADER_LEN)
        };
        let bytes = len + headers + frames * FRAME_OVERHEAD;
        let ack_bytes = frames * ACK_LEN;
        let air_us = (bytes + ack_bytes) as u64 * BYTE_US + frames as u64 * TURNAROUND_US;
        Self { frames, bytes, ack_bytes, air_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_hold_what_6lowpan_lets_them() {
        for (frames, most) in [(1, 93), (2, 184), (3, 280), (4, 376), (5, 472), (6, 568)] {
            assert_eq!(Hop::of(most).frames, frames);
            assert_eq!(Hop::of(most + 1).frames, frames + 1);
        }
    }

    #[test]
    fn a_hop_of_the_thesis_takes_24_ms_and_three_more_for_its_acknowledgements() {
        let hop = Hop::of(544);
        assert_eq!((hop.frames, hop.bytes), (6, 544 + 9 + 4 + 5 * 5 + 6 * 29));
        assert_eq!(hop.bytes as u64 * BYTE_US, 24_192);
        assert_eq!(hop.air_us - 24_192, 6 * (352 + 192));
    }
}
