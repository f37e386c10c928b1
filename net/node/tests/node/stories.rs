//! What users rely on, told as stories on virtual time.

use std::collections::HashSet;
use std::time::Duration;

use crate::network::{Network, id, layered, mesh, usual};
use crate::tables::{LARGE, SMALL, Tables};
use motemix_crypto::Portable;
use motemix_directory::{Entry, Epoch};
use motemix_node::{
    Admitted, Config, Digest, DropReason, EpochError, Instant, LinkId, NoJournal, Node, SendError, Storage,
    Timeout,
};
use motemix_sphinx::{Mote, Profile, ReplayError};
use rand_chacha::rand_core::Rng;

const SECOND: Duration = Duration::from_secs(1);
const PACKET_LEN: usize = 280;

#[test]
fn a_reading_reaches_its_receiver_and_the_acknowledgement_its_sender() {
    let mut network = Network::new(layered(2), usual(), 1);
    let message = network.send(6, 7, b"21.5 C");
    network.run(20 * SECOND);
    assert_eq!(network.received.len(), 1);
    assert_eq!((network.received[0].at, network.received[0].data.as_slice()), (7, b"21.5 C".as_slice()));
    assert_eq!(network.ended.len(), 1);
    assert_eq!(
        (network.ended[0].message, network.ended[0].reply.as_deref()),
        (message, Some(b"".as_slice()))
    );
    let there_and_back = network.datagrams.len() / usize::from(network.ended[0].tries);
    assert_eq!(there_and_back, 6, "three hops each way");
}

#[test]
fn a_tenth_of_all_datagrams_is_lost_and_every_message_arrives_once() {
    let mut network = Network::new(layered(3), usual(), 2);
    network.lose(0.1);
    for reading in 0..150_u32 {
        network.send(6 + (reading % 2) as usize, 8, &reading.to_be_bytes());
        network.run(SECOND / 4);
    }
    network.run(40 * SECOND);
    let acknowledged = network.ended.iter().filter(|ended| ended.reply.is_some()).count();
    assert!(acknowledged >= 149, "{acknowledged} of 150 acknowledged");
    let distinct: HashSet<_> = network.received.iter().map(|received| &received.data).collect();
    assert_eq!(distinct.len(), network.received.len(), "no message was handed over twice");
    let counters = network.nodes[8].counters();
    assert!(counters.duplicates > 0, "acknowledgements were lost, so tries came again");
    assert_eq!(counters.delivered, distinct.len() as u64);
}

#[test]
fn a_reply_carries_data_and_is_given_again_if_it_was_lost() {
    let mut network = Network::new(layered(2), usual(), 3);
    network.lose(0.25);
    network.application = Box::new(|received| Some([b"seen ".as_slice(), &received.data].concat()));
    for reading in 0..20_u8 {
        network.send(6, 7, &[reading]);
        network.run(SECOND);
    }
    network.run(60 * SECOND);
    assert!(network.received.iter().any(|received| received.repeated), "at this loss some replies are lost");
    let first_time = network.received.iter().filter(|received| !received.repeated).count();
    assert!(first_time >= 19);
    assert_eq!(network.nodes[7].counters().delivered, first_time as u64);
    let answered = network.ended.iter().filter_map(|ended| ended.reply.as_ref());
    assert!(answered.clone().count() >= 18);
    assert!(answered.into_iter().all(|reply| reply.starts_with(b"seen ")));
}

#[test]
fn a_message_that_cannot_be_made_safe_is_tried_again_and_not_acknowledged_before() {
    let mut network = Network::new(layered(2), usual(), 4);
    let mut refusals = 2;
    network.application = Box::new(move |_| {
        refusals -= 1;
        (refusals < 0).then(Vec::new)
    });
    network.send(6, 7, b"reading");
    network.run(20 * SECOND);
    assert_eq!(network.nodes[7].counters().dropped(DropReason::Unanswered), 2);
    assert_eq!(network.ended.len(), 1);
    assert!(network.ended[0].tries >= 3);
    assert_eq!(network.received.len(), 1);
}

