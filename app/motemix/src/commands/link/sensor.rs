//! `motemix link sensor`: sends messages to a neighbour.

use super::carrier::Carrier;
use super::edhoc;
use super::literal::Literal;
use super::router::Router;
use super::{DATAGRAM_LEN, Us, check, in_hex, not_admitted, rng};
use anyhow::Context;
use motemix_neighbour::diet::literal::KEYS_LEN;
use motemix_neighbour::diet::settled::{OVERHEAD, Session, claimed};
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PublicKey, Refused};
use motemix_os::address::without_interface;
use motemix_os::rng::HostRng;
use motemix_program::cli::{LinkSensor as Args, Mode};
use motemix_program::failure::Failure;
use motemix_program::program::on_interrupt;
use motemix_program::report;
use serde_json::json;
use std::cell::RefCell;
use std::io::BufRead;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// What a person is told where nothing shows that a message has arrived.
const NO_RECEIPTS: &str = "this mode has no receipts; look there whether it was printed";
/// How often it looks for interrupts.
pub const LOOK: Duration = Duration::from_millis(100);
/// Tries of each datagram.
const TRIES: u32 = 3;
/// Text of a message that every path of IPv6 carries whole (RFC 8200, section 5), with the rest.
const MOST_TEXT: usize = 1100;
/// The same on a radio, whose longest datagram is that of a packet of motes.
const MOST_TEXT_ON_RADIO: usize = 290;

pub fn sensor(args: &Args) -> Result<(), Failure> {
    check(&args.neighbours)?;
    let is_link_local = matches!(args.to, SocketAddr::V6(to) if to.ip().is_unicast_link_local());
    if args.neighbours.radio.is_some() && !is_link_local {
        return Err(Failure::broken(
            "--to: on a radio a neighbour has a link-local address, fe80::…; it prints that when it starts",
        ));
    }
    if args.neighbours.radio.is_none()
        && let Some(missing) = without_interface(args.to)
    {
        return Err(Failure::broken(format!("--to: {}: {missing}", args.to)));
    }
    let mut sensor = Sensor::new(args)?;
    if args.listen.is_some() {
        return sensor.say_and_listen();
    }
    if let Some(text) = &args.text {
        return sensor.say(text.as_bytes());
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.context("cannot read stdin")?;
        sensor.say(line.as_bytes())?;
        if sensor.air.interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}

struct Sensor<'a> {
    args: &'a Args,
    air: Air,
    rng: HostRng,
    protocol: Protocol,
}

enum Protocol {
    Plain,
    Literal(Rc<RefCell<Literal>>),
    Diet(Box<Us>, Option<Box<Session>>),
    Edhoc(Box<edhoc::Sensor>),
}

/// What carries datagrams, and the router once it has answered.
pub struct Air {
    carrier: Carrier,
    /// What answers others, if this sensor listens.
    router: Option<Router>,
    to: SocketAddr,
    pub wait: Duration,
    buffer: Vec<u8>,
    pub interrupted: Arc<AtomicBool>,
}

impl Air {
    /// Sends a datagram until `take` makes something of an answer; `None` if it never does.
    /// Datagrams from other addresses are nobody's, unless the datagram went to all.
    pub fn ask<T>(
        &mut self,
        datagram: &[u8],
        tries: u32,
        mut take: impl FnMut(&mut [u8]) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let to_all = is_for_many(self.to);
        for _ in 0..tries {
            self.send(datagram)?;
            let until = Instant::now() + self.wait;
            while Instant::now() < until {
                if self.interrupted.load(Ordering::Relaxed) {
                    return Err(Failure::failed("interrupted"));
                }
                let Some((mut answer, from)) = self.receive()? else { continue };
                if !to_all && from != self.to {
                    self.overhear(answer, from)?;
                    continue;
                }
                // An attempt changes what it opens.
                let copy = answer.clone();
                if let Some(taken) = take(&mut answer) {
                    self.to = from;
                    return Ok(Some(taken));
                }
                self.overhear(copy, from)?;
            }
        }
        Ok(None)
    }

    /// Waits for a datagram no longer than this at a time.
    pub fn look_after(&mut self, time: Duration) -> Result<(), Failure> {
        self.carrier.wait_for(time)
    }

    /// The next datagram; `None` if none came in time.
    pub fn receive(&mut self) -> Result<Option<(Vec<u8>, SocketAddr)>, Failure> {
        let received = self.carrier.receive(&mut self.buffer)?;
        Ok(received.map(|(datagram, from)| (datagram.to_vec(), from)))
    }

