//! Power that is cut while a whole mote is at work.

use std::collections::HashSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::board::Chip;
use crate::flash::Tear;
use crate::world::{Listed, Role, Terms, World, name};

/// What a mote said before its power went, and what must hold of it therefore.
#[derive(Default, Debug)]
struct Promised {
    identity: Option<Listed>,
    trusts: bool,
    has_document: bool,
    /// The number of its last message.
    sequence: Option<u32>,
}

/// Enrols one mote, as far as its power reaches.
fn enrol(world: &mut World, promised: &mut Promised) -> Option<()> {
    let line = world.say(0, "key 7");
    let me = Listed::parse(0, &line)?;
    if let Some(before) = &promised.identity {
        assert_eq!((me.address, me.key), (before.address, before.key), "another mote came back");
    }
    promised.identity = Some(me.clone());
    world.set_clock_if_on(0)?;
    if promised.trusts {
        assert!(!world.say(0, "network").contains("no authority"));
    }
    let key = crate::world::hex(&crate::world::authority(1).public_key().to_bytes());
    promised.trusts |= world.say(0, &format!("trust 1 {key}")) == "ok\n";
    if promised.has_document {
        assert_eq!(world.say(0, "start"), "ok\n", "the document is gone");
        return first_message(world, promised);
    }
    let address = me.address;
    let others = (1..3).map(|other| Listed {
        name: name(other),
        role: Role::Mix { layer: 0 },
        address,
        key: [other as u8 + 8; 32],
    });
    let nodes: Vec<_> = std::iter::once(me).chain(others).collect();
    let said = world.give_if_on(0, &Terms::default().sign(&nodes))?;
    promised.has_document |= said.starts_with("ok epoch");
    (world.say(0, "start") == "ok\n").then_some(())?;
    first_message(world, promised)
}

/// A number of its own for a message.
fn first_message(world: &mut World, promised: &mut Promised) -> Option<()> {
    let said = world.say(0, "send mote-1 hello");
    let number = said.trim_end().strip_prefix("sent 0 with sequence number ")?.parse().ok();
    assert!(promised.sequence < number, "{said}");
    promised.sequence = number;
    Some(())
}

fn enrol_with_a_cut(budget: u32, tear: Tear) -> bool {
    let chip = Chip::new();
    chip.0.borrow_mut().tear = tear;
    let power = chip.power();
    power.set(Some(budget));
    let mut world = World::with(vec![chip], 60);
    let mut promised = Promised::default();
    let done = enrol(&mut world, &mut promised);
    if power.get() != Some(0) {
        assert!(done.is_some(), "power was enough, and the mote does not run: {}", world.printed(0));
        return false;
    }
    power.set(None);
    world.switch_off(0);
    world.switch_on(0);
    let again = enrol(&mut world, &mut promised);
    assert!(again.is_some(), "byte {budget}, {tear:?}: {promised:?}, {}", world.printed(0));
    true
}

#[test]
fn at_every_byte_of_an_enrolment() {
    let mut budget = 1;
    while enrol_with_a_cut(budget, Tear::Bytes) {
        if budget % 8 == 3 {
            enrol_with_a_cut(budget, Tear::Bits);
        }
        budget += 1;
    }
    assert!(budget > 1000, "{budget} bytes are too few for a document, its trust, and keys");
}

/// Chips of three motes that are enrolled and have forwarded a message.
fn enrolled(terms: &Terms) -> Vec<Chip> {
    let mut world = World::running(3, terms, 61);
    world.exchange(0, 1, "first");
    world.boards.iter().map(|board| board.chip.clone()).collect()
}

/// Switches a mote on whose power went, and has it run.
fn revive(world: &mut World, board: usize) {
    world.boards[board].chip.power().set(None);
    world.printed(board);
    world.restart(board);
}

