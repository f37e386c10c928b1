//! The server of `/.well-known/edhoc`.

use std::collections::BTreeMap;
use std::time::Duration;

use motemix_neighbour::edhoc::responder::{AwaitingMessage3, Completed, Message1, Offer};
use motemix_neighbour::edhoc::{
    CipherSuite as _, ConnectionId, Ead, ErrorMessage, Method as Authentication, PeerCredential, Refused,
    Suites,
};
use motemix_time::Instant;
use rand_core::CryptoRng;

use super::device::{Accepted, Device, Policy};
use super::own::{Keyed, Own, Two, Zero};
use super::{BEGINNING, CID_EDHOC, EDHOC, ROOM, carrying, context_of, free_id, split_byte_string, split_id};
use crate::oscore::exchange::plain_answer;
use crate::oscore::message::{Message, number};
use crate::oscore::{ContextId, Contexts, Full, Header, Id};
use crate::{Code, Method, Peer};

/// Bounds of a responder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many handshakes wait for message_3 at most. A further one takes the longest waiting
    /// one's place.
    pub places: usize,
    /// How many of one peer wait at most.
    pub per_peer: usize,
    /// How long one waits.
    pub patience: Duration,
    /// From how many waiting handshakes on a peer has to prove its address first (RFC 9175).
    pub prove_above: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { places: 64, per_peer: 4, patience: Duration::from_secs(30), prove_above: 16 }
    }
}

/// What happened, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Handshakes that ended with a context.
    pub completed: u64,
    /// Messages that were refused.
    pub refused: u64,
    /// Peers that were to prove their address.
    pub asked_for_address: u64,
    /// Handshakes that waited for too long, or made room for another.
    pub given_up: u64,
}

/// What a responder says to a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send this.
    Message(Message),
    /// Send 4.01 with an Echo value, and bring the request again when it has one (RFC 9175).
    ProveAddress,
}

enum Waiting {
    Zero(Box<AwaitingMessage3<Zero>>),
    Two(Box<AwaitingMessage3<Two>>),
}

struct Pending {
    waiting: Waiting,
    begun: Instant,
    peer: Peer,
}

/// The responder of an endpoint. What it remembers is bounded by its [`Settings`].
pub struct Responder {
    own: Vec<Own>,
    settings: Settings,
    pending: BTreeMap<Id, Pending>,
    counters: Counters,
}

impl Responder {
    /// With credentials, the best first; each is for one suite, and for one method or two.
    pub const fn new(settings: Settings, own: Vec<Own>) -> Self {
        let counters = Counters { completed: 0, refused: 0, asked_for_address: 0, given_up: 0 };
        Self { own, settings, pending: BTreeMap::new(), counters }
    }

    /// What happened so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many handshakes wait for message_3.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// When the next waiting handshake is given up.
    pub fn next_expiry(&self) -> Option<Instant> {
        self.pending.values().map(|pending| pending.begun + self.settings.patience).min()
    }

    /// Gives up what waited for too long.
    pub fn expire(&mut self, now: Instant) {
        let (before, patience) = (self.pending.len(), self.settings.patience);
        self.pending.retain(|_, pending| now - pending.begun < patience);
        self.counters.given_up += (before - self.pending.len()) as u64;
    }

