//! `motemix-lab loopix advise`.

use super::anonymity::text;
use super::rows::{Day, brief, linkability, mib};
use crate::cli::LoopixAdvise as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Result;
use motemix_lab::loopix::study::advice::{Obstacle, Plan, Remedies, Wish};
use motemix_lab::loopix::study::anonymity::entropy;
use motemix_lab::loopix::study::anonymity::measures::{EPSILONS, Linkability};
use motemix_lab::loopix::study::anonymity::network::Network;
use motemix_lab::loopix::study::cost::{MIB, MONTH_S};
use serde::Serialize;
use std::time::Duration;

const LAYERS: u32 = 3;
/// Events that a simulation may take: some seconds.
const EVENTS: f64 = 4e7;
/// Mean delays for each layer that a target is followed, about.
const FOLLOWED: f64 = 40.0;
const TRIALS: (f64, f64) = (48.0, 400.0);
/// The fullest mixes and the most users that are simulated.
const MOST_POOL: f64 = 2000.0;
const MOST_USERS: u32 = 100_000;
/// The battery of a telephone of today, joules: 15 Wh.
const BATTERY_J: f64 = 15.0 * 3600.0;

#[derive(Serialize)]
struct Advice {
    wish: Wish,
    possible: bool,
    plan: Option<Plan>,
    anonymity: Option<Anonymity>,
    energy: Option<Day>,
    obstacle: Option<Obstacle>,
    remedies: Option<Remedies>,
}

/// What a plan buys.
#[derive(Serialize)]
struct Anonymity {
    mix_bits: f64,
    corrupt: f64,
    /// λ/μ and users of the simulation; less than those of the plan if that has more than can be
    /// simulated.
    simulated_pool: f64,
    simulated_users: u32,
    end_to_end: Linkability,
}

pub fn advise(args: &Args) -> Result<(), Failure> {
    let wish = Wish {
        users: args.users,
        packet_len: args.packet_length,
        width: args.mixes,
        least_pool: args.pool,
        least_own: args.own,
        ..Wish::new(args.budget, args.latency.as_secs_f64())
    };
    match wish.plan() {
        Ok(plan) => {
            let mut progress = Progress::new(2);
            progress.at(0, "following packets through the mixes");
            let anonymity = Anonymity::of(&wish, &plan, args);
            progress.at(1, "a day of three radios");
            let day = Duration::from_secs(86_400);
            let energy = Day::of(plan.client(wish.packet_len).seeded(day, args.seed), day);
            progress.finish();
            let advice = Advice {
                wish,
                possible: true,
                plan: Some(plan),
                anonymity: Some(anonymity),
                energy: Some(energy),
                obstacle: None,
                remedies: None,
            };
            if args.json {
                return Ok(report::print_json(&advice)?);
            }
            Ok(print_plan(&advice)?)
        }
        Err(obstacle) => {
            let remedies = wish.remedies();
            if args.json {
                report::print_json(&Advice {
                    wish,
                    possible: false,
                    plan: None,
                    anonymity: None,
                    energy: None,
                    obstacle: Some(obstacle),
                    remedies: Some(remedies),
                })?;
            } else {
                print_remedies(&wish, obstacle, &remedies)?;
            }
            Err(Failure::failed("the budget and the latency cannot both be kept"))
        }
    }
}

impl Anonymity {
    fn of(wish: &Wish, plan: &Plan, args: &Args) -> Self {
        // Fuller mixes hide more, and more users who each send as rarely are told apart as well.
        let simulated_pool = plan.pool.min(MOST_POOL / f64::from(wish.width));
        let simulated_users = wish.users.min(MOST_USERS);
        let network = Network {
            corrupt: args.corrupt,
            ..Network::honest(LAYERS, wish.width, simulated_pool, simulated_users)
        };
        let events = simulated_pool * f64::from(wish.width * LAYERS * LAYERS) * FOLLOWED;
        #[allow(clippy::cast_sign_loss, reason = "between two numbers above zero")]
        let trials = (EVENTS / events).clamp(TRIALS.0, TRIALS.1) as u32;
        Self {
            mix_bits: entropy(plan.pool),
            corrupt: args.corrupt,
            simulated_pool,
            simulated_users,
            end_to_end: linkability(network, trials, args.seed),
        }
    }

    fn is_whole(&self, plan: &Plan, wish: &Wish) -> bool {
        self.simulated_pool >= plan.pool && self.simulated_users == wish.users
    }
}

