//! Attacks on memory: everything has a bound, and being full is a state that ends.

use motemix_loopix::role::DropReason;

use super::*;
use crate::forge::NO_DELAY;

#[test]
fn a_full_queue_refuses_before_it_works_and_is_empty_again_after_the_longest_delay() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 90);
        world.limits.queue = 20;
        let mut world = world.start_all();
        let command = world.command("Mix3", seconds(3600));
        for _ in 0..20 {
            assert_eq!(world.told("Mix1", command.clone()), Ok(()), "{profile}");
        }
        for _ in 0..3 {
            assert_eq!(world.told("Mix1", command.clone()), Err(DropReason::QueueFull), "{profile}");
        }
        world.run(seconds(11));
        assert_eq!(world.told("Mix1", command), Ok(()), "{profile}");
        assert_still_works(&mut world);
    }
}

#[test]
fn a_full_replay_filter_stops_a_hardened_mix_and_lets_the_originals_go_on() {
    for profile in PROFILES {
        let mut world = quiet(profile, 91);
        world.limits.replay_tags = 10;
        world.start("Mix1");
        let command = world.command("Mix3", NO_DELAY);
        let first = world.packet(&["Mix1", "Mix3", "Mix5"], b"");
        world.inject("Mix1", &first).unwrap();
        for _ in 0..9 {
            assert_eq!(world.told("Mix1", command.clone()), Ok(()), "{profile}");
        }
        let next = world.told("Mix1", command.clone());
        if profile == Profile::Hardened {
            assert_eq!(next, Err(DropReason::ReplayTagsFull));
            assert_eq!(world.inject("Mix1", &first), Err(DropReason::Replayed));
        } else {
            assert_eq!(next, Ok(()), "{profile}");
            // It says so, and an old packet passes again: keys of the originals are never changed.
            assert!(world.counters("Mix1").replay_tags_forgotten > 0, "{profile}");
            assert_eq!(world.inject("Mix1", &first), Ok(()), "{profile}");
        }
    }
}

#[test]
fn a_hardened_client_is_not_silenced_by_many_packets() {
    let mut world = World::new(Profile::Hardened, 2, 92);
    world.limits.replay_tags = 10;
    world.start("Client1");
    for _ in 0..30 {
        let packet = world.packet(&["Client1"], &[3]);
        assert_eq!(world.inject("Client1", &packet), Ok(()));
    }
    assert_eq!(world.counters("Client1").dummies_received, 30);
}

#[test]
fn an_outbox_takes_as_many_messages_as_it_may_and_each_ends() {
    use motemix_loopix::role::{ClientEvent, SendError};
    let mut world = World::new(Profile::Hardened, 2, 93);
    world.limits.messages = 3;
    world.limits.tries = 2;
    world.rates.retry = seconds(2);
    let mut world = world.start_all();
    world.nodes.remove("Client2");
    for number in 0..3 {
        world.send("Client1", "Client2", &format!("{number}"));
    }
    let now = world.now;
    assert_eq!(world.client("Client1").send(now, "Client2", b"4"), Err(SendError::Full));
    assert_eq!(world.client("Client1").send(now, "Nobody", b"4"), Err(SendError::UnknownUser));
    let long = vec![0; 2000];
    assert!(matches!(world.client("Client1").send(now, "Client2", &long), Err(SendError::TooLong { .. })));
    world.run(seconds(60));
    let gave_up = world.events.iter().filter(|(_, event)| matches!(event, ClientEvent::GaveUp(_))).count();
    assert_eq!((gave_up, world.client("Client1").queued()), (3, 0));
}

#[test]
fn an_application_that_confirms_nothing_loses_nothing() {
    let mut world = World::new(Profile::Hardened, 2, 94).start_all();
    world.confirm = false;
    for number in 0..5 {
        world.send("Client1", "Client2", &format!("{number}"));
    }
    world.run(seconds(60));
    assert_eq!(world.received.len(), 5);
    assert_eq!(world.counters("Client1").acknowledged, 0, "nothing is acknowledged that is not safe");
}

#[test]
fn clocks_that_are_set_back_stop_nobody() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 95).start_all();
        world.run(seconds(5));
        let back = motemix_node::Instant::from_micros(0);
        for node in world.nodes.values_mut() {
            node.role().handle_timeout(back);
            assert!(node.role().poll_transmit(back).is_none());
            let _ = node.role().handle_datagram(back, &mut [0xc1]);
        }
        assert_still_works(&mut world);
    }
}
