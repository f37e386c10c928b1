//! What strangers send.

use std::net::SocketAddr;
use std::time::Duration;

use motemix_coap::message::{Kind, Message, option};
use motemix_coap::{Code, DropReason, Endpoint, Event, Relation, Response, Settings, Token, format};
use motemix_time::Instant;
use proptest::prelude::*;

use crate::pair::address;

const NOW: Instant = Instant::from_micros(1_000_000);

fn server() -> Endpoint {
    Endpoint::new(Settings::default(), [3; 32])
}

fn stranger() -> SocketAddr {
    address(9)
}

/// Hands it a message, and returns what it sends back at once.
fn answer(server: &mut Endpoint, bytes: &[u8]) -> (Result<(), DropReason>, Vec<Message>) {
    let handled = server.handle_datagram(NOW, stranger(), bytes);
    let sent = std::iter::from_fn(|| server.poll_transmit());
    (handled, sent.map(|sent| Message::read(&sent.bytes).expect("what it sends is a message")).collect())
}

fn get(id: u16) -> Message {
    let mut message = Message::empty(Kind::Confirmable, id);
    message.code = 1;
    message.token = Token::new(&[id as u8]).unwrap();
    message.push(option::URI_PATH, *b"t");
    message
}

#[test]
fn what_is_no_message_is_reset_or_passed_over() {
    // First byte: version, kind, length of the token.
    for (bytes, resets) in [
        (&b""[..], false),
        (b"\x40\x01\x00", false),
        (b"\x80\x01\x00\x07", false),
        (b"\xc0\x01\x00\x07", false),
        (b"\x00\x01\x00\x07", false),
        (b"\x49\x01\x00\x07123456789", true),
        (b"\x42\x01\x00\x071", true),
        (b"\x40\x00\x00\x07\xff", true),
        (b"\x41\x00\x00\x07\x01", true),
        (b"\x40\x01\x00\x07\xff", true),
        (b"\x40\x01\x00\x07\xb1", true),
        (b"\x40\x01\x00\x07\xf0", true),
        (b"\x40\x01\x00\x07\x0f", true),
        (b"\x40\xe1\x00\x07", true),
        (b"\x50\x01\x00\x07\xff", false),
    ] {
        let mut server = server();
        let (handled, sent) = answer(&mut server, bytes);
        assert_eq!(handled, Err(DropReason::Malformed), "{bytes:02x?}");
        let expected = if resets { vec![Message::empty(Kind::Reset, 7)] } else { Vec::new() };
        assert_eq!(sent, expected, "{bytes:02x?}");
        assert_eq!(server.counters().malformed, 1);
    }
}

#[test]
fn what_nobody_understands_is_refused_with_its_code() {
    let with = |number, value: &[u8]| {
        let mut message = get(7);
        message.push(number, value);
        message
    };
    for (message, code) in [
        (with(9999, b""), Code::BAD_OPTION),
        // Q-Block1 and Q-Block2 (RFC 9177): whoever sends them goes on with Block1 and Block2.
        (with(19, &[0x0e]), Code::BAD_OPTION),
        (with(31, &[0x0e]), Code::BAD_OPTION),
        (with(option::URI_PORT, b"123"), Code::BAD_OPTION),
        (with(option::URI_HOST, b""), Code::BAD_OPTION),
        (with(option::URI_PATH, &[0xff]), Code::BAD_OPTION),
        (with(option::PROXY_URI, b"coap://elsewhere"), Code::PROXYING_NOT_SUPPORTED),
        (with(option::BLOCK2, &[7]), Code::BAD_REQUEST),
        (with(option::BLOCK1, &[0x17]), Code::BAD_REQUEST),
        (with(option::BLOCK1, &[0x16]), Code::REQUEST_ENTITY_INCOMPLETE),
        (Message { code: 31, ..get(7) }, Code::METHOD_NOT_ALLOWED),
    ] {
        let mut server = server();
        let (handled, sent) = answer(&mut server, &message.write());
        assert_eq!(handled, Err(DropReason::Refused), "{message:?}");
        assert_eq!(Code::of_byte(sent[0].code), Some(code), "{message:?}");
        assert_eq!((sent[0].kind, sent[0].id), (Kind::Acknowledgement, 7));
    }
    // Each value takes more memory than its one byte.
    for (values, code) in [(64, None), (65, Some(Code::BAD_REQUEST))] {
        let mut message = get(7);
        message.options = vec![(option::URI_PATH, Vec::new()); values];
        let (_, sent) = answer(&mut server(), &message.write());
        assert_eq!(sent.first().and_then(|sent| Code::of_byte(sent.code)), code, "{values}");
    }
    // Elective ones are passed over.
    let mut server = server();
    assert_eq!(answer(&mut server, &with(10_000, b"x").write()).0, Ok(()));
}

