//! The newest record of each SenML name of a topic, and until when it is believed.

use std::sync::Arc;

use motemix_object::Identity;

use super::Mirror;
use crate::Moment;
use crate::bridge::discovery::lifetime;
use crate::bridge::reading::{MAX_READINGS, Reading, Readings};
use crate::state::{TopicId, Value};

/// A record that is kept for its entity, although it is too old to be believed, goes after this.
const FORGOTTEN: u64 = 30 * 24 * 3600;

/// The newest record of a name.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) reading: Reading,
    published: Moment,
    /// Seconds for which it is believed; without them, while its topic lasts.
    lifetime: Option<u32>,
    /// Whether the newest value of the topic has it.
    pub(super) is_newest: bool,
}

impl Record {
    pub(super) fn expires(&self) -> Option<Moment> {
        self.lifetime.map(|seconds| self.published.plus_secs(seconds.into()))
    }

    pub(super) fn is_live(&self, now: Moment) -> bool {
        self.expires().is_none_or(|end| now < end)
    }
}

/// A record that the newest value of its topic lacks: the broker's store does not have it.
#[derive(Debug, Clone, PartialEq)]
pub struct OlderRecord {
    /// The name of the topic.
    pub topic: Arc<str>,
    /// Whose readings the topic takes.
    pub device: Option<Identity>,
    /// The key of the SenML name.
    pub key: String,
    /// When it was published.
    pub published: Moment,
    /// What was measured.
    pub reading: Reading,
}

/// What changed of the records that the broker's store does not have.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordChange {
    /// To be kept.
    Keep(OlderRecord),
    /// Not to be kept any more: the name of a topic, and a key.
    Drop(Arc<str>, String),
}

impl Mirror {
    /// Takes records that were kept over a restart, unless newer ones are there. What is too old to
    /// be believed still has an entity, for a month.
    pub fn restore(&mut self, records: Vec<OlderRecord>, now: Moment) {
        for OlderRecord { topic, device, key, published, reading } in records {
            self.latest = self.latest.max(Some(published));
            let id = self.topic_named(&topic).cloned();
            let setting = self.plan.settings().home_assistant.expire_after;
            let lifetime = lifetime(&reading, setting);
            let record = Record { reading, published, lifetime, is_newest: false };
            let is_forgotten = record.expires().is_some_and(|end| end.plus_secs(FORGOTTEN) < now);
            let entry = id.as_ref().and_then(|id| self.topics.get_mut(id));
            let entry = entry.filter(|entry| {
                let is_of_topic = entry.topic.name == topic && entry.topic.device == device;
                is_of_topic && entry.exported && entry.value.is_some() && !is_forgotten
            });
            let (Some(id), Some(entry)) = (id, entry) else {
                self.unkept.insert((topic, key));
                continue;
            };
            if entry.records.contains_key(&key) || entry.records.len() >= MAX_READINGS {
                self.unkept.insert((topic, key));
                continue;
            }
            entry.records.insert(key, record);
            self.schedule(&id, now);
            self.set_entities(&id);
            self.send_state(&id);
        }
    }

    /// What changed of the records that the broker's store does not have, since this was asked
    /// last.
    pub fn take_record_changes(&mut self) -> Vec<RecordChange> {
        let unkept = std::mem::take(&mut self.unkept);
        let change = |(topic, key): (Arc<str>, String)| {
            let entry = self.topic_named(&topic).and_then(|id| self.topics.get(id));
            let older = entry.and_then(|entry| {
                let record = entry.records.get(&key).filter(|record| !record.is_newest)?;
                Some(OlderRecord {
                    topic: topic.clone(),
                    device: entry.topic.device,
                    key: key.clone(),
                    published: record.published,
                    reading: record.reading.clone(),
                })
            });
            older.map_or(RecordChange::Drop(topic, key), RecordChange::Keep)
        };
        unkept.into_iter().map(change).collect()
    }

    /// Whether there are such changes.
    pub fn has_record_changes(&self) -> bool {
        !self.unkept.is_empty()
    }

    /// When a record is too old to be believed next.
    pub fn next_due(&self) -> Option<Moment> {
        self.schedule.first().map(|(due, _)| *due)
    }

