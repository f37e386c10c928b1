//! Every command, every answer, and every refusal with what to do about it.

use std::time::Duration;

use motemix_directory::{ProfileName, Role, UnixTime};

use crate::board::{Chip, NODES};
use crate::world::{LIFETIME, Listed, NOON, Terms, World, authority, hex, name};

fn alone(seed: u64) -> World {
    World::with(vec![Chip::new()], seed)
}

/// So many nodes that nobody is, in a network with this board.
fn with_others(me: Listed, others: usize) -> Vec<Listed> {
    let strangers = (1..=others).map(|other| Listed {
        name: name(other),
        role: Role::Mix { layer: 0 },
        address: format!("[fe80::{other}]:61616").parse().unwrap(),
        key: [other as u8 + 8; 32],
    });
    std::iter::once(me).chain(strangers).collect()
}

/// Errors say what is wrong and what to do; here the whole line is known.
fn refused(world: &mut World, line: &str, error: &str) {
    assert_eq!(world.say(0, line), format!("error: {error}\n"), "after `{line}`");
}

#[test]
fn help_names_every_command_standing_and_running() {
    let mut world = World::running(3, &Terms::default(), 20);
    let running = world.say(0, "help");
    assert_eq!(world.say(0, "?"), running);
    world.say(0, "stop");
    assert_eq!(world.say(0, "help"), running);
    for command in [
        "key",
        "trust",
        "time",
        "document begin",
        "document end",
        "network",
        "start",
        "stop",
        "send",
        "inbox",
        "status",
    ] {
        assert!(running.lines().any(|line| line.starts_with(command)), "{command} is missing in {running}");
    }
}

#[test]
fn what_is_no_command_is_refused_with_its_usage() {
    let mut world = alone(21);
    let unknown = "there is no such command; `help` lists them";
    let trust = "usage: trust K KEY..., trust K and KEY..., 1 to 4 keys of 64 hex digits in all";
    let key = "ab".repeat(32);
    for (line, error) in [
        ("sned mote-1 x", unknown),
        // Without that character, it would be sent.
        ("send mote-1 caf\u{e9}", "only printable ASCII is read; type the line again"),
        ("key", "usage: key EPOCH"),
        ("key -1", "usage: key EPOCH"),
        ("key 4294967296", "usage: key EPOCH"),
        ("time", "usage: time SECONDS, since 1970"),
        ("time noon", "usage: time SECONDS, since 1970"),
        ("document", "usage: document begin, document HEX, document end"),
        ("trust", trust),
        (&format!("trust 2 {key}"), trust),
        // Nobody is trusted yet whom this one could join.
        (&format!("trust 2 and {key}"), trust),
        ("trust 1 and", trust),
        ("network now", "usage: network"),
        ("start now", "usage: start"),
        ("stop now", "usage: stop"),
        ("send", "usage: send NAME TEXT"),
        ("send mote-1", "usage: send NAME TEXT"),
        ("inbox 1", "usage: inbox"),
        ("status all", "usage: status"),
        (&"x".repeat(161), "the line is too long and was not read"),
    ] {
        refused(&mut world, line, error);
    }
}

#[test]
fn a_stopped_mote_answers_what_needs_no_node() {
    let mut world = alone(22);
    assert_eq!(world.say(0, "status"), "the node is stopped\n");
    assert_eq!(world.say(0, "stop"), "ok\n");
    assert_eq!(world.say(0, "inbox"), "ok 0 messages\n");
    refused(&mut world, "send mote-1 hello", "the node does not run; `start` runs it");
}

#[test]
fn a_running_mote_refuses_what_needs_it_stopped() {
    let mut world = World::running(3, &Terms::default(), 23);
    let key = "ab".repeat(32);
    let lines = ["time 5", "network"];
    for line in lines.into_iter().chain([format!("trust 1 {key}").as_str()]) {
        refused(&mut world, line, "the node runs; `stop` it first");
    }
    refused(&mut world, "document 00", "a document begins with `document begin`");
    refused(&mut world, "document end", "a document begins with `document begin`");
    assert!(world.say(0, "key 8").starts_with("address "), "for the next document");
    assert_eq!(world.say(0, "start"), "ok\n");
    refused(&mut world, "send pond hello", "the network has no node pond; `stop` and `network` list them");
    refused(&mut world, "send mote-0 hello", "the receiver is no other node of the network document");
    refused(&mut world, "sned", "there is no such command; `help` lists them");
    refused(&mut world, &"x".repeat(161), "the line is too long and was not read");
    assert_eq!(world.say(0, "stop"), "ok\n");
    assert_eq!(world.say(0, "status"), "the node is stopped\n");
}

