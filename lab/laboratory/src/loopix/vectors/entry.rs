//! Values of the file with their names. What is read is noted, so that what nothing reads can be
//! told.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;

use motemix_crypto::Secret;
use serde_json::Value;

use super::report::{Failure, Section};
use super::tree;

/// A failure shows of a longer value what follows the first difference.
const SHOWN: usize = 48;

/// Why a check cannot even be made: an input of it is missing or is not what it has to be.
#[derive(Debug)]
pub struct Stop(Failure);

/// The checks of one section as they are made.
#[derive(Debug)]
pub struct Ledger {
    section: RefCell<Section>,
    read: RefCell<BTreeSet<String>>,
}

impl Ledger {
    /// Nothing was checked yet.
    pub fn new(section: &str) -> Self {
        Self { section: RefCell::new(Section::new(section)), read: RefCell::default() }
    }

    fn record(&self, name: String, what: Option<String>) {
        let mut section = self.section.borrow_mut();
        match what {
            None => section.passed += 1,
            Some(what) => section.failures.push(Failure { name, what }),
        }
    }

    fn note(&self, name: &str) {
        self.read.borrow_mut().insert(name.to_owned());
    }

    /// Ends the section that began with the value `root`.
    pub fn close(self, root: &Value) -> Section {
        let mut section = self.section.into_inner();
        let Section { name, skipped, .. } = &mut section;
        unread(name, root, &self.read.into_inner(), skipped);
        section
    }
}

fn unread(name: &str, value: &Value, read: &BTreeSet<String>, found: &mut Vec<String>) {
    if read.contains(name) {
        return;
    }
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| unread(&member(name, key), value, read, found));
        }
        Value::Array(values) => {
            (0..).zip(values).for_each(|(at, value)| unread(&element(name, at), value, read, found));
        }
        _ => found.push(name.to_owned()),
    }
}

fn member(name: &str, key: &str) -> String {
    if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") }
}

fn element(name: &str, at: usize) -> String {
    format!("{name}[{at}]")
}

/// A value of the file.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    name: String,
    value: &'a Value,
    ledger: &'a Ledger,
}

impl<'a> Entry<'a> {
    /// The whole file.
    pub const fn root(value: &'a Value, ledger: &'a Ledger) -> Self {
        Self { name: String::new(), value, ledger }
    }

    /// Makes the checks of `self`. What stops one is a failure, and the rest of `self` is left
    /// alone.
    pub fn run(&self, checks: impl FnOnce(&Self) -> Result<(), Stop>) {
        if let Err(Stop(Failure { name, what })) = checks(self) {
            self.ledger.record(name, Some(what));
            self.ledger.note(&self.name);
        }
    }

    /// As [`Self::run`], for a member.
    pub fn part(&self, key: &str, checks: impl FnOnce(&Self) -> Result<(), Stop>) {
        self.run(|own| own.at(key).map(|part| part.run(checks)));
    }

    /// As [`Self::part`], for checks of which each fails by itself.
    pub fn section(&self, key: &str, checks: impl FnOnce(&Self)) {
        self.part(key, |part| {
            checks(part);
            Ok(())
        });
    }

    /// As [`Self::run`], for each value of a list, which has one at least.
    pub fn each(&self, key: &str, mut checks: impl FnMut(&Self) -> Result<(), Stop>) {
        self.run(|own| {
            own.list(key)?.iter().for_each(|value| value.run(&mut checks));
            Ok(())
        });
    }

    /// As [`Self::run`], for each member of an object, which has one at least.
    pub fn each_member(&self, mut checks: impl FnMut(&Self) -> Result<(), Stop>) -> Result<(), Stop> {
        self.members()?.iter().for_each(|(_, value)| value.run(&mut checks));
        Ok(())
    }

    /// A member.
    pub fn at(&self, key: &str) -> Result<Self, Stop> {
        let name = member(&self.name, key);
        let stop = || Stop(Failure { name: name.clone(), what: "is missing".to_owned() });
        let value = self.value.get(key).ok_or_else(stop)?;
        Ok(Self { name, value, ledger: self.ledger })
    }

    /// A member that may be missing or null.
    pub fn optional(&self, key: &str) -> Option<Self> {
        let part = self.at(key).ok()?;
        if part.value.is_null() {
            self.ledger.note(&part.name);
            None
        } else {
            Some(part)
        }
    }

    /// The values of a list, which has one at least.
    pub fn list(&self, key: &str) -> Result<Vec<Self>, Stop> {
        let part = self.at(key)?;
        let values = part.value.as_array().filter(|values| !values.is_empty());
        let values = values.ok_or_else(|| part.stop("is not a list with anything in it"))?;
        let element = |(at, value)| Self { name: element(&part.name, at), value, ledger: self.ledger };
        Ok((0..).zip(values).map(element).collect())
    }

    /// The values of a list of `len`.
    pub fn list_of(&self, key: &str, len: usize) -> Result<Vec<Self>, Stop> {
        let values = self.list(key)?;
        let stop = || Ok(self.at(key)?.stop(&format!("has {} values; it has to have {len}", values.len())));
        if values.len() == len { Ok(values) } else { Err(stop().unwrap_or_else(|stop| stop)) }
    }

    /// The members of an object, by their keys.
    pub fn members(&self) -> Result<Vec<(&'a str, Self)>, Stop> {
        let members = self.value.as_object().filter(|members| !members.is_empty());
        let members = members.ok_or_else(|| self.stop("is not an object with anything in it"))?;
        let member = |(key, value): (&'a String, &'a Value)| {
            (key.as_str(), Self { name: member(&self.name, key), value, ledger: self.ledger })
        };
        Ok(members.iter().map(member).collect())
    }

