//! Stories of processes of ours among nodes of the originals, which are played by forged packets;
//! and of keys that are renewed. What the Python nodes themselves say is in `loopix_interop.rs`.

mod program;
#[path = "loopix_nodes/world.rs"]
mod world;

use motemix_loopix::files::{Directory, NodeEntry, keys, names, role_of};
use motemix_loopix::pack::{Value, decode, encode};
use motemix_loopix::packet::{Format, Hop, create, forward};
use motemix_loopix::wire::command::{Command, Next, Text};
use motemix_loopix::wire::message::Destination;
use motemix_os::rng::HostRng;
use program::{motemix, wait_until};
use std::fs;
use std::path::Path;
use std::time::Duration;
use world::World;

/// Nothing leaves by itself.
const QUIET: [&str; 8] = ["--loops", "1e9", "--drop", "1e9", "--payload", "1e9", "--pull", "1e9"];

fn entry(world: &World, name: &str) -> NodeEntry {
    let folder = world.folder(name);
    keys::load_public(&keys::public_file(&folder, role_of(&folder).unwrap())).unwrap()
}

/// A packet without delays along this path; each node is named at `host`, if there is one, or as
/// the directory does.
fn packet(world: &World, path: &[(&str, Option<&str>)], payload: &[u8]) -> Vec<u8> {
    let mut rng = HostRng::new().unwrap();
    let nodes: Vec<_> = path.iter().map(|(name, host)| (entry(world, name), *host)).collect();
    let routing = |(node, host): &(NodeEntry, Option<&str>)| {
        let host = host.unwrap_or(node.host()).to_owned();
        let next = Next::Named { host, port: node.port(), name: node.name().to_owned() };
        let command = Command { next, delay: Duration::ZERO, drop: false };
        forward::relay(&Format::LOOPIX, command.value(Text::Bin, Text::Bin))
    };
    let routings: Vec<_> = nodes.iter().map(routing).collect();
    let hop = |((node, _), routing): (&(NodeEntry, Option<&str>), _)| Hop {
        key: *node.public_key(),
        routing,
        associated: &[],
    };
    let hops: Vec<_> =
        nodes.iter().zip(&routings).map(|(node, routing)| hop((node, routing.as_slice()))).collect();
    create(&Format::LOOPIX, &hops, payload, &mut rng).unwrap()
}

fn destination(node: &NodeEntry) -> Destination {
    Destination { host: node.host().into(), port: node.port(), name: node.name().into() }
}

/// Everybody's host is this one, in key files and directories.
fn rename_hosts(world: &World, to: &str) {
    let folders: Vec<_> =
        fs::read_dir(world.dir.join("nodes")).unwrap().map(|node| node.unwrap().path()).collect();
    let mut entries = Vec::new();
    for folder in &folders {
        let file = keys::public_file(folder, role_of(folder).unwrap());
        let mut entry = keys::load_public(&file).unwrap();
        match &mut entry {
            NodeEntry::Mix(mix) => to.clone_into(&mut mix.host),
            NodeEntry::Provider(provider) => to.clone_into(&mut provider.host),
            NodeEntry::Client(user) => to.clone_into(&mut user.host),
        }
        keys::save_public(&file, &entry).unwrap();
        entries.push(entry);
    }
    let directory = Directory::of_nodes(entries);
    for folder in &folders {
        directory.save(&folder.join(names::DATABASE)).unwrap();
    }
}

/// Clients of the originals look their provider's name up, and write its address into their loops.
#[test]
fn loops_with_addresses_pass_a_network_of_names() {
    let mut world = World::init("ucl-2017", &QUIET);
    rename_hosts(&world, "localhost");
    for name in ["Mix1", "Mix2", "Mix3", "Provider1"] {
        world.start(name, &[]);
    }
    world.wait_until_ready();
    let text = [b"HT".as_slice(), &[7; 500]].concat();
    let payload = destination(&entry(&world, "Client1")).payload(&text);
    for (number, host) in [None, Some("127.0.0.1"), Some("127.0.0.1")].into_iter().enumerate() {
        let provider = ("Provider1", None);
        let path = [
            provider,
            ("Mix1", None),
            ("Mix2", None),
            ("Mix3", None),
            ("Provider1", host),
            ("Client1", None),
        ];
        let datagram = packet(&world, &path, &payload);
        world.throw("Provider1", &datagram);
        wait_until("it is back at the provider", || {
            world.counter("Provider1", "stored") == number as u64 + 1
        });
    }
    assert_eq!(world.counter("Mix3", "dropped_unknown_next_hop"), 0);
    assert_eq!(world.counter("Mix3", "hosts_missing"), 0);
}

#[test]
fn names_that_are_not_found_are_told_and_stop_nobody() {
    let mut world = World::init("ucl-2017", &QUIET);
    rename_hosts(&world, "no-such-host.invalid");
    world.start("Mix1", &["--listen", "127.0.0.1:0"]);
    world.wait_until_ready();
    wait_until("the status says so", || world.counter("Mix1", "hosts_missing") == 1);
    let log = world.folder("Mix1").join("log");
    wait_until("the log says so", || fs::read_to_string(&log).unwrap().contains("no-such-host.invalid"));
    let lines = fs::read_to_string(&log).unwrap();
    assert_eq!(lines.matches("no-such-host.invalid").count(), 1, "{lines}");
}

