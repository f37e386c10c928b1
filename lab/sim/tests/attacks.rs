//! Attacks on anonymity in whole networks: what each learns, and who hears of it after how long.
//! `docs/explanation/attacks.md` quotes what these print.

use motemix_sim::scenario::{Draft, Scenario};
use motemix_sim::{Attacked, Outcome};

/// Twelve motes, each with one receiver, and a message from each every half minute.
fn text(settings: &str) -> String {
    text_of("fixed", settings)
}

fn text_of(receivers: &str, settings: &str) -> String {
    let interval = if settings.contains("load.interval") { "" } else { "load.interval = \"30s\"" };
    format!(
        r#"
        version = 1
        name = "attacked"
        protocol = "motes"
        nodes.mote.count = 12
        nodes.mote.not_as_shipped.window = 2048
        load.spread = "exponential"
        {interval}
        load.receivers = {receivers:?}
        motes.epoch.length = "2h"
        {settings}
        "#
    )
}

fn run(settings: &str) -> Outcome {
    run_of(&text(settings))
}

fn run_of(text: &str) -> Outcome {
    let scenario: Scenario = toml::from_str(text).expect("a scenario");
    motemix_sim::run(&scenario).expect("it can be")
}

fn attacked(story: &str, settings: &str) -> (Outcome, Attacked) {
    let outcome = run(settings);
    let attacked = outcome.attacked.clone().expect("there is an attack");
    println!("{story}, seed {}: {attacked:?}", outcome.seed);
    let guess = outcome.anonymity.as_ref().map(|found| found.round_trip.first_guess);
    println!("{story}: first guess of all messages, round trip: {guess:?}");
    (outcome, attacked)
}

#[test]
fn each_corrupt_mote_tells_more_and_honest_motes_tell_nothing() {
    let guesses = ["0.0", "0.25", "0.5", "0.9"].map(|corrupt| {
        let outcome = run(&format!(
            "run.send_for = \"20min\"\nmotes.mean_delay = \"5s\"\nadversary.corrupt = {corrupt}"
        ));
        let found = outcome.anonymity.expect("asked for");
        println!("{corrupt} of the motes corrupt: {:?}", found.round_trip);
        assert!(found.untraced * 20 <= found.traced, "{found:?}");
        found.round_trip.first_guess
    });
    assert!(guesses.is_sorted_by(|less, more| less < more), "{guesses:?}");
    assert!(guesses[3] > 0.95, "{guesses:?}");
}

const LOOPS: &str = "motes.loop_mean = \"30s\"\nnodes.mote.not_as_shipped.loops = 16";

#[test]
fn motes_that_drop_everything_are_heard_of() {
    let (_, attacked) = attacked(
        "two of twelve drop everything",
        &format!("run.send_for = \"1h\"\nadversary.corrupt = [3, 7]\nattack.from = \"20min\"\n{LOOPS}"),
    );
    assert!(attacked.packets_dropped > 100 && attacked.alarms_before == 0, "{attacked:?}");
    assert!(attacked.alarms == 12, "{attacked:?}");
}

#[test]
fn the_same_motes_without_their_attack_raise_no_alarm() {
    // The attack is there so that alarms are counted: nothing is dropped.
    let settings = "run.send_for = \"1h\"\nadversary.corrupt = [3, 7]\nattack.share = 0.0";
    let (_, attacked) = attacked("two of twelve do their duty", &format!("{settings}\n{LOOPS}"));
    assert_eq!((attacked.packets_dropped, attacked.alarms_before, attacked.alarms), (0, 0, 0));
}

#[test]
fn held_up_packets_are_heard_of() {
    let (_, attacked) = attacked(
        "two of twelve hold packets up",
        &format!(
            "run.send_for = \"1h\"\nadversary.corrupt = [3, 7]\nattack.from = \"20min\"\n\
             attack.kind = \"delay\"\nattack.held_up = \"2min\"\n{LOOPS}"
        ),
    );
    assert!(attacked.packets_held_up > 100 && attacked.alarms > 6, "{attacked:?}");
}

/// Share of runs with these seeds in which a receiver that withholds answers names its sender, and
/// the seconds until that sender gives a message up, in each.
fn withheld(seeds: u32, rate_control: bool) -> (f64, Vec<f64>) {
    let (mut named, mut given_up) = (0.0, Vec::new());
    for seed in 1..=seeds {
        // Each mote has one sender.
        let settings = format!(
            "seed = {seed}\nrun.send_for = \"100min\"\nload.interval = \"1min\"\nadversary.corrupt = [5]\n\
             adversary.sample = 50\nmotes.mean_delay = \"5s\"\nmotes.rate_control = {rate_control}\n\
             attack.kind = \"withhold\"\nattack.window = \"10min\"\nattack.until = \"100min\""
        );
        let attacked = run_of(&text_of("even", &settings)).attacked.expect("there is an attack");
        named += attacked.partners_named.expect("one writes to it");
        given_up.extend(attacked.first_given_up_s);
    }
    (named / f64::from(seeds), given_up)
}