    /// Answers a request for the resource. `has_address`: the peer gave an Echo value back, or has
    /// a connection.
    #[allow(clippy::too_many_arguments, reason = "who asks, when, and what may be changed by it")]
    pub fn answer<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        peer: Peer,
        has_address: bool,
        request: &Message,
        contexts: &mut Contexts,
        policy: &mut dyn Policy,
        rng: &mut R,
    ) -> Answer {
        self.expire(now);
        if request.code != Method::Post.byte() {
            return Answer::Message(plain_answer(Code::METHOD_NOT_ALLOWED, "EDHOC is by POST"));
        }
        if request.option(number::CONTENT_FORMAT).is_some_and(|format| format != [CID_EDHOC]) {
            let text = "EDHOC is application/cid-edhoc+cbor-seq (65)";
            return Answer::Message(plain_answer(Code::UNSUPPORTED_CONTENT_FORMAT, text));
        }
        let answer = if let [BEGINNING, message_1 @ ..] = &request.payload[..] {
            if self.pending.len() >= self.settings.prove_above && !has_address {
                self.counters.asked_for_address += 1;
                return Answer::ProveAddress;
            }
            self.begin(now, peer, message_1, contexts, rng)
        } else {
            self.finish_alone(now, &request.payload, contexts, policy)
        };
        Answer::Message(answer.unwrap_or_else(|problem| self.refuse(&problem)))
    }

    fn refuse(&mut self, problem: &Problem) -> Message {
        self.counters.refused += 1;
        problem.answer()
    }

    /// The suites of those credentials that are for a method.
    fn suites(&self, method: Authentication) -> Vec<i16> {
        let mut suites = Vec::new();
        for own in self.own.iter().filter(|own| own.fits(method)) {
            if !suites.contains(&own.suite()) {
                suites.push(own.suite());
            }
        }
        suites
    }

    fn begin<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        peer: Peer,
        message_1: &[u8],
        contexts: &Contexts,
        rng: &mut R,
    ) -> Result<Message, Problem> {
        // message_1 begins with the method, in one byte.
        let method = match message_1.first() {
            Some(0) => Authentication::Signatures,
            Some(3) => Authentication::StaticKeys,
            _ => return Err(Problem::Refused(Refused::Method)),
        };
        let suites = self.suites(method);
        let offer = Offer { methods: &[method], suites: &suites, understood: &[] };
        let parsed = Message1::parse(message_1, &offer).map_err(|refused| match refused {
            Refused::Suite => Problem::Suite(suites.clone()),
            refused => Problem::Refused(refused),
        })?;
        let c_i = Id::new(parsed.connection().as_bytes()).ok_or(Problem::Refused(Refused::ConnectionId))?;
        let is_free = |id: Id| id != c_i && !self.pending.contains_key(&id) && contexts.is_free(id);
        let c_r = free_id(rng, is_free).ok_or(Problem::Full)?;
        let own = self.own.iter().find(|own| own.fits(method) && own.suite() == parsed.suite());
        let own = own.ok_or(Problem::Refused(Refused::Suite))?;
        let (waiting, message_2) = if parsed.suite() == Zero::NUMBER {
            let (waiting, message_2) = respond::<Zero, R>(&parsed, c_r, own, rng)?;
            (Waiting::Zero(Box::new(waiting)), message_2)
        } else {
            let (waiting, message_2) = respond::<Two, R>(&parsed, c_r, own, rng)?;
            (Waiting::Two(Box::new(waiting)), message_2)
        };
        self.make_room(peer);
        self.pending.insert(c_r, Pending { waiting, begun: now, peer });
        Ok(carrying(Code::CHANGED.byte(), EDHOC, message_2))
    }

    fn make_room(&mut self, peer: Peer) {
        let is_same = |pending: &Pending| same_host(pending.peer, peer);
        if self.pending.values().filter(|pending| is_same(pending)).count() >= self.settings.per_peer {
            self.give_up_oldest(is_same);
        }
        if self.pending.len() >= self.settings.places {
            self.give_up_oldest(|_| true);
        }
    }

    fn give_up_oldest(&mut self, among: impl Fn(&Pending) -> bool) {
        let oldest = self.pending.iter().filter(|(_, pending)| among(pending));
        let oldest = oldest.min_by_key(|(_, pending)| pending.begun).map(|(id, _)| *id);
        if oldest.and_then(|id| self.pending.remove(&id)).is_some() {
            self.counters.given_up += 1;
        }
    }

    /// message_3 by itself, behind C_R: message_4.
    fn finish_alone(
        &mut self,
        now: Instant,
        payload: &[u8],
        contexts: &mut Contexts,
        policy: &mut dyn Policy,
    ) -> Result<Message, Problem> {
        let (c_r, message_3) = split_id(payload).ok_or(Problem::Refused(Refused::Malformed))?;
        let (completed, _) = self.finish(now, c_r, message_3, contexts, policy)?;
        let mut room = [0; 64];
        // Both suites have the same AES-CCM.
        let (_, message_4) = completed.message_4(Ead::NONE, &mut Zero::default(), &mut room)?;
        Ok(carrying(Code::CHANGED.byte(), EDHOC, message_4.to_vec()))
    }

    /// Takes message_3 off the front of a first request (RFC 9668, section 3.3): what is left is a
    /// request for the context that was made.
    ///
    /// # Errors
    /// What to answer.
    pub fn unwrap_combined(
        &mut self,
        now: Instant,
        outer: &Message,
        contexts: &mut Contexts,
        policy: &mut dyn Policy,
    ) -> Result<Message, Message> {
        self.expire(now);
        let parts = || {
            let header = Header::parse(outer.single(number::OSCORE)?)?;
            let (message_3, rest) = split_byte_string(&outer.payload)?;
            Some((Id::new(header.kid?)?, message_3, rest))
        };
        let Some((c_r, message_3, rest)) = parts() else {
            self.counters.refused += 1;
            return Err(plain_answer(Code::BAD_REQUEST, "no message_3 and OSCORE request"));
        };
        self.finish(now, c_r, message_3, contexts, policy).map_err(|problem| self.refuse(&problem))?;
        let mut request = outer.clone();
        request.remove(number::EDHOC);
        request.payload = rest.to_vec();
        Ok(request)
    }

    fn finish(
        &mut self,
        now: Instant,
        c_r: Id,
        message_3: &[u8],
        contexts: &mut Contexts,
        policy: &mut dyn Policy,
    ) -> Result<(Completed, ContextId), Problem> {
        let pending = self.pending.get(&c_r).ok_or(Problem::Refused(Refused::Malformed))?;
        let verified = match &pending.waiting {
            Waiting::Zero(waiting) => verify(waiting, message_3, &self.own, policy),
            Waiting::Two(waiting) => verify(waiting, message_3, &self.own, policy),
        };
        let (completed, accepted) = match verified {
            // Anybody could have sent it: the right one may still come.
            Err(Problem::Refused(Refused::Ciphertext | Refused::Malformed)) => {
                return Err(Problem::Refused(Refused::Ciphertext));
            }
            verified => {
                self.pending.remove(&c_r);
                verified?
            }
        };
        let context = context_of(completed.session(), now, accepted).map_err(|_| Refused::ConnectionId)?;
        let id = contexts.insert(now, context).map_err(|Full| Problem::Full)?;
        self.counters.completed += 1;
        Ok((completed, id))
    }
}

