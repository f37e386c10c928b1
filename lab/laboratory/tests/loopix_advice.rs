//! What `motemix-lab loopix advise` promises, tried with networks: messages between applications
//! are timed, and the datagrams of clients are counted on their links.
//!
//! Each network is told what the advice says and nothing else. In memory, time is virtual, links
//! take what the wish says, and the result is the same for the same seed. With processes, links
//! take no time and the wishes say so; the times that the protocol sets are far longer than what a
//! machine takes.

#[path = "advised/measured.rs"]
mod measured;
#[path = "advised/memory.rs"]
mod memory;
#[path = "advised/network.rs"]
mod network;
mod program;
#[path = "advised/tap.rs"]
mod tap;
#[allow(dead_code, reason = "stories of attacks use the rest")]
#[path = "../../../loopix/protocol/tests/roles/world.rs"]
mod world;

use measured::Measured;
use memory::Trial;
use motemix_loopix::files::Profile;
use network::Network;
use program::lab;
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// A wish.
#[derive(Clone, Copy)]
struct Wish {
    profile: &'static str,
    budget: &'static str,
    latency: &'static str,
    more: &'static [&'static str],
    clients: u8,
}

// Latencies are so long that what a busy machine adds is a small part.
const BUSY: Wish = Wish {
    profile: "ucl-2017",
    budget: "40kB/s",
    latency: "10s",
    more: &["--messages", "0.6/s", "--link", "0s"],
    clients: 8,
};
const FORK: Wish =
    Wish { profile: "fork-2018", budget: "20kB/s", latency: "12s", more: &["--link", "0s"], clients: 12 };
const HARDENED: Wish =
    Wish { profile: "hardened", budget: "40kB/s", latency: "10s", more: &["--link", "0s"], clients: 8 };
const BUSY_HARDENED: Wish = Wish {
    profile: "hardened",
    budget: "16kB/s",
    latency: "16s",
    more: &["--messages", "0.2/s", "--link", "0s"],
    clients: 10,
};
const LOSSY: Wish = Wish {
    profile: "hardened",
    budget: "40kB/s",
    latency: "15s",
    more: &["--loss", "0.02", "--messages", "0.4/s", "--link", "0s"],
    clients: 8,
};
const WISHES: [Wish; 5] = [BUSY, FORK, HARDENED, BUSY_HARDENED, LOSSY];
/// On links that take 200 ms, as advice takes for granted.
const FAR_APART: Wish =
    Wish { profile: "hardened", budget: "40kB/s", latency: "8s", more: &["--messages", "0.3/s"], clients: 8 };

const HEADING: &str = "\
| profile | budget | wish | said, s | measured, s | | said, kB/s | measured, kB/s | | messages |
|---|---|---|---|---|---|---|---|---|---|";

/// What was advised.
struct Advice {
    wish: Wish,
    profile: Profile,
    link_s: f64,
    loss: f64,
    plan: Value,
}

impl Advice {
    fn on(wish: Wish, mixes: &str) -> Self {
        let clients = wish.clients.to_string();
        let words: [&[&str]; 3] = [
            &["loopix", "advise", "--json", "--budget", wish.budget, "--latency", wish.latency],
            &["--profile", wish.profile, "--users", &clients, "--mixes", mixes],
            wish.more,
        ];
        let said = lab(words.concat()).succeeds();
        let mut advice: Value = serde_json::from_str(&said).expect("JSON");
        let profile = serde_json::from_value(advice["wish"]["profile"].take()).expect("a profile");
        let [link_s, loss] = ["link_s", "loss"].map(|name| number(&advice["wish"][name]));
        Self { wish, profile, link_s, loss, plan: advice["plan"].take() }
    }

    fn in_memory(self, messages: u32) -> Tried {
        let Self { wish, profile, link_s, loss, .. } = self;
        let trial = Trial { profile, plan: &self.plan, clients: wish.clients, link_s, loss, messages };
        let measured = trial.measure(1);
        Tried { advice: self, measured }
    }

    /// For a time in which this many messages are said, in the mean.
    fn with_processes(self, messages: f64) -> Tried {
        assert!(self.link_s <= 0.0, "links of one machine take no time: {}", self.link_s);
        let clients = u16::from(self.wish.clients);
        let mut network = Network::start(self.profile, &self.plan, clients, self.loss);
        let latency = Duration::from_secs_f64(self.latency_s());
        let rate = number(&self.plan["messages_per_s"]) * f64::from(clients);
        // A message whose tries are lost again and again takes this long.
        let patience = 60 * latency;
        let measured = network.measure(2 * latency, Duration::from_secs_f64(messages / rate), patience);
        Tried { advice: self, measured }
    }

