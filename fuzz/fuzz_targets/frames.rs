//! A radio that hears anything at all: the stack behind it does not panic, takes in a bounded
//! number of frames at once, and serves its neighbours when the noise is over.
#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use motemix_fuzz::air::{Foreign, Heard, Station, address};
use motemix_link::Instant;
use motemix_link::radio::Radio;
use motemix_link::serial::Outcome;
use motemix_link::settings::{LinkSettings, Recovery};
use motemix_link::stack::{Stack, StackMemory, link_local};

const PACKET: usize = 280;

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

struct Board<'s> {
    radio: Radio<Station>,
    stack: Stack<'s>,
    last_datagram: Vec<u8>,
}

fuzz_target!(|calls: Vec<Call>| {
    // Chosen by the number of calls, so that what was found before reads as it did.
    let chosen = |bit: usize| calls.len() >> bit & 1 == 1;
    let mut settings = LinkSettings { when_in_doubt: chosen(0), ..LinkSettings::new() };
    if chosen(1) {
        settings.recovery = Recovery::Selective;
    }
    if chosen(2) {
        settings.pacing = None;
    }
    let heard: [Heard; 2] = Default::default();
    let mut memory = [StackMemory::<PACKET, 2>::new(), StackMemory::new()];
    let [first, second] = &mut memory;
    let mut now = Instant::from_micros(1_000_000);
    let mut victim = board(0, &settings, &heard[0], &heard[1], first);
    let mut neighbour = board(1, &settings, &heard[1], &heard[0], second);
    for (tag, call) in calls.into_iter().enumerate() {
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
            Call::Outcome { outcome } => {
                let outcomes =
                    [Outcome::Sent, Outcome::ChannelBusy, Outcome::NoAcknowledgement, Outcome::Refused];
                let outcome = outcomes[usize::from(outcome % 4)];
                victim.radio.transceiver_mut().outcomes.push_back(outcome);
            }
        }
        settle(&mut [&mut victim, &mut neighbour], now);
    }
    // What waits may be sent, or is given up. What is incomplete is given up after 3 s.
    victim.radio.transceiver_mut().outcomes.clear();
    for _ in 0..70 {
        now = now + Duration::from_secs(1);
        settle(&mut [&mut victim, &mut neighbour], now);
    }
    assert!(neighbour.stack.send(link_local(address(0)), &[3; PACKET]).is_ok(), "the neighbour is free");
    for _ in 0..40 {
        settle(&mut [&mut victim, &mut neighbour], now);
        now = now + Duration::from_millis(100);
    }
    assert!(victim.last_datagram == [3; PACKET], "the stack does not serve its neighbour");
});

fn board<'s>(
    n: u8,
    settings: &LinkSettings,
    own: &Heard,
    other: &Heard,
    memory: &'s mut StackMemory<PACKET, 2>,
) -> Board<'s> {
    let radio = Radio::new(Station::new(own.clone(), vec![other.clone()]));
    let stack = Stack::new(address(n), n.into(), settings, memory.lend());
    Board { radio, stack, last_datagram: Vec::new() }
}

/// Until both have nothing to do now.
fn settle(boards: &mut [&mut Board<'_>], now: Instant) {
    for _ in 0..10_000 {
        let mut busy = false;
        for board in boards.iter_mut() {
            let before = *board.radio.counters();
            let waiting = board.radio.transceiver().own.borrow().len();
            board.stack.poll(now, &mut board.radio);
            let after = board.radio.counters();
            assert!(after.received - before.received <= 32, "too much at once");
            // What arrived is taken as an application does.
            let mut arrived = [0; PACKET];
            while let Some(received) = board.stack.receive(&mut arrived) {
                board.last_datagram = arrived[..received.len].to_vec();
            }
            busy |= waiting > 0 || *after != before || board.radio.transceiver().outcome.is_some();
        }
        if !busy {
            return;
        }
    }
    panic!("the stations do not come to rest");
}
