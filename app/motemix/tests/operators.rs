//! A network that several people run: three authorities of which two sign, and nodes whose keys
//! were made in folders of their own. Epochs take ten seconds.

#[path = "operators/clocks.rs"]
mod clocks;
#[path = "operators/memory.rs"]
mod memory;
#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;
#[path = "operators/world.rs"]
mod world;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use program::{motemix, wait_until};
use world::{AUTHORITIES, World, present};

const MIXES: [&str; 4] = ["mix-1", "mix-2", "mix-3", "mix-4"];

/// Three authorities, and mixes that all of them have admitted and nobody has started.
fn with_mixes() -> World {
    let mut world = World::on_loopback();
    for name in MIXES {
        world.init(name, name, true);
        world.admit(name, name, Some(0), &AUTHORITIES);
    }
    world
}

/// The nodes that an authority's document of an epoch has.
fn nodes_of(world: &World, authority: &str, epoch: u64) -> Vec<String> {
    let file = world.path(authority).join(format!("documents/{epoch}.cbor"));
    // Whose signatures count is in the configuration beside it.
    let said = motemix(["directory", "show", "--json", file.to_str().unwrap()]).succeeds();
    let document: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let nodes = document["nodes"].as_array().expect("a list").iter();
    nodes.map(|node| node["name"].as_str().expect("a name").to_owned()).collect()
}

/// The manual's order: authorities are made, nodes are made and admitted, and then all are started.
#[test]
fn in_the_manual_s_order_all_nodes_are_in_the_first_document() {
    let mut world = World::on_loopback_before(&[]);
    let offline = ["--network", "orchard", "--epoch-length", "10s"];
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        let is_mix = name.starts_with("mix");
        world.init_with(name, name, is_mix, &AUTHORITIES, &offline);
        world.admit(name, name, is_mix.then_some(0), &AUTHORITIES);
    }
    for name in AUTHORITIES {
        world.serve(name);
    }
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        world.run(name);
    }
    world.delivers("mote", "receiver", "first");
    let first = world.documents("south")[0];
    let mut nodes = nodes_of(&world, "south", first);
    nodes.sort_unstable();
    assert_eq!(nodes, ["mix-1", "mix-2", "mix-3", "mix-4", "mote", "receiver"]);
    // A node's own folder says whose signatures count as well, of a document whose time is not over.
    let mote = world.dir("mote");
    wait_until("it is shown", || motemix(["directory", "show", &mote]).status() == 0);
    let latest = world.path("mote").join("documents");
    let latest = fs::read_dir(latest).unwrap().next().expect("a document").unwrap().path();
    let verified = motemix(["directory", "verify", latest.to_str().unwrap()]);
    // Its time may be over, or to come; who has to sign is known.
    let said = verified.stderr();
    assert!(verified.status() == 0 || !said.contains("signature") && !said.contains("authority"), "{said}");

    // Who comes later is told from when on, and what to do, also by an authority that was away: the
    // others know what is signed.
    wait_until("documents are ahead", || world.latest("south") >= present() + 3);
    world.kill("north");
    fs::rename(world.path("north/documents"), world.path("north/elsewhere")).unwrap();
    world.init("late", "late", false);
    let descriptor = world.path("late").join("late.descriptor");
    let said = motemix(["authority", "add", &world.dir("north"), descriptor.to_str().unwrap()]).succeeds();
    for words in
        ["; documents up to epoch ", "it waits until then, and needs nothing", "before the first is served"]
    {
        assert!(said.contains(words) && said.lines().count() == 1, "{words}: {said}");
    }
    // It waits, and says until when, as soon as documents of later epochs have it: for two epochs at
    // least, as those before are signed.
    wait_until("documents are ahead", || world.latest("south") >= present() + 3);
    world.admit("late", "late", None, &AUTHORITIES[1..]);
    world.run("late");
    let reason = || {
        let said = motemix(["status", "--json", "--config", &world.config("late")]).succeeds();
        let status: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        status["health"]["reasons"][0].clone()
    };
    wait_until("it waits for its first document", || {
        let reason = reason();
        let waits = reason["words"].as_str().is_some_and(|words| words.contains("takes part from epoch "));
        assert!(!waits || reason["state"] == "starting", "{reason}");
        waits
    });
    let south = world.dir("south");
    let add = ["authority", "add", &south, descriptor.to_str().unwrap()];
    wait_until("documents have it", || {
        let said = motemix(add).succeeds();
        assert!(said.contains("is admitted already"), "{said}");
        said.contains("; it is in the network documents from epoch ") || said.contains("of this epoch has it")
    });
    world.delivers("late", "receiver", "late");
}