#[test]
fn a_message_is_as_long_as_a_packet_carries() {
    let mut world = World::running(3, &Terms::default(), 24);
    // Two refused messages use up a number each.
    for len in [102, 127, 146] {
        let line = format!("send mote-1 {}", "x".repeat(len));
        refused(&mut world, &line, "the message is too long; the network carries 103 bytes");
    }
    let longest = "y".repeat(101);
    assert_eq!(world.send(0, 1, &longest), 3, "`3 ` and 101 characters are 103");
    world.seconds(10);
    assert_eq!(world.inbox(1), [format!("3 {longest}")]);
}

#[test]
fn as_many_messages_wait_as_there_is_room_for() {
    let mut world = World::running(3, &Terms::default(), 25);
    for _ in 0..3 {
        world.send(0, 1, "wait");
    }
    let full = "as many messages are in flight as there is room for; wait for one to end";
    refused(&mut world, "send mote-1 more", full);
    world.seconds(60);
    world.exchange(0, 1, "room again");
}

#[test]
fn a_message_that_nobody_acknowledges_is_discarded() {
    let mut world = World::running(3, &Terms::default(), 26);
    world.switch_off(1);
    world.send(0, 1, "hello");
    world.seconds(600);
    assert_eq!(world.printed(0), "discarded 0 after tries 6\n");
    world.switch_off(2);
    world.restart(0);
    world.send(0, 1, "hello");
    world.seconds(600);
    assert_eq!(world.printed(0), "discarded 0 after tries 6\n", "the first hop is not there either");
    assert!(world.say(0, "status").contains(" given up\n"));
}

#[test]
fn no_document_is_kept_or_used_before_clock_trust_and_document_are_there() {
    let mut world = alone(27);
    let nodes = with_others(world.enlist(0, 7), 2);
    let document = Terms::default().sign(&nodes);
    let no_clock = "error: the clock is not set; see `help` for `time`\n";
    let no_trust = "error: no authority is trusted yet; see `help` for `trust`\n";
    let no_document = "error: there is no network document yet; see `help` for `document`\n";
    assert_eq!(world.say(0, "start"), no_clock);
    assert_eq!(world.give(0, &document), no_clock);
    world.set_clock(0);
    assert_eq!(world.say(0, "start"), no_trust);
    assert_eq!(world.say(0, "network"), no_trust);
    assert_eq!(world.give(0, &document), no_trust);
    world.trust(0, 1);
    assert_eq!(world.say(0, "start"), no_document);
    assert_eq!(world.say(0, "network"), no_document);
    assert_eq!(world.give(0, &document), "ok epoch 7, 3 nodes\n");
    assert_eq!(world.say(0, "start"), "ok\n");
}

#[test]
fn a_document_is_for_its_time() {
    let mut world = alone(28);
    let nodes = with_others(world.enlist(0, 7), 2);
    world.trust(0, 1);
    world.set_clock(0);
    let early = Terms { valid_after: NOON + 1000, ..Terms::default() }.sign(&nodes);
    let begins = UnixTime(NOON + 1000);
    let said = world.give(0, &early);
    assert!(said.starts_with(&format!("error: valid from {begins} on, and it is 20")), "{said}");
    assert!(said.contains("check the clock"), "{said}");
    let late = Terms { valid_after: NOON - LIFETIME, ..Terms::default() }.sign(&nodes);
    let said = world.give(0, &late);
    assert!(said.starts_with("error: expired at ") && said.contains("check the clock"), "{said}");
    assert_eq!(world.give(0, &Terms::default().sign(&nodes)), "ok epoch 7, 3 nodes\n");
    let older = Terms { epoch: 6, ..Terms::default() }.sign(&nodes);
    let said = world.give(0, &older);
    assert!(said.starts_with("error: the key of epoch 6 is gone"), "{said}");
    assert_eq!(world.say(0, "start"), "ok\n", "the right one is still there");
    world.say(0, "stop");
    // Now that its epoch has begun, it is the newest one.
    let expected = "error: epoch 6 is older than 7, seen before; fetch the newest document\n";
    assert_eq!(world.give(0, &older), expected);
    assert_eq!(world.say(0, "start"), "ok\n", "and is there again");
}

