//! Two neighbours that were never introduced, as two processes.

#[path = "link/edhoc.rs"]
mod edhoc;
mod program;

use program::{Run, motemix};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// For what has to happen in the end.
const PATIENCE: Duration = Duration::from_mins(3);

/// A folder with a sensor's key and a router's, and their identities.
struct Keys {
    folder: TempDir,
    sensor: String,
    router: String,
}

impl Keys {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let identity = |name| {
            let path = folder.path().join(name);
            motemix(["link", "identity", path.to_str().expect("UTF-8")]).succeeds().trim().to_owned()
        };
        let (sensor, router) = (identity("sensor"), identity("router"));
        Self { folder, sensor, router }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    /// What the router says in order to admit the sensor.
    fn of_router(&self, mode: &str) -> [String; 6] {
        self.of("router", &self.sensor, mode)
    }

    /// What the sensor says in order to admit the router.
    fn of_sensor(&self, mode: &str) -> [String; 6] {
        self.of("sensor", &self.router, mode)
    }

    fn of(&self, name: &str, admitted: &str, mode: &str) -> [String; 6] {
        let key = self.path(name);
        ["--mode", mode, "--key", &key, "--admit", admitted].map(str::to_owned)
    }
}

/// A router that runs until the value is dropped.
struct Router {
    child: Child,
    address: String,
    printed: Receiver<String>,
    said: Receiver<String>,
}

/// Modes with keys.
const KEYED: [&str; 2] = ["edhoc", "diet"];

impl Router {
    fn start(words: &[String]) -> Self {
        Self::listening("[::1]:0", words)
    }

    fn listening(address: &str, words: &[String]) -> Self {
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        command.args(["link", "router", "--json", "--listen", address]).args(words);
        Self::of(&mut command)
    }

    /// Whatever this runs is a router.
    fn of(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.env_remove("MOTEMIX_LOG").spawn().expect("the program starts");
        let printed = lines(child.stdout.take().expect("its output"));
        let said = lines(child.stderr.take().expect("its errors"));
        let address = loop {
            let line = said.recv_timeout(PATIENCE).expect("it listens");
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.split(' ').next().expect("an address").to_owned();
            }
        };
        Self { child, address, printed, said }
    }

    /// The text of the next message.
    fn hears(&self) -> String {
        let line = self.printed.recv_timeout(PATIENCE).expect("a message");
        let message: Value = serde_json::from_str(&line).expect("JSON");
        message["text"].as_str().expect("a text").to_owned()
    }

    fn hears_nothing_more(mut self) {
        self.kill();
        let more: Vec<_> = self.printed.iter().collect();
        assert!(more.is_empty(), "{more:?}");
    }

    /// Ends it as a person does. What it said besides messages.
    fn ends(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        assert!(self.child.wait().expect("it ends").success());
        self.said.iter().collect::<Vec<_>>().join("\n")
    }

    fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.kill();
    }
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn sensor(to: &str, words: &[String], more: &[&str]) -> Run {
    let fixed = ["link", "sensor", "--to", to, "--wait", "20s"];
    motemix(fixed.into_iter().chain(words.iter().map(String::as_str)).chain(more.iter().copied()))
}

fn mode(mode: &str) -> [String; 2] {
    ["--mode".into(), mode.into()]
}

#[test]
fn a_reading_arrives_and_is_acknowledged() {
    for mode in KEYED {
        let keys = Keys::new();
        let router = Router::start(&keys.of_router(mode));
        let said = sensor(&router.address, &keys.of_sensor(mode), &["21.5 degrees"]).succeeds();
        assert!(said.starts_with(&format!("acknowledged by {} after ", &keys.router[..12])), "{said}");
        let line = router.printed.recv_timeout(PATIENCE).expect("a message");
        let message: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            (&message["text"], &message["identity"]),
            (&"21.5 degrees".into(), &keys.sensor.as_str().into())
        );
        router.hears_nothing_more();
    }
}

