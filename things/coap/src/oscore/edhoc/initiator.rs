//! A client's handshake.

use motemix_neighbour::edhoc::initiator::{self, AwaitingMessage2, Completed, Opening};
use motemix_neighbour::edhoc::{
    CipherSuite as _, ConnectionId, Ead, ErrorMessage, Method as Authentication, PeerCredential, Refused,
    Session, Suites,
};
use motemix_time::Instant;
use rand_core::CryptoRng;

use super::device::{Accepted, Device, Policy};
use super::own::{Keyed, Own, Two, Zero};
use super::{BEGINNING, CID_EDHOC, PATH, ROOM, carrying, context_of, free_id, put_id, wiped};
use crate::oscore::message::{Message, number};
use crate::oscore::{BadContext, Context, Contexts, Id};
use crate::{Code, Method};

/// Why a handshake does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// A message is not to be taken, or cannot be made.
    #[error("the handshake ends: {0}")]
    Refused(Refused),
    /// The server has the suites named here only.
    #[error("the server offers other cipher suites: {:?}", .0.as_slice())]
    Suites(Suites),
    /// The server does not know this side's credential.
    #[error("the server does not know this credential: introduce its key there first")]
    UnknownHere,
    /// The server's credential is none that was expected.
    #[error("the server's credential is not one to expect: introduce its key here first")]
    UnknownThere,
    /// It answered with an error.
    #[error("the server answered {}.{:02} to a message of the handshake", .0 >> 5, .0 & 0x1f)]
    Answered(u8),
    /// All names for connections are taken.
    #[error("there are too many connections: end some")]
    Full,
    /// The names that both chose make no context.
    #[error("no security context: {0}")]
    Context(BadContext),
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

enum Waiting {
    Zero(Box<AwaitingMessage2<Zero>>),
    Two(Box<AwaitingMessage2<Two>>),
}

/// A handshake that waits for message_2.
pub struct Begun {
    waiting: Option<Waiting>,
    id: Id,
}

/// Begins a handshake: message_1 for the server. `passed_over` are suites that this side likes
/// better and the server was found not to have; `taken` are the names of other handshakes that
/// wait.
pub fn begin<R: CryptoRng + ?Sized>(
    own: &Own,
    method: Authentication,
    passed_over: &[i16],
    (contexts, taken): (&Contexts, &[Id]),
    rng: &mut R,
) -> Result<(Begun, Message), Failed> {
    if !own.fits(method) {
        return Err(Failed::Refused(Refused::Key));
    }
    let id = free_id(rng, |id| !taken.contains(&id) && contexts.is_free(id)).ok_or(Failed::Full)?;
    let connection = ConnectionId::new(id.as_bytes())?;
    let opening = Opening { method, passed_over, connection, ead_1: Ead::NONE };
    let mut room = [0; ROOM];
    let (waiting, message_1) = wiped(|| {
        Ok::<_, Refused>(if own.suite() == Zero::NUMBER {
            let (waiting, message_1) = initiator::begin(&opening, &mut Zero::default(), rng, &mut room)?;
            (Waiting::Zero(Box::new(waiting)), message_1)
        } else {
            let (waiting, message_1) = initiator::begin(&opening, &mut Two::default(), rng, &mut room)?;
            (Waiting::Two(Box::new(waiting)), message_1)
        })
    })?;
    let request = to_resource([&[BEGINNING], message_1].concat());
    Ok((Begun { waiting: Some(waiting), id }, request))
}

impl Begun {
    /// The name of the connection.
    pub const fn id(&self) -> Id {
        self.id
    }

    /// Reads message_2 and proves this side. A wrong one changes nothing: the right one may come.
    pub fn meet<R: CryptoRng + ?Sized>(
        &mut self,
        response: &Message,
        own: &Own,
        policy: &mut dyn Policy,
        rng: &mut R,
    ) -> Result<Met, Failed> {
        if response.code != Code::CHANGED.byte() {
            return Err(failed_there(response));
        }
        wiped(|| self.go_on(response, own, policy, rng))
    }

    fn go_on<R: CryptoRng + ?Sized>(
        &mut self,
        response: &Message,
        own: &Own,
        policy: &mut dyn Policy,
        rng: &mut R,
    ) -> Result<Met, Failed> {
        let verified = match self.waiting.as_ref().ok_or(Failed::Refused(Refused::Malformed))? {
            Waiting::Zero(waiting) => Verified::new(waiting, response, own, policy).map(Either::Zero),
            Waiting::Two(waiting) => Verified::new(waiting, response, own, policy).map(Either::Two),
        }?;
        // There is one message_3 only.
        self.waiting = None;
        match verified {
            Either::Zero(verified) => verified.prove(own, rng),
            Either::Two(verified) => verified.prove(own, rng),
        }
    }
}

