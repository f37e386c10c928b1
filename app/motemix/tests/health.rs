//! How a node is, told before it is too late and where people look: `/healthz`, `net status`, the
//! log. Epochs of ten seconds, on real processes; what is short is short by a limit of the running
//! process.

#[path = "health/locks.rs"]
mod locks;
mod program;

use program::{Network, Running, edit, motemix, wait_until};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

const SMALL: [&str; 6] = ["--mixes", "3", "--motes", "1", "--mean-delay", "10ms"];
const TEN_SECONDS: [&str; 2] = ["--epoch-length", "10s"];

/// A network with documents for sixty epochs.
fn up(more: &[&str], change: impl FnOnce(&Network)) -> Running {
    let network = Network::init(&[&SMALL[..], more].concat());
    change(&network);
    motemix(["net", "renew", network.dir.to_str().unwrap(), "--epochs", "60"]).succeeds();
    Running::up(network)
}

/// The state of a concern of a node, and its words.
fn concern(running: &Running, node: &str, concern: &str) -> Option<(String, String)> {
    let mut status = Value::Null;
    wait_until("it answers", || {
        status = running.status_of(node);
        status["status"].is_object()
    });
    let reasons = status["status"]["health"]["reasons"].as_array()?.clone();
    let reason = reasons.into_iter().find(|reason| reason["concern"] == concern)?;
    let text = |field: &str| reason[field].as_str().unwrap().to_owned();
    Some((text("state"), text("words")))
}

fn is(running: &Running, node: &str, about: &str, state: &str) -> bool {
    concern(running, node, about).is_some_and(|(found, _)| found == state)
}

/// `/healthz` of a node, over the socket of its user.
fn healthz(running: &Running, node: &str) -> String {
    get(running, node, "/healthz")
}

/// Whether a node does its work, over the same socket.
fn readyz(running: &Running, node: &str) -> String {
    get(running, node, "/readyz")
}

fn get(running: &Running, node: &str, path: &str) -> String {
    let socket = running.0.path(&format!("nodes/{node}/state/metrics.sock"));
    let mut stream = UnixStream::connect(socket).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The lines of a node's log that have these words.
fn log_lines(running: &Running, node: &str, words: &str) -> usize {
    let log = fs::read_to_string(running.0.path(&format!("nodes/{node}/node.log"))).unwrap();
    log.lines().filter(|line| line.contains(words)).count()
}

fn limit(running: &Running, node: &str, resource: Resource, most: u64) {
    let pid = Pid::from_raw(i32::try_from(running.pid(node)).unwrap()).unwrap();
    let maximum = rustix::process::getrlimit(resource).maximum;
    prlimit(Some(pid), resource, Rlimit { current: Some(most), maximum }).unwrap();
}

#[test]
fn documents_that_run_out_are_told_before_and_when_they_have() {
    // Documents for three epochs.
    let running = Running::up(Network::init(&[&SMALL[..], &TEN_SECONDS].concat()));
    wait_until("a warning", || is(&running, "mix-1", "documents", "warning"));
    let (_, words) = concern(&running, "mix-1", "documents").unwrap();
    assert!(words.contains("motemix net renew"), "{words}");
    assert!(healthz(&running, "mix-1").starts_with("HTTP/1.1 200 "));
    assert!(readyz(&running, "mix-1").ends_with("\r\n\r\nready\n"));
    // Equal reasons are one line, with the paths that were typed.
    let all = |state: &str| {
        let begins = format!("\n5 nodes (mix-1, mix-2, mix-3 and 2 more): {state}: documents: ");
        let said = motemix(["net", "status", running.dir()]).stdout();
        said.contains(&begins).then_some(said)
    };
    wait_until("all warn", || all("warning").is_some());

    wait_until("it fails", || is(&running, "mix-1", "documents", "failing"));
    let answer = healthz(&running, "mix-1");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("failing: documents: no network document is in force"), "{answer}");
    let answer = readyz(&running, "mix-1");
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("no network document is in force"),
        "{answer}"
    );
    wait_until("all fail", || all("failing").is_some());
    let said = all("failing").unwrap();
    assert!(said.contains("no network document is in force") && !said.contains(".."), "{said}");
    assert!(said.contains(&format!(": {}/documents/", running.dir())), "{said}");

    motemix(["net", "renew", running.dir(), "--epochs", "60"]).succeeds();
    wait_until("it is well again", || concern(&running, "mix-1", "documents").is_none());
    assert!(readyz(&running, "mix-1").starts_with("HTTP/1.1 200 "));
    assert!(healthz(&running, "mix-1").starts_with("HTTP/1.1 200 "));
    assert_eq!(
        log_lines(&running, "mix-1", "the network documents end within"),
        1,
        "one line when it begins"
    );
    assert_eq!(log_lines(&running, "mix-1", "no network document is in force"), 1);
    assert_eq!(log_lines(&running, "mix-1", "documents: well again"), 1, "one line when it ends");
}