#[test]
fn a_document_by_others_or_damaged_takes_the_place_of_none() {
    let mut world = alone(29);
    let nodes = with_others(world.enlist(0, 7), 2);
    world.trust(0, 1);
    world.set_clock(0);
    let right = Terms::default().sign(&nodes);
    assert_eq!(world.give(0, &right), "ok epoch 7, 3 nodes\n");
    let by_others = Terms { signer: 2, ..Terms::default() }.sign(&nodes);
    let said = world.give(0, &by_others);
    let needed = "error: 0 of 1 signatures needed are valid, 0 by known authorities are not; check the authorities' keys";
    assert!(said.starts_with(needed), "{said}");
    let mut damaged = right.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let said = world.give(0, &damaged);
    assert!(said.starts_with("error: 0 of 1 signatures needed are valid"), "{said}");
    let said = world.give(0, &right[..middle]);
    assert!(said.starts_with("error: ") && said.contains("fetch the document again"), "{said}");
    let hosts = Terms { profile: ProfileName::Host1k, ..Terms::default() }.sign(&nodes);
    let profile = "error: the network's packets are not those of motes; it needs the profile `mote`\n";
    assert_eq!(world.give(0, &hosts), profile);
    assert_eq!(world.say(0, "start"), "ok\n", "the right one is still there");
    world.say(0, "stop");
    world.trust(0, 2);
    let said = world.say(0, "start");
    assert!(said.starts_with("error: 0 of 1 signatures"), "trust has changed: {said}");
    // A point of small order, erased flash, a point of small order written in another way, the
    // prime itself.
    let above = |low: &str| format!("{low}{}7f", "ff".repeat(30));
    for bad in ["00".repeat(32), "ff".repeat(32), above("ee"), above("ed"), above("f0")] {
        let said = world.say(0, &format!("trust 1 {bad}"));
        assert_eq!(said, "error: an authority's key is none; give `trust` the right ones\n", "{bad}");
    }
}

#[test]
fn a_node_that_is_not_in_the_document_keeps_none_and_does_not_start() {
    let mut world = alone(30);
    let mut nodes = with_others(world.enlist(0, 7), 3);
    let me = nodes.remove(0);
    world.trust(0, 1);
    world.set_clock(0);
    let not_in = "error: this node's key is not in it; give the authority what `key EPOCH` prints\n";
    assert_eq!(world.give(0, &Terms::default().sign(&nodes)), not_in);
    refused(&mut world, "start", "there is no network document yet; see `help` for `document`");
    assert_eq!(world.give(0, &Terms::default().sign(&with_others(me, 2))), "ok epoch 7, 3 nodes\n");
    assert_eq!(world.give(0, &Terms::default().sign(&nodes)), not_in);
    assert_eq!(world.say(0, "start"), "ok\n", "the right one is still there");
}

#[test]
fn a_network_with_more_nodes_than_the_board_has_room_for_is_refused_at_the_start() {
    let mut world = alone(31);
    let me = world.enlist(0, 7);
    world.trust(0, 1);
    world.set_clock(0);
    let document = Terms::default().sign(&with_others(me.clone(), NODES));
    assert_eq!(world.give(0, &document), "ok epoch 7, 7 nodes\n");
    refused(&mut world, "start", "the network has 7 nodes and this board has room for 6");
    let document = Terms::default().sign(&with_others(me, NODES - 1));
    assert_eq!(world.give(0, &document), "ok epoch 7, 6 nodes\n");
    assert_eq!(world.say(0, "start"), "ok\n");
    refused(&mut world, "send mote-6 x", "the network has no node mote-6; `stop` and `network` list them");
}

#[test]
fn a_network_too_small_for_its_paths_is_said_to_be_so() {
    let mut world = alone(32);
    let nodes = with_others(world.enlist(0, 7), 1);
    world.trust(0, 1);
    world.set_clock(0);
    assert_eq!(world.give(0, &Terms::default().sign(&nodes)), "ok epoch 7, 2 nodes\n");
    assert_eq!(world.say(0, "start"), "ok\n");
    let too_few = "the network has too few mixes besides the two ends; add mixes or use fewer hops";
    refused(&mut world, "send mote-1 x", too_few);
}

