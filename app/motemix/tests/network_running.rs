//! Stories of a network that runs: separate processes on loopback.

mod program;

use program::{Network, Running, motemix, wait_until};
use serde_json::Value;

fn up() -> Running {
    Running::up(Network::init(&["--mean-delay", "10ms"]))
}

#[test]
fn a_message_is_acknowledged_and_lies_in_the_inbox() {
    let running = up();
    let mote = running.0.config("mote-1");
    let said = motemix(["send", "--config", mote.to_str().unwrap(), "all is well", "--json"]).succeeds();
    let outcome: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(outcome["acknowledged"], true);
    assert!(outcome["round_trip_ms"].as_f64().unwrap() > 0.0);

    let receiver = running.0.config("receiver");
    let said = motemix(["inbox", "--config", receiver.to_str().unwrap(), "--json"]).succeeds();
    let message: Value = serde_json::from_str(&said).expect("one line");
    assert_eq!(message["text"], "all is well");
}

/// Runs a line of the shell, in which `motemix` is this program.
fn shell(line: &str) -> program::Run {
    let folder = std::path::Path::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
        .parent()
        .unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash = std::process::Command::new("bash");
    bash.args(["-o", "pipefail", "-c", line]).env("PATH", format!("{}:{path}", folder.display()));
    program::Run::by(&mut bash)
}

#[test]
fn what_a_device_signs_goes_through_pipes_to_whoever_checks_it() {
    let running = up();
    let dir = running.dir();
    let path = |name: &str| running.0.path(name).to_str().unwrap().to_owned();
    let (mote, receiver) = (path("nodes/mote-1/node.toml"), path("nodes/receiver/node.toml"));
    let (key, devices) = (path("cellar.key"), path("devices.db"));
    motemix(["id", "new", &key]).succeeds();
    let shown = motemix(["id", "show", &key, "--json"]).succeeds();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let identity = shown["identity"].as_str().unwrap();
    let words = ["object", "authorise", "--devices", &devices, "--identity", identity, "--place", "cellar"];
    motemix(words).succeeds();
    shell(&format!("motemix object introduce {key} | motemix send --config {mote}")).succeeds();

    // As it stands: hexadecimal digits, bytes, and what is measured here.
    let senml = r#"[{"n":"t","u":"Cel","v":21.5}]"#;
    let sign = format!("echo '{senml}' | motemix object sign {key} --path anonymous --audience motemix");
    let sent = shell(&format!("{sign} | motemix send --config {mote}")).succeeds();
    assert!(sent.starts_with("acknowledged by receiver"), "{sent}");
    shell(&format!("{sign} --raw | motemix send --config {mote} -")).succeeds();
    motemix(["send", "--config", &mote, "--senml", "t=-3.50:Cel", "--sign", &key]).succeeds();
    shell(&format!("({sign}; {sign}) | motemix send --config {mote}")).fails(2, &["2 messages, one a line"]);
    motemix(["send", "--config", &mote, "cafe"]).succeeds();

    let verify = format!("motemix object verify --devices {devices} --audience motemix --json");
    let run = shell(&format!("motemix inbox --config {receiver} --json | {verify}"));
    let said: Vec<Value> = run.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said[0]["kind"], "introduction", "{} {}", run.stdout(), run.stderr());
    let values: Vec<_> = said.iter().filter_map(|said| said["senml"][0]["v"].as_f64()).collect();
    assert_eq!(values, [21.5, 21.5, -3.5], "{}", run.stderr());
    assert!(said[3]["senml"][0]["bt"].as_f64() > Some(1.7e9), "{}", run.stdout());
    // The text is none of a device's.
    assert_eq!(run.status(), 2);
    assert!(run.stderr().contains("1 of 5 messages are not believed"), "{}", run.stderr());

    for (senml, words) in [
        ("t=21,5:Cel", "21,5 is no number"),
        ("t", "write a name"),
        ("a b=1", "a name begins"),
        ("t=", "a value is missing"),
        ("t=1:", "a unit is missing"),
    ] {
        let run = motemix(["send", "--config", &mote, "--senml", senml]);
        assert!(run.status() == 2 && run.stderr().contains(words), "{}", run.stderr());
    }
    motemix(["send", "--config", &mote, "--senml", "door=open", "--senml", "on=true"]).succeeds();

    // What arrived since then, and what arrives from now on, until its reader has seen enough.
    let all = motemix(["inbox", "--config", &receiver, "--since", "1h"]).succeeds();
    assert!(all.lines().count() == 7 && all.contains("door open, on true"), "{all}");
    let none = motemix(["inbox", "--config", &receiver, "--since", "2100-01-01T00:00:00Z"]).succeeds();
    assert_eq!(none, "no messages\n");
    let run = motemix(["inbox", "--config", &receiver, "--since", "soon"]);
    assert!(run.status() == 2 && run.stderr().contains("2026-11-29T12:00:00Z"), "{}", run.stderr());
    let followed = shell(&format!(
        "cd {dir}; exec 3< <(motemix inbox --config {receiver} --last 1 --follow --json); read -r first <&3; \
         motemix send --config {mote} 'news' > sent; read -r second <&3; exec 3<&-; \
         motemix send --config {mote} 'the last' > sent; wait; echo \"$first\"; echo \"$second\""
    ));
    let followed = followed.succeeds();
    let lines: Vec<Value> = followed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["senml"][0]["vs"], &lines[1]["text"]), (&"open".into(), &"news".into()));
}

