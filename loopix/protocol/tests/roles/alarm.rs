//! Loops that do not come back.

use std::time::Duration;

use motemix_loopix::files::Profile;

use motemix_loopix::role::Rates;

use crate::world::{World, rates};

const MINUTE: Duration = Duration::from_mins(1);

#[test]
fn a_mix_that_drops_packets_is_heard_of_by_clients_mixes_and_providers() {
    for profile in [Profile::Ucl2017, Profile::Hardened] {
        let mut world = World::new(profile, 2, 71);
        // Twice what comes between two pulls: loops do not wait in mailboxes behind other mail.
        world.rates = Rates { max_retrieve: 10, drops: MINUTE, ..rates() };
        let mut world = world.start_all();
        world.run(2 * MINUTE);
        let names = ["Client1", "Client2", "Mix1", "Mix5", "Provider1", "Provider2"];
        for name in names {
            let counters = world.counters(name);
            assert_eq!(counters.loop_alarms, 0, "{profile} {name} {counters:?}");
            assert!(counters.loops_sent > 30, "{profile} {name} {counters:?}");
        }
        world.lose = Box::new(|to, _| to == "Mix3");
        let begun = world.now;
        let mut after = Vec::new();
        while after.len() < names.len() && world.now - begun < 10 * MINUTE {
            world.run(Duration::from_secs(5));
            for name in names {
                if world.counters(name).loop_alarm > 0 && !after.iter().any(|(heard, _)| *heard == name) {
                    after.push((name, (world.now - begun).as_secs()));
                }
            }
        }
        println!("{profile}, a mix drops everything: {after:?}");
        assert_eq!(after.len(), names.len(), "{profile} {after:?}");
        world.lose = Box::new(|_, _| false);
        world.run(MINUTE);
        let evidence = names.map(|name| world.counters(name).loop_evidence_percent);
        assert!(evidence.iter().all(|percent| *percent < 100), "it is on its way to its end: {evidence:?}");
    }
}
