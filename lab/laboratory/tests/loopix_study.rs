//! `motemix-lab loopix`: what Loopix costs and what it buys, from the command line.

mod program;

use program::lab;
use serde_json::Value;
use std::fs;

fn json(words: &[&str]) -> Value {
    let said = lab(words.iter().chain(&["--json"])).succeeds();
    serde_json::from_str(&said).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_table_of_costs_stands_beside_the_printed_one() {
    let table = lab(["loopix", "cost"]).succeeds();
    let row = table.lines().find(|line| line.trim_start().starts_with("16 ")).unwrap();
    assert_eq!(row.matches("82226.07").count(), 2, "{table}");
    assert_eq!(row.matches("862.20").count(), 2, "{table}");
    // Of another packet nothing was printed.
    let half = lab(["loopix", "cost", "--packet-length", "1040", "--rate", "16"]).succeeds();
    assert!(!half.contains("862"), "{half}");
}

#[test]
fn a_gibibyte_a_month_in_ten_seconds_is_refused_with_remedies_that_work() {
    let wish = ["loopix", "advise", "--budget", "1GiB/month", "--latency", "10s"];
    // What is offered helps; what does not is left out.
    lab(wish).fails(1, &["1024 MiB a month in 10.0 s: ", " MiB a month, or ", " s, would each be enough"]);
    let run = lab(wish.iter().chain(&["--json"]));
    assert_eq!(run.status(), 1);
    let said: Value = serde_json::from_str(&run.stdout()).unwrap();
    assert_eq!((&said["possible"], &said["obstacle"]), (&Value::from(false), &Value::from("latency")));
    let longer = format!("{}s", number(&said["remedies"]["latency_s"]).ceil());
    let advice = json(&["loopix", "advise", "--budget", "1GiB/month", "--latency", &longer]);
    assert_eq!(advice["possible"], true);
}

#[test]
fn advice_keeps_to_the_wish_and_says_what_it_buys() {
    let advice =
        json(&["loopix", "advise", "--budget", "1GiB/month", "--latency", "60s", "--corrupt", "0.2"]);
    let plan = &advice["plan"];
    assert!((number(&plan["bytes_per_month"]) / 1_073_741_824.0 - 1.0).abs() < 1e-6, "{plan}");
    let parts = plan["parts"].as_object().unwrap();
    assert!((parts.values().map(number).sum::<f64>() - 60.0).abs() < 1e-6, "{plan}");
    let bought = &advice["anonymity"];
    assert!(number(&bought["mix_bits"]) > 1.0, "{bought}");
    assert!(
        number(&bought["end_to_end"]["packet_bits"]["mean"]) > number(&bought["mix_bits"]) * 0.5,
        "{bought}"
    );
    let joules = advice["energy"]["joules"].as_array().unwrap();
    assert!(joules.iter().all(|joules| number(joules) > 1000.0), "{joules:?}");
    // The same again, to the last digit.
    let again = json(&["loopix", "advise", "--budget", "1GiB/month", "--latency", "60s", "--corrupt", "0.2"]);
    assert_eq!(advice, again);
}

#[test]
fn what_is_no_wish_is_explained() {
    for (words, expected) in [
        (&["--budget", "1GiB", "--latency", "10s"][..], "1GiB/month"),
        (&["--budget", "1GiB/month", "--latency", "10s", "--corrupt", "2"], "more than one"),
        (&["--budget", "1XiB/month", "--latency", "10s"], "GiB"),
        (&["--budget", "1GiB/month", "--latency", "10s", "--messages", "3"], "12/hour"),
        (&["--budget", "1GiB/month", "--latency", "10s", "--users", "1"], "2..="),
    ] {
        let run = lab(["loopix", "advise"].iter().chain(words));
        assert_eq!(run.status(), 2);
        assert!(run.stderr().contains(expected), "{}", run.stderr());
    }
}

#[test]
fn impossible_wishes_end_in_one_line_that_says_what_would_be_enough() {
    let advise = |words: &[&str]| lab([&["loopix", "advise"], words].concat());
    let hardened =
        ["--profile", "hardened", "--packet-length", "512", "--budget", "1GB/day", "--latency", "9s"];
    advise(&hardened).fails(2, &["--packet-length 512", "1222 bytes"]);
    for (words, expected) in [
        (&["--budget", "1B/month", "--latency", "60s"][..], &["MiB a month would be enough"][..]),
        (&["--budget", "10GiB/month", "--latency", "0s"], &["6 links alone take 1.20 s", "--link"]),
        (
            &["--budget", "10GiB/month", "--latency", "20s", "--messages", "1/s"],
            &["so many messages", " MiB a month, ", "messages an hour, would each be enough"],
        ),
        (
            &["--budget", "10GiB/month", "--latency", "20s", "--users", "2", "--pool", "50"],
            &["too few packets", "users", "would each be enough"],
        ),
    ] {
        advise(words).fails(1, expected);
    }
}

#[test]
fn with_two_users_there_is_a_bit_for_the_sender_and_none_for_the_receiver() {
    let words = ["loopix", "advise", "--budget", "10GiB/month", "--latency", "60s", "--users", "2"];
    let said = lab(words).succeeds();
    let users = said.lines().find(|line| line.contains("however full mixes are")).unwrap();
    assert!(users.contains("1.00 bits of who sends, 0 of who gets"), "{said}");
    assert!(!said.contains("whoever else is there"), "{said}");
    let found = &json(&words)["anonymity"]["end_to_end"];
    assert!(number(&found["user_bits"]["mean"]) <= 0.0, "{found}");
}

#[test]
fn the_energy_of_the_dissertation_comes_out_and_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, csv) = (folder.path().join("a/figure.svg"), folder.path().join("a/figure.csv"));
    let report = json(&[
        "loopix",
        "measure",
        "energy",
        "--rate",
        "0",
        "--rate",
        "3",
        "--length",
        "1h",
        "--svg",
        svg.to_str().unwrap(),
        "--csv",
        csv.to_str().unwrap(),
    ]);
    for row in report["rows"].as_array().unwrap() {
        let off = number(&row["reckoned_j"]) / number(&row["dissertation_j"]) - 1.0;
        assert!(off.abs() < 0.01, "{row}");
        assert!(number(&row["nr_j"]) < number(&row["lte_j"]), "{row}");
    }
    assert!(fs::read_to_string(svg).unwrap().contains("joules a day"));
    assert_eq!(fs::read_to_string(csv).unwrap().lines().count(), 3);
}

