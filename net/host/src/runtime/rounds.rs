//! What the node does in one round, in counted work and not in time: so many datagrams of others,
//! then so many multiplications of its own. However much arrives, timers, events and own headers
//! have their turn.

use motemix_crypto::Curve as _;
use motemix_node::{Batch, Instant, Journal, LoopPaths, Node};
use motemix_sphinx::Profile;
use rand_core::CryptoRng;

use super::pace::Pace;
use crate::link::FairQueue;
use crate::link::fair::Source;

/// System calls that read datagrams in a round, each for one socket and up to
/// [`BATCH`](crate::link::BATCH). Reading costs a few per cent of what a datagram costs the node,
/// so what it cannot take is sorted and dropped here, and not by the kernel, which drops blindly.
/// As many as take about as long as the datagrams that are then taken in.
pub(super) const READS: usize = 32;
/// Datagrams that the node takes in: one or two multiplications each, about a millisecond together.
pub(super) const DATAGRAMS: usize = 16;
/// Multiplications for own headers while datagrams wait: a fifth of the work at least. A header
/// takes seven to eleven, so this is a header for each round or two.
pub(super) const MULTIPLICATIONS: usize = 8;
/// Where the curve has lanes, the share is so many steps of all lanes at least. They take less time
/// than as many multiplications one after the other, and a header waits for seven to eleven of
/// them.
const STEPS: usize = 2;

/// Hands the node its share of the datagrams that wait: in batches where enough wait, and one after
/// the other where not. `count` is told of the batches.
pub(super) fn take_in<P: Profile, R: CryptoRng, L: LoopPaths>(
    node: &mut Node<'_, P, R, L>,
    waiting: &mut FairQueue,
    (batch, pace, mut count): (&mut Batch<P>, Pace, impl FnMut(usize)),
    journal: &mut impl Journal,
    now: impl Fn() -> Instant,
) {
    let mut left = DATAGRAMS;
    while left > 0 && !waiting.is_empty() {
        if pace.most > 1 && waiting.len().min(left) >= pace.least {
            let packets = fill(batch, waiting, pace.most.min(left));
            node.handle_batch(now(), batch, journal);
            count(packets);
            left -= packets;
        } else {
            // Refusals are counted by the node.
            let handle = |source: Source, datagram: &mut [u8]| {
                let _ = node.handle_datagram(now(), source.link(), datagram, journal);
            };
            waiting.pop(handle);
            left -= 1;
        }
    }
}

/// Takes at most so many datagrams that wait into a batch; how many.
pub(super) fn fill<P: Profile>(batch: &mut Batch<P>, waiting: &mut FairQueue, most: usize) -> usize {
    let mut taken = 0;
    while taken < most && !batch.is_full() {
        // Those of another length are not in the queue.
        let push = |source: Source, datagram: &mut [u8]| batch.push(source.link(), datagram).is_ok();
        if waiting.pop(push).is_none() {
            break;
        }
        taken += 1;
    }
    taken
}

