//! Whatever may happen to a network, as bytes say: for a property and for a fuzzer.

use std::time::Duration;

use motemix_loopix::files::Profile;
use motemix_loopix::pack::{Value, binary, decode};
use motemix_loopix::wire::control::Control;
use motemix_loopix::wire::hardened::{ControlKey, Request};
use motemix_node::Instant;

use super::world::{Node, World};

const NAMES: [&str; 10] =
    ["Mix1", "Mix2", "Mix3", "Mix4", "Mix5", "Mix6", "Provider1", "Provider2", "Client1", "Client2"];
/// Little room, so that being full is usual.
const QUEUE: usize = 24;
const MESSAGES: usize = 4;
const MAILBOX: usize = 100;
/// What a run may cost: in calls, and in virtual time in which nodes send cover, most of it
/// multiplications.
const MOST_CALLS: usize = 48;
const MOST_TIME: Duration = Duration::from_secs(2);
const MOST_TIME_OF_FEW: Duration = Duration::from_secs(16);
/// The mean time between two loops or drops of a node, in a network with little cover.
const QUIET: Duration = Duration::from_secs(120);

/// Decisions, from bytes; zeros when there are no more.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }

    fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    fn name(&mut self) -> &'static str {
        NAMES[usize::from(self.byte()) % NAMES.len()]
    }
}

/// Does what `bytes` say, checks all bounds after each call, and that a message arrives at the end.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let profile = [Profile::Ucl2017, Profile::Fork2018, Profile::Hardened][usize::from(choices.byte()) % 3];
    let mut world = World::new(profile, 2, choices.byte());
    world.limits.queue = QUEUE;
    world.limits.messages = MESSAGES;
    world.rates.push = profile != Profile::Ucl2017 && choices.byte() % 4 == 0;
    // Cover is most of what a run costs, and one loop is like another: three in four networks have
    // little of it, and so do all whose bytes end here.
    let pace = choices.byte();
    if pace % 4 != 3 {
        (world.rates.loops, world.rates.drops) = (QUIET, QUIET);
    }
    let mut world = world.start_all();
    let mut left = if pace >= 224 { MOST_TIME_OF_FEW } else { MOST_TIME };
    for _ in 0..MOST_CALLS {
        if choices.0.is_empty() {
            break;
        }
        call(&mut world, &mut choices, &mut left);
        check(&mut world);
    }
    // That a message still arrives costs more than all calls together: not every run waits for it.
    if pace >= 240 {
        wind_up(&mut world);
    }
}

/// Does one thing. What nodes do by themselves meanwhile is taken from the time that is `left`.
fn call(world: &mut World, choices: &mut Choices<'_>, left: &mut Duration) {
    let at = choices.byte();
    match at % 12 {
        0 => drop(world.inject(choices.name(), choices.bytes())),
        1 => resend(world, choices, |_, _| {}),
        2 => resend(world, choices, |bytes, choices| {
            let place = choices.number() % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= choices.byte().max(1);
            }
        }),
        3 => resend(world, choices, |bytes, choices| bytes.truncate(choices.number())),
        4 => {
            let path: Vec<_> = (0..=choices.byte() % 3).map(|_| choices.name()).collect();
            let packet = world.packet(&path, choices.bytes());
            let _ = world.inject(path[0], &packet);
        }
        5 => {
            let command = choices.bytes();
            let command = decode(command).unwrap_or_else(|_| binary(command));
            if motemix_loopix::pack::encode(&command).len() < 100 {
                let commands = [Value::Nil, command];
                let at = choices.name();
                let packet = world.packet_with(&[at, "Mix1"], &commands, b"");
                let _ = world.inject(at, &packet);
            }
        }
        6 => ask(world, choices),
        7 => {
            let name = choices.name();
            let to =
                Control::Subscribe { name: name.into(), host: "127.0.0.1".into(), port: 30_008, key: None };
            let pull = Control::Pull { name: name.into() };
            for control in [to, pull] {
                let _ = world.inject(choices.name(), &control.datagram());
            }
        }
        8 => {
            let (now, text) = (world.now, choices.bytes());
            let _ = world.client("Client1").send(now, "Client2", text);
        }
        9 => world.start(choices.name()),
        10 => {
            // A clock is set back; what was to be sent is lost.
            let back = Instant::from_micros(choices.number() as u64 * 16);
            let (name, now) = (choices.name(), world.now);
            let Some(node) = world.nodes.get_mut(name) else { return };
            node.role().handle_timeout(back);
            let _ = node.role().handle_datagram(back, &mut choices.bytes().to_vec());
            while node.role().poll_transmit(if at < 128 { back } else { now }).is_some() {}
            node.role().flushed(back);
        }
        _ => {
            let time = Duration::from_millis(choices.number() as u64 / 16);
            if at < 64 {
                // Nobody is awake meanwhile.
                world.now = world.now + 100 * time;
            }
            let time = time.min(*left);
            *left -= time;
            world.run(time);
        }
    }
}

