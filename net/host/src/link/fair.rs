//! Datagrams that wait for the node, in a fair queue: whoever sends much waits long, and others do
//! not.
//!
//! Each datagram costs the node a scalar multiplication before it knows whether it is junk, and a
//! few per cent of that to read it from the kernel. So all that has arrived is read at once, sorted
//! by source, and the node takes one datagram of each source in turn. When there is no room, the
//! source that has most waiting loses, before anything of its datagram is decrypted. This is
//! stochastic fairness queueing (P. McKenney, INFOCOM 1990) with longest-queue drop. The nodes of
//! the network together, and strangers together, have half of the turns and half of the room each,
//! and more only as long as the other half is not used.
//!
//! A source is a class out of a fixed number, drawn by a keyed hash, so that nobody can choose to
//! share somebody's class. Nodes of the network document are told by address and port, and have
//! classes that strangers do not reach. Strangers are told by IPv4 address or IPv6 /64 prefix,
//! because whoever has one of those has all its ports. A source address can be forged: then
//! strangers share one another's fate, as they would in a single queue. Within their half, known
//! nodes lose nothing to them, and a node only to who forges it or a node of its class.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;

use motemix_node::LinkId;

use motemix_os::places::Network;

/// Datagrams that wait at most, of all sources together.
pub const WAITING: usize = 512;
/// Classes of known nodes.
const NODES: usize = 64;
/// Classes of strangers.
const STRANGERS: usize = 64;

/// Which class a source address is in, under a random key of this process.
#[derive(Default)]
pub struct Sources {
    key: RandomState,
    nodes: HashSet<SocketAddr>,
}

impl Sources {
    /// The addresses of the nodes of the network document.
    pub fn set_nodes(&mut self, nodes: impl Iterator<Item = SocketAddr>) {
        self.nodes = nodes.collect();
    }

    /// A number that stands for the source: equal for datagrams of one source.
    pub fn of(&self, from: Option<SocketAddr>) -> Source {
        // A radio does not say; its neighbours are strangers together.
        let Some(from) = from else { return Source { hash: 0, known: false } };
        let known = self.nodes.contains(&from);
        let hash = if known { self.key.hash_one(from) } else { self.key.hash_one(Network::of(from.ip())) };
        Source { hash, known }
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sources(..)")
    }
}

/// A source, without its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    hash: u64,
    known: bool,
}

impl Source {
    /// Whether it is a node of the network document.
    pub fn is_known(self) -> bool {
        self.known
    }

    /// The neighbour, as the node tells neighbours apart.
    pub fn link(self) -> LinkId {
        LinkId(self.hash)
    }

    fn class(self) -> usize {
        // Multiply and shift: the high bits of the hash scaled to the number of classes.
        let scaled = |classes: usize| ((u128::from(self.hash) * classes as u128) >> 64) as usize;
        if self.known { scaled(NODES) } else { NODES + scaled(STRANGERS) }
    }
}

/// The queue. It takes all its memory when it is made.
#[derive(Debug)]
pub struct FairQueue {
    slot_len: usize,
    bytes: Vec<u8>,
    free: Vec<usize>,
    /// By class.
    queues: Vec<VecDeque<Waiting>>,
    /// Classes that have something, in the order of their turns: known nodes', and strangers'.
    turns: [VecDeque<usize>; 2],
    /// Datagrams of known nodes, and of strangers.
    lens: [usize; 2],
    /// Which of the two is next.
    strangers_next: bool,
    dropped: u64,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    slot: usize,
    len: usize,
    source: Source,
}

