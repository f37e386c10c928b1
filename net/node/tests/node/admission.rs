//! A flood costs its sender's share, told as stories on virtual time.

use std::time::Duration;

use crate::network::{Broken, Mix, Network, layered, usual};
use crate::tables::{self, LARGE, Tables};
use motemix_crypto::{Portable, Secret};
use motemix_directory::Epoch;
use motemix_node::{DropReason, FingerprintBits, Instant, LinkId, NoJournal};
use motemix_sphinx::{HeaderBuilder, Mote, PathHop, Profile, Shape};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const SECOND: Duration = Duration::from_secs(1);
const EPOCH: u64 = 1000;
/// The filter of a small board, in bytes.
const SMALL: usize = 2048;
const FLOODER: LinkId = LinkId(0xbad);
/// A mix, and a mote that sends.
const MIX: usize = 0;
const SENDER: usize = 6;

/// One-hop drop packets for one node and epoch, as whoever has the network document can make them.
struct Forge {
    node: PathHop,
    rng: ChaCha8Rng,
}

impl Forge {
    fn new(network: &Network, node: usize, epoch: Epoch) -> Self {
        let mix_key = network.mix_key(node, epoch).public_key::<Portable>();
        let id = crate::network::id(node);
        Self { node: PathHop { id, mix_key }, rng: ChaCha8Rng::seed_from_u64(u64::from(epoch.0)) }
    }

    fn packet(&mut self) -> Vec<u8> {
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        let builder = HeaderBuilder::<Mote>::new(&[self.node], Shape::Drop, Secret::new(seed));
        let header = builder.and_then(HeaderBuilder::build).expect("a path of one hop");
        let mut packet = Mote::<Portable>::packet();
        header.cover(&mut packet, |payload| self.rng.fill_bytes(payload));
        packet.to_vec()
    }
}

/// A network whose node `small` has the filter of a small board, in an epoch that lasts so many
/// seconds.
fn network(small: usize, memory: usize, seed: u64, lasts: u64) -> Network {
    let mut network = Network::new(layered(2), usual(), seed);
    network.nodes[small] = Network::node(small, seed, Tables { replay: memory, ..LARGE }.lend());
    let key = network.mix_key(small, network.epoch);
    network.nodes[small].prepare_epoch(network.epoch, key).expect("the first epoch");
    let entries = network.entries(network.epoch);
    let ends = if lasts == 0 { Instant::NEVER } else { network.now + Duration::from_secs(lasts) };
    let begun =
        network.nodes[small].begin_epoch(network.now, network.epoch, ends, entries.into_iter(), usual());
    begun.expect("a sound network");
    network
}

fn refused(node: &Mix) -> [u64; 3] {
    [DropReason::AdmissionRate, DropReason::ReplayFilterFull, DropReason::Replayed]
        .map(|reason| node.counters().dropped(reason))
}

/// What a neighbour sent, and what of it was admitted.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    sent: u32,
    admitted: u32,
}

#[test]
fn a_flood_from_one_neighbour_leaves_the_others_their_share_and_the_board_the_rest_of_its_epoch() {
    const NEIGHBOURS: u64 = 8;
    let mut network = network(MIX, SMALL, 31, EPOCH);
    let mut forge = Forge::new(&network, MIX, network.epoch);
    let (mut during, mut after) = ([Tally::default(); NEIGHBOURS as usize], Tally::default());
    let mut flood = Tally::default();
    for second in 0..EPOCH {
        network.now = network.now + SECOND;
        // In the first hundred seconds, nearly three times what the whole epoch has places for.
        for _ in 0..if second < 100 { 24 } else { 0 } {
            let packet = forge.packet();
            flood.sent += 1;
            flood.admitted += u32::from(network.arrive_from(FLOODER, MIX, &packet).is_ok());
        }
        // The neighbours together send half of what the board is planned for.
        if second % 3 == 0 {
            let from = second / 3 % NEIGHBOURS;
            let packet = forge.packet();
            let admitted = network.arrive_from(LinkId(from), MIX, &packet).is_ok();
            let tally = if second < 100 { &mut during[from as usize] } else { &mut after };
            tally.sent += 1;
            tally.admitted += u32::from(admitted);
        }
    }
    let fill = network.nodes[MIX].replay_fill().current;
    println!("flood {flood:?}, during it {during:?}, after it {after:?}, {fill:?}");
    println!("refused for the rate, for lack of room, as seen: {:?}", refused(&network.nodes[MIX]));
    assert!(flood.sent as usize > 2 * FingerprintBits::BOARD.capacity_of(SMALL));
    assert!(flood.admitted < 250, "its share of a tenth of the epoch, and what it may have in advance");
    // One refused in all may be a fingerprint's error.
    let lost: u32 = during.iter().map(|tally| tally.sent - tally.admitted).sum();
    assert!(lost <= 1, "{during:?}");
    assert!(after.admitted + 2 >= after.sent, "as if nothing had been");
    assert!(!fill.is_full());
}

