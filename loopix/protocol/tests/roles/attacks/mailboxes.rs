//! Attacks on mail.

use motemix_loopix::role::{ClientEvent, DropReason, Mailboxes as _};
use motemix_loopix::wire::control::Control;
use motemix_loopix::wire::hardened::{Payload, SURB_LEN};

use super::packets::stored_for;
use super::*;

#[test]
fn packets_that_nobody_can_open_do_not_keep_mail_from_a_hardened_client() {
    let mut world = World::new(Profile::Hardened, 2, 50);
    world.rates.max_retrieve = 20;
    let mut world = world.start_all();
    world.nodes.remove("Client1");
    let junk = [
        Payload::Dummy.encode(),
        Payload::Drop.encode(),
        Payload::Loop([3; 16]).encode(),
        vec![4; 33],
        vec![5; 60],
        vec![0; 3],
        vec![],
    ];
    let commands = ["Provider1", "Client1"].map(|name| world.command(name, Duration::ZERO));
    for number in 0..60 {
        // For another key, and for the right one with payloads that say nothing.
        let key = if number % 2 == 0 { "Client2" } else { "Client1" };
        let packet = world.packet_with(&["Provider1", key], &commands, &junk[number % junk.len()]);
        assert_eq!(world.inject("Provider1", &packet), Ok(()));
    }
    world.start("Client1");
    world.send("Client2", "Client1", "behind all that");
    world.run(seconds(120));
    assert_eq!(world.texts("Client1"), ["behind all that"]);
    let left = stored_for(&mut world, "Provider1", "Client1").len();
    assert!(left < 20, "{left}");
}

#[test]
fn packets_that_are_never_confirmed_keep_no_mail_back() {
    let mut world = World::new(Profile::Hardened, 2, 59).start_all();
    world.run(seconds(5));
    let commands = ["Provider1", "Client1"].map(|name| world.command(name, Duration::ZERO));
    for number in 0..40 {
        let packet = world.packet_with(&["Provider1", "Client2"], &commands, &[number; 33]);
        assert_eq!(world.inject("Provider1", &packet), Ok(()));
    }
    world.send("Client2", "Client1", "behind all that");
    // The stranger fills the list of what the client cannot open, so that it never names what lies
    // in the mailbox.
    for _ in 0..120 {
        for _ in 0..64 {
            let junk = world.packet(&["Client2"], b"no mail");
            let _ = world.inject("Client1", &junk);
        }
        world.run(Duration::from_millis(500));
    }
    assert_eq!(world.texts("Client1"), ["behind all that"]);
}

/// A stranger sends a client again and again what he has seen on the way to it.
#[test]
fn repeated_packets_keep_no_confirmation_back() {
    let mut world = World::new(Profile::Hardened, 2, 60).start_all();
    world.run(seconds(120));
    let seen: Vec<_> =
        world.seen("Provider1", Some("Client1")).iter().map(|sight| sight.bytes.clone()).collect();
    assert!(seen.len() > 200, "{}", seen.len());
    for number in 0..10 {
        world.send("Client2", "Client1", &format!("{number}"));
    }
    let mut again = seen.iter().cycle();
    for _ in 0..240 {
        for packet in again.by_ref().take(100) {
            let _ = world.inject("Client1", packet);
        }
        world.run(Duration::from_millis(500));
    }
    assert_eq!(world.texts("Client1").len(), 10);
    let left = stored_for(&mut world, "Provider1", "Client1").len();
    assert!(left < 40, "{left}");
}

#[test]
fn a_pull_brings_no_more_than_the_next_one_can_confirm() {
    let mut world = World::new(Profile::Hardened, 2, 61);
    world.rates.max_retrieve = 400;
    let mut world = world.start_all();
    world.run(seconds(5));
    world.nodes.remove("Client1");
    let commands = ["Provider1", "Client1"].map(|name| world.command(name, Duration::ZERO));
    let drop = Payload::Drop.encode();
    for _ in 0..90 {
        let packet = world.packet_with(&["Provider1", "Client1"], &commands, &drop);
        assert_eq!(world.inject("Provider1", &packet), Ok(()));
    }
    let before = world.seen("Provider1", Some("Client1")).len();
    world.start("Client1");
    let pulled =
        |(name, event): &&(String, ClientEvent)| name == "Client1" && matches!(event, ClientEvent::Pulled);
    let pulls = world.events.iter().filter(pulled).count();
    while world.events.iter().filter(pulled).count() < pulls + 4 {
        world.run(Duration::from_millis(500));
    }
    let brought = world.seen("Provider1", Some("Client1")).len() - before;
    assert!(brought <= 5 * 64, "{brought}");
    world.run(seconds(10));
    let left = stored_for(&mut world, "Provider1", "Client1").len();
    assert!(left < 20, "{left}");
}

#[test]
fn a_message_that_was_not_made_safe_comes_again_after_a_kill_and_is_known_by_its_name() {
    let mut world = World::new(Profile::Hardened, 2, 51).start_all();
    world.confirm = false;
    world.send("Client1", "Client2", "once");
    world.run(seconds(20));
    let first = world.received.first().expect("it arrived").1.clone();
    assert_eq!(world.texts("Client2"), ["once"], "in one process it is shown once, however often it is sent");
    world.received.clear();
    world.confirm = true;
    world.start("Client2");
    // The sender is gone: it is the provider that still has the message.
    world.nodes.remove("Client1");
    world.run(seconds(40));
    assert_eq!(world.texts("Client2"), ["once"]);
    assert_eq!(world.received[0].1.id, first.id);
    let names: Vec<_> = stored_for(&mut world, "Provider2", "Client2");
    assert!(names.len() < 20, "{}", names.len());
}

