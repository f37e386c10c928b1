//! The driver against a model of the chip.

#![allow(missing_docs, reason = "tests")]

mod chip;

use std::time::Duration;

use chacha20::ChaCha8Rng;
use chip::{Air, Fate, Wire};
use motemix_at86rf231::{At86rf231, Config, Error, Health, NoiseError, RECEIVED};
use motemix_link::serial::{CHECK, ExtendedAddress, MAX_FRAME, Outcome};
use rand_core::{Rng as _, SeedableRng as _};

type Radio = At86rf231<Air, Wire, Wire, Wire, Wire, Air>;

const ME: ExtendedAddress = ExtendedAddress([1, 2, 3, 4, 5, 6, 7, 8]);
const PAN: u16 = 0x0023;
const CONFIG: Config = Config { channel: 26, pan: PAN, seed: 0x5a5 };

fn off(air: &Air) -> Radio {
    At86rf231::new(air.clone(), air.pins(), air.clone()).unwrap()
}

fn listening(air: &Air) -> Radio {
    let mut radio = off(air);
    radio.join(CONFIG, ME).unwrap();
    radio
}

/// A data frame from one extended address to another that asks for an acknowledgement.
fn frame(to: ExtendedAddress, pan: u16, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x61, 0xdc, 7];
    frame.extend(pan.to_le_bytes());
    frame.extend(to.0);
    frame.extend([9; 8]);
    frame.extend(content);
    frame
}

fn take(radio: &mut Radio, air: &Air) -> Option<Vec<u8>> {
    let mut out = [0; MAX_FRAME];
    let len = radio.receive(air.now(), &mut out)?;
    Some(out[..len].to_vec())
}

fn wait_for_outcome(radio: &mut Radio, air: &Air, at_most: Duration) -> Option<Outcome> {
    let end = air.now() + at_most;
    while air.now() < end {
        if let Some(outcome) = radio.poll_outcome(air.now()) {
            return Some(outcome);
        }
        air.pass(Duration::from_millis(1));
    }
    None
}

#[test]
fn a_frame_for_this_board_is_acknowledged_and_taken_once() {
    let air = Air::new();
    let mut radio = listening(&air);
    let to_me = frame(ME, PAN, b"hello");
    assert!(air.deliver(&to_me));
    assert_eq!(take(&mut radio, &air), Some(to_me));
    assert_eq!(take(&mut radio, &air), None);
    assert_eq!(air.0.borrow().acknowledged.len(), 1);
}

#[test]
fn frames_for_others_are_not_heard_and_those_for_all_are() {
    let air = Air::new();
    let mut radio = listening(&air);
    air.deliver(&frame(ExtendedAddress([8; 8]), PAN, b"not mine"));
    air.deliver(&frame(ME, 0x0042, b"another network"));
    let mut to_all = vec![0x41, 0xd8, 7];
    to_all.extend(PAN.to_le_bytes());
    to_all.extend([0xff, 0xff]);
    to_all.extend([9; 8]);
    air.deliver(&to_all);
    assert_eq!(take(&mut radio, &air), Some(to_all));
    assert_eq!(take(&mut radio, &air), None);
    assert!(air.0.borrow().acknowledged.is_empty());
}

#[test]
fn a_frame_for_the_short_address_is_heard_and_acknowledged() {
    let air = Air::new();
    let mut radio = listening(&air);
    for (short, is_mine) in [(ME.short(), true), ([0x12, 0x34], false)] {
        let mut protected = vec![0x69, 0x98, 7];
        protected.extend(PAN.to_le_bytes());
        protected.extend(short);
        protected.extend([9, 9, 6, 0, 0, 0, 0]);
        protected.extend([5; 40]);
        air.deliver(&protected);
        assert_eq!(take(&mut radio, &air), is_mine.then_some(protected));
    }
    assert_eq!(air.0.borrow().acknowledged.len(), 1);
}

