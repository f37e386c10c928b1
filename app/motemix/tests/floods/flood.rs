//! Datagrams of strangers, as fast as one thread sends them.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::DATAGRAM_LEN;

/// A story that fails must not leave a flood behind.
const LASTS: Duration = Duration::from_secs(90);

/// What was sent, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub count: u64,
    pub time: Duration,
}

impl Sent {
    pub fn a_second(self) -> u64 {
        let millis = u64::try_from(self.time.as_millis()).expect("less than an age");
        self.count * 1000 / millis.max(1)
    }
}

/// Something that goes on until it is told to end.
pub struct Flood {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<Sent>>,
}

impl Flood {
    /// Calls `send` again and again; it says how many it has sent.
    pub fn by(mut send: impl FnMut() -> u64 + Send + 'static) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let begin = Instant::now();
            let mut count = 0;
            while !over.load(Ordering::Relaxed) && begin.elapsed() < LASTS {
                count += send();
            }
            Sent { count, time: begin.elapsed() }
        });
        Self { ended, thread: Some(thread) }
    }

    pub fn of(mut junk: Junk, to: SocketAddr) -> Self {
        Self::by(move || junk.send(to))
    }

    pub fn end(mut self) -> Sent {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("the flood has not failed")
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// Datagrams that look like packets under a key.
pub struct Junk {
    sockets: Vec<UdpSocket>,
    number: u32,
    /// Whether the number is one that a neighbour may have for its next packet.
    is_near: bool,
}

impl Junk {
    /// From so many ports of one address.
    pub fn of(address: [u8; 4], ports: usize) -> Self {
        Self::from((0..ports).map(|_| address))
    }

    /// From so many addresses.
    pub fn spread(addresses: u8) -> Self {
        Self::from((1..=addresses).map(|last| [127, 0, 1, last]))
    }

    /// With the numbers of packets that a neighbour may send next, from its address and another
    /// port, as behind a translator of addresses.
    pub fn forged(address: [u8; 4]) -> Self {
        Self { is_near: true, ..Self::of(address, 1) }
    }

    fn from(addresses: impl Iterator<Item = [u8; 4]>) -> Self {
        let bind = |address| UdpSocket::bind((std::net::Ipv4Addr::from(address), 0)).expect("an address");
        Self { sockets: addresses.map(bind).collect(), number: 0, is_near: false }
    }

    fn send(&mut self, to: SocketAddr) -> u64 {
        self.number = self.number.wrapping_add(1);
        let socket = &self.sockets[self.number as usize % self.sockets.len()];
        let mut datagram = [0x5a; DATAGRAM_LEN];
        datagram[0] = 2;
        let number = if self.is_near { self.number % 100_000 + 100_000 } else { self.number };
        datagram[1..5].copy_from_slice(&number.to_be_bytes());
        // A node that has no room says nothing; one that is gone fails the story elsewhere.
        u64::from(socket.send_to(&datagram, to).is_ok())
    }
}
