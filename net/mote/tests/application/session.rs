//! The session in `docs/spec/mote.md` is one that a mote has.

use crate::board::Chip;
use crate::world::{NOON, Terms, World, hex};

const SPECIFICATION: &str = include_str!("../../../../docs/spec/mote.md");

/// What no other run has the same: keys, addresses, ids, times. The shape of them stays.
fn shape(line: &str) -> String {
    let word = |word: &str| {
        let body = word.trim_end_matches(['…', ',']);
        let is_key = body.len() >= 8 && body.bytes().all(|byte| byte.is_ascii_hexdigit());
        if body.contains("fe80::") {
            "ADDRESS".to_owned() + &word[body.len()..]
        } else if is_key {
            "HEX".to_owned()
        } else {
            word.to_owned()
        }
    };
    let words: Vec<_> = line.split(' ').map(word).collect();
    let mut shape = words.join(" ");
    if let Some((before, rest)) = shape.split_once(" after ")
        && let Some((_, after)) = rest.split_once(" ms")
    {
        shape = format!("{before} after TIME ms{after}");
    }
    shape
}

#[test]
fn the_session_in_the_specification_is_real() {
    let (_, session) = SPECIFICATION.split_once("```text\n").expect("the session is there");
    let (session, _) = session.split_once("```").expect("it ends");
    let mut world = World::with((0..3).map(|_| Chip::new()).collect(), 70);
    let nodes = world.list(7);
    let document = Terms::default().sign(&nodes);
    for board in 1..3 {
        world.set_clock(board);
        world.trust(board, 1);
        world.give(board, &document);
        world.say(board, "start");
    }
    let mut pieces = document.chunks(64);
    let mut played = String::new();
    for line in session.lines().filter_map(|line| line.strip_prefix("> ")) {
        let typed = match line.split_once(' ') {
            Some(("document", piece)) if piece != "begin" && piece != "end" => {
                format!("document {}", hex(pieces.next().expect("as many pieces as are shown")))
            }
            _ => line.to_owned(),
        };
        assert!(!typed.starts_with("time ") || typed == format!("time {}", NOON + 1));
        played = [played, format!("> {typed}\n"), world.say(0, &typed)].concat();
        if line.starts_with("send mote-1 ") {
            world.seconds(5);
            played += &world.printed(0);
            world.send(1, 0, "thank you");
            world.seconds(5);
            played += &world.printed(0);
        }
    }
    assert!(pieces.next().is_none(), "there are more pieces than are shown");
    let shapes = |text: &str| text.lines().map(shape).collect::<Vec<_>>();
    assert_eq!(shapes(&played), shapes(session));
    assert!(world.inbox(1).contains(&"0 21.5 C at the weir".to_owned()));
}