/// RFC 9175, section 2.4: whoever writes another's address on a datagram must not make us send much
/// to it.
#[test]
fn a_strangers_address_gets_little_more_than_was_sent() {
    for len in [0, 100, 190, 1000, 50_000] {
        let mut server = server();
        let asked = get(7).write();
        server.handle_datagram(NOW, stranger(), &asked).unwrap();
        let incoming = server.poll_request().unwrap();
        let body = Response::content(Code::CONTENT, format::OCTETS, vec![1; len]);
        server.respond(NOW, incoming.ticket, &body, true);
        let mut sent = 0;
        for second in 0..1000 {
            server.handle_timeout(NOW + Duration::from_secs(second));
            sent += std::iter::from_fn(|| server.poll_transmit()).map(|sent| sent.bytes.len()).sum::<usize>();
        }
        assert!(sent <= 192, "{sent} bytes for {} bytes, of a body of {len}", asked.len());
    }
}

/// PUT /t, its first block of 1,024 bytes.
fn first_block(id: u16, resource: &str) -> Message {
    let mut block = get(id);
    block.code = 3;
    block.options[0].1 = resource.into();
    block.payload = vec![0; 1024];
    block.push(option::BLOCK1, [0x0e]);
    block
}

fn code_of_answer(server: &mut Endpoint) -> Option<Code> {
    let sent = server.poll_transmit().expect("an answer");
    Code::of_byte(Message::read(&sent.bytes).expect("a message").code)
}

/// One of many addresses.
fn forged(number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    SocketAddr::from(([10, 0, high, low], 5683))
}

#[test]
fn bodies_that_never_end_take_bounded_memory_and_make_room_for_others() {
    let mut server = server();
    let mut taken = 0;
    for number in 1..=2000 {
        let _ = server.handle_datagram(NOW, forged(number), &first_block(number, "t").write());
        taken += u32::from(code_of_answer(&mut server) == Some(Code::CONTINUE));
    }
    assert_eq!(taken, 128, "half of the places, for all addresses that have proven nothing");
    let later = NOW + Duration::from_secs(11);
    let _ = server.handle_datagram(later, address(3000), &first_block(1, "t").write());
    assert_eq!(code_of_answer(&mut server), Some(Code::CONTINUE), "an idle one gives way");
}

/// Forged addresses fill their half of the room; whoever has proven its own has the other.
#[test]
fn whoever_proves_its_address_finds_room_for_its_body() {
    let mut server = server();
    for number in 1..=2000 {
        let _ = server.handle_datagram(NOW, forged(number), &first_block(number, "t").write());
    }
    while server.poll_transmit().is_some() {}
    let honest = address(3000);
    let block = first_block(1, "t");
    assert_eq!(server.handle_datagram(NOW, honest, &block.write()), Err(DropReason::Unproven));
    let refusal = Message::read(&server.poll_transmit().unwrap().bytes).unwrap();
    assert_eq!(Code::of_byte(refusal.code), Some(Code::UNAUTHORIZED));
    let mut block = first_block(2, "t");
    block.push(option::ECHO, refusal.option(option::ECHO).expect("something to prove it with"));
    assert_eq!(server.handle_datagram(NOW, honest, &block.write()), Ok(()));
    assert_eq!(code_of_answer(&mut server), Some(Code::CONTINUE));
}

