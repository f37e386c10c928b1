//! Connections: TCP and WebSockets of anybody, and the socket of this machine.
//!
//! A task for each connection moves bytes; what they mean is decided here, on the broker's own
//! round. A connection is read on only when what it brought has been dealt with, so that no peer
//! makes the broker hold more than a chunk of it.

mod carry;
mod places;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use motemix_coap::{Carrier, Event, Incoming, Peer, Relation, Response, Session, Settings, Ticket};
use motemix_time::Instant;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::{ServeError, statistics};
use places::Places;

/// Chunks of all connections that wait for the round.
const CHUNKS: usize = 1024;
/// Messages that wait to be written to a connection; further ones wait in its session.
const WRITES: usize = 16;

/// What a connection's task tells.
#[derive(Debug)]
enum Told {
    Opened(Opened),
    Chunk(u64, Vec<u8>),
    Closed(u64),
}

#[derive(Debug)]
struct Opened {
    number: u64,
    carrier: Carrier,
    /// Who is at the other end; nobody for the socket of this machine.
    address: Option<IpAddr>,
    writes: mpsc::Sender<Vec<u8>>,
    read_on: Arc<Notify>,
}

#[derive(Debug)]
struct Connection {
    session: Session,
    address: Option<IpAddr>,
    /// Dropping it ends the connection, once everything is written.
    writes: Option<mpsc::Sender<Vec<u8>>>,
    read_on: Arc<Notify>,
    is_paused: bool,
}

#[derive(Debug)]
pub(super) struct Connections {
    connections: BTreeMap<u64, Connection>,
    told: mpsc::Receiver<Told>,
    /// What ended the wait. It is taken with the time of the round that follows.
    awaited: Option<Told>,
    places: Places,
    /// Something was written: there may be room for more.
    written: Arc<Notify>,
    seed: [u64; 2],
    /// Where the next look for requests begins: each connection has its turn.
    turn: u64,
    counters: statistics::Connections,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Connections {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Connections {
    /// Listens where datagrams arrive, and on the socket of this machine.
    pub(super) fn listen(
        addresses: &[SocketAddr],
        local: Option<&Path>,
        seed: [u8; 32],
    ) -> Result<Self, ServeError> {
        let (tell, told) = mpsc::channel(CHUNKS);
        let written = Arc::new(Notify::new());
        let mut tasks = Vec::new();
        let places = Places::default();
        let listener = carry::Listener::new(tell, written.clone(), places.clone());
        for address in addresses {
            let socket = listen_tcp(*address).map_err(|error| ServeError::Bind(*address, error))?;
            tasks.push(tokio::spawn(listener.clone().accept_tcp(socket)));
        }
        if let Some(path) = local {
            let socket: UnixListener = motemix_host::control::bind_private(path)?;
            tasks.push(tokio::spawn(listener.clone().accept_local(socket)));
        }
        let words = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| seed[at + index]));
        // Others than those of the endpoint: its generator is seeded with all 32 bytes.
        let seed = [words(0) ^ words(16), words(8) ^ words(24)];
        let (connections, counters) = (BTreeMap::new(), statistics::Connections::default());
        Ok(Self { connections, told, awaited: None, places, written, seed, turn: 0, counters, tasks })
    }

    /// Waits until a connection brought something, or takes more.
    pub(super) async fn ready(&mut self) {
        tokio::select! {
            told = self.told.recv() => self.awaited = told,
            () = self.written.notified() => {}
        }
    }

    pub(super) fn take_in(&mut self, now: Instant) {
        if let Some(told) = self.awaited.take() {
            self.take(now, told);
        }
        for _ in 0..CHUNKS {
            let Ok(told) = self.told.try_recv() else { return };
            self.take(now, told);
        }
    }

