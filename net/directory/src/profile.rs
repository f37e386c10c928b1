//! The names of the packet profiles.

use core::fmt;
use core::str::FromStr;

use motemix_sphinx::{Geometry, HOST1K, HOST2K, MOTE, MOTE5};

/// Which packet profile a network uses. `docs/spec/packet.md` gives the lengths of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ProfileName {
    /// 280-byte packets, three hops each way.
    Mote,
    /// 376-byte packets, five hops each way.
    Mote5,
    /// 1273-byte packets, five hops each way.
    Host1k,
    /// 2297-byte packets, five hops each way.
    Host2k,
}

impl ProfileName {
    const ALL: [Self; 4] = [Self::Mote, Self::Mote5, Self::Host1k, Self::Host2k];

    /// The greatest number of hops each way: transmissions from sender to receiver.
    pub const fn max_hops(self) -> u8 {
        match self {
            Self::Mote => 3,
            Self::Mote5 | Self::Host1k | Self::Host2k => 5,
        }
    }

    /// The lengths of its packets.
    pub const fn geometry(self) -> Geometry {
        match self {
            Self::Mote => MOTE,
            Self::Mote5 => MOTE5,
            Self::Host1k => HOST1K,
            Self::Host2k => HOST2K,
        }
    }

    /// The name in configuration files: `mote`, `mote5`, `host1k` or `host2k`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mote => "mote",
            Self::Mote5 => "mote5",
            Self::Host1k => "host1k",
            Self::Host2k => "host2k",
        }
    }

    /// The number on the wire.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Mote => 0,
            Self::Mote5 => 1,
            Self::Host1k => 2,
            Self::Host2k => 3,
        }
    }

    pub(crate) fn from_code(code: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| u64::from(profile.code()) == code)
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ProfileName {
    type Err = UnknownProfile;

    /// Exactly one of the four names, in lower case; [`UnknownProfile`] otherwise.
    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == name).ok_or(UnknownProfile)
    }
}

/// The text names no profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownProfile;

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown profile: use mote, mote5, host1k or host2k")
    }
}

impl core::error::Error for UnknownProfile {}
