//! Who may do what with which topics.

use std::fmt;
use std::str::FromStr;

use crate::Caller;

/// What somebody does with a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reads its configuration and its value, or observes it.
    Read,
    /// Publishes to it, or deletes what was published.
    Publish,
    /// Creates it.
    Create,
    /// Changes its configuration, or deletes it.
    Configure,
}

/// Who somebody is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Whoever asks.
    Anyone,
    /// A device that proved who it is (OSCORE with EDHOC), whose identity begins with these digits;
    /// none are every such device.
    Device(String),
    /// The device that created the topic.
    Owner,
    /// A receiver of the network, or a bridge: it may do everything in any case.
    Local,
}

impl Who {
    pub(super) fn is(&self, caller: &Caller, is_owner: bool) -> bool {
        match self {
            Self::Anyone => true,
            Self::Device(start) => {
                caller.device.is_some_and(|device| device.to_string().starts_with(start.as_str()))
            }
            Self::Owner => is_owner,
            Self::Local => caller.local,
        }
    }

    /// Whether it is one device, and not whoever proves to be one.
    pub(super) fn is_named(&self) -> bool {
        matches!(self, Self::Device(start) if !start.is_empty())
    }
}

/// The fewest digits of an identity: somebody else would make one that begins as few do.
const MIN_DIGITS: usize = 16;

impl FromStr for Who {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "anyone" => Ok(Self::Anyone),
            "owner" => Ok(Self::Owner),
            "local" => Ok(Self::Local),
            "device" => Ok(Self::Device(String::new())),
            _ => {
                let digits = text.strip_prefix("device ").ok_or("none of anyone, device, owner and local")?;
                let is_hex = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
                if !is_hex || !(MIN_DIGITS..=64).contains(&digits.len()) {
                    return Err(format!(
                        "a device is {MIN_DIGITS} to 64 small hexadecimal digits of its identity"
                    ));
                }
                Ok(Self::Device(digits.to_owned()))
            }
        }
    }
}

/// Names of topics: segments between slashes, where `+` is any segment, and `#` at the end all that
/// may follow, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether a name is of the pattern.
    pub fn matches(&self, name: &str) -> bool {
        let (mut pattern, mut name) = (self.0.split('/'), name.split('/'));
        loop {
            match (pattern.next(), name.next()) {
                (Some("#"), _) | (None, None) => return true,
                (Some("+"), Some(_)) => {}
                (Some(wanted), Some(found)) if wanted == found => {}
                _ => return false,
            }
        }
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let segments: Vec<&str> = text.split('/').collect();
        let (_, before) = segments.split_last().unwrap_or((&"", &[]));
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        if before.contains(&"#") {
            return Err("`#` stands at the end only".to_owned());
        }
        if segments.iter().any(|segment| segment.len() > 1 && segment.contains(['+', '#'])) {
            return Err("`+` and `#` stand for whole segments".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// For each operation, who may; none leaves that to the rules after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// See [`Operation::Read`].
    pub read: Option<Vec<Who>>,
    /// See [`Operation::Publish`].
    pub publish: Option<Vec<Who>>,
    /// See [`Operation::Create`].
    pub create: Option<Vec<Who>>,
    /// See [`Operation::Configure`].
    pub configure: Option<Vec<Who>>,
}

/// Who may do what with the topics of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Which topics.
    pub topics: Pattern,
    /// Who may do what with them.
    pub access: Access,
}

impl Rule {
    /// Who may, if the rule is of this topic and says so.
    pub(super) fn decides(&self, operation: Operation, name: &str) -> Option<&[Who]> {
        let who = match operation {
            Operation::Read => &self.access.read,
            Operation::Publish => &self.access.publish,
            Operation::Create => &self.access.create,
            Operation::Configure => &self.access.configure,
        };
        who.as_deref().filter(|_| self.topics.matches(name))
    }
}
