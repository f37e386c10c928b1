//! A reading: what a mote measures and sends.
//!
//! ```text
//! Sensors ── Reading::now ──▶ Reading ── encode ──▶ SenML-CBOR (RFC 8428) ── decode ──▶ SenML-JSON
//! a program's SenML ── with_time ───────────────▶      │
//!                              SignedReadings, sign_one ┴─▶ signed, for an anonymous path
//! ```

mod program;
mod sensors;
mod signed;

pub use motemix_object::{Decimal, Record};
pub use motemix_readings::senml::decode;
pub use program::{Bounds, Program};
pub use sensors::Sensors;
pub use signed::{SignedReadings, sign_one};

use motemix_host::Source;
use motemix_object::{SealedReading, write_pack};
use motemix_readings::senml::{Number, Pack};
use serde_json::Value;
use std::task::Poll;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The values measured at one time, the most important first.
///
/// It names no device: the receiver learns what was measured, and not by whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// When, since the Unix epoch.
    pub time: Duration,
    /// What, the most important first.
    pub records: Vec<Record<'static>>,
}

impl Reading {
    /// Measures everything now.
    pub fn now(sensors: &mut Sensors) -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { time, records: sensors.measure() }
    }

    /// SenML-CBOR of at most `max_len` bytes, or nothing if not even one record fits.
    ///
    /// Leaves out as many of the least important records as it must.
    pub fn encode(&self, max_len: usize) -> Vec<u8> {
        let mut out = vec![0; max_len];
        let len = (1..=self.records.len())
            .rev()
            .find_map(|count| write_pack(Some(self.time.as_secs()), &self.records[..count], &mut out));
        out.truncate(len.unwrap_or(0));
        out
    }
}

/// The sensors of this machine, in SenML that nobody signs.
pub struct OwnSensors(pub Sensors);

impl Source for OwnSensors {
    fn poll(&mut self, most: usize) -> Poll<Vec<u8>> {
        Poll::Ready(Reading::now(&mut self.0).encode(most))
    }
}

/// A pack in CBOR of at most `most` bytes. One that says no time gets that of now, if there is room
/// for it: whoever gets the pack later could only guess.
///
/// # Errors
/// It is longer.
pub fn with_time(mut pack: Pack, most: usize) -> Result<Vec<u8>, String> {
    let without = pack.to_cbor();
    let says_time = pack.records.iter().any(|record| record.base_time.is_some() || record.time.is_some());
    if let Some(first) = pack.records.first_mut().filter(|_| !says_time) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        first.base_time = Number::new(now.as_secs().into(), 0);
    }
    let with = pack.to_cbor();
    match [with, without].into_iter().find(|senml| senml.len() <= most) {
        Some(senml) => Ok(senml),
        None => Err(format!(
            "it has {} bytes as CBOR, and a packet has room for {most}; one value with a short name takes least",
            pack.to_cbor().len()
        )),
    }
}

/// SenML as `name value unit` of each record, a text as it is, anything else in hexadecimal.
pub fn in_words(data: &[u8]) -> String {
    if let Ok(reading) = SealedReading::parse(data) {
        return format!("{} (signed, not checked)", in_words(reading.unverified_senml()));
    }
    if let Ok(pack @ Value::Array(_)) = decode(data) {
        return pack_in_words(&pack);
    }
    std::str::from_utf8(data).map_or_else(|_| format!("0x{}", hex::encode(data)), str::to_owned)
}

/// The same of SenML in JSON.
pub fn pack_in_words(pack: &Value) -> String {
    let records = pack.as_array().map(Vec::as_slice).unwrap_or_default();
    records.iter().map(record_in_words).collect::<Vec<_>>().join(", ")
}

fn record_in_words(record: &Value) -> String {
    let text = |label: &str| record.get(label).and_then(Value::as_str).unwrap_or("");
    let value = ["v", "vs", "vb", "vd", "s"].iter().find_map(|label| record.get(*label));
    let value = value.map_or_else(String::new, |value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let words = [&format!("{}{}", text("bn"), text("n")), &value, text("u")];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOTE_PAYLOAD: usize = 103;

    #[test]
    fn a_reading_of_this_machine_fits_a_mote_packet_and_round_trips() {
        let reading = Reading::now(&mut Sensors::new());
        let bytes = reading.encode(MOTE_PAYLOAD);
        assert!(!bytes.is_empty() && bytes.len() <= MOTE_PAYLOAD, "{} bytes", bytes.len());

        let json = decode(&bytes).unwrap();
        let pack = json.as_array().unwrap();
        assert!(pack.len() >= 3, "{json}");
        for (record, decoded) in reading.records.iter().zip(pack) {
            assert_eq!(decoded["n"], record.name);
            assert_eq!(decoded.get("u").and_then(|unit| unit.as_str()), record.unit);
            assert_eq!(decoded["v"].to_string(), record.value.to_string());
        }
        assert_eq!(pack[0]["bt"].as_u64(), Some(reading.time.as_secs()));
    }

    #[test]
    fn the_least_important_records_are_left_out_first() {
        let record = |name| Record { name, unit: None, value: Decimal::integer(1) };
        let reading = Reading { time: Duration::ZERO, records: ["a", "b", "c"].map(record).to_vec() };
        let whole = reading.encode(MOTE_PAYLOAD);
        let cut = reading.encode(whole.len() - 1);
        assert_eq!(decode(&whole).unwrap().as_array().unwrap().len(), 3);
        let names: Vec<_> =
            decode(&cut).unwrap().as_array().unwrap().iter().map(|r| r["n"].clone()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(reading.encode(3).is_empty());
    }
}
