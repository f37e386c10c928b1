//! What has happened, in numbers. There are no log lines: logs leak what the network hides.

use motemix_sphinx::ReplayError;
use serde::Serialize;

use crate::packet::ProcessError;

/// Why a datagram was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// No packet of this network, and no control message.
    Malformed,
    /// The group element is no point of the curve.
    NotOnCurve,
    /// The header MAC does not hold.
    BadHeaderMac,
    /// Seen before.
    Replayed,
    /// No room for another replay tag under this key.
    ReplayTagsFull,
    /// What this hop is told makes no sense, or its delay is no number of seconds from zero on.
    BadRouting,
    /// The payload was changed on the way, or is not for this node.
    BadPayload,
    /// The next hop is not one that this node sends to.
    UnknownNextHop,
    /// The delay queue is full.
    QueueFull,
    /// The receiver's mailbox is full.
    MailboxFull,
    /// The mailboxes cannot be written.
    MailboxFailed,
    /// A control message that is not allowed: unknown user, wrong address, no proof.
    Refused,
    /// This role takes no such packet.
    NotForThisRole,
}

impl From<ProcessError> for DropReason {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Malformed => Self::Malformed,
            ProcessError::NotOnCurve => Self::NotOnCurve,
            ProcessError::BadHeaderMac => Self::BadHeaderMac,
            ProcessError::BadRouting => Self::BadRouting,
            ProcessError::BadPayload => Self::BadPayload,
        }
    }
}

impl From<ReplayError> for DropReason {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Replayed => Self::Replayed,
            ReplayError::Full | ReplayError::Rationed => Self::ReplayTagsFull,
        }
    }
}

/// Numbers since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counters {
    /// Datagrams that were looked at.
    pub received: u64,
    /// Packets that a hop before this one sent, on their way to the next.
    pub forwarded: u64,
    /// Datagrams given to the network.
    pub sent: u64,
    /// Packets put into a mailbox.
    pub stored: u64,
    /// Packets taken from a mailbox and sent to their user.
    pub delivered: u64,
    /// Messages that arrived for this node's user.
    pub messages: u64,
    /// Loop cover sent.
    pub loops_sent: u64,
    /// Loop cover of this node that came back.
    pub loops_returned: u64,
    /// Loop cover that was not back in its time.
    pub loops_lost: u64,
    /// How often too few loops came back.
    pub loop_alarms: u64,
    /// Whether too few come back now: 1, or 0.
    pub loop_alarm: u64,
    /// How much speaks for it, in per cent of what raises the alarm.
    pub loop_evidence_percent: u64,
    /// Drop cover sent.
    pub drops_sent: u64,
    /// Drop cover that ended here.
    pub drops_received: u64,
    /// Messages sent, tries included.
    pub messages_sent: u64,
    /// Tries after the first.
    pub retries: u64,
    /// Acknowledgements that arrived.
    pub acknowledged: u64,
    /// Messages that arrived again.
    pub duplicates: u64,
    /// Dummies sent to clients that pulled.
    pub dummies_sent: u64,
    /// Dummies that arrived.
    pub dummies_received: u64,
    /// Control messages taken.
    pub control: u64,
    /// Control messages and dummies in the form of the originals' other profile.
    pub other_profile: u64,
    /// Pulls since a client last received anything that was meant for it.
    pub pulls_unanswered: u64,
    /// Replay tags that are kept now.
    pub replay_tags: u64,
    /// Replay tags that can be kept. A hardened mix or provider that keeps so many takes nothing
    /// more.
    pub replay_tags_most: u64,
    /// Replay tags that had to be forgotten, so that old packets may pass again: the key is due for
    /// a change.
    pub replay_tags_forgotten: u64,
    /// Datagrams dropped, by reason.
    pub dropped: Dropped,
}

/// Datagrams dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// See [`DropReason::Malformed`].
    pub malformed: u64,
    /// See [`DropReason::NotOnCurve`].
    pub not_on_curve: u64,
    /// See [`DropReason::BadHeaderMac`].
    pub bad_header_mac: u64,
    /// See [`DropReason::Replayed`].
    pub replayed: u64,
    /// See [`DropReason::ReplayTagsFull`].
    pub replay_tags_full: u64,
    /// See [`DropReason::BadRouting`].
    pub bad_routing: u64,
    /// See [`DropReason::BadPayload`].
    pub bad_payload: u64,
    /// See [`DropReason::UnknownNextHop`].
    pub unknown_next_hop: u64,
    /// See [`DropReason::QueueFull`].
    pub queue_full: u64,
    /// See [`DropReason::MailboxFull`].
    pub mailbox_full: u64,
    /// See [`DropReason::MailboxFailed`].
    pub mailbox_failed: u64,
    /// See [`DropReason::Refused`].
    pub refused: u64,
    /// See [`DropReason::NotForThisRole`].
    pub not_for_this_role: u64,
}

impl Counters {
    pub(super) fn drop_for(&mut self, reason: DropReason) -> DropReason {
        let dropped = &mut self.dropped;
        let count = match reason {
            DropReason::Malformed => &mut dropped.malformed,
            DropReason::NotOnCurve => &mut dropped.not_on_curve,
            DropReason::BadHeaderMac => &mut dropped.bad_header_mac,
            DropReason::Replayed => &mut dropped.replayed,
            DropReason::ReplayTagsFull => &mut dropped.replay_tags_full,
            DropReason::BadRouting => &mut dropped.bad_routing,
            DropReason::BadPayload => &mut dropped.bad_payload,
            DropReason::UnknownNextHop => &mut dropped.unknown_next_hop,
            DropReason::QueueFull => &mut dropped.queue_full,
            DropReason::MailboxFull => &mut dropped.mailbox_full,
            DropReason::MailboxFailed => &mut dropped.mailbox_failed,
            DropReason::Refused => &mut dropped.refused,
            DropReason::NotForThisRole => &mut dropped.not_for_this_role,
        };
        *count += 1;
        reason
    }
}
