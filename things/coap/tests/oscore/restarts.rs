//! A process ends, and the next one has the disk alone (RFC 8613, appendix B.1).

use std::collections::BTreeSet;

use motemix_coap::oscore::message::number;
use motemix_coap::oscore::{Header, Message, NoNumber, Unopened, Unsent};

use crate::two::{BLOCK, Side, client_and_server, content, get, later, notification, observe};

fn partial_iv(outer: &Message) -> Option<u64> {
    Header::parse(outer.option(number::OSCORE).expect("protected")).expect("sound").partial_iv
}

#[test]
fn a_restarted_client_uses_no_nonce_twice() {
    let [mut client, mut server] = client_and_server();
    let mut numbers = BTreeSet::new();
    for messages in [1, BLOCK - 1, BLOCK, BLOCK + 1, 0, 3] {
        for _ in 0..messages {
            let (outer, _) = client.ask(&get("door"));
            assert!(numbers.insert(partial_iv(&outer)), "a number for the second time");
            server.take(&outer).expect("a server that has stayed needs nothing");
        }
        client.restart([1; 8]);
    }
}

#[test]
fn a_restarted_server_takes_old_requests_from_nobody_and_new_ones_after_an_echo() {
    let [mut client, mut server] = client_and_server();
    let (old, _) = client.ask(&get("door"));
    server.take(&old).expect("new then");
    let (unseen, _) = client.ask(&get("door"));
    server.restart([7; 8]);

    // What was recorded before the restart, seen or not, makes nothing happen.
    for recorded in [&old, &unseen] {
        assert!(matches!(server.take(recorded), Err(Unopened::Forgotten(_))));
    }
    // The client asks anew, and is told what to give back.
    let (outer, mut asked) = client.ask(&get("door"));
    let rejected = server.take(&outer).expect_err("nobody knows whether it is new");
    let answer = client.hear(&mut asked, &rejected.answer()).expect("protected, under a number");
    assert_eq!((answer.code, &answer.payload[..]), (0x81, &[][..]));
    let mut again = get("door");
    again.add(number::ECHO, answer.option(number::ECHO).expect("a value"));
    let (fresh, mut asked) = client.ask(&again);
    let (inner, mut exchange) = server.take(&fresh).expect("it gave the value back");
    assert_eq!(inner, again);
    let outer = server.answer(&mut exchange, &content(b"shut"));
    assert_eq!(client.hear(&mut asked, &outer), Ok(content(b"shut")));
    // Now the window is known again: no replay of anything, and no Echo for what comes.
    for recorded in [&old, &unseen, &outer, &fresh] {
        server.take(recorded).expect_err("seen, or from before the restart");
    }
    let (outer, _) = client.ask(&get("door"));
    server.take(&outer).expect("new");
}

#[test]
fn the_answer_that_asks_for_an_echo_has_a_nonce_of_its_own_each_time() {
    let [mut client, mut server] = client_and_server();
    let (old, mut asked) = client.ask(&get("door"));
    // This response has the nonce of the request.
    let (_, mut exchange) = server.take(&old).expect("new then");
    let first = server.answer(&mut exchange, &content(b"open"));
    assert_eq!(partial_iv(&first), None);
    client.hear(&mut asked, &first).expect("the server's");
    let mut numbers = BTreeSet::new();
    for restart in 0..3 {
        server.restart([restart; 8]);
        for _ in 0..2 * BLOCK {
            let answer = server.take(&old).expect_err("replayed").answer();
            assert!(numbers.insert(partial_iv(&answer).expect("its own")), "a nonce for the second time");
        }
    }
}

#[test]
fn notifications_use_no_nonce_twice_over_a_restart() {
    let [mut client, mut server] = client_and_server();
    let mut numbers = BTreeSet::new();
    for restart in 0..3_u8 {
        let mut request = observe("warmth", &[]);
        if restart > 0 {
            request.add(number::ECHO, [restart; 8]);
        }
        let (outer, _) = client.ask(&request);
        let (_, mut exchange) = server.take(&outer).expect("new");
        server.answer(&mut exchange, &notification(0, b"20"));
        for order in 1..=2 * BLOCK as u8 {
            let notice = server.answer(&mut exchange, &notification(order, b"21"));
            assert!(numbers.insert(partial_iv(&notice).expect("its own")), "a nonce for the second time");
        }
        server.restart([restart + 1; 8]);
    }
}

#[test]
fn without_a_disk_nothing_is_sent_and_a_first_response_still_is() {
    let [mut client, mut server] = client_and_server();
    let full = |side: &mut Side| side.disk.is_full = true;
    full(&mut client);
    let sent = client.contexts.protect_request(later(1), client.id, get("door"), &mut client.disk);
    assert_eq!(sent.err(), Some(Unsent::NoNumber(NoNumber::NotStored)));
    client.disk.is_full = false;
    let (outer, mut asked) = client.ask(&get("door"));
    full(&mut server);
    let (_, mut exchange) = server.take(&outer).expect("new");
    let outer = server.answer(&mut exchange, &content(b"open"));
    assert_eq!(client.hear(&mut asked, &outer), Ok(content(b"open")));
    let second = server.contexts.protect_response(&mut exchange, content(b"open"), &mut server.disk);
    assert_eq!(second.err(), Some(Unsent::NoNumber(NoNumber::NotStored)));
    assert_eq!(server.contexts.counters().without_number, 1);
}
