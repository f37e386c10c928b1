//! Stories of `motemix net init` and `motemix net renew`.

mod program;

use program::{Network, edit, mode, motemix};
use std::fs;

#[test]
fn init_makes_keys_that_only_their_owner_may_read() {
    let network = Network::init(&[]);
    assert_eq!(mode(&network.path("authority.key")), 0o600);
    let nodes: Vec<_> = fs::read_dir(network.path("nodes")).unwrap().map(|node| node.unwrap()).collect();
    assert_eq!(nodes.len(), 6 + 4 + 1);
    for node in nodes {
        assert_eq!(mode(&node.path().join("node.key")), 0o600);
        assert!(node.path().join("node.toml").is_file());
    }
    assert_eq!(mode(&network.dir), 0o700);
    assert_eq!(network.documents().len(), 3);
    assert_eq!(fs::read_dir(network.dir.parent().unwrap()).unwrap().count(), 1, "something was left behind");
}

#[test]
fn init_overwrites_nothing() {
    let network = Network::init(&[]);
    let before = fs::read(network.path("authority.key")).unwrap();
    let dir = network.dir.to_str().unwrap();
    motemix(["net", "init", dir]).fails(1, &[dir, "not empty", "choose another folder"]);
    assert_eq!(fs::read(network.path("authority.key")).unwrap(), before);

    let file = network.path("authority.pub");
    motemix(["net", "init", file.to_str().unwrap()]).fails(1, &["authority.pub", "nothing is overwritten"]);
}

#[test]
fn init_takes_an_empty_folder_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let said = motemix(["net", "init", path, "--epochs", "1"]).succeeds();
    assert!(said.contains("11 nodes in") && said.contains("1 epoch;"), "{said}");
    assert!(folder.path().join("authority.key").is_file());
}

#[test]
fn init_refuses_sizes_that_have_no_paths() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("net");
    let init = |more: &[&str]| motemix([&["net", "init", dir.to_str().unwrap()], more].concat());
    init(&["--mixes", "2"]).fails(2, &["--mixes 2", "--layers 3"]);
    init(&["--mixes", "3", "--profile", "host1k"]).fails(2, &["--mixes 3", "use 6 mixes"]);
    init(&["--base-port", "65530"]).fails(2, &["--base-port 65530"]);
    init(&["--epoch-length", "90500ms"]).fails(2, &["--epoch-length", "whole seconds"]);
    init(&["--mean-delay", "5h"]).fails(2, &["mean_delay", "out of range"]);
    init(&["--name", "My Plant"]).fails(2, &["name", "a-z"]);
    assert!(!dir.exists());
}

#[test]
fn init_refuses_an_epoch_that_no_replay_filter_lasts_for_and_says_what_one_needs() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("net");
    let init = |more: &[&str]| motemix([&["net", "init", dir.to_str().unwrap()], more].concat());
    init(&["--rate", "20000"])
        .fails(2, &["--epoch-length 1day", "20000 packets", "300 MiB", "use epochs of"]);
    init(&["--rate", "1"]).fails(2, &["--rate 1:", "cover alone makes"]);
    assert!(!dir.exists());
    let said = init(&["--rate", "20000", "--epoch-length", "1h", "--base-port", "0"]).succeeds();
    assert!(said.contains("20000 packets a second") && said.contains("MiB of disk"), "{said}");
    let config = fs::read_to_string(dir.join("nodes/mix-1/node.toml")).unwrap();
    assert!(
        config.contains("replay_tags = 72000000") && config.contains("network = \"motemix\""),
        "{config}"
    );
}

#[test]
fn an_epoch_that_begins_early_has_a_number_of_its_own_and_leaves_the_others_alone() {
    let network = Network::init(&[]);
    let dir = network.dir.to_str().unwrap();
    let before: Vec<_> =
        network.documents().iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    for more in 1..=3 {
        let said = motemix(["net", "renew", dir, "--early"]).succeeds();
        assert!(said.starts_with("signed epoch "), "{said}");
        assert_eq!(network.documents().len(), before.len() + more);
    }
    motemix(["net", "renew", dir, "--early"]).fails(1, &["--early", "no number is left", "--epoch-length"]);
    assert!(
        before.iter().all(|(path, bytes)| fs::read(path).unwrap() == *bytes),
        "each epoch has one document"
    );
    let said = motemix(["net", "renew", dir, "--epochs", "4"]).succeeds();
    assert!(said.starts_with("signed 1 epoch,"), "the calendar goes on: {said}");
}

