//! What came of the checks.

use std::fmt;

/// A value that is not what it has to be, or that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Where the value is in the file.
    pub name: String,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

/// The checks of one part of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Where the part is in the file.
    pub name: String,
    /// How many values are as they have to be.
    pub passed: usize,
    /// The others.
    pub failures: Vec<Failure>,
    /// Values of the file that nothing here knows.
    pub skipped: Vec<String>,
}

impl Section {
    /// Nothing was checked yet.
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), passed: 0, failures: Vec::new(), skipped: Vec::new() }
    }

    /// No check knows this part.
    pub(super) fn unknown(name: &str) -> Self {
        Self { skipped: vec![name.to_owned()], ..Self::new(name) }
    }
}

/// All sections, in the order in which they were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// See [`Section`].
    pub sections: Vec<Section>,
}

impl Report {
    /// How many checks held.
    pub fn passed(&self) -> usize {
        self.sections.iter().map(|section| section.passed).sum()
    }

    /// The checks that did not hold.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.sections.iter().flat_map(|section| &section.failures)
    }

    /// Values that no check knows, by name.
    pub fn skipped(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().flat_map(|section| &section.skipped).map(String::as_str)
    }
}
