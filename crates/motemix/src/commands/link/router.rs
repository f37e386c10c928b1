//! `motemix link router`: answers neighbours, and prints what they say.

use super::carrier::Carrier;
use super::edhoc;
use super::literal::Literal;
use super::told::Told;
use super::{DATAGRAM_LEN, Us, check, in_hex, not_admitted, rng};
use crate::cli::{LinkRouter as Args, Mode, Neighbours};
use crate::failure::Failure;
use crate::program::on_interrupt;
use crate::report::{counted, printable};
use anyhow::Context;
use motemix_host::memory;
use motemix_host::rng::HostRng;
use motemix_neighbour::diet::settled::{ANSWER_LEN, HELLO_LEN, OVERHEAD, Pending, Session, claimed};
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PublicKey, Refused};
use serde_json::json;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// Neighbours at a time.
pub const PLACES: usize = 64;
/// Who said nothing for so long may lose its place to another.
const IDLE: Duration = Duration::from_hours(1);
/// A handshake of which nothing more came for so long gives way to another from its address.
const HANDSHAKE: Duration = Duration::from_secs(3);
/// Answers a second. Each takes three scalar multiplications, and its asker may be invented.
const ANSWERS: f64 = 50.0;

pub fn router(args: &Args) -> Result<(), Failure> {
    let interrupted = on_interrupt()?;
    check(&args.neighbours)?;
    let mut router = Router::new(&args.neighbours, args.json)?;
    let mut carrier = Carrier::open(&args.neighbours, args.listen, LOOK)?;
    router.say_where(&carrier)?;
    memory::tell();
    let mut buffer = vec![0; DATAGRAM_LEN];
    while !interrupted.load(Ordering::Relaxed) {
        let Some((datagram, from)) = carrier.receive(&mut buffer)? else { continue };
        memory::wiped(|| router.take(datagram, from, &mut carrier))?;
    }
    router.report();
    Ok(())
}

fn show(text: &[u8], from: SocketAddr, peer: Option<&PublicKey>, json: bool) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(text);
    let line = if json {
        json!({ "from": from.to_string(), "identity": peer.map(in_hex), "text": text }).to_string()
    } else {
        let who = peer.map_or_else(|| from.to_string(), |peer| in_hex(peer)[..12].to_owned());
        format!("{who}  {}", printable(&text))
    };
    // A reader that has gone is an error here: nobody has the message, so it is not acknowledged.
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("cannot write a message to stdout")?;
    Ok(())
}

/// Answers neighbours, and prints what they say.
pub struct Router {
    protocol: Protocol,
    json: bool,
    /// Datagrams that were dropped, by reason.
    refused: BTreeMap<&'static str, u64>,
}

impl Router {
    pub fn new(neighbours: &Neighbours, json: bool) -> Result<Self, Failure> {
        let mut rng = rng()?;
        let protocol = match neighbours.mode {
            Mode::Plain => Protocol::Plain,
            Mode::Literal => Protocol::Literal(Rc::new(RefCell::new(Literal::new(&mut rng)?))),
            Mode::Edhoc => Protocol::Edhoc(Box::new(edhoc::Router::new(neighbours)?)),
            Mode::Diet => Protocol::Diet(Box::new(Diet::new(Us::new(neighbours)?, rng))),
        };
        Ok(Self { protocol, json, refused: BTreeMap::new() })
    }

    /// The paper's node, in the mode `literal`.
    pub fn literal(&self) -> Option<Rc<RefCell<Literal>>> {
        match &self.protocol {
            Protocol::Literal(literal) => Some(Rc::clone(literal)),
            _ => None,
        }
    }

    /// Tells a person where it is reached.
    pub fn say_where(&self, carrier: &Carrier) -> Result<(), Failure> {
        eprintln!("motemix: listening on {}{}", carrier.local_addr()?, self.protocol.who());
        Ok(())
    }

    /// Takes a datagram in, prints its message, and answers it.
    pub fn take(
        &mut self,
        datagram: &mut [u8],
        from: SocketAddr,
        carrier: &mut Carrier,
    ) -> Result<(), Failure> {
        let (heard, reply) = self.protocol.handle(datagram, from)?;
        // What is acknowledged has been printed.
        match heard {
            Heard::Message { text, peer } => show(&text, from, peer.as_ref(), self.json)?,
            Heard::Nothing => {}
            Heard::Refused(reason) => *self.refused.entry(reason).or_default() += 1,
        }
        if let Some(reply) = reply {
            // A receipt that is lost is asked for again.
            let _ = carrier.send_to(&reply, from);
        }
        Ok(())
    }

