//! CoRE Link Format (RFC 6690): what resources there are, as text.
//!
//! ```text
//! </sensors/temp>;rt="temperature-c indoor";if=sensor;obs,<http://a.example/>;rel=describedby
//! ```
//!
//! No blanks stand between its parts. Text is Unicode, and nothing in it is percent-decoded: `%41`
//! in a target is three characters (RFC 9176, C.4).

mod filter;
mod lenient;
mod parse;
#[cfg(test)]
mod tests;
mod uri;

use std::fmt::{self, Write as _};
use std::sync::Arc;

pub use filter::Filter;
pub use lenient::{LeftOut, Reading, parse_lenient};
pub use parse::{Fault, MAX_ATTRIBUTES, Problem, parse};
pub use uri::{Origin, normalise};

/// A name and perhaps a value.
pub type Attribute = (Arc<str>, Option<Arc<str>>);

/// A link as it was written (RFC 6690 §2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The target, as it stood there.
    pub target: Arc<str>,
    /// Its attributes, in order; those without a value are flags, such as `obs`.
    pub attributes: Vec<Attribute>,
}

impl Link {
    /// A link without attributes.
    pub fn new(target: &str) -> Self {
        Self { target: Arc::from(target), attributes: Vec::new() }
    }

    /// With another attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.attributes.push((Arc::from(name), Some(Arc::from(value))));
        self
    }

    /// With another attribute that has no value.
    #[must_use]
    pub fn with_flag(mut self, name: &str) -> Self {
        self.attributes.push((Arc::from(name), None));
        self
    }

    /// The value of the first attribute with this name; none also for a flag.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| &**known == name)?.1.as_deref()
    }

    /// The values of all attributes with this name; a flag has none.
    pub fn values<'l>(&'l self, name: &'l str) -> impl Iterator<Item = &'l str> {
        self.attributes
            .iter()
            .filter(move |(known, _)| &**known == name)
            .filter_map(|(_, value)| value.as_deref())
    }

    /// Whether there is an attribute with this name.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(known, _)| &**known == name)
    }
}

impl fmt::Display for Link {
    /// The link in link format, which [`parse`] reads, whatever the link is made of: a character of
    /// the target that cannot stand there is percent-encoded, a control character in a value is a
    /// blank, and an attribute whose name is none is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('<')?;
        for character in self.target.chars() {
            if parse::is_of_target(character) {
                f.write_char(character)?;
            } else {
                let mut bytes = [0; 4];
                character.encode_utf8(&mut bytes).bytes().try_for_each(|byte| write!(f, "%{byte:02X}"))?;
            }
        }
        f.write_char('>')?;
        for (name, value) in &self.attributes {
            if !is_name(name) {
                continue;
            }
            write!(f, ";{name}")?;
            match value.as_deref() {
                None => {}
                // These two always have quotes (RFC 6690 §2); others as short as they can be.
                Some(value) if is_token(value) && !matches!(&**name, "anchor" | "title") => {
                    write!(f, "={value}")?;
                }
                Some(value) => quote(f, value)?,
            }
        }
        Ok(())
    }
}

fn quote(f: &mut fmt::Formatter<'_>, value: &str) -> fmt::Result {
    f.write_str("=\"")?;
    for character in value.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            _ if character.is_control() => f.write_char(' ')?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}

/// Links as one text.
pub fn emit<'l>(links: impl IntoIterator<Item = &'l Link>) -> String {
    let mut text = String::new();
    for link in links {
        push(&mut text, link);
    }
    text
}

/// Appends a link to a text.
pub fn push(text: &mut String, link: &Link) {
    if !text.is_empty() {
        text.push(',');
    }
    let Ok(()) = write!(text, "{link}") else { unreachable!("memory takes everything") };
}

/// Whether this names an attribute: `parmname` of RFC 5987, perhaps with a star.
pub fn is_name(name: &str) -> bool {
    let stem = name.strip_suffix('*').unwrap_or(name);
    !stem.is_empty()
        && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte))
}

/// Whether a value stands without quotes: `ptoken` of RFC 6690 §2.
fn is_token(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(is_of_token)
}

const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}
