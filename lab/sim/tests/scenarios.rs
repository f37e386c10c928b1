//! What a scenario's text may say, and how it is told what is wrong.

use motemix_sim::scenario::{Draft, Scenario, Setting};
use motemix_sim::sweep::Plan;

const SOUND: &str = r#"version = 1
name = "small"
protocol = "motes"

[nodes.mote]
count = 9

[load]
interval = "10 s"

[sweep]
seeds = 2
vary = { "nodes.mote.count" = [6, 9] }
"#;

fn wrong(text: &str) -> String {
    let error = Draft::new("x.toml", text).scenario().expect_err(text).to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn what_is_wrong_is_said_with_line_field_and_remedy() {
    let with = |from: &str, to: &str| {
        assert!(SOUND.contains(from), "{from}");
        SOUND.replacen(from, to, 1)
    };
    let more = |text: &str| format!("{SOUND}{text}\n");
    let stories = [
        (with("count = 9", "count = 0"), "x.toml:6: nodes.mote.count: is 0; it must be 1 to 16384"),
        (with("count = 9", "count = 20000"), "x.toml:6: nodes.mote.count: is 20000; it must be 1 to 16384"),
        (with("count = 9", "count = 1"), "x.toml:5: nodes: has one node; a message needs two at least"),
        (
            with("count = 9", "count = 3"),
            "x.toml:1: motes.hops: is 3, and 3 nodes forward; such paths need 4",
        ),
        (with("count = 9", "count = 9\nforwards = false"), "motes.hops: is 3, and 0 nodes forward"),
        (with("count = 9", "count = 9\nsends = false"), "x.toml:5: nodes: has nobody who sends; give"),
        (with("count = 9", "count = 9\nreceives = false"), "x.toml:5: nodes: has nobody who receives; give"),
        (with("count = 9", "count = \"9\""), "x.toml:6: nodes.mote.count: invalid type: string"),
        (
            with("count = 9", "cuont = 9"),
            "x.toml:6: nodes.mote.cuont: unknown field `cuont`, expected one of `count`",
        ),
        (with("count = 9", "cuont = 9"), "; correct or remove it: perhaps `count`"),
        (with("count = 9", ""), "x.toml:5: nodes.mote.count: missing field `count`; add it"),
        (with("[nodes.mote]\ncount = 9\n", "[nodes]\n"), "x.toml:5: nodes: has no group; add a group"),
        (with("\"10 s\"", "\"soon\""), "x.toml:9: load.interval: \"soon\" is no duration"),
        (with("\"10 s\"", "16"), "x.toml:9: load.interval: 16 has no unit; write \"16 s\" or \"16 ms\""),
        (with("\"10 s\"", "0.5"), "x.toml:9: load.interval: 0.5 has no unit; write \"0.5 s\""),
        (with("\"10 s\"", "true"), "x.toml:9: load.interval: a duration is a text"),
        (with("\"10 s\"", "\"0 s\""), "x.toml:9: load.interval: is 0s; it must be longer"),
        (with("\"motes\"", "\"mote\""), "x.toml:3: protocol: unknown variant `mote`"),
        (with("\"small\"", "\"\""), "x.toml:2: name: is empty"),
        (with("version = 1", "version = 2"), "x.toml:1: version: is 2; this program reads version = 1"),
        (with("version = 1\n", ""), "x.toml:1: version: is missing; this program reads version = 1"),
        (with("version = 1", "version = 2\nfuture = true"), "x.toml:1: version: is 2;"),
        (with("seeds = 2", "seeds = 0"), "x.toml:12: sweep.seeds: is 0; it must be 1 to 100000"),
        (with("[6, 9]", "[]"), "x.toml:13: sweep.vary.nodes.mote.count: has no values"),
        (with("\"nodes.mote.count\" = [6", "seed = [6"), "x.toml:13: sweep.vary.seed: cannot be varied"),
        (more("[load2]"), "x.toml:14: load2: unknown field `load2`"),
        (with("interval = \"10 s\"", "payload = 104"), "x.toml:9: load.payload: is 104; it must be 0 to 103"),
        (
            with("interval = \"10 s\"", "content = \"readings\""),
            "x.toml:8: load.receivers: is \"random\", and readings go to one receiver; set it to",
        ),
        (
            with("interval = \"10 s\"", "content = \"readings\"\nreceivers = \"fixed\"\npayload = 9"),
            "x.toml:11: load.payload: is the mote's own choice for readings; leave it out",
        ),
        (
            with("\"10 s\"", "\"1500ms\"\ncontent = \"readings\"\nreceivers = \"fixed\""),
            "x.toml:9: load.interval: is no interval of readings; take a whole number of seconds",
        ),
        (more("[motes]\nhops = 0"), "x.toml:15: motes.hops: is 0; it must be 1 to 3"),
        (more("[motes]\nhops = 6"), "x.toml:15: motes.hops: is 6; it must be 1 to 3"),
        (more("[motes]\ntransmissions = 0"), "x.toml:15: motes.transmissions: is 0; it must be 1 to 255"),
        (more("[radio]\nloss = 1.5"), "x.toml:15: radio.loss: is 1.5; it must be 0 to 1"),
        (more("[radio]\nloss = nan"), "x.toml:15: radio.loss: is NaN; it must be 0 to 1"),
        (
            more("[radio.access]\nmin_exponent = 6"),
            "x.toml:15: radio.access.min_exponent: is 6, and radio.access.max_exponent is 5; it may not",
        ),
        (with("name", "name ="), "x.toml:2: "),
    ];
    for (text, said) in stories {
        let error = wrong(&text);
        assert!(error.contains(said), "«{error}» does not say «{said}»");
    }
}

#[test]
fn the_thesis_has_bounds_of_its_own() {
    let thesis = |more: &str| SOUND.replace("\"motes\"", "\"thesis\"") + more;
    assert!(Scenario::parse(&thesis("")).is_ok());
    for (more, said) in [
        ("[thesis]\nhops = [3, 6]\n", "x.toml:15: thesis.hops: is 6; it must be 1 to 5"),
        ("[thesis]\nhops = [0, 3]\n", "x.toml:15: thesis.hops: is 0; it must be 1 to 5"),
        ("[thesis]\npacket = 5000\n", "x.toml:15: thesis.packet: is 5000; it must be 64 to 1232"),
    ] {
        let error = wrong(&thesis(more));
        assert!(error.contains(said), "«{error}» does not say «{said}»");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::read("/nowhere/x.toml").expect_err("no file").to_string();
    assert!(error.starts_with("/nowhere/x.toml: cannot read it: "), "{error}");
}

#[test]
fn settings_change_fields_and_nothing_else() {
    let draft = Draft::new("x.toml", SOUND);
    let set = |text: &str| draft.with(&[Setting::parse(text).expect(text)]);
    let sound = draft.scenario().expect("sound");
    assert_eq!(set("nodes.mote.count=9").expect("the same"), sound);
    assert_eq!(set("nodes.mote.count = 12").expect("more nodes").nodes["mote"].count, 12);
    // Quotes are not needed.
    assert_eq!(set("load.interval=2min").expect("slower").load.interval.0.as_secs(), 120);
    assert_eq!(
        set("motes.loop_mean='30 s'").expect("loops").motes.loop_mean.map(|mean| mean.0.as_secs()),
        Some(30)
    );
    for (text, said) in [
        ("nodes.mote.count=0", "x.toml: nodes.mote.count: is 0 (with nodes.mote.count = 0); it must be"),
        ("nodes.mots.count=5", "x.toml: nodes.mots.count: there is no group mots; the groups are: mote"),
        ("motes.hop=2", "x.toml: motes.hop: unknown field `hop`"),
        ("name.first=2", "x.toml: name.first: name is a value and has no fields"),
        ("version=2", "x.toml: version: is the file's"),
    ] {
        let error = set(text).expect_err(text).to_string();
        assert!(error.contains(said), "«{error}» does not say «{said}»");
    }
    assert!(
        Setting::parse("nodes").is_err()
            && Setting::parse("=3").is_err()
            && Setting::parse("a..b=3").is_err()
    );
}

#[test]
fn every_scenario_of_this_project_is_sound() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let scenarios: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    assert!(scenarios.len() >= 2, "{scenarios:?}");
    for path in scenarios {
        let draft = Draft::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let scenario = draft.scenario().unwrap_or_else(|error| panic!("{error}"));
        if scenario.sweep.is_some() {
            Plan::of(&draft, &[]).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
