//! Layers of mixes, simulated, under an observer of every link for whom some of the nodes work.
//!
//! All users send alike. S₀ sends one packet more, the target. The observer notes what happens on
//! the links ([`super::record`]); what it concludes of the target is a [`Trial`], and many of them
//! are a [`Linkability`](super::measures::Linkability). Time is in units of the mean delay of one
//! mix.

use super::super::chance::{Chance, Purpose};
use super::record::{Event, Forwards, Record, backwards, part};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A network, and who watches it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Layers of mixes that a packet passes.
    pub layers: u32,
    /// Mixes in each of them.
    pub width: u32,
    /// ρ = λ/μ of each mix.
    pub pool: f64,
    /// The probability that a mix works for the observer.
    pub corrupt: f64,
    /// Users who send, two at least, and receive.
    pub users: u32,
    /// When a mix sends what it has.
    pub design: Design,
    /// Providers at both ends; none if the observer sees which user gets which packet.
    pub providers: Option<Providers>,
}

/// When a mix sends what it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Design {
    /// Each packet after an exponential time of mean 1.
    Poisson,
    /// Everything as soon as there are so many packets (Chaum, 1981).
    Threshold {
        /// Packets.
        size: u32,
    },
    /// At regular times, everything but a pool of packets drawn at random (Serjantov, Dingledine
    /// and Syverson, 2002).
    TimedPool {
        /// Time from one to the next.
        every: f64,
        /// Packets that stay.
        keep: u32,
    },
}

/// Providers. A client's packets enter through its own, which delays them like a mix, and end at
/// the receiver's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Providers {
    /// How many.
    pub count: u32,
    /// The probability that one works for the observer. A corrupt provider tells which packet is
    /// which when it delays them. Of the packets that end with it, it knows which are dropped,
    /// which are its own loops, and for which mailbox each other one is.
    pub corrupt: f64,
}

/// What one target showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Entropy of which packet is the target after the last layer, bits.
    pub packet_bits: f64,
    /// −log₂ of the greatest probability that a packet is the target, bits.
    pub packet_min_bits: f64,
    /// Entropy of which user gets it, bits.
    pub user_bits: f64,
    /// −log₂ of the probability of the packet that it is: of the same mean as `packet_bits` if the
    /// observer is right.
    pub surprise: f64,
    /// Entropy of which user sent it, bits.
    pub sender_bits: f64,
    /// −log₂ of the greatest probability that a user sent it, bits.
    pub sender_min_bits: f64,
    /// How likely it is that other users sent it and not S₀: p/p₀ of each for whom it is not zero.
    pub others: Vec<f64>,
    /// How likely it is that other users get it and not the one who does, in the same way.
    pub other_receivers: Vec<f64>,
    /// Users in the network.
    pub users: u32,
}

/// Streams of a client: payload, loops, drops. All are as frequent.
const STREAMS: u32 = 3;
/// A run ends when less of the target than this is in the network.
const NOTHING: f64 = 1e-9;
/// Mean delays for each layer before the target is sent.
const BEFORE: f64 = 8.0;
/// Billionths of the mean delay: events are ordered by whole numbers.
const TICKS: f64 = 1e9;
/// Nobody's packet: a provider's loop.
const NOBODY: u32 = u32::MAX;

/// Where a packet ends, as its last provider knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// In the mailbox of this user.
    Mailbox(u32),
    /// It is dropped at a provider.
    Dropped(u32),
    /// It is a loop of this provider.
    Returned(u32),
}

/// A packet on its way.
#[derive(Debug, Clone, Copy)]
struct Packet {
    link: u32,
    /// Layers that it has passed; the provider it enters by counts as one.
    layer: u32,
    mix: u32,
    end: End,
    is_target: bool,
    sent: u64,
}

/// What happens next: a packet leaves its mix, or a mix sends what it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Leaves(usize),
    Flushes(u32),
}

/// What left the last layer, and with how much of the target.
struct Ended {
    mass: f64,
    end: End,
    is_target: bool,
}

impl Network {
    /// Poisson mixes that are all honest; the observer sees which user gets which packet.
    pub fn honest(layers: u32, width: u32, pool: f64, users: u32) -> Self {
        let design = Design::Poisson;
        Self { layers, width, pool, corrupt: 0.0, users, design, providers: None }
    }

