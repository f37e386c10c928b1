//! The air with its sockets: boards and consoles as their users see them.

mod boards;

use boards::{Air, Board, data};
use motemix_link::serial::Outcome;

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
