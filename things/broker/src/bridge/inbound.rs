//! What comes from MQTT: imports, commands, Home Assistant's return, and what MQTT still retains.

use std::sync::Arc;

use rumqttc::v5::mqttbytes::v5::Publish;
use tokio::time::Instant;

use super::mirror::{MARK, Mirror};
use super::publisher::Order;
use super::session::INSTANCE;
use super::settings::Plan;
use crate::policy::device_in;
use crate::state::TopicId;

/// What to do about a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// All that was retained before has come.
    SweepEnds,
    /// MQTT retains this, and this bridge sent it.
    Found(String),
    /// Home Assistant is there again.
    HomeAssistant,
    /// While this bridge was away, another one was there under its name.
    Namesake,
    /// Publish here.
    Publish(Order),
    /// Nothing, for a reason that was counted.
    Nothing,
}

/// Sorts messages from MQTT.
#[derive(Debug)]
pub(super) struct Inbound {
    plan: Arc<Plan>,
    rate: Bucket,
    /// A number of this process.
    instance: String,
    /// Whether this process was connected before.
    was_connected: bool,
}

impl Inbound {
    pub(super) fn new(plan: Arc<Plan>, instance: String, now: Instant) -> Self {
        let rate = Bucket::new(plan.settings().limits.rate_in, now);
        Self { plan, rate, instance, was_connected: false }
    }

    /// A connection ended, over which this bridge had said that it is there.
    pub(super) fn was_connected(&mut self) {
        self.was_connected = true;
    }

    /// `sweeping`: what the bridge sends comes back, until all that was retained before has come.
    pub(super) fn sort(
        &mut self,
        mirror: &mut Mirror,
        message: &Publish,
        sweeping: bool,
        now: Instant,
    ) -> Act {
        let Ok(topic) = std::str::from_utf8(&message.topic) else {
            count(&mut mirror.counters.malformed);
            return Act::Nothing;
        };
        let properties = message.properties.as_ref().map_or(&[][..], |found| &found.user_properties);
        let is_own = properties.iter().any(|(name, value)| name == MARK && value == self.plan.id());
        let is_below_own = self.plan.is_below_own(topic);
        if is_own {
            if topic == self.plan.availability_topic() {
                let is_of_this = properties.iter().any(|(name, id)| name == INSTANCE && *id == self.instance);
                let is_online = &message.payload[..] == b"online";
                return match (is_of_this, message.retain) {
                    (true, false) if sweeping && is_online => Act::SweepEnds,
                    // Before, this process wrote there last.
                    (false, true) if self.was_connected => Act::Namesake,
                    _ => Act::Nothing,
                };
            }
            return match (sweeping && is_below_own, message.retain) {
                (true, true) => Act::Found(topic.to_owned()),
                (true, false) => Act::Nothing,
                (false, _) => {
                    count(&mut mirror.counters.loops);
                    Act::Nothing
                }
            };
        }
        if topic == self.plan.home_assistant_status() {
            let is_new = !message.retain && &message.payload[..] == b"online";
            return if is_new { Act::HomeAssistant } else { Act::Nothing };
        }
        if is_below_own && !topic.ends_with("/set") {
            // Others' sensors, and what the bridge retained under another name.
            return Act::Nothing;
        }
        let Some(order) = self.order(mirror, topic, message) else { return Act::Nothing };
        if !self.rate.take(now) {
            count(&mut mirror.counters.too_many);
            mirror.notices.say("messages from MQTT", "", || {
                "more messages come from MQTT than mqtt.limits.rate_in allows, and some are dropped; raise it, \
                 or narrow mqtt.import"
                    .to_owned()
            });
            return Act::Nothing;
        }
        Act::Publish(order)
    }

