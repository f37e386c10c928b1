//! Stacks that share an air without faults, and one that loses frames: packets arrive in three frames each.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use motemix_link::radio::{OUTCOME_WITHIN, REQUEUES, Radio, Transceiver};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::stack::{Stack, StackMemory, link_local};
use proptest::prelude::*;

const PACKET: usize = 280;

/// Frames that everyone else hears at once, and a script of outcomes for those who send.
#[derive(Default)]
struct Air {
    heard: Vec<VecDeque<Vec<u8>>>,
    frames: Vec<Vec<u8>>,
    outcomes: VecDeque<Outcome>,
}

#[derive(Clone)]
struct Station {
    index: usize,
    air: Rc<RefCell<Air>>,
    outcome: Option<Outcome>,
}

impl Transceiver for Station {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let frame = self.air.borrow_mut().heard[self.index].pop_front()?;
        out[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        let mut air = self.air.borrow_mut();
        let outcome = air.outcomes.pop_front().unwrap_or(Outcome::Sent);
        self.outcome = Some(outcome);
        if outcome == Outcome::Sent {
            air.frames.push(frame.to_vec());
            for (index, heard) in air.heard.iter_mut().enumerate() {
                if index != self.index {
                    heard.push_back(frame.to_vec());
                }
            }
        }
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }
}

struct Board {
    radio: Radio<Station>,
    stack: Stack<'static>,
}

fn address(index: usize) -> ExtendedAddress {
    ExtendedAddress([index as u8, 0, 0, 0, 0, 0, 0, 0x02])
}

fn boards(count: usize) -> (Rc<RefCell<Air>>, Vec<Board>) {
    let air = Rc::new(RefCell::new(Air { heard: vec![VecDeque::new(); count], ..Air::default() }));
    let boards = (0..count).map(|index| {
        let mut radio = Radio::new(Station { index, air: air.clone(), outcome: None });
        let memory = Box::leak(Box::new(StackMemory::<PACKET, 2>::new()));
        let stack = Stack::new(address(index), index as u64, memory, &mut radio, Duration::ZERO);
        Board { radio, stack }
    });
    let boards = boards.collect();
    (air, boards)
}

/// Runs all boards for a while, a millisecond at a time.
fn run(boards: &mut [Board], now: &mut Duration, time: Duration) {
    let until = *now + time;
    while *now < until {
        *now += Duration::from_millis(1);
        for board in boards.iter_mut() {
            board.stack.poll(*now, &mut board.radio);
        }
    }
}

#[test]
fn a_packet_takes_three_frames_once_the_neighbour_is_known() {
    let (air, mut boards) = boards(2);
    let mut now = Duration::ZERO;
    let packet: Vec<u8> = (0..PACKET).map(|at| at as u8).collect();
    for round in 0..3u8 {
        let frames_before = air.borrow().frames.len();
        let packet: Vec<u8> = packet.iter().map(|byte| byte ^ round).collect();
        assert!(boards[0].stack.send(now, link_local(address(1)), &packet));
        assert!(!boards[0].stack.send(now, link_local(address(1)), &packet), "one leaves at a time");
        run(&mut boards, &mut now, Duration::from_secs(2));
        let mut arrived = [0; PACKET];
        assert_eq!(boards[1].stack.receive(&mut arrived), Some(PACKET));
        assert_eq!(arrived.as_slice(), packet);
        if round > 0 {
            let air = air.borrow();
            let frames = &air.frames[frames_before..];
            assert_eq!(frames.len(), 3, "88 + 96 + 96 bytes of the packet");
            assert!(
                frames.iter().all(|frame| frame[0] & 0x20 != 0),
                "a unicast frame asks to be acknowledged"
            );
        }
    }
}

