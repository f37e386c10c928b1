use std::sync::Weak;
use std::time::Duration;

use motemix_crypto::{AsReceived, Curve, Pair, PublicKey, Secret, SharedSecret};
use motemix_directory::{Entry, Parameters, Role};
use motemix_node::{Admitted, Config, DropReason, Paths};
use motemix_sphinx::{HeaderBuilder, MessageId, Mote, NodeId, PathHop, Shape};
use tokio::runtime::Builder;

use super::*;
use crate::config::Limits;
use crate::link::Sources;
use crate::runtime::tables::Tables;
use motemix_os::curve::HostCurve;
use motemix_os::rng::HostRng;

const ME: NodeId = NodeId::new(0).unwrap();
const EPOCH: Epoch = Epoch(7);
const PACE: Pace = Pace { least: 3, most: 8 };

#[derive(Default)]
struct Notes(Vec<Admitted>);

impl Journal for Notes {
    type Error = std::convert::Infallible;

    fn admit(&mut self, admitted: Admitted) {
        self.0.push(admitted);
    }

    fn commit(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn key(node: u8) -> MixKey {
    MixKey::new(Secret::new([node + 1; 32]))
}

fn entries() -> impl Iterator<Item = Entry> + Clone {
    (0..6_u8).map(|id| Entry {
        mix_key: key(id).public_key::<HostCurve>(),
        role: if id < 4 { Role::Mix { layer: id / 2 } } else { Role::Endpoint },
    })
}

/// Different packets that node 0 forwards.
fn packets(count: u64) -> Vec<[u8; 280]> {
    let hop =
        |id: u8| PathHop { id: NodeId::new(id.into()).unwrap(), mix_key: key(id).public_key::<HostCurve>() };
    let path = [hop(0), hop(5)];
    let make = |number: u64| {
        let mut packet = [0; 280];
        let seed = motemix_crypto::hash::blake2s_256(b"seed", &number.to_be_bytes());
        let header =
            HeaderBuilder::<Mote<HostCurve>>::new(&path, Shape::OneWay, seed).unwrap().build().unwrap();
        header.seal(MessageId([0; 4]), b"reading", &mut packet).unwrap();
        packet
    };
    (0..count).map(make).collect()
}

/// A node, its crew, and what is around them.
struct Bench<'t, C: Curve + 'static> {
    crew: Crew<Mote<C>>,
    node: Node<'t, Mote<C>, HostRng, Paths<'t>>,
    waiting: FairQueue,
    notes: Notes,
}

impl<'t, C: Curve + 'static> Bench<'t, C> {
    fn new(tables: &'t mut Tables<Mote<C>>, threads: usize, pace: Pace) -> Self {
        let mut node = Node::new(ME, HostRng::new().unwrap(), tables.lend());
        let mut crew = Crew::new(threads, pace);
        node.prepare_epoch(EPOCH, key(0)).unwrap();
        crew.add_key(EPOCH, Arc::new(key(0)));
        let mut parameters = Parameters::new(3, 3);
        parameters.overlap = Duration::from_secs(1);
        let config = Config::of_network(parameters);
        node.begin_epoch(Instant::from_micros(0), EPOCH, Instant::NEVER, entries(), config).unwrap();
        Self { crew, node, waiting: FairQueue::new(280), notes: Notes::default() }
    }

    fn take_in(&mut self) -> bool {
        self.crew.take_in(&mut self.node, &mut self.waiting, &mut self.notes, || Instant::from_micros(1))
    }

    /// Until nothing waits and nothing is under way.
    fn finish(&mut self) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        while !self.waiting.is_empty() || self.crew.under_way > 0 {
            if !self.take_in() && self.crew.under_way > 0 {
                runtime.block_on(self.crew.has_done());
            }
        }
    }

    fn push(&mut self, datagrams: impl Iterator<Item = [u8; 280]>) {
        let sources = Sources::default();
        for (datagram, port) in datagrams.zip(1..) {
            self.waiting.push(sources.of(Some(([192, 0, 2, 9], port).into())), &datagram);
        }
    }
}

fn tables<C: Curve>() -> Tables<Mote<C>> {
    Tables::new(&Limits { replay_tags: 1 << 12, ..Limits::default() })
}

#[test]
fn no_packet_is_admitted_twice_however_they_are_shared_out() {
    let packets = packets(150);
    for (threads, pace) in [(1, Pace::SINGLES), (1, PACE), (4, Pace::SINGLES), (4, PACE), (2, PACE)] {
        let mut tables = tables::<HostCurve>();
        let mut bench = Bench::new(&mut tables, threads, pace);
        for round in 0..3 {
            // Each of them three times, near to each other and far apart, and junk in between.
            let junk = (1..=50_u8).map(|byte| [byte; 280]);
            let twice = packets.iter().flat_map(|packet| [*packet; 2]);
            let all = twice.chain(junk).chain(packets.iter().rev().copied());
            bench.push(all);
            bench.finish();
            let counters = bench.node.counters();
            let case = (threads, pace, round);
            assert_eq!(counters.datagrams, (round + 1) * 500, "{case:?}");
            assert_eq!(counters.forwarded, 150, "{case:?}");
            assert_eq!(counters.dropped(DropReason::Replayed), round * 450 + 300, "{case:?}");
            assert_eq!(counters.dropped(DropReason::BadHeaderMac), (round + 1) * 50, "{case:?}");
            assert_eq!(bench.notes.0.len(), 150, "{case:?}");
        }
        let counted = bench.crew.counters();
        assert_eq!(counted.threads > 1, threads > 1);
        assert_eq!(counted.batched > 0, pace.most > 1);
        assert!(counted.threads <= threads as u64 && counted.batched <= counted.batches * 8);
    }
}

