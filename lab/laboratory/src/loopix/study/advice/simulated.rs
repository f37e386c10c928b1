//! A network of clients, packet by packet, beside the formulas: streams, acknowledgements, tries
//! and mailboxes as `motemix_loopix::role` has them, and nothing that costs time but what a plan
//! counts.

use super::*;
use crate::loopix::study::chance::{Chance, Purpose};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const USERS: u32 = 8;
/// Nothing is measured before, in latencies.
const WARM_UP: f64 = 30.0;

#[derive(Debug, Clone, Copy)]
enum Mail {
    Cover,
    Message(usize),
    Acknowledgement(usize),
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// Somebody has something to say.
    Say(u32),
    /// A turn of the payload stream; of both others.
    Turn(u32),
    Loop(u32),
    Drop(u32),
    Pull(u32),
    /// At a mailbox.
    Arrives(u32, Mail),
}

struct Message {
    from: u32,
    to: u32,
    said: f64,
    tries: u32,
    has_arrived: bool,
}

#[derive(Default)]
struct Client {
    /// Messages, and when they are due.
    outbox: Vec<(usize, f64)>,
    replies: VecDeque<usize>,
    has_replied: bool,
    mailbox: VecDeque<(f64, Mail)>,
}

struct World<'p> {
    wish: &'p Wish,
    plan: &'p Plan,
    chance: Chance,
    now: f64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    clients: Vec<Client>,
    messages: Vec<Message>,
    acknowledged: BTreeSet<usize>,
    latencies: Vec<f64>,
    stream: (f64, f64),
    mailbox: (f64, f64),
}

impl World<'_> {
    fn after(&mut self, seconds: f64, event: Event) {
        #[allow(clippy::cast_sign_loss, reason = "times are not negative")]
        let at = ((self.now + seconds) * 1e9) as u64;
        self.count += 1;
        self.events.insert((at, self.count), event);
    }

    fn next(&mut self, mean: f64, event: Event) {
        let seconds = self.chance.exponential(mean);
        self.after(seconds, event);
    }

    fn other(&mut self, user: u32) -> u32 {
        (user + 1 + self.chance.below(USERS - 1)) % USERS
    }

    /// Through provider and mixes to a mailbox.
    fn send(&mut self, to: u32, mail: Mail) {
        if self.chance.happens(self.wish.loss) {
            return;
        }
        let delays: f64 = (0..DELAYS).map(|_| self.chance.exponential(self.plan.delay_s)).sum();
        // The last link is behind the mailbox.
        self.after(delays + f64::from(LINKS - 1) * self.wish.link_s, Event::Arrives(to, mail));
    }

    fn cover(&mut self, user: u32) {
        let to = self.other(user);
        if self.wish.is_hardened() {
            self.send(to, Mail::Cover);
        }
    }

    fn turn(&mut self, user: u32) {
        let now = self.now;
        let client = &mut self.clients[user as usize];
        let is_turn_of_replies = !std::mem::take(&mut client.has_replied);
        let due = client.outbox.iter().position(|(_, due)| *due <= now);
        if (is_turn_of_replies || due.is_none())
            && let Some(message) = client.replies.pop_front()
        {
            client.has_replied = true;
            let to = self.messages[message].from;
            return self.send(to, Mail::Acknowledgement(message));
        }
        let Some(place) = due else { return self.cover(user) };
        let (number, due) = client.outbox.remove(place);
        let message = &mut self.messages[number];
        message.tries += 1;
        let pause = f64::from(1_u32 << (message.tries - 1).min(4));
        let (to, tries) = (message.to, message.tries);
        if tries == 1 {
            self.stream = (self.stream.0 + now - due, self.stream.1 + 1.0);
        }
        if self.wish.is_hardened() && tries < 12 {
            let plan = self.plan;
            let again = now + pause * patience(plan.delay_s, plan.pull_every_s, plan.stream);
            self.clients[user as usize].outbox.push((number, again));
        }
        self.send(to, Mail::Message(number));
    }

    fn pull(&mut self, user: u32) {
        for _ in 0..self.plan.pull_packets {
            let Some((came, mail)) = self.clients[user as usize].mailbox.pop_front() else { break };
            self.mailbox = (self.mailbox.0 + self.now - came, self.mailbox.1 + 1.0);
            match mail {
                Mail::Cover => {}
                Mail::Message(number) => {
                    let message = &mut self.messages[number];
                    if !std::mem::replace(&mut message.has_arrived, true) {
                        let latency = self.now + self.wish.link_s - message.said;
                        self.latencies.push(latency);
                    }
                    if self.wish.is_hardened() {
                        self.clients[user as usize].replies.push_back(number);
                    }
                }
                Mail::Acknowledgement(number) => {
                    self.acknowledged.insert(number);
                    self.clients[user as usize].outbox.retain(|(other, _)| *other != number);
                }
            }
        }
    }

    fn happens(&mut self, event: Event) {
        let plan = self.plan;
        match event {
            Event::Say(user) => {
                let to = self.other(user);
                let (said, number) = (self.now, self.messages.len());
                self.messages.push(Message { from: user, to, said, tries: 0, has_arrived: false });
                self.clients[user as usize].outbox.push((number, said));
                self.next(1.0 / plan.messages_per_s, event);
            }
            Event::Turn(user) => {
                self.turn(user);
                self.next(1.0 / plan.stream, event);
            }
            Event::Loop(user) => {
                self.send(user, Mail::Cover);
                self.next(1.0 / plan.stream, event);
            }
            Event::Drop(user) => {
                self.cover(user);
                self.next(1.0 / plan.stream, event);
            }
            Event::Pull(user) => {
                self.pull(user);
                if self.wish.is_hardened() {
                    self.next(plan.pull_every_s, event);
                } else {
                    self.after(plan.pull_every_s, event);
                }
            }
            Event::Arrives(user, mail) => self.clients[user as usize].mailbox.push_back((self.now, mail)),
        }
    }

    fn run(wish: &Wish, plan: &Plan, seconds: f64, seed: u64) -> Found {
        let mut world = World {
            wish,
            plan,
            chance: Chance::of(seed, Purpose::Traffic),
            now: 0.0,
            events: BTreeMap::new(),
            count: 0,
            clients: (0..USERS).map(|_| Client::default()).collect(),
            messages: Vec::new(),
            acknowledged: BTreeSet::new(),
            latencies: Vec::new(),
            stream: (0.0, 0.0),
            mailbox: (0.0, 0.0),
        };
        for user in 0..USERS {
            world.next(1.0 / plan.messages_per_s, Event::Say(user));
            world.next(1.0 / plan.stream, Event::Turn(user));
            world.next(1.0 / plan.stream, Event::Loop(user));
            world.next(1.0 / plan.stream, Event::Drop(user));
            let phase = world.chance.unit() * plan.pull_every_s;
            world.after(phase, Event::Pull(user));
        }
        let mut is_warm = false;
        while let Some(((at, _), event)) = world.events.pop_first() {
            #[allow(clippy::cast_precision_loss, reason = "days in nanoseconds")]
            let now = at as f64 / 1e9;
            world.now = now;
            if now > seconds {
                break;
            }
            if !is_warm && now > WARM_UP * wish.latency_s {
                is_warm = true;
                world.latencies.clear();
                (world.stream, world.mailbox) = ((0.0, 0.0), (0.0, 0.0));
            }
            world.happens(event);
        }
        let of_all: u32 = world.messages.iter().map(|message| message.tries).sum();
        let begun = world.messages.iter().filter(|message| message.tries > 0).count();
        #[allow(clippy::cast_precision_loss, reason = "far below 2⁵³")]
        Found {
            latency_s: world.latencies.iter().sum::<f64>() / world.latencies.len() as f64,
            stream_s: world.stream.0 / world.stream.1,
            mailbox_s: world.mailbox.0 / world.mailbox.1,
            tries: f64::from(of_all) / begun as f64,
            messages: world.latencies.len(),
        }
    }
}

