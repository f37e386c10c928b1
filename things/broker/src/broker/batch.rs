//! What happened since the store was last asked: changes, how to take them back, and who waits.

use std::collections::HashMap;
use std::sync::Arc;

use motemix_coap::{Relation, Response};

use super::memory::Memory;
use crate::Change;
use crate::state::{Registration, RegistrationId, TopicId};

/// A response, and to which request.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The request's.
    pub ticket: T,
    /// What it is told.
    pub response: Response,
    /// It observes from now on.
    pub observing: bool,
}

/// A notification for an observer.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The observer.
    pub relation: Relation,
    /// What it is told.
    pub response: Response,
    /// Its observation is over.
    pub last: bool,
    /// It is to be asked whether it still listens: sent confirmable (RFC 7641 §4.5).
    pub confirm: bool,
}

/// What may leave now.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled<T> {
    /// Responses to requests. They leave before the notices.
    pub answers: Vec<Answer<T>>,
    /// Notifications.
    pub notices: Vec<Notice>,
    /// What changed, for the page and the bridges.
    pub feed: Vec<Change>,
}

/// Changes that no store has yet.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    changes: Vec<Change>,
    /// Takes them back, from the last on.
    inverses: Vec<Change>,
    /// Which of the changes was the last of a topic's value.
    published: HashMap<TopicId, usize>,
    /// Notices that no change is behind.
    pub(super) checks: Vec<Notice>,
    /// Observers that hear of the end of their observation when the store has the changes.
    pub(super) dismissed: Vec<Relation>,
    /// Observations that began in this batch.
    pub(super) began: Vec<Relation>,
}

impl Batch {
    pub(crate) fn apply(&mut self, memory: &mut Memory, change: Change) {
        match &change {
            Change::Value(topic, value) => {
                // Observers have a value already of which the moment alone was set right.
                let before = memory.state().value(topic);
                if !before.zip(value.as_ref()).is_some_and(|(before, value)| before.is_later_copy_of(value)) {
                    self.published.insert(topic.clone(), self.changes.len());
                }
            }
            Change::Registration(..) | Change::Topic(..) | Change::Freshness(..) => {}
        }
        self.changes.push(change.clone());
        self.inverses.push(memory.apply(change));
    }

    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Topics whose value changed, and which of the changes it was last.
    pub(super) fn published(&self) -> &HashMap<TopicId, usize> {
        &self.published
    }

    /// Registrations as they were before they changed, and as they are after.
    pub(super) fn registrations(&self) -> impl Iterator<Item = (&RegistrationId, &Arc<Registration>)> {
        let changes = self.changes.iter().chain(&self.inverses);
        changes.filter_map(|change| match change {
            Change::Registration(id, Some(registration)) => Some((id, registration)),
            _ => None,
        })
    }

    /// The state before the batch.
    pub(super) fn take_back(&mut self, memory: &mut Memory) {
        while let Some(inverse) = self.inverses.pop() {
            memory.apply(inverse);
        }
    }

    /// Makes the changes again, on another state.
    pub(super) fn make_again(&mut self, memory: &mut Memory) {
        self.inverses = self.changes.iter().map(|change| memory.apply(change.clone())).collect();
    }

    pub(super) fn into_changes(self) -> Vec<Change> {
        self.changes
    }
}