#[test]
fn few_packets_are_processed_by_the_nodes_own_thread_one_after_the_other() {
    let mut tables = tables::<HostCurve>();
    let mut bench = Bench::new(&mut tables, 4, PACE);
    for packet in packets(20).chunks(2) {
        bench.push(packet.iter().copied());
        assert!(!bench.take_in());
    }
    assert_eq!(bench.node.counters().forwarded, 20);
    assert_eq!(bench.crew.counters(), CrewCounters { threads: 1, ..CrewCounters::default() });
}

#[test]
fn copies_of_a_key_go_with_the_key_of_the_node() {
    let mut tables = tables::<HostCurve>();
    let mut bench = Bench::new(&mut tables, 3, PACE);
    let copies: Vec<Weak<MixKey>> = bench.crew.keys.iter().map(|(_, key)| Arc::downgrade(key)).collect();
    bench.push(packets(100).into_iter());
    // Some are under way.
    bench.take_in();
    assert!(bench.crew.under_way > 0 && copies.iter().all(|copy| copy.upgrade().is_some()));
    bench.node.end_epoch();
    bench.crew.keep_keys(&bench.node.epochs_with_keys());
    bench.finish();
    assert!(copies.iter().all(|copy| copy.upgrade().is_none()));
    // What was in hand is dropped and counted, and so is what came later.
    let counters = bench.node.counters();
    assert_eq!(counters.datagrams, 100);
    assert_eq!(counters.forwarded + counters.dropped(DropReason::NoEpoch), 100);
    assert!(counters.dropped(DropReason::NoEpoch) > 0);
}

#[test]
fn what_is_under_way_ends_and_nothing_begins_when_a_node_stops_reading() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    for threads in [2, 4] {
        let mut tables = tables::<HostCurve>();
        let mut bench = Bench::new(&mut tables, threads, PACE);
        let copies: Vec<Weak<MixKey>> = bench.crew.keys.iter().map(|(_, key)| Arc::downgrade(key)).collect();
        bench.push(packets(200).into_iter());
        bench.take_in();
        let (waiting, under_way) = (bench.waiting.len(), bench.crew.under_way);
        assert!(waiting > 0 && under_way > 0);
        while bench.crew.under_way > 0 {
            let Bench { crew, node, notes, .. } = &mut bench;
            if !crew.go_on(node, notes, || Instant::from_micros(1)) && crew.under_way > 0 {
                runtime.block_on(crew.has_done());
            }
        }
        assert_eq!(bench.waiting.len(), waiting);
        assert_eq!(bench.node.counters().forwarded, 200 - waiting as u64);
        // No copy waits in the line for a turn that does not come.
        bench.node.end_epoch();
        bench.crew.keep_keys(&bench.node.epochs_with_keys());
        assert!(copies.iter().all(|copy| copy.upgrade().is_none()));
    }
}

#[test]
fn threads_end_with_the_crew_whatever_is_under_way() {
    let mut tables = tables::<HostCurve>();
    let mut bench = Bench::new(&mut tables, 4, PACE);
    for _ in 0..10 {
        bench.push(packets(100).into_iter());
        bench.take_in();
    }
    assert!(bench.crew.under_way > 0 && bench.crew.counters().threads > 1);
    let line = Arc::downgrade(&bench.crew.line);
    drop(bench);
    assert_eq!(line.strong_count(), 0, "no thread has it any more");
}

/// Does not work on threads of the crew.
enum Brittle {}

impl Curve for Brittle {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        HostCurve::public_key(secret)
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        HostCurve::diffie_hellman(secret, point)
    }

    fn diffie_hellman_batch(pairs: &[Pair<'_>], shared: &mut [Option<SharedSecret>]) {
        assert!(thread::current().name() != Some("motemix-packets"), "the fault of this test");
        HostCurve::diffie_hellman_batch(pairs, shared);
    }
}

#[test]
#[should_panic(expected = "a thread that processes packets has panicked")]
fn a_fault_on_another_thread_does_not_go_unnoticed() {
    let mut tables = tables::<Brittle>();
    let mut bench = Bench::new(&mut tables, 2, PACE);
    let packets = packets(200);
    // On a busy machine the other thread comes late to its first batch.
    for _ in 0..10_000 {
        bench.push(packets.iter().copied());
        bench.finish();
    }
}