#[test]
fn in_the_originals_profiles_a_pulled_message_that_is_lost_stays_lost() {
    for profile in COMPATIBLE {
        let mut world = World::new(profile, 2, 52).start_all();
        world.run(seconds(3));
        world.nodes.remove("Client2");
        world.send("Client1", "Client2", "too late");
        world.run(seconds(20));
        assert!(!stored_for(&mut world, "Provider2", "Client2").is_empty(), "{profile}");
        // Anybody can ask for a user's mail, and it goes to where the user is not: weaknesses 8 and
        // 27 stay.
        let pull = Control::Pull { name: "Client2".into() }.datagram();
        for _ in 0..10 {
            world.inject("Provider2", &pull).unwrap();
            world.run(seconds(1));
        }
        world.start("Client2");
        world.run(seconds(20));
        assert!(world.texts("Client2").is_empty(), "{profile}");
    }
}

#[test]
fn mail_that_found_no_room_on_its_way_out_leaves_later() {
    for profile in COMPATIBLE {
        let mut world = World::new(profile, 2, 53);
        world.limits.queue = 3;
        let mut world = world.start_all();
        world.run(seconds(1));
        let payload = world.text_for("Client1", b"one of five");
        world.nodes.remove("Client1");
        for _ in 0..5 {
            let packet = world.packet(&["Provider1", "Client1"], &payload);
            world.inject("Provider1", &packet).unwrap();
        }
        let waiting = stored_for(&mut world, "Provider1", "Client1").len();
        let pull = Control::Pull { name: "Client1".into() }.datagram();
        assert_eq!(world.inject("Provider1", &pull), Err(DropReason::QueueFull), "{profile}");
        for _ in 0..waiting.div_ceil(3) {
            let _ = world.inject("Provider1", &pull);
        }
        assert!(stored_for(&mut world, "Provider1", "Client1").is_empty(), "{profile}");
    }
}

#[test]
fn a_full_mailbox_refuses_and_other_users_do_not_notice() {
    for profile in PROFILES {
        let mut world = World::new(profile, 3, 54).start_all();
        world.run(seconds(3));
        world.nodes.remove("Client3");
        let waiting = stored_for(&mut world, "Provider1", "Client3").len();
        for number in waiting..104 {
            let packet = world.packet(&["Provider1", "Client3"], b"");
            let outcome = world.inject("Provider1", &packet);
            assert_eq!(
                outcome,
                if number < 100 { Ok(()) } else { Err(DropReason::MailboxFull) },
                "{profile}"
            );
        }
        assert_eq!(world.counters("Provider1").dropped.mailbox_full, 4, "{profile}");
        world.send("Client2", "Client1", "not me");
        world.run(seconds(40));
        assert!(world.texts("Client1").contains(&"not me".to_owned()), "{profile}");
    }
}

#[test]
fn who_is_flooded_with_messages_can_still_say_something() {
    let mut world = World::new(Profile::Hardened, 2, 55).start_all();
    world.run(seconds(5));
    let mut surb = vec![0; SURB_LEN];
    surb[..29].copy_from_slice(&world.key("Provider1").compress());
    for number in 0..200_u8 {
        let message = Payload::Message { id: [number; 16], surb: surb.clone(), text: vec![number] };
        let packet = world.packet(&["Client1"], &message.encode());
        assert_eq!(world.inject("Client1", &packet), Ok(()));
    }
    world.send("Client1", "Client2", "help");
    world.run(seconds(40));
    assert_eq!(world.texts("Client2"), ["help"]);
}

#[test]
fn mail_for_users_who_never_subscribed_waits_for_them() {
    for profile in PROFILES {
        let mut world = quiet(profile, 56);
        let packet = world.packet(&["Provider1", "Client1"], b"");
        assert_eq!(world.inject("Provider1", &packet), Ok(()), "{profile}");
        assert!(world.seen("Provider1", Some("Client1")).iter().all(|sight| sight.bytes.len() < 1300));
        assert_eq!(
            world.provider("Provider1").mailboxes().oldest("Client1", 5).unwrap().len(),
            1,
            "{profile}"
        );
    }
}

#[test]
fn a_message_that_waits_is_not_stranded_when_the_directory_changes() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 57).start_all();
        world.run(seconds(5));
        for number in 0..5 {
            world.send("Client1", "Client2", &format!("{number}"));
        }
        world.take_away(&["Mix1", "Mix3", "Mix5"]);
        world.run(seconds(40));
        let mut texts = world.texts("Client2");
        texts.sort();
        assert_eq!(texts, ["0", "1", "2", "3", "4"], "{profile}");
    }
}

#[test]
fn a_user_with_another_key_subscribes_again() {
    for profile in PROFILES {
        let mut world = World::new(profile, 2, 58).start_all();
        world.run(seconds(10));
        world.change_key("Client2");
        world.start("Client2");
        world.run(seconds(5));
        assert_still_works(&mut world);
    }
}
