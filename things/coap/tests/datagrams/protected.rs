//! Endpoints that speak OSCORE with each other, and whoever sends in the client's name.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use motemix_coap::message::{Kind, Message};
use motemix_coap::oscore::edhoc::{
    self, AnyByValue, DeviceKey, Own, OwnSecret, Responder, begin, from_response, to_request,
};
use motemix_coap::oscore::{
    Context, ContextId, Contexts, Layer, NotStored, NothingStored, NumberStore, Numbers, Preshared,
    Settings as Bounds,
};
use motemix_coap::{
    CallId, Code, Endpoint, Event, Incoming, Method, Observe, Protection, Request, Response, Settings, format,
};
use motemix_crypto::Secret;
use motemix_neighbour::edhoc::Method as Authentication;
use motemix_neighbour::edhoc::cipher_suite::Ed25519Key;
use motemix_time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use crate::pair::{Application, CLIENT, Pair, SERVER, address};

const NAMES: [&[u8]; 2] = [&[1], &[2]];

struct Disk;

impl NumberStore for Disk {
    fn reserve(&mut self, _: &str, _: u64) -> Result<(), NotStored> {
        Ok(())
    }
}

/// What both sides were given.
pub fn given(side: usize) -> Preshared<'static> {
    Preshared {
        name: "door",
        master_secret: &[7; 16],
        master_salt: &[],
        id_context: None,
        sender: NAMES[side],
        recipient: NAMES[1 - side],
    }
}

pub fn protect(endpoint: &mut Endpoint, side: usize, echo: Option<[u8; 8]>) -> ContextId {
    let mut contexts = Contexts::new(Bounds::default());
    let now = Instant::from_micros(1);
    let context = Context::preshared(now, &given(side), Numbers::restored(0, 64), echo).expect("sound");
    let id = contexts.insert(now, context).expect("a place");
    let layer = Layer { contexts, responder: None };
    endpoint.protect(Protection { layer, policy: Box::new(AnyByValue), store: Box::new(Disk) });
    id
}

/// A resource that gives back what was put there, and its pair under a preshared context.
pub fn pair(seed: u64) -> (Pair, ContextId, Rc<RefCell<Vec<u8>>>) {
    let value = Rc::new(RefCell::new(b"21.5".to_vec()));
    let kept = value.clone();
    let application = move |request: Request, _| {
        if request.method == Method::Put {
            *kept.borrow_mut() = request.payload;
            return (Response::new(Code::CHANGED), false);
        }
        let body = kept.borrow().clone();
        (Response::content(Code::CONTENT, format::OCTETS, body), request.observe == Some(Observe::Register))
    };
    let (pair, id) = pair_with(seed, Box::new(application));
    (pair, id, value)
}

/// The same with another application.
pub fn pair_with(seed: u64, application: Application) -> (Pair, ContextId) {
    let mut pair = Pair::new(seed, application);
    let id = protect(&mut pair.client, 0, None);
    protect(&mut pair.server, 1, None);
    (pair, id)
}

pub fn ask(pair: &mut Pair, context: Option<ContextId>, request: Request) -> CallId {
    pair.client.request_under(pair.now, address(SERVER), request, context).expect("there is room")
}

pub fn answer(pair: &mut Pair, context: Option<ContextId>, request: Request) -> Option<Response> {
    let call = ask(pair, context, request);
    pair.run(Duration::from_mins(10), |pair| pair.response(call).is_some() || pair.has_failed(call));
    pair.response(call).cloned()
}

fn get() -> Request {
    Request::new(Method::Get, &["value"])
}

pub fn put(body: &[u8]) -> Request {
    Request { payload: body.to_vec(), ..Request::new(Method::Put, &["value"]) }
}

fn observe() -> Request {
    Request { observe: Some(Observe::Register), ..get() }
}

