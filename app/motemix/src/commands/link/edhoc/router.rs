//! A router in the mode `edhoc`.

use super::{Host, Shakes, carried};
use crate::commands::link::router::{ANSWERS, Heard, PLACES, account};
use crate::commands::link::told::Told;
use crate::commands::link::{in_hex, rng};
use motemix_coap::oscore::edhoc::Admission;
use motemix_coap::{Account, FairTable, Standing};
use motemix_neighbour::datagram::{Content, Datagram, Name, Protected, SecurityContext};
use motemix_neighbour::handshakes::{Event, HandshakeDrop, Peer, is_message_1};
use motemix_neighbour::{PublicKey, Refused};
use motemix_os::rng::HostRng;
use motemix_program::cli::Neighbours;
use motemix_program::failure::Failure;
use motemix_program::report::counted;
use motemix_time::Instant;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::net::SocketAddr;

/// Handshakes under way at a time.
const HANDSHAKES: usize = 32;
/// Texts of a neighbour that are recognised under another key.
const NAMES: usize = 8;

pub struct Router {
    host: Host,
    rng: HostRng,
    length: usize,
    /// Makes the names of addresses for handshakes.
    names: RandomState,
    /// Bakes cookies for whoever asks, and takes what comes from an address without a handshake. It
    /// has the place of that address once a cookie was good.
    front: Box<Shakes>,
    handshakes: FairTable<SocketAddr, Box<Shakes>>,
    /// Those that were silent for longest first.
    neighbours: FairTable<PublicKey, Neighbour>,
    answers: Admission,
    answered: u64,
    completed: u64,
    told: Told,
}

