//! The configuration file of a node.
//!
//! ```toml
//! name = "mix-1"
//! id = 3                          # index in the network document; may be left out
//! listen = ["[::1]:41001"]        # one or two UDP addresses
//! key = "node.key"                # relative to this file, like the other paths
//! documents = "../documents"      # signed network documents, <epoch>.cbor
//! network = "motemix"             # the network's name, which its documents have to have
//! authorities = ["<64 hex digits>"]
//! threshold = 1
//! state = "state"                 # replay logs, inbox, control socket
//! ```
//!
//! The section `[radio]` puts a node on a radio, beside UDP addresses or instead of them. The
//! sections `[directory]`, `[metrics]`, `[limits]`, `[processing]`, `[loops]`, `[faults]`,
//! `[readings]` and `[broker]` may follow. A field that is not known is an error, because a
//! misspelt limit must not silently become its default.

mod digits;
mod directory;
mod loops;
mod processing;

pub use directory::DirectoryConfig;
pub use loops::LoopWatch;
pub use motemix_toml::FileError as ConfigError;
pub use processing::Processing;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use digits::{hex_address, hex_keys};
use motemix_directory::{AuthorityKey, MAX_SIGNATURES, is_name};
use motemix_sphinx::NodeId;
use motemix_toml::Fault;
use serde::{Deserialize, Serialize};

/// One node's configuration. [`NodeConfig::load`] has resolved its paths and checked its values;
/// [`NodeConfig::new`] makes one in a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NodeConfig {
    /// Name that people use; it has to equal the one in the network document.
    pub name: String,
    /// Index in the network document. By default the one that documents give to the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u16>,
    /// One or two UDP addresses. Two are one of each address family. May be empty beside a radio.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "motemix_os::address::listed")]
    pub listen: Vec<SocketAddr>,
    /// The radio, if the node has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioConfig>,
    /// The node's key file.
    pub key: PathBuf,
    /// Folder of signed network documents.
    pub documents: PathBuf,
    /// The network's name: documents of another one are refused, whoever signed them.
    pub network: String,
    /// Ed25519 public keys of the authorities that sign documents.
    #[serde(with = "hex_keys")]
    pub authorities: Vec<[u8; 32]>,
    /// How many different authorities have to have signed a document.
    pub threshold: u8,
    /// Folder for what has to outlive the process.
    pub state: PathBuf,
    /// Where documents come from; by default whoever puts them into the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<DirectoryConfig>,
    /// Where coarse metrics are served to every user of the machine; nowhere by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsConfig>,
    /// Bounds of memory and storage.
    #[serde(default)]
    pub limits: Limits,
    /// How the node uses its processor.
    #[serde(default, skip_serializing_if = "Processing::is_usual")]
    pub processing: Processing,
    /// When loops that do not come back raise the alarm.
    #[serde(default, skip_serializing_if = "LoopWatch::is_usual")]
    pub loops: LoopWatch,
    /// Faults that an experiment injects.
    #[serde(default, skip_serializing_if = "Faults::is_none")]
    pub faults: Faults,
    /// Makes the node a mote that sends readings of its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readings: Option<ReadingsConfig>,
    /// Hands what a receiver believes to a broker of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<BrokerConfig>,
}

/// The section `[radio]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RadioConfig {
    /// The socket of the serial line to the radio, relative to the configuration's file.
    pub line: PathBuf,
    /// The radio's extended address (EUI-64): 16 hex digits, most significant first.
    #[serde(with = "hex_address")]
    pub address: [u8; 8],
}

/// The section `[metrics]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct MetricsConfig {
    /// TCP address of the HTTP endpoint; port 0 lets the system choose one.
    #[serde(with = "motemix_os::address::single")]
    pub listen: SocketAddr,
}

/// The section `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Limits {
    /// Packets that wait for their delay.
    pub queue: u32,
    /// Packets of an epoch that the replay filter is made for, three and a half bytes each; memory
    /// is taken when it is needed. By default 20,000 a second for an hour. A full filter admits
    /// nothing more in that epoch.
    pub replay_tags: u32,
    /// Own messages that wait for their acknowledgement.
    pub in_flight: u32,
    /// Headers built ahead of time.
    pub headers: u32,
    /// Digests of received messages that the node and its inbox remember to recognise duplicates.
    pub inbox_window: u32,
    /// Messages that the inbox keeps; 0 for a node that has no inbox, such as a mix.
    pub inbox_messages: u32,
    /// Bytes of messages that the inbox keeps.
    pub inbox_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            queue: 4096,
            replay_tags: 75_000_000,
            in_flight: 256,
            headers: 8,
            inbox_window: 1 << 18,
            inbox_messages: 100_000,
            inbox_bytes: 64 << 20,
        }
    }
}

/// The section `[faults]`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Faults {
    /// Probability, 0 to 1, with which an arriving datagram is dropped.
    pub loss: f64,
}

