//! The paper's protocol as it was settled. A node keeps the session that it began with the
//! neighbour to which it sends, and those that others began with it.

use motemix_neighbour::diet::settled::{ANSWER_LEN, HELLO_LEN, Initiator, OVERHEAD, Pending, Session};
use motemix_neighbour::suite::HalfWordsP256;
use motemix_neighbour::{PublicKey, Refused};
use motemix_node::Instant;
use rand_core::CryptoRng;

use super::budget::Budget;
use super::own::{Own, made};
use super::{Buffer, HANDSHAKE_WITHIN, Heard, IDLE_AFTER, PairDrop, Reply};

pub(super) struct Diet<const PLACES: usize> {
    initiator: Option<Initiator>,
    /// With whom this node has begun it.
    session: Option<(u64, Session)>,
    neighbours: [Option<Neighbour>; PLACES],
    answers: Budget,
}

/// Somebody who has said hello.
struct Neighbour {
    at: u64,
    handshake: Option<Handshake>,
    session: Option<Session>,
    /// What acknowledged its last message: once more, if the message comes once more.
    receipt: Option<[u8; OVERHEAD]>,
    /// When a message of it came last.
    heard: Instant,
}

/// What a datagram is to whoever has said hello.
enum Answer {
    None,
    Right,
    Wrong(Refused),
}

struct Handshake {
    hello: [u8; HELLO_LEN],
    answer: [u8; ANSWER_LEN],
    pending: Pending,
    begun: Instant,
}

