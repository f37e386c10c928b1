//! SenML in CBOR (RFC 8428 §6) out, SenML in JSON (RFC 8428 §5) back.
//!
//! Values are written with the digits they have: whole numbers as integers, others as decimal
//! fractions (tag 4), which RFC 8428 §6 allows beside floating point.

use minicbor::data::{Tag, Type};
use minicbor::{Decoder, Encoder};
use motemix_object::{Decimal, Record};
use serde_json::{Map, Number, Value};
use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

/// The labels of RFC 8428 §6, table 4.
const LABELS: [(i64, &str); 15] = [
    (-6, "bs"),
    (-5, "bv"),
    (-4, "bu"),
    (BASE_TIME, "bt"),
    (-2, "bn"),
    (-1, "bver"),
    (NAME, "n"),
    (UNIT, "u"),
    (VALUE, "v"),
    (3, "vs"),
    (4, "vb"),
    (5, "s"),
    (6, "t"),
    (7, "ut"),
    (DATA_VALUE, "vd"),
];
const BASE_TIME: i64 = -3;
const NAME: i64 = 0;
const UNIT: i64 = 1;
const VALUE: i64 = 2;
const DATA_VALUE: i64 = 8;

const DECIMAL_FRACTION: Tag = Tag::new(4);

/// One pack: the base time in the first record, then name, unit and value of each.
pub fn encode(time: Duration, records: &[Record<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    write_pack(&mut encoder, time, records).expect("a vector takes every byte");
    encoder.into_writer()
}

type Written = Result<(), minicbor::encode::Error<Infallible>>;

fn write_pack(encoder: &mut Encoder<Vec<u8>>, time: Duration, records: &[Record<'_>]) -> Written {
    encoder.array(records.len() as u64)?;
    for (position, record) in records.iter().enumerate() {
        let first = position == 0;
        encoder.map(2 + u64::from(first) + u64::from(record.unit.is_some()))?;
        if first {
            // Binary floating point is the shortest form of a time in milliseconds, and exact
            // enough.
            encoder.i64(BASE_TIME)?.f64(whole_milliseconds(time).as_secs_f64())?;
        }
        encoder.i64(NAME)?.str(record.name)?;
        if let Some(unit) = record.unit {
            encoder.i64(UNIT)?.str(unit)?;
        }
        encoder.i64(VALUE)?;
        write_decimal(encoder, record.value)?;
    }
    Ok(())
}

fn whole_milliseconds(time: Duration) -> Duration {
    Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn write_decimal(encoder: &mut Encoder<Vec<u8>>, value: Decimal) -> Written {
    if value.places() > 0 {
        encoder.tag(DECIMAL_FRACTION)?.array(2)?.i64(-i64::from(value.places()))?;
    }
    encoder.i64(value.mantissa())?;
    Ok(())
}

/// Why bytes are no SenML pack.
#[derive(Debug)]
pub struct DecodeError(String);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not SenML-CBOR: {}", self.0)
    }
}

impl std::error::Error for DecodeError {}

impl From<minicbor::decode::Error> for DecodeError {
    fn from(error: minicbor::decode::Error) -> Self {
        Self(error.to_string())
    }
}

/// SenML in CBOR or JSON, as CBOR.
///
/// # Errors
/// It is neither.
pub fn from_any(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    decode(bytes).map(|_| bytes.to_vec())
}

/// SenML-CBOR as SenML-JSON.
///
/// A label that is not in RFC 8428 is left out, unless it says that it must be understood (§4.4).
///
/// # Errors
/// If the bytes are not exactly one pack: an array of at least one map with labels and values of
/// SenML.
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    let mut decoder = Decoder::new(bytes);
    let records = decoder.array()?.ok_or_else(|| refused("an array of unknown length"))?;
    if records == 0 {
        return Err(refused("an empty pack"));
    }
    let mut pack = Vec::new();
    for _ in 0..records {
        pack.push(Value::Object(read_record(&mut decoder)?));
    }
    if decoder.position() < bytes.len() {
        return Err(refused("bytes after the pack"));
    }
    Ok(Value::Array(pack))
}

fn read_record(decoder: &mut Decoder<'_>) -> Result<Map<String, Value>, DecodeError> {
    let entries = decoder.map()?.ok_or_else(|| refused("a map of unknown length"))?;
    let mut record = Map::new();
    for _ in 0..entries {
        let Some(label) = read_label(decoder)? else {
            decoder.skip()?;
            continue;
        };
        let value = read_value(decoder)?;
        if record.insert(label.to_owned(), value).is_some() {
            return Err(refused(format!("label {label} twice in one record")));
        }
    }
    Ok(record)
}

