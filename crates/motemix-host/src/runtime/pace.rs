//! How many packets are processed as one batch: as many as are done in the time for which a packet
//! may be held back by others.

use std::time::{Duration, Instant};

use motemix_crypto::{Curve, hash};
use motemix_node::LinkId;
use motemix_sphinx::{
    AuthenticBatch, BATCH, Batch, HeaderBuilder, MessageId, MixKey, NodeId, PathHop, Profile, ReplayError,
    ReplayFilter, ReplayTag, Shape,
};

/// With fewer packets waiting, each is processed alone: most lanes would be empty.
const LEAST: usize = 3;
/// The quickest of so many looks is what a batch takes when nothing disturbs it.
const LOOKS: usize = 5;

/// How many packets go into a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// When so many wait, they are not processed one after the other.
    pub(super) least: usize,
    /// More would take too long.
    pub(super) most: usize,
}

impl Pace {
    /// Packets one after the other.
    pub(super) const SINGLES: Self = Self { least: 2, most: 1 };

    /// Asks this machine how long a batch of `P` takes: about a millisecond of work.
    pub(super) fn of_machine<P: Profile>(bound: Duration) -> Self {
        let lanes = P::Curve::lanes();
        if bound.is_zero() || lanes < 2 {
            return Self::SINGLES;
        }
        Self::of(bound, lanes, time_of_batch::<P>(lanes))
    }

    /// When the machine takes `time` for a batch in which each of its lanes has a packet.
    fn of(bound: Duration, lanes: usize, time: Duration) -> Self {
        let rounds = bound.as_nanos() / time.as_nanos().max(1);
        let most = usize::try_from(rounds).unwrap_or(BATCH).saturating_mul(lanes).min(BATCH);
        if most < LEAST { Self::SINGLES } else { Self { least: LEAST, most } }
    }
}

/// All that is done with packets that are forwarded, one in each lane, in the least time of some.
fn time_of_batch<P: Profile>(lanes: usize) -> Duration {
    let key = |node: u8| MixKey::new(hash::blake2s_256(b"motemix pace", &[node]));
    let hop = |node| PathHop { id: NodeId::MIN, mix_key: key(node).public_key::<P::Curve>() };
    let seed = hash::blake2s_256(b"motemix pace", b"seed");
    let mut packet = P::packet();
    let sealed = HeaderBuilder::<P>::new(&[hop(0), hop(1)], Shape::OneWay, seed)
        .and_then(HeaderBuilder::build)
        .is_ok_and(|header| header.seal(MessageId([0; 4]), &[], packet.as_mut()).is_ok());
    assert!(sealed, "a path of two hops and a message of no bytes");
    let (key, mut batch) = (key(0), Box::new(Batch::<P, LinkId, ()>::new()));
    let mut least = Duration::MAX;
    for _ in 0..LOOKS {
        for _ in 0..lanes.min(BATCH) {
            // It has the length of a packet.
            let _ = batch.push(LinkId(0), packet.as_ref());
        }
        let begin = Instant::now();
        let authentic = AuthenticBatch::authenticate(&mut *batch, [((), &key)]);
        let fresh = authentic.admit(|_, packet| {
            let _ = packet.map(|((), packet)| packet.admit(&mut All));
        });
        fresh.unwrap_layers().take_each(|_, _| ());
        least = least.min(begin.elapsed());
    }
    least
}

/// Admits the same packet again and again: nothing of it leaves.
struct All;

impl ReplayFilter for All {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::HostCurve;

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_batch_has_whole_rounds_of_the_lanes_and_ends_within_the_bound() {
        let most = |bound, lanes, time| Pace::of(micros(bound), lanes, micros(time)).most;
        assert_eq!(most(200, 8, 110), 8);
        assert_eq!(most(200, 8, 100), 16);
        assert_eq!(most(200, 8, 10), 16, "the most of a batch");
        assert_eq!(most(200, 4, 60), 12);
        assert_eq!(Pace::of(micros(200), 4, micros(201)), Pace::SINGLES);
        assert_eq!(Pace::of(micros(200), 8, micros(0)).most, 16, "a clock that stood still");
    }

    #[test]
    fn a_bound_of_nothing_switches_batches_off() {
        assert_eq!(Pace::of_machine::<motemix_sphinx::Mote<HostCurve>>(Duration::ZERO), Pace::SINGLES);
    }
}
