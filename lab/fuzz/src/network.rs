//! Four nodes on virtual time, whose caller may do anything in any order, and what must hold all
//! the same.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use motemix_directory::{Entry, Epoch, Role};
use motemix_node::{
    Admitted, Batch, Config, Counters, DropReason, Empty, Event, Instant, Journal, Lengths, LinkId, Memory,
    MessageHandle, Node, ReceiptToken, SendError, Storage,
};
use motemix_sphinx::{MixKey, Mote, NodeId, Profile};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::{Damage, Toy, mix_key};

/// Nodes of a network.
pub const NODES: usize = 4;
/// Datagrams that the air holds; more are lost.
const MOST_FLYING: usize = 64;

/// Little room, so that full tables are usual.
pub type Room = Memory<Mote<Toy>, RoomLengths>;

/// How long its tables are.
pub enum RoomLengths {}

impl Lengths for RoomLengths {
    type Packets<T: Empty> = [T; 6];
    type Replay<T: Empty> = [T; 256];
    type Window<T: Empty> = [T; 32];
    type Messages<T: Empty> = [T; 4];
    type Returns<T: Empty> = [T; 8];
    type Headers<T: Empty> = [T; 4];
    type Loops<T: Empty> = [T; 6];
    type Nodes<T: Empty> = [T; NODES];
}

type TestNode<'s> = Node<'s, Mote<Toy>, ChaCha8Rng>;

/// The network and what is known of it.
pub struct Network<'s> {
    nodes: Vec<TestNode<'s>>,
    config: Config,
    now: Instant,
    flying: Vec<(usize, Vec<u8>)>,
    tokens: Vec<(usize, ReceiptToken, Vec<u8>)>,
    truth: Truth,
    journals: [Notes; NODES],
}

/// What a node wrote down.
#[derive(Default)]
struct Notes {
    noted: Vec<Admitted>,
    kept: Vec<Admitted>,
}

impl Journal for Notes {
    type Error = std::convert::Infallible;

    fn admit(&mut self, admitted: Admitted) {
        self.noted.push(admitted);
    }

    fn commit(&mut self) -> Result<(), Self::Error> {
        self.kept.append(&mut self.noted);
        Ok(())
    }
}

/// What the nodes must not contradict.
#[derive(Default)]
struct Truth {
    /// Datagrams by the node that took them in.
    taken: HashSet<(usize, Vec<u8>)>,
    /// Receiver of each message; its data is its name.
    sent: HashMap<Vec<u8>, usize>,
    under_way: HashMap<(usize, MessageHandle), Vec<u8>>,
    replies: HashMap<Vec<u8>, Vec<Vec<u8>>>,
    /// Whether each node was last told that its alarm sounds.
    alarmed: [bool; NODES],
}

fn node(number: u8) -> usize {
    usize::from(number) % NODES
}

/// Neighbours of a node are those that a datagram may come from.
fn sender(datagram: &[u8]) -> LinkId {
    LinkId(datagram.last().map_or(0, |last| u64::from(*last) % 3))
}

/// Packets of a node's own that have come back to it.
fn came_back(counters: &Counters) -> u64 {
    counters.acknowledged + counters.loops_returned + counters.returned_empty
}

fn key_of(node: usize, epoch: Epoch) -> MixKey {
    mix_key((node as u16) << 14 | epoch.0 as u16 & 0x3fff)
}

fn entries(epoch: Epoch) -> impl Iterator<Item = Entry> + Clone {
    (0..NODES).map(move |node| Entry {
        mix_key: key_of(node, epoch).public_key::<Toy>(),
        role: Role::Mix { layer: 0 },
    })
}

