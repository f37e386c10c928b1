//! One datagram that leaves: how it is cut, which of its fragments are still to be sent, and its
//! frames. A frame is made when it is its turn, so only the payload is kept.

use motemix_time::Instant;

use crate::counters::LinkDrop;
use crate::lowpan::frag::{Frag1, FragN, in_frag_n, in_frag1};
use crate::lowpan::iphc::{COMPRESSED, SHORTEST, UNCOMPRESSED};
use crate::lowpan::rfrag::{Rfrag, in_first_rfrag, in_rfrag};
use crate::mac::{Envelope, Frame, LinkAddress};
use crate::settings::Recovery;
use crate::slots::MAX_PAYLOAD;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    /// There are no keys yet with whom it is for; they are waited for until then.
    AwaitingKeys(Instant),
    /// Its next frame may leave from then on.
    Sending(Instant),
    /// Its receiver was asked which fragments it has, and is waited for until then.
    AwaitingAck(Instant),
}

/// How a datagram is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragmentation {
    /// It fits into one frame.
    None,
    /// FRAG1 and FRAGN.
    Rfc4944,
    /// RFRAG.
    Rfc8931,
}

impl Fragmentation {
    /// How a payload is cut for frames of this kind.
    pub(crate) const fn of(payload_len: usize, recovery: Recovery, envelope: Envelope) -> Self {
        match recovery {
            _ if payload_len <= envelope.room() - headers_len(envelope) => Self::None,
            Recovery::None => Self::Rfc4944,
            Recovery::Selective => Self::Rfc8931,
        }
    }

    /// Bytes of the payload in the first frame, and in each of the others.
    const fn lens(self, envelope: Envelope) -> (usize, usize) {
        let (room, headers) = (envelope.room(), headers_len(envelope));
        match self {
            Self::None => (room - headers, room),
            Self::Rfc4944 => (in_frag1(room, headers), in_frag_n(room)),
            Self::Rfc8931 => (in_first_rfrag(room, headers), in_rfrag(room)),
        }
    }

    /// Where the fragment begins and ends in a payload of this length.
    fn range(self, index: usize, payload_len: usize, envelope: Envelope) -> (usize, usize) {
        let (first, other) = self.lens(envelope);
        let end = first + index * other;
        (if index == 0 { 0 } else { (end - other).min(payload_len) }, end.min(payload_len))
    }

    /// One bit for each fragment of a payload of this length.
    const fn bitmap(self, payload_len: usize, envelope: Envelope) -> u32 {
        let (first, other) = self.lens(envelope);
        let others = payload_len.saturating_sub(first).div_ceil(other);
        u32::MAX >> (31 - others)
    }
}

// A bitmap has a bit for each fragment of the longest datagram.
const _: () = {
    let envelope = Envelope::ProtectedToExtended;
    let fragments = Fragmentation::Rfc4944.bitmap(MAX_PAYLOAD, envelope);
    assert!(fragments | Fragmentation::Rfc8931.bitmap(MAX_PAYLOAD, envelope) < u32::MAX);
};

/// Bytes of the compressed headers in frames of this kind.
const fn headers_len(envelope: Envelope) -> usize {
    match envelope {
        Envelope::Plain => COMPRESSED,
        Envelope::Protected | Envelope::ProtectedToExtended => SHORTEST,
    }
}

/// A slot for one datagram that leaves.
#[derive(Clone, Copy)]
pub struct DepartureSlot {
    pub(crate) state: State,
    pub(crate) envelope: Envelope,
    pub(crate) fragmentation: Fragmentation,
    pub(crate) to: LinkAddress,
    /// The compressed headers; in protected frames, the first [`SHORTEST`] bytes.
    pub(crate) headers: [u8; COMPRESSED],
    /// Bytes of the payload.
    pub(crate) payload_len: u16,
    pub(crate) datagram_tag: u16,
    /// The datagram with the lowest number leaves first.
    pub(crate) number: u32,
    /// The fragments that are still to be sent, one bit each.
    pub(crate) pending: u32,
    /// Whether its receiver is asked what it has, with the last of them.
    pub(crate) asks: bool,
    /// How many fragments its receiver lacked when it was heard last.
    pub(crate) missing: u32,
    /// How often it was taken up again since then.
    pub(crate) retries: u8,
    /// How often the frame that is next was put back.
    pub(crate) requeues: u8,
    /// That frame's sequence number: the same each time, so that a radio can tell.
    pub(crate) sequence: u8,
}

impl DepartureSlot {
    /// A slot without a datagram.
    pub const FREE: Self = Self {
        state: State::Free,
        envelope: Envelope::Plain,
        fragmentation: Fragmentation::None,
        to: LinkAddress::BROADCAST,
        headers: [0; COMPRESSED],
        payload_len: 0,
        datagram_tag: 0,
        number: 0,
        pending: 0,
        asks: false,
        missing: u32::MAX,
        retries: 0,
        requeues: 0,
        sequence: 0,
    };

    pub(crate) fn is_free(&self) -> bool {
        self.state == State::Free
    }

    /// One bit for each of its fragments.
    pub(crate) const fn all(&self) -> u32 {
        self.fragmentation.bitmap(self.payload_len as usize, self.envelope)
    }

    /// Whether the next frame asks what its receiver has.
    pub(crate) const fn ack_request(&self) -> bool {
        matches!(self.fragmentation, Fragmentation::Rfc8931) && self.asks && self.pending.is_power_of_two()
    }

    /// Appends its next fragment to a frame; `buffer` begins with its payload.
    pub(crate) fn write(&self, frame: &mut Frame, buffer: &[u8]) {
        let index = self.pending.trailing_zeros() as usize;
        let payload_len = usize::from(self.payload_len);
        let (begin, end) = self.fragmentation.range(index, payload_len, self.envelope);
        let (datagram_tag, datagram_size) = (self.datagram_tag, self.payload_len + UNCOMPRESSED as u16);
        let headers_len = headers_len(self.envelope);
        let headers = if index == 0 { &self.headers[..headers_len] } else { &[] };
        match self.fragmentation {
            Fragmentation::None => {}
            Fragmentation::Rfc4944 if index == 0 => {
                Frag1 { datagram_size, datagram_tag, rest: &[] }.write(frame)
            }
            Fragmentation::Rfc4944 => {
                let datagram_offset = UNCOMPRESSED + begin;
                FragN { datagram_size, datagram_tag, datagram_offset, rest: &[] }.write(frame)
            }
            Fragmentation::Rfc8931 => {
                let fragment = Rfrag {
                    datagram_tag: datagram_tag as u8,
                    ack_request: self.ack_request(),
                    sequence: index as u8,
                    fragment_offset: (headers_len + if index == 0 { payload_len } else { begin }) as u16,
                    rest: &[],
                };
                fragment.write(frame, headers.len() + end - begin)
            }
        }
        frame.push(headers);
        frame.push(&buffer[begin..end]);
    }

    /// It is given up.
    pub(crate) fn dropped(&mut self, reason: LinkDrop) -> Progress {
        self.state = State::Free;
        // The fragment that was given up was sent.
        Progress::Dropped { reason, unsent: self.pending.count_ones().saturating_sub(1) }
    }
}

/// What became of a datagram that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Progress {
    /// It has more to send, or waits for its receiver.
    Continues,
    /// Its receiver lacks so many fragments, which are sent again.
    Resends { fragments: u32 },
    /// All of it was sent, and has arrived if its receiver was asked.
    Completed,
    /// It is given up, with so many fragments not sent.
    Dropped { reason: LinkDrop, unsent: u32 },
}