impl FairQueue {
    /// Room for [`WAITING`] datagrams of `packet_len` bytes; longer ones are cut to one byte more.
    pub fn new(packet_len: usize) -> Self {
        let slot_len = packet_len + 1;
        Self {
            slot_len,
            bytes: vec![0; slot_len * WAITING],
            free: (0..WAITING).collect(),
            queues: vec![VecDeque::new(); NODES + STRANGERS],
            turns: [VecDeque::with_capacity(NODES), VecDeque::with_capacity(STRANGERS)],
            lens: [0; 2],
            strangers_next: false,
            dropped: 0,
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.free.len() == WAITING
    }

    /// How many datagrams wait.
    pub fn len(&self) -> usize {
        WAITING - self.free.len()
    }

    /// Datagrams that were dropped for want of room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes a datagram in. Without room, the newest one of the longest class goes, of the side
    /// that has more than its half: this one, perhaps.
    pub fn push(&mut self, source: Source, datagram: &[u8]) {
        let class = source.class();
        let Some(slot) = self.free.pop().or_else(|| self.make_room(class)) else { return };
        let len = datagram.len().min(self.slot_len);
        let at = slot * self.slot_len;
        if let (Some(place), Some(bytes)) = (self.bytes.get_mut(at..at + len), datagram.get(..len)) {
            place.copy_from_slice(bytes);
        }
        let (queue, side) = (&mut self.queues[class], side_of(class));
        if queue.is_empty() {
            self.turns[side].push_back(class);
        }
        queue.push_back(Waiting { slot, len, source });
        self.lens[side] += 1;
    }

    /// Whether there is room for another datagram of this source, or another source would lose one
    /// for it.
    pub fn has_room(&self, source: Source) -> bool {
        !self.free.is_empty() || self.loser(source.class()).is_some()
    }

    /// Counts a datagram that was dropped because there is no room.
    pub fn refuse(&mut self) {
        self.dropped += 1;
    }

    fn make_room(&mut self, class: usize) -> Option<usize> {
        self.dropped += 1;
        let (side, longest) = self.loser(class)?;
        // It has several: its class keeps its turn.
        let slot = self.queues[longest].pop_back().map(|waiting| waiting.slot)?;
        self.lens[side] -= 1;
        Some(slot)
    }

    /// Which side and class gives up a datagram for one of this class; `None`: this class itself.
    fn loser(&self, class: usize) -> Option<(usize, usize)> {
        let own = side_of(class);
        // All places are taken: if this side has less than half of them, the other one has more.
        let side = if self.lens[own] < WAITING / 2 { 1 - own } else { own };
        let classes = if side == 0 { 0..NODES } else { NODES..self.queues.len() };
        let longest = classes.max_by_key(|class| self.queues[*class].len())?;
        // The newcomer counts with its class: who has most already does not push others out.
        if side == own && self.queues[longest].len() <= self.queues[class].len() + 1 {
            return None;
        }
        Some((side, longest))
    }

    /// Hands the datagram whose turn it is to `take`; `None` if nothing waits. Known nodes and
    /// strangers take turns, and within each the classes do.
    pub fn pop<T>(&mut self, take: impl FnOnce(Source, &mut [u8]) -> T) -> Option<T> {
        let first = usize::from(self.strangers_next);
        self.strangers_next = !self.strangers_next;
        let side = if self.turns[first].is_empty() { 1 - first } else { first };
        let class = self.turns[side].pop_front()?;
        let queue = &mut self.queues[class];
        let waiting = queue.pop_front()?;
        if !queue.is_empty() {
            self.turns[side].push_back(class);
        }
        self.lens[side] -= 1;
        self.free.push(waiting.slot);
        let at = waiting.slot * self.slot_len;
        self.bytes.get_mut(at..at + waiting.len).map(|bytes| take(waiting.source, bytes))
    }
}

/// Known nodes are one side, strangers the other.
fn side_of(class: usize) -> usize {
    usize::from(class >= NODES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(sources: &Sources, address: &str) -> Source {
        sources.of(Some(address.parse().unwrap()))
    }

    #[test]
    fn one_packet_of_a_neighbour_does_not_wait_for_a_flood() {
        let mut sources = Sources::default();
        sources.set_nodes(["10.0.0.1:4000".parse().unwrap()].into_iter());
        let mut queue = FairQueue::new(4);
        for _ in 0..10 * WAITING {
            queue.push(source(&sources, "192.0.2.9:1"), b"junk");
        }
        assert_eq!(queue.len(), WAITING);
        queue.push(source(&sources, "10.0.0.1:4000"), b"good");
        assert_eq!((queue.len(), queue.dropped()), (WAITING, 9 * WAITING as u64 + 1));

        let first_two = [(); 2].map(|()| queue.pop(|_, bytes| bytes.to_vec()).unwrap());
        assert!(first_two.contains(&b"good".to_vec()), "{first_two:?}");
    }

    #[test]
    fn a_flood_of_one_address_is_one_source_whatever_its_ports() {
        let sources = Sources::default();
        assert_eq!(source(&sources, "192.0.2.9:1"), source(&sources, "192.0.2.9:2"));
        assert_eq!(source(&sources, "[2001:db8::1]:1"), source(&sources, "[2001:db8::ffff]:2"));
        assert_ne!(source(&sources, "[2001:db8::1]:1"), source(&sources, "[2001:db8:0:1::1]:1"));
    }

    #[test]
    fn strangers_never_share_a_class_with_a_node_of_the_network() {
        let mut sources = Sources::default();
        let node: SocketAddr = "[::1]:41001".parse().unwrap();
        sources.set_nodes([node].into_iter());
        let class = sources.of(Some(node)).class();
        for port in (1..=u16::MAX).filter(|port| *port != node.port()) {
            assert_ne!(sources.of(Some((node.ip(), port).into())).class(), class);
        }
    }

    #[test]
    fn forged_addresses_take_what_strangers_have_and_nothing_more() {
        let mut sources = Sources::default();
        let node: SocketAddr = "10.0.0.1:4000".parse().unwrap();
        sources.set_nodes([node].into_iter());
        let mut queue = FairQueue::new(4);
        for forged in 0..20_000_u32 {
            queue.push(sources.of(Some((forged.to_be_bytes(), 9).into())), b"junk");
        }
        queue.push(sources.of(Some(node)), b"good");
        let first_two = [(); 2].map(|()| queue.pop(|_, bytes| bytes.to_vec()).unwrap());
        assert!(first_two.contains(&b"good".to_vec()), "{first_two:?}");
    }

    #[test]
    fn who_has_most_has_no_room_and_others_do() {
        let mut sources = Sources::default();
        let [flooder, other] = ["10.0.0.1:4000", "10.0.0.2:4000"];
        sources.set_nodes([flooder, other].map(|node| node.parse().unwrap()).into_iter());
        let (flooder, other) = (source(&sources, flooder), source(&sources, other));
        let mut queue = FairQueue::new(4);
        for _ in 0..WAITING {
            assert!(queue.has_room(flooder));
            queue.push(flooder, b"junk");
        }
        // The key of the hash is random: now and then both have one class.
        assert_eq!(
            (queue.has_room(flooder), queue.has_room(other)),
            (false, flooder.class() != other.class())
        );
        queue.pop(|_, _| ());
        assert!(queue.has_room(flooder));
    }

    /// More come at once than one of all classes would have of the room.
    #[test]
    fn a_burst_of_a_node_of_the_network_loses_nothing_to_strangers() {
        let mut sources = Sources::default();
        let node: SocketAddr = "10.0.0.1:4000".parse().unwrap();
        sources.set_nodes([node].into_iter());
        let mut queue = FairQueue::new(4);
        let mut forged = 0..;
        let mut flood = |queue: &mut FairQueue, count| {
            for address in forged.by_ref().take(count) {
                queue.push(sources.of(Some((u32::to_be_bytes(address), 9).into())), b"junk");
            }
        };
        flood(&mut queue, 2000);
        for _ in 0..60 {
            queue.push(sources.of(Some(node)), b"good");
            flood(&mut queue, 10);
        }
        let popped = std::iter::from_fn(|| queue.pop(|_, bytes| bytes == b"good"));
        assert_eq!(popped.filter(|good| *good).count(), 60);
    }

    #[test]
    fn without_a_flood_datagrams_leave_in_the_order_of_their_arrival() {
        let sources = Sources::default();
        let mut queue = FairQueue::new(4);
        for byte in 0..9_u8 {
            queue.push(source(&sources, "192.0.2.9:1"), &[byte; 9]);
        }
        for byte in 0..9_u8 {
            assert_eq!(queue.pop(|_, bytes| bytes.to_vec()), Some(vec![byte; 5]), "cut to one byte more");
        }
        assert!(queue.is_empty() && queue.pop(|_, _| ()).is_none());
    }
}
