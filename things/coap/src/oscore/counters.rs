//! What happened to messages and contexts, counted.

use super::exchange::Unopened;

/// What happened, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Messages whose OSCORE option or plaintext is none.
    pub malformed: u64,
    /// Requests for a context that is not here.
    pub unknown_context: u64,
    /// Requests and notifications that were seen before, or are too old to tell.
    pub replayed: u64,
    /// Messages that were altered or are under other keys.
    pub altered: u64,
    /// Requests that were asked for an Echo, because what came before a restart is forgotten.
    pub asked_for_echo: u64,
    /// Responses without protection to protected requests.
    pub unprotected: u64,
    /// Messages that were not sent for want of a number.
    pub without_number: u64,
    /// Contexts that were not taken up for want of a place.
    pub full: u64,
    /// Contexts that made room for others.
    pub replaced: u64,
    /// Contexts that were over.
    pub expired: u64,
    /// Contexts that were made anew for those who had lost them.
    pub renewed: u64,
}

impl Counters {
    pub(super) const NONE: Self = Self {
        malformed: 0,
        unknown_context: 0,
        replayed: 0,
        altered: 0,
        asked_for_echo: 0,
        unprotected: 0,
        without_number: 0,
        full: 0,
        replaced: 0,
        expired: 0,
        renewed: 0,
    };

    pub(super) const fn count(&mut self, rejected: &Unopened) {
        let counter = match rejected {
            Unopened::Malformed => &mut self.malformed,
            Unopened::UnknownContext => &mut self.unknown_context,
            Unopened::Replayed => &mut self.replayed,
            Unopened::Altered => &mut self.altered,
            Unopened::Forgotten(_) => &mut self.asked_for_echo,
            Unopened::Unprotected => &mut self.unprotected,
            Unopened::NoNumber(_) => &mut self.without_number,
            Unopened::Renewed(_) => &mut self.renewed,
        };
        *counter += 1;
    }
}
