//! Boards with a link, on the air of a fuzz target.

use std::time::Duration;

use motemix_link::Instant;
use motemix_link::radio::Radio;
use motemix_link::serial::Outcome;
use motemix_link::settings::{LinkSettings, Recovery};
use motemix_link::stack::{Stack, StackMemory};

use crate::air::{Heard, Station, address};

/// Bytes of the longest datagram.
pub const PACKET: usize = 280;

/// Memory for the link of one board.
pub type Memory = StackMemory<PACKET, 2>;

/// A radio, and the link behind it.
pub struct Board<'s> {
    pub radio: Radio<Station>,
    pub stack: Stack<'s>,
    pub last_datagram: Vec<u8>,
}

impl<'s> Board<'s> {
    /// The board with this number. It hears what is in `own`, and others what it sends.
    pub fn new(
        n: u8,
        settings: &LinkSettings,
        own: &Heard,
        others: Vec<Heard>,
        memory: &'s mut Memory,
    ) -> Self {
        let radio = Radio::new(Station::new(own.clone(), others));
        let stack = Stack::new(address(n), n.into(), settings, memory.lend());
        Self { radio, stack, last_datagram: Vec::new() }
    }

    /// What becomes of the next frame.
    pub fn expect(&mut self, outcome: u8) {
        let outcomes = [Outcome::Sent, Outcome::ChannelBusy, Outcome::NoAcknowledgement, Outcome::Refused];
        self.radio.transceiver_mut().outcomes.push_back(outcomes[usize::from(outcome % 4)]);
    }
}

/// Chosen by the number of calls, so that what was found before reads as it did.
pub fn chosen(calls: usize, bit: usize) -> bool {
    calls >> bit & 1 == 1
}

/// What both kinds of link choose alike.
pub fn settings(calls: usize) -> LinkSettings {
    let mut settings = LinkSettings { when_in_doubt: chosen(calls, 0), ..LinkSettings::new() };
    if chosen(calls, 1) {
        settings.recovery = Recovery::Selective;
    }
    settings
}

/// Until all have nothing to do now. `taken` has each board, and what it has just received.
pub fn settle(boards: &mut [Board<'_>], now: Instant, taken: impl Fn(&mut Board<'_>, &[Vec<u8>])) {
    for _ in 0..10_000 {
        let mut busy = false;
        for board in boards.iter_mut() {
            let before = *board.radio.counters();
            let waiting = board.radio.transceiver().own.borrow().len();
            board.stack.poll(now, &mut board.radio);
            let after = *board.radio.counters();
            assert!(after.received - before.received <= 32, "too much at once");
            // What arrived is taken as an application does.
            let mut arrived = [0; PACKET];
            let mut datagrams = Vec::new();
            while let Some(received) = board.stack.receive(&mut arrived) {
                datagrams.push(arrived[..received.len].to_vec());
            }
            taken(board, &datagrams);
            board.last_datagram = datagrams.pop().unwrap_or(std::mem::take(&mut board.last_datagram));
            busy |= waiting > 0 || after != before || board.radio.transceiver().outcome.is_some();
        }
        if !busy {
            return;
        }
    }
    panic!("the stations do not come to rest");
}

/// What waits may be sent, or is given up. What is incomplete is given up after 3 s. The time then.
pub fn rest(
    boards: &mut [Board<'_>],
    mut now: Instant,
    taken: impl Fn(&mut Board<'_>, &[Vec<u8>]),
) -> Instant {
    for board in boards.iter_mut() {
        board.radio.transceiver_mut().outcomes.clear();
    }
    for _ in 0..70 {
        now = now + Duration::from_secs(1);
        settle(boards, now, &taken);
    }
    now
}