#[test]
fn the_network_is_printed_with_roles_and_addresses() {
    let mut world = alone(33);
    let mut nodes = with_others(world.enlist(0, 7), 2);
    nodes[1].role = Role::Endpoint;
    nodes[2].address = "192.0.2.1:4000".parse().unwrap();
    let me = nodes[0].address.ip();
    world.trust(0, 1);
    world.set_clock(0);
    world.give(0, &Terms::default().sign(&nodes));
    let expected = format!(
        "network pond, epoch 7\n0 mote-0 mix, layer 0\n  {me}, this node\n1 mote-1 endpoint\n  fe80::1\n\
         2 mote-2 mix, layer 0\n  not on the radio\nok 3 nodes\n"
    );
    assert_eq!(world.say(0, "network"), expected);
}

#[test]
fn pieces_of_a_document_are_hex_digits_in_order() {
    let mut world = alone(34);
    let begin = "error: a document begins with `document begin`\n";
    assert_eq!(world.say(0, "document 00"), begin);
    assert_eq!(world.say(0, "document end"), begin);
    for bad in ["0", "0g", "zz"] {
        assert_eq!(world.say(0, "document begin"), "ok\n");
        let said = world.say(0, &format!("document {bad}"));
        assert_eq!(said, "error: not hex digits in pairs, or more than 1024 bytes in all; begin again\n");
        assert_eq!(world.say(0, "document 00"), begin);
    }
    assert_eq!(world.say(0, "document begin"), "ok\n");
    for piece in 1..=16 {
        let said = world.say(0, &format!("document {}", "00".repeat(64)));
        assert_eq!(said, format!("ok {}\n", piece * 64));
    }
    assert!(world.say(0, "document 00").ends_with("more than 1024 bytes in all; begin again\n"));
}

#[test]
fn a_document_that_is_being_given_is_not_overwritten_by_other_commands() {
    let mut world = World::running(3, &Terms::default(), 35);
    world.send(1, 0, "for the inbox");
    world.seconds(10);
    world.say(0, "stop");
    let nodes = world.list_stopped(0, 8);
    let next = Terms { epoch: 8, ..Terms::default() }.sign(&nodes);
    let (first, second) = next.split_at(64);
    let busy = "error: a network document is being given; end it with `document end` first\n";
    assert_eq!(world.say(0, "document begin"), "ok\n");
    assert_eq!(world.say(0, &format!("document {}", hex(first))), "ok 64\n");
    for command in ["inbox", "network", "start"] {
        assert_eq!(world.say(0, command), busy);
    }
    let said = world.say(0, "key 8");
    assert!(said.starts_with("address "), "{said}");
    for piece in second.chunks(64) {
        world.say(0, &format!("document {}", hex(piece)));
    }
    assert_eq!(world.say(0, "document end"), "ok epoch 8, 3 nodes\n");
    assert_eq!(world.inbox(0), ["0 for the inbox"]);
}

#[test]
fn two_of_three_authorities_have_to_sign() {
    let mut world = alone(36);
    let nodes = with_others(world.enlist(0, 7), 2);
    world.set_clock(0);
    let keys: Vec<_> = (1..3).map(|number| hex(&authority(number).public_key().to_bytes())).collect();
    // Two keys are longer than a line: the console takes what fits.
    let line = format!("trust 2 {} {}", keys[0], keys[1]);
    assert!(line.len() <= 160);
    assert_eq!(world.say(0, &line), "ok\n");
    let said = world.give(0, &Terms::default().sign(&nodes));
    assert!(said.starts_with("error: 1 of 2 signatures needed are valid"), "{said}");
}

#[test]
fn four_authorities_are_typed_in_one_line_each() {
    let mut world = alone(38);
    let nodes = with_others(world.enlist(0, 7), 2);
    world.set_clock(0);
    let keys: Vec<_> = (1..6).map(|number| hex(&authority(number).public_key().to_bytes())).collect();
    assert_eq!(world.say(0, &format!("trust 1 {}", keys[4])), "ok\n");
    // Those before are not trusted any more.
    assert_eq!(world.say(0, &format!("trust 1 {}", keys[3])), "ok\n");
    for (threshold, key) in [(2, &keys[2]), (2, &keys[1]), (4, &keys[0])] {
        let said = world.say(0, &format!("trust {threshold} and {key}"));
        assert_eq!(said, "ok\n");
    }
    let said = world.say(0, &format!("trust 4 and {}", keys[4]));
    assert!(said.starts_with("error: usage: trust K KEY"), "{said}");
    // After a restart as well.
    world.switch_off(0);
    world.switch_on(0);
    world.set_clock(0);
    let said = world.give(0, &Terms::default().sign(&nodes));
    assert!(said.starts_with("error: 1 of 4 signatures needed are valid"), "{said}");
}