/// Documents come by themselves to these nodes, and nobody has to act when the first is awaited.
#[test]
fn nodes_that_wait_for_their_first_document_start_and_call_nobody() {
    let network = Network::init(&SMALL);
    let (documents, elsewhere) = (network.path("documents"), network.path("elsewhere"));
    fs::rename(&documents, &elsewhere).unwrap();
    fs::create_dir(&documents).unwrap();
    let nodes = ["mix-1", "mix-2", "mix-3", "receiver", "mote-1"];
    for node in nodes {
        let config = network.config(node);
        let text = fs::read_to_string(&config).unwrap();
        let serve = node == "mix-1";
        let section =
            format!("[directory]\nfrom = [\"127.0.0.1:1\"]\nepoch_length = \"24h\"\nserve = {serve}");
        fs::write(&config, format!("{text}\n{section}\n")).unwrap();
    }
    let running = Running::up(network);
    wait_until("all start", || nodes.iter().all(|node| is(&running, node, "documents", "starting")));
    // All places say the same.
    let answer = healthz(&running, "mix-1");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("starting: documents: "), "{answer}");
    assert!(readyz(&running, "mix-1").starts_with("HTTP/1.1 503 "));
    // Others hear whether it takes part, and not why.
    let at = running.status_of("mix-1")["status"]["listen"][0].as_str().unwrap().to_owned();
    let for_all = || {
        let mut stream = TcpStream::connect(&at).unwrap();
        write!(stream, "GET /readyz HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = for_all();
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("it has no network document"), "{answer}");
    let metrics = get(&running, "mix-1", "/metrics");
    for line in ["motemix_health -1", "motemix_health_of{concern=\"documents\"} -1"] {
        assert!(metrics.lines().any(|told| told == line), "{line}: {metrics}");
    }
    let config = running.0.config("mix-1");
    let said = motemix(["status", "--config", config.to_str().unwrap()]).succeeds();
    assert!(said.lines().any(|line| line.split_whitespace().eq(["health", "starting"])), "{said}");

    fs::rename(&elsewhere, &documents).unwrap();
    wait_until("all begin", || nodes.iter().all(|node| concern(&running, node, "documents").is_none()));
    assert!(readyz(&running, "mix-1").starts_with("HTTP/1.1 200 "));
    assert!(for_all().ends_with("\r\n\r\nready\n"), "{}", for_all());
    for node in nodes {
        let log = fs::read_to_string(running.0.path(&format!("nodes/{node}/node.log"))).unwrap();
        let calls: Vec<_> = log
            .lines()
            .filter(|line| line.contains(" ERROR ") || line.contains(" WARN ") && line.contains("documents"))
            .collect();
        assert!(calls.is_empty(), "{node}: {calls:?}");
        assert_eq!(log.matches("documents: no network document is in force").count(), 1, "{node}: {log}");
        assert!(!log.contains("well again"), "it was not unwell: {log}");
    }
}

#[test]
fn a_mix_that_has_no_path_for_its_cover_says_so() {
    let running = up(&["--epoch-length", "1h"], |_| {});
    wait_until("a warning", || is(&running, "mix-1", "cover", "warning"));
    let (_, words) = concern(&running, "mix-1", "cover").unwrap();
    assert!(
        words.contains("no cover is sent") && words.contains("layer 0") && words.contains("add mixes"),
        "{words}"
    );
    assert!(concern(&running, "mote-1", "cover").is_none());
    assert!(healthz(&running, "mix-1").starts_with("HTTP/1.1 200 "));
    wait_until("it sends none", || {
        running.status_of("mix-1")["status"]["counters"]["cover_missed"].as_u64() > Some(0)
    });
    assert_eq!(running.status_of("mix-1")["status"]["counters"]["loops_sent"], 0);

    let enough = Running::up(Network::init(&["--motes", "1"]));
    wait_until("it sends some", || {
        enough.status_of("mix-1")["status"]["counters"]["loops_sent"].as_u64() > Some(0)
    });
    assert!(concern(&enough, "mix-1", "cover").is_none());
}

#[test]
fn a_mix_whose_replay_filter_is_too_small_says_so() {
    let running = up(&["--epoch-length", "1h", "--loop-cover", "20ms"], |network| {
        let config = network.config("mix-1");
        let text = fs::read_to_string(&config).unwrap();
        let line = text.lines().find(|line| line.starts_with("replay_tags")).unwrap();
        edit(&config, line, "replay_tags = 64");
    });
    wait_until("it fails", || is(&running, "mix-1", "replay_filter", "failing"));
    let answer = healthz(&running, "mix-1");
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("limits.replay_tags"), "{answer}");
    let said = motemix(["net", "status", running.dir()]).shows_and_fails(1, &["1 failing"]);
    assert!(said.contains("\nmix-1: failing: replay-filter: "), "{said}");
    assert!(concern(&running, "mix-2", "replay_filter").is_none());
}

