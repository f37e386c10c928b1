//! A client and a server under one context, and somebody between them who repeats, reorders, alters
//! and makes up messages, and restarts both. Each request is carried out once at most, as it was
//! sent, and no nonce serves twice. And whatever bytes, at a server that answers EDHOC too.
#![cfg_attr(fuzzing, no_main)]

use std::collections::{BTreeMap, BTreeSet};

use arbitrary::{Arbitrary, Unstructured};
use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use motemix_coap::oscore::edhoc::{self, AnyByValue, Own, OwnSecret, Responder};
use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{
    Asked, Context, ContextId, Contexts, Exchange, Header, Message, NotStored, NothingStored, NumberStore,
    Numbers, Preshared, Sender, Settings,
};
use motemix_coap::{Peer, Standing};
use motemix_crypto::Secret;
use motemix_fuzz::{Damage, fuzz_target};
use motemix_time::Instant;

// The first byte says what the others are, so that real messages are seeds.
fuzz_target!(|bytes: &[u8]| match bytes {
    [0, message @ ..] => anything(message),
    [_, actions @ ..] => {
        if let Ok(actions) = Vec::<Action>::arbitrary(&mut Unstructured::new(actions)) {
            between(&actions);
        }
    }
    [] => {}
});

const NOW: Instant = Instant::from_micros(1);
const NAMES: [&[u8]; 2] = [&[1], &[2]];

fn anything(bytes: &[u8]) {
    if let Some(header) = Header::parse(bytes) {
        assert_eq!(header.to_bytes(), bytes, "there is one form only");
    }
    let Ok(message) = Message::from_bytes(bytes) else { return };
    assert_eq!(Message::from_bytes(&message.to_bytes()).as_ref(), Ok(&message));
    let mut side = Side::new(1);
    assert!(side.contexts.unprotect_request(NOW, &message, &mut NothingStored).is_err());
    let own = Own::new(OwnSecret::X25519(Secret::new([1; 32])), None, None).expect("short");
    let mut responder = Responder::new(edhoc::Settings::default(), vec![own]);
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    let contexts = &mut side.contexts;
    let from = Sender { peer: Peer::Stream(0), standing: Standing::Certain };
    responder.answer(NOW, from, &message, contexts, &mut AnyByValue, &mut rng);
    assert!(responder.unwrap_combined(NOW, &message, contexts, &mut AnyByValue).is_err());
    assert_eq!(contexts.len(), 1, "nobody proved a key");
}

/// How far each side has reserved.
#[derive(Default)]
struct Disk(BTreeMap<String, u64>);

impl NumberStore for Disk {
    fn reserve(&mut self, name: &str, below: u64) -> Result<(), NotStored> {
        let before = self.0.insert(name.to_owned(), below).unwrap_or(0);
        assert!(before < below);
        Ok(())
    }
}

struct Side {
    number: usize,
    contexts: Contexts,
    id: ContextId,
    disk: Disk,
}

impl Side {
    fn new(number: usize) -> Self {
        let mut contexts = Contexts::new(Settings::default());
        let id = contexts.insert(NOW, context(number, 0, None)).expect("a place");
        Self { number, contexts, id, disk: Disk::default() }
    }

    fn restart(&mut self, echo: [u8; 8]) {
        let below = self.disk.0.get("door").copied().unwrap_or(0);
        self.contexts = Contexts::new(Settings::default());
        self.id = self.contexts.insert(NOW, context(self.number, below, Some(echo))).expect("a place");
    }
}

fn context(number: usize, below: u64, echo: Option<[u8; 8]>) -> Context {
    let given = Preshared {
        name: "door",
        master_secret: &[7; 16],
        master_salt: &[],
        id_context: None,
        sender: NAMES[number],
        recipient: NAMES[1 - number],
    };
    Context::preshared(NOW, &given, Numbers::restored(below, 3), echo).expect("sound")
}

#[derive(Arbitrary, Debug)]
enum Action {
    /// The client asks, and gives an Echo value back if it has one.
    Ask {
        code: u8,
        observes: bool,
        payload: Vec<u8>,
    },
    /// One of all messages so far comes to the server, altered or not.
    ToServer(u8, Option<Damage>),
    /// The server answers one of the requests that it has taken.
    Answer(u8, Vec<u8>),
    /// One of all messages so far comes to the client for one of its requests.
    ToClient(u8, u8, Option<Damage>),
    RestartServer([u8; 8]),
    RestartClient,
}

