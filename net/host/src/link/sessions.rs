//! Protected datagrams between the nodes of a network: what passes over sockets where the network
//! document says that links are protected.
//!
//! ```text
//! packet ─ whose session? ─ seal ─ socket ─ socket ─ from whom? ─ open (a new number?) ─ packet
//!              └─ none yet: some wait ─ handshake
//! ```
//!
//! Each neighbour has handshakes of its own, so that one that is silent holds up no other. There
//! are no sockets and no clock here: the owner hands in what arrives, and sends what it is given.
//! `docs/spec/link/datagrams.md` is normative.

mod counters;
mod keys;
mod neighbour;

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use motemix_crypto::{PublicKey, Secret};
use motemix_directory::{Epoch, link_address};
use motemix_link::Instant;
use motemix_link::counters::LinkDrop;
use motemix_link::meeting::admitted;
use motemix_link::protection::KEY_LEN;
use motemix_link::serial::ExtendedAddress;
pub use motemix_link::sessions::PAYLOAD_OVERHEAD;
use motemix_link::sessions::station_at;
use motemix_neighbour::datagram::Datagram;

pub use counters::SessionCounters;
use neighbour::{Described, Neighbour, Opened, Own};

use super::key_log::{self, DatagramKeyLog};
use super::{Outbox, Outgoing};
use motemix_os::memory;
use motemix_os::rng::HostRng;

/// Packets that wait for keys at most, to all neighbours together.
const WAITING: usize = 1024;
/// Nodes behind one address that are told apart by their keys alone.
const SHARING: usize = 16;
/// Keys that are tried in a second, at most, on packets from ports that no document names: a
/// neighbour behind a translator of addresses needs one that fits, and its port is known from then
/// on.
const TRIES: u64 = 1000;
/// As many may be tried at once: for several such packets.
const TRIES_AT_ONCE: u64 = 256;
/// Datagrams that wait for the owner to send them: more leave with the next round.
const LEAVING: usize = 2 * WAITING;

/// What sessions have to know of a network document.
pub struct SocketNetwork {
    /// Its nodes.
    pub nodes: Vec<SocketNode>,
    /// The document's epoch.
    pub epoch: Epoch,
    /// This node's mix key of that epoch.
    pub own_key: (Box<Secret<32>>, PublicKey),
}

/// A node of the document.
pub struct SocketNode {
    /// What the document calls it. Keys go with a node that gives its address to another one.
    pub name: String,
    /// All that the document has for it.
    pub addresses: Vec<SocketAddr>,
    /// The one that a socket here reaches; `None`: none does.
    pub route: Option<SocketAddr>,
    /// Its key of the epoch.
    pub mix_key: PublicKey,
}

/// The sessions of a node with its neighbours.
pub struct Sessions {
    packet_len: usize,
    own: Option<Own>,
    /// By what name neighbours know this node, since the last document.
    station: Option<ExtendedAddress>,
    #[expect(clippy::vec_box, reason = "their secrets stay where they are when the list changes")]
    neighbours: Vec<Box<Neighbour>>,
    by_address: HashMap<SocketAddr, usize>,
    by_ip: HashMap<IpAddr, Vec<usize>>,
    /// Addresses besides those of the document from which neighbours sent what was theirs.
    learned: HashMap<SocketAddr, usize>,
    /// How many packets wait.
    waiting: usize,
    /// Where datagrams are opened.
    opened: Vec<u8>,
    leaving: VecDeque<(SocketAddr, Vec<u8>)>,
    tries: Tries,
    /// Not later than the first time at which a neighbour has something to do.
    due: Option<Instant>,
    counters: SessionCounters,
    /// Where keys are written down, if they are.
    key_log: Option<DatagramKeyLog>,
    rng: HostRng,
}

impl Sessions {
    /// Without neighbours, for packets of `packet_len` bytes.
    pub fn new(packet_len: usize, rng: HostRng) -> Self {
        Self {
            packet_len,
            own: None,
            station: None,
            neighbours: Vec::new(),
            by_address: HashMap::new(),
            by_ip: HashMap::new(),
            learned: HashMap::new(),
            waiting: 0,
            opened: vec![0; packet_len + PAYLOAD_OVERHEAD],
            leaving: VecDeque::new(),
            tries: Tries { left: TRIES_AT_ONCE, counted: Instant::default() },
            due: None,
            counters: SessionCounters::default(),
            key_log: None,
            rng,
        }
    }

    /// Writes the keys of neighbours down from now on.
    pub fn write_keys(&mut self, log: DatagramKeyLog) {
        self.key_log = Some(log);
    }