    fn take(&mut self, now: Instant, told: Told) {
        match told {
            Told::Opened(opened) => self.open(now, opened),
            Told::Chunk(number, bytes) => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.session.handle_bytes(now, &bytes);
                    connection.is_paused = true;
                }
            }
            Told::Closed(number) => {
                if let Some(connection) = self.connections.get_mut(&number) {
                    connection.session.closed();
                    connection.writes = None;
                }
            }
        }
    }

    fn open(&mut self, now: Instant, opened: Opened) {
        let Opened { number, carrier, address, writes, read_on } = opened;
        let session = Session::new(now, number, carrier, Settings::default(), self.seed);
        let connection = Connection { session, address, writes: Some(writes), read_on, is_paused: true };
        self.counters.opened += 1;
        self.connections.insert(number, connection);
    }

    /// The next request of anybody, and who is at the other end: nobody for this machine.
    pub(super) fn poll_request(&mut self) -> Option<(Incoming, Option<IpAddr>)> {
        let later = self.connections.range_mut(self.turn..);
        let found = later.into_iter().find_map(|(number, connection)| {
            let incoming = connection.session.poll_request()?;
            Some((*number, (incoming, connection.address)))
        });
        match found {
            Some((number, incoming)) => {
                self.turn = number + 1;
                Some(incoming)
            }
            None if self.turn > 0 => {
                self.turn = 0;
                self.poll_request()
            }
            None => None,
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.connections.values_mut().find_map(|connection| connection.session.poll_event())
    }

    fn of(&mut self, relation: &Relation) -> Option<&mut Session> {
        let Peer::Stream(number) = relation.peer else { return None };
        self.connections.get_mut(&number).map(|connection| &mut connection.session)
    }

    pub(super) fn respond(&mut self, now: Instant, ticket: Ticket, response: &Response, observing: bool) {
        if let Some(session) = self.of(&ticket.relation()) {
            session.respond(now, ticket, response, observing);
        }
    }

    pub(super) fn notify(&mut self, now: Instant, relation: &Relation, response: &Response, last: bool) {
        if let Some(session) = self.of(relation) {
            session.notify(now, relation, response, last);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        for connection in self.connections.values_mut() {
            connection.session.handle_timeout(now);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.connections.values().filter_map(|connection| connection.session.poll_timeout()).min()
    }

    /// Hands over what is to be sent, reads on where there is room again, and lets go of those that
    /// are over.
    pub(super) fn transmit(&mut self) {
        let counters = &mut self.counters;
        self.connections.retain(|_, connection| {
            let Some(writes) = &connection.writes else { return false };
            while let Ok(place) = writes.try_reserve() {
                let Some(bytes) = connection.session.poll_transmit() else {
                    if connection.session.is_over() {
                        counters.aborted += u64::from(connection.session.was_aborted());
                        return false;
                    }
                    break;
                };
                place.send(bytes);
            }
            if connection.is_paused && connection.session.wants_more() {
                connection.is_paused = false;
                connection.read_on.notify_one();
            }
            true
        });
    }

    pub(super) fn counters(&self) -> statistics::Connections {
        let (refused, open) = (self.places.refused(), self.connections.len() as u64);
        statistics::Connections { refused, open, ..self.counters }
    }

    /// Tells everybody that the broker ends.
    pub(super) fn release(&mut self) {
        for connection in self.connections.values_mut() {
            connection.session.release();
        }
        self.transmit();
    }
}

fn listen_tcp(address: SocketAddr) -> std::io::Result<TcpListener> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // So that a broker that was killed can begin again at once.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    TcpListener::from_std(socket.into())
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::time::Duration;

    use tokio::net::UnixStream;

    use super::*;

    /// A connection's time is that of the round that takes it, however long the broker has run.
    #[tokio::test]
    async fn a_broker_that_has_run_for_a_month_takes_connections() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("local.sock");
        let mut connections = Connections::listen(&[], Some(&path), [7; 32])?;
        let month = Instant::from_micros(1) + Duration::from_secs(30 * 24 * 3600);

        let _receiver = UnixStream::connect(&path).await?;
        connections.ready().await;
        connections.take_in(month);
        connections.handle_timeout(month);
        connections.transmit();
        let counted = connections.counters();
        assert_eq!((counted.opened, counted.open, counted.aborted), (1, 1, 0));

        // It says nothing for too long, from then on.
        connections.handle_timeout(month + Duration::from_secs(60));
        connections.transmit();
        let counted = connections.counters();
        assert_eq!((counted.opened, counted.open, counted.aborted), (1, 0, 1));
        Ok(())
    }
}
