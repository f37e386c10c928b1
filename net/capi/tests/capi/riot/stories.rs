//! What becomes of messages that an application waits for, and what other threads ask of the mote.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::PORT;
use crate::ports::{Link, Mote, run};
use crate::signed::Authority;
use crate::{SANITIZERS, root};

/// The application with the commands of calls.c.
fn with_calls() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let calls = root().join("tests/capi/riot/calls.c");
        super::link("calls", &[&SANITIZERS, &[calls.to_str().expect("a path")][..]].concat())
    })
}

/// A network in which the first board has those commands.
fn network_with_calls(link: &Link) -> Vec<Mote> {
    let ports = link.udp_ports();
    let boards = (0..link.sockets.len()).map(|board| match board {
        0 => link.start_image(with_calls(), 0, &ports),
        _ => link.start(board),
    });
    run(boards.collect(), &Authority::new(1))
}

#[test]
fn a_message_is_not_lost_if_the_power_fails_while_it_is_printed() {
    let link = Link::of(&PORT, 4);
    let mut boards = network_with_calls(&link);
    // Text, and what a terminal might obey.
    boards[1].send("node-0", "hello");
    boards[1].send("node-0", "again");
    let printed = boards[0].ask("cut", " 0 hello");
    boards[0] = link.start_image(with_calls(), 0, &link.udp_ports());
    assert_eq!(boards[0].ask("motemix inbox", " 0 hello"), printed);
    boards[0].until(" 1 again");
    boards[0].until("ok 2 messages");
}

#[test]
fn a_message_stays_until_it_is_forgotten() {
    let link = Link::of(&PORT, 4);
    let mut boards = network_with_calls(&link);
    boards[1].send("node-0", "first");
    boards[2].send("node-0", "second");
    for _ in 0..2 {
        boards[0].ask("look", "oldest: 0 0 first");
    }
    boards[0].kill();
    boards[0] = link.start_image(with_calls(), 0, &link.udp_ports());
    boards[0].ask("look", "oldest: 0 0 first");
    boards[0].ask("look no more", "forgotten: 0");
    boards[0].ask("look", "oldest: 0 0 second");
    boards[0].ask("motemix inbox", "ok 1 messages");
    boards[0].ask("look", "oldest: 1");
}

const BUSY: &str = "8";
const UNDER_WAY: &str = "50";

#[test]
fn what_waits_for_a_message_waits_for_one() {
    let link = Link::of(&PORT, 4);
    let mut boards = network_with_calls(&link);
    for board in &mut boards[1..] {
        board.kill();
    }
    let said = boards[0].all("twice", "two again");
    let under_way = format!("one again: {UNDER_WAY}");
    let expected = ["one: 0", &under_way, "two: 0", &under_way, &format!("two again: {UNDER_WAY}")];
    assert_eq!(said, expected);
    let said = boards[0].all("motemix stop", "ok").join("\n") + &boards[0].until("");
    assert!(!said.contains("discarded"), "the application waited for both: {said}");
    boards[0].ask("motemix status", "the node is stopped");
}

#[test]
fn a_call_in_the_motes_own_thread_is_refused_and_waits_for_nobody() {
    let link = Link::of(&PORT, 4);
    let mut boards = network_with_calls(&link);
    boards[0].ask("listen", "listen: 0");
    boards[1].send("node-0", "hello");
    boards[0].until("received 0 hello");
    boards[0].until(&format!("inside received: {BUSY}"));
    boards[0].type_line("twice");
    for _ in 0..2 {
        boards[0].until("ended: 1");
        boards[0].until(&format!("inside ended: {BUSY}"));
    }
    boards[0].ask("motemix inbox", "ok 0 messages");
}

#[test]
fn asking_for_a_key_does_not_change_how_neighbours_are_reached() {
    let link = Link::of(&PORT, 4);
    let mut boards = network_with_calls(&link);
    // Another interface comes first from now on, and nobody is there.
    boards[0].ask("interface 9", "interface 9");
    boards[0].ask("motemix key 8", "address [");
    boards[0].ask("key", "key: 0");
    boards[0].send("node-1", "hello");
    boards[0].ask("motemix stop", "ok");
    boards[0].ask("interface 6", "interface 6");
    boards[0].ask("motemix start", "ok");
    boards[0].send("node-1", "hello");
}

/// An assertion of RIOT's ends the thread of the radio, and nobody who asks it gets an answer.
#[test]
fn a_mote_whose_radio_has_stopped_says_so() {
    let link = Link::of(&PORT, 4);
    let mut boards = network_with_calls(&link);
    let well = boards[0].all("motemix status", "ok replay tags");
    assert!(well.iter().all(|line| !line.contains("radio")), "{well:?}");
    boards[0].ask("radio", "radio: stopped");
    let stopped = "error: the radio has stopped";
    boards[0].ask("motemix status", stopped);
    boards[0].ask("motemix stop", "ok");
    boards[0].ask("motemix start", stopped);
    boards[0].ask("motemix status", stopped);
}

#[test]
fn null_pointers_are_refused() {
    let link = Link::of(&PORT, 4);
    let mut boards = network_with_calls(&link);
    assert_eq!(boards[0].all("nulls", "all asked"), ["all asked"]);
}

#[test]
fn a_mote_without_a_thread_says_so() {
    let link = Link::of(&PORT, 1);
    let variables = [("RIOT_STAND_IN_NO_THREAD", "1".as_ref())];
    let mut board = crate::shell::Shell::start((PORT.program)(), &link.sockets[0], &variables);
    board.until("motemix: RIOT makes no thread for the mote (-");
    for line in ["key 7", "status", "start"] {
        board.ask(&format!("motemix {line}"), "error: the mote's thread is not there");
    }
    assert!(board.is_alive());
}
