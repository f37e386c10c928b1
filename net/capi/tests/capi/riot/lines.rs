//! Lines that only RIOT's shell has room for.

use super::PORT;
use crate::ports::Link;
use crate::signed::{Authority, FIRST, to_hex};

#[test]
fn a_line_has_room_for_all_that_the_mote_reads() {
    let link = Link::of(&PORT, 1);
    let mut board = link.start(0);
    let [one, two] = [1, 2].map(|number| to_hex(&Authority::new(number).key()));
    board.ask(&format!("motemix trust 2 {one} {two}"), "ok");
    // As many characters as the mote reads, and one more.
    board.ask(&format!("motemix {}", "x".repeat(160)), "error: there is no such command");
    board.ask(&format!("motemix {}", "x".repeat(161)), "maximum line length exceeded");
    board.member(0, FIRST);
}