#[test]
fn renew_signs_what_is_missing_and_keeps_what_is_there() {
    let network = Network::init(&["--readings", "10s"]);
    let dir = network.dir.to_str().unwrap();
    let before: Vec<_> = network.documents().iter().map(|path| fs::read(path).unwrap()).collect();
    let said = motemix(["net", "renew", dir, "--epochs", "5"]).succeeds();
    assert!(said.starts_with("signed 2 epochs"), "{said}");
    let documents = network.documents();
    assert_eq!(documents.len(), 5);
    for (path, bytes) in documents.iter().zip(before) {
        assert_eq!(fs::read(path).unwrap(), bytes);
    }
    let last = documents[4].to_str().unwrap();
    let at = (fs::metadata(last).unwrap().modified().unwrap() + std::time::Duration::from_hours(4 * 24))
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let at = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + at).to_string();
    motemix(["directory", "verify", last, "--authority", &network.authority(), "--at", &at]).succeeds();
    let said = motemix(["net", "renew", dir, "--epochs", "5"]).succeeds();
    assert!(said.contains("all documents are there already"), "{said}");
}

#[test]
fn mix_keys_change_with_the_epoch() {
    let network = Network::init(&[]);
    let keys: Vec<_> = network
        .documents()
        .iter()
        .map(|path| {
            let json = motemix(["directory", "show", path.to_str().unwrap(), "--json"]).succeeds();
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            json["nodes"][0]["mix_key"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
}

#[test]
fn a_broken_configuration_is_one_line_with_file_field_and_remedy() {
    for (from, to, words) in [
        ("threshold = 1", "threshold = 7", &["node.toml", "threshold", "choose"][..]),
        ("threshold = 1", "treshold = 1", &["node.toml", "treshold", "remove"]),
        ("id = 10", "id = \"ten\"", &["node.toml", "id", "correct"]),
        ("name = ", "name ", &["node.toml"]),
    ] {
        let network = Network::init(&[]);
        let config = network.config("receiver");
        edit(&config, from, to);
        let config = config.to_str().unwrap();
        motemix(["node", "--config", config]).fails(2, words);
        motemix(["send", "--config", config, "text"]).fails(2, words);
        motemix(["inbox", "--config", config]).fails(2, words);
        motemix(["net", "status", network.dir.to_str().unwrap()]).fails(2, words);
        motemix(["net", "up", network.dir.to_str().unwrap()]).fails(2, words);
    }
    motemix(["node", "--config", "/nowhere/node.toml"]).fails(2, &["/nowhere/node.toml", "check the path"]);
}

#[test]
fn a_folder_without_a_network_is_named_with_a_remedy() {
    for command in ["up", "down", "status"] {
        motemix(["net", command, "/nowhere"]).fails(2, &["/nowhere/nodes", "motemix net init"]);
    }
    motemix(["net", "renew", "/nowhere"]).fails(2, &["/nowhere/authority.key"]);
}

#[test]
fn a_network_that_does_not_run_has_nothing_to_stop() {
    let network = Network::init(&[]);
    let dir = network.dir.to_str().unwrap();
    let said = motemix(["net", "down", dir, "--json"]).succeeds();
    let rows: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["stopped"] == "not_running"), "{said}");
    let said = motemix(["net", "status", dir]).succeeds();
    assert_eq!(said.matches(" down").count(), 11, "{said}");
}

#[test]
fn a_pid_file_of_another_process_stops_nobody() {
    let network = Network::init(&[]);
    let mut bystander = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(network.path("nodes/mix-1/node.pid"), format!("{} 1 {boot}", bystander.id())).unwrap();
    motemix(["net", "down", network.dir.to_str().unwrap()]).succeeds();
    assert!(bystander.try_wait().unwrap().is_none(), "the bystander was stopped");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn an_inbox_that_was_never_opened_is_empty_and_stays_away() {
    let network = Network::init(&[]);
    let config = network.config("receiver");
    let said = motemix(["inbox", "--config", config.to_str().unwrap()]).succeeds();
    assert_eq!(said, "no messages\n");
    assert!(!network.path("nodes/receiver/state").exists());
}
