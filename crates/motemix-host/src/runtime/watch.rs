//! Tells how the node is, and says so in the log: one line when a state begins, one when it ends.

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
                if reason.state == State::Failing {
                    tracing::error!("{}: {}", reason.concern.name(), reason.words);
                } else {
                    tracing::warn!("{}: {}", reason.concern.name(), reason.words);
                }
            }
        }
        for said in &self.said {
            match health.of_concern(said.concern) {
                State::Ok => tracing::warn!("{}: well again", said.concern.name()),
                State::Warning if said.state == State::Failing => {
                    tracing::warn!("{}: no longer failing", said.concern.name());
                }
                _ => {}
            }
        }
        self.said.clone_from(&health.reasons);
        health
    }
}
