//! What MQTT shall retain, and what of it has still to be sent.

mod sending;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use motemix_object::Identity;

use super::discovery::Entity;
use super::names::level_of_topic;
use super::reading::Readings;
use super::settings::Plan;
use super::status::Counters;
use crate::state::{RegistrationId, Topic, TopicId, Value};
use crate::{Change, State};

/// The most entities of one topic.
const MAX_ENTITIES: usize = 32;
/// Properties and the fixed header of a message have room in this.
const OVERHEAD: usize = 1024;
/// Marks what a bridge sent, with its name.
pub(super) const MARK: &str = "motemix-bridge";

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A topic's newest value.
    State,
    /// How Home Assistant learns of an entity.
    Discovery,
    /// Nothing is retained any more.
    Removal,
}

/// What goes to MQTT, to be retained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is about.
    pub kind: Kind,
    /// Where it goes.
    pub topic: Arc<str>,
    /// JSON; empty, if nothing shall be retained.
    pub payload: Vec<u8>,
    /// Seconds after which the MQTT broker forgets it.
    pub expiry: Option<u32>,
    /// For whoever wants to know without reading the payload.
    pub properties: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
enum Source {
    State(TopicId),
    Config(TopicId, String),
}

#[derive(Debug)]
struct Entry {
    topic: Arc<Topic>,
    value: Option<Arc<Value>>,
    /// Whether it goes to MQTT, and has room there.
    exported: bool,
    /// By key; an entity stays when a value comes without it.
    entities: BTreeMap<String, Entity>,
    /// Where discovery messages of it are retained.
    configs: BTreeMap<String, Arc<str>>,
}

/// What MQTT shall retain. It has one place for each topic: a value that could not be sent makes
/// room for a newer one.
#[derive(Debug)]
pub struct Mirror {
    plan: Arc<Plan>,
    topics: BTreeMap<TopicId, Entry>,
    /// By the form of their names in MQTT.
    by_form: HashMap<String, TopicId>,
    exported: usize,
    /// Discovery messages of all topics.
    configs: usize,
    /// Who registered which device, and as what.
    registrations: BTreeMap<RegistrationId, (Identity, Arc<str>)>,
    devices: BTreeMap<Identity, BTreeMap<RegistrationId, Arc<str>>>,
    of_device: BTreeMap<Identity, BTreeSet<TopicId>>,
    wanted: BTreeMap<Arc<str>, Source>,
    queue: VecDeque<Arc<str>>,
    queued: HashSet<Arc<str>>,
    is_connected: bool,
    max_packet: usize,
    /// What is counted here.
    pub counters: Counters,
}

impl Mirror {
    /// A mirror of nothing yet.
    pub fn new(plan: Arc<Plan>) -> Self {
        Self {
            max_packet: plan.settings().limits.payload_out as usize,
            plan,
            topics: BTreeMap::new(),
            by_form: HashMap::new(),
            exported: 0,
            configs: 0,
            registrations: BTreeMap::new(),
            devices: BTreeMap::new(),
            of_device: BTreeMap::new(),
            wanted: BTreeMap::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            is_connected: false,
            counters: Counters::default(),
        }
    }

    /// Takes a whole state in place of what was known before.
    pub fn reset(&mut self, state: &State) {
        let gone: Vec<TopicId> = self.topics.keys().filter(|id| state.topic(id).is_none()).cloned().collect();
        for id in gone {
            self.apply(&Change::Topic(id, None));
        }
        let ended: Vec<RegistrationId> =
            self.registrations.keys().filter(|id| state.registration(id).is_none()).cloned().collect();
        for id in ended {
            self.apply(&Change::Registration(id, None));
        }
        let without: Vec<TopicId> = self
            .topics
            .iter()
            .filter(|(id, entry)| entry.value.is_some() && state.value(id).is_none())
            .map(|(id, _)| id.clone())
            .collect();
        for id in without {
            self.apply(&Change::Value(id, None));
        }
        for (id, registration) in state.registrations() {
            self.apply(&Change::Registration(id.clone(), Some(registration.clone())));
        }
        for (id, topic) in state.topics() {
            self.apply(&Change::Topic(id.clone(), Some(topic.clone())));
        }
        for (id, value) in state.values() {
            self.apply(&Change::Value(id.clone(), Some(value.clone())));
        }
    }

