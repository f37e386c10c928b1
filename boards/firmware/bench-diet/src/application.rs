//! What the two applications have in common: UDP over 6LoWPAN, and a radio without an air. What it
//! sends comes back to it, so a station that sends to itself does all that a sender and a receiver
//! do.

use core::time::Duration;

use motemix_board_calls::place::Place;
use motemix_link::Instant;
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{Stack, StackMemory, link_local};

/// The longest datagram: two public keys with both coordinates.
const MOST: usize = 128;
/// Frames of the longest datagram.
const FRAMES: usize = 2;
/// Longer than a pause between frames.
const TICK: Duration = Duration::from_millis(20);
/// Ticks after which a datagram is lost.
const TICKS: u64 = 100;
const ADDRESS: ExtendedAddress = ExtendedAddress([1, 0, 0, 0, 0, 0, 0, 2]);

pub const TEXT: [u8; 12] = *b"21.5 degrees";

/// Frames that were sent and not heard yet.
struct Loop {
    frames: [[u8; MAX_FRAME]; FRAMES],
    lens: [usize; FRAMES],
    has_sent: bool,
}

impl Transceiver for Loop {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let (len, frame) = self.lens.iter_mut().zip(&self.frames).find(|(len, _)| **len > 0)?;
        *out = *frame;
        Some(core::mem::take(len))
    }

    fn transmit(&mut self, frame: &[u8]) {
        self.has_sent = true;
        let free = self.lens.iter_mut().zip(&mut self.frames).find(|(len, _)| **len == 0);
        if let Some((len, place)) = free
            && let Some(place) = place.get_mut(..frame.len())
        {
            place.copy_from_slice(frame);
            *len = frame.len();
        }
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        core::mem::take(&mut self.has_sent).then_some(Outcome::Sent)
    }
}

static RADIO: Place<Radio<Loop>> = Place::empty();
static MEMORY: Place<StackMemory<MOST, 1, 1>> = Place::empty();
static STACK: Place<Stack<'static>> = Place::empty();

/// Puts the station on its air.
pub fn start() {
    let silence = || Loop { frames: [[0; MAX_FRAME]; FRAMES], lens: [0; FRAMES], has_sent: false };
    RADIO.put_new(|| Radio::new(silence()));
    let memory = MEMORY.keep(StackMemory::new);
    STACK.put_new(|| Stack::new(ADDRESS, 1, &LinkSettings::new(), memory.lend()));
}

/// Sends a datagram, and gives what arrives of it to `take`. `None` if nothing does.
pub fn exchange<R>(datagram: &[u8], take: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
    let mut room = [0; MOST];
    let len = STACK.with(|stack| {
        stack.send(link_local(ADDRESS), datagram).ok()?;
        RADIO.with(|radio| {
            (1..TICKS).find_map(|tick| {
                let now = Instant::from_micros(TICK.as_micros() as u64 * tick);
                stack.poll(now, radio);
                stack.receive(&mut room)
            })
        })?
    });
    Some(take(room.get_mut(..len.flatten()?.len)?))
}
