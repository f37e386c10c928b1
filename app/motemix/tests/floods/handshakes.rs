//! Messages of handshakes that are forged in the name of a neighbour: from its address and its port,
//! as whoever writes them on its datagrams can.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use super::World;
use super::flood::Flood;

/// Kinds of messages, and how long each is (`docs/spec/link/handshakes.md`).
pub const KINDS: [(&str, u8, usize); 6] = [
    ("hellos", 1, 1),
    ("cookies", 2, 9),
    ("message_1", 3, 46),
    ("message_2", 4, 48),
    ("message_3", 5, 20),
    ("message_4", 6, 10),
];
/// So many are sent together, and then the next after a while: 12,500 a second at most.
const TOGETHER: u64 = 50;
const PAUSE: Duration = Duration::from_millis(4);

/// A flood of one kind in the name of a node that does not run.
pub fn flood(world: &World, name: &str, to: SocketAddr, (kind, len): (u8, usize)) -> Flood {
    let socket = UdpSocket::bind(world.address(name)).expect("the node does not run");
    let carry = |message: &[u8]| [&[1, 0, u8::try_from(message.len()).expect("short")], message].concat();
    let mut forged = vec![0x5a; len];
    forged[0] = kind;
    let (mut forged, cookie) = (carry(&forged), carry(&[2, 7, 7, 7, 7, 7, 7, 7, 7]));
    let mut under_a_key = [0x5a; super::DATAGRAM_LEN];
    under_a_key[0] = 2;
    let mut number = 0_u32;
    Flood::by(move || {
        // The node calls for a key that it has not, and is in the middle of a call all the time.
        let mut sent = u64::from(socket.send_to(&under_a_key, to).is_ok());
        sent += u64::from(socket.send_to(&cookie, to).is_ok());
        while sent < TOGETHER {
            number = number.wrapping_add(1);
            if let Some(last) = forged.last_chunk_mut::<4>().filter(|_| len > 4) {
                *last = number.to_be_bytes();
            }
            if socket.send_to(&forged, to).is_err() {
                break;
            }
            sent += 1;
        }
        thread::sleep(PAUSE);
        sent
    })
}
