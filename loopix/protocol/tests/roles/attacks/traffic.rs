//! What observers learn from traffic: links, and nodes that open what passes them.

use std::collections::{BTreeMap, BTreeSet};

use motemix_loopix::pack::{Value, text};
use motemix_loopix::packet::{Layer, Packet};
use motemix_loopix::wire::command::Next;
use motemix_loopix::wire::control;
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};

use super::*;

/// A node that opens packets a second time.
struct Admits;

impl ReplayFilter for Admits {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

const NAMES: [&str; 10] =
    ["Mix1", "Mix2", "Mix3", "Mix4", "Mix5", "Mix6", "Provider1", "Provider2", "Client1", "Client2"];

/// What a node can tell from a value without knowing names: types and lengths.
fn shape(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(shape).collect::<Vec<_>>().join(" ")),
        Value::Binary(bytes) => format!("bin{}", bytes.len()),
        Value::String(text) => format!("str{}", text.as_bytes().len()),
        Value::Integer(_) => "int".into(),
        Value::Boolean(_) => "bool".into(),
        Value::F64(_) => "f64".into(),
        Value::Nil => "nil".into(),
        _ => "else".into(),
    }
}

/// The shapes of all commands in a world's log, by the kind of who is named.
fn shapes(world: &World) -> BTreeMap<&'static str, BTreeSet<String>> {
    let format = world.format();
    let mut shapes = BTreeMap::<_, BTreeSet<_>>::new();
    for sight in &world.log {
        let secret = world.secret(&sight.to);
        let mut bytes = sight.bytes.clone();
        let Ok(packet) = Packet::parse(&format, &mut bytes) else { continue };
        let opened = packet.authenticate(&secret, &[]).unwrap().admit(&mut Admits).unwrap().read().unwrap();
        let Layer::Relay(relay) = opened else { continue };
        let named = kind_of_next(world, &relay.command);
        shapes.entry(named).or_default().insert(shape(&relay.command));
    }
    shapes
}

/// What the one is whom a command names.
fn kind_of_next(world: &World, command: &Value) -> &'static str {
    let is_named = |name: &&&str| match (world.next(name), command) {
        (Next::Named { name, .. }, Value::Array(fields)) => fields.last().and_then(text) == Some(&*name),
        (Next::Id(id), Value::Binary(bytes)) => bytes.starts_with(&id),
        _ => false,
    };
    let name = NAMES.iter().find(is_named).expect("everybody is listed");
    name.trim_end_matches(char::is_numeric)
}

/// A while of loops, drop cover, messages and, if hardened, acknowledgements.
fn busy(profile: Profile, seed: u8) -> World {
    let mut world = World::new(profile, 2, seed).start_all();
    for number in 0..5 {
        world.send("Client1", "Client2", &format!("number {number}"));
        world.send("Client2", "Client1", &format!("number {number}"));
    }
    world.run(seconds(30));
    assert!(!world.received.is_empty());
    world
}

#[test]
fn all_hardened_datagrams_have_one_length_that_no_link_cuts() {
    let world = busy(Profile::Hardened, 70);
    assert!(world.log.len() > 500);
    // IPv6 and UDP headers in the smallest link that carries IPv6 (RFC 8200, §5).
    assert!(world.log.iter().all(|sight| sight.bytes.len() + 40 + 8 <= 1280));
    assert!(world.log.iter().all(|sight| sight.bytes.len() == 1222));
}

#[test]
fn hardened_sizes_are_those_of_the_specification() {
    use motemix_loopix::packet::Format;
    use motemix_loopix::wire::hardened::{MAX_LAYERS, MAX_TEXT, SURB_LEN};
    assert_eq!((Format::HARDENED.datagram_len(), SURB_LEN, MAX_TEXT, MAX_LAYERS), (1222, 261, 665, 3));
}

#[test]
fn in_the_originals_profiles_control_messages_and_dummies_show_by_their_length() {
    for (profile, dummy) in [(Profile::Ucl2017, true), (Profile::Fork2018, false)] {
        let world = busy(profile, 71);
        let others: Vec<_> = world.log.iter().filter(|sight| sight.bytes.len() != 2079).collect();
        assert!(others.iter().any(|sight| sight.to.starts_with("Provider")), "{profile}: weakness 2 stays");
        assert_eq!(others.iter().any(|sight| sight.bytes.len() == 1014), dummy, "{profile}");
    }
}

#[test]
fn no_hop_can_tell_loops_drop_cover_and_messages_apart_by_the_form_of_its_command() {
    for profile in PROFILES {
        let world = busy(profile, 72);
        let shapes = shapes(&world);
        for (named, shapes) in &shapes {
            assert_eq!(shapes.len(), 1, "{profile} {named} {shapes:?}");
        }
        let all = format!("{shapes:?}");
        if profile == Profile::Hardened {
            assert_eq!(shapes.values().flatten().collect::<BTreeSet<_>>().len(), 1, "{all}");
            assert!(all.contains("bin12"), "{all}");
        } else {
            assert_eq!(shapes.len(), 3, "{all}");
            // A user's host as the database has it, in loops as well; no type flag, whatever the
            // fork's nodes send.
            assert!(all.contains("[[str9 int] bool nil f64 bin7]"), "{all}");
            assert!(all.contains("[[str9 int] bool nil f64 str4]"), "{all}");
        }
    }
}

