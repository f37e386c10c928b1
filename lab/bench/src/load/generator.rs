//! Sends packets to a forwarding process and counts what comes out. It takes as little of the
//! processor as it can, because a process may be measured on all cores: the kernel cuts one send
//! into many datagrams (UDP_SEGMENT) and leaves together what came as one (UDP_GRO), what comes out
//! is counted and not copied, and between two looks the generator sleeps.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmsg};

use crate::load::packets::Packets;

/// Datagrams of one send. 64 KiB have room for 51 of a host's packets.
const RUN: usize = 32;
/// Datagrams of one look at what has come out.
const LOOK: usize = 64;
/// Between two looks.
const REST: Duration = Duration::from_micros(200);
/// The first packets fill caches and start threads, and are not timed: one in this many.
const WARM_UP: usize = 5;
/// Silence after which the packets under way are lost.
const PATIENCE: Duration = Duration::from_millis(500);

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Packets that went in.
    pub sent: usize,
    /// Packets that came out.
    pub received: usize,
    /// Packets each second, after the warm-up.
    pub rate: f64,
}

impl Outcome {
    /// The part of the packets that did not come out.
    pub fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent as f64
    }
}

/// Sends `packets` to `node` from `socket`, at most `window` ahead of those that have come out, and
/// counts the datagrams of their length that arrive at `socket`, which is the node's next hop. Several
/// may arrive as one message, if the socket takes such.
pub fn drive(socket: &UdpSocket, node: SocketAddr, packets: &Packets, window: usize) -> Result<Outcome> {
    let (len, node) = (packets.packet_len(), SockaddrStorage::from(node));
    let mut runs = packets.runs(RUN).peekable();
    let mut sink = Sink::new();
    let (mut sent, mut received, mut lost) = (0, 0, 0);
    let mut last_arrival = Instant::now();
    let mut warm = None;
    while runs.peek().is_some() || sent > received + lost {
        while let Some(run) = runs.next_if(|run| sent + run.len() / len <= received + lost + window) {
            send(socket, &node, run, len)?;
            sent += run.len() / len;
        }
        let arrived = sink.count(socket, len)?;
        received += arrived;
        if arrived > 0 {
            last_arrival = Instant::now();
            if warm.is_none() && received * WARM_UP >= packets.count() {
                warm = Some((received, last_arrival));
            }
        } else if last_arrival.elapsed() > PATIENCE {
            lost = sent - received;
            last_arrival = Instant::now();
        }
        thread::sleep(REST);
    }
    let too_few = || format!("{received} of {sent} packets came out, too few to measure a rate");
    let (before, begin) = warm.with_context(too_few)?;
    let rate = (received - before) as f64 / last_arrival.duration_since(begin).as_secs_f64();
    Ok(Outcome { sent, received, rate })
}

fn send(socket: &UdpSocket, node: &SockaddrStorage, run: &[u8], len: usize) -> Result<()> {
    let len = u16::try_from(len).context("a packet is no longer than a datagram")?;
    loop {
        let control = [ControlMessage::UdpGsoSegments(&len)];
        match sendmsg(socket.as_raw_fd(), &[IoSlice::new(run)], &control, MsgFlags::empty(), Some(node)) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR | Errno::EAGAIN | Errno::ENOBUFS) => thread::yield_now(),
            Err(error) => return Err(error).context("sending to the node"),
        }
    }
}

/// Counts what has come out.
struct Sink {
    headers: MultiHeaders<SockaddrStorage>,
}

impl Sink {
    fn new() -> Self {
        Self { headers: MultiHeaders::preallocate(LOOK, None) }
    }

    fn count(&mut self, socket: &UdpSocket, len: usize) -> Result<usize> {
        let mut count = 0;
        loop {
            // A byte of each, and its whole length.
            let mut bytes = [[0; 1]; LOOK];
            let mut slots = bytes.each_mut().map(|byte| [IoSliceMut::new(byte)]);
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
            match recvmmsg(socket.as_raw_fd(), &mut self.headers, slots.iter_mut(), flags, None) {
                Ok(messages) => {
                    let mut looked = 0;
                    for message in messages {
                        looked += 1;
                        count += if message.bytes % len == 0 { message.bytes / len } else { 0 };
                    }
                    if looked < LOOK {
                        return Ok(count);
                    }
                }
                Err(Errno::EAGAIN | Errno::ECONNREFUSED) => return Ok(count),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error).context("receiving from the node"),
            }
        }
    }
}