impl Faults {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The section `[readings]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReadingsConfig {
    /// Name of the node that receives the readings.
    pub to: String,
    /// Mean time between two readings.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub every: Duration,
    /// The file of the key that signs them (`motemix id new`). Without it they are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// A command of the shell that prints SenML (RFC 8428), in JSON or CBOR, in place of the
    /// readings of this machine. It runs in the folder of the configuration, for 30 seconds at
    /// most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The folder of the configuration.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The file that has what a server last commanded, in JSON, for the program that does it.
    /// Without it the node obeys nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<PathBuf>,
}

/// The section `[broker]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct BrokerConfig {
    /// The broker's socket: `local.sock` in its folder.
    pub socket: PathBuf,
    /// Messages that stay in the inbox when the broker has them.
    #[serde(default = "BrokerConfig::usual_keep")]
    pub keep: u32,
}

impl BrokerConfig {
    /// A broker with this socket.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), keep: Self::usual_keep() }
    }

    const fn usual_keep() -> u32 {
        1000
    }
}

impl RadioConfig {
    /// A radio at the end of a serial line.
    pub fn new(line: impl Into<PathBuf>, address: [u8; 8]) -> Self {
        Self { line: line.into(), address }
    }
}

impl MetricsConfig {
    /// Metrics at this address.
    pub const fn new(listen: SocketAddr) -> Self {
        Self { listen }
    }
}

impl Faults {
    /// Each arriving datagram is dropped with this probability.
    pub const fn of_loss(loss: f64) -> Self {
        Self { loss }
    }
}

impl ReadingsConfig {
    /// Unsigned readings for the node of this name, so often in the mean.
    pub fn new(to: impl Into<String>, every: Duration) -> Self {
        Self { to: to.into(), every, key: None, command: None, folder: PathBuf::new(), commands: None }
    }

    fn check(&self) -> Result<(), Fault> {
        let fault = |field, problem, remedy| Err(Fault::new(field, problem, remedy));
        if !is_name(self.to.as_bytes()) {
            return fault("readings.to", "is not 1 to 32 of a-z, 0-9 and '-'", "name the receiving node");
        }
        if self.every < Duration::from_millis(1) {
            return fault("readings.every", "is shorter than 1ms", "for example \"500ms\"");
        }
        if self.command.as_ref().is_some_and(|command| command.trim().is_empty()) {
            let remedy = "name a program that prints SenML, or leave it out";
            return fault("readings.command", "is empty", remedy);
        }
        Ok(())
    }
}

impl NodeConfig {
    /// A node of a network whose documents have `threshold` signatures of these authorities. It has
    /// no address yet, its limits are the usual ones, and its key, documents and state are in
    /// `node.key`, `documents` and `state`.
    pub fn new(
        name: impl Into<String>,
        id: Option<u16>,
        network: impl Into<String>,
        authorities: Vec<[u8; 32]>,
        threshold: u8,
    ) -> Self {
        Self {
            name: name.into(),
            id,
            listen: Vec::new(),
            radio: None,
            key: PathBuf::from("node.key"),
            documents: PathBuf::from("documents"),
            network: network.into(),
            authorities,
            threshold,
            state: PathBuf::from("state"),
            directory: None,
            metrics: None,
            limits: Limits::default(),
            processing: Processing::default(),
            loops: LoopWatch::default(),
            faults: Faults::default(),
            readings: None,
            broker: None,
        }
    }

