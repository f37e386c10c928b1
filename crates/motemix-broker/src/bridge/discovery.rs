//! How Home Assistant learns of a sensor: one retained message for each thing that is measured.

use motemix_object::Identity;
use serde_json::{Map, Value as Json, json};

use super::names::object_id;
use super::reading::Reading;
use super::settings::Plan;
use super::units::{last_part, quantity};
use crate::state::Topic;

/// Home Assistant shows states of at most so many characters.
const MAX_NAME: usize = 100;

/// What kind of entity a reading becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// A number or a text.
    Sensor,
    /// True or false.
    BinarySensor,
}

impl Component {
    /// As it stands in topics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sensor => "sensor",
            Self::BinarySensor => "binary_sensor",
        }
    }
}

/// All that a discovery message depends on: while it stays the same, there is no new one.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// What kind.
    pub component: Component,
    /// Where in a state it is found.
    pub key: String,
    /// The SenML name.
    pub name: String,
    /// The SenML unit.
    pub unit: Option<String>,
    /// Whether it is a number.
    pub is_number: bool,
    /// Seconds after which it is unknown.
    pub expire_after: Option<u32>,
}

impl Entity {
    /// The entity of a reading.
    pub fn of(key: &str, reading: &Reading, expire_after: Option<u32>) -> Self {
        let component = if reading.value.is_boolean() { Component::BinarySensor } else { Component::Sensor };
        // One reading may be lost on its way.
        let promised = reading.update_time.map(|seconds| seconds.saturating_mul(2));
        Self {
            component,
            key: key.to_owned(),
            name: reading.name.clone(),
            unit: reading.unit.clone(),
            is_number: reading.value.is_number(),
            expire_after: expire_after.or(promised),
        }
    }

    /// The identifier that no other entity has.
    pub fn unique_id(&self, plan: &Plan, topic: &Topic) -> String {
        format!("motemix_{}__{}__{}", plan.id(), object_id(&topic.name), self.key)
    }

    /// Where its discovery message is retained.
    pub fn config_topic(&self, plan: &Plan, discovery: &str, topic: &Topic) -> String {
        format!("{discovery}/{}/{}/config", self.component.as_str(), self.unique_id(plan, topic))
    }

    /// The discovery message. The key is letters, digits, `-` and `_`: nothing in a template comes
    /// from anybody else.
    pub fn config(&self, plan: &Plan, topic: &Topic, endpoint: Option<&str>) -> Json {
        let key = &self.key;
        let found = format!("'{key}' in value_json.readings|default({{}})");
        let value = format!("value_json.readings['{key}'].value");
        let mut config = Map::new();
        let mut put = |name: &str, value: Json| config.insert(name.to_owned(), value);
        put("name", Json::from(self.display_name(topic)));
        put("unique_id", Json::from(self.unique_id(plan, topic)));
        put("state_topic", Json::from(plan.state_topic(&topic.name)));
        put("json_attributes_topic", Json::from(plan.state_topic(&topic.name)));
        put("availability_topic", Json::from(plan.availability_topic()));
        put("qos", Json::from(1));
        if let Some(seconds) = self.expire_after {
            put("expire_after", Json::from(seconds));
        }
        match self.component {
            Component::Sensor => {
                put(
                    "value_template",
                    Json::from(format!("{{% if {found} %}}{{{{ {value} }}}}{{% endif %}}")),
                );
                if self.is_number {
                    let quantity = quantity(self.unit.as_deref(), &self.name);
                    put("state_class", Json::from(quantity.state_class));
                    if let Some(class) = quantity.device_class {
                        put("device_class", Json::from(class));
                    }
                    if let Some(unit) = quantity.unit {
                        put("unit_of_measurement", Json::from(unit));
                    }
                }
            }
            Component::BinarySensor => {
                let value = format!("{{{{ 'ON' if {value} else 'OFF' }}}}");
                put("value_template", Json::from(format!("{{% if {found} %}}{value}{{% endif %}}")));
            }
        }
        put("device", device(plan, topic, endpoint));
        put(
            "origin",
            json!({ "name": "motemix", "sw_version": env!("CARGO_PKG_VERSION"),
                    "support_url": env!("CARGO_PKG_REPOSITORY") }),
        );
        Json::Object(config)
    }

    fn display_name(&self, topic: &Topic) -> String {
        let part = if self.name.is_empty() { last_part(&topic.name) } else { last_part(&self.name) };
        shown(part)
    }
}

/// The device that a topic belongs to. One that signs is known by its identity, whatever it calls
/// itself; any other topic is a device of its own.
fn device(plan: &Plan, topic: &Topic, endpoint: Option<&str>) -> Json {
    match &topic.device {
        Some(identity) => json!({
            "identifiers": [device_id(identity)],
            "name": endpoint.map_or_else(|| format!("{identity:.32}"), shown),
            "serial_number": identity.to_string(),
        }),
        None => json!({
            "identifiers": [format!("motemix_{}__{}", plan.id(), object_id(&topic.name))],
            "name": shown(&topic.name),
        }),
    }
}

fn device_id(identity: &Identity) -> String {
    format!("motemix_{identity}")
}

/// A name for people, not too long, without what moves a cursor.
fn shown(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect()
}
