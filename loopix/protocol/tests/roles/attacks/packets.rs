//! Attacks with single packets.

use motemix_crypto::p224;
use motemix_loopix::pack::{Value, binary};
use motemix_loopix::packet::header::draw_scalar;
use motemix_loopix::packet::{Blinding, BodyTag, Format, Hop, HopKeys, create, forward, surb};
use motemix_loopix::role::{DropReason, Mix};

use super::*;
use crate::forge::NO_DELAY;

#[test]
fn a_packet_is_taken_once_however_often_it_comes_even_after_a_restart() {
    for profile in PROFILES {
        let mut world = quiet(profile, 10);
        let packet = world.packet(&["Mix1", "Mix3", "Mix5"], b"");
        let other = world.packet(&["Mix1", "Mix3", "Mix5"], b"");
        assert_eq!(world.inject("Mix1", &packet), Ok(()), "{profile}");
        // Not only the last one is remembered.
        assert_eq!(world.inject("Mix1", &other), Ok(()), "{profile}");
        for _ in 0..2 {
            assert_eq!(world.inject("Mix1", &packet), Err(DropReason::Replayed), "{profile}");
        }
        assert_eq!(world.seen("Mix1", Some("Mix3")).len(), 2, "{profile}");
        world.start("Mix1");
        assert_eq!(world.inject("Mix1", &packet), Err(DropReason::Replayed), "{profile}");
    }
}

#[test]
fn a_changed_header_is_refused_and_does_not_use_up_the_packet() {
    for profile in PROFILES {
        let mut world = quiet(profile, 11);
        let packet = world.packet(&["Mix1", "Mix3", "Mix5"], b"");
        // The sign of α, its x-coordinate (on the curve or not), β, γ.
        let header_mac = 39 + 2 + if profile == Profile::Hardened { 200 } else { 993 } + 2;
        for at in [10, 38, 60, header_mac] {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            let refused = world.inject("Mix1", &changed);
            assert!(
                matches!(refused, Err(DropReason::BadHeaderMac | DropReason::NotOnCurve)),
                "{profile} {at} {refused:?}"
            );
        }
        assert_eq!(world.inject("Mix1", &packet), Ok(()), "{profile}");
    }
}

/// The whole datagram is a packet but for its point, or nothing but a point.
fn points(format: &Format) -> Vec<Vec<u8>> {
    let generator = p224::Point::GENERATOR.compress();
    let x = &generator[1..];
    let ext = |nid: [u8; 3], point: &[u8]| {
        let mut inner = vec![0x92];
        inner.extend(nid);
        inner.push(0xa0 + point.len().min(31) as u8);
        inner.extend(point);
        [&[0xc7, inner.len() as u8, 2], inner.as_slice()].concat()
    };
    let p224 = [0xcd, 0x02, 0xc9];
    let forms = [
        ext([0xcd, 0xff, 0xff], &generator),
        ext([0xcd, 0x00, 0x00], &generator),
        ext(p224, &[0]),
        ext(p224, &[&[4], x].concat()),
        ext(p224, &[&[6], x].concat()),
        ext(p224, &[&[7], x].concat()),
        ext(p224, &[2; 1]),
        // x is not below p.
        ext(p224, &[&[2], [0xff; 28].as_slice()].concat()),
        // Not on the curve.
        ext(p224, &[&[2], [0; 27].as_slice(), &[6]].concat()),
    ];
    let blank = format.blank();
    let mut datagrams = Vec::new();
    for form in forms {
        datagrams.push([&[0x92, 0x93], form.as_slice(), &blank[39..]].concat());
        datagrams.push([&[0x92, 0x93], form.as_slice()].concat());
        datagrams.push(form);
    }
    datagrams
}

#[test]
fn a_point_that_is_no_point_stops_nobody() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 12).start_all();
        world.run(seconds(3));
        let mut datagrams = points(&world.format());
        datagrams.extend([vec![], vec![0xc1], vec![0x92; 2079], vec![0xdd, 0xff, 0xff, 0xff, 0xff]]);
        for name in ["Mix1", "Provider1", "Client2"] {
            for datagram in &datagrams {
                let refused = world.inject(name, datagram);
                assert!(
                    matches!(refused, Err(DropReason::Malformed | DropReason::NotOnCurve)),
                    "{profile} {name} {refused:?} {datagram:02x?}"
                );
            }
        }
        assert_still_works(&mut world);
    }
}

