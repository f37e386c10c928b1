//! A reading: what a mote measures and sends.
//!
//! ```text
//! Sensors ── Reading::now ──▶ Reading ── encode ──▶ SenML-CBOR (RFC 8428) ── decode ──▶ SenML-JSON
//! ```

mod sensors;

pub use motemix_object::{Decimal, Record};
pub use motemix_readings::senml::decode;
pub use sensors::Sensors;

use motemix_readings::senml;

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
        (1..=self.records.len())
            .rev()
            .map(|count| senml::encode(self.time, &self.records[..count]))
            .find(|bytes| bytes.len() <= max_len)
            .unwrap_or_default()
    }
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
        assert!((pack[0]["bt"].as_f64().unwrap() - reading.time.as_secs_f64()).abs() < 0.001);
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