    /// What is no answer to this sensor may be for the router that it is as well.
    pub fn overhear(&mut self, mut datagram: Vec<u8>, from: SocketAddr) -> Result<(), Failure> {
        match &mut self.router {
            Some(router) => router.take(&mut datagram, from, &mut self.carrier),
            None => Ok(()),
        }
    }

    /// Whom datagrams are sent to.
    pub const fn to(&self) -> SocketAddr {
        self.to
    }

    pub fn send(&mut self, datagram: &[u8]) -> Result<(), Failure> {
        let to = self.to;
        let sent = self.carrier.send_to(datagram, to);
        sent.map_err(|error| Failure::failed(format!("cannot send to {to}: {error}")))
    }
}

/// Whether all that hear it are meant.
pub fn is_for_many(address: SocketAddr) -> bool {
    match address {
        SocketAddr::V4(address) => address.ip().is_broadcast() || address.ip().octets()[3] == 255,
        SocketAddr::V6(address) => address.ip().is_multicast(),
    }
}

impl<'a> Sensor<'a> {
    fn new(args: &'a Args) -> Result<Self, Failure> {
        let mut rng = rng()?;
        let any = if args.to.is_ipv4() {
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
        } else {
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
        };
        let listens = args.listen.is_some();
        let router = listens.then(|| Router::new(&args.neighbours, args.json)).transpose()?;
        let protocol = match args.neighbours.mode {
            Mode::Plain => Protocol::Plain,
            Mode::Literal => {
                // A node has one pair of keys, and with a neighbour one key for both directions.
                let own = match router.as_ref().and_then(Router::literal) {
                    Some(own) => own,
                    None => Rc::new(RefCell::new(Literal::new(&mut rng)?)),
                };
                Protocol::Literal(own)
            }
            Mode::Edhoc => Protocol::Edhoc(Box::new(edhoc::Sensor::new(args)?)),
            Mode::Diet => Protocol::Diet(Box::new(Us::new(&args.neighbours)?), None),
        };
        let air = Air {
            carrier: Carrier::open(&args.neighbours, args.listen.unwrap_or(any), args.wait.min(LOOK))?,
            router,
            to: args.to,
            wait: args.wait,
            buffer: vec![0; DATAGRAM_LEN],
            interrupted: on_interrupt()?,
        };
        if let Some(router) = &air.router {
            router.say_where(&air.carrier)?;
        }
        Ok(Self { args, air, rng, protocol })
    }

    /// Sends what there is to send and answers others, until a signal comes. What is not delivered
    /// is said, and ends nothing: the other may come later.
    fn say_and_listen(&mut self) -> Result<(), Failure> {
        let lines = self.args.text.clone().map_or_else(lines_of_stdin, |text| {
            let (give, lines) = sync_channel(1);
            // It is there until it is taken.
            let _ = give.send(text);
            lines
        });
        let mut undelivered = 0;
        while !self.air.interrupted.load(Ordering::Relaxed) {
            if let Ok(line) = lines.try_recv() {
                if let Err(failure) = self.say(line.as_bytes()) {
                    undelivered += 1;
                    eprintln!("motemix: {failure}");
                }
            } else if let Some((datagram, from)) = self.air.receive()? {
                self.air.overhear(datagram, from)?;
            }
        }
        if let Some(router) = &self.air.router {
            router.report();
        }
        if undelivered > 0 {
            let undelivered = report::counted(undelivered, "message was", "messages were");
            return Err(Failure::failed(format!("{undelivered} not delivered")));
        }
        Ok(())
    }