#[test]
fn traffic_at_the_planned_rate_loses_nothing_for_admission_over_a_whole_epoch() {
    for seed in [41, 42, 43] {
        let mut network = network(MIX, SMALL, seed, EPOCH);
        let mut forge = Forge::new(&network, MIX, network.epoch);
        let planned = FingerprintBits::BOARD.packets_of(SMALL) as u64;
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        // Independent moments, so that bursts come as they do; half of all from one neighbour.
        let mut moments: Vec<_> = (0..planned).map(|_| chance.next_u64() % (EPOCH * 1_000_000)).collect();
        moments.sort_unstable();
        let begin = network.now;
        for moment in moments {
            network.now = begin + Duration::from_micros(moment);
            let from = if chance.next_u32() % 2 == 0 { 0 } else { u64::from(chance.next_u32() % 5) };
            let packet = forge.packet();
            let _ = network.arrive_from(LinkId(from), MIX, &packet);
        }
        let [rationed, full, replayed] = refused(&network.nodes[MIX]);
        println!(
            "{planned} packets: {rationed} rationed, {full} for lack of room, {replayed} taken for replays"
        );
        assert_eq!((rationed, full), (0, 0));
        assert!(replayed <= 3, "1 in 1,000 at most");
    }
}

#[test]
fn replies_to_a_node_s_own_messages_come_back_when_its_filter_is_full() {
    let mut network = network(SENDER, 64, 32, 0);
    let mut forge = Forge::new(&network, SENDER, network.epoch);
    while !network.nodes[SENDER].replay_fill().current.is_full() {
        let packet = forge.packet();
        let _ = network.arrive_from(FLOODER, SENDER, &packet);
    }
    assert_eq!(network.arrive(SENDER, &forge.packet()), Err(DropReason::ReplayFilterFull));
    let noted = network.journals[SENDER].noted.len();
    for reading in 0..4 {
        network.send(SENDER, 7, &[reading]);
    }
    network.run(20 * SECOND);
    assert_eq!(network.ended.len(), 4);
    assert!(network.ended.iter().all(|ended| ended.tries == 1 && ended.reply.is_some()));
    let journal = &network.journals[SENDER];
    assert_eq!(journal.kept.len() + journal.noted.len(), noted, "and the journal is spared");
    // Whoever recorded one of them and sends it again is a stranger.
    let (_, _, back) = network.datagrams.iter().find(|(_, to, _)| usize::from(to.get()) == SENDER).unwrap();
    let again = back.clone();
    assert_eq!(network.arrive(SENDER, &again), Err(DropReason::ReplayFilterFull));
}

#[test]
fn an_own_packet_that_comes_back_twice_is_dropped_counted_and_answered_by_nothing() {
    let mut config = usual();
    config.parameters.loop_mean = Some(5 * SECOND);
    let mut network = Network::new(layered(2), config, 33);
    network.send(SENDER, 7, b"reading");
    network.run(60 * SECOND);
    // What is under way comes back as well.
    network.nodes[SENDER].set_cover(network.now, false);
    network.run(10 * SECOND);
    let to_sender = network.datagrams.iter().filter(|(_, to, _)| usize::from(to.get()) == SENDER);
    let back: Vec<_> = to_sender.map(|(_, _, bytes)| bytes.clone()).collect();
    let counters = *network.nodes[SENDER].counters();
    // A loop passes its own sender half-way as well, like a stranger's packet.
    let returned = counters.acknowledged + counters.loops_returned;
    assert_eq!(back.len() as u64, returned + counters.forwarded);
    assert!(counters.loops_returned > 3 && counters.acknowledged == 1);
    let taken = u64::from(network.nodes[SENDER].replay_fill().current.tags);
    assert_eq!(taken, counters.forwarded, "what came back took no place");
    let left = network.datagrams.iter().filter(|(from, ..)| *from == SENDER).count();
    for unknown in [returned, 0] {
        let refused: Vec<_> = back.iter().map(|packet| network.arrive(SENDER, packet)).collect();
        let count = |reason| refused.iter().filter(|refused| **refused == Err(reason)).count() as u64;
        assert_eq!(count(DropReason::UnknownHeader), unknown);
        assert_eq!(count(DropReason::Replayed), back.len() as u64 - unknown);
    }
    network.run(SECOND);
    assert_eq!(network.datagrams.iter().filter(|(from, ..)| *from == SENDER).count(), left);
    let now = network.nodes[SENDER].counters();
    assert_eq!((now.acknowledged, now.loops_returned), (counters.acknowledged, counters.loops_returned));
}

