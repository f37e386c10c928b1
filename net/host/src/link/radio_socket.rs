//! A radio for a program without a runtime of its own, which waits for one datagram at a time as it
//! does with a UDP socket.

use std::io;
use std::net::{SocketAddr, SocketAddrV6};
use std::path::Path;
use std::time::Duration;

use motemix_link::serial::ExtendedAddress;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

use super::RadioLink;
use motemix_os::rng::HostRng;

/// Datagrams leave within this time, or are lost: three frames, put back as often as the link does.
const SENT_WITHIN: Duration = Duration::from_secs(5);

/// UDP datagrams over a radio, to and from one port.
#[derive(Debug)]
pub struct RadioSocket {
    runtime: Runtime,
    link: RadioLink,
    port: u16,
    /// For how long a datagram is waited for.
    wait: Duration,
}

impl RadioSocket {
    /// Connects to the line, and joins the channel with this extended address (EUI-64), most
    /// significant byte first. `port` is one of those that
    /// [`LinkSettings::port`](motemix_link::settings::LinkSettings::port) may be.
    ///
    /// # Errors
    /// There is no such socket, nobody listens there, or the system has no timers.
    pub fn connect(line: &Path, mut address: [u8; 8], port: u16, rng: HostRng) -> io::Result<Self> {
        address.reverse();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let connected = {
            let _entered = runtime.enter();
            RadioLink::connect_at(line, ExtendedAddress(address), port, rng)?
        };
        let mut socket = Self { runtime, link: connected, port, wait: Duration::from_secs(1) };
        // Neighbours reach the station from now on.
        socket.leave()?;
        Ok(socket)
    }

    /// Where neighbours reach it.
    pub fn local_addr(&self) -> SocketAddr {
        SocketAddrV6::new(self.link.local_addr(), self.port, 0, 0).into()
    }

    /// For how long a datagram is waited for.
    pub const fn set_read_timeout(&mut self, wait: Duration) {
        self.wait = wait;
    }

    /// Sends a datagram, and waits until it has left or was given up, for five seconds at most.
    ///
    /// # Errors
    /// The line is broken, or the address is none of IPv6.
    pub fn send_to(&mut self, datagram: &[u8], to: SocketAddr) -> io::Result<usize> {
        let SocketAddr::V6(to) = to else { return Err(io::ErrorKind::AddrNotAvailable.into()) };
        self.link.send(*to.ip(), datagram)?;
        self.leave()?;
        Ok(datagram.len())
    }

    fn leave(&mut self) -> io::Result<()> {
        let Self { runtime, link, .. } = self;
        runtime.block_on(async {
            let until = Instant::now() + SENT_WITHIN;
            loop {
                link.pump()?;
                if link.is_idle() {
                    return Ok(());
                }
                match timeout_at(until, link.changed()).await {
                    Ok(readable) => readable?,
                    Err(_) => return Ok(()),
                }
            }
        })
    }

    /// The next datagram, and who sent it: its bytes, from the beginning of `out`.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`] if none came in time; or the line is broken.
    pub fn recv_from(&mut self, out: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let Self { runtime, link, port, wait } = self;
        runtime.block_on(async {
            let until = Instant::now() + *wait;
            loop {
                link.pump()?;
                if let Some((len, from)) = link.receive(out) {
                    return Ok((len, SocketAddrV6::new(from, *port, 0, 0).into()));
                }
                match timeout_at(until, link.readable()).await {
                    Ok(readable) => readable?,
                    Err(_) => return Err(io::ErrorKind::TimedOut.into()),
                }
            }
        })
    }
}
