//! Whether the network has paths for a node's cover: in a layer with too few mixes, those have none
//! that leave and come back: there have to be enough besides the node itself.

use motemix_directory::{Entry, PathError, Topology};
use motemix_sphinx::NodeId;
use motemix_sphinx::geometry::MAX_HOPS;
use rand_core::CryptoRng;

use crate::documents::Network;

/// What is wrong with the paths of a node's cover, in words with a remedy; `None` if nothing is, or
/// the network has no cover.
pub(super) fn missing<R: CryptoRng>(network: &Network, me: NodeId, rng: &mut R) -> Option<String> {
    let parameters = &network.parameters;
    if [parameters.loop_mean, parameters.drop_mean, parameters.payload_mean].iter().all(Option::is_none) {
        return None;
    }
    let entries: Vec<Entry> = network.entries().collect();
    let topology = Topology::new(&entries).ok()?;
    let mut draw = |hops: u8| {
        let mut path = [me; MAX_HOPS];
        let mixes = usize::from(hops.saturating_sub(1)).min(path.len());
        topology.draw_mixes(rng, &mut path[..mixes], me, me)
    };
    // What is refused once is always refused.
    let refused = draw(parameters.max_hops).err()?;
    let which =
        if draw(parameters.min_hops).is_err() { "no cover" } else { "no cover over the longest paths" };
    let why = match refused {
        PathError::TooFewMixes { layer, eligible, needed } => {
            format!("layer {layer} has {eligible} mixes besides this one, and a path may need {needed}")
        }
        other => other.to_string(),
    };
    Some(format!(
        "{which} is sent, and who watches tells packets of others apart more easily: {why}; add mixes"
    ))
}
