//! Which links a query asks for (RFC 6690 §4.1).

use super::{Attribute, Link, normalise};

/// Attributes whose values are several, with blanks between them: relation types, and the content
/// formats of RFC 7252 §7.2.1.
const LISTS: [&str; 5] = ["rt", "if", "rel", "rev", "ct"];

/// One criterion: `rt=temperature`, `href=/sensors/*`, or `obs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter<'q> {
    /// The attribute that is asked for; `href` is the target.
    pub name: &'q str,
    pattern: Pattern<'q>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern<'q> {
    /// There is such an attribute.
    Any,
    /// It has this value.
    Value(&'q str),
    /// Its value begins like this.
    Prefix(&'q str),
}

impl<'q> Filter<'q> {
    /// A parameter of a query, as it comes out of a Uri-Query option: percent-decoded.
    pub fn of_parameter(parameter: &'q str) -> Self {
        let Some((name, value)) = parameter.split_once('=') else {
            return Self { name: parameter, pattern: Pattern::Any };
        };
        let pattern = value.strip_suffix('*').map_or(Pattern::Value(value), Pattern::Prefix);
        Self { name, pattern }
    }

    /// The one value that is asked for, if it is one.
    pub const fn value(&self) -> Option<&'q str> {
        match self.pattern {
            Pattern::Value(value) => Some(value),
            Pattern::Any | Pattern::Prefix(_) => None,
        }
    }

    /// Whether the attribute of that name has a value that is asked for.
    pub fn matches_value(&self, value: &str) -> bool {
        match self.pattern {
            Pattern::Any => true,
            _ if LISTS.contains(&self.name) => {
                self.matches_whole(value) || value.split(' ').any(|one| self.matches_whole(one))
            }
            _ if matches!(self.name, "href" | "anchor" | "base") => self.matches_uri(value),
            _ => self.matches_whole(value),
        }
    }

    fn matches_whole(&self, value: &str) -> bool {
        match self.pattern {
            Pattern::Any => true,
            Pattern::Value(asked) => value == asked,
            Pattern::Prefix(asked) => value.starts_with(asked),
        }
    }

    /// URIs are equal whether or not what needs no percent-encoding has it.
    fn matches_uri(&self, value: &str) -> bool {
        let value = normalise(value);
        match self.pattern {
            Pattern::Any => true,
            Pattern::Value(asked) => value == normalise(asked),
            Pattern::Prefix(asked) => value.starts_with(&*normalise(asked)),
        }
    }

    /// Whether a link is asked for.
    pub fn matches(&self, link: &Link) -> bool {
        if self.name == "href" {
            return self.matches_value(&link.target);
        }
        self.matches_attributes(&link.attributes)
    }

    /// Whether one of these is asked for.
    pub fn matches_attributes(&self, attributes: &[Attribute]) -> bool {
        let mut of_name = attributes.iter().filter(|(name, _)| &**name == self.name);
        of_name.any(|(_, value)| match (self.pattern, value) {
            (Pattern::Any, _) => true,
            (_, Some(value)) => self.matches_value(value),
            (_, None) => false,
        })
    }
}
