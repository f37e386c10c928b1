//! What a published value says: SenML, signed or not, or a command for a device.

use std::borrow::Cow;

use motemix_object::{SealedReading, UnverifiedCommand};
use motemix_readings::jws;
use motemix_readings::senml::{DecodeError, Number, Pack, ResolvedRecord, Value as Measured};
use serde_json::{Value as Json, json};

use super::json::short;
use crate::state::Value;

/// Records of a value that are shown.
const MAX_RECORDS: usize = 16;
/// Names of a topic that are plotted.
const MAX_SERIES: usize = 8;
/// How far a time may be from when it came to be believed, in seconds: a year back, a day ahead.
const BELIEVED: std::ops::RangeInclusive<f64> = -366.0 * 86_400.0..=86_400.0;

/// A value that was looked into.
pub(super) enum Reading {
    SenML {
        form: &'static str,
        records: Vec<ResolvedRecord>,
    },
    Text(String),
    Opaque(Option<u16>),
    /// Nothing: a topic of commands before the first.
    Empty,
    Broken {
        form: &'static str,
        why: String,
    },
}

/// By its content format (RFC 7252 §12.3).
pub(super) fn read(value: &Value) -> Reading {
    let payload: &[u8] = &value.payload;
    match value.content_format {
        _ if payload.is_empty() => Reading::Empty,
        Some(110) => senml("SenML in JSON", Pack::from_json(payload), value),
        Some(112) => senml("SenML in CBOR", Pack::from_cbor(payload), value),
        Some(18) => match SealedReading::parse(payload) {
            Ok(reading) => senml("signed SenML (COSE)", Pack::read(reading.unverified_senml()), value),
            Err(error) => match UnverifiedCommand::parse(payload) {
                Ok(command) => senml("signed command (COSE)", Pack::read(command.unverified_senml()), value),
                Err(_) => Reading::Broken { form: "signed object (COSE)", why: error.to_string() },
            },
        },
        Some(0) | None => match std::str::from_utf8(payload) {
            Ok(text) => match jws::open(text) {
                Ok(twin) => senml("signed SenML (JWS)", Pack::read(twin.unverified_senml()), value),
                Err(_) => Reading::Text(short(text)),
            },
            Err(_) => Reading::Opaque(value.content_format),
        },
        Some(50) => Reading::Text(short(&String::from_utf8_lossy(payload))),
        other => Reading::Opaque(other),
    }
}

fn senml(form: &'static str, pack: Result<Pack, DecodeError>, value: &Value) -> Reading {
    let resolved = pack.map_err(|error| error.to_string());
    match resolved.and_then(|pack| pack.resolve(came(value)).map_err(|error| error.to_string())) {
        Ok(resolved) => Reading::SenML { form, records: resolved.records().to_vec() },
        Err(why) => Reading::Broken { form, why: short(&why) },
    }
}

/// When it was published, in seconds since 1970.
fn came(value: &Value) -> Number {
    Number::new(value.published.as_millis().into(), -3).unwrap_or(Number::ZERO)
}

impl Reading {
    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::SenML { form, records } => json!({
                "form": form,
                "records": records.iter().take(MAX_RECORDS).map(record).collect::<Vec<_>>(),
                "records_left_off": records.len().saturating_sub(MAX_RECORDS),
            }),
            Self::Text(text) => json!({ "form": "text", "text": text }),
            Self::Opaque(Some(format)) => json!({ "form": format!("content format {format}") }),
            Self::Opaque(None) => json!({ "form": "bytes" }),
            Self::Empty => json!({ "form": "empty", "text": "" }),
            Self::Broken { form, why } => json!({ "form": form, "problem": why }),
        }
    }
}

fn record(record: &ResolvedRecord) -> Json {
    let value = match &record.value {
        Some(Measured::Number(number)) => json!(number.to_f64()),
        Some(Measured::Text(text)) => json!(short(text)),
        Some(Measured::Boolean(boolean)) => json!(boolean),
        Some(Measured::Data(data)) => json!(format!("{} bytes", data.len())),
        None => Json::Null,
    };
    json!({
        "name": short(&record.name),
        "unit": record.unit.as_deref().map(short),
        "time": (record.time.to_f64() * 1000.0).round(),
        "value": value,
        "sum": record.sum.map(Number::to_f64),
    })
}

/// Numbers of one name over time.
pub(super) struct Series {
    name: Cow<'static, str>,
    unit: Option<String>,
    /// Milliseconds since 1970, and what was measured.
    points: Vec<(f64, f64)>,
}

impl Series {
    pub(super) fn to_json(&self) -> Json {
        let (times, values): (Vec<_>, Vec<_>) = self.points.iter().copied().unzip();
        json!({ "name": self.name, "unit": self.unit, "times": times, "values": values })
    }
}

/// Oldest point first. Names beyond the most are left out.
pub(super) fn series(values: &[Value]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for value in values {
        let Reading::SenML { records, .. } = read(value) else { continue };
        let came = came(value).to_f64() * 1000.0;
        for record in records.iter().take(MAX_RECORDS) {
            let Some(number) = numeric(record) else { continue };
            let measured = (record.time.to_f64() * 1000.0).round();
            let time = if BELIEVED.contains(&((measured - came) / 1000.0)) { measured } else { came };
            let name = short(&record.name);
            if let Some(series) = all.iter_mut().find(|series| series.name == name) {
                series.points.push((time, number));
            } else if all.len() < MAX_SERIES {
                let unit = record.unit.as_deref().map(short);
                all.push(Series { name: name.into(), unit, points: vec![(time, number)] });
            }
        }
    }
    for series in &mut all {
        series.points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    all
}

fn numeric(record: &ResolvedRecord) -> Option<f64> {
    match record.value {
        Some(Measured::Number(number)) => Some(number.to_f64()).filter(|number| number.is_finite()),
        Some(Measured::Boolean(boolean)) => Some(f64::from(u8::from(boolean))),
        _ => None,
    }
}
