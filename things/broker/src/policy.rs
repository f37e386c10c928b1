//! What a broker lets whom do, and how much it keeps.

mod access;
mod file;

pub use access::{Access, Operation, Pattern, Rule, Who};

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

pub(crate) use motemix_broker_client::client::topics::OF_DEVICES;
use motemix_object::{Identity, MAX_AUDIENCE_LEN, Policy as Freshness};
use motemix_toml::FileError;

use crate::Caller;
use crate::bridge::Plan;
use crate::directory::Settings;
use crate::store::Retention;

/// Everything that somebody who runs a broker decides. The defaults are safe: whoever reads may
/// read, but only devices that proved who they are create topics, and what is published to a
/// device's topic has the device's signature.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// For whom readings are signed: the name of the network.
    pub audience: String,
    /// The broker checks signatures. If not, applications do.
    pub verify: bool,
    /// Which numbers of readings are accepted.
    pub freshness: Freshness,
    /// How much it keeps.
    pub limits: Limits,
    /// How often a peer may ask.
    pub rates: Rates,
    /// Who may prove by EDHOC who he is, and for how long that holds.
    pub sessions: Sessions,
    /// Which values stay.
    pub retention: Retention,
    /// Who may do what with topics: the first rule that says something decides.
    pub topics: Vec<Rule>,
    /// What the directory takes. Its audience and its bound for devices are those above.
    pub directory: Settings,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            audience: String::new(),
            verify: true,
            freshness: Freshness::WINDOW,
            limits: Limits::default(),
            rates: Rates::default(),
            sessions: Sessions::default(),
            retention: Retention::default(),
            topics: Vec::new(),
            directory: Settings::default(),
        }
    }
}

/// How much a broker keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Topics.
    pub topics: u32,
    /// Topics of a device that created them.
    pub topics_of_a_device: u32,
    /// Topics that receivers made for their devices, all together.
    pub topics_of_receivers: u32,
    /// Topics of all together who did not prove who they are, and of bridges and other programs of
    /// this machine.
    pub topics_of_others: u32,
    /// Bytes of the newest values in the topics of a device.
    pub bytes_of_a_device: u64,
    /// Bytes of the newest values in the topics that receivers made, all together.
    pub bytes_of_receivers: u64,
    /// Bytes of the newest values in the topics of all others together.
    pub bytes_of_others: u64,
    /// Bytes of a value.
    pub payload: u32,
    /// Bytes of a topic's name, and of its type.
    pub name: u32,
    /// Devices whose numbers are remembered.
    pub devices: u32,
    /// Observers.
    pub observers: u32,
    /// Observations of a peer.
    pub observers_of_a_peer: u32,
    /// Observers of a topic.
    pub observers_of_a_topic: u32,
    /// Different look-ups that are observed: each is evaluated anew when registrations change.
    pub observed_look_ups: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            topics: 10_000,
            topics_of_a_device: 100,
            topics_of_receivers: 10_000,
            topics_of_others: 5_000,
            bytes_of_a_device: 1 << 20,
            bytes_of_receivers: 1 << 27,
            bytes_of_others: 1 << 26,
            payload: 1 << 16,
            name: 128,
            devices: 100_000,
            observers: 20_000,
            observers_of_a_peer: 256,
            observers_of_a_topic: 10_000,
            observed_look_ups: 64,
        }
    }
}

/// How often a peer may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// Requests a second.
    pub requests: u32,
    /// Requests at once, after a pause.
    pub burst: u32,
    /// Peers that are counted by themselves; all others are counted together.
    pub peers: u32,
}

impl Default for Rates {
    fn default() -> Self {
        Self { requests: 100, burst: 200, peers: 10_000 }
    }
}

/// Security contexts of OSCORE that EDHOC makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sessions {
    /// Who may make one; none lets everybody, who is a stranger then until he registers.
    pub devices: Option<BTreeSet<Identity>>,
    /// How many there are at most.
    pub contexts: u32,
    /// How many a device has at most; a further one takes the place of its longest unused one.
    pub contexts_of_a_device: u32,
    /// How long one serves.
    pub lifetime: Duration,
    /// How long one has to be unused before a stranger may take its place.
    pub idle: Duration,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            devices: None,
            contexts: 1024,
            contexts_of_a_device: 2,
            lifetime: Duration::from_hours(24),
            idle: Duration::from_mins(10),
        }
    }
}

impl Policy {
    /// The policy in a file (TOML; `docs/spec/broker.md`).
    ///
    /// # Errors
    /// The file cannot be read, or has a mistake: the error says in which line.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Self::parse(path, &motemix_toml::text_of(path)?)
    }

    /// The policy of a text, which was in this file.
    ///
    /// # Errors
    /// The text has a mistake: the error says in which line.
    pub fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        file::parse(path, text).map(|(policy, _)| policy)
    }

    /// The policy in a file, and the bridge to MQTT if there is a section `[mqtt]`
    /// (`docs/reference/broker-mqtt.md`).
    ///
    /// # Errors
    /// The file cannot be read, or has a mistake: the error says in which line.
    pub fn read_with_bridge(path: &Path) -> Result<(Self, Option<Plan>), FileError> {
        file::parse(path, &motemix_toml::text_of(path)?)
    }

    /// Whether a caller may do this with the topic of a name. `owner`: it created the topic.
    /// `signed`: what is published there has the signature of the topic's device.
    pub(crate) fn lets(&self, caller: &Caller, operation: Operation, topic: &Topic<'_>) -> bool {
        if caller.local {
            return true;
        }
        let decided = self.topics.iter().find_map(|rule| rule.decides(operation, topic.name));
        // A number is taken once: in a stranger's topic, it would be missing in the device's own.
        let is_for_another =
            operation == Operation::Create && topic.device.is_some_and(|of| caller.device != Some(of));
        match decided {
            Some(who) => {
                who.iter().any(|who| who.is(caller, topic.is_owner) && (!is_for_another || who.is_named()))
            }
            None if is_for_another => false,
            None => match operation {
                Operation::Read => true,
                Operation::Create => caller.device.is_some_and(|device| !is_of_another(topic.name, &device)),
                Operation::Publish => topic.is_signed || topic.is_owner,
                Operation::Configure => topic.is_owner,
            },
        }
    }

    /// What the directory goes by.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            audience: self.audience.clone(),
            known_devices: self.limits.devices as usize,
            ..self.directory.clone()
        }
    }
}

/// Whether a topic's name is kept for the receiver of a device, and for that device, and it is not
/// this one.
fn is_of_another(name: &str, device: &Identity) -> bool {
    device_in(name).is_some_and(|short| short != format!("{device:.32}"))
}

/// The first half of the identity of the device for which a name is kept.
pub(crate) fn device_in(name: &str) -> Option<&str> {
    let first = name.strip_prefix(OF_DEVICES)?.split('/').next()?;
    let is_short =
        first.len() == 2 * Identity::SHORT_LEN && first.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_short.then_some(first)
}

/// What a rule may ask of a topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Topic<'t> {
    pub(crate) name: &'t str,
    /// The caller created it.
    pub(crate) is_owner: bool,
    /// Whose readings it is for.
    pub(crate) device: Option<Identity>,
    /// What is published there has the signature of the topic's device, and that is checked.
    pub(crate) is_signed: bool,
}

/// The longest name of a network.
const MAX_AUDIENCE: usize = MAX_AUDIENCE_LEN;
