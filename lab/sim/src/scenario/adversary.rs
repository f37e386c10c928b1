//! Who listens.

use super::Corrupt;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// An observer who hears the whole channel, and knows the network document and how often nodes
/// send.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Adversary {
    /// One in so many messages is traced; 1 for all.
    pub sample: NonZeroU32,
    /// Sweeps over all messages of a Markov chain over who began which message; 0 for none. It says
    /// how much is missed by weighing messages one after the other, and takes long.
    pub matching_sweeps: u32,
    /// Motes that work for the observer.
    #[serde(skip_serializing_if = "is_nobody")]
    pub corrupt: Corrupt,
}

impl Default for Adversary {
    fn default() -> Self {
        Self { sample: NonZeroU32::MIN, matching_sweeps: 0, corrupt: Corrupt::default() }
    }
}

fn is_nobody(corrupt: &Corrupt) -> bool {
    *corrupt == Corrupt::default()
}
