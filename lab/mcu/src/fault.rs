//! Why code stopped that should have returned.

use std::fmt;

/// What went wrong, and where the core was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// Address of the instruction; 0 if none was running.
    pub address: u32,
    /// The function of the instruction, if the image names one, and its distance from the
    /// function's beginning.
    pub function: Option<(String, u32)>,
}

/// What an instruction did that the core or the model refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The core has no such instruction.
    #[error("undefined instruction {code:#06x}; was it built for another core?")]
    Undefined {
        /// The encoding, its first halfword in the upper half if it has two.
        code: u32,
    },
    /// Floating-point arithmetic: the model knows the registers of the unit, not what it
    /// calculates.
    #[error("floating-point arithmetic, which is not modelled; build without it")]
    FloatArithmetic,
    /// A load from where there is no memory.
    #[error("load from {address:#010x}, where there is neither flash nor RAM")]
    Load {
        /// Where.
        address: u32,
    },
    /// A store to where there is no memory.
    #[error("store to {address:#010x}, where there is no RAM")]
    Store {
        /// Where.
        address: u32,
    },
    /// A store to flash.
    #[error("store to {address:#010x}, which is flash")]
    ReadOnly {
        /// Where.
        address: u32,
    },
    /// An address that is not a multiple of the access's size, in an instruction or a core that
    /// demands it.
    #[error("access to {address:#010x}, which is not aligned")]
    Unaligned {
        /// Where.
        address: u32,
    },
    /// Execution of what is neither flash nor RAM.
    #[error("execution of {address:#010x}, where there is no code")]
    Execute {
        /// Where.
        address: u32,
    },
    /// A branch to an even address, which on other cores would leave the Thumb state.
    #[error("branch to {address:#010x}, an even address; Thumb code has odd ones")]
    NotThumb {
        /// Where.
        address: u32,
    },
    /// The stack has grown into the static data.
    #[error(
        "stack at {sp:#010x}, below the end of the static data at {floor:#010x}; the image needs more RAM"
    )]
    StackOverflow {
        /// The stack pointer.
        sp: u32,
        /// End of what may not be overwritten.
        floor: u32,
    },
    /// BKPT; abort functions end in one.
    #[error("breakpoint {number}")]
    Breakpoint {
        /// Its immediate.
        number: u32,
    },
    /// SVC; there is no system to call.
    #[error("supervisor call {number}, and no system to answer it")]
    SupervisorCall {
        /// Its immediate.
        number: u32,
    },
    /// A system register that is not modelled.
    #[error("system register {number}, which is not modelled")]
    SystemRegister {
        /// `SYSm` of the instruction.
        number: u32,
    },
    /// More instructions than [`crate::Machine::limit`] allows.
    #[error("{instructions} instructions without a return; a longer run needs a higher limit")]
    Limit {
        /// The limit.
        instructions: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        match &self.function {
            Some((name, offset)) => write!(f, ", at {:#010x} in {name}+{offset:#x}", self.address),
            None if self.address != 0 => write!(f, ", at {:#010x}", self.address),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