/// Lets the node build its own headers: one step if nothing waits, because something may arrive;
/// its share if datagrams wait. A step is one multiplication, or one in each lane of the curve,
/// which may go beyond the share by less than the lanes. `true` if there is more to build.
pub(super) fn build<P: Profile, R: CryptoRng, L: LoopPaths>(
    node: &mut Node<'_, P, R, L>,
    others_wait: bool,
    now: impl Fn() -> Instant,
) -> bool {
    let all_lanes = STEPS * P::Curve::lanes();
    let mut share = if others_wait { MULTIPLICATIONS.max(all_lanes) } else { 1 };
    while share > 0 {
        let worked = node.work_counted(now());
        if !worked.more {
            return false;
        }
        // One at least, so that this ends whatever the node says.
        share = share.saturating_sub(worked.multiplications.max(1));
    }
    true
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use chacha20::ChaCha20Rng;
    use motemix_crypto::Secret;
    use motemix_directory::{Entry, Epoch, Parameters, Role};
    use motemix_node::{Config, NoJournal};
    use motemix_sphinx::{MixKey, Mote, NodeId};
    use rand_core::SeedableRng as _;

    use super::*;
    use crate::config::Limits;
    use crate::link::Sources;
    use crate::runtime::tables::Tables;
    use motemix_os::curve::HostCurve;

    /// The seed of what the node draws: when ticks come, and which of them want a loop. Without it,
    /// how many are missed before the first headers, and how many loops there are, differs from run
    /// to run.
    const SEED: [u8; 32] = [7; 32];
    const ME: NodeId = NodeId::new(4).unwrap();
    const RECEIVER: NodeId = NodeId::new(5).unwrap();

    fn entries() -> impl Iterator<Item = Entry> + Clone {
        (0..6_u8).map(|id| Entry {
            mix_key: HostCurve::public_key(&Secret::new([id + 1; 32])),
            role: if id < 4 { Role::Mix { layer: id / 2 } } else { Role::Endpoint },
        })
    }

    fn parameters() -> Parameters {
        let mut parameters = Parameters::new(3, 3);
        parameters.mean_delay = Duration::from_millis(5);
        parameters.hop_allowance = Duration::from_millis(200);
        parameters.transmissions = 5;
        parameters.loop_mean = Some(Duration::from_millis(50));
        parameters.drop_mean = Some(Duration::from_millis(50));
        parameters
    }

    /// Twice as many junk datagrams arrive as a node can take, in every round. Counted in work: no
    /// clock runs.
    #[test]
    fn junk_takes_its_share_of_each_round_and_own_headers_theirs() {
        for pace in [Pace::SINGLES, Pace { least: 3, most: 12 }] {
            take_turns(pace);
        }
    }

    fn take_turns(pace: Pace) {
        let mut tables =
            Tables::<Mote<HostCurve>>::new(&Limits { replay_tags: 1 << 10, ..Limits::default() });
        let config = Config::of_network(parameters());
        let mut node = Node::new(ME, ChaCha20Rng::from_seed(SEED), tables.lend());
        let time = Cell::new(Instant::from_micros(0));
        node.prepare_epoch(Epoch(7), MixKey::new(Secret::new([5; 32]))).unwrap();
        node.begin_epoch(time.get(), Epoch(7), Instant::NEVER, entries(), config).unwrap();
        let sources = Sources::default();
        let mut waiting = FairQueue::new(280);
        let mut batch = Batch::new();
        let mut out = [0; 280];
        let (mut sent_in, mut message) = (None, None);
        for round in 0..1000_u32 {
            time.set(time.get() + Duration::from_millis(1));
            for number in 0..2 * DATAGRAMS {
                let junk = [number as u8; 280];
                waiting.push(sources.of(Some("192.0.2.9:1".parse().unwrap())), &junk);
            }
            let before = *node.counters();
            let together = (&mut batch, pace, |_| ());
            take_in(&mut node, &mut waiting, together, &mut NoJournal, || time.get());
            assert!(node.counters().datagrams - before.datagrams <= DATAGRAMS as u64);
            node.handle_timeout(time.get());
            while let Ok(Some(_)) = node.poll_transmit(time.get(), &mut NoJournal, &mut out) {}
            let before = node.counters().headers_built;
            build(&mut node, !waiting.is_empty(), || time.get());
            let most = STEPS * HostCurve::lanes();
            assert!(node.counters().headers_built - before <= most as u64, "bounded work");
            match (round, message) {
                (500, _) => {
                    let sent = node.counters().transmitted;
                    node.send(time.get(), RECEIVER, b"all is well").unwrap();
                    message = Some(sent);
                }
                (_, Some(sent)) if sent_in.is_none() && node.counters().transmitted > sent => {
                    sent_in = Some(round - 500);
                }
                _ => {}
            }
        }
        let counters = node.counters();
        // The first ticks come before the first headers.
        assert!(counters.cover_missed <= 2, "{counters:?}");
        assert!((10..40).contains(&counters.loops_sent), "about twenty: {counters:?}");
        assert!(sent_in.is_some_and(|rounds| rounds <= 8), "{sent_in:?}");
        assert!(counters.datagrams >= 900 * DATAGRAMS as u64, "junk has its share too: {counters:?}");
    }
}
