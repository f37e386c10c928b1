//! How a node is: well, starting, well with a warning, or failing; each with its reason and what to
//! do about it.
//!
//! One value says it, and everything that is told to people is made of that value: `/healthz`,
//! `motemix net status`, the control socket, a gauge for each concern, and one log line when a
//! state begins or ends.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing is to be done.
    #[default]
    Ok,
    /// It does not do all of its work yet, and begins by itself: nothing is to be done.
    Starting,
    /// It works, and will stop working if nothing is done.
    Warning,
    /// Something that the node is there for does not work now.
    Failing,
}

impl State {
    /// As it is written in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Starting => "starting",
            Self::Warning => "warning",
            Self::Failing => "failing",
        }
    }

    /// As metrics have it: the more, the worse, and nothing above 0 while nothing is to be done.
    pub const fn figure(self) -> i64 {
        match self {
            Self::Starting => -1,
            Self::Ok => 0,
            Self::Warning => 1,
            Self::Failing => 2,
        }
    }
}

/// What a reason is about. A node has at most one reason for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Concern {
    /// The network documents run out, or none is in force.
    Documents,
    /// The replay filter is full, or will be before its epoch ends.
    ReplayFilter,
    /// The disk is full or refuses.
    Disk,
    /// The inbox has reached its quota.
    Inbox,
    /// The memory of received messages has no room.
    Window,
    /// The clocks of this machine disagree.
    Clock,
    /// File descriptors are short.
    Descriptors,
    /// Nothing comes back from the network, or more comes than can be read.
    Link,
    /// The network has no path for cover of this node.
    Cover,
    /// What has arrived is not handed to the broker.
    Broker,
    /// Loops do not come back as they should.
    Loops,
    /// What the node is to measure and send cannot be measured.
    Readings,
}

impl Concern {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 12] = [
        Self::Documents,
        Self::ReplayFilter,
        Self::Disk,
        Self::Inbox,
        Self::Window,
        Self::Clock,
        Self::Descriptors,
        Self::Link,
        Self::Cover,
        Self::Broker,
        Self::Loops,
        Self::Readings,
    ];

    /// For messages and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::ReplayFilter => "replay-filter",
            Self::Disk => "disk",
            Self::Inbox => "inbox",
            Self::Window => "window",
            Self::Clock => "clock",
            Self::Descriptors => "descriptors",
            Self::Link => "link",
            Self::Cover => "cover",
            Self::Broker => "broker",
            Self::Loops => "loops",
            Self::Readings => "readings",
        }
    }
}

/// Why a node is not simply well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What it is about.
    pub concern: Concern,
    /// How bad it is: never [`State::Ok`].
    pub state: State,
    /// One line: what is wrong, and what to do.
    pub words: String,
}

impl Reason {
    /// Something does not work now.
    pub fn failing(concern: Concern, words: impl Into<String>) -> Self {
        Self { concern, state: State::Failing, words: words.into() }
    }

    /// Something is about to begin.
    pub fn starting(concern: Concern, words: impl Into<String>) -> Self {
        Self { concern, state: State::Starting, words: words.into() }
    }

    /// Something will stop working.
    pub fn warning(concern: Concern, words: impl Into<String>) -> Self {
        Self { concern, state: State::Warning, words: words.into() }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.state.name(), self.concern.name(), self.words)
    }
}

/// How a node is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Health {
    /// The worst of the reasons.
    pub state: State,
    /// The worst first; none if all is well.
    pub reasons: Vec<Reason>,
}

impl Health {
    /// The health of a node before it does its work.
    pub fn beginning(words: &str) -> Self {
        Self::of(vec![Reason::starting(Concern::Documents, words)])
    }

    /// The state that all reasons together make.
    pub fn of(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| (std::cmp::Reverse(reason.state), reason.concern));
        Self { state: reasons.first().map_or(State::Ok, |worst| worst.state), reasons }
    }

    /// The state of one concern.
    pub fn of_concern(&self, concern: Concern) -> State {
        let found = self.reasons.iter().find(|reason| reason.concern == concern);
        found.map_or(State::Ok, |reason| reason.state)
    }

    /// `ok`, or a line for each reason; ends with a line feed.
    pub fn text(&self) -> String {
        if self.reasons.is_empty() {
            return "ok\n".to_owned();
        }
        let lines: Vec<_> = self.reasons.iter().map(ToString::to_string).collect();
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_is_the_state_and_comes_first() {
        let health = Health::of(vec![
            Reason::warning(Concern::Documents, "they end soon"),
            Reason::failing(Concern::Disk, "it is full"),
        ]);
        assert_eq!(health.state, State::Failing);
        assert_eq!(health.text(), "failing: disk: it is full\nwarning: documents: they end soon\n");
        assert_eq!(health.of_concern(Concern::Documents), State::Warning);
        assert_eq!(health.of_concern(Concern::Inbox), State::Ok);
        let health = Health::of(vec![
            Reason::starting(Concern::Documents, "the first one is awaited"),
            Reason::warning(Concern::Disk, "it is nearly full"),
        ]);
        assert_eq!(health.state, State::Warning);
        let states = [State::Starting, State::Ok, State::Warning, State::Failing];
        assert_eq!(states.map(State::figure), [-1, 0, 1, 2], "no alert is about a start");
        assert_eq!(Health::of(Vec::new()).text(), "ok\n");
    }
}
