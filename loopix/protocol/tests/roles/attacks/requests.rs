//! Attacks on what clients and providers say to each other.

use motemix_loopix::role::DropReason;
use motemix_loopix::wire::control::Control;
use motemix_loopix::wire::hardened::{ControlKey, Request};

use super::*;

impl World {
    /// What only a client and its provider can say.
    fn control_key(&self, client: &str, provider: &str) -> ControlKey {
        ControlKey::of_client(&self.secret(client), &self.key(client), &self.key(provider))
    }

    fn request(&mut self, key: &ControlKey, counter: u64, request: &Request) -> Vec<u8> {
        self.packet(&["Provider1"], &key.sign(counter, request).encode())
    }

    fn bytes_to(&self, to: &str) -> usize {
        self.log.iter().filter(|sight| sight.to == to).map(|sight| sight.bytes.len()).sum()
    }

    /// Nobody is there any more: only the attacker speaks.
    fn alone(mut self, name: &str) -> Self {
        self.nodes.retain(|node, _| node == name);
        self
    }
}

const VICTIM: &str = "198.51.100.7";

fn subscribe_victim() -> Request {
    Request::Subscribe { host: VICTIM.into(), port: 9 }
}

#[test]
fn a_stranger_cannot_redirect_mail() {
    for profile in COMPATIBLE {
        let mut world = World::new(profile, 2, 30).start_all();
        let port = world.entry("Client1").port();
        let other = Some(world.key("Client2").compress());
        for (name, host, port, key) in [
            ("Client1", VICTIM, port, None),
            ("Client1", "127.0.0.1", port + 1, None),
            ("Client1", "127.0.0.1", port, other),
            ("Client2", "127.0.0.1", port + 1, None),
            ("Nobody", VICTIM, 9, None),
        ] {
            let subscribe = Control::Subscribe { name: name.into(), host: host.into(), port, key };
            let refused = world.inject("Provider1", &subscribe.datagram());
            assert_eq!(refused, Err(DropReason::Refused), "{profile} {subscribe:?}");
        }
        assert_still_works(&mut world);
        assert!(world.log.iter().all(|sight| world.nodes.contains_key(&sight.to)), "{profile}");
    }
}

#[test]
fn a_hardened_provider_hears_nothing_outside_of_packets() {
    let mut world = World::new(Profile::Hardened, 2, 31).start_all();
    let subscribe =
        Control::Subscribe { name: "Client1".into(), host: "127.0.0.1".into(), port: 30_008, key: None };
    for control in [subscribe, Control::Pull { name: "Client1".into() }, Control::Dummy] {
        for name in ["Provider1", "Client1"] {
            assert_eq!(world.inject(name, &control.datagram()), Err(DropReason::Malformed));
        }
    }
}

#[test]
fn a_hardened_request_needs_the_key_of_its_user() {
    let mut world = World::new(Profile::Hardened, 2, 32).start_all();
    world.run(seconds(5));
    // Client2 with its own key is not this provider's user; with Client1's id its proof does not
    // hold.
    let own = world.control_key("Client2", "Provider1");
    let request = world.request(&own, u64::MAX, &subscribe_victim());
    assert_eq!(world.inject("Provider1", &request), Err(DropReason::Refused));
    for request in [subscribe_victim(), Request::Pull(Vec::new()), Request::Confirm([0; 16])] {
        let mut payload = own.sign(u64::MAX, &request).encode();
        let id = motemix_loopix::wire::command::node_id(&world.key("Client1"));
        payload[1..9].copy_from_slice(&id);
        let packet = world.packet(&["Provider1"], &payload);
        assert_eq!(world.inject("Provider1", &packet), Err(DropReason::Refused));
    }
    assert_still_works(&mut world);
}