#[derive(Debug)]
struct Found {
    latency_s: f64,
    stream_s: f64,
    mailbox_s: f64,
    tries: f64,
    messages: usize,
}

#[test]
fn simulated_clients_take_as_long_as_their_plan_says() {
    let wish = |profile, bytes_per_s, latency_s| Wish::new(profile, bytes_per_s, latency_s);
    let busy = |wish: Wish, messages| Wish { messages_per_s: Some(messages), ..wish };
    let original = wish(Profile::Ucl2017, 20_000.0, 6.0);
    let hardened = wish(Profile::Hardened, 20_000.0, 6.0);
    for (wish, name) in [
        (original, "original"),
        (wish(Profile::Fork2018, 5_000.0, 20.0), "2018"),
        (busy(original, 0.7), "many messages"),
        (hardened, "hardened"),
        (wish(Profile::Hardened, 2_000.0, 60.0), "hardened and slow"),
        (busy(hardened, 0.4), "hardened, many messages"),
        (Wish { loss: 0.1, ..wish(Profile::Hardened, 20_000.0, 15.0) }, "hardened, a tenth lost"),
    ] {
        let plan = wish.plan().unwrap();
        let seconds = 8_000.0 / f64::from(USERS) / plan.messages_per_s + WARM_UP * wish.latency_s;
        let found = World::run(&wish, &plan, seconds, 1);
        let off = |found: f64, said: f64| (found / said - 1.0).abs();
        assert!(found.messages > 6_000, "{name}: {found:?}");
        assert!(off(found.latency_s, plan.latency_s) < 0.03, "{name}: {plan:?} {found:?}");
        // A pull brings several messages to acknowledge at once, which the formula does not know.
        assert!(off(found.stream_s, plan.parts.stream_s) < 0.1, "{name}: {plan:?} {found:?}");
        assert!(off(found.mailbox_s, plan.parts.mailbox_s) < 0.03, "{name}: {plan:?} {found:?}");
        assert!(off(found.tries, plan.tries) < 0.02, "{name}: {plan:?} {found:?}");
    }
}
