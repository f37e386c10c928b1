//! `motemix broker`, as somebody installs it: the program, its folder, its sockets.

#[path = "broker/link_local.rs"]
mod link_local;
#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;

use motemix_coap::{Code, Endpoint, Event, Method, Request, Response, Settings, format};
use motemix_time::Instant;
use program::motemix;
use rustix::process::{Pid, Signal};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A broker that runs. Dropping it kills it, as a power cut would.
struct Broker {
    child: Child,
    address: SocketAddr,
    _said: BufReader<ChildStderr>,
}

impl Broker {
    fn start(data: &Path, more: &[&str]) -> Self {
        Self::at("127.0.0.1:0", data, more)
    }

    fn at(listen: &str, data: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
            .args(["broker", "--listen", listen, "--data"])
            .arg(data)
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it listens");
        let address = line.strip_prefix("motemix: coap://").and_then(|rest| rest.split(',').next());
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        Self { child, address, _said: said }
    }

    /// Asks it over a socket of its own.
    fn answer(&self, request: Request) -> Response {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_mins(3))).expect("a timeout");
        let mut client = Endpoint::new(Settings::default(), [9; 32]);
        let now = Instant::from_micros(1);
        client.request(now, self.address, request).expect("there is room");
        let mut buffer = [0; 2048];
        loop {
            while let Some(transmit) = client.poll_transmit() {
                socket.send_to(&transmit.bytes, transmit.to).expect("loopback");
            }
            if let Some(Event::Response { response, .. }) = client.poll_event() {
                return response;
            }
            let (len, from) = socket.recv_from(&mut buffer).expect("it answers");
            let _ = client.handle_datagram(now, from, &buffer[..len]);
        }
    }

    fn endpoints(&self) -> String {
        let response = self.answer(Request::new(Method::Get, &["rd-lookup", "ep"]));
        String::from_utf8(response.payload.to_vec()).expect("link format is text")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn registration() -> Request {
    let mut request = Request::new(Method::Post, &["rd"]);
    request.query = vec!["ep=shed".to_owned(), "base=coap://[::1]:7000".to_owned()];
    request.content_format = Some(format::LINK_FORMAT);
    request.payload = b"</t>;rt=temperature".to_vec();
    request
}

#[test]
fn what_it_acknowledged_is_there_after_it_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let broker = Broker::start(&data, &[]);
    assert_eq!(broker.endpoints(), "");
    assert_eq!(broker.answer(registration()).code, Code::CREATED);
    drop(broker);

    let again = Broker::start(&data, &[]);
    assert!(again.endpoints().contains("ep=shed"), "{}", again.endpoints());
}

/// What happens to a broker's folder of which there is a copy from before.
type Deed = fn(&Path, &Path);

/// The broker's folder, and a copy of it from before the last registration.
fn registered_twice(folder: &Path) -> (PathBuf, PathBuf) {
    let (data, backup) = (folder.join("data"), folder.join("backup"));
    for name in ["shed", "attic"] {
        if data.exists() {
            assert!(Command::new("cp").arg("-a").args([&data, &backup]).status().expect("cp").success());
        }
        let mut broker = Broker::start(&data, &[]);
        let mut request = registration();
        request.query[0] = format!("ep={name}");
        assert_eq!(broker.answer(request).code, Code::CREATED);
        rustix::process::kill_process(Pid::from_child(&broker.child), Signal::TERM).expect("it runs");
        broker.child.wait().expect("it ends");
    }
    (data, backup)
}

