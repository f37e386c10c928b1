use super::*;
extern crate std;
use std::collections::HashSet;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

/// A generator of digests (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators",
/// 2014).
struct Digests(u64);

impl Digests {
    fn next(&mut self) -> Digest {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Digest::from_bits(mixed ^ mixed >> 31)
    }
}

fn bits(number: u8) -> FingerprintBits {
    FingerprintBits::new(number).expect("an even number from 12 to 32")
}

/// Fills one epoch, and returns what went in.
fn fill(filter: &mut Fingerprints<'_>, owner: Owner, digests: &mut Digests) -> Vec<Digest> {
    let mut kept = Vec::new();
    loop {
        let digest = filter.digest(digests.next().to_bits());
        if filter.contains(owner, digest) {
            continue;
        }
        if filter.insert(owner, digest).is_err() {
            return kept;
        }
        kept.push(digest);
    }
}

#[test]
fn lengths_of_fingerprints_are_even_numbers_from_12_to_32() {
    let lengths: Vec<u8> = (0..=u8::MAX).filter_map(FingerprintBits::new).map(FingerprintBits::get).collect();
    assert_eq!(lengths, [12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32]);
}

#[test]
#[cfg_attr(miri, ignore = "it takes many packets")]
fn a_filter_is_full_at_its_capacity_and_has_forgotten_nothing() {
    for (bytes, width) in [(8192, 16), (8192, 12), (2048, 16), (40_000, 22), (100_001, 32), (1 << 20, 24)] {
        let (mut memory, width) = (vec![0xff; bytes], bits(width));
        let mut filter = Fingerprints::new(&mut memory, width);
        let capacity = width.capacity_of(bytes);
        assert_eq!(filter.room(Owner::One) as usize, capacity);
        let kept = fill(&mut filter, Owner::One, &mut Digests(bytes as u64));
        assert!(kept.iter().all(|digest| filter.contains(Owner::One, *digest)));
        assert_eq!((filter.tags(Owner::One) as usize, filter.room(Owner::One)), (kept.len(), 0));
        assert_eq!(filter.capacity(Owner::One) as usize, kept.len());
        let slots = bytes * 8 / usize::from(width.get());
        let segments = if bytes < LARGE { SEGMENTS } else { SEGMENTS_OF_LARGE };
        std::println!(
            "{bytes} bytes, {} bits: {} of {capacity} tags, {} % of the slots of {} segments",
            width.get(),
            kept.len(),
            kept.len() * 100 * segments / (segments - 1) / slots,
            segments - 1,
        );
        assert!(kept.len() * 1000 * segments / (segments - 1) >= slots * 930, "{} of {slots}", kept.len());
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes many packets")]
fn a_new_packet_is_refused_as_seldom_as_is_said() {
    // The bounds of the module's documentation, with room for chance.
    for (bytes, width, most_in_a_million) in [(8192, 16, 900), (8192, 20, 80), (2 << 20, 24, 12)] {
        let mut memory = vec![0; bytes];
        let mut filter = Fingerprints::new(&mut memory, bits(width));
        let mut digests = Digests(7);
        fill(&mut filter, Owner::One, &mut digests);
        let tried = 1_000_000;
        let new = (0..tried).map(|_| filter.digest(digests.next().to_bits()));
        let refused = new.filter(|digest| filter.contains(Owner::One, *digest)).count();
        std::println!("{bytes} bytes, {width} bits: {refused} of {tried} new ones are refused");
        assert!(refused <= most_in_a_million, "{refused} of {tried}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes many packets")]
fn an_epoch_that_begins_costs_one_segment_and_one_that_ends_gives_all_back() {
    let mut memory = [0; 8192];
    let segment = Layout::new(8192, FingerprintBits::BOARD).tags();
    let mut filter = Fingerprints::new(&mut memory, FingerprintBits::BOARD);
    let mut digests = Digests(1);
    let before = fill(&mut filter, Owner::One, &mut digests);
    assert_eq!(before.len() as u32, 7 * segment, "the last segment is kept");
    let after = fill(&mut filter, Owner::Two, &mut digests);
    assert_eq!(after.len() as u32, segment);
    filter.release(Owner::One);
    assert!(!before.iter().any(|digest| filter.contains(Owner::One, *digest)));
    assert_eq!(filter.room(Owner::Two), 6 * segment, "one is kept again");
    let more = fill(&mut filter, Owner::Two, &mut digests);
    assert_eq!(more.len() as u32, 6 * segment);
    assert!(after.iter().chain(&more).all(|digest| filter.contains(Owner::Two, *digest)));
}

#[test]
#[cfg_attr(miri, ignore = "it takes many packets")]
fn an_insertion_that_fails_leaves_every_fingerprint_where_it_was() {
    let mut memory = [0; 8 * 8 * 8];
    let mut filter = Fingerprints::new(&mut memory, FingerprintBits::BOARD);
    let mut digests = Digests(3);
    let at = filter.take(Owner::One).expect("a free segment");
    let mut failures = 0;
    for _ in 0..200 {
        let (fingerprint, first) = filter.layout.place(digests.next());
        let before = filter.bytes.to_vec();
        if !filter.put(at, fingerprint, first) {
            failures += 1;
            assert_eq!(before, filter.bytes, "all moves were undone");
        }
    }
    assert!(failures > 150, "32 slots");
}

#[test]
fn memory_that_is_too_short_for_a_segment_is_full_and_not_a_panic() {
    for bytes in 0..64 {
        let mut memory = vec![0; bytes];
        let mut filter = Fingerprints::new(&mut memory, FingerprintBits::BOARD);
        assert!(!filter.contains(Owner::One, Digest::from_bits(5)));
        assert_eq!(filter.insert(Owner::One, Digest::from_bits(5)), Err(FilterFull));
        assert_eq!((filter.capacity(Owner::One), filter.room(Owner::One)), (0, 0));
    }
}

#[test]
#[cfg_attr(miri, ignore = "it takes many packets")]
fn the_memory_for_so_many_packets_is_enough_and_little_more() {
    for width in [FingerprintBits::BOARD, FingerprintBits::HOST, bits(32)] {
        for packets in [0, 1, 7, 100, 2_000, 12_000, 90_000] {
            let bytes = width.bytes_for(packets).expect("in reach of all");
            assert!(width.packets_of(bytes) >= packets);
            let ideal = packets * usize::from(width.get()) / 8;
            assert!(bytes <= ideal * 3 / 2 + 256, "{bytes} bytes for {packets} of {width:?}");
        }
    }
    let board = FingerprintBits::BOARD;
    assert_eq!(board.bytes_for(1_000_000), None, "sixteen bits would collide too often");
    assert_eq!(board.capacity_of(8 << 20), board.capacity_of(256 << 10), "more is not used");
    // What hosts are to hold: 20,000 packets a second for an hour.
    let bytes = FingerprintBits::HOST.bytes_for(72_000_000).expect("in reach");
    std::println!(
        "72,000,000 packets: {bytes} bytes; 8 KiB: {} packets",
        FingerprintBits::BOARD.packets_of(8192)
    );
    assert!(bytes <= 300 << 20);
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, bool),
    Release(bool),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two epochs in one memory, against two sets.
    #[test]
    #[cfg_attr(miri, ignore = "it takes many packets")]
    fn nothing_is_forgotten(
        bytes in 0..2000_usize,
        width in (6..=16_u8).prop_map(|half| 2 * half),
        steps in prop::collection::vec(prop_oneof![
            200 => any::<(u16, bool)>().prop_map(|(count, other)| Step::Insert(count % 40, other)),
            1 => any::<bool>().prop_map(Step::Release),
        ], 1..100),
        seed in any::<u64>(),
    ) {
        let (mut memory, mut digests) = (vec![0xa5; bytes], Digests(seed));
        let mut filter = Fingerprints::new(&mut memory, bits(width));
        let mut sets = [HashSet::new(), HashSet::new()];
        for step in steps {
            let other = match step { Step::Insert(_, other) | Step::Release(other) => other };
            let owner = if other { Owner::Two } else { Owner::One };
            let set = &mut sets[usize::from(other)];
            match step {
                Step::Release(_) => {
                    filter.release(owner);
                    set.clear();
                }
                Step::Insert(count, _) => for _ in 0..count {
                    let digest = filter.digest(digests.next().to_bits());
                    let room = filter.room(owner);
                    if filter.contains(owner, digest) {
                        continue;
                    }
                    if filter.insert(owner, digest).is_ok() {
                        prop_assert!(room > 0);
                        set.insert(digest);
                    }
                }
            }
            for (owner, set) in [Owner::One, Owner::Two].into_iter().zip(&sets) {
                prop_assert!(set.iter().all(|digest| filter.contains(owner, *digest)));
                prop_assert_eq!(filter.tags(owner) as usize, set.len());
                prop_assert!(filter.tags(owner) + filter.room(owner) <= filter.capacity(owner).max(filter.tags(owner)));
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes many packets")]
    fn the_other_bucket_of_the_other_bucket_is_the_first(
        fingerprint in 1_u32.., hash in any::<u32>(), buckets in 1..(1_u32 << 26),
    ) {
        let layout = Layout { bits: 32, segments: 8, buckets };
        let first = scale(hash, buckets);
        let second = layout.other(fingerprint, first);
        prop_assert!(first < buckets && second < buckets);
        prop_assert_eq!(layout.other(fingerprint, second), first);
    }
}
