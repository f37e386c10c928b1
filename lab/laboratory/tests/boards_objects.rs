//! `motemix-lab boards objects`: libraries on the stopwatch and on an ATmega2560, beside RFC 8387.

mod program;

use program::lab;
use serde_json::Value;
use std::fs;
use std::path::Path;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/research/objects-results.md");
const BOARDS: [&str; 4] = ["samr21-xpro", "iotlab-m3", "nrf52840dk", "atmega2560"];

fn list<'v>(value: &'v Value, name: &str) -> &'v Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("{value} has no {name}"))
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{value} has no {name}"))
}

/// With a space between thousands, as the document has numbers.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// What the ATmega2560 computes is the vector's result, or the program would have failed.
#[test]
fn an_atmega_agrees_as_rfc_7748_says_within_its_memory() {
    let words = ["boards", "objects", "--json", "--board", "atmega2560", "--avr-program", "x25519"];
    let report: Value = serde_json::from_str(&lab(words).succeeds()).expect("JSON");
    let [board] = &list(&report, "boards")[..] else { panic!("{report}") };
    let [library] = &list(board, "libraries")[..] else { panic!("{report}") };
    let [agree] = &list(library, "operations")[..] else { panic!("{report}") };
    let cycles = agree["cycles"].as_u64().expect("cycles");
    // 255 steps of 10 products and squares of 10 limbs, 100 products of 32 bits each, 8-bit products all.
    assert!((50_000_000..400_000_000).contains(&cycles), "{agree}");
    let milliseconds = agree["milliseconds"].as_f64().expect("milliseconds");
    assert!((milliseconds - agree["cycles"].as_f64().expect("cycles") / 16_000.0).abs() < 1.0, "{agree}");
    assert!(agree["stack"].as_u64().is_some_and(|stack| (500..8192).contains(&stack)), "{agree}");
    assert!(library["memory"]["flash"].as_u64().is_some_and(|flash| flash < 262_144), "{library}");
}

#[test]
fn the_document_has_every_row_of_the_rfc() {
    let words = ["boards", "objects", "--json", "--board", "atmega2560", "--avr-program", "p256"];
    let report: Value = serde_json::from_str(&lab(words).succeeds()).expect("JSON");
    let document = fs::read_to_string(DOCUMENT).expect("the document");
    for row in list(&report["rfc8387"], "signatures") {
        let table = row["table"].as_u64().map_or_else(|| "text".to_owned(), |table| table.to_string());
        let milliseconds = grouped(row["milliseconds"].as_u64().expect("milliseconds"));
        let (library, curve) = (text(row, "library"), text(row, "curve"));
        let is_it = |line: &str| {
            line.starts_with(&format!("| {table} |"))
                && [library, curve].iter().all(|word| line.contains(&format!("| {word} |")))
                && line.contains(&format!("| {milliseconds} |"))
        };
        assert!(document.lines().any(is_it), "{row}");
    }
    // What cannot be measured says why.
    let p256 = &list(&list(&report, "boards")[0], "libraries")[0];
    for operation in list(p256, "operations") {
        assert!(
            operation["cycles"].is_null() && text(operation, "not_measured").contains("16 bits"),
            "{p256}"
        );
    }
}

/// The ATmega2560's figures are those of one nightly compiler, and are not compared.
#[test]
#[ignore = "builds and runs all libraries on all boards, which takes minutes"]
fn the_document_has_the_figures_that_the_command_prints() {
    let charts = tempfile::tempdir().expect("a folder");
    let svg = charts.path().to_str().expect("UTF-8");
    let report: Value =
        serde_json::from_str(&lab(["boards", "objects", "--json", "--svg", svg]).succeeds()).expect("JSON");
    let document = fs::read_to_string(DOCUMENT).expect("the document");
    let found: Vec<_> = list(&report, "boards").iter().map(|board| text(board, "board")).collect();
    assert_eq!(found, BOARDS);
    for board in list(&report, "boards").iter().filter(|board| board["board"] != "atmega2560") {
        for library in list(board, "libraries") {
            for operation in list(library, "operations") {
                let cycles = grouped(operation["cycles"].as_u64().expect("cycles"));
                assert!(document.contains(&format!("| {cycles} |")), "{}: {operation}", text(board, "board"));
            }
        }
    }
    for chart in ["objects-sign.svg", "objects-flash.svg"] {
        let svg = fs::read_to_string(Path::new(svg).join(chart)).expect("a chart");
        assert!(svg.contains("Relic") && svg.contains("ed25519-dalek 3"), "{chart}");
    }
}

#[test]
fn a_board_that_is_none_is_said() {
    lab(["boards", "objects", "--board", "atmega8"]).fails(2, &["atmega8", "samr21-xpro", "atmega2560"]);
}