#[test]
fn a_program_measures_and_what_it_does_wrong_is_told_until_it_does_it_right() {
    let network = Network::init(&["--mean-delay", "10ms", "--readings", "200ms"]);
    let mote = network.config("mote-1");
    program::edit(&mote, "[readings]", "[readings]\ncommand = \"cat measured\"");
    let measured = mote.with_file_name("measured");
    let running = Running::up(network);
    let reasons = || running.status_of("mote-1")["status"]["health"]["reasons"].clone();
    let problem = || {
        let reasons = reasons();
        let reason = reasons.as_array()?.iter().find(|reason| reason["concern"] == "readings")?.clone();
        Some(reason["words"].as_str()?.to_owned())
    };
    wait_until("the program's failure is told", || problem().is_some());
    let said = problem().unwrap();
    assert!(
        said.contains("readings are not sent: `cat measured` ended with exit status: 1: cat: "),
        "{said}"
    );
    std::fs::write(&measured, r#"[{"n":"cellar","u":"Cel","v":11.5}]"#).unwrap();
    wait_until("it is well again", || problem().is_none());
    let receiver = running.0.config("receiver");
    let receiver = receiver.to_str().unwrap();
    // Signed with the key that the network gave to the mote.
    let believed = || motemix(["inbox", "--config", receiver, "--verify", "--last", "50"]).succeeds();
    wait_until("a reading is believed", || {
        believed().lines().any(|line| line.contains("believed,") && line.contains("cellar 11.5 Cel"))
    });
    let log = std::fs::read_to_string(mote.with_file_name("node.log")).unwrap();
    assert!(log.contains("`cat measured` ended with"), "{log}");
}

#[test]
fn a_message_that_no_packet_carries_is_refused() {
    let running = up();
    let mote = running.0.config("mote-1");
    motemix(["send", "--config", mote.to_str().unwrap(), &"x".repeat(104)])
        .fails(2, &["has 104 bytes", "carries 103"]);
    motemix(["send", "--config", mote.to_str().unwrap(), "--to", "nobody", "text"]).fails(1, &["nobody"]);
    motemix(["send", "--config", mote.to_str().unwrap(), ""]).fails(2, &["nothing to send"]);
}

#[test]
fn a_network_starts_once_and_stops_whole() {
    let running = up();
    let pid = running.pid("mix-1");
    let said = motemix(["net", "up", running.dir(), "--json"]).succeeds();
    let rows: Value = serde_json::from_str(&said).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["how"] == "was_running"), "{said}");
    assert_eq!(running.pid("mix-1"), pid);
    let said = motemix(["net", "status", running.dir(), "--json"]).succeeds();
    let rows: Value = serde_json::from_str(&said).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["status"].is_object()), "{said}");

    let said = motemix(["net", "down", running.dir(), "--json"]).succeeds();
    let rows: Value = serde_json::from_str(&said).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["stopped"] == "asked"), "{said}");
    let said = motemix(["net", "status", running.dir()]).shows_and_fails(1, &["of 11 nodes: 11 down"]);
    assert_eq!(said.matches(" down").count(), 11, "{said}");
    let up =
        format!("and 8 more): does not run; `motemix net up {}` starts what is missing\n", running.dir());
    assert!(said.contains(&up) && !said.contains("no mix of layer"), "{said}");
}