#[test]
fn bodies_of_many_blocks_go_both_ways_under_oscore_while_datagrams_are_lost_and_repeated() {
    for seed in 0..8 {
        let (mut pair, id, value) = pair(seed);
        (pair.loss, pair.repeat, pair.delay) = (40, 60, Duration::from_millis(300));
        let body: Vec<u8> = (0..5000_u32).map(|at| ((at * 7) >> 3) as u8).collect();
        let response = answer(&mut pair, Some(id), put(&body)).expect("it gets through");
        assert_eq!((response.code, &*value.borrow()), (Code::CHANGED, &body), "seed {seed}");
        let response = answer(&mut pair, Some(id), get()).expect("it gets through");
        assert_eq!(&response.payload[..], &body[..], "seed {seed}");
    }
}

#[test]
fn an_observation_under_oscore_brings_the_newest_value_and_stays_one() {
    for seed in 0..8 {
        let (mut pair, id, _) = pair(seed);
        (pair.loss, pair.repeat, pair.delay) = (40, 60, Duration::from_millis(300));
        let call = ask(&mut pair, Some(id), observe());
        pair.run(Duration::from_mins(10), |pair| pair.response(call).is_some());
        for value in 0..20_u8 {
            let response = Response::content(Code::CONTENT, format::OCTETS, [value; 3]);
            // What is sent once may be lost; the last one is to be acknowledged.
            let observers = pair.observers.clone();
            for observer in &observers {
                pair.server.notify(pair.now, observer, &response, value == 19, false);
            }
            pair.run(Duration::from_secs(2), |_| false);
        }
        pair.run(Duration::from_mins(5), |_| false);
        let values: Vec<u8> = pair.notifications(call).iter().map(|notice| notice.payload[0]).collect();
        assert!(values.is_sorted_by(|before, after| before < after), "seed {seed}: {values:?}");
        assert_eq!(values.last(), Some(&19), "seed {seed}");
        pair.client.cancel(call);
    }
}

/// OSCORE is within a message, and a reset has the message's id alone.
#[test]
fn resets_in_its_name_end_no_observation_under_oscore() {
    let (mut pair, id, _) = pair(1);
    let call = ask(&mut pair, Some(id), observe());
    pair.run(Duration::from_mins(1), |pair| pair.response(call).is_some());
    for value in 0..3_u8 {
        let response = Response::content(Code::CONTENT, format::OCTETS, [value; 3]);
        pair.notify(&response);
        pair.run(Duration::from_secs(5), |_| false);
        for id in 0..=u16::MAX {
            let reset = Message::empty(Kind::Reset, id).write();
            let _ = pair.server.handle_datagram(pair.now, address(CLIENT), &reset);
        }
    }
    assert_eq!((pair.notifications(call).len(), pair.gone()), (3, 0));
    // The client has had enough: it rejects the next one, and is asked until nobody acknowledges it.
    pair.client.cancel(call);
    pair.notify(&Response::content(Code::CONTENT, format::OCTETS, [3; 3]));
    pair.run(Duration::from_mins(5), |pair| pair.gone() > 0);
    assert_eq!((pair.gone(), pair.observers.len()), (1, 0));
}

#[test]
fn a_server_that_has_restarted_is_given_its_echo_back_by_the_endpoint() {
    let (mut pair, id, _) = pair(1);
    assert!(answer(&mut pair, Some(id), get()).is_some());
    pair.server = Endpoint::new(Settings::default(), [9; 32]);
    protect(&mut pair.server, 1, Some([5; 8]));
    assert!(answer(&mut pair, Some(id), get()).is_some());
    let counters = *pair.server.protection().expect("it speaks OSCORE").layer.contexts.counters();
    assert_eq!(counters.asked_for_echo, 1);
}

#[test]
fn a_request_whose_context_is_gone_fails_soon_and_not_at_once() {
    let (mut pair, id, _) = pair(1);
    pair.server.protection().expect("it speaks OSCORE").layer.contexts = Contexts::new(Bounds::default());
    let (call, before) = (ask(&mut pair, Some(id), get()), pair.now);
    pair.run(Duration::from_mins(10), |pair| pair.has_failed(call));
    let took = pair.now - before;
    assert!((Duration::from_secs(5)..Duration::from_secs(30)).contains(&took), "{took:?}");
}

