//! What is wrong with a TOML file, in one line: where, which field, what to do.
//!
//! ```text
//! node.toml:10: limits.queues: unknown field `queues`, expected one of …; correct or remove it: perhaps `queue`
//! ```
//!
//! Configurations of nodes and scenarios of the simulator are read through this crate. Their types
//! and their own checks say what a field may hold; this crate knows where the field is in the text.

#![forbid(unsafe_code)]

mod place;

pub use place::line_of_field;

use serde::de::DeserializeOwned;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How alike two names are, 0 to 1, before one may have been meant by the other.
const NEAR: f64 = 0.7;

/// A value out of its range: what a check of a whole file finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Dotted name, `limits.queue`.
    pub field: String,
    /// What is wrong, as what the field is or does: `is 0`.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl Fault {
    /// A fault of a field.
    pub fn new(field: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into(), remedy: remedy.into() }
    }
}

/// Why a file cannot be used; prints as `file:line: field: problem; remedy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub file: PathBuf,
    /// Line, counted from 1, where there is one to blame.
    pub line: Option<usize>,
    /// Dotted name of the field, `limits.queue`; empty if the file as a whole is at fault.
    pub field: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

/// The text of a file.
///
/// # Errors
/// It cannot be read, or is no UTF-8.
pub fn text_of(path: &Path) -> Result<String, FileError> {
    fs::read_to_string(path).map_err(|error| FileError::unreadable(path, &error))
}

/// A text as a type.
///
/// # Errors
/// It is not TOML, or has an unknown, missing or ill-typed field.
pub fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, FileError> {
    toml::from_str(text).map_err(|error| FileError::syntax(path, text, &error))
}

impl FileError {
    /// The file cannot be read.
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self {
            file: path.to_owned(),
            line: None,
            field: String::new(),
            problem: format!("cannot read it: {error}"),
            remedy: "check the path and its permissions".to_owned(),
        }
    }

    /// A fault of a field of this text.
    pub fn of_fault(path: &Path, text: &str, fault: Fault) -> Self {
        Self { line: Some(line_of_field(text, &fault.field)), ..Self::without_line(path, fault) }
    }

    /// A fault of a field that stands in no text yet.
    pub fn without_line(path: &Path, fault: Fault) -> Self {
        let Fault { field, problem, remedy } = fault;
        Self { file: path.to_owned(), line: None, field, problem, remedy }
    }

    fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        // A missing field has no place of its own; the message carries its name, the span is its
        // section's.
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        let place = error.span().map(|span| match missing {
            Some(_) => place::of_section(text, span),
            None => place::of_field(text, span),
        });
        let (field, remedy) = match (missing, &place) {
            (Some(name), Some(place)) if !place.field.is_empty() => {
                (format!("{}.{name}", place.field), "add it".to_owned())
            }
            (Some(name), _) => (name.to_owned(), "add it".to_owned()),
            (None, Some(place)) => {
                let remedy = if message.starts_with("unknown field") {
                    with_nearest("correct or remove it", &message)
                } else if message.starts_with("unknown variant") {
                    with_nearest("correct its value", &message)
                } else {
                    "correct its value".to_owned()
                };
                (place.field.clone(), remedy)
            }
            (None, None) => (String::new(), "correct it".to_owned()),
        };
        Self { file: path.to_owned(), line: place.map(|place| place.line), field, problem: message, remedy }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}; {}", self.problem, self.remedy)
    }
}

impl std::error::Error for FileError {}

/// The message names what was found and then what is allowed, each in backquotes.
fn with_nearest(remedy: &str, message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let found = names.next().unwrap_or_default();
    nearest(found, names).map_or_else(|| remedy.to_owned(), |name| format!("{remedy}: perhaps `{name}`"))
}

/// The name that may have been meant by another one.
pub fn nearest<'n>(found: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let rated = names.into_iter().map(|name| (strsim::normalized_damerau_levenshtein(found, name), name));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(likeness, _)| *likeness >= NEAR).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Example {
        count: u16,
        colour: Colour,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        Red,
        Green,
    }

    fn wrong(text: &str) -> String {
        parse::<Example>(Path::new("x.toml"), text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion_and_another_one_does_not() {
        let said = wrong("cuont = 1\ncolour = \"red\"");
        assert!(said.starts_with("x.toml:1: cuont: unknown field `cuont`"), "{said}");
        assert!(said.ends_with("; correct or remove it: perhaps `count`"), "{said}");
        assert!(wrong("weight = 1").ends_with("; correct or remove it"));
        let said = wrong("count = 1\ncolour = \"gren\"");
        assert!(said.starts_with("x.toml:2: colour: unknown variant `gren`"), "{said}");
        assert!(said.ends_with("perhaps `green`"), "{said}");
    }
}

/// The snippets of the package's front page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
