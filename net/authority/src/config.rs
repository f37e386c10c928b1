//! The configuration file of an authority, `authority.toml`.
//!
//! ```toml
//! network = "orchard"
//! listen = "[::]:7000"            # HTTP: descriptors come in, documents go out
//! threshold = 2                   # more than half of the authorities
//! epoch_length = "1h"
//! ahead = 6                       # documents are signed so many epochs ahead
//! phase = "15s"                   # a round has five; clocks have to agree within one
//!
//! [[authority]]                   # all of them, this one too
//! key = "<64 hex digits>"
//! at = "192.0.2.1:7000"           # not of this one
//!
//! [parameters]                    # what all nodes agree on
//! profile = "host1k"
//! mean_delay = "1s"
//! ```
//!
//! Whatever goes into documents has to be the same at as many authorities as sign one:
//! `epoch_length` and `[parameters]`. `phase` has to be the same at all of them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use motemix_directory::{AuthorityKey, Draft, Epoch, Parameters, ProfileName, UnixTime, is_name};
use motemix_os::store::file;
use motemix_toml::{Fault, FileError};
use serde::{Deserialize, Serialize};

use crate::roster::Roster;

/// One authority's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AuthorityConfig {
    /// The network's name.
    pub network: String,
    /// Where descriptors are taken and documents are given, over HTTP.
    #[serde(with = "motemix_os::address::single")]
    pub listen: SocketAddr,
    /// How many authorities sign a document: more than half.
    pub threshold: u8,
    /// How long an epoch is: whole seconds.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub epoch_length: Duration,
    /// How many epochs ahead documents are signed.
    #[serde(default = "AuthorityConfig::usual_ahead")]
    pub ahead: u32,
    /// How long each of the five phases of a round is.
    #[serde(
        default = "AuthorityConfig::usual_phase",
        with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required"
    )]
    pub phase: Duration,
    /// All authorities, this one as well.
    #[serde(rename = "authority", default)]
    pub authorities: Vec<Peer>,
    /// What all nodes agree on.
    pub parameters: Agreed,
    /// The folder of the file.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// An authority, as the others know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its Ed25519 public key, 64 hex digits.
    pub key: String,
    /// Host and port of its HTTP service; nothing for this authority itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// The parameters of documents, each with its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Agreed {
    /// The packet profile: mote, mote5, host1k or host2k.
    pub profile: String,
    /// Fewest hops each way.
    pub min_hops: u8,
    /// Most hops each way.
    pub max_hops: u8,
    /// Mean of the delay at a mix.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub mean_delay: Duration,
    /// What a hop may take besides.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub hop_allowance: Duration,
    /// Tries for one message.
    pub transmissions: u8,
    /// Mean time between a node's loops; zero for none.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub loop_cover: Duration,
    /// Mean time between a node's drop cover; zero for none.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub drop_cover: Duration,
    /// Mean time between the ticks of a payload stream; zero for none.
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub payload_rate: Duration,
    /// Whether links between neighbours are protected.
    pub protected_links: bool,
}

impl Default for Agreed {
    fn default() -> Self {
        Self {
            profile: ProfileName::Host1k.as_str().to_owned(),
            min_hops: 3,
            max_hops: 5,
            mean_delay: Duration::from_millis(500),
            hop_allowance: Duration::from_millis(100),
            transmissions: 8,
            loop_cover: Duration::from_secs(10),
            drop_cover: Duration::from_secs(10),
            payload_rate: Duration::ZERO,
            protected_links: true,
        }
    }
}

/// The name of the file in its folder.
pub const FILE: &str = "authority.toml";

impl AuthorityConfig {
    /// A network of one authority, until others are named, with epochs of an hour.
    pub fn new(network: impl Into<String>, listen: SocketAddr, key: &AuthorityKey) -> Self {
        Self {
            network: network.into(),
            listen,
            threshold: 1,
            epoch_length: Duration::from_hours(1),
            ahead: Self::usual_ahead(),
            phase: Self::usual_phase(),
            authorities: vec![Peer { key: hex::encode(key.to_bytes()), at: None }],
            parameters: Agreed::default(),
            folder: PathBuf::new(),
        }
    }

    const fn usual_ahead() -> u32 {
        6
    }

    const fn usual_phase() -> Duration {
        Duration::from_secs(15)
    }

    /// Reads and checks the configuration in a folder.
    ///
    /// # Errors
    /// One line with file, line, field and remedy.
    pub fn load(folder: &Path) -> Result<Self, FileError> {
        let path = folder.join(FILE);
        let text = motemix_toml::text_of(&path)?;
        let mut config: Self = motemix_toml::parse(&path, &text)?;
        config.check().map_err(|fault| FileError::of_fault(&path, &text, fault))?;
        folder.clone_into(&mut config.folder);
        Ok(config)
    }

