//! A client and a server with one preshared context, and whatever carries messages between them.

use std::collections::BTreeMap;
use std::time::Duration;

use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{
    Asked, Context, ContextId, Contexts, Exchange, Message, NotStored, NumberStore, Numbers, Preshared,
    Settings, Unopened,
};
use motemix_coap::{Code, Method};
use motemix_time::Instant;

pub const START: Instant = Instant::from_micros(1_000_000);
pub const BLOCK: u64 = 8;

/// What is left after a restart.
#[derive(Debug, Default, Clone)]
pub struct Disk {
    pub below: BTreeMap<String, u64>,
    pub is_full: bool,
}

impl NumberStore for Disk {
    fn reserve(&mut self, name: &str, below: u64) -> Result<(), NotStored> {
        if self.is_full {
            return Err(NotStored);
        }
        let before = self.below.insert(name.to_owned(), below);
        assert!(before.is_none_or(|before| before < below), "reservations grow");
        Ok(())
    }
}

/// One of the two.
#[derive(Debug)]
pub struct Side {
    pub contexts: Contexts,
    pub id: ContextId,
    pub disk: Disk,
    name: [&'static [u8]; 2],
}

pub const NAMES: [[&[u8]; 2]; 2] = [[b"\x01", b"\x02"], [b"\x02", b"\x01"]];

fn given(name: [&'static [u8]; 2]) -> Preshared<'static> {
    Preshared {
        name: "door",
        master_secret: b"sixteen random bytes",
        master_salt: b"salt",
        id_context: None,
        sender: name[0],
        recipient: name[1],
    }
}

impl Side {
    pub fn new(name: [&'static [u8]; 2]) -> Self {
        let mut contexts = Contexts::new(Settings::default());
        let context = Context::preshared(START, &given(name), Numbers::restored(0, BLOCK), None);
        let id = contexts.insert(START, context.expect("sound parameters")).expect("a place");
        Self { contexts, id, disk: Disk::default(), name }
    }

    /// The process ends and another begins: of the context only the disk has something.
    pub fn restart(&mut self, echo: [u8; 8]) {
        let below = self.disk.below.get("door").copied().unwrap_or(0);
        let numbers = Numbers::restored(below, BLOCK);
        let context = Context::preshared(START, &given(self.name), numbers, Some(echo));
        self.contexts = Contexts::new(Settings::default());
        self.id = self.contexts.insert(START, context.expect("sound parameters")).expect("a place");
    }

    pub fn ask(&mut self, inner: &Message) -> (Message, Asked) {
        self.contexts.protect_request(later(1), self.id, inner.clone(), &mut self.disk).expect("a number")
    }

    pub fn take(&mut self, outer: &Message) -> Result<(Message, Exchange), Unopened> {
        self.contexts.unprotect_request(later(2), outer, &mut self.disk)
    }

    pub fn answer(&mut self, exchange: &mut Exchange, inner: &Message) -> Message {
        self.contexts.protect_response(exchange, inner.clone(), &mut self.disk).expect("a number")
    }

    pub fn hear(&mut self, asked: &mut Asked, outer: &Message) -> Result<Message, Unopened> {
        self.contexts.unprotect_response(later(3), asked, outer)
    }
}

pub fn client_and_server() -> [Side; 2] {
    NAMES.map(Side::new)
}

pub fn later(seconds: u64) -> Instant {
    START + Duration::from_secs(seconds)
}

pub fn get(path: &str) -> Message {
    let mut request = Message::new(Method::Get.byte());
    request.add(number::URI_PATH, path);
    request
}

pub fn put(path: &str, payload: &[u8]) -> Message {
    let mut request = Message::new(Method::Put.byte());
    request.add(number::URI_PATH, path);
    request.add(number::CONTENT_FORMAT, []);
    request.payload = payload.to_vec();
    request
}

pub fn observe(path: &str, value: &[u8]) -> Message {
    let mut request = get(path);
    request.add(number::OBSERVE, value);
    request
}

pub fn content(payload: &[u8]) -> Message {
    let mut response = Message::new(Code::CONTENT.byte());
    response.payload = payload.to_vec();
    response
}

pub fn notification(order: u8, payload: &[u8]) -> Message {
    let mut response = content(payload);
    response.add(number::OBSERVE, [order]);
    response
}