/// A neighbour that has proved itself.
struct Neighbour {
    current: Option<Session>,
    /// Made by a later handshake. It takes the place of the other when a datagram comes under it.
    next: Option<Session>,
    /// The last texts.
    names: VecDeque<Name>,
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
        let (host, rng) = (Host::new(neighbours)?, rng()?);
        Ok(Self::of(host, neighbours.length().into(), rng))
    }

    fn of(host: Host, length: usize, mut rng: HostRng) -> Self {
        let front = Box::new(host.handshakes(&mut rng));
        Self {
            host,
            rng,
            length,
            names: RandomState::new(),
            front,
            handshakes: FairTable::new(HANDSHAKES),
            neighbours: FairTable::new(PLACES),
            answers: Admission::default(),
            answered: 0,
            completed: 0,
            told: Told::default(),
        }
    }

    pub fn identity(&self) -> String {
        in_hex(&self.host.public)
    }

    /// Takes a datagram in. An error is this host's own: it cannot keep what it learnt.
    pub fn handle(
        &mut self,
        datagram: &[u8],
        from: SocketAddr,
        now: Instant,
    ) -> Result<(Heard, Option<Vec<u8>>), Failure> {
        if datagram.len() != self.length {
            return Ok((Heard::Refused("not of --length bytes"), None));
        }
        match Datagram::parse(datagram) {
            Ok(Datagram::Handshake(message)) => self.handshake(message, from, now),
            Ok(Datagram::Protected(protected)) => Ok(self.protected(&protected, from)),
            Err(_) => Ok((Heard::Refused("no message of the protocol"), None)),
        }
    }

    fn handshake(
        &mut self,
        message: &[u8],
        from: SocketAddr,
        now: Instant,
    ) -> Result<(Heard, Option<Vec<u8>>), Failure> {
        self.handshakes.retain(|_, handshakes| handshakes.poll_deadline().is_some_and(|end| now < end));
        let peer = Peer(self.names.hash_one(from).to_be_bytes());
        let account = account(&self.neighbours, from);
        let of_answer = Account { standing: account.standing.max(Standing::Proven), ..account };
        if is_message_1(message) && self.answers.check(now, of_answer, &ANSWERS).is_err() {
            return Ok((Heard::Refused("too many handshakes a second"), None));
        }
        let place = self.handshakes.get_mut(&from);
        let is_new = place.is_none();
        let handshakes = place.unwrap_or(&mut self.front);
        let asking = self.host.asking(from.ip().to_string());
        handshakes.handle_timeout(now);
        let before = *handshakes.counters();
        if let Err(reason) = handshakes.handle(now, peer, message, &asking) {
            return Ok((Heard::Refused(name(reason)), None));
        }
        let is_begun = handshakes.counters().answered > before.answered;
        if is_begun {
            // Wrong cookies use up no answers.
            self.answers.count(of_answer);
        }
        while handshakes.work(now, &asking, &mut self.rng) {}
        let event = handshakes.poll_event();
        // All that is due is an answer to this message.
        let reply = handshakes.poll_transmit(now).filter(|transmit| transmit.to == peer);
        let reply = reply.map(|transmit| carried(&transmit, self.length)).transpose()?;
        let after = *handshakes.counters();
        self.answered += u64::from(after.answered - before.answered);
        self.completed += u64::from(after.completed - before.completed);
        if is_begun && is_new {
            let mut front = Box::new(self.host.handshakes(&mut self.rng));
            front.share_cookies(&self.front);
            self.handshakes.insert(from, account, mem::replace(&mut self.front, front));
        }
        let is_dropped = |reason: &&HandshakeDrop| after.dropped(**reason) > before.dropped(**reason);
        if let Some(reason) = HandshakeDrop::ALL.iter().find(is_dropped) {
            if let Some((identity, line)) = asking.refusal(from) {
                self.told.tell(*identity.as_bytes(), |_| line);
            }
            return Ok((Heard::Refused(name(*reason)), reply));
        }
        if let (Some(Event::Key { key, role, .. }), Some(identity)) = (event, asking.proved.get()) {
            let learnt = asking.learn(&identity, from);
            drop(asking);
            if let Err(failure) = learnt {
                // It is not trusted, and may come again when it can be kept. It is not told that
                // both have a key, now or when it asks again.
                self.told.tell(*identity.as_bytes(), |_| failure.to_string());
                self.handshakes.remove(&from);
                return Ok((Heard::Refused("met for the first time, and not kept"), None));
            }
            let context = Box::new(SecurityContext::new(key, role));
            self.settle(identity, Session { address: from, context, receipt: None });
        }
        Ok((Heard::Nothing, reply))
    }

    /// Gives a session its place.
    fn settle(&mut self, identity: PublicKey, session: Session) {
        let account = Account::certain(session.address.into());
        let before = self.neighbours.remove(&identity);
        let none = Neighbour { current: None, next: None, names: VecDeque::new() };
        let neighbour = Neighbour { next: Some(session), ..before.unwrap_or(none) };
        self.neighbours.insert(identity, account, neighbour);
    }

    fn protected(&mut self, protected: &Protected, from: SocketAddr) -> (Heard, Option<Vec<u8>>) {
        let mut reason = "no handshake before";
        let there = self.neighbours.iter().filter(|(_, neighbour)| neighbour.is_at(from));
        let there: Vec<PublicKey> = there.map(|(identity, _)| *identity).collect();
        for identity in there {
            let Some(neighbour) = self.neighbours.get_mut(&identity) else { continue };
            match neighbour.open(protected, from, self.length) {
                Opened::Text { text, receipt } => {
                    // It is the one that was heard last.
                    if let Some(neighbour) = self.neighbours.remove(&identity) {
                        self.neighbours.insert(identity, Account::certain(from.into()), neighbour);
                    }
                    return (Heard::Message { text, peer: Some(identity) }, Some(receipt));
                }
                Opened::Again(receipt) => return (Heard::Refused("replayed"), receipt),
                Opened::Refused(because) => reason = because,
            }
        }
        (Heard::Refused(reason), None)
    }

    pub fn report(&self) {
        let answered = counted(self.answered, "handshake", "handshakes");
        let completed = self.completed;
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

#[cfg(test)]
mod tests;
