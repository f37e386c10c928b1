//! Topics (draft-ietf-core-coap-pubsub) and what was published to them.

use std::sync::Arc;

use motemix_object::Identity;

use crate::Moment;

/// The segment of a topic's path, made by the broker: `h9392` of `/ps/h9392` and `/ps/data/h9392`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub Arc<str>);

/// A topic as it was configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    /// For applications; no two topics have one name.
    pub name: Arc<str>,
    /// What kind of values it has, such as `temperature`.
    pub topic_type: Option<Arc<str>>,
    /// The content format of its values, if only one is taken.
    pub content_format: Option<u16>,
    /// When it ends.
    pub expires: Option<Moment>,
    /// How many may observe it.
    pub max_subscribers: Option<u32>,
    /// Seconds within which each observer is asked whether it still listens (RFC 7641 §4.5).
    pub observer_check: u32,
    /// The device whose signed readings it takes, and nothing else; none takes what anybody
    /// publishes whom the policy lets.
    pub device: Option<Identity>,
    /// The device that created it, if it proved who it is: it may change and delete the topic.
    pub owner: Option<Identity>,
}

/// What was published to a topic last.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// When it was.
    pub published: Moment,
    /// What it is.
    pub content_format: Option<u16>,
    /// As it was published.
    pub payload: Arc<[u8]>,
    /// What the broker found when it checked the signature.
    pub signed: Signed,
}

impl Value {
    /// Whether it is the other value, published later: the other one has its moment set right.
    pub(crate) fn is_later_copy_of(&self, other: &Self) -> bool {
        self.published > other.published
            && self.clone() == Self { published: self.published, ..other.clone() }
    }
}

/// Whose signature a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// Nobody's that the broker knows.
    Unchecked,
    /// That of the topic's device, under this number, which is fresh.
    ByDevice {
        /// The sequence number.
        sequence: u64,
    },
}