    /// One target.
    pub fn trial(&self, seed: u64) -> Trial {
        Run::new(self, Chance::of(seed, Purpose::Network)).finish()
    }

    /// Mean time from the first layer's beginning to the last one's end, of `packets` packets.
    pub fn latency(&self, packets: u32, seed: u64) -> f64 {
        Run::new(self, Chance::of(seed, Purpose::Network)).latency(packets)
    }

    /// Packets that clients send in a mean delay.
    fn rate(&self) -> f64 {
        self.pool * f64::from(self.width)
    }

    fn mixes(&self) -> u32 {
        self.layers * self.width
    }

    /// The share of packets that users send and that end in mailboxes, of all that end.
    fn share_of_mail(&self, providers: Providers) -> f64 {
        let (users, loops) = (f64::from(self.users), f64::from(providers.count) / f64::from(STREAMS));
        users * f64::from(STREAMS - 1) / f64::from(STREAMS) / (users + loops)
    }
}

struct Run<'n> {
    network: &'n Network,
    chance: Chance,
    record: Record,
    forwards: Forwards,
    /// Who sent the packets that entered: their numbers on links, and users.
    entered: Vec<(u32, u32)>,
    packets: Vec<Packet>,
    free: Vec<usize>,
    /// Places of the packets in each mix; only of mixes that flush.
    inside: Vec<Vec<usize>>,
    agenda: BinaryHeap<Reverse<(u64, Next)>>,
    now: u64,
    ended: Vec<Ended>,
    /// Mass of the target that has left, and its number on the last link.
    left: f64,
    target: Option<u32>,
    /// Sum and number of the times that packets took.
    took: (f64, u32),
}

impl<'n> Run<'n> {
    fn new(network: &'n Network, mut chance: Chance) -> Self {
        let mut corrupt: Vec<bool> = (0..network.mixes()).map(|_| chance.happens(network.corrupt)).collect();
        if let Some(providers) = network.providers {
            corrupt.extend((0..providers.count).map(|_| chance.happens(providers.corrupt)));
        }
        let mixes = corrupt.len();
        let mut run = Self {
            network,
            chance,
            record: Record { corrupt, ..Record::default() },
            forwards: Forwards::new(mixes),
            entered: Vec::new(),
            packets: Vec::new(),
            free: Vec::new(),
            inside: vec![Vec::new(); mixes],
            agenda: BinaryHeap::new(),
            now: 0,
            ended: Vec::new(),
            left: 0.0,
            target: None,
            took: (0.0, 0),
        };
        if let Design::TimedPool { every, .. } = network.design {
            for mix in 0..u32::try_from(mixes).unwrap_or(0) {
                let phase = ticks(run.chance.unit() * every);
                run.agenda.push(Reverse((phase, Next::Flushes(mix))));
            }
        }
        run
    }

    fn finish(mut self) -> Trial {
        let layers = self.network.layers + u32::from(self.network.providers.is_some());
        let sent_at = ticks(BEFORE * f64::from(layers));
        let mut comes = ticks(self.chance.exponential(1.0 / self.network.rate()));
        let mut returns = self.next_return(0);
        let mut is_sent = false;
        while self.target.is_none() || self.left < 1.0 - NOTHING {
            let next = self.agenda.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            let next_sent = if is_sent { u64::MAX } else { sent_at };
            let first = comes.min(next).min(returns);
            self.now = first.min(next_sent);
            if next_sent <= first {
                self.send(0, true);
                is_sent = true;
            } else if comes == first {
                let user = self.chance.below(self.network.users);
                self.send(user, false);
                comes = self.now + ticks(self.chance.exponential(1.0 / self.network.rate())).max(1);
            } else if returns == first {
                self.send(NOBODY, false);
                returns = self.next_return(self.now);
            } else {
                self.happen();
            }
        }
        self.conclude()
    }