fn print_plan(advice: &Advice) -> Result<()> {
    let (Some(plan), Some(anonymity), Some(energy)) = (&advice.plan, &advice.anonymity, &advice.energy)
    else {
        return Ok(());
    };
    let wish = &advice.wish;
    let mut table = Table::without_heading();
    let [stream_s, delays_s, pull_s, network_s] = plan.latency_parts_s.map(brief);
    table.figure("λ_P = λ_L = λ_D", &brief(plan.stream), "packets a second each");
    table.figure("EXP_PARAMS_PAYLOAD, _LOOPS, _DROP", &brief(1.0 / plan.stream), "s");
    table.figure("EXP_PARAMS_DELAY, 1/μ", &brief(plan.delay_s), "s");
    table.figure("TIME_PULL", &brief(plan.pull_every_s), "s");
    table.figure("MAX_RETRIEVE", &plan.pull_packets, "packets");
    table.figure("data", &mib(plan.bytes_per_month), "MiB a month");
    let parts = format!("s: stream {stream_s}, delays {delays_s}, pull {pull_s}, network {network_s}");
    table.figure("latency", &brief(wish.latency_s), &parts);
    table.figure("λ/μ of a mix", &brief(plan.pool), "packets in it, on average");
    table.figure("λ_send/μ of one client", &brief(plan.own), &own(plan));
    table.figure("a mix hides", &brief(anonymity.mix_bits), "bits, in closed form");
    let found = &anonymity.end_to_end;
    let least = if anonymity.is_whole(plan, wish) { "" } else { " or more" };
    let corrupt = brief(anonymity.corrupt);
    let bits = format!("bits{least}: which packet, three layers, a share of {corrupt} corrupt");
    table.figure("end to end", &text(found.packet_bits, 2), &bits);
    table.figure("", &text(found.user_bits, 2), &format!("bits{least}: which user gets it"));
    let two = "times right, if S₀ or S₁ sent it; ½ is perfect";
    table.figure("best guess", &text(found.best_guess_of_two, 3), two);
    table.figure("", &text(found.best_guess, 3), &format!("times right, of {} users", wish.users));
    for (epsilon, delta) in EPSILONS.into_iter().zip(found.delta) {
        table.figure(&format!("δ({epsilon})"), &text(delta, 3), "for the sender of one message");
    }
    let [half, most] = found.known.texts();
    table.figure("sender known after", &half, &format!("messages to one receiver; 95 % after {most}"));
    for (name, joules) in ["3G (2010)", "LTE (2012)", "5G (2019)"].into_iter().zip(energy.joules) {
        let share = 100.0 * joules / BATTERY_J;
        table.figure(
            &format!("{name}, a day"),
            &brief(joules),
            &format!("J, {share:.0} % of a battery of 15 Wh"),
        );
    }
    table.print()
}

fn own(plan: &Plan) -> String {
    let enough = if plan.own >= 2.0 {
        "which hides it whoever else is there"
    } else {
        "below 2: it depends on the packets of others"
    };
    format!("of its own packets on the way at each mix, {enough}")
}

fn print_remedies(wish: &Wish, obstacle: Obstacle, remedies: &Remedies) -> Result<()> {
    let why = match obstacle {
        Obstacle::Latency => {
            "The budget pays for so few packets that they are late before any mix delays them."
        }
        Obstacle::Pool => "The mixes would hold too few packets.",
        Obstacle::Own => "A client's own packets are too few for delays so short.",
    };
    let month = |rate: f64| rate * MONTH_S / MIB;
    let budget = remedies.bytes_per_s.map(|rate| format!("{:.0}", libm::ceil(month(rate))));
    let latency = remedies.latency_s.map(|latency| format!("{:.1}", libm::ceil(latency * 10.0) / 10.0));
    let users = remedies.users.map(|users| users.to_string());
    let packet = remedies.packet_len.map(|bytes| bytes.to_string());
    let rows = [
        ("budget", budget, format!("MiB a month, instead of {:.0}", month(wish.bytes_per_s))),
        ("latency", latency, format!("s, instead of {}", brief(wish.latency_s))),
        ("users", users, format!("instead of {}", wish.users)),
        ("packet", packet, format!("bytes, instead of {}", wish.packet_len)),
    ];
    let of_no_use: Vec<_> = rows.iter().filter(|row| row.1.is_none()).map(|row| row.0).collect();
    let mut table = Table::without_heading();
    for (name, value, unit) in &rows {
        if let Some(value) = value {
            table.figure(name, value, unit);
        }
    }
    report::print(format!("{why} {}\n", offer(rows.len() - of_no_use.len())).as_bytes())?;
    table.print()?;
    if !of_no_use.is_empty() {
        report::print(
            format!("No other number helps by itself for: {}.\n", of_no_use.join(", ")).as_bytes(),
        )?;
    }
    Ok(())
}

const fn offer(remedies: usize) -> &'static str {
    match remedies {
        0 => "Nothing that is changed alone would do.",
        1 => "This would do:",
        _ => "Any one of these would do:",
    }
}
