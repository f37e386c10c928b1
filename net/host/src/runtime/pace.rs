//! How many packets are processed as one batch: as many as are done in the time for which a packet
//! may be held back by others, and one for each lane at least.

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
        let rounds = (lanes..=BATCH).step_by(lanes);
        Self::of(bound, lanes, rounds.zip(times_of_batches::<P>(lanes)))
    }

    /// When the machine takes so long for batches of so many packets. One round of the lanes is
    /// never too long: one by one, the last of these packets would be done later still. So a
    /// machine that was busy when it was asked has batches as well.
    fn of(bound: Duration, lanes: usize, times: impl Iterator<Item = (usize, Duration)>) -> Self {
        let most = times.filter(|(_, time)| *time <= bound).map(|(packets, _)| packets).max();
        let most = most.unwrap_or(lanes);
        Self { least: LEAST.min(most), most }
    }
}

/// All that is done with packets that are forwarded, with one, two, … in each lane; in the least
/// time of some.
fn times_of_batches<P: Profile>(lanes: usize) -> impl Iterator<Item = Duration> {
    let key = |node: u8| MixKey::new(hash::blake2s_256(b"motemix pace", &[node]));
    let hop = |node| PathHop { id: NodeId::MIN, mix_key: key(node).public_key::<P::Curve>() };
    let seed = hash::blake2s_256(b"motemix pace", b"seed");
    let mut packet = P::packet();
    let sealed = HeaderBuilder::<P>::new(&[hop(0), hop(1)], Shape::OneWay, seed)
        .and_then(HeaderBuilder::build)
        .is_ok_and(|header| header.seal(MessageId([0; 4]), &[], packet.as_mut()).is_ok());
    assert!(sealed, "a path of two hops and a message of no bytes");
    let (key, mut batch) = (key(0), Box::new(Batch::<P, LinkId, ()>::new()));
    (1..).map(move |for_each_lane| {
        let mut least = Duration::MAX;
        for _ in 0..LOOKS {
            for _ in 0..(for_each_lane * lanes).min(BATCH) {
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
    })
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
    use motemix_os::curve::HostCurve;

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_batch_is_as_long_as_the_bound_allows() {
        let of = |bound, times: &[(usize, u64)]| {
            let lanes = times[0].0;
            Pace::of(micros(bound), lanes, times.iter().map(|(packets, time)| (*packets, micros(*time))))
        };
        assert_eq!(of(200, &[(8, 110), (16, 200)]), Pace { least: 3, most: 16 });
        assert_eq!(of(200, &[(8, 110), (16, 201)]), Pace { least: 3, most: 8 });
        assert_eq!(of(200, &[(4, 60), (8, 110), (12, 170), (16, 230)]).most, 12);
    }

    #[test]
    fn a_machine_that_is_busy_when_it_is_asked_has_batches_all_the_same() {
        let late = [(4, micros(201)), (8, micros(390))];
        assert_eq!(Pace::of(micros(200), 4, late.into_iter()), Pace { least: 3, most: 4 });
    }

    #[test]
    fn a_machine_with_lanes_has_batches_of_whole_rounds_of_them() {
        let pace = Pace::of_machine::<motemix_sphinx::Mote<HostCurve>>(Duration::MAX);
        let lanes = HostCurve::lanes();
        assert_eq!(pace.most, if lanes < 2 { 1 } else { BATCH / lanes * lanes });
    }

    #[test]
    fn a_bound_of_nothing_switches_batches_off() {
        assert_eq!(Pace::of_machine::<motemix_sphinx::Mote<HostCurve>>(Duration::ZERO), Pace::SINGLES);
    }
}
