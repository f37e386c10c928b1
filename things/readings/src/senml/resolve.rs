//! Resolved records (RFC 8428, 4.6): each says all of itself, in the order of time.

use motemix_object::is_name;

use super::error::{ResolveError, Unresolvable};
use super::{MAX_NAME_LEN, Number, Pack, Record, UNDERSTOOD_VERSION, Value};

/// Times below are from now, in seconds: 2²⁸ (RFC 8428, 4.5.3).
const FIRST_ABSOLUTE: i64 = 1 << 28;

/// Records that were checked and resolved, in the order of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    records: Vec<ResolvedRecord>,
    version: u64,
}

/// A record that needs no other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedRecord {
    /// The name of what was measured, in full.
    pub name: String,
    /// A unit of the registry; none for a bare number.
    pub unit: Option<String>,
    /// Seconds since 1970.
    pub time: Number,
    /// Seconds until the next value at the latest.
    pub update_time: Option<Number>,
    /// What was measured; if there is none, there is a sum.
    pub value: Option<Value>,
    /// The integral of the values over time.
    pub sum: Option<Number>,
}

/// The base values that hold where a record stands.
#[derive(Default)]
struct Base<'p> {
    name: &'p str,
    time: Option<Number>,
    unit: Option<&'p str>,
    value: Option<Number>,
    sum: Option<Number>,
}

impl Pack {
    /// Checks the records and resolves them at `now`, in seconds since 1970. A record of base
    /// values alone is none of them (RFC 8428, 5.1.7, has one); some other one has to be there.
    ///
    /// # Errors
    /// See [`Unresolvable`].
    pub fn resolve(&self, now: Number) -> Result<Resolved, ResolveError> {
        let version = self.records.first().and_then(|first| first.version).unwrap_or(UNDERSTOOD_VERSION);
        let mut base = Base::default();
        let mut records = Vec::new();
        for (position, record) in self.records.iter().enumerate() {
            let refused = |why| ResolveError { record: position.saturating_add(1), why };
            let own_version = record.version.unwrap_or(version);
            if own_version > UNDERSTOOD_VERSION {
                return Err(refused(Unresolvable::Version(own_version)));
            }
            if own_version != version {
                return Err(refused(Unresolvable::MixedVersions));
            }
            base.take(record);
            if !record.is_base_alone() {
                records.push(base.resolve(record, now).map_err(refused)?);
            }
        }
        if records.is_empty() {
            return Err(ResolveError { record: self.records.len(), why: Unresolvable::NoValue });
        }
        // Records of one time stay in their order.
        records.sort_by_key(|record| record.time);
        Ok(Resolved { records, version })
    }
}

impl<'p> Base<'p> {
    fn take(&mut self, record: &'p Record) {
        self.name = record.base_name.as_deref().unwrap_or(self.name);
        self.time = record.base_time.or(self.time);
        self.unit = record.base_unit.as_deref().or(self.unit);
        self.value = record.base_value.or(self.value);
        self.sum = record.base_sum.or(self.sum);
    }

    fn resolve(&self, record: &Record, now: Number) -> Result<ResolvedRecord, Unresolvable> {
        let name = [self.name, record.name.as_deref().unwrap_or_default()].concat();
        if !is_name(&name) || name.len() > MAX_NAME_LEN {
            return Err(Unresolvable::Name(name));
        }
        let time = added(self.time, record.time)?.unwrap_or(Number::ZERO);
        let is_absolute = time >= Number::integer(FIRST_ABSOLUTE);
        let time = if is_absolute { time } else { now.plus(time).ok_or(Unresolvable::Range)? };
        let sum = added(self.sum, record.sum)?;
        let value = match &record.value {
            Some(Value::Number(value)) => added(self.value, Some(*value))?.map(Value::Number),
            Some(value) => Some(value.clone()),
            // What is missing counts as zero (RFC 8428, 4.5.4).
            None => self.value.map(Value::Number),
        };
        if value.is_none() && sum.is_none() {
            return Err(Unresolvable::NoValue);
        }
        let unit = record.unit.as_deref().or(self.unit).map(str::to_owned);
        Ok(ResolvedRecord { name, unit, time, update_time: record.update_time, value, sum })
    }
}

fn added(base: Option<Number>, own: Option<Number>) -> Result<Option<Number>, Unresolvable> {
    match (base, own) {
        (Some(base), Some(own)) => base.plus(own).map(Some).ok_or(Unresolvable::Range),
        (one, other) => Ok(one.or(other)),
    }
}

impl Resolved {
    /// The records.
    pub fn records(&self) -> &[ResolvedRecord] {
        &self.records
    }

    /// The version of all of them.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// As a pack, to be written; with the version in each record unless it is that of RFC 8428
    /// (4.6).
    pub fn to_pack(&self) -> Pack {
        let version = (self.version != UNDERSTOOD_VERSION).then_some(self.version);
        let records = self.records.iter().map(|record| Record {
            version,
            name: Some(record.name.clone()),
            unit: record.unit.clone(),
            time: Some(record.time),
            update_time: record.update_time,
            value: record.value.clone(),
            sum: record.sum,
            ..Record::default()
        });
        Pack { records: records.collect() }
    }
}
