//! `motemix.toml` in a node's folder: what motemix wants to know and the originals do not.
//!
//! ```toml
//! profile = "ucl-2017"
//!
//! [mailboxes]                  # of a provider
//! packets_per_user = 10_000
//! bytes = 1_073_741_824        # of all users together
//! ```

use super::{FileError, disk, wrong};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// The longest file that is read, in bytes.
const LONGEST: usize = 1 << 12;

const HEADING: &str = "# For motemix; the original Loopix does not read this file.\n";

/// Which Loopix a network speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The Python nodes of 2017.
    #[default]
    #[serde(rename = "ucl-2017")]
    Ucl2017,
    /// Their fork of 2018: dummies are packets, types stand in the routing commands, providers may push.
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

/// The file. One that is missing says what [`Settings::default`] says: the folder was made for the originals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Which Loopix the node speaks.
    pub profile: Profile,
    /// How much a provider keeps.
    #[serde(default)]
    pub mailboxes: MailboxLimits,
}

/// How much mail a provider keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailboxLimits {
    /// Packets for one user.
    pub packets_per_user: u64,
    /// Packets of all users together, in bytes.
    pub bytes: u64,
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self { packets_per_user: 10_000, bytes: 1 << 30 }
    }
}

impl Settings {
    /// Reads the file, if it is there.
    ///
    /// # Errors
    /// It cannot be read, or has an unknown, missing or ill-typed field.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let bytes = disk::read(path, LONGEST)?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| wrong(path, "", "is not UTF-8", "write it again"))?;
        motemix_toml::parse(path, text)
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
