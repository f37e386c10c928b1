//! One operation, run twice on the same inputs: once in the clear, once with its secrets marked.

use motemix_crypto::Secret;

use crate::marks;

/// An operation, and what it is to show.
pub struct Operation {
    pub name: &'static str,
    /// What is marked.
    pub secret: &'static str,
    pub expected: Expected,
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
}

/// One of the two runs.
pub struct Trial {
    marked: bool,
}

impl Trial {
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

/// Runs an operation. `Err` if the marks did not reach its outputs, or changed them: then valgrind's silence
/// would mean nothing.
pub fn run(operation: &Operation) -> Result<(), &'static str> {
    let expected = (operation.run)(&Trial { marked: false });
    let mut found = (operation.run)(&Trial { marked: true });
    let depends = marks::any_secret(&found);
    marks::mark_public(&mut found);
    if found != expected {
        return Err("its outputs differ when the secrets are marked");
    }
    if operation.expected == Expected::Secret && !depends {
        return Err("its outputs do not depend on the secret, so nothing was checked");
    }
    Ok(())
}
