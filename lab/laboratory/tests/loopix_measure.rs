//! Stories of `motemix-lab loopix measure` and `load`: networks of processes that are made, counted
//! and ended.

mod program;

use program::{Run, build_nodes, lab};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Once;
use tempfile::TempDir;

/// How often a measurement is begun that a busy machine did not carry.
const TRIES: usize = 5;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn measure(out: &Path, words: &[&str]) -> Vec<Value> {
    (0..TRIES).find_map(|_| try_to_measure(out, words)).expect("it is never too busy")
}

/// A machine that has much else to do does not carry every rate. The command says so then.
fn try_to_measure(out: &Path, words: &[&str]) -> Option<Vec<Value>> {
    static NODES: Once = Once::new();
    NODES.call_once(build_nodes);
    let out = ["--out", text(out), "--json"];
    let run = lab([&["loopix", "measure"], words, &out].concat());
    let busy = ["the machine may be too busy", "no message has come back"];
    let is_heard = !busy.iter().any(|words| run.stderr().contains(words));
    is_heard.then(|| serde_json::from_str(&run.succeeds()).unwrap())
}

fn row<'r>(rows: &'r [Value], quantity: &str) -> &'r Value {
    let found = rows.iter().find(|row| row["quantity"] == quantity);
    found.unwrap_or_else(|| panic!("no {quantity} in {rows:?}"))
}

#[test]
fn messages_come_back_and_a_second_run_measures_nothing_again() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["latency", "--quick", "--clients", "2", "--rates", "30", "--mixes", "3", "--providers", "1"];
    let first = measure(folder.path(), &words);
    let latency = row(&first, "latency");
    assert!(latency["samples"].as_u64().unwrap() > 0, "{latency}");
    assert!(latency["min"].as_f64() <= latency["median"].as_f64(), "{latency}");
    let figure = fs::read_to_string(folder.path().join("latency-30.svg")).unwrap();
    assert!(figure.contains("motemix, median"), "{figure}");

    let written = fs::read(folder.path().join("latency.csv")).unwrap();
    assert_eq!(measure(folder.path(), &words), first);
    assert_eq!(fs::read(folder.path().join("latency.csv")).unwrap(), written);
}

#[test]
fn clients_and_mixes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let rows = measure(folder.path(), &["bandwidth", "--quick", "--clients", "2", "--rates", "60"]);
    let mean = |quantity| row(&rows, quantity)["mean"].as_f64().unwrap();
    assert!(mean("client sent") >= mean("client real") && mean("client real") > 0.0, "{rows:?}");
    assert!(mean("mix out") > 0.0 && mean("provider out") > 0.0, "{rows:?}");
    assert_eq!(row(&rows, "mix out")["samples"], 6);
}

#[test]
fn what_a_loaded_mix_forwards_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["mix-throughput", "--saturation", "--quick", "--rates", "200", "--seconds", "1"];
    let rows = measure(folder.path(), &words);
    assert!(row(&rows, "out")["mean"].as_f64().unwrap() > 0.0, "{rows:?}");
    assert_eq!(row(&rows, "wrong")["mean"], 0.0, "{rows:?}");
}

#[test]
fn mail_waits_until_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let rows = measure(folder.path(), &["pull", "--quick"]);
    let took = row(&rows, "took");
    assert!(took["samples"].as_u64().unwrap() > 0, "{took}");
    let samples = fs::read_to_string(folder.path().join("pull-3.csv")).unwrap();
    assert_eq!(samples.lines().count() as u64, 1 + took["samples"].as_u64().unwrap());
}

/// What mixes hide in closed form, simulated and running, each as a part of the first.
/// Packets that wait longer at a mix come at a lower rate.
fn mixing(delay_ms: u64, seconds: u64) -> Vec<[f64; 3]> {
    let folder = tempfile::tempdir().unwrap();
    let run = |slower: u64| {
        let times = [delay_ms * slower, seconds * 1000 * slower].map(|time| format!("{time}ms"));
        try_to_measure(folder.path(), &["mixing", "--delay", &times[0], "--seconds", &times[1]])
    };
    let rows = [1, 1, 2, 4, 8].into_iter().find_map(run).expect("it is never too busy");
    let parts = |row: &Value| {
        let bits = |name: &str| row[name].as_f64().unwrap();
        let closed = bits("closed_bits");
        [bits("simulated_bits") / closed, bits("measured_bits") / closed, bits("measured_half") / closed]
    };
    rows.iter().map(parts).collect()
}

#[test]
fn running_mixes_hide_what_packets_are_whose() {
    for [_, measured, _] in mixing(20, 3) {
        assert!((measured - 1.0).abs() < 0.15, "{measured}");
    }
}

#[test]
#[ignore = "five minutes of traffic"]
fn running_mixes_hide_what_closed_form_and_simulation_say() {
    for [simulated, measured, half] in mixing(200, 150) {
        assert!((simulated - 1.0).abs() < 0.02 && (measured - simulated).abs() < 0.02, "{measured}");
        assert!((measured - 1.0).abs() < 0.02 && half < 0.015, "{measured} {half}");
    }
}

