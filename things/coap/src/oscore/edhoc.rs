//! EDHOC over CoAP: `/.well-known/edhoc` (RFC 9528, appendix A.2), and message_3 in front of the
//! first request (RFC 9668).
//!
//! The [`Responder`] is the resource's server, [`Begun`] a client's handshake. Both end in a
//! [`Context`] and a [`Device`]: who the other side is, proved by its private key.

mod admission;
mod device;
mod initiator;
mod own;
mod responder;

pub use admission::{Admission, Bounds, Refusal};
pub use device::{Accepted, AnyByValue, Device, DeviceKey, Policy};
pub use initiator::{Begun, Failed, Met, begin};
pub use own::{Own, OwnSecret};
pub use responder::{Answer, Counters, Responder, Settings};

use motemix_crypto::Secret;
use motemix_neighbour::edhoc::{ConnectionId, Session};
use motemix_time::Instant;
use rand_core::CryptoRng;

use super::context::{BadContext, Context, Preshared};
use super::keys::Id;
use super::message::{Message, number};
use super::numbers::Numbers;
use crate::{Method, Request, Response};

/// Segments of the resource's path.
pub const PATH: [&str; 2] = [".well-known", "edhoc"];
/// `application/edhoc+cbor-seq`: what a responder sends.
const EDHOC: u8 = 64;
/// `application/cid-edhoc+cbor-seq`: what an initiator sends, with an identifier in front.
const CID_EDHOC: u8 = 65;
/// What comes in front of message_1: `true` in CBOR.
const BEGINNING: u8 = 0xf5;
/// What EDHOC's messages 2 and 3 take at most here.
const ROOM: usize = 640;

/// A context of a handshake's keys (RFC 9528, appendix A.1): each side sends under the name that
/// the other chose.
fn context_of(session: &Session, now: Instant, accepted: (Device, bool)) -> Result<Context, BadContext> {
    let mut secret = Secret::<16>::zero();
    let mut salt = [0; 8];
    // Neither fails: both are short.
    let exported =
        session.exporter(0, &[], secret.expose_mut()).and_then(|()| session.exporter(1, &[], &mut salt));
    exported.map_err(|_| BadContext::ShortSecret)?;
    let given = Preshared {
        name: "",
        master_secret: secret.expose(),
        master_salt: &salt,
        id_context: None,
        sender: session.peer_connection().as_bytes(),
        recipient: session.own_connection().as_bytes(),
    };
    let (device, is_known) = accepted;
    let made = Context::derive(now, &given, Numbers::volatile())?;
    Ok(Context { device: Some(device), is_known, ..made })
}

/// A name for a connection that is not taken: of one byte while there are such, which is as long in
/// a message of EDHOC.
fn free_id<R: CryptoRng + ?Sized>(rng: &mut R, is_free: impl Fn(Id) -> bool) -> Option<Id> {
    let mut short = (0x00..=0x17_u8).chain(0x20..=0x37).filter_map(|byte| Id::new(&[byte]));
    let mut random = [0; 4];
    rng.fill_bytes(&mut random);
    let begin = usize::from(random[0]) % 48;
    let all: Vec<_> = short.by_ref().collect();
    let (later, first) = all.split_at(begin);
    if let Some(id) = first.iter().chain(later).find(|id| is_free(**id)) {
        return Some(*id);
    }
    // Nearly all of these are free.
    for _ in 0..32 {
        rng.fill_bytes(&mut random);
        if let Some(id) = Id::new(&random[1..]).filter(|id| is_free(*id)) {
            return Some(id);
        }
    }
    None
}

/// Bytes of the stack that are wiped after a step of a handshake: more than any takes.
const STACK_LEN: usize = 64 << 10;

/// Does a step of a handshake. What it keeps of secrets on the stack is wiped.
fn wiped<T>(step: impl FnOnce() -> T) -> T {
    motemix_crypto::secret::wiped::<STACK_LEN, T>(step)
}

/// An identifier as EDHOC has it in front of message_3 (RFC 9528, section 3.3.2), and the rest.
fn split_id(bytes: &[u8]) -> Option<(Id, &[u8])> {
    if let [0x00..=0x17 | 0x20..=0x37, rest @ ..] = bytes {
        return Some((Id::new(&bytes[..1])?, rest));
    }
    let (whole, rest) = split_byte_string(bytes)?;
    match &whole[head_len(whole)..] {
        // It has a shorter form.
        [0x00..=0x17 | 0x20..=0x37] => None,
        content => Some((Id::new(content)?, rest)),
    }
}

fn put_id(id: &ConnectionId) -> Vec<u8> {
    let bytes = id.as_bytes();
    match bytes {
        [0x00..=0x17 | 0x20..=0x37] => bytes.to_vec(),
        // At most 8 bytes.
        _ => [&[0x40 | bytes.len() as u8], bytes].concat(),
    }
}

const fn head_len(string: &[u8]) -> usize {
    match string.first() {
        Some(0x58) => 2,
        Some(0x59) => 3,
        _ => 1,
    }
}

/// A byte string of CBOR in its shortest form with its head, and the rest.
pub(super) fn split_byte_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = match *bytes {
        [head @ 0x40..=0x57, ..] => usize::from(head - 0x40),
        [0x58, len @ 24..=255, ..] => len.into(),
        [0x59, high @ 1..=255, low, ..] => usize::from(high) << 8 | usize::from(low),
        _ => return None,
    };
    bytes.split_at_checked(head_len(bytes) + len)
}

/// A request of [`begin`] or [`Met::alone`] for an endpoint, which says the rest.
pub fn to_request(message: &Message) -> Request {
    let mut request = Request::new(Method::Post, &PATH);
    request.content_format = Some(CID_EDHOC.into());
    request.payload.clone_from(&message.payload);
    request
}

/// An endpoint's response, for [`Begun::meet`] or [`Met::confirm`].
pub fn from_response(response: &Response) -> Message {
    Message::new(response.code.byte()).with_payload(&response.payload[..])
}

/// A message for the resource or from it.
fn carrying(code: u8, content_format: u8, payload: Vec<u8>) -> Message {
    let mut message = Message::new(code);
    message.add(number::CONTENT_FORMAT, [content_format]);
    message.payload = payload;
    message
}
