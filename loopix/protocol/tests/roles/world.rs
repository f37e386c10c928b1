//! A Loopix network in memory, on virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use motemix_crypto::Secret;
use motemix_crypto::p224::{Point, Scalar};
use motemix_loopix::files::{Directory, MixEntry, NodeEntry, Profile, ProviderEntry, UserEntry};
use motemix_loopix::role::{
    Address, Client, ClientEvent, DropReason, Hosts, Instant, Limits, MemoryMailboxes, Mix, Provider, Rates,
    Received, Role, Setup, Transmit,
};
use rand_core::{Rng as _, SeedableRng as _};

pub const LAYERS: usize = 3;
const HOST: &str = "127.0.0.1";

/// What a link takes if nothing is said.
const LINK: Duration = Duration::from_micros(200);

pub enum Node {
    Mix(Mix<ChaCha20Rng>),
    Provider(Provider<ChaCha20Rng, MemoryMailboxes>),
    Client(Box<Client<ChaCha20Rng>>),
}

impl Node {
    pub fn role(&mut self) -> &mut dyn Role {
        match self {
            Self::Mix(mix) => mix,
            Self::Provider(provider) => provider,
            Self::Client(client) => client.as_mut(),
        }
    }
}

/// A datagram as an observer of all links sees it.
pub struct Sight {
    pub at: Instant,
    pub from: String,
    /// A node, or the address of nobody.
    pub to: String,
    pub bytes: Vec<u8>,
}

/// Whether the datagram of this number, to this node, is lost.
pub type Lose = Box<dyn FnMut(&str, u64) -> bool>;

pub struct World {
    pub profile: Profile,
    pub now: Instant,
    pub nodes: BTreeMap<String, Node>,
    pub directory: Directory,
    secrets: BTreeMap<String, Scalar>,
    entries: Vec<NodeEntry>,
    by_port: BTreeMap<u16, String>,
    on_the_wire: BTreeMap<(Instant, u64), (String, Vec<u8>)>,
    number: u64,
    pub rates: Rates,
    pub limits: Limits,
    /// The time on the wire.
    pub link: Duration,
    pub rng: ChaCha20Rng,
    /// What name servers say.
    pub hosts: Hosts,
    /// Every datagram.
    pub log: Vec<Sight>,
    /// The replay tags that each node has written down.
    disk: BTreeMap<String, Vec<u64>>,
    pub received: Vec<(String, Received)>,
    pub events: Vec<(String, ClientEvent)>,
    /// Whether received messages are made safe at once.
    pub confirm: bool,
    /// Loses a datagram if it says so: to whom, and its number.
    pub lose: Lose,
}

pub fn rates() -> Rates {
    Rates {
        loops: Duration::from_secs(2),
        drops: Duration::from_secs(2),
        payload: Duration::from_secs(1),
        delay: Duration::from_millis(50),
        pull: Duration::from_secs(2),
        max_retrieve: 5,
        noise_len: 500,
        push: false,
        retry: Duration::from_secs(20),
        start: Duration::ZERO,
    }
}

fn scalar(rng: &mut ChaCha20Rng) -> Scalar {
    loop {
        let mut bytes = Secret::zero();
        rng.fill_bytes(bytes.expose_mut());
        if let Some(scalar) = Scalar::from_be_bytes(&bytes) {
            return scalar;
        }
    }
}

impl World {
    /// Three layers of two mixes, two providers, and `clients` clients.
    pub fn new(profile: Profile, clients: usize, seed: u8) -> Self {
        println!("seed {seed}");
        let mut world = Self {
            profile,
            now: Instant::from_micros(1_000_000),
            nodes: BTreeMap::new(),
            directory: Directory::default(),
            secrets: BTreeMap::new(),
            entries: Vec::new(),
            by_port: BTreeMap::new(),
            on_the_wire: BTreeMap::new(),
            number: 0,
            rates: rates(),
            limits: Limits::default(),
            link: LINK,
            rng: ChaCha20Rng::from_seed([seed; 32]),
            hosts: Hosts::default(),
            log: Vec::new(),
            disk: BTreeMap::new(),
            received: Vec::new(),
            events: Vec::new(),
            confirm: true,
            lose: Box::new(|_, _| false),
        };
        for number in 0..2 * LAYERS {
            let layer = i64::try_from(number / 2).unwrap();
            world.enlist(format!("Mix{}", number + 1), |name, port, public_key| {
                NodeEntry::Mix(MixEntry { name, host: HOST.into(), port, public_key, layer })
            });
        }
        for number in 0..2 {
            world.enlist(format!("Provider{}", number + 1), |name, port, public_key| {
                NodeEntry::Provider(ProviderEntry { name, host: HOST.into(), port, public_key })
            });
        }
        for number in 0..clients {
            world.enlist(format!("Client{}", number + 1), |name, port, public_key| {
                let provider = format!("Provider{}", number % 2 + 1);
                NodeEntry::Client(UserEntry { name, host: HOST.into(), port, public_key, provider })
            });
        }
        world.directory = Directory::of_nodes(world.entries.clone());
        world
    }

