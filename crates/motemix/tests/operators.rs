//! A network that several people run: three authorities of which two sign, and nodes whose keys
//! were made in folders of their own. Epochs take ten seconds.

#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;
#[path = "operators/world.rs"]
mod world;

use std::fs;

use program::{motemix, wait_until};
use world::{AUTHORITIES, World};

const MIXES: [&str; 4] = ["mix-1", "mix-2", "mix-3", "mix-4"];

#[test]
fn people_who_do_not_trust_each_other_run_a_network() {
    let mut world = World::on_loopback();
    for name in MIXES {
        world.init(name, name, true);
        world.admit(name, name, Some(0), &AUTHORITIES);
    }
    // Two of three are enough.
    for name in ["receiver", "mote"] {
        world.init(name, name, false);
        world.admit(name, name, None, &AUTHORITIES[1..]);
    }
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        world.run(name);
    }
    world.delivers("mote", "receiver", "first");

    // An authority is gone, and the others go on; it comes back and has what they agreed on.
    world.kill("north");
    let before = world.latest("south");
    wait_until("two authorities agree without the third", || world.latest("south") >= before + 2);
    world.serve("north");
    wait_until("the third has what they agreed on", || world.latest("north") >= before + 2);
    for epoch in before..=before + 2 {
        let documents: Vec<_> = AUTHORITIES.iter().map(|name| world.payload(name, epoch)).collect();
        assert!(documents.windows(2).all(|pair| pair[0] == pair[1]), "epoch {epoch}");
    }

    // Epochs have passed, and the nodes followed. A mix is killed and comes back.
    world.kill("mix-2");
    world.run("mix-2");
    world.delivers("mote", "receiver", "second");

    // Another operator has a mix of that name from now on, with other keys.
    world.kill("mix-3");
    for authority in AUTHORITIES {
        motemix(["authority", "remove", &world.dir(authority), "mix-3"]).succeeds();
    }
    world.init("other", "mix-3", true);
    world.admit("other", "mix-3", Some(0), &AUTHORITIES);
    world.run("other");
    let latest = world.latest("south");
    wait_until("the other operator's mix is in the document", || world.latest("south") >= latest + 2);
    world.delivers("mote", "receiver", "third");
    let mut inbox = world.inbox("receiver");
    inbox.dedup();
    for text in ["first", "second", "third"] {
        assert!(inbox.iter().any(|message| message == text), "{text} is not in {inbox:?}");
    }
}

#[test]
fn who_was_not_admitted_is_told_and_kept_out() {
    let mut world = World::on_loopback();
    world.init("stranger", "stranger", true);
    let descriptor = world.path("stranger").join("stranger.descriptor");
    let mut changed = fs::read(&descriptor).unwrap();
    let last = changed.len() - 1;
    changed[last] ^= 1;
    let forged = world.path("forged.descriptor");
    fs::write(&forged, changed).unwrap();
    let (north, forged) = (world.dir("north"), forged.to_str().unwrap().to_owned());
    motemix(["authority", "add", &north, &forged]).fails(2, &["forged.descriptor", "not signed by the node"]);
    let huge = world.path("huge.descriptor");
    fs::write(&huge, vec![0x58; 1 << 20]).unwrap();
    motemix(["authority", "add", &north, huge.to_str().unwrap()]).fails(2, &["huge.descriptor"]);
    motemix(["authority", "remove", &north, "stranger"]).fails(2, &["stranger", "no node of that name"]);
    let directory = world.at("north");
    motemix([
        "node",
        "init",
        &world.dir("stranger"),
        "--listen",
        "127.0.0.1:1",
        "--directory",
        &directory,
        "--authority",
        &world.public("north"),
    ])
    .fails(1, &["stranger", "not empty"]);
    // A name that another node has.
    world.admit("stranger", "stranger", Some(0), &["north"]);
    world.init("twin", "stranger", true);
    let twin = world.path("twin").join("stranger.descriptor");
    motemix(["authority", "add", &north, twin.to_str().unwrap()]).fails(2, &["another node is admitted"]);
    // An endpoint cannot be made a mix.
    world.init("end", "end", false);
    let end = world.path("end").join("end.descriptor");
    motemix(["authority", "add", &north, end.to_str().unwrap(), "--layer", "0"])
        .fails(2, &["does not offer"]);
}

#[test]
fn what_cannot_be_an_authority_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("north");
    let dir = dir.to_str().unwrap();
    motemix(["authority", "serve", dir]).fails(2, &["authority.toml"]);
    let words = ["authority", "init", dir, "--network", "Orchard!", "--listen", "127.0.0.1:7000"];
    motemix(words).fails(2, &["network", "a-z"]);
    let words = ["authority", "init", dir, "--network", "orchard", "--listen", "127.0.0.1:7000"];
    let said = motemix(words).succeeds();
    let own = said.lines().next().unwrap().to_owned();
    motemix(words).fails(1, &["north", "not empty"]);
    let peer = format!("{own}@127.0.0.1:7001");
    motemix(["authority", "peers", dir, "--threshold", "2", &peer]).fails(2, &["twice"]);
    let other = folder.path().join("south");
    let words =
        ["authority", "init", other.to_str().unwrap(), "--network", "orchard", "--listen", "127.0.0.1:7001"];
    let theirs = motemix(words).succeeds().lines().next().unwrap().to_owned();
    let peer = format!("{theirs}@127.0.0.1:7001");
    motemix(["authority", "peers", dir, "--threshold", "1", &peer]).fails(2, &["more than half", "2"]);
    motemix(["authority", "peers", dir, "--threshold", "2", &peer]).succeeds();
    motemix(["authority", "status", "127.0.0.1:1"]).fails(1, &["127.0.0.1:1"]);
}
