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

/// Keys may have dots of their own, as in `"limits.queue" = 1`. An element of an array is
/// `access[2]`, counted from 0.
fn find(table: &DeTable<'_>, field: &str) -> Option<usize> {
    table.iter().find_map(|(key, value)| {
        let rest = field.strip_prefix(key.get_ref().as_ref())?;
        let here = Some(key.span().start);
        if rest.is_empty() {
            return here;
        }
        if let Some(rest) = rest.strip_prefix('[') {
            return find_in_array(value, rest).or(here);
        }
        let rest = rest.strip_prefix('.')?;
        value.get_ref().as_table().and_then(|inner| find(inner, rest)).or(here)
    })
}

/// `2].read`, of the array before it.
fn find_in_array(array: &Spanned<DeValue<'_>>, field: &str) -> Option<usize> {
    let (index, rest) = field.split_once(']')?;
    let element = array.get_ref().as_array()?.get(index.parse::<usize>().ok()?)?;
    let here = Some(element.span().start);
    match (rest.strip_prefix('.'), rest.strip_prefix('['), element.get_ref().as_table()) {
        (Some(rest), _, Some(table)) => find(table, rest).or(here),
        (_, Some(rest), _) => find_in_array(element, rest).or(here),
        _ => here,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_an_element_has_its_line() {
        let text = "name = 1\n\n[[access]]\ntopics = \"a\"\n\n[[access]]\ntopics = \"b\"\nread = [\"x\"]\n";
        assert_eq!(line_of_field(text, "access[0].topics"), 4);
        assert_eq!(line_of_field(text, "access[1].topics"), 7);
        assert_eq!(line_of_field(text, "access[1].read"), 8);
        assert_eq!(line_of_field(text, "access[1].read[0]"), 8);
        // What is not there: the line of the part that is.
        assert_eq!(line_of_field(text, "access[1].write"), 6);
        assert_eq!(line_of_field(text, "access[7].topics"), 3);
    }
}
