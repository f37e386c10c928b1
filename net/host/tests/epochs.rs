//! Clocks that are set, documents that are refused or run out, epochs that begin early: what whole
//! nodes do.

mod loopback;

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use loopback::{
    FIRST_EPOCH, FIRST_LAYER, MIX, NAMES, Network, RECEIVER, Running, SENDER, eventually, now, parameters,
    start, try_start,
};
use motemix_crypto::PublicKey;
use motemix_directory::Parameters;
use motemix_host::health::{Concern, State};

/// One-minute epochs, the first of which has lasted for ten seconds.
fn minutes(network: &Network, parameters: Parameters) {
    let begun = now() - 10;
    for epoch in 0..15 {
        let begins = begun + 60 * u64::from(epoch);
        network.publish(FIRST_EPOCH + epoch, begins, begins + 60, parameters);
    }
}

#[test]
fn four_seconds_of_a_clock_ten_minutes_ahead_move_no_key() {
    let network = Network::new();
    minutes(&network, parameters());
    let nodes = network.start();
    assert!(nodes[SENDER].is_acknowledged("before"));

    nodes[MIX].set_clock(600);
    sleep(Duration::from_secs(4));
    nodes[MIX].set_clock(0);

    assert_eq!(network.key_epoch(MIX), FIRST_EPOCH);
    assert_eq!(nodes[MIX].status().epoch, u64::from(FIRST_EPOCH));
    assert!(nodes[SENDER].is_acknowledged("after"));
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_node_that_starts_with_a_clock_ahead_erases_nothing_for_it() {
    let network = Network::new();
    minutes(&network, parameters());
    let mix = try_start(network.config(MIX), 120).unwrap();
    assert_eq!(mix.status().epoch, u64::from(FIRST_EPOCH) + 2, "there is no other witness yet");
    sleep(Duration::from_secs(4));
    assert_eq!(network.key_epoch(MIX), FIRST_EPOCH);
    mix.stop();

    // The program is started again with a clock that is right. That it was wrong is known by now to
    // nobody, so it takes a minute until it is believed; a machine that was started again believes
    // it at once.
    let memory = network.path("mix-1/state/clock");
    fs::remove_file(memory).unwrap();
    let nodes = network.start();
    assert!(nodes[SENDER].is_acknowledged("nothing was lost"));
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_document_for_a_far_epoch_that_is_refused_makes_no_other_one_older() {
    let network = Network::new();
    minutes(&network, parameters());
    let keys = [9, 10, 11, 12, 13, 14].map(|byte| PublicKey([byte; 32]));
    network.publish_with(&keys, 4_000_000_000, now() - 10, now() + 60, parameters());
    // As an earlier version remembered it.
    let poisoned = network.path("mix-1/state/newest-epoch");
    fs::create_dir(network.path("mix-1/state")).unwrap();
    fs::write(&poisoned, "4000000000\n").unwrap();

    let nodes = network.start();
    assert!(nodes.iter().all(|node| node.status().epoch == u64::from(FIRST_EPOCH)));
    assert!(nodes[SENDER].is_acknowledged("as if nothing were"));
    sleep(Duration::from_secs(6));
    assert!(nodes[SENDER].is_acknowledged("after another look at the folder"));
    nodes.into_iter().for_each(Running::stop);
    assert!(!poisoned.exists());

    fs::remove_file(network.path("documents/4000000000.cbor")).unwrap();
    start(network.config(MIX)).stop();
}

#[test]
fn a_document_of_another_network_is_refused_by_name() {
    let network = Network::new();
    minutes(&network, parameters());
    let mut config = network.config(MIX);
    config.network = "field".into();
    let error = try_start(config, 0).err().expect("it is the document of another network").to_string();
    assert!(error.contains("is of the network \"loopback\" and not of \"field\""), "{error}");
}

#[test]
fn when_the_documents_have_run_out_all_stops_and_a_later_one_resumes_it() {
    let network = Network::new();
    let begins = now() - 1;
    let mut parameters = parameters();
    parameters.payload_mean = Some(Duration::from_millis(50));
    network.publish(FIRST_EPOCH, begins, now() + 30, parameters);
    let nodes = network.start();
    assert!(nodes[SENDER].is_acknowledged("before"));

    assert!(eventually(Duration::from_mins(3), || !nodes[SENDER].takes("it may be too late")));
    // Each node looks at its clock once a second, and a busy machine keeps some waiting.
    let expired = |node: &Running| node.status().health.of_concern(Concern::Documents) == State::Failing;
    assert!(eventually(Duration::from_mins(3), || nodes.iter().all(expired)));
    // What was under way arrives; then the payload stream has stopped, and so has cover.
    let transmitted = || nodes.iter().map(|node| node.status().counters["transmitted"]).collect::<Vec<_>>();
    let is_silent = || {
        let before = transmitted();
        sleep(Duration::from_secs(2));
        transmitted() == before
    };
    assert!(eventually(Duration::from_mins(3), is_silent));
    let erased = || (0..NAMES.len()).all(|node| network.key_epoch(node) > FIRST_EPOCH);
    assert!(eventually(Duration::from_mins(3), erased), "and the key goes");
    assert!(!network.path(format!("mix-1/state/replay-{FIRST_EPOCH}.log")).exists());

    network.publish(FIRST_EPOCH + 4, now() - 1, now() + 600, parameters);
    let resumed = || nodes.iter().all(|node| node.status().epoch == u64::from(FIRST_EPOCH) + 4);
    assert!(eventually(Duration::from_mins(3), resumed));
    assert!(nodes[SENDER].is_acknowledged("after"));
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn mixes_whose_filters_give_no_more_places_go_on_when_the_next_epoch_begins_early() {
    let network = Network::new();
    let (begins, ends) = (now() - 10, now() + 36_000);
    let mut quiet = parameters();
    quiet.hop_allowance = Duration::from_millis(50);
    quiet.loop_mean = None;
    quiet.drop_mean = None;
    quiet.transmissions = 3;
    network.publish(FIRST_EPOCH, begins, ends, quiet);
    let nodes: Vec<_> = (0..NAMES.len())
        .map(|index| {
            let mut config = network.config(index);
            if FIRST_LAYER.contains(&index) {
                config.limits.replay_tags = 200;
            }
            start(config)
        })
        .collect();

    // A mix gives each message two places, and has 200 for ten hours.
    let (mut sent, mut lost_in_a_row) = (0, 0);
    while lost_in_a_row < 3 {
        assert!(sent < 200, "the filters are never full");
        if nodes[SENDER].is_acknowledged(&format!("{sent}")) {
            (sent, lost_in_a_row) = (sent + 1, 0);
        } else {
            lost_in_a_row += 1;
        }
    }
    assert!(sent >= 3, "{sent}");

    // The authority notices, and lets the next epoch begin in a moment.
    quiet.transmissions = 12;
    network.publish(FIRST_EPOCH + 1, now() + 7, ends, quiet);
    let begun = || nodes.iter().all(|node| node.status().epoch == u64::from(FIRST_EPOCH) + 1);
    assert!(eventually(Duration::from_mins(3), begun));
    assert!(nodes[SENDER].is_acknowledged("traffic flows again"));
    nodes.into_iter().for_each(Running::stop);
}

/// Authorities that make documents out of their order give a node that is new in both another id in
/// each of them.
#[test]
fn nodes_go_on_under_another_id_and_a_message_reaches_whom_it_was_for() {
    let mut network = Network::new();
    let mut patient = parameters();
    patient.transmissions = 100;
    let ends = now() + 3600;
    network.publish(FIRST_EPOCH, now() - 10, ends, patient);
    let anywhere = |network: &Network, index| network.config_with(index, |config| config.id = None);
    let mut nodes: Vec<_> = (0..NAMES.len()).map(|index| start(anywhere(&network, index))).collect();
    assert!(nodes[SENDER].is_acknowledged("before"));
    nodes.remove(RECEIVER).stop();
    let sender = nodes.last().expect("a sender");
    assert!(sender.takes("while the receiver is away"));

    // Two mixes change places, and so do the receiver and the sender.
    network.ids = [1, 0, 2, 3, SENDER, RECEIVER];
    network.publish(FIRST_EPOCH + 1, now() + 2, ends, patient);
    let begun = || nodes.iter().all(|node| node.status().epoch == u64::from(FIRST_EPOCH) + 1);
    assert!(eventually(Duration::from_mins(3), begun));
    assert_eq!(sender.status().id, RECEIVER as u16);
    let receiver = start(anywhere(&network, RECEIVER));
    let has_come = || receiver.inbox().iter().any(|text| text == b"while the receiver is away");
    assert!(eventually(Duration::from_mins(3), has_come));
    assert!(sender.inbox().is_empty(), "it is not read by whoever has the receiver's id now");
    assert!(sender.is_acknowledged("after"));
    nodes.into_iter().chain([receiver]).for_each(Running::stop);
}
