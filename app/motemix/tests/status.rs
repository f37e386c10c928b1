//! How a node is, and how all nodes of a network are, told to those who run them.

#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;
#[path = "operators/world.rs"]
mod world;

use program::{Network, Running, motemix, wait_until};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
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

/// Lines of a command that name a mix.
fn named(words: [&str; 3]) -> Vec<String> {
    let said = motemix(words).stdout();
    said.lines().filter(|line| line.contains(" loses packets: ")).map(str::to_owned).collect()
}

#[test]
fn a_mix_that_drops_packets_is_named() {
    let running =
        Running::up(Network::init(&["--motes", "1", "--mean-delay", "10ms", "--loop-cover", "100ms"]));
    let config = running.0.config("mote-1");
    let config = config.to_str().expect("UTF-8");
    let through = || status(config)["detail"]["loops"]["through"].as_array().expect("a list").clone();
    let figure = |mix: &str, what: &str| {
        let told = through().into_iter().find(|told| told["name"] == mix);
        told.map_or(0, |told| told[what].as_u64().expect("a figure"))
    };
    let mixes = ["mix-1", "mix-2", "mix-3", "mix-4", "mix-5", "mix-6"];
    wait_until("loops came back through every mix", || {
        mixes.into_iter().all(|mix| figure(mix, "returned") >= 20)
    });
    let [of_node, of_network] = [["status", "--config", config], ["net", "status", running.dir()]];
    for words in [of_node, of_network] {
        assert!(named(words).is_empty(), "nobody drops yet: {:?}", named(words));
    }

    // It runs again, and drops what arrives.
    running.kill("mix-3");
    let file = running.0.config("mix-3");
    let text = std::fs::read_to_string(&file).expect("a configuration");
    std::fs::write(&file, text + "\n[faults]\nloss = 1.0\n").expect("a writable file");
    let _dropping = running.restart("mix-3");
    for words in [of_node, of_network] {
        wait_until("a mix is named", || !named(words).is_empty());
    }
    wait_until("more loops are lost", || figure("mix-3", "lost") >= 200);
    for words in [of_node, of_network] {
        let named = named(words);
        assert!(named.len() == 1 && named[0].starts_with("mix-3 loses packets: "), "{named:?}");
    }
    // Others on the same paths have their share of it, and loops come back through them all the
    // same.
    let before = mixes.map(|mix| figure(mix, "returned"));
    wait_until("loops come back without it", || figure("mix-1", "returned") >= before[0] + 20);
    assert!(figure("mix-1", "lost") > 0);
    assert_eq!(figure("mix-3", "returned"), before[2]);
    let table = motemix(of_node).succeeds();
    let row = table.lines().find(|line| line.contains("mix-3, ")).expect("the row of its layer");
    assert_eq!(row.split_whitespace().next(), Some("2"), "{table}");

    let metrics = running.0.path("nodes/mote-1/state/metrics.sock");
    let mut stream = std::os::unix::net::UnixStream::connect(metrics).expect("it listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").expect("a request");
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).expect("metrics");
    for (mix, layer) in mixes.into_iter().zip([0, 1, 2, 0, 1, 2]) {
        let name = format!("motemix_loops_through_lost_total{{mix=\"{mix}\",layer=\"{layer}\"}} ");
        let lost = metrics.lines().find_map(|line| line.strip_prefix(&name));
        assert!(lost.is_some_and(|lost| lost != "0"), "{name}{lost:?}");
    }
}

#[test]
fn an_endpoint_that_is_switched_off_is_named_and_is_no_attack() {
    let running =
        Running::up(Network::init(&["--motes", "2", "--mean-delay", "10ms", "--loop-cover", "100ms"]));
    let config = running.0.config("mote-1");
    let config = config.to_str().expect("UTF-8");
    wait_until("a loop by way of it came back", || {
        let through = status(config)["detail"]["loops"]["through"].as_array().expect("a list").clone();
        through.iter().any(|told| {
            told["name"] == "mote-2" && told["layer"].is_null() && told["returned"].as_u64() > Some(2)
        })
    });
    running.kill("mote-2");
    for words in [["status", "--config", config], ["net", "status", running.dir()]] {
        wait_until("it is named", || {
            let said = motemix(words).stdout();
            said.contains("mote-2 is switched off or cut off: none of the last ")
        });
        assert!(named(words).is_empty(), "no mix is to blame: {:?}", named(words));
    }
    let table = motemix(["status", "--config", config]).succeeds();
    let row = table.lines().find(|line| line.contains("mote-2, ")).expect("a row of the endpoints");
    assert!(row.trim_start().starts_with("endpoints "), "{table}");
    let health = &status(config)["health"];
    assert!(!health.to_string().contains("\"loops\""), "{health}");
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
    assert_eq!(told["health"]["state"], "starting");
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
    assert!(table.contains("\nstarting: documents: no network document is in force"), "{table}");
}

/// What the program says of a network that is asked for at these places.
fn of_network(places: &[&str], more: &[&str]) -> Value {
    let words = ["status", "--json", "--network"].into_iter().chain(places.iter().copied());
    serde_json::from_str(&motemix(words.chain(more.iter().copied())).succeeds()).expect("JSON")
}

/// The row of a node.
fn node<'r>(report: &'r Value, name: &str) -> &'r Value {
    let nodes = report["nodes"].as_array().expect("a list");
    nodes.iter().find(|node| node["name"] == name).unwrap_or_else(|| panic!("{name} is not in {report}"))
}

