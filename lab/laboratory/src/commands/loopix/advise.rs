//! `motemix-lab loopix advise`.

use super::anonymity::text;
use super::rows::{Day, brief, linkability, mib};
use crate::cli::LoopixAdvise as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use anyhow::Result;
use motemix_lab::loopix::study::advice::{LINKS, Obstacle, Plan, Remedies, Wish};
use motemix_lab::loopix::study::anonymity::entropy;
use motemix_lab::loopix::study::anonymity::measures::{EPSILONS, Linkability};
use motemix_lab::loopix::study::anonymity::network::Network;
use motemix_lab::loopix::study::cost::{MIB, MONTH_S, STRONG};
use motemix_loopix::files::Profile;
use motemix_program::cli::LoopixProfile;
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
/// Packets of a client that are simulated at most: who sends more is followed for less than a day.
const PACKETS: f64 = 2e6;
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
    let wish = wish(args)?;
    match wish.plan() {
        Ok(plan) => {
            let mut progress = Progress::new(2);
            progress.at(0, "following packets through the mixes");
            let anonymity = Anonymity::of(&wish, &plan, args);
            progress.at(1, "a day of three radios");
            let length = simulated_day(&plan);
            let energy = Day::of(plan.client(&wish).seeded(length, args.seed), length);
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
            }
            Err(Failure::failed(refusal(&wish, obstacle, &remedies)))
        }
    }
}

fn simulated_day(plan: &Plan) -> Duration {
    let packets_per_s = plan.sent + f64::from(plan.pull_packets) / plan.pull_every_s;
    Duration::from_secs_f64((PACKETS / packets_per_s).min(86_400.0))
}

fn wish(args: &Args) -> Result<Wish, Failure> {
    let usual = Wish::new(
        motemix_loopix_program::chosen::profile(args.profile),
        args.budget,
        args.latency.as_secs_f64(),
    );
    let packet_len = args.packet_length.unwrap_or(usual.packet_len);
    if args.profile == LoopixProfile::Hardened && packet_len != usual.packet_len {
        return Err(Failure::broken(format!(
            "--packet-length {packet_len}: hardened packets have {} bytes, all of them",
            usual.packet_len
        )));
    }
    Ok(Wish {
        messages_per_s: args.messages,
        users: args.users,
        packet_len,
        width: args.mixes,
        link_s: args.link.as_secs_f64(),
        loss: args.loss,
        least_pool: args.pool,
        least_own: args.own,
        ..usual
    })
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
            end_to_end: among(linkability(network, trials, args.seed), wish.users),
        }
    }

    fn is_whole(&self, plan: &Plan, wish: &Wish) -> bool {
        self.simulated_pool >= plan.pool && self.simulated_users == wish.users
    }
}

/// A receiver is one of the others, whatever the mixes hide.
fn among(mut found: Linkability, users: u32) -> Linkability {
    found.user_bits.mean = found.user_bits.mean.min(f64::from(users - 1).log2());
    found
}

