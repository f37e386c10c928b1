//! What Loopix costs and what it buys, as people would ask.

use motemix_lab::loopix::study::anonymity::measures::Linkability;
use motemix_lab::loopix::study::anonymity::network::{Design, Network, Providers, Trial};
use motemix_lab::loopix::study::anonymity::{entropy, mix};
use motemix_lab::loopix::study::cost::{Client, MIB, TABLE, truncated};
use motemix_lab::loopix::study::energy::radios::{self, UMTS};
use motemix_lab::loopix::study::energy::{cost, dissertation, traffic};
use motemix_lab::loopix::study::estimate::Gathered;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

mod what_it_costs {
    use super::*;

    #[test]
    fn the_table_of_the_dissertation_is_repeated_to_the_last_digit() {
        let digits = |value: f64| libm::round(truncated(value, 2) * 100.0) as i64;
        for printed in TABLE {
            let found = Client::of_dissertation(printed.rate).cost();
            assert_eq!(digits(found.delay_s), digits(printed.delay_s), "{printed:?}");
            assert_eq!(digits(found.mib_per_month), digits(printed.mib_per_month), "{printed:?}");
            assert_eq!(digits(found.price_per_month), digits(printed.price_per_month), "{printed:?}");
        }
    }

    #[test]
    fn a_gibibyte_is_a_packet_each_five_seconds_and_eighty_seconds_of_delay() {
        let client = Client::within(1024.0 * MIB, 2079);
        assert_eq!(libm::floor(1024.0 * MIB / 2079.0) as i64, 516_470);
        assert!((client.rate - 0.2).abs() < 0.001 && (client.sent() - 0.1).abs() < 0.001);
        assert!((client.cost().delay_s - 80.0).abs() < 0.4);
    }

    #[test]
    fn a_second_of_delay_takes_eighty_gibibytes() {
        let client = Client::of_dissertation(16.0);
        assert!((client.bytes_per_s() - 33_264.0).abs() < 1e-9);
        assert!((client.cost().mib_per_month / 1024.0 - 80.3).abs() < 0.05);
        let half = Client { packet_len: 1040, ..client };
        assert!((half.cost().mib_per_month / client.cost().mib_per_month - 0.5).abs() < 0.001);
    }
}

mod what_the_radio_takes {
    use super::*;
    use dissertation::*;

    #[test]
    fn pulling_alone_takes_what_the_dissertation_measured() {
        // From sources alone: settings of EnergyBox, 50 packets every 10 s.
        let sourced = whole_day(traffic::Client::of_dissertation(0.0), 1);
        assert!((sourced / AT_ZERO - 1.0).abs() < 0.01, "{sourced}");
        // With one fitted number, the pace of the answers.
        let fitted = reckoned(recorded(0.0), 10, 1).mean;
        assert!((fitted / AT_ZERO - 1.0).abs() < 0.001, "{fitted}");
    }

    #[test]
    fn the_plateau_is_the_dedicated_channel_and_a_tail_that_was_counted_too_often() {
        for rate in [1.5, 3.0, 9.0] {
            let reckoned = reckoned(recorded(rate), 10, 1).mean;
            assert!((reckoned / PLATEAU - 1.0).abs() < 0.01, "{rate}: {reckoned}");
            let day = whole_day(recorded(rate), 1);
            assert!((day / 51_840.0 - 1.0).abs() < 0.005, "{rate}: {day}");
        }
    }

    #[test]
    fn three_hours_were_longer_than_three_hours() {
        let (joules, _) = THREE_HOURS;
        let three = long_recording(recorded(1.5), Duration::from_secs(10_800), 1);
        assert!((three / joules - 0.968).abs() < 0.002, "{three}");
        let longer = long_recording(recorded(1.5), FITTED_THREE_HOURS, 1);
        assert!((longer / joules - 1.0).abs() < 0.002, "{longer}");
    }

    #[test]
    fn a_longer_interval_of_pulls_saves_two_thirds_on_any_radio() {
        for radio in radios::ALL {
            let day = |every_s| {
                let mut client = traffic::Client::of_dissertation(0.0);
                client.pull.every = Duration::from_secs(every_s);
                cost(radio, client.seeded(DAY, 1), DAY).energy.joules()
            };
            assert!(day(300) < day(10) / 3.0, "{}: {} {}", radio.name, day(10), day(300));
        }
    }

