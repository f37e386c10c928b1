//! `motemix link router`: answers neighbours, and prints what they say.

use super::carrier::Carrier;
use super::diet::Diet;
use super::edhoc;
use super::literal::Literal;
use super::{Clock, DATAGRAM_LEN, Us, check, in_hex, rng};
use anyhow::Context;
use motemix_coap::oscore::edhoc::Bounds;
use motemix_coap::{Account, FairTable, Standing};
use motemix_neighbour::{PublicKey, Refused};
use motemix_os::memory;
use motemix_program::cli::{LinkRouter as Args, Mode, Neighbours};
use motemix_program::failure::Failure;
use motemix_program::program::on_interrupt;
use motemix_program::report::{counted, printable};
use motemix_time::Instant;
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::io::Write;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// Neighbours at a time.
pub const PLACES: usize = 64;
/// Handshakes that are answered in a second, of three or four multiplications each.
const A_SECOND: u32 = 50;
/// A source has a quarter of them, and one of a neighbour up to half while they are free. Sources
/// without a neighbour have half together: a hello may be recorded, and an address invented.
pub const ANSWERS: Bounds = Bounds { begun: A_SECOND, of_an_account: A_SECOND / 4, unproven: 0 };

/// As whose a handshake counts. An address that no neighbour has may be invented, or a hello
/// recorded: what that takes is not taken from those who have proved themselves.
pub fn account<K: Hash + Eq + Copy, V>(neighbours: &FairTable<K, V>, from: SocketAddr) -> Account {
    let account = Account::certain(from.into());
    let standing = if neighbours.len_of(account) > 0 { Standing::Certain } else { Standing::Unproven };
    Account { standing, ..account }
}

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
    clock: Clock,
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
        Ok(Self { protocol, clock: Clock::start(), json, refused: BTreeMap::new() })
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
        let (heard, reply) = self.protocol.handle(datagram, from, self.clock.now())?;
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
            Self::Diet(diet) => format!(" as {}", diet.identity()),
            Self::Edhoc(edhoc) => format!(" as {}", edhoc.identity()),
            Self::Plain | Self::Literal(_) => String::new(),
        }
    }

    fn handle(
        &mut self,
        datagram: &mut [u8],
        from: SocketAddr,
        now: Instant,
    ) -> Result<(Heard, Option<Vec<u8>>), Failure> {
        Ok(match self {
            Self::Plain => (Heard::Message { text: datagram.to_vec(), peer: None }, None),
            Self::Literal(literal) => literal.borrow_mut().handle(datagram, from, now),
            Self::Diet(diet) => diet.handle(datagram, from, now),
            Self::Edhoc(edhoc) => return edhoc.handle(datagram, from, now),
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