    /// The value of a list of a row, by its number.
    pub fn column(&self, at: usize) -> Result<Self, Stop> {
        let value = self.value.get(at).ok_or_else(|| self.stop(&format!("has no column {at}")))?;
        Ok(Self { name: element(&self.name, at), value, ledger: self.ledger })
    }

    /// This value cannot be used.
    pub fn stop(&self, what: &str) -> Stop {
        Stop(Failure { name: self.name.clone(), what: what.to_owned() })
    }

    /// A value that no check needs: words for people.
    pub fn skip(&self, key: &str) {
        self.ledger.note(&member(&self.name, key));
    }

    fn noted(&self) -> &'a Value {
        self.ledger.note(&self.name);
        self.value
    }

    /// This value as bytes.
    pub fn as_bytes(&self) -> Result<Vec<u8>, Stop> {
        let text = self.noted().as_str().ok_or_else(|| self.stop("is not a text of hexadecimal digits"))?;
        hex::decode(text).map_err(|error| self.stop(&format!("is not hexadecimal: {error}")))
    }

    /// A member as bytes.
    pub fn bytes(&self, key: &str) -> Result<Vec<u8>, Stop> {
        self.at(key)?.as_bytes()
    }

    /// This value as `N` bytes.
    pub fn as_array<const N: usize>(&self) -> Result<[u8; N], Stop> {
        let bytes = self.as_bytes()?;
        let len = bytes.len();
        bytes.try_into().map_err(|_| self.stop(&format!("has {len} bytes; it has to have {N}")))
    }

    /// A member of `N` bytes.
    pub fn array<const N: usize>(&self, key: &str) -> Result<[u8; N], Stop> {
        self.at(key)?.as_array()
    }

    /// A member of `N` secret bytes.
    pub fn secret<const N: usize>(&self, key: &str) -> Result<Secret<N>, Stop> {
        self.array(key).map(Secret::new)
    }

    /// This value as text.
    pub fn as_text(&self) -> Result<&'a str, Stop> {
        self.noted().as_str().ok_or_else(|| self.stop("is not a text"))
    }

    /// A member that is a text.
    pub fn text(&self, key: &str) -> Result<&'a str, Stop> {
        self.at(key)?.as_text()
    }

    /// This value as a number that is not negative.
    pub fn as_number(&self) -> Result<u64, Stop> {
        self.noted().as_u64().ok_or_else(|| self.stop("is not a number that is not negative"))
    }

    /// A member that is a length: what is allocated for it is bounded.
    pub fn len(&self, key: &str, range: &RangeInclusive<usize>) -> Result<usize, Stop> {
        let part = self.at(key)?;
        let len = usize::try_from(part.as_number()?).ok().filter(|len| range.contains(len));
        len.ok_or_else(|| part.stop(&format!("is not from {} to {}", range.start(), range.end())))
    }

    /// A member that is a msgpack value.
    pub fn tree(&self, key: &str) -> Result<rmpv::Value, Stop> {
        let part = self.at(key)?;
        tree::read(part.noted()).ok_or_else(|| part.stop("is not a tree of msgpack values"))
    }

    /// Checks that this value is what was found.
    pub fn is(&self, found: impl Into<Value>) {
        let (expected, found) = (self.noted(), found.into());
        let what = (*expected != found).then(|| difference(expected, &found));
        self.ledger.record(self.name.clone(), what);
    }

    /// Checks that a member is what was found.
    pub fn expect(&self, key: &str, found: impl Into<Value>) {
        match self.at(key) {
            Ok(part) => part.is(found),
            Err(Stop(Failure { name, what })) => self.ledger.record(name, Some(what)),
        }
    }

    /// Checks that a member is the bytes that were found.
    pub fn expect_bytes(&self, key: &str, found: impl AsRef<[u8]>) {
        self.expect(key, hex::encode(found));
    }

    /// Checks a member whose finding may have failed.
    pub fn expect_found<E: Display>(&self, key: &str, found: Result<impl AsRef<[u8]>, E>) {
        match found {
            Ok(found) => self.expect_bytes(key, found),
            Err(error) => self.expect(key, format!("nothing: {error}")),
        }
    }

    /// Checks that a member is the msgpack value that was found.
    pub fn expect_tree(&self, key: &str, found: &rmpv::Value) {
        self.run(|own| {
            let expected = tree::write(&own.tree(key)?);
            let found = tree::write(found);
            let what = (expected != found).then(|| difference(&expected, &found));
            self.ledger.record(member(&self.name, key), what);
            Ok(())
        });
    }

    /// Checks something that is no value of the file, `aspect` of this one.
    pub fn holds(&self, aspect: &str, holds: bool, otherwise: impl Display) {
        self.ledger.record(format!("{}, {aspect}", self.name), (!holds).then(|| otherwise.to_string()));
    }
}

fn difference(expected: &Value, found: &Value) -> String {
    let [expected, found] = [expected, found].map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let same = expected.chars().zip(found.chars()).take_while(|(one, other)| one == other).count();
    // A little of what is alike, so that the place can be found.
    let from = if expected.len().max(found.len()) > SHOWN { same.saturating_sub(4) } else { 0 };
    format!("expected {}, found {}", excerpt(&expected, from), excerpt(&found, from))
}

/// So much of a text as a line shows.
pub fn excerpt(text: &str, from: usize) -> String {
    let end = if text.chars().count() > from + SHOWN { "…" } else { "" };
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    match (from, shown.is_empty()) {
        (0, true) => "nothing".to_owned(),
        (0, false) => format!("{shown}{end}"),
        (_, _) => format!("…{shown}{end} (from digit {from})"),
    }
}
