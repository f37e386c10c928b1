//! Which entities Home Assistant is told of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use motemix_object::Identity;

use super::{Mirror, Source};
use crate::bridge::device::DeviceInfo;
use crate::bridge::discovery::Entity;
use crate::state::{RegistrationId, TopicId};

/// The most entities of one topic.
const MAX_ENTITIES: usize = 32;

impl Mirror {
    /// Makes entities of a topic's records. One stays when a value comes without it.
    pub(super) fn set_entities(&mut self, id: &TopicId) {
        let plan = Arc::clone(&self.plan);
        let Some(entry) = self.topics.get(id) else { return };
        let (topic, is_alone) = (&entry.topic, entry.records.len() == 1);
        let format = plan.commands_of(&topic.name, is_alone, |commands| {
            let commands = self.topic_named(commands).and_then(|id| self.topics.get(id));
            // Nobody else says that a device takes commands.
            commands.is_some_and(|commands| {
                let owner = commands.topic.owner;
                owner == topic.owner || (owner.is_some() && owner == topic.device)
            })
        });
        let Some(entry) = self.topics.get_mut(id) else { return };
        let expire_after = plan.settings().home_assistant.expire_after;
        let (mut left_out, mut changed) = (0_usize, false);
        for (key, record) in &entry.records {
            // Of several numbers most are measured.
            let format = format.filter(|_| is_alone || record.reading.value.is_boolean());
            let entity = Entity::of(key, &record.reading, expire_after, format);
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
        self.leave_readings_out(id, left_out);
        if changed {
            self.set_configs(id);
        }
    }

    /// A topic came or went: if it is for the commands of another, that one's entities change.
    pub(super) fn set_commands(&mut self, name: &str) {
        let of = self.plan.commanded_by(name).and_then(|of| self.topic_named(of)).cloned();
        if let Some(id) = of {
            self.set_entities(&id);
        }
    }

    pub(super) fn unwant_all(&mut self, configs: &BTreeMap<String, Arc<str>>) {
        self.configs = self.configs.saturating_sub(configs.len());
        for config in configs.values() {
            self.unwant(config);
        }
    }

    pub(super) fn set_registration(&mut self, id: &RegistrationId, new: Option<(Identity, Arc<DeviceInfo>)>) {
        let old = self.registrations.get(id);
        if old == new.as_ref() {
            return;
        }
        let mut touched = BTreeSet::new();
        if let Some((device, _)) = old.cloned() {
            self.registrations.remove(id);
            if let Some(infos) = self.devices.get_mut(&device) {
                infos.remove(id);
                if infos.is_empty() {
                    self.devices.remove(&device);
                }
            }
            touched.insert(device);
        }
        if let Some((device, info)) = new {
            self.registrations.insert(id.clone(), (device, info.clone()));
            self.devices.entry(device).or_default().insert(id.clone(), info);
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
                    let name = &*entry.topic.name;
                    self.notices.say("entities", name, || {
                        format!(
                            "Home Assistant is not told of all that the topic {name:?} has: there is no room; \
                             raise mqtt.limits.entities"
                        )
                    });
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