    fn order(&self, mirror: &mut Mirror, topic: &str, message: &Publish) -> Option<Order> {
        let limits = &self.plan.settings().limits;
        let below = topic.strip_prefix(self.plan.settings().prefix.as_str());
        let form = below.and_then(|below| below.strip_prefix('/')?.strip_suffix("/set"));
        let (order, format, most) = if let Some(form) = form {
            (
                self.command(mirror, topic, form, message)?,
                self.plan.settings().commands.format,
                limits.payload_in,
            )
        } else {
            let mut routes = self.plan.routes().iter();
            let found = routes.find_map(|route| Some((route, route.name_for(topic)?)));
            let Some((route, name)) = found else {
                count(&mut mirror.counters.unwanted);
                return None;
            };
            if name.is_empty() || name.split('/').any(str::is_empty) || name.chars().any(char::is_control) {
                count(&mut mirror.counters.malformed);
                mirror.notices.say("imports", topic, || {
                    format!(
                        "what MQTT has at {topic:?} is not imported: no topic can have the name {name:?}; \
                         correct `to` of mqtt.import, or publish to another topic"
                    )
                });
                return None;
            }
            let import = &route.import;
            // Nobody makes a device's topics but its receiver.
            let create = import.create && device_in(&name).is_none();
            let order = Order { create, command: false, ..order_to(mirror, name, topic, false) };
            let known = order.id.as_ref().and_then(|id| mirror.value(id));
            if message.retain && known.is_some_and(|known| known.payload[..] == message.payload[..]) {
                count(&mut mirror.counters.known_already);
                return None;
            }
            (order, import.format, import.payload.unwrap_or(limits.payload_in))
        };
        let length = message.payload.len();
        if length > most as usize {
            count(&mut mirror.counters.too_long);
            mirror.notices.say("messages from MQTT", topic, || {
                format!(
                    "what MQTT has at {topic:?} is dropped: it has {length} bytes, and {most} are allowed; \
                     raise mqtt.limits.payload_in, or payload of the import"
                )
            });
            return None;
        }
        if message.payload.is_empty() || !format.is_form_of(&message.payload) {
            count(&mut mirror.counters.malformed);
            // To take away what is retained is no mistake.
            if !message.payload.is_empty() {
                mirror.notices.say("messages from MQTT", topic, || {
                    format!(
                        "what MQTT has at {topic:?} is dropped: it is no {}; correct `format` of mqtt.import \
                         or mqtt.commands, or what is published there",
                        format.name()
                    )
                });
            }
            return None;
        }
        Some(Order { format: format.content_format(), payload: message.payload.to_vec(), ..order })
    }

    /// A command for the topic whose name has this form, if there is one and it may be commanded.
    fn command(&self, mirror: &mut Mirror, topic: &str, form: &str, message: &Publish) -> Option<Order> {
        let commands = &self.plan.settings().commands;
        let name = mirror.topic_of_form(form).map(|(_, name)| name.clone());
        let Some(name) = name.filter(|name| self.plan.may_command(name)) else {
            count(&mut mirror.counters.unknown_topics);
            let why = match mirror.topic_of_form(form) {
                None => "there is no such topic here; look at its name".to_owned(),
                Some((_, name)) if device_in(name).is_some() => {
                    "a mote obeys commands that one of its servers signed; give them with `motemix object \
                     command` and `motemix broker command`"
                        .to_owned()
                }
                Some((_, name)) => {
                    format!(
                        "mqtt.commands.topics has no pattern for {name:?}; add one, if it may be commanded"
                    )
                }
            };
            let line = || format!("a command from MQTT at {topic:?} is dropped: {why}");
            mirror.notices.say("commands", topic, line);
            return None;
        };
        if message.retain {
            count(&mut mirror.counters.retained_commands);
            mirror.notices.say("old commands", topic, || {
                format!(
                    "MQTT retains a command at {topic:?}: it is old, and is not carried out; publish commands \
                     without retaining them, and take it away with `mosquitto_pub -r -n -t {}`",
                    quoted(topic)
                )
            });
            return None;
        }
        let name = format!("{name}{}", commands.suffix);
        Some(order_to(mirror, name, topic, true))
    }
}

fn order_to(mirror: &Mirror, name: String, from: &str, command: bool) -> Order {
    let id: Option<TopicId> = mirror.topic_named(&name).cloned();
    Order { name, id, format: 0, payload: Vec::new(), create: true, command, from: from.to_owned() }
}

/// A word of a shell's line that is to be copied: somebody else chose it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

pub(super) fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

/// A rate with some room for bursts.
#[derive(Debug)]
struct Bucket {
    /// In millionths of a message.
    level: u64,
    rate: u64,
    filled: Instant,
}

const ONE: u64 = 1_000_000;

impl Bucket {
    fn new(rate: u32, now: Instant) -> Self {
        let rate = u64::from(rate);
        Self { level: rate.saturating_mul(ONE), rate, filled: now }
    }

    /// Whether there is room for one more.
    fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled);
        self.filled = now;
        let micros = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
        let full = self.rate.saturating_mul(ONE);
        self.level = self.level.saturating_add(micros.saturating_mul(self.rate)).min(full);
        match self.level.checked_sub(ONE) {
            Some(left) => {
                self.level = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_topic_in_a_line_to_be_copied_is_one_word_whatever_is_in_it() {
        assert_eq!(quoted("home/lamp; $(rm x)"), "'home/lamp; $(rm x)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