#[test]
fn a_restart_forgets_which_own_packets_were_under_way_and_lets_none_through_twice() {
    let mut network = Network::new(layered(2), usual(), 34);
    network.send(SENDER, 7, b"reading");
    network.run(20 * SECOND);
    let (_, _, back) = network.datagrams.iter().find(|(_, to, _)| usize::from(to.get()) == SENDER).unwrap();
    // The same node, made anew.
    let mut restarted = Network::new(layered(2), usual(), 34);
    assert_eq!(restarted.arrive(SENDER, back), Err(DropReason::UnknownHeader));
    assert_eq!(restarted.arrive(SENDER, back), Err(DropReason::Replayed));
    assert_eq!(restarted.nodes[SENDER].counters().acknowledged, 0);
}

#[test]
fn the_epoch_before_is_served_through_its_overlap_and_a_flood_under_its_key_costs_the_new_one_nothing() {
    let mut network = network(MIX, SMALL, 35, EPOCH);
    let mut forge = Forge::new(&network, MIX, network.epoch);
    let planned = FingerprintBits::BOARD.packets_of(SMALL) as u64;
    let mut config = usual();
    config.parameters.overlap = Duration::from_secs(EPOCH / 10);
    for packet in 0..planned {
        network.now = network.now + Duration::from_micros(EPOCH * 1_000_000 / planned);
        assert_ne!(
            network.arrive_from(LinkId(packet % 5), MIX, &forge.packet()),
            Err(DropReason::AdmissionRate)
        );
    }
    network.ends = network.now + Duration::from_secs(EPOCH);
    network.next_epoch(config);
    let mut next = Forge::new(&network, MIX, network.epoch);
    let (mut before, mut new) = (Tally::default(), Tally::default());
    for second in 0..EPOCH / 10 {
        network.now = network.now + SECOND;
        // What was under way at the boundary: a few packets, fewer and fewer.
        if second < 30 && second % 5 == 0 {
            before.sent += 1;
            before.admitted += u32::from(network.arrive_from(LinkId(1), MIX, &forge.packet()).is_ok());
        }
        // And far more than that from who recorded nothing, and has the old document.
        for _ in 0..5 {
            let _ = network.arrive_from(FLOODER, MIX, &forge.packet());
        }
        if second % 10 < 7 {
            new.sent += 1;
            new.admitted += u32::from(network.arrive_from(LinkId(second % 5), MIX, &next.packet()).is_ok());
        }
    }
    println!("before {before:?}, new {new:?}, {:?}", network.nodes[MIX].replay_fill());
    assert!(before.admitted + 1 >= before.sent);
    assert!(new.admitted + 1 >= new.sent);
    network.nodes[MIX].handle_timeout(network.now + SECOND);
    let fill = network.nodes[MIX].replay_fill();
    assert_eq!(fill.neighbour, None);
    assert!(fill.current.tags + fill.current.room >= planned as u32, "the memory is the new epoch's");
}

#[test]
fn nothing_leaves_while_the_journal_cannot_be_written_and_what_waited_leaves_then() {
    let mut network = Network::new(layered(2), usual(), 36);
    network.send(SENDER, 7, b"reading");
    network.run(Duration::ZERO);
    let (_, to, datagram) = network.datagrams[0].clone();
    let mix = usize::from(to.get());
    network.arrive(mix, &datagram).expect("a fresh packet");
    network.now = network.now + 10 * SECOND;
    let mut packet = Mote::<Portable>::packet();
    network.journals[mix].broken = true;
    let mut poll = |network: &mut Network| {
        network.nodes[mix].poll_transmit(network.now, &mut network.journals[mix], &mut packet)
    };
    assert_eq!(poll(&mut network), Err(Broken));
    assert_eq!(poll(&mut network), Err(Broken));
    network.journals[mix].broken = false;
    assert!(matches!(poll(&mut network), Ok(Some(_))));
    assert_eq!(network.journals[mix].kept.len(), 1);
}

#[test]
fn a_node_without_a_journal_says_so() {
    let mut node = Network::node(6, 1, tables::SMALL.lend());
    let mut packet = Mote::<Portable>::packet();
    let Ok(transmit) = node.poll_transmit(Instant::from_micros(5), &mut NoJournal, &mut packet);
    assert_eq!(transmit, None);
}

#[test]
fn a_journal_of_tags_becomes_one_of_digests() {
    let mut network = Network::new(layered(2), usual(), 37);
    let packet = Forge::new(&network, MIX, network.epoch).packet();
    let epoch = network.epoch;
    let key = network.mix_key(MIX, epoch);
    let mut bytes = packet.clone();
    let authentic = motemix_sphinx::Packet::<Mote<Portable>>::parse(&mut bytes).unwrap();
    let ((), authentic) = authentic.authenticate([((), &key)]).unwrap();
    let start = *authentic.replay_tag().0.first_chunk().unwrap();
    let admitted = network.nodes[MIX].admitted_of_tag(epoch, &start).expect("the epoch's key is there");
    assert_eq!(network.nodes[MIX].admitted_of_tag(Epoch(epoch.0 + 1), &start), None);
    network.nodes[MIX].restore_admitted(admitted).expect("room");
    assert_eq!(network.arrive(MIX, &packet), Err(DropReason::Replayed));
}