fn read_label(decoder: &mut Decoder<'_>) -> Result<Option<&'static str>, DecodeError> {
    if decoder.datatype()? == Type::String {
        let name = decoder.str()?;
        return if name.ends_with('_') {
            Err(refused(format!("label {name:?}, which must be understood and is not")))
        } else {
            Ok(None)
        };
    }
    let number = decoder.i64()?;
    Ok(LABELS.iter().find(|(label, _)| *label == number).map(|(_, name)| *name))
}

fn read_value(decoder: &mut Decoder<'_>) -> Result<Value, DecodeError> {
    Ok(match decoder.datatype()? {
        Type::String => Value::from(decoder.str()?),
        Type::Bool => Value::from(decoder.bool()?),
        Type::Bytes => Value::from(base64url(decoder.bytes()?)),
        Type::F16 => shortest(decoder.f16()?)?,
        Type::F32 => shortest(decoder.f32()?)?,
        Type::F64 => number(decoder.f64()?)?,
        Type::Tag => read_decimal(decoder)?,
        Type::U64 => Value::from(decoder.u64()?),
        _ => Value::from(decoder.i64()?),
    })
}

fn read_decimal(decoder: &mut Decoder<'_>) -> Result<Value, DecodeError> {
    if decoder.tag()? != DECIMAL_FRACTION || decoder.array()? != Some(2) {
        return Err(refused("a tag other than a decimal fraction"));
    }
    let exponent = decoder.i64()?;
    let mantissa = decoder.i64()?;
    // The text of a number is parsed to the nearest binary number; a product of two would not
    // always be.
    number(format!("{mantissa}e{exponent}").parse().map_err(|_| refused("a number without a value"))?)
}

/// A short binary number as the digits that name it, not as those of its expansion.
fn shortest(value: f32) -> Result<Value, DecodeError> {
    number(value.to_string().parse().map_err(|_| refused("a number without a value"))?)
}

fn number(value: f64) -> Result<Value, DecodeError> {
    Number::from_f64(value).map(Value::Number).ok_or_else(|| refused("a number that is not finite"))
}

fn refused(what: impl fmt::Display) -> DecodeError {
    DecodeError(what.to_string())
}

/// RFC 4648 §5 without padding, as RFC 8428 §5 writes a data value.
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0_usize, |group, byte| (group << 8) | usize::from(*byte))
            << (8 * (3 - chunk.len()));
        for position in 0..=chunk.len() {
            text.push(char::from(ALPHABET[(group >> (18 - 6 * position)) & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decodes_the_example_of_the_standard() {
        // RFC 8428 §6: the first record of the pack, with the array made one long.
        let bytes: &[u8] = &[
            0x81, 0xa7, 0x21, 0x78, 0x1b, 0x75, 0x72, 0x6e, 0x3a, 0x64, 0x65, 0x76, 0x3a, 0x6f, 0x77, 0x3a,
            0x31, 0x30, 0x65, 0x32, 0x30, 0x37, 0x33, 0x61, 0x30, 0x31, 0x30, 0x38, 0x30, 0x30, 0x36, 0x3a,
            0x22, 0xfb, 0x41, 0xd3, 0x03, 0xa1, 0x5b, 0x00, 0x10, 0x62, 0x23, 0x61, 0x41, 0x20, 0x05, 0x00,
            0x67, 0x76, 0x6f, 0x6c, 0x74, 0x61, 0x67, 0x65, 0x01, 0x61, 0x56, 0x02, 0xfb, 0x40, 0x5e, 0x06,
            0x66, 0x66, 0x66, 0x66, 0x66,
        ];
        assert_eq!(
            decode(bytes).unwrap(),
            json!([{"bn": "urn:dev:ow:10e2073a0108006:", "bt": 1_276_020_076.001, "bu": "A", "bver": 5,
                    "n": "voltage", "u": "V", "v": 120.1}])
        );
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let mut encoder = Encoder::new(Vec::new());
        encoder.array(1).unwrap().map(7).unwrap();
        encoder.i64(VALUE).unwrap().f32(0.1).unwrap();
        encoder.i64(3).unwrap().str("text").unwrap();
        encoder.i64(4).unwrap().bool(true).unwrap();
        encoder.i64(DATA_VALUE).unwrap().bytes(b"\xff\xfe").unwrap();
        encoder.i64(5).unwrap().f16(1.5).unwrap();
        encoder.i64(99).unwrap().array(1).unwrap().i64(1).unwrap();
        encoder.i64(6).unwrap().i64(-30).unwrap();
        assert_eq!(
            decode(encoder.writer()).unwrap(),
            json!([{"v": 0.1, "vs": "text", "vb": true, "vd": "__4", "s": 1.5, "t": -30}])
        );
    }

    #[test]
    fn what_is_no_pack_is_refused_and_never_panics() {
        let whole = encode(
            Duration::from_millis(1_763_000_000_500),
            &[Record { name: "temp", unit: Some("Cel"), value: Decimal::new(215, 1).unwrap() }],
        );
        assert!(decode(&whole).is_ok());
        for end in 0..whole.len() {
            assert!(decode(&whole[..end]).is_err(), "{end} bytes were taken for a pack");
        }
        for (position, value) in (0..whole.len()).flat_map(|p| (0..=255).map(move |v| (p, v))) {
            let mut changed = whole.clone();
            changed[position] = value;
            let _ = decode(&changed);
        }
        for bytes in [&b""[..], b"hello", b"\x80", b"\x81\xa0\x00", b"\x81\x00", b"\x81\xa1\x61_\x00"] {
            assert!(decode(bytes).is_err(), "{bytes:02x?} was taken for a pack");
        }
    }
}
