//! `motemix-lab boards neighbours`: the paper's functions, an application with them and without,
//! and handshakes, on the paper's chip at both of its clocks.

mod program;

use program::lab;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

const RUNS: u64 = 2;
const BOARDS: [&str; 2] = ["cc2538-16mhz", "cc2538-32mhz"];
const FUNCTIONS: [&str; 6] = ["generate", "shared_key", "encrypt", "decrypt", "sign", "verify"];

/// The report of both clocks, measured once, and the charts.
fn report() -> &'static (Value, tempfile::TempDir) {
    static REPORT: OnceLock<(Value, tempfile::TempDir)> = OnceLock::new();
    REPORT.get_or_init(|| {
        let charts = tempfile::tempdir().expect("a folder");
        let svg = charts.path().to_str().expect("UTF-8");
        let [slow, fast] = BOARDS;
        let runs = RUNS.to_string();
        let words = [
            "boards",
            "neighbours",
            "--json",
            "--runs",
            &runs,
            "--board",
            slow,
            "--board",
            fast,
            "--svg",
            svg,
        ];
        let json = serde_json::from_str(&lab(words).succeeds()).expect("JSON");
        (json, charts)
    })
}

fn board(name: &str) -> &'static Value {
    let boards = report().0["boards"].as_array().expect("boards");
    boards.iter().find(|board| board["board"] == name).expect("the board")
}

fn handshake(name: &str) -> &'static Value {
    let all = report().0["handshakes"].as_array().expect("handshakes");
    all.iter().find(|it| it["name"].as_str().is_some_and(|it| it.starts_with(name))).expect("the handshake")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn real(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Within the four digits that energies have.
fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-3 * other.abs()
}

#[test]
fn every_function_was_run_on_both_clocks_and_takes_the_time_of_its_cycles() {
    for name in BOARDS {
        let board = board(name);
        let clock = real(&board["clock_hz"]);
        for function in FUNCTIONS {
            let found = &board["functions"][function];
            assert_eq!(number(&found["runs"]), RUNS);
            let [least, median, most] = ["least", "median", "most"].map(|it| number(&found[it]));
            assert!(0 < least && least <= median && median <= most, "{function}: {found}");
            let seconds = real(&found["seconds"]);
            // Times are whole nanoseconds, of the shortest the sixth digit.
            let exact = real(&found["median"]) / clock;
            assert!((0.0..1e-9).contains(&(exact - seconds)), "{function}: {found}");
            assert!(same(real(&found["millijoules"]), seconds * real(&board["milliwatts"])), "{function}");
            assert!(same(real(&found["millijoules_at_60_mw"]), seconds * 60.0), "{function}");
            for energy in ["millijoules", "millijoules_at_60_mw"] {
                let digits = found[energy].to_string().replace('.', "").trim_start_matches('0').len();
                assert!(digits <= 4, "{function}: {found}");
            }
            // Checking a signature holds no secret, and is the one that may vary.
            assert!(least == most || function == "verify", "{function} varies with its keys: {found}");
        }
        assert_eq!(board["functions"].as_object().map(serde_json::Map::len), Some(FUNCTIONS.len()));
    }
}

#[test]
fn twice_the_clock_is_less_than_twice_as_fast_because_flash_waits() {
    let [slow, fast] = BOARDS.map(board);
    assert_eq!(
        [&slow["flash_wait"], &fast["flash_wait"]],
        [&serde_json::json!([0, 0]), &serde_json::json!([1, 1])]
    );
    for function in FUNCTIONS {
        let [slow, fast] = [slow, fast].map(|board| &board["functions"][function]);
        let ratio = real(&slow["seconds"]) / real(&fast["seconds"]);
        assert!(ratio > 1.0 && ratio < 2.0, "{function}: {ratio}");
    }
    let [slow, fast] = BOARDS;
    let words =
        ["boards", "neighbours", "--json", "--zero-wait", "--runs", "1", "--board", slow, "--board", fast];
    let equal: Value = serde_json::from_str(&lab(words).succeeds()).expect("JSON");
    for function in FUNCTIONS {
        let seconds = |at: usize| real(&equal["boards"][at]["functions"][function]["seconds"]);
        // Seconds are counted in whole nanoseconds.
        assert!((seconds(0) - 2.0 * seconds(1)).abs() < 1e-8, "{function} without wait states");
    }
}

