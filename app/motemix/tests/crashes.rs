//! Nodes that die in the middle of everything, and lose nothing that was acknowledged.

mod program;

use program::{Network, Running, motemix, wait_until};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

const MOTES: usize = 4;
/// Messages of each mote that do not wait for the kill.
const BEFORE: usize = 8;
/// Messages of each mote after it.
const AFTER: usize = 2;

#[test]
fn what_a_killed_receiver_acknowledged_is_in_its_inbox_once() {
    nothing_acknowledged_is_lost("receiver");
}

#[test]
fn what_passed_a_killed_mix_arrives_once() {
    nothing_acknowledged_is_lost("mix-1");
}

/// Kills the node after acknowledgements, while further messages are under way and datagrams get
/// lost.
fn nothing_acknowledged_is_lost(victim: &str) {
    let network = Network::init(&["--mean-delay", "10ms"]);
    for node in fs::read_dir(network.path("nodes")).unwrap() {
        let file = node.unwrap().path().join("node.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text + "\n[faults]\nloss = 0.1\n").unwrap();
    }
    let running = Running::up(network);
    let killed = AtomicBool::new(false);
    let (tell, told) = mpsc::channel();
    let (texts, _restarted) = thread::scope(|scope| {
        let motes: Vec<_> = (1..=MOTES)
            .map(|mote| {
                let (running, killed, tell) = (&running, &killed, tell.clone());
                scope.spawn(move || send_all(running, mote, killed, &tell))
            })
            .collect();
        drop(tell);
        told.iter().take(MOTES * BEFORE / 2).for_each(drop);
        running.kill(victim);
        killed.store(true, Ordering::Relaxed);
        let restarted = running.restart(victim);
        let texts: Vec<_> = motes.into_iter().flat_map(|mote| mote.join().unwrap()).collect();
        (texts, restarted)
    });

    let inbox = running.inbox("receiver");
    let distinct: HashSet<_> = inbox.iter().collect();
    assert_eq!(distinct.len(), inbox.len(), "a message was delivered twice: {inbox:?}");
    assert!(texts.iter().any(|text| text.starts_with("after")), "{texts:?}");
    for text in &texts {
        assert!(distinct.contains(text), "{text:?} was acknowledged and is not in {inbox:?}");
    }
}

/// Sends one message after the other, and returns those that were acknowledged.
fn send_all(running: &Running, mote: usize, killed: &AtomicBool, tell: &mpsc::Sender<()>) -> Vec<String> {
    let from = format!("mote-{mote}");
    let acknowledged = |text: &String| running.send(&from, text).status() == 0;
    let before = (0..BEFORE).map(|number| format!("before, {number} of {from}"));
    let heed = |_: &String| {
        // The story that listens may have failed.
        let _ = tell.send(());
    };
    let mut texts: Vec<_> = before.filter(acknowledged).inspect(heed).collect();
    wait_until("the node is killed", || killed.load(Ordering::Relaxed));
    let after = (0..AFTER).map(|number| format!("after, {number} of {from}"));
    texts.extend(after.filter(acknowledged));
    texts
}

#[test]
fn a_demonstration_with_a_killed_mix_and_lost_datagrams_acknowledges_nearly_everything() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("net");
    let run = motemix([
        "demo",
        "--json",
        "--seconds",
        "8",
        "--loss",
        "0.1",
        "--interval",
        "100ms",
        "--mean-delay",
        "10ms",
        "--kill-mix-after",
        "2s",
        "--transmissions",
        "30",
        "--keep",
        dir.to_str().unwrap(),
    ]);
    let summary: Value = serde_json::from_str(&run.stdout()).unwrap();
    let count = |name: &str| summary[name].as_u64().unwrap();
    // With a mix away for long, all tries of a message may be lost; then it says so.
    let all_is_well = count("acknowledged") == count("sent");
    assert_eq!(run.status(), i32::from(!all_is_well), "{}", run.stderr());
    assert!(count("acknowledged") * 100 >= count("sent") * 99, "{summary}");
    assert!(count("retransmitted") > 0, "{summary}");
    assert!((count("acknowledged")..=count("sent")).contains(&count("delivered")), "{summary}");

    // Two motes may read the same in one millisecond, so it is messages that are counted, not their
    // contents.
    let config = dir.join("nodes/receiver/node.toml");
    let said =
        motemix(["inbox", "--json", "--last", "100000", "--config", config.to_str().unwrap()]).succeeds();
    assert_eq!(said.lines().count() as u64, count("delivered"), "{summary}");
}