#[test]
fn a_trace_from_a_file_is_billed_on_each_radio() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let trace = path.to_str().unwrap();
    fs::write(&path, "time_s,bytes,direction\n0,2107,down\n").unwrap();
    let bills = json(&["loopix", "measure", "energy", "--trace", trace]);
    // 4.1 s of DCH and 5.6 s of FACH.
    assert!((number(&bills[0]["joules"]) - 4.98).abs() < 1e-9, "{bills}");
    assert!((number(&bills[0]["seconds"]) - 9.7).abs() < 1e-9, "{bills}");
    fs::write(&path, "0,2107,sideways\n").unwrap();
    lab(["loopix", "measure", "energy", "--trace", trace]).fails(2, &["line 1", "neither up nor down"]);
    let pcap = folder.path().join("trace.pcap");
    fs::write(&pcap, "no file of that kind").unwrap();
    let words = ["loopix", "measure", "energy", "--trace", pcap.to_str().unwrap()];
    lab(words).fails(2, &["--client"]);
    lab(words.iter().chain(&["--client", "10.0.0.1"])).fails(2, &["not a PCAP file"]);
}

#[test]
fn closed_form_and_simulation_stand_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let report = json(&["loopix", "anonymity", "--trials", "60", "--svg", dir, "--csv", dir]);
    let mut within = 0;
    let mixes = report["mixes"].as_array().unwrap();
    for mix in mixes {
        let off = (number(&mix["simulated_bits"]) - number(&mix["closed_bits"])).abs();
        within += usize::from(off < number(&mix["simulated_half"]));
        assert!(off < 2.5 * number(&mix["simulated_half"]), "{mix}");
    }
    assert!(within * 3 >= mixes.len() * 2, "{within} of {}", mixes.len());
    for row in report["linkability"].as_array().unwrap() {
        let Some(closed) = row["closed_bits"].as_f64().filter(|_| number(&row["pool"]) >= 8.0) else {
            continue;
        };
        let off = (number(&row["packet_bits"]) - closed).abs();
        assert!(off < 0.02 * closed + number(&row["packet_half"]), "{row}");
    }
    for file in [
        "entropy.svg",
        "layers.svg",
        "corrupt.svg",
        "providers.svg",
        "candidates.svg",
        "entropy.csv",
        "linkability.csv",
    ] {
        assert!(fs::metadata(folder.path().join(file)).unwrap().len() > 100, "{file}");
    }
}