    /// Has sessions with the nodes of this network from now on, and keeps those with the nodes of
    /// the one before, whose packets are under way.
    pub fn follow(&mut self, network: SocketNetwork) {
        let SocketNetwork { nodes, epoch, own_key: (secret, public) } = network;
        let me = nodes.iter().find(|node| node.mix_key == public).and_then(|node| name_of(&node.addresses));
        let own = Own { station: me.unwrap_or(ExtendedAddress([0; 8])), secret, public, epoch };
        // Neighbours know a node that has moved by another name.
        if self.station.replace(own.station).is_some_and(|before| before != own.station) {
            self.neighbours.clear();
        }
        let mut known: HashMap<_, _> = std::mem::take(&mut self.neighbours)
            .into_iter()
            .map(|neighbour| (neighbour.station(), neighbour))
            .collect();
        for node in nodes.iter().filter(|node| node.mix_key != public) {
            let (Some(station), Some(route)) = (name_of(&node.addresses), node.route) else { continue };
            let admitted = Some(admitted(node.mix_key.0, epoch.0));
            let addresses = node.addresses.clone();
            let described = Described { name: node.name.clone(), station, addresses, route, admitted };
            // Another node at that address must not be taken for the one that was there.
            let before = known.remove(&station).filter(|before| before.name() == node.name);
            let mut neighbour = match before {
                Some(mut neighbour) => {
                    neighbour.describe(described);
                    neighbour
                }
                None => Box::new(Neighbour::new(described, &own, &mut self.rng)),
            };
            neighbour.prove(&own);
            self.neighbours.push(neighbour);
        }
        // What was in the document before this one stays for one more.
        self.neighbours.extend(known.into_values().filter_map(|mut old| old.is_of_the_past().then_some(old)));
        self.own = Some(own);
        self.index();
    }

    /// Makes keys with all neighbours now, before there is a packet for them: for a node that was
    /// started, whose neighbours may still seal for the one that it was before.
    pub fn call_all(&mut self) {
        self.neighbours.iter_mut().for_each(|neighbour| neighbour.want_key());
        self.look_around();
    }

    fn index(&mut self) {
        self.look_around();
        self.by_address.clear();
        self.by_ip.clear();
        self.learned.clear();
        // Those of the past first: their addresses may be others' now.
        let places = || self.neighbours.iter().enumerate().rev();
        for (place, neighbour) in places() {
            for address in neighbour.addresses() {
                self.by_address.insert(*address, place);
            }
        }
        for (place, neighbour) in places().filter(|(_, neighbour)| neighbour.is_admitted()) {
            for address in neighbour.addresses() {
                let sharing = self.by_ip.entry(address.ip()).or_default();
                if sharing.len() < SHARING && !sharing.contains(&place) {
                    sharing.push(place);
                }
            }
        }
    }

    /// The epoch is over, and its key is gone: no more handshakes until the next one.
    pub fn forget_key(&mut self) {
        self.own = None;
        self.neighbours.iter_mut().for_each(|neighbour| neighbour.forget_identity());
    }

    /// Opens a datagram in its place. Returns the packet's length and the address at which the
    /// document has its sender; `None` if there is no packet in it, which is counted if it is a
    /// drop.
    pub fn open(
        &mut self,
        now: Instant,
        from: Option<SocketAddr>,
        datagram: &mut [u8],
    ) -> Option<(usize, SocketAddr)> {
        let opened = self.open_of(now, from, datagram);
        opened.unwrap_or_else(|reason| {
            self.counters.drop(reason);
            None
        })
    }

    fn open_of(
        &mut self,
        now: Instant,
        from: Option<SocketAddr>,
        datagram: &mut [u8],
    ) -> Result<Option<(usize, SocketAddr)>, LinkDrop> {
        let from = from.ok_or(LinkDrop::Stranger)?;
        let known = self.by_address.get(&from).or_else(|| self.learned.get(&from)).copied();
        // Behind a translator of addresses ports change: it is one of the nodes with that address.
        // What it sends shows which, because it is authenticated.
        let candidates = if known.is_some() { 1 } else { self.by_ip.get(&from.ip()).map_or(0, Vec::len) };
        if known.is_none() && is_packet(datagram) && !self.tries.take(now, candidates as u64) {
            self.counters.untried += 1;
            return Ok(None);
        }
        let mut outcome = Err(LinkDrop::Stranger);
        for turn in 0..candidates {
            let place = known.or_else(|| self.by_ip.get(&from.ip())?.get(turn).copied());
            let Some((place, neighbour)) =
                place.and_then(|place| Some((place, self.neighbours.get_mut(place)?)))
            else {
                continue;
            };
            let was_unprotected = neighbour.is_unprotected();
            let opened = neighbour.open(now, candidates == 1, datagram, &mut self.opened, self.packet_len);
            match (was_unprotected, neighbour.is_unprotected()) {
                (false, true) => self.counters.unprotected_from += 1,
                (true, false) => {
                    self.counters.unprotected_from = self.counters.unprotected_from.saturating_sub(1)
                }
                _ => {}
            }
            if !matches!(opened, Ok(Opened::Handshake)) {
                self.due = [self.due, neighbour.poll_timeout()].into_iter().flatten().min();
            }
            match opened {
                Ok(Opened::Packet(packet)) => {
                    let slot = datagram.get_mut(..packet.len()).ok_or(LinkDrop::BadHeader)?;
                    slot.copy_from_slice(packet);
                    let found = (slot.len(), neighbour.route());
                    if known.is_none() {
                        self.learned.retain(|_, other| *other != place);
                        self.learned.insert(from, place);
                    }
                    return Ok(Some(found));
                }
                Ok(Opened::Handshake) => {
                    outcome = Ok(None);
                    if self.progress(now, place) {
                        self.look_around();
                    }
                }
                // It is this neighbour's.
                Err(reason @ (LinkDrop::RepeatedFrame | LinkDrop::BadHeader)) => return Err(reason),
                Err(reason) if !matches!(outcome, Ok(None) | Err(LinkDrop::Forged)) => outcome = Err(reason),
                Err(_) => {}
            }
        }
        outcome
    }

