//! `motemix-lab sim` as people and programs use it.

mod dissected;
mod program;

use motemix_link::stack::PORT;
use program::{lab, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// How many parts of a file are damaged, one at a time.
const PARTS: usize = 64;
/// Bytes of a packet.
const PACKET: usize = 280;
const SMALL: &str = r#"version = 1
name = "small"
protocol = "motes"
run = { send_for = "40 s", cool_down = "20 s" }
nodes.mote.count = 6
load.interval = "10 s"

[sweep]
seeds = 2
vary = { "nodes.mote.count" = [5, 6], "load.interval" = ["10 s", "20 s"] }
"#;

/// A folder with a scenario in it.
struct Place {
    folder: TempDir,
}

impl Place {
    fn of(scenario: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("small.toml"), scenario).expect("a file");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// `motemix-lab sim WHAT small.toml MORE…`.
    fn sim(&self, what: &str, more: &[&str]) -> program::Run {
        let file = self.text("small.toml");
        lab(["sim", what, &file].iter().chain(more))
    }

    fn read(&self, dir: &str, name: &str) -> Vec<u8> {
        fs::read(self.path(dir).join(name)).expect("a file")
    }
}

#[test]
fn a_run_is_one_object_and_the_same_each_time() {
    let place = Place::of(SMALL);
    let run = |more: &[&str]| place.sim("run", &[&["--json"], more].concat()).succeeds();
    let outcome: Value = serde_json::from_str(&run(&[])).expect("one object");
    for field in [
        "sent",
        "acknowledged",
        "retransmitted",
        "discarded",
        "airtime_s_per_ack",
        "energy_mj_per_ack",
        "steps",
    ] {
        assert!(outcome[field].is_number(), "{field}: {outcome}");
    }
    assert!(outcome["sent"].as_u64().expect("a count") > 10, "{outcome}");
    let (p50, p99) = (&outcome["rtt_s"]["p50"], &outcome["rtt_s"]["p99"]);
    assert!(0.0 < p50.as_f64().expect("seconds") && p50.as_f64() <= p99.as_f64(), "{outcome}");
    assert!(outcome["drops"].is_object() && outcome.get("entropy_bits").is_some(), "{outcome}");
    assert_eq!(outcome["epochs"], 1, "{outcome}");
    let tables = &outcome["limits"]["iotlab-m3"];
    assert_eq!(
        (&tables["nodes"], &tables["as_shipped"]),
        (&Value::from(64), &Value::from(true)),
        "{outcome}"
    );
    assert_eq!(run(&[]), run(&["--seed", "1"]));
    assert_ne!(run(&[]), run(&["--seed", "2"]));
    let more: Value = serde_json::from_str(&run(&["--set", "nodes.mote.count=9"])).expect("one object");
    assert_eq!(more["nodes"], 9);
    // The last of the sweep's eight runs.
    let one: Value = serde_json::from_str(&run(&["--run", "7"])).expect("one object");
    assert_eq!((&one["seed"], &one["nodes"]), (&Value::from(2), &Value::from(6)));
    let table = place.sim("run", &[]).succeeds();
    assert!(table.contains("acknowledged") && table.contains("round trip p99"), "{table}");
    assert!(!table.contains("anonymity"), "nobody observes: {table}");
    let observed = Place::of(&SMALL.replace("[sweep]", "[adversary]\nsample = 1\n\n[sweep]"));
    let outcome: Value =
        serde_json::from_str(&observed.sim("run", &["--json"]).succeeds()).expect("one object");
    let table = observed.sim("run", &[]).succeeds();
    for (row, way) in [("from the way there", "there"), ("from the round trip", "round_trip")] {
        let bits = outcome["anonymity"][way]["entropy_bits"].as_f64().expect("bits");
        let line = table.lines().find(|line| line.contains(row)).expect("a row");
        assert!(line.contains(&format!(" {bits:.2}  bits")), "{line}");
    }
}

#[test]
fn what_an_observer_concludes_is_a_file_that_can_be_scored() {
    let place = Place::of(&SMALL.replace("[sweep]", "[adversary]\n\n[sweep]"));
    let [posteriors, transfers] = ["posteriors.parquet", "transfers.parquet"].map(|name| place.text(name));
    let files = ["--json", "--posteriors", &posteriors, "--transfers", &transfers];
    let outcome: Value = serde_json::from_str(&place.sim("run", &files).succeeds()).expect("one object");
    assert!(place.read("", "transfers.parquet").starts_with(b"PAR1"));
    let score = |more: &[&str]| lab(["sim", "score", &posteriors].iter().chain(more));
    let scored: Value =
        serde_json::from_str(&score(&["--json", "--column", "there"]).succeeds()).expect("one object");
    assert_eq!(scored["messages"], outcome["anonymity"]["traced"]);
    for measure in ["first_guess", "entropy_bits", "min_entropy_bits", "delta_0"] {
        let [a, b] = [&scored[measure], &outcome["anonymity"]["there"][measure]]
            .map(|value| value.as_f64().expect("a number"));
        assert!((a - b).abs() < 1e-6, "{measure}: {a}, {b}");
    }
    let table = score(&[]).succeeds();
    assert!(table.contains("min-entropy") && table.contains("calibration error"), "{table}");
    score(&["--column", "their"]).fails(2, &["posteriors.parquet: has no column their"]);
    let text = place.text("small.toml");
    lab(["sim", "score", &text]).fails(2, &["small.toml: cannot read it", AGAIN]);
    let unobserved = Place::of(SMALL);
    unobserved.sim("run", &["--posteriors", &posteriors]).fails(2, &["nobody observes", "[adversary]"]);
}

/// What is to be done about a file that cannot be read.
const AGAIN: &str = "check the path, or have the file written again";

#[test]
fn a_file_of_conclusions_that_was_damaged_is_told_of_in_one_line() {
    let place = Place::of(&SMALL.replace("[sweep]", "[adversary]\n\n[sweep]"));
    let file = place.text("posteriors.parquet");
    place.sim("run", &["--posteriors", &file]).succeeds();
    let whole = fs::read(&file).expect("a file");
    let score = |bytes: &[u8]| {
        fs::write(&file, bytes).expect("a file");
        lab(["sim", "score", &file])
    };
    for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
        score(&whole[..cut]).fails(2, &["posteriors.parquet: cannot read it", AGAIN]);
    }
    // A part of it is overwritten, in turn each. Some say something else then, and some nothing:
    // they are of columns that nobody asks for.
    let (mut refused, mut pages) = (0, 0);
    for part in 0..PARTS {
        let mut damaged = whole.clone();
        damaged[whole.len() * part / PARTS..whole.len() * (part + 1) / PARTS].fill(0xff);
        let run = score(&damaged);
        if run.status() != 0 {
            refused += 1;
            pages += usize::from(run.stderr().contains("its pages are damaged"));
            run.fails(2, &["posteriors.parquet: "]);
        }
    }
    assert!(refused > PARTS / 4, "{refused} of {PARTS} damaged files were refused");
    assert!(pages > 0, "no damaged page, at which the library panics, was among them");
    fs::remove_file(&file).expect("it is there");
    lab(["sim", "score", &file]).fails(2, &["posteriors.parquet: cannot read it", AGAIN]);
}