    pub fn report(&self) {
        if let Protocol::Edhoc(edhoc) = &self.protocol {
            edhoc.report();
        }
        for (reason, count) in &self.refused {
            eprintln!("motemix: {} dropped: {reason}", counted(*count, "datagram", "datagrams"));
        }
    }
}

/// What a datagram was.
pub enum Heard {
    Message { text: Vec<u8>, peer: Option<PublicKey> },
    Nothing,
    Refused(&'static str),
}

enum Protocol {
    Plain,
    Literal(Rc<RefCell<Literal>>),
    Diet(Box<Diet>),
    Edhoc(Box<edhoc::Router>),
}

impl Protocol {
    fn who(&self) -> String {
        match self {
            Self::Diet(diet) => format!(" as {}", in_hex(&diet.us.identity.public_key())),
            Self::Edhoc(edhoc) => format!(" as {}", edhoc.identity()),
            Self::Plain | Self::Literal(_) => String::new(),
        }
    }

    fn handle(&mut self, datagram: &mut [u8], from: SocketAddr) -> Result<(Heard, Option<Vec<u8>>), Failure> {
        Ok(match self {
            Self::Plain => (Heard::Message { text: datagram.to_vec(), peer: None }, None),
            Self::Literal(literal) => literal.borrow_mut().handle(datagram, from),
            Self::Diet(diet) => diet.handle(datagram, from),
            Self::Edhoc(edhoc) => return edhoc.handle(datagram, from),
        })
    }
}

pub fn refused(reason: Refused) -> Heard {
    Heard::Refused(match reason {
        Refused::Stranger => "not admitted",
        Refused::Replayed | Refused::Repeated => "replayed",
        Refused::Signature | Refused::Ciphertext => "altered, or of another handshake",
        _ => "no message of the protocol",
    })
}

/// The settled protocol, with its neighbours by address.
struct Diet {
    us: Us,
    rng: HostRng,
    neighbours: HashMap<SocketAddr, Neighbour>,
    /// Answers that may be given now, and since when.
    answers: (f64, Instant),
    told: Told,
}

struct Neighbour {
    handshake: Option<Handshake>,
    session: Option<Box<Session>>,
    /// Whom a person was told of.
    known: Option<PublicKey>,
    /// What acknowledged its last message: once more, if the message comes once more.
    receipt: Vec<u8>,
    heard: Instant,
}

struct Handshake {
    hello: [u8; HELLO_LEN],
    answer: [u8; ANSWER_LEN],
    pending: Pending,
    begun: Instant,
}

impl Diet {
    fn new(us: Us, rng: HostRng) -> Self {
        Self {
            us,
            rng,
            neighbours: HashMap::new(),
            answers: (ANSWERS, Instant::now()),
            told: Told::default(),
        }
    }

    fn handle(&mut self, datagram: &mut [u8], from: SocketAddr) -> (Heard, Option<Vec<u8>>) {
        let now = Instant::now();
        let done = match <&[u8; HELLO_LEN]>::try_from(&*datagram) {
            // No message is as short: it has more bytes besides its text.
            Ok(hello) => self.hello(hello, from, now).map(|answer| (Heard::Nothing, answer)),
            Err(_) => self.message(datagram, from, now),
        };
        match done {
            Ok((heard, reply)) => (heard, reply),
            Err(heard) => (heard, None),
        }
    }

    fn hello(
        &mut self,
        hello: &[u8; HELLO_LEN],
        from: SocketAddr,
        now: Instant,
    ) -> Result<Option<Vec<u8>>, Heard> {
        let handshake = self.neighbours.get(&from).and_then(|neighbour| neighbour.handshake.as_ref());
        match handshake {
            // The answer was lost.
            Some(handshake) if handshake.hello == *hello => return Ok(Some(handshake.answer.to_vec())),
            Some(handshake) if now - handshake.begun < HANDSHAKE => {
                return Err(Heard::Refused("another handshake is under way"));
            }
            _ => {}
        }
        self.make_room(from, now)?;
        self.spend_answer(now)?;
        let admission = self.us.admission();
        let answered = self.us.identity.answer(hello, admission, &mut P256, &mut self.rng);
        if matches!(answered, Err(Refused::Stranger)) {
            // Nothing was computed: strangers do not use up the answers of those who are admitted.
            self.answers.0 += 1.0;
            if let Some(identity) = claimed(hello) {
                self.told.tell(identity, |identity| not_admitted(from, identity));
            }
        }
        let (pending, answer) = answered.map_err(refused)?;
        let neighbour = self.neighbours.entry(from).or_insert_with(|| Neighbour {
            handshake: None,
            session: None,
            known: None,
            receipt: Vec::new(),
            heard: now,
        });
        neighbour.handshake = Some(Handshake { hello: *hello, answer, pending, begun: now });
        Ok(Some(answer.to_vec()))
    }