    /// A record of the future is of a clock that was ahead. It is from now, which is when it is
    /// noticed, and grows old from now on.
    pub(super) fn set_moments_right(&mut self, now: Moment) {
        if !self.latest.is_some_and(|latest| latest.is_ahead_of(now)) {
            return;
        }
        let mut concerned = Vec::new();
        for (id, entry) in &mut self.topics {
            for (key, record) in &mut entry.records {
                if record.published.is_ahead_of(now) {
                    record.published = now;
                    if !record.is_newest {
                        self.unkept.insert((entry.topic.name.clone(), key.clone()));
                    }
                    concerned.push(id.clone());
                }
            }
        }
        self.latest = Some(now);
        concerned.dedup();
        for id in concerned {
            self.schedule(&id, now);
            self.send_state(&id);
        }
    }

    /// Sends the states of topics with records that are too old now.
    pub fn expire(&mut self, now: Moment) {
        self.set_moments_right(now);
        while let Some((due, id)) = self.schedule.first().cloned()
            && due <= now
        {
            self.schedule(&id, now);
            self.send_state(&id);
        }
    }

    /// Takes the records of a new value. Names that it lacks keep their last records.
    pub(super) fn merge(&mut self, id: &TopicId, value: &Value) {
        let setting = self.plan.settings().home_assistant.expire_after;
        let Some(entry) = self.topics.get_mut(id) else { return };
        let name = &entry.topic.name;
        let Readings { by_key, mut left_out } = Readings::of(value);
        for (key, record) in &mut entry.records {
            if record.is_newest && !by_key.contains_key(key) {
                record.is_newest = false;
                self.unkept.insert((name.clone(), key.clone()));
            }
        }
        self.latest = self.latest.max(Some(value.published));
        for (key, reading) in by_key {
            let lifetime = lifetime(&reading, setting);
            let record = Record { reading, published: value.published, lifetime, is_newest: true };
            let before = entry.records.insert(key.clone(), record);
            if before.is_some_and(|before| !before.is_newest) {
                self.unkept.insert((name.clone(), key));
            }
        }
        while entry.records.len() > MAX_READINGS {
            let older = entry.records.iter().filter(|(_, record)| !record.is_newest);
            let Some((key, _)) = older.min_by_key(|(_, record)| record.published) else { break };
            let key = key.clone();
            entry.records.remove(&key);
            self.unkept.insert((name.clone(), key));
            left_out = left_out.saturating_add(1);
        }
        let published = value.published;
        self.leave_readings_out(id, left_out);
        self.schedule(id, published);
    }

    /// Counts readings of a topic for which there is no room.
    pub(super) fn leave_readings_out(&mut self, id: &TopicId, left_out: usize) {
        let Some(entry) = self.topics.get(id).filter(|_| left_out > 0) else { return };
        let count = u64::try_from(left_out).unwrap_or(u64::MAX);
        self.counters.readings_left_out = self.counters.readings_left_out.saturating_add(count);
        let name = &*entry.topic.name;
        self.notices.say("readings", name, || {
            format!(
                "the topic {name:?} has more than {MAX_READINGS} SenML names; the rest does not go to MQTT: \
                 publish them to several topics"
            )
        });
    }

    /// Forgets all records of a topic.
    pub(super) fn forget_records(&mut self, id: &TopicId) {
        let Some(entry) = self.topics.get_mut(id) else { return };
        let records = std::mem::take(&mut entry.records);
        let older = records.into_iter().filter(|(_, record)| !record.is_newest);
        let name = &entry.topic.name;
        self.unkept.extend(older.map(|(key, _)| (name.clone(), key)));
        if let Some(due) = entry.due.take() {
            self.schedule.remove(&(due, id.clone()));
        }
    }

    /// Notes when a record of a topic is too old next, of those that are not yet at this moment.
    fn schedule(&mut self, id: &TopicId, now: Moment) {
        let Some(entry) = self.topics.get_mut(id) else { return };
        let expiring = entry.records.values().filter_map(Record::expires);
        let due = expiring.filter(|end| *end > now).min();
        if let Some(before) = std::mem::replace(&mut entry.due, due) {
            self.schedule.remove(&(before, id.clone()));
        }
        if let Some(due) = due {
            self.schedule.insert((due, id.clone()));
        }
    }
}