/// A forger writes the address of a client that has proven nothing: the client's body goes on, and
/// for further ones it proves its address.
#[test]
fn bodies_in_the_name_of_another_end_none_of_its_own() {
    let mut server = server();
    let victim = address(3000);
    assert_eq!(server.handle_datagram(NOW, victim, &first_block(1, "t").write()), Ok(()));
    let forge = |server: &mut Endpoint, number: u16| {
        let from = if number.is_multiple_of(2) { victim } else { address(number) };
        let block = first_block(100 + number, &format!("forged {number}"));
        server.handle_datagram(NOW, from, &block.write())
    };
    assert_eq!((1..=200).filter(|number| forge(&mut server, *number).is_ok()).count(), 31);
    assert_eq!(server.handle_datagram(NOW, victim, &last_block(2, "t").write()), Ok(()));
    assert_eq!(forge(&mut server, 201), Ok(()));
    while server.poll_transmit().is_some() {}
    let further = first_block(3, "u");
    assert_eq!(server.handle_datagram(NOW, victim, &further.write()), Err(DropReason::Unproven));
    let refusal = Message::read(&server.poll_transmit().unwrap().bytes).unwrap();
    let mut further = first_block(4, "u");
    further.push(option::ECHO, refusal.option(option::ECHO).expect("something to prove it with"));
    assert_eq!(server.handle_datagram(NOW, victim, &further.write()), Ok(()));
    // Its address is proven, but not each datagram that has it: the share is used up again.
    assert_eq!(forge(&mut server, 203), Err(DropReason::Unproven));
    let mut last = last_block(5, "u");
    last.push(option::ECHO, refusal.option(option::ECHO).expect("something to prove it with"));
    assert_eq!(server.handle_datagram(NOW, victim, &last.write()), Ok(()));
}

/// A server that looks at nothing before an address is proven, and whether it looks at a request.
fn is_looked_at(
    server: &mut Endpoint,
    from: SocketAddr,
    id: u16,
    echo: Option<&[u8]>,
) -> Result<(), Vec<u8>> {
    let mut asked = get(id);
    if let Some(echo) = echo {
        asked.push(option::ECHO, echo);
    }
    let handled = server.handle_datagram(NOW, from, &asked.write());
    while server.poll_request().is_some() {}
    let sent = std::iter::from_fn(|| server.poll_transmit()).last();
    if handled == Ok(()) {
        return Ok(());
    }
    let refusal = Message::read(&sent.expect("an answer").bytes).expect("a message");
    Err(refusal.option(option::ECHO).expect("something to prove it with").to_vec())
}

#[test]
fn one_address_with_all_its_ports_does_not_keep_others_from_proving_theirs() {
    let mut settings = Settings::default();
    settings.challenge = true;
    let mut server = Endpoint::new(settings, [3; 32]);
    let prove = |server: &mut Endpoint, from, id| {
        let echo = is_looked_at(server, from, id, None).expect_err("nobody knows it");
        is_looked_at(server, from, id + 1, Some(&echo)).expect("its Echo is right in this very request");
    };
    let honest = SocketAddr::from(([10, 0, 0, 1], 1));
    prove(&mut server, honest, 1);
    for port in 1..20_000 {
        prove(&mut server, address(port), 1);
    }
    is_looked_at(&mut server, honest, 3, None).expect("it is remembered");
    let other = SocketAddr::from(([10, 0, 0, 2], 1));
    prove(&mut server, other, 1);
    for port in 20_000..20_100 {
        prove(&mut server, address(port), 1);
    }
    is_looked_at(&mut server, other, 3, None).expect("it is remembered");
}

#[test]
fn whoever_asks_much_does_not_have_the_requests_of_others_forgotten() {
    let mut settings = Settings::default();
    settings.exchanges = 100;
    let mut server = Endpoint::new(settings, [3; 32]);
    let honest = SocketAddr::from(([10, 0, 0, 1], 1));
    assert_eq!(server.handle_datagram(NOW, honest, &get(1).write()), Ok(()));
    for id in 0..1000 {
        assert_eq!(server.handle_datagram(NOW, stranger(), &get(id).write()), Ok(()));
    }
    assert_eq!(server.handle_datagram(NOW, honest, &get(1).write()), Err(DropReason::Duplicate));
    assert_eq!(server.handle_datagram(NOW, stranger(), &get(1).write()), Ok(()), "its own is forgotten");
}

/// A request with this token, and with an Echo value that is right.
fn with_echo(server: &mut Endpoint, from: SocketAddr, mut request: Message) -> Message {
    server.handle_datagram(NOW, from, &get(10_000 + request.id).write()).unwrap();
    let ticket = server.poll_request().unwrap().ticket;
    server.ask_for_proof(NOW, ticket);
    let refusal = std::iter::from_fn(|| server.poll_transmit()).last().unwrap();
    let refusal = Message::read(&refusal.bytes).unwrap();
    request.push(option::ECHO, refusal.option(option::ECHO).expect("something to prove it with"));
    request
}