#[test]
fn drop_cover_shows_itself_to_its_last_provider_in_the_originals_profiles_only() {
    for profile in PROFILES {
        let mut world = busy(profile, 73);
        let known: u64 =
            ["Provider1", "Provider2"].map(|name| world.counters(name).drops_received).iter().sum();
        let arrived: u64 =
            ["Client1", "Client2"].map(|name| world.counters(name).drops_received).iter().sum();
        if profile == Profile::Hardened {
            assert_eq!(known, 0);
            assert!(arrived > 5, "{arrived}");
        } else {
            assert!(known > 5, "{profile}: weakness 31 stays, {known}");
            assert_eq!(arrived, 0, "{profile}");
        }
    }
}

#[test]
fn a_message_that_begins_like_cover_arrives() {
    let texts = ["HT", "HT and more", "HD", "HD and more", "DUMMY", "\u{1}\u{2}\u{3}"];
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 74).start_all();
        for text in texts {
            world.send("Client1", "Client2", text);
        }
        // As long as a loop's.
        let long = format!("HT{}", "x".repeat(500));
        world.send("Client1", "Client2", &long);
        world.run(seconds(60));
        let arrived = world.texts("Client2");
        assert!(texts.iter().all(|text| arrived.contains(&(*text).to_owned())), "{profile} {arrived:?}");
        assert!(arrived.contains(&long), "{profile}");
    }
}

#[test]
fn loops_of_a_client_that_was_started_again_are_not_shown_as_messages() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 75).start_all();
        world.run(seconds(10));
        world.start("Client1");
        world.run(seconds(10));
        assert!(world.received.is_empty(), "{profile} {:?}", world.received);
    }
}

#[test]
fn randomness_comes_from_the_generator_that_was_given_and_from_nothing_else() {
    for profile in PROFILES {
        let run = |seed| {
            let mut world = World::new(profile, 2, seed).start_all();
            world.run(seconds(5));
            world
                .log
                .into_iter()
                .map(|sight| (sight.at, sight.from, sight.to, sight.bytes))
                .collect::<Vec<_>>()
        };
        let (first, again, other) = (run(76), run(76), run(77));
        assert_eq!(first, again, "{profile}");
        let bytes = |log: &[(_, _, _, Vec<u8>)]| {
            log.iter().map(|(.., bytes)| bytes.clone()).filter(|bytes| bytes.len() > 1000).collect()
        };
        let (first, other): (BTreeSet<_>, BTreeSet<_>) = (bytes(&first), bytes(&other));
        assert!(first.len() > 50 && first.is_disjoint(&other), "{profile}");
    }
}

#[test]
fn a_dummy_is_noise() {
    let mut world = quiet(Profile::Ucl2017, 78);
    let dummies: Vec<_> = (0..100).flat_map(|_| control::dummy(500, &mut world.rng)[14..].to_vec()).collect();
    let ones: u32 = dummies.iter().map(|byte| byte.count_ones()).sum();
    let bits = 8 * u32::try_from(dummies.len()).unwrap();
    let share = f64::from(ones) / f64::from(bits);
    // 800,000 bits: the standard error is 0.06 %. The prefix of the second field is among them.
    assert!((share - 0.5).abs() < 0.005, "{share}");
    let distinct: BTreeSet<_> = dummies.chunks(8).collect();
    assert!(distinct.len() + 300 > dummies.len() / 8, "{}", distinct.len());
}

#[test]
fn a_layer_with_one_mix_works() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 79).without(&["Mix2", "Mix4", "Mix6"]).start_all();
        world.run(seconds(30));
        for name in ["Mix1", "Mix3", "Mix5", "Provider2", "Client1"] {
            let counters = world.counters(name);
            assert!(counters.loops_returned > 3, "{profile} {name} {counters:?}");
        }
        assert_still_works(&mut world);
    }
}

#[test]
fn hardened_networks_have_three_layers_at_most() {
    use motemix_loopix::files::{Directory, MixEntry, NodeEntry};
    use motemix_loopix::role::{Mix, SetupError};
    for profile in PROFILES {
        let mut world = World::new(profile, 1, 80);
        let NodeEntry::Mix(mix) = world.entry("Mix1").clone() else { panic!("a mix") };
        let fourth = MixEntry { name: "Mix7".into(), layer: 3, ..mix };
        let mixes = world.directory.mixes().cloned().chain([fourth]).collect();
        world.directory =
            Directory::new(mixes, world.directory.providers().to_vec(), world.directory.users().to_vec());
        let rng = <chacha20::ChaCha20Rng as rand_core::SeedableRng>::from_seed([0; 32]);
        let outcome = Mix::new(world.setup("Mix1"), world.now, rng).err();
        let expected = (profile == Profile::Hardened).then_some(SetupError::TooManyLayers);
        assert_eq!(outcome, expected, "{profile}");
    }
}

#[test]
fn nothing_is_deleted_at_start_up_or_in_a_burst() {
    for profile in PROFILES {
        let mut world = quiet(profile, 81);
        let before = world.packet(&["Mix1", "Mix3", "Mix5"], b"");
        world.start("Mix1");
        assert_eq!(world.inject("Mix1", &before), Ok(()), "{profile}");
        let command = world.command("Mix3", seconds(1));
        for _ in 0..100 {
            assert_eq!(world.told("Mix1", command.clone()), Ok(()), "{profile}");
        }
        world.run(seconds(2));
        assert_eq!(world.seen("Mix1", Some("Mix3")).len(), 101, "{profile}");
    }
}

#[test]
fn the_first_packets_of_a_client_leave_at_random_times() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 82);
        world.start("Client1");
        let now = world.now;
        world.run(seconds(10));
        let at_once = world.log.iter().filter(|sight| sight.at == now).count();
        let packets = world.seen("Client1", None).len();
        assert!(packets > 10, "{profile}");
        // Subscription, and in the originals the pull.
        assert_eq!(at_once, if profile == Profile::Hardened { 1 } else { 2 }, "{profile}");
    }
}
