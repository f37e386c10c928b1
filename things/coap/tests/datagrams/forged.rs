//! What others send in a client's name: they write its address, and see no answer.

use std::time::Duration;

use motemix_coap::message::{Kind, Message, option};
use motemix_coap::oscore::edhoc::{AnyByValue, begin, from_response, to_request};
use motemix_coap::{
    Block, Code, DropReason, Endpoint, Event, Method, Relation, Request, Response, Settings, Token, format,
};
use motemix_neighbour::edhoc::Method as Authentication;
use motemix_time::Instant;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng as _;

use crate::outer::{contexts, own, responder};
use crate::pair::{CLIENT, Pair, address};

const NOW: Instant = Instant::from_micros(1_000_000);

/// A server, the client whose name others use, and its Echo value.
struct Bench {
    server: Endpoint,
    echo: Vec<u8>,
    next: u16,
    /// Bodies that the application got.
    bodies: Vec<Vec<u8>>,
    response: Response,
}

/// Whether a message shows that it is the client's own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Client,
    Anybody,
}

impl Bench {
    fn new() -> Self {
        Self::of(Endpoint::new(Settings::default(), [3; 32]))
    }

    fn of(mut server: Endpoint) -> Self {
        let asked = message(Method::Get, 1, &[]).write();
        server.handle_datagram(NOW, address(CLIENT), &asked).expect("a request");
        let ticket = server.poll_request().expect("a request").ticket;
        server.ask_for_proof(NOW, ticket);
        let refusal = Message::read(&server.poll_transmit().expect("an answer").bytes).expect("a message");
        let echo = refusal.option(option::ECHO).expect("something to prove it with").to_vec();
        Self { server, echo, next: 1, bodies: Vec::new(), response: Response::new(Code::CHANGED) }
    }

    /// Hands a datagram to the server; the code of the answer.
    fn hand(&mut self, mut message: Message, by: By) -> Option<Code> {
        if by == By::Client {
            message.push(option::ECHO, &self.echo[..]);
        }
        Code::of_byte(self.hand_bytes(&message.write())?.code)
    }

    fn hand_bytes(&mut self, bytes: &[u8]) -> Option<Message> {
        let _ = self.server.handle_datagram(NOW, address(CLIENT), bytes);
        while let Some(incoming) = self.server.poll_request() {
            self.bodies.push(incoming.request.payload);
            self.server.respond(NOW, incoming.ticket, &self.response, false);
        }
        let sent = self.server.poll_transmit()?;
        Some(Message::read(&sent.bytes).expect("a message"))
    }

    /// A block of a PUT, of 16 bytes.
    fn put(&mut self, by: By, number: u32, more: bool, byte: u8) -> Option<Code> {
        self.next += 1;
        let mut message = message(Method::Put, self.next, &[byte; 16]);
        message.push_number(option::BLOCK1, Block { number, more, exponent: 0 }.value());
        self.hand(message, by)
    }
}

fn message(method: Method, id: u16, payload: &[u8]) -> Message {
    let mut message = Message::empty(Kind::Confirmable, id);
    message.code = method.byte();
    message.token = Token::new(&id.to_be_bytes()).expect("short");
    message.push(option::URI_PATH, *b"t");
    message.payload = payload.to_vec();
    message
}

const CONTINUE: Option<Code> = Some(Code::CONTINUE);
const CHANGED: Option<Code> = Some(Code::CHANGED);
const UNAUTHORIZED: Option<Code> = Some(Code::UNAUTHORIZED);
const INCOMPLETE: Option<Code> = Some(Code::REQUEST_ENTITY_INCOMPLETE);

#[test]
fn blocks_in_its_name_neither_end_nor_get_into_a_body_whose_blocks_show_an_echo_value() {
    use By::{Anybody, Client};
    let mut bench = Bench::new();
    // What others began before is not gone on with.
    assert_eq!(bench.put(Anybody, 0, true, b'f'), CONTINUE);
    assert_eq!(bench.put(Client, 1, false, b'b'), INCOMPLETE);
    assert_eq!(bench.put(Client, 0, true, b'a'), CONTINUE);
    // A first block, one in the middle, the last one, and one of a length that no block has.
    assert_eq!(bench.put(Anybody, 0, true, b'f'), UNAUTHORIZED);
    assert_eq!(bench.put(Anybody, 1, true, b'f'), UNAUTHORIZED);
    assert_eq!(bench.put(Anybody, 1, false, b'f'), UNAUTHORIZED);
    let mut unsound = message(Method::Put, 100, b"f");
    unsound.push_number(option::BLOCK1, Block { number: 1, more: true, exponent: 0 }.value());
    assert_eq!(bench.hand(unsound, Anybody), UNAUTHORIZED);
    assert_eq!(bench.put(Client, 1, true, b'b'), CONTINUE);
    assert_eq!(bench.put(Anybody, 0, false, b'f'), UNAUTHORIZED);
    assert_eq!(bench.put(Client, 2, false, b'c'), CHANGED);
    assert_eq!(bench.bodies, [[[b'a'; 16], [b'b'; 16], [b'c'; 16]].concat()]);
}

