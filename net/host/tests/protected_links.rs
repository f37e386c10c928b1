//! Nodes whose network document says that links are protected, and somebody on the wires between
//! them, who hears everything in both directions, and may lose, repeat, hold back and alter it.

mod loopback;
#[path = "protected_links/wires.rs"]
mod wires;

use std::collections::HashSet;
use std::time::Duration;

use loopback::{FIRST_EPOCH, MIX, NAMES, Network, RECEIVER, Running, SENDER, eventually, now, parameters};
use motemix_directory::Parameters;
use motemix_host::control::Response;
use motemix_host::health::{Concern, State};
use wires::{SEED, Seen, Wires};

/// A protected packet of the profile, and everything else that passes.
const DATAGRAM: usize = 280 + 16;
const HANDSHAKE: u8 = 1;
const PROTECTED: u8 = 2;

fn protected() -> Parameters {
    let mut parameters = parameters();
    parameters.protected_links = true;
    parameters
}

fn start(network: &Network, wires: &Wires, index: usize) -> Running {
    loopback::start(network.config_with(index, |config| config.listen = vec![wires.behind(index)]))
}

fn start_all(network: &Network, wires: &Wires) -> Vec<Running> {
    (0..NAMES.len()).map(|index| start(network, wires, index)).collect()
}

fn network_with(parameters: Parameters) -> (Network, Wires) {
    let mut network = Network::new();
    let wires = Wires::new(NAMES.len());
    network.addresses = wires.addresses();
    let now = now();
    network.publish(FIRST_EPOCH, now - 10, now + 3600, parameters);
    (network, wires)
}

fn counter(node: &Running, name: &str) -> u64 {
    node.status().counters[name]
}

fn all_are_acknowledged(nodes: &[Running], count: u8) {
    for number in 0..count {
        let answer = nodes[SENDER].send(&[number; 40]);
        assert!(matches!(answer, Response::Acknowledged { .. }), "{answer:?}");
    }
}

fn wait_for(what: &str, holds: impl FnMut() -> bool) {
    assert!(eventually(Duration::from_mins(3), holds), "{what}");
}

