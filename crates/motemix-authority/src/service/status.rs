//! What `GET /status` and `GET /network` say.

use std::collections::BTreeMap;

use motemix_directory::{Epoch, Role};
use serde::Serialize;

use crate::config::Agreed;
use crate::store::Member;
use crate::vote::described;

/// What `GET /network` says.
#[derive(Serialize)]
pub(super) struct Network<'r> {
    pub(super) network: &'r str,
    pub(super) epoch_length_s: u64,
    pub(super) threshold: u8,
    pub(super) authorities: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Report<'r> {
    pub(super) network: &'r str,
    pub(super) key: String,
    pub(super) epoch: u32,
    pub(super) documents: Vec<u32>,
    pub(super) threshold: u8,
    pub(super) authorities: usize,
    pub(super) epoch_length_s: u64,
    pub(super) phase_ms: u128,
    pub(super) ahead: u32,
    /// All of them, in ascending order.
    pub(super) keys: Vec<String>,
    pub(super) parameters: &'r Agreed,
    pub(super) trouble: Option<&'r str>,
    /// Why it takes no part in rounds.
    pub(super) idle: Option<String>,
    pub(super) liars: Vec<String>,
    pub(super) silent: Vec<&'r String>,
    /// Nodes for which the last vote had no room.
    pub(super) left_out: &'r [String],
    pub(super) nodes: Vec<Node<'r>>,
}

#[derive(Serialize)]
pub(super) struct Node<'r> {
    name: &'r str,
    layer: Option<u8>,
    identity: String,
    /// Epochs from this one on that it has keys of.
    epochs_ahead: u32,
    addresses: &'r [String],
}

/// What descriptors say, by their files: anybody may ask, and reading one takes a signature.
#[derive(Debug, Default)]
pub(super) struct Summaries(BTreeMap<Vec<u8>, Summary>);

#[derive(Debug)]
struct Summary {
    /// The first epoch that it has a key of, and the one after the last.
    epochs: (Epoch, Epoch),
    addresses: Vec<String>,
}

impl Summaries {
    /// Reads what is new, and forgets what nobody says any more.
    pub(super) fn update(&mut self, members: &[Member]) {
        let mut before = std::mem::take(&mut self.0);
        for file in members.iter().filter_map(|member| member.descriptor.as_ref()) {
            let known = before.remove(file).or_else(|| {
                let descriptor = described(file)?;
                let addresses = descriptor.addresses.iter().map(|address| address.to_string()).collect();
                Some(Summary { epochs: descriptor.epochs(), addresses })
            });
            self.0.extend(known.map(|known| (file.clone(), known)));
        }
    }
}

pub(super) fn node<'r>(member: &'r Member, summaries: &'r Summaries, present: Epoch) -> Node<'r> {
    let said = member.descriptor.as_ref().and_then(|file| summaries.0.get(file));
    let (first, end) = said.map_or((present, present), |said| said.epochs);
    let ahead = if first <= present { end.0.saturating_sub(present.0) } else { 0 };
    Node {
        name: &member.name,
        layer: match member.role {
            Role::Mix { layer } => Some(layer),
            Role::Endpoint => None,
        },
        identity: member.identity.to_string(),
        epochs_ahead: ahead,
        addresses: said.map(|said| &said.addresses[..]).unwrap_or_default(),
    }
}