impl std::fmt::Debug for Begun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Begun").field("id", &self.id).finish_non_exhaustive()
    }
}

enum Either {
    Zero(Verified<Zero>),
    Two(Verified<Two>),
}

/// The server has proved itself.
struct Verified<S> {
    method: Authentication,
    responder: initiator::VerifiedResponder<S>,
    accepted: (Device, bool),
}

impl<S: Keyed> Verified<S> {
    fn new(
        waiting: &AwaitingMessage2<S>,
        response: &Message,
        own: &Own,
        policy: &mut dyn Policy,
    ) -> Result<Self, Failed> {
        let suite = &mut S::default();
        let received = waiting.read_message_2(response.payload.clone(), &[], suite)?;
        let Accepted { ccs, is_known } = policy.credential(&received.id()).ok_or(Failed::UnknownThere)?;
        let device = Device::of(&ccs).ok_or(Refused::Credential)?;
        // Its own messages, turned back.
        if device.key == own.key {
            return Err(Failed::UnknownThere);
        }
        let peer = PeerCredential::<S>::from_ccs(&ccs, waiting.method())?;
        let responder = received.verify_peer(&peer, suite)?;
        Ok(Self { method: waiting.method(), responder, accepted: (device, is_known) })
    }

    fn prove<R: CryptoRng + ?Sized>(self, own: &Own, rng: &mut R) -> Result<Met, Failed> {
        let own = own.credential::<S>(self.method)?;
        let mut room = [0; ROOM];
        let (completed, message_3) =
            self.responder.message_3(&own, Ead::NONE, &mut S::default(), rng, &mut room)?;
        // Each side would use the other's nonces.
        if completed.session().own_connection() == completed.session().peer_connection() {
            return Err(Failed::Context(BadContext::SameIds));
        }
        Ok(Met { completed: Box::new(completed), message_3: message_3.to_vec(), accepted: self.accepted })
    }
}

/// A handshake whose server has proved itself. message_3 has to reach it.
pub struct Met {
    completed: Box<Completed>,
    message_3: Vec<u8>,
    accepted: (Device, bool),
}

impl Met {
    /// Who the server is.
    pub const fn server(&self) -> &Device {
        &self.accepted.0
    }

    /// What both sides share, for other keys of an application.
    pub const fn session(&self) -> &Session {
        self.completed.session()
    }

    /// The context: for [`Contexts::insert`].
    pub fn context(&self, now: Instant) -> Result<Context, Failed> {
        wiped(|| context_of(self.completed.session(), now, self.accepted.clone())).map_err(Failed::Context)
    }

    /// message_3 in front of a first request under the context (RFC 9668, section 3.2).
    #[must_use]
    pub fn combined(&self, mut outer: Message) -> Message {
        outer.add(number::EDHOC, []);
        outer.payload = [&self.message_3[..], &outer.payload].concat();
        outer
    }

    /// message_3 by itself. The answer is message_4.
    pub fn alone(&self) -> Message {
        let c_r = put_id(self.completed.session().peer_connection());
        to_resource([&c_r[..], &self.message_3].concat())
    }

    /// Whether an answer is message_4: the server has the keys, and knows this side.
    pub fn confirm(&self, response: &Message) -> Result<(), Failed> {
        if response.code != Code::CHANGED.byte() {
            return Err(failed_there(response));
        }
        let mut message_4 = response.payload.clone();
        self.completed.read_message_4(&mut message_4, &[], &mut Zero::default())?;
        Ok(())
    }
}

impl std::fmt::Debug for Met {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Met").field("server", &self.accepted.0.key).finish_non_exhaustive()
    }
}

/// What an error says. Nobody signs it.
fn failed_there(response: &Message) -> Failed {
    match ErrorMessage::parse(&response.payload) {
        Ok(ErrorMessage::WrongSuite(suites)) => Failed::Suites(suites),
        Ok(ErrorMessage::UnknownCredential) => Failed::UnknownHere,
        _ => Failed::Answered(response.code),
    }
}

fn to_resource(payload: Vec<u8>) -> Message {
    let mut request = carrying(Method::Post.byte(), CID_EDHOC, payload);
    for segment in PATH {
        request.add(number::URI_PATH, segment.as_bytes());
    }
    request
}
