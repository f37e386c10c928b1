//! The section `[mqtt]` of a broker's configuration.

mod filter;
mod plan;

use std::collections::BTreeSet;
use std::path::PathBuf;

use motemix_toml::Fault;
use serde::Deserialize;

use super::names::level_of_topic;
use crate::policy::Pattern;

pub(super) use filter::Route;
use filter::overlaps;
pub use filter::{Import, ImportFormat};
pub(super) use plan::Export;
pub use plan::Plan;

/// What the section says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the MQTT broker is.
    #[serde(default = "localhost")]
    pub host: String,
    /// Its port.
    #[serde(default = "port")]
    pub port: u16,
    /// The bridge's name, which no other bridge of the MQTT broker has.
    #[serde(default = "motemix")]
    pub name: String,
    /// The first levels of all MQTT topics of the bridge.
    #[serde(default = "motemix")]
    pub prefix: String,
    /// The name to log in with.
    #[serde(default)]
    pub user: Option<String>,
    /// The file whose first line is the password.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
    /// Whether name, password and values may go unencrypted to another machine.
    #[serde(default)]
    pub unencrypted: bool,
    /// Seconds after which a silent connection is looked after.
    #[serde(default = "keep_alive")]
    pub keep_alive: u16,
    /// Patterns of names of topics whose values go to MQTT.
    #[serde(default = "everything")]
    pub export: Vec<String>,
    /// Whose topics go there.
    #[serde(default)]
    pub export_of: ExportOf,
    /// What goes to Home Assistant.
    #[serde(default)]
    pub home_assistant: HomeAssistant,
    /// What comes from MQTT.
    #[serde(default)]
    pub import: Vec<Import>,
    /// Which commands come from MQTT.
    #[serde(default)]
    pub commands: Commands,
    /// How much of all.
    #[serde(default)]
    pub limits: Limits,
}

/// Whose topics go to MQTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportOf {
    /// Topics that this machine made, as receivers do for the devices of their list, and those of
    /// devices that the policy lists.
    #[default]
    Listed,
    /// Also those of any device that proved a key, which everybody can make.
    Anyone,
}

/// What goes to Home Assistant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HomeAssistant {
    /// Whether it is told of sensors.
    pub discovery: bool,
    /// The first levels of its own topics.
    pub prefix: String,
    /// Seconds after which a value that did not come again is unknown; without it, twice what the
    /// readings themselves promise.
    pub expire_after: Option<u32>,
    /// Where people reach the broker's page; without it, where it listens.
    pub page: Option<String>,
}

impl Default for HomeAssistant {
    fn default() -> Self {
        Self { discovery: true, prefix: "homeassistant".to_owned(), expire_after: None, page: None }
    }
}

/// Which commands come from MQTT: `<prefix>/<name>/set` is published to the topic of this name and
/// the suffix.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Commands {
    /// Patterns of names of topics that may be commanded; none at first.
    pub topics: Vec<String>,
    /// What the name of the topic with commands has behind that of the topic.
    pub suffix: String,
    /// The content format of commands.
    pub format: ImportFormat,
}

impl Default for Commands {
    fn default() -> Self {
        Self { topics: Vec::new(), suffix: "/command".to_owned(), format: ImportFormat::Text }
    }
}

/// How much of all. Beyond it, things are counted and not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Topics that go to MQTT.
    pub topics: u32,
    /// Things that Home Assistant is told of.
    pub entities: u32,
    /// Bytes of a message to MQTT.
    pub payload_out: u32,
    /// Bytes of a message from MQTT.
    pub payload_in: u32,
    /// Messages that the MQTT broker has not acknowledged yet.
    pub in_flight: u16,
    /// Messages from MQTT that wait for the broker here.
    pub queue_in: u16,
    /// Messages a second from MQTT, on average.
    pub rate_in: u32,
    /// Seconds before the second attempt to connect; doubled for each further one.
    pub pause_least: u32,
    /// The most seconds between two attempts.
    pub pause_most: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            topics: 10_000,
            entities: 2_000,
            payload_out: 256 * 1024,
            payload_in: 16 * 1024,
            in_flight: 16,
            queue_in: 64,
            rate_in: 100,
            pause_least: 1,
            pause_most: 60,
        }
    }
}

