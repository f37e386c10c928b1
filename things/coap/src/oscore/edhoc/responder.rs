//! The server of `/.well-known/edhoc`.

use std::net::Ipv4Addr;
use std::time::Duration;

use motemix_neighbour::edhoc::responder::{AwaitingMessage3, Completed, Message1, Offer};
use motemix_neighbour::edhoc::{
    CipherSuite as _, ConnectionId, Ead, ErrorMessage, Method as Authentication, PeerCredential, Refused,
    Suites,
};
use motemix_time::Instant;
use rand_core::CryptoRng;

use super::admission::{Admission, Bounds, Refusal};
use super::device::{Accepted, Device, Policy};
use super::own::{Keyed, Own, Two, Zero};
use super::{
    BEGINNING, CID_EDHOC, EDHOC, ROOM, carrying, context_of, free_id, split_byte_string, split_id, wiped,
};
use crate::oscore::exchange::plain_answer;
use crate::oscore::message::{Message, number};
use crate::oscore::{ContextId, Contexts, Full, Header, Id, Sender};
use crate::{Account, Code, FairTable, Method, Peer, Source, Standing};

/// Bounds of a responder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many handshakes wait for message_3 at most. Half of the places is for those whose
    /// message_1 had an Echo value itself: a further one of these takes the place of the longest
    /// waiting one of the source that has most. All others take no place from anybody, because
    /// anybody can begin them in anybody's name: they have to have an Echo value first (RFC 9175).
    pub places: usize,
    /// How long one waits.
    pub patience: Duration,
    /// How many may wait, and how many begin in a second, of peers that have not proved their
    /// addresses. Further ones have to do so first (RFC 9175).
    pub unproven: usize,
    /// How many begin in a second, of all peers together. Each costs three multiplications.
    pub a_second: u32,
    /// How many of these a source has for itself, and as many more with an Echo value in message_1
    /// itself. Of such ones it has more while half of all are free; those without are half of all
    /// at most.
    pub of_a_source: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { places: 64, patience: Duration::from_secs(30), unproven: 8, a_second: 128, of_a_source: 16 }
    }
}

/// What happened, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Handshakes that were answered with message_2, which costs three multiplications.
    pub begun: u64,
    /// Handshakes that ended with a context.
    pub completed: u64,
    /// Messages that were refused.
    pub refused: u64,
    /// Peers that were to prove their address.
    pub asked_for_address: u64,
    /// Handshakes that did not begin, because their sources have begun as many as they may.
    pub busy: u64,
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
    source: Source,
    /// message_1 came from an address that was not proven.
    is_unproven: bool,
}

/// The responder of an endpoint. What it remembers is bounded by its [`Settings`].
pub struct Responder {
    own: Vec<Own>,
    settings: Settings,
    pending: FairTable<Id, Pending>,
    admission: Admission,
    counters: Counters,
}

impl Responder {
    /// With credentials, the best first; each is for one suite, and for one method or two.
    pub fn new(settings: Settings, own: Vec<Own>) -> Self {
        let pending = FairTable::new(settings.places);
        Self { own, settings, pending, admission: Admission::default(), counters: Counters::default() }
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
        self.pending.iter().map(|(_, pending)| pending.begun + self.settings.patience).min()
    }

    /// Gives up what waited for too long.
    pub fn expire(&mut self, now: Instant) {
        let (before, patience) = (self.pending.len(), self.settings.patience);
        self.pending.retain(|_, pending| now - pending.begun < patience);
        self.counters.given_up += (before - self.pending.len()) as u64;
    }

