//! Two neighbours that have never met, without a network: the application of IoT-CryptoDiet's
//! paper on a board, which is `motemix link` on a host. The bytes are the same, and so is the UDP
//! port.
//!
//! ```text
//! reset ─ make an identity ─ `speak` ─ `admit` ─ `to` ─ `send`
//!    ├─ keys with the neighbour, if there are none
//!    └─ the text, until it is acknowledged
//! ```
//!
//! One program is sensor and router: it sends what is typed to the neighbour of `to`, and hears
//! whoever it admits. So two sensors need no router between them. Its identity is made when the
//! board starts, and is gone when it stops.
//!
//! | file | what |
//! |---|---|
//! | `station` | what is sent, waited for and sent again, in any mode |
//! | `diet`, `literal`, `edhoc` | a mode each: datagrams of texts, and texts of datagrams |
//! | `own`, `budget` | whom this node admits, and how many it answers |
//! | `obey` | the console |

mod budget;
mod buffer;
mod diet;
mod drops;
mod edhoc;
mod literal;
mod obey;
mod own;
mod station;

use core::time::Duration;

use motemix_link::radio::Radio;
use motemix_link::serial::ExtendedAddress;
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{Stack, StackMemory, interface_of, link_local, neighbour_at};
use motemix_neighbour::PublicKey;
use rand_core::{CryptoRng, Rng as _};

use crate::board::Board;
use crate::console::say;

use buffer::{Buffer, Reply};
use obey::Typed;
use station::Station;

pub use drops::PairDrop;
pub use edhoc::LENGTH as EDHOC_LENGTH;
pub use station::{NotSaid, PairEvent};

/// The UDP port, that of `motemix link`.
pub const PAIR_PORT: u16 = 61_618;
/// Bytes of the longest text that is sent.
pub const MAX_TEXT: usize = 120;
/// Bytes of the longest datagram: a text of that length, its signature, and what else it has.
pub const DATAGRAM_LEN: usize = 208;
/// A handshake of which nothing more came for so long gives way to another.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// A neighbour that was silent for so long may lose its place to another, when all are taken.
const IDLE_AFTER: Duration = Duration::from_secs(3600);

/// How messages are protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Neither signed nor encrypted.
    Plain,
    /// The paper to the letter, with its weaknesses. Not for use.
    Literal,
    /// The same, settled.
    Diet,
    /// EDHOC, then datagrams of [`EDHOC_LENGTH`] bytes.
    Edhoc,
}

/// What a datagram was.
enum Heard {
    /// It has a text, and who said it is known.
    Text(Option<PublicKey>),
    /// The answer that was waited for: there are keys now.
    Met,
    /// The text that was sent has arrived.
    Receipt,
    Nothing,
    Dropped(PairDrop),
}

/// Runs a board for good, with room for so many neighbours, and for so many datagrams that arrive.
pub fn run<B: Board, const PLACES: usize, const ARRIVALS: usize>(mut board: B) -> ! {
    let mut console = board.console();
    say!(&mut console, "\nmotemix link on {}; `help` lists the commands", B::NAME);
    let address = draw_address(&mut board.random());
    board.join(address);
    let mut radio = Radio::new(board.radio());
    let mut memory = StackMemory::<DATAGRAM_LEN, ARRIVALS, 1>::new();
    let mut settings = LinkSettings::new();
    settings.port = PAIR_PORT;
    let seed = board.random().next_u64();
    let mut stack = Stack::new(address, seed, &settings, memory.lend());
    let me = interface_of(link_local(address)).unwrap_or_default();
    let mut station = Station::<_, PLACES>::new(me, board.random());
    let mut typed = Typed::new();
    let mut datagram = [0; DATAGRAM_LEN];
    loop {
        let now = board.now();
        stack.poll(now, &mut radio);
        typed.obey(now, &mut console, &mut station, &stack, &radio);
        // A text must not be lost while an answer to the one before it cannot leave.
        if stack.can_send()
            && let Some(received) = stack.receive(&mut datagram)
            && let Some(datagram) = datagram.get_mut(..received.len)
        {
            let heard = station.handle(now, received.from, datagram);
            if let Some(spoken) = heard {
                obey::print_text(&mut console, received.from, spoken.by.as_ref(), station.text());
            }
        }
        let now = board.now();
        station.handle_timeout(now);
        station.work(now);
        if let Some(event) = station.poll_event() {
            obey::print_event(&mut console, event);
        }
        if stack.can_send()
            && let Some((to, datagram)) = station.poll_transmit(now)
        {
            // What the link does not take is counted there, and sent again like what is lost.
            let _ = stack.send(neighbour_at(to), datagram);
        }
        let could_send = stack.can_send();
        stack.poll(board.now(), &mut radio);
        // What it has just taken from the radio is no news any more: a frame that has left, behind
        // which a datagram waits, or one that has made a datagram whole.
        let has_more = stack.can_send() && (!could_send || stack.has_datagram());
        if !has_more && !station.has_work() {
            let due = stack.poll_timeout(&radio).into_iter().chain(station.poll_timeout()).min();
            board.wait(due);
        }
    }
}

/// Neither a group address nor one that IEEE gave away.
fn draw_address<R: CryptoRng>(rng: &mut R) -> ExtendedAddress {
    let mut address = [0; 8];
    rng.fill_bytes(&mut address);
    let [.., first] = &mut address;
    *first = (*first & !0x01) | 0x02;
    ExtendedAddress(address)
}
