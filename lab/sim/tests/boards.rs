//! A simulated mote has the tables, the store and the epochs of the board that it stands for.

use motemix_mote::limits::{IOTLAB_M3, Limits, MICROBIT, NRF52840DK, SAMR21_XPRO};
use motemix_sim::scenario::{Draft, Scenario, Setting};
use motemix_sim::{Outcome, Tables, run};

/// A few nodes, four minutes of messages, and four epochs in five minutes.
const SMALL: &str = r#"version = 1
name = "small"
protocol = "motes"
run = { send_for = "4 min", cool_down = "1 min" }

[nodes.mote]
count = 8
board = "iotlab-m3"

[load]
interval = "10 s"

[motes.epoch]
length = "80 s"
overlap = "10 s"
"#;

fn with(settings: &[&str]) -> Result<Scenario, String> {
    let settings: Vec<_> = settings.iter().map(|text| Setting::parse(text).expect("a setting")).collect();
    Draft::new("x.toml", SMALL).with(&settings).map_err(|error| error.to_string())
}

fn outcome(settings: &[&str]) -> Outcome {
    run(&with(settings).expect("sound")).expect("a network")
}

fn refused(settings: &[&str]) -> String {
    let said = with(settings).expect_err("a table is too small");
    assert!(!said.contains('\n'), "{said}");
    said
}

#[test]
fn each_board_runs_with_the_tables_of_its_program_and_the_outcome_says_so() {
    let boards: [(&str, Limits); 4] = [
        ("iotlab-m3", IOTLAB_M3),
        ("nrf52840dk", NRF52840DK),
        ("samr21-xpro", SAMR21_XPRO),
        ("microbit", MICROBIT),
    ];
    for (board, limits) in boards {
        // So slow that a micro:bit remembers what comes.
        let slow = ["load.interval=150s", "motes.hop_allowance=4s", "motes.transmissions=1"];
        let outcome = outcome(&[&[&*format!("nodes.mote.board={board}")], &slow[..]].concat());
        assert_eq!(outcome.limits.get(board), Some(&Tables::shipped(&limits)), "{board}");
        assert_eq!(outcome.limits.len(), 1);
        assert!(outcome.acknowledged > 0, "{board}: {outcome:#?}");
    }
}

#[test]
fn other_tables_are_asked_for_by_name_and_the_outcome_says_that_nobody_ships_them() {
    let outcome = outcome(&["nodes.mote.not_as_shipped.headers=1", "nodes.mote.not_as_shipped.messages=2"]);
    let (name, tables) = outcome.limits.first_key_value().expect("one board");
    assert_eq!(name, "iotlab-m3 not as shipped, nodes.mote");
    assert!(!tables.as_shipped);
    assert_eq!((tables.headers, tables.messages, tables.packets), (1, 2, IOTLAB_M3.packets));
    let error = with(&["motes.packets=24"]).expect_err("a board has its own");
    assert!(error.contains("motes.packets: unknown field `packets`"), "{error}");
}

#[test]
fn epochs_change_and_no_message_is_lost() {
    let (mut sent, mut refused) = (0, 0);
    for (seed, spread) in (1..=3).flat_map(|seed| [(seed, "fixed"), (seed, "exponential")]) {
        let outcome = outcome(&[&format!("seed={seed}"), &format!("load.spread={spread}")]);
        println!("seed {seed}, {spread}: {} of {} acknowledged", outcome.acknowledged, outcome.sent);
        assert_eq!(outcome.epochs, Some(4));
        assert_eq!(outcome.acknowledged, outcome.sent, "{outcome:#?}");
        if spread == "fixed" {
            assert_eq!(outcome.refused, 0, "{outcome:#?}");
            assert!(outcome.sent >= 8 * 23, "{outcome:#?}");
        } else {
            (sent, refused) = (sent + outcome.sent, refused + outcome.refused);
        }
    }
    println!("{refused} of {sent} refused at random times");
    // At random times, messages may find a node's few places taken.
    assert!(refused * 100 <= sent, "{refused} of {sent} refused");
}

#[test]
fn a_network_of_64_micro_bits_is_refused_because_each_knows_nine_nodes() {
    let said = refused(&["nodes.mote.count=64", "nodes.mote.board=microbit"]);
    let tables = "nodes.mote.board: is microbit, whose tables nodes, document, ";
    assert!(said.contains(tables), "{said}");
    assert!(
        said.contains(": nodes has 9, and the network has 64 nodes; document has 704 bytes, and "),
        "{said}"
    );
    assert!(said.contains("; have 8 nodes at most, ") && !said.contains("9 nodes at most"), "{said}");
}

