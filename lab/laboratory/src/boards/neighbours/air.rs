//! Two stations that hear each other, on virtual time, and a record of each frame between them.

use super::conversation::Side;
use crate::failure::Failure;
use motemix_link::Instant;
use motemix_link::protection::{HandshakeMessage, KeySlot, Keys};
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{Stack, StackMemory, StackStorage, link_local};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// The longest flight of a handshake that is compared.
const MOST: usize = 512;
/// Longer than a pause between frames.
const TICK: Duration = Duration::from_millis(20);
/// Ticks after which a datagram will not arrive any more.
const PATIENCE: u32 = 1000;
/// Preamble, delimiter and length before a frame, and its check sequence (IEEE 802.15.4-2020, 12.1
/// and 7.2).
const AROUND_A_FRAME: usize = 6 + 2;
/// An acknowledgement: 5 bytes after preamble, delimiter and length.
const ACKNOWLEDGEMENT: usize = 6 + 5;
/// Whether a frame asks for an acknowledgement: a bit of its first byte (7.2.2).
const WANTS_ACKNOWLEDGEMENT: u8 = 1 << 5;
/// At 250 kb/s.
const BYTE: Duration = Duration::from_micros(32);

/// What the frames of one message take of the air, or those of many.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Air {
    pub frames: usize,
    /// Bytes of the frames with preambles and check sequences.
    pub bytes: usize,
    /// Bytes of their acknowledgements.
    pub acknowledgement_bytes: usize,
}

impl Air {
    /// How long its sender sends, and how long its receiver does, which acknowledges.
    pub fn durations(&self) -> [Duration; 2] {
        [self.bytes, self.acknowledgement_bytes].map(|bytes| BYTE * bytes as u32)
    }
}

#[derive(Default)]
struct Channel {
    /// What each station has not heard yet.
    heard: [VecDeque<Vec<u8>>; 2],
    /// Frames since this was last asked.
    sent: Vec<Vec<u8>>,
}

struct Antenna {
    side: Side,
    channel: Rc<RefCell<Channel>>,
    has_sent: bool,
}

impl Transceiver for Antenna {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let frame = self.channel.borrow_mut().heard[self.side.index()].pop_front()?;
        out[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        let channel = &mut *self.channel.borrow_mut();
        channel.heard[self.side.other().index()].push_back(frame.to_vec());
        channel.sent.push(frame.to_vec());
        self.has_sent = true;
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        std::mem::take(&mut self.has_sent).then_some(Outcome::Sent)
    }
}

struct Station<'s> {
    stack: Stack<'s>,
    radio: Radio<Antenna>,
}

/// The two stations.
pub struct Pair<'s> {
    now: Instant,
    stations: [Station<'s>; 2],
    channel: Rc<RefCell<Channel>>,
}

/// Memory of two stations.
pub struct PairMemory {
    stacks: [StackMemory<MOST, 2>; 2],
    keys: [[KeySlot; 1]; 2],
}

impl PairMemory {
    pub fn new() -> Self {
        Self { stacks: [StackMemory::new(), StackMemory::new()], keys: [[KeySlot::FREE], [KeySlot::FREE]] }
    }
}

/// The address of a side.
pub fn address(side: Side) -> ExtendedAddress {
    ExtendedAddress([1 + side.index() as u8, 0, 0, 0, 0, 0, 0, 2])
}

impl<'s> Pair<'s> {
    pub fn new(memory: &'s mut PairMemory, is_protected: bool) -> Self {
        let channel = Rc::new(RefCell::new(Channel::default()));
        let station = |side: Side, storage: StackStorage<'s>, keys: &'s mut [KeySlot]| {
            let mut stack = Stack::new(address(side), side.index() as u64, &LinkSettings::new(), storage);
            if is_protected {
                stack.protect(keys);
            }
            let antenna = Antenna { side, channel: channel.clone(), has_sent: false };
            Station { stack, radio: Radio::new(antenna) }
        };
        let [first, second] = &mut memory.stacks;
        let [first_keys, second_keys] = &mut memory.keys;
        let stations = [
            station(Side::Initiator, first.lend(), first_keys),
            station(Side::Responder, second.lend(), second_keys),
        ];
        Self { now: Instant::from_micros(1_000_000), stations, channel }
    }

    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Lets time pass.
    pub fn wait(&mut self, until: Instant) {
        self.now = self.now.max(until);
    }