#[test]
fn a_fragment_that_finds_the_channel_busy_is_put_back() {
    let (air, mut boards) = boards(2);
    let mut now = Duration::ZERO;
    let busy = [Outcome::ChannelBusy, Outcome::NoAcknowledgement, Outcome::ChannelBusy];
    assert_eq!(busy.len(), usize::from(REQUEUES));
    boards[0].stack.send(now, link_local(address(1)), &[7; PACKET]);
    run(&mut boards, &mut now, Duration::from_secs(2));
    boards[1].stack.receive(&mut [0; PACKET]);
    air.borrow_mut().outcomes.extend(busy);
    boards[0].stack.send(now, link_local(address(1)), &[8; PACKET]);
    run(&mut boards, &mut now, Duration::from_secs(1));
    let mut arrived = [0; PACKET];
    assert_eq!(boards[1].stack.receive(&mut arrived), Some(PACKET));
    assert_eq!(arrived, [8; PACKET]);
    assert_eq!(boards[0].radio.counters().requeued, 3);
    assert_eq!(boards[0].radio.counters().given_up, 0);
}

#[test]
fn a_neighbour_that_is_not_there_does_not_block_the_others() {
    let (_, mut boards) = boards(2);
    let mut now = Duration::ZERO;
    boards[0].stack.send(now, link_local(address(9)), &[7; PACKET]);
    run(&mut boards, &mut now, Duration::from_secs(5));
    assert_eq!(boards[0].stack.counters().unreachable, 1);
    assert!(boards[0].stack.send(now, link_local(address(1)), &[8; PACKET]));
    run(&mut boards, &mut now, Duration::from_secs(5));
    assert_eq!(boards[1].stack.receive(&mut [0; PACKET]), Some(PACKET));
}

#[test]
fn a_radio_that_never_succeeds_gives_up_and_goes_on() {
    let (air, mut boards) = boards(2);
    let mut now = Duration::ZERO;
    air.borrow_mut().outcomes.extend([Outcome::ChannelBusy; 4]);
    // The neighbour is looked for; the frame that asks for it is given up, and sent again later.
    boards[0].stack.send(now, link_local(address(1)), &[8; PACKET]);
    run(&mut boards, &mut now, Duration::from_secs(3));
    assert_eq!(boards[0].radio.counters().given_up, 1);
    assert_eq!(boards[1].stack.receive(&mut [0; PACKET]), Some(PACKET));
}

/// A transceiver that always has another frame, and whose outcomes are lost.
struct Flood {
    frame: Vec<u8>,
    taken: usize,
    transmitted: usize,
}

impl Transceiver for Flood {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        self.taken += 1;
        assert!(self.taken < 1000, "the flood is taken in without an end");
        out[..self.frame.len()].copy_from_slice(&self.frame);
        Some(self.frame.len())
    }

    fn transmit(&mut self, _: &[u8]) {
        self.transmitted += 1;
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        None
    }
}

#[test]
fn a_flood_is_taken_in_a_little_at_a_time() {
    for frame in real_frames().into_iter().chain([vec![0; 20]]) {
        let mut radio = Radio::new(Flood { frame, taken: 0, transmitted: 0 });
        let mut memory = StackMemory::<PACKET, 2>::new();
        let mut stack = Stack::new(address(1), 1, &mut memory, &mut radio, Duration::ZERO);
        for round in 1..20 {
            stack.poll(Duration::from_millis(round), &mut radio);
            let taken = std::mem::take(&mut radio.transceiver_mut().taken);
            assert!((1..=4).contains(&taken), "{taken} frames at once");
        }
    }
}

