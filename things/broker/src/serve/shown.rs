//! What the page shows of a broker in the same process.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::statistics::Group;
use super::{Inner, Update};
use crate::Moment;
use crate::bridge::Status;
use crate::page::{Feed, StoreState, TopicNow, View};
use crate::state::{Registration, RegistrationId, TopicId, Value};
use crate::store::Store;

/// A broker as its page sees it: what is stored, and a connection of its own to the store for what
/// was before.
#[derive(Debug)]
pub struct Shown<S> {
    inner: Inner,
    network: Arc<str>,
    store: Mutex<S>,
    health: Mutex<StoreState>,
    bridge: Option<watch::Receiver<Status>>,
}

impl<S: Store + 'static> Shown<S> {
    /// The broker behind `inner`; `store` is another connection to its store. A `bridge` to MQTT
    /// says how it is doing.
    pub fn new(inner: Inner, network: &str, store: S, bridge: Option<watch::Receiver<Status>>) -> Arc<Self> {
        let (store, health) = (Mutex::new(store), Mutex::new(StoreState::Working));
        Arc::new(Self { inner, network: network.into(), store, health, bridge })
    }

    /// Tells the page of what changes, until the broker ends. A listener that was behind tells
    /// everything again.
    pub async fn tell(self: Arc<Self>, feed: Arc<Feed>) {
        loop {
            let mut updates = self.inner.listen();
            loop {
                let update = tokio::select! {
                    update = updates.next() => update,
                    refused = self.inner.next_refused() => {
                        for (topic, refused) in &refused {
                            feed.refused(topic, refused);
                        }
                        continue;
                    }
                };
                let Some(update) = update else { break };
                match update {
                    Update::Changes(changes) => feed.changes(&changes),
                    Update::Health(problem) => {
                        let state = match problem {
                            None => StoreState::Working,
                            Some(why) => StoreState::Refusing { since: now(), why },
                        };
                        *self.health.lock().unwrap_or_else(PoisonError::into_inner) = state.clone();
                        feed.store(&state);
                    }
                }
            }
            if self.inner.is_over() {
                return;
            }
            feed.missed();
        }
    }
}

fn now() -> Moment {
    Moment::from_millis(u64::try_from(motemix_os::clock::unix_time().as_millis()).unwrap_or(u64::MAX))
}

impl<S: Store + 'static> View for Shown<S> {
    fn now(&self) -> Moment {
        now()
    }

    fn network(&self) -> Arc<str> {
        Arc::clone(&self.network)
    }

    fn store(&self) -> StoreState {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn counters(&self) -> Vec<(&'static str, Group)> {
        let mut groups = self.inner.statistics().groups();
        if let Some(bridge) = &self.bridge {
            groups.push(("mqtt", bridge.borrow().counters.iter().collect()));
        }
        groups
    }

    fn registrations(&self) -> Vec<(RegistrationId, Arc<Registration>)> {
        let state = self.inner.state();
        state.registrations().map(|(id, registration)| (id.clone(), Arc::clone(registration))).collect()
    }

    fn topics(&self) -> Vec<TopicNow> {
        let state = self.inner.state();
        let topic = |(id, topic): (&TopicId, &Arc<_>)| TopicNow {
            id: id.clone(),
            topic: Arc::clone(topic),
            value: state.value(id).cloned(),
            refused: self.inner.refused(id),
        };
        state.topics().map(topic).collect()
    }

    fn history(&self, topic: &TopicId, most: usize) -> Result<Option<Vec<Value>>, String> {
        if self.inner.state().topic(topic).is_none() {
            return Ok(None);
        }
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = store.history(topic, most, None).map_err(|error| error.to_string())?;
        values.reverse();
        Ok(Some(values))
    }
}
