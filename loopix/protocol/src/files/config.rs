//! `config.json`: how often nodes send, how long they delay, where the directory is.
//!
//! The Python nodes have an object for each role, with all numbers as text:
//!
//! ```json
//! { "parametersClients":   { "EXP_PARAMS_LOOPS": "2.0", "TIME_PULL": "10.0" },
//!   "parametersMixnodes":  { "EXP_PARAMS_DELAY": "0.001", "NOISE_LENGTH": "500" },
//!   "parametersProviders": { "MAX_RETRIEVE": "50", "PUSH_MESSAGES": false } }
//! ```
//!
//! The Java client has one flat object, with numbers as numbers. Both are read, whichever way a
//! number is written. What is missing has its default. All `EXP_PARAMS_*` are **means in seconds**,
//! not rates.

mod section;
mod written;

use super::{FileError, Profile, Role, disk, names, wrong};
use section::Section;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest configuration that is read, in bytes.
const LONGEST: usize = 1 << 16;
/// The longest time: thirty years, which stands for never.
pub const LONGEST_TIME: Duration = Duration::from_secs(1_000_000_000);
/// The longest noise in bytes: with the two bytes before it, and the shortest destination, it fills
/// the payload.
pub const LONGEST_NOISE: usize = 993;
/// The most messages that a provider answers one request with.
pub const MOST_RETRIEVED: u32 = 1 << 16;

/// The sections, in the order of [`Role::ALL`].
const SECTIONS: [&str; 3] = ["parametersMixnodes", "parametersProviders", "parametersClients"];

/// The keys that the originals know. The last three are read by nobody, or only read.
const KEYS: [&str; 12] = [
    "EXP_PARAMS_LOOPS",
    "EXP_PARAMS_DROP",
    "EXP_PARAMS_PAYLOAD",
    "EXP_PARAMS_DELAY",
    "TIME_PULL",
    "MAX_RETRIEVE",
    "NOISE_LENGTH",
    "DATABASE_NAME",
    "PUSH_MESSAGES",
    "PATH_LENGTH",
    "MAX_DELAY_TIME",
    "DATA_DIR",
];

/// The two ways in which a configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An object for each role, numbers as text: the Python nodes.
    Sections,
    /// One object, numbers as numbers: the Java client.
    Flat,
}

/// What all nodes of a network are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// For clients.
    pub clients: ClientConfig,
    /// For mixes, and most of it for providers, too.
    pub mixes: MixConfig,
    /// For providers alone.
    pub providers: ProviderConfig,
    /// Random bytes in a cover packet.
    pub noise_len: usize,
}

/// What clients are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// Mean time between two loop cover packets.
    pub loops: Duration,
    /// Mean time between two drop cover packets.
    pub drop: Duration,
    /// Mean time between two packets for messages.
    pub payload: Duration,
    /// Mean delay that the client chooses at each hop; may be zero.
    pub delay: Duration,
    /// Time between two requests for messages.
    pub pull: Duration,
    /// The directory's file, relative to the node's folder.
    pub database: PathBuf,
}

/// What mixes and providers are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixConfig {
    /// Mean time between two loop cover packets.
    pub loops: Duration,
    /// Mean delay at each hop of its own packets; may be zero.
    pub delay: Duration,
    /// The directory's file, relative to the node's folder.
    pub database: PathBuf,
}

/// What only providers are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderConfig {
    /// Messages and dummies together that a request is answered with.
    pub max_retrieve: u32,
    /// Whether messages are sent on as they arrive, instead of on request. Only the fork of 2018
    /// knows this, and its providers do not start without; `None` if nothing is said.
    pub push: Option<bool>,
}