    fn latency(mut self, packets: u32) -> f64 {
        let before = ticks(BEFORE * f64::from(self.network.layers));
        let mut comes = 0;
        while self.took.1 < packets {
            let next = self.agenda.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
            self.now = comes.min(next);
            if comes <= next {
                self.send(0, false);
                comes = self.now + ticks(self.chance.exponential(1.0 / self.network.rate()));
            } else {
                self.happen();
            }
            if self.now < before {
                self.took = (0.0, 0);
            }
        }
        self.took.0 / f64::from(self.took.1)
    }

    /// When the next loop of a provider enters.
    fn next_return(&mut self, now: u64) -> u64 {
        let Some(providers) = self.network.providers else { return u64::MAX };
        // Each as often as a client's loops.
        let of_client = self.network.rate() / f64::from(self.network.users * STREAMS);
        now + ticks(self.chance.exponential(1.0 / (of_client * f64::from(providers.count)))).max(1)
    }

    fn number(&mut self) -> u32 {
        self.record.links += 1;
        self.record.links - 1
    }

    fn see(&mut self, event: Event) {
        self.record.events.push(event);
        self.forwards.see(event, &self.record.corrupt);
    }

    /// A packet enters the first layer, or its provider before it.
    fn send(&mut self, user: u32, is_target: bool) {
        let link = self.number();
        if is_target {
            self.forwards.mark(link);
        }
        self.entered.push((link, user));
        let (end, layer, mix) = match self.network.providers {
            // Who gets it does not matter to those who see it.
            None => (End::Mailbox(self.chance.below(self.network.users)), 1, self.draw_mix(1)),
            Some(providers) if user == NOBODY => {
                let provider = self.chance.below(providers.count);
                (End::Returned(provider), 0, self.network.mixes() + provider)
            }
            Some(providers) => {
                let stream = if is_target { 0 } else { self.chance.below(STREAMS) };
                let end = match stream {
                    0 => End::Mailbox(self.chance.below(self.network.users)),
                    1 => End::Mailbox(user),
                    _ => End::Dropped(self.chance.below(providers.count)),
                };
                (end, 0, self.network.mixes() + user % providers.count)
            }
        };
        self.enter(Packet { link, layer, mix, end, is_target, sent: self.now });
    }

    /// A mix of a layer, which are counted from one.
    fn draw_mix(&mut self, layer: u32) -> u32 {
        (layer - 1) * self.network.width + self.chance.below(self.network.width)
    }

    fn enter(&mut self, packet: Packet) {
        self.see(Event::Came { mix: packet.mix, link: packet.link });
        let place = if let Some(place) = self.free.pop() {
            self.packets[place] = packet;
            place
        } else {
            self.packets.push(packet);
            self.packets.len() - 1
        };
        if self.network.design == Design::Poisson {
            let at = self.now + ticks(self.chance.exponential(1.0));
            self.agenda.push(Reverse((at, Next::Leaves(place))));
            return;
        }
        let inside = &mut self.inside[packet.mix as usize];
        inside.push(place);
        if let Design::Threshold { size } = self.network.design
            && inside.len() >= size as usize
        {
            self.flush(packet.mix, 0);
        }
    }

    fn happen(&mut self) {
        match self.agenda.pop() {
            Some(Reverse((_, Next::Leaves(place)))) => self.leave(place),
            Some(Reverse((at, Next::Flushes(mix)))) => {
                if let Design::TimedPool { every, keep } = self.network.design {
                    self.flush(mix, keep as usize);
                    self.agenda.push(Reverse((at + ticks(every).max(1), Next::Flushes(mix))));
                }
            }
            None => {}
        }
    }

    /// Sends all but some, which are drawn at random like the order of the others.
    fn flush(&mut self, mix: u32, keep: usize) {
        let mut going = Vec::new();
        let inside = &mut self.inside[mix as usize];
        while inside.len() > keep {
            let count = u32::try_from(inside.len()).unwrap_or(u32::MAX);
            going.push(inside.swap_remove(self.chance.below(count) as usize));
        }
        for place in going {
            self.leave(place);
        }
    }