#[test]
fn the_papers_protocol_and_the_plain_one_run_too() {
    for name in ["literal", "plain"] {
        let router = Router::start(&mode(name));
        let said = sensor(&router.address, &mode(name), &["21.5 degrees"]).succeeds();
        let sent = format!("sent to {}, not acknowledged: ", router.address);
        assert!(said.starts_with(&sent) && said.lines().count() == 1, "{name}: {said}");
        assert_eq!(router.hears(), "21.5 degrees", "{name}");
    }
}

#[test]
fn what_is_sent_in_plain_to_a_router_with_keys_does_not_look_delivered() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("edhoc"));
    let said = sensor(&router.address, &mode("plain"), &["21.5 degrees"]).succeeds();
    assert!(said.contains("not acknowledged: this mode has no receipts"), "{said}");
    let json = sensor(&router.address, &mode("plain"), &["--json", "21.5 degrees"]).succeeds();
    let line: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(line["acknowledged_by"], Value::Null);
    router.hears_nothing_more();
}

/// A sensor that listens too, and reads texts from its input.
struct Listening {
    child: Child,
    input: std::process::ChildStdin,
    address: String,
    printed: Receiver<String>,
    said: Receiver<String>,
}

impl Listening {
    fn start(listen: &str, to: &str, words: &[String]) -> Self {
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        command.args(["link", "sensor", "--json", "--listen", listen, "--to", to]).args(words);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.env_remove("MOTEMIX_LOG").spawn().expect("the program starts");
        let input = child.stdin.take().expect("its input");
        let printed = lines(child.stdout.take().expect("its output"));
        let said = lines(child.stderr.take().expect("its errors"));
        let address = loop {
            let line = said.recv_timeout(PATIENCE).expect("it listens");
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.split(' ').next().expect("an address").to_owned();
            }
        };
        Self { child, input, address, printed, said }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.input, "{text}").expect("it reads");
    }

    /// The next line that has this field.
    fn prints(&self, field: &str) -> Value {
        loop {
            let line = self.printed.recv_timeout(PATIENCE).expect("a line");
            let line: Value = serde_json::from_str(&line).expect("JSON");
            if let Some(value) = line.get(field) {
                return value.clone();
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Each has to know the address of the other before it is there, so the first goes by a free port
/// that it gives up again.
fn two_sensors(of_first: &[String], of_second: &[String]) -> [Listening; 2] {
    let free = UdpSocket::bind("[::1]:0").expect("a port").local_addr().expect("bound").to_string();
    let second = Listening::start("[::1]:0", &free, of_second);
    let first = Listening::start(&free, &second.address, of_first);
    [first, second]
}

#[test]
fn two_sensors_exchange_readings_without_a_router() {
    for mode in KEYED {
        let keys = Keys::new();
        // What Keys calls a router is a sensor here, which listens as well.
        let [mut first, mut second] = two_sensors(&keys.of_sensor(mode), &keys.of_router(mode));
        for (number, text) in ["one", "two", "three"].into_iter().enumerate() {
            // The first time both meet at once.
            first.say(&format!("{text} of the first"));
            second.say(&format!("{text} of the second"));
            for (who, other, name) in [(&first, &keys.router, "second"), (&second, &keys.sensor, "first")] {
                // Either may come first: what it heard, or that its own was acknowledged.
                let mut seen = [None, None];
                while seen.iter().any(Option::is_none) {
                    let line = who.printed.recv_timeout(PATIENCE).expect("a line");
                    let line: Value = serde_json::from_str(&line).expect("JSON");
                    let place = usize::from(line.get("text").is_none());
                    assert!(seen[place].is_none(), "{mode}, {number}: twice: {line}");
                    seen[place] = Some(line);
                }
                let [heard, acknowledged] = seen.map(|line| line.expect("it was seen"));
                assert_eq!(heard["text"], format!("{text} of the {name}"), "{mode}");
                assert_eq!(heard["identity"], other.as_str(), "{mode}");
                assert_eq!(acknowledged["acknowledged_by"], other.as_str(), "{mode}");
            }
        }
    }
}

#[test]
fn two_sensors_of_the_paper_need_no_router_either() {
    for name in ["literal", "plain"] {
        let [mut first, mut second] = two_sensors(&mode(name), &mode(name));
        // What nobody acknowledges is sent one after the other.
        for text in ["one", "two"] {
            first.say(text);
            assert_eq!(second.prints("text"), text, "{name}");
            second.say(text);
            assert_eq!(first.prints("text"), text, "{name}");
        }
    }
}

#[test]
fn a_sensor_that_listens_goes_on_when_its_neighbour_is_not_there_yet() {
    let keys = Keys::new();
    let free = UdpSocket::bind("[::1]:0").expect("a port").local_addr().expect("bound").to_string();
    let mut early = Listening::start("[::1]:0", &free, &keys.of_router("diet"));
    early.say("nobody hears this");
    let said = early.said.recv_timeout(PATIENCE).expect("a line");
    assert!(said.contains("no answer from") && said.contains(&free), "{said}");
    let late = Listening::start(&free, &early.address, &keys.of_sensor("diet"));
    early.say("somebody hears this");
    assert_eq!(late.prints("text"), "somebody hears this");
}

#[test]
fn strangers_are_told_apart_and_nothing_of_theirs_is_printed() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("diet"));
    let quick = ["--wait", "300ms", "hello"];
    let stranger = ["--mode", "diet", "--key", &keys.path("stranger"), "--anybody"].map(str::to_owned);
    let to = ["link", "sensor", "--to", &router.address];
    let run = |words: &[String]| motemix(to.into_iter().chain(words.iter().map(String::as_str)).chain(quick));
    let identity = motemix(["link", "identity", &keys.path("stranger")]).succeeds();
    let admits_it = format!("--admit {}", identity.trim());
    // Its own identity, for the other person to compare.
    run(&stranger).fails(1, &[&router.address, "no answer", "admits this node", &admits_it]);
    // The sensor does not take this router for the one that it knows.
    let other = keys.of("sensor", &keys.sensor, "diet");
    let admits_router = format!("--admit {}", keys.router);
    run(&other).fails(1, &[&router.address, "not admitted", &admits_router]);
    assert!(router.printed.try_recv().is_err());
    // The router has named the stranger once, and what admits it; the tries are counted.
    let said = router.ends();
    let told: Vec<_> = said.lines().filter(|line| line.contains("not admitted; ")).collect();
    let [told] = told[..] else { panic!("{said}") };
    assert!(
        told.contains(&format!("says it is {}", identity.trim())) && told.ends_with(&admits_it),
        "{told}"
    );
    assert!(said.contains("motemix: 3 datagrams dropped: not admitted"), "{said}");
}

/// Sends datagrams from many ports of an address until it is dropped.
struct Flood(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Flood {
    fn of(from: &str, ports: usize, to: &str, mut next: impl FnMut(&UdpSocket) + Send + 'static) -> Self {
        let sockets: Vec<_> = (0..ports).map(|_| UdpSocket::bind((from, 0)).expect("a port")).collect();
        for socket in &sockets {
            socket.connect(to).expect("an address");
            socket.set_nonblocking(true).expect("a socket");
        }
        let end = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&end);
        let thread = thread::spawn(move || {
            for socket in sockets.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                next(socket);
                // Some hundreds a second, so that the router's machine is not the bound.
                thread::sleep(Duration::from_millis(2));
            }
        });
        Self(end, Some(thread))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(thread::JoinHandle::join);
    }
}