impl Default for Config {
    fn default() -> Self {
        let (two, delay) = (Duration::from_secs(2), Duration::from_millis(1));
        let database = PathBuf::from(names::DATABASE);
        Self {
            clients: ClientConfig {
                loops: two,
                drop: two,
                payload: two,
                delay,
                pull: Duration::from_secs(10),
                database: database.clone(),
            },
            mixes: MixConfig { loops: two, delay, database },
            providers: ProviderConfig { max_retrieve: 50, push: None },
            noise_len: 500,
        }
    }
}

impl Config {
    /// Reads a configuration of either form.
    ///
    /// # Errors
    /// The file cannot be read, is not JSON, or has a value that cannot be meant; the error names
    /// the key.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let bytes = disk::read(path, LONGEST)?;
        let value = serde_json::from_slice(&bytes).map_err(|error| FileError {
            line: Some(error.line()),
            ..wrong(path, "", format!("is no JSON: {error}"), "correct it")
        })?;
        let Value::Object(object) = value else {
            return Err(wrong(path, "", "is no JSON object", "write { and } around it"));
        };
        if !object.keys().any(|key| KEYS.contains(&key.as_str()) || SECTIONS.contains(&key.as_str())) {
            let problem = "has neither sections nor keys of Loopix";
            return Err(wrong(path, "", problem, "for example \"parametersClients\": {}"));
        }
        Self::read(path, &object)
    }

    /// Writes the configuration in place of what is there.
    ///
    /// # Errors
    /// A value is one that [`Config::load`] would refuse or the form cannot say, or the system
    /// refuses.
    pub fn save(&self, path: &Path, form: Form) -> Result<(), FileError> {
        let object = self.write(form).map_err(|(key, problem, remedy)| wrong(path, key, problem, remedy))?;
        Self::read(path, &object)?;
        let mut text = serde_json::to_vec_pretty(&object)
            .map_err(|error| wrong(path, "", error.to_string(), "use names that are valid UTF-8"))?;
        text.push(b'\n');
        disk::replace(path, disk::PUBLIC, &text)
    }

    /// The directory's file as a node of this role is told, relative to its folder.
    pub fn database(&self, role: Role) -> &Path {
        match role {
            Role::Client => &self.clients.database,
            Role::Mix | Role::Provider => &self.mixes.database,
        }
    }

    /// Whose configuration it is, of the originals': nodes of 2017 have never heard of
    /// `PUSH_MESSAGES`, providers of 2018 do not start without.
    pub const fn profile(&self) -> Profile {
        if self.providers.push.is_some() { Profile::Fork2018 } else { Profile::Ucl2017 }
    }

    fn read(path: &Path, object: &Map<String, Value>) -> Result<Self, FileError> {
        let [mixes, providers, clients] = Section::all(path, object)?;
        let default = Self::default();
        Ok(Self {
            clients: ClientConfig {
                loops: clients.mean("EXP_PARAMS_LOOPS", default.clients.loops)?,
                drop: clients.mean("EXP_PARAMS_DROP", default.clients.drop)?,
                payload: clients.mean("EXP_PARAMS_PAYLOAD", default.clients.payload)?,
                delay: clients.delay("EXP_PARAMS_DELAY", default.clients.delay)?,
                pull: clients.mean("TIME_PULL", default.clients.pull)?,
                database: clients.path("DATABASE_NAME", &default.clients.database)?,
            },
            mixes: MixConfig {
                loops: mixes.mean("EXP_PARAMS_LOOPS", default.mixes.loops)?,
                delay: mixes.delay("EXP_PARAMS_DELAY", default.mixes.delay)?,
                database: mixes.path("DATABASE_NAME", &default.mixes.database)?,
            },
            providers: ProviderConfig {
                max_retrieve: providers.count(
                    "MAX_RETRIEVE",
                    default.providers.max_retrieve,
                    MOST_RETRIEVED,
                )?,
                push: providers.flag("PUSH_MESSAGES")?,
            },
            noise_len: mixes.count("NOISE_LENGTH", default.noise_len, LONGEST_NOISE)?,
        })
    }
}
