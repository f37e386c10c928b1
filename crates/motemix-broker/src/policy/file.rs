//! A policy as TOML.

use std::path::Path;
use std::str::FromStr;

use motemix_object::{MAX_THRESHOLD, Order, Policy as Freshness};
use motemix_toml::{Fault, FileError};
use serde::Deserialize;

use super::{Access, Limits, MAX_AUDIENCE, Policy, Rates, Rule, Who};
use crate::store::Retention;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    network: String,
    verify: bool,
    freshness: Freshly,
    threshold: u16,
    register: Vec<String>,
    limits: Limits,
    rates: Rates,
    history: History,
    access: Vec<AccessOf>,
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
}

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
            register: vec!["anyone".to_owned()],
            limits: Limits::default(),
            rates: Rates::default(),
            history: History::default(),
            access: Vec::new(),
        }
    }
}

const DAY: u64 = 24 * 3600;

impl Default for History {
    fn default() -> Self {
        let Retention { values, seconds } = Retention::default();
        Self { values, days: u32::try_from(seconds / DAY).unwrap_or(u32::MAX) }
    }
}

pub(super) fn parse(path: &Path, text: &str) -> Result<Policy, FileError> {
    let file: File = motemix_toml::parse(path, text)?;
    policy(file).map_err(|fault| FileError::of_fault(path, text, fault))
}

fn policy(file: File) -> Result<Policy, Fault> {
    check(&file)?;
    let register = people("register", &file.register)?;
    if register.contains(&Who::Owner) {
        return Err(Fault::new(
            "register",
            "a registration has no owner yet",
            "name anyone, device or local",
        ));
    }
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
        retention: Retention { values: file.history.values, seconds: u64::from(file.history.days) * DAY },
        topics,
        register,
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
    let Limits { payload, name, registration_bytes, .. } = file.limits;
    let not_zero = [
        ("limits.payload", payload),
        ("limits.name", name),
        ("rates.requests", file.rates.requests),
        ("rates.burst", file.rates.burst),
        ("rates.peers", file.rates.peers),
        ("history.values", file.history.values),
    ];
    if let Some((field, _)) = not_zero.into_iter().find(|(_, number)| *number == 0) {
        return Err(Fault::new(field, "is 0", "use at least 1"));
    }
    let most = [("limits.payload", payload), ("limits.registration_bytes", registration_bytes)].into_iter();
    if let Some((field, number)) = most.into_iter().find(|(_, number)| *number > MAX_BYTES) {
        return Err(Fault::new(field, format!("is {number}"), format!("use at most {MAX_BYTES}")));
    }
    if name > MAX_NAME {
        return Err(Fault::new("limits.name", format!("is {name}"), format!("use at most {MAX_NAME}")));
    }
    Ok(())
}

/// What a change has room for.
const MAX_BYTES: u32 = 1 << 20;
const MAX_NAME: u32 = 1 << 10;