#[test]
fn a_hello_that_somebody_recorded_and_sends_from_all_ports_keeps_nobody_out() {
    let keys = Keys::new();
    // A neighbour said hello once, and somebody heard it.
    let listener = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let there = listener.local_addr().expect("bound").to_string();
    let recorded = thread::spawn(move || {
        let mut hello = vec![0; 2048];
        let (len, _) = listener.recv_from(&mut hello).expect("a hello");
        hello.truncate(len);
        hello
    });
    let once = ["link", "sensor", "--to", &there, "--wait", "1ms"].map(str::to_owned);
    let nobody = once.into_iter().chain(keys.of_sensor("diet")).chain(["hello".to_owned()]);
    motemix(nobody).fails(1, &["no answer"]);
    let hello = recorded.join().expect("recorded");
    assert_eq!(hello.len(), 75);

    let other = motemix(["link", "identity", &keys.path("other")]).succeeds().trim().to_owned();
    let words: Vec<_> = keys.of_router("diet").into_iter().chain(["--admit".to_owned(), other]).collect();
    let router = Router::listening("127.0.0.1:0", &words);
    let _flood = Flood::of("127.0.0.1", 400, &router.address, move |socket| drop(socket.send(&hello)));
    let of_other = keys.of("other", &keys.router, "diet");
    for number in 0..6 {
        sensor(&router.address, &of_other, &[&number.to_string()]).succeeds();
        assert_eq!(router.hears(), number.to_string());
    }
}