impl<'s> Network<'s> {
    /// All nodes are in their first epoch. `trim` takes away from the memory of each.
    pub fn new(
        rooms: &'s mut [Room; NODES],
        config: Config,
        seed: u64,
        trim: impl Fn(&mut Storage<'s, Mote<Toy>>),
    ) -> Self {
        let nodes = rooms.iter_mut().enumerate().map(|(number, room)| {
            let mut storage = room.lend();
            trim(&mut storage);
            let id = NodeId::new(number as u16).expect("a small number");
            Node::new(id, ChaCha8Rng::seed_from_u64(seed ^ number as u64), storage)
        });
        let mut network = Self {
            nodes: nodes.collect(),
            config,
            now: Instant::from_micros(1_000_000),
            flying: Vec::new(),
            tokens: Vec::new(),
            truth: Truth::default(),
            journals: Default::default(),
        };
        for number in 0..NODES as u8 {
            network.prepare_epoch(number);
            network.begin_epoch(number);
        }
        network
    }

    pub fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    pub fn send(&mut self, from: u8, to: u8, len: u8) {
        let (from, to) = (node(from), node(to));
        let number = self.truth.sent.len() as u64;
        let data = [&number.to_be_bytes()[..], &vec![to as u8; usize::from(len)]].concat();
        let id = NodeId::new(to as u16).expect("a small number");
        match self.nodes[from].send(self.now, id, &data) {
            Ok(message) => {
                assert!(self.truth.under_way.insert((from, message), data.clone()).is_none());
                self.truth.sent.insert(data, to);
            }
            Err(SendError::TooLong { most }) => assert!(data.len() > most),
            Err(SendError::UnknownReceiver) => assert_eq!(from, to),
            Err(_) => {}
        }
        self.check(from);
    }

    /// A datagram arrives where it should or elsewhere, changed or not, and may arrive again later.
    pub fn deliver(&mut self, which: u8, elsewhere: Option<u8>, damage: Option<Damage>, again: bool) {
        if self.flying.is_empty() {
            return;
        }
        let which = usize::from(which) % self.flying.len();
        let (to, mut datagram) =
            if again { self.flying[which].clone() } else { self.flying.swap_remove(which) };
        if let Some(damage) = damage {
            damage.apply(&mut datagram);
        }
        self.arrive(elsewhere.map_or(to, node), datagram);
    }

    /// Half of what arrives is taken in alone, and half in a batch.
    pub fn arrive(&mut self, at: usize, datagram: Vec<u8>) {
        if datagram.first().is_some_and(|first| first % 2 == 1) {
            self.arrive_twice_at_once(at, datagram);
        } else {
            self.arrive_alone(at, datagram);
        }
    }

    fn arrive_alone(&mut self, at: usize, datagram: Vec<u8>) {
        let before = self.nodes[at].counters().datagrams;
        let came_back_before = came_back(self.nodes[at].counters());
        let noted = self.journals[at].noted.len();
        let from = sender(&datagram);
        let take = |this: &mut Self, bytes: &mut [u8]| {
            this.nodes[at].handle_datagram(this.now, from, bytes, &mut this.journals[at])
        };
        let outcome = take(self, &mut datagram.clone());
        assert_eq!(self.nodes[at].counters().datagrams, before + 1);
        if outcome.is_ok() {
            let own = came_back(self.nodes[at].counters()) > came_back_before;
            let admitted = usize::from(!own);
            assert_eq!(self.journals[at].noted.len(), noted + admitted, "admitted, or an own return");
            let again = take(self, &mut datagram.clone()).expect_err("once");
            if !own {
                assert_eq!(again, DropReason::Replayed);
                assert_eq!(self.journals[at].noted.len(), noted + 1, "a replay is not admitted");
            }
            assert!(self.truth.taken.insert((at, datagram)), "a datagram was taken in twice");
        }
        self.check(at);
    }

    /// A batch has the datagram two times, with junk between: one of the two is admitted at most.
    fn arrive_twice_at_once(&mut self, at: usize, datagram: Vec<u8>) {
        let before = *self.nodes[at].counters();
        let noted = self.journals[at].noted.len();
        let mut batch = Batch::<Mote<Toy>>::new();
        for bytes in [&*datagram, &vec![0x5a; datagram.len()], &datagram] {
            batch.push(sender(&datagram), bytes).expect("nothing here has another length");
        }
        self.nodes[at].handle_batch(self.now, &mut batch, &mut self.journals[at]);
        assert!(batch.is_empty());

        let after = self.nodes[at].counters();
        let dropped = |reason| after.dropped(reason) - before.dropped(reason);
        assert_eq!(after.datagrams, before.datagrams + 3);
        let admitted = self.journals[at].noted.len() - noted;
        assert!(admitted <= 1, "the same datagram was admitted twice");
        let own = came_back(after) - came_back(&before);
        assert!(own <= 1, "the same datagram came back twice");
        // What came back is a stranger's the second time.
        let strangers = dropped(DropReason::UnknownHeader);
        if own == 0 && admitted == 1 {
            assert_eq!(dropped(DropReason::Replayed), 1);
        }
        if own == 1 || (admitted == 1 && strangers == 0) {
            assert!(self.truth.taken.insert((at, datagram)), "a datagram was taken in twice");
        }
        self.check(at);
    }

    /// Bytes that nobody sent.
    pub fn junk(&mut self, at: u8, bytes: &[u8]) {
        let at = node(at);
        let taken =
            self.nodes[at].handle_datagram(self.now, LinkId(9), &mut bytes.to_vec(), &mut self.journals[at]);
        assert!(taken.is_err());
    }

    pub fn handle_timeout(&mut self, at: u8) {
        self.nodes[node(at)].handle_timeout(self.now);
        self.check(node(at));
    }

    pub fn work(&mut self, at: u8, steps: u8) {
        for _ in 0..steps {
            if !self.nodes[node(at)].work(self.now) {
                break;
            }
        }
    }

    /// `false` if there is nothing to send.
    pub fn poll_transmit(&mut self, at: u8) -> bool {
        let mut packet = Mote::<Toy>::packet();
        let Ok(polled) =
            self.nodes[node(at)].poll_transmit(self.now, &mut self.journals[node(at)], &mut packet);
        let Some(transmit) = polled else { return false };
        assert!(self.journals[node(at)].noted.is_empty(), "something left before it was written down");
        assert_eq!(transmit.len, packet.len());
        let to = usize::from(transmit.to.get());
        assert!(to < NODES, "there is no such node");
        if self.flying.len() < MOST_FLYING {
            self.flying.push((to, packet.to_vec()));
        }
        true
    }

    /// `false` if there is no event.
    pub fn poll_event(&mut self, at: u8) -> bool {
        let at = node(at);
        let truth = &mut self.truth;
        match self.nodes[at].poll_event() {
            None => return false,
            Some(Event::Received { token, data, .. }) => {
                assert_eq!(truth.sent.get(data), Some(&at), "a message that nobody sent here");
                self.tokens.push((at, token, data.to_vec()));
            }
            Some(Event::Delivered { .. }) => panic!("nobody sends without a way to reply"),
            Some(Event::Acknowledged { message, reply, tries, .. }) => {
                let data = truth.under_way.remove(&(at, message)).expect("a message ends once");
                let given = truth.replies.get(&data).expect("nobody replied");
                assert!(given.iter().any(|given| given == reply), "a reply that nobody gave");
                assert!((1..=self.config.parameters.transmissions).contains(&tries));
            }
            Some(Event::Discarded { message, tries }) => {
                assert!(truth.under_way.remove(&(at, message)).is_some(), "a message ends once");
                assert!(tries <= self.config.parameters.transmissions);
            }
            Some(Event::LoopAlarm { sounds }) => {
                assert_ne!(truth.alarmed[at], sounds, "an alarm begins and ends in turn");
                truth.alarmed[at] = sounds;
                assert_eq!(self.nodes[at].loop_alarm().sounds(), sounds, "old news");
                let counters = self.nodes[at].counters();
                assert!(counters.loop_alarms > 0 && counters.loops_returned > 0 && counters.loops_lost > 0);
            }
            Some(other) => panic!("nothing here tells of {other:?}"),
        }
        self.check(at);
        true
    }

    /// Replies to a message, or refuses it without a length; a token may be used again.
    pub fn answer(&mut self, which: u8, len: Option<u8>, again: bool) {
        if self.tokens.is_empty() {
            return;
        }
        let which = usize::from(which) % self.tokens.len();
        let (at, token, data) =
            if again { self.tokens[which].clone() } else { self.tokens.swap_remove(which) };
        let Some(len) = len else {
            let _ = self.nodes[at].refuse(token);
            return;
        };
        let reply = vec![0x72; usize::from(len)];
        if self.nodes[at].reply(self.now, token, &reply).is_ok() {
            self.truth.replies.entry(data).or_default().push(reply);
        }
    }

    pub fn prepare_epoch(&mut self, at: u8) {
        let at = node(at);
        let epoch = Epoch(self.nodes[at].epoch().map_or(1, |epoch| epoch.0 + 1));
        self.nodes[at].prepare_epoch(epoch, key_of(at, epoch)).expect("it is the next epoch");
    }

    pub fn begin_epoch(&mut self, at: u8) {
        let at = node(at);
        let epoch = Epoch(self.nodes[at].epoch().map_or(1, |epoch| epoch.0 + 1));
        let _ = self.nodes[at].begin_epoch(
            self.now,
            epoch,
            self.now + Duration::from_hours(1),
            entries(epoch),
            self.config,
        );
    }

    pub fn set_cover(&mut self, at: u8, on: bool) {
        self.nodes[node(at)].set_cover(self.now, on);
    }

    fn check(&self, at: usize) {
        let under_way = self.truth.under_way.keys().filter(|(from, _)| *from == at).count();
        assert_eq!(self.nodes[at].in_flight(), under_way);
        let fill = self.nodes[at].replay_fill();
        for fill in fill.neighbour.into_iter().chain([fill.current]) {
            assert!(fill.tags <= fill.capacity && fill.room <= fill.capacity - fill.tags);
        }
    }

    /// What a driver does after each of its calls.
    pub fn settle(&mut self) {
        for at in 0..NODES as u8 {
            self.handle_timeout(at);
            self.work(at, 32);
            while self.poll_transmit(at) {}
            while self.poll_event(at) {}
        }
    }

    /// Nobody disturbs: everything arrives, everything is answered, time jumps to what is due next.
    pub fn run(&mut self, rounds: u8, reply_len: u8) {
        for _ in 0..rounds {
            self.settle();
            for (to, datagram) in std::mem::take(&mut self.flying) {
                self.arrive(to, datagram);
            }
            self.settle();
            while !self.tokens.is_empty() {
                self.answer(0, Some(reply_len), false);
            }
            let due = self.nodes.iter().filter_map(Node::poll_timeout).min();
            self.now = self.now.max(due.unwrap_or(self.now));
        }
    }

    /// Nothing arrives any more, and each node does what is due: every message must end.
    pub fn wind_up(&mut self) {
        for at in 0..NODES as u8 {
            self.set_cover(at, false);
            for _ in 0..200 {
                if self.nodes[node(at)].in_flight() == 0 {
                    break;
                }
                self.handle_timeout(at);
                self.work(at, u8::MAX);
                while self.poll_transmit(at) {}
                while self.poll_event(at) {}
                self.wait(Duration::from_hours(24));
            }
            assert_eq!(self.nodes[node(at)].in_flight(), 0, "a message does not end");
        }
    }
}
