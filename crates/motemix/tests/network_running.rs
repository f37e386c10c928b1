//! Stories of a network that runs: separate processes on loopback.

mod program;

use program::{Network, Running, motemix};
use serde_json::Value;

fn up() -> Running {
    Running::up(Network::init(&["--mean-delay", "10ms"]))
}

#[test]
fn a_message_is_acknowledged_and_lies_in_the_inbox() {
    let running = up();
    let mote = running.0.config("mote-1");
    let said = motemix(["send", "--config", mote.to_str().unwrap(), "all is well", "--json"]).succeeds();
    let outcome: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(outcome["acknowledged"], true);
    assert!(outcome["round_trip_ms"].as_f64().unwrap() > 0.0);

    let receiver = running.0.config("receiver");
    let said = motemix(["inbox", "--config", receiver.to_str().unwrap(), "--json"]).succeeds();
    let messages: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(messages.as_array().unwrap().len(), 1);
    assert_eq!(messages[0]["text"], "all is well");
}

#[test]
fn a_message_that_no_packet_carries_is_refused() {
    let running = up();
    let mote = running.0.config("mote-1");
    motemix(["send", "--config", mote.to_str().unwrap(), &"x".repeat(104)]).fails(1, &["103"]);
    motemix(["send", "--config", mote.to_str().unwrap(), "--to", "nobody", "text"]).fails(1, &["nobody"]);
}

#[test]
fn a_network_starts_once_and_stops_whole() {
    let running = up();
    motemix(["net", "up", running.dir()]).fails(1, &["running already", "motemix net down"]);
    let said = motemix(["net", "status", running.dir(), "--json"]).succeeds();
    let rows: Value = serde_json::from_str(&said).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["status"].is_object()), "{said}");

    let said = motemix(["net", "down", running.dir(), "--json"]).succeeds();
    let rows: Value = serde_json::from_str(&said).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["stopped"] == "asked"), "{said}");
    let said = motemix(["net", "status", running.dir()]).succeeds();
    assert_eq!(said.matches(" down").count(), 11, "{said}");
}

#[test]
fn an_epoch_begins_early_in_a_network_that_runs() {
    let running = up();
    let said = motemix(["net", "renew", running.dir(), "--early", "--json"]).succeeds();
    let said: Value = serde_json::from_str(&said).unwrap();
    let epoch = said["signed"][0].as_u64().unwrap();
    let begun = || {
        let said = motemix(["net", "status", running.dir(), "--json"]).succeeds();
        let rows: Value = serde_json::from_str(&said).unwrap();
        rows.as_array().unwrap().iter().all(|row| row["status"]["epoch"] == epoch)
    };
    let end = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !begun() {
        assert!(std::time::Instant::now() < end, "epoch {epoch} does not begin");
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    let mote = running.0.config("mote-1");
    motemix(["send", "--config", mote.to_str().unwrap(), "under the new keys"]).succeeds();
}

#[test]
fn a_demonstration_delivers_every_message_once() {
    let summary = demo(&["--seconds", "5", "--interval", "250ms", "--mean-delay", "10ms"]);
    assert!(count(&summary, "sent") >= 4 * 10, "{summary}");
    assert_eq!(summary["acknowledged"], summary["sent"]);
    assert_eq!(summary["delivered"], summary["sent"]);
    assert_eq!(summary["discarded"], 0);
    assert_eq!(summary["packet_len"], 280);
    assert_eq!(summary["payload_len"], 103);
    assert_eq!(summary["processes"], 11);
    assert_eq!((count(&summary, "under_way"), count(&summary, "turned_away")), (0, 0));
    for times in ["elapsed_ms", "rtt_ms"] {
        assert!(summary[times]["p50"].as_f64().unwrap() <= summary[times]["p99"].as_f64().unwrap());
    }
    assert!(summary["rtt_ms"]["p50"].as_f64().unwrap() <= summary["rtt_ms"]["p99"].as_f64().unwrap());
}

#[test]
fn nothing_acknowledged_is_lost_when_datagrams_are_and_a_mix_dies() {
    let summary =
        demo(&["--seconds", "8", "--loss", "0.05", "--mean-delay", "10ms", "--kill-mix-after", "2s"]);
    assert!(count(&summary, "delivered") >= count(&summary, "acknowledged"), "{summary}");
    assert!(count(&summary, "retransmitted") > 0, "{summary}");
    assert_eq!(count(&summary, "under_way"), 0, "{summary}");
}

#[test]
fn a_demonstration_that_loses_messages_fails_and_says_so() {
    let words = ["demo", "--seconds", "2", "--mean-delay", "10ms", "--loss", "0.9", "--transmissions", "1"];
    let run = motemix(words);
    let (said, failed) = (run.stdout(), run.stderr());
    assert_eq!(run.status(), 1, "{said}");
    let last = failed.lines().last().unwrap();
    assert!(last.contains("were given up after the last try"), "{failed}");
    for row in ["discarded", "undecided", "turned away, the mote being full", "acknowledged after, p99"] {
        assert!(said.contains(row), "{said}");
    }
}

fn demo(more: &[&str]) -> Value {
    let run = motemix([&["demo", "--json"], more].concat());
    let said = run.succeeds();
    serde_json::from_str(&said).expect("one JSON object")
}

fn count(summary: &Value, name: &str) -> u64 {
    summary[name].as_u64().unwrap_or_else(|| panic!("no {name} in {summary}"))
}
