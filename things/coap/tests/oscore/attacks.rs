//! What somebody between the two may try.

use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{Header, Message, Unopened};
use motemix_coap::{Code, Method};

use crate::two::{NAMES, Side, client_and_server, content, get, notification, observe, put};

#[test]
fn a_recorded_request_is_carried_out_once() {
    let [mut client, mut server] = client_and_server();
    let (outer, _) = client.ask(&put("door", b"open"));
    server.take(&outer).expect("new");
    for _ in 0..3 {
        assert_eq!(server.take(&outer).err(), Some(Unopened::Replayed));
    }
    // Neither is it after so many others that nobody remembers it.
    for _ in 0..200 {
        let (other, _) = client.ask(&get("door"));
        server.take(&other).expect("new");
    }
    assert_eq!(server.take(&outer).err(), Some(Unopened::Replayed));
    assert_eq!(server.contexts.counters().replayed, 4);
    let answer = Unopened::Replayed.answer();
    assert_eq!((answer.code, &answer.payload[..]), (Code::UNAUTHORIZED.byte(), &b"Replay detected"[..]));
    assert_eq!(answer.option(number::MAX_AGE), Some(&[][..]), "no cache keeps it");
}

/// The message once for each bit of its payload and of its OSCORE option, with that bit changed.
fn altered(outer: &Message) -> Vec<Message> {
    let option = outer.option(number::OSCORE).expect("protected").to_vec();
    let flip = |bytes: &[u8], bit: usize| {
        let mut bytes = bytes.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    };
    let payloads =
        (0..8 * outer.payload.len()).map(|bit| outer.clone().with_payload(flip(&outer.payload, bit)));
    let options = (0..8 * option.len()).map(|bit| {
        let mut message = outer.clone();
        message.remove(number::OSCORE);
        message.add(number::OSCORE, flip(&option, bit));
        message
    });
    let cut = (0..outer.payload.len()).map(|len| outer.clone().with_payload(&outer.payload[..len]));
    payloads.chain(options).chain(cut).collect()
}

#[test]
fn a_request_with_one_bit_changed_is_not_taken_and_the_right_one_still_is() {
    let [mut client, mut server] = client_and_server();
    let (outer, _) = client.ask(&put("door", b"open"));
    let altered = altered(&outer);
    assert!(altered.len() > 150);
    for wrong in altered {
        let rejected = server.take(&wrong).expect_err("altered");
        assert!(!matches!(rejected, Unopened::Replayed | Unopened::Forgotten(_)), "{rejected:?}");
    }
    server.take(&outer).expect("a wrong one changes nothing");
}

#[test]
fn a_response_with_one_bit_changed_is_not_taken_and_the_right_one_still_is() {
    let [mut client, mut server] = client_and_server();
    let (outer, mut asked) = client.ask(&observe("door", &[]));
    let (_, mut exchange) = server.take(&outer).expect("new");
    for order in 0..2 {
        let response = server.answer(&mut exchange, &notification(order, b"open"));
        for wrong in altered(&response) {
            client.hear(&mut asked, &wrong).expect_err("altered");
        }
        client.hear(&mut asked, &response).expect("a wrong one changes nothing");
    }
}

#[test]
fn what_is_added_outside_says_nothing_to_anybody() {
    let [mut client, mut server] = client_and_server();
    let (mut outer, mut asked) = client.ask(&get("door"));
    outer.code = Method::Delete.byte();
    outer.add(number::URI_PATH, "window");
    outer.add(number::OBSERVE, []);
    outer.add(number::BLOCK1, [0x08]);
    outer.add(number::ECHO, [1; 8]);
    let (inner, mut exchange) = server.take(&outer).expect("the client's");
    assert_eq!(inner, get("door"));
    let mut response = server.answer(&mut exchange, &content(b"shut"));
    response.code = Code::NOT_FOUND.byte();
    response.add(number::MAX_AGE, [0xff]);
    response.add(number::OBSERVE, [5]);
    assert_eq!(client.hear(&mut asked, &response), Ok(content(b"shut")));
}

#[test]
fn a_response_answers_its_own_request_and_no_other() {
    let [mut client, mut server] = client_and_server();
    let (open, mut asked_open) = client.ask(&get("is-it-open"));
    let (shut, mut asked_shut) = client.ask(&get("is-it-shut"));
    let (_, mut exchange) = server.take(&open).expect("new");
    let yes = server.answer(&mut exchange, &content(b"yes"));
    let yes_again = server.answer(&mut exchange, &content(b"yes"));
    server.take(&shut).expect("new");
    for other in [&yes, &yes_again] {
        assert_eq!(client.hear(&mut asked_shut, other), Err(Unopened::Altered));
    }
    assert_eq!(client.hear(&mut asked_open, &yes), Ok(content(b"yes")));
    assert_eq!(client.hear(&mut asked_open, &yes), Err(Unopened::Replayed), "there is one response");
    assert_eq!(client.hear(&mut asked_open, &yes_again), Err(Unopened::Replayed));
}

#[test]
fn a_recorded_notification_is_told_once() {
    let [mut client, mut server] = client_and_server();
    let (outer, mut asked) = client.ask(&observe("warmth", &[]));
    let (_, mut exchange) = server.take(&outer).expect("new");
    let notices: Vec<_> =
        (0..3).map(|order| server.answer(&mut exchange, &notification(order, b"20"))).collect();
    for notice in &notices {
        client.hear(&mut asked, notice).expect("new");
    }
    for notice in &notices {
        assert_eq!(client.hear(&mut asked, notice), Err(Unopened::Replayed));
    }
}

