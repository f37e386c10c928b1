//! A client, a server and a wire between them, on virtual time. The wire loses, repeats and
//! reorders as much as a story asks for; its seed is printed when a story fails.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::time::Duration;

use motemix_coap::{
    CallId, DropReason, Endpoint, Event, Incoming, Observe, Relation, Request, Response, Settings, Transmit,
};
use motemix_time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};

pub fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

pub const CLIENT: u16 = 4000;
pub const SERVER: u16 = 5683;

/// What a server's application does with a request: a response, and whether an observation begins.
pub type Application = Box<dyn FnMut(Request, Relation) -> (Response, bool)>;

/// When it arrives, its number, whether it is for the server, and its bytes.
type OnWire = (Instant, u64, bool, Vec<u8>);

pub struct Pair {
    pub now: Instant,
    pub client: Endpoint,
    pub server: Endpoint,
    pub application: Application,
    /// How long the application takes.
    pub takes: Duration,
    /// Of 256.
    pub loss: u8,
    pub repeat: u8,
    pub delay: Duration,
    pub observers: Vec<Relation>,
    pub events: Vec<Event>,
    pub datagrams: u64,
    pub seed: u64,
    rng: ChaCha8Rng,
    wire: BinaryHeap<Reverse<OnWire>>,
    working: Vec<(Instant, Incoming)>,
}

impl Pair {
    pub fn new(seed: u64, application: Application) -> Self {
        Self::with(seed, Settings::default(), application)
    }

    pub fn with(seed: u64, settings: Settings, application: Application) -> Self {
        Self {
            now: Instant::from_micros(1_000_000),
            client: Endpoint::new(Settings::default(), [1; 32]),
            server: Endpoint::new(settings, [2; 32]),
            application,
            takes: Duration::ZERO,
            loss: 0,
            repeat: 0,
            delay: Duration::ZERO,
            observers: Vec::new(),
            events: Vec::new(),
            datagrams: 0,
            seed,
            rng: ChaCha8Rng::seed_from_u64(seed),
            wire: BinaryHeap::new(),
            working: Vec::new(),
        }
    }

    pub fn ask(&mut self, request: Request) -> CallId {
        self.client.request(self.now, address(SERVER), request).expect("there is room")
    }

    /// Asks and waits for the response.
    pub fn answer_to(&mut self, request: Request) -> Response {
        let call = self.ask(request);
        self.run(Duration::from_mins(10), |pair| pair.response(call).is_some() || pair.has_failed(call));
        let seed = self.seed;
        self.response(call).cloned().unwrap_or_else(|| panic!("no response, seed {seed}"))
    }

    pub fn response(&self, call: CallId) -> Option<&Response> {
        self.events.iter().find_map(|event| match event {
            Event::Response { call: of, response } if *of == call => Some(response),
            _ => None,
        })
    }

    pub fn notifications(&self, call: CallId) -> Vec<&Response> {
        let of_call = self.events.iter().filter_map(|event| match event {
            Event::Notification { call: of, response } if *of == call => Some(response),
            _ => None,
        });
        of_call.collect()
    }

    pub fn has_failed(&self, call: CallId) -> bool {
        self.events.contains(&Event::Failed { call })
    }

    pub fn gone(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Gone(_))).count()
    }

    /// Tells all observers.
    pub fn notify(&mut self, response: &Response) {
        for relation in self.observers.clone() {
            self.server.notify(self.now, &relation, response, false, false);
        }
    }

    /// Goes on until something holds, or for so long.
    pub fn run(&mut self, most: Duration, mut until: impl FnMut(&Self) -> bool) {
        let end = self.now + most;
        loop {
            self.settle();
            if until(self) {
                return;
            }
            let wire = self.wire.peek().map(|Reverse((at, ..))| *at);
            let work = self.working.iter().map(|(at, _)| *at).min();
            let timers = [self.client.poll_timeout(), self.server.poll_timeout(), wire, work];
            let next = timers.into_iter().flatten().min().unwrap_or(end).max(self.now);
            if next >= end {
                self.now = end;
                return;
            }
            self.now = next;
            self.arrive();
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
        }
    }

    fn arrive(&mut self) {
        while self.wire.peek().is_some_and(|Reverse((at, ..))| *at <= self.now) {
            let Some(Reverse((_, _, to_server, bytes))) = self.wire.pop() else { return };
            let (endpoint, from) =
                if to_server { (&mut self.server, CLIENT) } else { (&mut self.client, SERVER) };
            let _: Result<(), DropReason> = endpoint.handle_datagram(self.now, address(from), &bytes);
        }
    }

    /// Everything that happens at one moment.
    fn settle(&mut self) {
        self.arrive();
        while let Some(incoming) = self.server.poll_request() {
            self.working.push((self.now + self.takes, incoming));
        }
        let (due, later) = std::mem::take(&mut self.working).into_iter().partition(|(at, _)| *at <= self.now);
        self.working = later;
        for (_, Incoming { ticket, request }) in due {
            let relation = ticket.relation();
            let deregisters = request.observe == Some(Observe::Deregister);
            let (response, observing) = (self.application)(request, relation);
            if deregisters {
                self.observers.retain(|observer| *observer != relation);
            }
            if observing && !self.observers.contains(&relation) {
                self.observers.push(relation);
            }
            self.server.respond(self.now, ticket, &response, observing);
        }
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
        while let Some(event) = self.server.poll_event() {
            if let Event::Gone(relation) = &event {
                self.observers.retain(|observer| observer != relation);
            }
            self.events.push(event);
        }
        while let Some(transmit) = self.client.poll_transmit() {
            self.put_on_wire(true, &transmit);
        }
        while let Some(transmit) = self.server.poll_transmit() {
            self.put_on_wire(false, &transmit);
        }
    }

    fn put_on_wire(&mut self, to_server: bool, transmit: &Transmit) {
        let copies = if self.roll() < self.repeat { 2 } else { 1 };
        for _ in 0..copies {
            if self.roll() < self.loss {
                continue;
            }
            self.datagrams += 1;
            let part = f64::from(self.rng.next_u32()) / f64::from(u32::MAX);
            let at = self.now + Duration::from_micros(500) + self.delay.mul_f64(part);
            self.wire.push(Reverse((at, self.datagrams, to_server, transmit.bytes.clone())));
        }
    }

    fn roll(&mut self) -> u8 {
        // 255 of 256 at most: nothing is lost for ever.
        (self.rng.next_u32() % 255) as u8
    }
}