    #[test]
    fn the_same_seed_costs_the_same_to_the_last_picojoule() {
        let bill = |seed| cost(&UMTS, traffic::Client::of_dissertation(0.2).seeded(DAY, seed), DAY).energy;
        assert_eq!(bill(4), bill(4));
        assert_ne!(bill(4), bill(5));
    }
}

mod what_a_mix_hides {
    use super::*;

    #[test]
    fn simulation_agrees_with_the_closed_form() {
        for (pool, runs) in [(0.5, 300), (2.0, 300), (8.0, 150)] {
            let hidden = mix::simulate(pool, runs, 400, 11);
            // Of six comparisons with 95 % each some may miss; twice as far hardly any does.
            assert!(hidden.entropy.agrees(entropy(pool), 2.0), "{pool}: {hidden:?} {}", entropy(pool));
            assert!(hidden.surprise.agrees(entropy(pool), 2.0), "{pool}: {hidden:?} {}", entropy(pool));
            assert!(hidden.entropy.half < 0.04, "{hidden:?}");
        }
    }
}

mod what_layers_hide {
    use super::*;

    fn network() -> Network {
        Network::honest(3, 2, 4.0, 20)
    }

    fn trials(network: Network, count: u64) -> Vec<Trial> {
        (0..count).map(|seed| network.trial(seed)).collect()
    }

    fn found(network: Network, count: u64) -> Linkability {
        Linkability::of(&trials(network, count), 1)
    }

    #[test]
    fn one_honest_mix_hides_forwards_what_it_hides_backwards() {
        let found = found(Network { layers: 1, width: 1, ..network() }, 1500);
        assert!(found.packet_bits.agrees(entropy(4.0), 2.0), "{found:?} {}", entropy(4.0));
        assert!(found.surprise.agrees(entropy(4.0), 2.0), "{found:?}");
    }

    #[test]
    fn an_observer_believes_what_is_true_as_often_as_it_thinks() {
        let providers = |corrupt| Some(Providers { count: 4, corrupt });
        for network in [
            network(),
            Network { corrupt: 0.4, ..network() },
            Network { providers: providers(0.0), ..network() },
            Network { providers: providers(0.5), corrupt: 0.2, ..network() },
            Network { design: Design::Threshold { size: 9 }, ..network() },
            Network { design: Design::TimedPool { every: 1.0, keep: 2 }, ..network() },
        ] {
            let trials = trials(network, 600);
            let off: Gathered = trials.iter().map(|trial| trial.surprise - trial.packet_bits).collect();
            assert!(off.estimate().agrees(0.0, 2.0), "{network:?}: {:?}", off.estimate());
            // The same for the sender: its probability is 1/(1 + Σ p/p₀), and that of the likeliest user
            // is how often it is the sender.
            let found = Linkability::of(&trials, 1);
            let sure: Gathered = trials.iter().map(|trial| libm::exp2(-trial.sender_min_bits)).collect();
            let sure = sure.estimate();
            assert!((found.best_guess.mean - sure.mean).abs() < 1.5 * (found.best_guess.half + sure.half));
            let two = f64::midpoint(1.0, found.delta[0].mean);
            assert!((found.best_guess_of_two.mean - two).abs() < 2.0 * found.best_guess_of_two.half);
        }
    }

    #[test]
    fn layers_hide_more_and_corrupt_mixes_less() {
        let bits = |layers, corrupt| found(Network { layers, corrupt, ..network() }, 300).packet_bits.mean;
        // The second layer adds less than the first, and the third less again.
        assert!(bits(1, 0.0) + 0.8 < bits(2, 0.0) && bits(2, 0.0) + 0.2 < bits(3, 0.0));
        assert!(bits(3, 0.3) < bits(3, 0.0) && bits(3, 0.6) < bits(3, 0.3));
        assert!(bits(3, 1.0).abs() < 1e-9, "whoever owns all mixes knows all");
    }

