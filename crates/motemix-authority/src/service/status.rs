//! What `GET /status` and `GET /network` say.

use motemix_directory::{Epoch, Role};
use serde::Serialize;

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
    pub(super) trouble: Option<&'r str>,
    pub(super) liars: Vec<String>,
    pub(super) silent: Vec<&'r String>,
    pub(super) nodes: Vec<Node<'r>>,
}

#[derive(Serialize)]
pub(super) struct Node<'r> {
    name: &'r str,
    layer: Option<u8>,
    identity: String,
    /// Epochs from this one on that it has keys of.
    epochs_ahead: u32,
    addresses: Vec<String>,
}

pub(super) fn node(member: &Member, present: Epoch) -> Node<'_> {
    let descriptor = member.descriptor.as_deref().and_then(described);
    let (first, end) = descriptor.map_or((present, present), |descriptor| descriptor.epochs());
    let ahead = if first <= present { end.0.saturating_sub(present.0) } else { 0 };
    Node {
        name: &member.name,
        layer: match member.role {
            Role::Mix { layer } => Some(layer),
            Role::Endpoint => None,
        },
        identity: member.identity.to_string(),
        epochs_ahead: ahead,
        addresses: descriptor
            .map(|descriptor| descriptor.addresses.iter().map(|address| address.to_string()).collect())
            .unwrap_or_default(),
    }
}
