use super::*;
use crate::commands::link::rng;
use motemix_neighbour::diet::settled::{Identity, Initiator};
use std::time::Duration;

const START: Instant = Instant::from_micros(1_000_000);

/// A router that admits some neighbours, and these.
struct Place<const N: usize> {
    diet: Diet,
    neighbours: [Identity; N],
    rng: HostRng,
    now: Instant,
}

fn place<const N: usize>() -> Place<N> {
    let mut rng = rng().expect("random numbers");
    let mut identity = || Identity::generate(&mut P256, &mut rng).expect("in software");
    let (own, neighbours) = (identity(), [(); N].map(|()| identity()));
    let admitted = Some(neighbours.iter().map(Identity::public_key).collect());
    let diet = Diet::new(Us { identity: own, admitted }, self::rng().expect("random numbers"));
    Place { diet, neighbours, rng, now: START }
}

fn at(address: &str, port: u16) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), port)
}

impl<const N: usize> Place<N> {
    fn says_hello(&mut self, neighbour: usize) -> (Initiator, Hello) {
        self.neighbours[neighbour].hello(&mut P256, &mut self.rng).expect("in software")
    }

    /// What is answered to a hello.
    fn answer(&mut self, hello: &Hello, from: SocketAddr) -> Option<Vec<u8>> {
        self.diet.handle(&mut hello.clone(), from, self.now).1
    }

    fn session(&self, initiator: &Initiator, answer: &[u8]) -> Session {
        let router = [self.diet.us.identity.public_key()];
        initiator.finish(answer, super::super::Admission::Of(&router), &mut P256).expect("the router's")
    }

    /// Whether a message is printed and acknowledged.
    fn delivers(&mut self, session: &mut Session, from: SocketAddr) -> bool {
        let mut room = [0; OVERHEAD + 2];
        let message = session.seal(b"21", &mut room, &mut P256, &mut self.rng).expect("room");
        let (heard, receipt) = self.diet.handle(message, from, self.now);
        matches!(heard, Heard::Message { text, .. } if text == b"21")
            && receipt.is_some_and(|mut receipt| session.open(&mut receipt, &mut P256).is_ok())
    }

    /// A neighbour that makes itself a session, if it is answered.
    fn meets(&mut self, neighbour: usize, from: SocketAddr) -> Option<Session> {
        let (initiator, hello) = self.says_hello(neighbour);
        let answer = self.answer(&hello, from)?;
        let mut session = self.session(&initiator, &answer);
        self.delivers(&mut session, from).then_some(session)
    }
}

#[test]
fn a_flood_of_strangers_leaves_neighbours_their_answers() {
    let mut place = place::<1>();
    let stranger = Identity::generate(&mut P256, &mut place.rng).expect("in software");
    let (_, hello) = stranger.hello(&mut P256, &mut place.rng).expect("in software");
    for _ in 0..10_000 {
        let (heard, answer) = place.diet.handle(&mut hello.clone(), at("::1", 1), START);
        assert!(matches!(heard, Heard::Refused("not admitted")) && answer.is_none());
    }
    assert!(place.meets(0, at("::1", 1)).is_some());
}

#[test]
fn a_recorded_hello_costs_one_answer_whatever_port_it_comes_from() {
    let mut place = place::<2>();
    let (_, recorded) = place.says_hello(0);
    let first = place.answer(&recorded, at("127.0.0.1", 1)).expect("an answer");
    for port in 1..=400 {
        assert_eq!(place.answer(&recorded, at("127.0.0.1", port)).as_ref(), Some(&first));
        if port % 100 == 0 {
            // From this very address another neighbour is heard, and goes on being heard.
            let from = at("127.0.0.1", 1000 + port);
            let mut session = place.meets(1, from).expect("a session");
            assert!(place.delivers(&mut session, from));
        }
    }
    // The neighbour itself is not in the way of its own recording.
    assert!(place.meets(0, at("127.0.0.1", 2000)).is_some());
}

#[test]
fn a_source_with_many_recorded_hellos_has_a_share_of_the_answers() {
    let mut place = place::<3>();
    // Two are there already, and one of them shares its address with nobody.
    let known = at("192.0.2.1", 1);
    let mut session = place.meets(0, known).expect("a session");
    place.now = place.now + Duration::from_secs(1);
    let recorded: Vec<Hello> = (0..60).map(|_| place.says_hello(1).1).collect();
    let from_one = |port| at("2001:db8::9", port);
    let answered =
        (1..).zip(&recorded).filter(|(port, hello)| place.answer(hello, from_one(*port)).is_some());
    assert_eq!(answered.count(), 12);
    assert!(place.meets(2, at("192.0.2.3", 1)).is_some(), "others have theirs");
    // Under invented addresses there is half for all together, and neighbours have the other half.
    let invented = |number: usize| at(&format!("198.51.100.{number}"), 7);
    let answered =
        (1..).zip(&recorded[12..]).filter(|(from, hello)| place.answer(hello, invented(*from)).is_some());
    assert_eq!(answered.count(), 12);
    assert!(place.meets(2, at("192.0.2.4", 1)).is_none(), "a newcomer cannot be told from them");
    assert!(place.meets(2, at("192.0.2.3", 9)).is_some(), "a neighbour that starts again can");
    assert!(place.delivers(&mut session, known));
    place.now = place.now + Duration::from_secs(1);
    assert!(place.meets(2, at("192.0.2.4", 1)).is_some());
}

#[test]
fn what_is_forged_in_a_neighbours_very_address_stops_no_message() {
    let mut place = place::<2>();
    let from = at("192.0.2.1", 4000);
    let recorded: Vec<Hello> = (0..5).map(|_| place.says_hello(0).1).collect();
    place.answer(&recorded[0], from);
    let (initiator, hello) = place.says_hello(0);
    // Somebody sees it, and sends it before it is there.
    place.answer(&hello, at("203.0.113.5", 1));
    let answer = place.answer(&hello, from).expect("an answer");
    for port in 1..100 {
        place.answer(&hello, at("203.0.113.5", port));
    }
    recorded[1..].iter().for_each(|hello| drop(place.answer(hello, from)));
    let mut session = place.session(&initiator, &answer);
    assert!(place.delivers(&mut session, from));
    // A later handshake that comes to nothing takes nothing of the session.
    place.now = place.now + Duration::from_secs(1);
    let (_, later) = place.says_hello(0);
    place.answer(&later, from);
    assert!(place.delivers(&mut session, from));
}

#[test]
fn a_source_that_comes_from_all_ports_takes_its_own_places() {
    let mut place = place::<2>();
    let other = at("192.0.2.1", 1);
    let mut session = place.meets(0, other).expect("a session");
    let mut last = None;
    for port in 1..=100 {
        place.now = place.now + Duration::from_millis(100);
        last = place.meets(1, at("192.0.2.2", port));
    }
    assert_eq!(place.diet.neighbours.len(), PLACES);
    assert!(place.delivers(&mut session, other));
    assert!(place.delivers(&mut last.expect("a session"), at("192.0.2.2", 100)));
}
