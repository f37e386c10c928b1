//! Anything in any order: nothing ends a mote, and every message ends once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::world::{Terms, World, name};

const MOTES: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Send { from: usize, to: usize, len: usize },
    Say { to: usize, line: &'static str },
    Type { to: usize, bytes: Vec<u8> },
    Wait { millis: u64 },
    Frame { to: usize, frame: Vec<u8> },
    Heard { to: usize, which: Index, change: Option<(Index, u8)> },
    Restart { board: usize },
    Cut { board: usize, budget: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    let mote = 0..MOTES;
    let line = prop::sample::select(vec![
        "inbox",
        "status",
        "stop",
        "start",
        "network",
        "help",
        "key 7",
        "key 8",
        "time 1800000100",
        "document begin",
        "document 00ff",
        "document end",
        "send mote-9 x",
        "",
    ]);
    prop_oneof![
        5 => (mote.clone(), mote.clone(), 0..110_usize).prop_map(|(from, to, len)| Step::Send { from, to, len }),
        3 => (mote.clone(), line).prop_map(|(to, line)| Step::Say { to, line }),
        1 => (mote.clone(), prop::collection::vec(any::<u8>(), 0..200))
            .prop_map(|(to, bytes)| Step::Type { to, bytes }),
        5 => prop_oneof![0..50_u64, 0..5_000_u64, 0..100_000_u64].prop_map(|millis| Step::Wait { millis }),
        1 => (mote.clone(), prop::collection::vec(any::<u8>(), 0..=125))
            .prop_map(|(to, frame)| Step::Frame { to, frame }),
        3 => (mote.clone(), any::<Index>(), prop::option::of(any::<(Index, u8)>()))
            .prop_map(|(to, which, change)| Step::Heard { to, which, change }),
        1 => mote.clone().prop_map(|board| Step::Restart { board }),
        1 => (mote, 1..400_u32).prop_map(|(board, budget)| Step::Cut { board, budget }),
    ]
}

/// What the consoles must not contradict.
#[derive(Default)]
struct Truth {
    /// Messages under way by sender and number, with receiver and text.
    under_way: HashMap<(usize, u64), (usize, String)>,
    /// Numbers of the present run.
    used: [BTreeSet<u64>; MOTES],
    sequence: [Option<u32>; MOTES],
    acknowledged: Vec<(usize, String)>,
    printed: HashSet<(usize, String)>,
    count: u32,
}

impl Truth {
    /// The node has ended, and its messages with it.
    fn ended(&mut self, board: usize) {
        self.under_way.retain(|(from, _), _| *from != board);
        self.used[board].clear();
    }

    fn read(&mut self, world: &mut World, sent: Option<(usize, usize, &str)>) {
        for board in 0..MOTES {
            for line in world.printed(board).lines() {
                let words: Vec<_> = line.split(' ').collect();
                match words[..] {
                    ["sent", number, "with", "sequence", "number", sequence] => {
                        let number = number.parse().unwrap();
                        let sequence: u32 = sequence.parse().unwrap();
                        assert!(self.used[board].insert(number), "message {number} of {board} twice");
                        assert!(self.sequence[board].is_none_or(|last| last < sequence), "{sequence} again");
                        self.sequence[board] = Some(sequence);
                        let (_, to, text) = sent.filter(|(from, ..)| *from == board).expect("it was told to");
                        self.under_way.insert((board, number), (to, format!("{sequence} {text}")));
                    }
                    ["acknowledged", number, "after", ..] => {
                        let message = self.under_way.remove(&(board, number.parse().unwrap()));
                        self.acknowledged.push(message.expect("a message that is under way ends, and once"));
                    }
                    ["discarded", number, "after", ..] => {
                        let message = self.under_way.remove(&(board, number.parse().unwrap()));
                        assert!(message.is_some(), "a message that is under way ends, and once");
                    }
                    [id, ..] if id.len() == 8 && line.len() > 9 => {
                        self.printed.insert((board, line[9..].to_owned()));
                    }
                    _ => {}
                }
            }
        }
    }
}

fn take(world: &mut World, truth: &mut Truth, step: Step) {
    match step {
        Step::Send { from, to, len } => {
            truth.count += 1;
            let text = format!("{}{}", truth.count, ".".repeat(len));
            world.type_in(from, &format!("send {} {text}\n", name(to)));
            truth.read(world, Some((from, to, &text)));
        }
        Step::Say { to, line } => {
            world.type_in(to, &format!("{line}\n"));
            truth.read(world, None);
            if line == "stop" {
                truth.ended(to);
            }
        }
        Step::Type { to, bytes } => {
            world.type_bytes(to, &bytes);
            // The line ends here, so that the next one is read from its beginning.
            world.type_in(to, "\n");
        }
        Step::Wait { millis } => world.run(Duration::from_millis(millis)),
        Step::Frame { to, frame } => world.air.borrow_mut().inject(to, frame),
        Step::Heard { to, which, change } => {
            let mut air = world.air.borrow_mut();
            let mut frame = which.get(&air.sent).frame.clone();
            if let Some((at, byte)) = change {
                let at = at.index(frame.len());
                frame[at] = byte;
            }
            air.inject(to, frame);
        }
        Step::Restart { board } => {
            truth.read(world, None);
            world.switch_off(board);
            come_back(world, truth, board);
        }
        Step::Cut { board, budget } => {
            world.boards[board].chip.power().set(Some(budget));
            world.seconds(10);
            truth.read(world, None);
            world.boards[board].chip.power().set(None);
            if !world.boards[board].is_on() {
                come_back(world, truth, board);
            }
        }
    }
    truth.read(world, None);
}

fn come_back(world: &mut World, truth: &mut Truth, board: usize) {
    truth.ended(board);
    world.switch_on(board);
    world.set_clock(board);
    assert_eq!(world.say(board, "start"), "ok\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_message_ends_once(seed in any::<u64>(), steps in prop::collection::vec(step(), 1..50)) {
        let mut world = World::running(MOTES, &Terms::default(), seed);
        world.exchange(0, 1, "first");
        let mut truth = Truth { sequence: [Some(0), None, None], ..Truth::default() };
        truth.used[0].insert(0);
        for step in steps {
            take(&mut world, &mut truth, step);
        }
        world.seconds(300);
        truth.read(&mut world, None);
        prop_assert!(truth.under_way.is_empty(), "without an end: {:?}", truth.under_way);
        for board in 0..MOTES {
            world.type_in(board, "document end\ninbox\n");
        }
        truth.read(&mut world, None);
        for message in &truth.acknowledged {
            prop_assert!(truth.printed.contains(message), "{message:?} was acknowledged and is nowhere");
        }
    }
}