    fn enlist(&mut self, name: String, entry: impl FnOnce(String, u16, Point) -> NodeEntry) {
        let secret = scalar(&mut self.rng);
        let port = 30_000 + self.entries.len() as u16;
        self.entries.push(entry(name.clone(), port, Point::mul_generator(&secret)));
        self.by_port.insert(port, name.clone());
        self.secrets.insert(name, secret);
    }

    pub fn secret(&self, name: &str) -> Scalar {
        self.secrets[name].duplicate()
    }

    pub fn entry(&self, name: &str) -> &NodeEntry {
        self.entries.iter().find(|entry| entry.name() == name).unwrap()
    }

    pub fn setup(&self, name: &str) -> Setup {
        Setup {
            profile: self.profile,
            secret: Box::new(self.secret(name)),
            me: self.entry(name).clone(),
            directory: self.directory.clone(),
            rates: self.rates.clone(),
            limits: self.limits.clone(),
        }
    }

    /// Leaves nodes out of the directory.
    pub fn without(mut self, names: &[&str]) -> Self {
        self.entries.retain(|entry| !names.contains(&entry.name()));
        self.directory = Directory::of_nodes(self.entries.clone());
        self
    }

    /// Gives a node another key, and everybody a directory that says so.
    pub fn change_key(&mut self, of: &str) {
        let secret = scalar(&mut self.rng);
        let key = Point::mul_generator(&secret);
        self.secrets.insert(of.to_owned(), secret);
        for entry in self.entries.iter_mut().filter(|entry| entry.name() == of) {
            match entry {
                NodeEntry::Mix(mix) => mix.public_key = key,
                NodeEntry::Provider(provider) => provider.public_key = key,
                NodeEntry::Client(user) => user.public_key = key,
            }
        }
        self.spread_directory();
    }

    /// Takes nodes away, and gives everybody a directory without them.
    pub fn take_away(&mut self, names: &[&str]) {
        self.nodes.retain(|name, _| !names.contains(&&**name));
        self.entries.retain(|entry| !names.contains(&entry.name()));
        self.spread_directory();
    }

    fn spread_directory(&mut self) {
        self.directory = Directory::of_nodes(self.entries.clone());
        for node in self.nodes.values_mut() {
            match node {
                Node::Mix(mix) => mix.set_directory(&self.directory),
                Node::Provider(provider) => provider.set_directory(&self.directory),
                Node::Client(client) => client.set_directory(&self.directory),
            }
        }
    }

    /// Starts a node, or starts it again with its disk and nothing else of what it knew.
    pub fn start(&mut self, name: &str) {
        self.start_at(name, self.now.as_micros());
    }

    /// The same for a client whose last request had this counter, as far as it knows.
    pub fn start_at(&mut self, name: &str, counter: u64) {
        let setup = self.setup(name);
        let rng = ChaCha20Rng::from_rng(&mut self.rng);
        let now = self.now;
        let mut node = match setup.me {
            NodeEntry::Mix(_) => Node::Mix(Mix::new(setup, now, rng).unwrap()),
            NodeEntry::Provider(_) => {
                Node::Provider(Provider::new(setup, MemoryMailboxes::new(100), now, rng).unwrap())
            }
            NodeEntry::Client(_) => Node::Client(Box::new(Client::new(setup, counter, now, rng).unwrap())),
        };
        node.role().restore(self.disk.get(name).map(Vec::as_slice).unwrap_or_default());
        node.role().set_hosts(self.hosts.clone());
        self.nodes.insert(name.to_owned(), node);
    }

    /// Says in the directory that a node's host is this one, before it starts.
    pub fn name_host(&mut self, of: &str, host: &str) {
        for entry in self.entries.iter_mut().filter(|entry| entry.name() == of) {
            let listed = match entry {
                NodeEntry::Mix(mix) => &mut mix.host,
                NodeEntry::Provider(provider) => &mut provider.host,
                NodeEntry::Client(user) => &mut user.host,
            };
            host.clone_into(listed);
        }
        self.directory = Directory::of_nodes(self.entries.clone());
    }