#[test]
fn the_thesis_gives_a_message_up_after_three_tries_of_two_minutes() {
    let mut network = Network::new(mesh(10), Config::thesis(), 5);
    network.air = Box::new(|_, _, _, _| false);
    for reading in 0..10 {
        network.send(0, 1, &[reading]);
    }
    assert_eq!(network.nodes[0].send(network.now, id(1), b"one too many"), Err(SendError::Full));
    network.run(359 * SECOND);
    assert_eq!(network.ended, []);
    network.run(2 * SECOND);
    assert_eq!(network.ended.len(), 10);
    assert!(network.ended.iter().all(|ended| ended.tries == 3 && ended.reply.is_none()));
    assert_eq!(network.nodes[0].counters().retransmitted, 20);
    let datagrams: HashSet<_> = network.datagrams.iter().map(|(_, _, bytes)| bytes).collect();
    assert_eq!(datagrams.len(), 30, "every try is a packet of its own");
}

#[test]
fn every_node_of_a_mesh_sends_forwards_and_receives() {
    let mut network = Network::new(mesh(12), Config::thesis(), 6);
    for round in 0..5 {
        for from in 0..12 {
            network.send(from, (from + 1 + round) % 12, &[from as u8, round as u8]);
        }
        network.run(SECOND);
    }
    network.run(SECOND);
    assert_eq!(network.ended.len(), 60);
    assert!(network.ended.iter().all(|ended| ended.reply.is_some() && ended.tries == 1));
    assert!(network.nodes.iter().all(|node| node.counters().forwarded > 0 && node.counters().delivered == 5));
}

#[test]
fn a_datagram_seen_before_is_refused_even_after_a_restart() {
    let mut network = Network::new(layered(2), usual(), 7);
    network.send(6, 7, b"reading");
    network.run(20 * SECOND);
    let (_, to, datagram) = network.datagrams[0].clone();
    let mix = usize::from(to.get());
    assert_eq!(network.arrive(mix, &datagram), Err(DropReason::Replayed));

    // The mix forgets everything but what it wrote down.
    let mut witness = Network::new(layered(2), usual(), 7);
    witness.arrive(mix, &datagram).expect("the first time");
    let noted = witness.journals[mix].noted.clone();
    assert_eq!(noted.len(), 1, "each packet is noted once");
    let mut restarted = Network::new(layered(2), usual(), 7);
    for admitted in noted {
        restarted.nodes[mix].restore_admitted(admitted).expect("room");
    }
    assert_eq!(restarted.arrive(mix, &datagram), Err(DropReason::Replayed));
}

#[test]
fn messages_under_way_survive_the_boundary_of_two_epochs() {
    let mut network = Network::new(layered(3), usual(), 8);
    for reading in 0..100_u8 {
        network.send(6 + usize::from(reading % 2), 8, &[reading]);
        network.run(SECOND / 10);
        if reading % 20 == 10 {
            network.next_epoch(usual());
        }
    }
    network.run(20 * SECOND);
    assert_eq!(network.ended.len(), 100);
    let first_try = network.ended.iter().filter(|ended| ended.tries == 1 && ended.reply.is_some()).count();
    assert_eq!(first_try, 100, "the key of the epoch before serves for the overlap");
}

#[test]
fn a_mix_key_is_gone_after_the_overlap() {
    let mut network = Network::new(layered(2), usual(), 9);
    network.send(6, 7, b"reading");
    network.run(Duration::ZERO);
    let (_, to, datagram) = network.datagrams[0].clone();
    network.next_epoch(usual());
    network.run(6 * SECOND);
    assert_eq!(network.arrive(usize::from(to.get()), &datagram), Err(DropReason::BadHeaderMac));
}

#[test]
fn a_packet_of_the_next_epoch_is_accepted_as_soon_as_its_key_is_prepared() {
    let mut ahead = Network::new(layered(2), usual(), 10);
    ahead.next_epoch(usual());
    ahead.send(6, 7, b"early");
    ahead.run(Duration::ZERO);
    let (_, to, datagram) = ahead.datagrams[0].clone();
    let mix = usize::from(to.get());

    let mut network = Network::new(layered(2), usual(), 10);
    assert_eq!(network.arrive(mix, &datagram), Err(DropReason::BadHeaderMac), "a future epoch");
    let next = Epoch(network.epoch.0 + 1);
    let key = network.mix_key(mix, next);
    network.nodes[mix].prepare_epoch(next, key).expect("a later epoch");
    assert_eq!(network.arrive(mix, &datagram), Ok(()));

    let key = network.mix_key(mix, network.epoch);
    let earlier = network.nodes[mix].prepare_epoch(network.epoch, key);
    assert_eq!(earlier, Err(EpochError::NotLater));
}