/// An older client knows no Echo: its body goes on, and begins anew, as long as nobody has shown an
/// Echo value for it.
#[test]
fn a_client_that_shows_no_echo_value_sends_and_begins_bodies_as_before() {
    use By::Anybody;
    let mut bench = Bench::new();
    for byte in [b'a', b'b'] {
        assert_eq!(bench.put(Anybody, 0, true, byte), CONTINUE);
    }
    assert_eq!(bench.put(Anybody, 1, false, b'c'), CHANGED);
    assert_eq!(bench.bodies, [[[b'b'; 16], [b'c'; 16]].concat()]);
}

/// An Echo value is good for five minutes, and a long body over a slow way takes longer.
#[test]
fn a_body_that_takes_longer_than_an_echo_value_is_good_for_arrives_whole() {
    let body: Vec<u8> = (0..60_000_u32).map(|at| (at % 251) as u8).collect();
    let whole = body.clone();
    let mut settings = Settings::default();
    settings.challenge = true;
    let application = move |request: Request, _| {
        assert!(request.payload == whole);
        (Response::content(Code::CHANGED, format::OCTETS, request.payload), false)
    };
    let mut pair = Pair::with(1, settings, Box::new(application));
    pair.delay = Duration::from_secs(40);
    let mut put = Request::new(Method::Put, &["t"]);
    put.payload.clone_from(&body);
    let call = pair.ask(put);
    let begun = pair.now;
    pair.run(Duration::from_hours(5), |pair| pair.response(call).is_some() || pair.has_failed(call));
    let answer = pair.response(call).expect("a response");
    assert_eq!((answer.code, answer.payload == body.into()), (Code::CHANGED, true));
    assert!(pair.now - begun > Duration::from_mins(20), "{:?}", pair.now - begun);
}

/// The handshake of a client that shows an Echo value outside, in blocks that all have the options
/// that anybody's have.
#[test]
fn outer_blocks_in_its_name_end_no_handshake_whose_blocks_show_an_echo_value() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut bench = Bench::of(responder());
    let device = own(2, "device");
    let mut ask = |request: Request| {
        let block = |number: u32, id: u16| {
            let (part, block) = Block { number, more: false, exponent: 1 }.of(&request.payload)?;
            let mut message = message(request.method, id, part);
            message.options =
                request.path.iter().map(|part| (option::URI_PATH, part.as_bytes().to_vec())).collect();
            message.push_number(option::CONTENT_FORMAT, request.content_format.unwrap_or_default().into());
            message.push_number(option::BLOCK1, block.value());
            Some(message)
        };
        let mut answer = None;
        for number in 0.. {
            bench.next += 2;
            let (Some(mut own), Some(mut forged)) = (block(number, bench.next), block(0, bench.next + 1))
            else {
                break;
            };
            own.push(option::ECHO, &bench.echo[..]);
            answer = bench.hand_bytes(&own.write());
            forged.payload.fill(b'f');
            assert!(bench.hand(forged, By::Anybody).is_some());
        }
        let answer = answer.expect("an answer");
        let code = Code::of_byte(answer.code).expect("a code");
        Response::content(code, format::OCTETS, answer.payload)
    };
    let (mut begun, message_1) =
        begin(&device, Authentication::Signatures, &[], (&contexts(), &[]), &mut rng).expect("a name");
    let response = ask(to_request(&message_1));
    let met = begun.meet(&from_response(&response), &device, &mut AnyByValue, &mut rng).expect("the server");
    let response = ask(to_request(&met.alone()));
    met.confirm(&from_response(&response)).expect("message_4");
}