#[test]
fn the_hardened_blinding_factor_is_wide_and_depends_on_the_group_element() {
    let mut world = quiet(Profile::Hardened, 13);
    let mut rng = || draw_scalar(&mut world.rng);
    let (a, b) = (p224::Point::mul_generator(&rng()), p224::Point::mul_generator(&rng()));
    let shared = p224::diffie_hellman(&rng(), &a);
    let keys = HopKeys::new(&shared);
    let next = |kind, element: &p224::Point| {
        keys.blinding(kind, element, &shared).unwrap().blind(&p224::Point::GENERATOR).compress()
    };
    assert_ne!(next(Blinding::Wide, &a), next(Blinding::Wide, &b));
    // The originals' factor has 128 bits and is the same for both: weaknesses 4 and 16 stay.
    assert_eq!(next(Blinding::Short, &a), next(Blinding::Short, &b));
    assert_eq!(keys.short_blinding().expose().len(), 16);
    // A factor of 128 bits would leave the first twelve bytes zero.
    let one = p224::Scalar::from_be_bytes(&motemix_crypto::Secret::new({
        let mut bytes = [0; 28];
        bytes[27] = 1;
        bytes
    }));
    let wide = keys.blinding(Blinding::Wide, &a, &shared).unwrap().times(&one.unwrap());
    assert_ne!(wide.to_be_bytes().expose()[..12], [0; 12]);
}

#[test]
fn the_hardened_header_mac_covers_the_group_element() {
    assert!(Format::HARDENED.binds_group_element());
    assert!(!Format::LOOPIX.binds_group_element(), "weakness 3 stays");
}

#[test]
fn nobody_sends_to_an_address_that_is_not_in_the_directory() {
    for profile in COMPATIBLE {
        let mut world = quiet(profile, 14);
        let elsewhere = |name: &str| {
            let address = Value::Array(vec![Value::from("198.51.100.7"), Value::from(53)]);
            let fields = vec![address, Value::from(false), Value::Nil, Value::F64(0.0), Value::from(name)];
            Value::Array(fields)
        };
        for (at, name) in [("Mix1", "Nobody"), ("Mix1", "Mix3"), ("Provider1", "Mix1"), ("Provider1", "")] {
            assert_eq!(world.told(at, elsewhere(name)), Err(DropReason::UnknownNextHop), "{profile}");
        }
        // A user's name is enough for the originals; mail goes where the directory has the user.
        assert_eq!(world.told("Provider1", elsewhere("Client1")), Ok(()), "{profile}");
        assert!(world.log.iter().all(|sight| !sight.to.contains("198.51")), "{profile}");
    }
    let mut world = quiet(Profile::Hardened, 14);
    for at in ["Mix1", "Provider1"] {
        assert_eq!(world.told(at, binary([7; 12])), Err(DropReason::UnknownNextHop));
    }
}

#[test]
fn hardened_packets_pass_the_layers_in_order() {
    // From, to, whether the originals' profiles let it pass.
    let steps = [
        ("Mix1", "Mix5", true),
        ("Mix3", "Mix1", true),
        ("Mix1", "Mix2", true),
        ("Mix1", "Mix1", true),
        ("Mix1", "Provider1", true),
        ("Provider1", "Mix3", true),
        ("Provider1", "Provider2", true),
        ("Mix5", "Client1", false),
        ("Provider1", "Client2", false),
    ];
    for profile in PROFILES {
        let mut world = quiet(profile, 15);
        for (from, to, compatible) in steps {
            let command = world.command(to, NO_DELAY);
            let expected = compatible && profile != Profile::Hardened;
            let outcome = world.told(from, command);
            assert_eq!(outcome.is_ok(), expected, "{profile} {from} {to} {outcome:?}");
        }
        for (from, to) in [("Provider1", "Mix1"), ("Mix2", "Mix3"), ("Mix6", "Provider2")] {
            let command = world.command(to, NO_DELAY);
            assert_eq!(world.told(from, command), Ok(()), "{profile} {from} {to}");
        }
    }
}

#[test]
fn a_delay_is_a_number_and_not_a_long_one() {
    for profile in COMPATIBLE {
        let mut world = quiet(profile, 16);
        let with = |delay: Value, command: Value| {
            let Value::Array(mut fields) = command else { panic!("a command is an array") };
            fields[3] = delay;
            Value::Array(fields)
        };
        for bad in [
            Value::F64(f64::NAN),
            Value::F64(-1.0),
            Value::F64(f64::NEG_INFINITY),
            Value::from(-1),
            Value::from("1.0"),
            Value::Nil,
            Value::from(true),
        ] {
            let command = with(bad.clone(), world.command("Mix3", NO_DELAY));
            assert_eq!(world.told("Mix1", command), Err(DropReason::BadRouting), "{profile} {bad}");
        }
        for endless in [Value::F64(1e300), Value::F64(f64::INFINITY), Value::from(u64::MAX)] {
            let command = with(endless.clone(), world.command("Mix3", NO_DELAY));
            assert_eq!(world.told("Mix1", command), Ok(()), "{profile} {endless}");
        }
        world.run(seconds(11));
        assert_eq!(world.seen("Mix1", Some("Mix3")).len(), 3, "{profile}: they were cut");
    }
    let mut world = quiet(Profile::Hardened, 16);
    let command = world.command("Mix3", seconds(4000));
    assert_eq!(world.told("Mix1", command), Ok(()));
    world.run(seconds(11));
    assert_eq!(world.seen("Mix1", Some("Mix3")).len(), 1, "it was cut");
}

