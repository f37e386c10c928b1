//! A router in the mode `diet`: the settled protocol.

use super::router::{ANSWERS, Heard, PLACES, account, refused};
use super::told::Told;
use super::{Us, in_hex, not_admitted};
use motemix_coap::oscore::edhoc::Admission;
use motemix_coap::{Account, FairTable, Source, Standing};
use motemix_neighbour::diet::settled::{ANSWER_LEN, HELLO_LEN, OVERHEAD, Pending, Session, claimed};
use motemix_neighbour::suite::P256;
use motemix_neighbour::{PublicKey, Refused};
use motemix_os::rng::HostRng;
use motemix_time::Instant;
use std::net::SocketAddr;

/// Hellos whose answers are kept.
const HELLOS: usize = 64;
/// Addresses from which one hello came, of which one may have its first message. Whoever records a
/// hello sends it from others as well.
const CALLERS: usize = 8;

type Hello = [u8; HELLO_LEN];

/// The settled protocol, with its neighbours by address.
pub struct Diet {
    us: Us,
    rng: HostRng,
    /// Those that were answered: a hello that comes again gets the same answer, whoever sends it,
    /// for which nothing is computed.
    hellos: FairTable<Hello, Handshake>,
    /// Neighbours that have proved themselves, those that were silent for longest first.
    neighbours: FairTable<SocketAddr, Neighbour>,
    answers: Admission,
    told: Told,
}

struct Neighbour {
    session: Box<Session>,
    /// What acknowledged its last message: once more, if the message comes once more.
    receipt: Vec<u8>,
}

struct Handshake {
    answer: [u8; ANSWER_LEN],
    /// `None` once the first message came.
    pending: Option<Box<Pending>>,
    callers: FairTable<SocketAddr, ()>,
}

impl Diet {
    pub fn new(us: Us, rng: HostRng) -> Self {
        Self {
            us,
            rng,
            hellos: FairTable::new(HELLOS),
            neighbours: FairTable::new(PLACES),
            answers: Admission::default(),
            told: Told::default(),
        }
    }

    pub fn identity(&self) -> String {
        in_hex(&self.us.identity.public_key())
    }

    pub fn handle(
        &mut self,
        datagram: &mut [u8],
        from: SocketAddr,
        now: Instant,
    ) -> (Heard, Option<Vec<u8>>) {
        let done = match <&Hello>::try_from(&*datagram) {
            // No message is as short: it has more bytes besides its text.
            Ok(hello) => self.hello(hello, from, now).map(|answer| (Heard::Nothing, Some(answer.to_vec()))),
            Err(_) => self.message(datagram, from),
        };
        match done {
            Ok((heard, reply)) => (heard, reply),
            Err(heard) => (heard, None),
        }
    }

    fn hello(&mut self, hello: &Hello, from: SocketAddr, now: Instant) -> Result<[u8; ANSWER_LEN], Heard> {
        let account = account(&self.neighbours, from);
        if let Some(handshake) = self.hellos.get_mut(hello) {
            handshake.note(from);
            return Ok(handshake.answer);
        }
        let of_answer = Account { standing: account.standing.max(Standing::Proven), ..account };
        if self.answers.check(now, of_answer, &ANSWERS).is_err() {
            return Err(Heard::Refused("too many handshakes a second"));
        }
        let admission = self.us.admission();
        let answered = self.us.identity.answer(hello, admission, &mut P256, &mut self.rng);
        if !matches!(answered, Err(Refused::Stranger)) {
            // For a stranger nothing was computed.
            self.answers.count(of_answer);
        } else if let Some(identity) = claimed(hello) {
            self.told.tell(identity, |identity| not_admitted(from, identity));
        }
        let (pending, answer) = answered.map_err(refused)?;
        let callers = FairTable::new(CALLERS);
        let mut handshake = Handshake { answer, pending: Some(Box::new(pending)), callers };
        handshake.note(from);
        self.hellos.insert(*hello, account, handshake);
        Ok(answer)
    }