fn print_plan(advice: &Advice) -> Result<()> {
    let (Some(plan), Some(anonymity), Some(energy)) = (&advice.plan, &advice.anonymity, &advice.energy)
    else {
        return Ok(());
    };
    let wish = &advice.wish;
    let mut table = Table::without_heading();
    table.figure("λ_P = λ_L = λ_D", &brief(plan.stream), "packets a second each");
    table.figure("EXP_PARAMS_PAYLOAD, _LOOPS, _DROP", &brief(1.0 / plan.stream), "s");
    table.figure("EXP_PARAMS_DELAY, 1/μ", &brief(plan.delay_s), "s");
    table.figure("TIME_PULL", &brief(plan.pull_every_s), "s");
    table.figure("MAX_RETRIEVE", &plan.pull_packets, "packets");
    table.figure("data", &mib(plan.bytes_per_month), "MiB a month");
    table.figure("latency", &brief(plan.latency_s), &parts(plan));
    let messages = format!("an hour, of each user, for which that holds{}", tries(plan, wish));
    table.figure("messages", &brief(plan.messages_per_s * 3600.0), &messages);
    table.figure("λ/μ of a mix", &brief(plan.pool), "packets in it, on average");
    table.figure("λ_send/μ of one client", &brief(plan.own), &own(plan));
    let [sender, receiver] = [wish.users, wish.users - 1].map(|users| brief(f64::from(users).log2()));
    let at_most =
        format!("however full mixes are, at most {sender} bits of who sends, {receiver} of who gets");
    table.figure("users", &wish.users, &at_most);
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
    if wish.profile == Profile::Hardened {
        let [half, most] = found.round_trip.known.texts();
        let most = format!("of them, if acknowledgements are followed too; 95 % after {most}");
        table.figure("", &half, &most);
    }
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

fn parts(plan: &Plan) -> String {
    let parts = plan.parts;
    let named = [
        ("stream", parts.stream_s),
        ("delays", parts.delays_s),
        ("mailbox", parts.mailbox_s),
        ("links", parts.links_s),
        ("lost tries", parts.lost_s),
    ];
    let named = named.into_iter().filter(|(_, seconds)| *seconds > 0.0);
    let named: Vec<_> = named.map(|(name, seconds)| format!("{name} {}", brief(seconds))).collect();
    format!("s: {}", named.join(", "))
}

fn tries(plan: &Plan, wish: &Wish) -> String {
    match wish.profile {
        Profile::Hardened => format!("; {:.2} tries each", plan.tries),
        _ if wish.loss > 0.0 => format!("; {:.1} % arrive", 100.0 * plan.arrive),
        _ => String::new(),
    }
}

fn own(plan: &Plan) -> String {
    let enough = if plan.own >= STRONG {
        "so that each user may have sent any packet"
    } else {
        "below 2: some users have none there, and cannot be the sender"
    };
    format!("of its own packets on the way at each mix, {enough}")
}

/// Why a wish cannot be had and what would be enough, in one line.
fn refusal(wish: &Wish, obstacle: Obstacle, remedies: &Remedies) -> String {
    let links_s = f64::from(LINKS) * wish.link_s;
    let why = match obstacle {
        _ if wish.latency_s <= links_s => {
            return format!(
                "{} s: {LINKS} links alone take {} s; allow more than that, or say --link",
                brief(wish.latency_s),
                brief(links_s)
            );
        }
        Obstacle::Messages => "the budget does not pay for so many messages",
        Obstacle::Latency => {
            "the budget pays for so few packets that they are late before any mix delays them"
        }
        Obstacle::Pool => "the mixes would hold too few packets",
        Obstacle::Own => "a client's own packets are too few for delays so short",
    };
    let month = |rate: f64| rate * MONTH_S / MIB;
    let rounded_up = |number: f64| libm::ceil(number * 10.0) / 10.0;
    // Rounded to the side on which it is enough.
    let of_an_hour = |rate: f64| format!("{:.3} messages an hour", libm::floor(rate * 3.6e6) / 1e3);
    let enough = [
        remedies.bytes_per_s.map(|rate| format!("{:.0} MiB a month", libm::ceil(month(rate)))),
        remedies.latency_s.map(|latency| format!("{:.1} s", rounded_up(latency))),
        remedies.users.map(|users| format!("{users} users")),
        remedies.packet_len.map(|bytes| format!("packets of {bytes} bytes")),
        remedies.messages_per_s.map(of_an_hour),
    ];
    let enough: Vec<_> = enough.into_iter().flatten().collect();
    let enough = match enough.as_slice() {
        [] => "no other number alone would be enough".to_owned(),
        [one] => format!("{one} would be enough"),
        [some @ .., last] => format!("{}, or {last}, would each be enough", some.join(", ")),
    };
    let [budget, latency] = [month(wish.bytes_per_s), wish.latency_s].map(brief);
    format!("{budget} MiB a month in {latency} s: {why}; {enough}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_sends_without_pause_is_not_followed_for_a_day() {
        let length = |bytes_per_s| {
            let wish = Wish::new(Profile::Ucl2017, bytes_per_s, 10.0);
            let plan = wish.plan().unwrap();
            (simulated_day(&plan).as_secs_f64(), plan.client(&wish))
        };
        let (day_s, _) = length(10_000.0);
        assert!((day_s - 86_400.0).abs() < 1e-6, "{day_s}");
        let (part_s, client) = length(1e15);
        let part = Duration::from_secs_f64(part_s);
        let packets = client.seeded(part, 1).count();
        assert!((1_900_000..2_100_000).contains(&packets), "{packets} in {part:?}");
    }
}
