//! What comes from MQTT: imports, commands, Home Assistant's return, and what MQTT still retains.

use std::sync::Arc;

use rumqttc::v5::mqttbytes::v5::Publish;
use tokio::time::Instant;

use super::mirror::{MARK, Mirror};
use super::publisher::Order;
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
}

impl Inbound {
    pub(super) fn new(plan: Arc<Plan>, now: Instant) -> Self {
        let rate = Bucket::new(plan.settings().limits.rate_in, now);
        Self { plan, rate }
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
            let is_availability = topic == self.plan.availability_topic();
            return match (sweeping && is_below_own, message.retain) {
                (true, true) if !is_availability => Act::Found(topic.to_owned()),
                (true, false) if is_availability => Act::SweepEnds,
                (true, _) => Act::Nothing,
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
            return Act::Nothing;
        }
        Act::Publish(order)
    }

    fn order(&self, mirror: &mut Mirror, topic: &str, message: &Publish) -> Option<Order> {
        let limits = &self.plan.settings().limits;
        let below = topic.strip_prefix(self.plan.settings().prefix.as_str());
        let form = below.and_then(|below| below.strip_prefix('/')?.strip_suffix("/set"));
        let (order, format, most) = if let Some(form) = form {
            let commands = &self.plan.settings().commands;
            let Some((_, name)) = mirror.topic_of_form(form).filter(|(_, name)| self.plan.may_command(name))
            else {
                count(&mut mirror.counters.unknown_topics);
                return None;
            };
            if message.retain {
                count(&mut mirror.counters.retained_commands);
                return None;
            }
            let name = format!("{name}{}", commands.suffix);
            (order_to(mirror, name, topic, true), commands.format, limits.payload_in)
        } else {
            let mut routes = self.plan.routes().iter();
            let found = routes.find_map(|route| Some((route, route.name_for(topic)?)));
            let Some((route, name)) = found else {
                count(&mut mirror.counters.unwanted);
                return None;
            };
            if name.is_empty() || name.split('/').any(str::is_empty) || name.chars().any(char::is_control) {
                count(&mut mirror.counters.malformed);
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
        if message.payload.len() > most as usize {
            count(&mut mirror.counters.too_long);
            return None;
        }
        if message.payload.is_empty() || !format.is_form_of(&message.payload) {
            count(&mut mirror.counters.malformed);
            return None;
        }
        Some(Order { format: format.content_format(), payload: message.payload.to_vec(), ..order })
    }
}

fn order_to(mirror: &Mirror, name: String, from: &str, command: bool) -> Order {
    let id: Option<TopicId> = mirror.topic_named(&name).cloned();
    Order { name, id, format: 0, payload: Vec::new(), create: true, command, from: from.to_owned() }
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
