//! A context that both were given: a folder of aiocoap's on its side.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_coap::oscore::edhoc::{AnyByValue, Policy};
use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{
    Application, Arrived, Context, ContextId, Contexts, Exchange, Layer, Message, NotStored, NumberStore,
    Numbers, Preshared, Sender, Settings, Unopened,
};
use motemix_coap::{Code, Method, Peer, Standing};
use motemix_time::Instant;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::python::{Python, bytes};
use crate::wire::{Head, Wire};

pub const NOW: Instant = Instant::from_micros(1);

struct Disk;

impl NumberStore for Disk {
    fn reserve(&mut self, _: &str, _: u64) -> Result<(), NotStored> {
        Ok(())
    }
}

/// The same parameters on both sides, with an ID Context or without.
fn pair(id_context: Option<&[u8]>, echo: Option<[u8; 8]>) -> (TempDir, Contexts, ContextId) {
    let (secret, salt) = ([0x5a; 16], [0xa5; 8]);
    let mut settings = json!({
        "sender-id_hex": "02", "recipient-id_hex": "01", "secret_hex": hex::encode(secret), "salt_hex": hex::encode(salt),
    });
    if let Some(id_context) = id_context {
        settings["id-context_hex"] = hex::encode(id_context).into();
    }
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "settings.json", &settings);
    let given = Preshared {
        name: "door",
        master_secret: &secret,
        master_salt: &salt,
        id_context,
        sender: &[1],
        recipient: &[2],
    };
    let mut contexts = Contexts::new(Settings::default());
    let context = Context::preshared(NOW, &given, Numbers::restored(0, 16), echo).expect("sound");
    let id = contexts.insert(NOW, context).expect("a place");
    (folder, contexts, id)
}

fn write(folder: &Path, name: &str, value: &Value) {
    std::fs::write(folder.join(name), value.to_string()).expect("a file");
}

pub fn get() -> Message {
    let mut request = Message::new(Method::Get.byte());
    request.add(number::URI_PATH, "value");
    request
}

pub fn put(payload: &[u8]) -> Message {
    let mut request = get().with_payload(payload);
    request.code = Method::Put.byte();
    request
}

/// Asks aiocoap, and again with an Echo value if it wants one back.
pub fn ask(contexts: &mut Contexts, id: ContextId, wire: &mut Wire, port: u16, request: &Message) -> Message {
    let (outer, mut asked) = contexts.protect_request(NOW, id, request.clone(), &mut Disk).expect("sent");
    let token = wire.ask(port, &outer);
    let response =
        contexts.unprotect_response(NOW, &mut asked, &wire.hear(&token)).expect("under the same keys");
    match response.option(number::ECHO) {
        Some(echo) if response.code == Code::UNAUTHORIZED.byte() => {
            assert!(request.option(number::ECHO).is_none(), "once is enough");
            let mut again = request.clone();
            again.add(number::ECHO, echo);
            ask(contexts, id, wire, port, &again)
        }
        _ => response,
    }
}

/// Observes aiocoap while it is given values: what is heard.
pub fn observe(contexts: &mut Contexts, id: ContextId, wire: &mut Wire, port: u16, python: &mut Python) {
    let mut request = get();
    request.add(number::OBSERVE, []);
    let (outer, mut asked) = contexts.protect_request(NOW, id, request, &mut Disk).expect("sent");
    let token = wire.ask(port, &outer);
    let first = contexts.unprotect_response(NOW, &mut asked, &wire.hear(&token)).expect("a notification");
    assert_eq!(first.option(number::OBSERVE), Some(&[1][..]));
    for (order, value) in (2..).zip([&b"21.5"[..], b"22", b"22.5"]) {
        python.ask("set", json!({"payload": hex::encode(value)})).expect("a value");
        let outer = wire.hear(&token);
        let notice = contexts.unprotect_response(NOW, &mut asked, &outer).expect("a notification");
        assert_eq!((notice.option(number::OBSERVE), &notice.payload[..]), (Some(&[order][..]), value));
        assert_eq!(contexts.unprotect_response(NOW, &mut asked, &outer), Err(Unopened::Replayed));
    }
}

#[test]
fn aiocoap_answers_and_notifies_under_a_preshared_context() {
    let mut python = Python::under_oscore();
    for id_context in [None, Some(&b"house 7"[..])] {
        let (folder, mut contexts, id) = pair(id_context, None);
        let port = port(&python.ask("serve", json!({"folder": folder.path()})).expect("it serves"));
        let mut wire = Wire::new();
        let mut ask = |request: &Message| ask(&mut contexts, id, &mut wire, port, request);
        assert_eq!(ask(&put(b"20")).code, Code::CHANGED.byte());
        let response = ask(&get());
        assert_eq!((response.code, &response.payload[..]), (Code::CONTENT.byte(), &b"20"[..]));
        observe(&mut contexts, id, &mut wire, port, &mut python);
    }
}

