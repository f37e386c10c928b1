//! What a broker remembers. All of it changes by [`Change`]s alone, which are what a store keeps.

mod registration;
mod topic;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use motemix_coap::link_format::Link;
pub use registration::{Registration, RegistrationId};
pub use topic::{Signed, Topic, TopicId, Value};

/// What a store keeps: one thing as it is from now on, or that it is no more.
///
/// Whoever applies changes in the order in which they were made has the same state, be it after a
/// restart or in another broker.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A topic and its configuration. Without one, its value goes as well.
    Topic(TopicId, Option<Arc<Topic>>),
    /// The newest value of a topic.
    Value(TopicId, Option<Arc<Value>>),
    /// A registration in the directory.
    Registration(RegistrationId, Option<Arc<Registration>>),
}

/// Topics with their newest values, and registrations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    topics: BTreeMap<TopicId, Arc<Topic>>,
    values: BTreeMap<TopicId, Arc<Value>>,
    registrations: BTreeMap<RegistrationId, Arc<Registration>>,
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
                let before = replace(&mut self.registrations, &id, registration);
                Change::Registration(id, before)
            }
        }
    }
}

/// Returns what stood there.
fn replace<I: Ord + Clone, T>(table: &mut BTreeMap<I, T>, id: &I, value: Option<T>) -> Option<T> {
    match value {
        Some(value) => table.insert(id.clone(), value),
        None => table.remove(id),
    }
}