    fn message(&mut self, datagram: &mut [u8], from: SocketAddr) -> Result<(Heard, Option<Vec<u8>>), Heard> {
        let mut copy = datagram.to_vec();
        let of_session = match self.neighbours.get_mut(&from) {
            Some(neighbour) => match neighbour.session.open(datagram, &mut P256) {
                Err(Refused::Repeated) if !neighbour.receipt.is_empty() => {
                    return Ok((refused(Refused::Repeated), Some(neighbour.receipt.clone())));
                }
                opened => Some(opened.map(|text| text.to_vec())),
            },
            None => None,
        };
        let text = match of_session {
            Some(Ok(text)) => text,
            of_session => match self.begin(&mut copy, from) {
                First::Opened(text) => text,
                First::Altered if of_session.is_none() => return Err(refused(Refused::Ciphertext)),
                First::Altered | First::None => {
                    let reason = of_session.and_then(Result::err);
                    return Err(reason.map_or(Heard::Refused("no handshake before"), refused));
                }
            },
        };
        // It is the one that was heard last.
        let Some(mut neighbour) = self.neighbours.remove(&from) else { return Ok((Heard::Nothing, None)) };
        let peer = neighbour.session.peer();
        let mut room = [0; OVERHEAD];
        let sealed = neighbour.session.seal(&[], &mut room, &mut P256, &mut self.rng);
        let sealed = sealed.map(|receipt| receipt.to_vec());
        neighbour.receipt = sealed.as_deref().map_or_else(|_| Vec::new(), <[u8]>::to_vec);
        self.neighbours.insert(from, Account::certain(from.into()), neighbour);
        let receipt = sealed.map_err(refused)?;
        Ok((Heard::Message { text, peer: Some(peer) }, Some(receipt)))
    }

    /// Opens the first message of a handshake, which becomes the session of this address.
    fn begin(&mut self, datagram: &mut [u8], from: SocketAddr) -> First {
        let called =
            |handshake: &Handshake| handshake.pending.is_some() && handshake.callers.get(&from).is_some();
        let hellos: Vec<Hello> =
            self.hellos.iter().filter(|(_, handshake)| called(handshake)).map(|(hello, _)| *hello).collect();
        let has_called = !hellos.is_empty();
        for hello in hellos {
            let Some(handshake) = self.hellos.get_mut(&hello) else { continue };
            let Some(pending) = handshake.pending.take() else { continue };
            match pending.open(&mut datagram.to_vec(), &mut P256) {
                Ok((session, text)) => {
                    let (text, peer) = (text.to_vec(), session.peer());
                    // Its answer stays: whoever recorded the hello gets that again.
                    self.hellos.raise(&hello, Standing::Certain);
                    self.settle(session, from, peer);
                    return First::Opened(text);
                }
                Err((pending, _)) => handshake.pending = Some(Box::new(pending)),
            }
        }
        if has_called { First::Altered } else { First::None }
    }

    fn settle(&mut self, session: Session, from: SocketAddr, peer: PublicKey) {
        let before = self.neighbours.get(&from).map(|neighbour| neighbour.session.peer());
        if before != Some(peer) {
            self.us.warn_of(&peer, from);
        }
        let neighbour = Neighbour { session: Box::new(session), receipt: Vec::new() };
        self.neighbours.insert(from, Account::certain(from.into()), neighbour);
    }
}

/// What a datagram is to the handshakes of its address.
enum First {
    Opened(Vec<u8>),
    Altered,
    /// There are none.
    None,
}

impl Handshake {
    fn note(&mut self, from: SocketAddr) {
        if self.pending.is_some() && self.callers.get(&from).is_none() {
            self.callers.insert(from, Account::certain(Source::from(from)), ());
        }
    }
}

#[cfg(test)]
mod tests;
