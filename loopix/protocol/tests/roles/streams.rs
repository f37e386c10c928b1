//! Each stream leaves when its own law says so, whatever the others do; what comes back waits for
//! nothing but delays and pulls.
//!
//! Times between departures are compared with the exponential law by the distance of Kolmogorov and
//! Smirnov: for n times that follow it, the distance is above sqrt(ln(2 / p) / 2n) with a chance
//! below p (Massart, "The Tight Constant in the Dvoretzky-Kiefer-Wolfowitz Inequality", Annals of
//! Probability 18, 1990).

use std::time::Duration;

use motemix_loopix::files::Profile;
use motemix_loopix::role::{Counters, Rates, Role as _};
use motemix_node::Instant;

use crate::PROFILES;
use crate::world::{World, rates};

/// The chance that a right program fails, for each stream of each network.
const CHANCE: f64 = 1e-9;

/// When each stream of one node left something, and what came back to it.
#[derive(Default)]
struct Departures {
    loops: Vec<Instant>,
    drops: Vec<Instant>,
    messages: Vec<Instant>,
    returned: Vec<Instant>,
}

impl Departures {
    fn note(&mut self, now: Instant, before: &Counters, after: &Counters) {
        let note = |times: &mut Vec<Instant>, before: u64, after: u64| {
            times.extend((before..after).map(|_| now));
        };
        note(&mut self.loops, before.loops_sent, after.loops_sent);
        note(&mut self.drops, before.drops_sent, after.drops_sent);
        note(&mut self.messages, before.messages_sent, after.messages_sent);
        note(&mut self.returned, before.loops_returned, after.loops_returned);
    }
}

/// Lets a network run, and notes what leaves one of its nodes. If it is `busy`, a message always
/// waits.
fn watch(world: &mut World, name: &str, time: Duration, busy: bool) -> Departures {
    const STEP: Duration = Duration::from_micros(500);
    let mut departures = Departures::default();
    let end = world.now + time;
    let mut before = world.counters(name);
    while world.now < end {
        if busy && world.client(name).queued() < 100 {
            world.send(name, "Client2", "there is always something to say");
        }
        // To the next thing that this node does by itself; others do theirs meanwhile.
        let due = world.nodes.get_mut(name).unwrap().role().poll_timeout();
        let next = due.map_or(STEP, |due| (due - world.now).max(STEP));
        world.run(next.min(Duration::from_millis(50)));
        let after = world.counters(name);
        departures.note(world.now, &before, &after);
        before = after;
    }
    departures
}

/// How far the times between departures are from the exponential law with this mean, and how far
/// they may be.
fn distance(times: &[Instant], mean: Duration) -> (f64, f64) {
    let mut gaps: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    gaps.sort_by(f64::total_cmp);
    let number = |number: usize| f64::from(u32::try_from(number).unwrap());
    let count = number(gaps.len());
    let law = |gap: f64| 1.0 - (-gap / mean.as_secs_f64()).exp();
    let apart = |(place, gap): (usize, &f64)| {
        let place = number(place);
        (law(*gap) - place / count).abs().max((law(*gap) - (place + 1.0) / count).abs())
    };
    let farthest = gaps.iter().enumerate().map(apart).fold(0.0, f64::max);
    (farthest, ((2.0 / CHANCE).ln() / (2.0 * count)).sqrt())
}

fn assert_exponential(times: &[Instant], mean: Duration, what: &str) {
    assert!(times.len() > 100, "{what}: {} departures", times.len());
    let (distance, allowed) = distance(times, mean);
    // Times are noted up to half a millisecond late, of means of a second.
    assert!(distance < allowed + 0.002, "{what}: {distance:.3} from the law, {allowed:.3} allowed");
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    // One in a hundred million times is longer.
    assert!(longest < mean.mul_f64(18.4), "{what}: nothing for {longest:?}");
}

/// Livelier than people would want it, so that much happens.
fn lively() -> Rates {
    Rates {
        loops: Duration::from_millis(600),
        drops: Duration::from_millis(700),
        payload: Duration::from_millis(400),
        max_retrieve: 20,
        ..rates()
    }
}

