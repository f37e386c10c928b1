//! An endpoint on a socket: as a server in a thread of its own, or as a client that waits.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use motemix_coap::{
    CallId, Code, Endpoint, Event, Method, Observe, Relation, Request, Response, Settings, format,
};
use motemix_time::Instant;

/// A state of /tick lasts so long.
const TICK: Duration = Duration::from_millis(20);
/// A peer that is silent for so long has failed. Nothing else depends on a clock.
const SILENCE: Duration = Duration::from_mins(3);

/// Moves datagrams between a socket and an endpoint.
struct Wire {
    socket: UdpSocket,
    began: std::time::Instant,
    endpoint: Endpoint,
}

impl Wire {
    fn new(settings: Settings) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).expect("random bytes");
        Self { socket, began: std::time::Instant::now(), endpoint: Endpoint::new(settings, seed) }
    }

    fn now(&self) -> Instant {
        Instant::from_micros(1) + self.began.elapsed()
    }

    /// Waits for a datagram for a short while, and sends what there is.
    fn step(&mut self) {
        while let Some(transmit) = self.endpoint.poll_transmit() {
            // Who has gone away is known by its silence.
            let _ = self.socket.send_to(&transmit.bytes, transmit.to);
        }
        let due = self.endpoint.poll_timeout().map_or(TICK, |due| due - self.now());
        let wait = due.clamp(Duration::from_millis(1), TICK);
        self.socket.set_read_timeout(Some(wait)).expect("a time above zero");
        let mut room = [0; 2048];
        match self.socket.recv_from(&mut room) {
            Ok((len, from)) => {
                let _ = self.endpoint.handle_datagram(self.now(), from, &room[..len]);
            }
            Err(error) => assert!(
                matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::ConnectionRefused
                ),
                "{error}"
            ),
        }
        self.endpoint.handle_timeout(self.now());
    }
}

/// Keeps what is put anywhere; /tick counts by itself, and tells who observes it.
pub struct Server {
    pub address: SocketAddr,
    observers: Arc<AtomicUsize>,
    /// Datagrams that told of a change.
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(settings: Settings) -> Self {
        let wire = Wire::new(settings);
        let address = wire.socket.local_addr().expect("it is bound");
        let (observers, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, stop) = (Arc::clone(&observers), Arc::clone(&ends));
        let thread = std::thread::spawn(move || serve(wire, &seen, &stop));
        Self { address, observers, ends, thread: Some(thread) }
    }

    /// Waits until so many observe /tick.
    pub fn wait_for_observers(&self, count: usize) {
        let began = std::time::Instant::now();
        while self.observers.load(Ordering::Relaxed) != count {
            assert!(began.elapsed() < SILENCE, "{} observe", self.observers.load(Ordering::Relaxed));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("it ran").expect("it did not panic");
        }
    }
}

fn serve(mut wire: Wire, observed: &AtomicUsize, stop: &AtomicBool) {
    let mut bodies: BTreeMap<Vec<String>, Vec<u8>> = BTreeMap::new();
    let mut observers: Vec<Relation> = Vec::new();
    let (mut ticks, mut ticked) = (0_u32, wire.now());
    let tick = |ticks: u32| Response::content(Code::CONTENT, format::TEXT, ticks.to_string().into_bytes());
    while !stop.load(Ordering::Relaxed) {
        wire.step();
        let now = wire.now();
        while let Some(incoming) = wire.endpoint.poll_request() {
            let relation = incoming.ticket.relation();
            let Request { method, path, payload, observe, .. } = incoming.request;
            let observing = observe == Some(Observe::Register) && path == ["tick"];
            let response = match method {
                Method::Put => {
                    bodies.insert(path, payload);
                    Response::new(Code::CHANGED)
                }
                Method::Get if path == ["tick"] => tick(ticks),
                Method::Get => match bodies.get(&path) {
                    Some(body) => Response::content(Code::CONTENT, format::OCTETS, body.as_slice()),
                    None => Response::error(Code::NOT_FOUND, "nothing was put there"),
                },
                _ => Response::error(Code::METHOD_NOT_ALLOWED, "put and get"),
            };
            if observing && !observers.contains(&relation) {
                observers.push(relation);
            }
            wire.endpoint.respond(now, incoming.ticket, &response, observing);
        }
        while let Some(event) = wire.endpoint.poll_event() {
            let Event::Gone(relation) = event else { panic!("{event:?}") };
            observers.retain(|observer| *observer != relation);
        }
        if now - ticked >= TICK {
            (ticks, ticked) = (ticks + 1, now);
            for relation in &observers {
                wire.endpoint.notify(now, relation, &tick(ticks), false, false);
            }
        }
        observed.store(observers.len(), Ordering::Relaxed);
    }
}

pub struct Client(Wire);

impl Client {
    pub fn new() -> Self {
        Self(Wire::new(Settings::default()))
    }

    pub fn begin(&mut self, to: SocketAddr, request: Request) -> CallId {
        let now = self.0.now();
        self.0.endpoint.request(now, to, request).expect("room")
    }

    pub fn next(&mut self) -> Event {
        let began = std::time::Instant::now();
        loop {
            if let Some(event) = self.0.endpoint.poll_event() {
                return event;
            }
            assert!(began.elapsed() < SILENCE, "nothing happens");
            self.0.step();
        }
    }

    pub fn ask(&mut self, to: SocketAddr, request: Request) -> Response {
        let asked = self.begin(to, request);
        match self.next() {
            Event::Response { call, response } if call == asked => response,
            other => panic!("{other:?}"),
        }
    }

    pub fn cancel(&mut self, call: CallId) {
        self.0.endpoint.cancel(call);
    }

    /// Lets what is due leave, and what was sent arrive.
    pub fn linger(&mut self) {
        for _ in 0..10 {
            self.0.step();
        }
    }
}
