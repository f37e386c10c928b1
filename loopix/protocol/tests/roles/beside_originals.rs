//! What nodes of the originals do that ours do not, and what ours then do: as seen of the Python 2
//! programs.

use std::net::IpAddr;
use std::time::Duration;

use motemix_loopix::files::Profile;
use motemix_loopix::pack::{Value, encode};
use motemix_loopix::role::{ClientEvent, DropReason};
use motemix_loopix::wire::command::{Command, Next, Text};
use motemix_loopix::wire::control::Control;
use motemix_loopix::wire::message::{Destination, Encoding};

use crate::forge::NO_DELAY;
use crate::world::World;

const ORIGINALS: [Profile; 2] = [Profile::Ucl2017, Profile::Fork2018];

/// A network whose providers the directory knows by name, without cover.
fn named(profile: Profile, seed: u8) -> World {
    let mut world = World::new(profile, 2, seed);
    world.rates.loops = Duration::ZERO;
    world.rates.drops = Duration::ZERO;
    world.rates.payload = Duration::ZERO;
    world.name_host("Provider1", "provider.example");
    let addresses: [IpAddr; 2] = ["127.0.0.1".parse().unwrap(), "2001:db8::7".parse().unwrap()];
    world.hosts.set("provider.example".into(), addresses);
    world
}

/// A command as a client of the originals writes it that has looked the host up.
fn to_host(world: &World, name: &str, host: &str) -> Value {
    let port = world.entry(name).port();
    let next = Next::Named { host: host.into(), port, name: name.into() };
    Command { next, delay: NO_DELAY, drop: false }.value(Text::Bin, Text::Bin)
}

/// A loop as an original Client1 sends it, whose provider is at `host` for it.
fn loop_by_way_of(world: &mut World, host: &str) -> Vec<u8> {
    let path = ["Provider1", "Mix1", "Mix3", "Mix5", "Provider1", "Client1"];
    let mut commands: Vec<_> = path.iter().map(|name| world.command(name, NO_DELAY)).collect();
    commands[4] = to_host(world, "Provider1", host);
    let payload = world.text_for("Client1", &[b"HT".as_slice(), &[7; 500]].concat());
    world.packet_with(&path, &commands, &payload)
}

#[test]
fn loops_come_back_to_a_client_that_has_looked_its_provider_up() {
    for profile in ORIGINALS {
        let mut world = named(profile, 60).start_all();
        for (number, host) in ["127.0.0.1", "2001:db8::7", "provider.example"].into_iter().enumerate() {
            let packet = loop_by_way_of(&mut world, host);
            assert_eq!(world.inject("Provider1", &packet), Ok(()), "{profile} {host}");
            world.run(Duration::from_secs(1));
            assert_eq!(world.counters("Provider1").stored, number as u64 + 1, "{profile} {host}");
            assert_eq!(world.counters("Mix5").dropped.unknown_next_hop, 0, "{profile} {host}");
        }
        // Nobody else's address is taken, nor a name that nobody listed.
        for host in ["192.0.2.99", "other.example", "::1"] {
            let packet = loop_by_way_of(&mut world, host);
            world.inject("Provider1", &packet).unwrap();
        }
        world.run(Duration::from_secs(1));
        assert_eq!(world.counters("Mix5").dropped.unknown_next_hop, 3, "{profile}");
        assert_eq!(world.counters("Provider1").stored, 3, "{profile}");
    }
}

#[test]
fn what_name_servers_say_later_is_taken_over() {
    let mut world = named(Profile::Ucl2017, 61).start_all();
    let command = to_host(&world, "Provider1", "192.0.2.7");
    assert_eq!(world.told("Mix5", command.clone()), Err(DropReason::UnknownNextHop));
    world.hosts.set("provider.example".into(), ["192.0.2.7".parse().unwrap()]);
    let hosts = world.hosts.clone();
    world.nodes.get_mut("Mix5").unwrap().role().set_hosts(hosts);
    assert_eq!(world.told("Mix5", command.clone()), Ok(()));
    // A directory that is read again does not undo it.
    world.take_away(&["Mix2"]);
    assert_eq!(world.told("Mix5", command), Ok(()));
    let old = to_host(&world, "Provider1", "127.0.0.1");
    assert_eq!(world.told("Mix5", old), Err(DropReason::UnknownNextHop));
}

