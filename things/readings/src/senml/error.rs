//! What is wrong with a pack, and where.

use std::fmt;

use super::label::Label;
use super::number::BadNumber;
use super::{MAX_NAME_LEN, MAX_PACK_LEN, MAX_RECORDS, MAX_UNIT_LEN, UNDERSTOOD_VERSION};

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Wrong {
    /// The bytes are not of this form; in the reader's words.
    Syntax(String),
    /// It does not begin as JSON with an array does.
    NoArray,
    /// `NaN` or an infinity, which JSON has not.
    NoNumber,
    /// It is text in UTF-16.
    Utf16,
    /// The pack is longer than [`MAX_PACK_LEN`], or has more than [`MAX_RECORDS`] records.
    TooLong,
    /// There is no record.
    Empty,
    /// Bytes follow the pack.
    Trailing,
    /// A label stands in one record twice.
    Twice,
    /// A value is not of the type that its label has.
    Type(&'static str),
    /// A number that SenML cannot have.
    Number(BadNumber),
    /// A data value is not in the URL-safe alphabet of base64, without padding.
    Base64,
    /// A record has two values.
    TwoValues,
    /// A label that must be understood (RFC 8428, 4.4), and is not.
    MustUnderstand,
    /// A name or a unit is too long.
    LongText,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(why) => f.write_str(why),
            Self::NoArray => f.write_str("not an array of records, which begins with `[`"),
            Self::NoNumber => {
                f.write_str("NaN or an infinity, which JSON has not; leave out what was not measured")
            }
            Self::Utf16 => f.write_str("in UTF-16; SenML is in UTF-8"),
            Self::TooLong => write!(f, "more than {MAX_PACK_LEN} bytes or {MAX_RECORDS} records"),
            Self::Empty => f.write_str("an array without a record"),
            Self::Trailing => f.write_str("bytes after the pack"),
            Self::Twice => f.write_str("twice in one record"),
            Self::Type(wanted) => write!(f, "not {wanted}"),
            Self::Number(why) => why.fmt(f),
            Self::Base64 => f.write_str("not base64 in the URL-safe alphabet without padding"),
            Self::TwoValues => f.write_str("a second value in one record"),
            Self::MustUnderstand => f.write_str("has to be understood, and is not"),
            Self::LongText => {
                write!(f, "too long; a name has at most {MAX_NAME_LEN} bytes, a unit at most {MAX_UNIT_LEN}")
            }
        }
    }
}

/// Why bytes are no SenML pack, and where: one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    form: Form,
    record: Option<usize>,
    label: Option<String>,
    byte: Option<usize>,
    wrong: Wrong,
}

/// A representation of SenML.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Json,
    Cbor,
}

impl DecodeError {
    pub(super) const fn new(form: Form, wrong: Wrong) -> Self {
        Self { form, record: None, label: None, byte: None, wrong }
    }

    /// In which record, counted from one.
    pub(super) fn in_record(mut self, position: usize) -> Self {
        self.record = Some(position.saturating_add(1));
        self
    }

    pub(super) fn at_label(mut self, label: Label) -> Self {
        self.label = Some(label.name().to_owned());
        self
    }

    pub(super) fn at_unknown_label(mut self, label: &str) -> Self {
        self.label = Some(label.chars().take(32).collect());
        self
    }

    pub(super) const fn at_byte(mut self, byte: usize) -> Self {
        self.byte = Some(byte);
        self
    }

    /// What is wrong.
    pub const fn wrong(&self) -> &Wrong {
        &self.wrong
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.form {
            Form::Json => "not SenML in JSON: ",
            Form::Cbor => "not SenML in CBOR: ",
        })?;
        if let Some(record) = self.record {
            write!(f, "record {record}: ")?;
        }
        if let Some(label) = &self.label {
            write!(f, "label {label:?}: ")?;
        }
        self.wrong.fmt(f)?;
        self.byte.map_or(Ok(()), |byte| write!(f, ", at byte {byte}"))
    }
}

impl std::error::Error for DecodeError {}

/// Why bytes are no SenML that means something.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidSenml {
    /// They are no pack.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The pack breaks a rule of RFC 8428.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
}

/// Why records cannot be resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unresolvable {
    /// The name of a record is empty, too long, or has a character outside the alphabet (RFC 8428,
    /// 4.5.1).
    Name(String),
    /// A record has neither a value nor a sum (RFC 8428, 4.2), or no record measures anything.
    NoValue,
    /// A version that is not understood (RFC 8428, 4.4).
    Version(u64),
    /// Not all records have one version.
    MixedVersions,
    /// A sum with a base value is beyond the range of numbers.
    Range,
}

/// Why a pack cannot be resolved, and the record, counted from one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolveError {
    /// Which record.
    pub record: usize,
    /// What is wrong with it.
    pub why: Unresolvable,
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not valid SenML: record {}: ", self.record)?;
        match &self.why {
            Unresolvable::Name(name) => {
                let start: String = name.chars().take(64).collect();
                write!(
                    f,
                    "{start:?} is no name; a name begins with a letter or digit, has letters, digits and \
                     -:./_ alone, and at most {MAX_NAME_LEN} of them"
                )
            }
            Unresolvable::NoValue => f.write_str("neither a value nor a sum"),
            Unresolvable::Version(version) => {
                write!(f, "version {version}; versions up to {UNDERSTOOD_VERSION} are understood")
            }
            Unresolvable::MixedVersions => f.write_str("another version than the records before"),
            Unresolvable::Range => f.write_str("a number beyond the range of binary64"),
        }
    }
}

impl std::error::Error for ResolveError {}
