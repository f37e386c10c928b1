//! What a node says of itself when its user asks for its status.

use std::path::Path;

use motemix_directory::{Role, UnixTime};
use motemix_sphinx::Profile;

use super::advance::Time;
use super::driver::Driver;
use super::mailroom::Mailroom;
use super::patience::Patience;
use super::snapshot::Shared;
use crate::NodeConfig;
use crate::control::{
    ClockDetail, DiskRoom, DocumentDetail, LoopsDetail, NodeDetail, NodeStatus, QueueFill, ReplayFill,
};
use crate::keys::NodeKey;

/// Bytes beside the replay log of an epoch that the disk should have left.
const SPARE: u64 = 16 << 20;
/// Bytes of the replay log for a packet.
const LOG_OF_PACKET: u64 = 8;

/// Room on the disk of a node's state, for an epoch of so many packets; `None` if the system does
/// not say.
pub(super) fn disk_room(state: &Path, packets: u32) -> Option<DiskRoom> {
    let disk = rustix::fs::statvfs(state).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    Some(DiskRoom { free, needed: u64::from(packets) * LOG_OF_PACKET + SPARE })
}

impl<P: Profile + 'static> Driver<'_, P> {
    /// How the node is.
    pub(super) fn status(&self) -> NodeStatus {
        let (replay, counters) = (self.node.replay_fill().current, self.node.counters());
        let (packets, most) = self.node.queue_fill();
        self.count_loops();
        let mut status = status(self.config, &self.key, &self.time, &self.shared, &self.mailroom);
        status.id = self.node.id().get();
        if let Some(detail) = &mut status.detail {
            detail.document = Some(self.document());
            detail.replay_filter = Some(ReplayFill {
                tags: replay.tags.into(),
                most: replay.capacity.into(),
                full_in_s: self.examination.full_in(replay),
            });
            detail.queue = Some(QueueFill { packets: packets as u64, most: most as u64 });
            detail.loops = Some(LoopsDetail {
                alarm: self.node.loop_alarm().sounds(),
                evidence_percent: self.node.loop_evidence().into(),
                sent: counters.loops_sent,
                returned: counters.loops_returned,
                lost: counters.loops_lost,
                through: self.shared.passed().lately(),
            });
        }
        status
    }

    /// Until when the document in use and those after it last without a gap.
    pub(super) fn covered_until(&self) -> UnixTime {
        let own = self.network.valid_until;
        // In the first second of an epoch the folder was not looked at yet.
        self.seen.later.covered_until.map_or(own, |until| until.max(own))
    }

    fn document(&self) -> DocumentDetail {
        let network = &self.network;
        let layer = network.node(self.node.id()).and_then(|node| match node.role {
            Role::Mix { layer } => Some(layer),
            Role::Endpoint => None,
        });
        DocumentDetail {
            epoch: network.epoch.0.into(),
            in_force: self.in_force,
            valid_after: network.valid_after.0,
            valid_until: network.valid_until.0,
            later: self.seen.later.following.into(),
            covered_until: self.covered_until().0,
            nodes: network.nodes().count() as u64,
            layer,
            profile: network.profile.to_string(),
        }
    }
}

impl Patience<'_> {
    /// How the node is while it waits for a document.
    pub(super) fn status(&self) -> NodeStatus {
        status(self.config, self.key, self.time, self.shared, self.mailroom)
    }
}

/// What is known with and without a document.
fn status(
    config: &NodeConfig,
    key: &NodeKey,
    time: &Time,
    shared: &Shared,
    mailroom: &Mailroom,
) -> NodeStatus {
    let detail = NodeDetail {
        network: config.network.clone(),
        keys_from: key.epoch().0.into(),
        authorities: shared.authorities(),
        disk: disk_room(&config.state, config.limits.replay_tags),
        inbox_percent: mailroom.percent(),
        clock: ClockDetail {
            time: time.now().0,
            agrees: time.verdict.agrees(),
            words: time.verdict.to_string(),
        },
        ..NodeDetail::default()
    };
    NodeStatus { inbox: mailroom.count(), detail: Some(Box::new(detail)), ..shared.status() }
}