#[test]
fn requests_in_its_name_do_not_change_what_it_reads_on() {
    let mut bench = Bench::new();
    let ask = |bench: &mut Bench, by, number, byte: u8| {
        bench.response = Response::content(Code::CONTENT, format::OCTETS, vec![byte; 2048]);
        bench.next += 1;
        let mut message = message(Method::Get, bench.next, &[]);
        message.push_number(option::BLOCK2, Block { number, more: false, exponent: 6 }.value());
        if by == By::Client {
            message.push(option::ECHO, &bench.echo[..]);
        }
        let answer = bench.hand_bytes(&message.write()).expect("an answer");
        (answer.payload.first().copied(), answer.option(option::ETAG).map(<[u8]>::to_vec))
    };
    let first = ask(&mut bench, By::Client, 0, b'1');
    assert_eq!(first.0, Some(b'1'));
    // The resource has changed meanwhile.
    assert_eq!(ask(&mut bench, By::Anybody, 0, b'2').0, Some(b'2'));
    assert_eq!(ask(&mut bench, By::Client, 1, b'2'), first);
}

/// RFC 7252, section 4.5: a duplicate is carried out once, also if somebody uses its id meanwhile.
#[test]
fn requests_in_its_name_have_none_of_its_own_carried_out_twice() {
    let mut bench = Bench::new();
    let mut own = message(Method::Post, 7, b"on");
    own.push(option::ECHO, &bench.echo[..]);
    let own = own.write();
    let answer = bench.hand_bytes(&own).expect("an answer");
    for number in 0..10 {
        bench.hand(message(Method::Post, 7, &[number]), By::Anybody);
    }
    assert_eq!(bench.server.handle_datagram(NOW, address(CLIENT), &own), Err(DropReason::Duplicate));
    let again = bench.server.poll_transmit().expect("the same answer");
    assert_eq!(Message::read(&again.bytes).expect("a message"), answer);
    assert_eq!(bench.bodies.iter().filter(|body| body[..] == *b"on").count(), 1);
}

/// Asks to observe, under a token, in the client's name.
fn observe(bench: &mut Bench, token: u16, by: By) -> Relation {
    let mut asked = message(Method::Get, 10_000 + token, &[]);
    asked.token = Token::new(&token.to_be_bytes()).expect("short");
    asked.push(option::OBSERVE, *b"");
    if by == By::Client {
        asked.push(option::ECHO, &bench.echo[..]);
    }
    bench.server.handle_datagram(NOW, address(CLIENT), &asked.write()).expect("a request");
    let ticket = bench.server.poll_request().expect("a request").ticket;
    let relation = ticket.relation();
    bench.server.respond(NOW, ticket, &text("0"), true);
    while bench.server.poll_transmit().is_some() {}
    relation
}

fn text(text: &str) -> Response {
    Response::content(Code::CONTENT, format::TEXT, text.as_bytes().to_vec())
}

/// What the server sends.
fn sent(bench: &mut Bench) -> Vec<Message> {
    let sent = std::iter::from_fn(|| bench.server.poll_transmit());
    sent.map(|sent| Message::read(&sent.bytes).expect("a message")).collect()
}

fn notify(bench: &mut Bench, now: Instant, relations: &[Relation], response: &Response) -> Vec<Message> {
    for relation in relations {
        bench.server.notify(now, relation, response, false, false);
    }
    sent(bench)
}

fn empty(bench: &mut Bench, now: Instant, kind: Kind, id: u16) -> Result<(), DropReason> {
    bench.server.handle_datagram(now, address(CLIENT), &Message::empty(kind, id).write())
}

/// An empty acknowledgement has an id of 16 bits, which others find.
#[test]
fn acknowledgements_prove_no_address_and_first_notifications_follow_each_other() {
    let mut bench = Bench::new();
    let relations: Vec<_> = (0..180).map(|token| observe(&mut bench, token, By::Anybody)).collect();
    let mut told = notify(&mut bench, NOW, &relations, &text("1"));
    for _ in &relations {
        let [only] = &told[..] else { panic!("{} at once", told.len()) };
        assert_eq!(only.kind, Kind::Confirmable);
        empty(&mut bench, NOW, Kind::Acknowledgement, only.id).expect("it waits for it");
        told = sent(&mut bench);
    }
    assert_eq!(told, []);
    // Those who have acknowledged one are told at once from then on.
    assert_eq!(notify(&mut bench, NOW, &relations, &text("2")).len(), 180);
    // A response of its own is acknowledged as well.
    let asked = message(Method::Get, 1000, &[]).write();
    bench.server.handle_datagram(NOW, address(CLIENT), &asked).expect("a request");
    let later = NOW + Duration::from_secs(2);
    bench.server.handle_timeout(later);
    let ticket = bench.server.poll_request().expect("a request").ticket;
    bench.server.respond(later, ticket, &text("late"), false);
    let late = sent(&mut bench).pop().expect("a response");
    assert_eq!(late.kind, Kind::Confirmable);
    empty(&mut bench, later, Kind::Acknowledgement, late.id).expect("it waits for it");
    // The address still gets little more than it sent.
    bench.response = text(&"long".repeat(400));
    let asked = message(Method::Get, 1001, &[]).write();
    let answer = bench.hand_bytes(&asked).expect("an answer").write();
    assert!(answer.len() <= 192, "{}", answer.len());
    let response = bench.response.clone();
    for told in notify(&mut bench, NOW, &relations, &response) {
        assert!(told.write().len() <= 192);
    }
}

