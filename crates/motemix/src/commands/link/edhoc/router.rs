//! A router in the mode `edhoc`.

use super::{Clock, Host, Shakes, carried};
use crate::cli::Neighbours;
use crate::commands::link::router::Heard;
use crate::commands::link::told::Told;
use crate::commands::link::{in_hex, rng};
use crate::failure::Failure;
use crate::report::counted;
use motemix_host::rng::HostRng;
use motemix_neighbour::datagram::{Content, Datagram, Name, Protected, SecurityContext};
use motemix_neighbour::handshakes::{Event, HandshakeDrop, Peer, is_message_1};
use motemix_neighbour::{PublicKey, Refused};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Handshakes under way at a time. Which address has which of them is drawn at the start.
const HANDSHAKES: usize = 32;
/// Neighbours at a time.
const PLACES: usize = 64;
/// Who said nothing for so long may lose its place to another.
const IDLE: Duration = Duration::from_hours(1);
/// Handshakes that are answered in a second. Each takes four scalar multiplications.
const ANSWERS: f64 = 50.0;
/// Texts of a neighbour that are recognised under another key.
const NAMES: usize = 8;

pub struct Router {
    host: Host,
    rng: HostRng,
    length: usize,
    clock: Clock,
    /// A stranger must not choose which handshake it is in the way of.
    addresses: [RandomState; 2],
    handshakes: Vec<Shakes>,
    neighbours: HashMap<PublicKey, Neighbour>,
    /// Answers that may be given now, and since when.
    answers: (f64, Instant),
    told: Told,
}

/// A neighbour that has proved itself.
struct Neighbour {
    current: Option<Session>,
    /// Made by a later handshake. It takes the place of the other when a datagram comes under it.
    next: Option<Session>,
    /// The last texts.
    names: VecDeque<Name>,
    heard: Instant,
}

struct Session {
    address: SocketAddr,
    /// In a box, because a session is moved.
    context: Box<SecurityContext>,
    /// What acknowledged the datagram with this number: once more, if it comes once more.
    receipt: Option<(u32, Vec<u8>)>,
}

impl Router {
    pub fn new(neighbours: &Neighbours) -> Result<Self, Failure> {
        let (host, mut rng) = (Host::new(neighbours)?, rng()?);
        let handshakes = (0..HANDSHAKES).map(|_| host.handshakes(&mut rng)).collect();
        Ok(Self {
            host,
            rng,
            length: neighbours.length().into(),
            clock: Clock::start(),
            addresses: [(); 2].map(|()| RandomState::new()),
            handshakes,
            neighbours: HashMap::new(),
            answers: (ANSWERS, Instant::now()),
            told: Told::default(),
        })
    }

    pub fn identity(&self) -> String {
        in_hex(&self.host.public)
    }

    /// Takes a datagram in. An error is this host's own: it cannot keep what it learnt.
    pub fn handle(&mut self, datagram: &[u8], from: SocketAddr) -> Result<(Heard, Option<Vec<u8>>), Failure> {
        if datagram.len() != self.length {
            return Ok((Heard::Refused("not of --length bytes"), None));
        }
        match Datagram::parse(datagram) {
            Ok(Datagram::Handshake(message)) => self.handshake(message, from),
            Ok(Datagram::Protected(protected)) => Ok(self.protected(&protected, from)),
            Err(_) => Ok((Heard::Refused("no message of the protocol"), None)),
        }
    }

    fn handshake(&mut self, message: &[u8], from: SocketAddr) -> Result<(Heard, Option<Vec<u8>>), Failure> {
        let [which, whose] = self.addresses.each_ref().map(|state| state.hash_one(from));
        let peer = Peer(whose.to_be_bytes());
        let (now, slot) = (self.clock.now(), which as usize % HANDSHAKES);
        if is_message_1(message) && !self.may_answer() {
            return Ok((Heard::Refused("too many handshakes a second"), None));
        }
        let Some(handshakes) = self.handshakes.get_mut(slot) else { return Ok((Heard::Nothing, None)) };
        let asking = self.host.asking(from.ip().to_string());
        handshakes.handle_timeout(now);
        let before = *handshakes.counters();
        if let Err(reason) = handshakes.handle(now, peer, message, &asking) {
            return Ok((Heard::Refused(name(reason)), None));
        }
        if handshakes.counters().answered > before.answered {
            // Wrong cookies use up no answers.
            self.answers.0 -= 1.0;
        }
        while handshakes.work(now, &asking, &mut self.rng) {}
        let event = handshakes.poll_event();
        // All that is due is an answer to this message.
        let reply = handshakes.poll_transmit(now).filter(|transmit| transmit.to == peer);
        let reply = reply.map(|transmit| carried(&transmit, self.length)).transpose()?;
        let dropped = HandshakeDrop::ALL
            .iter()
            .find(|reason| handshakes.counters().dropped(**reason) > before.dropped(**reason));
        if let Some(reason) = dropped {
            if let Some((identity, line)) = asking.refusal(from) {
                self.told.tell(*identity.as_bytes(), |_| line);
            }
            return Ok((Heard::Refused(name(*reason)), reply));
        }
        if let (Some(Event::Key { key, role, .. }), Some(identity)) = (event, asking.proved.get()) {
            let learnt = asking.learn(&identity, from);
            drop(asking);
            let context = Box::new(SecurityContext::new(key, role));
            let refused = match learnt {
                Err(failure) => {
                    // It is not trusted, and may come again when it can be kept.
                    self.told.tell(*identity.as_bytes(), |_| failure.to_string());
                    Some("met for the first time, and not kept")
                }
                Ok(()) if self.settle(identity, Session { address: from, context, receipt: None }) => None,
                Ok(()) => Some("all places are taken"),
            };
            if let Some(reason) = refused {
                // It is not told that both have a key, now or when it asks again.
                if let Some(place) = self.handshakes.get_mut(slot) {
                    *place = self.host.handshakes(&mut self.rng);
                }
                return Ok((Heard::Refused(reason), None));
            }
        }
        Ok((Heard::Nothing, reply))
    }