impl<const PLACES: usize> Diet<PLACES> {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            initiator: None,
            session: None,
            neighbours: [const { None }; PLACES],
            answers: Budget::new(now),
        }
    }

    pub(super) fn knows(&self, neighbour: u64) -> bool {
        self.session.as_ref().is_some_and(|(at, _)| *at == neighbour)
    }

    pub(super) fn forget(&mut self) {
        self.session = None;
    }

    /// Who is at the other end.
    pub(super) fn peer(&self) -> Option<PublicKey> {
        self.session.as_ref().map(|(_, session)| session.peer())
    }

    #[inline(never)]
    pub(super) fn ask<R: CryptoRng>(&mut self, own: &Own, out: &mut Buffer, rng: &mut R) {
        let (initiator, hello) = made(own.identity.hello(&mut HalfWordsP256, rng));
        self.initiator = Some(initiator);
        out.set(&hello);
    }

    #[inline(never)]
    pub(super) fn seal<R: CryptoRng>(&mut self, text: &[u8], out: &mut Buffer, rng: &mut R) -> bool {
        let Some((_, session)) = &mut self.session else { return false };
        out.fill(OVERHEAD + text.len(), |room| session.seal(text, room, &mut HalfWordsP256, rng).is_ok())
    }

    /// `is_asked`: this node waits for an answer of whoever sent it.
    #[expect(clippy::too_many_arguments, reason = "memory is lent, and so are time and randomness")]
    pub(super) fn handle<R: CryptoRng>(
        &mut self,
        now: Instant,
        own: &Own,
        from: u64,
        is_asked: bool,
        datagram: &mut [u8],
        heard: &mut Buffer,
        reply: &mut Reply,
        rng: &mut R,
    ) -> Heard {
        if let Ok(hello) = <&[u8; HELLO_LEN]>::try_from(&*datagram) {
            // No message is as short: it has more bytes besides its text.
            let answered = self.hello(now, own, from, hello, reply, rng);
            return answered.map_or_else(Heard::Dropped, |()| Heard::Nothing);
        }
        if is_asked {
            match self.answered(own, from, datagram) {
                Answer::None => {}
                Answer::Right => return Heard::Met,
                Answer::Wrong(reason) => return Heard::Dropped(reason.into()),
            }
        }
        if self.is_receipt(from, datagram) {
            return Heard::Receipt;
        }
        self.message(now, from, datagram, heard, reply, rng).unwrap_or_else(Heard::Dropped)
    }

    #[inline(never)]
    fn answered(&mut self, own: &Own, from: u64, datagram: &[u8]) -> Answer {
        let Some(initiator) = self.initiator.as_ref().filter(|_| datagram.len() == ANSWER_LEN) else {
            return Answer::None;
        };
        match initiator.finish(datagram, own.admission(), &mut HalfWordsP256) {
            Ok(session) => {
                self.session = Some((from, session));
                self.initiator = None;
                Answer::Right
            }
            // A message may be as long.
            Err(Refused::Kind) => Answer::None,
            Err(reason) => Answer::Wrong(reason),
        }
    }

    #[inline(never)]
    fn is_receipt(&mut self, from: u64, datagram: &[u8]) -> bool {
        let Some((_, session)) = self.session.as_mut().filter(|(at, _)| *at == from) else { return false };
        // A message of another session may be as long, and is changed by the attempt.
        let Ok(mut copy) = <[u8; OVERHEAD]>::try_from(datagram) else { return false };
        session.open(&mut copy, &mut HalfWordsP256).is_ok()
    }

    #[inline(never)]
    fn hello<R: CryptoRng>(
        &mut self,
        now: Instant,
        own: &Own,
        from: u64,
        hello: &[u8; HELLO_LEN],
        reply: &mut Reply,
        rng: &mut R,
    ) -> Result<(), PairDrop> {
        let place = self.place(now, from)?;
        let neighbour = self.neighbours.get_mut(place).ok_or(PairDrop::Full)?;
        let its = neighbour.as_ref().filter(|neighbour| neighbour.at == from);
        match its.and_then(|neighbour| neighbour.handshake.as_ref()) {
            // The answer was lost.
            Some(handshake) if handshake.hello == *hello => {
                reply.set(&handshake.answer);
                return Ok(());
            }
            Some(handshake) if now < handshake.begun + HANDSHAKE_WITHIN => return Err(PairDrop::UnderWay),
            _ => {}
        }
        if !self.answers.may_spend(now) {
            return Err(PairDrop::TooMany);
        }
        // Nothing is computed for a stranger: that uses up no answer.
        let (pending, answer) = own.identity.answer(hello, own.admission(), &mut HalfWordsP256, rng)?;
        self.answers.spend();
        reply.set(&answer);
        let before = neighbour.take_if(|before| before.at != from);
        let neighbour = neighbour.get_or_insert(Neighbour {
            at: from,
            handshake: None,
            session: None,
            receipt: None,
            heard: now,
        });
        neighbour.handshake = Some(Handshake { hello: *hello, answer, pending, begun: now });
        // It is answered all the same.
        if before.is_some_and(|before| before.session.is_some()) { Err(PairDrop::Replaced) } else { Ok(()) }
    }

    /// The place of a neighbour: its own, a free one, that of a handshake that came to nothing, or
    /// that of whoever was silent longest, for an hour at least.
    fn place(&self, now: Instant, from: u64) -> Result<usize, PairDrop> {
        let is_its = |place: &Option<Neighbour>| place.as_ref().is_some_and(|neighbour| neighbour.at == from);
        if let Some(place) = self.neighbours.iter().position(is_its) {
            return Ok(place);
        }
        let is_free = |place: &Option<Neighbour>| {
            place.as_ref().is_none_or(|neighbour| {
                let handshake = neighbour.handshake.as_ref();
                neighbour.session.is_none()
                    && handshake.is_none_or(|handshake| now >= handshake.begun + HANDSHAKE_WITHIN)
            })
        };
        if let Some(place) = self.neighbours.iter().position(is_free) {
            return Ok(place);
        }
        let heard = self.neighbours.iter().map(|place| place.as_ref().map(|neighbour| neighbour.heard));
        let (place, heard) = heard.enumerate().min_by_key(|(_, heard)| *heard).ok_or(PairDrop::Full)?;
        if heard.is_some_and(|heard| now >= heard + IDLE_AFTER) { Ok(place) } else { Err(PairDrop::Full) }
    }

    #[inline(never)]
    fn message<R: CryptoRng>(
        &mut self,
        now: Instant,
        from: u64,
        datagram: &mut [u8],
        heard: &mut Buffer,
        reply: &mut Reply,
        rng: &mut R,
    ) -> Result<Heard, PairDrop> {
        let neighbour = self.neighbours.iter_mut().flatten().find(|neighbour| neighbour.at == from);
        let neighbour = neighbour.ok_or(PairDrop::NoHandshake)?;
        let opened = neighbour.open(datagram, heard);
        if opened == Err(Refused::Repeated)
            && let Some(receipt) = &neighbour.receipt
        {
            reply.set(receipt);
        }
        opened?;
        neighbour.heard = now;
        let session = neighbour.session.as_mut().ok_or(PairDrop::NoHandshake)?;
        let mut receipt = [0; OVERHEAD];
        session.seal(&[], &mut receipt, &mut HalfWordsP256, rng)?;
        reply.set(&receipt);
        neighbour.receipt = Some(receipt);
        Ok(Heard::Text(Some(session.peer())))
    }
}

impl Neighbour {
    /// Opens a message of the session, or the first one of the handshake, which then becomes the
    /// session.
    fn open(&mut self, datagram: &mut [u8], heard: &mut Buffer) -> Result<(), Refused> {
        // An attempt changes what it opens.
        heard.set(datagram);
        let of_session = match &mut self.session {
            Some(session) => session.open(datagram, &mut HalfWordsP256),
            None => Err(Refused::Ciphertext),
        };
        if let Ok(text) = of_session {
            heard.set(text);
            return Ok(());
        }
        let of_session = of_session.map(drop);
        if let Some(place) = datagram.get_mut(..heard.as_ref().len()) {
            place.copy_from_slice(heard.as_ref());
        }
        let Some(mut handshake) = self.handshake.take() else { return of_session };
        match handshake.pending.open(datagram, &mut HalfWordsP256) {
            Ok((session, text)) => {
                heard.set(text);
                self.session = Some(session);
                self.receipt = None;
                Ok(())
            }
            Err((pending, _)) => {
                handshake.pending = pending;
                self.handshake = Some(handshake);
                of_session
            }
        }
    }
}