    #[test]
    fn a_corrupt_provider_knows_cover_and_mailboxes() {
        let of = |corrupt| {
            let providers = Some(Providers { count: 4, corrupt });
            found(Network { providers, users: 200, ..network() }, 300)
        };
        let (honest, corrupt) = (of(0.0), of(1.0));
        // An honest provider leaves open which of its fifty users gets it.
        assert!(honest.user_bits.mean > corrupt.user_bits.mean + 1.0, "{honest:?} {corrupt:?}");
        // A third of the packets is dropped; without them there are log₂(3/2) bits less, and the
        // providers' own delays are gone as well.
        assert!(honest.packet_bits.mean > corrupt.packet_bits.mean + 0.58, "{honest:?} {corrupt:?}");
        assert!(honest.sender_bits.mean > corrupt.sender_bits.mean, "{honest:?} {corrupt:?}");
    }

    #[test]
    fn another_user_is_a_candidate_only_if_his_own_packets_are_there() {
        let of = |users| found(Network { users, ..network() }, 400);
        let (few, many) = (of(4), of(4_000));
        assert!(few.delta[2].mean < 0.1, "{few:?}");
        assert!(many.delta[2].mean > 0.8, "{many:?}");
        assert!((few.packet_bits.mean - many.packet_bits.mean).abs() < 0.3, "the mixes are as full");
        assert!(few.best_guess_of_two.mean > 0.5);
        assert!(few.best_guess_of_two.mean < many.best_guess_of_two.mean);
        assert!(few.known.half > many.known.half, "{few:?} {many:?}");
    }

    #[test]
    fn few_targets_say_as_well_as_many_after_how_many_messages_a_sender_is_known() {
        // Six packets of each user in a mix: a message shows little.
        let network = Network { users: 8, layers: 2, width: 1, pool: 48.0, ..network() };
        let many = found(network, 3_000).known.half.expect("it is known");
        for seed in 1..=5 {
            let trials: Vec<_> = (0..100).map(|more| network.trial(1_000_000 * seed + more)).collect();
            let few = Linkability::of(&trials, seed).known.half.expect("it is known");
            let ratio = f64::from(few) / f64::from(many);
            assert!((0.6..1.7).contains(&ratio), "{few} {many}");
        }
    }

    #[test]
    fn acknowledgements_say_as_much_again_as_messages() {
        let network = Network { users: 8, layers: 2, width: 1, pool: 48.0, ..network() };
        let found = found(network, 1_500);
        let (there, both) = (found.known.half.unwrap(), found.round_trip.known.half.unwrap());
        let ratio = f64::from(there) / f64::from(both);
        assert!((1.5..2.7).contains(&ratio), "{there} {both}");
        assert!(found.round_trip.best_guess.mean > found.best_guess.mean, "{found:?}");
    }

    #[test]
    fn the_profile_is_what_a_distinguisher_gets_on_pairs() {
        // In each pair S₀ sends in one world and S₁ in the other, which is the same but for names. The
        // distinguisher says S₀ if L > ε.
        const PAIRS: u64 = 6_000;
        let network = Network { users: 8, layers: 2, ..network() };
        let in_one = trials(network, PAIRS);
        let found = Linkability::of(&in_one, 1);
        // L of the sender and each of the seven others.
        let logarithms = |trial: &Trial| {
            let ratios = trial.others.iter().copied().chain(std::iter::repeat(0.0)).take(7);
            ratios.map(|ratio| -libm::log(ratio)).collect::<Vec<_>>()
        };
        let first: Vec<_> = in_one.iter().map(logarithms).collect();
        let second: Vec<_> =
            (100_000..100_000 + PAIRS).map(|seed| logarithms(&network.trial(seed))).collect();
        for (epsilon, delta) in [0.0, 1.0, 2.0].into_iter().zip(found.delta) {
            let said = |world: &[f64], is: &dyn Fn(f64) -> bool| {
                let said = world.iter().map(|l| f64::from(u8::from(is(*l))));
                said.collect::<Gathered>().estimate().mean
            };
            let right: Gathered = first.iter().map(|world| said(world, &|l| l > epsilon)).collect();
            // S₁ sent: what is known of S₁ and S₀ is there called −L.
            let wrong: Gathered = second.iter().map(|world| said(world, &|l| -l > epsilon)).collect();
            let (right, wrong, factor) = (right.estimate(), wrong.estimate(), libm::exp(epsilon));
            let counted = right.mean - factor * wrong.mean;
            let half = libm::hypot(libm::hypot(right.half, factor * wrong.half), delta.half);
            assert!((counted - delta.mean).abs() < 2.0 * half, "{epsilon}: {counted} {delta:?} {half}");
            assert!(half < 0.02, "{epsilon}: {half}");
        }
    }
}
