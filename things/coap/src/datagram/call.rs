//! Own requests: a client's side. And bodies that are sent in blocks.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use motemix_time::Instant;
use rand_core::Rng as _;

use super::protection::AFTER_UNPROTECTED;
use super::repetition::Purpose;
use super::{DropReason, Endpoint, Event, Full, Transmit};
use crate::meaning;
use crate::message::{Kind, Message, option};
use crate::oscore::{Asked, ContextId, Unopened};
use crate::{Account, Block, Code, ETag, Method, Observe, Request, Response, Token};

/// How long a request waits for its response once it was acknowledged, and a body for its next
/// block: EXCHANGE_LIFETIME (RFC 7252 §4.8.2).
const LIFETIME: Duration = Duration::from_secs(247);

/// How often a server may ask for an Echo value: each is good for some minutes, and a long body
/// takes longer.
const MOST_ECHOES: u8 = 64;

/// Tells own requests apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u64);

#[derive(Debug)]
struct Call {
    to: SocketAddr,
    token: Token,
    request: Request,
    /// Under which context of OSCORE it is sent.
    context: Option<ContextId>,
    /// What responses are opened with: to the newest message, and to the one that registered.
    asked: [Option<Asked>; 2],
    echo: Option<Vec<u8>>,
    /// How often the server has asked for one.
    echoes: u8,
    /// What the newest message is: from which byte of the body on, and which block it asks for.
    newest_part: (usize, Option<Block>),
    /// The newest message as OSCORE made it, until the server asks for an Echo value outside.
    protected: Option<Message>,
    /// Exponent of the length of the body's blocks, and the byte up to which it was sent.
    exponent: u8,
    sent: usize,
    /// The message that is repeated at present.
    message: u16,
    /// The response's blocks so far, and of which version they are.
    body: Vec<u8>,
    etag: Option<ETag>,
    /// Number of the newest notification and when it came; none before the first.
    newest: Option<(u32, Instant)>,
    /// Whether the blocks that are gathered are a notification's.
    of_notification: bool,
    answered: bool,
    until: Instant,
}

impl Call {
    /// Whether a response acknowledges a block that was acknowledged before, or has one that came
    /// before, byte by byte.
    fn has_had(&self, block1: Option<Block>, block2: Option<Block>, message: &Message) -> bool {
        if message.code == Code::CONTINUE.byte() {
            return block1.is_some_and(|block| block.start() + (16 << self.exponent) < self.sent);
        }
        let Some(start) = block2.map(Block::start).filter(|_| !message.payload.is_empty()) else {
            return false;
        };
        let before = self.body.get(start..start + message.payload.len());
        let etag = self.etag.as_ref().map(ETag::as_bytes);
        before == Some(&message.payload[..]) && message.option(option::ETAG) == etag
    }
}

#[derive(Debug)]
pub(super) struct Calls {
    most: usize,
    next: u64,
    calls: HashMap<CallId, Call>,
    by_token: HashMap<(SocketAddr, Token), CallId>,
    expiry: BTreeSet<(Instant, CallId)>,
}

impl Calls {
    pub(super) fn new(most: usize) -> Self {
        Self { most, next: 0, calls: HashMap::new(), by_token: HashMap::new(), expiry: BTreeSet::new() }
    }

    pub(super) fn acknowledged(&mut self, now: Instant, id: CallId) {
        self.wait_until(id, now + LIFETIME);
    }

    fn wait_until(&mut self, id: CallId, until: Instant) {
        if let Some(call) = self.calls.get_mut(&id) {
            self.expiry.remove(&(call.until, id));
            call.until = until;
            self.expiry.insert((until, id));
        }
    }

    pub(super) fn remove(&mut self, id: CallId) -> bool {
        let Some(call) = self.calls.remove(&id) else { return false };
        self.expiry.remove(&(call.until, id));
        self.by_token.remove(&(call.to, call.token));
        true
    }

    pub(super) fn expired(&self, now: Instant) -> Vec<CallId> {
        self.expiry.iter().take_while(|(until, _)| *until <= now).map(|(_, id)| *id).collect()
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.expiry.first().map(|(until, _)| *until).filter(|until| *until < Instant::NEVER)
    }
}