#[test]
fn policies_are_compared_by_what_they_save_and_what_they_lose() {
    let report = json(&["loopix", "policies", "--trials", "24", "--users", "80"]);
    let cover: Vec<_> = report["adaptive"].as_array().unwrap().iter().collect();
    for pair in cover.chunks(2) {
        let [constant, adaptive] = pair else { panic!("{pair:?}") };
        assert!(number(&adaptive["bytes_per_day"]) <= number(&constant["bytes_per_day"]) * 1.01, "{pair:?}");
        assert!(number(&adaptive["pool"]) <= number(&constant["pool"]) + 1e-9, "{pair:?}");
    }
    let [always, thin, foreground] = &report["foreground"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    assert!(number(&foreground["bytes_per_day"]) < number(&always["bytes_per_day"]) / 5.0);
    assert!((number(&thin["bytes_per_day"]) / number(&foreground["bytes_per_day"]) - 1.0).abs() < 0.3);
    assert!(number(&foreground["delta_2"]) > 0.9, "{foreground}");
    // Every policy ends: what is constant hides the sender longest, and presence gives him away at
    // once.
    let [always, thin, foreground] = [always, thin, foreground].map(|row| number(&row["known_half"]));
    assert!(always > 2.0 * thin && thin > 2.0 * foreground, "{report}");
}

#[test]
fn other_designs_stand_beside_ours_at_equal_bandwidth_and_latency() {
    let rows = json(&["loopix", "designs", "--latency", "3s", "--users", "40", "--trials", "48"]);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 5);
    for row in rows {
        let (wish, took) = (number(&row["latency_s"]), number(&row["measured_s"]));
        assert!((took / wish - 1.0).abs() < 0.08, "{row}");
        // What one message gives away, twice: as a guess and as δ(0).
        let guess = number(&row["best_guess_of_two"]);
        assert!((2.0 * guess - 1.0 - number(&row["delta_0"])).abs() < 0.3, "{row}");
    }
    let known = |design: &str| {
        let row = rows.iter().find(|row| row["design"] == design).unwrap();
        row["known_half"].as_u64().unwrap_or(u64::MAX)
    };
    assert!(known("Poisson mixes") > known("threshold mixes"), "{rows:?}");
    assert!(known("rounds with noise, users cut off") < known("rounds with noise"), "{rows:?}");
}

#[test]
fn what_no_network_can_do_is_refused_in_one_line() {
    for (words, expected) in [
        (&["designs", "--latency", "500ms"][..], "no packets left for noise"),
        (&["designs", "--latency", "10days"], "are not simulated"),
        (&["designs", "--latency", "0s"], "noise"),
        (&["policies", "--delay", "0s"], "--delay"),
        (&["policies", "--sessions", "1000", "--session", "1h"], "fill more than a day"),
        (&["policies", "--users", "2", "--session", "1s"], "hardly anybody"),
        (&["policies", "--sessions", "1e9", "--session", "1us"], "at most 1440"),
        (&["policies", "--delay", "1000years"], "--delay"),
        (&["policies", "--background-pull", "1ms"], "--background-pull"),
        (&["anonymity", "--users", "1000000", "--trials", "1000000"], "--trials"),
    ] {
        let run = lab([&["loopix"], words].concat());
        assert_eq!(run.status(), 2, "{words:?}: {}", run.stderr());
        assert!(run.stderr().contains(expected), "{words:?}: {}", run.stderr());
        assert_eq!(run.stderr().lines().count(), 1, "{words:?}: {}", run.stderr());
    }
}
