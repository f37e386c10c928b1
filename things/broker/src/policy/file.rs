//! A policy as TOML.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use motemix_object::{Identity, MAX_THRESHOLD, Order, Policy as Freshness};
use motemix_toml::{Fault, FileError};
use serde::Deserialize;

use super::{Access, Limits, MAX_AUDIENCE, Policy, Rates, Rule, Sessions, Who};
use crate::bridge::{Plan, Settings as Bridge};
use crate::directory::Settings;
use crate::store::Retention;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    network: String,
    verify: bool,
    freshness: Freshly,
    threshold: u16,
    directory: Directory,
    limits: Limits,
    rates: Rates,
    oscore: Oscore,
    history: History,
    access: Vec<AccessOf>,
    mqtt: Option<Bridge>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Freshly {
    Window,
    Strict,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct History {
    values: u32,
    days: u32,
    bytes_of_a_device: u64,
    bytes_of_others: u64,
    bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Directory {
    devices: Option<Vec<String>>,
    keyless: bool,
    keyless_days: u32,
    simple: bool,
    registrations: u32,
    registrations_of_a_network: u32,
    links: u32,
    registration_bytes: u32,
    look_up_bytes: u32,
}

impl Default for Directory {
    fn default() -> Self {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let settings = Settings::default();
        Self {
            devices: None,
            keyless: settings.keyless,
            keyless_days: settings.keyless_lifetime / DAY as u32,
            simple: settings.simple,
            registrations: number(settings.registrations),
            registrations_of_a_network: number(settings.registrations_of_a_network),
            links: number(settings.links),
            registration_bytes: number(settings.registration_bytes),
            look_up_bytes: number(settings.look_up_bytes),
        }
    }
}

impl Directory {
    fn settings(&self) -> Result<Settings, Fault> {
        Ok(Settings {
            devices: identities("directory.devices", self.devices.as_ref())?,
            keyless: self.keyless,
            keyless_lifetime: match self.keyless_days.checked_mul(DAY as u32) {
                Some(seconds) if self.keyless_days < ALWAYS => seconds,
                _ => u32::MAX,
            },
            simple: self.simple,
            registrations: self.registrations as usize,
            registrations_of_a_network: self.registrations_of_a_network as usize,
            links: self.links as usize,
            registration_bytes: self.registration_bytes as usize,
            look_up_bytes: self.look_up_bytes as usize,
            ..Settings::default()
        })
    }
}

/// Identities in a list, if there is one.
fn identities(field: &str, list: Option<&Vec<String>>) -> Result<Option<BTreeSet<Identity>>, Fault> {
    let identity = |digits: &String| {
        let bytes = hex::decode(digits).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Identity::from_bytes).ok_or_else(|| {
            let problem = format!("{digits:?} is no identity");
            Fault::new(field, problem, "write its 64 hexadecimal digits")
        })
    };
    list.map(|list| list.iter().map(identity).collect()).transpose()
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Oscore {
    devices: Option<Vec<String>>,
    contexts: u32,
    contexts_of_a_device: u32,
    hours: u32,
    idle_minutes: u32,
}

impl Default for Oscore {
    fn default() -> Self {
        let Sessions { contexts, contexts_of_a_device, lifetime, idle, .. } = Sessions::default();
        let whole = |duration: Duration, of: u64| u32::try_from(duration.as_secs() / of).unwrap_or(u32::MAX);
        Self {
            devices: None,
            contexts,
            contexts_of_a_device,
            hours: whole(lifetime, HOUR),
            idle_minutes: whole(idle, MINUTE),
        }
    }
}

impl Oscore {
    fn sessions(&self) -> Result<Sessions, Fault> {
        let seconds = |number: u32, of: u64| Duration::from_secs(u64::from(number) * of);
        Ok(Sessions {
            devices: identities("oscore.devices", self.devices.as_ref())?,
            contexts: self.contexts,
            contexts_of_a_device: self.contexts_of_a_device,
            lifetime: seconds(self.hours, HOUR),
            idle: seconds(self.idle_minutes, MINUTE),
        })
    }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;

/// As many days as a registration can ask for.
const ALWAYS: u32 = u32::MAX / DAY as u32;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessOf {
    topics: String,
    read: Option<Vec<String>>,
    publish: Option<Vec<String>>,
    create: Option<Vec<String>>,
    configure: Option<Vec<String>>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            network: String::new(),
            verify: true,
            freshness: Freshly::Window,
            threshold: Freshness::WINDOW.threshold,
            directory: Directory::default(),
            limits: Limits::default(),
            rates: Rates::default(),
            oscore: Oscore::default(),
            history: History::default(),
            access: Vec::new(),
            mqtt: None,
        }
    }
}

const DAY: u64 = 24 * 3600;

impl Default for History {
    fn default() -> Self {
        let Retention { values, seconds, bytes_of_a_device, bytes_of_others, bytes } = Retention::default();
        let days = u32::try_from(seconds / DAY).unwrap_or(u32::MAX);
        Self { values, days, bytes_of_a_device, bytes_of_others, bytes }
    }
}

impl History {
    fn retention(&self) -> Retention {
        let Self { values, days, bytes_of_a_device, bytes_of_others, bytes } = *self;
        Retention { values, seconds: u64::from(days) * DAY, bytes_of_a_device, bytes_of_others, bytes }
    }
}

pub(super) fn parse(path: &Path, text: &str) -> Result<(Policy, Option<Plan>), FileError> {
    let mut file: File = motemix_toml::parse(path, text)?;
    let bridge = file.mqtt.take().map(|settings| settings.plan("mqtt")).transpose();
    let parsed = bridge.and_then(|bridge| {
        let policy = policy(file)?;
        let listed = [&policy.directory.devices, &policy.sessions.devices].into_iter().flatten().flatten();
        let bridge = bridge.map(|bridge| bridge.listing(listed.copied()));
        Ok((policy, bridge))
    });
    parsed.map_err(|fault| FileError::of_fault(path, text, fault))
}

fn policy(file: File) -> Result<Policy, Fault> {
    check(&file)?;
    let mut topics = Vec::with_capacity(file.access.len());
    for (index, rule) in file.access.iter().enumerate() {
        let field = |name: &str| format!("access[{index}].{name}");
        let pattern = rule.topics.parse();
        let pattern = pattern.map_err(|why: String| {
            Fault::new(
                field("topics"),
                format!("{:?}: {why}", rule.topics),
                "write names as building/+/temperature or building/#",
            )
        })?;
        let who = |name: &str, who: &Option<Vec<String>>| {
            who.as_ref().map(|who| people(&field(name), who)).transpose()
        };
        let access = Access {
            read: who("read", &rule.read)?,
            publish: who("publish", &rule.publish)?,
            create: who("create", &rule.create)?,
            configure: who("configure", &rule.configure)?,
        };
        if access == Access::default() {
            return Err(Fault::new(
                field("topics"),
                "the rule says nothing of them",
                "say who may read, publish, create or configure",
            ));
        }
        topics.push(Rule { topics: pattern, access });
    }
    Ok(Policy {
        audience: file.network,
        verify: file.verify,
        freshness: Freshness {
            order: match file.freshness {
                Freshly::Window => Order::Window,
                Freshly::Strict => Order::Strict,
            },
            threshold: file.threshold,
        },
        limits: file.limits,
        rates: file.rates,
        sessions: file.oscore.sessions()?,
        retention: file.history.retention(),
        topics,
        directory: file.directory.settings()?,
    })
}

fn people(field: &str, names: &[String]) -> Result<Vec<Who>, Fault> {
    let who = names.iter().map(|name| {
        Who::from_str(name).map_err(|why| {
            let remedy = "name anyone, device, device followed by an identity, owner or local";
            Fault::new(field, format!("{name:?}: {why}"), remedy)
        })
    });
    who.collect()
}

/// Numbers that no broker works with.
fn check(file: &File) -> Result<(), Fault> {
    if file.network.len() > MAX_AUDIENCE {
        let problem = format!("has {} bytes", file.network.len());
        return Err(Fault::new("network", problem, format!("use at most {MAX_AUDIENCE}")));
    }
    if file.threshold > MAX_THRESHOLD {
        let problem = format!("is {}", file.threshold);
        return Err(Fault::new("threshold", problem, format!("use at most {MAX_THRESHOLD}")));
    }
    let Limits { payload, name, .. } = file.limits;
    let registration_bytes = file.directory.registration_bytes;
    let not_zero = [
        ("limits.payload", payload),
        ("limits.name", name),
        ("rates.requests", file.rates.requests),
        ("rates.burst", file.rates.burst),
        ("rates.peers", file.rates.peers),
        ("history.values", file.history.values),
        ("oscore.contexts", file.oscore.contexts),
        ("oscore.contexts_of_a_device", file.oscore.contexts_of_a_device),
        ("oscore.hours", file.oscore.hours),
    ];
    if let Some((field, _)) = not_zero.into_iter().find(|(_, number)| *number == 0) {
        return Err(Fault::new(field, "is 0", "use at least 1"));
    }
    let History { bytes_of_a_device, bytes_of_others, bytes, .. } = file.history;
    let of_history = [
        ("history.bytes_of_a_device", bytes_of_a_device),
        ("history.bytes_of_others", bytes_of_others),
        ("history.bytes", bytes),
    ];
    if let Some((field, number)) = of_history.into_iter().find(|(_, number)| *number < LEAST_HISTORY) {
        return Err(Fault::new(field, format!("is {number}"), format!("use at least {LEAST_HISTORY}")));
    }
    let most =
        [("limits.payload", payload), ("directory.registration_bytes", registration_bytes)].into_iter();
    if let Some((field, number)) = most.into_iter().find(|(_, number)| *number > MAX_BYTES) {
        return Err(Fault::new(field, format!("is {number}"), format!("use at most {MAX_BYTES}")));
    }
    let contexts = file.oscore.contexts;
    if contexts > MAX_CONTEXTS {
        let problem = format!("is {contexts}");
        return Err(Fault::new("oscore.contexts", problem, format!("use at most {MAX_CONTEXTS}")));
    }
    if name > MAX_NAME {
        return Err(Fault::new("limits.name", format!("is {name}"), format!("use at most {MAX_NAME}")));
    }
    Ok(())
}

/// What a change has room for.
const MAX_BYTES: u32 = 1 << 20;
const MAX_NAME: u32 = 1 << 10;
/// Bytes of history that are worth a bound.
const LEAST_HISTORY: u64 = 1 << 16;
/// What has room in memory, and is looked through when one has to go.
const MAX_CONTEXTS: u32 = 1 << 16;