/// An observer's registration that has an Echo value shows its address for as long as it answers.
#[test]
fn an_observer_that_has_shown_its_address_gets_whole_notifications_after_minutes_as_well() {
    let mut bench = Bench::new();
    let relations: Vec<_> = (0..3).map(|token| observe(&mut bench, token, By::Client)).collect();
    let later = NOW + Duration::from_mins(20);
    let told = notify(&mut bench, later, &relations, &text(&"long".repeat(200)));
    assert_eq!(told.iter().map(|told| told.payload.len()).collect::<Vec<_>>(), [800; 3]);
}

#[test]
fn observations_that_others_began_in_its_name_bring_it_one_notification_in_all() {
    let mut bench = Bench::new();
    let relations: Vec<_> = (0..180).map(|token| observe(&mut bench, token, By::Anybody)).collect();
    let mut told = notify(&mut bench, NOW, &relations, &text("1")).len();
    for second in 1..300 {
        bench.server.handle_timeout(NOW + Duration::from_secs(second));
        told += sent(&mut bench).len();
    }
    assert_eq!((told, bench.server.relations()), (5, 0));
}

/// All ids but those that are told, four bytes each.
fn guess_resets(bench: &mut Bench, now: Instant, but: u16) {
    for id in (0..=u16::MAX).filter(|id| *id != but) {
        let _ = empty(bench, now, Kind::Reset, id);
    }
}

/// An observation, and what acknowledged its first notification.
fn observed(bench: &mut Bench, token: u16, by: By) -> [Relation; 1] {
    let relations = [observe(bench, token, by)];
    let first = notify(bench, NOW, &relations, &text("1")).remove(0);
    empty(bench, NOW, Kind::Acknowledgement, first.id).expect("it waits for it");
    relations
}

#[test]
fn resets_in_its_name_end_no_observation_that_is_certainly_its_own() {
    let mut bench = Bench::new();
    let relations = observed(&mut bench, 1, By::Client);
    // The right id is among them, and later as well, while a notification is to be acknowledged.
    guess_resets(&mut bench, NOW, 0);
    let told = notify(&mut bench, NOW, &relations, &text("2")).remove(0);
    assert_eq!(told.kind, Kind::Confirmable, "it is asked whether it listens");
    guess_resets(&mut bench, NOW, 0);
    empty(&mut bench, NOW, Kind::Acknowledgement, told.id).expect("it waits for it");
    let told = notify(&mut bench, NOW, &relations, &text("3")).remove(0);
    assert_eq!((told.kind, &told.payload[..]), (Kind::NonConfirmable, &b"3"[..]));
    // A first guess that is right.
    let mut bench = Bench::new();
    let relations = observed(&mut bench, 1, By::Client);
    let told = notify(&mut bench, NOW, &relations, &text("2")).remove(0);
    empty(&mut bench, NOW, Kind::Reset, told.id).expect("the right id");
    let told = notify(&mut bench, NOW, &relations, &text("3")).remove(0);
    empty(&mut bench, NOW, Kind::Acknowledgement, told.id).expect("it waits for it");
    assert_eq!(notify(&mut bench, NOW, &relations, &text("4")).len(), 1);
    assert_eq!(bench.server.poll_event(), None);
}