/// Whether all streams of Client1 follow their laws for this long.
fn assert_laws(world: &mut World, time: Duration, busy: bool, what: &str) {
    let sent = watch(world, "Client1", time, busy);
    let what = |stream: &str| format!("{}, {what}, busy: {busy}, {stream}", world.profile);
    let rates = &world.rates;
    assert_exponential(&sent.loops, rates.loops, &what("loops"));
    if busy {
        assert_exponential(&sent.drops, rates.drops, &what("drops"));
        assert_exponential(&sent.messages, rates.payload, &what("messages"));
    } else {
        // Both streams send drop cover: together they are a stream whose rate is the sum.
        let both = 1.0 / (1.0 / rates.drops.as_secs_f64() + 1.0 / rates.payload.as_secs_f64());
        assert_exponential(&sent.drops, Duration::from_secs_f64(both), &what("drops and payload"));
    }
}

#[test]
fn streams_of_a_client_follow_their_laws_idle_and_busy() {
    for profile in PROFILES {
        // Nobody acknowledges what a hardened client says alone: soon all its messages wait for
        // their next try.
        let is_acknowledged = profile == Profile::Hardened;
        for busy in [false, true].into_iter().filter(|busy| !(is_acknowledged && *busy)) {
            let mut world = World::new(profile, 2, 100 + u8::from(busy));
            world.rates = lively();
            world.start("Client1");
            assert_laws(&mut world, Duration::from_secs(300), busy, "alone");
        }
    }
}

#[test]
fn what_arrives_does_not_hold_them_up() {
    for profile in [Profile::Ucl2017, Profile::Hardened] {
        let mut world = World::new(profile, 2, 105);
        world.rates = lively();
        let mut world = world.start_all();
        assert_laws(&mut world, Duration::from_secs(100), true, "in a network");
    }
}

#[test]
fn loops_of_mixes_and_providers_follow_their_law_beside_everything_else() {
    for (profile, name) in [(Profile::Ucl2017, "Mix3"), (Profile::Hardened, "Provider1")] {
        let mut world = World::new(profile, 2, 110);
        world.rates = lively();
        let mut world = world.start_all();
        let sent = watch(&mut world, name, Duration::from_secs(100), false);
        assert_exponential(&sent.loops, world.rates.loops, &format!("{profile} {name}"));
    }
}

/// Two pulls, and the delays on the way.
const WAIT: Duration = Duration::from_secs(5);

/// The longest that the loops of a client stood still while nothing was lost: a pull, and what the
/// stream itself pauses.
#[test]
fn a_loop_is_back_after_the_next_pull_whatever_else_waits_there() {
    for profile in [Profile::Ucl2017, Profile::Fork2018] {
        for seed in 120..122 {
            let mut world = World::new(profile, 2, seed);
            world.rates = lively();
            let mut world = world.start_all();
            // Both clients talk, so that mail and loops share the mailbox.
            for number in 0..300 {
                world.send("Client2", "Client1", &number.to_string());
            }
            let seen = watch(&mut world, "Client1", Duration::from_secs(60), true);
            let end = world.now;
            let in_time = |sent: Instant| seen.returned.iter().filter(|back| **back <= sent + WAIT).count();
            for (number, sent) in seen.loops.iter().enumerate().filter(|(_, sent)| **sent + WAIT < end) {
                let back = in_time(*sent);
                assert!(back > number, "{profile}, seed {seed}: loop {number} of {sent:?} is not back");
            }
        }
    }
}

/// Pulls are answered with many datagrams at once. Packets whose delay is over must not wait until
/// all of them have left.
#[test]
fn packets_that_are_due_leave_in_turn_with_mail() {
    let mut world = World::new(Profile::Ucl2017, 2, 130);
    world.rates = Rates { loops: Duration::ZERO, max_retrieve: 100, ..rates() };
    world.start("Provider1");
    world.start("Client1");
    world.run(Duration::from_secs(3));
    let command = world.command("Mix1", Duration::ZERO);
    let packet = world.packet_with(&["Provider1", "Mix1"], &[command.clone(), command], b"on its way");
    let pull = motemix_loopix::wire::control::Control::Pull { name: "Client1".into() }.datagram();
    let now = world.now;
    let provider = world.provider("Provider1");
    provider.handle_datagram(now, &mut pull.clone()).unwrap();
    provider.handle_datagram(now, &mut packet.clone()).unwrap();
    let mix = 30_000;
    let left =
        std::iter::from_fn(|| provider.poll_transmit(now)).position(|transmit| transmit.to.port == mix);
    assert!(left.is_some_and(|before| before < 2), "{left:?} datagrams left before it");
}