    /// The side of a protected link that makes keys.
    pub fn keys(&mut self, side: Side) -> Result<&mut (dyn Keys + 's), Failure> {
        self.stations[side.index()].stack.keys().ok_or_else(|| Failure::failed("the link is not protected"))
    }

    /// Sends a datagram to the other side, which has to receive the same.
    pub fn datagram(&mut self, from: Side, datagram: &[u8]) -> Result<Air, Failure> {
        let to = link_local(address(from.other()));
        let sent = self.stations[from.index()].stack.send(to, datagram);
        sent.map_err(|error| Failure::failed(format!("a datagram of {} bytes: {error}", datagram.len())))?;
        let mut room = [0; MOST];
        let arrived = self.until(|pair| {
            let received = pair.stations[from.other().index()].stack.receive(&mut room)?;
            room.get(..received.len).map(<[u8]>::to_vec)
        })?;
        if arrived != datagram {
            return Err(Failure::failed("a datagram arrived as another one"));
        }
        Ok(self.air())
    }

    /// Sends a message of a handshake to the other side of a protected link, and returns what
    /// arrives.
    pub fn handshake(&mut self, from: Side, message: &[u8]) -> Result<(HandshakeMessage, Air), Failure> {
        let to = address(from.other());
        let message = HandshakeMessage::new(to, message)
            .ok_or_else(|| Failure::failed("a message of a handshake is too long for a frame"))?;
        if !self.keys(from)?.send_handshake(message) {
            return Err(Failure::failed("a message of a handshake is still leaving"));
        }
        let arrived =
            self.until(|pair| pair.stations[from.other().index()].stack.keys()?.poll_handshake())?;
        Ok((arrived, self.air()))
    }

    /// Lets time pass until something is there.
    fn until<T>(&mut self, mut ready: impl FnMut(&mut Self) -> Option<T>) -> Result<T, Failure> {
        for _ in 0..PATIENCE {
            for Station { stack, radio } in &mut self.stations {
                stack.poll(self.now, radio);
            }
            if let Some(found) = ready(self) {
                return Ok(found);
            }
            self.now = self.now + TICK;
        }
        Err(Failure::failed("what was sent does not arrive"))
    }

    /// What was on the air since this was last asked.
    fn air(&mut self) -> Air {
        let sent = std::mem::take(&mut self.channel.borrow_mut().sent);
        let acknowledged = sent.iter().filter(|frame| frame[0] & WANTS_ACKNOWLEDGEMENT != 0).count();
        Air {
            frames: sent.len(),
            bytes: sent.iter().map(|frame| frame.len() + AROUND_A_FRAME).sum(),
            acknowledgement_bytes: acknowledged * ACKNOWLEDGEMENT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_frame_of_a_datagram_is_counted_with_all_that_is_around_it() {
        let sent = |len: usize| {
            let mut memory = PairMemory::new();
            let mut pair = Pair::new(&mut memory, false);
            pair.datagram(Side::Initiator, &vec![7; len]).unwrap()
        };
        // MAC header 21, IPv6 and UDP 6 (RFC 6282, with a port of four bits).
        let one = Air { frames: 1, bytes: 12 + 6 + 21 + 8, acknowledgement_bytes: 11 };
        assert_eq!(sent(12), one);
        assert_eq!(one.durations(), [47, 11].map(|bytes| Duration::from_micros(32 * bytes)));
        for (len, frames) in [(128, 2), (280, 3)] {
            let air = sent(len);
            assert_eq!((air.frames, air.acknowledgement_bytes), (frames, frames * 11), "{len} bytes");
            // Each frame has its MAC header and what is around it.
            assert!(air.bytes > len + frames * (21 + 8), "{len} bytes: {air:?}");
        }
    }
}
