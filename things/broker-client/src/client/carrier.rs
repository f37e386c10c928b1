//! What carries requests: datagrams or a connection.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use motemix_coap::{CallId, Endpoint, Event, Request, Session, Settings};
use motemix_os::address::lookup;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UdpSocket, UnixStream};
use tokio::time::{sleep_until, timeout};

use super::Address;
use crate::clock::{Clock, far};

/// Own requests and observations at a time: more than whoever follows all devices of a list, or all
/// topics that `motemix broker watch` takes, observes.
pub(super) const CALLS: usize = 4096;
/// Longer than the bodies of look-ups.
const BODY: usize = 2 << 20;
/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
/// How long a connection may take to be made, and the last of it to be written.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an address of a host with several may be silent before the next is tried.
const PING: Duration = Duration::from_secs(1);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A broker's other end.
pub(super) struct Carrier {
    kind: Kind,
    clock: Clock,
    chunk: Vec<u8>,
}

enum Kind {
    Datagrams { endpoint: Box<Endpoint>, socket: UdpSocket, to: SocketAddr },
    Connection { session: Box<Session>, stream: Box<dyn Stream> },
}

impl std::fmt::Debug for Carrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Carrier(..)")
    }
}

impl Carrier {
    pub(super) async fn connect(address: &Address) -> io::Result<Self> {
        let clock = Clock::start();
        let seed = motemix_os::rng::seed()?;
        let mut settings = Settings::default();
        (settings.calls, settings.body, settings.body_bytes) = (CALLS, BODY, 4 * BODY);
        let kind = match address {
            Address::Udp(host) => {
                let addresses = lookup(host).await?;
                let (socket, to) = reach(&addresses).await?;
                Kind::Datagrams { endpoint: Box::new(Endpoint::new(settings, seed)), socket, to }
            }
            Address::Tcp(host) => {
                let stream = timeout(PATIENCE, TcpStream::connect(&lookup(host).await?[..])).await??;
                stream.set_nodelay(true)?;
                Self::connection(&clock, settings, seed, Box::new(stream))
            }
            Address::Local(path) => {
                let stream = UnixStream::connect(path).await?;
                Self::connection(&clock, settings, seed, Box::new(stream))
            }
        };
        Ok(Self { kind, clock, chunk: vec![0; CHUNK] })
    }

    fn connection(clock: &Clock, settings: Settings, seed: [u8; 32], stream: Box<dyn Stream>) -> Kind {
        let words = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| seed[at + index]));
        let carrier = motemix_coap::Carrier::Stream;
        let session = Session::new(clock.now(), 0, carrier, settings, [words(0), words(8)]);
        Kind::Connection { session: Box::new(session), stream }
    }

    pub(super) fn request(&mut self, request: Request) -> Option<CallId> {
        let now = self.clock.now();
        match &mut self.kind {
            Kind::Datagrams { endpoint, to, .. } => endpoint.request(now, *to, request).ok(),
            Kind::Connection { session, .. } => session.request(now, &request).ok(),
        }
    }

    /// Whether more comes of a request.
    pub(super) fn is_under_way(&self, call: CallId) -> bool {
        match &self.kind {
            Kind::Datagrams { endpoint, .. } => endpoint.is_under_way(call),
            Kind::Connection { session, .. } => session.is_under_way(call),
        }
    }

    pub(super) fn cancel(&mut self, call: CallId) {
        let now = self.clock.now();
        match &mut self.kind {
            Kind::Datagrams { endpoint, .. } => endpoint.cancel(call),
            Kind::Connection { session, .. } => session.cancel(now, call),
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match &mut self.kind {
            Kind::Datagrams { endpoint, .. } => endpoint.poll_event(),
            Kind::Connection { session, .. } => session.poll_event(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(&self.kind, Kind::Connection { session, .. } if session.is_over())
    }

    /// Sends all that is to be sent.
    pub(super) async fn transmit(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Datagrams { endpoint, socket, .. } => {
                while let Some(transmit) = endpoint.poll_transmit() {
                    // A broker that is not there yet may come: what was lost is repeated.
                    let _ = socket.send(&transmit.bytes).await;
                }
            }
            Kind::Connection { session, stream } => {
                while let Some(bytes) = session.poll_transmit() {
                    timeout(PATIENCE, stream.write_all(&bytes)).await??;
                }
            }
        }
        Ok(())
    }

    /// Waits for what arrives, or for a time that has come. Dropping the future loses nothing.
    pub(super) async fn take_in(&mut self) -> io::Result<()> {
        let Self { kind, clock, chunk, .. } = self;
        match kind {
            Kind::Datagrams { endpoint, socket, to } => {
                let at = endpoint.poll_timeout().map_or_else(far, |at| clock.at(at));
                tokio::select! {
                    received = socket.recv(chunk) => if let Ok(len) = received {
                        // Whatever is wrong with it is counted there.
                        let _ = endpoint.handle_datagram(clock.now(), *to, &chunk[..len]);
                    },
                    () = sleep_until(at) => endpoint.handle_timeout(clock.now()),
                }
            }
            Kind::Connection { session, stream } => {
                let at = session.poll_timeout().map_or_else(far, |at| clock.at(at));
                tokio::select! {
                    // A broker that asks and asks is not listened to.
                    read = stream.read(chunk), if session.wants_more() => match read? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        len => session.handle_bytes(clock.now(), &chunk[..len]),
                    },
                    () = sleep_until(at) => session.handle_timeout(clock.now()),
                }
            }
        }
        Ok(())
    }

    /// Says that it ends.
    pub(super) async fn release(mut self) {
        if let Kind::Connection { session, .. } = &mut self.kind {
            session.release();
        }
        let _ = self.transmit().await;
    }
}

/// A socket to the first of a host's addresses that answers, or else to the first that there is.
async fn reach(addresses: &[SocketAddr]) -> io::Result<(UdpSocket, SocketAddr)> {
    let mut first = Err(io::ErrorKind::AddrNotAvailable.into());
    for to in addresses {
        match connected(*to).await {
            Ok(socket) if addresses.len() == 1 || answers(&socket).await => return Ok((socket, *to)),
            Ok(socket) if first.is_err() => first = Ok((socket, *to)),
            Err(error) if first.is_err() => first = Err(error),
            _ => {}
        }
    }
    first
}

/// Whoever else sends to its port is not heard.
async fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(to).await?;
    Ok(socket)
}

/// Whether somebody resets an empty message (RFC 7252 §4.3).
async fn answers(socket: &UdpSocket) -> bool {
    let ping = [0x40, 0, 0, 0];
    socket.send(&ping).await.is_ok() && matches!(timeout(PING, socket.recv(&mut [0; 4])).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_host_s_addresses_that_one_is_taken_where_somebody_answers() {
        let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (at, before) = (there.local_addr().unwrap(), silent.local_addr().unwrap());
        let nobody = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let answering = tokio::spawn(async move {
            let (_, from) = there.recv_from(&mut [0; 4]).await.unwrap();
            there.send_to(&[0x70, 0, 0, 0], from).await.unwrap();
        });
        assert_eq!(reach(&[nobody, before, at]).await.unwrap().1, at);
        answering.await.unwrap();
        // Who is there alone may come later.
        assert_eq!(reach(&[before]).await.unwrap().1, before);
        assert!(reach(&[]).await.is_err());
    }
}
