//! A scenario's text, and what is changed in it before it is run.

use super::{Scenario, VERSION};
use motemix_toml::{Fault, FileError};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// One field with another value than the file's: from a command line or from
/// [`Sweep::vary`](super::Sweep::vary).
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Dotted name, `nodes.mote.count`.
    pub field: String,
    /// As in a scenario.
    pub value: Value,
}

impl Setting {
    /// Reads `field=value`. What is no TOML value is a text, so that quotes are not needed for
    /// `load.interval=16s`.
    ///
    /// # Errors
    /// There is no `=`, or nothing before it. The text says what to do.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (field, value) = text.split_once('=').ok_or("write it as FIELD=VALUE, nodes.mote.count=20")?;
        let (field, value) = (field.trim(), value.trim());
        if field.is_empty() || field.split('.').any(str::is_empty) {
            return Err("name a field before the =, as nodes.mote.count=20".into());
        }
        let value = value.parse().unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Self { field: field.to_owned(), value })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.field, self.value)
    }
}

/// A scenario's text. It becomes a [`Scenario`] with or without changes.
#[derive(Clone, Debug)]
pub struct Draft {
    file: PathBuf,
    text: String,
}

/// What is looked at before anything else.
#[derive(Deserialize)]
struct Versioned {
    version: Option<Value>,
}

impl Draft {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Ok(Self { file: path.to_owned(), text: motemix_toml::text_of(path)? })
    }

    /// A text that is called so in errors.
    pub fn new(file: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    /// The file, as errors name it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The scenario as it stands.
    ///
    /// # Errors
    /// The text is not TOML, is of another version, has an unknown, missing or ill-typed field, or
    /// asks for what cannot be. The error prints as one line with file, line, field and remedy.
    pub fn scenario(&self) -> Result<Scenario, FileError> {
        self.of_this_version()?;
        read(&self.file, &self.text)
    }

    /// The scenario with these fields changed.
    ///
    /// # Errors
    /// As [`Draft::scenario`]; the error names what was changed.
    pub fn with(&self, settings: &[Setting]) -> Result<Scenario, FileError> {
        if settings.is_empty() {
            return self.scenario();
        }
        self.of_this_version()?;
        let mut table: Table = motemix_toml::parse(&self.file, &self.text)?;
        for setting in settings {
            put(&mut table, setting).map_err(|fault| FileError::without_line(&self.file, fault))?;
        }
        read(&self.file, &table.to_string()).map_err(|error| {
            let changed = settings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            FileError { line: None, problem: format!("{} (with {changed})", error.problem), ..error }
        })
    }

    /// A later version may have other fields, so that its number is looked at first.
    fn of_this_version(&self) -> Result<(), FileError> {
        let Versioned { version } = motemix_toml::parse(&self.file, &self.text)?;
        let problem = match version {
            None => "is missing".to_owned(),
            Some(Value::Integer(version)) if version == i64::from(VERSION) => return Ok(()),
            Some(version) => format!("is {version}"),
        };
        let remedy = format!(
            "this program reads version = {VERSION}; write that, or run the program that the file was written for"
        );
        Err(FileError::of_fault(&self.file, &self.text, Fault::new("version", problem, remedy)))
    }
}

impl Scenario {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// As [`Draft::read`] and [`Draft::scenario`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Draft::read(path)?.scenario()
    }

    /// Reads and checks a text.
    ///
    /// # Errors
    /// As [`Draft::scenario`].
    pub fn parse(text: &str) -> Result<Self, FileError> {
        Draft::new("scenario", text).scenario()
    }
}

fn read(file: &Path, text: &str) -> Result<Scenario, FileError> {
    let scenario: Scenario = motemix_toml::parse(file, text)?;
    scenario.check().map_err(|fault| FileError::of_fault(file, text, fault))?;
    Ok(scenario)
}

/// Puts a value where it belongs. A group of nodes is never made: it would hide a misspelt one.
fn put(table: &mut Table, setting: &Setting) -> Result<(), Fault> {
    let fault = |problem, remedy| Fault::new(&setting.field, problem, remedy);
    let parts: Vec<&str> = setting.field.split('.').collect();
    if parts == ["version"] {
        return Err(fault("is the file's".into(), "set another field".into()));
    }
    if let ["nodes", group, ..] = parts.as_slice() {
        let groups = table.get("nodes").and_then(Value::as_table);
        let names = || groups.iter().flat_map(|groups| groups.keys());
        if !names().any(|name| name == group) {
            let names = names().cloned().collect::<Vec<_>>().join(", ");
            return Err(fault(format!("there is no group {group}"), format!("the groups are: {names}")));
        }
    }
    let Some((last, sections)) = parts.split_last() else {
        return Err(fault("has no name".into(), "name a field".into()));
    };
    let mut table = table;
    for part in sections {
        let section = table.entry(*part).or_insert_with(|| Value::Table(Table::new()));
        table = section.as_table_mut().ok_or_else(|| {
            fault(format!("{part} is a value and has no fields"), "name a field of a section".into())
        })?;
    }
    table.insert((*last).to_owned(), setting.value.clone());
    Ok(())
}
