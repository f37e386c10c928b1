//! What of others' messages gets through while one source floods a node. Each message is sent once,
//! so nothing is made good by sending it again.
//!
//! ```text
//! mote-1 ─▶ a mix of each layer ─▶ receiver        readings, some dozens a second
//!               ▲
//! flood ────────┘   or at the receiver, or at mote-1
//! ```

#[path = "floods/broker.rs"]
mod broker;
mod broker_load;
#[path = "floods/flood.rs"]
mod flood;
#[path = "floods/handshakes.rs"]
mod handshakes;
#[path = "floods/hostile.rs"]
mod hostile;
#[path = "floods/http.rs"]
mod http;
mod program;

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flood::{Flood, Junk};
use hostile::{Hostile, Tag};
use http::{Connections, Visitor};
use program::{Network, Running, motemix, wait_until};
use serde_json::Value;

const PACKET_LEN: usize = 280;
/// A packet under a link's key.
const DATAGRAM_LEN: usize = PACKET_LEN + 16;
/// What of the others' traffic has to get through.
const SHARE: f64 = 0.8;
/// Messages that are counted with each flood.
const MESSAGES: u64 = 250;
/// The same, where it is in short.
const FEW: u64 = 25;
/// A flood has begun, or is over.
const SETTLED: Duration = Duration::from_secs(1);
/// Where strangers are that share no address with a node.
const ELSEWHERE: [u8; 4] = [127, 0, 0, 9];

/// One flood at a time: two would measure each other.
static ALONE: Mutex<()> = Mutex::new(());

/// A network with one mix in each layer, so that every message passes every one.
struct World {
    running: Running,
    /// The nodes of the document.
    nodes: Vec<Value>,
    epoch: u32,
    _alone: MutexGuard<'static, ()>,
}

/// What was counted at one time.
#[derive(Clone, Copy, Debug)]
struct Counted {
    sent: u64,
    delivered: u64,
    acknowledged: u64,
}

impl World {
    /// `mote-2` is in the document and does not run: its key is whose flood comes from a node.
    fn up() -> Self {
        // A story that failed has ended, too.
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let size = ["--mixes", "3", "--layers", "3", "--motes", "2", "--host", "127.0.0.1", "--metrics"];
        let quiet = ["--mean-delay", "10ms", "--loop-cover", "0s", "--drop-cover", "0s"];
        // Once, and there is time for the way there and back on a machine that has other work.
        let once = ["--transmissions", "1", "--hop-allowance", "200ms"];
        let readings = ["--readings", "20ms", "--unsigned-readings", "--rate", "500"];
        let short = ["--epoch-length", "1h"];
        let running = Running::up(Network::init(&[&size[..], &quiet, &once, &readings, &short].concat()));
        running.kill("mote-2");
        let said = motemix(["directory", "show", running.dir(), "--json"]).succeeds();
        let document: Value = serde_json::from_str(&said).expect("a document");
        let nodes = document["nodes"].as_array().expect("nodes").clone();
        let epoch = u32::try_from(document["epoch"].as_u64().expect("an epoch")).expect("32 bits");
        let world = Self { running, nodes, epoch, _alone: alone };
        wait_until("readings arrive", || world.counted().delivered > 0);
        world
    }

    fn node(&self, name: &str) -> &Value {
        self.nodes.iter().find(|node| node["name"] == name).expect("a node of that name")
    }

    fn address(&self, name: &str) -> SocketAddr {
        let at = self.node(name)["addresses"][0].as_str().expect("an address");
        at.parse().expect("an address")
    }

    /// The mixes in the order in which a message passes them.
    fn path(&self) -> Vec<&str> {
        let mut mixes: Vec<_> = self.nodes.iter().filter(|node| node["role"] == "mix").collect();
        mixes.sort_by_key(|node| node["layer"].as_u64());
        mixes.into_iter().map(|node| node["name"].as_str().expect("a name")).collect()
    }

    fn counted(&self) -> Counted {
        let rows = self.running.status();
        let count = |node: &str, counter: &str| {
            let row = rows.iter().find(|row| row["name"] == node).expect("a node of that name");
            row["status"]["counters"][counter].as_u64().unwrap_or(0)
        };
        Counted {
            sent: count("mote-1", "sent"),
            delivered: count("receiver", "delivered"),
            acknowledged: count("mote-1", "acknowledged"),
        }
    }