#[test]
fn a_sent_frame_has_its_check_sequence_and_every_end_has_its_outcome() {
    let ends =
        [(0, Outcome::Sent), (1, Outcome::Sent), (3, Outcome::ChannelBusy), (5, Outcome::NoAcknowledgement)];
    for (transaction, outcome) in ends {
        let air = Air::new();
        let mut radio = listening(&air);
        air.0.borrow_mut().fates.push_back(Fate::Ends(Duration::from_millis(40), transaction));
        let sent = frame(ExtendedAddress([8; 8]), PAN, &[0x55; 104]);
        assert_eq!(sent.len(), MAX_FRAME);
        radio.transmit(air.now(), &sent);
        assert_eq!(radio.poll_outcome(air.now()), None);
        assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(50)), Some(outcome));
        assert_eq!(radio.poll_outcome(air.now()), None, "an outcome comes once");
        let mut on_air = sent.clone();
        on_air.extend(CHECK.checksum(&sent).to_le_bytes());
        assert_eq!(air.0.borrow().sent, [on_air]);
        // And it listens again.
        assert!(air.deliver(&frame(ME, PAN, b"reply")));
        assert!(take(&mut radio, &air).is_some());
    }
}

#[test]
fn sending_waits_for_the_end_of_a_frame_that_is_being_received_and_loses_neither() {
    let air = Air::new();
    let mut radio = listening(&air);
    let to_me = frame(ME, PAN, &[1; 60]);
    assert!(air.arrive(&to_me));
    air.pass(Duration::from_millis(1));
    let mine = frame(ExtendedAddress([8; 8]), PAN, b"mine");
    radio.transmit(air.now(), &mine);
    assert!(air.0.borrow().sent.is_empty());
    assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(20)), Some(Outcome::Sent));
    assert_eq!(take(&mut radio, &air), Some(to_me));
    assert_eq!(air.0.borrow().sent.len(), 1);
}

#[test]
fn when_nobody_takes_frames_the_chip_stops_acknowledging_and_nothing_acknowledged_is_lost() {
    let air = Air::new();
    let mut radio = listening(&air);
    let mut heard = 0;
    for number in 0..u8::MAX {
        heard += usize::from(air.deliver(&frame(ME, PAN, &[number])));
        radio.service(air.now());
    }
    assert_eq!(heard, RECEIVED + 1, "as many as fit in memory and one in the chip");
    assert_eq!(radio.counters().held, 1);
    for number in 0..=RECEIVED as u8 {
        assert_eq!(take(&mut radio, &air), Some(frame(ME, PAN, &[number])));
    }
    assert_eq!(take(&mut radio, &air), None);
    assert!(air.deliver(&frame(ME, PAN, b"again")));
    assert!(take(&mut radio, &air).is_some());
}

#[test]
fn a_frame_is_not_sent_over_one_that_waits_in_the_chip() {
    let air = Air::new();
    let mut radio = listening(&air);
    for number in 0..=RECEIVED as u8 {
        assert!(air.deliver(&frame(ME, PAN, &[number])));
        radio.service(air.now());
    }
    radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, b"mine"));
    assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(100)), None);
    for number in 0..=RECEIVED as u8 {
        assert_eq!(take(&mut radio, &air), Some(frame(ME, PAN, &[number])));
    }
    assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(20)), Some(Outcome::Sent));
    assert_eq!(radio.counters().resets, 0);
}

#[test]
fn a_frame_that_ends_at_any_moment_of_turning_to_send_is_taken_first() {
    for full in [false, true] {
        for early in (0..120).map(Duration::from_micros) {
            let air = Air::new();
            let mut radio = listening(&air);
            for number in 0..if full { 4 } else { 0 } {
                assert!(air.deliver(&frame(ME, PAN, &[number])));
                radio.service(air.now());
            }
            let to_me = frame(ME, PAN, b"late");
            assert!(air.arrive(&to_me));
            let on_air = Duration::from_micros(32) * (6 + 2 + to_me.len() as u32);
            air.pass(on_air.saturating_sub(early));
            radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, b"mine"));
            air.pass(Duration::from_millis(1));
            radio.service(air.now());
            let mut last = None;
            while let Some(taken) = take(&mut radio, &air) {
                last = Some(taken);
            }
            assert_eq!(last, Some(to_me), "{early:?} before its end");
            assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(20)), Some(Outcome::Sent));
        }
    }
}

