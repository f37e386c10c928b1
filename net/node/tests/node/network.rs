//! A whole network on virtual time: nodes, and an air that loses what a story wants lost.

use std::collections::VecDeque;
use std::time::Duration;

use motemix_crypto::{Curve, Portable, Secret};
use motemix_directory::{Entry, Epoch, Role};
use motemix_node::{
    Admitted, Batch, Config, DropReason, Event, Instant, Journal, LinkId, MessageHandle, Node, Paths,
    ReceiptToken, ReplyError, Storage,
};
use motemix_sphinx::{MixKey, Mote, NodeId, Profile};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::tables::LARGE;

pub type Mix<C = Portable> = Node<'static, Mote<C>, ChaCha8Rng, Paths<'static>>;

/// What happens to a datagram on the air.
pub type Air = Box<dyn FnMut(usize, NodeId, &[u8], &mut ChaCha8Rng) -> bool>;

/// What an application replies to a message; `None` refuses it.
pub type Application = Box<dyn FnMut(&Received) -> Option<Vec<u8>>>;

/// A journal that its reader looks into.
#[derive(Default)]
pub struct Notes {
    /// Written down.
    pub kept: Vec<Admitted>,
    /// Told, and not written down yet.
    pub noted: Vec<Admitted>,
    /// Nothing can be written.
    pub broken: bool,
}

impl Journal for Notes {
    type Error = Broken;

    fn admit(&mut self, admitted: Admitted) {
        self.noted.push(admitted);
    }

    fn commit(&mut self) -> Result<(), Broken> {
        if self.broken && !self.noted.is_empty() {
            return Err(Broken);
        }
        self.kept.append(&mut self.noted);
        Ok(())
    }
}

/// A journal that cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

/// A received message, as the application saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub at: usize,
    pub data: Vec<u8>,
    pub repeated: bool,
}

/// An ended message: its sender, number, tries and reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub at: usize,
    pub message: MessageHandle,
    pub tries: u8,
    pub reply: Option<Vec<u8>>,
}

/// A network on the curve that ships.
pub type Network = NetworkOf<Portable>;

/// A network on any curve.
pub struct NetworkOf<C: Curve + 'static> {
    pub now: Instant,
    pub nodes: Vec<Mix<C>>,
    pub epoch: Epoch,
    /// When nodes are told that the next epochs end.
    pub ends: Instant,
    pub received: Vec<Received>,
    pub ended: Vec<Ended>,
    /// Alarms that began and ended: when, at which node, whether it began.
    pub alarms: Vec<(Instant, usize, bool)>,
    /// One for each node.
    pub journals: Vec<Notes>,
    /// Every datagram that was sent: sender, receiver, bytes.
    pub datagrams: Vec<(usize, NodeId, Vec<u8>)>,
    /// When each of them was sent.
    pub sent_at: Vec<Instant>,
    /// Whether a datagram passes.
    pub air: Air,
    /// What the application replies with; `None` refuses.
    pub application: Application,
    /// How long it takes for that.
    pub answers_after: Duration,
    /// Answers that came too late.
    pub late: usize,
    pub rng: ChaCha8Rng,
    /// Time from leaving one node until arriving at the next.
    pub flight: Duration,
    /// Datagrams arrive at multiples of this, together with others.
    pub arrivals_every: Duration,
    /// What arrives at a node together is handed to it as batches.
    pub in_batches: bool,
    /// When it arrives, where, from whom.
    flying: VecDeque<(Instant, usize, LinkId, Vec<u8>)>,
    answering: VecDeque<(Instant, ReceiptToken, Received)>,
    roles: Vec<Role>,
    seed: u64,
}

/// How long that is usually.
pub const FLIGHT: Duration = Duration::from_millis(1);

pub fn id(node: usize) -> NodeId {
    NodeId::new(node as u16).expect("a small network")
}

/// Six mixes in three layers, then endpoints.
pub fn layered(endpoints: usize) -> Vec<Role> {
    let mixes = (0..6).map(|mix| Role::Mix { layer: mix / 2 });
    mixes.chain((0..endpoints).map(|_| Role::Endpoint)).collect()
}

/// Every node a mix, as in the thesis' mesh.
pub fn mesh(nodes: usize) -> Vec<Role> {
    vec![Role::Mix { layer: 0 }; nodes]
}

