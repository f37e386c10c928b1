//! `motemix-lab bench` measures what it says.

mod program;

use program::lab;
use serde_json::Value;

#[test]
fn a_benchmark_has_a_figure_for_each_kind_of_work() {
    let said = lab(["bench", "--seconds", "1", "--json"]).succeeds();
    let report: Value = serde_json::from_str(&said).unwrap();
    let curve = report["curve"].as_str().unwrap();
    assert!(["graviola", "portable"].iter().any(|library| curve.starts_with(library)), "{report}");
    let rows = report["rows"].as_array().unwrap();
    for (work, profiles) in [
        ("x25519", &["-"][..]),
        ("create", &["mote", "host1k"]),
        ("hop", &["mote", "mote5", "host1k", "host2k"]),
    ] {
        for profile in profiles {
            let found = rows.iter().any(|row| row["work"] == work && row["profile"] == *profile);
            assert!(found, "no {work} of {profile} in {report}");
        }
    }
    for row in rows {
        let (least, middle) = (row["minimum_us"].as_f64().unwrap(), row["median_us"].as_f64().unwrap());
        assert!(0.0 < least && least <= middle, "{row}");
        assert!(row["samples"].as_u64().unwrap() >= 100, "{row}");
    }
}

#[test]
fn a_benchmark_without_time_is_refused() {
    let run = lab(["bench", "--seconds", "0"]);
    assert_eq!(run.status(), 2);
    assert!(run.stderr().contains("--seconds"), "{}", run.stderr());
}
