//! `motemix-lab loopix vectors`: what it prints, and how it ends.

mod program;

use program::lab;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn known_answers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sphinxmix.json")
}

fn vectors(file: &Path, more: &[&str]) -> program::Run {
    lab([&["loopix", "vectors", file.to_str().unwrap()], more].concat())
}

#[test]
fn known_answers_are_counted_by_section() {
    let printed = vectors(&known_answers(), &[]).succeeds();
    let last = printed.lines().last().unwrap();
    assert!(last.ends_with(" passed, 0 failed"), "{last}");
    for section in ["primitives", "petlib_pack", "packets", "surbs", "errors", "negative", "ultrix", "loopix"]
    {
        assert!(printed.lines().any(|line| line.trim_start().starts_with(section)), "{printed}");
    }
}

#[test]
fn a_wrong_answer_is_named_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.json");
    let mut answers: Value = serde_json::from_slice(&fs::read(known_answers()).unwrap()).unwrap();
    answers["primitives"]["group"]["nid"] = json!(714);
    answers["weather"] = json!("fine");
    fs::write(&file, answers.to_string()).unwrap();

    let run = vectors(&file, &[]);
    assert_eq!(run.status(), 1);
    let printed = run.stdout();
    assert!(
        printed.starts_with("primitives.group.nid: expected 714, found 713\nweather: skipped"),
        "{printed}"
    );
    assert!(printed.lines().last().unwrap().ends_with(" passed, 1 failed"), "{printed}");
    assert_eq!(run.stderr().lines().count(), 1);

    let run = vectors(&file, &["--json"]);
    assert_eq!(run.status(), 1);
    let report: Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!(report["failed"], 1);
    assert_eq!(report["failures"][0]["name"], "primitives.group.nid");
    assert_eq!(report["skipped"], json!(["weather"]));
    assert_eq!(report["sections"].as_array().unwrap().len(), 9);
}

#[test]
fn what_is_no_file_of_known_answers_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    vectors(&folder.path().join("missing"), &[]).fails(2, &["missing", "No such file"]);
    for (name, content, words) in [
        ("empty", "", ["not JSON", "EOF"]),
        ("deep", &"[".repeat(1 << 20), ["not JSON", "recursion"]),
        ("other", r#"{"format":"x"}"#, ["`format`", "loopix-wire-vectors/1"]),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        vectors(&file, &[]).fails(2, &[&[name], words.as_slice()].concat());
    }
}