#[test]
fn a_full_replay_filter_admits_nothing_and_says_so() {
    let mut network = Network::new(layered(2), usual(), 11);
    for _ in 0..6 {
        for _ in 0..16 {
            let _ = network.nodes[6].send(network.now, id(7), b"reading");
        }
        network.run(SECOND);
    }
    let busiest = |network: &Network| {
        (0..6).max_by_key(|mix| network.datagrams.iter().filter(|(_, to, _)| *to == id(*mix)).count())
    };
    let mix = busiest(&network).expect("six mixes");
    // Eight segments of one bucket each, of which seven serve one epoch.
    let small = Tables { replay: 64, ..LARGE }.lend();
    let capacity = small.fingerprint.capacity_of(64);
    network.nodes[mix] = Network::node(mix, 12, small);
    let key = network.mix_key(mix, network.epoch);
    network.nodes[mix].prepare_epoch(network.epoch, key).expect("the first epoch");
    let entries = network.entries(network.epoch);
    network.nodes[mix]
        .begin_epoch(network.now, network.epoch, Instant::NEVER, entries.into_iter(), usual())
        .expect("sound");

    let for_mix: Vec<_> = network.datagrams.iter().filter(|(_, to, _)| *to == id(mix)).cloned().collect();
    assert!(for_mix.len() > capacity, "{} datagrams", for_mix.len());
    let outcomes: Vec<_> = for_mix.iter().map(|(_, _, datagram)| network.arrive(mix, datagram)).collect();
    assert!(outcomes[..capacity].iter().all(Result::is_ok));
    assert!(outcomes[capacity..].iter().all(|outcome| *outcome == Err(DropReason::ReplayFilterFull)));
    let fill = network.nodes[mix].replay_fill().current;
    assert_eq!((fill.epoch, fill.tags, fill.capacity), (network.epoch, capacity as u32, capacity as u32));
    assert!(fill.is_full());
    assert_eq!(
        network.arrive(mix, &for_mix[0].2),
        Err(DropReason::Replayed),
        "what it has seen it still knows"
    );
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut config = usual();
    config.parameters.mean_delay = Duration::from_secs(1000);
    let mut network = Network::new(layered(2), config, 13);
    for _ in 0..16 {
        network.send(6, 7, b"reading");
    }
    network.run(Duration::ZERO);
    let mix = 0;
    network.nodes[mix] = Network::node(mix, 12, Tables { packets: 2, ..SMALL }.lend());
    let key = network.mix_key(mix, network.epoch);
    network.nodes[mix].prepare_epoch(network.epoch, key).expect("the first epoch");
    let entries = network.entries(network.epoch);
    network.nodes[mix]
        .begin_epoch(network.now, network.epoch, Instant::NEVER, entries.into_iter(), config)
        .expect("sound");
    let for_mix: Vec<_> = network.datagrams.iter().filter(|(_, to, _)| *to == id(mix)).cloned().collect();
    let full =
        for_mix.iter().filter(|(_, _, datagram)| network.arrive(mix, datagram) == Err(DropReason::QueueFull));
    let full = full.count();
    assert_eq!(full, for_mix.len() - 2);
    assert_eq!(network.nodes[mix].counters().dropped(DropReason::QueueFull), full as u64);
}

#[test]
fn whatever_is_not_a_packet_is_dropped_counted_and_not_answered() {
    let mut network = Network::new(layered(2), usual(), 14);
    for len in [0, 1, PACKET_LEN - 1, PACKET_LEN + 1, 9000] {
        assert_eq!(network.arrive(0, &vec![7; len]), Err(DropReason::WrongLength));
    }
    assert_eq!(network.arrive(0, &[0; PACKET_LEN]), Err(DropReason::NonContributory));
    let mut forged = [0; PACKET_LEN];
    for _ in 0..20 {
        network.rng.fill_bytes(&mut forged);
        assert_eq!(network.arrive(0, &forged), Err(DropReason::BadHeaderMac));
    }
    network.run(SECOND);
    assert_eq!(network.datagrams, []);
    let counters = network.nodes[0].counters();
    assert_eq!(counters.datagrams, 26);
    assert_eq!(counters.dropped(DropReason::WrongLength), 5);
    assert_eq!(counters.dropped(DropReason::BadHeaderMac), 20);
}

