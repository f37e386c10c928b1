//! Many datagrams with one system call.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;

use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg};
use tokio::net::UdpSocket;

#[cfg(target_os = "linux")]
use super::runs;
use crate::link::{BATCH, Batch, Outgoing};

/// The kernel's message headers, kept from one call to the next. They have room for addresses in
/// both directions, and each direction keeps its own: a call leaves its pointers and lengths behind
/// in them.
pub(super) struct Headers {
    receive: RefCell<MultiHeaders<SockaddrStorage>>,
    send: RefCell<MultiHeaders<SockaddrStorage>>,
    #[cfg(target_os = "linux")]
    runs: runs::Headers,
}

impl Headers {
    pub(super) fn new() -> Self {
        let headers = || RefCell::new(MultiHeaders::preallocate(BATCH, None));
        Self {
            receive: headers(),
            send: headers(),
            #[cfg(target_os = "linux")]
            runs: runs::Headers::new(),
        }
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Headers(..)")
    }
}

pub(super) fn receive(socket: &UdpSocket, headers: &Headers, batch: &mut Batch) -> io::Result<usize> {
    let mut arrived = [(0, None); BATCH];
    let mut slots = batch.slots();
    let mut headers = headers.receive.borrow_mut();
    let received =
        recvmmsg(socket.as_raw_fd(), &mut headers, slots.iter_mut(), MsgFlags::MSG_DONTWAIT, None)?;
    let count = received
        .zip(&mut arrived)
        .map(|(message, place)| *place = (message.bytes, message.address.as_ref().and_then(socket_address)))
        .count();
    Ok(batch.set_arrived(arrived.into_iter().take(count)))
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}

/// Sends what is at the front of `all`: so many datagrams were given to the kernel.
pub(super) fn send(socket: &UdpSocket, headers: &Headers, all: &[Outgoing<'_>]) -> io::Result<usize> {
    let all = all.get(..BATCH).unwrap_or(all);
    #[cfg(target_os = "linux")]
    let is_refused = match runs::send(socket, &headers.runs, all) {
        Some(Err(error)) if runs::may_be_of_cutting(&error) => true,
        Some(sent) => return sent,
        None => false,
    };
    let mut addresses = [None; BATCH];
    let mut slices = [[io::IoSlice::new(&[])]; BATCH];
    for ((outgoing, address), slice) in all.iter().zip(&mut addresses).zip(&mut slices) {
        *address = Some(SockaddrStorage::from(outgoing.to));
        *slice = outgoing.slice();
    }
    let slices = slices.iter().take(all.len());
    let mut of_messages = headers.send.borrow_mut();
    let sent = sendmmsg(socket.as_raw_fd(), &mut of_messages, slices, addresses, [], MsgFlags::MSG_DONTWAIT)?;
    #[cfg(target_os = "linux")]
    if is_refused {
        headers.runs.give_up();
    }
    Ok(sent.count())
}
