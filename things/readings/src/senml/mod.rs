//! SenML (RFC 8428): packs of records, in JSON and in CBOR, and what they say resolved.
//!
//! ```text
//! JSON or CBOR ── Pack::read ──▶ Pack ── resolve(now) ──▶ Resolved: names, units, times in full
//!                                 │ ▲                         │
//!               to_json, to_cbor ◀┘ └──────── to_pack ────────┘
//! ```
//!
//! What is signed, and what is believed because it is signed, is held to all rules of RFC 8428 by
//! one function, [`Pack::read_valid`].
//!
//! Numbers keep the digits that they were given with ([`Number`]). `docs/spec/reading-senml.md` is
//! normative where RFC 8428 leaves a choice.

mod cbor;
mod error;
mod json;
mod label;
mod number;
mod resolve;

use std::time::Duration;

use label::Label;

pub(crate) use json::members;

pub use error::{DecodeError, InvalidSenml, ResolveError, Unresolvable, Wrong};
pub use number::{BadNumber, Number};
pub use resolve::{Resolved, ResolvedRecord};

/// The most bytes of a pack.
pub const MAX_PACK_LEN: usize = 1 << 20;
/// The most records of a pack.
pub const MAX_RECORDS: usize = 1 << 14;
/// The most bytes of a name, with its base name: a base name counts for each record.
pub const MAX_NAME_LEN: usize = 1024;
/// The most bytes of a unit.
pub const MAX_UNIT_LEN: usize = 64;
/// The version of RFC 8428, 4.1: what has none has this.
pub const UNDERSTOOD_VERSION: u64 = 10;

/// Records, with the base values that hold for themselves and all after them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Pack {
    /// In the order of the pack.
    pub records: Vec<Record>,
}

/// A record as it stands in a pack (RFC 8428, 4.1 and 4.2).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Record {
    /// Stands before the names from here on.
    pub base_name: Option<String>,
    /// Is added to the times from here on, in seconds.
    pub base_time: Option<Number>,
    /// Is the unit where there is none, from here on.
    pub base_unit: Option<String>,
    /// Is added to the numbers from here on.
    pub base_value: Option<Number>,
    /// Is added to the sums from here on.
    pub base_sum: Option<Number>,
    /// Version of the format.
    pub version: Option<u64>,
    /// The name of what was measured, behind the base name.
    pub name: Option<String>,
    /// A unit of the registry (RFC 8428, 12.1).
    pub unit: Option<String>,
    /// In seconds: since 1970, or below 2²⁸ from now.
    pub time: Option<Number>,
    /// Seconds until the next value at the latest.
    pub update_time: Option<Number>,
    /// What was measured.
    pub value: Option<Value>,
    /// The integral of the values over time, in the unit times seconds.
    pub sum: Option<Number>,
}

/// A value of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// `v`.
    Number(Number),
    /// `vs`.
    Text(String),
    /// `vb`.
    Boolean(bool),
    /// `vd`.
    Data(Vec<u8>),
}

impl Pack {
    /// Reads a pack in whichever form it has ([`is_text`]).
    ///
    /// # Errors
    /// As for [`from_json`](Self::from_json) and [`from_cbor`](Self::from_cbor).
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        if is_text(bytes) { Self::from_json(bytes) } else { Self::from_cbor(bytes) }
    }

    /// Reads a pack in whichever form it has, and holds it to RFC 8428: it says something of each
    /// name in it, in a version that is understood.
    ///
    /// # Errors
    /// As for [`read`](Self::read) and [`resolve`](Self::resolve).
    pub fn read_valid(bytes: &[u8]) -> Result<Self, InvalidSenml> {
        let pack = Self::read(bytes)?;
        pack.resolve(Number::ZERO)?;
        Ok(pack)
    }
}

/// Whether bytes that are to be SenML are JSON, right or wrong: CBOR begins with the head of an
/// array, which is neither ASCII nor a byte order mark.
pub fn is_text(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(u8::is_ascii) || json::marked(bytes).is_some()
}

/// What stands at a label, whatever the form.
enum Item {
    Number(Number),
    Text(String),
    Boolean(bool),
    Data(Vec<u8>),
}

