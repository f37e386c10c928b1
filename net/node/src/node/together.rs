//! Packets that come in together, for nodes with vector units or several cores. What becomes of
//! each is what [`Node::handle_datagram`] would make of it.

use core::ops::DerefMut;

use motemix_directory::Epoch;
use motemix_sphinx::{
    AuthenticBatch, AuthenticPacket, FreshBatch, ProcessError, Profile, UnwrappedBatch, Yours,
};
use rand_core::CryptoRng;

use super::Node;
use super::arrive::Gate;
use crate::Instant;
use crate::admission::LinkId;
use crate::counters::DropReason;
use crate::journal::Journal;
use crate::paths::LoopPaths;

/// Packets that are processed together, each with the neighbour that it came from. Keys are told
/// apart by their epochs.
pub type Batch<P> = motemix_sphinx::Batch<P, LinkId, Epoch>;

impl<P: Profile, R: CryptoRng, L: LoopPaths> Node<'_, P, R, L> {
    /// Takes in the packets of a batch and empties it, like
    /// [`handle_datagram`](Self::handle_datagram) with each of them.
    ///
    /// The steps between are for callers with threads: [`AuthenticBatch::authenticate`] with copies
    /// of the node's mix keys, and [`FreshBatch::unwrap_layers`], run anywhere; all that the node
    /// decides is in [`admit_batch`](Self::admit_batch) and [`settle_batch`](Self::settle_batch).
    pub fn handle_batch(&mut self, now: Instant, batch: &mut Batch<P>, journal: &mut impl Journal) {
        let authentic = AuthenticBatch::authenticate(batch, self.epochs.keys_by_epoch());
        let fresh = self.admit_batch(now, authentic, journal);
        self.settle_batch(now, fresh.unwrap_layers());
    }

    /// Takes out what is this node's own, and admits of the rest what was not seen before and is
    /// its sender's turn, one packet after the other: of two equal ones in a batch, or in two
    /// batches that other threads have in hand, one passes. What is refused is counted.
    ///
    /// The keys are those of [`epochs_with_keys`](Self::epochs_with_keys). A packet whose epoch has
    /// no key any more is refused, whatever the thread that looked at it still had.
    pub fn admit_batch<H: DerefMut<Target = Batch<P>>>(
        &mut self,
        now: Instant,
        batch: AuthenticBatch<H>,
        journal: &mut impl Journal,
    ) -> FreshBatch<H> {
        batch.admit(|from, packet| {
            self.counters.datagrams += 1;
            if let Err(reason) = self.admit_one(now, *from, packet, journal) {
                self.counters.drop(reason);
            }
        })
    }

    fn admit_one(
        &mut self,
        now: Instant,
        from: LinkId,
        packet: Result<(Epoch, AuthenticPacket<'_, P>), ProcessError>,
        journal: &mut impl Journal,
    ) -> Result<(), DropReason> {
        if self.epochs.current().is_none() {
            return Err(DropReason::NoEpoch);
        }
        let (epoch, mut packet) = packet?;
        let which = self.epochs.which(epoch).ok_or(DropReason::BadHeaderMac)?;
        let under_way = |id: &_| self.messages.is_under_way(id) || self.loops.is_under_way(id);
        if let Some(Yours { header_id, payload }) = packet.own_return(under_way) {
            return self.came_back(now, which, header_id, payload);
        }
        packet.admit(&mut Gate { epochs: &mut self.epochs, now, from, which, journal })?;
        Ok(())
    }

    /// Does what the packets that were admitted say: queues them, or leaves their messages for the
    /// application. Returns the memory with nothing in it.
    pub fn settle_batch<H: DerefMut<Target = Batch<P>>>(
        &mut self,
        now: Instant,
        batch: UnwrappedBatch<H>,
    ) -> H {
        batch.take_each(|_, mut packet| {
            let told = packet.hop().map_err(DropReason::from).and_then(|hop| self.told(hop));
            let settled = told.and_then(|told| self.settle(now, told, packet.into_bytes()));
            if let Err(reason) = settled {
                self.counters.drop(reason);
            }
        })
    }

    /// The epochs whose packets are accepted: whoever keeps copies of mix keys for
    /// [`admit_batch`](Self::admit_batch) wipes those of others.
    pub fn epochs_with_keys(&self) -> impl Iterator<Item = Epoch> + Clone {
        self.epochs.keys_by_epoch().map(|(epoch, _)| epoch)
    }
}