    fn latency_s(&self) -> f64 {
        number(&self.plan["latency_s"])
    }

    fn bytes_per_s(&self) -> f64 {
        number(&self.plan["bytes_per_month"]) / (30.0 * 86_400.0)
    }
}

/// What was said and what was found.
struct Tried {
    advice: Advice,
    measured: Measured,
}

impl Tried {
    /// How far what was found is from what was said: latency and bytes, as shares.
    fn off(&self) -> [f64; 2] {
        let Measured { latency_s, bytes_per_s, .. } = self.measured;
        [latency_s / self.advice.latency_s() - 1.0, bytes_per_s / self.advice.bytes_per_s() - 1.0]
    }

    fn row(&self) -> String {
        let Measured { messages, latency_s, error_s, bytes_per_s } = self.measured;
        let Wish { profile, budget, latency, more, .. } = self.advice.wish;
        let [slower, more_bytes] = self.off().map(|share| 100.0 * share);
        let wish = [&["--latency", latency], more].concat().join(" ");
        let bytes = [self.advice.bytes_per_s() / 1e3, bytes_per_s / 1e3].map(|bytes| format!("{bytes:.2}"));
        format!(
            "| {profile} | {budget} | {wish} | {:.2} | {latency_s:.2} ± {error_s:.2} | {slower:+.1} % \
             | {} | {} | {more_bytes:+.1} % | {messages} |",
            self.advice.latency_s(),
            bytes[0],
            bytes[1]
        )
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Messages are much of what is sent, so that a few seconds are enough. Links take 200 ms. The
/// standard error is three percent.
#[test]
fn the_nodes_in_memory_keep_to_advice() {
    let original = Wish { more: &["--messages", "0.8/s"], clients: 4, ..BUSY };
    let hardened = Wish { more: &["--messages", "0.4/s"], clients: 4, ..BUSY_HARDENED };
    for wish in [original, hardened] {
        let tried = Advice::on(wish, memory::MIXES_OF_A_LAYER).in_memory(200);
        println!("{}", tried.row());
        assert!(tried.off().iter().all(|share| share.abs() < 0.1), "{}", tried.row());
    }
}

#[test]
#[ignore = "some minutes: a thousand messages in each of six networks, and what covers them"]
fn the_nodes_in_memory_keep_to_advice_in_every_profile() {
    println!("{HEADING}");
    for wish in WISHES.into_iter().chain([FAR_APART]) {
        let messages = if wish.more.contains(&"--loss") { 3000 } else { 1000 };
        let tried = Advice::on(wish, memory::MIXES_OF_A_LAYER).in_memory(messages);
        println!("{}", tried.row());
        assert!(tried.off().iter().all(|share| share.abs() < 0.1), "{}", tried.row());
    }
}

/// In twenty seconds: the standard error is five percent of either figure. The test of nodes in
/// memory is more exact; what this one adds is that processes read and do what the advice says. A
/// machine without time for them makes messages later and bytes fewer, as far as it likes.
#[test]
fn a_network_of_processes_takes_no_less_time_and_about_as_many_bytes_as_advised() {
    program::build_nodes();
    let wish = Wish {
        profile: "hardened",
        budget: "60kB/s",
        latency: "4s",
        more: &["--messages", "1/s", "--link", "0s"],
        clients: 6,
    };
    let tried = Advice::on(wish, network::MIXES_OF_A_LAYER).with_processes(100.0);
    println!("{}", tried.row());
    let [latency, bytes] = tried.off();
    assert!(latency > -0.3 && (-0.4..0.25).contains(&bytes), "{}", tried.row());
}

#[test]
#[ignore = "a quarter of an hour: five networks side by side, more than a thousand messages in each"]
fn five_wishes_come_true_within_a_tenth() {
    program::build_nodes();
    let try_out = |wish: Wish| {
        // In as long as the others take: some messages wait for many tries.
        let messages = if wish.more.contains(&"--loss") { 2400.0 } else { 1200.0 };
        thread::spawn(move || Advice::on(wish, network::MIXES_OF_A_LAYER).with_processes(messages))
    };
    let trials = WISHES.map(try_out);
    println!("{HEADING}");
    let tried = trials.map(|trial| trial.join().expect("it is measured"));
    for tried in &tried {
        println!("{}", tried.row());
    }
    for tried in tried {
        // What is asserted is far from what chance alone does.
        let is_certain = tried.measured.error_s < 0.03 * tried.advice.latency_s();
        assert!(is_certain && tried.off().iter().all(|share| share.abs() < 0.1), "{}", tried.row());
    }
}