/// One message from 0 to 1 through 2, during which the power of one of them goes. `false` if it did
/// not.
fn one_message(chips: &[Chip], victim: usize, budget: u32, tear: Tear) -> bool {
    let chips: Vec<_> = chips.iter().map(|chip| chip.copy(u64::from(budget))).collect();
    chips[victim].0.borrow_mut().tear = tear;
    let power = chips[victim].power();
    let mut world = World::with(chips, 62);
    for board in 0..3 {
        world.set_clock(board);
        if board == victim {
            power.set(Some(budget));
        }
        world.say(board, "start");
    }
    world.type_in(0, "send mote-1 hello\n");
    world.seconds(20);
    let from_sender = world.printed(0);
    let was_cut = power.get() == Some(0);
    revive(&mut world, victim);
    // Whoever heard it all says it again, to each of them.
    let heard = world.air.borrow().sent.clone();
    for board in 0..3 {
        for sent in heard.iter().filter(|sent| sent.to == Some(board) && sent.is_fragment()) {
            world.air.borrow_mut().inject(board, sent.frame.clone());
        }
        world.seconds(5);
    }
    let context = format!("{budget} bytes for {}, {tear:?}: {from_sender}", name(victim));
    // A frame that is repeated by the radio is the same one; a packet that is sent again is not.
    let distinct: HashSet<_> =
        world.air.borrow().sent.iter().filter(|sent| sent.is_first_fragment()).map(key).collect();
    for (from, to) in [(0, 2), (2, 1), (1, 2), (2, 0)] {
        let packets = distinct.iter().filter(|(of, at, _)| (*of, *at) == (from, Some(to))).count();
        assert!(packets <= 1, "{packets} packets from {from} to {to}; {context}");
    }
    let inbox = world.inbox(1);
    if from_sender.contains("acknowledged") {
        assert!(inbox.iter().any(|line| line.ends_with(" hello")), "{inbox:?}; {context}");
    }
    let before = from_sender.lines().find_map(|line| line.strip_prefix("sent 0 with sequence number "));
    let next = world.send(0, 1, "goes on");
    assert!(before.is_none_or(|before| before.parse::<u32>().unwrap() < next), "{next}; {context}");
    world.seconds(60);
    assert!(world.printed(0).contains("acknowledged"), "{context}");
    assert!(world.inbox(1).contains(&format!("{next} goes on")), "{context}");
    was_cut
}

fn key(sent: &crate::air::Sent) -> (usize, Option<usize>, Vec<u8>) {
    (sent.from, sent.to, sent.frame.clone())
}

fn at_every_byte(victim: usize) {
    let chips = enrolled(&Terms::once());
    let mut budget = 1;
    while one_message(&chips, victim, budget, Tear::Bytes) {
        if budget % 8 == 3 {
            one_message(&chips, victim, budget, Tear::Bits);
        }
        budget += 1;
    }
    // The record of the start, and a tag at least.
    assert!(budget > 120, "{budget}");
}

#[test]
fn at_every_byte_of_a_start_and_of_sending() {
    at_every_byte(0);
}

#[test]
fn at_every_byte_of_a_start_and_of_receiving() {
    at_every_byte(1);
}

#[test]
fn at_every_byte_of_a_start_and_of_forwarding() {
    at_every_byte(2);
}

/// A day of three motes, in which their power goes again and again.
#[test]
fn anywhere_in_a_longer_life() {
    let seed = std::env::var("MOTEMIX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(63);
    println!("seed {seed}; MOTEMIX_SEED chooses another");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut world = World::running(3, &Terms::default(), seed);
    let (mut numbers, mut acknowledged, mut inboxes, mut cuts) = ([0; 3], Vec::new(), HashSet::new(), 0);
    for round in 0..60 {
        let [from, to] = [round % 3, (round + 1) % 3];
        let victim = rng.next_u32() as usize % 3;
        let tear = if rng.next_u32() % 2 == 0 { Tear::Bytes } else { Tear::Bits };
        let chip = world.boards[victim].chip.clone();
        chip.0.borrow_mut().tear = tear;
        chip.power().set(Some(1 + rng.next_u32() % 120));
        let said = world.say(from, &format!("send {} round {round} {}", name(to), "x".repeat(80)));
        world.seconds(8);
        if rng.next_u32() % 4 == 0 {
            // What is printed may be removed or not.
            inboxes.extend(world.say(to, "inbox").lines().map(str::to_owned));
        }
        if chip.power().get() == Some(0) {
            cuts += 1;
            revive(&mut world, victim);
        }
        chip.power().set(None);
        world.seconds(120);
        if let Some(number) = said.trim_end().strip_prefix("sent ").and_then(|rest| rest.rsplit_once(' ')) {
            let number = number.1.parse::<u32>().unwrap() + 1;
            assert!(number > numbers[from], "{number} came again");
            numbers[from] = number;
        }
        if world.printed(from).contains("acknowledged") {
            acknowledged.push(format!(" {} round {round} ", numbers[from] - 1));
        }
        inboxes.extend(world.say(to, "inbox").lines().map(str::to_owned));
    }
    assert!(cuts > 10 && acknowledged.len() > 10, "{cuts} cuts, {} acknowledged", acknowledged.len());
    for text in acknowledged {
        assert!(inboxes.iter().any(|line| line.contains(&text)), "{text} was acknowledged and is nowhere");
    }
}
