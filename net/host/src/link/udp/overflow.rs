//! How many datagrams the kernel has dropped because nobody read them in time.

use std::num::Wrapping;

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, sockopt_impl};
use tokio::net::UdpSocket;

// The macro's unsafe code reads nine numbers into an array that is as long as the kernel's
// (`SK_MEMINFO_VARS` in linux/sock_diag.h, the same since Linux has the option), and panics if the
// kernel gives fewer.
sockopt_impl!(
    /// What the kernel counts of a socket's memory.
    MemoryInfo,
    GetOnly,
    libc::SOL_SOCKET,
    libc::SO_MEMINFO,
    [u32; 9]
);

/// So far, modulo 2^32; `None` if the kernel does not say.
pub(super) fn dropped(socket: &UdpSocket) -> Option<Wrapping<u32>> {
    let info = getsockopt(socket, MemoryInfo).ok()?;
    info.get(usize::try_from(libc::SK_MEMINFO_DROPS).ok()?).copied().map(Wrapping)
}