/// Whoever writes ever other addresses on its datagrams takes half of the places for requests.
#[test]
fn forged_addresses_have_no_requests_forgotten_of_whom_has_proven_its_own() {
    let mut settings = Settings::default();
    settings.exchanges = 100;
    let mut server = Endpoint::new(settings, [3; 32]);
    let honest = SocketAddr::from(([192, 0, 2, 1], 1));
    let first = with_echo(&mut server, honest, get(0));
    server.handle_datagram(NOW, honest, &first.write()).unwrap();
    for id in 1..20 {
        server.handle_datagram(NOW, honest, &get(id).write()).unwrap();
    }
    for number in 0..1000 {
        server.handle_datagram(NOW, forged(number), &get(1).write()).unwrap();
    }
    let mut repeat = |request: Message| server.handle_datagram(NOW, honest, &request.write());
    assert_eq!(repeat(first), Err(DropReason::Duplicate));
    for id in 1..20 {
        assert_eq!(repeat(get(id)), Err(DropReason::Duplicate), "request {id}");
    }
}

/// Accepts an observation; the relation, and how many others made room for it.
fn observe(server: &mut Endpoint, from: SocketAddr, request: &Message) -> (Relation, usize) {
    server.handle_datagram(NOW, from, &request.write()).unwrap();
    let ticket = server.poll_request().unwrap().ticket;
    let relation = ticket.relation();
    server.respond(NOW, ticket, &Response::content(Code::CONTENT, format::TEXT, *b"21"), true);
    while server.poll_transmit().is_some() {}
    let gone = std::iter::from_fn(|| server.poll_event()).filter(|event| *event != Event::Gone(relation));
    (relation, gone.count())
}

fn registration(id: u16) -> Message {
    let mut observe = get(id);
    observe.push(option::OBSERVE, *b"");
    observe.options.sort_by_key(|(number, _)| *number);
    observe
}

/// An observer's address is proven by Echo, or by the first notification that it acknowledges.
#[test]
fn forged_addresses_end_no_observation_of_whom_has_proven_its_own() {
    let mut settings = Settings::default();
    settings.relations = 100;
    let mut server = Endpoint::new(settings, [3; 32]);
    let [with_proof, listening, neither] = [1, 2, 3].map(|host| SocketAddr::from(([192, 0, 2, host], 1)));
    let mut observed = [Vec::new(), Vec::new(), Vec::new()];
    for id in 0..10 {
        let request = with_echo(&mut server, with_proof, registration(id));
        observed[0].push(observe(&mut server, with_proof, &request).0);
        observed[1].push(observe(&mut server, listening, &registration(id)).0);
        observed[2].push(observe(&mut server, neither, &registration(id)).0);
    }
    for relation in &observed[1] {
        let text = Response::content(Code::CONTENT, format::TEXT, *b"22");
        server.notify(NOW, relation, &text, false, false);
        let told = Message::read(&server.poll_transmit().unwrap().bytes).unwrap();
        let empty = Message::empty(Kind::Acknowledgement, told.id);
        server.handle_datagram(NOW, listening, &empty.write()).unwrap();
    }
    // Also under the addresses themselves, with other tokens.
    for number in 0..1000 {
        observe(&mut server, forged(number), &registration(1));
        let mut named = registration(1000 + number);
        named.token = Token::new(&number.to_be_bytes()).unwrap();
        observe(&mut server, [with_proof, listening][usize::from(number % 2)], &named);
    }
    assert_eq!(server.relations(), 100);
    let text = Response::content(Code::CONTENT, format::TEXT, *b"23");
    let told = observed.map(|relations| {
        for relation in relations {
            server.notify(NOW, &relation, &text, false, false);
        }
        std::iter::from_fn(|| server.poll_transmit()).count()
    });
    // Of those without proof all are alike.
    assert_eq!(told, [10, 10, 0]);
}

/// A response that follows its acknowledgement is sent again until it is acknowledged itself.
#[test]
fn forged_addresses_end_no_repetition_to_whom_has_proven_its_own() {
    let mut settings = Settings::default();
    settings.repetitions = 20;
    let mut server = Endpoint::new(settings, [3; 32]);
    let honest = SocketAddr::from(([192, 0, 2, 1], 1));
    let proof = with_echo(&mut server, honest, get(0));
    server.handle_datagram(NOW, honest, &proof.write()).unwrap();
    for id in 1..5 {
        server.handle_datagram(NOW, honest, &get(id).write()).unwrap();
    }
    for number in 0..100 {
        server.handle_datagram(NOW, forged(number), &get(1).write()).unwrap();
    }
    let later = NOW + Duration::from_secs(2);
    server.handle_timeout(later);
    while let Some(incoming) = server.poll_request() {
        server.respond(later, incoming.ticket, &Response::new(Code::CHANGED), false);
    }
    while server.poll_transmit().is_some() {}
    server.handle_timeout(later + Duration::from_secs(3));
    let again = std::iter::from_fn(|| server.poll_transmit());
    assert_eq!(again.filter(|sent| sent.to == honest).count(), 5);
}