#[test]
fn a_table_that_is_too_small_is_named_with_its_size_and_what_fits() {
    let stories: [(&[&str], &str, &str); 6] = [
        (
            &["nodes.mote.count=65"],
            "table nodes is too small: it has 64, and the network has 65 nodes",
            "have 64 nodes at most",
        ),
        (
            &["nodes.mote.not_as_shipped.document=500"],
            "table document is too small: it has 500 bytes, and the network document has ",
            " nodes at most",
        ),
        (
            &[
                "load.interval=2s",
                "motes.transmissions=1",
                "motes.hop_allowance=1s",
                "motes.mean_delay=0s",
                "motes.epoch.length=1h",
                "motes.epoch.overlap=1min",
            ],
            "table replay_bytes is too small: it has 8192 bytes, which take ",
            "set motes.epoch.length to ",
        ),
        (
            &["load.interval=1s", "motes.mean_delay=0s"],
            "table window is too small: it has 272 places for 204 messages, and ",
            "send less or have fewer tries",
        ),
        (
            &["motes.mean_delay=10s", "motes.epoch.overlap=50s", "nodes.mote.not_as_shipped.window=1024"],
            "table messages is too small: it has 4, and 5.0 are in flight on average",
            "set load.interval to 12s",
        ),
        (
            &["nodes.mote.not_as_shipped.replay_bytes=8"],
            "table replay_bytes is too small: it has 8 bytes, which take ",
            "not_as_shipped.replay_bytes simulates one that does not ship",
        ),
    ];
    for (settings, table, fits) in stories {
        let said = refused(settings);
        assert!(said.contains(table) && said.contains(fits), "«{said}» does not say «{table}» and «{fits}»");
    }
}

#[test]
fn all_tables_that_are_too_small_are_named_at_once() {
    let said = refused(&[
        "nodes.mote.count=65",
        "load.interval=1s",
        "nodes.mote.not_as_shipped.document=500",
        "nodes.mote.not_as_shipped.replay_bytes=8",
    ]);
    for part in [
        ", whose tables nodes, document, replay_bytes, messages are too small: ",
        ": nodes has 64, and the network has 65 nodes; ",
        "; document has 500 bytes, and the network document has ",
        "; replay_bytes has 8 bytes, which take ",
        "; messages has 4, and 5.0 are in flight on average",
        "; have 5 nodes at most, set motes.epoch.length to ",
        ", set load.interval to ",
        "; not_as_shipped simulates one that does not ship",
    ] {
        assert!(said.contains(part), "«{said}» does not say «{part}»");
    }
}

/// What it proposes is sound.
#[test]
fn the_longest_epoch_that_is_said_to_fit_fits() {
    let load = ["load.interval=2s", "motes.transmissions=1", "motes.mean_delay=0s", "motes.hop_allowance=1s"];
    let said = refused(&[&load[..], &["motes.epoch.length=1h", "motes.epoch.overlap=1min"]].concat());
    let (_, fits) = said.split_once("set motes.epoch.length to ").expect("a proposal");
    let (fits, _) = fits.split_once(" at most").expect("a duration");
    with(&[&load[..], &[&format!("motes.epoch.length={fits}"), "motes.epoch.overlap=10s"]].concat())
        .unwrap_or_else(|error| panic!("{fits}: {error}"));
}

#[test]
fn what_is_written_to_flash_is_counted_and_wears_it() {
    let outcome = outcome(&[]);
    let flash = outcome.flash.expect("motes have one");
    assert!(flash.written_bytes > 0.0, "{flash:?}");
    for years in [flash.years.tags, flash.years.messages, flash.years.settings] {
        assert!(years.is_some_and(|years| years > 0.0), "{flash:?}");
    }
}

#[test]
fn a_scenario_has_whole_seconds_of_epochs_and_overlaps_within_them() {
    for (setting, said) in [
        ("motes.epoch.length=0s", "motes.epoch.length: is 0s "),
        ("motes.epoch.length=1500ms", "it must be whole seconds, as a network document has them"),
        ("motes.epoch.overlap=2min", "motes: is nothing that a network document can say"),
        ("motes.mean_delay=30s", "motes.epoch.overlap: is 10s, and a round trip waits for 2m 30s"),
    ] {
        let error = with(&[setting]).expect_err(setting);
        assert!(error.contains(said), "«{error}» does not say «{said}»");
    }
}

/// Epochs of ten minutes; the first node is given each next document within the last five of them.
#[test]
fn one_node_is_given_each_document_and_all_begin_its_epoch() {
    for protected in ["false", "true"] {
        let protected = format!("motes.link.protected={protected}");
        let settings =
            ["motes.epoch.given_to=one", "motes.epoch.length=10min", "run.send_for=34min", "radio.loss=0.02"];
        let outcome = outcome(&[&settings[..], &[&protected]].concat());
        let documents = outcome.documents.expect("some came from neighbours");
        println!("{protected}: {documents:?}, {} of {}", outcome.acknowledged, outcome.sent);
        assert_eq!((outcome.epochs, documents.count), (Some(4), 7 * 3));
        assert!(documents.least_ahead_s > 60.0, "{documents:?}");
        assert_eq!(outcome.acknowledged, outcome.sent);
    }
    let said = refused_for(&["motes.epoch.given_to=one", "nodes.mote.board=samr21-xpro"]);
    assert!(said.contains("motes.epoch.given_to: is one") && said.contains("samr21-xpro"), "{said}");
}

fn refused_for(settings: &[&str]) -> String {
    with(settings).expect_err("it cannot be")
}