#[test]
fn an_operator_sees_all_nodes_of_a_network() {
    const NODES: [&str; 5] = ["mix-1", "mix-2", "mix-3", "receiver", "mote"];
    let mut world = World::on_loopback();
    let (north, south) = (world.at("north"), world.at("south"));
    assert!(get(&north, "/readyz").starts_with("HTTP/1.1 503 "));
    motemix(["status", "--network", &north]).fails(1, &[&north, "no document of this time"]);
    for name in NODES {
        let is_mix = name.starts_with("mix");
        world.init(name, name, is_mix);
        world.admit(name, name, is_mix.then_some(0), &AUTHORITIES);
    }
    // One keeps its documents to itself.
    let config = world.path("mote").join("node.toml");
    program::edit(&config, "serve = true", "serve = false");
    for name in NODES {
        world.run(name);
    }
    wait_until("all have documents", || {
        NODES.into_iter().all(|name| status(&world.config(name))["detail"]["document"].is_object())
    });
    wait_until("the authority is ready as well", || get(&north, "/readyz").ends_with("\r\n\r\nready\n"));

    wait_until("documents are ahead", || {
        ["north", "receiver"].iter().all(|name| world.latest(name) >= world::present() + 2)
    });

    // An epoch takes ten seconds, and its document may come late on a machine that is busy.
    let mut report = Value::Null;
    wait_until("the nodes have the document of the present epoch", || {
        report = of_network(&[&north, &south], &[]);
        NODES[..4].iter().all(|name| node(&report, name)["latest"].as_u64() >= report["epoch"].as_u64())
    });
    assert_eq!((&report["network"], &report["unproven"]), (&"orchard".into(), &true.into()));
    for place in report["places"].as_array().expect("a list") {
        assert_eq!((&place["up"], &place["clock_ahead_s"]), (&true.into(), &0.into()), "{place}");
    }
    for name in &NODES[..4] {
        let node = node(&report, name);
        assert_eq!((&node["up"], &node["clock_ahead_s"]), (&true.into(), &0.into()), "{node}");
        assert_eq!(node["addresses"][0], world.at(name));
    }
    assert_eq!(
        (&node(&report, "mix-1")["role"], &node(&report, "mix-1")["layer"]),
        (&"mix".into(), &0.into())
    );
    assert_eq!(node(&report, "receiver")["role"], "endpoint");
    assert_eq!(
        (&node(&report, "mote")["up"], &node(&report, "mote")["latest"]),
        (&false.into(), &Value::Null)
    );

    // A node gives out documents as well; whose signatures count says its own configuration.
    let at = world.at("receiver");
    motemix(["status", "--network", &at]).fails(1, &[&at, "no authority", "--authority"]);
    let config = world.config("mix-1");
    let report = of_network(&[&at], &["--config", &config]);
    assert_eq!((&report["from"], &report["unproven"]), (&at.as_str().into(), &false.into()));
    let stranger = "5866666666666666666666666666666666666666666666666666666666666666";
    motemix(["status", "--network", &at, "--authority", stranger])
        .fails(1, &[&at, "no document of this time"]);
    let key = world.public("north");
    assert_eq!(of_network(&[&at], &["--authority", &key])["unproven"], false);

    // One is gone, and in place of another is one with a wrong clock.
    world.kill("mix-2");
    let port = world.at("mix-3");
    world.kill("mix-3");
    late(&port);
    let table = motemix(["status", "--network", &north]).succeeds();
    let row = |name: &str| {
        let line = table.lines().find(|line| line.split_whitespace().nth(1) == Some(name));
        line.unwrap_or_else(|| panic!("no row of {name} in {table}")).to_owned()
    };
    assert!(row("mix-1").contains(" up ") && row("mix-1").ends_with("agrees"), "{table}");
    assert!(row("mix-2").contains("no answer"), "{table}");
    assert!(row("mix-3").contains(" up ") && row("mix-3").ends_with("s behind"), "{table}");
    assert!(table.contains("\nmix-2: no answer: "), "{table}");
    assert!(table.contains("\nmix-3: has no document of epoch "), "{table}");
    assert!(table.contains("\nmix-3: its clock is ") && table.contains("behind this machine's"), "{table}");
    assert!(table.contains("--authority or --config check it"), "{table}");
}

/// Votes come at the wrong time where clocks differ by more than a phase, and then count for
/// nothing.
#[test]
fn an_authority_whose_clock_is_not_that_of_the_others_says_so() {
    let mut world = World::on_loopback();
    let north = world.at("north");
    for name in ["south", "east"] {
        let at = world.at(name);
        world.kill(name);
        late(&at);
    }
    let row = || {
        let said = motemix(["authority", "status", &north]).succeeds();
        said.lines().find(|line| line.trim_start().starts_with("clock ")).map(str::to_owned)
    };
    let whose = "this authority's clock is ";
    let all = " s ahead of those of 2 of 2 others; set it";
    wait_until("it sees both", || row().is_some_and(|row| row.contains(whose) && row.contains(all)));
    let health = get(&north, "/healthz");
    assert!(health.lines().any(|line| line.starts_with(whose) && line.contains(all)), "{health}");
}

/// An answer over HTTP.
fn get(at: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Somebody who has one old document and a clock of 1994. It goes with the test's process.
fn late(at: &str) {
    let listener = TcpListener::bind(at).expect("the port of a node that is gone");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 4096]);
            let date = "Sun, 06 Nov 1994 08:49:37 GMT";
            let _ = write!(stream, "HTTP/1.1 200 OK\r\ndate: {date}\r\ncontent-length: 2\r\n\r\n7\n");
        }
    });
}
