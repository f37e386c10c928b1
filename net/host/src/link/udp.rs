//! A UDP socket that moves many datagrams with one system call.
//!
//! Where the platform has `recvmmsg` and `sendmmsg` they are used, elsewhere there is one call for
//! each datagram. On Linux, those of one length for one neighbour are one message. What the network
//! says about earlier datagrams (ICMP errors) is counted and otherwise ignored: a mix does not
//! retransmit, and a neighbour that is down must not stop it.

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))]
mod many;
#[cfg(target_os = "linux")]
mod overflow;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(any(
    test,
    not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))
))]
mod single;

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket as StdSocket};
use std::num::Wrapping;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::{Batch, Outgoing};

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))]
use many as platform;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "freebsd",
    target_os = "netbsd"
)))]
use single as platform;

/// Asked of the kernel for arriving datagrams; it gives as much as its own limit allows.
const RECEIVE_BUFFER: usize = 4 << 20;

/// What a link has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Datagrams that arrived.
    pub received: u64,
    /// Datagrams given to the kernel.
    pub sent: u64,
    /// Datagrams that the kernel refused to send, for one reason or the other.
    pub send_errors: u64,
    /// Errors on receiving, such as a neighbour's "port unreachable".
    pub receive_errors: u64,
    /// Datagrams that the kernel dropped because its buffer was full, as of the last
    /// [look](UdpLink::look_at_overflow).
    pub overflow: u64,
}

/// A UDP socket of one address family, driven by one thread.
#[derive(Debug)]
pub struct UdpLink {
    socket: UdpSocket,
    local: SocketAddr,
    headers: platform::Headers,
    counters: Cell<LinkCounters>,
    /// What the kernel counted at the last look, modulo 2^32.
    overflow: Cell<Wrapping<u32>>,
}

impl UdpLink {
    /// Opens a socket; port 0 lets the system choose one. An IPv6 socket carries IPv6 only, so that
    /// a node may have one of each on one port.
    ///
    /// # Errors
    /// The address is in use or not this machine's, or there is no tokio runtime.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        Self::from_std(socket.into())
    }

    /// Takes over a socket, from a service manager for example.
    ///
    /// # Errors
    /// The socket cannot be made non-blocking, or there is no tokio runtime.
    pub fn from_std(socket: StdSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // Best effort: a smaller buffer loses datagrams under load, which the network has to bear
        // anyway.
        if let Err(error) = SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER) {
            tracing::debug!(%error, "the receive buffer keeps its size");
        }
        let local = socket.local_addr()?;
        let socket = UdpSocket::from_std(socket)?;
        let headers = platform::Headers::new();
        // A socket that is taken over may have lost some before.
        let overflow = Cell::new(overflow(&socket));
        Ok(Self { socket, local, headers, counters: Cell::default(), overflow })
    }

    /// The address that the socket is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What the link has seen so far.
    pub fn counters(&self) -> LinkCounters {
        self.counters.get()
    }

    /// Counts what the kernel has dropped since the last look, where it says that.
    pub fn look_at_overflow(&self) {
        let now = overflow(&self.socket);
        let more = now - self.overflow.replace(now);
        self.count(|counters| counters.overflow += u64::from(more.0));
    }

    /// Waits for datagrams, fills the batch with those that are there and returns how many they
    /// are, at least one. Dropping the future loses no datagram.
    ///
    /// # Errors
    /// The socket itself is broken.
    pub async fn recv_batch(&self, batch: &mut Batch) -> io::Result<usize> {
        loop {
            self.socket.readable().await?;
            match self.try_recv_batch(batch) {
                Ok(0) => {}
                other => return other,
            }
        }
    }

    /// Waits until datagrams may be there.
    ///
    /// # Errors
    /// The socket itself is broken.
    pub async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    /// Fills the batch with the datagrams that are there, and returns how many they are; 0 if none
    /// is.
    ///
    /// # Errors
    /// The socket itself is broken.
    pub fn try_recv_batch(&self, batch: &mut Batch) -> io::Result<usize> {
        loop {
            match self
                .socket
                .try_io(Interest::READABLE, || platform::receive(&self.socket, &self.headers, batch))
            {
                Ok(count) => {
                    self.count(|counters| counters.received += count as u64);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    batch.clear();
                    return Ok(0);
                }
                Err(error) if is_broken(&error) => return Err(error),
                // The kernel reports each such error once, so this ends.
                Err(_) => self.count(|counters| counters.receive_errors += 1),
            }
        }
    }

    /// Gives datagrams to the kernel until it has no room, and returns how many are dealt with:
    /// sent, or refused and counted.
    ///
    /// # Errors
    /// The socket itself is broken.
    pub fn try_send_batch(&self, datagrams: &[Outgoing<'_>]) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = datagrams.get(done..).filter(|rest| !rest.is_empty()) {
            match self.socket.try_io(Interest::WRITABLE, || platform::send(&self.socket, &self.headers, rest))
            {
                Ok(sent) => {
                    self.count(|counters| counters.sent += sent as u64);
                    done += sent;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_broken(&error) => return Err(error),
                // The error is the first datagram's; those behind it still have their chance.
                Err(error) => {
                    tracing::trace!(kind = ?error.kind(), "a datagram was not sent");
                    self.count(|counters| counters.send_errors += 1);
                    done += 1;
                }
            }
        }
        Ok(done)
    }

    /// Gives all datagrams to the kernel, and waits for room where there is none.
    ///
    /// # Errors
    /// The socket itself is broken.
    pub async fn send_batch(&self, mut datagrams: &[Outgoing<'_>]) -> io::Result<()> {
        while !datagrams.is_empty() {
            let done = self.try_send_batch(datagrams)?;
            datagrams = datagrams.get(done..).unwrap_or_default();
            if !datagrams.is_empty() {
                self.socket.writable().await?;
            }
        }
        Ok(())
    }

    fn count(&self, change: impl FnOnce(&mut LinkCounters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }
}

#[cfg(target_os = "linux")]
fn overflow(socket: &UdpSocket) -> Wrapping<u32> {
    overflow::dropped(socket).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn overflow(_: &UdpSocket) -> Wrapping<u32> {
    Wrapping(0)
}

/// Whether the error is about the socket and not about a datagram or a neighbour.
fn is_broken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK))
}