fn localhost() -> String {
    "localhost".to_owned()
}

const fn port() -> u16 {
    1883
}

fn motemix() -> String {
    "motemix".to_owned()
}

const fn keep_alive() -> u16 {
    30
}

fn everything() -> Vec<String> {
    vec!["#".to_owned()]
}

/// MQTT topics of a bridge begin with at most so much.
const MAX_PREFIX: usize = 128;
/// The longest name of a bridge.
const MAX_ID: usize = 32;
/// The most rules of one kind.
const MAX_RULES: usize = 256;

impl Settings {
    /// Checks the settings; faults name fields below `section`, such as `mqtt`.
    ///
    /// # Errors
    /// The first fault.
    pub fn plan(self, section: &str) -> Result<Plan, Fault> {
        let field = |name: &str| format!("{section}.{name}");
        self.check_connection(&field)?;
        self.check_limits(&field)?;
        let topic_prefixes =
            [("prefix", &self.prefix), ("home_assistant.prefix", &self.home_assistant.prefix)];
        for (name, prefix) in topic_prefixes {
            check_prefix(prefix).map_err(|problem| {
                Fault::new(field(name), problem, "write levels between slashes, such as house/motemix")
            })?;
        }
        if overlaps(&format!("{}/#", self.prefix), &format!("{}/#", self.home_assistant.prefix)) {
            return Err(Fault::new(
                field("prefix"),
                "one prefix stands below the other",
                "use two prefixes of which neither begins with the other",
            ));
        }
        let export = patterns(&field("export"), &self.export)?;
        let commands = patterns(&field("commands.topics"), &self.commands.topics)?;
        let suffix = self.commands.suffix.strip_prefix('/').unwrap_or_default();
        let is_name = |level: &str| !level.is_empty() && !level.contains(['+', '#']);
        if !suffix.split('/').all(is_name) || suffix.chars().any(char::is_control) {
            return Err(Fault::new(
                field("commands.suffix"),
                format!("is {:?}", self.commands.suffix),
                "write a slash and a name, such as /command: commands have topics of their own",
            ));
        }
        if self.import.len() > MAX_RULES {
            let problem = format!("has {} rules", self.import.len());
            return Err(Fault::new(field("import"), problem, format!("use at most {MAX_RULES}")));
        }
        let mut routes = Vec::with_capacity(self.import.len());
        for (index, import) in self.import.iter().enumerate() {
            let at = |name: &str| field(&format!("import[{index}].{name}"));
            let route = Route::new(import).map_err(|fault| Fault::new(at(fault.0), fault.1, fault.2))?;
            for own in [&self.prefix, &self.home_assistant.prefix] {
                if overlaps(&import.from, &format!("{own}/#")) {
                    return Err(Fault::new(
                        at("from"),
                        format!("{:?} takes what the bridge itself sends below {own}", import.from),
                        "name the topics of others alone",
                    ));
                }
            }
            if import.payload.is_some_and(|most| most > self.limits.payload_in) {
                return Err(Fault::new(
                    at("payload"),
                    format!("is above limits.payload_in, {}", self.limits.payload_in),
                    "lower it, or raise limits.payload_in",
                ));
            }
            routes.push(route);
        }
        let page = self.home_assistant.page.clone();
        Ok(Plan { settings: self, export, listed: BTreeSet::new(), commands, routes, page })
    }

