//! A server's whole layer: what becomes of each request that arrives, protected or not.

use motemix_time::Instant;
use rand_core::CryptoRng;

use super::edhoc::{self, Answer, Policy, Responder};
use super::message::{Message, number};
use super::renewal::Renewed;
use super::{Contexts, Exchange, NumberStore};
use crate::{Peer, Standing};

/// What becomes of a request.
#[derive(Debug)]
pub enum Arrived {
    /// Nobody proved anything: a request without protection.
    Plain(Message),
    /// A request under a context, which [`Contexts::device`] says the device of.
    Protected(Message, Exchange),
    /// Send this, as it is.
    Answer(Message),
    /// Send 4.01 with an Echo value, and bring the request again when it has one (RFC 9175).
    ProveAddress,
}

/// Who sent a request, and what the endpoint knows of that.
#[derive(Debug, Clone, Copy)]
pub struct Sender {
    /// The other side.
    pub peer: Peer,
    /// How sure it is that this is the sender.
    pub standing: Standing,
}

/// What an application lends to the layer.
pub struct Application<'a> {
    /// Which credentials may be a peer's.
    pub policy: &'a mut dyn Policy,
    /// Where numbers are reserved.
    pub store: &'a mut dyn NumberStore,
}

/// Contexts, and whoever makes them by EDHOC.
#[derive(Debug)]
pub struct Layer {
    /// The contexts.
    pub contexts: Contexts,
    /// The server of `/.well-known/edhoc`; without one, contexts are preshared alone.
    pub responder: Option<Responder>,
}

impl Layer {
    /// Takes a request whose outer blocks are put together.
    pub fn arrive<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        from: Sender,
        request: Message,
        application: &mut Application,
        rng: &mut R,
    ) -> Arrived {
        let Self { contexts, responder } = self;
        let is_protected = request.option(number::OSCORE).is_some();
        let has_message_3 = request.option(number::EDHOC).is_some();
        match responder {
            Some(responder) if has_message_3 => {
                match responder.unwrap_combined(now, &request, contexts, application.policy) {
                    Ok(request) => self.open(now, from, &request, application, rng),
                    Err(answer) => Arrived::Answer(answer),
                }
            }
            Some(responder) if !is_protected && is_for_edhoc(&request.options) => {
                match responder.answer(now, from, &request, contexts, application.policy, rng) {
                    Answer::Message(answer) => Arrived::Answer(answer),
                    Answer::ProveAddress => Arrived::ProveAddress,
                }
            }
            _ if is_protected && !has_message_3 => self.open(now, from, &request, application, rng),
            // Without a responder, the EDHOC option stays: it is critical, and nobody understands
            // it.
            _ => Arrived::Plain(request),
        }
    }

    fn open<R: CryptoRng + ?Sized>(
        &mut self,
        now: Instant,
        from: Sender,
        request: &Message,
        application: &mut Application,
        rng: &mut R,
    ) -> Arrived {
        match self.contexts.renew(now, from.standing, request, rng) {
            Renewed::No | Renewed::Context => {}
            Renewed::Answer(answer) => return Arrived::Answer(answer),
            Renewed::ProveAddress => return Arrived::ProveAddress,
        }
        match self.contexts.unprotect_request(now, request, application.store) {
            Ok((inner, exchange)) => Arrived::Protected(inner, exchange),
            Err(rejected) => Arrived::Answer(rejected.answer()),
        }
    }

    /// Ends what is over.
    pub fn expire(&mut self, now: Instant) {
        self.contexts.expire(now);
        if let Some(responder) = &mut self.responder {
            responder.expire(now);
        }
    }

    /// When [`Layer::expire`] has something to do.
    pub fn next_expiry(&self) -> Option<Instant> {
        let of_handshakes = self.responder.as_ref().and_then(Responder::next_expiry);
        self.contexts.next_expiry().into_iter().chain(of_handshakes).min()
    }
}

/// Whether a request with these options is for the resource of EDHOC.
pub(crate) fn is_for_edhoc(options: &[(u16, Vec<u8>)]) -> bool {
    let path = options.iter().filter(|(option, _)| *option == number::URI_PATH).map(|(_, value)| &value[..]);
    path.eq(edhoc::PATH.map(str::as_bytes))
}
