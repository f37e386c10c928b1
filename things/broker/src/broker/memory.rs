//! The state, and what is looked up in it often.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use motemix_object::{Identity, Order, PublicKey};

use super::taken::Taken;
use crate::state::{RegistrationId, Topic, TopicId};
use crate::{Change, Moment, State, directory, policy};

/// Whose topics are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// The device that made them.
    Device(Identity),
    /// Receivers of the network, which make topics for their devices.
    Receivers,
    /// Bridges, other programs of this machine, and whoever did not prove who it is.
    Others,
}

impl Holder {
    pub(crate) fn of(topic: &Topic) -> Self {
        match topic.owner {
            Some(device) => Self::Device(device),
            None if topic.device.is_some() || policy::device_in(&topic.name).is_some() => Self::Receivers,
            None => Self::Others,
        }
    }
}

/// What somebody's topics take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) topics: u32,
    /// Bytes of their newest values.
    pub(crate) bytes: u64,
}

/// Something that ends by itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    Topic(TopicId),
    Registration(RegistrationId),
}

#[derive(Debug)]
struct Key {
    key: PublicKey,
    registrations: u32,
}

/// A state with its indexes, which follow each change.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    state: State,
    names: HashMap<Arc<str>, TopicId>,
    holdings: HashMap<Holder, Holding>,
    keys: HashMap<Identity, Key>,
    endings: BTreeSet<(Moment, Ending)>,
    taken: Taken,
}

impl Memory {
    pub(super) fn new(state: &State) -> Self {
        let mut memory = Self::default();
        for change in state.as_changes() {
            memory.apply(change);
        }
        memory.taken = Taken::with(state.values().map(|(id, value)| (id, &**value)));
        memory
    }

    /// The store has these changes.
    pub(super) fn stored(&mut self, changes: &[Change]) {
        self.taken.note(changes);
    }

    /// Whether a topic took a reading with this number, as far as that is remembered.
    pub(crate) fn has_taken(&self, topic: &TopicId, number: u64, order: Order) -> bool {
        self.taken.has(topic, number, order)
    }

    pub(crate) const fn state(&self) -> &State {
        &self.state
    }

    /// Makes a change, and returns the one that takes it back.
    pub(crate) fn apply(&mut self, change: Change) -> Change {
        match &change {
            Change::Topic(id, _) => self.forget_topic(id),
            Change::Value(id, value) => {
                let before = self.state.value(id).map_or(0, |value| value.payload.len());
                let after = value.as_ref().map_or(0, |value| value.payload.len());
                if let Some(topic) = self.state.topic(id) {
                    let holding = self.holdings.entry(Holder::of(topic)).or_default();
                    holding.bytes = holding.bytes.saturating_sub(before as u64) + after as u64;
                }
            }
            Change::Registration(id, _) => self.forget_registration(id),
            Change::Freshness(..) => {}
        }
        let inverse = self.state.apply(change);
        match &inverse {
            Change::Topic(id, _) => self.note_topic(id),
            Change::Registration(id, _) => self.note_registration(id),
            Change::Value(..) | Change::Freshness(..) => {}
        }
        inverse
    }

    fn forget_topic(&mut self, id: &TopicId) {
        let Some(topic) = self.state.topic(id) else { return };
        self.names.remove(&topic.name);
        if let Some(expires) = topic.expires {
            self.endings.remove(&(expires, Ending::Topic(id.clone())));
        }
        let holder = Holder::of(topic);
        if let Some(holding) = self.holdings.get_mut(&holder) {
            holding.topics = holding.topics.saturating_sub(1);
            let value = self.state.value(id).map_or(0, |value| value.payload.len());
            holding.bytes = holding.bytes.saturating_sub(value as u64);
            if *holding == Holding::default() {
                self.holdings.remove(&holder);
            }
        }
    }

    fn note_topic(&mut self, id: &TopicId) {
        let Some(topic) = self.state.topic(id) else { return };
        self.names.insert(topic.name.clone(), id.clone());
        if let Some(expires) = topic.expires {
            self.endings.insert((expires, Ending::Topic(id.clone())));
        }
        let holding = self.holdings.entry(Holder::of(topic)).or_default();
        holding.topics += 1;
        holding.bytes += self.state.value(id).map_or(0, |value| value.payload.len()) as u64;
    }

    fn forget_registration(&mut self, id: &RegistrationId) {
        let Some(registration) = self.state.registration(id) else { return };
        self.endings.remove(&(registration.expires, Ending::Registration(id.clone())));
        let Some((device, _)) = directory::device_key(registration) else { return };
        if let Some(key) = self.keys.get_mut(&device) {
            key.registrations -= 1;
            if key.registrations == 0 {
                self.keys.remove(&device);
            }
        }
    }

    fn note_registration(&mut self, id: &RegistrationId) {
        let Some(registration) = self.state.registration(id) else { return };
        self.endings.insert((registration.expires, Ending::Registration(id.clone())));
        if let Some((device, key)) = directory::device_key(registration) {
            self.keys.entry(device).or_insert(Key { key, registrations: 0 }).registrations += 1;
        }
    }

    /// The topic that has a name.
    pub(crate) fn topic_named(&self, name: &str) -> Option<&TopicId> {
        self.names.get(name)
    }

    /// What somebody's topics take.
    pub(crate) fn holding(&self, holder: Holder) -> Holding {
        self.holdings.get(&holder).copied().unwrap_or_default()
    }

    /// The key that a device registered, while it is registered.
    pub(crate) fn key(&self, device: &Identity) -> Option<&PublicKey> {
        self.keys.get(device).map(|key| &key.key)
    }

    /// What ended first of all that ended by now.
    pub(super) fn ended(&self, now: Moment) -> Option<Ending> {
        self.endings.first().filter(|(moment, _)| *moment <= now).map(|(_, ending)| ending.clone())
    }

    pub(super) fn next_ending(&self) -> Option<Moment> {
        self.endings.first().map(|(moment, _)| *moment)
    }
}
