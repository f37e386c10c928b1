//! A value of a topic as MQTT's JSON.

use std::collections::BTreeMap;

use motemix_coap::format;
use motemix_object::{Identity, SealedReading};
use motemix_readings::jws;
use motemix_readings::senml::{Number, Pack, ResolvedRecord, Value as Measured};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::names::object_id;
use crate::state::{Signed, Topic, Value};

/// Records of a pack that are shown; the newest of each name.
pub(super) const MAX_READINGS: usize = 32;

/// One thing that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Its SenML name in full; may be empty.
    pub name: String,
    /// Its SenML unit.
    pub unit: Option<String>,
    /// A number, a text, true or false.
    pub value: Json,
    /// Seconds since 1970.
    pub time: Json,
    /// Seconds until the next one at the latest.
    pub update_time: Option<u32>,
}

/// What a value measures, by a key of letters and digits that stands for the name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Readings {
    /// The newest of each name.
    pub by_key: BTreeMap<String, Reading>,
    /// How many there was no room for.
    pub left_out: usize,
}

impl Readings {
    /// Takes a value's SenML apart, signed or not; nothing if it is none.
    pub fn of(value: &Value) -> Self {
        let Some(pack) = pack_of(value) else { return Self::default() };
        let seconds = i64::try_from(value.published.as_secs()).unwrap_or(i64::MAX);
        let Ok(resolved) = pack.resolve(Number::integer(seconds)) else { return Self::default() };
        let mut readings = Self::default();
        for record in resolved.records() {
            let Some(reading) = Reading::of(record) else { continue };
            let key = key_of(&record.name);
            if readings.by_key.len() >= MAX_READINGS && !readings.by_key.contains_key(&key) {
                readings.left_out = readings.left_out.saturating_add(1);
            } else {
                readings.by_key.insert(key, reading);
            }
        }
        readings
    }
}

/// A name as a key; `_` is none's.
fn key_of(name: &str) -> String {
    if name.is_empty() { "_".to_owned() } else { object_id(name) }
}

fn pack_of(value: &Value) -> Option<Pack> {
    let payload = &value.payload;
    match value.content_format? {
        format::SENML_JSON => Pack::from_json(payload).ok(),
        format::SENML_CBOR => Pack::from_cbor(payload).ok(),
        format::COSE_SIGN1 => Pack::read(SealedReading::parse(payload).ok()?.unverified_senml()).ok(),
        format::TEXT => {
            let text = std::str::from_utf8(payload).ok()?;
            Pack::read(jws::open(text).ok()?.unverified_senml()).ok()
        }
        _ => None,
    }
}

impl Reading {
    fn of(record: &ResolvedRecord) -> Option<Self> {
        let value = match record.value.as_ref() {
            Some(Measured::Number(number)) => json_number(*number),
            Some(Measured::Text(text)) => Json::from(text.as_str()),
            Some(Measured::Boolean(boolean)) => Json::from(*boolean),
            // Bytes mean nothing to whoever reads JSON; the sum of values is a number.
            Some(Measured::Data(_)) => return None,
            None => json_number(record.sum?),
        };
        Some(Self {
            name: record.name.clone(),
            unit: record.unit.clone(),
            value,
            time: json_number(record.time),
            update_time: record.update_time.and_then(whole_seconds),
        })
    }

    fn to_json(&self) -> Json {
        let mut object = Map::new();
        object.insert("name".to_owned(), Json::from(self.name.as_str()));
        object.insert("value".to_owned(), self.value.clone());
        if let Some(unit) = &self.unit {
            object.insert("unit".to_owned(), Json::from(unit.as_str()));
        }
        object.insert("time".to_owned(), self.time.clone());
        Json::Object(object)
    }
}

fn json_number(number: Number) -> Json {
    match number.to_integer().and_then(|integer| i64::try_from(integer).ok()) {
        Some(integer) => Json::from(integer),
        None => Json::from(number.to_f64()),
    }
}

/// Rounded up: a value is not late before its time.
#[expect(clippy::cast_sign_loss, reason = "it is positive")]
fn whole_seconds(number: Number) -> Option<u32> {
    let seconds = number.to_f64().ceil();
    (seconds >= 1.0 && seconds <= f64::from(u32::MAX)).then_some(seconds as u32)
}

/// Who signed a value, as far as the broker has checked it.
pub(super) fn verified_by<'t>(topic: &'t Topic, value: &Value) -> Option<(&'t Identity, u64)> {
    match value.signed {
        Signed::Unchecked => None,
        Signed::ByDevice { sequence } => topic.device.as_ref().map(|device| (device, sequence)),
    }
}

/// The payload of a state topic, with readings by their keys; `is_pack` if the value is SenML.
pub(super) fn state_json(
    topic: &Topic,
    value: &Value,
    is_pack: bool,
    readings: &BTreeMap<&str, &Reading>,
) -> Vec<u8> {
    let mut state = Map::new();
    state.insert("topic".to_owned(), Json::from(&*topic.name));
    state.insert("published".to_owned(), json!(seconds_of(value)));
    let verified = verified_by(topic, value);
    state.insert("verified".to_owned(), Json::from(verified.is_some()));
    if let Some((device, sequence)) = verified {
        state.insert("verified_by".to_owned(), Json::from(device.to_string()));
        state.insert("sequence".to_owned(), Json::from(sequence));
    }
    if let Some((name, content)) = other_content(value).filter(|_| !is_pack) {
        state.insert(name.to_owned(), content);
    }
    if !readings.is_empty() {
        if readings.len() == 1
            && is_pack
            && let Some(Json::Object(only)) = readings.values().next().map(|reading| reading.to_json())
        {
            state.extend(only);
        }
        let by_key = readings.iter().map(|(key, reading)| ((*key).to_owned(), reading.to_json()));
        state.insert("readings".to_owned(), Json::Object(by_key.collect()));
    }
    Json::Object(state).to_string().into_bytes()
}

/// What is no SenML: a text or JSON as it is; the rest would not survive.
fn other_content(value: &Value) -> Option<(&'static str, Json)> {
    match value.content_format? {
        format::JSON => serde_json::from_slice(&value.payload).ok().map(|json| ("value", json)),
        format::TEXT => std::str::from_utf8(&value.payload).ok().map(|text| ("value", Json::from(text))),
        _ => None,
    }
}

/// Seconds since 1970, to the millisecond.
fn seconds_of(value: &Value) -> f64 {
    let millis = value.published.as_millis();
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age have 41 bits")]
    let seconds = millis as f64 / 1000.0;
    seconds
}