#[test]
fn a_chip_that_never_ends_is_reset_and_works_again() {
    let air = Air::new();
    let mut radio = listening(&air);
    air.0.borrow_mut().fates.push_back(Fate::Never);
    radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, b"lost"));
    assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(240)), None);
    let outcome = wait_for_outcome(&mut radio, &air, Duration::from_millis(20));
    assert_eq!(outcome, Some(Outcome::NoAcknowledgement));
    assert_eq!(radio.counters().resets, 1);
    assert!(air.deliver(&frame(ME, PAN, b"hello")));
    assert!(take(&mut radio, &air).is_some());
    radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, b"mine"));
    assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(20)), Some(Outcome::Sent));
}

#[test]
fn a_clock_that_begins_again_costs_one_frame_at_most() {
    let air = Air::new();
    let mut radio = listening(&air);
    air.0.borrow_mut().fates.push_back(Fate::Never);
    radio.transmit(Duration::from_secs(4_294), &frame(ExtendedAddress([8; 8]), PAN, b"lost"));
    assert_eq!(radio.poll_outcome(Duration::ZERO), Some(Outcome::NoAcknowledgement));
    radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, b"mine"));
    assert_eq!(wait_for_outcome(&mut radio, &air, Duration::from_millis(20)), Some(Outcome::Sent));
}

#[test]
fn a_chip_without_supply_for_a_moment_is_noticed_and_set_up_again() {
    let air = Air::new();
    let mut radio = listening(&air);
    air.brown_out();
    assert!(!air.deliver(&frame(ME, PAN, b"deaf")));
    radio.service(air.now());
    assert_eq!(radio.counters().resets, 1);
    assert!(air.deliver(&frame(ME, PAN, b"hello")));
    assert!(take(&mut radio, &air).is_some());
}

#[test]
fn a_board_without_the_chip_says_so() {
    let air = Air::new();
    air.0.borrow_mut().present = false;
    let refused = At86rf231::new(air.clone(), air.pins(), air.clone()).err();
    assert_eq!(refused, Some(Error::NotThere(0xff)));
}

#[test]
fn while_the_chip_is_away_frames_fail_soon_and_it_is_tried_again_now_and_then() {
    let air = Air::new();
    let mut radio = listening(&air);
    air.0.borrow_mut().present = false;
    radio.service(air.now());
    let before = air.0.borrow().resets;
    for _ in 0..50 {
        radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, b"lost"));
        assert_eq!(radio.poll_outcome(air.now()), Some(Outcome::NoAcknowledgement));
        air.pass(Duration::from_millis(10));
    }
    let tries = air.0.borrow().resets - before;
    assert!((3..=5).contains(&tries), "{tries} resets in half a second");
    air.0.borrow_mut().present = true;
    air.pass(Duration::from_millis(100));
    radio.service(air.now());
    assert!(air.deliver(&frame(ME, PAN, b"hello")));
    assert!(take(&mut radio, &air).is_some());
}

#[test]
fn a_frame_that_the_bus_damaged_is_counted_and_not_taken() {
    let air = Air::new();
    let mut radio = listening(&air);
    assert!(air.deliver(&frame(ME, PAN, b"hello")));
    air.0.borrow_mut().noise_on_bus = 1;
    assert_eq!(take(&mut radio, &air), None);
    assert_eq!(radio.counters().damaged, 1);
    assert!(air.deliver(&frame(ME, PAN, b"hello")));
    assert!(take(&mut radio, &air).is_some());
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let air = Air::new();
    let mut radio = off(&air);
    radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, b"no address yet"));
    assert_eq!(radio.poll_outcome(air.now()), Some(Outcome::Refused));
    radio.join(CONFIG, ME).unwrap();
    for impossible in [&[][..], &[0; MAX_FRAME + 1]] {
        radio.transmit(air.now(), impossible);
        assert_eq!(radio.poll_outcome(air.now()), Some(Outcome::Refused));
    }
    assert!(air.0.borrow().sent.is_empty());
    assert_eq!(radio.join(Config { channel: 10, ..CONFIG }, ME), Err(Error::Use));
}

