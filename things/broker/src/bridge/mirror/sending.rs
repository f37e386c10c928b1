//! What is sent next, as bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::records::Record;
use super::{Kind, MARK, Message, Mirror, OVERHEAD, Source};
use crate::Moment;
use crate::bridge::reading::{state_json, verified_by};
use crate::state::TopicId;

impl Mirror {
    /// What is sent next.
    pub fn next(&mut self, now: Moment) -> Option<Message> {
        self.set_moments_right(now);
        let topic = self.queue.pop_front()?;
        self.queued.remove(&topic);
        let message = match self.wanted.get(&topic) {
            Some(Source::State(id)) => self.state(id, &topic, now),
            Some(Source::Config(id, key)) => self.config(id, key, &topic),
            None => None,
        };
        let length = message.as_ref().map_or(0, |message| message.payload.len().saturating_add(OVERHEAD));
        let is_too_long = length > self.max_packet;
        if is_too_long {
            self.counters.too_long = self.counters.too_long.saturating_add(1);
            let most = self.max_packet;
            self.notices.say("messages to MQTT", &topic, || {
                format!(
                    "what is to be at {topic:?} in MQTT has {length} bytes, and {most} are allowed; raise \
                     mqtt.limits.payload_out, or in mosquitto max_packet_size"
                )
            });
        }
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

    /// Nothing, if all that was measured is too old to be believed.
    fn state(&self, id: &TopicId, mqtt: &Arc<str>, now: Moment) -> Option<Message> {
        let entry = self.topics.get(id)?;
        let (topic, value) = (&entry.topic, entry.value.as_ref()?);
        let left = |end: Moment| end.as_millis().saturating_sub(now.as_millis()).div_ceil(1000);
        let is_pack = entry.records.values().any(|record| record.is_newest);
        let live = entry.records.iter().filter(|(_, record)| record.is_live(now));
        let readings: BTreeMap<_, _> = live.map(|(key, record)| (key.as_str(), &record.reading)).collect();
        let mut expiry = topic.expires.map(left);
        if is_pack {
            // MQTT forgets it when the last of its records is too old (MQTT 5, 3.3.2.3.3).
            let ends = entry.records.values().filter(|record| record.is_live(now)).map(Record::expires);
            let last = ends.collect::<Option<Vec<Moment>>>().map(|ends| ends.into_iter().max());
            match last {
                Some(None) => return None,
                Some(Some(end)) => expiry = Some(expiry.map_or(left(end), |topic| topic.min(left(end)))),
                None => {}
            }
        }
        if expiry == Some(0) {
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
            payload: state_json(topic, value, is_pack, &readings),
            expiry: expiry.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
            properties,
        })
    }

    fn config(&self, id: &TopicId, key: &str, mqtt: &Arc<str>) -> Option<Message> {
        let entry = self.topics.get(id)?;
        let topic = &entry.topic;
        let infos = topic.device.as_ref().and_then(|device| self.devices.get(device));
        // Of several registrations, the first: it stays the same one.
        let info = infos.and_then(|infos| infos.values().next());
        let config = entry.entities.get(key)?.config(&self.plan, topic, info.map(|info| &**info));
        Some(Message {
            kind: Kind::Discovery,
            topic: mqtt.clone(),
            payload: config.to_string().into_bytes(),
            expiry: None,
            properties: self.mark(),
        })
    }
}
