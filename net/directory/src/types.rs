//! Numbers of the document that have a unit or a meaning, and its limits.

use core::time::Duration;

use motemix_sphinx::NodeId;

/// Greatest number of nodes of a network: as many as a [`NodeId`] can name.
pub const MAX_NODES: usize = NodeId::LIMIT as usize;
/// Greatest number of signatures on a document, and of authorities of a network.
pub const MAX_SIGNATURES: usize = 16;
/// Greatest length of a network's or node's name, in bytes.
pub const MAX_NAME_LEN: usize = 32;
/// Greatest number of mix layers.
pub const MAX_LAYERS: u8 = 16;
/// Greatest number of addresses of a node.
pub const MAX_ADDRESSES: usize = 2;
/// Longest mean or allowance among the parameters: four hours.
///
/// The integer formula of a hop's delay multiplies the mean by up to 2^29.5, in 64 bits.
pub const MAX_DURATION: Duration = Duration::from_hours(4);

/// What a node does for others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Forwards packets, in one of the network's layers.
    Mix {
        /// Layers count from 0, in the order in which a packet passes them; below [`MAX_LAYERS`].
        layer: u8,
    },
    /// Sends and receives, and is on nobody's path between mixes. It forwards all the same: a loop
    /// passes an endpoint where a message would be turned round, so that the two look alike.
    Endpoint,
}

/// Whether `name` is 1 to [`MAX_NAME_LEN`] bytes of `[a-z0-9-]`, as those of networks and nodes
/// are.
pub fn is_name(name: &[u8]) -> bool {
    (1..=MAX_NAME_LEN).contains(&name.len())
        && name.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}