#[test]
fn noise_passes_and_stuck_or_biased_generators_do_not() {
    let mut out = [0; 512];
    let air = Air::new();
    assert_eq!(off(&air).noise(&mut Health::default(), &mut out), Ok(()));
    assert!((0..=255).filter(|byte| out.contains(byte)).count() > 200);

    air.0.borrow_mut().samples = Box::new(|| 2);
    assert_eq!(off(&air).noise(&mut Health::default(), &mut out), Err(NoiseError::Stuck));

    let mut count = 0_u32;
    let biased = move || {
        count += 1;
        u8::from(count.is_multiple_of(8))
    };
    air.0.borrow_mut().samples = Box::new(biased);
    assert_eq!(off(&air).noise(&mut Health::default(), &mut out), Err(NoiseError::Biased));
}

#[test]
fn a_radio_gives_noise_before_it_joins_only_and_joins_after() {
    let air = Air::new();
    let mut radio = off(&air);
    let mut out = [0; 16];
    radio.noise(&mut Health::default(), &mut out).unwrap();
    radio.join(CONFIG, ME).unwrap();
    assert_eq!(radio.noise(&mut Health::default(), &mut out), Err(NoiseError::Chip(Error::Use)));
    assert!(air.deliver(&frame(ME, PAN, b"hello")));
    assert!(take(&mut radio, &air).is_some());
}

#[test]
fn in_any_order_of_events_what_was_acknowledged_arrives_once_and_what_is_sent_ends_once() {
    for seed in 0..20 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let air = Air::new();
        let mut radio = listening(&air);
        let (mut heard, mut taken, mut outcomes) = (Vec::new(), Vec::new(), 0);
        let (mut sent, mut under_way) = (0, false);
        for step in 0..1_000_u32 {
            match random.next_u32() % 6 {
                0 => {
                    let content =
                        [&step.to_le_bytes()[..], &vec![0; random.next_u32() as usize % 90]].concat();
                    let to_me = frame(ME, PAN, &content);
                    if air.arrive(&to_me) {
                        heard.push(to_me);
                    }
                }
                1 if !under_way => {
                    let transaction = [0, 0, 3, 5][random.next_u32() as usize % 4];
                    let after = Duration::from_micros(u64::from(random.next_u32()) % 20_000);
                    air.0.borrow_mut().fates.push_back(Fate::Ends(after, transaction));
                    radio.transmit(air.now(), &frame(ExtendedAddress([8; 8]), PAN, &step.to_le_bytes()));
                    (sent, under_way) = (sent + 1, true);
                }
                2 => taken.extend(take(&mut radio, &air)),
                3 => {
                    if radio.poll_outcome(air.now()).is_some() {
                        (outcomes, under_way) = (outcomes + 1, false);
                    }
                }
                4 => radio.service(air.now()),
                _ => air.pass(Duration::from_micros(u64::from(random.next_u32()) % 8_000)),
            }
        }
        air.pass(Duration::from_millis(200));
        while let Some(frame) = take(&mut radio, &air) {
            taken.push(frame);
            air.pass(Duration::from_millis(1));
        }
        if under_way {
            assert!(wait_for_outcome(&mut radio, &air, Duration::from_millis(300)).is_some());
            outcomes += 1;
        }
        taken.extend(take(&mut radio, &air));
        assert_eq!(taken, heard, "seed {seed}");
        assert_eq!(outcomes, sent, "seed {seed}");
        assert_eq!(radio.counters().resets, 0, "seed {seed}");
        assert!(heard.len() > 20 && sent > 10, "seed {seed}: {} heard, {sent} sent", heard.len());
    }
}
