//! What users rely on, as stories in a network in memory.

mod alarm;
mod attacks;
mod beside_originals;
mod forge;
mod noise;
mod streams;
mod world;

use std::time::Duration;

use chacha20::ChaCha20Rng;
use motemix_loopix::files::Profile;
use motemix_loopix::role::{ClientEvent, Dropped};
use rand_core::{Rng as _, SeedableRng as _};
use world::World;

const PROFILES: [Profile; 3] = [Profile::Ucl2017, Profile::Fork2018, Profile::Hardened];

#[test]
fn messages_arrive_both_ways_in_every_profile() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 1).start_all();
        world.run(Duration::from_secs(5));
        world.send("Client1", "Client2", "hello two");
        world.send("Client2", "Client1", "hello one");
        world.run(Duration::from_secs(60));
        assert_eq!(world.texts("Client2"), ["hello two"], "{profile}");
        assert_eq!(world.texts("Client1"), ["hello one"], "{profile}");
        for name in ["Client1", "Mix1", "Mix4", "Mix5", "Provider1"] {
            let counters = world.counters(name);
            assert!(counters.loops_returned > 5, "{profile} {name} {counters:?}");
            assert_eq!(counters.dropped, Dropped::default(), "{profile} {name}");
        }
    }
}

#[test]
fn a_hardened_message_is_acknowledged_and_forgotten_everywhere() {
    let mut world = World::new(Profile::Hardened, 2, 2).start_all();
    world.run(Duration::from_secs(5));
    let id = world.send("Client1", "Client2", "are you there?");
    assert_eq!(world.client("Client1").queued(), 1);
    world.run(Duration::from_secs(60));
    assert!(world.events.contains(&("Client1".into(), ClientEvent::Acknowledged(id))));
    assert_eq!(world.client("Client1").queued(), 0);
    assert_eq!(world.counters("Client1").acknowledged, 1);
}

#[test]
fn a_hardened_message_survives_lost_datagrams() {
    let mut world = World::new(Profile::Hardened, 2, 3).start_all();
    // One in twenty: half of all round trips of fourteen datagrams are without loss.
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    world.lose = Box::new(move |_, _| rng.next_u32() < u32::MAX / 20);
    for number in 0..10 {
        world.send("Client1", "Client2", &format!("message {number}"));
    }
    world.run(Duration::from_secs(900));
    let mut texts = world.texts("Client2");
    texts.sort();
    let expected: Vec<_> = (0..10).map(|number| format!("message {number}")).collect();
    assert_eq!(texts, expected, "each once, whatever was lost");
    assert_eq!(world.counters("Client1").acknowledged, 10);
    assert!(world.counters("Client1").retries > 2);
}

proptest::proptest! {
    // Each runs a network for minutes of its time.
    #![proptest_config(proptest::test_runner::Config { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_happens_to_a_network_it_ends_and_messages_arrive_again(
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..600)
    ) {
        noise::run(&bytes);
    }
}
