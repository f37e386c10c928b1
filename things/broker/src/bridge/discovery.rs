//! How Home Assistant learns of an entity: one retained message for each thing that is measured.

use serde_json::{Map, Value as Json, json};

use super::device::{DeviceInfo, device};
use super::display::entity_name;
use super::names::object_id;
use super::reading::Reading;
use super::settings::{ImportFormat, Plan};
use super::units::{last_part, quantity};
use crate::state::Topic;

/// Home Assistant takes states of at most so many characters (`MAX_LENGTH_STATE_STATE`).
const MAX_STATE: usize = 255;
/// The range of numbers that may be commanded: what a device takes, it does not say.
const MAX_NUMBER: f64 = 1e9;
/// Readings about the device itself, by their class or their name.
const DIAGNOSTIC: &[&str] = &["battery", "signal_strength", "rssi", "snr", "lqi", "uptime"];

/// What kind of entity a reading becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// A number or a text.
    Sensor,
    /// True or false.
    BinarySensor,
    /// True or false, which may be commanded.
    Switch,
    /// A number that may be commanded.
    Number,
}

impl Component {
    /// All.
    pub const ALL: [Self; 4] = [Self::Sensor, Self::BinarySensor, Self::Switch, Self::Number];

    /// As it stands in topics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sensor => "sensor",
            Self::BinarySensor => "binary_sensor",
            Self::Switch => "switch",
            Self::Number => "number",
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
    /// How it is commanded, if it may be.
    pub commands: Option<ImportFormat>,
}

/// Seconds for which a reading is believed: what the settings say, or twice what the reading itself
/// promises, because one may be lost on its way.
pub(super) fn lifetime(reading: &Reading, setting: Option<u32>) -> Option<u32> {
    setting.or(reading.update_time.map(|seconds| seconds.saturating_mul(2)))
}

