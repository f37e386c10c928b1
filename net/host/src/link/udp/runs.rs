//! Datagrams of one length for one neighbour go to the kernel as one message, which the network
//! card or the kernel cuts (`UDP_SEGMENT`, udp(7)): they take one way through the kernel in place
//! of many.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd as _;

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg};
use tokio::net::UdpSocket;

use crate::link::{BATCH, Outgoing};

/// What one message may have: a datagram of IPv4 without options, which is shorter than one of
/// IPv6.
const MESSAGE: usize = 65_507;

/// The kernel's message headers, each with room for the length at which to cut.
pub(super) struct Headers {
    headers: RefCell<MultiHeaders<SockaddrStorage>>,
    /// Whether the kernel can cut what leaves by this socket. A card that computes no checksums
    /// cannot, and no datagram that is longer than a frame can be one of several.
    cuts: Cell<bool>,
}

impl Headers {
    pub(super) fn new() -> Self {
        let headers = MultiHeaders::preallocate(BATCH, Some(cmsg_space!(u16)));
        Self { headers: RefCell::new(headers), cuts: Cell::new(true) }
    }

    /// For what has been refused, and was not when it was sent one by one.
    pub(super) fn give_up(&self) {
        tracing::debug!("datagrams are sent one by one: the kernel cannot cut them");
        self.cuts.set(false);
    }
}

/// Whether it may be that the kernel cannot cut; the datagram may be as bad by itself.
pub(super) fn may_be_of_cutting(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE | libc::EOPNOTSUPP))
}

/// Datagrams that stand one behind the other, in messages of their own.
struct Runs<'r, 'd> {
    messages: [&'r [IoSlice<'d>]; BATCH],
    addresses: [Option<SockaddrStorage>; BATCH],
    count: usize,
}

impl<'r, 'd> Runs<'r, 'd> {
    /// `slices` are those of the datagrams.
    fn of(datagrams: &[Outgoing<'_>], slices: &'r [IoSlice<'d>], len: usize) -> Self {
        let mut runs = Self { messages: [&[]; BATCH], addresses: [None; BATCH], count: 0 };
        let most = MESSAGE / len;
        let mut rest = slices;
        let messages = datagrams.chunk_by(|one, next| one.to == next.to).flat_map(|run| run.chunks(most));
        for ((run, message), address) in messages.zip(&mut runs.messages).zip(&mut runs.addresses) {
            (*message, rest) = rest.split_at(run.len());
            *address = run.first().map(|first| SockaddrStorage::from(first.to));
            runs.count += 1;
        }
        runs
    }
}

/// Sends the datagrams at the front that are as long as the first one; `None` if that is better
/// done one by one.
pub(super) fn send(socket: &UdpSocket, headers: &Headers, all: &[Outgoing<'_>]) -> Option<io::Result<usize>> {
    let len = all.first().map(|first| first.bytes.len()).filter(|len| (1..=MESSAGE).contains(len))?;
    let cut_at = u16::try_from(len).ok().filter(|_| headers.cuts.get())?;
    let all = all.chunk_by(|one, next| one.bytes.len() == next.bytes.len()).next()?;
    let mut slices = [IoSlice::new(&[]); BATCH];
    for (slice, outgoing) in slices.iter_mut().zip(all) {
        *slice = IoSlice::new(outgoing.bytes);
    }
    let runs = Runs::of(all, slices.get(..all.len())?, len);
    if runs.count == all.len() {
        return None;
    }
    let mut headers_of_messages = headers.headers.borrow_mut();
    let sent = sendmmsg(
        socket.as_raw_fd(),
        &mut headers_of_messages,
        runs.messages.iter().take(runs.count),
        runs.addresses,
        [ControlMessage::UdpGsoSegments(&cut_at)],
        MsgFlags::MSG_DONTWAIT,
    );
    Some(sent.map_err(io::Error::from).map(|sent| {
        let sent = sent.count();
        runs.messages.iter().take(sent).map(|message| message.len()).sum()
    }))
}