/// The last block of what [`first_block`] begins.
fn last_block(id: u16, resource: &str) -> Message {
    let mut block = first_block(id, resource);
    block.options[1].1 = vec![0x16];
    block
}

/// Ports are free: a source is an address, or the first half of one of IPv6.
#[test]
fn one_source_has_a_share_of_the_places_and_beyond_it_gives_up_its_own_oldest() {
    let port = |port| [address(port), SocketAddr::from(([0x2001, 0xdb8, 0, 0, port, 0, 0, 1], 5683))];
    for family in [0, 1] {
        let mut server = server();
        let honest = forged(1);
        server.handle_datagram(NOW, honest, &first_block(1, "t").write()).unwrap();
        // Slow enough for the oldest to be idle: anybody could have sent it.
        let at = |number: u16| NOW + Duration::from_millis(400) * number.into();
        for number in 1..=2000 {
            let now = at(number);
            let block = first_block(number, "t").write();
            assert_eq!(server.handle_datagram(now, port(number)[family], &block), Ok(()));
        }
        while server.poll_transmit().is_some() {}
        let whole = (1..=2000_u16).filter(|number| {
            let last = last_block(number + 1, "t").write();
            server.handle_datagram(at(2000), port(*number)[family], &last).is_ok()
        });
        assert_eq!(whole.collect::<Vec<_>>(), (2000 - 31..=2000).collect::<Vec<_>>());
        assert_eq!(server.handle_datagram(NOW, honest, &last_block(2, "t").write()), Ok(()));
    }
}

/// All places are taken by few addresses that have proven themselves; a newcomer gets one of theirs.
#[test]
fn whoever_has_most_bodies_makes_room_for_a_newcomer() {
    let mut server = server();
    let echo = |server: &mut Endpoint, from: SocketAddr| {
        let mut asked = get(1);
        server.handle_datagram(NOW, from, &asked.write()).unwrap();
        let ticket = server.poll_request().unwrap().ticket;
        server.ask_for_proof(NOW, ticket);
        let refusal = Message::read(&server.poll_transmit().unwrap().bytes).unwrap();
        asked.id = 2;
        asked.push(option::ECHO, refusal.option(option::ECHO).unwrap());
        server.handle_datagram(NOW, from, &asked.write()).unwrap();
        let ticket = server.poll_request().unwrap().ticket;
        server.respond(NOW, ticket, &Response::new(Code::CONTENT), false);
        while server.poll_transmit().is_some() {}
    };
    for number in 1..=9 {
        echo(&mut server, forged(number));
    }
    // Eight with 32 each, without a pause for which a body is idle.
    for number in (1..=8).flat_map(|from| (0..32).map(move |body| (from, body))) {
        let block = first_block(10 + number.1, &number.1.to_string());
        assert_eq!(server.handle_datagram(NOW, forged(number.0), &block.write()), Ok(()));
    }
    while server.poll_transmit().is_some() {}
    for body in 0..28_u16 {
        let block = first_block(10 + body, &body.to_string());
        assert_eq!(server.handle_datagram(NOW, forged(9), &block.write()), Ok(()));
        assert_eq!(code_of_answer(&mut server), Some(Code::CONTINUE), "{body}");
    }
    // When it has as many as the others it takes nothing from them that they go on with. Others may
    // have written its address since it was proven.
    let mut block = first_block(100, "one more");
    assert_eq!(server.handle_datagram(NOW, forged(9), &block.write()), Err(DropReason::Unproven));
    let refusal = Message::read(&server.poll_transmit().unwrap().bytes).unwrap();
    block.push(option::ECHO, refusal.option(option::ECHO).expect("something to prove it with"));
    block.id += 1;
    assert_eq!(server.handle_datagram(NOW, forged(9), &block.write()), Ok(()));
    assert_eq!(code_of_answer(&mut server), Some(Code::CONTINUE));
}