#[test]
fn a_network_that_can_carry_nothing_says_so() {
    let mut world = World::on_loopback();
    let north = world.dir("north");
    let says = |world: &mut World| {
        let said = world.says("north", &["authority", "status", &north]).succeeds();
        said.lines().find(|line| line.trim_start().starts_with("carries ")).map(str::to_owned)
    };
    world.init("mote", "mote", false);
    world.admit("mote", "mote", None, &AUTHORITIES);
    let said = says(&mut world).expect("a row");
    assert!(said.contains("nothing: the network has no mix") && said.contains("authority add"), "{said}");
    world.init("mix-1", "mix-1", true);
    world.admit("mix-1", "mix-1", Some(0), &["north"]);
    let said = says(&mut world).expect("a row");
    assert!(said.contains("nothing: layer 0 has 1 mixes, and a path needs "), "{said}");
    for name in &MIXES[1..] {
        world.init(name, name, true);
        world.admit(name, name, Some(0), &["north"]);
    }
    assert_eq!(says(&mut world), None);

    // A second program is told that the first is at work, and not that a port is taken.
    motemix(["authority", "serve", &north]).fails(1, &["north", "serves from this folder already"]);
}

#[test]
fn people_who_do_not_trust_each_other_run_a_network() {
    let mut world = with_mixes();
    // Two of three are enough.
    for name in ["receiver", "mote"] {
        world.init(name, name, false);
        world.admit(name, name, None, &AUTHORITIES[1..]);
    }
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        world.run(name);
    }
    world.delivers("mote", "receiver", "first");
    // What nobody has to see to is no warning.
    let log = || fs::read_to_string(world.path("mote.log")).unwrap();
    wait_until("it says that enough know it", || log().contains("2 of the authorities know this node"));
    let warning =
        log().lines().find(|line| line.contains(" WARN ") && line.contains("made known")).map(str::to_owned);
    assert_eq!(warning, None);

    // An authority is gone, and the others go on; it comes back and has what they agreed on. It
    // asks for nothing of an epoch that is over.
    wait_until("documents are ahead", || {
        AUTHORITIES.iter().all(|name| world.latest(name) >= world::present() + 3)
    });
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
    let descriptor = world.path("other").join("mix-3.descriptor");
    let again = ["authority", "add", &world.dir("south"), descriptor.to_str().unwrap(), "--layer", "0"];
    let said = motemix(again).succeeds();
    assert!(said.contains("; documents up to epoch ") && said.contains(" is in none before 20"), "{said}");
    wait_until("the other operator's mix is in the document", || world.latest("south") >= latest + 2);
    world.delivers("mote", "receiver", "third");
    let mut inbox = world.inbox("receiver");
    inbox.dedup();
    for text in ["first", "second", "third"] {
        assert!(inbox.iter().any(|message| message == text), "{text} is not in {inbox:?}");
    }
}