    /// Takes what changed. To make a change twice does nothing more.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Topic(id, Some(topic)) => self.set_topic(id, topic),
            Change::Topic(id, None) => self.remove_topic(id),
            Change::Value(id, value) => self.set_value(id, value.as_ref()),
            Change::Registration(id, registration) => {
                let device = registration
                    .as_ref()
                    .and_then(|registration| Some((registration.device?, registration.name())));
                self.set_registration(id, device);
            }
            Change::Freshness(..) => {}
        }
    }

    /// A connection stands: all that shall be retained is sent. `max_packet` is the MQTT broker's.
    pub fn connected(&mut self, max_packet: Option<u32>) {
        self.is_connected = true;
        let most = self.plan.settings().limits.payload_out;
        self.max_packet = max_packet.unwrap_or(most).min(most) as usize;
        self.send_all();
    }

    /// Nothing can be sent, and nothing needs to be remembered for that: all of it goes later.
    pub fn disconnected(&mut self) {
        self.is_connected = false;
        self.queue.clear();
        self.queued.clear();
    }

    /// Sends everything again: Home Assistant came back, and may have forgotten.
    pub fn send_all(&mut self) {
        let topics: Vec<Arc<str>> = self.wanted.keys().cloned().collect();
        for topic in topics {
            self.enqueue(topic);
        }
    }

    /// MQTT retains something of this bridge: it is taken away if it should not.
    pub fn found(&mut self, topic: &str) {
        if !self.wanted.contains_key(topic) {
            self.enqueue(topic.into());
        }
    }

    /// How many messages wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// A topic by its name.
    pub fn topic_named(&self, name: &str) -> Option<&TopicId> {
        self.by_form.get(&level_of_topic(name))
    }

    /// A topic by the form of its name in MQTT, with its name.
    pub fn topic_of_form(&self, form: &str) -> Option<(&TopicId, &Arc<str>)> {
        let id = self.by_form.get(form)?;
        Some((id, &self.topics.get(id)?.topic.name))
    }

    /// The newest value of a topic.
    pub fn value(&self, id: &TopicId) -> Option<&Arc<Value>> {
        self.topics.get(id)?.value.as_ref()
    }

    /// The MQTT broker has it.
    pub fn acknowledged(&mut self, kind: Kind) {
        let counter = match kind {
            Kind::State => &mut self.counters.states_sent,
            Kind::Discovery => &mut self.counters.discoveries_sent,
            Kind::Removal => &mut self.counters.removed,
        };
        *counter = counter.saturating_add(1);
    }

    /// It was not sent after all.
    pub fn return_to_queue(&mut self, topic: Arc<str>) {
        if self.is_connected && self.queued.insert(topic.clone()) {
            self.queue.push_front(topic);
        }
    }

    fn enqueue(&mut self, topic: Arc<str>) {
        if !self.is_connected {
            return;
        }
        if self.queued.insert(topic.clone()) {
            self.queue.push_back(topic);
        } else if matches!(self.wanted.get(&topic), Some(Source::State(_))) {
            self.counters.replaced = self.counters.replaced.saturating_add(1);
        }
    }

    fn want(&mut self, topic: Arc<str>, source: Source) {
        self.wanted.insert(topic.clone(), source);
        self.enqueue(topic);
    }

    fn unwant(&mut self, topic: &Arc<str>) {
        if self.wanted.remove(topic).is_some() {
            self.enqueue(topic.clone());
        }
    }

    fn unwant_all(&mut self, configs: &BTreeMap<String, Arc<str>>) {
        self.configs = self.configs.saturating_sub(configs.len());
        for config in configs.values() {
            self.unwant(config);
        }
    }

    fn set_topic(&mut self, id: &TopicId, topic: &Arc<Topic>) {
        if let Some(entry) = self.topics.get_mut(id) {
            if entry.topic == *topic {
                return;
            }
            if entry.topic.name == topic.name && entry.topic.device == topic.device {
                entry.topic = topic.clone();
                self.send_state(id);
                return;
            }
            self.remove_topic(id);
        }
        let mut exported = self.plan.exports(topic);
        if exported && self.exported >= self.plan.settings().limits.topics as usize {
            self.counters.topics_left_out = self.counters.topics_left_out.saturating_add(1);
            exported = false;
        }
        self.exported = self.exported.saturating_add(usize::from(exported));
        self.by_form.insert(level_of_topic(&topic.name), id.clone());
        if let Some(device) = topic.device {
            self.of_device.entry(device).or_default().insert(id.clone());
        }
        let entry = Entry {
            topic: topic.clone(),
            value: None,
            exported,
            entities: BTreeMap::new(),
            configs: BTreeMap::new(),
        };
        self.topics.insert(id.clone(), entry);
    }

    fn remove_topic(&mut self, id: &TopicId) {
        let Some(entry) = self.topics.remove(id) else { return };
        self.exported = self.exported.saturating_sub(usize::from(entry.exported));
        let form = level_of_topic(&entry.topic.name);
        if self.by_form.get(&form) == Some(id) {
            self.by_form.remove(&form);
        }
        if let Some(device) = entry.topic.device
            && let Some(topics) = self.of_device.get_mut(&device)
        {
            topics.remove(id);
            if topics.is_empty() {
                self.of_device.remove(&device);
            }
        }
        self.unwant_all(&entry.configs);
        if entry.exported {
            self.unwant(&self.plan.state_topic(&entry.topic.name).into());
        }
    }

    fn set_value(&mut self, id: &TopicId, value: Option<&Arc<Value>>) {
        let Some(entry) = self.topics.get_mut(id) else { return };
        if entry.value.as_ref() == value {
            return;
        }
        entry.value = value.cloned();
        if !entry.exported {
            return;
        }
        let Some(value) = value else {
            let configs = std::mem::take(&mut entry.configs);
            entry.entities.clear();
            let state = self.plan.state_topic(&entry.topic.name).into();
            self.unwant_all(&configs);
            self.unwant(&state);
            return;
        };
        let readings = Readings::of(value);
        let expire_after = self.plan.settings().home_assistant.expire_after;
        let mut left_out = readings.left_out;
        let mut changed = false;
        for (key, reading) in &readings.by_key {
            let entity = Entity::of(key, reading, expire_after);
            if entry.entities.get(key) == Some(&entity) {
                continue;
            }
            if entry.entities.len() >= MAX_ENTITIES && !entry.entities.contains_key(key) {
                left_out = left_out.saturating_add(1);
                continue;
            }
            // A new message, also where the old one was.
            if let Some(config) = entry.configs.remove(key) {
                self.configs = self.configs.saturating_sub(1);
                self.wanted.remove(&config);
                if self.is_connected && self.queued.insert(config.clone()) {
                    self.queue.push_back(config);
                }
            }
            entry.entities.insert(key.clone(), entity);
            changed = true;
        }
        let left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
        self.counters.readings_left_out = self.counters.readings_left_out.saturating_add(left_out);
        if changed {
            self.set_configs(id);
        }
        self.send_state(id);
    }

    fn send_state(&mut self, id: &TopicId) {
        let Some(entry) = self.topics.get(id) else { return };
        if entry.exported && entry.value.is_some() {
            let topic = self.plan.state_topic(&entry.topic.name).into();
            self.want(topic, Source::State(id.clone()));
        }
    }

    fn set_registration(&mut self, id: &RegistrationId, new: Option<(Identity, Arc<str>)>) {
        let old = self.registrations.get(id);
        if old == new.as_ref() {
            return;
        }
        let mut touched = BTreeSet::new();
        if let Some((device, _)) = old.cloned() {
            self.registrations.remove(id);
            if let Some(names) = self.devices.get_mut(&device) {
                names.remove(id);
                if names.is_empty() {
                    self.devices.remove(&device);
                }
            }
            touched.insert(device);
        }
        if let Some((device, endpoint)) = new {
            self.registrations.insert(id.clone(), (device, endpoint.clone()));
            self.devices.entry(device).or_default().insert(id.clone(), endpoint);
            touched.insert(device);
        }
        for device in touched {
            let topics: Vec<TopicId> = self.of_device.get(&device).into_iter().flatten().cloned().collect();
            for topic in topics {
                if let Some(entry) = self.topics.get_mut(&topic) {
                    // They carry the device's name: all are sent again, or taken away.
                    let configs = std::mem::take(&mut entry.configs);
                    self.unwant_all(&configs);
                }
                self.set_configs(&topic);
            }
        }
    }

    /// Wants discovery messages of all entities that have none; a device's, while it is registered.
    fn set_configs(&mut self, id: &TopicId) {
        let plan = Arc::clone(&self.plan);
        let Some(discovery) = plan.discovery() else { return };
        let Some(entry) = self.topics.get_mut(id) else { return };
        if entry.topic.device.is_some_and(|device| !self.devices.contains_key(&device)) {
            return;
        }
        let mut new = Vec::new();
        for (key, entity) in &entry.entities {
            if !entry.configs.contains_key(key) {
                if self.configs >= plan.settings().limits.entities as usize {
                    self.counters.entities_left_out = self.counters.entities_left_out.saturating_add(1);
                    continue;
                }
                self.configs += 1;
                let topic: Arc<str> = entity.config_topic(&plan, discovery, &entry.topic).into();
                entry.configs.insert(key.clone(), topic.clone());
                new.push((topic, Source::Config(id.clone(), key.clone())));
            }
        }
        for (topic, source) in new {
            self.want(topic, source);
        }
    }
}
