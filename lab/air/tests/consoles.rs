//! Consoles, and the sockets themselves.

mod boards;

use boards::{Air, Board, broadcast, setup};
use motemix_air::server::{AirError, Server};
use motemix_link::serial::Outcome;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::net::UnixListener;

/// Reads so many bytes.
fn read(mut from: impl Read, len: usize) -> String {
    let mut bytes = vec![0; len];
    from.read_exact(&mut bytes).expect("the air says so much");
    String::from_utf8(bytes).expect("text")
}

/// Typed text comes to the board, so the air has accepted the console.
fn greet(console: &mut impl std::io::Write, board: &mut Board) {
    console.write_all(b"hi\n").expect("the air reads");
    assert_eq!(read(&mut board.stream, 3), "hi\n");
}

#[test]
fn text_goes_to_all_consoles_and_to_a_file_and_typing_goes_to_the_board() {
    let air = Air::open(["board"]);
    let mut board = Board::join(&air, "board", 1);
    let [mut first, mut second] = [0; 2].map(|_| air.connect("board.tty"));
    greet(&mut first, &mut board);
    greet(&mut second, &mut board);
    board.stream.write_all(b"boot\n").expect("the air reads");
    // A message between two texts.
    board.transmit(1, &broadcast(1, 1, b"reading"));
    board.stream.write_all(b"sent\n").expect("the air reads");
    assert_eq!(read(&mut first, 10), "boot\nsent\n");
    assert_eq!(read(&mut second, 10), "boot\nsent\n");
    assert_eq!(board.done(), (1, Outcome::Sent));
    drop(first);
    second.write_all(b"help\n").expect("the air reads");
    assert_eq!(read(&mut board.stream, 5), "help\n");
    let log = air.path("board.log");
    assert_eq!(fs::read_to_string(log).expect("it is there"), "boot\nsent\n");
}

#[test]
fn what_is_typed_does_not_wait_behind_frames_that_a_board_has_not_taken() {
    let air = Air::open(["busy", "other"]);
    let mut busy = Board::join(&air, "busy", 1);
    let mut other = Board::join(&air, "other", 2);
    let mut console = air.connect("busy.tty");
    greet(&mut console, &mut busy);
    let mut send = |frames: std::ops::Range<u8>| {
        for number in frames {
            other.transmit(number, &broadcast(2, number, &[number; 100]));
            assert_eq!(other.done(), (number, Outcome::Sent));
        }
    };
    send(0..60);
    console.write_all(b"status\n").expect("the air reads");
    // The air goes round twice at least.
    send(60..64);
    let before = (0..64).take_while(|_| busy.next_with_text() == b"").count();
    assert!(before < 20, "{before} of 64 frames came before what was typed");
}

#[test]
fn typing_cannot_forge_what_a_radio_says() {
    let air = Air::open(["board"]);
    let mut board = Board::join(&air, "board", 1);
    let mut console = air.connect("board.tty");
    let forged = boards::on_line(&motemix_link::serial::Message::Done { handle: 1, outcome: Outcome::Sent });
    console.write_all(&[&forged[..], b"!"].concat()).expect("the air reads");
    // What is left of it is text.
    let mut left: Vec<u8> = forged.into_iter().filter(u8::is_ascii).collect();
    left.push(b'!');
    assert_eq!(read(&mut board.stream, left.len()).into_bytes(), left);
}

#[test]
fn a_console_that_never_reads_loses_text_and_is_told_so() {
    const LINE: &[u8] = b"the same line again and again\n";
    let air = Air::open(["board"]);
    let mut board = Board::join(&air, "board", 1);
    let mut slow = air.connect("board.tty");
    greet(&mut slow, &mut board);
    // Far more than the sockets and the air keep; the board is not held up.
    for _ in 0..100 {
        board.stream.write_all(&LINE.repeat(1000)).expect("the air reads");
    }
    board.transmit(1, &broadcast(1, 1, b"reading"));
    assert_eq!(board.done(), (1, Outcome::Sent));
    // What was kept is read; then comes the note, before the next text.
    let mut seen = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while !seen.windows(2).any(|pair| pair == b"\x07\n") {
        if seen.len() < 100_000 {
            board.stream.write_all(b"\x07\n").expect("the air reads");
        }
        let len = slow.read(&mut buffer).expect("there is more");
        seen.extend(&buffer[..len]);
        assert!(seen.len() < 100 * 1000 * LINE.len(), "nothing was lost");
        board.stream.write_all(b"\x07\n").expect("the air reads");
    }
    let seen = String::from_utf8(seen).expect("text");
    assert!(seen.contains("bytes were lost here"), "{}", &seen[seen.len().saturating_sub(200)..]);
    let log = fs::metadata(air.path("board.log")).expect("it is there");
    assert!(log.len() > 100 * 1000 * LINE.len() as u64, "the file has everything");
}

#[test]
fn a_socket_that_a_killed_process_left_is_replaced() {
    let dir = tempfile::tempdir().expect("a folder");
    drop(UnixListener::bind(dir.path().join("board.air")).expect("it binds"));
    assert!(dir.path().join("board.air").exists());
    Server::open(&setup(dir.path().to_owned(), ["board"])).expect("nobody listens");
}

#[test]
fn a_socket_on_which_somebody_listens_is_left_alone() {
    let air = Air::open(["board"]);
    let second = Server::open(&setup(air.dir.path().to_owned(), ["other", "board"]));
    assert!(matches!(second, Err(AirError::InUse { path }) if path == air.path("board.air")));
    // The first one still serves, and the second one left nothing behind.
    Board::join(&air, "board", 1);
    assert!(!air.path("other.air").exists());
}

#[test]
fn something_else_with_a_sockets_name_is_left_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("board.tty"), "mine").expect("it is written");
    let refused = Server::open(&setup(dir.path().to_owned(), ["board"]));
    assert!(matches!(refused, Err(AirError::NoSocket { .. })));
    assert_eq!(fs::read_to_string(dir.path().join("board.tty")).expect("it is there"), "mine");
}

#[test]
fn sockets_go_when_the_air_ends() {
    let air = Air::open(["board"]);
    let paths = ["board.air", "board.tty"].map(|name| air.path(name));
    assert!(paths.iter().all(|path| path.exists()));
    let dir = tempfile::tempdir().expect("a folder");
    let server = Server::open(&setup(dir.path().to_owned(), ["board"])).expect("it opens");
    drop(server);
    let left: Vec<_> =
        fs::read_dir(dir.path()).expect("it is there").map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["board.log"]);
}

#[test]
fn a_name_is_a_file_name_and_used_once() {
    let dir = tempfile::tempdir().expect("a folder");
    for names in [["a", "a"], ["../a", "b"], ["", "b"], [".a", "b"], ["a/b", "c"]] {
        let refused = Server::open(&setup(dir.path().to_owned(), names));
        assert!(matches!(refused, Err(AirError::Name(_))), "{names:?}");
    }
}