/// Two programs have the key of one authority. To the north it says that there is a fourth mix, and
/// to the south that there is none: each of the two could sign a document with it.
#[test]
fn an_authority_that_says_two_things_is_told_of_and_makes_no_second_document() {
    let mut world = with_mixes();
    for name in MIXES {
        world.run(name);
    }
    wait_until("there are documents", || world.latest("south") >= world::present() + 2);
    for name in ["east", "south"] {
        world.kill(name);
    }
    let mut cp = std::process::Command::new("cp");
    let copied = cp.arg("-a").args([world.path("east"), world.path("twin")]).status().unwrap();
    assert!(copied.success());
    let (east, twin) = (world.at("east"), world.at("twin"));
    for name in ["twin", "south"] {
        program::edit(&world.path(name).join("authority.toml"), &east, &twin);
    }
    let remove = || motemix(["authority", "remove", &world.dir("twin"), "mix-4"]);
    // An authority is run twice by nobody who did not say so.
    remove().fails(1, &["authority.db: it was copied", "a second document of an epoch", "motemix adopt"]);
    motemix(["adopt", world.path("twin").join("authority.db").to_str().unwrap()]).succeeds();
    remove().succeeds();
    let before = world.latest("north");
    for name in ["east", "twin", "south"] {
        world.serve(name);
    }
    wait_until("the others go on", || ["north", "south"].iter().all(|name| world.latest(name) >= before + 3));
    for name in ["north", "south"] {
        let said = motemix(["authority", "status", &world.at(name)]).succeeds();
        assert!(said.contains("said two things"), "{name}: {said}");
        assert!(said.contains("mix-4"), "{name}: {said}");
        assert!(world.asked(name, "/metrics").contains("motemix_authority_others_lied 1"), "{name}");
        let health = world.asked(name, "/healthz");
        assert!(health.starts_with("HTTP/1.1 200 ") && health.contains("voted or signed twice"), "{health}");
    }
    for epoch in before..=before + 3 {
        let have: Vec<_> = [&AUTHORITIES[..], &["twin"]]
            .concat()
            .into_iter()
            .filter(|name| world.documents(name).contains(&epoch))
            .map(|name| world.payload(name, epoch))
            .collect();
        assert!(have.len() >= 2 && have.windows(2).all(|pair| pair[0] == pair[1]), "epoch {epoch}");
    }
}

/// Each operator decides for itself, and by hand. `authority status` of its folder asks the others.
#[test]
fn operators_see_where_they_do_not_agree() {
    let mut world = with_mixes();
    let north = world.dir("north");
    let looks = |world: &mut World| world.says("north", &["authority", "status", &north]).succeeds();
    let said = looks(&mut world);
    assert!(said.ends_with("2 of 2 other authorities answer, and say the same\n"), "{said}");

    let (south, east) = (world.at("south"), world.at("east"));
    motemix(["authority", "remove", &world.dir("south"), "mix-4"]).succeeds();
    world.admit("mix-2", "mix-2", Some(1), &["east"]);
    world.init("shed", "shed", false);
    world.admit("shed", "shed", None, &["south", "east"]);
    world.kill("east");
    program::edit(&world.path("east").join("authority.toml"), "mean_delay = \"20ms\"", "mean_delay = \"2s\"");
    world.serve("east");
    let said = looks(&mut world);
    for (begin, end) in [
        (format!("{east}: mean_delay is \"2s\""), "and \"20ms\" here; it has to be the same"),
        (format!("{south}: mix-4 ("), ") is not admitted"),
        (format!("{east}: mix-2 is mix, layer 1 there"), "and mix, layer 0 here"),
        (format!("{south}: shed ("), ") is admitted, and not here"),
        (format!("{east}: shed ("), ") is admitted, and not here"),
    ] {
        assert!(said.lines().any(|line| line.starts_with(&begin) && line.ends_with(end)), "{begin}: {said}");
    }
    let told = world.says("north", &["authority", "status", "--json", &north]).succeeds();
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let differences = |at: &str| {
        let others = told["others"].as_array().expect("a list");
        let other = others.iter().find(|other| other["at"] == at).expect("it was asked");
        (other["answers"] == true, other["differences"].as_array().map(Vec::len))
    };
    assert_eq!((differences(&south), differences(&east)), ((true, Some(2)), (true, Some(3))), "{told}");
    assert_eq!(told["parameters"]["mean_delay"], "20ms");

    // Those that are gone agree with nobody.
    world.kill("south");
    let silent = |told: &str| told.lines().any(|line| line == "motemix_authority_others_silent 1");
    wait_until("south alone is silent", || {
        world.asked("north", "/healthz").contains(&south) && silent(&world.asked("north", "/metrics"))
    });
    let told = world.asked("north", "/metrics");
    for figure in ["nodes 4", "others 2", "others_lied 0", "nodes_left_out 0", "documents_wanted 4"] {
        let line = format!("motemix_authority_{figure}");
        assert!(told.lines().any(|told| told == line), "{line}: {told}");
    }
    let said = looks(&mut world);
    assert!(said.contains("1 of 2 other authorities answer\n"), "{said}");
    world.kill("north");
    world.serve("north");
    world.kill("east");
    let said = looks(&mut world);
    assert!(said.ends_with("none of the 2 other authorities answers\n"), "{said}");

    // The own one is gone, and the folder knows whom to ask.
    world.kill("north");
    world.serve("south");
    let asked = world.says("north", &["authority", "status", &north]);
    let said = asked.shows_and_fails(1, &[&world.at("north"), "authority serve"]);
    assert!(said.lines().any(|line| line.starts_with(&south) && line.contains("for epoch ")), "{said}");
    assert!(said.ends_with("1 of 2 other authorities answer\n"), "{said}");
}

