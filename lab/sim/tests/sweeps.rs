//! Sweeps: which runs they have, and that nothing is lost, repeated or mixed up.

use motemix_sim::scenario::{Draft, Setting};
use motemix_sim::sweep::{Cell, Done, Journal, JournalError, Plan, Work, run, write_results};
use motemix_sim::{Observers, Sight, Witness, run_with};
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const SMALL: &str = r#"
version = 1
name = "small"
protocol = "motes"
run = { send_for = "40 s", cool_down = "20 s" }
nodes.mote.count = 6
load.interval = "10 s"

[sweep]
seeds = 2
vary = { "nodes.mote.count" = [5, 6], "load.interval" = ["10 s", "20 s"] }
"#;

fn plan(text: &str) -> Plan {
    Plan::of(&Draft::new("small.toml", text), &[]).expect("a sweep")
}

fn work(plan: &Plan, dir: &Path, jobs: usize, only: Option<&[u32]>) {
    let mut journal = Journal::open(dir, plan, false).expect("a journal");
    let stop = AtomicBool::new(false);
    run(plan, &mut journal, Work { jobs, only, stop: &stop }, &mut |_| {}).expect("it runs");
    write_results(plan, &journal, dir).expect("results");
}

fn read(dir: &Path, name: &str) -> Vec<u8> {
    fs::read(dir.join(name)).expect("a file")
}

const TABLES: [&str; 3] = ["runs.csv", "runs.parquet", "summary.csv"];

#[test]
fn a_plan_has_every_combination_with_every_seed() {
    let plan = plan(SMALL);
    let said: Vec<_> = plan
        .runs()
        .iter()
        .map(|run| {
            let settings: Vec<_> = run.settings.iter().map(ToString::to_string).collect();
            format!("{} {} {}", run.id, run.seed, settings.join(" "))
        })
        .collect();
    assert_eq!(
        said,
        [
            "0 1 load.interval = \"10 s\" nodes.mote.count = 5",
            "1 2 load.interval = \"10 s\" nodes.mote.count = 5",
            "2 1 load.interval = \"10 s\" nodes.mote.count = 6",
            "3 2 load.interval = \"10 s\" nodes.mote.count = 6",
            "4 1 load.interval = \"20 s\" nodes.mote.count = 5",
            "5 2 load.interval = \"20 s\" nodes.mote.count = 5",
            "6 1 load.interval = \"20 s\" nodes.mote.count = 6",
            "7 2 load.interval = \"20 s\" nodes.mote.count = 6",
        ]
    );
    let scenario = plan.scenario(&plan.runs()[5]).expect("sound");
    assert_eq!((scenario.seed, scenario.count(), scenario.load.interval.0.as_secs()), (2, 5, 20));
}

#[test]
fn the_digest_is_of_what_the_text_means() {
    let digest = plan(SMALL).digest().to_owned();
    let same = SMALL.replace("[sweep]", "# A remark.\ndescription = \"the same\"\n\n[sweep]");
    let same = same.replace("\ndescription", "\n[motes]\nhops = 3\n#");
    assert_eq!(plan(&same).digest(), digest, "defaults and remarks change nothing");
    assert_ne!(plan(&SMALL.replace("40 s", "41 s")).digest(), digest);
    assert_ne!(plan(&SMALL.replace("[5, 6]", "[5, 7]")).digest(), digest);
    let slower = [Setting::parse("motes.mean_delay=2s").expect("a setting")];
    assert_ne!(Plan::of(&Draft::new("small.toml", SMALL), &slower).expect("a sweep").digest(), digest);
}

#[test]
fn a_combination_that_cannot_be_is_found_before_anything_runs() {
    let error = |text: &str| Plan::of(&Draft::new("small.toml", text), &[]).expect_err(text).to_string();
    let said = error(&SMALL.replace("[5, 6]", "[5, 3]"));
    assert!(said.contains("motes.hops: is 3, and 3 nodes forward (with load.interval = "), "{said}");
    let said = error(&SMALL.replace("\"nodes.mote.count\" =", "\"motes.hop\" ="));
    assert!(said.contains("motes.hop: unknown field `hop`"), "{said}");
    let said = error(SMALL.split("[sweep]").next().expect("a half"));
    assert!(said.contains("small.toml: sweep: is missing; add it"), "{said}");
    let twice = [Setting::parse("nodes.mote.count=9").expect("a setting")];
    let said = Plan::of(&Draft::new("small.toml", SMALL), &twice).expect_err("twice").to_string();
    assert!(said.contains("nodes.mote.count: is set to 9, and the sweep varies it"), "{said}");
}

