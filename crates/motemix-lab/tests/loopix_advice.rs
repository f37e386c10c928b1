//! What `motemix-lab loopix advise` promises, tried with networks of processes: messages between
//! applications are timed, and the datagrams of clients are counted on their links.
//!
//! Each network is told what the advice says and nothing else. Times are those that the protocol
//! sets, and far longer than what a machine takes; links take no time here, and the wishes say so.

#[path = "advised/network.rs"]
mod network;
#[path = "../../motemix/tests/program/ports.rs"]
mod ports;
mod program;
#[path = "advised/tap.rs"]
mod tap;

use motemix_loopix::files::Profile;
use network::{Measured, Network};
use program::lab;
use serde_json::Value;
use std::time::Duration;

/// A wish, and how long it is measured.
struct Wish {
    profile: &'static str,
    budget: &'static str,
    latency: &'static str,
    more: &'static [&'static str],
    clients: u16,
    seconds: u64,
}

const WISHES: [Wish; 5] = [
    Wish {
        profile: "ucl-2017",
        budget: "40kB/s",
        latency: "4s",
        more: &["--messages", "0.6/s"],
        clients: 8,
        seconds: 240,
    },
    Wish { profile: "fork-2018", budget: "20kB/s", latency: "8s", more: &[], clients: 12, seconds: 480 },
    Wish { profile: "hardened", budget: "40kB/s", latency: "5s", more: &[], clients: 8, seconds: 300 },
    Wish {
        profile: "hardened",
        budget: "16kB/s",
        latency: "12s",
        more: &["--messages", "0.2/s"],
        clients: 10,
        seconds: 480,
    },
    Wish {
        profile: "hardened",
        budget: "40kB/s",
        latency: "8s",
        more: &["--loss", "0.05", "--messages", "0.4/s"],
        clients: 8,
        seconds: 360,
    },
];

/// What was said and what was found.
struct Tried {
    plan: Value,
    measured: Measured,
}

impl Tried {
    fn of(wish: &Wish) -> Self {
        let clients = wish.clients.to_string();
        let words: [&[&str]; 3] = [
            &["loopix", "advise", "--json", "--budget", wish.budget, "--latency", wish.latency],
            &["--profile", wish.profile, "--users", &clients, "--link", "0s", "--mixes", "1"],
            wish.more,
        ];
        let said = lab(words.concat()).succeeds();
        let advice: Value = serde_json::from_str(&said).expect("JSON");
        let profile: Profile = serde_json::from_value(advice["wish"]["profile"].clone()).expect("a profile");
        let plan = advice["plan"].clone();
        let loss = number(&advice["wish"]["loss"]);
        let mut network = Network::start(profile, &plan, wish.clients, loss);
        let latency = Duration::from_secs_f64(number(&plan["latency_s"]));
        let measured = network.measure(2 * latency, Duration::from_secs(wish.seconds), 20 * latency);
        Self { plan, measured }
    }

    /// How far what was found is from what was said: latency and bytes, as shares.
    fn off(&self) -> [f64; 2] {
        [self.measured.latency_s / self.latency() - 1.0, self.measured.bytes_per_s / self.bytes() - 1.0]
    }

    fn latency(&self) -> f64 {
        number(&self.plan["latency_s"])
    }

    fn bytes(&self) -> f64 {
        number(&self.plan["bytes_per_month"]) / (30.0 * 86_400.0)
    }

    fn row(&self, wish: &Wish) -> String {
        let Measured { messages, latency_s, error_s, bytes_per_s, .. } = self.measured;
        format!(
            "| {} | {} | {} {} | {:.2} | {latency_s:.2} ± {error_s:.2} | {:.1} | {:.1} | {messages} |",
            wish.profile,
            wish.budget,
            wish.latency,
            wish.more.join(" "),
            self.latency(),
            self.bytes() / 1e3,
            bytes_per_s / 1e3
        )
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Some hundred messages: a standard error of five percent.
#[test]
fn a_network_that_follows_advice_takes_about_as_long_and_as_many_bytes() {
    program::build_nodes();
    let wish = Wish {
        profile: "hardened",
        budget: "60kB/s",
        latency: "3s",
        more: &["--messages", "1/s"],
        clients: 6,
        seconds: 20,
    };
    let tried = Tried::of(&wish);
    println!("{}", tried.row(&wish));
    let [latency, bytes] = tried.off();
    assert!(tried.measured.messages > 60, "{}", tried.row(&wish));
    assert!(latency.abs() < 0.3 && bytes.abs() < 0.1, "{}", tried.row(&wish));
}

#[test]
#[ignore = "half an hour: five networks, a thousand messages and more in each"]
fn five_wishes_come_true_within_a_tenth() {
    program::build_nodes();
    let mut failed = Vec::new();
    println!(
        "| profile | budget | latency, more | said, s | measured, s | said, kB/s | measured, kB/s | messages |"
    );
    for wish in &WISHES {
        let tried = Tried::of(wish);
        let row = tried.row(wish);
        println!("{row}");
        let [latency, bytes] = tried.off();
        // What is asserted is far from what chance alone does.
        let is_certain = tried.measured.error_s < 0.03 * tried.latency();
        if !is_certain || latency.abs() > 0.1 || bytes.abs() > 0.1 {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
