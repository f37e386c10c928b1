//! Where the stream is.

use std::time::Duration;

/// The servers, the stream's name, and how it is kept.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Names the stream and its subjects: letters, digits, `-` and `_`.
    pub name: String,
    /// Servers of one cluster, `host:port`; one that answers is enough.
    pub servers: Vec<String>,
    /// How many servers keep a stream that is made: 1, 3 or 5.
    pub replicas: usize,
    /// Messages between two snapshots.
    pub snapshot_every: u64,
    /// How long a commit may take, while a cluster chooses another leader.
    pub patience: Duration,
    /// How long servers may take to listen when a store is opened, then to have the stream, and to
    /// acknowledge and say what is in it then, at least `patience` each. A cluster that has just
    /// begun takes no stream until its leader heard from each server that is to have it; they tell
    /// it after 250 ms, and after twice as long each time, up to 30 s.
    pub start: Duration,
    /// A random number: makes names of batches that no other broker has.
    pub batch_seed: u64,
}

impl Settings {
    /// Three replicas if there are three servers or more, one otherwise. `batch_seed` is a random
    /// number.
    pub fn new<S: Into<String>>(name: &str, servers: impl IntoIterator<Item = S>, batch_seed: u64) -> Self {
        let servers: Vec<String> = servers.into_iter().map(Into::into).collect();
        Self {
            name: name.to_owned(),
            replicas: if servers.len() >= 3 { 3 } else { 1 },
            servers,
            snapshot_every: 10_000,
            patience: Duration::from_secs(10),
            start: Duration::from_secs(60),
            batch_seed,
        }
    }
}