/// A mix and a receiver lose their machines, and a second mix is moved by hand. What they were
/// comes back in other folders, with new mix keys.
#[test]
fn a_node_that_was_lost_comes_back_out_of_its_backup_with_new_mix_keys() {
    let mut world = with_mixes();
    for name in ["receiver", "mote"] {
        world.init(name, name, false);
        world.admit(name, name, None, &AUTHORITIES);
    }
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        world.run(name);
    }
    world.delivers("mote", "receiver", "first");
    // A node whose keys were made anew is known by its old ones for as long as there are documents.
    for name in ["receiver", "mix-1", "mix-2"] {
        wait_until("documents are ahead", || world.latest(name) >= present() + 3);
    }
    let key_of = |world: &World, name: &str| fs::read_to_string(world.path(name).join("node.key")).unwrap();
    let seed_of = |key: &str| key.lines().last().unwrap().strip_prefix("seed ").unwrap().to_owned();
    for name in ["receiver", "mix-1"] {
        let file = world.dir(&format!("{name}.backup"));
        let backup = ["backup", "--config", &world.config(name), &file];
        let said = motemix(backup).succeeds();
        assert!(said.contains("identity") && said.contains("without mix keys and replay logs"), "{said}");
        assert_eq!(program::mode(file.as_ref()), 0o600);
        motemix(backup).fails(1, &["there already"]);
        motemix(["restore", &file, "--to", &world.dir(name)]).fails(1, &["not empty"]);
        let bytes = fs::read(&file).unwrap();
        let seed = hex::decode(seed_of(&key_of(&world, name))).unwrap();
        for part in [seed.as_slice(), hex::encode(&seed).as_bytes(), b"motemix node key", b"replay-"] {
            assert!(bytes.windows(part.len()).all(|window| window != part), "{name}");
        }
    }
    let before = ["receiver", "mix-1", "mix-2"].map(|name| (name, seed_of(&key_of(&world, name))));
    for (name, _) in &before {
        world.kill(name);
        fs::rename(world.path(name), world.path("lost")).unwrap();
        let file = world.dir(&format!("{name}.backup"));
        if *name == "mix-2" {
            let mut cp = std::process::Command::new("cp");
            let copied = cp.arg("-a").args([world.path("lost"), world.path(name)]).status().unwrap();
            assert!(copied.success());
        } else {
            let said = motemix(["restore", &file, "--to", &world.dir(name)]).succeeds();
            assert!(said.contains("with new mix keys"), "{said}");
        }
        fs::remove_dir_all(world.path("lost")).unwrap();
        world.run(name);
        wait_until("it says that its keys are new", || {
            motemix(["status", "--config", &world.config(name)]).stdout().contains("keys were made anew")
        });
    }
    assert!(world.inbox("receiver").contains(&"first".to_owned()));
    world.delivers("mote", "receiver", "second");
    for (name, seed) in &before {
        wait_until("it takes part again", || {
            let said = motemix(["status", "--json", "--config", &world.config(name)]).succeeds();
            !said.contains("\"document\": null")
        });
        assert_ne!(seed_of(&key_of(&world, name)), *seed);
    }
    world.delivers("mote", "receiver", "third");
    let config = world.config("receiver");
    motemix(["restore", &config, "--to", &world.dir("none")]).fails(2, &["no backup of a node"]);
    assert!(!world.path("none").exists());
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
    let add = |file: &std::path::Path| motemix(["authority", "add", &north, file.to_str().unwrap()]);
    for file in [&huge, &world.path("north/authority.toml"), &world.path("north/authority.pub")] {
        let said = add(file);
        said.fails(2, &[file.file_name().unwrap().to_str().unwrap(), "no descriptor", "`motemix node init`"]);
    }
    // Whose epochs have another length has keys of other epochs.
    world.init_with("slow", "slow", false, &AUTHORITIES, &["--network", "orchard"]);
    add(&world.path("slow").join("slow.descriptor")).fails(2, &["slow.descriptor", "--epoch-length 10s"]);
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
    // Whom the network does not know, and fewer than have to sign.
    let (at, own) = (world.at("north"), [world.public("north"), world.public("south")]);
    let other = tempfile::tempdir().unwrap();
    let dir = other.path().join("other");
    let init = ["node", "init", dir.to_str().unwrap(), "--listen", "127.0.0.1:1", "--directory", &at];
    let stranger = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    motemix(init.into_iter().chain(["--authority", stranger]))
        .fails(2, &["--authority", stranger, "none of"]);
    let keys = ["--authority", &own[0], "--authority", &own[1], "--threshold", "1"];
    motemix(init.into_iter().chain(keys)).fails(2, &["--threshold", "more than half"]);
    assert!(!dir.exists());
    // A node that offers more than it is asked for.
    let path = descriptor.to_str().unwrap().to_owned();
    let said = motemix(["authority", "add", &world.dir("south"), &path]).succeeds();
    assert!(said.contains("an endpoint") && said.contains("--layer"), "{said}");
    // Another duty of a node that is known is no new node.
    for (layer, words) in
        [(&["--layer", "0"][..], "was an endpoint and is a mix of layer 0"), (&[], "and is an endpoint now")]
    {
        let add = ["authority", "add", &world.dir("south"), &path];
        let said = motemix([&add[..], layer].concat()).succeeds();
        assert!(said.contains(words) && !said.contains("anew"), "{said}");
    }
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
    // Told of what was typed, and not of a file that is not there.
    motemix(words).fails(2, &["motemix: --network: ", "a-z"]);
    let short = words[..4].iter().chain(&["orchard", "--listen", "127.0.0.1:7000", "--epoch-length", "1s"]);
    motemix(short.copied()).fails(2, &["motemix: --epoch-length: ", "ten or more"]);
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
    let said = motemix(["authority", "peers", dir, "--threshold", "2", &format!("{theirs}@::1:7002")]);
    assert!(said.status() == 2 && said.stderr().contains("in brackets: [::1]:7002"), "{}", said.stderr());
    motemix(["authority", "status", "127.0.0.1:1"]).fails(1, &["127.0.0.1:1"]);
    // A link-local address is of one interface.
    let missing = ["[fe80::1]:7000", "without its interface", "write [fe80::1%"];
    motemix(["authority", "status", "[fe80::1]:7000"]).fails(1, &missing);
    motemix(["broker", "watch", "coap://[fe80::1]:7000", "--seconds", "1"]).fails(1, &missing);
    let here = folder.path().join("here");
    let here = here.to_str().unwrap();
    motemix(["authority", "init", here, "--network", "orchard", "--listen", "[fe80::1]:7000"]).succeeds();
    motemix(["authority", "serve", here]).fails(1, &missing);
    motemix(["authority", "status", "nowhere"]).fails(2, &["nowhere: there is no such folder"]);
}