#[test]
fn a_user_whose_host_is_a_name_subscribes_and_hears_by_its_address_too() {
    let mut world = named(Profile::Ucl2017, 62);
    world.name_host("Client1", "client.example");
    world.hosts.set("client.example".into(), ["127.0.0.1".parse().unwrap()]);
    let mut world = world.start_all();
    let port = world.entry("Client1").port();
    let subscribe = |host: &str| {
        Control::Subscribe { name: "Client1".into(), host: host.into(), port, key: None }.datagram()
    };
    assert_eq!(world.inject("Provider1", &subscribe("127.0.0.1")), Ok(()));
    assert_eq!(world.inject("Provider1", &subscribe("client.example")), Ok(()));
    assert_eq!(world.inject("Provider1", &subscribe("192.0.2.99")), Err(DropReason::Refused));
    let to = Destination { host: "127.0.0.1".into(), port, name: "Client1".into() };
    let packet = world.packet(&["Client1"], &to.payload(b"by its address"));
    assert_eq!(world.inject("Client1", &packet), Ok(()));
    assert_eq!(world.texts("Client1"), ["by its address"]);
}

#[test]
fn messages_that_are_no_byte_strings_are_delivered_as_what_they_are() {
    let map = Value::Map(vec![(Value::from("temperature"), Value::F64(21.5)), (Value::from(2), Value::Nil)]);
    let values = [
        Value::from("t\u{e9}xt"),
        Value::from(-7),
        Value::Array(vec![Value::from(true), Value::Binary(vec![0, 255])]),
        map,
        Value::Ext(0, b"+\x01".to_vec()),
        Value::Nil,
        // Cover of the originals is a byte string; this is none.
        Value::from("HT and more"),
    ];
    for profile in ORIGINALS {
        let mut world = World::new(profile, 2, 63);
        world.start("Client1");
        let Value::Array(fields) =
            motemix_loopix::pack::decode(&world.text_for("Client1", b"bytes")).unwrap()
        else {
            panic!("a payload is an array")
        };
        for value in &values {
            let payload = encode(&Value::Array(vec![fields[0].clone(), value.clone()]));
            let packet = world.packet(&["Client1"], &payload);
            assert_eq!(world.inject("Client1", &packet), Ok(()), "{profile} {value}");
        }
        let packet = world.packet(&["Client1"], &encode(&Value::Array(fields)));
        world.inject("Client1", &packet).unwrap();
        let received: Vec<_> = world
            .received
            .iter()
            .map(|(_, received)| (received.encoding, received.message.clone()))
            .collect();
        let mut expected: Vec<_> = values.iter().map(|value| (Encoding::Msgpack, encode(value))).collect();
        expected.push((Encoding::Bytes, b"bytes".to_vec()));
        assert_eq!(received, expected, "{profile}");
    }
}

/// Client1's SUBSCRIBE and PULL in the form of a profile, and the lengths of what its provider then
/// sends it.
fn answered(world: &mut World, subscribes_as: Profile) -> Vec<usize> {
    let (host, port, key) = {
        let entry = world.entry("Client1");
        (entry.host().to_owned(), entry.port(), entry.public_key().compress())
    };
    let key = (subscribes_as == Profile::Fork2018).then_some(key);
    let subscribe = Control::Subscribe { name: "Client1".into(), host, port, key }.datagram();
    world.inject("Provider1", &subscribe).unwrap();
    world.log.clear();
    world.inject("Provider1", &Control::Pull { name: "Client1".into() }.datagram()).unwrap();
    world.run(Duration::from_millis(100));
    world.seen("Provider1", Some("Client1")).iter().map(|sight| sight.bytes.len()).collect()
}

/// A client of 2018 ends when a DUMMY of 2017 comes.
#[test]
fn a_provider_of_2017_ends_no_client_of_2018_and_says_that_it_is_one() {
    let mut world = named(Profile::Ucl2017, 64);
    world.start("Provider1");
    assert_eq!(answered(&mut world, Profile::Fork2018), [2079; 5]);
    assert_eq!(world.counters("Provider1").other_profile, 1);
    // Nor does a stranger end it, who subscribes for the user in the other form.
    assert_eq!(answered(&mut world, Profile::Ucl2017), [2079; 5]);

    let mut world = named(Profile::Ucl2017, 65);
    world.start("Provider1");
    assert_eq!(answered(&mut world, Profile::Ucl2017), [1014; 5]);
    assert_eq!(world.counters("Provider1").other_profile, 0);
}