#[test]
fn a_broker_does_not_go_on_from_a_store_that_vanished_was_cut_or_was_put_back() {
    const STORE: &str = "broker.sqlite";
    let refuses = |data: &Path, status, words: &[&str]| {
        let data = data.to_str().expect("UTF-8");
        motemix(["broker", "--listen", "127.0.0.1:0", "--data", data]).fails(status, words);
    };
    let put_back: Deed = |data, backup| {
        for file in [STORE, "broker.sqlite.mark"] {
            fs::copy(backup.join(file), data.join(file)).expect("it is there");
        }
    };
    let deeds: [(Deed, &str); 4] = [
        (|data, _| fs::write(data.join(STORE), "").expect("ours"), "it is empty"),
        (|data, _| fs::remove_file(data.join(STORE)).expect("ours"), "it is gone"),
        (
            |data, backup| {
                fs::copy(backup.join(STORE), data.join(STORE)).expect("ours");
            },
            "it is older",
        ),
        (put_back, "it was copied, or put back from a copy"),
    ];
    for (deed, says) in deeds {
        let folder = tempfile::tempdir().expect("a folder");
        let (data, backup) = registered_twice(folder.path());
        deed(&data, &backup);
        let store = data.join(STORE);
        refuses(&data, 1, &["broker.sqlite: ", says, "taken again", "motemix adopt"]);
        motemix(["adopt", store.to_str().expect("UTF-8")]).succeeds();
        let broker = Broker::start(&data, &[]);
        let in_use = ["broker.sqlite: in use by process ", "(motemix-broker)", "stop that program first"];
        motemix(["adopt", store.to_str().expect("UTF-8")]).fails(1, &in_use);
        let is_anew = says == "it is empty" || says == "it is gone";
        assert_eq!(broker.endpoints().contains("ep=shed"), !is_anew, "{says}");
        assert!(!broker.endpoints().contains("ep=attic"), "{says}");
        assert!(!is_anew || store.with_extension("sqlite.aside-1").exists() == (says == "it is empty"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (data, backup) = registered_twice(folder.path());
    // On another machine, as it was and as it is.
    refuses(&backup, 1, &["broker.sqlite: ", "it was copied"]);
    let store = fs::File::options().write(true).open(data.join(STORE)).expect("ours");
    store.set_len(8192).expect("ours");
    refuses(&data, 1, &["broker.sqlite: ", "damaged"]);
}

#[test]
fn a_second_broker_on_one_folder_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let broker = Broker::start(folder.path(), &[]);
    let data = folder.path().to_str().expect("UTF-8");
    let again = motemix(["broker", "--listen", "127.0.0.1:0", "--data", data]);
    again.fails(1, &["local.sock", "a broker runs on this folder already", "--data"]);
    assert_eq!(broker.answer(registration()).code, Code::CREATED);
}

#[test]
fn mistakes_are_named_with_their_line_and_nothing_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("broker.toml");
    let data = folder.path().join("data");
    for (text, expected) in [
        ("[limits]\ntopics = \"many\"\n", "broker.toml:2: limits.topics"),
        ("verify = true\nverfy = true\n", "broker.toml:2: verfy: unknown field"),
        ("[mqtt]\nprefix = \"a/+\"\n", "broker.toml:2: mqtt.prefix"),
    ] {
        fs::write(&config, text).expect("a file");
        let words = ["broker", "--listen", "127.0.0.1:0", "--data"].map(Path::new);
        let words = words.into_iter().chain([&*data, Path::new("--config"), &*config]);
        motemix(words.map(Path::as_os_str)).fails(2, &[expected]);
        assert!(!data.exists());
    }
    let two = ["broker", "--listen", "127.0.0.1:0", "--listen", "127.0.0.2:0", "--data"];
    let words = two.map(Path::new).into_iter().chain([&*data]);
    motemix(words.map(Path::as_os_str)).fails(2, &["one family"]);
}

/// A device's key in this folder.
fn key(folder: &Path, name: &str) -> String {
    let key = folder.join(name).to_str().expect("UTF-8").to_owned();
    motemix(["id", "new", &key]).succeeds();
    key
}

fn reading(folder: &Path, degrees: f64) -> String {
    let file = folder.join("reading.json");
    fs::write(&file, format!("[{{\"n\":\"t\",\"u\":\"Cel\",\"v\":{degrees}}}]")).expect("a file");
    file.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_device_registers_publishes_and_sleeps_and_somebody_checks_what_it_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let broker = Broker::start(&folder.path().join("data"), &[]);
    let at = format!("coap://{}", broker.address);
    let key = key(folder.path(), "mote.key");
    let publish =
        |degrees| motemix(["broker", "publish", &at, "--key", &key, &reading(folder.path(), degrees)]);
    publish(20.0).fails(1, &["no topic", "motemix broker register"]);

    let words = ["broker", "register", &at, "--key", &key, "--place", "cellar", "--purpose", "warmth"];
    assert!(motemix(words).succeeds().contains("its readings are at /ps/data/"));
    publish(20.5).succeeds();
    publish(21.5).succeeds();
    // Registering again renews, and makes no second topic.
    motemix(words).succeeds();

    for scheme in ["coap", "coap+tcp"] {
        let at = format!("{scheme}://{}", broker.address);
        let seen = motemix(["broker", "watch", &at, "--seconds", "5"]).succeeds();
        assert!(seen.contains("cellar warmth") && seen.contains("t 21.5 Cel"), "{seen}");
        assert!(seen.contains("verified,") && seen.contains("1 device, 1 reading verified"), "{seen}");
    }
    // Who takes it for another network's does not believe it.
    let watch = motemix(["broker", "watch", &at, "--seconds", "5", "--audience", "plant"]);
    let seen = watch.shows_and_fails(1, &["1 reading is not what a device signed"]);
    assert!(seen.contains("NOT verified"), "{seen}");
    // On its machine by its socket as well.
    let socket = folder.path().join("data/local.sock");
    let local = ["broker", "watch", socket.to_str().expect("UTF-8"), "--seconds", "5", "--json"];
    assert!(motemix(local).succeeds().contains("\"verified\":true"));
}

#[test]
fn who_registers_without_an_audience_is_told_that_the_registration_holds_elsewhere_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let config = folder.path().join("broker.toml");
    fs::write(&config, "network = \"plant\"\n").expect("a file");
    let of_nobody = Broker::start(&data, &[]);
    let of_plant =
        Broker::start(&folder.path().join("plant"), &["--config", config.to_str().expect("UTF-8")]);
    let key = key(folder.path(), "mote.key");
    let register = |at: &str, more: &[&str]| {
        motemix(["broker", "register", at, "--key", &key].into_iter().chain(more.iter().copied()))
    };
    let warning = "without --audience, whoever gets this registration can make it at any other directory";
    let run = register(&format!("coap://{}", of_nobody.address), &[]);
    assert!(run.stderr().contains(warning), "{}", run.stderr());
    run.succeeds();
    // Where the network has a name, it holds nowhere.
    let run = register(&format!("coap://{}", of_plant.address), &[]);
    assert!(run.stderr().contains("4.03: the proof does not hold for this"), "{}", run.stderr());
    assert!(run.stderr().contains("name that with --audience"), "{}", run.stderr());
    let run = register(&format!("coap://{}", of_plant.address), &["--audience", "plant"]);
    assert!(!run.stderr().contains("without --audience"), "{}", run.stderr());
    run.succeeds();
    let run = register(data.join("local.sock").to_str().expect("UTF-8"), &[]);
    assert!(!run.stderr().contains("without --audience"), "{}", run.stderr());
}