    /// Writes it into a folder.
    ///
    /// # Errors
    /// A value is out of range, or the file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), FileError> {
        let path = folder.join(FILE);
        let wrong = |fault| FileError::without_line(&path, fault);
        self.check().map_err(wrong)?;
        let text =
            toml::to_string(self).map_err(|error| wrong(Fault::new("", error.to_string(), "report this")))?;
        file::replace(&path, 0o644, text.as_bytes()).map_err(|error| {
            let problem = format!("cannot write it: {error}");
            wrong(Fault::new("", problem, "check the folder and its permissions"))
        })
    }

    fn check(&self) -> Result<(), Fault> {
        if !is_name(self.network.as_bytes()) {
            return Err(Fault::new("network", "is not 1 to 32 of a-z, 0-9 and '-'", "choose another name"));
        }
        if self.epoch_length.subsec_nanos() != 0 || self.epoch_length < Duration::from_secs(10) {
            return Err(Fault::new(
                "epoch_length",
                "is not whole seconds, ten or more",
                "for example \"1h\"",
            ));
        }
        // Nodes say that documents run out when two epochs are left, and tell sixty keys ahead at
        // least.
        if !(3..=48).contains(&self.ahead) {
            return Err(Fault::new("ahead", format!("is {}", self.ahead), "choose 3 to 48"));
        }
        let most = self.epoch_length / 8;
        if self.phase < Duration::from_millis(100) || self.phase > most {
            let problem = format!("is not 100ms to {}s, an eighth of an epoch", most.as_secs_f32());
            return Err(Fault::new("phase", problem, "a round has five phases; for example \"15s\""));
        }
        self.roster()?;
        let mut out = [0; motemix_directory::MAX_DRAFT_LEN];
        self.draft(Epoch(1))?
            .encode(&mut out)
            .map(drop)
            .map_err(|error| Fault::new("parameters", format!("are refused: {error}"), "correct them"))
    }

    /// All authorities, to check signatures by.
    ///
    /// # Errors
    /// A key is none, or they cannot run a network.
    pub fn roster(&self) -> Result<Roster, Fault> {
        let mut keys = Vec::new();
        for peer in &self.authorities {
            let mut key = [0; 32];
            let known = hex::decode_to_slice(&peer.key, &mut key).ok();
            let key = known.and_then(|()| AuthorityKey::from_bytes(&key).ok()).ok_or_else(|| {
                let problem = format!("{:?} is not an Ed25519 public key", peer.key);
                Fault::new("authority.key", problem, "copy the authority's public key again")
            })?;
            keys.push(key);
        }
        Roster::new(keys, self.threshold)
            .map_err(|error| Fault::new("threshold", format!("cannot be: {error}"), "correct it"))
    }

    /// All but the nodes of an epoch's document.
    ///
    /// # Errors
    /// The profile is none.
    pub fn draft(&self, epoch: Epoch) -> Result<Draft<'_>, Fault> {
        let agreed = &self.parameters;
        let profile: ProfileName = agreed.profile.parse().map_err(|_| {
            let problem = format!("is {:?}", agreed.profile);
            Fault::new("parameters.profile", problem, "choose mote, mote5, host1k or host2k")
        })?;
        let some = |mean: Duration| (!mean.is_zero()).then_some(mean);
        let mut parameters = Parameters::new(agreed.min_hops, agreed.max_hops);
        parameters.mean_delay = agreed.mean_delay;
        parameters.hop_allowance = agreed.hop_allowance;
        parameters.transmissions = agreed.transmissions;
        parameters.loop_mean = some(agreed.loop_cover);
        parameters.drop_mean = some(agreed.drop_cover);
        parameters.payload_mean = some(agreed.payload_rate);
        parameters.overlap = self.overlap();
        parameters.protected_links = agreed.protected_links;
        Ok(Draft {
            network_name: &self.network,
            epoch,
            valid_after: self.beginning(epoch),
            valid_until: self.beginning(Epoch(epoch.0 + 1)),
            profile,
            parameters,
        })
    }

    /// A quarter of an epoch, but an hour at most: packets under way at the boundary arrive.
    fn overlap(&self) -> Duration {
        Duration::from_secs((self.epoch_length.as_secs() / 4).clamp(1, 3600))
    }

    /// The first second of an epoch. They are counted from 1970 on.
    pub const fn beginning(&self, epoch: Epoch) -> UnixTime {
        UnixTime(epoch.0 as u64 * self.epoch_length.as_secs())
    }

    /// Until when descriptors may be issued that are here now: clocks differ by less than an epoch.
    pub const fn latest_issue(&self, now: UnixTime) -> UnixTime {
        UnixTime(now.0.saturating_add(self.epoch_length.as_secs()))
    }

    /// The epoch of a moment.
    pub fn epoch_at(&self, now: UnixTime) -> Epoch {
        Epoch(u32::try_from(now.0 / self.epoch_length.as_secs()).unwrap_or(u32::MAX - 1))
    }
}