impl Endpoint {
    /// Asks somebody. With [`Observe::Register`] notifications follow the response, until
    /// [`Endpoint::cancel`].
    ///
    /// # Errors
    /// Too many requests are under way.
    pub fn request(&mut self, now: Instant, to: SocketAddr, request: Request) -> Result<CallId, Full> {
        self.request_under(now, to, request, None)
    }

    /// Asks somebody under a context of OSCORE ([`Endpoint::protection`] has them). A response
    /// without protection is nobody's word.
    ///
    /// # Errors
    /// Too many requests are under way.
    pub fn request_under(
        &mut self,
        now: Instant,
        to: SocketAddr,
        request: Request,
        context: Option<ContextId>,
    ) -> Result<CallId, Full> {
        if self.calls.calls.len() >= self.calls.most {
            return Err(Full);
        }
        let id = CallId(self.calls.next);
        self.calls.next += 1;
        let token = loop {
            // As long as a token can be: whoever guesses it answers in the other's name.
            let token = Token::new(&self.rng.next_u64().to_be_bytes()).unwrap_or_default();
            if !self.calls.by_token.contains_key(&(to, token)) {
                break token;
            }
        };
        let call = Call {
            to,
            token,
            request,
            context,
            asked: [None, None],
            echo: None,
            echoes: 0,
            newest_part: (0, None),
            protected: None,
            exponent: Block::MAX_EXPONENT,
            sent: 0,
            message: 0,
            body: Vec::new(),
            etag: None,
            newest: None,
            of_notification: false,
            answered: false,
            until: now + LIFETIME,
        };
        self.calls.expiry.insert((call.until, id));
        self.calls.by_token.insert((to, token), id);
        self.calls.calls.insert(id, call);
        self.send_request(now, id, 0, None);
        Ok(id)
    }

    /// Whether more comes of an own request: its response, or notifications. After the response to
    /// one that was to observe it says whether the server agreed (RFC 7641 §4.1).
    pub fn is_under_way(&self, call: CallId) -> bool {
        self.calls.calls.contains_key(&call)
    }

    /// Ends an own request or observation. Whoever is observed learns it by the reset that its next
    /// notification gets.
    pub fn cancel(&mut self, call: CallId) {
        if let Some(found) = self.calls.calls.get(&call) {
            let (to, message) = (found.to, found.message);
            self.repetitions.end(to, message);
        }
        self.calls.remove(call);
    }

    /// Sends a request from this byte of its body on, or asks for this block of the response.
    fn send_request(&mut self, now: Instant, id: CallId, start: usize, block2: Option<Block>) {
        let Some(to) = self.calls.calls.get(&id).map(|call| call.to) else { return };
        let message_id = self.next_id(to);
        let Some(call) = self.calls.calls.get_mut(&id) else { return };
        let mut message = Message::empty(Kind::Confirmable, message_id);
        message.token = call.token;
        meaning::write_request(&call.request, &mut message);
        if let Some(echo) = &call.echo {
            message.push(option::ECHO, &echo[..]);
        }
        let block =
            Block { number: (start >> (4 + call.exponent)) as u32, more: false, exponent: call.exponent };
        let is_long =
            call.request.payload.len() > 16 << Block::MAX_EXPONENT || call.exponent < Block::MAX_EXPONENT;
        if let Some(block) = block2 {
            message.push_number(option::BLOCK2, block.value());
            // Observation was asked for with the first block (RFC 7959 §2.6).
            message.options.retain(|(number, _)| *number != option::OBSERVE);
        }
        if is_long {
            // No other body has the token's bytes while this one is under way, nor soon after
            // (RFC 9175 §3.4). The blocks of the response have it too.
            message.push(option::REQUEST_TAG, call.token.as_bytes());
        }
        if !is_long {
            // What a FETCH asks for is of the key of its response; what others carry is done
            // already.
            if block2.is_none() || call.request.method == Method::Fetch {
                message.payload.clone_from(&call.request.payload);
            }
        } else if block2.is_none()
            && let Some((part, block)) = block.of(&call.request.payload)
        {
            message.payload = part.to_vec();
            call.sent = start + part.len();
            message.push_number(option::BLOCK1, block.value());
            if block.number == 0 {
                message.push_number(option::SIZE1, call.request.payload.len() as u32);
            }
        }
        message.options.sort_by_key(|(number, _)| *number);
        (call.message, call.newest_part) = (message_id, (start, block2));
        if let Some(context) = call.context {
            let registers = message.number(option::OBSERVE) == Some(0);
            let Some((protected, asked)) = self.protected.request(now, context, message) else {
                return self.fail(id);
            };
            let [newest, registration] = &mut call.asked;
            *if registers { registration } else { newest } = Some(asked);
            call.protected = Some(protected.clone());
            message = protected;
        }
        self.repeat_request(now, id, to, &message);
    }

