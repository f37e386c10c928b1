//! The authorities of a network, as each of them knows the others.

use motemix_directory::{Authorities, AuthoritiesError, AuthorityKey, KeyId, MAX_SIGNATURES};

/// Which authorities there are, and how many of them make a document.
#[derive(Debug, Clone)]
pub struct Roster {
    keys: Vec<AuthorityKey>,
    threshold: u8,
}

impl Roster {
    /// `threshold` of `keys` sign a document.
    ///
    /// # Errors
    /// A key is there twice, there are more than 16, or the threshold is not more than half of
    /// them: two documents could be signed for one epoch then, without anybody's fault.
    pub fn new(keys: Vec<AuthorityKey>, threshold: u8) -> Result<Self, RosterError> {
        Authorities::new(&keys, threshold)?;
        if usize::from(threshold) * 2 <= keys.len() {
            let least = keys.len() / 2 + 1;
            return Err(RosterError::Minority { threshold, authorities: keys.len(), least });
        }
        Ok(Self { keys, threshold })
    }

    /// How many must sign.
    pub const fn threshold(&self) -> u8 {
        self.threshold
    }

    /// How many authorities there are, 1 to [`MAX_SIGNATURES`].
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub const fn len(&self) -> usize {
        debug_assert!(self.keys.len() <= MAX_SIGNATURES);
        self.keys.len()
    }

    /// Their keys.
    pub fn keys(&self) -> &[AuthorityKey] {
        &self.keys
    }

    /// The key that an id names.
    pub fn find(&self, id: KeyId) -> Option<&AuthorityKey> {
        self.keys.iter().find(|key| key.id() == id)
    }

    /// So many votes for a thing have one of an authority that does not lie, if fewer lie than two
    /// documents would take.
    pub fn honest(&self) -> usize {
        self.keys.len() + 1 - usize::from(self.threshold)
    }

    /// What checks signatures of documents.
    ///
    /// # Errors
    /// Never: it was checked when it was made.
    pub fn authorities(&self) -> Result<Authorities<'_>, AuthoritiesError> {
        Authorities::new(&self.keys, self.threshold)
    }
}

/// Authorities that cannot run a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RosterError {
    /// The keys or the threshold.
    #[error(transparent)]
    Keys(#[from] AuthoritiesError),
    /// Two groups that have nobody in common could each sign a document.
    #[error("threshold {threshold} of {authorities} is not more than half; use {least} or more")]
    Minority {
        /// The threshold.
        threshold: u8,
        /// How many authorities there are.
        authorities: usize,
        /// The least threshold for them.
        least: usize,
    },
}