#[test]
fn a_full_disk_pauses_a_node_which_goes_on_when_there_is_room() {
    // Each epoch has a replay log of its own: one long enough to grow beyond the limit.
    let running = up(&["--epoch-length", "1h", "--loop-cover", "20ms"], |_| {});
    let pid = running.pid("receiver");
    // No file may grow beyond this: the replay log does soon, the log of the node does not.
    limit(&running, "receiver", Resource::Fsize, 3000);
    wait_until("it fails", || is(&running, "receiver", "disk", "failing"));
    let answer = healthz(&running, "receiver");
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("failing: disk: "), "{answer}");
    let sent = |status: &Value| status["status"]["counters"]["udp_sent"].as_u64().unwrap();
    let before = sent(&running.status_of("receiver"));
    assert_eq!(sent(&running.status_of("receiver")), before, "nothing leaves");
    assert!(readyz(&running, "receiver").starts_with("HTTP/1.1 200 "), "it is unwell, and has a document");

    limit(&running, "receiver", Resource::Fsize, u64::MAX / 2);
    wait_until("it is well again", || concern(&running, "receiver", "disk").is_none());
    running.send("mote-1", "is there room?").succeeds();
    assert_eq!(running.pid("receiver"), pid);
    assert_eq!(log_lines(&running, "receiver", "disk: well again"), 1);
    assert_eq!(log_lines(&running, "receiver", "disk: "), 2, "one line when it begins, one when it ends");
}

#[test]
fn an_inbox_takes_what_its_quota_allows_and_a_mix_keeps_none() {
    let running = up(&TEN_SECONDS, |network| {
        edit(&network.config("receiver"), "inbox_messages = 100000", "inbox_messages = 3");
    });
    for text in ["one", "two", "three"] {
        running.send("mote-1", text).succeeds();
    }
    let dir = running.0.config("receiver");
    thread::scope(|scope| {
        let fourth = scope.spawn(|| running.send("mote-1", "four").status());
        wait_until("it fails", || is(&running, "receiver", "inbox", "failing"));
        wait_until("it is refused", || running.total("inbox_refusals") > 0);
        assert!(healthz(&running, "receiver").contains("motemix inbox --keep"));
        let said = motemix(["inbox", "--config", dir.to_str().unwrap(), "--keep", "1"]).succeeds();
        assert_eq!(said, "removed 2 messages\n");
        assert_eq!(fourth.join().unwrap(), 0, "a later try is acknowledged");
    });
    assert_eq!(running.inbox("receiver"), ["three", "four"]);
    wait_until("it is well again", || concern(&running, "receiver", "inbox").is_none());
    running.send("mote-1", "five").succeeds();
    wait_until("it is full", || is(&running, "receiver", "inbox", "failing"));
    motemix(["inbox", "--config", dir.to_str().unwrap(), "--keep", "1"]).succeeds();
    wait_until("it is well again without a message", || concern(&running, "receiver", "inbox").is_none());
    assert!(!running.0.path("nodes/mix-1/state/inbox.db").exists());
    assert!(running.0.path("nodes/receiver/state/inbox.db").exists());
    let metrics = |row: &Value| row["status"]["metrics"].is_null();
    assert!(running.status().iter().all(metrics), "over TCP they are off unless asked for");
}

/// A broker of this network, or of another. Dropping it kills it.
struct Broker(Child);

impl Broker {
    fn start(data: &Path, network: &str) -> Self {
        fs::create_dir_all(data).unwrap();
        let config = data.join("broker.toml");
        fs::write(&config, format!("network = \"{network}\"\n")).unwrap();
        let mut broker = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        broker.args(["broker", "--listen", "127.0.0.1:0", "--data"]).arg(data).arg("--config").arg(config);
        Self(broker.stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_receiver_whose_broker_is_away_or_of_another_network_says_so_until_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("local.sock");
    let running = up(&["--readings", "500ms"], |network| {
        let config = network.config("receiver");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{text}\n[broker]\nsocket = \"{}\"\n", socket.display())).unwrap();
    });
    wait_until("it misses the broker", || concern(&running, "receiver", "broker").is_some());
    let (_, words) = concern(&running, "receiver", "broker").unwrap();
    assert!(words.contains("not handed to the broker") && words.contains("local.sock"), "{words}");
    let said = motemix(["net", "status", running.dir()]).stdout();
    assert!(said.contains("\nreceiver: ") && said.contains("broker: readings are not handed"), "{said}");
    let other = |concern: (String, String)| concern.1.contains("\"plant\"");

    let broker = Broker::start(folder.path(), "plant");
    wait_until("it is of another network", || concern(&running, "receiver", "broker").is_some_and(other));
    drop(broker);
    let _broker = Broker::start(folder.path(), "motemix");
    wait_until("it is well again", || concern(&running, "receiver", "broker").is_none());
    assert!(healthz(&running, "receiver").starts_with("HTTP/1.1 200 "));
    assert_eq!(log_lines(&running, "receiver", "broker: well again"), 1);
}