/// Somebody who speaks HTTP badly: `answer` says what goes to each who asks for a path. It goes
/// with the test's process.
fn badly(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("its address").to_string();
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut asked = [0; 4096];
            let len = stream.read(&mut asked).unwrap_or(0);
            let asked = String::from_utf8_lossy(&asked[..len]).into_owned();
            answer(asked.split(' ').nth(1).unwrap_or_default(), &mut stream);
            // Some never say that they have ended.
            open.push(stream);
        }
    });
    at
}

/// One says nothing, one lists epochs without end and gives junk for each, one breaks off, one is
/// no HTTP: the node has its documents all the same, and an authority with such a peer votes.
#[test]
fn whoever_speaks_badly_keeps_nobody_from_documents() {
    let mut world = World::on_loopback();
    let silent = badly(|_, _| {});
    let liar = badly(|path, stream| {
        let body = if path == "/documents" {
            let epochs = world::present()..world::present() + 2000;
            epochs.flat_map(|epoch| [epoch.to_string(), "\n".to_owned()]).collect::<String>()
        } else {
            "x".repeat(3000)
        };
        let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    });
    let broken = badly(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n1\n2");
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
    let other = badly(|_, stream| {
        let _ = stream.write_all(&[0xff; 64]);
    });
    // The third authority is never there, and what answers in its place says nothing.
    world.kill("east");
    for name in ["north", "south"] {
        let east = world.at("east");
        program::edit(&world.path(name).join("authority.toml"), &east, &silent);
        world.kill(name);
        world.serve(name);
    }
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        world.init_with(name, name, name.starts_with("mix"), &["north", "south"], &[]);
        world.admit(name, name, name.starts_with("mix").then_some(0), &["north", "south"]);
    }
    for name in ["mote", "receiver"] {
        world.asks_first(name, &[silent.clone(), liar.clone(), broken.clone(), other.clone()]);
    }
    for name in MIXES.into_iter().chain(["receiver", "mote"]) {
        world.run(name);
    }
    world.delivers("mote", "receiver", "in spite of them");
    let before = world.latest("mote");
    wait_until("documents go on coming", || world.latest("mote") >= before + 3);
    world.delivers("mote", "receiver", "again");
}