    /// A place for one more, if there is none: of a handshake that came to nothing, or of who is
    /// silent.
    fn make_room(&mut self, from: SocketAddr, now: Instant) -> Result<(), Heard> {
        if self.neighbours.len() < PLACES || self.neighbours.contains_key(&from) {
            return Ok(());
        }
        let patience = |neighbour: &Neighbour| if neighbour.session.is_some() { IDLE } else { HANDSHAKE };
        self.neighbours.retain(|_, neighbour| now - neighbour.heard < patience(neighbour));
        if self.neighbours.len() < PLACES { Ok(()) } else { Err(Heard::Refused("all places are taken")) }
    }

    fn spend_answer(&mut self, now: Instant) -> Result<(), Heard> {
        let (left, since) = self.answers;
        let left = (left + ANSWERS * (now - since).as_secs_f64()).min(ANSWERS);
        self.answers = (left, now);
        if left < 1.0 {
            return Err(Heard::Refused("too many handshakes a second"));
        }
        self.answers.0 -= 1.0;
        Ok(())
    }

    fn message(
        &mut self,
        datagram: &mut [u8],
        from: SocketAddr,
        now: Instant,
    ) -> Result<(Heard, Option<Vec<u8>>), Heard> {
        let Some(neighbour) = self.neighbours.get_mut(&from) else {
            return Err(Heard::Refused("no handshake before"));
        };
        let opened = neighbour.open(datagram);
        if opened == Err(Refused::Repeated) && !neighbour.receipt.is_empty() {
            return Ok((refused(Refused::Repeated), Some(neighbour.receipt.clone())));
        }
        let text = opened.map_err(refused)?;
        let Some(session) = &mut neighbour.session else { return Ok((Heard::Nothing, None)) };
        if neighbour.known != Some(session.peer()) {
            self.us.warn_of(&session.peer(), from);
            neighbour.known = Some(session.peer());
        }
        let mut room = [0; OVERHEAD];
        let receipt = session.seal(&[], &mut room, &mut P256, &mut self.rng).map_err(refused)?;
        neighbour.receipt = receipt.to_vec();
        neighbour.heard = now;
        let peer = session.peer();
        Ok((Heard::Message { text, peer: Some(peer) }, Some(neighbour.receipt.clone())))
    }
}

impl Neighbour {
    /// Opens a message of the session, or the first one of the handshake, which then becomes the
    /// session.
    fn open(&mut self, datagram: &mut [u8]) -> Result<Vec<u8>, Refused> {
        let mut copy = datagram.to_vec();
        let of_session = match &mut self.session {
            Some(session) => session.open(datagram, &mut P256).map(|text| text.to_vec()),
            None => Err(Refused::Ciphertext),
        };
        let Some(mut handshake) = self.handshake.take() else { return of_session };
        if of_session.is_ok() {
            self.handshake = Some(handshake);
            return of_session;
        }
        match handshake.pending.open(&mut copy, &mut P256) {
            Ok((session, text)) => {
                self.session = Some(Box::new(session));
                Ok(text.to_vec())
            }
            Err((pending, _)) => {
                handshake.pending = pending;
                self.handshake = Some(handshake);
                of_session
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_neighbour::diet::settled::Identity;

    #[test]
    fn a_flood_of_strangers_leaves_neighbours_their_answers() {
        let mut rng = rng().expect("random numbers");
        let [neighbour, stranger, identity] =
            [(); 3].map(|()| Identity::generate(&mut P256, &mut rng).expect("in software"));
        let us = Us { identity, admitted: Some(vec![neighbour.public_key()]) };
        let hellos = [stranger, neighbour].map(|who| who.hello(&mut P256, &mut rng).expect("in software").1);
        let mut diet = Diet::new(us, rng);
        let from = "[::1]:1".parse().expect("an address");
        for _ in 0..10_000 {
            let (heard, answer) = diet.handle(&mut hellos[0].clone(), from);
            assert!(matches!(heard, Heard::Refused("not admitted")) && answer.is_none());
        }
        assert!(diet.handle(&mut hellos[1].clone(), from).1.is_some());
    }
}