#[test]
fn a_broker_at_another_address_shows_what_devices_registered_at_its_former_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let broker = Broker::start(&data, &[]);
    let (at, former) = (format!("coap://{}", broker.address), broker.address);
    let key = key(folder.path(), "mote.key");
    motemix(["broker", "register", &at, "--key", &key]).succeeds();
    let nothing = motemix(["broker", "watch", &at, "--seconds", "5"]);
    assert!(
        nothing.stderr().contains("1 topic was asked for: nothing was published"),
        "{}",
        nothing.stderr()
    );
    motemix(["broker", "publish", &at, "--key", &key, &reading(folder.path(), 21.5)]).succeeds();
    drop(broker);

    // Somebody else has the former address, or it would be chosen again.
    let _taken = UdpSocket::bind(former).expect("the address is free");
    let broker = Broker::start(&data, &[]);
    let at = format!("coap://{}", broker.address);
    let seen = motemix(["broker", "watch", &at, "--seconds", "5"]).succeeds();
    assert!(seen.contains("t 21.5 Cel") && seen.contains("1 device, 1 reading verified"), "{seen}");
    let stranger = motemix(["broker", "watch", &at, "--seconds", "5", "--device", &"0".repeat(64)]);
    let said = stranger.stderr();
    assert!(said.contains("no topic of this device that is registered"), "{said}");
}

#[test]
fn more_devices_than_one_answer_takes_are_all_watched_and_one_may_be_watched_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("broker.toml");
    // A link with a key takes 200 bytes: a page has two of them.
    fs::write(&config, "[directory]\nlook_up_bytes = 500\n").expect("a file");
    let more = ["--config", config.to_str().expect("UTF-8")];
    let broker = Broker::start(&folder.path().join("data"), &more);
    let at = format!("coap://{}", broker.address);
    let keys = ["cellar", "hall", "attic", "roof", "shed"].map(|place| {
        let key = key(folder.path(), place);
        let said = motemix(["broker", "register", &at, "--key", &key, "--place", place]).succeeds();
        motemix(["broker", "publish", &at, "--key", &key, &reading(folder.path(), 20.5)]).succeeds();
        let identity = said.split(' ').nth(1).expect("an identity").to_owned();
        (key, identity)
    });
    let seen = motemix(["broker", "watch", &at, "--seconds", "5"]).succeeds();
    assert!(seen.contains("5 devices, 5 readings verified"), "{seen}");

    let (key, identity) = &keys[3];
    for device in [key, identity] {
        let seen = motemix(["broker", "watch", &at, "--seconds", "5", "--device", device]).succeeds();
        assert!(seen.contains("roof") && seen.contains("1 device, 1 reading verified"), "{seen}");
    }
}

#[test]
fn the_demonstration_hands_readings_over_checks_them_and_has_a_mote_obey() {
    let words = ["demo", "--smart", "--json", "--motes", "2", "--seconds", "6", "--interval", "400ms"];
    let said = motemix(words.into_iter().chain(["--mean-delay", "20ms"])).succeeds();
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    let smart = &said["smart"];
    let devices = smart["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 2, "{smart}");
    assert!(devices.iter().all(|device| device["verified"].as_u64() > Some(0)), "{smart}");
    assert_eq!((&smart["not_verified"], &smart["waiting"]), (&0.into(), &0.into()), "{smart}");
    assert_eq!(smart["handed_over"], said["delivered"]);
    assert!(smart["obeyed_after_ms"].is_u64(), "{smart}");
}
