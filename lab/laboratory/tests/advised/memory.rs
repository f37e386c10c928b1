//! A network in memory, on virtual time, of the state machines that are in the nodes. It is told
//! what a plan says.

use crate::measured::{Measured, on_link};
use crate::world::World;
use chacha20::ChaCha8Rng;
use motemix_loopix::files::Profile;
use rand_core::{Rng as _, SeedableRng as _};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// As the advice is told.
pub const MIXES_OF_A_LAYER: &str = "2";
/// The layer into which packets get lost: those of each path once.
const LAST_LAYER: [&str; 2] = ["Mix5", "Mix6"];

/// A plan, and who follows it for how long.
#[derive(Clone, Copy)]
pub struct Trial<'p> {
    pub profile: Profile,
    pub plan: &'p Value,
    pub clients: u8,
    /// What a link takes, seconds.
    pub link_s: f64,
    /// The share of packets that are lost.
    pub loss: f64,
    /// Messages that are timed.
    pub messages: u32,
}

impl Trial<'_> {
    fn number(&self, name: &str) -> f64 {
        self.plan[name].as_f64().unwrap_or_else(|| panic!("no {name} in {}", self.plan))
    }

    fn world(&self, seed: u8) -> World {
        let mut world = World::new(self.profile, self.clients.into(), seed);
        let stream = Duration::from_secs_f64(1.0 / self.number("stream"));
        world.rates.drops = stream;
        world.rates.payload = stream;
        world.rates.delay = Duration::from_secs_f64(self.number("delay_s"));
        world.rates.pull = Duration::from_secs_f64(self.number("pull_every_s"));
        world.rates.max_retrieve = self.plan["pull_packets"].as_u64().unwrap().try_into().unwrap();
        world.rates.retry = world.rates.patience(3);
        world.link = Duration::from_secs_f64(self.link_s);
        let (mut rng, loss) = (ChaCha8Rng::from_seed([seed; 32]), self.loss);
        world.lose = Box::new(move |to, _| LAST_LAYER.contains(&to) && below_one(&mut rng) < loss);
        // Loops of mixes and providers reach no client, and cost what all else costs.
        world.rates.loops = Duration::ZERO;
        let numbered =
            |name: &'static str, count: u8| (1..=count).map(move |number| format!("{name}{number}"));
        numbered("Mix", 6).chain(numbered("Provider", 2)).for_each(|name| world.start(&name));
        world.rates.loops = stream;
        numbered("Client", self.clients).for_each(|name| world.start(&name));
        world
    }

    /// Clients say as much as the plan says, each to all others: first for two latencies that do
    /// not count, and then what is timed.
    pub fn measure(&self, seed: u8) -> Measured {
        let mut world = self.world(seed);
        let mut rng = ChaCha8Rng::from_seed([seed + 1; 32]);
        let (latency_s, clients) = (self.number("latency_s"), u32::from(self.clients));
        let mean_s = 1.0 / self.number("messages_per_s") / f64::from(clients);
        // What arrives is noted up to this much later.
        let step = Duration::from_secs_f64(latency_s / 500.0);
        let begin = world.now + Duration::from_secs_f64(2.0 * latency_s);
        let (mut said, mut took) = (BTreeMap::new(), Vec::new());
        let (mut first, mut bytes, mut measured_s) = (None, 0, 0.0);
        let mut next = world.now + exponential(&mut rng, mean_s);
        let (mut number, mut timed) = (0, 0);
        while timed < self.messages || !said.is_empty() {
            while next <= world.now {
                let sender = rng.next_u32() % clients;
                let to = (sender + 1 + rng.next_u32() % (clients - 1)) % clients;
                let text = format!("m{number}");
                world.send(&format!("Client{}", sender + 1), &format!("Client{}", to + 1), &text);
                number += 1;
                if world.now >= begin && timed < self.messages {
                    said.insert(text, world.now);
                    timed += 1;
                }
                next = next + exponential(&mut rng, mean_s);
            }
            world.run(step.min(next - world.now));
            for (_, received) in world.received.drain(..) {
                let text = String::from_utf8_lossy(&received.message).into_owned();
                took.extend(said.remove(&text).map(|at| (world.now - at).as_secs_f64()));
            }
            let is_clients = |name: &str| name.starts_with("Client");
            let on_links =
                world.log.drain(..).filter(|sight| is_clients(&sight.from) || is_clients(&sight.to));
            let passed: u64 = on_links.map(|sight| on_link(sight.bytes.len())).sum();
            if world.now >= begin {
                let first = *first.get_or_insert(world.now);
                bytes += passed;
                measured_s = (world.now - first).as_secs_f64();
            }
            world.events.clear();
        }
        Measured::of(&took, bytes, usize::from(self.clients), measured_s)
    }
}

fn below_one(rng: &mut ChaCha8Rng) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

fn exponential(rng: &mut ChaCha8Rng, mean: f64) -> Duration {
    Duration::from_secs_f64(-mean * (1.0 - below_one(rng)).ln())
}