#[test]
fn cover_acknowledgements_and_data_have_one_length_and_cover_comes_back() {
    let mut config = usual();
    config.parameters.loop_mean = Some(SECOND);
    config.parameters.drop_mean = Some(SECOND);
    let mut network = Network::new(layered(2), config, 15);
    network.send(6, 7, b"reading");
    network.run(100 * SECOND);
    assert!(network.datagrams.iter().all(|(_, _, bytes)| bytes.len() == PACKET_LEN));
    let total = |count: fn(&motemix_node::Counters) -> u64| -> u64 {
        network.nodes.iter().map(|node| count(node.counters())).sum()
    };
    let (sent, returned) = (total(|c| c.loops_sent), total(|c| c.loops_returned));
    assert!((600..1000).contains(&sent), "eight nodes, one loop a second each: {sent}");
    assert!(sent - returned < 30, "{returned} of {sent} loops came back");
    let (sent, received) = (total(|c| c.drops_sent), total(|c| c.drops_received));
    assert!((600..1000).contains(&sent) && sent - received < 30, "{received} of {sent}");
    assert_eq!(network.ended.len(), 1);
}

#[test]
fn at_a_constant_rate_messages_take_the_place_of_cover() {
    let mut config = usual();
    config.parameters.payload_mean = Some(SECOND / 4);
    let sends_per_node = |messages: u32| {
        let mut network = Network::new(layered(3), config, 16);
        for reading in 0..messages {
            network.send(6, 8, &reading.to_be_bytes());
            network.run(SECOND);
        }
        network.run(Duration::from_secs(u64::from(120 - messages)));
        let ended = network.ended.iter().filter(|ended| ended.reply.is_some()).count();
        assert_eq!(ended, messages as usize);
        let counters = *network.nodes[6].counters();
        let turned = network.nodes[6].counters().turned_empty;
        let own = counters.transmitted - counters.forwarded;
        (own, counters.loops_sent + turned, counters.cover_missed)
    };
    let (idle, idle_cover, _) = sends_per_node(0);
    let (busy, busy_cover, missed) = sends_per_node(50);
    assert!(idle.abs_diff(idle_cover) < 5, "who has nothing to say sends loops and turns those of others");
    // Some that were turned wait for a tick in the end.
    assert!(busy_cover + 30 < busy, "messages were sent in place of cover: {busy_cover} of {busy} are that");
    assert!(idle.abs_diff(busy) < 90, "an observer counts {idle} packets of the idle, {busy} of the busy");
    assert_eq!(missed, 0);
}

#[test]
fn sending_needs_a_network_a_receiver_and_a_length_that_fits() {
    let mut node = Network::node(6, 1, SMALL.lend());
    let now = Instant::from_micros(5);
    assert_eq!(node.send(now, id(7), b"too early"), Err(SendError::NoEpoch));
    assert_eq!(
        node.handle_datagram(now, LinkId(1), &mut [0; PACKET_LEN], &mut NoJournal),
        Err(DropReason::NoEpoch)
    );
    let mut network = Network::new(layered(2), usual(), 1);
    let node = &mut network.nodes[6];
    assert_eq!(node.send(now, id(6), b"to myself"), Err(SendError::UnknownReceiver));
    assert_eq!(node.send(now, id(8), b"to nobody"), Err(SendError::UnknownReceiver));
    assert_eq!(node.send(now, id(7), &[0; 104]), Err(SendError::TooLong { most: 103 }));
    assert_eq!(Mote::<Portable>::GEOMETRY.data_len(), 103);
}

#[test]
fn an_epoch_that_does_not_fit_is_refused() {
    let network = Network::new(layered(2), usual(), 17);
    let mut node = Network::node(0, 1, Tables { nodes: 4, ..SMALL }.lend());
    let begin = |node: &mut crate::network::Mix| {
        node.begin_epoch(
            network.now,
            Epoch(7),
            Instant::NEVER,
            network.entries(Epoch(7)).into_iter(),
            usual(),
        )
    };
    assert_eq!(begin(&mut node), Err(EpochError::NotPrepared));
    node.prepare_epoch(Epoch(7), network.mix_key(0, Epoch(7))).expect("the first");
    assert!(matches!(begin(&mut node), Err(EpochError::Topology(_))), "four places for eight nodes");
    assert_eq!(node.epoch(), None);
    assert_eq!(
        node.restore_admitted(Admitted { epoch: Epoch(3), digest: Digest::from_bits(9) }),
        Ok::<(), ReplayError>(())
    );
}