/// RFC 7641, section 3.6.
#[test]
fn a_client_ends_its_observation_by_rejecting_a_notification() {
    // One that shows no Echo value, at once.
    let mut bench = Bench::new();
    let relations = observed(&mut bench, 1, By::Anybody);
    let told = notify(&mut bench, NOW, &relations, &text("2")).remove(0);
    empty(&mut bench, NOW, Kind::Reset, told.id).expect("the right id");
    assert_eq!(bench.server.poll_event(), Some(Event::Gone(relations[0])));
    // One that does, with the next notification.
    let relations = observed(&mut bench, 2, By::Client);
    let told = notify(&mut bench, NOW, &relations, &text("2")).remove(0);
    empty(&mut bench, NOW, Kind::Reset, told.id).expect("the right id");
    let told = notify(&mut bench, NOW, &relations, &text("3")).remove(0);
    assert_eq!((told.kind, bench.server.poll_event()), (Kind::Confirmable, None));
    empty(&mut bench, NOW, Kind::Reset, told.id).expect("the right id");
    assert_eq!(bench.server.poll_event(), Some(Event::Gone(relations[0])));
    // Either, while others guess ids in its name, by never acknowledging one.
    for by in [By::Anybody, By::Client] {
        let relations = observed(&mut bench, 3, by);
        guess_resets(&mut bench, NOW, 0);
        let mut told = notify(&mut bench, NOW, &relations, &text("2"));
        let mut rejected = 0;
        for second in 1..300 {
            for told in told.drain(..) {
                assert_eq!(told.kind, Kind::Confirmable);
                assert_eq!(empty(&mut bench, NOW, Kind::Reset, told.id), Err(DropReason::Unexpected));
                rejected += 1;
            }
            bench.server.handle_timeout(NOW + Duration::from_secs(second));
            told = sent(&mut bench);
        }
        assert_eq!((rejected, bench.server.poll_event()), (5, Some(Event::Gone(relations[0]))));
    }
}

/// A token of one byte is soon found.
#[test]
fn requests_under_its_token_end_and_replace_no_observation_that_is_certainly_its_own() {
    let mut bench = Bench::new();
    let relations = observed(&mut bench, 1, By::Client);
    let under_token = |bench: &mut Bench, observe: Option<u32>, path: &str, by: By| {
        bench.next += 1;
        let mut asked = message(Method::Get, bench.next, &[]);
        asked.token = relations[0].token;
        asked.options[0].1 = path.into();
        if let Some(observe) = observe {
            asked.push_number(option::OBSERVE, observe);
        }
        bench.hand(asked, by)
    };
    for (observe, path) in [(None, "t"), (None, "u"), (Some(0), "u"), (Some(0), "t"), (Some(1), "t")] {
        assert_eq!(under_token(&mut bench, observe, path, By::Anybody), UNAUTHORIZED, "{observe:?} {path}");
    }
    // What asks for a further block is no exception.
    let mut asked = message(Method::Get, 500, &[]);
    asked.token = relations[0].token;
    asked.push_number(option::OBSERVE, 1);
    asked.push_number(option::BLOCK2, Block { number: 1, more: false, exponent: 0 }.value());
    assert_eq!(bench.hand(asked, By::Anybody), UNAUTHORIZED);
    // Its next notification asks whether it has left without an Echo value.
    let told = notify(&mut bench, NOW, &relations, &text("2")).remove(0);
    assert_eq!((told.kind, bench.server.poll_event()), (Kind::Confirmable, None));
    empty(&mut bench, NOW, Kind::Acknowledgement, told.id).expect("it waits for it");
    bench.response = text("3");
    assert_eq!(under_token(&mut bench, Some(1), "t", By::Client), Some(Code::CONTENT));
    assert_eq!(notify(&mut bench, NOW, &relations, &text("4")).len(), 0);
}

/// What the broker asks a device for its links with.
#[test]
fn resets_and_short_guesses_end_no_request_of_ones_own() {
    let mut client = Endpoint::new(Settings::default(), [4; 32]);
    let call = client.request(NOW, address(CLIENT), Request::new(Method::Get, &["links"])).expect("room");
    let request = Message::read(&client.poll_transmit().expect("a request").bytes).expect("a message");
    assert_eq!(request.token.as_bytes().len(), 8);
    let from_client = |client: &mut Endpoint, message: &Message| {
        client.handle_datagram(NOW, address(CLIENT), &message.write())
    };
    for ahead in 1..=u16::MAX {
        // Each id but the right one, and then that one.
        let id = request.id.wrapping_add(ahead);
        assert_eq!(from_client(&mut client, &Message::empty(Kind::Reset, id)), Err(DropReason::Unexpected));
    }
    let right = Message::empty(Kind::Reset, request.id);
    assert_eq!(from_client(&mut client, &right), Err(DropReason::Unexpected));
    assert_eq!(client.poll_event(), None);
    let mut answer = Message::empty(Kind::Acknowledgement, request.id);
    (answer.code, answer.token) = (Code::CONTENT.byte(), request.token);
    from_client(&mut client, &answer).expect("the response");
    let response = Response::new(Code::CONTENT);
    assert_eq!(client.poll_event(), Some(Event::Response { call, response }));
}