    fn may_answer(&mut self) -> bool {
        let (left, since) = self.answers;
        let now = Instant::now();
        self.answers = ((left + ANSWERS * (now - since).as_secs_f64()).min(ANSWERS), now);
        self.answers.0 >= 1.0
    }

    /// Gives a session its place; `false` if there is none.
    fn settle(&mut self, identity: PublicKey, session: Session) -> bool {
        let now = Instant::now();
        if self.neighbours.len() >= PLACES && !self.neighbours.contains_key(&identity) {
            self.neighbours.retain(|_, neighbour| now - neighbour.heard < IDLE);
            if self.neighbours.len() >= PLACES {
                return false;
            }
        }
        let none = Neighbour { current: None, next: None, names: VecDeque::new(), heard: now };
        self.neighbours.entry(identity).or_insert(none).next = Some(session);
        true
    }

    fn protected(&mut self, protected: &Protected, from: SocketAddr) -> (Heard, Option<Vec<u8>>) {
        let mut reason = "no handshake before";
        for (identity, neighbour) in &mut self.neighbours {
            if !neighbour.is_at(from) {
                continue;
            }
            match neighbour.open(protected, from, self.length) {
                Opened::Text { text, receipt } => {
                    return (Heard::Message { text, peer: Some(*identity) }, Some(receipt));
                }
                Opened::Again(receipt) => return (Heard::Refused("replayed"), receipt),
                Opened::Refused(because) => reason = because,
            }
        }
        (Heard::Refused(reason), None)
    }

    pub fn report(&self) {
        let sum = |of: fn(&Shakes) -> u32| self.handshakes.iter().map(|one| u64::from(of(one))).sum::<u64>();
        let answered = sum(|one| one.counters().answered);
        let completed = sum(|one| one.counters().completed);
        let answered = counted(answered, "handshake", "handshakes");
        let neighbours = counted(self.neighbours.len() as u64, "neighbour", "neighbours");
        eprintln!("motemix: {answered} answered, {completed} completed, {neighbours}");
    }
}

enum Opened {
    Text { text: Vec<u8>, receipt: Vec<u8> },
    Again(Option<Vec<u8>>),
    Refused(&'static str),
}

impl Neighbour {
    fn is_at(&self, address: SocketAddr) -> bool {
        self.current.iter().chain(&self.next).any(|session| session.address == address)
    }

    fn open(&mut self, protected: &Protected, from: SocketAddr, length: usize) -> Opened {
        let mut reason = "altered, or of another handshake";
        for is_next in [false, true] {
            let place = if is_next { &mut self.next } else { &mut self.current };
            let Some(session) = place.as_mut().filter(|session| session.address == from) else { continue };
            let mut room = vec![0; length];
            match session.context.open(protected, &mut room) {
                Ok((number, Content::Text { name, text })) => {
                    let Ok(receipt) = session.acknowledge(number, length) else { continue };
                    if is_next {
                        self.current = self.next.take();
                    }
                    self.heard = Instant::now();
                    if self.names.contains(&name) {
                        return Opened::Again(Some(receipt));
                    }
                    self.names.truncate(NAMES - 1);
                    self.names.push_front(name);
                    return Opened::Text { text: text.to_vec(), receipt };
                }
                Err(Refused::Replayed) => {
                    let is_last = |receipt: &&(u32, Vec<u8>)| receipt.0 == protected.number();
                    return Opened::Again(
                        session.receipt.as_ref().filter(is_last).map(|last| last.1.clone()),
                    );
                }
                Ok((_, Content::Receipt(_) | Content::Payload(_))) | Err(Refused::Kind) => {
                    reason = "no message of the protocol"
                }
                Err(Refused::Exhausted) => {
                    reason = "its keys have ended";
                    *place = None;
                }
                Err(_) => {}
            }
        }
        Opened::Refused(reason)
    }
}

impl Session {
    fn acknowledge(&mut self, number: u32, length: usize) -> Result<Vec<u8>, Refused> {
        let mut receipt = vec![0; length];
        self.context.seal(&Content::Receipt(number), &mut receipt)?;
        self.receipt = Some((number, receipt.clone()));
        Ok(receipt)
    }
}

/// A reason, as a person is told.
fn name(reason: HandshakeDrop) -> &'static str {
    match reason {
        HandshakeDrop::Unexpected => "no message that a handshake waits for",
        HandshakeDrop::Stranger => "not admitted",
        HandshakeDrop::WrongCookie => "first message with a wrong or old cookie",
        HandshakeDrop::WrongEcho => "answer to another first message",
        HandshakeDrop::Busy => "another handshake is under way",
        HandshakeDrop::Malformed => "malformed message of a handshake",
        HandshakeDrop::OtherSuite => "another method or cipher suite",
        HandshakeDrop::PublicKey => "no point of the curve",
        HandshakeDrop::Unproved => "handshake altered, or of who has not the key",
        HandshakeDrop::OtherKey => "credential by a name",
        HandshakeDrop::Engine => "the accelerator failed",
    }
}
