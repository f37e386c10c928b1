//! A tap on a node's link: it has the address that the directory says, and the node listens
//! elsewhere. It counts what passes.

use crate::measured::on_link;
use chacha20::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes with headers, by where they come from.
pub type Bytes = BTreeMap<SocketAddr, u64>;

pub struct Tap {
    bytes: Arc<Mutex<Bytes>>,
    is_done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What a tap loses: this share of what comes from these addresses.
pub struct Loss {
    pub share: f64,
    pub from: Vec<SocketAddr>,
}

impl Tap {
    /// Sends on to `node` what comes to `listed`.
    pub fn start(listed: SocketAddr, node: SocketAddr, loss: Loss) -> Self {
        let socket = UdpSocket::bind(listed).expect("a port of our own");
        // Datagrams that wait here would be late.
        socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20).expect("a buffer");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a time above zero");
        let (bytes, is_done) = (Arc::<Mutex<Bytes>>::default(), Arc::<AtomicBool>::default());
        let (counts, ends) = (Arc::clone(&bytes), Arc::clone(&is_done));
        let thread = thread::spawn(move || {
            let mut rng = ChaCha8Rng::from_seed([7; 32]);
            let mut datagram = vec![0; 1 << 16];
            while !ends.load(Ordering::Relaxed) {
                let Ok((len, from)) = socket.recv_from(&mut datagram) else { continue };
                *counts.lock().expect("nobody panics").entry(from).or_default() += on_link(len);
                let chance = f64::from(rng.next_u32()) / 4_294_967_296.0;
                if loss.from.contains(&from) && chance < loss.share {
                    continue;
                }
                // A node that has ended takes nothing.
                let _ = socket.send_to(&datagram[..len], node);
            }
        });
        Self { bytes, is_done, thread: Some(thread) }
    }

    pub fn bytes(&self) -> Bytes {
        self.bytes.lock().expect("nobody panics").clone()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
