//! Connections: TCP and WebSockets of anybody, and the socket of this machine.
//!
//! A task for each connection moves bytes; what they mean is decided here, on the broker's own
//! round. A connection is read on only when what it brought has been dealt with, so that no peer
//! makes the broker hold more than a chunk of it.

mod carry;
mod frames;
mod places;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use motemix_coap::{Bodies, Carrier, Event, Incoming, Peer, Relation, Response, Session, Settings, Ticket};
use motemix_time::Instant;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use super::{ServeError, files, statistics};
use crate::browser::Names;
use places::{MOST, Places, Share};

/// Chunks of all connections that wait for the round.
const CHUNKS: usize = 1024;
/// Messages that wait to be written to a connection; further ones wait in its session.
const WRITES: usize = 16;
/// Bytes of them, but for the last one.
const WRITE_BYTES: usize = 64 << 10;

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
    /// What it has with others of its source.
    share: Option<Share>,
    writes: mpsc::Sender<Vec<u8>>,
    read_on: Arc<Notify>,
    under_way: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Connection {
    session: Session,
    address: Option<IpAddr>,
    /// Dropping it ends the connection, once everything is written.
    writes: Option<mpsc::Sender<Vec<u8>>>,
    read_on: Arc<Notify>,
    /// Bytes that were handed over to be written.
    under_way: Arc<AtomicUsize>,
    is_paused: bool,
    is_held_back: bool,
}

impl Connection {
    fn unseen(&mut self, number: u64) -> Option<Unseen> {
        let count = self.session.take_unseen();
        (count > 0).then_some(Unseen { peer: Peer::Stream(number), address: self.address, count })
    }

    /// Hands over what is to be sent, as much as may be under way. `false` once all is sent, and
    /// nothing more comes.
    fn transmit(&mut self) -> bool {
        let Some(writes) = &self.writes else { return false };
        let mut under_way = self.under_way.load(Ordering::Relaxed);
        self.session.set_under_way(under_way);
        while under_way < WRITE_BYTES
            && let Ok(place) = writes.try_reserve()
        {
            let Some(bytes) = self.session.poll_transmit() else {
                // What is being written counts until it is.
                return under_way > 0 || !self.session.is_over();
            };
            under_way = self.under_way.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
            self.session.set_under_way(under_way);
            place.send(bytes);
        }
        true
    }
}

/// Messages that came over a connection and that the broker does not see: blocks and signals.
#[derive(Debug)]
pub(super) struct Unseen {
    pub(super) peer: Peer,
    pub(super) address: Option<IpAddr>,
    pub(super) count: u32,
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
    /// Bodies of connections and datagrams together.
    bodies: Bodies,
    unseen: VecDeque<Unseen>,
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
        names: Names,
        bodies: Bodies,
        seed: [u8; 32],
    ) -> Result<Self, ServeError> {
        let (tell, told) = mpsc::channel(CHUNKS);
        let written = Arc::new(Notify::new());
        let mut tasks = Vec::new();
        let places = Places::new(files::connections(MOST));
        let listener = carry::Listener::new(tell, written.clone(), places.clone(), names);
        for address in addresses {
            let socket = listen_tcp(*address).map_err(|error| ServeError::Bind(*address, error))?;
            tasks.push(tokio::spawn(listener.clone().accept_tcp(socket)));
        }
        if let Some(path) = local {
            let socket: UnixListener = motemix_os::control::bind_private(path)?;
            tasks.push(tokio::spawn(listener.clone().accept_local(socket)));
        }
        let words = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| seed[at + index]));
        // Others than those of the endpoint: its generator is seeded with all 32 bytes.
        let seed = [words(0) ^ words(16), words(8) ^ words(24)];
        let (connections, counters) = (BTreeMap::new(), statistics::Connections::default());
        Ok(Self {
            connections,
            told,
            awaited: None,
            places,
            written,
            bodies,
            unseen: VecDeque::new(),
            seed,
            turn: 0,
            counters,
            tasks,
        })
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
                    self.unseen.extend(connection.unseen(number));
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
        let Opened { number, carrier, address, share, writes, read_on, under_way } = opened;
        let mut session = Session::new(now, number, carrier, Settings::default(), self.seed);
        // Receivers of this machine have their own: strangers take none of it.
        if let Some(Share { source, room }) = share {
            session = session.sharing(room, self.bodies.clone(), Some(source.address()));
        }
        let connection = Connection {
            session,
            address,
            writes: Some(writes),
            read_on,
            under_way,
            is_paused: true,
            is_held_back: false,
        };
        self.counters.opened += 1;
        self.connections.insert(number, connection);
    }

    /// The next request of anybody, and who is at the other end: nobody for this machine.
    pub(super) fn poll_request(&mut self) -> Option<(Incoming, Option<IpAddr>)> {
        let later = self.connections.range_mut(self.turn..);
        let found = later.into_iter().find_map(|(number, connection)| {
            let incoming = connection.session.poll_request();
            self.unseen.extend(connection.unseen(*number));
            Some((*number, (incoming?, connection.address)))
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

    /// Messages that came and are no request of their own.
    pub(super) fn poll_unseen(&mut self) -> Option<Unseen> {
        self.unseen.pop_front()
    }

    /// This peer has sent more of them than it may until then.
    pub(super) fn refuse_unseen(&mut self, peer: Peer, until: Instant) {
        let Peer::Stream(number) = peer else { return };
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.session.refuse_unseen(until);
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
    /// are over. `true` if there is more to do at once: what waited for room has it now.
    pub(super) fn transmit(&mut self) -> bool {
        let Self { connections, counters, unseen, .. } = self;
        let (mut has_requests, mut waits, mut is_freed) = (false, false, false);
        connections.retain(|number, connection| {
            let before = connection.session.waiting();
            let stays = connection.transmit();
            unseen.extend(connection.unseen(*number));
            let session = &connection.session;
            is_freed |= !stays || session.waiting() < before;
            if !stays {
                counters.aborted += u64::from(session.was_aborted());
                return false;
            }
            let is_held_back = session.waits_for_room();
            counters.held_back += u64::from(is_held_back && !connection.is_held_back);
            connection.is_held_back = is_held_back;
            waits |= is_held_back;
            has_requests |= session.has_request();
            if connection.is_paused && session.wants_more() {
                connection.is_paused = false;
                connection.read_on.notify_one();
            }
            true
        });
        has_requests || (waits && is_freed)
    }

    pub(super) fn counters(&self) -> statistics::Connections {
        statistics::Connections {
            refused: self.places.refused(),
            foreign: self.places.foreign(),
            open: self.connections.len() as u64,
            places: self.places.most() as u64,
            waiting: self.places.waiting() as u64,
            ..self.counters
        }
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
mod tests;