/// One port of TCP for each of two families, as of UDP.
#[test]
fn a_node_gives_out_documents_on_both_families_at_one_port() {
    let mut world = World::on_loopback();
    for name in MIXES.into_iter().chain(["receiver"]) {
        world.init(name, name, name.starts_with("mix"));
        world.admit(name, name, name.starts_with("mix").then_some(0), &AUTHORITIES);
    }
    let at = world.at("receiver");
    let port = at.rsplit_once(':').expect("a port").1.to_owned();
    let config = world.path("receiver").join("node.toml");
    program::edit(
        &config,
        &format!("listen = [\"{at}\"]"),
        &format!("listen = [\"0.0.0.0:{port}\", \"[::]:{port}\"]"),
    );
    program::edit(&config, "mix = false", &format!("mix = false\naddresses = [\"{at}\"]"));
    for name in MIXES.into_iter().chain(["receiver"]) {
        world.run(name);
    }
    wait_until("documents have come", || world.latest("receiver") > 0);
    let epoch = world.latest("receiver");
    let file = fs::read(world.path("receiver").join(format!("documents/{epoch}.cbor"))).expect("a document");
    for host in ["127.0.0.1", "[::1]"] {
        let mut stream = TcpStream::connect(format!("{host}:{port}")).expect("it listens");
        write!(stream, "GET /documents/{epoch} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        assert!(answer.ends_with(&file) && answer.starts_with(b"HTTP/1.1 200"), "{host}");
    }
}