    /// Sends one message, and prints what became of it.
    fn say(&mut self, text: &[u8]) -> Result<(), Failure> {
        let (len, most, more) = match &self.protocol {
            Protocol::Edhoc(edhoc) => (text.len(), edhoc.most_text(), " with this --length"),
            _ if self.args.neighbours.radio.is_some() => (text.len(), MOST_TEXT_ON_RADIO, " on a radio"),
            _ => (text.len(), MOST_TEXT, ""),
        };
        if len > most {
            return Err(Failure::broken(format!("the text has {len} bytes; a message takes {most}{more}")));
        }
        let begun = Instant::now();
        let acknowledged = match &mut self.protocol {
            Protocol::Plain => self.air.send(text).map(|()| None)?,
            Protocol::Literal(literal) => {
                if !literal.borrow().knows(self.air.to) {
                    meet(&mut self.air, literal)?;
                }
                let datagram = literal.borrow().protect(self.air.to, text, &mut self.rng);
                self.air.send(&datagram.map_err(Failure::failed)?).map(|()| None)?
            }
            Protocol::Diet(us, session) => {
                let known = session.is_some();
                let mut done = deliver(&mut self.air, us, session, text, &mut self.rng)?;
                if !done && known {
                    // The router has restarted, or moved: another handshake, once.
                    *session = None;
                    self.air.to = self.args.to;
                    let again = deliver(&mut self.air, us, session, text, &mut self.rng);
                    done = again.map_err(|failure| stopped(self.air.to, failure))?;
                }
                if !done {
                    return Err(unacknowledged(self.air.to));
                }
                session.as_ref().map(|session| in_hex(&session.peer()))
            }
            Protocol::Edhoc(edhoc) => Some(edhoc.say(&mut self.air, text)?),
        };
        let elapsed = begun.elapsed();
        let to = self.air.to;
        let line = if self.args.json {
            // Whole tenths: what the system's timers and sockets add is more than that.
            let ms = (elapsed.as_secs_f64() * 10_000.0).round() / 10.0;
            json!({ "to": to.to_string(), "acknowledged_by": acknowledged, "elapsed_ms": ms }).to_string()
        } else {
            match acknowledged {
                Some(peer) => format!("acknowledged by {} after {} ms", &peer[..12], elapsed.as_millis()),
                None => format!("sent to {to}, not acknowledged: {NO_RECEIPTS}"),
            }
        };
        Ok(report::print(format!("{line}\n").as_bytes())?)
    }
}

/// Each line of stdin, as it comes; the next is read when one was taken.
fn lines_of_stdin() -> Receiver<String> {
    let (give, lines) = sync_channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if give.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Steps 1 and 2 of the paper.
fn meet(air: &mut Air, literal: &RefCell<Literal>) -> Result<(), Failure> {
    let keys = literal.borrow().keys();
    let answered = air.ask(&keys, TRIES, |answer| (answer.len() == KEYS_LEN).then(|| answer.to_vec()))?;
    let keys = answered.ok_or_else(|| {
        let to = air.to;
        Failure::failed(format!(
            "no answer from {to}; check that a router listens there with the same --mode"
        ))
    })?;
    literal.borrow_mut().meet(&keys, air.to).map_err(|reason| refused(air, reason))
}

/// One message in the session, which is made if there is none. Whether it was acknowledged.
fn deliver(
    air: &mut Air,
    us: &Us,
    session: &mut Option<Box<Session>>,
    text: &[u8],
    rng: &mut HostRng,
) -> Result<bool, Failure> {
    let session = match session {
        Some(session) => session,
        None => session.insert(Box::new(shake_hands(air, us, rng)?)),
    };
    let mut room = vec![0; OVERHEAD + text.len()];
    let datagram = session.seal(text, &mut room, &mut P256, rng).map_err(Failure::failed)?;
    let receipt = air.ask(datagram, TRIES, |answer| session.open(answer, &mut P256).ok().map(|_| ()))?;
    Ok(receipt.is_some())
}

fn shake_hands(air: &mut Air, us: &Us, rng: &mut HostRng) -> Result<Session, Failure> {
    let (initiator, hello) = us.identity.hello(&mut P256, rng).map_err(Failure::failed)?;
    let mut last = None;
    let answered = air.ask(&hello, TRIES, |answer| {
        let finished = initiator.finish(answer, us.admission(), &mut P256);
        finished.map_err(|reason| last = Some((reason, claimed(answer)))).ok()
    });
    let session = answered?.ok_or_else(|| match last {
        None => silent(air, &us.identity.public_key()),
        Some((reason, peer)) => match peer.and_then(|peer| PublicKey::new(peer).ok()) {
            Some(peer) if reason == Refused::Stranger => Failure::failed(not_admitted(air.to, &peer)),
            _ => refused(air, reason),
        },
    })?;
    us.warn_of(&session.peer(), air.to);
    Ok(session)
}

/// No answer: whoever is there may not admit this node, and then says nothing.
fn silent(air: &Air, own: &PublicKey) -> Failure {
    let (to, own) = (air.to, in_hex(own));
    Failure::failed(format!(
        "no answer from {to}; check that a router listens there with the same --mode, and that it admits this node: \
         --admit {own}"
    ))
}

/// Nobody says that a message has arrived, which it may have all the same.
pub fn unacknowledged(to: SocketAddr) -> Failure {
    Failure::failed(format!("{to} did not acknowledge the message; look there for what was dropped"))
}

/// The same of a neighbour that has acknowledged earlier ones, and why there is no other key.
pub fn stopped(to: SocketAddr, failure: Failure) -> Failure {
    failure.context(format!("{to} did not acknowledge the message, and no new key was made"))
}

fn refused(air: &Air, reason: Refused) -> Failure {
    Failure::failed(format!("an answer from {} was refused: {reason}", air.to))
}