#[test]
fn what_is_no_byte_string_is_told_as_a_value() {
    let mut world = World::init("ucl-2017", &QUIET);
    world.start("Client1", &[]);
    world.wait_until_ready();
    let payload = destination(&entry(&world, "Client1")).payload(b"");
    let Value::Array(mut fields) = decode(&payload).unwrap() else { panic!("no array") };
    fields[1] = Value::Array(vec![Value::from("\u{1b}[2J"), Value::from(7)]);
    let datagram = packet(&world, &[("Client1", None)], &encode(&Value::Array(fields)));
    world.throw("Client1", &datagram);
    let client = world.node("Client1");
    wait_until("it has arrived", || client.heard("received").len() == 1);
    let heard = client.heard("received").remove(0);
    assert_eq!(heard["value"], serde_json::json!(["\u{1b}[2J", 7]));
    assert_eq!(heard["msgpack"], "92a41b5b324a07");
    assert!(heard.get("text").is_none() && heard.get("hex").is_none(), "{heard}");
}

#[test]
fn a_folder_of_2018_is_known_by_its_configuration() {
    let mut world = World::init("fork-2018", &[]);
    for node in fs::read_dir(world.dir.join("nodes")).unwrap() {
        let folder = node.unwrap().path();
        fs::remove_file(folder.join("motemix.toml")).unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        // Nobody waits until a client of the originals would look at what comes.
        world.start(name, if name.starts_with("Provider") { &["--push"] } else { &[] });
    }
    world.wait_until_ready();
    assert_eq!(world.node("Provider1").heard("ready")[0]["profile"], "fork-2018");
    world.says("Client2", "Client1", "as in 2018");
}

#[test]
fn a_provider_of_another_profile_serves_its_users_and_says_what_is_wrong() {
    let mut world = World::init("fork-2018", &[]);
    for name in ["Mix1", "Mix2", "Mix3", "Provider2", "Client1", "Client2"] {
        world.start(name, &[]);
    }
    world.start("Provider1", &["--profile", "ucl-2017"]);
    world.wait_until_ready();
    world.says("Client2", "Client1", "all the same");
    let provider = world.node("Provider1");
    wait_until("it is said", || provider.heard("other_profile").len() == 1);
    assert_eq!(provider.heard("other_profile")[0]["heard"], "fork-2018");
    let log = fs::read_to_string(world.folder("Provider1").join("log")).unwrap();
    assert!(log.contains("--profile fork-2018"), "{log}");
    // Dummies are packets, so the client has heard of nothing strange.
    assert!(world.counter("Client1", "dummies_received") > 0);
    assert_eq!(world.counter("Client1", "other_profile"), 0);
}

/// Rate and key life that leave room for next to nothing.
fn leave_no_room(folder: &Path) {
    let file = folder.join(names::SETTINGS);
    let settings = fs::read_to_string(&file).unwrap();
    let (others, _) = settings.split_once("[replay]").unwrap();
    fs::write(&file, format!("{others}[replay]\nkey_days = 0\n")).unwrap();
}

#[test]
fn a_mix_whose_record_is_full_says_so_and_goes_on_with_a_new_key() {
    let mut world = World::init("hardened", &[]);
    let folder = world.folder("Mix2");
    let settings = fs::read(folder.join(names::SETTINGS)).unwrap();
    leave_no_room(&folder);
    for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2", "Client1", "Client2"] {
        world.start(name, &[]);
    }
    world.wait_until_ready();
    let mix = world.node("Mix2");
    wait_until("it says that it is full", || {
        mix.heard("replay_record").iter().any(|said| said["full_in_s"] == 0)
    });
    wait_until("it takes nothing more", || world.counter("Mix2", "dropped_replay_tags_full") > 0);
    let counters = world.counters("Mix2");
    assert_eq!(counters["replay_tags"], counters["replay_tags_most"], "{counters}");
    let log = fs::read_to_string(folder.join("log")).unwrap();
    assert!(log.contains("motemix loopix renew"), "{log}");
    world.node("Client1").write("send Client2 through the new key");

    let dir = folder.to_str().unwrap();
    motemix(["loopix", "renew", "--dir", dir]).fails(1, &["stop it first"]);
    world.stop("Mix2");
    fs::write(folder.join(names::SETTINGS), settings).unwrap();
    motemix(["loopix", "renew", "--dir", dir]).succeeds();
    motemix(["loopix", "directory", "build", "--dir", world.dir.to_str().unwrap()]).succeeds();
    world.start("Mix2", &[]);
    world.wait_until_ready();
    world.hears("Client2", "through the new key");
    assert_eq!(world.counter("Mix2", "dropped_replay_tags_full"), 0);
}