    /// Answers a request for the resource.
    pub fn answer<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        from: Sender,
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
            wiped(|| self.begin(now, from, message_1, contexts, rng))
        } else {
            wiped(|| self.finish_alone(now, &request.payload, contexts, policy))
        };
        match answer {
            Ok(message) => Answer::Message(message),
            Err(Problem::Unproven) => {
                self.counters.asked_for_address += 1;
                Answer::ProveAddress
            }
            Err(problem) => Answer::Message(self.refuse(&problem)),
        }
    }

    fn refuse(&mut self, problem: &Problem) -> Message {
        self.counters.refused += 1;
        self.counters.busy += u64::from(matches!(problem, Problem::Busy));
        problem.answer()
    }

    /// Whether another handshake may cost multiplications now.
    fn admit(&mut self, now: Instant, account: Account) -> Result<(), Problem> {
        let Settings { places, a_second, of_a_source, unproven, .. } = self.settings;
        let unproven_wait = || self.pending.iter().filter(|(_, pending)| pending.is_unproven).count();
        let has_place = match account.standing {
            Standing::Certain => true,
            Standing::Proven => self.pending.len_of_unproven() < places / 2,
            Standing::Unproven => self.pending.len_of_unproven() < places / 2 && unproven_wait() < unproven,
        };
        if !has_place {
            return Err(Problem::Unproven);
        }
        let unproven = u32::try_from(unproven).unwrap_or(u32::MAX);
        let bounds = Bounds { begun: a_second, of_an_account: of_a_source, unproven };
        self.admission.begin(now, account, &bounds).map_err(|refusal| match refusal {
            Refusal::Unproven => Problem::Unproven,
            Refusal::Busy => Problem::Busy,
        })
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
        from: Sender,
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
        let is_free = |id: Id| id != c_i && self.pending.get(&id).is_none() && contexts.is_free(id);
        let c_r = free_id(rng, is_free).ok_or(Problem::Full)?;
        let (source, standing) = (source_of(from.peer), from.standing);
        self.admit(now, Account { source, standing })?;
        let own = self.own.iter().find(|own| own.fits(method) && own.suite() == parsed.suite());
        let own = own.ok_or(Problem::Refused(Refused::Suite))?;
        self.counters.begun += 1;
        let (waiting, message_2) = if parsed.suite() == Zero::NUMBER {
            let (waiting, message_2) = respond::<Zero, R>(&parsed, c_r, own, rng)?;
            (Waiting::Zero(Box::new(waiting)), message_2)
        } else {
            let (waiting, message_2) = respond::<Two, R>(&parsed, c_r, own, rng)?;
            (Waiting::Two(Box::new(waiting)), message_2)
        };
        // A message_1 that has a proven address is not from there for that.
        let counts_as = if standing == Standing::Certain { standing } else { Standing::Unproven };
        let account = Account { source, standing: counts_as };
        let is_unproven = standing == Standing::Unproven;
        let gone = self.pending.insert(c_r, account, Pending { waiting, begun: now, source, is_unproven });
        self.counters.given_up += u64::from(gone.is_some());
        Ok(carrying(Code::CHANGED.byte(), EDHOC, message_2))
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
        let finished = wiped(|| self.finish(now, c_r, message_3, contexts, policy).map(drop));
        finished.map_err(|problem| self.refuse(&problem))?;
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
        let source = pending.source;
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
        let context = context.with_source(source);
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

/// Connections have places of their own; all of them are one source here.
fn source_of(peer: Peer) -> Source {
    match peer {
        Peer::Datagram(address) => address.into(),
        Peer::Stream(_) => Source::of(Ipv4Addr::UNSPECIFIED.into()),
    }
}

/// Why a handshake does not go on.
enum Problem {
    Refused(Refused),
    /// Another suite is to be selected, from these.
    Suite(Vec<i16>),
    UnknownCredential,
    /// The peer has to prove its address first.
    Unproven,
    /// Its source, or all together, have begun as many handshakes as they may.
    Busy,
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
            Self::Unproven | Self::Busy | Self::Full => {
                (Code::SERVICE_UNAVAILABLE, ErrorMessage::Unspecified("full: try again later"))
            }
        };
        let mut room = [0; 64];
        let error = error.emit(&mut room).map(<[u8]>::to_vec).unwrap_or_default();
        carrying(code.byte(), EDHOC, error)
    }
}
