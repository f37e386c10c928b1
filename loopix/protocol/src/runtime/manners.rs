//! Notices that others speak another profile than this node, or that a client's provider is silent,
//! and says so once.
//!
//! Packets, commands and PULL of the originals' two profiles look the same. What tells them apart:
//!
//! | seen by | `ucl-2017` | `fork-2018` |
//! |---|---|---|
//! | whoever reads `config.json` | no `PUSH_MESSAGES` | `PUSH_MESSAGES`, true or false |
//! | a provider | SUBSCRIBE of four fields | SUBSCRIBE of five, with the user's key |
//! | a client | DUMMY in the clear | dummies in packets, or none |
//!
//! A mix sees nothing of it, and need not: it does the same in both.

use super::event::Event;
use crate::files::{Profile, Role};
use crate::role::Counters;

/// Pulls without any answer after which a client says so. The originals are silent for twenty
/// seconds after their start.
const PATIENCE: u64 = 6;

/// As many dummies of another profile come until a client says so.
const DUMMIES: u64 = 10;

/// What this node speaks, and what it has said about others.
#[derive(Debug)]
pub(super) struct Manners {
    runs: Profile,
    role: Role,
    has_told: bool,
    is_unanswered: bool,
}

impl Manners {
    pub(super) const fn new(runs: Profile, role: Role) -> Self {
        Self { runs, role, has_told: false, is_unanswered: false }
    }

    /// Looks at what was counted. What there is to say is logged with its remedy; names stay out of
    /// the log.
    pub(super) fn look(&mut self, counters: &Counters) -> Option<Event> {
        self.look_at_pulls(counters.pulls_unanswered).or_else(|| self.look_at_profiles(counters))
    }

    fn look_at_profiles(&mut self, counters: &Counters) -> Option<Event> {
        // Anybody can send a client a dummy. One is no sign of what its provider speaks.
        let enough = if self.role == Role::Client { DUMMIES } else { 1 };
        if self.has_told || counters.other_profile < enough {
            return None;
        }
        self.has_told = true;
        let runs = self.runs;
        let heard = if runs == Profile::Ucl2017 { Profile::Fork2018 } else { Profile::Ucl2017 };
        let effect = match (self.role, heard) {
            (Role::Client, _) => format!("somebody, most likely the provider, sends dummies of {heard}"),
            (_, Profile::Fork2018) => {
                format!(
                    "a user subscribes as clients of {heard} do; it gets their dummies, and no pushed mail"
                )
            }
            _ => format!("a user subscribes as clients of {heard} do, and will take dummies for messages"),
        };
        tracing::warn!(
            "{effect}, but this node runs as {runs}; if the network is one of {heard}, start it with \
             --profile {heard} or write profile = \"{heard}\" into motemix.toml"
        );
        Some(Event::OtherProfile { runs, heard })
    }

    fn look_at_pulls(&mut self, unanswered: u64) -> Option<Event> {
        let was_unanswered = std::mem::replace(&mut self.is_unanswered, unanswered >= PATIENCE);
        match (was_unanswered, self.is_unanswered) {
            (false, true) => {
                tracing::warn!(
                    "nothing came for {unanswered} pulls: the provider does not run, cannot reach this client, \
                     or speaks another profile than {}",
                    self.runs
                );
                Some(Event::ProviderSilent { unanswered })
            }
            (true, false) => {
                tracing::info!("the provider answers again");
                Some(Event::ProviderAnswers)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_profile_is_said_once() {
        let mut manners = Manners::new(Profile::Ucl2017, Role::Provider);
        let mut counters = Counters::default();
        assert_eq!(manners.look(&counters), None);
        counters.other_profile = 1;
        let said = Event::OtherProfile { runs: Profile::Ucl2017, heard: Profile::Fork2018 };
        assert_eq!(manners.look(&counters), Some(said));
        counters.other_profile = 2;
        assert_eq!(manners.look(&counters), None);
    }

    #[test]
    fn a_stranger_s_dummy_tells_a_client_nothing_about_its_provider() {
        let mut manners = Manners::new(Profile::Fork2018, Role::Client);
        let mut look = |other_profile| manners.look(&Counters { other_profile, ..Counters::default() });
        assert_eq!(look(1), None);
        let said = Event::OtherProfile { runs: Profile::Fork2018, heard: Profile::Ucl2017 };
        assert_eq!(look(DUMMIES), Some(said));
    }

    #[test]
    fn a_provider_that_falls_silent_is_told_once_and_that_it_is_back_as_well() {
        let mut manners = Manners::new(Profile::Hardened, Role::Client);
        let mut look = |pulls_unanswered| manners.look(&Counters { pulls_unanswered, ..Counters::default() });
        assert_eq!(look(PATIENCE - 1), None);
        assert_eq!(look(PATIENCE), Some(Event::ProviderSilent { unanswered: PATIENCE }));
        assert_eq!(look(PATIENCE + 1), None);
        assert_eq!(look(0), Some(Event::ProviderAnswers));
        assert_eq!(look(1), None);
    }
}