#[test]
fn whoever_is_on_the_wires_sees_datagrams_of_one_length_and_no_packet() {
    let (network, wires) = network_with(protected());
    let nodes = start_all(&network, &wires);
    all_are_acknowledged(&nodes, 20);
    let seen = wires.seen();
    for Seen { from, to, bytes } in &seen {
        assert_eq!(bytes.len(), DATAGRAM, "from {from} to {to}");
        assert!([HANDSHAKE, PROTECTED].contains(&bytes[0]), "from {from} to {to}");
    }
    let directions: HashSet<_> = seen.iter().map(|seen| (seen.from, seen.to)).collect();
    assert!(directions.iter().all(|(from, to)| directions.contains(&(*to, *from))), "{directions:?}");
    // Numbers of one direction differ, so no nonce was used twice: there is one key for each pair.
    let numbers = seen.iter().filter(|seen| seen.bytes[0] == PROTECTED);
    let numbers: Vec<_> = numbers.map(|seen| (seen.from, seen.to, seen.bytes[1..5].to_vec())).collect();
    assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
    let keys: u64 = nodes.iter().map(|node| counter(node, "link_keys")).sum();
    // Two that call each other at once may make two, of which both use the same one.
    assert!(
        (directions.len()..=2 * directions.len()).contains(&(keys as usize)),
        "each side has one: {keys}"
    );
    assert_eq!(counter(&nodes[SENDER], "link_neighbours"), 5);
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn forged_repeated_and_foreign_datagrams_are_counted_and_change_nothing() {
    let (network, wires) = network_with(protected());
    let nodes = start_all(&network, &wires);
    all_are_acknowledged(&nodes, 5);
    let delivered = counter(&nodes[RECEIVER], "delivered");
    let of_receiver = wires.seen().into_iter().filter(|seen| seen.to == RECEIVER);
    let recorded: Vec<_> = of_receiver.filter(|seen| seen.bytes[0] == PROTECTED).collect();
    assert!(recorded.len() >= 5);
    for seen in &recorded {
        wires.inject(seen.from, RECEIVER, &seen.bytes);
        let mut forged = seen.bytes.clone();
        forged[100] ^= 1;
        wires.inject(seen.from, RECEIVER, &forged);
        // It has an address that no document has.
        wires.inject_from_a_stranger(RECEIVER, &seen.bytes);
    }
    let count = recorded.len() as u64;
    for (reason, least) in [("repeated_frame", count), ("forged", count), ("stranger", count)] {
        wait_for(reason, || counter(&nodes[RECEIVER], &format!("link_dropped_{reason}")) >= least);
    }
    assert_eq!(counter(&nodes[RECEIVER], "delivered"), delivered);
    assert_eq!(counter(&nodes[RECEIVER], "dropped_replayed"), 0, "none came as far as that");
    all_are_acknowledged(&nodes, 5);
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_node_that_was_started_again_makes_new_keys_and_its_neighbours_go_on() {
    let (network, wires) = network_with(protected());
    let mut nodes = start_all(&network, &wires);
    all_are_acknowledged(&nodes, 5);
    for index in [RECEIVER, MIX] {
        nodes.remove(index).stop();
        nodes.insert(index, start(&network, &wires, index));
        all_are_acknowledged(&nodes, 5);
    }
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn over_wires_that_lose_repeat_and_reorder_each_message_arrives_once_or_is_told_to_have_failed() {
    let mut patient = protected();
    patient.transmissions = 12;
    patient.hop_allowance = Duration::from_millis(100);
    let (network, wires) = network_with(patient);
    println!("seed {SEED}");
    wires.lose(0.2);
    wires.repeat(0.1);
    wires.hold_back(0.1);
    let nodes = start_all(&network, &wires);
    for number in 0..15 {
        assert!(nodes[SENDER].takes(&format!("message {number}")));
    }
    let ended = |name| counter(&nodes[SENDER], name);
    wait_for("each is acknowledged or given up", || ended("acknowledged") + ended("discarded") == 15);
    let inbox = nodes[RECEIVER].inbox();
    assert_eq!(inbox.iter().collect::<HashSet<_>>().len(), inbox.len(), "each once");
    assert!(inbox.len() as u64 >= ended("acknowledged"), "what is acknowledged has arrived");
    assert!(ended("acknowledged") >= 8, "{} of 15", ended("acknowledged"));
    nodes.into_iter().for_each(Running::stop);
}

/// As an earlier version, or one with another document, would be.
#[test]
fn a_neighbour_that_protects_nothing_is_not_heard_and_the_operator_is_told() {
    let (network, wires) = network_with(parameters());
    let (plain, documents) = (network.path("plain"), network.path("documents"));
    std::fs::create_dir(&plain).expect("a folder");
    let file = format!("{FIRST_EPOCH}.cbor");
    std::fs::copy(documents.join(&file), plain.join(&file)).expect("a copy");
    let now = now();
    network.publish(FIRST_EPOCH, now - 10, now + 3600, protected());
    let old = loopback::start(network.config_with(SENDER, |config| {
        config.listen = vec![wires.behind(SENDER)];
        config.documents = plain;
    }));
    let nodes: Vec<_> = (0..SENDER).map(|index| start(&network, &wires, index)).collect();
    assert!(old.takes("nobody hears this"));
    let told = "1 of 5 neighbours send packets without protection";
    let says = |node: &Running| node.status().health.reasons.iter().any(|it| it.words.contains(told));
    // Its first hops: the mixes of the first layer.
    let mixes = &nodes[..2];
    wait_for("whoever it sends to says so", || mixes.iter().any(says));
    let dropped: u64 = mixes.iter().map(|mix| counter(mix, "link_dropped_unprotected")).sum();
    assert!(dropped > 0);
    assert_eq!(counter(&nodes[RECEIVER], "delivered"), 0);
    // With this network's document it is a neighbour as the others.
    old.stop();
    let new = start(&network, &wires, SENDER);
    assert!(new.is_acknowledged("all hear this"));
    wait_for("it is well again", || !mixes.iter().any(says));
    nodes.into_iter().chain([new]).for_each(Running::stop);
}

#[test]
fn packets_forged_without_protection_in_a_neighbours_name_worry_nobody() {
    let (network, wires) = network_with(protected());
    let nodes = start_all(&network, &wires);
    all_are_acknowledged(&nodes, 2);
    wait_for("there are keys with all", || counter(&nodes[MIX], "link_neighbours_with_key") == 5);
    wires.inject(SENDER, MIX, &[0; 280]);
    wait_for("it is counted", || counter(&nodes[MIX], "link_dropped_unprotected") == 1);
    // Health is looked at every second.
    std::thread::sleep(Duration::from_secs(3));
    let health = nodes[MIX].status().health;
    assert_eq!(health.of_concern(Concern::Link), State::Ok, "{}", health.text());
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_neighbour_that_does_not_answer_is_told_and_holds_up_no_other() {
    let (network, wires) = network_with(protected());
    // All but one mix of the first layer.
    let nodes: Vec<_> = (0..NAMES.len()).filter(|index| *index != MIX).collect();
    let nodes: Vec<_> = nodes.into_iter().map(|index| start(&network, &wires, index)).collect();
    let sender = nodes.last().expect("the sender");
    let answer = (0..4_u8).map(|number| sender.send(&[number; 40]));
    assert!(answer.into_iter().any(|answer| matches!(answer, Response::Acknowledged { .. })));
    wait_for("it is told", || {
        let reasons = sender.status().health.reasons;
        reasons.iter().any(|reason| reason.words.contains("1 of 5 neighbours make no key"))
    });
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn links_begin_to_be_protected_with_the_document_that_says_so_and_keys_outlive_epochs() {
    let mut network = Network::new();
    let wires = Wires::new(NAMES.len());
    network.addresses = wires.addresses();
    let begins = now() + 20;
    network.publish(FIRST_EPOCH, begins - 100, begins, parameters());
    network.publish(FIRST_EPOCH + 1, begins, begins + 20, protected());
    network.publish(FIRST_EPOCH + 2, begins + 20, begins + 3600, protected());
    let nodes = start_all(&network, &wires);
    all_are_acknowledged(&nodes, 3);
    assert!(wires.seen().iter().all(|seen| seen.bytes.len() == 280));
    let in_epoch = |epoch: u32| nodes.iter().all(|node| node.status().epoch == u64::from(epoch));
    wait_for("the epoch begins", || in_epoch(FIRST_EPOCH + 1));
    let are_protected = || wires.seen().iter().all(|seen| seen.bytes.len() == DATAGRAM);
    // One that left before may pass the wire after.
    wait_for("what left before has passed", || {
        wires.forget();
        std::thread::sleep(Duration::from_millis(200));
        !wires.seen().is_empty() && are_protected()
    });
    all_are_acknowledged(&nodes, 3);
    assert!(are_protected());
    wait_for("there is a key with each", || counter(&nodes[SENDER], "link_neighbours_with_key") >= 2);
    wait_for("the next one begins", || in_epoch(FIRST_EPOCH + 2));
    let keys = counter(&nodes[SENDER], "link_keys");
    all_are_acknowledged(&nodes, 3);
    let more = counter(&nodes[SENDER], "link_keys") - keys;
    assert!(more <= 2, "keys with two mixes may be new: {more}");
    nodes.into_iter().for_each(Running::stop);
}
