//! Documents that run out, cannot be used, or are not there yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::loopback::{
    FIRST_EPOCH, Network, Running, SENDER, eventually, hours, parameters, start, start_with, try_start,
};
use crate::{healthz, wait_until, words};
use motemix_crypto::PublicKey;
use motemix_directory::Parameters;
use motemix_host::config::ReadingsConfig;
use motemix_host::control::{NodeStatus, Request, Response};
use motemix_host::health::{Concern, Health, State};
use motemix_host::{Setup, run};
use motemix_os::clock::unix_seconds;

/// Of a network in which one node runs: no loop comes back.
fn alone() -> Parameters {
    let mut parameters = parameters();
    parameters.loop_mean = None;
    parameters
}

#[test]
fn documents_that_run_out_are_told_before_and_when_they_have() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 1, now + 20, alone());
    let node = start(network.config(0));
    wait_until("a warning", || node.status().health.of_concern(Concern::Documents) == State::Warning);
    assert!(words(&node.status().health, Concern::Documents).contains("motemix net renew"));
    assert!(healthz(&node.started.metrics_socket).starts_with("HTTP/1.1 200 "));

    wait_until("it fails", || node.status().health.of_concern(Concern::Documents) == State::Failing);
    let answer = healthz(&node.started.metrics_socket);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("failing: documents: no network document is in force"), "{answer}");
    // Who wants to send hears the same.
    let Response::Error { message } = node.send(b"too late") else { panic!("it was sent") };
    assert_eq!(message, words(&node.status().health, Concern::Documents));
    assert!(message.contains("`motemix net renew`"), "{message}");

    network.publish(FIRST_EPOCH + 1, now + 20, now + 48 * 3600, alone());
    wait_until("it is well again", || node.status().health == Health::default());
    assert!(healthz(&node.started.metrics_socket).ends_with("\r\n\r\nok\n"));
    node.stop();
}

#[test]
fn a_node_that_starts_between_two_documents_says_so_and_begins_with_the_next() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 100, now - 10, parameters());
    let node = start(network.config(SENDER));
    let answer = healthz(&node.started.metrics_socket);
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("it expired at"), "{answer}");
    assert!(words(&node.status().health, Concern::Documents).contains("motemix net renew"));
    assert!(matches!(node.send(b"too early"), Response::Error { .. }));
    node.stop();

    let nodes = network.start();
    // Half a document, as of one that is being copied, ends nobody.
    let next = network.path(format!("documents/{}.cbor", FIRST_EPOCH + 1));
    std::fs::write(&next, b"half").unwrap();
    wait_until("it is told", || words(&nodes[0].status().health, Concern::Documents).contains("8.cbor"));
    std::fs::remove_file(next).unwrap();
    network.publish(FIRST_EPOCH + 1, now - 10, now + 48 * 3600, parameters());
    // For two days, their filters are too small, and say so soon.
    let has_begun = |status: NodeStatus| {
        status.epoch == u64::from(FIRST_EPOCH) + 1
            && status.health.of_concern(Concern::Documents) == State::Ok
    };
    wait_until("all begin", || nodes.iter().all(|node| has_begun(node.status())));
    assert!(nodes[SENDER].is_acknowledged("in time"));
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_node_that_was_asked_for_quiet_while_it_waited_takes_no_readings() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 100, now - 10, alone());
    let config = network.config_with(SENDER, |config| {
        config.readings = Some(ReadingsConfig::new("receiver", Duration::from_millis(1)));
    });
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let more = move || {
        let source = move |_: usize| {
            count.fetch_add(1, Ordering::Relaxed);
            b"a reading".to_vec()
        };
        Setup { source: Some(Box::new(source)), ..Setup::default() }
    };
    let node = start_with(config, 0, more).unwrap();
    assert!(matches!(node.ask(&Request::Quiet {}), Response::Quiet {}));
    network.publish(FIRST_EPOCH + 1, now - 10, now + 48 * 3600, alone());
    wait_until("it begins", || node.status().epoch == u64::from(FIRST_EPOCH) + 1);
    assert!(!eventually(Duration::from_secs(1), || taken.load(Ordering::Relaxed) > 0));
    node.stop();
}