    pub fn start_all(mut self) -> Self {
        let names: Vec<_> = self.entries.iter().map(|entry| entry.name().to_owned()).collect();
        for name in &names {
            self.start(name);
        }
        self
    }

    pub fn client(&mut self, name: &str) -> &mut Client<ChaCha20Rng> {
        match self.nodes.get_mut(name) {
            Some(Node::Client(client)) => client,
            _ => panic!("{name} is no client"),
        }
    }

    pub fn provider(&mut self, name: &str) -> &mut Provider<ChaCha20Rng, MemoryMailboxes> {
        match self.nodes.get_mut(name) {
            Some(Node::Provider(provider)) => provider,
            _ => panic!("{name} is no provider"),
        }
    }

    pub fn counters(&mut self, name: &str) -> motemix_loopix::role::Counters {
        self.nodes.get_mut(name).unwrap().role().counters().clone()
    }

    pub fn send(&mut self, from: &str, to: &str, text: &str) -> motemix_loopix::role::MessageId {
        let now = self.now;
        self.client(from).send(now, to, text.as_bytes()).unwrap()
    }

    /// Gives a datagram to a node, as anybody can.
    pub fn inject(&mut self, to: &str, datagram: &[u8]) -> Result<(), DropReason> {
        let now = self.now;
        let result = self.nodes.get_mut(to).unwrap().role().handle_datagram(now, &mut datagram.to_vec());
        self.settle(to);
        result
    }

    fn put_on_the_wire(&mut self, from: &str, Transmit { to: Address { host, port }, bytes }: Transmit) {
        // An address, or a name that has it.
        let is_here = self.hosts.is_same(&host, HOST);
        let listed = self.by_port.get(&port).filter(|_| is_here).cloned();
        let to = listed.unwrap_or_else(|| format!("{host}:{port}"));
        self.number += 1;
        self.log.push(Sight { at: self.now, from: from.into(), to: to.clone(), bytes: bytes.clone() });
        if !(self.lose)(&to, self.number) {
            self.on_the_wire.insert((self.now + self.link, self.number), (to, bytes));
        }
    }

    /// Lets a node do what is due.
    fn settle(&mut self, name: &str) {
        let now = self.now;
        let node = self.nodes.get_mut(name).unwrap();
        self.disk.entry(name.into()).or_default().extend(node.role().take_admitted());
        node.role().handle_timeout(now);
        let mut out = Vec::new();
        while let Some(transmit) = node.role().poll_transmit(now) {
            out.push(transmit);
        }
        node.role().flushed(now);
        if let Node::Client(client) = node {
            while let Some(event) = client.poll_event() {
                if let ClientEvent::Received(received) = &event {
                    if self.confirm {
                        client.confirm(now, received.token);
                    }
                    self.received.push((name.to_owned(), received.clone()));
                }
                self.events.push((name.to_owned(), event));
            }
        }
        for transmit in out {
            self.put_on_the_wire(name, transmit);
        }
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let arrival = self.on_the_wire.keys().next().map(|(at, _)| *at);
            let due =
                |(name, node): (&String, &mut Node)| node.role().poll_timeout().map(|at| (at, name.clone()));
            let timer = self.nodes.iter_mut().filter_map(due).min();
            let next = arrival.into_iter().chain(timer.iter().map(|(at, _)| *at)).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next.max(self.now);
            if arrival == Some(next) {
                let (_, (to, mut bytes)) = self.on_the_wire.pop_first().unwrap();
                if let Some(node) = self.nodes.get_mut(&to) {
                    let _ = node.role().handle_datagram(self.now, &mut bytes);
                    self.settle(&to);
                }
            } else if let Some((_, name)) = timer {
                self.settle(&name);
            }
        }
        self.now = end;
    }

    /// Datagrams from one node to another, or to anybody.
    pub fn seen(&self, from: &str, to: Option<&str>) -> Vec<&Sight> {
        let is_seen = |sight: &&Sight| sight.from == from && to.is_none_or(|to| sight.to == to);
        self.log.iter().filter(is_seen).collect()
    }

    pub fn texts(&self, of: &str) -> Vec<String> {
        let texts = self.received.iter().filter(|(name, _)| name == of);
        texts.map(|(_, received)| String::from_utf8_lossy(&received.message).into_owned()).collect()
    }
}