#[test]
fn a_receiver_that_withholds_answers_sees_who_tries_again_where_nothing_limits_tries() {
    let [without, with] = [false, true].map(|rate_control| withheld(2, rate_control));
    // Motes ship with rate control: what is not acknowledged holds up what comes after, and they
    // send no more than before.
    assert!(without.0 > with.0 + 0.2, "{without:?}, {with:?}");
    assert_eq!((without.1.len(), with.1.len()), (2, 2), "the sender hears in each run");
}

#[test]
#[ignore = "24 runs take some ten seconds"]
fn how_often_a_receiver_that_withholds_answers_sees_who_tries_again() {
    let [without, with] = [false, true].map(|rate_control| withheld(12, rate_control));
    for (name, (named, given_up)) in [("without rate control", &without), ("as motes ship", &with)] {
        println!("answers withheld, {name}, seeds 1 to 12: sender named in {named}; given up: {given_up:?}");
    }
    assert!(without.0 > 0.9 && with.0 > 0.2 && with.0 < 0.8, "{without:?}, {with:?}");
}

#[test]
fn whose_messages_are_blocked_now_and_then_is_found_out_with_the_receiver() {
    let (_, attacked) = attacked(
        "blocking",
        &format!(
            "run.send_for = \"1h\"\nadversary.sample = 50\nmotes.mean_delay = \"5s\"\nattack.kind = \"block\"\n\
             attack.targets = [4]\nattack.window = \"2min\"\nattack.until = \"1h\"\n{LOOPS}"
        ),
    );
    assert!(attacked.frames_jammed > 100 && attacked.alarms > 0, "{attacked:?}");
    assert_eq!(attacked.partners_named, Some(1.0), "{attacked:?}");
}

#[test]
fn alone_among_silent_motes_a_message_is_followed_to_its_receiver() {
    let settings = |send_for| {
        format!("run.send_for = \"{send_for}\"\nadversary.sample = 3\nmotes.mean_delay = \"5s\"\n{LOOPS}")
    };
    let before = run(&settings("30min")).anonymity.expect("asked for").round_trip.first_guess;
    let attack =
        "attack.kind = \"follow\"\nattack.targets = [4]\nattack.from = \"20min\"\nattack.until = \"80min\"";
    let (_, attacked) = attacked("n - 1", &format!("{}\n{attack}", settings("80min")));
    println!("first guess of all messages without the attack: {before}");
    assert!(attacked.first_guess_of_targets.is_some_and(|guess| guess > before + 0.3), "{attacked:?}");
    assert!(attacked.messages_of_targets > 5 && attacked.alarms == 12, "{attacked:?}");
}

#[test]
fn who_is_away_now_and_then_is_found_out_without_any_timing() {
    let (_, attacked) = attacked(
        "churn",
        "run.send_for = \"6h\"\nadversary.sample = 50\nmotes.mean_delay = \"5s\"\n\
         churn.there = \"20min\"\nchurn.away = \"10min\"",
    );
    let (named, chance) = attacked.partners_named.zip(attacked.partners_by_chance).expect("fixed receivers");
    assert!(named > 3.0 * chance, "{attacked:?}");
}

#[test]
fn what_makes_no_attack_is_refused_in_one_line() {
    for (settings, field) in [
        ("attack.kind = \"drop\"", "attack.kind"),
        ("attack.kind = \"block\"", "attack.targets"),
        ("attack.kind = \"block\"\nattack.targets = [12]", "attack.targets"),
        ("adversary.corrupt = 1.5", "adversary.corrupt"),
        ("adversary.corrupt = [99]", "adversary.corrupt"),
        ("churn.there = \"0s\"\nchurn.away = \"1s\"", "churn.there"),
        ("adversary.corrupt = [1]\nattack.share = 2.0", "attack.share"),
        ("adversary.corrupt = [1]\nattack.window = \"0s\"", "attack.window"),
        ("adversary.corrupt = [1]\nattack.from = \"2s\"\nattack.until = \"1s\"", "attack.until"),
    ] {
        let error = Draft::new("x.toml", text(settings)).scenario().expect_err(settings).to_string();
        assert!(error.contains(field) && error.lines().count() == 1, "{settings}: {error}");
    }
}

#[test]
#[ignore = "two hours of 64 motes take a minute"]
fn a_channel_that_is_nearly_full_loses_few_loops_and_raises_no_alarm() {
    for (delay, loss) in [("1s", "0.0"), ("5s", "0.1")] {
        // The load of mesh-64. Nothing is dropped.
        let settings = format!(
            "run.send_for = \"1h\"\nload.interval = \"16s\"\nmotes.loop_mean = \"60s\"\nmotes.mean_delay = {delay:?}\n\
             radio.loss = {loss}\nadversary.sample = 5000\nadversary.corrupt = [5]\nattack.share = 0.0"
        );
        let text = text(&settings).replace("count = 12", "count = 64").replace("2h", "20min");
        let attacked = run_of(&text).attacked.expect("there is an attack");
        println!("64 motes, delay {delay}, frames lost {loss}: {attacked:?}");
        assert!(attacked.loops_sent > 3000 && attacked.loops_lost * 20 < attacked.loops_sent, "{attacked:?}");
        assert_eq!((attacked.alarms_before, attacked.alarms), (0, 0));
    }
}