    /// Counts for so many messages of the sender. What is under way at the beginning and at the
    /// end is as much.
    fn measure(&self) -> Shares {
        std::thread::sleep(SETTLED);
        let before = self.counted();
        let mut after = before;
        wait_until("messages are sent", || {
            after = self.counted();
            after.sent - before.sent >= MESSAGES
        });
        let sent = after.sent - before.sent;
        Shares {
            sent,
            delivered: share(after.delivered - before.delivered, sent),
            acknowledged: share(after.acknowledged - before.acknowledged, sent),
        }
    }

    /// How many multiplications a node has done for messages of handshakes that were no neighbour's.
    fn computed(&self, name: &str) -> u64 {
        let rows = self.running.status();
        let row = rows.iter().find(|row| row["name"] == name).expect("a node of that name");
        let count = |reason: &str| {
            let name = format!("link_handshakes_dropped_{reason}");
            row["status"]["counters"][&name].as_u64().unwrap_or_else(|| panic!("{name}: {row}"))
        };
        ["unproved", "public_key", "other_key"].into_iter().map(count).sum()
    }

    /// What gets through without a flood: the machine has to do what is asked of it.
    fn calm(&self) -> Shares {
        let shares = self.measure();
        shares.tell("no flood", 0);
        shares
    }

    fn under(&self, what: &str, target: &str, flood: Flood) -> Shares {
        let before = self.running.status();
        let shares = self.measure();
        let sent = flood.end();
        shares.tell(&format!("{what} at {target}"), sent.a_second());
        self.tell_drops(&before);
        assert!(sent.count > 10_000, "no flood: {sent:?}");
        shares
    }

    /// What nodes counted as dropped meanwhile, in the kernel too.
    fn tell_drops(&self, before: &[Value]) {
        for (before, after) in before.iter().zip(self.running.status()) {
            let count = |row: &Value, name: &str| row["status"]["counters"][name].as_u64().unwrap_or(0);
            let Some(counters) = after["status"]["counters"].as_object() else { continue };
            let says = ["dropped", "overflow", "overload", "untried", "link_keys", "refused", "discarded"];
            let more: Vec<_> = counters
                .keys()
                .filter(|name| says.iter().any(|part| name.contains(part)))
                .map(|name| (name, count(&after, name).saturating_sub(count(before, name))))
                .filter(|(_, more)| *more > 0)
                .map(|(name, more)| format!("{name} {more}"))
                .collect();
            if !more.is_empty() {
                println!("    {}: {}", after["name"].as_str().expect("a name"), more.join(", "));
            }
        }
    }
}

/// Of the messages that were sent.
#[derive(Debug)]
struct Shares {
    sent: u64,
    delivered: f64,
    acknowledged: f64,
}

impl Shares {
    fn tell(&self, what: &str, rate: u64) {
        println!(
            "{what:<55} {rate:>7}/s  {:>4} sent  {:>5.1} % there  {:>5.1} % acknowledged",
            self.sent,
            100.0 * self.delivered,
            100.0 * self.acknowledged
        );
    }
}

fn share(part: u64, of: u64) -> f64 {
    let number = |count: u64| f64::from(u32::try_from(count).expect("a few hundred"));
    number(part) / number(of)
}

/// Tells all that missed, and not only the first.
#[derive(Default)]
struct Missed(Vec<String>);

impl Missed {
    fn look(&mut self, what: &str, calm: &Shares, shares: &Shares) {
        // What comes back passes the flooded node twice.
        let least = SHARE * calm.delivered.min(calm.acknowledged);
        if shares.delivered.min(shares.acknowledged) < least {
            self.0.push(format!("{what}: {shares:?}, without a flood {calm:?}"));
        }
    }