#[test]
fn results_do_not_depend_on_who_ran_what_when() {
    let (plan, folders) = (plan(SMALL), [(); 2].map(|()| tempfile::tempdir().expect("a folder")));
    let [at_once, in_parts] = folders.each_ref().map(tempfile::TempDir::path);
    work(&plan, at_once, 2, None);
    work(&plan, in_parts, 1, Some(&[5, 2]));
    assert_eq!(String::from_utf8(read(in_parts, "runs.csv")).expect("text").lines().count(), 3);
    work(&plan, in_parts, 2, None);
    for table in TABLES {
        assert_eq!(read(at_once, table), read(in_parts, table), "{table}");
    }
}

#[test]
fn the_tables_say_what_the_runs_came_to() {
    let (plan, folder) = (plan(SMALL), tempfile::tempdir().expect("a folder"));
    work(&plan, folder.path(), 2, None);
    let csv = String::from_utf8(read(folder.path(), "runs.csv")).expect("text");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 9);
    assert_eq!(&rows[0][..5], ["run", "load.interval", "nodes.mote.count", "name", "seed"]);
    assert_eq!(&rows[6][..5], ["5", "20 s", "5", "small", "2"]);
    let at =
        |name: &str| rows[0].iter().position(|column| *column == name).unwrap_or_else(|| panic!("no {name}"));
    let outcome = motemix_sim::run(&plan.scenario(&plan.runs()[5]).expect("sound")).expect("a network");
    assert!(outcome.sent > 5, "{outcome:?}");
    assert_eq!(rows[6][at("sent")], outcome.sent.to_string());
    assert_eq!(rows[6][at("rtt_s.p50")], outcome.rtt_s.p50.to_string());
    assert!(rows[0].iter().any(|column| column.starts_with("drops.")), "{:?}", rows[0]);

    let summary = String::from_utf8(read(folder.path(), "summary.csv")).expect("text");
    let means: Vec<Vec<&str>> = summary.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((means.len(), &means[3][..3]), (5, &["20 s", "5", "2"][..]));
    let column = means[0].iter().position(|column| *column == "sent.mean").expect("a mean");
    assert_eq!(means[0][column + 1], "sent.ci95");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let of_runs = [5, 6].map(|row: usize| number(rows[row][at("sent")]));
    assert!((number(means[3][column]) - f64::midpoint(of_runs[0], of_runs[1])).abs() < 1e-9);
}

/// Read by the library that other programs' readers come from.
#[test]
fn the_parquet_file_is_the_same_table() {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let (plan, folder) = (plan(SMALL), tempfile::tempdir().expect("a folder"));
    work(&plan, folder.path(), 2, None);
    let file = fs::File::open(folder.path().join("runs.parquet")).expect("a file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let csv = String::from_utf8(read(folder.path(), "runs.csv")).expect("text");
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    for (row, line) in reader.get_row_iter(None).expect("rows").zip(lines) {
        let row = row.expect("a row");
        let names: Vec<_> = row.get_column_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, columns);
        for ((_, field), text) in row.get_column_iter().zip(line.split(',')) {
            use parquet::record::Field;
            match field {
                Field::Null => assert_eq!(text, ""),
                Field::Long(count) => assert_eq!(count.to_string(), text),
                Field::Double(measure) => assert_eq!(measure.to_string(), text),
                Field::Str(said) => assert_eq!(said, text),
                other => panic!("{other:?} is no figure of ours"),
            }
        }
    }
    assert_eq!(reader.metadata().file_metadata().num_rows(), 8);
}

#[test]
fn what_others_write_on_several_lines_is_one_line_of_the_journal() {
    let (plan, folder) = (plan(SMALL), tempfile::tempdir().expect("a folder"));
    let done: Done =
        serde_json::from_str("{\"run\": 1,\n \"outcome\": {\n  \"sent\": 3\n }\n}").expect("a run");
    let mut journal = Journal::open(folder.path(), &plan, false).expect("a journal");
    journal.append(done.run, &done.outcome).expect("it is written");
    drop(journal);
    let journal = Journal::open(folder.path(), &plan, false).expect("the same journal");
    assert_eq!(journal.outcomes().map(|(run, _)| run).collect::<Vec<_>>(), [1]);
    assert!(serde_json::from_str::<Done>("{\"run\": 1, \"outcome\": null}").is_err());
}