#[test]
fn a_node_that_a_later_document_has_waits_for_it_and_does_not_fail() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 1, now + 4, alone());
    let node = start(network.config(0));
    let state = || node.status().health.of_concern(Concern::Documents);
    let told = || words(&node.status().health, Concern::Documents);
    wait_until("it fails", || state() == State::Failing);
    assert!(told().contains("expired at"), "{}", told());
    // One that was taken out, or has new keys: it is none of this document.
    let others = std::array::from_fn(|of| PublicKey([of as u8 + 1; 32]));
    network.publish_with(&others, FIRST_EPOCH + 1, now + 4, now + 3600, alone());
    wait_until("it says why", || told().contains("another mix key"));
    assert_eq!(state(), State::Failing);
    network.publish(FIRST_EPOCH + 2, now + 3600, now + 48 * 3600, alone());
    wait_until("it waits", || state() == State::Starting);
    let epoch = FIRST_EPOCH + 2;
    let begins = format!("takes part from epoch {epoch} on, which begins at 20");
    assert!(told().contains(&begins), "{}", told());
    assert!(healthz(&node.started.metrics_socket).starts_with("HTTP/1.1 200 "));
    node.stop();
}

#[test]
fn a_node_that_starts_with_the_clock_of_1970_begins_a_minute_after_it_is_set() {
    let network = Network::new();
    hours(&network);
    let node = try_start(network.config(SENDER), -unix_seconds().0.cast_signed()).unwrap();
    assert_eq!(node.started.epoch, None);
    assert!(words(&node.status().health, Concern::Documents).contains("it is for later"));

    node.set_clock(0);
    wait_until("it is told", || node.status().health.of_concern(Concern::Clock) == State::Failing);
    thread::sleep(Duration::from_secs(50));
    wait_until("it begins", || node.status().epoch == u64::from(FIRST_EPOCH));
    assert_ne!(node.status().health.of_concern(Concern::Documents), State::Failing);
    node.stop();
}

#[test]
fn a_later_document_that_cannot_be_used_is_told_before_its_time() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 1, now + 3600, parameters());
    network.publish(FIRST_EPOCH + 1, now + 3600, now + 48 * 3600, parameters());
    // Where this node's key is not the one that the document names.
    let other = network.config_with(0, |config| config.key = network.path("mix-2/node.key"));
    assert!(run(&other, Setup::default(), |_| {}).is_err());
    let document = network.path(format!("documents/{}.cbor", FIRST_EPOCH + 1));
    let mut bytes = std::fs::read(&document).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&document, bytes).unwrap();
    let node = start(network.config(0));
    wait_until("a warning", || node.status().health.of_concern(Concern::Documents) == State::Warning);
    let told = words(&node.status().health, Concern::Documents);
    assert!(told.contains("cannot be used") && told.contains("8.cbor"), "{told}");
    node.stop();
}

#[test]
fn a_later_document_that_is_damaged_while_the_node_runs_is_told_until_it_is_repaired() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 1, now + 3600, alone());
    network.publish(FIRST_EPOCH + 1, now + 3600, now + 48 * 3600, alone());
    let node = start(network.config(0));
    // It has been read, and found good, a second after the start.
    thread::sleep(Duration::from_secs(3));
    assert_eq!(node.status().health, Health::default());

    let document = network.path(format!("documents/{}.cbor", FIRST_EPOCH + 1));
    let whole = std::fs::read(&document).unwrap();
    let mut bytes = whole.clone();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&document, bytes).unwrap();
    wait_until("a warning", || node.status().health.of_concern(Concern::Documents) == State::Warning);
    let told = words(&node.status().health, Concern::Documents);
    assert!(told.contains("cannot be used") && told.contains("8.cbor"), "{told}");

    std::fs::write(&document, whole).unwrap();
    wait_until("it is well again", || node.status().health == Health::default());
    node.stop();
}