#[test]
fn a_device_makes_its_context_and_the_application_learns_whose_key_it_is() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let own = |byte| {
        let key = OwnSecret::Ed25519(Ed25519Key::new(Secret::new([byte; 32])));
        Own::new(key, None, None).expect("short")
    };
    let seen: Rc<RefCell<Vec<Option<DeviceKey>>>> = Rc::default();
    let mut pair = Pair::new(3, Box::new(|_, _| (Response::new(Code::CHANGED), false)));
    let protection = |responder| Protection {
        layer: Layer { contexts: Contexts::new(Bounds::default()), responder },
        policy: Box::new(AnyByValue),
        store: Box::new(NothingStored),
    };
    pair.client.protect(protection(None));
    let responder = Responder::new(edhoc::Settings::default(), vec![own(1)]);
    pair.server.protect(protection(Some(responder)));

    let device = own(2);
    let contexts = &pair.client.protection().expect("it speaks OSCORE").layer.contexts;
    let (mut begun, message_1) =
        begin(&device, Authentication::Signatures, &[], (contexts, &[]), &mut rng).expect("a name");
    let response = answer(&mut pair, None, to_request(&message_1)).expect("message_2");
    let met = begun.meet(&from_response(&response), &device, &mut AnyByValue, &mut rng).expect("the server");
    assert_eq!(met.server().key, *own(1).key());
    let response = answer(&mut pair, None, to_request(&met.alone())).expect("message_4");
    met.confirm(&from_response(&response)).expect("it knows this side");
    let now = pair.now;
    let contexts = &mut pair.client.protection().expect("it speaks OSCORE").layer.contexts;
    let id = contexts.insert(now, met.context(now).expect("other names")).expect("a place");

    // Under the context, and without: what an application is told of each.
    for context in [Some(id), None] {
        ask(&mut pair, context, put(b"open"));
        while let Some(transmit) = pair.client.poll_transmit() {
            pair.server.handle_datagram(now, address(CLIENT), &transmit.bytes).expect("taken");
        }
        let Incoming { ticket, request } = pair.server.poll_request().expect("a request");
        assert_eq!(request, put(b"open"));
        seen.borrow_mut().push(pair.server.device(&ticket).map(|device| device.key));
        pair.server.respond(now, ticket, &Response::new(Code::CHANGED), false);
    }
    assert_eq!(*seen.borrow(), [Some(*device.key()), None]);
}

/// Sends in the name of the client, and knows what went over the wire, but no keys.
struct Forger(Endpoint);

impl Forger {
    /// Its request as a datagram, with the id and the token of another one's.
    fn request(&mut self, now: Instant, request: Request, like: &[u8]) -> Vec<u8> {
        self.0.request(now, address(SERVER), request).expect("there is room");
        let mut bytes = self.0.poll_transmit().expect("a datagram").bytes;
        let token_len = usize::from(like[0] & 0x0f);
        assert_eq!(bytes[0] & 0x0f, like[0] & 0x0f, "tokens of one length");
        bytes[4..4 + token_len].copy_from_slice(&like[4..4 + token_len]);
        bytes
    }
}

fn forger() -> Forger {
    Forger(Endpoint::new(Settings::default(), [66; 32]))
}

#[test]
fn blocks_without_protection_do_not_get_into_a_body_under_oscore() {
    let (mut pair, id, value) = pair(4);
    let (now, body) = (pair.now, [b'o'; 2500]);
    let mut forger = forger();
    ask(&mut pair, Some(id), put(&body));
    let first = pair.client.poll_transmit().expect("block 0").bytes;
    pair.server.handle_datagram(now, address(CLIENT), &first).expect("taken");
    let answer = pair.server.poll_transmit().expect("2.31").bytes;
    // The forger begins a body of its own under the client's address, and asks for its blocks.
    let datagram = forger.request(now, put(&[b'x'; 2500]), &first);
    pair.server.handle_datagram(now, address(CLIENT), &datagram).expect("a body of its own");
    while pair.server.poll_transmit().is_some() {}
    pair.client.handle_datagram(now, address(SERVER), &answer).expect("taken");
    pair.run(Duration::from_mins(1), |pair| !pair.events.is_empty());
    assert!(matches!(&pair.events[..], [Event::Response { response, .. }] if response.code == Code::CHANGED));
    assert_eq!(*value.borrow(), body, "nothing of the forger's is in it");
}