#[test]
fn a_torn_line_is_cut_off_and_a_damaged_one_is_refused() {
    let (plan, folder) = (plan(SMALL), tempfile::tempdir().expect("a folder"));
    let dir = folder.path();
    work(&plan, dir, 1, Some(&[0, 1]));
    let whole = read(dir, "journal.jsonl");
    let path = dir.join("journal.jsonl");
    for torn in ["{", "{\"run\":2,\"outcome\":{\"name\":\"small\"}}"] {
        fs::write(&path, [&whole, torn.as_bytes()].concat()).expect("a file");
        let journal = Journal::open(dir, &plan, false).expect("a journal");
        assert_eq!(journal.outcomes().map(|(run, _)| run).collect::<Vec<_>>(), [0, 1]);
        drop(journal);
        assert_eq!(read(dir, "journal.jsonl"), whole);
    }
    for bad in [
        "{\n",
        "{\"run\":8,\"outcome\":{}}\n",
        "{\"run\":2,\"outcome\":null}\n",
        "{\"run\":2,\"outcome\":{\"sent\":1e400}}\n",
    ] {
        fs::write(&path, [&whole, bad.as_bytes()].concat()).expect("a file");
        let refused = Journal::open(dir, &plan, false).expect_err("damaged");
        assert!(matches!(refused, JournalError::Damaged { line: 4, .. }), "{refused}");
    }
    // A head alone that was torn is a journal that was never begun.
    fs::write(&path, &whole[..20]).expect("a file");
    assert!(Journal::open(dir, &plan, false).expect("a journal").is_empty());
}

#[test]
fn another_scenario_is_refused_unless_it_begins_anew() {
    let (one, folder) = (plan(SMALL), tempfile::tempdir().expect("a folder"));
    work(&one, folder.path(), 1, Some(&[0]));
    let other = plan(&SMALL.replace("40 s", "41 s"));
    assert!(matches!(Journal::open(folder.path(), &other, false), Err(JournalError::Foreign(_))));
    assert!(Journal::open(folder.path(), &one, false).expect("its own").has(0));
    let held = Journal::open(folder.path(), &other, true).expect("a new one");
    assert!(held.is_empty());
    assert!(matches!(Journal::open(folder.path(), &other, false), Err(JournalError::InUse(_))));
}

#[test]
fn those_who_look_on_change_nothing_and_can_stop_a_run() {
    #[derive(Default)]
    struct Eyes {
        frames: u64,
        last: Duration,
        told: BTreeSet<u16>,
    }
    impl Witness for Eyes {
        fn see(&mut self, at: Duration, sight: &Sight<'_>) {
            assert!(at >= self.last, "time goes on");
            self.last = at;
            match sight {
                Sight::OnAir { .. } => self.frames += 1,
                Sight::Told { node, .. } => {
                    self.told.insert(*node);
                }
                _ => {}
            }
        }
    }
    let plan = plan(SMALL);
    let scenario = plan.scenario(&plan.runs()[0]).expect("sound");
    let mut eyes = Eyes::default();
    let watched = run_with(&scenario, Observers { witness: Some(&mut eyes), ..Observers::default() });
    assert_eq!(watched, motemix_sim::run(&scenario));
    assert!(eyes.frames > 100 && eyes.told.len() == 5, "{} {:?}", eyes.frames, eyes.told);

    let mut calls = 0;
    let mut stop = |_| {
        calls += 1;
        ControlFlow::Break(())
    };
    let long = SMALL.replace("40 s", "1 h");
    let long = Draft::new("long.toml", long).scenario().expect("sound");
    let stopped = run_with(&long, Observers { progress: Some(&mut stop), ..Observers::default() });
    assert_eq!((stopped, calls), (Err(motemix_sim::Impossible::Stopped), 1));
}

#[test]
fn cells_are_numbers_or_none() {
    assert_eq!(Cell::Integer(3).number(), Some(3.0));
    assert_eq!(Cell::Text("3".into()).number(), None);
    assert_eq!(Cell::from(&toml::Value::Boolean(true)).to_string(), "true");
}