#[test]
fn commands_of_any_other_shape_are_refused() {
    for profile in PROFILES {
        let mut world = quiet(profile, 17);
        let nested = (0..5).fold(Value::Nil, |value, _| Value::Array(vec![value]));
        for command in [
            Value::Nil,
            nested,
            Value::Map(vec![]),
            binary([0; 11]),
            binary([0; 13]),
            Value::Array(vec![Value::Nil; 5]),
            Value::Array(vec![Value::Nil; 6]),
        ] {
            assert_eq!(
                world.told("Mix1", command.clone()),
                Err(DropReason::BadRouting),
                "{profile} {command}"
            );
        }
    }
}

#[test]
fn a_payload_that_was_changed_is_shown_to_nobody() {
    for profile in PROFILES {
        let mut world = quiet(profile, 18);
        let payload = world.text_for("Client1", b"pay Client2 5 pounds");
        // At the last hop, and before a hop whose decryption makes noise of it.
        for path in [["Client1"].as_slice(), &["Provider1", "Client1"]] {
            let mut packet = world.packet(path, &payload);
            *packet.last_mut().unwrap() ^= 1;
            let outcome = world.inject(path[0], &packet);
            if path.len() == 1 {
                assert_eq!(outcome, Err(DropReason::BadPayload), "{profile}");
            } else {
                assert_eq!(outcome, Ok(()), "{profile}");
                let stored = stored_for(&mut world, "Provider1", "Client1").pop().unwrap();
                assert_eq!(world.inject("Client1", &stored), Err(DropReason::BadPayload), "{profile}");
            }
        }
        assert!(world.received.is_empty(), "{profile}");
    }
}

#[test]
fn a_surb_carries_one_reply() {
    let mut world = quiet(Profile::Hardened, 19);
    let format = world.format();
    let names = ["Provider1", "Mix1", "Mix3", "Mix5", "Provider2", "Client2"];
    let routings: Vec<_> =
        names.iter().map(|name| forward::relay(&format, world.command(name, NO_DELAY))).collect();
    let hops: Vec<_> = (names.iter().zip(&routings))
        .map(|(name, routing)| Hop { key: world.key(name), routing, associated: &[] })
        .collect();
    let (surb, keys) = surb::create(&format, &hops, Value::Nil, &mut world.rng).unwrap();
    let bytes = surb.encode();
    for (number, expected) in [(0, Ok(())), (1, Err(DropReason::Replayed))] {
        let surb = surb::Surb::parse(&format, &bytes).unwrap();
        let reply = surb.reply(&format, &[number]).unwrap();
        assert_eq!(world.inject("Provider1", &reply), expected);
    }
    // The keys are consumed: `open` takes them by value, and a payload that is not theirs is an
    // error.
    assert!(keys.open(BodyTag::Hmac, &mut vec![0; format.body_len]).is_err());
}

#[test]
fn the_tag_of_zeros_is_checked() {
    let format = Format { body_tag: BodyTag::Hmac, ..Format::LOOPIX };
    let mut world = quiet(Profile::Ucl2017, 20);
    let payload = world.text_for("Client1", b"not zeros");
    let hop = Hop { key: world.key("Client1"), routing: &[], associated: &[] };
    let packet = create(&format, &[hop], &payload, &mut world.rng).unwrap();
    assert_eq!(world.inject("Client1", &packet), Err(DropReason::BadPayload));
}

#[test]
fn nodes_in_one_process_share_nothing() {
    for profile in PROFILES {
        let mut world = quiet(profile, 21);
        let packet = world.packet(&["Mix1", "Mix3", "Mix5"], b"");
        for seed in 0..2 {
            let rng = <chacha20::ChaCha20Rng as rand_core::SeedableRng>::from_seed([seed; 32]);
            let mut mix = Mix::new(world.setup("Mix1"), world.now, rng).unwrap();
            assert_eq!(mix.handle_datagram(world.now, &mut packet.clone()), Ok(()), "{profile}");
            assert_eq!(mix.waiting(), 1, "{profile}");
        }
    }
}

pub fn stored_for(world: &mut World, provider: &str, user: &str) -> Vec<Vec<u8>> {
    use motemix_loopix::role::Mailboxes as _;
    let mail = world.provider(provider).mailboxes().oldest(user, 1000).unwrap();
    mail.into_iter().map(|stored| stored.packet).collect()
}