#[test]
fn a_further_block_of_a_body_under_oscore_is_told_to_nobody_else() {
    let (mut pair, id, value) = pair(5);
    *value.borrow_mut() = [b's'; 2500].to_vec();
    assert!(answer(&mut pair, Some(id), get()).is_some());
    *value.borrow_mut() = b"for everybody".to_vec();
    // Block 1, 64 bytes each: what the server keeps of the answer before would be there.
    let mut datagram = vec![0x41, 1, 0x12, 0x34, 9, 0xb5];
    datagram.extend(b"value");
    datagram.extend([0xc1, 1 << 4 | 2]);
    pair.server.handle_datagram(pair.now, address(CLIENT), &datagram).expect("a request");
    let Some(Incoming { request, .. }) = pair.server.poll_request() else {
        panic!("the application is asked, and not the body that is kept");
    };
    assert_eq!(request, get());
}

#[test]
fn an_observation_under_oscore_is_not_taken_over_by_its_token() {
    let (mut pair, id, _) = pair(6);
    let call = ask(&mut pair, Some(id), observe());
    let now = pair.now;
    let registration = pair.client.poll_transmit().expect("a registration").bytes;
    pair.server.handle_datagram(now, address(CLIENT), &registration).expect("taken");
    pair.run(Duration::from_secs(1), |pair| pair.response(call).is_some());
    let mut forger = forger();
    for request in [observe(), get(), Request { observe: Some(Observe::Deregister), ..get() }] {
        let now = pair.now;
        let datagram = forger.request(now, request, &registration);
        pair.server.handle_datagram(now, address(CLIENT), &datagram).expect_err("the token observes");
        assert!(pair.server.poll_request().is_none());
        while pair.server.poll_transmit().is_some() {}
    }
    assert_eq!(pair.server.relations(), 1);
    pair.notify(&Response::content(Code::CONTENT, format::OCTETS, *b"22"));
    // What goes over the wire is no plain text.
    let notice = pair.server.poll_transmit().expect("a notification");
    assert!(!notice.bytes.windows(2).any(|bytes| bytes == b"22"));
    pair.client.handle_datagram(pair.now, address(SERVER), &notice.bytes).expect("taken");
    pair.run(Duration::from_secs(1), |pair| !pair.notifications(call).is_empty());
    assert_eq!(&pair.notifications(call)[0].payload[..], b"22");
}

#[test]
fn a_retransmission_gets_the_same_answer_and_is_carried_out_once() {
    let (mut pair, id, _) = pair(7);
    ask(&mut pair, Some(id), put(b"open"));
    let request = pair.client.poll_transmit().expect("a request").bytes;
    let now = pair.now;
    pair.server.handle_datagram(now, address(CLIENT), &request).expect("taken");
    let Incoming { ticket, .. } = pair.server.poll_request().expect("a request");
    pair.server.respond(now, ticket, &Response::new(Code::CHANGED), false);
    let first = pair.server.poll_transmit().expect("a response");
    for _ in 0..3 {
        pair.server.handle_datagram(now, address(CLIENT), &request).expect_err("it came before");
        assert_eq!(pair.server.poll_transmit(), Some(first.clone()));
        assert!(pair.server.poll_request().is_none());
    }
    // Under another id it is a replay.
    let mut replay = request;
    replay[2] ^= 1;
    pair.server.handle_datagram(now, address(CLIENT), &replay).expect_err("its number is used");
    assert!(pair.server.poll_request().is_none());
}
