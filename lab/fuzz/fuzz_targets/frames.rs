//! A radio that hears anything at all: the stack behind it does not panic, takes in a bounded
//! number of frames at once, and serves its neighbours when the noise is over.
#![cfg_attr(fuzzing, no_main)]

use std::time::Duration;

use arbitrary::Arbitrary;
use motemix_fuzz::board::{self, Board, Memory, PACKET};
use motemix_fuzz::{
    air::{Foreign, Heard, address},
    fuzz_target,
};
use motemix_link::Instant;
use motemix_link::stack::link_local;

#[derive(Arbitrary, Debug)]
enum Call {
    /// The stranger is one of few neighbours, as they are.
    Hear {
        foreign: Foreign,
        but: Option<u8>,
    },
    /// The other station sends.
    Neighbour {
        len: u16,
    },
    /// This station sends, perhaps to one that is not there.
    Send {
        to: u8,
        len: u16,
    },
    Wait {
        millis: u16,
    },
    /// What becomes of the next frame.
    Outcome {
        outcome: u8,
    },
}

fuzz_target!(|calls: Vec<Call>| {
    let mut settings = board::settings(calls.len());
    if board::chosen(calls.len(), 2) {
        settings.pacing = None;
    }
    let heard: [Heard; 2] = Default::default();
    let mut memory = [Memory::new(), Memory::new()];
    let [first, second] = &mut memory;
    let mut now = Instant::from_micros(1_000_000);
    let mut boards = [
        Board::new(0, &settings, &heard[0], vec![heard[1].clone()], first),
        Board::new(1, &settings, &heard[1], vec![heard[0].clone()], second),
    ];
    let settle = |boards: &mut [Board<'_>; 2], now| board::settle(boards, now, |_, _| {});
    for (tag, call) in calls.into_iter().enumerate() {
        let [victim, neighbour] = &mut boards;
        match call {
            Call::Hear { foreign, but } => {
                let mut frames = foreign.frames(0, tag as u16);
                if let Some(but) = but {
                    frames.remove(usize::from(but) % frames.len());
                }
                heard[0].borrow_mut().extend(frames);
            }
            Call::Neighbour { len } => {
                let _ = neighbour.stack.send(link_local(address(0)), &vec![1; usize::from(len) % 300]);
            }
            Call::Send { to, len } => {
                let _ = victim.stack.send(link_local(address(to)), &vec![2; usize::from(len) % 300]);
            }
            Call::Wait { millis } => now = now + Duration::from_millis(millis.into()),
            Call::Outcome { outcome } => victim.expect(outcome),
        }
        settle(&mut boards, now);
    }
    now = board::rest(&mut boards, now, |_, _| {});
    assert!(boards[1].stack.send(link_local(address(0)), &[3; PACKET]).is_ok(), "the neighbour is free");
    for _ in 0..40 {
        settle(&mut boards, now);
        now = now + Duration::from_millis(100);
    }
    assert!(boards[0].last_datagram == [3; PACKET], "the stack does not serve its neighbour");
});
