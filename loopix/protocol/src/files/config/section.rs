//! The values of a section, by key.

use super::super::{FileError, wrong};
use super::{KEYS, LONGEST_TIME, SECTIONS};
use serde_json::{Map, Value};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One role's object, or the one flat object.
pub(super) struct Section<'c> {
    path: &'c Path,
    /// Empty for a flat object.
    name: &'static str,
    /// A missing section is one that says nothing.
    values: Option<&'c Map<String, Value>>,
}

impl<'c> Section<'c> {
    /// The sections for mixes, providers and clients; a flat object is all three.
    pub(super) fn all(path: &'c Path, object: &'c Map<String, Value>) -> Result<[Self; 3], FileError> {
        let is_flat = SECTIONS.iter().all(|name| !object.contains_key(*name));
        let mut sections = SECTIONS.map(|name| Section { path, name, values: None });
        for section in &mut sections {
            if is_flat {
                *section = Section { path, name: "", values: Some(object) };
            } else if let Some(value) = object.get(section.name) {
                let values = value.as_object().ok_or_else(|| {
                    wrong(path, section.name, "is no object", "write { and } around its values")
                })?;
                section.values = Some(values);
            }
            section.refuse_misspelt()?;
        }
        Ok(sections)
    }

    /// A misspelt time must not silently become its default. Keys that are like none of ours are
    /// somebody else's.
    fn refuse_misspelt(&self) -> Result<(), FileError> {
        let Some(values) = self.values else { return Ok(()) };
        let missing = || KEYS.into_iter().filter(|key| !values.contains_key(*key));
        for key in values.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            if let Some(meant) = motemix_toml::nearest(key, missing()) {
                let key = key.escape_debug().to_string();
                return Err(self.wrong(&key, "is not known", &format!("perhaps {meant}")));
            }
        }
        Ok(())
    }

    /// A mean time between two events. Zero would be events without pause, in which the originals
    /// hang.
    pub(super) fn mean(&self, key: &str, default: Duration) -> Result<Duration, FileError> {
        let remedy = "give the seconds between two packets; 1e9 is never";
        self.seconds(key, default, remedy, |time| !time.is_zero())
    }

    /// A mean delay, which may be zero.
    pub(super) fn delay(&self, key: &str, default: Duration) -> Result<Duration, FileError> {
        self.seconds(key, default, "give seconds, for example 0.001", |_| true)
    }

    fn seconds(
        &self,
        key: &str,
        default: Duration,
        remedy: &str,
        is_allowed: impl Fn(Duration) -> bool,
    ) -> Result<Duration, FileError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let time = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
        time.filter(|time| *time <= LONGEST_TIME && is_allowed(*time))
            .ok_or_else(|| self.wrong(key, &format!("is {value}"), remedy))
    }

    /// A number of things, `most` at most.
    pub(super) fn count<N: TryFrom<u64> + Copy + PartialOrd + Display>(
        &self,
        key: &str,
        default: N,
        most: N,
    ) -> Result<N, FileError> {
        let Some(value) = self.get(key) else { return Ok(default) };
        let number: Option<u64> = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let count = number.and_then(|number| N::try_from(number).ok()).filter(|count| *count <= most);
        count.ok_or_else(|| self.wrong(key, &format!("is {value}"), &format!("choose 0 to {most}")))
    }

    /// Yes, no, or nothing. Text is refused: to Python, `"false"` is true.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, FileError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(value) => {
                Err(self.wrong(key, &format!("is {value}"), "write true or false, without quotation marks"))
            }
        }
    }

    /// The path of a file.
    pub(super) fn path(&self, key: &str, default: &Path) -> Result<PathBuf, FileError> {
        match self.get(key) {
            None => Ok(default.to_owned()),
            Some(Value::String(text)) if !text.is_empty() && !text.contains('\0') => Ok(text.into()),
            Some(value) => {
                Err(self.wrong(key, &format!("is {value}"), "name a file, for example \"example.db\""))
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'c Value> {
        self.values?.get(key)
    }

    fn wrong(&self, key: &str, problem: &str, remedy: &str) -> FileError {
        let place = if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) };
        wrong(self.path, place, problem, remedy)
    }
}