#[test]
fn a_frame_of_which_nothing_is_heard_does_not_block_the_next() {
    let mut radio = Radio::new(Flood { frame: vec![], taken: 0, transmitted: 0 });
    let mut memory = StackMemory::<PACKET, 2>::new();
    let mut stack = Stack::new(address(1), 1, &mut memory, &mut radio, Duration::ZERO);
    let mut now = Duration::from_secs(1);
    for sent in 1..5 {
        // The question where the neighbour is.
        assert!(stack.send(now, link_local(address(2)), &[0; 8]));
        stack.poll(now, &mut radio);
        assert_eq!(radio.transceiver().transmitted, sent);
        assert_eq!(radio.poll_timeout(), Some(now + OUTCOME_WITHIN));
        stack.poll(now + OUTCOME_WITHIN / 2, &mut radio);
        assert_eq!(radio.counters().given_up, sent as u32 - 1, "it may still be under way");
        now += Duration::from_secs(5);
        stack.poll(now, &mut radio);
        assert_eq!(radio.counters().given_up, sent as u32);
        radio.transceiver_mut().taken = 0;
    }
}

#[test]
fn three_senders_to_one_receiver_are_reassembled_side_by_side() {
    let (_, mut boards) = boards(4);
    let mut now = Duration::ZERO;
    for sender in 1..4 {
        // Neighbours find each other first.
        boards[sender].stack.send(now, link_local(address(0)), &[sender as u8; PACKET]);
        run(&mut boards, &mut now, Duration::from_secs(2));
        while boards[0].stack.receive(&mut [0; PACKET]).is_some() {}
    }
    for (sender, board) in boards.iter_mut().enumerate().skip(1).take(2) {
        assert!(board.stack.send(now, link_local(address(0)), &[sender as u8; PACKET]));
    }
    run(&mut boards, &mut now, Duration::from_secs(1));
    let mut seen = Vec::new();
    let mut arrived = [0; PACKET];
    while boards[0].stack.receive(&mut arrived).is_some() {
        seen.push(arrived[0]);
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2]);
}

/// The frames of a discovery and of a packet, as they go over the air.
fn real_frames() -> Vec<Vec<u8>> {
    let (air, mut boards) = boards(2);
    let mut now = Duration::ZERO;
    boards[0].stack.send(now, link_local(address(1)), &[0x5a; PACKET]);
    run(&mut boards, &mut now, Duration::from_secs(2));
    air.borrow().frames.clone()
}

#[derive(Clone, Debug)]
enum Heard {
    Noise(Vec<u8>),
    Changed { frame: prop::sample::Index, at: prop::sample::Index, byte: u8, cut: prop::sample::Index },
}

fn heard() -> impl Strategy<Value = Heard> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..=MAX_FRAME).prop_map(Heard::Noise),
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            any::<u8>(),
            any::<prop::sample::Index>()
        )
            .prop_map(|(frame, at, byte, cut)| Heard::Changed { frame, at, byte, cut }),
    ]
}

proptest! {
    #[test]
    fn impossible_frames_leave_a_stack_that_works(heard in prop::collection::vec(heard(), 1..60)) {
        let real = real_frames();
        let (air, mut boards) = boards(2);
        let mut now = Duration::ZERO;
        for heard in heard {
            let frame = match heard {
                Heard::Noise(frame) => frame,
                Heard::Changed { frame, at, byte, cut } => {
                    let mut frame = frame.get(&real).clone();
                    let at = at.index(frame.len());
                    frame[at] = byte;
                    // One in four is cut.
                    if byte % 4 == 0 {
                        frame.truncate(cut.index(frame.len()) + 1);
                    }
                    frame
                }
            };
            air.borrow_mut().heard[1].push_back(frame);
            run(&mut boards, &mut now, Duration::from_millis(10));
        }
        // Whatever was incomplete has expired, and a false neighbour is forgotten.
        run(&mut boards, &mut now, Duration::from_secs(70));
        while boards[1].stack.receive(&mut [0; PACKET]).is_some() {}
        boards[0].stack.send(now, link_local(address(1)), &[8; PACKET]);
        run(&mut boards, &mut now, Duration::from_secs(3));
        let mut arrived = [0; PACKET];
        prop_assert_eq!(boards[1].stack.receive(&mut arrived), Some(PACKET));
        prop_assert_eq!(arrived, [8; PACKET]);
    }
}
