//! The observer in whole networks.

use motemix_sim::scenario::Scenario;
use motemix_sim::{Anonymity, Outcome};

fn outcome(settings: &str) -> Outcome {
    outcome_with_quiet_of("3min", settings)
}

/// With so much time after the last message.
fn outcome_with_quiet_of(quiet: &str, settings: &str) -> Outcome {
    let spread = if settings.contains("load.spread") { "" } else { "load.spread = \"exponential\"" };
    let text = format!(
        r#"
        version = 1
        name = "observed"
        protocol = "motes"
        nodes.mote.count = 12
        nodes.mote.not_as_shipped.window = 1024
        run.send_for = "20min"
        run.cool_down = {quiet:?}
        {spread}
        {settings}
        "#
    );
    let scenario: Scenario = toml::from_str(&text).expect("a scenario");
    motemix_sim::run(&scenario).expect("it can be")
}

fn observed(settings: &str) -> Anonymity {
    let outcome = outcome(&format!("adversary = {{}}\n{settings}"));
    let anonymity = outcome.anonymity.expect("asked for");
    assert_eq!(outcome.entropy_bits.map(f64::to_bits), Some(anonymity.there.entropy_bits.to_bits()));
    assert!(anonymity.traced > 100, "{anonymity:?}");
    assert!(anonymity.untraced * 50 <= anonymity.traced, "{anonymity:?}");
    let learned = &anonymity.with_habits;
    for guesses in [anonymity.there, anonymity.round_trip, learned.there, learned.round_trip] {
        assert!(guesses.entropy_bits <= anonymity.most_bits, "{anonymity:?}");
        assert!(guesses.min_entropy_bits <= guesses.entropy_bits, "{anonymity:?}");
        assert!(guesses.delta_0 >= guesses.delta_1 && guesses.delta_1 >= guesses.delta_2, "{anonymity:?}");
        assert!(guesses.entropy_p5_bits <= guesses.entropy_bits, "{anonymity:?}");
    }
    anonymity
}

#[test]
fn without_delay_the_observer_knows_nearly_all_and_each_delay_hides_more() {
    let by_delay =
        ["0s", "500ms", "2s", "5s"].map(|delay| observed(&format!("motes.mean_delay = {delay:?}")));
    assert!(by_delay[0].there.entropy_bits < 0.2, "{:?}", by_delay[0]);
    assert!(by_delay[0].there.first_guess > 0.9, "{:?}", by_delay[0]);
    for pair in by_delay.windows(2) {
        let [less, more] = [&pair[0].there, &pair[1].there];
        assert!(less.entropy_bits < more.entropy_bits, "{pair:?}");
        assert!(less.first_guess > more.first_guess, "{pair:?}");
    }
}

#[test]
fn cover_hides_more() {
    let without = observed("motes.mean_delay = \"1s\"");
    for cover in ["motes.drop_mean = \"20s\"", "motes.loop_mean = \"20s\""] {
        let with = observed(&format!("motes.mean_delay = \"1s\"\n{cover}"));
        assert!(with.there.entropy_bits > without.there.entropy_bits + 0.1, "{cover}: {with:?} {without:?}");
        assert!(with.there.first_guess < without.there.first_guess, "{cover}: {with:?} {without:?}");
    }
}

#[test]
fn the_observer_is_as_often_right_as_it_believes() {
    for delay in ["0s", "1s", "5s"] {
        let found = observed(&format!("motes.mean_delay = {delay:?}"));
        for guesses in [found.there, found.round_trip] {
            let off = guesses.true_sender - guesses.true_sender_expected;
            assert!(off.abs() < 0.06, "{delay}: {found:?}");
        }
    }
}

#[test]
fn the_way_back_tells_more() {
    let found = observed("motes.mean_delay = \"1s\"");
    assert!(found.round_trip.entropy_bits < found.there.entropy_bits, "{found:?}");
    assert!(found.round_trip.true_sender > found.there.true_sender, "{found:?}");
}

#[test]
fn who_writes_to_one_for_long_is_found_out() {
    let fixed = observed("load.receivers = \"fixed\"\nmotes.mean_delay = \"5s\"");
    let (named, chance) = fixed.receivers_named.zip(fixed.receivers_by_chance).expect("fixed receivers");
    assert!((chance - 1.0 / 11.0).abs() < 1e-12, "{chance}");
    assert!(named > 0.9, "{fixed:?}");
    let (half, most) = fixed.half_named_after.zip(fixed.most_named_after).expect("the run is long enough");
    assert!(half <= most && most <= fixed.messages_each.expect("fixed receivers"), "{fixed:?}");
    let [alone, learned] = [fixed.round_trip, fixed.with_habits.round_trip];
    assert!(learned.first_guess > alone.first_guess + 0.2, "{fixed:?}");
    assert!(learned.calibration_error < 0.06, "{fixed:?}");
}