/// GET /t, its block with this number.
fn further_block(id: u16, number: u8) -> Message {
    let mut block = get(id);
    block.push(option::BLOCK2, [number << 4 | 6]);
    block
}

/// Bodies of which further blocks are awaited are kept in bounded memory; the oldest goes, and whoever
/// reads it on has the application make it again.
#[test]
fn bodies_that_nobody_reads_on_take_bounded_memory_and_whoever_reads_on_gets_them_anew() {
    const BODY: usize = 64 << 10;
    let mut server = server();
    let response = Response::content(Code::CONTENT, format::OCTETS, vec![1; BODY]);
    let respond = |server: &mut Endpoint| {
        let asked = server.poll_request().is_some_and(|incoming| {
            server.respond(NOW, incoming.ticket, &response, false);
            true
        });
        (asked, code_of_answer(server))
    };
    for number in 1..=2000 {
        server.handle_datagram(NOW, forged(number), &get(1).write()).unwrap();
        assert_eq!(respond(&mut server), (true, Some(Code::CONTENT)));
    }
    let mut kept = 0;
    for number in 1..=2000 {
        server.handle_datagram(NOW, forged(number), &further_block(2, 1).write()).unwrap();
        let (asked, code) = respond(&mut server);
        assert_eq!(code, Some(Code::CONTENT));
        kept += usize::from(!asked);
    }
    // Half of the room is for those who have proven their address.
    assert_eq!(kept * BODY, 4 << 20);
}

#[test]
fn a_body_is_not_lost_because_the_application_is_busy() {
    let mut settings = Settings::default();
    settings.requests = 1;
    let mut server = Endpoint::new(settings, [3; 32]);
    server.handle_datagram(NOW, stranger(), &first_block(1, "t").write()).unwrap();
    server.handle_datagram(NOW, stranger(), &get(2).write()).unwrap();
    let mut last = first_block(3, "t");
    last.options[1].1 = vec![0x16];
    assert_eq!(server.handle_datagram(NOW, stranger(), &last.write()), Err(DropReason::Busy));
    assert!(server.poll_request().is_some(), "now there is room");
    assert_eq!(server.handle_datagram(NOW, stranger(), &last.write()), Ok(()));
    assert_eq!(server.poll_request().expect("the body").request.payload.len(), 2048);
}

/// RFC 7252, section 5.4.1: nobody is told that a message that wants no acknowledgement means nothing.
#[test]
fn a_critical_option_in_a_message_that_wants_no_acknowledgement_is_passed_over() {
    let mut server = server();
    let mut message = get(7);
    message.kind = Kind::NonConfirmable;
    message.push(9999, b"");
    assert_eq!(answer(&mut server, &message.write()), (Err(DropReason::Refused), vec![]));
}

#[test]
fn a_flood_of_requests_fills_no_more_than_there_is_room_for() {
    let mut server = server();
    let mut busy = 0;
    for id in 0..10_000_u16 {
        busy += u32::from(server.handle_datagram(NOW, stranger(), &get(id).write()) == Err(DropReason::Busy));
    }
    assert_eq!(busy, 10_000 - 4096);
    assert_eq!(server.counters().busy, u64::from(busy));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..40)) {
        let mut server = server();
        for (second, bytes) in (0..).zip(&datagrams) {
            let now = NOW + Duration::from_secs(second);
            let _ = server.handle_datagram(now, stranger(), bytes);
            while let Some(incoming) = server.poll_request() {
                let response = Response::content(Code::CONTENT, format::OCTETS, incoming.request.payload.clone());
                server.respond(now, incoming.ticket, &response, true);
            }
            server.handle_timeout(now);
            while server.poll_transmit().is_some() {}
        }
    }

    #[test]
    fn what_is_written_is_read_again(
        id: u16, code in 1_u8..8, token in prop::collection::vec(any::<u8>(), 0..=8),
        options in prop::collection::btree_map(0_u16..3000, prop::collection::vec(any::<u8>(), 0..300), 0..6),
        payload in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let message = Message {
            kind: Kind::NonConfirmable, id, code,
            token: Token::new(&token).unwrap(),
            options: options.into_iter().collect(),
            payload,
        };
        let bytes = message.write();
        if bytes.len() <= 1500 {
            prop_assert_eq!(Message::read(&bytes), Ok(message));
        }
    }
}
