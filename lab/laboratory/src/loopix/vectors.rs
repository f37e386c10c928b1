//! Known answers of sphinxmix and of the Python nodes of Loopix, and whether this implementation
//! gives them.
//!
//! The file is JSON; its form is in `docs/spec/loopix.md`. [`check`] compares every value of it
//! with what is computed here and names each value that differs: `packets[3].hops[1].gamma:
//! expected …, found …`. Packets are made anew from what the reference drew, and then followed from
//! hop to hop. Values that no check knows are listed, never passed over in silence.

mod creation;
mod curve;
mod entry;
mod format;
mod journey;
mod loopix;
mod negative;
mod pack;
mod packets;
mod primitives;
mod refusals;
mod report;
mod script;
mod surbs;
mod text_types;
mod tree;
mod ultrix;

use serde_json::Value;

use entry::{Entry, Ledger};
pub use refusals::{REFUSALS, Refusal};
pub use report::{Failure, Report, Section};

/// The form of the file that is known here.
const FORMAT: &str = "loopix-wire-vectors/1";
/// Members of the file with words for people, and the one that was checked first.
const WORDS: [&str; 3] = ["doc", "environments", "format"];

/// Why bytes are no file of known answers.
#[derive(Debug, thiserror::Error)]
pub enum NotVectors {
    /// They are not JSON.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// They are of another form.
    #[error("`format` has to be \"{FORMAT}\"; it is {0}")]
    OtherFormat(String),
}

// Not `#[from]`: the text has the cause, and who prints causes as well would say it twice.
impl From<serde_json::Error> for NotVectors {
    fn from(error: serde_json::Error) -> Self {
        Self::NotJson(error)
    }
}

/// Checks one member of the file.
type Checks = fn(&Entry<'_>);

/// The members of the file, each a section of the report.
const SECTIONS: [(&str, Checks); 8] = [
    ("primitives", |file| file.section("primitives", primitives::check)),
    ("petlib_pack", |file| file.part("petlib_pack", pack::check)),
    ("packets", |file| file.each("packets", packets::packet)),
    ("surbs", |file| file.each("surbs", surbs::surb)),
    ("errors", |file| file.part("errors", creation::check)),
    ("negative", |file| file.each("negative", negative::packet)),
    ("ultrix", |file| file.section("ultrix", ultrix::check)),
    ("loopix", |file| file.part("loopix", |loopix| loopix.each_member(loopix::variant))),
];

/// Checks a file.
///
/// # Errors
/// It is not a file of known answers, so that there is nothing to check.
pub fn check(file: &[u8]) -> Result<Report, NotVectors> {
    let file: Value = serde_json::from_slice(file)?;
    match &file["format"] {
        Value::String(format) if format == FORMAT => {}
        Value::Null => return Err(NotVectors::OtherFormat("missing".to_owned())),
        other => return Err(NotVectors::OtherFormat(entry::excerpt(&other.to_string(), 0))),
    }
    let mut sections: Vec<_> = SECTIONS.iter().map(|(name, checks)| section(&file, name, *checks)).collect();
    let members = file.as_object().into_iter().flat_map(serde_json::Map::keys);
    let is_known = |name: &str| WORDS.contains(&name) || SECTIONS.iter().any(|(known, _)| *known == name);
    sections.extend(members.filter(|name| !is_known(name)).map(|name| Section::unknown(name)));
    Ok(Report { sections })
}

fn section(file: &Value, name: &str, checks: Checks) -> Section {
    let ledger = Ledger::new(name);
    checks(&Entry::root(file, &ledger));
    ledger.close(&file[name])
}
