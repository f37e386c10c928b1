//! What becomes of datagrams that have just been read.

use std::net::SocketAddr;

use motemix_node::{Journal, Node, Paths};
use motemix_sphinx::Profile;

use crate::link::{Batch, FairQueue, Sources};
use crate::runtime::links;
use motemix_os::clock::HostClock;
use motemix_os::rng::HostRng;

/// Sorts datagrams by their sources.
pub(super) struct Intake<'i, 't, P: Profile, J> {
    pub(super) node: &'i mut Node<'t, P, HostRng, Paths<'t>>,
    pub(super) sources: &'i Sources,
    pub(super) arrived: &'i mut FairQueue,
    pub(super) journal: &'i mut J,
    pub(super) clock: HostClock,
}

impl<P: Profile, J: Journal> links::Intake for Intake<'_, '_, P, J> {
    fn has_room(&mut self, from: Option<SocketAddr>) -> bool {
        let source = self.sources.of(from);
        // Behind a translator of addresses a node may have another port: whose a datagram is then,
        // shows when it is opened.
        let has_room = !source.is_known() || self.arrived.has_room(source);
        if !has_room {
            self.arrived.refuse();
        }
        has_room
    }

    fn take(&mut self, batch: &mut Batch) {
        for (from, datagram) in batch.with_sources() {
            let source = self.sources.of(from);
            if datagram.len() == P::GEOMETRY.packet_len() {
                self.arrived.push(source, datagram);
            } else {
                // It needs no turn, because it costs no multiplication. The node counts it.
                let now = self.clock.now();
                let _ = self.node.handle_datagram(now, source.link(), datagram, self.journal);
            }
        }
    }
}