    pub(super) fn take_response(
        &mut self,
        now: Instant,
        from: SocketAddr,
        mut message: Message,
    ) -> Result<(), DropReason> {
        let (kind, message_id) = (message.kind, message.id);
        let Some(id) = self.calls.by_token.get(&(from, message.token)).copied() else {
            if matches!(kind, Kind::Confirmable | Kind::NonConfirmable) {
                // So that whoever takes us for an observer learns that we are none.
                self.send(from, &Message::empty(Kind::Reset, message_id));
            }
            return Err(DropReason::Unexpected);
        };
        if kind == Kind::Acknowledgement {
            if self.repetitions.purpose(from, message_id) != Some(Purpose::Request(id)) {
                return Err(DropReason::Unexpected);
            }
            self.repetitions.end(from, message_id);
        }
        if kind == Kind::Confirmable {
            self.send(from, &Message::empty(Kind::Acknowledgement, message_id));
        }
        let Some(call) = self.calls.calls.get_mut(&id) else { return Err(DropReason::Unexpected) };
        let sent = call.message;
        if call.context.is_some() {
            let is_refused = message.code == Code::UNAUTHORIZED.byte();
            let echo = message.option(option::ECHO).filter(|_| is_refused).map(<[u8]>::to_vec);
            message = match self.protected.open_response(now, &mut call.asked, message) {
                Ok(message) => message,
                Err(Unopened::Renewed(context)) => {
                    self.ask_again_under(now, id, context);
                    return Ok(());
                }
                Err(Unopened::Unprotected)
                    if let Some(echo) = echo
                        && let Some(protected) = call.protected.take() =>
                {
                    self.show_address(now, id, protected, echo);
                    return Ok(());
                }
                Err(rejected) => {
                    if rejected == Unopened::Unprotected && !call.answered {
                        // It says why nothing else may come, or somebody wants us to believe that.
                        self.calls.wait_until(id, now + AFTER_UNPROTECTED);
                    }
                    return Err(match rejected {
                        Unopened::Replayed => DropReason::Duplicate,
                        _ => DropReason::Unexpected,
                    });
                }
            };
        }
        let observe =
            message.number(option::OBSERVE).filter(|_| call.request.observe == Some(Observe::Register));
        if let Some(sequence) = observe {
            if call.newest.is_some_and(|newest| !is_newer(newest, sequence, now)) {
                return Err(DropReason::Duplicate);
            }
            call.of_notification = call.answered;
            call.newest = Some((sequence, now));
            call.body.clear();
        }
        let block1 = message.option(option::BLOCK1).and_then(Block::read);
        let block2 = message.option(option::BLOCK2).and_then(Block::read);
        if call.has_had(block1, block2, &message) {
            return Err(DropReason::Duplicate);
        }
        self.repetitions.end(from, sent);
        let echo = message.option(option::ECHO).map(<[u8]>::to_vec);
        let Some(response) = meaning::response_of(message) else {
            self.fail(id);
            return Ok(());
        };
        self.calls.wait_until(id, now + LIFETIME);
        let Some(call) = self.calls.calls.get_mut(&id) else { return Ok(()) };
        if let Some(block) = block1 {
            // A server that wants shorter blocks says so in its first answer (RFC 7959 §2.5).
            let is_shorter = block.exponent < call.exponent;
            let next = match response.code {
                Code::CONTINUE if call.sent < call.request.payload.len() => Some(call.sent),
                Code::REQUEST_ENTITY_TOO_LARGE if is_shorter => Some(0),
                _ => None,
            };
            if let Some(next) = next {
                call.exponent = call.exponent.min(block.exponent);
                self.send_request(now, id, next, None);
                return Ok(());
            }
        }
        let Some(call) = self.calls.calls.get_mut(&id) else { return Ok(()) };
        if response.code == Code::UNAUTHORIZED
            && let Some(echo) = echo.filter(|echo| call.echo.as_ref() != Some(echo))
            && call.echoes < MOST_ECHOES
        {
            call.echoes += 1;
            let had_one = call.echo.replace(echo).is_some();
            // A server does not go on with a body that began without an Echo value.
            let (start, block2) = call.newest_part;
            let start = if had_one || block2.is_some() { start } else { 0 };
            self.send_request(now, id, start, block2);
            return Ok(());
        }
        let Some(block) = block2.filter(|_| response.code.is_success()) else {
            self.complete(id, response);
            return Ok(());
        };
        self.gather_response(now, id, block, response);
        Ok(())
    }