#[test]
fn killing_a_mix_loses_nothing_that_was_acknowledged() {
    let mut network = Network::new(layered(3), usual(), 18);
    for reading in 0..80_u8 {
        network.send(6 + usize::from(reading % 2), 8, &[reading]);
        network.run(SECOND / 8);
        if reading == 30 {
            // From now on nothing reaches mix 2.
            network.air = Box::new(|_, to, _, _| to != id(2));
        }
    }
    network.run(60 * SECOND);
    let acknowledged: Vec<_> = network.ended.iter().filter(|ended| ended.reply.is_some()).collect();
    assert!(acknowledged.len() >= 79, "{} of 80", acknowledged.len());
    assert!(network.received.len() >= acknowledged.len());
    assert!(network.nodes.iter().map(Node::counters).any(|counters| counters.retransmitted > 0));
}

#[test]
fn a_receiver_that_no_path_can_reach_is_refused_and_a_network_that_shrinks_ends_its_messages() {
    let mut network = Network::new(layered(2), usual(), 19);
    // Mixes 2 and 3 are all there is of layer 1.
    assert_eq!(network.nodes[2].send(network.now, id(3), b"reading"), Err(SendError::NoPath));

    network.send(6, 7, b"reading");
    network.run(Duration::ZERO);
    network.air = Box::new(|_, _, _, _| false);
    network.shrink();
    network.next_epoch(usual());
    network.run(60 * SECOND);
    assert_eq!(network.ended.len(), 1);
    assert_eq!(network.ended[0].reply, None);
}

#[test]
fn messages_to_a_node_that_left_the_network_end_and_hold_up_no_other() {
    let mut network = Network::new(layered(3), usual(), 32);
    network.lose(1.0);
    let under_way = network.send(6, 8, b"lost, to be tried again");
    network.run(Duration::ZERO);
    let unsent = network.send(6, 8, b"waits for its header");
    network.dismiss_last();
    network.next_epoch(usual());
    network.lose(0.0);
    let to_another = network.send(6, 7, b"to one that stays");
    network.run(20 * SECOND);
    let ended = |message| network.ended.iter().find(|ended| ended.message == message);
    assert!(ended(to_another).is_some_and(|ended| ended.reply.is_some()), "{:?}", network.ended);
    for message in [under_way, unsent] {
        assert!(ended(message).is_some_and(|ended| ended.reply.is_none()), "{:?}", network.ended);
    }
    assert_eq!(network.nodes[6].counters().discarded, 2);
}

#[test]
fn messages_go_to_whom_they_were_for_under_another_number_too() {
    let mut network = Network::new(layered(3), usual(), 32);
    network.lose(1.0);
    let under_way = network.send(6, 8, b"lost, to be tried again");
    let to_nobody = network.send(6, 7, b"to one that is there no more");
    network.run(Duration::ZERO);
    // Whoever was 8 is 7 now.
    network.nodes[6].renumber(id(6), |to| (to == id(8)).then_some(id(7)));
    network.next_epoch(usual());
    network.lose(0.0);
    network.run(20 * SECOND);
    let is_acknowledged = |message| {
        network.ended.iter().find(|ended| ended.message == message).expect("it ended").reply.is_some()
    };
    assert_eq!([under_way, to_nobody].map(is_acknowledged), [true, false]);
    let at: Vec<_> = network.received.iter().map(|received| received.at).collect();
    assert_eq!(at, [7]);
    assert_eq!(network.nodes[6].counters().discarded, 1);
}

#[test]
fn a_try_that_waits_for_its_turn_too_long_is_given_up() {
    let mut config = usual();
    config.parameters.transmissions = 2;
    config.timeout = Timeout::Fixed(10 * SECOND);
    config.parameters.payload_mean = Some(20 * SECOND);
    let mut network = Network::new(layered(2), config, 20);
    network.air = Box::new(|_, _, _, _| false);
    for reading in 0..16 {
        network.send(6, 7, &[reading]);
    }
    network.run(4000 * SECOND);
    assert_eq!(network.ended.len(), 16);
    let given_up_early = network.ended.iter().filter(|ended| ended.tries == 1).count();
    assert!(given_up_early > 0, "second tries that waited longer than a message lives are not sent");
}

