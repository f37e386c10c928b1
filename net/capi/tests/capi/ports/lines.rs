//! What is typed wrongly at a mote, and documents that it must not take.

use motemix_directory::Epoch;

use super::{Link, Mote, Port, absent, members};
use crate::signed::{Authority, BEGINS, EPOCH_LEN, FIRST, Member, to_hex};

on_both_ports! {
    wrong_lines_are_explained_and_change_nothing,
    documents_that_do_not_hold_are_refused,
    lines_are_read_as_every_mote_reads_them,
    authorities_are_typed_in_a_line_each,
    the_largest_network_that_the_limits_allow_starts_and_a_larger_one_does_not,
    a_mote_without_an_address_says_so,
}

and_on_riots_boards! {
    wrong_lines_are_explained_and_change_nothing,
    documents_that_do_not_hold_are_refused,
    authorities_are_typed_in_a_line_each,
    a_mote_without_an_address_says_so,
}

/// A network in which this mote is with three others that nobody switches on.
fn members_with(mote: &mut Mote) -> Vec<Member> {
    [mote.member(0, FIRST)].into_iter().chain(absent(1..4)).collect()
}

/// A network of more nodes than the limits allow, with the first of these.
fn crowd_with(members: &[Member]) -> Vec<Member> {
    (0..16).map(|number| stranger(members, number)).chain([members[0].clone()]).collect()
}

fn stranger(members: &[Member], number: u8) -> Member {
    Member { name: format!("n{number}"), key: [number + 60; 32], ..members[1].clone() }
}

fn wrong_lines_are_explained_and_change_nothing(port: &'static Port) {
    let (link, words) = (Link::of(port, 1), &port.words);
    let mut mote = link.start(0);
    let authority = Authority::new(1);
    let members = members_with(&mut mote);
    let key = to_hex(&authority.key());
    let usage = |how: &str| format!("{}{how}", words.usage);

    mote.ask("motemix", "key EPOCH");
    mote.ask("motemix nonsense", words.no_such_command);
    for wrong in ["", " x", " -1", " 7x", " 4294967296", " 7 7"] {
        mote.ask(&format!("motemix key{wrong}"), &usage("key EPOCH"));
    }
    for wrong in ["", " 18446744073709551616", " soon", " 1 2"] {
        mote.ask(&format!("motemix time{wrong}"), &usage("time SECONDS"));
    }
    for wrong in ["", " 1", " 1 ab", " 0 ab", " 5 ab", " x ab", &format!(" 1 {key}0"), &format!(" 1 {key}00")]
    {
        mote.ask(&format!("motemix trust{wrong}"), &usage("trust K KEY"));
    }
    for threshold in [0, 2] {
        mote.ask(&format!("motemix trust {threshold} {key}"), words.bad_threshold);
    }
    // No key of RFC 8032.
    mote.ask(&format!("motemix trust 1 {}", "f".repeat(64)), words.bad_authority);
    for wrong in ["", " node-1"] {
        mote.ask(&format!("motemix send{wrong}"), &usage("send NAME TEXT"));
    }

    mote.ask("motemix document", &usage("document begin"));
    mote.ask("motemix document end", "error: a document begins with `document begin`");
    for wrong in ["0", "0g", "0x00"] {
        mote.ask("motemix document 00", "error: a document begins with `document begin`");
        mote.ask("motemix document begin", "ok");
        mote.ask("motemix document a1", "ok 1");
        mote.ask(&format!("motemix document {wrong}"), "error: not hex digits in pairs");
    }
    // Two words are no piece.
    mote.ask("motemix document begin", "ok");
    mote.ask("motemix document 00 00", words.document.two_words);
    // More than there is memory for: 1280 bytes.
    mote.ask("motemix document begin", "ok");
    for piece in 1..=32 {
        mote.ask(&format!("motemix document {}", "00".repeat(40)), &format!("ok {}", piece * 40));
    }
    mote.ask("motemix document 00", words.document.too_long);
    mote.ask("motemix document end", "error: a document begins with `document begin`");

    mote.introduce(&authority, &members);
    mote.ask("motemix start", "ok");
    for wrong in ["", " node-1"] {
        mote.ask(&format!("motemix send{wrong}"), &usage("send NAME TEXT"));
    }
    for len in [103, 104] {
        mote.ask(&format!("motemix send node-1 {}", "x".repeat(len)), words.long_message);
    }
    mote.ask(&format!("motemix send node-1 {}", "x".repeat(150)), words.long_line);
    let nobody = "n".repeat(100);
    mote.ask(&format!("motemix send {nobody} x"), &(words.no_node)(&nobody));
    mote.until_status(&["sent 0"]);
    assert!(mote.is_alive());
}

