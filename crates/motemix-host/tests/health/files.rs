//! Files that are gone, cut, or no files.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::loopback::{FIRST_EPOCH, Network, RECEIVER, Running, SENDER, hours, start};
use crate::{wait_until, words};
use motemix_host::health::{Concern, State};
use motemix_host::store::Inbox;

#[test]
fn a_pipe_in_the_place_of_a_document_holds_nothing_up() {
    let network = Network::new();
    hours(&network);
    let nodes = network.start();
    for epoch in [FIRST_EPOCH + 1, 4_000_000_000] {
        let pipe = network.path(format!("documents/{epoch}.cbor"));
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    // The folder is read again every five seconds.
    thread::sleep(Duration::from_secs(6));
    assert!(nodes[SENDER].is_acknowledged("as if nothing were"));
    wait_until("it is told", || words(&nodes[0].status().health, Concern::Documents).contains("8.cbor"));
    nodes.into_iter().for_each(Running::stop);

    for epoch in [FIRST_EPOCH + 1, 4_000_000_000] {
        std::fs::remove_file(network.path(format!("documents/{epoch}.cbor"))).unwrap();
    }
    let log = network.path(format!("mix-1/state/replay-{FIRST_EPOCH}.log"));
    std::fs::remove_file(&log).unwrap();
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let node = start(network.config(0));
    assert!(words(&node.status().health, Concern::Documents).contains("keys were made anew"));
    node.stop();
}

#[test]
fn an_inbox_that_is_removed_under_a_node_is_made_anew_and_told() {
    let network = Network::new();
    hours(&network);
    let nodes = network.start();
    assert!(nodes[SENDER].is_acknowledged("before"));
    let receiver = &nodes[RECEIVER];
    let inbox = network.config(RECEIVER).inbox_file();
    for name in ["", "-wal", "-shm"] {
        let mut file = inbox.as_os_str().to_owned();
        file.push(name);
        std::fs::remove_file(file).unwrap();
    }

    // Without a message too.
    wait_until("it is told", || words(&receiver.status().health, Concern::Inbox).contains("was removed"));
    assert_eq!(receiver.status().health.of_concern(Concern::Disk), State::Ok);
    assert!(nodes[SENDER].is_acknowledged("after"));
    assert_eq!(receiver.status().inbox, 1);
    assert_eq!(Inbox::open(&inbox).unwrap().recent(9).unwrap()[0].data, b"after");
    nodes.into_iter().for_each(Running::stop);

    // Told by the node that was running, it is told no more; and what happens in between is.
    let restart = || {
        let node = start(network.config(RECEIVER));
        let told = words(&node.status().health, Concern::Inbox);
        node.stop();
        told
    };
    assert_eq!(restart(), "");
    std::fs::remove_file(&inbox).unwrap();
    assert!(restart().contains("it is gone, and it was here"));
    assert_eq!(restart(), "");
}

#[test]
fn a_replay_log_that_is_cut_under_a_node_is_told() {
    let network = Network::new();
    hours(&network);
    let nodes = network.start();
    let log = network.path(format!("mix-1/state/replay-{FIRST_EPOCH}.log"));
    // Behind the header: cover passes every mix before long.
    wait_until("something is in it", || std::fs::metadata(&log).unwrap().len() > 16);
    std::fs::File::options().write(true).open(&log).unwrap().set_len(16).unwrap();
    wait_until("it is told", || {
        words(&nodes[0].status().health, Concern::ReplayFilter).contains("cut short")
    });
    assert!(nodes[SENDER].is_acknowledged("as if nothing were"));
    let told = words(&nodes[0].status().health, Concern::ReplayFilter);
    assert!(told.contains("motemix net renew --early"), "still, though it grows: {told}");
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn keys_whose_replay_log_is_gone_or_cut_are_made_anew() {
    let network = Network::new();
    hours(&network);
    let log = network.path(format!("mix-1/state/replay-{FIRST_EPOCH}.log"));
    let node = start(network.config(0));
    assert_eq!(node.status().health.of_concern(Concern::ReplayFilter), State::Ok);
    node.stop();
    let cut = |log: &Path| {
        let file = std::fs::File::options().write(true).open(log)?;
        file.set_len(file.metadata()?.len() - 8)
    };
    for lose in [cut, |log: &Path| std::fs::remove_file(log), |log: &Path| std::fs::write(log, b"")] {
        lose(&log).unwrap();
        let node = start(network.config(0));
        let told = words(&node.status().health, Concern::Documents);
        assert!(told.contains("keys were made anew") && told.contains("net renew --early"), "{told}");
        assert!(!log.exists());
        // The first document that names them.
        hours(&network);
        wait_until("it takes part", || node.status().health.of_concern(Concern::Documents) != State::Failing);
        node.stop();
        let node = start(network.config(0));
        assert_eq!(node.status().epoch, u64::from(FIRST_EPOCH));
        node.stop();
    }
}
