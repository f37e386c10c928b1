use super::*;
use crate::commands::link::edhoc::Policy;
use motemix_neighbour::diet::settled::Identity;
use motemix_neighbour::suite::P256;
use std::time::Duration;

const START: Instant = Instant::from_micros(1_000_000);
const LENGTH: usize = 160;
/// A caller calls one router.
const ROUTER: Peer = Peer([1; 8]);

/// Whoever calls the router.
struct Caller {
    host: Host,
    rng: HostRng,
    handshakes: Shakes,
    from: SocketAddr,
}

/// A host with a new key, which admits these.
fn host(admitted: Vec<PublicKey>) -> Host {
    let mut rng = rng().expect("random numbers");
    let identity = Identity::generate(&mut P256, &mut rng).expect("in software");
    let private = identity.private_key().duplicate();
    Host { private, public: identity.public_key(), policy: Policy::List(admitted) }
}

impl Caller {
    fn new(router: &PublicKey, address: &str, port: u16) -> Self {
        let (host, mut rng) = (host(vec![*router]), rng().expect("random numbers"));
        let handshakes = host.handshakes(&mut rng);
        Self { host, rng, handshakes, from: SocketAddr::new(address.parse().expect("an address"), port) }
    }

    /// The same one from elsewhere, without a handshake.
    fn at(&mut self, address: &str, port: u16) -> &mut Self {
        self.handshakes = self.host.handshakes(&mut self.rng);
        self.from = SocketAddr::new(address.parse().expect("an address"), port);
        self
    }

    /// Sends what is due, and takes what is answered; `true` if something was.
    fn turn(&mut self, router: &mut Router, now: Instant) -> bool {
        let asking = self.host.asking(String::new());
        if self.handshakes.is_idle() {
            self.handshakes.call(now, ROUTER, &asking);
        }
        while self.handshakes.work(now, &asking, &mut self.rng) {}
        // A caller may wait before it sends: its clock is its own.
        let due = self.handshakes.poll_timeout().map_or(now, |due| due.max(now));
        let Some(transmit) = self.handshakes.poll_transmit(due) else { return false };
        let datagram = carried(&transmit, LENGTH).expect("room");
        let (_, reply) = router.handle(&datagram, self.from, now).expect("nothing is kept");
        let Some(reply) = reply else { return false };
        let Ok(Datagram::Handshake(message)) = Datagram::parse(&reply) else { return false };
        self.handshakes.handle(now, ROUTER, message, &asking).is_ok()
    }

    /// A hello, and the first message: whether the router computed its answer.
    fn begins(&mut self, router: &mut Router, now: Instant) -> bool {
        self.turn(router, now) && self.turn(router, now)
    }

    /// Ends a handshake that was begun.
    fn ends(&mut self, router: &mut Router, now: Instant) -> Option<SecurityContext> {
        self.turn(router, now);
        match self.handshakes.poll_event()? {
            Event::Key { key, role, .. } => Some(SecurityContext::new(key, role)),
            Event::Failed { .. } => None,
        }
    }

    fn meets(&mut self, router: &mut Router, now: Instant) -> Option<SecurityContext> {
        if self.begins(router, now) { self.ends(router, now) } else { None }
    }

    /// Whether a message is printed and acknowledged.
    fn delivers(&self, router: &mut Router, context: &mut SecurityContext, now: Instant) -> bool {
        let mut datagram = vec![0; LENGTH];
        let number = context.sealed();
        let text = Content::Text { name: [number as u8; _], text: b"21" };
        context.seal(&text, &mut datagram).expect("room");
        let (heard, receipt) = router.handle(&datagram, self.from, now).expect("nothing is kept");
        matches!(heard, Heard::Message { text, .. } if text == b"21") && receipt.is_some()
    }
}

/// A router, and so many neighbours that it admits.
fn router(neighbours: usize) -> (Router, Vec<Caller>) {
    let mut own = host(Vec::new());
    let callers: Vec<_> = (0..neighbours).map(|_| Caller::new(&own.public, "192.0.2.1", 1)).collect();
    own.policy = Policy::List(callers.iter().map(|caller| caller.host.public).collect());
    (Router::of(own, LENGTH, rng().expect("random numbers")), callers)
}

#[test]
fn a_source_that_begins_handshakes_from_all_ports_has_its_share_and_its_own_places() {
    let (mut router, mut neighbours) = router(2);
    let [slow, other] = &mut neighbours[..] else { unreachable!() };
    assert!(slow.begins(&mut router, START));
    let mut attacker = Caller::new(&router.host.public, "192.0.2.9", 1);
    for second in 1..=5 {
        let now = START + Duration::from_secs(second);
        let ports = (1..=40).filter(|port| attacker.at("192.0.2.9", port * 10).begins(&mut router, now));
        assert_eq!(ports.count(), 12);
        // Whoever comes meanwhile gets a key, and more than all places have been asked for.
        assert!(other.at("192.0.2.2", 5).meets(&mut router, now).is_some(), "in second {second}");
        assert!(router.handshakes.len() <= HANDSHAKES);
    }
    assert!(slow.ends(&mut router, START + Duration::from_secs(6)).is_some());
}

#[test]
fn strangers_from_many_sources_leave_neighbours_half() {
    let (mut router, mut neighbours) = router(1);
    let [neighbour] = &mut neighbours[..] else { unreachable!() };
    let mut context = neighbour.meets(&mut router, START).expect("a key");
    let now = START + Duration::from_secs(1);
    let mut attacker = Caller::new(&router.host.public, "2001:db8::9", 1);
    let sources =
        (1..=40).filter(|network| attacker.at(&format!("2001:db8:{network}::9"), 1).begins(&mut router, now));
    assert_eq!(sources.count(), 25);
    assert!(neighbour.delivers(&mut router, &mut context, now));
    // It starts again.
    assert!(neighbour.at("192.0.2.1", 2).meets(&mut router, now).is_some());
}

#[test]
fn a_source_with_many_neighbours_takes_the_places_of_its_own() {
    let (mut router, mut neighbours) = router(PLACES + 8);
    let mut contexts = Vec::new();
    for (neighbour, second) in neighbours.iter_mut().zip(0..) {
        let (now, port) = (START + Duration::from_secs(second), u16::try_from(second).expect("few"));
        let address = if second == 0 { "192.0.2.1" } else { "192.0.2.2" };
        contexts.push(neighbour.at(address, 1 + port).meets(&mut router, now).expect("a key"));
    }
    let now = START + Duration::from_secs(100);
    assert_eq!(router.neighbours.len(), PLACES);
    let mut delivers = |number: usize| neighbours[number].delivers(&mut router, &mut contexts[number], now);
    let last = PLACES + 7;
    assert_eq!([0, 1, 8, 9, last].map(&mut delivers), [true, false, false, true, true]);
}