#[test]
fn what_was_on_the_air_is_a_capture() {
    let place = Place::of(SMALL);
    place.sim("run", &["--pcap", &place.text("air.pcap")]).succeeds();
    let bytes = fs::read(place.path("air.pcap")).expect("a file");
    assert_eq!(&bytes[..4], 0xa1b2_c3d4_u32.to_le_bytes());
    assert_eq!(&bytes[20..24], 195_u32.to_le_bytes());
    // Whole records to the end, in virtual time.
    let (mut rest, mut frames) = (&bytes[24..], 0);
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        assert!(word(0) < 60 && (5..=127).contains(&word(8)), "{frames}");
        rest = &rest[16 + word(8) as usize..];
        frames += 1;
    }
    assert!(frames > 100, "{frames}");
    let nowhere = place.text("nowhere/air.pcap");
    place.sim("run", &["--pcap", &nowhere]).fails(1, &["cannot write", "nowhere/air.pcap"]);
}

#[test]
fn the_keys_of_protected_links_are_beside_the_capture_and_open_every_frame() {
    let place = Place::of(SMALL);
    let (capture, keys) = (place.text("air.pcap"), place.path("air.pcap.keys"));
    let protected = ["--set", "motes.link.protected=true", "--pcap", &capture];
    let said = place.sim("run", &protected).succeeds();
    assert!(said.contains(&format!("WIRESHARK_CONFIG_DIR={} tshark ", keys.display())), "{said}");
    let read = dissected::read(Path::new(&capture), &keys);
    assert!(read.iter().filter(|frame| frame.is_protected).count() > 100, "{said}");
    let faults: Vec<_> = read.iter().filter(|frame| !frame.complaints.is_empty()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let packets = dissected::to_port(&read, PORT);
    assert!(packets.len() > 30 && packets.iter().all(|packet| packet.len() == PACKET), "{}", packets.len());

    // A run without protection has no keys, and none of those before are left.
    let said = place.sim("run", &["--pcap", &capture]).succeeds();
    assert!(!said.contains("WIRESHARK_CONFIG_DIR"), "{said}");
    assert!(fs::read_dir(&keys).expect("a folder").next().is_none());
}

#[test]
fn a_trace_is_what_happened_to_those_asked_for() {
    let place = Place::of(SMALL);
    let lines = |more: &[&str]| -> Vec<Value> {
        let said = place.sim("trace", &[&["--json"], more].concat()).succeeds();
        said.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
    };
    let all = lines(&[]);
    for event in ["message", "packet", "frame", "ack", "arrived", "received", "acknowledged"] {
        assert!(all.iter().any(|line| line["event"] == event), "no {event}");
    }
    let some = lines(&["--node", "3", "--from", "10s", "--to", "20s"]);
    assert!(!some.is_empty() && some.len() < all.len());
    for line in &some {
        assert!(line["node"] == 3 || line["peer"] == 3, "{line}");
        assert!((10_000_000..=20_000_000).contains(&line["at_us"].as_u64().expect("a time")), "{line}");
        assert!(all.contains(line), "{line}");
    }
    let readable = place.sim("trace", &["--to", "20s"]).succeeds();
    assert!(readable.contains(" is given a message for "), "{readable}");
    place.sim("trace", &["--node", "99"]).fails(2, &["--node 99", "choose one"]);
}

#[test]
fn what_is_wrong_with_a_scenario_is_one_line() {
    let place = Place::of(&SMALL.replace("count = 6", "count = 0"));
    let said = ["small.toml:5: nodes.mote.count: is 0; it must be 1 to 16384"];
    place.sim("run", &[]).fails(2, &said);
    place.sim("trace", &[]).fails(2, &said);
    place.sim("sweep", &["--list"]).fails(2, &said);
    let place = Place::of(SMALL);
    place.sim("run", &["--run", "8"]).fails(2, &["--run 8", "8 runs"]);
    place.sim("sweep", &["--out", &place.text("out"), "--only", "9"]).fails(2, &["--only 9", "8 runs"]);
    place.sim("run", &["--set", "motes.hop=2"]).fails(2, &["motes.hop", "perhaps `hops`"]);
    lab(["sim", "run", &place.text("none.toml")]).fails(2, &["none.toml: cannot read it"]);
}

#[test]
fn runs_that_others_ran_are_as_good() {
    let place = Place::of(SMALL);
    let out = |dir: &str| place.text(dir);
    place.sim("sweep", &["--out", &out("local")]).succeeds();
    place.sim("sweep", &["--out", &out("taken"), "--only", "1", "6"]).succeeds();
    let due = place.sim("sweep", &["--out", &out("taken"), "--list"]).succeeds();
    let due: Vec<Value> = due.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let numbers: Vec<_> = due.iter().map(|run| run["id"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, [0, 2, 3, 4, 5, 7]);
    assert_eq!(due[1]["settings"], serde_json::json!({ "load.interval": "10 s", "nodes.mote.count": 6 }));
    let mut taking = Command::new(env!("CARGO_BIN_EXE_motemix-lab"))
        .args(["sim", "sweep", &out("small.toml"), "--out", &out("taken"), "--take"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut lines = taking.stdin.take().expect("it is piped");
    // In the order of nobody's.
    for id in numbers.iter().rev() {
        use std::io::Write as _;
        let outcome = place.sim("run", &["--run", &id.to_string(), "--json"]).succeeds();
        write!(lines, "{{\"run\":{id},\"outcome\":{outcome}}}").expect("it reads");
    }
    drop(lines);
    assert!(taking.wait().expect("it ends").success());
    for table in ["runs.csv", "runs.parquet", "summary.csv"] {
        assert_eq!(place.read("local", table), place.read("taken", table), "{table}");
    }
}

fn lines_of(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
}

#[test]
fn a_killed_sweep_goes_on_where_it_stopped() {
    // Long enough that there is something to kill.
    let long =
        SMALL.replace("40 s", "10 min").replace("seeds = 2", "seeds = 6").replace("[5, 6]", "[12, 14]");
    let place = Place::of(&long);
    let out = place.text("killed");
    let journal = place.path("killed").join("journal.jsonl");
    let begin = || {
        Command::new(env!("CARGO_BIN_EXE_motemix-lab"))
            .args(["sim", "sweep", &place.text("small.toml"), "--out", &out, "--jobs", "1"])
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts")
    };
    let mut before = 0;
    for _ in 0..2 {
        let mut sweep = begin();
        wait_until("some runs are done", || lines_of(&journal).len() > before + 2);
        sweep.kill().expect("it runs");
        assert!(!sweep.wait().expect("it ends").success(), "it ended before it was killed");
        before = lines_of(&journal).len();
    }
    let kept = lines_of(&journal);
    assert!(kept.len() < 25, "nothing is left to do");
    // As if the power had failed while a line was written.
    let torn = [fs::read(&journal).expect("a journal"), b"{\"run\":23,\"outc".to_vec()].concat();
    fs::write(&journal, torn).expect("a file");

    place.sim("sweep", &["--out", &out]).succeeds();

    let lines = lines_of(&journal);
    assert_eq!(lines[..kept.len()], kept, "what was done is done");
    let mut runs: Vec<u64> = lines[1..]
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["run"].as_u64().expect("a number"))
        .collect();
    runs.sort_unstable();
    assert_eq!(runs, (0..24).collect::<Vec<_>>(), "each run once");
    place.sim("sweep", &["--out", &place.text("whole")]).succeeds();
    for table in ["runs.csv", "runs.parquet", "summary.csv"] {
        assert_eq!(place.read("killed", table), place.read("whole", table), "{table}");
    }
}

#[test]
fn an_interrupted_sweep_says_how_to_go_on_and_a_changed_one_is_refused() {
    let place = Place::of(&SMALL.replace("40 s", "10 h").replace("[5, 6]", "[30, 31]"));
    let out = place.text("out");
    let sweep = Command::new(env!("CARGO_BIN_EXE_motemix-lab"))
        .args(["sim", "sweep", &place.text("small.toml"), "--out", &out])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_until("it has begun", || place.path("out").join("journal.jsonl").exists());
    let killed = Command::new("kill").args(["-INT", &sweep.id().to_string()]).status().expect("kill starts");
    assert!(killed.success());
    let output = sweep.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("interrupted: 0 of 8 runs are done; the same command goes on from there"),
        "{said}"
    );
    let changed = ["--out", &out, "--set", "run.send_for=10s", "--list"];
    place.sim("sweep", &changed).fails(2, &["another scenario or of another version", "--restart"]);
    place.sim("sweep", &["--out", &out, "--set", "run.send_for=10s", "--restart"]).succeeds();
}

#[test]
fn a_plot_shows_a_line_for_each_condition() {
    let place = Place::of(SMALL);
    let (out, svg) = (place.text("out"), place.text("plot.svg"));
    place.sim("sweep", &["--out", &out]).succeeds();
    let plot = |more: &[&str]| lab(["sim", "plot", &out, "--svg", &svg].iter().chain(more));
    plot(&["--x", "nodes.mote.count", "--y", "acknowledged_percent", "--by", "load.interval"]).succeeds();
    let drawn = fs::read_to_string(&svg).expect("a picture");
    for words in ["load.interval 10 s", "load.interval 20 s", "nodes.mote.count", "acknowledged_percent"] {
        assert!(drawn.contains(words), "{words}");
    }
    plot(&[
        "--x",
        "load.interval",
        "--y",
        "sent",
        "--y",
        "delivered",
        "--where",
        "nodes.mote.count=5",
        "--log-x",
    ])
    .succeeds();
    let drawn = fs::read_to_string(&svg).expect("a picture");
    assert!(drawn.contains("load.interval (s)") && drawn.contains("delivered"), "{drawn}");
    for (words, said) in [
        (&["--x", "nodes.mote.count", "--y", "acknowleged_percent"][..], "perhaps acknowledged_percent"),
        (&["--x", "name", "--y", "sent"], "name is not a number"),
        (&["--x", "load.interval", "--y", "sent", "--where", "nodes.mote.count=7"], "no run is left"),
        (
            &["--x", "load.interval", "--y", "sent", "--by", "seed"],
            "nodes.mote.count varies as well; add --by nodes.mote.count",
        ),
    ] {
        plot(words).fails(2, &[said]);
    }
    let picture = place.text("plot.png");
    let words = ["sim", "plot", &out, "--svg", &picture, "--x", "nodes.mote.count", "--y", "sent"];
    let run = lab(words.iter().chain(&["--by", "load.interval"]));
    run.fails(1, &["plot.png: charts are SVG", "plot.svg"]);
    assert!(!place.path("plot.png").exists());
    let nothing = ["sim", "plot", &place.text("none"), "--x", "a", "--y", "b", "--svg", &svg];
    lab(nothing).fails(2, &["none/runs.csv", "motemix-lab sim sweep"]);
}
