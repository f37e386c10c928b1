//! A modelled curve changes how long a run takes, and nothing else.

use motemix_sim::scenario::{CurveModel, Scenario};
use motemix_sim::{Outcome, run};

fn small(curve: CurveModel, seed: u64, more: &str) -> Outcome {
    let text = format!(
        r#"
        version = 1
        name = "small"
        protocol = "motes"
        run = {{ send_for = "3 min", cool_down = "2 min" }}
        nodes.mote.count = 9
        load = {{ interval = "10 s", spread = "exponential" }}
        radio.loss = 0.02
        {more}
        "#
    );
    let mut scenario: Scenario = toml::from_str(&text).expect("a scenario");
    scenario.run.curve = curve;
    scenario.seed = seed;
    run(&scenario).expect("a network")
}

/// Delays are derived from shared secrets, which differ between the curves; without them every
/// event is the same.
#[test]
fn real_and_modelled_curves_give_the_same_events() {
    for seed in 1..=3 {
        let modelled = small(CurveModel::Modelled, seed, "motes.mean_delay = \"0 s\"");
        assert!(modelled.acknowledged > 100, "{modelled:?}");
        assert_eq!(modelled, small(CurveModel::Real, seed, "motes.mean_delay = \"0 s\""));
    }
}

#[test]
fn with_cover_they_do_as_well() {
    let cover = "motes = { mean_delay = \"0 s\", loop_mean = \"20 s\", drop_mean = \"30 s\" }";
    assert_eq!(small(CurveModel::Modelled, 5, cover), small(CurveModel::Real, 5, cover));
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_another() {
    let run = |seed| small(CurveModel::Modelled, seed, "");
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
