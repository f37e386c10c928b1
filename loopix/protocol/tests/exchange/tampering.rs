//! Packets that were changed on the way: both refuse the same ones, at the same hop, for the same
//! reason.

use std::collections::BTreeMap;
use std::ops::Range;

use motemix_loopix::packet::Format;

use super::sphinx::{Processed, Refused, Sphinx as _};
use super::ways::{Exchange, destination, formats, longest};

/// Where the parts of a datagram are, and which of them the header's checks cover.
fn parts(format: &Format) -> [(&'static str, Range<usize>); 4] {
    let routing_info = 39 + 3..42 + format.routing_info_len();
    let header_mac = routing_info.end + 2..routing_info.end + 18;
    let payload = header_mac.end + 3..format.datagram_len();
    [
        ("group element", 10..39),
        ("routing info", routing_info),
        ("header MAC", header_mac),
        ("payload", payload),
    ]
}

#[test]
fn a_flipped_bit_is_refused_by_both() {
    let mut exchange = Exchange::start();
    let mut reasons = BTreeMap::<_, usize>::new();
    for format in formats(1024, 1024) {
        let (keys, path) = exchange.way(&format, 3);
        for round in 0..40 {
            let message = exchange.bytes(longest(&format));
            let mut datagram =
                exchange.party(round).create(&format, &path, &destination(), &message).expect("a packet");
            let (part, places) = parts(&format)[round / 2 % 4].clone();
            let place = places.start + exchange.up_to(places.len() - 1);
            datagram[place] ^= 1 << exchange.up_to(7);
            // The payload is checked at the end of the path, the header at the first hop.
            let done = exchange.carry(&format, &keys, &path, datagram);
            let reason = match (part, done) {
                ("payload", Ok(Processed::Destination { opened: Err(Refused(reason)), .. }))
                | ("group element" | "routing info" | "header MAC", Err(Refused(reason))) => reason,
                (part, done) => panic!("byte {place}, of the {part}: {done:?}"),
            };
            *reasons.entry((part, reason)).or_default() += 1;
        }
    }
    println!("{reasons:?}");
    let counted = |part, reason: &str| reasons.get(&(part, reason.to_owned())).copied().unwrap_or(0);
    assert_eq!(counted("routing info", "bad_mac"), 40);
    assert_eq!(counted("header MAC", "bad_mac"), 40);
    assert_eq!(counted("payload", "bad_body_tag"), 40);
    // Half of all numbers are the coordinate of a point.
    assert_eq!(counted("group element", "malformed") + counted("group element", "bad_mac"), 40);
}

/// The bytes between the parts, and lengths.
#[test]
fn another_shape_is_refused_by_both() {
    let mut exchange = Exchange::start();
    for format in formats(1024, 1024) {
        let (keys, path) = exchange.way(&format, 3);
        let datagram = exchange.there.create(&format, &path, &destination(), b"hello").expect("a packet");
        let parts = parts(&format);
        let between = (0..datagram.len()).filter(|at| !parts.iter().any(|(_, part)| part.contains(at)));
        for place in between {
            let mut changed = datagram.clone();
            changed[place] ^= 1 << exchange.up_to(7);
            exchange.both(&format, &keys[0], &changed).expect_err("it was changed");
        }
        for len in [0, 1, 2, 10, 38, 39, 1_000, datagram.len() - 1] {
            exchange.both(&format, &keys[0], &datagram[..len]).expect_err("it was cut");
        }
        let longer = [&datagram[..], &[0]].concat();
        exchange.both(&format, &keys[0], &longer).expect_err("something was added");
        exchange.both(&format, &keys[0], &datagram).expect("nothing was changed");
    }
}

#[test]
fn packets_for_other_nodes_are_refused_by_both() {
    let mut exchange = Exchange::start();
    for format in formats(1024, 1024) {
        let (keys, path) = exchange.way(&format, 4);
        for maker in 0..2 {
            let made = exchange.party(maker).create(&format, &path, &destination(), b"hello");
            let datagram = made.expect("a packet");
            for keys in &keys[1..] {
                assert_eq!(exchange.both(&format, keys, &datagram), Err(Refused("bad_mac".into())));
            }
            // Not processed a second time by the same node, either.
            let Ok(Processed::Relay { datagram, .. }) = exchange.both(&format, &keys[0], &datagram) else {
                panic!("refused")
            };
            assert_eq!(exchange.both(&format, &keys[0], &datagram), Err(Refused("bad_mac".into())));
        }
    }
}

/// Random bytes of the right shape and of none.
#[test]
fn noise_is_refused_by_both() {
    let mut exchange = Exchange::start();
    let format = Format::LOOPIX;
    let (keys, path) = exchange.way(&format, 3);
    let shape = exchange.here.create(&format, &path, &destination(), b"").expect("a packet");
    for _ in 0..200 {
        let mut datagram = shape.clone();
        for (_, part) in parts(&format) {
            rand_core::Rng::fill_bytes(&mut exchange.rng, &mut datagram[part]);
        }
        // A sign of y, without which nothing is a point.
        datagram[10] = 2 + exchange.up_to(1) as u8;
        exchange.both(&format, &keys[0], &datagram).expect_err("noise");
        let noise = exchange.bytes(3_000);
        exchange.both(&format, &keys[0], &noise).expect_err("noise");
    }
}
