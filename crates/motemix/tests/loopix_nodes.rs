//! Stories of Loopix networks of real processes, in all three profiles.

mod program;
#[path = "loopix_nodes/world.rs"]
mod world;

use motemix_host::store::file;
use program::{motemix, wait_until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use world::World;

const PROFILES: [&str; 3] = ["ucl-2017", "fork-2018", "hardened"];
const HARDENED: &str = "hardened";

#[test]
fn messages_pass_both_ways() {
    for profile in PROFILES {
        let mut world = World::up(profile, &[]);
        for number in 0..5 {
            world.says("Client1", "Client2", &format!("there, {number}"));
            world.says("Client2", "Client1", &format!("and back, {number}"));
        }
        if profile == HARDENED {
            let client = world.node("Client1");
            wait_until("all is acknowledged", || client.heard("acknowledged").len() == 5);
        }
        wait_until("cover comes back", || world.counter("Mix2", "loops_returned") > 0);
        for name in ["Mix1", "Provider1", "Client1"] {
            let said = world.stop(name);
            let names: Vec<_> = said.iter().map(|event| event["event"].as_str().unwrap()).collect();
            assert_eq!(
                (names.first(), names.last()),
                (Some(&"ready"), Some(&"counters")),
                "{profile} {name}"
            );
            let counters = said.last().unwrap();
            assert!(counters["received"].as_u64().unwrap() > 0, "{profile} {name}: {counters}");
            assert_eq!(counters["dropped"]["bad_header_mac"], 0, "{profile} {name}: {counters}");
        }
    }
}

#[test]
fn each_message_is_queued_then_sent_then_acknowledged() {
    let mut world = World::up(HARDENED, &[]);
    world.says("Client1", "Client2", "in order");
    let client = world.node("Client1");
    wait_until("it is acknowledged", || !client.heard("acknowledged").is_empty());
    let about = client.all_heard().into_iter().filter(|event| event["number"] == 1);
    let events: Vec<_> = about.map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(events, ["queued", "sent", "acknowledged"]);
}

#[test]
fn a_provider_of_2018_or_hardened_may_push() {
    for profile in ["fork-2018", HARDENED] {
        let mut world = World::init(profile, &["--pull", "1h"]);
        for name in ["Mix1", "Mix2", "Mix3", "Client1", "Client2"] {
            world.start(name, &[]);
        }
        world.start("Provider1", &["--push"]);
        world.start("Provider2", &["--push"]);
        world.wait_until_ready();
        world.says("Client1", "Client2", "without waiting");
    }
}

#[test]
fn what_a_client_cannot_send_is_refused_with_the_reason() {
    for profile in PROFILES {
        let mut world = World::init(profile, &[]);
        world.start("Client1", &[]);
        world.wait_until_ready();
        let long = "x".repeat(1100);
        let client = world.node("Client1");
        for line in ["say hello", "send Nobody hello", &format!("send Client2 {long}"), "{\"to\": 1}"] {
            client.write(line);
        }
        wait_until("four refusals", || client.heard("refused").len() == 4);
        let heard = client.heard("refused");
        let mut reasons: Vec<_> = heard.iter().map(|event| event["reason"].as_str().unwrap()).collect();
        reasons.sort_unstable();
        assert_eq!(reasons, ["no such command", "no such command", "no such user", "too long"]);
        assert!(client.heard("queued").is_empty());
    }
}

#[test]
fn a_full_mailbox_is_counted_and_keeps_what_it_has() {
    for profile in PROFILES {
        let mut world = World::init(profile, &[]);
        for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Client1"] {
            world.start(name, &[]);
        }
        world.start("Provider2", &["--mailbox", "3"]);
        world.wait_until_ready();
        let client = world.node("Client1");
        for number in 0..8 {
            client.write(&format!("send Client2 {number}"));
        }
        wait_until("mail is refused", || world.counter("Provider2", "dropped_mailbox_full") >= 5);
        assert_eq!(world.counter("Provider2", "stored"), 3);
        world.start("Client2", &[]);
        let client = world.node("Client2");
        wait_until("what was kept arrives", || client.texts().len() >= 3);
        if profile == HARDENED {
            // Its sender tries again until there is room.
            wait_until("all arrives", || client.texts().len() == 8);
        }
    }
}

#[test]
fn what_was_queued_is_sent_by_the_next_process() {
    for profile in PROFILES {
        // Nothing leaves before the kill.
        let mut world = World::init(profile, &["--payload", "1h"]);
        world.start("Client1", &[]);
        world.wait_until_ready();
        let client = world.node("Client1");
        for number in 0..10 {
            client.write(&format!("send Client2 kept, {number}"));
        }
        wait_until("all is queued", || client.heard("queued").len() == 10);
        assert!(client.heard("sent").is_empty());
        world.kill("Client1");

        hurry(&world);
        for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client1", "Client2"] {
            world.start(name, &[]);
        }
        let client = world.node("Client2");
        wait_until("all arrives", || client.texts().len() == 10);
        let texts: BTreeSet<_> = client.texts().into_iter().collect();
        assert_eq!(texts, (0..10).map(|number| format!("kept, {number}")).collect());
    }
}

/// From now on clients may speak every 50 ms.
fn hurry(world: &World) {
    for node in fs::read_dir(world.dir.join("nodes")).unwrap() {
        let file = node.unwrap().path().join("config.json");
        let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        config["parametersClients"]["EXP_PARAMS_PAYLOAD"] = "0.05".into();
        fs::write(&file, config.to_string()).unwrap();
    }
}

#[test]
fn kills_anywhere_lose_nothing_that_a_hardened_client_accepted() {
    const MESSAGES: usize = 60;
    const VICTIMS: [&str; 6] = ["Mix2", "Provider2", "Client1", "Provider1", "Client2", "Provider2"];
    let mut world = World::up(HARDENED, &[]);
    let mut received = Vec::new();
    for (round, victim) in VICTIMS.iter().enumerate() {
        let texts =
            (round * MESSAGES / 6..(round + 1) * MESSAGES / 6).map(|number| format!("message {number}"));
        let client = world.node("Client1");
        let before = client.heard("queued").len();
        for text in texts {
            client.write(&format!("send Client2 {text}"));
        }
        wait_until("they are queued", || client.heard("queued").len() == before + MESSAGES / 6);
        // Some of them are somewhere on their way now.
        let receiver = world.node("Client2");
        let (so_far, known) = (receiver.texts().len(), received.len());
        wait_until("something arrives", || receiver.texts().len() > so_far || known + so_far >= MESSAGES);
        if *victim == "Client2" {
            received.extend(world.node("Client2").texts());
        }
        world.kill(victim);
        world.start(victim, &[]);
    }
    let receiver = world.node("Client2");
    // What a killed client had on disk, and had no time to say, counts as well.
    let inbox = || inbox(&receiver_file);
    let all: BTreeSet<_> = (0..MESSAGES).map(|number| format!("message {number}")).collect();
    let _ = (&inbox, &all, receiver);
}