/// Mean delay 50 ms, allowance 20 ms, 12 transmissions, no cover.
pub fn usual() -> Config {
    let mut parameters = Config::thesis().parameters;
    parameters.mean_delay = Duration::from_millis(50);
    parameters.hop_allowance = Duration::from_millis(20);
    parameters.transmissions = 12;
    parameters.overlap = Duration::from_secs(5);
    Config::of_network(parameters)
}

impl<C: Curve + 'static> NetworkOf<C> {
    /// Says its seed when a story fails.
    pub fn new(roles: Vec<Role>, config: Config, seed: u64) -> Self {
        println!("network seed {seed}");
        let nodes = (0..roles.len()).map(|node| Self::node(node, seed, LARGE.lend())).collect();
        let mut network = Self {
            now: Instant::from_micros(1_000_000),
            journals: roles.iter().map(|_| Notes::default()).collect(),
            nodes,
            epoch: Epoch(6),
            ends: Instant::NEVER,
            received: Vec::new(),
            ended: Vec::new(),
            alarms: Vec::new(),
            datagrams: Vec::new(),
            sent_at: Vec::new(),
            air: Box::new(|_, _, _, _| true),
            application: Box::new(|_| Some(Vec::new())),
            answers_after: Duration::ZERO,
            late: 0,
            rng: ChaCha8Rng::seed_from_u64(seed ^ 0xa1),
            flight: FLIGHT,
            arrivals_every: Duration::ZERO,
            in_batches: false,
            flying: VecDeque::new(),
            answering: VecDeque::new(),
            roles,
            seed,
        };
        network.next_epoch(config);
        network
    }

    /// A node that waits for its first epoch, in memory of any size.
    pub fn node(node: usize, seed: u64, storage: Storage<'static, Mote<C>, Paths<'static>>) -> Mix<C> {
        Node::new(id(node), ChaCha8Rng::seed_from_u64(seed * 1000 + node as u64), storage)
    }

    /// The mix key of a node for an epoch.
    pub fn mix_key(&self, node: usize, epoch: Epoch) -> MixKey {
        let mut bytes = [0; 32];
        ChaCha8Rng::seed_from_u64(self.seed << 20 | (node as u64) << 8 | u64::from(epoch.0))
            .fill_bytes(&mut bytes);
        MixKey::new(Secret::new(bytes))
    }

    pub fn entries(&self, epoch: Epoch) -> Vec<Entry> {
        let entry = |(node, role): (usize, &Role)| Entry {
            mix_key: self.mix_key(node, epoch).public_key::<C>(),
            role: *role,
        };
        self.roles.iter().enumerate().map(entry).collect()
    }

    /// From the next epoch on, there is one mix only.
    pub fn shrink(&mut self) {
        self.roles[1..].fill(Role::Endpoint);
        self.roles[0] = Role::Mix { layer: 0 };
    }

    /// From the next epoch on, the last node is not in the network.
    pub fn dismiss_last(&mut self) {
        self.roles.pop();
    }

    /// All nodes of the network enter the next epoch at once.
    pub fn next_epoch(&mut self, config: Config) {
        let epoch = Epoch(self.epoch.0 + 1);
        let entries = self.entries(epoch);
        for node in 0..self.roles.len() {
            let key = self.mix_key(node, epoch);
            self.nodes[node].prepare_epoch(epoch, key).expect("a later epoch");
            self.nodes[node]
                .begin_epoch(self.now, epoch, self.ends, entries.iter().copied(), config)
                .expect("a sound network");
        }
        self.epoch = epoch;
    }

    pub fn lose(&mut self, probability: f64) {
        self.air =
            Box::new(move |_, _, _, rng| f64::from(rng.next_u32()) / f64::from(u32::MAX) >= probability);
    }

    pub fn send(&mut self, from: usize, to: usize, data: &[u8]) -> MessageHandle {
        self.nodes[from].send(self.now, id(to), data).expect("room for a message")
    }

    /// Brings a datagram to a node, from nobody that it knows.
    pub fn arrive(&mut self, node: usize, datagram: &[u8]) -> Result<(), DropReason> {
        self.arrive_from(LinkId(u64::MAX), node, datagram)
    }

    /// Brings a datagram to a node.
    pub fn arrive_from(&mut self, from: LinkId, node: usize, datagram: &[u8]) -> Result<(), DropReason> {
        let mut bytes = datagram.to_vec();
        self.nodes[node].handle_datagram(self.now, from, &mut bytes, &mut self.journals[node])
    }

    /// Lets `time` pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.settle();
            let flights = self.flying.front().map(|flight| flight.0);
            let answers = self.answering.front().map(|answer| answer.0);
            let timers = self.nodes.iter().filter_map(Node::poll_timeout).min();
            match flights.into_iter().chain(answers).chain(timers).min() {
                Some(next) if next <= end => self.now = self.now.max(next),
                _ => break,
            }
            if self.in_batches {
                self.land_in_batches();
            }
            while self.flying.front().is_some_and(|flight| flight.0 <= self.now) {
                let (_, node, from, bytes) = self.flying.pop_front().expect("just seen");
                let _ = self.arrive_from(from, node, &bytes);
            }
            for node in &mut self.nodes {
                node.handle_timeout(self.now);
            }
        }
        self.now = end;
    }

    fn land_in_batches(&mut self) {
        let landing = self.flying.iter().take_while(|flight| flight.0 <= self.now).count();
        let landed: Vec<_> = self.flying.drain(..landing).collect();
        let mut batch = Batch::new();
        for at in 0..self.nodes.len() {
            let mut arrived = landed.iter().filter(|(_, node, ..)| *node == at).peekable();
            while let Some((.., from, bytes)) = arrived.next() {
                batch.push(*from, bytes).expect("the length of a packet");
                if batch.is_full() || arrived.peek().is_none() {
                    self.nodes[at].handle_batch(self.now, &mut batch, &mut self.journals[at]);
                    assert!(batch.is_empty());
                }
            }
        }
    }

    /// The next moment at which datagrams arrive, if they do so together.
    fn arrival(&self) -> Instant {
        let (arrives, every) = ((self.now + self.flight).as_micros(), self.arrivals_every.as_micros() as u64);
        Instant::from_micros(if every == 0 { arrives } else { arrives.next_multiple_of(every) })
    }

    /// Until no node has anything to say at this moment.
    fn settle(&mut self) {
        for at in 0..self.nodes.len() {
            while self.nodes[at].work(self.now) {}
            self.poll_events(at);
            let mut packet = Mote::<C>::packet();
            while let Ok(Some(transmit)) =
                self.nodes[at].poll_transmit(self.now, &mut self.journals[at], &mut packet)
            {
                assert_eq!(self.journals[at].noted, [], "written down before anything leaves");
                let bytes = packet[..transmit.len].to_vec();
                self.datagrams.push((at, transmit.to, bytes.clone()));
                self.sent_at.push(self.now);
                if (self.air)(at, transmit.to, &bytes, &mut self.rng) {
                    let (arrives, from) = (self.arrival(), LinkId(at as u64));
                    self.flying.push_back((arrives, usize::from(transmit.to.get()), from, bytes));
                }
            }
        }
    }

    fn poll_events(&mut self, at: usize) {
        let mut tokens: Vec<(ReceiptToken, Received)> = Vec::new();
        while let Some(event) = self.nodes[at].poll_event() {
            match event {
                Event::Received { token, data, repeated, .. } => {
                    tokens.push((token, Received { at, data: data.to_vec(), repeated }));
                }
                Event::Delivered { data, .. } => {
                    self.received.push(Received { at, data: data.to_vec(), repeated: false });
                }
                Event::Acknowledged { message, tries, reply, .. } => {
                    self.ended.push(Ended { at, message, tries, reply: Some(reply.to_vec()) });
                }
                Event::Discarded { message, tries } => {
                    self.ended.push(Ended { at, message, tries, reply: None })
                }
                Event::LoopAlarm { sounds } => self.alarms.push((self.now, at, sounds)),
                other => panic!("no story tells of {other:?}"),
            }
        }
        let answered = self.now + self.answers_after;
        self.answering.extend(tokens.into_iter().map(|(token, received)| (answered, token, received)));
        while let Some((_, token, received)) = self.answering.pop_front_if(|answer| answer.0 <= self.now) {
            let node = &mut self.nodes[received.at];
            let answer = (self.application)(&received);
            let answered = match &answer {
                Some(reply) => node.reply(self.now, token, reply),
                None => node.refuse(token),
            };
            self.late += usize::from(answered == Err(ReplyError::NotWaiting));
            if answer.is_some() {
                self.received.push(received);
            }
        }
    }
}
