//! Two stations that protect frames, and a stranger that forges, alters, repeats and reorders them
//! while keys come and go: neither panics nor takes in what was altered, and afterwards both
//! understand each other.
#![cfg_attr(fuzzing, no_main)]

use std::time::Duration;

use arbitrary::Arbitrary;
use motemix_crypto::Secret;
use motemix_fuzz::air::{Foreign, Heard, address};
use motemix_fuzz::board::{self, Board, Memory, PACKET};
use motemix_fuzz::{Damage, fuzz_target};
use motemix_link::Instant;
use motemix_link::protection::{HandshakeMessage, KeySlot, Keys, Role};
use motemix_link::serial::MAX_FRAME;
use motemix_link::settings::LinkSettings;
use motemix_link::stack::link_local;

#[derive(Arbitrary, Debug)]
enum Call {
    /// A frame that is not protected.
    Hear {
        to: bool,
        foreign: Foreign,
    },
    /// The header of a protected frame, and the fuzzer's bytes behind it.
    Protected {
        to: bool,
        from: u8,
        extended: bool,
        security: u8,
        inside: Vec<u8>,
    },
    /// A frame of before, perhaps altered, to either station.
    Again {
        to: bool,
        which: u16,
        damage: Option<Damage>,
    },
    /// The frame that is to be heard next comes last.
    Late {
        to: bool,
    },
    Send {
        from: bool,
        to: u8,
        byte: u8,
        len: u16,
    },
    Wait {
        millis: u16,
    },
    Outcome {
        of: bool,
        outcome: u8,
    },
    /// One station has another key for a neighbour.
    Key {
        of: bool,
        with: u8,
        key: u8,
        shares_short: bool,
    },
    Forget {
        of: bool,
        with: u8,
    },
    Handshake {
        from: bool,
        to: u8,
        message: Vec<u8>,
    },
    /// There will be no other key for a neighbour.
    Refuse {
        of: bool,
        with: u8,
    },
}

fuzz_target!(|calls: Vec<Call>| {
    let mut settings = board::settings(calls.len());
    if board::chosen(calls.len(), 2) {
        settings.rekey_at = 3;
    }
    let heard: [Heard; 2] = Default::default();
    // Everything that was sent, for the stranger.
    let sent = Heard::default();
    let mut memory = [Memory::new(), Memory::new()];
    let [first, second] = &mut memory;
    let mut slots = [[const { KeySlot::FREE }; 2], [KeySlot::FREE, KeySlot::FREE]];
    let [first_slots, second_slots] = &mut slots;
    let mut now = Instant::from_micros(1_000_000);
    let mut boards = [
        board(0, &settings, &heard[0], vec![heard[1].clone(), sent.clone()], first, first_slots),
        board(1, &settings, &heard[1], vec![heard[0].clone(), sent.clone()], second, second_slots),
    ];
    acquaint(&mut boards, 0);
    for (tag, call) in calls.into_iter().enumerate() {
        match call {
            Call::Hear { to, foreign } => {
                heard[usize::from(to)].borrow_mut().extend(foreign.frames(to.into(), tag as u16));
            }
            Call::Protected { to, from, extended, security, inside } => {
                let to_address = address(to.into());
                let mut frame = vec![0x69, if extended { 0x9c } else { 0x98 }, tag as u8, 0x23, 0];
                frame.extend(if extended { &to_address.0[..] } else { &to_address.0[..2] });
                frame.extend(address(from).short());
                // 6 is right.
                frame.push(security ^ 6);
                frame.extend(&inside);
                frame.truncate(MAX_FRAME);
                heard[usize::from(to)].borrow_mut().push_back(frame);
            }
            Call::Again { to, which, damage } => {
                let sent = sent.borrow();
                if !sent.is_empty() {
                    let mut frame = sent[usize::from(which) % sent.len()].clone();
                    if let Some(damage) = damage {
                        damage.apply(&mut frame);
                    }
                    heard[usize::from(to)].borrow_mut().push_back(frame);
                }
            }
            Call::Late { to } => {
                let mut heard = heard[usize::from(to)].borrow_mut();
                if !heard.is_empty() {
                    heard.rotate_left(1);
                }
            }
            Call::Send { from, to, byte, len } => {
                let datagram = vec![byte % 100; usize::from(len) % 300];
                let _ = boards[usize::from(from)].stack.send(link_local(address(to)), &datagram);
            }
            Call::Wait { millis } => now = now + Duration::from_millis(millis.into()),
            Call::Outcome { of, outcome } => boards[usize::from(of)].expect(outcome),
            Call::Key { of, with, key, shares_short } => {
                keys(&mut boards[usize::from(of)]).set_key(
                    address(with),
                    &Secret::new([key; 16]),
                    Role::Initiator,
                    shares_short,
                );
            }
            Call::Forget { of, with } => {
                keys(&mut boards[usize::from(of)]).retain_keys(&mut |other| other != address(with));
            }
            Call::Handshake { from, to, message } => {
                if let Some(message) = HandshakeMessage::new(address(to), &message) {
                    keys(&mut boards[usize::from(from)]).send_handshake(message);
                }
            }
            Call::Refuse { of, with } => {
                let keys = keys(&mut boards[usize::from(of)]);
                let had_place = keys.has_place_for(address(with));
                keys.refuse_key(address(with));
                assert_eq!(keys.has_place_for(address(with)), had_place, "no key has gone");
            }
        }
        board::settle(&mut boards, now, taken);
    }
    now = board::rest(&mut boards, now, taken);
    // Under a key that neither had before: a neighbour whose counter an old key knows begins anew.
    acquaint(&mut boards, 1);
    for from in [0, 1] {
        let to = link_local(address(1 - from as u8));
        assert!(boards[from].stack.send(to, &[200; PACKET]).is_ok(), "the station is free");
        for _ in 0..40 {
            board::settle(&mut boards, now, taken);
            now = now + Duration::from_millis(100);
        }
        assert!(boards[1 - from].last_datagram == [200; PACKET], "they do not understand each other");
    }
});

/// Both have a key with each other that a fuzzer cannot set.
fn acquaint(boards: &mut [Board<'_>; 2], number: u8) {
    let mut key = [0x5a; 16];
    key[0] = number;
    for (of, board) in boards.iter_mut().enumerate() {
        keys(board).set_key(address(1 - of as u8), &Secret::new(key), Role::Initiator, false);
    }
}

fn keys<'b>(board: &'b mut Board<'_>) -> &'b mut dyn Keys {
    board.stack.keys().expect("it protects frames")
}

/// A board that protects its frames.
fn board<'s>(
    n: u8,
    settings: &LinkSettings,
    own: &Heard,
    others: Vec<Heard>,
    memory: &'s mut Memory,
    slots: &'s mut [KeySlot],
) -> Board<'s> {
    let mut board = Board::new(n, settings, own, others, memory);
    board.stack.protect(slots);
    board
}

/// What arrives was sent: all bytes of a datagram are alike. What the link asks for is taken.
fn taken(board: &mut Board<'_>, datagrams: &[Vec<u8>]) {
    for datagram in datagrams {
        assert!(datagram.windows(2).all(|pair| pair[0] == pair[1]), "a datagram that nobody sent");
    }
    let keys = keys(board);
    let _ = (keys.poll_handshake(), keys.poll_undelivered(), keys.poll_wanted());
}
