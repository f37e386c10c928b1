//! What a broker remembers. All of it changes by [`Change`]s alone, which are what a store keeps.

mod codec;
mod places;
mod registration;
mod topic;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use motemix_object::{Freshness, Identity};

pub use codec::{BadChange, CHANGE_VERSION, MAX_CHANGE_LEN};
pub use motemix_coap::link_format::Link;
use places::Places;
pub(crate) use registration::LABEL;
pub use registration::{Registration, RegistrationId};
pub use topic::{Signed, Topic, TopicId, Value};

/// What a store keeps: one thing as it is from now on, or that it is no more.
///
/// Whoever applies changes in the order in which they were made has the same state, be it after a
/// restart or in another broker.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A topic and its configuration. Its value is a change of its own, which goes before it.
    Topic(TopicId, Option<Arc<Topic>>),
    /// The newest value of a topic.
    Value(TopicId, Option<Arc<Value>>),
    /// A registration in the directory.
    Registration(RegistrationId, Option<Arc<Registration>>),
    /// Which numbers of a device were accepted. It outlives topics and registrations: otherwise
    /// whoever deletes them could replay what was published to them.
    Freshness(Identity, Option<Freshness>),
}

/// Topics with their newest values, registrations, and which readings of devices arrived.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    topics: BTreeMap<TopicId, Arc<Topic>>,
    values: BTreeMap<TopicId, Arc<Value>>,
    registrations: BTreeMap<RegistrationId, Arc<Registration>>,
    places: Places,
    freshness: BTreeMap<Identity, Freshness>,
}

impl State {
    /// Makes a change, and returns the one that takes it back.
    pub fn apply(&mut self, change: Change) -> Change {
        match change {
            Change::Topic(id, topic) => {
                let before = replace(&mut self.topics, &id, topic);
                Change::Topic(id, before)
            }
            Change::Value(id, value) => {
                let before = replace(&mut self.values, &id, value);
                Change::Value(id, before)
            }
            Change::Registration(id, registration) => {
                if let Some(before) = self.registrations.get(&id) {
                    self.places.remove(&id, before);
                }
                if let Some(registration) = &registration {
                    self.places.add(&id, registration);
                }
                let before = replace(&mut self.registrations, &id, registration);
                Change::Registration(id, before)
            }
            Change::Freshness(device, freshness) => {
                let before = replace(&mut self.freshness, &device, freshness);
                Change::Freshness(device, before)
            }
        }
    }

    /// A topic's configuration.
    pub fn topic(&self, id: &TopicId) -> Option<&Arc<Topic>> {
        self.topics.get(id)
    }

    /// All topics, in the order of their identifiers.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = (&TopicId, &Arc<Topic>)> {
        self.topics.iter()
    }

    /// The newest value of a topic; none until something is published.
    pub fn value(&self, id: &TopicId) -> Option<&Arc<Value>> {
        self.values.get(id)
    }

    /// The newest value of each topic that has one.
    pub fn values(&self) -> impl ExactSizeIterator<Item = (&TopicId, &Arc<Value>)> {
        self.values.iter()
    }

    /// A registration.
    pub fn registration(&self, id: &RegistrationId) -> Option<&Arc<Registration>> {
        self.registrations.get(id)
    }

    /// All registrations, in the order of their identifiers.
    pub fn registrations(&self) -> impl ExactSizeIterator<Item = (&RegistrationId, &Arc<Registration>)> {
        self.registrations.iter()
    }

    /// Those that an endpoint of this name registered, in the same order.
    pub(crate) fn registrations_named(
        &self,
        name: &str,
    ) -> impl Iterator<Item = (&RegistrationId, &Arc<Registration>)> {
        self.places.named(name).filter_map(|id| self.registrations.get_key_value(id))
    }

    /// What it takes to look at those that an endpoint of a name registered, or at all.
    pub(crate) fn work(&self, name: Option<&str>) -> usize {
        self.places.work(name)
    }

    /// How many are from the network of an address.
    pub(crate) fn registrations_from(&self, address: IpAddr) -> usize {
        self.places.of_network(address)
    }

    /// Whether a device has registered with its key.
    pub(crate) fn is_registered(&self, device: &Identity) -> bool {
        self.places.has_device(device)
    }

    /// Which numbers of a device were accepted; none if the broker never accepted one.
    pub fn freshness(&self, device: &Identity) -> Option<Freshness> {
        self.freshness.get(device).copied()
    }

    /// How many devices it knows numbers of.
    pub fn devices(&self) -> usize {
        self.freshness.len()
    }

    /// Changes that make this state out of an empty one.
    pub fn as_changes(&self) -> impl Iterator<Item = Change> {
        let topics = self.topics.iter().map(|(id, topic)| Change::Topic(id.clone(), Some(topic.clone())));
        let values = self.values.iter().map(|(id, value)| Change::Value(id.clone(), Some(value.clone())));
        let registrations = self.registrations.iter();
        let registrations = registrations
            .map(|(id, registration)| Change::Registration(id.clone(), Some(registration.clone())));
        let freshness = self.freshness.iter().map(|(device, fresh)| Change::Freshness(*device, Some(*fresh)));
        topics.chain(values).chain(registrations).chain(freshness)
    }
}

/// Returns what stood there.
fn replace<I: Ord + Clone, T>(table: &mut BTreeMap<I, T>, id: &I, value: Option<T>) -> Option<T> {
    match value {
        Some(value) => table.insert(id.clone(), value),
        None => table.remove(id),
    }
}
