//! How a node is, told to those who run it.

#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;
#[path = "operators/world.rs"]
mod world;

use program::{Network, Running, motemix, wait_until};
use serde_json::Value;
use world::{AUTHORITIES, World};

/// What a node says of itself, for programs.
fn status(config: &str) -> Value {
    serde_json::from_str(&motemix(["status", "--json", "--config", config]).succeeds()).expect("JSON")
}

#[test]
fn a_node_tells_its_operator_how_it_is() {
    let running =
        Running::up(Network::init(&["--motes", "1", "--mean-delay", "10ms", "--loop-cover", "100ms"]));
    running.send("mote-1", "all is well").succeeds();
    let config = running.0.config("mix-2");
    let config = config.to_str().expect("UTF-8");
    wait_until("a loop came back", || {
        status(config)["detail"]["loops"]["returned"].as_u64().is_some_and(|loops| loops > 0)
    });
    let told = status(config);
    let (detail, document) = (&told["detail"], &told["detail"]["document"]);
    assert_eq!(told["name"], "mix-2");
    assert_eq!(detail["network"], "motemix");
    assert_eq!((&document["in_force"], &document["epoch"]), (&Value::Bool(true), &told["epoch"]));
    assert_eq!((&document["nodes"], &document["later"]), (&8.into(), &2.into()), "{document}");
    // Three epochs of a day, which follow each other.
    let second = |of: &str| document[of].as_u64().expect("a time");
    assert_eq!(second("covered_until") - second("valid_until"), 2 * 86_400);
    let time = detail["clock"]["time"].as_u64().expect("a time");
    assert!((second("valid_after")..second("valid_until")).contains(&time), "{detail}");
    assert_eq!(detail["clock"]["agrees"], true);
    let figure = |of: &str, what: &str| detail[of][what].as_u64().expect("a figure");
    let tags = figure("replay_filter", "tags");
    assert!(tags > 0 && tags <= figure("replay_filter", "most"), "{detail}");
    assert_eq!(figure("queue", "most"), 4096);
    assert!(figure("disk", "free") > 0 && figure("disk", "needed") > 16 << 20, "{detail}");
    assert!(figure("loops", "sent") >= figure("loops", "returned"), "{detail}");
    assert_eq!(detail["loops"]["alarm"], false);
    // A mix keeps no messages; a receiver does.
    assert_eq!(detail["inbox_percent"], Value::Null);
    let receiver = running.0.config("receiver");
    let receiver = receiver.to_str().expect("UTF-8");
    assert_eq!(
        (&status(receiver)["inbox"], &status(receiver)["detail"]["inbox_percent"]),
        (&1.into(), &0.into())
    );

    let table = motemix(["status", "--config", config]).succeeds();
    let row = |name: &str| {
        let line = table.lines().find(|line| line.trim_start().starts_with(name));
        line.unwrap_or_else(|| panic!("no {name} in {table}")).to_owned()
    };
    assert!(row("role").contains("mix, layer "), "{table}");
    assert!(row("documents").contains("for this epoch and 2 after it"), "{table}");
    for name in
        ["node", "network", "health", "listens", "epoch", "keys", "replay filter", "queue", "disk", "clock"]
    {
        row(name);
    }
    assert!(row("loops").contains("no alarm"), "{table}");
    assert!(row("clock").contains("the clocks agree"), "{table}");

    running.kill("mix-2");
    motemix(["status", "--config", config]).fails(1, &["control.sock", "no node is running here"]);
}

#[test]
fn a_node_tells_which_authorities_have_its_keys() {
    let mut world = World::on_loopback();
    world.init("mix-1", "mix-1", true);
    world.admit("mix-1", "mix-1", Some(0), &AUTHORITIES[..2]);
    world.run("mix-1");
    let config = world.config("mix-1");
    wait_until("it has told all of them", || {
        status(&config)["detail"]["authorities"].as_array().is_some_and(|told| told.len() == 3)
    });
    let told = status(&config);
    // One mix alone makes no network.
    assert_eq!(told["detail"]["document"], Value::Null);
    assert_eq!(told["health"]["state"], "failing");
    let from = told["detail"]["keys_from"].as_u64().expect("an epoch");
    for (number, name) in AUTHORITIES.into_iter().enumerate() {
        let at = world.at(name);
        let of = told["detail"]["authorities"].as_array().expect("a list").iter().find(|one| one["at"] == at);
        let of = of.unwrap_or_else(|| panic!("{name} is not in {told}"));
        if number < 2 {
            assert!(of["keys_until"].as_u64().expect("an epoch") > from && of["problem"].is_null(), "{of}");
        } else {
            assert!(of["keys_until"].is_null(), "{of}");
            assert!(of["problem"].as_str().expect("a reason").contains("not admitted"), "{of}");
        }
    }
    let table = motemix(["status", "--config", &config]).succeeds();
    assert!(table.contains("the node waits for one") && table.contains("epochs from now on"), "{table}");
    assert!(table.contains("\nfailing: documents: no network document is in force"), "{table}");
}
