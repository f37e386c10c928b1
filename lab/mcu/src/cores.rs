//! Which core runs the code.

use std::fmt;
use std::str::FromStr;

/// A core of ARM's Cortex-M series, with the revision whose Technical Reference Manual the cycles
/// are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Core {
    /// Cortex-M0+ r0p1: ARMv6-M. Written `m0p`.
    M0Plus,
    /// Cortex-M3 r2p1: ARMv7-M. Written `m3`.
    M3,
    /// Cortex-M4 r0p1: ARMv7E-M, with the registers of the single-precision unit. Written `m4`.
    M4,
}

impl Core {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::M0Plus, Self::M3, Self::M4];

    /// Whether it has the instructions of ARMv7-M: 32-bit encodings, IT, long multiplication,
    /// division.
    pub(crate) fn is_v7(self) -> bool {
        self != Self::M0Plus
    }

    /// Whether it has the DSP instructions of ARMv7E-M.
    pub(crate) fn is_v7e(self) -> bool {
        self == Self::M4
    }
}

impl fmt::Display for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::M0Plus => "m0p",
            Self::M3 => "m3",
            Self::M4 => "m4",
        })
    }
}

/// The name of a core that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no core `{0}`; the cores are m0p, m3 and m4")]
pub struct UnknownCore(String);

impl FromStr for Core {
    type Err = UnknownCore;

    fn from_str(name: &str) -> Result<Self, UnknownCore> {
        Self::ALL
            .into_iter()
            .find(|core| core.to_string() == name)
            .ok_or_else(|| UnknownCore(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for core in Core::ALL {
            assert_eq!(core.to_string().parse(), Ok(core));
        }
        assert_eq!("m7".parse::<Core>(), Err(UnknownCore("m7".into())));
    }
}
