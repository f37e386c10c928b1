//! What the page is told, as JSON.

use serde_json::{Value as Json, json};

use motemix_object::Identity;

use super::reading::{self, Series};
use super::{Refused, StoreState, TopicNow};
use crate::state::{Link, Registration, RegistrationId, Signed, Topic, TopicId, Value};

/// Links and attributes of a device that are shown.
const SHOWN: usize = 32;
/// Characters of a text that are shown: strangers chose it.
const MAX_TEXT: usize = 200;

/// The beginning of a text, with a mark in place of what has no shape or turns the order of what
/// follows.
pub(super) fn short(text: &str) -> String {
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(MAX_TEXT).map(visible).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}

fn visible(character: char) -> char {
    match character {
        // Spaces without width, and marks of direction (Unicode Standard Annex 9).
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{61c}'
        | '\u{feff}' => char::REPLACEMENT_CHARACTER,
        character if character.is_control() => char::REPLACEMENT_CHARACTER,
        character => character,
    }
}

pub(super) fn identity(identity: &Identity) -> String {
    base16ct::lower::encode_string(identity.as_bytes())
}

pub(super) fn store(state: &StoreState) -> Json {
    match state {
        StoreState::Working => json!({ "state": "working" }),
        StoreState::Refusing { since, why } => {
            json!({ "state": "refusing", "since": since.as_millis(), "why": short(why) })
        }
    }
}

/// A registration with a key; none for one without.
pub(super) fn device(id: &RegistrationId, registration: &Registration) -> Option<Json> {
    let key = registration.device.as_ref()?;
    let attributes = registration.attributes.iter().take(SHOWN);
    Some(json!({
        "id": &*id.0,
        "endpoint": short(&registration.endpoint),
        "name": short(&registration.name()),
        "sector": registration.sector.as_deref().map(short),
        "base": short(&registration.base),
        "expires": registration.expires.as_millis(),
        "lifetime": registration.lifetime,
        "identity": identity(key),
        "place": registration.attribute("place").map(short),
        "purpose": registration.attribute("purpose").map(short),
        "attributes": attributes
            .map(|(name, value)| json!([short(name), value.as_deref().map(short)]))
            .collect::<Vec<_>>(),
        "links": registration.links.iter().take(SHOWN).map(link).collect::<Vec<_>>(),
        "links_left_off": registration.links.len().saturating_sub(SHOWN),
    }))
}

fn link(link: &Link) -> Json {
    let kind = link.attributes.iter().find(|(name, _)| &**name == "rt");
    json!({ "target": short(&link.target), "type": kind.and_then(|(_, value)| value.as_deref()).map(short) })
}

/// The value in the registration, or else in the first link that has it.
pub(super) fn device_event(id: &RegistrationId, registration: Option<&Registration>) -> Json {
    registration
        .and_then(|registration| device(id, registration))
        .unwrap_or_else(|| json!({ "id": &*id.0, "gone": true }))
}

fn configured(id: &TopicId, topic: &Topic) -> Json {
    json!({
        "id": &*id.0,
        "name": short(&topic.name),
        "type": topic.topic_type.as_deref().map(short),
        "device": topic.device.as_ref().map(identity),
        "expires": topic.expires.map(crate::Moment::as_millis),
    })
}

pub(super) fn topic(now: &TopicNow) -> Json {
    let mut json = configured(&now.id, &now.topic);
    json["value"] = now.value.as_deref().map_or(Json::Null, value);
    json["refused"] = now.refused.as_ref().map_or(Json::Null, refused);
    json
}

pub(super) fn topic_event(id: &TopicId, topic: Option<&Topic>) -> Json {
    topic.map_or_else(|| json!({ "id": &*id.0, "gone": true }), |topic| configured(id, topic))
}

pub(super) fn value_event(id: &TopicId, newest: Option<&Value>) -> Json {
    json!({ "topic": &*id.0, "value": newest.map(value) })
}

fn refused(refused: &Refused) -> Json {
    json!({ "at": refused.at.as_millis(), "count": refused.count, "why": short(&refused.why) })
}

pub(super) fn refused_event(id: &TopicId, last: &Refused) -> Json {
    json!({ "topic": &*id.0, "refused": refused(last) })
}

fn value(value: &Value) -> Json {
    let signed = match value.signed {
        Signed::Unchecked => json!({ "state": "unchecked" }),
        Signed::ByDevice { sequence, .. } => json!({ "state": "checked", "sequence": sequence }),
    };
    let mut json = reading::read(value).to_json();
    json["published"] = value.published.as_millis().into();
    json["bytes"] = value.payload.len().into();
    json["signed"] = signed;
    json
}

/// What can be plotted of these values.
pub(super) fn history(id: &TopicId, values: &[Value]) -> Json {
    let series = reading::series(values);
    json!({ "topic": &*id.0, "values": values.len(), "series": series.iter().map(Series::to_json).collect::<Vec<_>>() })
}