    fn leave(&mut self, place: usize) {
        let mut packet = self.packets[place];
        self.free.push(place);
        let was = packet.link;
        packet.link = self.number();
        self.see(Event::Left { mix: packet.mix, link: packet.link, was });
        packet.layer += 1;
        if packet.layer <= self.network.layers {
            packet.mix = self.draw_mix(packet.layer);
            self.enter(packet);
            return;
        }
        let mass = self.forwards.mass(packet.link);
        self.left += mass;
        if mass > 0.0 || packet.is_target {
            self.ended.push(Ended { mass, end: packet.end, is_target: packet.is_target });
        }
        if packet.is_target {
            self.target = Some(packet.link);
        }
        #[allow(clippy::cast_precision_loss, reason = "far below 2⁵³")]
        let took = (self.now - packet.sent) as f64 / TICKS;
        self.took = (self.took.0 + took, self.took.1 + 1);
    }

    fn conclude(self) -> Trial {
        let (weights, of_users) = self.receivers();
        let all: f64 = weights.iter().sum();
        let of_target = self.ended.iter().zip(&weights).find(|(ended, _)| ended.is_target);
        let of_target = of_target.map_or(1.0, |(_, weight)| weight / all);
        let most = weights.iter().copied().fold(0.0, f64::max) / all;
        let senders = self.senders();
        let sent: f64 = senders.iter().sum();
        let likeliest = senders.iter().copied().fold(0.0, f64::max) / sent;
        let others = senders.iter().skip(1).filter(|mass| **mass > 0.0).map(|mass| mass / senders[0]);
        let got = self.ended.iter().find(|ended| ended.is_target).map(|ended| ended.end);
        let receiver = if let Some(End::Mailbox(user)) = got { user as usize } else { 0 };
        let others_get =
            of_users.iter().enumerate().filter(|(user, weight)| *user != receiver && **weight > 0.0);
        let other_receivers = others_get.map(|(_, weight)| weight / of_users[receiver]);
        Trial {
            packet_bits: weights.iter().map(|weight| part(weight / all)).sum(),
            packet_min_bits: -libm::log2(most),
            user_bits: of_users.iter().map(|weight| part(weight / all)).sum(),
            surprise: -libm::log2(of_target.max(NOTHING)),
            sender_bits: senders.iter().map(|mass| part(mass / sent)).sum(),
            sender_min_bits: -libm::log2(likeliest),
            others: others.collect(),
            other_receivers: other_receivers.collect(),
            users: self.network.users,
        }
    }

    /// The masses of the packets that left, weighed by what their last provider tells, and those of
    /// the users who get them.
    ///
    /// What a corrupt provider sees of a packet is as much likelier of the target, which is a
    /// message, as there are packets that are none. An honest one tells nothing, and any of its
    /// users may get what ends there.
    fn receivers(&self) -> (Vec<f64>, Vec<f64>) {
        let mut of_users = vec![0.0; self.network.users as usize];
        let weigh = |ended: &Ended| {
            let Some(providers) = self.network.providers else {
                if let End::Mailbox(user) = ended.end {
                    of_users[user as usize] += ended.mass;
                }
                return ended.mass;
            };
            let provider = match ended.end {
                End::Mailbox(user) => user % providers.count,
                End::Dropped(provider) | End::Returned(provider) => provider,
            };
            if self.record.corrupt[(self.network.mixes() + provider) as usize] {
                let End::Mailbox(user) = ended.end else { return 0.0 };
                let weight = ended.mass / self.network.share_of_mail(providers);
                of_users[user as usize] += weight;
                return weight;
            }
            let users = of_users.iter_mut().skip(provider as usize).step_by(providers.count as usize);
            #[allow(clippy::cast_precision_loss, reason = "a number of users")]
            let share = ended.mass / users.len() as f64;
            users.for_each(|user| *user += share);
            ended.mass
        };
        (self.ended.iter().map(weigh).collect(), of_users)
    }

    /// The probability of each user that the target is his or hers.
    fn senders(&self) -> Vec<f64> {
        let mut senders = vec![0.0; self.network.users as usize];
        if let Some(target) = self.target {
            let masses = backwards(&self.record, target);
            for (link, user) in &self.entered {
                if let Some(sender) = senders.get_mut(*user as usize) {
                    *sender += masses[*link as usize];
                }
            }
        }
        senders
    }
}

#[allow(clippy::cast_sign_loss, reason = "delays are not negative")]
fn ticks(delay: f64) -> u64 {
    libm::round(delay * TICKS) as u64
}
