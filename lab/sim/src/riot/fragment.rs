//! Frames as RIOT puts them on the air: IEEE 802.15.4, 6LoWPAN fragments (RFC 4944), compressed
//! headers (RFC 6282).
//!
//! ```text
//! control 2 ‖ sequence 1 ‖ PAN 2 ‖ destination 8 ‖ source 8 ‖ ┬ compressed IPv6 and UDP 9 ‖ payload
//!                                                             ├ FRAG1 4 ‖ compressed IPv6 and UDP 9 ‖ payload
//!                                                             └ FRAGN 5 ‖ payload
//! ```
//!
//! Headers are real; of the payload, only what [`Packet`] says is.

use super::packet::{self, Packet};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME};

/// What RIOT has 6LoWPAN put into one frame.
const PDU: u16 = 102;
/// IPHC 2, next header 1, ports 4, checksum 2: link-local addresses go without saying.
const COMPRESSED: u16 = 9;
/// IPv6 and UDP.
pub const HEADERS: u16 = 48;
const FIRST: u16 = 4;
const LATER: u16 = 5;
/// The header of the frame itself.
const FRAME_HEADER: usize = 21;
/// Bytes of UDP payload that fit into one frame.
const WHOLE: u16 = PDU - COMPRESSED;
/// A data frame of version 1 that asks for an acknowledgement, long addresses, one PAN.
const CONTROL: [u8; 2] = [0x61, 0xdc];
/// The PAN of RIOT's default.
const PAN: [u8; 2] = 0x0023_u16.to_le_bytes();
/// Traffic class and hop limit elided, link-local addresses from the frame's; UDP with both ports
/// inline.
const IPHC: [u8; 3] = [0x7e, 0x33, 0xf0];
/// The thesis' port.
const PORT: [u8; 2] = 45678_u16.to_be_bytes();

const fn floor8(length: u16) -> u16 {
    length & !7
}

/// Bytes of the first fragment after its header: offsets count in eights of the datagram before
/// compression.
const FIRST_PAYLOAD: u16 = floor8(PDU + HEADERS - COMPRESSED - FIRST) - (HEADERS - COMPRESSED);
const LATER_PAYLOAD: u16 = floor8(PDU - LATER);

/// Bytes of the IPv6 datagram that the fragment at `offset` carries, for so much UDP payload.
pub fn cut(payload: u16, offset: u16) -> u16 {
    let all = payload + HEADERS;
    let first = FIRST_PAYLOAD - COMPRESSED + HEADERS;
    match offset {
        0 if payload <= WHOLE => all,
        0 => first,
        _ => LATER_PAYLOAD.min(all.saturating_sub(offset)),
    }
}

/// A piece of a datagram, or all of it, between two neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    pub from: u16,
    pub to: u16,
    pub tag: u16,
    /// Bytes of the whole IPv6 datagram.
    pub size: u16,
    /// Where it begins there.
    pub offset: u16,
    /// Bytes of the IPv6 datagram that it carries.
    pub len: u16,
    /// What the packet means; the first fragment says so.
    pub packet: Option<Packet>,
}

/// The address of a node, in the order of the air.
pub fn address(id: u16) -> ExtendedAddress {
    let [high, low] = id.to_be_bytes();
    ExtendedAddress([low, high, 0, 0, 0, 0, 0, 0x02])
}

fn id(address: [u8; 8]) -> u16 {
    u16::from_be_bytes([address[1], address[0]])
}

impl Fragment {
    fn is_whole(&self) -> bool {
        self.len == self.size
    }

    /// Bytes of the frame after its own header.
    pub fn payload_len(&self) -> usize {
        usize::from(match self.offset {
            0 if self.is_whole() => self.len - HEADERS + COMPRESSED,
            0 => FIRST + self.len - HEADERS + COMPRESSED,
            _ => LATER + self.len,
        })
    }

    /// Bytes of the frame without its check sequence.
    pub fn frame_len(&self) -> usize {
        FRAME_HEADER + self.payload_len()
    }