#[test]
fn a_request_that_is_turned_back_to_its_sender_is_not_for_it() {
    let [mut client, _] = client_and_server();
    let (outer, _) = client.ask(&get("door"));
    assert_eq!(client.take(&outer).err(), Some(Unopened::UnknownContext));
    // With the other's name on it, it is under the wrong key.
    let mut renamed = outer.clone();
    renamed.remove(number::OSCORE);
    let header = Header { partial_iv: Some(0), kid: Some(NAMES[0][1]), kid_context: None };
    renamed.add(number::OSCORE, header.to_bytes());
    assert_eq!(client.take(&renamed).err(), Some(Unopened::Altered));
}

#[test]
fn an_error_without_protection_is_not_the_servers_word() {
    let [mut client, mut server] = client_and_server();
    let (outer, mut asked) = client.ask(&get("door"));
    for forged in [Unopened::UnknownContext.answer(), content(b"open"), Message::new(Code::NOT_FOUND.byte())]
    {
        assert_eq!(client.hear(&mut asked, &forged), Err(Unopened::Unprotected));
    }
    let (_, mut exchange) = server.take(&outer).expect("new");
    let outer = server.answer(&mut exchange, &content(b"shut"));
    assert_eq!(client.hear(&mut asked, &outer), Ok(content(b"shut")), "the right one still comes");
}

#[test]
fn a_server_that_notifies_whom_nobody_asked_for_is_not_heard() {
    let [mut client, mut server] = client_and_server();
    // The registration's number, as whoever holds the server's keys would use it for a plain
    // request.
    let (outer, _) = client.ask(&observe("warmth", &[]));
    let (_, mut exchange) = server.take(&outer).expect("new");
    let notice = server.answer(&mut exchange, &notification(0, b"20"));
    let [mut client, _] = client_and_server();
    let (_, mut asked) = client.ask(&get("warmth"));
    assert_eq!(client.hear(&mut asked, &notice), Err(Unopened::Malformed));
}

#[test]
fn whoever_has_the_keys_still_sends_messages_or_nothing() {
    for (inner, what) in [
        (content(b"open"), "a response for a request"),
        (Message::new(0), "an empty message"),
        (
            {
                let mut twice = get("door");
                twice.add(number::OSCORE, [9, 0, 1]);
                twice
            },
            "protected twice",
        ),
    ] {
        let [mut client, mut server] = client_and_server();
        let (outer, _) = client.ask(&inner);
        assert_eq!(server.take(&outer).err(), Some(Unopened::Malformed), "{what}");
        assert_eq!(server.take(&outer).err(), Some(Unopened::Replayed), "and its number is used");
    }
}

#[test]
fn what_is_no_oscore_is_told_apart_from_what_is_altered() {
    let [mut client, mut server] = client_and_server();
    let (outer, _) = client.ask(&get("door"));
    let with_option = |values: &[&[u8]]| {
        let mut message = outer.clone();
        message.remove(number::OSCORE);
        for value in values {
            message.add(number::OSCORE, *value);
        }
        message
    };
    for wrong in [
        with_option(&[]),
        with_option(&[&[9, 0, 1], &[9, 0, 1]]),
        with_option(&[&[]]),
        with_option(&[&[1, 0]]),
        with_option(&[&[8, 1]]),
        with_option(&[&[0x49, 0, 1]]),
        outer.clone().with_payload(vec![]),
    ] {
        let rejected = server.take(&wrong).expect_err("no OSCORE");
        assert_eq!(rejected, Unopened::Malformed, "{wrong:?}");
        assert_eq!(rejected.answer().code, Code::BAD_OPTION.byte());
    }
    for unknown in [&[9, 0, 3][..], &[9, 0], &[9, 0, 1, 1, 1, 1, 1, 1, 1, 1], &[0x19, 0, 1, 7, 1]] {
        let rejected = server.take(&with_option(&[unknown])).expect_err("nobody's");
        assert_eq!(rejected, Unopened::UnknownContext, "{unknown:02x?}");
        assert_eq!(rejected.answer().code, Code::UNAUTHORIZED.byte());
    }
    server.take(&outer).expect("the right one");
}

#[test]
fn contexts_that_share_a_secret_by_mistake_of_names_are_refused() {
    use motemix_coap::oscore::{BadContext, Context, Numbers, Preshared};
    let given = Preshared {
        name: "door",
        master_secret: &[1; 16],
        master_salt: &[],
        id_context: None,
        sender: b"a",
        recipient: b"b",
    };
    let make =
        |given: &Preshared| Context::preshared(crate::two::START, given, Numbers::restored(0, 1), None).err();
    assert_eq!(make(&given), None);
    assert_eq!(make(&Preshared { recipient: b"a", ..given }), Some(BadContext::SameIds));
    assert_eq!(make(&Preshared { sender: b"12345678", ..given }), Some(BadContext::Id));
    assert_eq!(make(&Preshared { master_secret: &[1; 15], ..given }), Some(BadContext::ShortSecret));
    assert_eq!(make(&Preshared { id_context: Some(&[0; 256]), ..given }), Some(BadContext::IdContext));
    let _ = Side::new(NAMES[0]);
}
