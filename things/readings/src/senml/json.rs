//! SenML in JSON (RFC 8428, 5).

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use super::error::{DecodeError, Form, Wrong};
use super::label::Label;
use super::{Field, Item, MAX_PACK_LEN, MAX_RECORDS, Number, Pack, Record};
use crate::base64url;

impl Pack {
    /// Reads SenML in JSON; a byte order mark is left out. So is a label that is not known, unless
    /// it says that it has to be understood (RFC 8428, 4.4).
    ///
    /// # Errors
    /// It is not exactly one array of records with values of SenML, or too long.
    pub fn from_json(bytes: &[u8]) -> Result<Self, DecodeError> {
        let refused = |wrong| DecodeError::new(Form::Json, wrong);
        if bytes.len() > MAX_PACK_LEN {
            return Err(refused(Wrong::TooLong));
        }
        let bytes = match marked(bytes) {
            Some(Marked::Utf8(text)) => text,
            Some(Marked::Utf16) => return Err(refused(Wrong::Utf16)),
            None => bytes,
        };
        if !bytes.trim_ascii_start().starts_with(b"[") {
            return Err(refused(Wrong::NoArray));
        }
        // The first pass checks all of the grammar and says lines.
        let records: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(|why| {
            refused(if is_no_number(bytes, &why) { Wrong::NoNumber } else { Wrong::Syntax(why.to_string()) })
        })?;
        if records.is_empty() {
            return Err(refused(Wrong::Empty));
        }
        if records.len() > MAX_RECORDS {
            return Err(refused(Wrong::TooLong));
        }
        let records = records.iter().enumerate();
        let records = records.map(|(at, record)| read_record(record).map_err(|why| why.in_record(at)));
        Ok(Self { records: records.collect::<Result<_, _>>()? })
    }

    /// Writes SenML in JSON, on one line.
    pub fn to_json(&self) -> String {
        let mut out = String::from("[");
        for (position, record) in self.records.iter().enumerate() {
            out.push_str(if position == 0 { "{" } else { ",{" });
            for (position, (label, field)) in record.fields().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                let value = match field {
                    Field::Number(number) => number.to_string(),
                    Field::Version(version) => version.to_string(),
                    Field::Text(text) => Json::from(text).to_string(),
                    Field::Boolean(boolean) => boolean.to_string(),
                    Field::Data(data) => Json::from(base64url::encode(data)).to_string(),
                };
                out.extend(["\"", label.name(), "\":", &value]);
            }
            out.push('}');
        }
        out.push(']');
        out
    }

    /// The same as a value; its numbers are binary.
    pub fn to_json_value(&self) -> Json {
        let object = |record: &Record| {
            let fields = record.fields().map(|(label, field)| {
                let value = match field {
                    Field::Number(number) => binary(number),
                    Field::Version(version) => version.into(),
                    Field::Text(text) => text.into(),
                    Field::Boolean(boolean) => boolean.into(),
                    Field::Data(data) => base64url::encode(data).into(),
                };
                (label.name().to_owned(), value)
            });
            Json::Object(fields.collect::<Map<_, _>>())
        };
        Json::Array(self.records.iter().map(object).collect())
    }
}

/// What follows a byte order mark.
pub(super) enum Marked<'b> {
    /// Text in UTF-8: RFC 8259 (8.1) allows a reader to leave the mark out.
    Utf8(&'b [u8]),
    /// Text in UTF-16, which SenML has not (RFC 8428, 5).
    Utf16,
}

/// Bytes that begin with a byte order mark, as files of Windows do.
pub(super) fn marked(bytes: &[u8]) -> Option<Marked<'_>> {
    match bytes {
        [0xef, 0xbb, 0xbf, text @ ..] => Some(Marked::Utf8(text)),
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => Some(Marked::Utf16),
        _ => None,
    }
}

/// Whether the reader stopped at a value that some programs write and JSON has not (RFC 8259, 6).
fn is_no_number(bytes: &[u8], why: &serde_json::Error) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').nth(why.line().saturating_sub(1)).unwrap_or_default();
    // It says the column of the letter that it did not expect, the first or the second.
    let rest = line.get(why.column().saturating_sub(2)..).unwrap_or_default();
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start();
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    [&b"NaN"[..], b"nan", b"Infinity", b"inf"].iter().any(|word| rest.starts_with(word))
}

fn binary(number: Number) -> Json {
    match number.to_integer().and_then(|integer| i64::try_from(integer).ok()) {
        Some(integer) => integer.into(),
        None => number.to_f64().into(),
    }
}

fn read_record(record: &RawValue) -> Result<Record, DecodeError> {
    let refused = |wrong| DecodeError::new(Form::Json, wrong);
    let members = members(record.get()).ok_or_else(|| refused(Wrong::Type("an object of labels")))?;
    let mut read = Record::default();
    for (name, text) in members {
        let Some(label) = Label::named(&name) else {
            if Label::may_be_ignored(&name) {
                continue;
            }
            return Err(refused(Wrong::MustUnderstand).at_unknown_label(&name));
        };
        read_item(label, text)
            .and_then(|item| read.set(label, item))
            .map_err(|wrong| refused(wrong).at_label(label))?;
    }
    Ok(read)
}

fn read_item(label: Label, text: &RawValue) -> Result<Item, Wrong> {
    let text = text.get();
    match text.as_bytes().first() {
        Some(b'"') => {
            let text: String = serde_json::from_str(text).map_err(|why| Wrong::Syntax(why.to_string()))?;
            if label == Label::DataValue {
                return base64url::decode(&text).map(Item::Data).ok_or(Wrong::Base64);
            }
            Ok(Item::Text(text))
        }
        Some(b't') => Ok(Item::Boolean(true)),
        Some(b'f') => Ok(Item::Boolean(false)),
        Some(b'-' | b'0'..=b'9') => text.parse().map(Item::Number).map_err(Wrong::Number),
        _ => Err(Wrong::Type("a text, a number or a truth value")),
    }
}

/// All members of an object in their order: a map would lose those that stand twice. `None` if the
/// text is no object.
pub(crate) fn members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(Members).ok()?;
    deserializer.end().ok()?;
    Some(members)
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}