    fn end(self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}

#[test]
#[ignore = "a flood takes both cores from whatever runs beside it"]
fn junk_of_strangers_leaves_others_their_traffic() {
    let world = World::up();
    let calm = world.calm();
    assert!(calm.delivered > 0.9, "{calm:?}");
    let mut missed = Missed::default();
    let first = world.path()[0].to_owned();
    for target in [first.as_str(), "receiver", "mote-1"] {
        let to = world.address(target);
        for (what, junk) in [
            ("junk of one address", Junk::of(ELSEWHERE, 1)),
            ("junk of 200 addresses", Junk::spread(200)),
            ("forged: key numbers and wrong MACs, nodes' IP", Junk::forged([127, 0, 0, 1])),
        ] {
            let shares = world.under(what, target, Flood::of(junk, to));
            missed.look(&format!("{what} at {target}"), &calm, &shares);
        }
    }
    missed.end();
}

#[test]
#[ignore = "a flood takes both cores from whatever runs beside it"]
fn packets_of_a_hostile_node_leave_others_their_traffic() {
    let world = World::up();
    let path: Vec<_> = world.path().into_iter().map(str::to_owned).collect();
    let stocks: Vec<_> = [
        ("packets for a mix", vec![path[0].as_str()], Tag::Right),
        ("packets for the receiver", vec!["receiver"], Tag::Right),
        ("packets along the whole path", path.iter().map(String::as_str).collect(), Tag::Right),
        ("wrong MACs from a node's address and port", vec![path[0].as_str()], Tag::Wrong),
    ]
    .into_iter()
    .map(|(what, hops, tag)| (what, hops[0].to_owned(), hostile::stock(&world, &hops), tag))
    .collect();
    let calm = world.calm();
    assert!(calm.delivered > 0.9, "{calm:?}");
    let mut missed = Missed::default();
    for (what, target, stock, tag) in stocks {
        let to = world.address(&target);
        // Keys go with the node, so each is made anew.
        let mut hostile = Hostile::new(&world, "mote-2");
        hostile.meet(to);
        let shares = world.under(what, &target, hostile.flood(to, stock, tag));
        missed.look(what, &calm, &shares);
    }
    missed.end();
}

#[test]
#[ignore = "a flood takes both cores from whatever runs beside it"]
fn forged_messages_of_handshakes_leave_others_their_traffic() {
    let world = World::up();
    let calm = world.calm();
    assert!(calm.delivered > 0.9, "{calm:?}");
    let mut missed = Missed::default();
    let first = world.path()[0].to_owned();
    let to = world.address(&first);
    for (what, kind, len) in handshakes::KINDS {
        let flood = handshakes::flood(&world, "mote-2", to, (kind, len));
        let shares = world.under(&format!("{what} in a neighbour's name"), &first, flood);
        missed.look(what, &calm, &shares);
    }
    missed.end();
}

/// The same in short, beside whatever else runs: what counts is how much the node computed, and the
/// figures of others are told.
#[test]
fn forged_messages_of_handshakes_cost_a_node_few_multiplications() {
    let world = World::up();
    let first = world.path()[0].to_owned();
    let to = world.address(&first);
    for (what, kind, len) in handshakes::KINDS {
        let (before, computed, begun) = (world.counted(), world.computed(&first), Instant::now());
        let flood = handshakes::flood(&world, "mote-2", to, (kind, len));
        let mut after = before;
        wait_until("messages are sent", || {
            after = world.counted();
            after.sent - before.sent >= FEW
        });
        let flooded = flood.end();
        let sent = after.sent - before.sent;
        let delivered = share(after.delivered - before.delivered, sent);
        let acknowledged = share(after.acknowledged - before.acknowledged, sent);
        Shares { sent, delivered, acknowledged }.tell(&format!("{what} at {first}"), flooded.a_second());
        let computed = world.computed(&first) - computed;
        println!("    of {} messages, {computed} were computed for", flooded.count);
        // Eight answers a second are read, and eight handshakes answered.
        let most = 16 * (begun.elapsed().as_secs() + 2);
        assert!(computed <= most, "{computed} of {}, and at most {most}", flooded.count);
    }
}

#[test]
#[ignore = "a flood takes both cores from whatever runs beside it"]
fn connections_of_one_source_leave_others_theirs() {
    let world = World::up();
    let calm = world.calm();
    let first = world.path()[0].to_owned();
    let at = world.address(&first);
    let mut missed = Missed::default();
    for (what, connections) in [
        ("idle connections", Connections::idle(at)),
        ("slow connections", Connections::slow(at)),
        ("connections again and again", Connections::again_and_again(at)),
    ] {
        let visitor = Visitor::from(ELSEWHERE, at);
        let shares = world.measure();
        let (asked, answered) = visitor.end();
        let made = connections.end();
        shares.tell(&format!("{what} at {first}"), made.a_second());
        println!("    of {asked} others' requests, {answered} were answered");
        assert!(made.count > 100, "no flood: {made:?}");
        missed.look(what, &calm, &shares);
        if share(answered, asked) < SHARE {
            missed.0.push(format!("{what}: of {asked} requests {answered} were answered"));
        }
    }
    missed.end();
}
