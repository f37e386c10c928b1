//! Finds the line and the dotted name of a field in a TOML text.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where in a file something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Line, counted from 1.
    pub line: usize,
    /// Dotted name, `limits.queue`; empty where no field is meant.
    pub field: String,
}

/// The innermost field whose key or value covers the byte range.
pub(crate) fn of_field(text: &str, span: Range<usize>) -> Place {
    place(text, span, |_| true)
}

/// The innermost section that covers the byte range; no field if that is the file itself.
pub(crate) fn of_section(text: &str, span: Range<usize>) -> Place {
    place(text, span, |value| matches!(value, DeValue::Table(_)))
}

fn place(text: &str, span: Range<usize>, wanted: fn(&DeValue<'_>) -> bool) -> Place {
    let mut field = String::new();
    if let Ok(root) = DeTable::parse(text) {
        descend(root.get_ref(), &span, wanted, &mut field);
    }
    Place { line: line_of(text, span.start), field }
}

/// The line of a field given by its dotted name, counted from 1; the first line if it is not there.
/// Of a name that is there in part, the line of that part.
pub fn line_of_field(text: &str, field: &str) -> usize {
    let root = DeTable::parse(text).ok();
    root.and_then(|root| find(root.get_ref(), field)).map_or(1, |offset| line_of(text, offset))
}

/// Keys may have dots of their own, as in `"limits.queue" = 1`.
fn find(table: &DeTable<'_>, field: &str) -> Option<usize> {
    table.iter().find_map(|(key, value)| {
        let rest = field.strip_prefix(key.get_ref().as_ref())?;
        let here = Some(key.span().start);
        if rest.is_empty() {
            return here;
        }
        let rest = rest.strip_prefix('.')?;
        value.get_ref().as_table().and_then(|inner| find(inner, rest)).or(here)
    })
}

fn descend(table: &DeTable<'_>, span: &Range<usize>, wanted: fn(&DeValue<'_>) -> bool, field: &mut String) {
    for (key, value) in table {
        let covered = covers(&key.span(), span) || covers(&value.span(), span) || encloses(value, span);
        if !covered || !wanted(value.get_ref()) {
            continue;
        }
        if !field.is_empty() {
            field.push('.');
        }
        field.push_str(key.get_ref());
        if let DeValue::Table(inner) = value.get_ref() {
            descend(inner, span, wanted, field);
        }
        return;
    }
}

fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The span of a `[section]` is its heading; its fields lie outside of it.
fn encloses(value: &Spanned<DeValue<'_>>, span: &Range<usize>) -> bool {
    value.get_ref().as_table().is_some_and(|table| {
        table.iter().any(|(key, value)| {
            covers(&key.span(), span) || covers(&value.span(), span) || encloses(value, span)
        })
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}
