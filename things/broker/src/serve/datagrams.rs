//! UDP sockets and the endpoint behind them.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

use motemix_coap::message::MAX_DATAGRAM_LEN;
use motemix_coap::oscore::edhoc;
use motemix_coap::oscore::{self, ContextId};
use motemix_coap::{
    Bodies, CallId, Counters, Endpoint, Event, Full, Incoming, Protection, Relation, Request, Response,
    Settings, Ticket,
};
use motemix_object::Identity;
use motemix_time::Instant;
use tokio::net::UdpSocket;

use super::{ServeError, sessions};

/// Datagrams that one round takes in from a socket.
const READS: usize = 1024;
/// What the system keeps of datagrams that arrive while the disk is busy.
const RECEIVE_BUFFER: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Datagrams {
    sockets: Vec<UdpSocket>,
    /// Whether each socket is an IPv4 one: to ask the system for each datagram takes time.
    are_ipv4: Vec<bool>,
    endpoint: Endpoint,
    /// Whose requests are under contexts that were given to both sides.
    shared: BTreeMap<ContextId, Identity>,
    buffer: Vec<u8>,
}

impl Datagrams {
    pub(super) fn bind(addresses: &[SocketAddr], seed: [u8; 32]) -> Result<Self, ServeError> {
        if let [first, second, ..] = addresses
            && (first.is_ipv4() == second.is_ipv4() || addresses.len() > 2)
        {
            return Err(ServeError::OneFamily(*first, addresses[addresses.len() - 1]));
        }
        let are_ipv4 = addresses.iter().map(SocketAddr::is_ipv4).collect();
        let mut sockets = Vec::new();
        for address in addresses {
            let bound = bind(*address).map_err(|error| ServeError::Bind(*address, error))?;
            sockets.push(bound);
        }
        let endpoint = Endpoint::new(Settings::default(), seed);
        // One byte more than a message may have: longer ones are seen to be too long.
        let (shared, buffer) = (BTreeMap::new(), vec![0; MAX_DATAGRAM_LEN + 1]);
        Ok(Self { sockets, are_ipv4, endpoint, shared, buffer })
    }

    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, ServeError> {
        let addresses = self.sockets.iter().map(UdpSocket::local_addr).collect::<io::Result<_>>();
        addresses.map_err(|error| ServeError::System("UDP", error))
    }

    /// Waits for a datagram, for ever if there is no socket.
    pub(super) async fn readable(&self) -> io::Result<()> {
        match &self.sockets[..] {
            [] => std::future::pending().await,
            [only] => only.readable().await,
            [first, second, ..] => tokio::select! {
                readable = first.readable() => readable,
                readable = second.readable() => readable,
            },
        }
    }

    /// Reads what has arrived. `true` if more may wait.
    pub(super) fn take_in(&mut self, now: Instant) -> io::Result<bool> {
        let mut more = false;
        for socket in &self.sockets {
            let mut left = READS;
            while left > 0 {
                match socket.try_recv_from(&mut self.buffer) {
                    Ok((len, from)) => {
                        // What is dropped is counted there.
                        let _ = self.endpoint.handle_datagram(now, from, &self.buffer[..len]);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if is_about_a_peer(&error) => {}
                    Err(error) => return Err(error),
                }
                left -= 1;
            }
            more |= left == 0;
        }
        Ok(more)
    }

    /// Sends what is to leave. What the system has no room for is lost, as datagrams are.
    pub(super) fn transmit(&mut self) -> io::Result<()> {
        while let Some(transmit) = self.endpoint.poll_transmit() {
            let mut sockets = self.sockets.iter().zip(&self.are_ipv4);
            let of_family = sockets.find(|(_, is_ipv4)| **is_ipv4 == transmit.to.is_ipv4());
            let Some((socket, _)) = of_family else { continue };
            match socket.try_send_to(&transmit.bytes, transmit.to) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock || is_about_a_peer(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What comes and goes in blocks, to be shared with connections.
    pub(super) fn bodies(&self) -> Bodies {
        self.endpoint.bodies()
    }

    pub(super) fn poll_request(&mut self) -> Option<Incoming> {
        self.endpoint.poll_request()
    }

    /// Lets devices prove who they are.
    pub(super) fn protect(&mut self, protection: Protection, shared: BTreeMap<ContextId, Identity>) {
        self.endpoint.protect(protection);
        self.shared = shared;
    }

    /// Which device has proven that a request is its own.
    pub(super) fn device(&self, ticket: &Ticket) -> Option<Identity> {
        let shared = self.endpoint.given_context(ticket).and_then(|context| self.shared.get(&context));
        let proven = || sessions::identity_of(&self.endpoint.device(ticket)?.key);
        shared.copied().or_else(proven)
    }

    pub(super) fn is_proven(&self, now: Instant, ticket: &Ticket) -> bool {
        self.endpoint.is_proven(now, ticket)
    }

    pub(super) fn ask_for_proof(&mut self, now: Instant, ticket: Ticket) {
        self.endpoint.ask_for_proof(now, ticket);
    }

    /// Asks whoever asked, under the context of its request.
    pub(super) fn request(
        &mut self,
        now: Instant,
        to: SocketAddr,
        request: Request,
        of: &Ticket,
    ) -> Result<CallId, Full> {
        let context = self.endpoint.context(of);
        self.endpoint.request_under(now, to, request, context)
    }

    /// What was counted: of datagrams, and under OSCORE.
    pub(super) fn counters(&mut self) -> (Counters, Option<(oscore::Counters, edhoc::Counters)>) {
        let under = self.endpoint.protection().map(|Protection { layer, .. }| {
            let handshakes = layer.responder.as_ref().map(|responder| *responder.counters());
            (*layer.contexts.counters(), handshakes.unwrap_or_default())
        });
        (*self.endpoint.counters(), under)
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.endpoint.poll_event()
    }

    pub(super) fn respond(&mut self, now: Instant, ticket: Ticket, response: &Response, observing: bool) {
        self.endpoint.respond(now, ticket, response, observing);
    }

    pub(super) fn notify(
        &mut self,
        now: Instant,
        relation: &Relation,
        response: &Response,
        confirm: bool,
        last: bool,
    ) {
        self.endpoint.notify(now, relation, response, confirm, last);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }
}

/// What a peer, the way to it or a firewall can bring about; it ends no broker.
fn is_about_a_peer(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::PermissionDenied
            | Kind::Interrupted
            | Kind::InvalidInput
            | Kind::AddrNotAvailable
            | Kind::OutOfMemory
    ) || error.raw_os_error() == Some(NO_BUFFERS)
}

/// ENOBUFS of Linux.
const NO_BUFFERS: i32 = 105;

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        // So that both families can have the port.
        socket.set_only_v6(true)?;
    }
    // As much as the system allows: more is not an error.
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}
