//! What the program writes to stderr, for programs that collect logs.

mod program;

use program::{Network, Run, wait_until};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};

fn motemix() -> Command {
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    command.env_remove("MOTEMIX_LOG_FORMAT").env_remove("MOTEMIX_LOG");
    command
}

/// Ends with the story.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn each_line_of_a_node_is_an_object_if_it_is_asked_to() {
    let network = Network::init(&["--motes", "1"]);
    let log = network.path("node.log");
    let mut node = motemix();
    node.args(["--log", "info", "--log-format", "json", "node", "--config"]).arg(network.config("mix-1"));
    node.stderr(fs::File::create(&log).expect("a log")).stdout(Stdio::null());
    let _node = Process(node.spawn().expect("the program starts"));
    let lines = || fs::read_to_string(&log).expect("a log");
    wait_until("the node runs", || lines().contains("the node runs"));
    for line in lines().lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for field in ["timestamp", "level", "target", "message"] {
            assert!(event[field].is_string(), "no {field} in {line}");
        }
    }
    let text = lines();
    let runs = text.lines().find(|line| line.contains("the node runs")).expect("that line");
    let runs: Value = serde_json::from_str(runs).expect("JSON");
    assert_eq!((&runs["level"], &runs["message"]), (&"INFO".into(), &"the node runs".into()));
    assert!(runs["epoch"].as_str().is_some_and(|epoch| epoch.parse::<u32>().is_ok()), "{runs}");
}

#[test]
fn what_ends_the_program_is_such_a_line_too() {
    let run = Run::by(motemix().args(["node", "--config", "nowhere.toml"]).env("MOTEMIX_LOG_FORMAT", "json"));
    assert_eq!(run.status(), 2);
    let said: Value = serde_json::from_str(&run.stderr()).expect("one JSON value");
    assert_eq!((&said["level"], &said["target"]), (&"ERROR".into(), &"motemix".into()));
    assert!(said["message"].as_str().is_some_and(|words| words.starts_with("nowhere.toml: ")), "{said}");
    let run = Run::by(motemix().args(["--log-format", "text", "node", "--config", "nowhere.toml"]));
    assert!(run.stderr().starts_with("motemix: nowhere.toml: "), "{}", run.stderr());
}