#[test]
fn files_that_only_help_stop_nothing_when_they_are_empty() {
    let running = up();
    let config = running.0.config("mote-1");
    let send = || motemix(["send", "--config", config.to_str().unwrap(), "all is well"]);
    send().succeeds();
    motemix(["net", "down", running.dir()]).succeeds();
    for node in ["mote-1", "mix-1", "receiver"] {
        let folder = running.0.path("nodes").join(node);
        for file in ["node.pid", "state/clock", "state/handed-over", "state/replay-logs"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
    }
    motemix(["net", "status", running.dir()]).shows_and_fails(1, &["11 down"]);
    motemix(["net", "up", running.dir()]).succeeds();
    send().succeeds();
}

#[test]
fn nodes_whose_configurations_are_broken_or_gone_are_shown_and_stopped_with_the_others() {
    let running = up();
    let pids = ["mix-2", "mix-3"].map(|name| (name, running.pid(name).to_string()));
    let config = |name| running.0.config(name);
    let typo = std::fs::read_to_string(config("mix-2")).unwrap().replace("queue =", "queues =");
    std::fs::write(config("mix-2"), typo).unwrap();
    std::fs::remove_file(config("mix-3")).unwrap();

    let shown = motemix(["net", "status", running.dir()]);
    assert_eq!(shown.status(), 2);
    assert!(shown.stderr().contains("mix-2/node.toml") && shown.stderr().contains("limits.queues"));
    for (name, pid) in &pids {
        let row = [name, pid.as_str(), "-", "unknown"];
        assert!(
            shown.stdout().lines().any(|line| line.split_whitespace().collect::<Vec<_>>().starts_with(&row))
        );
    }

    let stopped = motemix(["net", "down", running.dir()]);
    assert_eq!(stopped.status(), 2);
    assert_eq!(stopped.stdout().matches("stopped").count(), 9, "{}", stopped.stdout());
    assert_eq!(stopped.stdout().matches("terminated").count(), 2, "{}", stopped.stdout());
}

#[test]
fn a_copied_folder_ends_nobody_s_nodes() {
    let running = up();
    let copy = running.0.path("../copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(running.dir()).arg(&copy).status().unwrap();
    assert!(copied.success());
    let rows = |words: &[&str]| -> Vec<Value> {
        let said = motemix(words.iter().copied().chain([copy.to_str().unwrap(), "--json"])).stdout();
        serde_json::from_str(&said).unwrap()
    };
    assert!(rows(&["net", "down"]).iter().all(|row| row["stopped"] == "not_running"));
    assert!(rows(&["net", "status"]).iter().all(|row| row["state"] == "down"));
    // Its ports are those of the original, which is named.
    let pid = format!("process {}", running.pid("mix-1"));
    motemix(["net", "up", copy.to_str().unwrap()]).fails(1, &[&pid, "nothing was started"]);
    let said = motemix(["net", "status", running.dir(), "--json"]).succeeds();
    let rows: Vec<Value> = serde_json::from_str(&said).unwrap();
    assert!(rows.iter().all(|row| row["state"] == "running"), "{said}");
}

/// Its configuration names the state of the original then, and with it the original's socket.
#[test]
fn a_copied_folder_whose_state_lies_elsewhere_ends_nobody_s_nodes() {
    let network = Network::init(&["--mean-delay", "10ms"]);
    let elsewhere = network.path("../elsewhere");
    let linked = network.path("../linked");
    program::edit(&network.config("mix-1"), "\"state\"", &format!("{:?}", elsewhere.to_str().unwrap()));
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(&linked, network.path("nodes/mix-2/state")).unwrap();
    let running = Running::up(network);
    let copy = running.0.path("../copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(running.dir()).arg(&copy).status().unwrap();
    assert!(copied.success());
    let said = motemix(["net", "down", copy.to_str().unwrap(), "--json"]).succeeds();
    let rows: Vec<Value> = serde_json::from_str(&said).unwrap();
    assert!(rows.iter().all(|row| row["stopped"] == "not_running"), "{said}");
    assert!(running.status().iter().all(|row| row["state"] == "running"));
    // The folder that they are of ends them.
    let said = motemix(["net", "down", running.dir(), "--json"]).succeeds();
    let rows: Vec<Value> = serde_json::from_str(&said).unwrap();
    assert!(rows.iter().all(|row| row["stopped"] == "asked"), "{said}");
}

#[test]
fn a_node_that_was_started_by_hand_is_stopped_with_its_network() {
    let network = Network::init(&["--mean-delay", "10ms"]);
    let config = network.config("mote-1");
    let mut node = std::process::Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
        .args(["node", "--config", config.to_str().unwrap()])
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let dir = network.dir.to_str().unwrap();
    wait_until("it is shown as running", || {
        let said = motemix(["net", "status", dir, "--json"]).stdout();
        let rows: Vec<Value> = serde_json::from_str(&said).unwrap();
        rows.iter().any(|row| row["name"] == "mote-1" && row["state"] == "running")
    });
    let said = motemix(["net", "down", dir]).succeeds();
    assert!(said.contains("mote-1    stopped"), "{said}");
    assert!(node.wait().unwrap().success());
}

#[test]
fn a_node_that_ended_is_brought_back_and_the_others_are_left_alone() {
    let running = up();
    let other = running.pid("mix-2");
    running.kill("mix-1");
    let row = running.status_of("mix-1");
    assert_eq!((&row["state"], &row["pid"]), (&"down".into(), &Value::Null));
    // The other mix of its layer.
    running.kill("mix-4");
    let shown = motemix(["net", "status", running.dir()]).shows_and_fails(1, &["of 11 nodes: 2 down"]);
    let line = format!(
        "no mix of layer 0 runs (mix-1, mix-4), so no message passes; `motemix net up {}`",
        running.dir()
    );
    assert!(shown.contains(&line) && shown.contains("2 nodes (mix-1, mix-4): does not run; "), "{shown}");
    let said = motemix(["net", "up", running.dir(), "--json"]).succeeds();
    let rows: Vec<Value> = serde_json::from_str(&said).unwrap();
    for row in &rows {
        let how = if row["name"] == "mix-1" || row["name"] == "mix-4" { "started" } else { "was_running" };
        assert_eq!(row["how"], how, "{said}");
    }
    assert_eq!(running.status_of("mix-1")["state"], "running");
    assert_eq!(running.pid("mix-2"), other);
}

#[test]
fn a_node_that_does_not_answer_is_told_from_one_that_is_down() {
    let running = up();
    let stopped = running.pid("mix-1").to_string();
    let moved = running.0.path("nodes/mix-2/state");
    signal("-STOP", &stopped);
    std::fs::rename(&moved, running.0.path("elsewhere")).unwrap();
    running.kill("mix-3");

    let state = |name: &str| {
        let row = running.status_of(name);
        (row["state"].as_str().unwrap().to_owned(), row["problem"].as_str().unwrap_or_default().to_owned())
    };
    let (silent, words) = state("mix-1");
    assert!(silent == "no_answer" && words.contains(&format!("kill -CONT {stopped}")), "{words}");
    let (silent, words) = state("mix-2");
    assert!(silent == "no_answer" && words.contains("move it back"), "{words}");
    assert_eq!(state("mix-3"), ("down".to_owned(), String::new()));
    let shown = motemix(["net", "status", running.dir()]);
    let said = shown.shows_and_fails(1, &["of 11 nodes: 1 down, 2 without an answer"]);
    assert!(
        said.contains("\nmix-1: no answer: process ") && said.contains("\nmix-3: does not run; "),
        "{said}"
    );
    // What is missing is started all the same; the command says that not all is well.
    let run = motemix(["net", "up", running.dir()]);
    assert_eq!(run.status(), 1);
    assert!(run.stderr().contains("mix-1: process "), "{}", run.stderr());
    assert_eq!(state("mix-3").0, "running");

    signal("-CONT", &stopped);
    std::fs::rename(running.0.path("elsewhere"), &moved).unwrap();
    assert_eq!((state("mix-1").0, state("mix-2").0), ("running".to_owned(), "running".to_owned()));
}

#[test]
fn a_hangup_ends_no_node_and_a_log_can_be_cut_while_its_node_runs() {
    let running = up();
    let pid = running.pid("mix-1");
    let log = running.0.path("nodes/mix-1/node.log");
    let hang_up = || {
        signal("-HUP", &pid.to_string());
        wait_until("the log tells of the signal", || {
            std::fs::read_to_string(&log).unwrap().contains("SIGHUP")
        });
    };
    hang_up();
    // As logrotate does with `copytruncate`: the node has the file open, and goes on at its new
    // end.
    std::fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    hang_up();
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.starts_with("20") && said.lines().count() < 10, "{said}");
    assert_eq!(running.status_of("mix-1")["state"], "running");
    assert_eq!(running.pid("mix-1"), pid);
}

fn signal(signal: &str, pid: &str) {
    assert!(std::process::Command::new("kill").args([signal, pid]).status().unwrap().success());
}

#[test]
fn a_port_of_another_program_is_named_before_anything_is_started() {
    let network = Network::init(&[]);
    let config = std::fs::read_to_string(network.config("receiver")).unwrap();
    let address: toml::Table = toml::from_str(&config).unwrap();
    let socket = std::net::UdpSocket::bind(address["listen"][0].as_str().unwrap()).unwrap();
    let here = format!("process {}", std::process::id());
    let dir = network.dir.to_str().unwrap();
    motemix(["net", "up", dir]).fails(1, &["receiver: [::1]:", &here, "nothing was started"]);
    let said = motemix(["net", "status", dir]).shows_and_fails(1, &["11 down"]);
    assert_eq!(said.matches(" down").count(), 11, "{said}");

    let port = socket.local_addr().unwrap().port().to_string();
    let other = network.path("other");
    motemix(["net", "init", other.to_str().unwrap(), "--base-port", &port])
        .fails(1, &["--base-port", &here, "choose another"]);
    assert!(!other.exists());
    drop(socket);
    drop(Running::up(network));
}

#[test]
fn a_message_takes_all_the_time_from_send_to_its_acknowledgement() {
    let running = Running::up(Network::init(&["--mean-delay", "10ms", "--transmissions", "200"]));
    running.kill("receiver");
    let second = std::time::Duration::from_secs(1);
    let said = std::thread::scope(|scope| {
        let sent = scope.spawn(|| {
            let run = running.send("mote-1", "is anybody there");
            assert!(run.stderr().contains("receiver has not acknowledged yet"), "{}", run.stderr());
            run.succeeds()
        });
        std::thread::sleep(3 * second);
        motemix(["net", "up", running.dir()]).succeeds();
        sent.join().unwrap()
    });
    let outcome: Value = serde_json::from_str(&said).unwrap();
    let [all, last] = ["elapsed_ms", "round_trip_ms"].map(|name| outcome[name].as_f64().unwrap());
    assert!(outcome["tries"].as_u64() > Some(1) && all >= 1000.0 && last < all, "{said}");
    let log = std::fs::read(running.0.path("nodes/mix-1/node.log")).unwrap();
    assert!(!log.is_empty() && !log.contains(&0x1b), "no colours in a file");
}

#[test]
fn an_epoch_begins_early_in_a_network_that_runs() {
    let running = up();
    let said = motemix(["net", "renew", running.dir(), "--early", "--json"]).succeeds();
    let said: Value = serde_json::from_str(&said).unwrap();
    let epoch = said["signed"][0].as_u64().unwrap();
    let again = motemix(["net", "renew", running.dir(), "--early", "--json"]).succeeds();
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["epoch"], &again["begins"]), (&said["epoch"], &said["begins"]));
    assert_eq!(again["signed"], serde_json::json!([]));
    let again = motemix(["net", "renew", running.dir(), "--early"]).succeeds();
    assert!(again.contains("already; nothing was signed"), "{again}");
    let begun = || {
        let said = motemix(["net", "status", running.dir(), "--json"]).succeeds();
        let rows: Value = serde_json::from_str(&said).unwrap();
        rows.as_array().unwrap().iter().all(|row| row["status"]["epoch"] == epoch)
    };
    let end = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !begun() {
        assert!(std::time::Instant::now() < end, "epoch {epoch} does not begin");
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    let mote = running.0.config("mote-1");
    motemix(["send", "--config", mote.to_str().unwrap(), "under the new keys"]).succeeds();
}

#[test]
fn a_demonstration_delivers_every_message_once() {
    let summary = demo(&["--seconds", "5", "--interval", "250ms", "--mean-delay", "10ms"]);
    assert!(count(&summary, "sent") >= 4 * 10, "{summary}");
    assert_eq!(summary["acknowledged"], summary["sent"]);
    assert_eq!(summary["delivered"], summary["sent"]);
    assert_eq!(summary["discarded"], 0);
    assert_eq!((&summary["packet_len"], &summary["datagram_len"]), (&280.into(), &296.into()));
    assert_eq!(summary["payload_len"], 103);
    assert_eq!((&summary["believed"], &summary["not_believed"]), (&summary["sent"], &0.into()));
    assert_eq!(summary["processes"], 11);
    assert_eq!((count(&summary, "under_way"), count(&summary, "turned_away")), (0, 0));
    for times in ["elapsed_ms", "rtt_ms"] {
        assert!(summary[times]["p50"].as_f64().unwrap() <= summary[times]["p99"].as_f64().unwrap());
    }
    assert!(summary["rtt_ms"]["p50"].as_f64().unwrap() <= summary["rtt_ms"]["p99"].as_f64().unwrap());
}

#[test]
fn nothing_acknowledged_is_lost_when_datagrams_are_and_a_mix_dies() {
    let faults = ["--loss", "0.05", "--kill-mix-after", "2s", "--transmissions", "30"];
    let summary = demo(&[&["--seconds", "8", "--mean-delay", "10ms"][..], &faults].concat());
    assert!(count(&summary, "delivered") >= count(&summary, "acknowledged"), "{summary}");
    assert!(count(&summary, "retransmitted") > 0, "{summary}");
    assert_eq!(count(&summary, "under_way"), 0, "{summary}");
}

#[test]
fn a_demonstration_that_loses_messages_fails_and_says_so() {
    let words = ["demo", "--seconds", "2", "--mean-delay", "10ms", "--loss", "0.9", "--transmissions", "1"];
    let run = motemix(words);
    let (said, failed) = (run.stdout(), run.stderr());
    assert_eq!(run.status(), 1, "{said}");
    let last = failed.lines().last().unwrap();
    assert!(last.contains("were given up after the last try"), "{failed}");
    for row in ["discarded", "undecided", "turned away, the mote being full", "acknowledged after, p99"] {
        assert!(said.contains(row), "{said}");
    }
}

fn demo(more: &[&str]) -> Value {
    let run = motemix([&["demo", "--json"], more].concat());
    let said = run.succeeds();
    serde_json::from_str(&said).expect("one JSON object")
}

fn count(summary: &Value, name: &str) -> u64 {
    summary[name].as_u64().unwrap_or_else(|| panic!("no {name} in {summary}"))
}