#[test]
fn where_receivers_are_drawn_for_each_message_there_are_no_habits() {
    let random = observed("motes.mean_delay = \"5s\"");
    assert!(!random.with_habits.receivers && !random.with_habits.phases, "{random:?}");
    for (learned, alone) in
        [(random.with_habits.there, random.there), (random.with_habits.round_trip, random.round_trip)]
    {
        assert!((learned.first_guess - alone.first_guess).abs() < 1e-9, "{random:?}");
        assert!((learned.entropy_bits - alone.entropy_bits).abs() < 1e-6, "{random:?}");
    }
    assert_eq!((random.receivers_named, random.messages_each), (None, None));
}

#[test]
fn a_period_gives_senders_away() {
    let periodic = observed("load.spread = \"fixed\"\nmotes.mean_delay = \"2s\"");
    assert!(periodic.with_habits.phases && !periodic.with_habits.receivers, "{periodic:?}");
    let [alone, learned] = [periodic.there, periodic.with_habits.there];
    assert!(learned.first_guess > alone.first_guess + 0.05, "{periodic:?}");
    assert!(learned.calibration_error < 0.08, "{periodic:?}");
}

#[test]
fn contents_tell_the_observer_nothing() {
    // Of as many words in the receiver's flash, which it writes before it replies.
    let [short, long] = ["101", "102"].map(|len| observed(&format!("load.payload = {len}")));
    assert_eq!(short, long);
}

#[test]
fn protection_of_links_hides_nothing_from_the_observer() {
    let [open, protected] = [false, true]
        .map(|protected| observed(&format!("motes.mean_delay = \"1s\"\nmotes.link.protected = {protected}")));
    // Times are others, for frames and handshakes take longer.
    assert!((open.round_trip.first_guess - protected.round_trip.first_guess).abs() < 0.06, "{protected:?}");
    assert!((open.there.entropy_bits - protected.there.entropy_bits).abs() < 0.15, "{protected:?} {open:?}");
    assert_eq!(protected.untraced, 0, "{protected:?}");
}

#[test]
fn listening_changes_nothing_and_one_seed_gives_one_answer() {
    let [once, again] = [(); 2].map(|()| outcome("adversary = {}"));
    assert_eq!(once, again);
    let unobserved = outcome("");
    assert_eq!(unobserved.entropy_bits, None);
    assert_eq!(unobserved, Outcome { entropy_bits: None, anonymity: None, ..once });
}

#[test]
fn a_message_too_short_to_say_who_sent_it_cannot_score_the_observer() {
    let scenario: Result<Scenario, _> = toml::from_str(
        "version = 1\nname = \"\"\nprotocol = \"motes\"\nnodes.mote.count = 12\nload.payload = 1\nadversary = {}",
    );
    let error = motemix_sim::run(&scenario.expect("a scenario")).expect_err("nothing to score by");
    assert!(error.to_string().contains("load.payload"), "{error}");
}

#[test]
fn the_sweep_over_delay_and_cover_is_a_scenario() {
    let text = include_str!("../../../scenarios/anonymity.toml");
    let scenario: Scenario = toml::from_str(text).expect("a scenario");
    assert!(scenario.adversary.is_some());
    let combinations: usize = scenario.sweep.expect("a sweep").vary.values().map(Vec::len).product();
    assert_eq!(combinations, 24);
}

#[test]
fn cover_of_no_mean_time_is_no_cover() {
    let [without, zero] =
        ["", "motes.loop_mean = \"0s\"\nmotes.drop_mean = \"0s\"\nmotes.payload_mean = \"0s\""]
            .map(|cover| outcome(&format!("adversary = {}\n{cover}", "{}")));
    assert_eq!(without, zero);
}

/// Messages and their acknowledgements leave on ticks that carry packets anyway. In a mesh whose
/// motes all speak as often, no link tells when they do.
#[test]
fn at_constant_rate_counting_does_not_tell_when_motes_speak() {
    let constant = "adversary = {}\nload.interval = \"1min\"\nmotes.payload_mean = \"10s\"\nnodes.mote.not_as_shipped.packets = 24";
    let outcome = outcome_with_quiet_of("40min", constant);
    let counted = outcome.anonymity.and_then(|found| found.counted).expect("it has a payload stream");
    assert!(counted.departures_idle_per_s > 0.1, "{counted:?}");
    assert!(counted.motes_told < 0.1 && counted.links_told < 0.03, "{counted:?}");
    let without = observed("load.interval = \"1min\"");
    assert_eq!(without.counted, None, "without a stream everybody sees it");
}