#[test]
fn aiocoap_that_has_forgotten_its_window_gets_its_echo_back() {
    let mut python = Python::under_oscore();
    let (folder, mut contexts, id) = pair(None, None);
    write(folder.path(), "sequence.json", &json!({"next-to-send": 40, "received": "unknown"}));
    let port = port(&python.ask("serve", json!({"folder": folder.path()})).expect("it serves"));
    let response = ask(&mut contexts, id, &mut Wire::new(), port, &put(b"20"));
    assert_eq!(response.code, Code::CHANGED.byte());
}

pub fn port(answer: &Value) -> u16 {
    answer["port"].as_u64().expect("a number").try_into().expect("a port")
}

/// A server of ours with /value, under whatever contexts it has.
pub struct Server {
    wire: Wire,
    value: Vec<u8>,
    observer: Option<(SocketAddr, Head, Exchange)>,
    /// Values that come when there is an observer.
    coming: VecDeque<Vec<u8>>,
}

impl Server {
    pub fn new() -> Self {
        let coming = VecDeque::from([b"31".to_vec(), b"32".to_vec()]);
        Self { wire: Wire::new(), value: b"30".to_vec(), observer: None, coming }
    }

    pub fn port(&self) -> u16 {
        self.wire.port()
    }

    /// Answers until something was PUT that is empty.
    pub fn serve(&mut self, layer: &mut Layer, policy: &mut dyn Policy, rng: &mut ChaCha20Rng) {
        loop {
            let (from, head, outer) = self.wire.receive();
            let mut application = Application { policy: &mut *policy, store: &mut Disk };
            let sender = Sender { peer: Peer::Datagram(from), standing: Standing::Unproven };
            let (request, mut exchange) = match layer.arrive(NOW, sender, outer, &mut application, rng) {
                Arrived::Protected(request, exchange) => (request, exchange),
                Arrived::Answer(answer) => {
                    self.wire.answer(from, &head, &answer);
                    continue;
                }
                other => panic!("{other:?} from aiocoap"),
            };
            let contexts = &mut layer.contexts;
            let is_end = request.code == Method::Put.byte() && request.payload.is_empty();
            let observes = request.single(number::OBSERVE) == Some(&[]);
            let mut response = if request.code == Method::Put.byte() {
                self.value.clone_from(&request.payload);
                Message::new(Code::CHANGED.byte())
            } else {
                Message::new(Code::CONTENT.byte()).with_payload(&self.value[..])
            };
            if observes {
                response.add(number::OBSERVE, []);
            }
            let outer = contexts.protect_response(&mut exchange, response, &mut Disk).expect("sent");
            self.wire.answer(from, &head, &outer);
            if observes {
                self.observer = Some((from, head, exchange));
                self.notify(contexts);
            }
            if is_end {
                return;
            }
        }
    }

    fn notify(&mut self, contexts: &mut Contexts) {
        let Some((to, head, exchange)) = &mut self.observer else { return };
        for (order, value) in (1..).zip(self.coming.drain(..)) {
            let mut notice = Message::new(Code::CONTENT.byte()).with_payload(&value[..]);
            notice.add(number::OBSERVE, [order]);
            let outer = contexts.protect_response(exchange, notice, &mut Disk).expect("sent");
            self.wire.notify(*to, head, &outer);
            self.value = value;
        }
    }
}

/// What aiocoap asks a server of ours, to the end.
pub fn visit(python: &mut Python) {
    let told = |answer: &Value| {
        assert_eq!(answer["is_protected"], true, "{answer}");
        (answer["code"].as_u64().expect("a code"), bytes(answer, "payload"))
    };
    assert_eq!(told(&python.ask("get", json!({})).expect("a response")), (0x45, b"30".to_vec()));
    assert_eq!(told(&python.ask("put", json!({"payload": "3230"})).expect("a response")), (0x44, vec![]));
    assert_eq!(told(&python.ask("observe", json!({})).expect("a response")), (0x45, b"20".to_vec()));
    // aiocoap keeps what came last.
    let (code, value) = told(&python.ask("notified", json!({})).expect("a notification"));
    assert_eq!(code, 0x45);
    if value == b"31" {
        let answer = python.ask("notified", json!({})).expect("a notification");
        assert_eq!(told(&answer), (0x45, b"32".to_vec()));
    } else {
        assert_eq!(value, b"32");
    }
    assert_eq!(told(&python.ask("put", json!({"payload": ""})).expect("a response")), (0x44, vec![]));
}

#[test]
fn aiocoap_asks_and_observes_under_a_preshared_context_and_gives_an_echo_back() {
    let mut python = Python::under_oscore();
    for (id_context, echo) in [(None, None), (Some(&b"house 7"[..]), None), (None, Some([7; 8]))] {
        let (folder, contexts, _) = pair(id_context, echo);
        let mut layer = Layer { contexts, responder: None };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut server = Server::new();
        let question = json!({"port": server.port(), "folder": folder.path()});
        python.ask("introduce", question).expect("a client");
        thread::scope(|scope| {
            let visitor = scope.spawn(|| visit(&mut python));
            server.serve(&mut layer, &mut AnyByValue, &mut rng);
            visitor.join().expect("all was as expected");
        });
        assert_eq!(layer.contexts.counters().asked_for_echo, u64::from(echo.is_some()));
    }
}