#[test]
#[ignore = "seven minutes: packets wait for minutes"]
fn messages_of_patient_clients_are_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["messages", "--clients", "8", "--seconds", "60", "--interval", "15"];
    let rows = measure(folder.path(), &words);
    let mean = |quantity| row(&rows, quantity)["mean"].as_f64().unwrap();
    assert!(mean("accepted") > 5.0 && mean("refused").abs() < 1e-9, "{rows:?}");
    assert!((mean("acknowledged") - mean("accepted")).abs() < 1e-9, "{rows:?}");
    // Eight delays of 18 s in the mean, and two waits for mail of 10 s; a busy machine adds to it.
    assert!(mean("round trip") > 120.0, "{rows:?}");
}

#[test]
fn a_building_that_cannot_be_read_is_said_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["configurations", "--scenario", "/nowhere.toml", "--out", text(folder.path())];
    lab(words).fails(2, &["/nowhere.toml"]);
}

#[test]
fn a_network_of_messages_that_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let messages = |more: &[&str]| {
        lab([&["loopix", "measure", "messages", "--out", text(folder.path())], more].concat())
    };
    messages(&["--python", "."]).fails(2, &["--python", "leave it out"]);
    messages(&["--mixes", "7"]).fails(2, &["--mixes 7", "a multiple of 3"]);
}

#[test]
fn what_is_too_short_to_measure_is_refused_in_one_line() {
    for (words, expected) in [
        (&["--seconds", "3s"][..], "--seconds: more than 10"),
        (&["--delay", "0s"], "--delay"),
        (&["--delay", "2h"], "--delay"),
    ] {
        let run = lab([&["loopix", "measure", "mixing"], words].concat());
        assert_eq!(run.status(), 2, "{}", run.stderr());
        assert!(run.stderr().contains(expected), "{}", run.stderr());
        assert_eq!(run.stderr().lines().count(), 1, "{}", run.stderr());
    }
}

/// This program in a folder of its own, and what it says when it is to measure something there.
fn alone(beside: impl FnOnce(&Path)) -> (TempDir, Run) {
    let own = Path::new(env!("CARGO_BIN_EXE_motemix-lab"));
    // On the same file system, so that a link will do.
    let folder = tempfile::tempdir_in(own.parent().unwrap()).unwrap();
    let alone = folder.path().join("motemix-lab");
    fs::hard_link(own, &alone).unwrap();
    beside(&folder.path().join("motemix-loopix"));
    let out = folder.path().join("out");
    let run = Run::of(text(&alone), ["loopix", "measure", "latency", "--quick", "--out", text(&out)]);
    (folder, run)
}

#[test]
fn without_the_program_of_the_nodes_it_says_how_to_get_it() {
    let (folder, run) = alone(|_| {});
    assert_eq!(run.status(), 1);
    for words in [
        text(&folder.path().join("motemix-loopix: not found")),
        "cargo build --package motemix-loopix-program",
    ] {
        assert!(run.stderr().contains(words), "{words:?} is not in {}", run.stderr());
    }
}

#[test]
fn a_program_of_the_nodes_of_another_version_starts_no_node() {
    let of_version = |said: &'static str| {
        alone(move |nodes| {
            fs::write(nodes, format!("#!/bin/sh\necho {said}\n[ \"$1\" = --version ] || touch \"$0.ran\"\n"))
                .unwrap();
            fs::set_permissions(nodes, PermissionsExt::from_mode(0o755)).unwrap();
        })
    };
    let own = concat!("motemix-loopix ", env!("CARGO_PKG_VERSION"));
    for said in ["motemix-loopix 0.0.9", "good morning"] {
        let (folder, run) = of_version(said);
        assert_eq!(run.status(), 1);
        let nodes = folder.path().join("motemix-loopix");
        for words in [text(&nodes), said, own, "cargo install --path app/motemix-loopix"] {
            assert!(run.stderr().contains(words), "{words:?} is not in {}", run.stderr());
        }
        assert!(!folder.path().join("motemix-loopix.ran").exists(), "it was started");
    }
    // The same program in the right version is started.
    let (folder, _) = of_version(own);
    assert!(folder.path().join("motemix-loopix.ran").exists(), "it was not started");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = text(folder.path());
    let refused = lab(["loopix", "measure", "latency", "--python", out, "--out", out]);
    refused.fails(2, &["no Python nodes here", "scripts/setup loopix_peer"]);
    fs::write(folder.path().join("pull.csv"), "other,columns\n1,2\n").unwrap();
    lab(["loopix", "measure", "pull", "--out", out]).fails(2, &["pull.csv", "move it away"]);
    let refused = lab(["loopix", "load", "--mix", out, "--sink", out, "--rate", "1", "--seconds", "1"]);
    refused.fails(2, &["publicMixnode.bin"]);
}