/// A datagram that was once sent comes again, changed or not, at its place or at another.
fn resend(world: &mut World, choices: &mut Choices<'_>, change: impl FnOnce(&mut Vec<u8>, &mut Choices<'_>)) {
    if world.log.is_empty() {
        return;
    }
    let sight = &world.log[choices.number() % world.log.len()];
    let (to, mut bytes) = (sight.to.clone(), sight.bytes.clone());
    change(&mut bytes, choices);
    let elsewhere = choices.byte();
    let to = if elsewhere < 200 && world.nodes.contains_key(&to) { to } else { choices.name().into() };
    let _ = world.inject(&to, &bytes);
}

/// A request that is proved with the client's own key.
fn ask(world: &mut World, choices: &mut Choices<'_>) {
    let of_client = |client, provider| {
        ControlKey::of_client(&world.secret(client), &world.key(client), &world.key(provider))
    };
    let key = of_client("Client1", "Provider1");
    let counter = world.now.as_micros().saturating_sub(choices.number() as u64);
    let payload = match choices.byte() % 4 {
        0 => key.sign(counter, &Request::Subscribe { host: "198.51.100.7".into(), port: 9 }),
        1 => key.sign(counter, &Request::Confirm([choices.byte(); 16])),
        2 => key.sign(counter, &Request::Pull(vec![[choices.byte(); 8]; usize::from(choices.byte() % 80)])),
        _ => key.challenge([choices.byte(); 16]),
    };
    let at = if choices.byte().is_multiple_of(2) { "Provider1" } else { "Client1" };
    let packet = world.packet(&[at], &payload.encode());
    let _ = world.inject(at, &packet);
}

fn check(world: &mut World) {
    for node in world.nodes.values_mut() {
        match node {
            Node::Mix(mix) => assert!(mix.waiting() <= QUEUE),
            Node::Provider(provider) => {
                assert!(provider.waiting() <= 2 * QUEUE);
                assert!(provider.subscribed() <= 2);
                for user in ["Client1", "Client2"] {
                    assert!(provider.mailboxes().waiting(user) <= MAILBOX);
                }
            }
            Node::Client(client) => assert!(client.queued() <= MESSAGES),
        }
    }
}

/// Nobody disturbs any more. In the originals' profiles messages may be lost, so it is said more
/// than once.
fn wind_up(world: &mut World) {
    const TEXT: &[u8] = b"still here";
    for turn in 0..300 {
        let now = world.now;
        if turn % 5 == 0 {
            let _ = world.client("Client1").send(now, "Client2", TEXT);
        }
        // In short turns: what happens after the message has arrived shows nothing more.
        world.run(Duration::from_secs(2));
        if world.received.iter().any(|(name, received)| name == "Client2" && received.message == TEXT) {
            return;
        }
    }
    panic!("{}: no message arrives any more", world.profile);
}