    /// Takes a block of a response, and asks for the next one.
    fn gather_response(&mut self, now: Instant, id: CallId, block: Block, response: Response) {
        let Some(call) = self.calls.calls.get_mut(&id) else { return };
        if call.body.is_empty() {
            call.etag = response.etag;
        }
        let is_next =
            block.start() == call.body.len() && (!block.more || response.payload.len() == block.size());
        if !is_next || call.etag != response.etag {
            // It changed meanwhile, or the server does not know what it said: once more from the
            // beginning would do, but a server that changes with each block would never be done
            // with.
            return self.fail(id);
        }
        call.body.extend_from_slice(&response.payload);
        if call.body.len() > self.settings.body {
            self.fail(id);
        } else if block.more {
            let next = Block { number: block.number + 1, more: false, ..block };
            self.send_request(now, id, 0, Some(next));
        } else {
            let body = std::mem::take(&mut call.body);
            self.complete(id, Response { payload: body.into(), ..response });
        }
    }

    /// Asks under the context that has taken the place of the one that was lost.
    fn ask_again_under(&mut self, now: Instant, id: CallId, context: ContextId) {
        if let Some(call) = self.calls.calls.get_mut(&id) {
            (call.context, call.asked) = (Some(context), [None, None]);
            let (to, sent) = (call.to, call.message);
            self.repetitions.end(to, sent);
            self.send_request(now, id, 0, None);
        }
    }

    /// A server that does nothing for addresses that are not proven asks for an Echo value outside
    /// of OSCORE, and gets it so (RFC 9175 §2.3). Anybody may have asked: the message is sent as it
    /// was, under the same number, so that nothing is carried out twice. Each is sent so once.
    fn show_address(&mut self, now: Instant, id: CallId, mut message: Message, echo: Vec<u8>) {
        let Some(call) = self.calls.calls.get(&id) else { return };
        let (to, sent) = (call.to, call.message);
        self.repetitions.end(to, sent);
        message.id = self.next_id(to);
        message.push(option::ECHO, echo);
        message.options.sort_by_key(|(number, _)| *number);
        if let Some(call) = self.calls.calls.get_mut(&id) {
            call.message = message.id;
        }
        self.repeat_request(now, id, to, &message);
    }

    fn repeat_request(&mut self, now: Instant, id: CallId, to: SocketAddr, message: &Message) {
        let (account, bytes) = (Account::certain(to.into()), message.write());
        self.repeat(now, to, account, message.id, bytes.clone(), Purpose::Request(id));
        self.leaving.push_back(Transmit { to, bytes });
    }

    fn complete(&mut self, id: CallId, response: Response) {
        let Some(call) = self.calls.calls.get_mut(&id) else { return };
        let observes = call.newest.is_some() && response.code.is_success();
        let is_notification = call.of_notification;
        call.answered = true;
        let event = if is_notification {
            Event::Notification { call: id, response }
        } else {
            Event::Response { call: id, response }
        };
        self.events.push_back(event);
        if observes {
            // It lasts until somebody ends it.
            self.calls.wait_until(id, Instant::NEVER);
        } else {
            self.calls.remove(id);
        }
    }
}

/// Whether a notification is newer than the newest so far (RFC 7641 §3.4).
pub(crate) fn is_newer((before, at): (u32, Instant), sequence: u32, now: Instant) -> bool {
    const HALF: u32 = 1 << 23;
    (before < sequence && sequence - before < HALF)
        || (before > sequence && before - sequence > HALF)
        || now - at > Duration::from_secs(128)
}
