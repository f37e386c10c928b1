//! What is sent next, as bytes.

use std::sync::Arc;

use super::{Kind, MARK, Message, Mirror, OVERHEAD, Source};
use crate::Moment;
use crate::bridge::reading::{Readings, state_json, verified_by};
use crate::state::TopicId;

impl Mirror {
    /// What is sent next.
    pub fn next(&mut self, now: Moment) -> Option<Message> {
        let topic = self.queue.pop_front()?;
        self.queued.remove(&topic);
        let message = match self.wanted.get(&topic) {
            Some(Source::State(id)) => self.state(id, &topic, now),
            Some(Source::Config(id, key)) => self.config(id, key, &topic),
            None => None,
        };
        let length = message.as_ref().map_or(0, |message| message.payload.len().saturating_add(OVERHEAD));
        let is_too_long = length > self.max_packet;
        self.counters.too_long = self.counters.too_long.saturating_add(u64::from(is_too_long));
        // Better nothing than something old.
        let message = message.filter(|_| !is_too_long);
        Some(message.unwrap_or_else(|| Message {
            kind: Kind::Removal,
            topic,
            payload: Vec::new(),
            expiry: None,
            properties: self.mark(),
        }))
    }

    fn mark(&self) -> Vec<(String, String)> {
        vec![(MARK.to_owned(), self.plan.id().to_owned())]
    }

    fn state(&self, id: &TopicId, mqtt: &Arc<str>, now: Moment) -> Option<Message> {
        let entry = self.topics.get(id)?;
        let (topic, value) = (&entry.topic, entry.value.as_ref()?);
        let left = topic.expires.map(|end| end.as_millis().saturating_sub(now.as_millis()).div_ceil(1000));
        if left == Some(0) {
            return None;
        }
        let mut properties = self.mark();
        let verified = verified_by(topic, value);
        properties.push(("verified".to_owned(), verified.is_some().to_string()));
        if let Some((device, sequence)) = verified {
            properties.push(("verified-by".to_owned(), device.to_string()));
            properties.push(("sequence".to_owned(), sequence.to_string()));
        }
        Some(Message {
            kind: Kind::State,
            topic: mqtt.clone(),
            payload: state_json(topic, value, &Readings::of(value)),
            expiry: left.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
            properties,
        })
    }

    fn config(&self, id: &TopicId, key: &str, mqtt: &Arc<str>) -> Option<Message> {
        let entry = self.topics.get(id)?;
        let topic = &entry.topic;
        let endpoints = topic.device.as_ref().and_then(|device| self.devices.get(device));
        // Of several registrations, the first: it stays the same one.
        let endpoint = endpoints.and_then(|endpoints| endpoints.values().next());
        let config = entry.entities.get(key)?.config(&self.plan, topic, endpoint.map(|name| &**name));
        Some(Message {
            kind: Kind::Discovery,
            topic: mqtt.clone(),
            payload: config.to_string().into_bytes(),
            expiry: None,
            properties: self.mark(),
        })
    }
}