    fn check_connection(&self, field: &dyn Fn(&str) -> String) -> Result<(), Fault> {
        if self.host.is_empty() || self.host.len() > 255 || self.host.contains(|c: char| c.is_whitespace()) {
            return Err(Fault::new(field("host"), "is no name of a machine", "write a name or an address"));
        }
        let address = self.host.trim_start_matches('[').trim_end_matches(']').parse();
        let is_here =
            self.host == "localhost" || address.is_ok_and(|address: std::net::IpAddr| address.is_loopback());
        if !is_here && !self.unencrypted {
            return Err(Fault::new(
                field("host"),
                format!("{:?} is another machine, and the bridge does not encrypt", self.host),
                "bridge to a mosquitto on this machine, which passes all on with TLS, or set unencrypted \
                 = true in a network that nobody else is in",
            ));
        }
        let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if self.name.is_empty() || self.name.len() > MAX_ID || !self.name.bytes().all(is_id) {
            return Err(Fault::new(
                field("name"),
                format!("is {:?}", self.name),
                format!("use 1 to {MAX_ID} letters, digits and hyphens"),
            ));
        }
        if self.port == 0 {
            return Err(Fault::new(field("port"), "is 0", "use the port of the MQTT broker, such as 1883"));
        }
        if self.keep_alive < 5 {
            return Err(Fault::new(field("keep_alive"), format!("is {}", self.keep_alive), "use at least 5"));
        }
        if self.password_file.is_some() && self.user.is_none() {
            return Err(Fault::new(field("password_file"), "is there without a user", "add user beside it"));
        }
        Ok(())
    }

    fn check_limits(&self, field: &dyn Fn(&str) -> String) -> Result<(), Fault> {
        let Limits {
            topics,
            entities,
            payload_out,
            payload_in,
            in_flight,
            queue_in,
            rate_in,
            pause_least,
            pause_most,
        } = self.limits;
        let ranges = [
            ("limits.topics", topics, 1, 1_000_000),
            ("limits.entities", entities, 1, 1_000_000),
            ("limits.payload_out", payload_out, 256, 4 << 20),
            ("limits.payload_in", payload_in, 1, 1 << 20),
            ("limits.in_flight", in_flight.into(), 1, 256),
            ("limits.queue_in", queue_in.into(), 1, 4096),
            ("limits.rate_in", rate_in, 1, 100_000),
            ("limits.pause_least", pause_least, 1, 3600),
            ("limits.pause_most", pause_most, pause_least, 24 * 3600),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                let remedy = format!("use {least} to {most}");
                return Err(Fault::new(field(name), format!("is {value}"), remedy));
            }
        }
        if self.home_assistant.expire_after == Some(0) {
            let remedy = "use at least 1, or leave it out";
            return Err(Fault::new(field("home_assistant.expire_after"), "is 0", remedy));
        }
        let is_address = |page: &String| {
            let rest = ["http://", "https://"].iter().find_map(|scheme| page.strip_prefix(scheme));
            rest.is_some_and(|rest| {
                !rest.is_empty() && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
            })
        };
        if let Some(page) = self.home_assistant.page.as_ref().filter(|page| !is_address(page)) {
            let remedy = "write an address, such as http://broker.lan:8680/";
            return Err(Fault::new(field("home_assistant.page"), format!("is {page:?}"), remedy));
        }
        Ok(())
    }
}

fn patterns(field: &str, patterns: &[String]) -> Result<Vec<Pattern>, Fault> {
    if patterns.len() > MAX_RULES {
        let problem = format!("has {} patterns", patterns.len());
        return Err(Fault::new(field, problem, format!("use at most {MAX_RULES}")));
    }
    let parsed = patterns.iter().map(|text| {
        text.parse().map_err(|why: String| {
            let remedy = "write names as building/+/temperature or building/#";
            Fault::new(field, format!("{text:?}: {why}"), remedy)
        })
    });
    parsed.collect()
}

fn check_prefix(prefix: &str) -> Result<(), String> {
    if prefix.is_empty() || prefix.len() > MAX_PREFIX {
        return Err(format!("has {} bytes; 1 to {MAX_PREFIX} are possible", prefix.len()));
    }
    // Slashes and a `%` aside, it has to be what a name becomes.
    let is_plain = prefix.split('/').all(|level| !level.is_empty() && level_of_topic(level) == level);
    if is_plain { Ok(()) } else { Err(format!("is {prefix:?}, which no topic of MQTT can begin with")) }
}
