//! Links as devices write them: what is not in link format, and can be understood, is understood;
//! what cannot is left out, and the links around it are read.

use std::sync::Arc;

use super::parse::{Fault, MAX_ATTRIBUTES, ONCE, Problem, Reader, is_of_target};
use super::{Attribute, Link, is_name};

/// What was read of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading<'t> {
    /// The links that can be understood.
    pub links: Vec<Link>,
    /// What cannot.
    pub left_out: Vec<LeftOut<'t>>,
}

/// A part of a text that is no link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut<'t> {
    /// The text, from where the link begins to the next one.
    pub text: &'t str,
    /// What is wrong with it.
    pub fault: Fault,
}

/// The links of a text, at most so many, those that are left out among them.
///
/// Blanks between parts, values without quotes, line breaks in values, and commas and semicolons
/// with nothing behind them are read over.
///
/// # Errors
/// It has too many links.
pub fn parse_lenient(text: &str, most: usize) -> Result<Reading<'_>, Fault> {
    let mut reading = Reading::default();
    let mut reader = Reader { text, at: 0 };
    loop {
        reader.take_while(|character| is_blank(character) || character == ',');
        if reader.is_at_end() {
            return Ok(reading);
        }
        if reading.links.len() + reading.left_out.len() == most {
            return Err(reader.fault(Problem::Links(most)));
        }
        let begin = reader.at;
        match link(&mut reader) {
            Ok(link) => reading.links.push(link),
            Err(fault) => {
                // A target has commas; what is between quotes was read up to the fault.
                let is_targets = matches!(fault.problem, Problem::Target | Problem::OpenTarget);
                reader.at = next_link(text, if is_targets { begin + 1 } else { fault.at.max(begin + 1) });
                let text = text.get(begin..reader.at).unwrap_or_default();
                reading.left_out.push(LeftOut { text, fault });
            }
        }
    }
}

/// Where the next link begins: at the comma in front of it, or at the end.
fn next_link(text: &str, from: usize) -> usize {
    let commas = text.bytes().enumerate().skip(from).filter(|(_, byte)| *byte == b',');
    let mut ends = commas.map(|(at, _)| at);
    let begins = |at: &usize| {
        let behind = text.get(at + 1..).unwrap_or_default();
        behind.trim_start_matches(is_blank).starts_with('<')
    };
    ends.find(begins).unwrap_or(text.len())
}

/// Devices end texts with a zero, too.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\0'
}

fn link(reader: &mut Reader<'_>) -> Result<Link, Fault> {
    let begin = reader.fault(Problem::OpenTarget);
    if !reader.skip('<') {
        return Err(reader.fault(Problem::NoTarget));
    }
    let target = reader.take_while(is_of_target);
    if reader.is_at_end() {
        return Err(begin);
    }
    if !reader.skip('>') {
        return Err(reader.fault(Problem::Target));
    }
    let mut link = Link::new(target);
    let mut count = 0;
    loop {
        reader.take_while(is_blank);
        if reader.is_at_end() || reader.rest().starts_with(',') {
            return Ok(link);
        }
        if !reader.skip(';') {
            return Err(reader.fault(Problem::Separator));
        }
        reader.take_while(is_blank);
        if reader.is_at_end() || reader.rest().starts_with([';', ',']) {
            continue;
        }
        if count == MAX_ATTRIBUTES {
            return Err(reader.fault(Problem::Attributes));
        }
        count += 1;
        let (name, value) = attribute(reader)?;
        // `title*` and the like name an encoding, which a flag has not.
        let is_nothing = value.is_none() && name.ends_with('*');
        let is_ignored = ONCE.contains(&&*name) && link.has(&name);
        if !is_nothing && !is_ignored {
            link.attributes.push((name, value));
        }
    }
}

fn attribute(reader: &mut Reader<'_>) -> Result<Attribute, Fault> {
    let begin = reader.fault(Problem::Name);
    let name = reader.take_while(|character| !matches!(character, '=' | ';' | ',' | '"'));
    let name = name.trim_end_matches(is_blank);
    if !is_name(name) {
        return Err(begin);
    }
    if !reader.skip('=') {
        return Ok((Arc::from(name), None));
    }
    reader.take_while(is_blank);
    let value = if reader.rest().starts_with('"') {
        quoted(reader)?
    } else {
        reader.take_while(|character| !matches!(character, ';' | ',')).trim_end_matches(is_blank).to_owned()
    };
    // Line breaks and the like are blanks, as they are when the link is written.
    let value = value.replace(char::is_control, " ");
    Ok((Arc::from(name), Some(Arc::from(value))))
}

fn quoted(reader: &mut Reader<'_>) -> Result<String, Fault> {
    let open = reader.fault(Problem::OpenQuote);
    reader.skip('"');
    let mut value = String::new();
    loop {
        let mut next = || {
            let character = reader.rest().chars().next().ok_or(open)?;
            reader.at += character.len_utf8();
            Ok(character)
        };
        match next()? {
            '"' => return Ok(value),
            '\\' => value.push(next()?),
            character => value.push(character),
        }
    }
}