#[test]
fn one_of_a_thing_is_told_in_the_singular() {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router("diet"));
    let socket = UdpSocket::bind("[::1]:0").expect("a port");
    socket.send_to(b"hello", &router.address).expect("sent");
    // What comes after it comes after it.
    sensor(&router.address, &keys.of_sensor("diet"), &["21.5 degrees"]).succeeds();
    let said = router.ends();
    assert!(said.ends_with("motemix: 1 datagram dropped: no handshake before"), "{said}");
}

#[test]
fn what_nobody_could_read_is_not_acknowledged() {
    let keys = Keys::new();
    let mut router = Router::start(&keys.of_router("diet"));
    // The reader goes. Its thread ends with the first line that it cannot pass on.
    drop(std::mem::replace(&mut router.printed, channel().1));
    let words = |more: [&'static str; 3]| {
        let words = ["link", "sensor", "--to", &router.address].map(str::to_owned);
        words.into_iter().chain(keys.of_sensor("diet")).chain(more.map(str::to_owned)).collect::<Vec<_>>()
    };
    // The first was read and lost by its reader, and so may be others before the reader has ended.
    let is_refused = |_| motemix(words(["--wait", "300ms", "hello"])).status() == 1;
    assert!((0..1000).any(is_refused), "messages are acknowledged that nobody can read");
}

#[test]
fn a_sensor_goes_on_after_its_router_has_restarted() {
    KEYED.into_iter().for_each(restart_router);
}

