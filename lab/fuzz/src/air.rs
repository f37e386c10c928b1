//! Two stations, and frames that a stranger makes for them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::Ipv6Addr;
use std::rc::Rc;

use arbitrary::Arbitrary;
use motemix_link::radio::Transceiver;
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::stack::link_local;

/// What a station has heard and not taken.
pub type Heard = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// A station whose frames the others hear at once.
pub struct Station {
    pub own: Heard,
    pub others: Vec<Heard>,
    pub outcomes: VecDeque<Outcome>,
    pub outcome: Option<Outcome>,
}

impl Station {
    pub fn new(own: Heard, others: Vec<Heard>) -> Self {
        Self { own, others, outcomes: VecDeque::new(), outcome: None }
    }
}

impl Transceiver for Station {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let frame = self.own.borrow_mut().pop_front()?;
        out[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        let outcome = self.outcomes.pop_front().unwrap_or(Outcome::Sent);
        self.outcome = Some(outcome);
        if outcome == Outcome::Sent {
            for heard in &self.others {
                heard.borrow_mut().push_back(frame.to_vec());
            }
        }
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }
}

/// Station n's address.
pub fn address(n: u8) -> ExtendedAddress {
    ExtendedAddress([n % 4, 0, 0, 0, 0, 0, 0, 0x02])
}

/// What a stranger sends: the outside is right, so that a fuzzer's bytes get further inside.
#[derive(Arbitrary, Clone, Debug)]
pub enum Foreign {
    /// All of it is the fuzzer's.
    Frame(Vec<u8>),
    /// The radio's header is right.
    Addressed { from: u8, inside: Vec<u8> },
    /// An ICMPv6 message or a UDP datagram that a host takes, fragmented where it is long.
    Datagram { from: u8, udp: bool, body: Vec<u8>, size_off_by: i8, swapped: bool },
}

const ICMPV6: u8 = 58;
const UDP: u8 = 17;
/// Bytes of a fragment's payload.
const PIECE: usize = 80;

impl Foreign {
    /// As frames for station `to`, none longer than a frame may be.
    pub fn frames(self, to: u8, tag: u16) -> Vec<Vec<u8>> {
        let mut frames = match self {
            Self::Frame(frame) => vec![frame],
            Self::Addressed { from, inside } => vec![[&header(from, to)[..], &inside].concat()],
            Self::Datagram { from, udp, body, size_off_by, swapped } => {
                let mut frames = datagram(from, to, udp, body, size_off_by, tag);
                if swapped {
                    frames.reverse();
                }
                frames
            }
        };
        for frame in &mut frames {
            frame.truncate(MAX_FRAME);
        }
        frames
    }
}

fn header(from: u8, to: u8) -> [u8; 21] {
    let mut header = [0; 21];
    header[..5].copy_from_slice(&[0x61, 0xdc, 0, 0x23, 0x00]);
    header[5..13].copy_from_slice(&address(to).0);
    header[13..].copy_from_slice(&address(from).0);
    header
}

fn datagram(from: u8, to: u8, udp: bool, mut body: Vec<u8>, size_off_by: i8, tag: u16) -> Vec<Vec<u8>> {
    let (protocol, checksum_at) = if udp { (UDP, 6) } else { (ICMPV6, 2) };
    body.resize(body.len().clamp(8, 600), 0);
    if udp {
        let len = body.len() as u16;
        body[4..6].copy_from_slice(&len.to_be_bytes());
    }
    body[checksum_at..checksum_at + 2].fill(0);
    let sum = checksum(link_local(address(from)), link_local(address(to)), protocol, &body);
    body[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    // RFC 6282: addresses from the radio's header, hop limit 255.
    let (compressed, written_out, rest) = if udp {
        let rest = body.split_off(8);
        ([&[0x7f, 0x33, 0xf0], &body[..4], &body[6..8]].concat(), 48, rest)
    } else {
        (vec![0x7b, 0x33, protocol], 40, body)
    };
    let header = header(from, to);
    let whole = [&header[..], &compressed, &rest].concat();
    if whole.len() <= MAX_FRAME {
        return vec![whole];
    }
    let size = ((written_out + rest.len()) as u16).wrapping_add_signed(size_off_by.into());
    let [high, low] = (size & 0x07ff).to_be_bytes();
    let [t1, t0] = tag.to_be_bytes();
    let mut pieces = rest.chunks(PIECE);
    let first = pieces.next().unwrap_or_default();
    let mut frames = vec![[&header[..], &[0xc0 | high, low, t1, t0], &compressed, first].concat()];
    for (index, piece) in pieces.enumerate() {
        let offset = ((written_out + (index + 1) * PIECE) / 8) as u8;
        frames.push([&header[..], &[0xe0 | high, low, t1, t0, offset], piece].concat());
    }
    frames
}

/// RFC 8200, 8.1.
fn checksum(from: Ipv6Addr, to: Ipv6Addr, protocol: u8, body: &[u8]) -> u16 {
    let len = (body.len() as u32).to_be_bytes();
    let all = [&from.octets()[..], &to.octets(), &len, &[0, 0, 0, protocol], body].concat();
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = all.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
