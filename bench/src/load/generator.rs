//! The load: sends packets to a process and counts what comes out at the next hop.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg};

/// Datagrams for each system call of the generator.
const BATCH: usize = 16;
const LONGEST_DATAGRAM: usize = 2048;
/// The first packets fill caches and are not timed: one in this many.
const WARM_UP: u64 = 10;
const SMALLEST_WINDOW: u64 = 8;

/// How the load is paced.
#[derive(Clone, Copy)]
pub struct Pace {
    /// Packets that may be under way at once: enough to keep the process busy, and fewer than its
    /// receive buffer holds.
    pub window: u64,
    /// Silence after which the packets under way are lost.
    pub patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { window: 64, patience: Duration::from_millis(500) }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Packets that went in.
    pub sent: u64,
    /// Packets that came out.
    pub received: u64,
    /// Packets each second, after the warm-up.
    pub rate: f64,
}

impl Outcome {
    /// The part of the packets that did not come out.
    pub fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent as f64
    }
}

/// Sends `packets` to `node` from `socket` and counts the datagrams of `packet_len` bytes that
/// arrive at `socket`, which is the node's next hop.
pub fn drive<'p>(
    socket: &UdpSocket,
    node: SocketAddr,
    packets: impl Iterator<Item = &'p [u8]>,
    packet_len: usize,
    pace: Pace,
) -> Result<Outcome> {
    let mut link = Link::new(socket, node, packet_len);
    let mut packets = packets.peekable();
    let (mut sent, mut received, mut lost, mut window) = (0_u64, 0_u64, 0_u64, pace.window);
    let mut last_arrival = Instant::now();
    let mut warm = None;
    loop {
        let under_way = sent.saturating_sub(received + lost);
        let room = window.saturating_sub(under_way).min(BATCH as u64) as usize;
        // A nearly full window is left to drain a little, so that calls carry whole batches.
        if room == BATCH.min(window as usize) || under_way == 0 {
            sent += link.send(&mut packets, room)? as u64;
        }
        let arrived = link.receive()? as u64;
        received += arrived;
        if arrived > 0 {
            last_arrival = Instant::now();
            if warm.is_none() && received * WARM_UP >= sent.max(pace.window * WARM_UP) {
                warm = Some((received, last_arrival));
            }
        } else if last_arrival.elapsed() > pace.patience {
            if packets.peek().is_none() {
                break;
            }
            lost += under_way;
            window = (window / 2).max(SMALLEST_WINDOW);
            last_arrival = Instant::now();
        } else {
            thread::yield_now();
        }
        if packets.peek().is_none() && received >= sent {
            break;
        }
    }
    let (before, begin) = warm.context("too few packets came out to measure a rate")?;
    let rate = (received - before) as f64 / last_arrival.duration_since(begin).as_secs_f64();
    Ok(Outcome { sent, received, rate })
}

/// The generator's end of the wire.
struct Link<'s> {
    socket: &'s UdpSocket,
    node: SockaddrStorage,
    packet_len: usize,
    outgoing: MultiHeaders<SockaddrStorage>,
    incoming: MultiHeaders<SockaddrStorage>,
    buffers: Box<[[u8; LONGEST_DATAGRAM]; BATCH]>,
}

impl<'s> Link<'s> {
    fn new(socket: &'s UdpSocket, node: SocketAddr, packet_len: usize) -> Self {
        Self {
            socket,
            node: node.into(),
            packet_len,
            outgoing: MultiHeaders::preallocate(BATCH, None),
            incoming: MultiHeaders::preallocate(BATCH, None),
            buffers: Box::new([[0; LONGEST_DATAGRAM]; BATCH]),
        }
    }

    /// Sends up to `room` packets; how many.
    fn send<'p>(&mut self, packets: &mut impl Iterator<Item = &'p [u8]>, room: usize) -> Result<usize> {
        let batch: Vec<_> = packets.take(room).map(|packet| [IoSlice::new(packet)]).collect();
        let mut at = 0;
        while at < batch.len() {
            let rest = &batch[at..];
            let addresses = vec![Some(self.node); rest.len()];
            let fd = self.socket.as_raw_fd();
            match sendmmsg(fd, &mut self.outgoing, rest, addresses, [], MsgFlags::empty()) {
                Ok(sent) => at += sent.count(),
                Err(Errno::EINTR | Errno::EAGAIN | Errno::ENOBUFS) => thread::yield_now(),
                Err(error) => return Err(error).context("sending to the node"),
            }
        }
        Ok(batch.len())
    }

    /// Takes what has arrived; how many packets.
    fn receive(&mut self) -> Result<usize> {
        let mut slots = self.buffers.each_mut().map(|buffer| [IoSliceMut::new(buffer)]);
        let fd = self.socket.as_raw_fd();
        match recvmmsg(fd, &mut self.incoming, slots.iter_mut(), MsgFlags::MSG_DONTWAIT, None) {
            Ok(messages) => Ok(messages.filter(|message| message.bytes == self.packet_len).count()),
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => Ok(0),
            Err(error) => Err(error).context("receiving from the node"),
        }
    }
}
