//! What MQTT shall retain, and what of it has still to be sent.

mod entities;
mod records;
mod sending;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use motemix_object::Identity;

use super::device::DeviceInfo;
use super::discovery::Entity;
use super::names::level_of_topic;
use super::notices::Notices;
use super::settings::{Export, Plan};
use super::status::Counters;
use crate::state::{RegistrationId, Topic, TopicId, Value};
use crate::{Change, Moment, State};
use records::Record;
pub use records::{OlderRecord, RecordChange};

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
    /// The newest record of each SenML name, by key.
    records: BTreeMap<String, Record>,
    /// When the next of them is too old to be believed.
    due: Option<Moment>,
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
    registrations: BTreeMap<RegistrationId, (Identity, Arc<DeviceInfo>)>,
    devices: BTreeMap<Identity, BTreeMap<RegistrationId, Arc<DeviceInfo>>>,
    of_device: BTreeMap<Identity, BTreeSet<TopicId>>,
    /// No record was published after this.
    latest: Option<Moment>,
    /// When records of topics are too old to be believed.
    schedule: BTreeSet<(Moment, TopicId)>,
    /// Names of topics and keys of records that are to be kept over a restart, or not any more.
    unkept: BTreeSet<(Arc<str>, String)>,
    wanted: BTreeMap<Arc<str>, Source>,
    queue: VecDeque<Arc<str>>,
    queued: HashSet<Arc<str>>,
    is_connected: bool,
    max_packet: usize,
    /// What is counted here.
    pub counters: Counters,
    /// Lines for people.
    pub notices: Notices,
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
            latest: None,
            schedule: BTreeSet::new(),
            unkept: BTreeSet::new(),
            wanted: BTreeMap::new(),
            queue: VecDeque::new(),
            queued: HashSet::new(),
            is_connected: false,
            counters: Counters::default(),
            notices: Notices::default(),
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
                let device =
                    registration.as_ref().and_then(|it| Some((it.device?, Arc::new(DeviceInfo::of(it)))));
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
        let name = &*topic.name;
        let export = self.plan.export_of(topic);
        let mut exported = export == Export::Yes;
        if let Export::No(why) = export {
            self.notices.say("topics", name, || format!("the topic {name:?} does not go to MQTT: {why}"));
        }
        if exported && self.exported >= self.plan.settings().limits.topics as usize {
            self.counters.topics_left_out = self.counters.topics_left_out.saturating_add(1);
            self.notices.say("topics", name, || {
                format!("the topic {name:?} does not go to MQTT: there is no room; raise mqtt.limits.topics")
            });
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
            records: BTreeMap::new(),
            due: None,
            entities: BTreeMap::new(),
            configs: BTreeMap::new(),
        };
        self.topics.insert(id.clone(), entry);
        self.set_commands(&topic.name);
    }

    fn remove_topic(&mut self, id: &TopicId) {
        self.forget_records(id);
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
        self.set_commands(&entry.topic.name);
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
            self.forget_records(id);
            self.unwant_all(&configs);
            self.unwant(&state);
            return;
        };
        self.merge(id, value);
        self.set_entities(id);
        self.send_state(id);
    }

    fn send_state(&mut self, id: &TopicId) {
        let Some(entry) = self.topics.get(id) else { return };
        if entry.exported && entry.value.is_some() {
            let topic = self.plan.state_topic(&entry.topic.name).into();
            self.want(topic, Source::State(id.clone()));
        }
    }
}