    /// Seals packets that are to leave into `sealed`, which has room for as many. Those whose
    /// neighbour has no key yet wait for one.
    pub fn seal<'p>(
        &mut self,
        now: Instant,
        packets: impl Iterator<Item = Outgoing<'p>>,
        sealed: &mut Outbox,
    ) {
        for packet in packets {
            let neighbour = self.by_address.get(&packet.to).and_then(|place| self.neighbours.get_mut(*place));
            let Some(neighbour) = neighbour else {
                self.counters.drop(LinkDrop::NoNeighbour);
                continue;
            };
            let Some(slot) = sealed.next_slot() else { break };
            match neighbour.seal(packet.bytes, slot) {
                Some(len) => sealed.push(neighbour.route(), len),
                None if neighbour.wait(now, packet.bytes, self.waiting < WAITING) => self.waiting += 1,
                None => self.counters.drop(LinkDrop::QueueFull),
            }
            self.due = [self.due, neighbour.poll_timeout()].into_iter().flatten().min();
        }
    }

    /// Moves handshakes forward, and gives up what has waited for too long.
    pub fn poll(&mut self, now: Instant) {
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        for place in 0..self.neighbours.len() {
            if self.neighbours[place].poll_timeout().is_some_and(|due| due <= now) {
                self.progress(now, place);
            }
        }
        self.look_around();
    }

    /// When [`poll`](Self::poll) has something to do.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// `true` if a handshake has ended.
    fn progress(&mut self, now: Instant, place: usize) -> bool {
        let Self { neighbours, leaving, counters, rng, packet_len, due, key_log, station, .. } = self;
        let Some(neighbour) = neighbours.get_mut(place) else { return false };
        let (route, me, peer) = (neighbour.route(), *station, neighbour.station());
        let leave = |datagram| {
            if leaving.len() < LEAVING {
                leaving.push_back((route, datagram));
            }
        };
        let note = |key: &Secret<KEY_LEN>| {
            if let Some(me) = me {
                key_log::note_of_datagrams(key_log, [me, peer], key);
            }
        };
        // Handshakes are seldom, and multiply: what they had on the stack goes at once.
        let told = memory::wiped(|| neighbour.progress(now, *packet_len, rng, leave, note));
        counters.add(told);
        *due = [*due, neighbour.poll_timeout()].into_iter().flatten().min();
        told.keys + told.failed > 0
    }

    /// Looks at all neighbours: at what they wait for, and how many are how.
    fn look_around(&mut self) {
        let many = |is: fn(&Neighbour) -> bool| self.neighbours.iter().filter(|it| is(it)).count() as u64;
        self.counters = SessionCounters {
            neighbours: many(Neighbour::is_admitted),
            with_key: many(Neighbour::has_key),
            without_answer: many(Neighbour::has_failed),
            with_another_key: many(Neighbour::has_another_key),
            unprotected_from: many(Neighbour::is_unprotected),
            ..self.counters
        };
        self.waiting = self.neighbours.iter().map(|neighbour| neighbour.waiting()).sum();
        self.due = self.neighbours.iter().filter_map(|neighbour| neighbour.poll_timeout()).min();
    }

    /// What is to leave besides what [`seal`](Self::seal) sealed, and before it.
    pub fn leaving(&self) -> impl ExactSizeIterator<Item = Outgoing<'_>> + Clone {
        self.leaving.iter().map(|(to, bytes)| Outgoing { to: *to, bytes })
    }

    /// It has left.
    pub fn has_left(&mut self) {
        self.leaving.clear();
    }

    /// What happened so far, and how many neighbours there are.
    pub const fn counters(&self) -> &SessionCounters {
        &self.counters
    }
}

/// How many keys may be tried on what strangers send.
struct Tries {
    left: u64,
    /// Until when those that time has brought are counted.
    counted: Instant,
}

impl Tries {
    fn take(&mut self, now: Instant, keys: u64) -> bool {
        let brought = now.as_micros().saturating_sub(self.counted.as_micros()) * TRIES / 1_000_000;
        if brought > 0 {
            (self.left, self.counted) = ((self.left + brought).min(TRIES_AT_ONCE), now);
        }
        let enough = keys <= self.left;
        self.left -= if enough { keys } else { 0 };
        enough
    }
}

fn is_packet(datagram: &[u8]) -> bool {
    matches!(Datagram::parse(datagram), Ok(Datagram::Protected(_)))
}

/// What all nodes call one that has these addresses.
fn name_of(addresses: &[SocketAddr]) -> Option<ExtendedAddress> {
    link_address(addresses.iter().copied()).map(station_at)
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("neighbours", &self.neighbours.len()).finish_non_exhaustive()
    }
}
