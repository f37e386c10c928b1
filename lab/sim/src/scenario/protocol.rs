//! What the nodes run.

use super::Time;
use motemix_link::settings::{LinkSettings, Pacing, Recovery};
use serde::{Deserialize, Serialize};

/// The shipping code. What all nodes agree on, and what they do about loss; how much memory a mote
/// has is its board's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Motes {
    /// Hops each way, 1 to 3.
    pub hops: u8,
    /// Mean of the exponential delay at a mix.
    pub mean_delay: Time,
    /// What a hop may take besides its delay before a try counts as lost.
    pub hop_allowance: Time,
    /// Tries in all for one message.
    pub transmissions: u8,
    /// Mean time between a node's loops; zero for none.
    pub loop_mean: Option<Time>,
    /// Mean time between a node's drop cover packets; zero for none.
    pub drop_mean: Option<Time>,
    /// Mean time between the ticks on which messages leave; without it, or if zero, they leave at
    /// once.
    pub payload_mean: Option<Time>,
    /// Whether as many messages are under way as come back, and timers follow round trips;
    /// otherwise all are.
    pub rate_control: bool,
    /// For how long mix keys are used.
    pub epoch: Epochs,
    /// What the link does about loss.
    pub link: LinkFixes,
}

impl Default for Motes {
    fn default() -> Self {
        Self {
            hops: 3,
            mean_delay: Time::seconds(1),
            hop_allowance: Time::seconds(2),
            transmissions: 4,
            loop_mean: None,
            drop_mean: None,
            payload_mean: None,
            rate_control: true,
            epoch: Epochs::default(),
            link: LinkFixes::default(),
        }
    }
}

/// For how long mix keys are used. Each epoch has a network document of its own, which the scenario
/// hands out before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Epochs {
    /// From one change of keys to the next, in whole seconds. A run begins with an epoch.
    pub length: Time,
    /// For how long before and after its epoch a key is accepted, in whole seconds.
    pub overlap: Time,
    /// Who is given each document but the first.
    pub given_to: GivenTo,
}

/// Who is given the next epoch's document by its authority.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GivenTo {
    /// Each node.
    All,
    /// One; the others have it over the air from neighbours.
    One,
}

impl Default for Epochs {
    fn default() -> Self {
        Self { length: Time::seconds(20 * 60), overlap: Time::seconds(60), given_to: GivenTo::All }
    }
}

/// What the link does about loss; each can be turned off by itself. See
/// `motemix_link::settings::LinkSettings`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a scenario, each by itself")]
pub struct LinkFixes {
    /// How often a frame that failed is put back.
    pub requeues: u8,
    /// For how long it waits, the first time.
    pub requeue_after: Time,
    /// Whether frames pause for the sake of others, the longer the busier the channel is.
    pub pacing: bool,
    /// The least pause after a frame whose datagram goes on.
    pub after_frame: Time,
    /// The least pause after a datagram.
    pub after_datagram: Time,
    /// By how much a pause grows and shrinks.
    pub pacing_step: Time,
    /// The most that is added to a pause.
    pub pacing_most: Time,
    /// Whether lost fragments are sent again (RFC 8931).
    pub recovery: bool,
    /// Whether the receiver is asked for them only if the radio had trouble.
    pub when_in_doubt: bool,
    /// How often a datagram is taken up again without getting on.
    pub recovery_tries: u8,
    /// For how long the receiver's answer is waited for.
    pub acknowledged_within: Time,
    /// For how long an incomplete datagram is kept.
    pub reassembled_within: Time,
    /// Whether neighbours protect their frames with keys of their own.
    pub protected: bool,
}

impl Default for LinkFixes {
    fn default() -> Self {
        let settings = LinkSettings::new();
        let pacing = settings.pacing.unwrap_or_default();
        Self {
            requeues: settings.requeues,
            requeue_after: Time(settings.requeue_after),
            pacing: settings.pacing.is_some(),
            after_frame: Time(pacing.after_frame),
            after_datagram: Time(pacing.after_datagram),
            pacing_step: Time(pacing.step),
            pacing_most: Time(pacing.most),
            recovery: settings.recovery == Recovery::Selective,
            when_in_doubt: settings.when_in_doubt,
            recovery_tries: settings.recovery_tries,
            acknowledged_within: Time(settings.acknowledged_within),
            reassembled_within: Time(settings.reassembled_within),
            protected: false,
        }
    }
}

impl LinkFixes {
    pub(crate) fn settings(&self) -> LinkSettings {
        LinkSettings {
            requeues: self.requeues,
            requeue_after: self.requeue_after.0,
            pacing: self.pacing.then_some(Pacing {
                after_frame: self.after_frame.0,
                after_datagram: self.after_datagram.0,
                step: self.pacing_step.0,
                most: self.pacing_most.0,
            }),
            recovery: if self.recovery { Recovery::Selective } else { Recovery::None },
            when_in_doubt: self.when_in_doubt,
            recovery_tries: self.recovery_tries,
            acknowledged_within: self.acknowledged_within.0,
            reassembled_within: self.reassembled_within.0,
            ..LinkSettings::new()
        }
    }
}
