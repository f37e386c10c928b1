//! What a broker has counted since it started, by name.

use motemix_coap::oscore;
use motemix_coap::oscore::edhoc;

/// Connections over TCP, WebSockets and the socket of this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connections {
    /// Connections that were taken.
    pub opened: u64,
    /// Connections beyond what all, or one network, may have.
    pub refused: u64,
    /// Connections that the broker ended: whoever was there broke the protocol, or was silent.
    pub aborted: u64,
    /// WebSockets that a page of somebody else wanted.
    pub foreign: u64,
    /// Connections now.
    pub open: u64,
    /// Connections that there may be at a time; fewer than 4,096 if the system gives fewer files.
    pub places: u64,
    /// Connections that were not answered for a while: they, others of their network, or all
    /// together had not taken as much as may wait.
    pub held_back: u64,
    /// Bytes of memory that wait until somebody takes them now.
    pub waiting: u64,
}

/// All that is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// What the broker did and refused, and its directory.
    pub broker: crate::Counters,
    /// Observations now.
    pub observers: u64,
    /// Registrations that wait for the links of their devices now.
    pub fetching: u64,
    /// Over UDP.
    pub datagrams: motemix_coap::Counters,
    /// Over connections.
    pub connections: Connections,
    /// In the store.
    pub store: crate::store::Counters,
    /// Under OSCORE; nothing without keys.
    pub oscore: Option<(oscore::Counters, edhoc::Counters)>,
}

/// Names and numbers.
pub type Group = Vec<(&'static str, u64)>;

impl Statistics {
    /// All, with the names that documents call them by: a group and a name in it.
    pub fn groups(&self) -> Vec<(&'static str, Group)> {
        let mut broker: Group = self.broker.iter().collect();
        broker.extend([("observers", self.observers), ("fetching", self.fetching)]);
        let mut groups = vec![
            ("broker", broker),
            ("directory", self.broker.directory.iter().collect()),
            ("datagrams", datagrams(&self.datagrams)),
            ("connections", connections(&self.connections)),
            ("store", self.store.iter().collect()),
        ];
        if let Some((contexts, handshakes)) = &self.oscore {
            groups.push(("oscore", of_contexts(contexts)));
            groups.push(("edhoc", of_handshakes(handshakes)));
        }
        groups
    }
}

fn datagrams(counters: &motemix_coap::Counters) -> Group {
    vec![
        ("received", counters.received),
        ("sent", counters.sent),
        ("requests", counters.requests),
        ("malformed", counters.malformed),
        ("duplicates", counters.duplicates),
        ("unexpected", counters.unexpected),
        ("busy", counters.busy),
        ("refused", counters.refused),
        ("unproven", counters.unproven),
        ("repeated", counters.repeated),
        ("given_up", counters.given_up),
        ("coalesced", counters.coalesced),
        ("held_back", counters.held_back),
    ]
}

fn connections(counters: &Connections) -> Group {
    let Connections { opened, refused, aborted, foreign, open, places, held_back, waiting } = *counters;
    vec![
        ("opened", opened),
        ("refused", refused),
        ("aborted", aborted),
        ("foreign", foreign),
        ("open", open),
        ("places", places),
        ("held_back", held_back),
        ("waiting", waiting),
    ]
}

fn of_contexts(counters: &oscore::Counters) -> Group {
    vec![
        ("malformed", counters.malformed),
        ("unknown_context", counters.unknown_context),
        ("replayed", counters.replayed),
        ("altered", counters.altered),
        ("asked_for_echo", counters.asked_for_echo),
        ("unprotected", counters.unprotected),
        ("without_number", counters.without_number),
        ("full", counters.full),
        ("replaced", counters.replaced),
        ("expired", counters.expired),
        ("renewed", counters.renewed),
    ]
}

fn of_handshakes(counters: &edhoc::Counters) -> Group {
    vec![
        ("completed", counters.completed),
        ("refused", counters.refused),
        ("asked_for_address", counters.asked_for_address),
        ("begun", counters.begun),
        ("busy", counters.busy),
        ("given_up", counters.given_up),
    ]
}