fn documents_that_do_not_hold_are_refused(port: &'static Port) {
    let (link, words) = (Link::of(port, 1), &port.words.document);
    let mut mote = link.start(0);
    let authority = Authority::new(1);
    let members = members_with(&mut mote);
    let document = authority.sign(FIRST, &members);
    let kept = (port.words.kept)(FIRST, members.len());

    mote.give(&document, "error: the clock is not set");
    mote.ask(&format!("motemix time {}", BEGINS + 10), "ok");
    mote.give(&document, "error: no authority is trusted");
    mote.ask(&format!("motemix trust 1 {}", to_hex(&authority.key())), "ok");
    mote.ask("motemix start", "error: there is no network document");

    let mut other_network = Authority::new(1);
    other_network.network = "others";
    let next = Epoch(FIRST.0 + 1);
    let mut strangers = members.clone();
    strangers[0].key = [9; 32];
    let crowd = crowd_with(&members);
    let mut changed = document.clone();
    changed[100] ^= 1;
    for (document, answer) in [
        (Vec::new(), words.empty),
        (document[..document.len() - 1].to_vec(), words.cut_off),
        (changed, "error: "),
        (Authority::new(2).sign(FIRST, &members), words.unsigned),
        (authority.sign_for(FIRST, (0, BEGINS), &members), words.expired),
        (authority.sign(next, &members), words.for_later),
        (authority.sign(FIRST, &strangers), words.other_key),
    ] {
        mote.give(&document, answer);
        mote.ask("motemix start", "error: there is no network document");
    }

    mote.give(&document, &kept);
    mote.give(&other_network.sign(FIRST, &members), words.other_network);
    mote.ask("motemix start", "ok");
    mote.give(&document, "error: ");
    mote.give(&other_network.sign(next, &members), words.other_network);
    mote.give(&authority.sign(next, &strangers), words.other_key);
    mote.give(&authority.sign(next, &crowd), "error: ");
    mote.until_status(&[&(port.words.runs_in)(FIRST)]);
    mote.ask("motemix stop", "ok");

    mote.ask(&format!("motemix time {}", BEGINS + EPOCH_LEN), "ok");
    mote.ask("motemix start", words.expired);
    mote.ask("motemix status", "the node is stopped");
}

fn lines_are_read_as_every_mote_reads_them(port: &'static Port) {
    let link = Link::of(port, 1);
    let mut mote = link.start(0);
    let authority = Authority::new(1);
    let members = members_with(&mut mote);
    mote.ask("motemix help", "key EPOCH");
    mote.until("prints what the node did");
    mote.ask("motemix stop", "ok");
    // The end of all time is a time, and digits are digits.
    mote.ask("motemix time 18446744073709551615", "ok");
    mote.ask(&format!("motemix time {}", BEGINS + 10), "ok");
    mote.ask(&format!("motemix trust 1 {}", to_hex(&authority.key()).to_uppercase()), "ok");
    let document = authority.sign(FIRST, &members);
    mote.ask("motemix document begin", "ok");
    mote.ask("motemix network", "error: a network document is being given");
    mote.ask(&format!("motemix document {}", to_hex(&document[..40]).to_uppercase()), "ok 40");
    for piece in document[40..].chunks(48) {
        mote.ask(&format!("motemix document {}", to_hex(piece)), "ok ");
    }
    mote.ask("motemix document end", "ok epoch 7, 4 nodes");
    mote.ask("motemix network", "network motes, epoch 7");
    mote.until("  fe80::1, this node");
    mote.until("ok 4 nodes");
    for _ in 0..2 {
        mote.ask("motemix start", "ok");
    }
    mote.ask("motemix network", "error: the node runs; `stop` it first");
    for _ in 0..2 {
        mote.ask("motemix stop", "ok");
    }
}

/// As many as a mote trusts are longer than a line.
fn authorities_are_typed_in_a_line_each(port: &'static Port) {
    let link = Link::of(port, 1);
    let mut mote = link.start(0);
    let members = members_with(&mut mote);
    mote.ask(&format!("motemix time {}", BEGINS + 10), "ok");
    let keys: Vec<_> = (1..5).map(|number| to_hex(&Authority::new(number).key())).collect();
    mote.ask(&format!("motemix trust 1 {}", keys[0]), "ok");
    for key in &keys[1..] {
        mote.ask(&format!("motemix trust 2 and {key}"), "ok");
    }
    mote.ask(&format!("motemix trust 2 and {}", "ab".repeat(32)), port.words.too_many_authorities);
    let document = Authority::new(4).sign(FIRST, &members);
    mote.give(&document, port.words.document.signed_by_one);
}

fn the_largest_network_that_the_limits_allow_starts_and_a_larger_one_does_not(port: &'static Port) {
    let link = Link::of(port, 1);
    let mut mote = link.start(0);
    let authority = Authority::new(1);
    let members = members_with(&mut mote);
    let mut largest = crowd_with(&members);
    largest.remove(0);
    let document = authority.sign(FIRST, &largest);
    assert!(document.len() > 1024, "{} bytes", document.len());
    mote.trust(&authority);
    mote.give(&document, "ok epoch 7, 16 nodes");
    mote.ask("motemix start", "ok");
    // The next epoch's is kept beside it.
    let next = Epoch(FIRST.0 + 1);
    largest[15].key = mote.member(0, next).key;
    mote.give(&authority.sign(next, &largest), "ok epoch 8 begins at ");
    mote.ask("motemix stop", "ok");
    mote.kill();

    mote = link.start(0);
    mote.ask(&format!("motemix time {}", BEGINS + 20), "ok");
    mote.ask("motemix start", "ok");
    mote.ask("motemix stop", "ok");
    mote.give(&authority.sign(FIRST, &crowd_with(&members)), "ok epoch 7, 17 nodes");
    mote.ask("motemix start", "error: the network has 17 nodes and this board has room for 16");
    mote.ask("motemix status", "the node is stopped");
    mote.give(&document, "ok epoch 7, 16 nodes");
    mote.ask("motemix start", "ok");
}

fn a_mote_without_an_address_says_so(port: &'static Port) {
    let link = Link::of(port, 4);
    let mut mote = link.start_among(0, &[]);
    mote.ask("motemix key 7", "error: there is no address yet");
    mote.ask("motemix start", port.words.no_address);
    assert!(mote.is_alive());
    mote.kill();
    // It is there later.
    let mut motes: Vec<_> = (0..4).map(|mote| link.start(mote)).collect();
    let members = members(&mut motes, FIRST);
    let authority = Authority::new(1);
    let mote = &mut motes[0];
    mote.introduce(&authority, &members);
    mote.give(&authority.sign(FIRST, &members), &(port.words.kept)(FIRST, members.len()));
    mote.ask("motemix start", "ok");
}
