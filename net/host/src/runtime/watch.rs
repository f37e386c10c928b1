//! Tells how the node is, and says so in the log: one line when a state begins, one when it ends.
//! Only what somebody has to see to is a warning or an error.

use crate::health::{Health, Reason, State};

/// What has been said.
#[derive(Debug, Default)]
pub(super) struct Watch {
    said: Vec<Reason>,
}

impl Watch {
    /// Compares the reasons of this moment with those of the last, and logs what has changed. A
    /// line is told by concern and state: words that count down are not said again.
    pub(super) fn tell(&mut self, reasons: Vec<Reason>) -> Health {
        let health = Health::of(reasons);
        let same = |one: &Reason, other: &Reason| (one.concern, one.state) == (other.concern, other.state);
        for reason in &health.reasons {
            if !self.said.iter().any(|said| same(said, reason)) {
                let (concern, words) = (reason.concern.name(), &reason.words);
                match reason.state {
                    State::Failing => tracing::error!("{concern}: {words}"),
                    State::Warning => tracing::warn!("{concern}: {words}"),
                    State::Starting | State::Ok => tracing::info!("{concern}: {words}"),
                }
            }
        }
        for said in &self.said {
            match health.of_concern(said.concern) {
                // It was not unwell, and what it does now is told elsewhere.
                _ if said.state == State::Starting => {}
                State::Ok => tracing::info!("{}: well again", said.concern.name()),
                State::Warning if said.state == State::Failing => {
                    tracing::info!("{}: no longer failing", said.concern.name());
                }
                _ => {}
            }
        }
        self.said.clone_from(&health.reasons);
        health
    }
}