#[test]
fn a_request_that_was_held_back_changes_nothing() {
    let mut world = World::new(Profile::Hardened, 2, 33).start_all().alone("Provider1");
    let key = world.control_key("Client1", "Provider1");
    let later = world.request(&key, 8, &Request::Pull(Vec::new()));
    let _ = world.inject("Provider1", &later);
    for counter in [0, 7, 8] {
        let held_back = world.request(&key, counter, &subscribe_victim());
        assert_eq!(world.inject("Provider1", &held_back), Err(DropReason::Refused), "{counter}");
    }
    assert_eq!(world.bytes_to(&format!("{VICTIM}:9")), 0);
    // A provider that was started again has forgotten the counter, but not the packet.
    world.start("Provider1");
    assert_eq!(world.inject("Provider1", &later), Err(DropReason::Replayed));
}

#[test]
fn a_client_that_lost_count_is_told_by_its_provider_and_has_its_mail() {
    let mut world = World::new(Profile::Hardened, 2, 39).start_all();
    // What an earlier process did whose numbers were far ahead.
    world.start_at("Client1", u64::MAX / 2);
    world.run(seconds(20));
    world.start_at("Client1", 0);
    world.send("Client2", "Client1", "all the same");
    world.run(seconds(60));
    assert_eq!(world.texts("Client1"), ["all the same"]);
    assert!(world.client("Client1").counter() > u64::MAX / 2);
    assert!(world.counters("Client1").pulls_unanswered < 3);
    // The provider said so once, and not again and again.
    let refused = world.counters("Provider1").dropped.refused;
    assert!(refused <= 2, "{refused}");
}

#[test]
fn nobody_but_its_provider_tells_a_client_how_far_it_was() {
    let mut world = quiet(Profile::Hardened, 40);
    world.run(seconds(5));
    let counter = world.client("Client1").counter();
    let tell = |world: &mut World, payload: Vec<u8>| {
        let packet = world.packet(&["Client1"], &payload);
        let before = world.seen("Client1", None).len();
        let outcome = world.inject("Client1", &packet);
        (outcome, world.client("Client1").counter(), world.seen("Client1", None).len() - before)
    };
    let wrong = world.control_key("Client2", "Provider1").last_counter(u64::MAX).encode();
    assert_eq!(tell(&mut world, wrong), (Err(DropReason::Refused), counter, 0));
    let right = world.control_key("Client1", "Provider1");
    // What was said before changes nothing, however often it is repeated.
    assert_eq!(tell(&mut world, right.last_counter(counter - 1).encode()), (Ok(()), counter, 0));
    // A challenge proves no counter.
    let mut challenge = right.challenge([7; 16]).encode();
    (challenge[0], _) = (7, challenge.drain(9..17));
    assert_eq!(tell(&mut world, challenge), (Err(DropReason::Refused), counter, 0));
    // There is no end at which it would stop the client.
    let (outcome, counter, sent) = tell(&mut world, right.last_counter(u64::MAX).encode());
    assert_eq!((outcome, counter, sent), (Ok(()), u64::MAX, 2));
}

#[test]
fn who_repeats_requests_gets_one_answer_a_second_out_of_a_provider() {
    let mut world = World::new(Profile::Hardened, 2, 41).start_all();
    world.run(seconds(10));
    let mut world = world.alone("Provider1");
    let key = world.control_key("Client1", "Provider1");
    world.log.clear();
    for counter in 0..100 {
        let packet = world.request(&key, counter, &subscribe_victim());
        assert_eq!(world.inject("Provider1", &packet), Err(DropReason::Refused));
        world.run(Duration::from_millis(20));
    }
    let told = world.seen("Provider1", Some("Client1")).len();
    assert!((1..=3).contains(&told), "{told}");
    assert_eq!(world.bytes_to(&format!("{VICTIM}:9")), 0);
}

