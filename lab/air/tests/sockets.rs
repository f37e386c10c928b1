//! The air with its sockets: boards and consoles as their users see them.

mod boards;

use boards::{Air, Board, address, broadcast, data, on_line};
use motemix_link::serial::{Message, Outcome};
use std::io::{ErrorKind, Read as _, Write as _};

#[test]
fn two_boards_join_and_a_frame_goes_from_one_to_the_other() {
    let air = Air::open(["left", "right"]);
    let mut left = Board::join(&air, "left", 1);
    let mut right = Board::join(&air, "right", 2);
    let frame = data(1, 2, 7, b"reading");
    left.transmit(9, &frame);
    assert_eq!(right.received(), frame);
    assert_eq!(left.done(), (9, Outcome::Sent));
}

#[test]
fn a_frame_that_nobody_acknowledges_comes_back_as_that() {
    let air = Air::open(["alone"]);
    let mut board = Board::join(&air, "alone", 1);
    board.transmit(3, &data(1, 2, 7, b"reading"));
    assert_eq!(board.done(), (3, Outcome::NoAcknowledgement));
    let report = air.stop();
    assert_eq!((report.stations[0].channel.transmissions, report.stations[0].channel.retries), (4, 3));
}

#[test]
fn garbage_on_a_line_harms_nobody() {
    let air = Air::open(["noisy", "left", "right"]);
    let mut noisy = Board::connect(&air, "noisy");
    // Every byte, in an order that begins many messages and ends none well.
    for round in 0..=255_u8 {
        let bytes: Vec<u8> =
            (0..=255_u8).flat_map(|byte| [0xf1, byte, byte.wrapping_mul(round), 0xf2]).collect();
        noisy.stream.write_all(&bytes).expect("the air reads");
    }
    // After all that, its next message is read.
    noisy.say(&Message::Join(address(3)));
    noisy.say(&Message::Received { link_quality: 0, signal: 0, frame: &[] });
    noisy.transmit(1, &broadcast(3, 1, b"sense"));
    assert_eq!(noisy.done(), (1, Outcome::Sent));
    let mut left = Board::join(&air, "left", 1);
    let mut right = Board::join(&air, "right", 2);
    left.transmit(9, &data(1, 2, 7, b"reading"));
    assert_eq!(right.received(), data(1, 2, 7, b"reading"));
    let line = air.stop().stations[0].line;
    assert!(line.damaged > 60_000, "{line:?}");
    assert_eq!(line.misplaced, 1);
}

#[test]
fn a_board_that_has_not_joined_is_told_so() {
    let air = Air::open(["early"]);
    let mut board = Board::connect(&air, "early");
    board.transmit(4, &broadcast(1, 1, b"hello"));
    assert_eq!(board.done(), (4, Outcome::Refused));
    assert_eq!(air.stop().stations[0].line.not_joined, 1);
}

#[test]
fn an_address_that_another_board_has_is_refused_until_that_one_leaves() {
    let air = Air::open(["first", "second"]);
    let first = Board::join(&air, "first", 1);
    let mut second = Board::join(&air, "second", 1);
    second.transmit(1, &broadcast(1, 1, b"me too"));
    assert_eq!(second.done(), (1, Outcome::Refused));
    drop(first);
    loop {
        // The air sees that the first one went when it next looks.
        second.say(&Message::Join(address(1)));
        second.transmit(2, &broadcast(1, 1, b"me now"));
        if second.done() == (2, Outcome::Sent) {
            break;
        }
    }
    assert!(air.stop().stations[1].line.join_refused >= 1);
}

#[test]
fn a_board_that_begins_anew_keeps_its_address() {
    let air = Air::open(["board"]);
    let mut board = Board::join(&air, "board", 1);
    board.say(&Message::Join(address(1)));
    board.transmit(2, &broadcast(1, 1, b"again"));
    assert_eq!(board.done(), (2, Outcome::Sent));
    let station = air.stop().stations.remove(0);
    assert_eq!((station.line.join_refused, station.channel.malformed, station.channel.sent), (0, 1, 1));
}

#[test]
fn a_line_has_one_board_at_a_time() {
    let air = Air::open(["board"]);
    let mut board = Board::join(&air, "board", 1);
    let mut second = air.connect("board.air");
    assert_eq!(second.read(&mut [0]).expect("it is closed"), 0);
    board.transmit(2, &broadcast(1, 1, b"still here"));
    assert_eq!(board.done(), (2, Outcome::Sent));
    assert_eq!(air.stop().stations[0].line.second_connections, 1);
}

#[test]
fn a_board_that_never_reads_holds_nobody_up() {
    let air = Air::open(["deaf", "sender", "receiver"]);
    let mut deaf = Board::join(&air, "deaf", 1);
    let mut sender = Board::join(&air, "sender", 2);
    let mut receiver = Board::join(&air, "receiver", 3);
    // It sends without ever reading: refusals pile up until it is read no further.
    deaf.stream.set_nonblocking(true).expect("it can be");
    let refused = on_line(&Message::Transmit { handle: 1, frame: &[] }).repeat(1000);
    let mut written = 0;
    while written < 8 << 20 {
        match deaf.stream.write(&refused) {
            Ok(len) => written += len,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                // What the air has not read yet; in the end it reads no more, and bounds what it
                // keeps.
                sender.transmit(0, &broadcast(2, 0, &[0; 100]));
                assert_eq!(sender.done(), (0, Outcome::Sent));
                receiver.received();
                if deaf.stream.write(&refused).is_err() {
                    break;
                }
            }
        }
    }
    for number in 0..30 {
        sender.transmit(1, &data(2, 3, number, &[0; 90]));
        assert_eq!(receiver.received(), data(2, 3, number, &[0; 90]));
        assert_eq!(sender.done(), (1, Outcome::Sent));
    }
    assert!(written < 8 << 20, "the air took {written} bytes of one that never reads");
}

#[test]
fn an_emulator_that_is_killed_and_started_again_finds_its_line_free() {
    let air = Air::open(["board"]);
    for _ in 0..200 {
        let mut killed = Board::connect(&air, "board");
        killed.say(&Message::Join(address(1)));
        killed.stream.write_all(&[b'x'; 10_000]).expect("the air reads");
        drop(killed);
        Board::join(&air, "board", 1);
    }
    assert_eq!(air.stop().stations[0].line.second_connections, 0);
}