fn restart_router(mode: &str) {
    let keys = Keys::new();
    let mut router = Router::start(&keys.of_router(mode));
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    command.args(["link", "sensor", "--to", &router.address]).args(keys.of_sensor(mode));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let (mut input, said) = (child.stdin.take().expect("piped"), lines(child.stdout.take().expect("piped")));
    let mut say = |text: &str| {
        writeln!(input, "{text}").expect("it reads");
        let line = said.recv_timeout(PATIENCE).expect("an answer");
        assert!(line.starts_with("acknowledged"), "{line}");
    };
    say("before");
    assert_eq!(router.hears(), "before");
    let address = router.address.clone();
    router.kill();
    let router = Router::listening(&address, &keys.of_router(mode));
    say("after");
    assert_eq!(router.hears(), "after");
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn messages_arrive_once_over_a_channel_that_loses_doubles_and_reorders() {
    KEYED.into_iter().for_each(over_a_bad_channel);
}

fn over_a_bad_channel(mode: &str) {
    let keys = Keys::new();
    let router = Router::start(&keys.of_router(mode));
    let relay = relay(&router.address);
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    command.args(["link", "sensor", "--to", &relay]).args(keys.of_sensor(mode));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    let said = lines(child.stdout.take().expect("piped"));
    let texts: Vec<_> = (0..20).map(|number| format!("reading {number}")).collect();
    for text in &texts {
        writeln!(input, "{text}").expect("it reads");
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(said.iter().count(), texts.len());
    let heard: Vec<_> = texts.iter().map(|_| router.hears()).collect();
    assert_eq!(heard, texts);
    router.hears_nothing_more();
}

/// Passes datagrams between whoever writes to it and the router. Of five, it loses one, doubles
/// one, and holds one back until the next. Never more than one in a row is lost: three tries are
/// enough.
fn relay(router: &str) -> String {
    let socket = UdpSocket::bind("[::1]:0").expect("a port");
    let (address, router) = (socket.local_addr().expect("bound"), router.parse().expect("an address"));
    thread::spawn(move || {
        let (mut buffer, mut sensor, mut held) = ([0; 2048], None, None);
        for number in 0_u32.. {
            let Ok((len, from)) = socket.recv_from(&mut buffer) else { return };
            let to = if from == router { sensor } else { Some(router) };
            if from != router {
                sensor = Some(from);
            }
            let Some(to) = to else { continue };
            let datagram = buffer[..len].to_vec();
            let out = match number % 5 {
                1 => vec![],
                2 => vec![(datagram.clone(), to), (datagram, to)],
                3 => {
                    held = Some((datagram, to));
                    vec![]
                }
                _ => std::iter::once((datagram, to)).chain(held.take()).collect(),
            };
            for (datagram, to) in out {
                // Whoever has ended hears nothing.
                let _ = socket.send_to(&datagram, to);
            }
        }
    });
    address.to_string()
}

/// A router that stops after a message: there is a key, and nobody who has it.
#[test]
fn a_message_that_a_router_no_longer_acknowledges_ends_with_one_line_that_says_so() {
    for mode in KEYED {
        let keys = Keys::new();
        let mut router = Router::start(&keys.of_router(mode));
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        command.args(["link", "sensor", "--to", &router.address]);
        command
            .args(keys.of_sensor(mode))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let (mut input, printed) =
            (child.stdin.take().expect("piped"), lines(child.stdout.take().expect("piped")));
        writeln!(input, "before").expect("it reads");
        let line = printed.recv_timeout(PATIENCE).expect("an answer");
        assert!(line.starts_with("acknowledged"), "{mode}: {line}");
        router.kill();
        writeln!(input, "after").expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{mode}: {said}");
        assert_eq!(said.lines().count(), 1, "{mode}: {said}");
        for part in [&router.address, " did not acknowledge the message", "no answer from"] {
            assert!(said.contains(part), "{mode}: {said}");
        }
        assert_eq!(printed.iter().count(), 0, "{mode}: nothing looks like success");
    }
}

#[test]
fn what_cannot_work_is_said_in_one_line() {
    let keys = Keys::new();
    let nobody = UdpSocket::bind("[::1]:0").expect("a port").local_addr().expect("bound").to_string();
    let words = |more: &[&'static str]| {
        let to = ["link".to_owned(), "sensor".into(), "--to".into(), nobody.clone()];
        let more = more.iter().map(|word| (*word).to_owned());
        let own = ["--mode".into(), "diet".into(), "--key".into(), keys.path("sensor")];
        to.into_iter().chain(own).chain(more).collect::<Vec<_>>()
    };
    motemix(words(&["hello"])).fails(2, &["nobody is admitted", "--admit", "--anybody"]);
    let quick = ["--anybody", "--wait", "100ms", "hello"];
    motemix(words(&quick)).fails(1, &["no answer from", &nobody, "--mode"]);
    let long = ["--anybody", Box::leak("x".repeat(1101).into_boxed_str())];
    motemix(words(&long)).fails(2, &["1101 bytes", "1100"]);
    let to_none = ["link", "sensor", "--to", "[::1]:0", "--mode", "plain", "hello"];
    let said = motemix(to_none);
    assert_eq!(said.status(), 2);
    assert!(
        said.stderr().contains("--to") && said.stderr().contains("nobody listens at port 0"),
        "{}",
        said.stderr()
    );
    // What cannot be written is named as the person named it.
    let nowhere = keys.path("nowhere/key");
    let said = motemix(["link", "identity", &nowhere]);
    assert!(!said.stderr().contains(".motemix-"), "{}", said.stderr());
    said.fails(2, &[&nowhere, "cannot write it: No such file or directory", "check the folder"]);
    let broken = keys.path("broken");
    std::fs::write(&broken, "motemix neighbour key 1\nkey 00\n").expect("a file");
    motemix(["link", "identity", &broken]).fails(2, &["broken", "others may use this key", "chmod 600"]);
    Command::new("chmod").args(["600", &broken]).status().expect("chmod starts");
    motemix(["link", "identity", &broken]).fails(2, &["broken", "line 2", "64 hex digits"]);
}
