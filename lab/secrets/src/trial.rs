//! One operation, run twice on the same inputs: once in the clear, once with its secrets marked. An
//! operation with variants does so for each, and must do with each as much as with any other.

use std::fmt;

use motemix_crypto::Secret;

use crate::marks;

/// An operation, and what it is to show.
pub struct Operation {
    pub name: &'static str,
    /// What is marked.
    pub secret: &'static str,
    pub expected: Expected,
    /// How many inputs it is run with, numbered from 0. They differ in their secrets alone, or in
    /// where a comparison fails, and have one outcome: so the same branches on what is
    /// disclosed must be taken, equally often. A comparison that ends early takes more of them
    /// the later it fails.
    pub variants: usize,
    /// Runs it, and gives its outputs, one after the other.
    pub run: fn(&Trial) -> Vec<u8>,
}

/// What must be seen when an operation runs on marked secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// No leak, and outputs that depend on the secret.
    Secret,
    /// No leak, and outputs that say only what is disclosed: that a packet was refused.
    Disclosed,
    /// A leak, on purpose. If valgrind saw nothing here, its silence elsewhere would mean nothing.
    Leak,
    /// Variants that are told apart by how often a disclosed branch is taken, on purpose.
    Uneven,
}

/// One of the runs.
pub struct Trial {
    marked: bool,
    variant: usize,
}

impl Trial {
    /// The number of this variant.
    pub fn variant(&self) -> usize {
        self.variant
    }

    /// A secret of this operation.
    pub fn secret<const N: usize>(&self, bytes: [u8; N]) -> Secret<N> {
        let mut secret = Secret::new(bytes);
        self.mark(secret.expose_mut());
        secret
    }

    /// Marks bytes that an observer must not learn.
    pub fn mark(&self, bytes: &mut [u8]) {
        if self.marked {
            marks::mark_secret(bytes);
        }
    }
}

/// Why a run is not as it must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Complaint {
    /// Valgrind's silence would mean nothing.
    Void(&'static str),
    /// The marks did not reach the outputs: nothing was checked, or a branch or an address took
    /// them off.
    Unmarked,
    /// The variant whose branches were taken more or less often than those of the first.
    Uneven { variant: usize, first: u32, this: u32 },
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void(what) => f.write_str(what),
            Self::Unmarked => f.write_str("its outputs do not depend on the secret, so nothing was checked"),
            Self::Uneven { variant, first, this } => write!(
                f,
                "the branches that depend on the secret tell inputs with one outcome apart: {this} of them with \
                 variant {variant}, {first} with the first"
            ),
        }
    }
}

/// Runs an operation with all its variants.
///
/// # Errors
/// The marks did not reach the outputs, or changed them; or the variants are not treated alike.
pub fn run(operation: &Operation) -> Result<(), Complaint> {
    let mut first = None;
    for variant in 0..operation.variants {
        let expected = (operation.run)(&Trial { marked: false, variant });
        let before = marks::dependences();
        let mut found = (operation.run)(&Trial { marked: true, variant });
        let this = marks::dependences() - before;
        let depends = marks::any_secret(&found);
        marks::mark_public(&mut found);
        if found != expected {
            return Err(Complaint::Void("its outputs differ when the secrets are marked"));
        }
        if operation.expected == Expected::Secret && !depends {
            return Err(Complaint::Unmarked);
        }
        let first = *first.get_or_insert(this);
        if this != first {
            return Err(Complaint::Uneven { variant, first, this });
        }
    }
    Ok(())
}