    /// Writes the frame; returns its length.
    pub fn write(&self, sequence: u8, out: &mut [u8; MAX_FRAME]) -> usize {
        out[..2].copy_from_slice(&CONTROL);
        out[2] = sequence;
        out[3..5].copy_from_slice(&PAN);
        out[5..13].copy_from_slice(&address(self.to).0);
        out[13..21].copy_from_slice(&address(self.from).0);
        let len = self.frame_len().min(out.len());
        let mut at = FRAME_HEADER;
        if !self.is_whole() {
            let kind = if self.offset == 0 { 0xc000 } else { 0xe000 };
            out[at..at + 2].copy_from_slice(&(kind | self.size).to_be_bytes());
            out[at + 2..at + 4].copy_from_slice(&self.tag.to_be_bytes());
            at += 4;
            if self.offset > 0 {
                out[at] = u8::try_from(self.offset / 8).unwrap_or(u8::MAX);
                at += 1;
            }
        }
        out[at..len.max(at)].fill(0);
        if self.offset == 0 {
            out[at..at + 3].copy_from_slice(&IPHC);
            out[at + 3..at + 5].copy_from_slice(&PORT);
            out[at + 5..at + 7].copy_from_slice(&PORT);
            at += usize::from(COMPRESSED);
            if let (Some(packet), Some(room)) = (self.packet, out[at..].first_chunk_mut::<{ packet::LEN }>())
            {
                packet.write(room);
            }
        }
        len
    }

    /// Reads a frame of such a node.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (header, rest) = frame.split_first_chunk::<FRAME_HEADER>()?;
        let to = id(*header.get(5..)?.first_chunk()?);
        let from = id(*header.get(13..)?.first_chunk()?);
        let (first, _) = rest.split_first()?;
        let size = |rest: &[u8]| Some(u16::from_be_bytes(*rest.first_chunk()?) & 0x7ff);
        let tag = |rest: &[u8]| Some(u16::from_be_bytes(*rest.get(2..)?.first_chunk()?));
        let begins = |rest: &[u8]| Packet::read(rest.get(usize::from(COMPRESSED)..)?);
        let uncompressed = |len: usize| Some(u16::try_from(len).ok()?.checked_sub(COMPRESSED)? + HEADERS);
        match first >> 3 {
            0b11000 => {
                let body = rest.get(usize::from(FIRST)..)?;
                let len = uncompressed(body.len())?;
                let packet = begins(body);
                Some(Self { from, to, tag: tag(rest)?, size: size(rest)?, offset: 0, len, packet })
            }
            0b11100 => {
                let offset = u16::from(*rest.get(4)?) * 8;
                let len = u16::try_from(rest.len()).ok()?.checked_sub(LATER)?;
                Some(Self { from, to, tag: tag(rest)?, size: size(rest)?, offset, len, packet: None })
            }
            _ => {
                let size = uncompressed(rest.len())?;
                Some(Self { from, to, tag: 0, size, offset: 0, len: size, packet: begins(rest) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(payload: u16) -> Vec<Fragment> {
        let mut all = Vec::new();
        let (mut offset, size) = (0, payload + HEADERS);
        while offset < size {
            let len = cut(payload, offset);
            all.push(Fragment { from: 3, to: 0x0102, tag: 77, size, offset, len, packet: None });
            offset += len;
        }
        all
    }

    #[test]
    fn so_many_bytes_fit_into_so_many_frames() {
        for (count, most) in [(1, 93), (2, 184), (3, 280), (4, 376), (5, 472), (6, 568)] {
            assert_eq!(frames(most).len(), count);
            assert_eq!(frames(most + 1).len(), count + 1);
        }
    }

    #[test]
    fn the_packet_of_the_thesis_takes_its_airtime() {
        let psdus: Vec<_> = frames(544).iter().map(|fragment| fragment.frame_len() + 2).collect();
        assert_eq!(psdus, [124, 124, 124, 124, 124, 100]);
        assert_eq!(psdus.iter().map(|psdu| 32 * (6 + psdu)).sum::<usize>(), 24_192);
    }

    #[test]
    fn what_is_written_is_read() {
        let path = [1, 2, 3, 4, 5, 0x1234, 0, 0, 0, 0];
        let packet = Packet { origin: 0x1234, message: 99_999, passed: 2, there: 3, hops: 6, path };
        for payload in [60, 93, 94, 544] {
            for mut fragment in frames(payload) {
                if fragment.offset == 0 {
                    fragment.packet = Some(packet);
                }
                if fragment.is_whole() {
                    fragment.tag = 0;
                }
                let mut out = [0xff; MAX_FRAME];
                let len = fragment.write(5, &mut out);
                assert_eq!(Fragment::read(&out[..len]), Some(fragment));
            }
        }
    }
}
