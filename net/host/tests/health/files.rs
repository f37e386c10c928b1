//! Files that are gone, cut, or no files.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::loopback::{FIRST_EPOCH, Network, RECEIVER, Running, SENDER, hours, parameters, start};
use crate::{wait_until, words};
use motemix_directory::Epoch;
use motemix_host::control::{Request, Response};
use motemix_host::health::{Concern, State};
use motemix_host::{Setup, renew_keys, run};
use motemix_os::clock::unix_seconds;
use motemix_os::store::Inbox;

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
fn a_node_whose_folder_was_moved_says_that_and_nothing_else() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 10, now + 3600, parameters());
    network.publish(FIRST_EPOCH + 1, now + 3600, now + 48 * 3600, parameters());
    let node = start(network.config(0));
    wait_until("it has begun and read them", || {
        node.status().detail.is_some_and(|detail| detail.document.is_some_and(|document| document.later == 1))
    });
    let [here, there] = ["mix-1", "moved"].map(|name| network.path(name));
    let [documents, away] = ["documents", "away"].map(|name| network.path(name));
    std::fs::rename(&documents, &away).unwrap();
    std::fs::rename(&here, &there).unwrap();
    let mut client = motemix_host::control::ControlClient::connect(there.join("state/control.sock")).unwrap();
    let mut ask = |request| client.request(&request).unwrap();
    let told = format!("{} was moved to {} while the node ran", here.display(), there.display());
    wait_until("it is told", || {
        let Response::Status(status) = ask(Request::Status {}) else { panic!("no status") };
        words(&status.health, Concern::Disk).contains(&told)
    });
    // The folder of documents is read again every five seconds.
    thread::sleep(Duration::from_secs(6));
    let Response::Status(status) = ask(Request::Status {}) else { panic!("no status") };
    assert_eq!(status.health.reasons.len(), 1, "{}", status.health.text());
    let send = Request::Send { to: "receiver".into(), data_hex: hex::encode("text"), wait: true };
    let Response::Error { message } = ask(send) else { panic!("it was sent") };
    assert!(message.contains(&told), "{message}");

    // Back at its place, it finds all but the documents, and does not say that these end.
    std::fs::rename(&there, &here).unwrap();
    wait_until("that is told", || {
        words(&node.status().health, Concern::Disk).contains("documents: cannot read it")
    });
    assert_eq!(words(&node.status().health, Concern::Documents), "");
    std::fs::rename(&away, &documents).unwrap();
    wait_until("it is well again", || node.status().health.of_concern(Concern::Disk) == State::Ok);
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

#[test]
fn keys_that_are_lost_or_damaged_are_made_anew_when_somebody_asks_for_that() {
    let network = Network::new();
    hours(&network);
    let config = network.config(0);
    start(network.config(0)).stop();
    let mark = network.path("mix-1/state/replay-mark");
    let lose = [
        |key: &Path| std::fs::write(key, ""),
        |key: &Path| std::fs::write(key, "motemix node key 1\nepoch 7\n"),
        |key: &Path| std::fs::remove_file(key),
    ];
    for (without_mark, lose) in [false, true].into_iter().flat_map(|mark| lose.map(|lose| (mark, lose))) {
        if without_mark {
            std::fs::remove_file(&mark).unwrap();
        }
        lose(&config.key).unwrap();
        let refused = run(&config, Setup::default(), |_| {}).unwrap_err().to_string();
        assert!(refused.contains("`motemix node renew-keys`"), "{refused}");
        assert_eq!(renew_keys(&config).unwrap(), Epoch(FIRST_EPOCH));
        // Nothing that passed with the old keys can pass again: no document names the new ones yet.
        let node = start(network.config(0));
        let told = words(&node.status().health, Concern::Documents);
        assert!(told.contains("keys were made anew"), "{told}");
        node.stop();
    }
    // Others may have read this one, and have to be kept out first.
    let exposed = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&config.key, exposed).unwrap();
    assert!(renew_keys(&config).unwrap_err().to_string().contains("chmod 600"));
}

#[test]
fn a_copy_whose_port_is_in_use_keeps_its_keys() {
    let network = Network::new();
    hours(&network);
    let (config, key) = (network.config(0), network.path("mix-1/node.key"));
    start(network.config(0)).stop();
    // As in a copy for a try: the mark belongs to another file.
    std::fs::remove_file(network.path("mix-1/state/replay-mark")).unwrap();
    let before = std::fs::read(&key).unwrap();
    let original = std::net::UdpSocket::bind(network.addresses[0]).unwrap();
    let refused = run(&config, Setup::default(), |_| {}).unwrap_err().to_string();
    assert!(refused.contains(&network.addresses[0].to_string()), "{refused}");
    assert_eq!(std::fs::read(&key).unwrap(), before);
    drop(original);
    start(config).stop();
    assert_ne!(std::fs::read(&key).unwrap(), before);
}
