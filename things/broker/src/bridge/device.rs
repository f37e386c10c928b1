//! What Home Assistant is told of a device.

use std::sync::Arc;

use motemix_object::Identity;
use serde_json::{Map, Value as Json, json};

use super::display::{shown, topic_name};
use super::names::object_id;
use super::settings::Plan;
use crate::state::{LABEL, Registration, Topic};

/// Who made a device that does not say so, and what it is.
const MANUFACTURER: &str = "motemix";
const MOTE: &str = "Mote";
const TOPIC: &str = "Topic of a broker";

/// What a registration says of its device, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeviceInfo {
    name: Arc<str>,
    /// Where it is.
    area: Option<Arc<str>>,
    manufacturer: Option<Arc<str>>,
    model: Option<Arc<str>>,
    sw_version: Option<Arc<str>>,
}

impl DeviceInfo {
    /// Attributes of the registration or of its links: `place`, `manufacturer`, `model` or `et`,
    /// and `sw_version`.
    pub(super) fn of(registration: &Registration) -> Self {
        let attribute = |name: &str| {
            let text = registration.attribute(name).map(shown).filter(|text| !text.is_empty());
            text.map(Arc::from)
        };
        let name = registration.name();
        // A label says nothing to people; its beginning tells devices apart.
        let name = match name.strip_prefix(LABEL) {
            Some(digits) => format!("{MOTE} {:.8}", digits.to_lowercase()).into(),
            None => shown(&name).into(),
        };
        Self {
            name,
            area: attribute("place"),
            manufacturer: attribute("manufacturer"),
            model: attribute("model").or_else(|| attribute("et")),
            sw_version: attribute("sw_version"),
        }
    }
}

/// The device that a topic belongs to. One that signs is known by its identity, whatever it calls
/// itself; any other topic is a device of its own.
pub(super) fn device(plan: &Plan, topic: &Topic, info: Option<&DeviceInfo>) -> Json {
    let mut device = Map::new();
    let mut put = |name: &str, value: Json| device.insert(name.to_owned(), value);
    let stated = |value: Option<&Arc<str>>, otherwise: &str| {
        Json::from(value.map_or_else(|| otherwise.to_owned(), ToString::to_string))
    };
    if let Some(identity) = &topic.device {
        put("identifiers", json!([device_id(identity)]));
        put("serial_number", Json::from(identity.to_string()));
        let name = info.map_or_else(|| format!("{MOTE} {identity:.8}"), |info| info.name.to_string());
        put("name", Json::from(name));
        if let Some(area) = info.and_then(|info| info.area.as_ref()) {
            put("suggested_area", Json::from(&**area));
        }
        put("model", stated(info.and_then(|info| info.model.as_ref()), MOTE));
    } else {
        let id = format!("motemix_{}__{}", plan.id(), object_id(&topic.name));
        put("identifiers", json!([id]));
        put("name", Json::from(topic_name(&topic.name)));
        put("model", Json::from(TOPIC));
    }
    put("manufacturer", stated(info.and_then(|info| info.manufacturer.as_ref()), MANUFACTURER));
    let version = info.and_then(|info| info.sw_version.as_ref());
    put("sw_version", stated(version, env!("CARGO_PKG_VERSION")));
    if let Some(page) = plan.page() {
        put("configuration_url", Json::from(page));
    }
    Json::Object(device)
}

fn device_id(identity: &Identity) -> String {
    format!("motemix_{identity}")
}