impl Entity {
    /// The entity of a reading; `commands` is how its topic is commanded, if it may be.
    pub fn of(
        key: &str,
        reading: &Reading,
        expire_after: Option<u32>,
        commands: Option<ImportFormat>,
    ) -> Self {
        let commands = commands.filter(|format| has_command(*format));
        let component = match (reading.value.is_boolean(), reading.value.is_number(), commands) {
            (true, _, None) => Component::BinarySensor,
            (true, _, Some(_)) => Component::Switch,
            (false, true, Some(_)) => Component::Number,
            _ => Component::Sensor,
        };
        let commands = commands.filter(|_| matches!(component, Component::Switch | Component::Number));
        Self {
            component,
            key: key.to_owned(),
            name: reading.name.clone(),
            unit: reading.unit.clone(),
            is_number: reading.value.is_number(),
            expire_after: lifetime(reading, expire_after),
            commands,
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
    pub(super) fn config(&self, plan: &Plan, topic: &Topic, info: Option<&DeviceInfo>) -> Json {
        let key = &self.key;
        // What is removed is no JSON.
        let found = format!("value_json is defined and '{key}' in value_json.readings|default({{}})");
        let reading = format!("value_json.readings['{key}']");
        let state_topic = plan.state_topic(&topic.name);
        let mut config = Map::new();
        let mut put = |name: &str, value: Json| config.insert(name.to_owned(), value);
        put("unique_id", Json::from(self.unique_id(plan, topic)));
        put("state_topic", Json::from(state_topic.as_str()));
        put("json_attributes_topic", Json::from(state_topic.as_str()));
        let attributes = format!(
            "{{% if {found} %}}{{{{ dict({reading}, topic=value_json.topic, published=value_json.published, \
             verified=value_json.verified) | to_json }}}}{{% else %}}{{}}{{% endif %}}"
        );
        put("json_attributes_template", Json::from(attributes));
        // A reading that is too old is in no state any more. Home Assistant's own clock counts from
        // the last message, whatever that is about.
        let is_there = format!("{{{{ 'online' if {found} else 'offline' }}}}");
        let state = json!({ "topic": state_topic, "value_template": is_there });
        put("availability", json!([{ "topic": plan.availability_topic() }, state]));
        put("availability_mode", Json::from("all"));
        put("qos", Json::from(1));
        let is_sensor = matches!(self.component, Component::Sensor | Component::BinarySensor);
        if let Some(seconds) = self.expire_after.filter(|_| is_sensor) {
            put("expire_after", Json::from(seconds));
        }
        let value = format!("{reading}.value");
        // What another kind of value needs comes with a discovery message of its own.
        let template = |is_form: &str, form: &str, otherwise: &str| {
            let form = format!("{{{{ {form} }}}}");
            Json::from(format!("{{% if {found} and {value} {is_form} %}}{form}{otherwise}{{% endif %}}"))
        };
        let is_number = format!("is number and {value} is not boolean");
        let quantity = quantity(self.unit.as_deref(), &self.name);
        let class = quantity.device_class.filter(|_| self.is_number);
        match self.component {
            Component::Sensor if self.is_number => {
                put("value_template", template(&is_number, &value, ""));
                put("state_class", Json::from(quantity.state_class));
                if let Some(class) = class {
                    put("device_class", Json::from(class));
                }
            }
            Component::Sensor => {
                let cut = format!("{value}[:{MAX_STATE}]");
                put("value_template", template("is string", &cut, "{% else %}None"));
            }
            Component::BinarySensor | Component::Switch => {
                put("value_template", template("is boolean", &format!("'ON' if {value} else 'OFF'"), ""));
            }
            Component::Number => {
                put("value_template", template(&is_number, &value, ""));
                put("min", Json::from(-MAX_NUMBER));
                put("max", Json::from(MAX_NUMBER));
                put("step", Json::from(0.001));
                put("mode", Json::from("box"));
            }
        }
        if let Some(unit) = quantity.unit.filter(|_| self.is_number) {
            put("unit_of_measurement", Json::from(unit));
        }
        if let Some(format) = self.commands {
            put("command_topic", Json::from(plan.command_topic(&topic.name)));
            let payload = |value: &str| Json::from(command(format, &self.name, value));
            if self.component == Component::Number {
                put("command_template", payload("{{ value }}"));
            } else {
                for (state, value) in [("on", "true"), ("off", "false")] {
                    put(&format!("payload_{state}"), payload(value));
                    put(&format!("state_{state}"), Json::from(state.to_uppercase()));
                }
            }
        }
        let name = last_part(&self.name).to_lowercase();
        if DIAGNOSTIC.iter().any(|known| class == Some(known) || name == *known) && is_sensor {
            put("entity_category", Json::from("diagnostic"));
        }
        // Home Assistant shows the device's name before it.
        let is_device = topic.device.is_none() && name == last_part(&topic.name).to_lowercase();
        let name = entity_name(&self.name, class).filter(|_| !is_device);
        let device = device(plan, topic, info);
        // By itself, Home Assistant puts the area before a name that may begin with it.
        let of_device = device.get("name").and_then(Json::as_str).unwrap_or_default();
        let id = format!("{}.{of_device} {}", self.component.as_str(), name.as_deref().unwrap_or_default());
        put("default_entity_id", Json::from(id.trim_end()));
        put("name", Json::from(name));
        put("device", device);
        put(
            "origin",
            json!({ "name": "motemix", "sw_version": env!("CARGO_PKG_VERSION"),
                    "support_url": env!("CARGO_PKG_REPOSITORY") }),
        );
        Json::Object(config)
    }
}

/// Whether Home Assistant can write such commands.
const fn has_command(format: ImportFormat) -> bool {
    matches!(format, ImportFormat::Text | ImportFormat::Json | ImportFormat::SenmlJson)
}

/// A command with this value, which may be a template. A name of SenML is letters, digits and
/// `-:./_` (RFC 8428, 4.5.1): nothing of it is a template, or ends a text.
fn command(format: ImportFormat, name: &str, value: &str) -> String {
    if format != ImportFormat::SenmlJson {
        return value.to_owned();
    }
    let label = if value.starts_with('{') { "v" } else { "vb" };
    format!("[{{\"n\":\"{name}\",\"{label}\":{value}}}]")
}