impl std::fmt::Debug for Responder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Responder").field("waiting", &self.pending.len()).finish_non_exhaustive()
    }
}

/// Three multiplications, or two and a signature.
fn respond<S: Keyed, R: CryptoRng + ?Sized>(
    message_1: &Message1,
    c_r: Id,
    own: &Own,
    rng: &mut R,
) -> Result<(AwaitingMessage3<S>, Vec<u8>), Refused> {
    let suite = &mut S::default();
    let agreed = message_1.ephemeral(suite, rng)?.agree(suite)?;
    let own = own.credential::<S>(message_1.method())?;
    let connection = ConnectionId::new(c_r.as_bytes())?;
    let mut room = [0; ROOM];
    let (waiting, message_2) = agreed.authenticate(connection, &own, Ead::NONE, suite, rng, &mut room)?;
    Ok((waiting, message_2.to_vec()))
}

/// Who sent message_3, if it may.
fn verify<S: Keyed>(
    waiting: &AwaitingMessage3<S>,
    message_3: &[u8],
    own: &[Own],
    policy: &mut dyn Policy,
) -> Result<(Completed, (Device, bool)), Problem> {
    let suite = &mut S::default();
    let received = waiting.read_message_3(message_3.to_vec(), &[], suite)?;
    let Accepted { ccs, is_known } = policy.credential(&received.id()).ok_or(Problem::UnknownCredential)?;
    let device = Device::of(&ccs).ok_or(Refused::Credential)?;
    // Whoever has this side's key is this side: its messages may have been turned back.
    if own.iter().any(|own| own.key == device.key) {
        return Err(Problem::UnknownCredential);
    }
    let peer = PeerCredential::<S>::from_ccs(&ccs, waiting.method())?;
    Ok((received.verify_peer(&peer, suite)?, (device, is_known)))
}

fn same_host(one: Peer, other: Peer) -> bool {
    match (one, other) {
        (Peer::Datagram(one), Peer::Datagram(other)) => one.ip() == other.ip(),
        (one, other) => one == other,
    }
}

/// Why a handshake does not go on.
enum Problem {
    Refused(Refused),
    /// Another suite is to be selected, from these.
    Suite(Vec<i16>),
    UnknownCredential,
    Full,
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl Problem {
    /// An error message of EDHOC (RFC 9528, section 6). It says nothing of what was wrong with
    /// secrets.
    fn answer(&self) -> Message {
        let suites;
        let (code, error) = match self {
            Self::Refused(Refused::Method) => {
                (Code::BAD_REQUEST, ErrorMessage::Unspecified("the method is not offered"))
            }
            Self::Refused(_) => (Code::BAD_REQUEST, ErrorMessage::Unspecified("refused")),
            Self::Suite(numbers) => match Suites::new(numbers) {
                Ok(made) => {
                    suites = made;
                    (Code::BAD_REQUEST, ErrorMessage::WrongSuite(suites))
                }
                Err(_) => (Code::BAD_REQUEST, ErrorMessage::Unspecified("the method is not offered")),
            },
            Self::UnknownCredential => (Code::BAD_REQUEST, ErrorMessage::UnknownCredential),
            Self::Full => (Code::SERVICE_UNAVAILABLE, ErrorMessage::Unspecified("full: try again later")),
        };
        let mut room = [0; 64];
        let error = error.emit(&mut room).map(<[u8]>::to_vec).unwrap_or_default();
        carrying(code.byte(), EDHOC, error)
    }
}