/// All messages that were ever sent, by whom, and what was in them.
#[derive(Default)]
struct Seen {
    sent: Vec<Message>,
    inside: BTreeMap<Vec<u8>, Message>,
    nonces: BTreeSet<(usize, Option<u64>, Vec<u8>)>,
    taken: BTreeSet<Vec<u8>>,
}

impl Seen {
    /// A message leaves: its ciphertext stands for it.
    fn send(&mut self, by: usize, outer: Message, inner: Message) {
        let header = outer.option(number::OSCORE).and_then(Header::parse).expect("sound");
        if header.partial_iv.is_some() {
            assert!(self.nonces.insert((by, header.partial_iv, vec![])), "a number for the second time");
        }
        self.inside.insert(outer.payload.clone(), inner);
        self.sent.push(outer);
    }

    fn one(&self, which: u8, damage: Option<&Damage>) -> Option<Message> {
        let message = self.sent.get(usize::from(which) % self.sent.len().max(1))?;
        let mut bytes = message.to_bytes();
        if let Some(damage) = damage {
            damage.apply(&mut bytes);
        }
        Message::from_bytes(&bytes).ok()
    }
}

fn between(actions: &[Action]) {
    let [mut client, mut server] = [0, 1].map(Side::new);
    let mut seen = Seen::default();
    let mut asked: Vec<(Asked, Vec<u8>)> = Vec::new();
    let mut open: Vec<Exchange> = Vec::new();
    let mut echo: Option<Vec<u8>> = None;
    for action in actions {
        match action {
            Action::Ask { code, observes, payload } => {
                let mut inner = Message::new(1 + code % 7).with_payload(&payload[..]);
                inner.add(number::URI_PATH, "door");
                if *observes {
                    inner.add(number::OBSERVE, []);
                }
                if let Some(echo) = echo.take() {
                    inner.add(number::ECHO, echo);
                }
                let id = client.id;
                let sent = client.contexts.protect_request(NOW, id, inner.clone(), &mut client.disk);
                let (outer, kept) = sent.expect("a number");
                asked.push((kept, outer.payload.clone()));
                seen.send(0, outer, inner);
            }
            Action::ToServer(which, damage) => {
                let Some(outer) = seen.one(*which, damage.as_ref()) else { continue };
                match server.contexts.unprotect_request(NOW, &outer, &mut server.disk) {
                    Ok((inner, exchange)) => {
                        let mut expected = seen.inside.get(&outer.payload).expect("it was sent").clone();
                        // What is for proxies is not protected, and may have come on the way.
                        for (number, value) in outer.options() {
                            if [3, 7, 16, 35, 39].contains(&number) {
                                expected.add(number, value);
                            }
                        }
                        assert_eq!(inner, expected);
                        assert!(seen.taken.insert(outer.payload), "carried out twice");
                        open.push(exchange);
                    }
                    Err(motemix_coap::oscore::Unopened::Forgotten(answer)) => {
                        seen.send(1, answer, Message::default());
                    }
                    Err(_) => {}
                }
            }
            Action::Answer(which, payload) => {
                let at = usize::from(*which) % open.len().max(1);
                let Some(exchange) = open.get_mut(at) else { continue };
                let mut inner = Message::new(0x45).with_payload(&payload[..]);
                inner.add(number::OBSERVE, [7]);
                let sent = server.contexts.protect_response(exchange, inner.clone(), &mut server.disk);
                if let Ok(outer) = sent {
                    inner.remove(number::OBSERVE);
                    seen.send(1, outer, inner);
                }
            }
            Action::ToClient(which, request, damage) => {
                let Some(outer) = seen.one(*which, damage.as_ref()) else { continue };
                let at = usize::from(*request) % asked.len().max(1);
                let Some((asked, _)) = asked.get_mut(at) else { continue };
                if let Ok(mut inner) = client.contexts.unprotect_response(NOW, asked, &outer) {
                    let expected = seen.inside.get(&outer.payload).expect("it was sent");
                    if let Some(value) = inner.option(number::ECHO) {
                        echo = Some(value.to_vec());
                    } else {
                        inner.remove(number::OBSERVE);
                        assert_eq!(&inner, expected);
                    }
                }
            }
            Action::RestartServer(echo) => {
                server.restart(*echo);
                open.clear();
            }
            Action::RestartClient => {
                client.restart([0; 8]);
                asked.clear();
            }
        }
    }
}