/// What is written at a label.
enum Field<'r> {
    Number(Number),
    Version(u64),
    Text(&'r str),
    Boolean(bool),
    Data(&'r [u8]),
}

impl Record {
    /// Takes what was read at a label.
    fn set(&mut self, label: Label, item: Item) -> Result<(), Wrong> {
        let twice = match label {
            Label::BaseName => self.base_name.replace(text(item, MAX_NAME_LEN)?).is_some(),
            Label::BaseTime => self.base_time.replace(number(&item)?).is_some(),
            Label::BaseUnit => self.base_unit.replace(text(item, MAX_UNIT_LEN)?).is_some(),
            Label::BaseValue => self.base_value.replace(number(&item)?).is_some(),
            Label::BaseSum => self.base_sum.replace(number(&item)?).is_some(),
            Label::Version => self.version.replace(version(&item)?).is_some(),
            Label::Name => self.name.replace(text(item, MAX_NAME_LEN)?).is_some(),
            Label::Unit => self.unit.replace(text(item, MAX_UNIT_LEN)?).is_some(),
            Label::Time => self.time.replace(number(&item)?).is_some(),
            Label::UpdateTime => self.update_time.replace(number(&item)?).is_some(),
            Label::Sum => self.sum.replace(number(&item)?).is_some(),
            Label::Value | Label::StringValue | Label::BooleanValue | Label::DataValue => {
                let second = self.value.replace(value(label, item)?);
                return if second.is_some() { Err(Wrong::TwoValues) } else { Ok(()) };
            }
        };
        if twice { Err(Wrong::Twice) } else { Ok(()) }
    }

    /// What is there, base values first.
    fn fields(&self) -> impl Iterator<Item = (Label, Field<'_>)> {
        let number = |number: Option<Number>| number.map(Field::Number);
        let value = self.value.as_ref().map(|value| match value {
            Value::Number(number) => (Label::Value, Field::Number(*number)),
            Value::Text(text) => (Label::StringValue, Field::Text(text)),
            Value::Boolean(boolean) => (Label::BooleanValue, Field::Boolean(*boolean)),
            Value::Data(data) => (Label::DataValue, Field::Data(data)),
        });
        [
            (Label::BaseName, self.base_name.as_deref().map(Field::Text)),
            (Label::BaseTime, number(self.base_time)),
            (Label::BaseUnit, self.base_unit.as_deref().map(Field::Text)),
            (Label::BaseValue, number(self.base_value)),
            (Label::BaseSum, number(self.base_sum)),
            (Label::Version, self.version.map(Field::Version)),
            (Label::Name, self.name.as_deref().map(Field::Text)),
            (Label::Unit, self.unit.as_deref().map(Field::Text)),
            (Label::Time, number(self.time)),
            (Label::UpdateTime, number(self.update_time)),
        ]
        .into_iter()
        .filter_map(|(label, field)| Some((label, field?)))
        .chain(value)
        .chain(self.sum.map(|sum| (Label::Sum, Field::Number(sum))))
    }

    /// Whether it measures nothing and sets base values for the records after it.
    fn is_base_alone(&self) -> bool {
        let regular = (&self.name, &self.unit, self.time, self.update_time, &self.value, self.sum);
        regular == (&None, &None, None, None, &None, None)
    }
}

fn text(item: Item, most: usize) -> Result<String, Wrong> {
    match item {
        Item::Text(text) if text.len() > most => Err(Wrong::LongText),
        Item::Text(text) => Ok(text),
        _ => Err(Wrong::Type("a text")),
    }
}

const fn number(item: &Item) -> Result<Number, Wrong> {
    match item {
        Item::Number(number) => Ok(*number),
        _ => Err(Wrong::Type("a number")),
    }
}

fn version(item: &Item) -> Result<u64, Wrong> {
    number(item)
        .ok()
        .and_then(Number::to_integer)
        .and_then(|version| u64::try_from(version).ok())
        .filter(|version| *version > 0)
        .ok_or(Wrong::Type("a positive whole number"))
}

fn value(label: Label, item: Item) -> Result<Value, Wrong> {
    match (label, item) {
        (Label::StringValue, Item::Text(text)) => Ok(Value::Text(text)),
        (Label::StringValue, _) => Err(Wrong::Type("a text")),
        (Label::BooleanValue, Item::Boolean(boolean)) => Ok(Value::Boolean(boolean)),
        (Label::BooleanValue, _) => Err(Wrong::Type("true or false")),
        (Label::DataValue, Item::Data(data)) => Ok(Value::Data(data)),
        (Label::DataValue, _) => Err(Wrong::Type("data")),
        (_, item) => number(&item).map(Value::Number),
    }
}

/// One pack in CBOR of what a node measures: the base time in the first record, to the millisecond,
/// then name, unit and value of each.
pub fn encode(time: Duration, records: &[motemix_object::Record<'_>]) -> Vec<u8> {
    let milliseconds = i128::try_from(time.as_millis()).unwrap_or(i128::MAX);
    let mut base_time = Number::new(milliseconds, -3);
    let records = records.iter().map(|record| Record {
        base_time: base_time.take(),
        name: Some(record.name.to_owned()),
        unit: record.unit.map(str::to_owned),
        value: Some(Value::Number(record.value.into())),
        ..Record::default()
    });
    Pack { records: records.collect() }.to_cbor()
}

/// SenML in CBOR as SenML in JSON.
///
/// # Errors
/// As for [`Pack::from_cbor`].
pub fn decode(bytes: &[u8]) -> Result<serde_json::Value, DecodeError> {
    Ok(Pack::from_cbor(bytes)?.to_json_value())
}

#[cfg(test)]
mod tests;