#[test]
fn an_authority_that_is_trusted_already_joins_nobody() {
    let mut world = alone(39);
    let nodes = with_others(world.enlist(0, 7), 2);
    world.set_clock(0);
    let key = hex(&authority(1).public_key().to_bytes());
    assert_eq!(world.say(0, &format!("trust 1 {key}")), "ok\n");
    let said = world.say(0, &format!("trust 2 and {key}"));
    assert_eq!(said, "error: an authority's key is none; give `trust` the right ones\n");
    let said = world.give(0, &Terms::default().sign(&nodes));
    assert!(said.starts_with("ok epoch 7"), "{said}");
}

#[test]
fn the_end_of_all_time_is_a_time() {
    let mut world = World::running(3, &Terms::default(), 37);
    world.say(0, "stop");
    for time in [u64::MAX, u64::MAX - 1, 0] {
        assert_eq!(world.say(0, &format!("time {time}")), "ok\n");
        world.run(Duration::from_secs(3));
        let said = world.say(0, "start");
        assert!(said.starts_with("error: ") && said.contains("check the clock"), "{said}");
    }
    world.set_clock(0);
    assert_eq!(world.say(0, "start"), "ok\n");
}

#[test]
fn no_line_makes_a_board_hash_for_seconds() {
    let mut world = World::with(vec![Chip::new(); 1], 29);
    world.enlist(0, 100);
    // The ratchet is at epoch 100 from now on.
    let most = 100 + motemix_mote::RATCHET_STEPS;
    world.enlist(0, most);
    let far = "the key is derived up to epoch 1124 for now; ask for an earlier one, check the clock";
    refused(&mut world, &format!("key {}", most + 1), far);
    refused(&mut world, "key 1000100", far);
    refused(&mut world, "key 4294967295", far);
}

#[test]
fn a_mote_that_was_off_for_long_catches_up_in_steps() {
    let mut world = World::running(3, &Terms::default(), 28);
    let far = Terms { epoch: 3000, ..Terms::default() };
    world.say(0, "stop");
    // What the authority would have of it cannot be asked for at once.
    assert!(world.say(0, "key 3000").contains("up to epoch 1031"));
    let nodes = world.list_stopped(0, 8);
    let document = far.sign(&nodes);
    let flash = world.boards[0].chip.bytes();
    assert_eq!(world.give(0, &document), part_of_the_way(1031));
    assert_eq!(world.say(0, "document end"), part_of_the_way(2055));
    // It is there now, and the document has its key of epoch 8.
    let not_in = "error: this node's key is not in it; give the authority what `key EPOCH` prints\n";
    assert_eq!(world.say(0, "document end"), not_in);
    let nodes = world.list_stopped(0, 3000);
    assert!(world.boards[0].chip.bytes() == flash, "something was written for a document that was refused");
    // With its key it is kept, and the way is the same after a power cut: the epoch has not begun.
    assert_eq!(world.give(0, &far.sign(&nodes)), "ok epoch 3000, 3 nodes\n");
    assert!(world.say(0, "key 7").starts_with("address "));
    world.switch_off(0);
    world.switch_on(0);
    world.set_clock(0);
    assert!(world.say(0, "key 7").starts_with("address "));
    assert_eq!(world.say(0, "start"), part_of_the_way(1031));
    assert_eq!(world.say(0, "start"), part_of_the_way(2055));
    assert_eq!(world.say(0, "start"), "ok\n");
    let said = world.say(0, "key 2999");
    assert!(said.starts_with("error: the key of epoch 2999 is gone"), "{said}");
    world.restart(0);
}

fn part_of_the_way(to: u32) -> String {
    format!(
        "error: the key was derived up to epoch {to}, which is part of the way; give this command again\n"
    )
}