#[test]
fn every_function_with_keys_beats_the_paper_at_its_clock() {
    let paper = report().0["paper"]["functions"].as_array().expect("the paper's table");
    for (function, paper) in FUNCTIONS.into_iter().zip(paper) {
        let found = &board("cc2538-16mhz")["functions"][function];
        assert_eq!(found["paper"], paper["name"], "{function}");
        let ours = real(&found["seconds"]);
        assert!(ours < real(&paper["seconds"]), "{function}: {ours} s");
    }
}

#[test]
fn the_extended_application_holds_the_six_functions_more_than_the_plain_one() {
    let memory = &board("cc2538-16mhz")["memory"];
    let [plain, extended] = ["plain", "extended"].map(|it| &memory[it]);
    for figure in ["flash", "ram", "stack"] {
        assert!(number(&extended[figure]) > number(&plain[figure]), "{figure}: {memory}");
    }
    // Keys, a key of AES, and 64 numbers that are remembered.
    assert!(number(&extended["ram"]) - number(&plain["ram"]) > 64 * 5, "{memory}");
}

/// draft-ietf-iotops-security-protocol-comparison-08, figure 1; `docs/spec/link/handshakes.md`;
/// IoT-CryptoDiet, section 5.3 with the lengths of `docs/spec/link/diet.md`.
#[test]
fn handshakes_have_the_bytes_and_frames_that_their_specifications_say() {
    for (name, bytes, frames, round_trips) in [
        ("IoT-CryptoDiet, to the letter", 256, 4, 1),
        ("IoT-CryptoDiet, settled", 214, 3, 1),
        ("EDHOC, method 0", 216, 4, 1),
        ("EDHOC, method 3", 101, 3, 1),
        ("a protected link", 134, 6, 3),
        ("DTLS 1.3, raw public keys", 894, 11, 1),
        ("DTLS 1.3, pre-shared key", 501, 7, 1),
    ] {
        let found = handshake(name);
        let figures = ["bytes", "frames", "round_trips"].map(|it| number(&found[it]));
        assert_eq!(figures, [bytes, frames, round_trips], "{name}");
        let messages = found["messages"].as_array().expect("messages");
        assert_eq!(messages.iter().map(|it| number(&it["bytes"])).sum::<u64>(), bytes, "{name}");
    }
}

#[test]
fn what_was_run_has_cycles_of_both_sides_and_what_was_published_has_none() {
    for name in BOARDS {
        for cost in board(name)["handshakes"].as_array().expect("costs") {
            let handshake = cost["handshake"].as_str().expect("a name");
            let is_published = handshake.starts_with("DTLS");
            assert_eq!(cost["cycles"].is_null(), is_published, "{handshake}");
            assert_eq!(cost["computing_millijoules"].is_null(), is_published, "{handshake}");
            assert!(real(&cost["radio_millijoules"]) > 0.0, "{handshake}");
            for side in cost["cycles"].as_array().into_iter().flatten() {
                // Two multiplications at least.
                assert!(
                    number(side) > 2 * number(&board(name)["functions"]["generate"]["least"]),
                    "{handshake}"
                );
            }
        }
    }
}

#[test]
fn the_charts_show_every_function_and_every_handshake() {
    let chart = |name: &str| {
        let file: &Path = &report().1.path().join(name);
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let functions = chart("neighbours-functions.svg");
    for word in ["generate a key pair, cc2538-16mhz", "verify, cc2538-32mhz", "paper 1.305", "paper 1.547"] {
        assert!(functions.contains(word), "{word}");
    }
    let [bytes, energy] = ["neighbours-bytes.svg", "neighbours-energy-cc2538-16mhz.svg"].map(chart);
    for found in report().0["handshakes"].as_array().expect("handshakes") {
        let name = found["name"].as_str().expect("a name");
        assert!(bytes.contains(name) && energy.contains(&format!("{name}: radio")), "{name}");
    }
}

#[test]
fn a_board_that_is_none_and_a_budget_that_does_not_hold_are_said() {
    lab(["boards", "neighbours", "--board", "cc2539"]).fails(2, &["cc2539", "cc2538-16mhz", "samr21-xpro"]);
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), "[cc2538-16mhz]\nverify = 1000\ngenerate = 100000000\n").expect("written");
    let budgets = file.path().to_str().expect("UTF-8");
    let words = ["boards", "neighbours", "--runs", "1", "--board", "cc2538-16mhz", "--budgets", budgets];
    let run = lab(words);
    assert_eq!(run.status(), 1);
    let said = run.stderr();
    assert!(said.contains("cc2538-16mhz verify is") && !said.contains("generate is"), "{said}");
}
