//! How many datagrams the kernel has dropped because nobody read them in time.

use std::num::Wrapping;

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, sockopt_impl};
use tokio::net::UdpSocket;

// The macro reads an array of nine numbers, as long as the kernel's (`SK_MEMINFO_VARS` in linux/sock_diag.h); a kernel that
// has fewer leaves the rest as it was made, zero.
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