#[test]
fn nobody_makes_a_hardened_provider_send_more_than_he_sends_to_an_address_that_did_not_answer() {
    let mut world = World::new(Profile::Hardened, 2, 34).start_all().alone("Provider1");
    let key = world.control_key("Client1", "Provider1");
    let mut sent = 0;
    for counter in 1..30 {
        let request = match counter % 3 {
            0 => Request::Pull(Vec::new()),
            1 => subscribe_victim(),
            _ => Request::Confirm([counter as u8; 16]),
        };
        let packet = world.request(&key, counter, &request);
        sent += packet.len();
        let _ = world.inject("Provider1", &packet);
    }
    let received = world.bytes_to(&format!("{VICTIM}:9"));
    assert!(received > 0 && received <= sent, "{received} of {sent}");
    // Names are the directory's, and there is no port 0.
    for (counter, (host, port)) in [("victim.example", 9), (VICTIM, 0), ("", 9)].into_iter().enumerate() {
        let subscribe = Request::Subscribe { host: host.into(), port };
        let packet = world.request(&key, 100 + counter as u64, &subscribe);
        assert_eq!(world.inject("Provider1", &packet), Err(DropReason::Refused));
    }
}

#[test]
fn a_hardened_user_gets_two_answers_a_second_and_no_more() {
    let mut world = World::new(Profile::Hardened, 2, 35).start_all();
    world.run(seconds(10));
    let before = world.seen("Provider1", Some("Client1")).len();
    let key = world.control_key("Client1", "Provider1");
    for counter in 0..60 {
        let packet = world.request(&key, u64::MAX / 2 + counter, &Request::Pull(Vec::new()));
        let _ = world.inject("Provider1", &packet);
    }
    let answers = world.seen("Provider1", Some("Client1")).len() - before;
    assert!(answers <= 20 * world.rates.max_retrieve, "{answers}");
}

#[test]
fn strangers_amplify_in_the_originals_profiles_but_only_so_much_and_to_users_alone() {
    for profile in COMPATIBLE {
        let mut world = World::new(profile, 2, 36).start_all();
        world.run(seconds(1));
        let mut world = world.alone("Provider1");
        world.log.clear();
        let pull = Control::Pull { name: "Client1".into() }.datagram();
        for _ in 0..1000 {
            let _ = world.inject("Provider1", &pull);
            world.run(Duration::from_millis(1));
        }
        let answers = world.seen("Provider1", Some("Client1")).len();
        assert!(answers <= 23 * world.rates.max_retrieve, "{profile} {answers}");
        // Within the bound it is still far more than was asked with.
        let bytes = world.bytes_to("Client1");
        assert!(bytes > 5 * 1000 * pull.len(), "{profile}: weakness 9 stays, {bytes}");
        let to_mixes = |to: &str| to.starts_with("Mix");
        assert!(world.log.iter().all(|sight| sight.to == "Client1" || to_mixes(&sight.to)), "{profile}");
    }
}

#[test]
fn a_strangers_challenge_is_not_answered() {
    let mut world = World::new(Profile::Hardened, 2, 37).start_all();
    world.run(seconds(10));
    let wrong = world.control_key("Client2", "Provider1");
    let zeros = [&[4][..], &[0; 32]].concat();
    for payload in [zeros, wrong.challenge([7; 16]).encode(), vec![4; 17]] {
        let packet = world.packet(&["Client1"], &payload);
        let before = world.seen("Client1", None).len();
        let refused = world.inject("Client1", &packet);
        assert!(matches!(refused, Err(DropReason::Refused | DropReason::BadPayload)), "{refused:?}");
        assert_eq!(world.seen("Client1", None).len(), before);
    }
}

#[test]
fn a_client_pulls_by_chance_in_the_hardened_profile_and_by_the_clock_in_the_others() {
    for profile in PROFILES {
        let mut world = quiet(profile, 38);
        world.rates.pull = seconds(2);
        world.start("Client1");
        world.log.clear();
        world.run(seconds(120));
        let times: Vec<_> = world.seen("Client1", None).iter().map(|sight| sight.at).collect();
        let mut pauses: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
        // Subscription and pull leave together.
        pauses.retain(|pause| *pause > 0);
        let (shortest, longest) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
        if profile == Profile::Hardened {
            assert!(longest > &(4 * shortest), "{pauses:?}");
        } else {
            assert_eq!((*shortest, *longest), (2000, 2000), "{profile}: weakness 29 stays");
        }
    }
}