#[test]
fn building_headers_comes_to_an_end_however_small_the_pool_and_whoever_waits_for_one() {
    let mut config = usual();
    config.parameters.loop_mean = Some(20 * SECOND);
    config.parameters.drop_mean = Some(20 * SECOND);
    config.parameters.payload_mean = Some(20 * SECOND);
    let network = Network::new(layered(9), config, 21);
    let epoch = Epoch(7);
    for places in 0..=6 {
        let tables = Tables { messages: 16, returns: 16, headers: places, ..SMALL };
        let mut node = Network::node(6, 21, tables.lend());
        node.prepare_epoch(epoch, network.mix_key(6, epoch)).expect("the first");
        node.begin_epoch(network.now, epoch, Instant::NEVER, network.entries(epoch).into_iter(), config)
            .expect("a network");
        // Messages wait for a tick of the stream, so that all need a header at the same time.
        for receiver in 7..15 {
            node.send(network.now, id(receiver), b"reading").expect("room for a message");
        }
        let longest = 1000;
        let steps = (0..longest).take_while(|_| node.work(network.now)).count();
        assert!(steps < longest, "a pool of {places} places is never done");
        assert_eq!(node.counters().headers_built, places as u64, "nothing is built to be thrown away");
    }
}

#[test]
fn messages_to_more_receivers_than_the_pool_has_places_all_arrive_beside_cover() {
    let mut config = usual();
    config.parameters.loop_mean = Some(2 * SECOND);
    config.parameters.payload_mean = Some(SECOND);
    let mut network = Network::new(layered(9), config, 22);
    for receiver in 7..15 {
        network.send(6, receiver, b"reading");
    }
    network.run(60 * SECOND);
    assert_eq!(network.ended.iter().filter(|ended| ended.reply.is_some()).count(), 8);
    assert!(network.nodes[6].counters().loops_returned > 10, "loops go on meanwhile");
}

#[test]
fn a_header_for_cover_that_was_stopped_gives_way_to_a_message() {
    let mut config = usual();
    config.parameters.loop_mean = Some(20 * SECOND);
    let network = Network::new(layered(2), config, 23);
    let epoch = Epoch(7);
    let storage = Storage { loops: &mut [], ..Tables { headers: 1, ..SMALL }.lend() };
    let mut node = Network::node(6, 23, storage);
    node.prepare_epoch(epoch, network.mix_key(6, epoch)).expect("the first");
    node.begin_epoch(network.now, epoch, Instant::NEVER, network.entries(epoch).into_iter(), config)
        .expect("a network");
    while node.work(network.now) {}
    node.set_cover(network.now, false);
    node.send(network.now, id(7), b"reading").expect("room for a message");
    while node.work(network.now) {}
    let mut packet = [0; PACKET_LEN];
    let Ok(transmit) = node.poll_transmit(network.now, &mut NoJournal, &mut packet);
    assert!(transmit.is_some());
}

/// A node left the network, and those behind it keep their ids.
#[test]
fn an_id_that_nobody_has_gets_no_message_no_cover_and_no_packet_of_others() {
    let mut config = usual();
    config.parameters.drop_mean = Some(Duration::from_millis(200));
    config.parameters.loop_mean = Some(Duration::from_millis(200));
    let mut network = Network::new(layered(2), config, 31);
    let (gone, next) = (id(7), Epoch(network.epoch.0 + 1));
    let mut entries = network.entries(next);
    entries[7] = Entry::VACANT;
    for at in 0..7 {
        let key = network.mix_key(at, next);
        let node = &mut network.nodes[at];
        node.prepare_epoch(next, key).expect("the next epoch");
        node.begin_epoch(network.now, next, Instant::NEVER, entries.iter().copied(), config).expect("sound");
        assert_eq!(node.entry(gone), None);
        assert_eq!(node.send(network.now, gone, b"reading"), Err(SendError::UnknownReceiver));
    }
    network.datagrams.clear();
    network.run(20 * SECOND);
    assert!(network.datagrams.len() > 100, "cover was sent: {}", network.datagrams.len());
    assert!(network.datagrams.iter().all(|(from, to, _)| *from == 7 || *to != gone));
}
