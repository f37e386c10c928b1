//! `motemix.toml` in a node's folder: what motemix wants to know and the originals do not.
//!
//! ```toml
//! profile = "ucl-2017"
//!
//! [mailboxes]                  # of a provider
//! packets_per_user = 10_000
//! bytes = 1_073_741_824        # of all users together
//!
//! [originals]                  # what a provider does for their clients
//! start_s = 20                 # until pulls of a user are answered who was not there before
//!
//! [replay]                     # how many packets a node remembers, so that none passes twice
//! packets_per_second = 20
//! key_days = 30
//! ```

use super::{Config, FileError, disk, names, wrong};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// The longest file that is read, in bytes.
const LONGEST: usize = 1 << 12;

const HEADING: &str = "# For motemix; the original Loopix does not read this file.\n";

/// Which Loopix a network speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Profile {
    /// The Python nodes of 2017.
    #[default]
    #[serde(rename = "ucl-2017")]
    Ucl2017,
    /// Their fork of 2018: dummies are packets, types stand in the routing commands, providers may
    /// push.
    #[serde(rename = "fork-2018")]
    Fork2018,
    /// Not for the originals: what is weak in their format is mended.
    Hardened,
}

impl Profile {
    /// As it stands in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ucl2017 => "ucl-2017",
            Self::Fork2018 => "fork-2018",
            Self::Hardened => "hardened",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The file. If it is missing, the folder was made for the originals; see [`Settings::of_node`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// Which Loopix the node speaks.
    pub profile: Profile,
    /// How much a provider keeps.
    #[serde(default)]
    pub mailboxes: MailboxLimits,
    /// How many packets a node remembers.
    #[serde(default)]
    pub replay: ReplayLimits,
    /// What a provider does for clients of the originals.
    #[serde(default)]
    pub originals: Originals,
}

/// What a provider does for clients of the originals. In the hardened profile there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Originals {
    /// Seconds until pulls of a user are answered who has just subscribed. A client of the
    /// originals looks at nothing in the first 20 seconds after its start, and deletes most of it
    /// then. A network without such clients needs no pause.
    pub start_s: u32,
}

impl Default for Originals {
    fn default() -> Self {
        Self { start_s: 20 }
    }
}

/// How many packets a node remembers: those of the life of a key. A tag takes less than five bytes
/// of memory, when it is there, and eight on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ReplayLimits {
    /// Packets that arrive each second, in the mean.
    pub packets_per_second: u32,
    /// Days until the node's key is renewed.
    pub key_days: u32,
}

impl Default for ReplayLimits {
    fn default() -> Self {
        Self { packets_per_second: 20, key_days: 30 }
    }
}

impl ReplayLimits {
    /// So many packets a second, for as many days as a key serves.
    pub const fn new(packets_per_second: u32, key_days: u32) -> Self {
        Self { packets_per_second, key_days }
    }

    /// The most that is kept, whatever the file says: five gigabytes of memory.
    const MOST: u64 = 1 << 30;

    /// Tags for that rate and that time.
    pub fn tags(&self) -> usize {
        let seconds = u64::from(self.key_days) * 24 * 3600;
        let tags = u64::from(self.packets_per_second).saturating_mul(seconds);
        usize::try_from(tags.min(Self::MOST)).unwrap_or(usize::MAX)
    }
}

/// How much mail a provider keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MailboxLimits {
    /// Packets for one user.
    pub packets_per_user: u64,
    /// Packets of all users together, in bytes.
    pub bytes: u64,
}

impl MailboxLimits {
    /// So many packets for one user, and so many bytes of packets of all users together.
    pub const fn new(packets_per_user: u64, bytes: u64) -> Self {
        Self { packets_per_user, bytes }
    }
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self::new(10_000, 1 << 30)
    }
}

impl Settings {
    /// The usual limits, in this profile.
    pub fn of(profile: Profile) -> Self {
        Self { profile, ..Self::default() }
    }

    /// Reads the file of the node in `dir`, if it is there; else a folder that was made for the
    /// originals speaks as its `config.json` says.
    ///
    /// # Errors
    /// It cannot be read, or has an unknown, missing or ill-typed field.
    pub fn of_node(dir: &Path, config: &Config) -> Result<Self, FileError> {
        let told = Self::load(&dir.join(names::SETTINGS))?;
        Ok(told.unwrap_or_else(|| Self { profile: config.profile(), ..Self::default() }))
    }

    /// Reads the file; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, or has an unknown, missing or ill-typed field.
    pub fn load(path: &Path) -> Result<Option<Self>, FileError> {
        if !path.exists() {
            return Ok(None);
        }
        let bytes = disk::read(path, LONGEST)?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| wrong(path, "", "is not UTF-8", "write it again"))?;
        motemix_toml::parse(path, text).map(Some)
    }

    /// Writes the file in place of what is there.
    ///
    /// # Errors
    /// The system refuses.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        let text =
            toml::to_string(self).map_err(|error| wrong(path, "", error.to_string(), "report this"))?;
        disk::replace(path, disk::PUBLIC, (HEADING.to_owned() + &text).as_bytes())
    }
}
