//! Packets that are taken in together.

use std::time::Duration;

use motemix_crypto::Portable;
use motemix_directory::Epoch;
use motemix_node::{Batch, Counters, DropReason, Instant, LinkId};
use motemix_sphinx::{AuthenticBatch, Mote};

use crate::network::{Network, layered, mesh, usual};

const NODE: usize = 0;

/// A network with all that nodes send, on an air that loses a tenth.
fn busy(in_batches: bool, payload_stream: bool, seed: u64) -> Network {
    let mut config = usual();
    config.parameters.loop_mean = Some(Duration::from_millis(300));
    config.parameters.drop_mean = Some(Duration::from_millis(500));
    config.parameters.payload_mean = payload_stream.then_some(Duration::from_millis(100));
    let mut network = Network::new(layered(3), config, seed);
    (network.in_batches, network.arrivals_every) = (in_batches, Duration::from_millis(250));
    network.lose(0.1);
    for round in 0..20_u8 {
        for (from, to) in [(6, 7), (7, 8), (8, 6), (6, 8)] {
            network.send(from, to, &[round, from as u8, to as u8]);
        }
        network.run(Duration::from_millis(700));
        if round == 10 {
            network.next_epoch(config);
        }
    }
    network.run(Duration::from_secs(5));
    network
}

#[test]
fn nodes_that_take_batches_do_exactly_what_others_do() {
    for (payload_stream, seed) in [(false, 41), (true, 58)] {
        let (singles, batches) = (busy(false, payload_stream, seed), busy(true, payload_stream, seed));
        let counters = |network: &Network| -> Vec<Counters> {
            network.nodes.iter().map(|node| *node.counters()).collect()
        };
        assert!(!singles.ended.is_empty() && singles.received.len() > 50);
        assert_eq!(counters(&batches), counters(&singles));
        assert_eq!(batches.ended, singles.ended);
        assert_eq!(batches.received, singles.received);
        assert!(batches.datagrams == singles.datagrams, "bit for bit");
        for (ours, theirs) in batches.journals.iter().zip(&singles.journals) {
            assert_eq!(ours.kept, theirs.kept);
        }
    }
}

/// Packets for node 0 that it has not seen.
fn packets(network: &mut Network) -> Vec<Vec<u8>> {
    network.air = Box::new(|_, _, _, _| false);
    for from in 1..network.nodes.len() {
        network.send(from, 1 + from % 2, b"a reading");
    }
    network.run(Duration::from_secs(60));
    let for_it = network.datagrams.iter().filter(|(_, to, _)| usize::from(to.get()) == NODE);
    for_it.map(|(.., bytes)| bytes.clone()).collect()
}

fn dropped(network: &Network, reason: DropReason) -> u64 {
    network.nodes[NODE].counters().dropped(reason)
}

#[test]
fn a_replay_inside_a_batch_is_refused_and_harms_no_other() {
    let mut network = Network::new(mesh(8), usual(), 43);
    let packets = packets(&mut network);
    let [first, second, third, ..] = packets.as_slice() else { panic!("more packets: {}", packets.len()) };
    let mut damaged = third.clone();
    damaged[50] ^= 1;
    let mut batch = Batch::<Mote<Portable>>::new();
    for bytes in [first, second, first, &damaged, third, second] {
        batch.push(LinkId(1), bytes).expect("the right length");
    }
    let before = *network.nodes[NODE].counters();
    network.nodes[NODE].handle_batch(network.now, &mut batch, &mut network.journals[NODE]);
    let counters = network.nodes[NODE].counters();
    assert_eq!(counters.datagrams - before.datagrams, 6);
    let replayed = dropped(&network, DropReason::Replayed);
    let refused = dropped(&network, DropReason::BadHeaderMac);
    assert_eq!((replayed, refused), (2, 1));
    assert_eq!(network.journals[NODE].noted.len(), 3);
}

/// Keys of the node, as a thread has them.
fn authenticate<'b>(
    network: &Network,
    batch: &'b mut Batch<Mote<Portable>>,
) -> AuthenticBatch<&'b mut Batch<Mote<Portable>>> {
    let epochs: Vec<Epoch> = network.nodes[NODE].epochs_with_keys().collect();
    let keys: Vec<_> = epochs.iter().map(|epoch| (*epoch, network.mix_key(NODE, *epoch))).collect();
    AuthenticBatch::authenticate(batch, keys.iter().map(|(epoch, key)| (*epoch, key)))
}

#[test]
fn a_packet_that_two_threads_have_in_hand_is_admitted_once() {
    let mut network = Network::new(mesh(8), usual(), 44);
    let packets = packets(&mut network);
    let (mut one, mut other) = (Batch::new(), Batch::new());
    one.push(LinkId(1), &packets[0]).expect("the right length");
    other.push(LinkId(2), &packets[0]).expect("the right length");
    let (one, other) = (authenticate(&network, &mut one), authenticate(&network, &mut other));
    let (node, journal) = (&mut network.nodes[NODE], &mut network.journals[NODE]);
    let (one, other) =
        (node.admit_batch(network.now, one, journal), node.admit_batch(network.now, other, journal));
    // The second is done first.
    node.settle_batch(network.now, other.unwrap_layers());
    node.settle_batch(network.now, one.unwrap_layers());
    assert_eq!(journal.noted.len(), 1);
    assert_eq!(dropped(&network, DropReason::Replayed), 1);
}

#[test]
fn what_a_thread_has_in_hand_when_the_key_goes_is_refused_and_counted() {
    let mut network = Network::new(mesh(8), usual(), 45);
    let packets = packets(&mut network);
    let mut batch = Batch::new();
    batch.push(LinkId(1), &packets[0]).expect("the right length");
    let authentic = authenticate(&network, &mut batch);
    network.next_epoch(usual());
    let later = network.now + Duration::from_secs(6);
    network.nodes[NODE].handle_timeout(later);
    assert_eq!(network.nodes[NODE].epochs_with_keys().collect::<Vec<_>>(), [network.epoch]);
    let (node, journal) = (&mut network.nodes[NODE], &mut network.journals[NODE]);
    let before = *node.counters();
    let fresh = node.admit_batch(later, authentic, journal);
    let emptied = node.settle_batch(later, fresh.unwrap_layers());
    assert!(emptied.is_empty() && journal.noted.is_empty());
    assert_eq!(node.counters().forwarded, before.forwarded);
    assert_eq!(dropped(&network, DropReason::BadHeaderMac), 1);
}

#[test]
fn a_batch_before_the_first_epoch_is_refused_as_singles_are() {
    let mut network = Network::new(mesh(8), usual(), 46);
    let packets = packets(&mut network);
    network.nodes[NODE].end_epoch();
    let mut batch = Batch::<Mote<Portable>>::new();
    batch.push(LinkId(1), &packets[0]).expect("the right length");
    network.nodes[NODE].handle_batch(Instant::from_micros(9), &mut batch, &mut network.journals[NODE]);
    assert_eq!(dropped(&network, DropReason::NoEpoch), 1);
    assert_eq!(network.arrive(NODE, &packets[0]), Err(DropReason::NoEpoch));
}