#[test]
fn a_provider_of_2018_sends_no_dummy_in_the_clear_to_anybody() {
    let mut world = named(Profile::Fork2018, 66);
    world.start("Provider1");
    assert_eq!(answered(&mut world, Profile::Ucl2017), [2079; 5]);
    assert_eq!(world.counters("Provider1").other_profile, 1);
}

#[test]
fn a_client_notices_by_dummies_which_profile_its_provider_speaks() {
    for (profile, heard) in [(Profile::Ucl2017, 0), (Profile::Fork2018, 1)] {
        let mut world = World::new(profile, 2, 67);
        world.start("Client1");
        let dummy = motemix_loopix::wire::control::dummy(500, &mut world.rng);
        assert_eq!(world.inject("Client1", &dummy), Ok(()));
        assert_eq!(world.counters("Client1").other_profile, heard, "{profile}");
        let payload = world.text_for("Client1", &[b"HD".as_slice(), &[7; 500]].concat());
        let packet = world.packet(&["Client1"], &payload);
        assert_eq!(world.inject("Client1", &packet), Ok(()));
        assert_eq!(world.counters("Client1").other_profile, 1, "{profile}");
        assert!(!world.events.iter().any(|(_, event)| matches!(event, ClientEvent::Received(_))));
    }
}

#[test]
fn pulls_that_nobody_answers_are_counted_until_something_comes() {
    for profile in [Profile::Ucl2017, Profile::Fork2018, Profile::Hardened] {
        let mut world = World::new(profile, 2, 68).start_all();
        world.run(Duration::from_secs(30));
        assert!(world.counters("Client1").pulls_unanswered < 3, "{profile}");
        let provider = world.nodes.remove("Provider1").unwrap();
        world.run(Duration::from_secs(30));
        assert!(world.counters("Client1").pulls_unanswered > 5, "{profile}");
        drop(provider);
        world.start("Provider1");
        world.run(Duration::from_secs(30));
        assert!(world.counters("Client1").pulls_unanswered < 3, "{profile}");
    }
}

/// A client of the originals ignores what comes in its first twenty seconds, and deletes most of it
/// then.
#[test]
fn mail_waits_until_a_client_of_the_originals_looks_at_what_comes() {
    let start = Duration::from_secs(20);
    for profile in ORIGINALS {
        let mut world = named(profile, 69);
        (world.rates.start, world.rates.pull) = (start, Duration::from_secs(10));
        let mut world = world.start_all();
        // A client that is new, and one that comes back after a silence.
        for text in ["first", "second"] {
            let payload = world.text_for("Client1", text.as_bytes());
            let packet = world.packet(&["Provider1", "Client1"], &payload);
            world.inject("Provider1", &packet).unwrap();
            world.log.clear();
            let began = world.now;
            world.start("Client1");
            world.run(Duration::from_secs(60));
            assert_eq!(world.texts("Client1").last().map(String::as_str), Some(text), "{profile}");
            let answers: Vec<_> =
                world.seen("Provider1", Some("Client1")).iter().map(|sight| sight.at).collect();
            assert!(answers[0] >= began + start && answers[0] < began + start * 2, "{profile}");
            world.nodes.remove("Client1");
            world.run(Duration::from_secs(100));
        }
    }
}

/// A user whose pulls are far apart gets an answer to each second of them at least, and a stranger who
/// subscribes for a user keeps no mail from it.
#[test]
fn no_pause_goes_on_for_ever() {
    for profile in ORIGINALS {
        let mut world = named(profile, 70);
        (world.rates.start, world.rates.pull) = (Duration::from_secs(20), Duration::from_secs(10));
        world.start("Provider1");
        world.rates.pull = Duration::from_secs(300);
        world.start("Client1");
        world.run(Duration::from_secs(3000));
        let answers = world.seen("Provider1", Some("Client1")).len();
        assert!(answers >= 5 * world.rates.max_retrieve, "{profile}: {answers}");

        let mut world = named(profile, 71);
        (world.rates.start, world.rates.pull) = (Duration::from_secs(20), Duration::from_secs(10));
        let mut world = world.start_all();
        for _ in 0..100 {
            answered(&mut world, profile);
        }
        world.log.clear();
        world.run(Duration::from_secs(60));
        assert!(!world.seen("Provider1", Some("Client1")).is_empty(), "{profile}");
    }
}