    /// Reads and checks a configuration; relative paths are resolved against the file's folder.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, has an unknown, missing or ill-typed field, or has a
    /// value out of its range. The error prints as one line with file, line, field and remedy.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = text_of(path).map_err(|error| ConfigError::unreadable(path, &error))?;
        let mut config: Self = motemix_toml::parse(path, &text)?;
        config.check().map_err(|fault| ConfigError::of_fault(path, &text, fault))?;
        let base = path.parent().unwrap_or(Path::new(""));
        for file in config.paths() {
            *file = base.join(&*file);
        }
        if let Some(readings) = config.readings.as_mut().filter(|readings| readings.command.is_some()) {
            base.clone_into(&mut readings.folder);
        }
        Ok(config)
    }

    /// Writes the configuration in place of what is at `path`; paths below its folder become
    /// relative.
    ///
    /// # Errors
    /// A value is out of range, or the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ConfigError> {
        let path = path.as_ref();
        let wrong = |fault| ConfigError::without_line(path, fault);
        self.check().map_err(wrong)?;
        let mut config = self.clone();
        if let Some(base) = path.parent().filter(|base| !base.as_os_str().is_empty()) {
            for file in config.paths() {
                if let Ok(relative) = file.strip_prefix(base) {
                    *file = relative.to_owned();
                }
            }
        }
        let text = toml::to_string(&config)
            .map_err(|error| wrong(Fault::new("", error.to_string(), "use paths that are valid UTF-8")))?;
        motemix_os::store::file::replace(path, 0o644, text.as_bytes()).map_err(|error| {
            let problem = format!("cannot write it: {error}");
            wrong(Fault::new("", problem, "check the folder and its permissions"))
        })
    }

    /// The index in the network document that is configured.
    pub fn own_id(&self) -> Option<NodeId> {
        self.id.and_then(NodeId::new)
    }

    /// The control socket, `state/control.sock`.
    pub fn control_socket(&self) -> PathBuf {
        self.state.join("control.sock")
    }

    /// The socket of the metrics with all details, `state/metrics.sock`.
    pub fn metrics_socket(&self) -> PathBuf {
        self.state.join("metrics.sock")
    }

    /// The inbox, `state/inbox.db`.
    pub fn inbox_file(&self) -> PathBuf {
        self.state.join("inbox.db")
    }

    /// The list of devices whose readings are believed here, `state/devices.db`.
    pub fn devices_file(&self) -> PathBuf {
        self.state.join("devices.db")
    }

    /// Which message of the inbox a broker has got last, `state/handed-over`.
    pub fn handed_over_file(&self) -> PathBuf {
        self.state.join("handed-over")
    }

    fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let radio = self.radio.as_mut().map(|radio| &mut radio.line);
        let readings = self.readings.as_mut();
        let device =
            readings.into_iter().flat_map(|readings| [readings.key.as_mut(), readings.commands.as_mut()]);
        let own = [&mut self.key, &mut self.documents, &mut self.state];
        let broker = self.broker.as_mut().map(|broker| &mut broker.socket);
        let identity = self.directory.as_mut().and_then(|section| section.identity.as_mut());
        own.into_iter().chain(radio).chain(device.flatten()).chain(broker).chain(identity)
    }

    fn check(&self) -> Result<(), Fault> {
        let fault = |field: &str, problem: &str, remedy: &str| Fault::new(field, problem, remedy);
        if !is_name(self.name.as_bytes()) {
            return Err(fault(
                "name",
                "is not 1 to 32 of a-z, 0-9 and '-'",
                "use the name in the network document",
            ));
        }
        if !is_name(self.network.as_bytes()) {
            return Err(fault(
                "network",
                "is not 1 to 32 of a-z, 0-9 and '-'",
                "use the network's name, as its documents have it",
            ));
        }
        if self.id.is_some_and(|id| NodeId::new(id).is_none()) {
            return Err(fault(
                "id",
                "is more than 16383",
                "use the index that the network document gives the node",
            ));
        }
        match self.listen.as_slice() {
            [_] => {}
            [] if self.radio.is_some() => {}
            [one, other] if one.is_ipv4() != other.is_ipv4() => {}
            [_, _] => {
                return Err(fault(
                    "listen",
                    "has two addresses of one family",
                    "name one IPv4 and one IPv6 address",
                ));
            }
            _ => return Err(fault("listen", "is not one or two addresses", "for example [\"[::]:41001\"]")),
        }
        for key in &self.authorities {
            if AuthorityKey::from_bytes(key).is_err() {
                let problem = format!("{} is not an Ed25519 public key", hex::encode(key));
                return Err(fault("authorities", &problem, "copy the authority's public key again"));
            }
        }
        let mut distinct = self.authorities.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() != self.authorities.len() {
            return Err(fault("authorities", "names a key twice", "remove one of them"));
        }
        if self.authorities.len() > MAX_SIGNATURES {
            return Err(fault("authorities", "names more than 16 keys", "name at most 16"));
        }
        if self.threshold == 0 || usize::from(self.threshold) > self.authorities.len() {
            let problem = format!("is {}, with {} authorities", self.threshold, self.authorities.len());
            return Err(fault(
                "threshold",
                &problem,
                "choose at least 1 and at most the number of authorities",
            ));
        }
        let limits = &self.limits;
        for (field, value, most) in [
            ("limits.queue", limits.queue, 1 << 20),
            ("limits.replay_tags", limits.replay_tags, 1 << 28),
            ("limits.in_flight", limits.in_flight, 1 << 16),
            ("limits.headers", limits.headers, 1 << 12),
            ("limits.inbox_window", limits.inbox_window, 1 << 28),
        ] {
            if value == 0 || value > most {
                return Err(Fault::new(field, format!("is {value}"), format!("choose 1 to {most}")));
            }
        }
        if limits.inbox_messages > 1 << 30 || limits.inbox_bytes > 1 << 50 {
            let remedy = "choose at most 2^30 messages and 2^50 bytes";
            return Err(fault("limits.inbox_messages", "or limits.inbox_bytes is too large", remedy));
        }
        self.processing.check()?;
        if let Some(directory) = &self.directory {
            directory.check(&self.listen)?;
        }
        self.loops.check()?;
        if !(0.0..=1.0).contains(&self.faults.loss) {
            return Err(fault("faults.loss", "is not a probability", "choose 0.0 to 1.0"));
        }
        if self.broker.is_some() && limits.inbox_messages == 0 {
            let problem = "has nothing to hand over: limits.inbox_messages is 0";
            return Err(fault("broker", problem, "give the node an inbox, or leave the section out"));
        }
        self.readings.as_ref().map_or(Ok(()), ReadingsConfig::check)
    }
}

/// The text of a regular file: whoever put a pipe in its place would hold up each command.
fn text_of(path: &Path) -> std::io::Result<String> {
    std::io::read_to_string(motemix_os::store::file::open(path)?)
}
