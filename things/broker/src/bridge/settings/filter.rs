//! Which messages of MQTT are imported, and to which topics.

use motemix_coap::format;
use serde::Deserialize;

use crate::policy::Pattern;

/// Messages that are imported.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Import {
    /// A filter of MQTT: `+` is any level, `#` at the end all that follow.
    pub from: String,
    /// The name of the topic here: levels as they are, `{1}` what the first `+` stood for, `{#}` at
    /// the end what `#` stood for.
    pub to: String,
    /// What the payload is.
    #[serde(default)]
    pub format: ImportFormat,
    /// The most bytes of a payload.
    pub payload: Option<u32>,
    /// Whether a topic that does not exist is created.
    #[serde(default = "yes")]
    pub create: bool,
}

const fn yes() -> bool {
    true
}

/// What a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportFormat {
    /// Text.
    #[default]
    Text,
    /// JSON.
    Json,
    /// SenML in JSON.
    SenmlJson,
    /// SenML in CBOR.
    SenmlCbor,
    /// Any bytes.
    Octets,
}

impl ImportFormat {
    /// CoAP's number of it.
    pub const fn content_format(self) -> u16 {
        match self {
            Self::Text => format::TEXT,
            Self::Json => format::JSON,
            Self::SenmlJson => format::SENML_JSON,
            Self::SenmlCbor => format::SENML_CBOR,
            Self::Octets => format::OCTETS,
        }
    }

    /// For people.
    pub(in crate::bridge) const fn name(self) -> &'static str {
        match self {
            Self::Text => "text in UTF-8",
            Self::Json => "JSON",
            Self::SenmlJson => "SenML in JSON",
            Self::SenmlCbor => "SenML in CBOR",
            Self::Octets => "message",
        }
    }

    /// Whether a payload is of the format.
    pub fn is_form_of(self, payload: &[u8]) -> bool {
        use motemix_readings::senml::Pack;
        match self {
            Self::Text => std::str::from_utf8(payload).is_ok(),
            Self::Json => serde_json::from_slice::<serde::de::IgnoredAny>(payload).is_ok(),
            Self::SenmlJson => Pack::from_json(payload).is_ok(),
            Self::SenmlCbor => Pack::from_cbor(payload).is_ok(),
            Self::Octets => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Level {
    Literal(String),
    /// What this wildcard stood for.
    Captured(usize),
    /// What `#` stood for.
    Rest,
}

/// An import that was checked.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) import: Import,
    to: Vec<Level>,
    /// All names that it may make.
    makes: Pattern,
}

/// A field, what is wrong with it, and what to do.
type Wrong = (&'static str, String, &'static str);

impl Route {
    pub(super) fn new(import: &Import) -> Result<Self, Wrong> {
        let from = &import.from;
        let is_plain = from.parse::<Pattern>().is_ok() && from.len() <= 1024 && !from.starts_with('$');
        if !is_plain || from.chars().any(char::is_control) {
            let remedy = "write levels as zigbee/+/temperature or zigbee/#, without a $ at the beginning";
            return Err(("from", format!("{from:?} is no filter of MQTT"), remedy));
        }
        let captures = from.split('/').filter(|level| *level == "+").count();
        let has_rest = from.ends_with('#');
        let mut to = Vec::new();
        let mut makes = Vec::new();
        let levels: Vec<&str> = import.to.split('/').collect();
        for (position, level) in levels.iter().enumerate() {
            let is_last = position.saturating_add(1) == levels.len();
            let placeholder = level.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            match placeholder {
                Some("#") if has_rest && is_last => {
                    to.push(Level::Rest);
                    makes.push("#");
                }
                Some(number) => {
                    let capture = number.parse().ok().filter(|capture| (1..=captures).contains(capture));
                    let Some(capture) = capture else {
                        let remedy = "use {1} for the first + of from, and {#} for its #, at the end";
                        return Err(("to", format!("{level} stands for nothing in {from:?}"), remedy));
                    };
                    to.push(Level::Captured(capture));
                    makes.push("+");
                }
                None => {
                    if level.is_empty()
                        || level.contains(['+', '#', '{', '}'])
                        || level.contains(char::is_control)
                    {
                        let remedy = "write a name, such as zigbee/{1}/temperature";
                        return Err(("to", format!("{:?} is no name of a topic", import.to), remedy));
                    }
                    to.push(Level::Literal((*level).to_owned()));
                    makes.push(level);
                }
            }
        }
        let makes = makes.join("/").parse().map_err(|why| ("to", why, "write a name"))?;
        Ok(Self { import: import.clone(), to, makes })
    }

    /// The name of the topic for a message; none, if the message is none of these.
    pub(crate) fn name_for(&self, topic: &str) -> Option<String> {
        if !matches_filter(&self.import.from, topic) {
            return None;
        }
        let levels: Vec<&str> = topic.split('/').collect();
        let from: Vec<&str> = self.import.from.split('/').collect();
        let captured: Vec<&str> =
            from.iter().zip(&levels).filter(|(wanted, _)| **wanted == "+").map(|(_, found)| *found).collect();
        let rest = levels.get(from.len().saturating_sub(1)..).unwrap_or_default();
        let mut name = Vec::with_capacity(self.to.len());
        for level in &self.to {
            match level {
                Level::Literal(literal) => name.push(literal.as_str()),
                Level::Captured(number) => name.push(captured.get(number.checked_sub(1)?)?),
                Level::Rest => name.extend(rest),
            }
        }
        Some(name.join("/"))
    }

    /// Whether a topic of this name may come from MQTT.
    pub(crate) fn may_make(&self, name: &str) -> bool {
        self.makes.matches(name)
    }
}

/// Whether a topic of MQTT is one of a filter (MQTT 5, 4.7). Wildcards do not take topics that
/// begin with `$`.
pub(crate) fn matches_filter(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let (mut filter, mut topic) = (filter.split('/'), topic.split('/'));
    loop {
        match (filter.next(), topic.next()) {
            (Some("#"), _) | (None, None) => return true,
            (Some("+"), Some(_)) => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            _ => return false,
        }
    }
}

/// Whether some topic is one of both filters.
pub(crate) fn overlaps(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.split('/'), other.split('/'));
    loop {
        match (one.next(), other.next()) {
            (Some("#"), _) | (_, Some("#")) | (None, None) => return true,
            (Some("+"), Some(_)) | (Some(_), Some("+")) => {}
            (Some(level), Some(same)) if level == same => {}
            _ => return false,
        }
    }
}
