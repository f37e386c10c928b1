//! Text to links.

use std::fmt;
use std::sync::Arc;

use super::{Attribute, Link, is_name, is_of_token};

/// The most attributes of a link.
pub const MAX_ATTRIBUTES: usize = 32;

/// Attributes of which the first counts, and those after it do not (RFC 6690 §3, RFC 5988 §5).
pub(super) const ONCE: [&str; 9] = ["rel", "anchor", "media", "title", "title*", "type", "rt", "if", "sz"];

/// Why a text is not in link format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The byte at which it is wrong.
    pub at: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// No `<` where a link begins.
    NoTarget,
    /// A character that no URI has.
    Target,
    /// A `<` without its `>`.
    OpenTarget,
    /// No name of an attribute behind `;`.
    Name,
    /// No value behind `=`.
    Value,
    /// A control character between quotes.
    Control,
    /// A quote that is never closed.
    OpenQuote,
    /// Neither `,` nor `;` nor the end.
    Separator,
    /// More links than the reader takes.
    Links(usize),
    /// More attributes than [`MAX_ATTRIBUTES`].
    Attributes,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link format, byte {}: ", self.at)?;
        match self.problem {
            Problem::NoTarget => f.write_str("a link begins with <"),
            Problem::Target => f.write_str("no URI has this character; percent-encode it"),
            Problem::OpenTarget => f.write_str("this < has no >"),
            Problem::Name => f.write_str("a name of an attribute has to stand here"),
            Problem::Value => f.write_str("a value has to stand here; put it into quotes"),
            Problem::Control => f.write_str("a control character; leave it out"),
            Problem::OpenQuote => f.write_str("this quote is not closed"),
            Problem::Separator => f.write_str("only , or ; may stand here, and no blanks"),
            Problem::Links(most) => write!(f, "more than {most} links; send fewer"),
            Problem::Attributes => write!(f, "a link has at most {MAX_ATTRIBUTES} attributes"),
        }
    }
}

impl std::error::Error for Fault {}

/// The links of a text, at most so many.
///
/// # Errors
/// It is not in link format, or has too many links.
pub fn parse(text: &str, most: usize) -> Result<Vec<Link>, Fault> {
    let mut links = Vec::new();
    let mut reader = Reader { text, at: 0 };
    if text.is_empty() {
        return Ok(links);
    }
    loop {
        if links.len() == most {
            return Err(reader.fault(Problem::Links(most)));
        }
        links.push(reader.link()?);
        if reader.is_at_end() {
            return Ok(links);
        }
        if !reader.skip(',') {
            return Err(reader.fault(Problem::Separator));
        }
    }
}

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    pub(super) const fn fault(&self, problem: Problem) -> Fault {
        Fault { at: self.at, problem }
    }

    pub(super) fn skip(&mut self, expected: char) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    pub(super) fn take_while(&mut self, is_of_it: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|character| !is_of_it(character)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    fn link(&mut self) -> Result<Link, Fault> {
        let begin = self.fault(Problem::OpenTarget);
        if !self.skip('<') {
            return Err(self.fault(Problem::NoTarget));
        }
        let target = self.take_while(is_of_target);
        if self.is_at_end() {
            return Err(begin);
        }
        if !self.skip('>') {
            return Err(self.fault(Problem::Target));
        }
        let mut link = Link::new(target);
        let mut count = 0;
        while self.skip(';') {
            if count == MAX_ATTRIBUTES {
                return Err(self.fault(Problem::Attributes));
            }
            count += 1;
            let attribute = self.attribute()?;
            if !(ONCE.contains(&&*attribute.0) && link.has(&attribute.0)) {
                link.attributes.push(attribute);
            }
        }
        Ok(link)
    }

    fn attribute(&mut self) -> Result<Attribute, Fault> {
        let begin = self.fault(Problem::Name);
        let name = self.take_while(|character| !matches!(character, '=' | ';' | ',' | '"'));
        if !is_name(name) {
            return Err(begin);
        }
        let value = if self.skip('=') { Some(self.value()?) } else { None };
        // `title*` and the like name an encoding, which a flag has not.
        if value.is_none() && name.ends_with('*') {
            return Err(self.fault(Problem::Value));
        }
        Ok((Arc::from(name), value))
    }

    fn value(&mut self) -> Result<Arc<str>, Fault> {
        let begin = self.fault(Problem::OpenQuote);
        if !self.skip('"') {
            let token = self.take_while(|character| u8::try_from(character).is_ok_and(is_of_token));
            return if token.is_empty() { Err(self.fault(Problem::Value)) } else { Ok(Arc::from(token)) };
        }
        let plain = self.take_while(is_plain);
        if self.skip('"') {
            return Ok(Arc::from(plain));
        }
        let mut value = String::from(plain);
        loop {
            let Some(character) = self.rest().chars().next() else { return Err(begin) };
            if character.is_control() {
                return Err(self.fault(Problem::Control));
            }
            self.at += character.len_utf8();
            match character {
                '"' => return Ok(Arc::from(value)),
                '\\' => {
                    let Some(escaped) = self.rest().chars().next() else { return Err(begin) };
                    if escaped.is_control() {
                        return Err(self.fault(Problem::Control));
                    }
                    self.at += escaped.len_utf8();
                    value.push(escaped);
                }
                _ => value.push(character),
            }
        }
    }
}

const fn is_plain(character: char) -> bool {
    !matches!(character, '"' | '\\' | '\0'..='\x1f' | '\x7f'..='\u{9f}')
}

/// What URIs, and their Unicode form, consist of (RFC 3986, RFC 3987).
pub(super) fn is_of_target(character: char) -> bool {
    if character.is_ascii() {
        character.is_ascii_graphic()
            && !matches!(character, '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')
    } else {
        !character.is_control() && !character.is_whitespace()
    }
}
