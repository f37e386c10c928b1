//! What a node keeps of a document, and the paths it draws.

use core::fmt;

use motemix_crypto::PublicKey;
use motemix_crypto::uniform::below;
use motemix_sphinx::NodeId;
use rand_core::CryptoRng;

use crate::types::{MAX_LAYERS, MAX_NODES, Role};

/// A node, as far as paths are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its X25519 key of the epoch.
    pub mix_key: PublicKey,
    /// What it does for others.
    pub role: Role,
}

impl Entry {
    /// An id that no node has. No node can have this key, which is not canonical.
    pub const VACANT: Self = Self { mix_key: PublicKey([0xff; 32]), role: Role::Endpoint };

    /// Whether no node has the id.
    pub const fn is_vacant(&self) -> bool {
        // No key of a node has the top bit, and a board asks this of many.
        let [.., last] = self.mix_key.0;
        last == 0xff
    }
}

impl Default for Entry {
    /// A placeholder for a slice to be filled.
    fn default() -> Self {
        Self { mix_key: PublicKey([0; 32]), role: Role::Endpoint }
    }
}

/// The nodes of an epoch in memory that the caller lends; the index is the [`NodeId`].
#[derive(Clone, Copy, Debug)]
pub struct Topology<'a> {
    entries: &'a [Entry],
    layers: u8,
}

impl<'a> Topology<'a> {
    /// The topology that `entries` describe, in the order of their ids.
    ///
    /// # Errors
    /// [`TopologyError::TooMany`] or [`TopologyError::EmptyLayer`].
    pub fn new(entries: &'a [Entry]) -> Result<Self, TopologyError> {
        if entries.len() > MAX_NODES {
            return Err(TopologyError::TooMany);
        }
        let mut seen = 0u32;
        for entry in entries {
            if let Role::Mix { layer } = entry.role {
                if layer >= MAX_LAYERS {
                    return Err(TopologyError::TooMany);
                }
                seen |= 1 << layer;
            }
        }
        let layers = seen.trailing_ones() as u8;
        if seen >> layers != 0 {
            return Err(TopologyError::EmptyLayer { layer: layers });
        }
        Ok(Self { entries, layers })
    }

    /// All ids, those of nobody as well.
    pub fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// The node, if the epoch has it.
    pub fn entry(&self, id: NodeId) -> Option<&'a Entry> {
        self.entries.get(usize::from(id.get())).filter(|entry| !entry.is_vacant())
    }

    /// How many layers of mixes there are.
    pub fn layers(&self) -> u8 {
        self.layers
    }

    /// Fills `out` with the distinct mixes of a way from `from` to `to`, in the order in which a
    /// packet passes them. Nobody sends to itself: the first is not `from`, and the last is not
    /// `to`. Otherwise the ends are mixes like any other. Where the first and the last of several
    /// are of one layer, they are not `to` and `from` both, or the ends would be there more often
    /// than others: so the first is anybody but `from`, and the last anybody but `to`, each as
    /// often, and who hears a link learns nothing from who is at its end.
    ///
    /// A single mix is neither end, and each message tells who did not send it.
    ///
    /// With L layers, each gets `out.len() / L` mixes and a uniformly random choice of
    /// `out.len() % L` layers gets one more, in ascending order; within a layer, every ordered
    /// choice of mixes that this leaves is equally likely. With one layer that is a free route. Two
    /// passes over the entries for each mix drawn, and one for each layer; a layer's mixes are
    /// drawn again while one of them is its own neighbour.
    ///
    /// # Errors
    /// [`PathError`] if a layer has fewer mixes beside the two ends than it might have to give.
    /// That does not depend on `rng`: what is refused is always refused. `out` is then unchanged.
    pub fn draw_mixes<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        out: &mut [NodeId],
        from: NodeId,
        to: NodeId,
    ) -> Result<(), PathError> {
        if out.is_empty() {
            return Ok(());
        }
        let layers = usize::from(self.layers);
        if layers == 0 {
            return Err(PathError::NoMix);
        }
        let (each, mut extra) = (out.len() / layers, (out.len() % layers) as u32);
        let needed = each + usize::from(extra > 0);
        for layer in 0..self.layers {
            let eligible = self.mixes(layer).filter(|id| ![from, to].contains(id)).count();
            if eligible < needed {
                return Err(PathError::TooFewMixes { layer, eligible, needed });
            }
        }
        let mut left = out;
        let mut is_first = true;
        for layer in 0..self.layers {
            // Of the layers left, `extra` are still to be chosen (Knuth, TAOCP 2, algorithm 3.4.2
            // S).
            let chosen = below(rng, u32::from(self.layers - layer)) < extra;
            extra -= u32::from(chosen);
            let (mixes, others) = left.split_at_mut(each + usize::from(chosen));
            let (begins, ends) = (is_first, others.is_empty());
            left = others;
            if mixes.is_empty() {
                continue;
            }
            is_first = false;
            loop {
                self.draw_in_layer(rng, layer, mixes)?;
                let own_first = begins && mixes.first() == Some(&from);
                let own_last = ends && mixes.last() == Some(&to);
                let there_and_back =
                    begins && ends && mixes.first() == Some(&to) && mixes.last() == Some(&from);
                if !own_first && !own_last && !there_and_back {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Any ordered choice of distinct mixes of a layer, all equally likely.
    fn draw_in_layer<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        layer: u8,
        out: &mut [NodeId],
    ) -> Result<(), PathError> {
        let needed = out.len();
        for filled in 0..needed {
            let (taken, free) = out.split_at_mut(filled);
            let candidates = || self.mixes(layer).filter(|id| !taken.contains(id));
            let mix =
                pick(rng, candidates).ok_or(PathError::TooFewMixes { layer, eligible: filled, needed })?;
            if let Some(place) = free.first_mut() {
                *place = mix;
            }
        }
        Ok(())
    }

    /// A uniformly random node of any role that is not in `avoid`: where drop cover goes.
    ///
    /// # Errors
    /// [`PathError::NoNode`] if there is none.
    pub fn draw_node<R: CryptoRng + ?Sized>(
        &self,
        rng: &mut R,
        avoid: &[NodeId],
    ) -> Result<NodeId, PathError> {
        pick(rng, || self.ids().map(|(id, _)| id).filter(|id| !avoid.contains(id))).ok_or(PathError::NoNode)
    }

    fn ids(&self) -> impl Iterator<Item = (NodeId, Role)> {
        let taken = self.entries.iter().zip(0..).filter(|(entry, _)| !entry.is_vacant());
        taken.filter_map(|(entry, id)| Some((NodeId::new(id)?, entry.role)))
    }

    fn mixes(&self, layer: u8) -> impl Iterator<Item = NodeId> {
        self.ids().filter(move |(_, role)| *role == Role::Mix { layer }).map(|(id, _)| id)
    }
}

/// One of the candidates, uniformly; two passes.
fn pick<R, I>(rng: &mut R, candidates: impl Fn() -> I) -> Option<NodeId>
where
    R: CryptoRng + ?Sized,
    I: Iterator<Item = NodeId>,
{
    let count = candidates().count() as u32;
    candidates().nth(below(rng, count) as usize)
}

/// Entries that make no topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TopologyError {
    /// The slice lent is too short.
    TooSmall {
        /// Entries needed.
        needed: usize,
        /// Entries lent.
        lent: usize,
    },
    /// More than [`MAX_NODES`] entries, or a layer of [`MAX_LAYERS`] or above.
    TooMany,
    /// There is a mix in a later layer but none in this one.
    EmptyLayer {
        /// The first layer without a mix.
        layer: u8,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { needed, lent } => {
                write!(f, "the network has {needed} nodes, there is room for {lent}; lend a longer slice")
            }
            Self::TooMany => write!(f, "too many nodes or layers; use at most {MAX_NODES} and {MAX_LAYERS}"),
            Self::EmptyLayer { layer } => {
                write!(f, "layer {layer} has no mix, a later one has; number the layers from 0 without gaps")
            }
        }
    }
}

impl core::error::Error for TopologyError {}

/// Why no path could be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathError {
    /// The network has no mix.
    NoMix,
    /// A layer has too few mixes besides those to be avoided.
    TooFewMixes {
        /// Which.
        layer: u8,
        /// Its mixes beside the two ends.
        eligible: usize,
        /// Mixes that a path of this length may need of one layer.
        needed: usize,
    },
    /// There is no node besides those to be avoided.
    NoNode,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMix => f.write_str("the network has no mix; use one hop each way, or add mixes"),
            Self::TooFewMixes { layer, eligible, needed } => write!(
                f,
                "layer {layer} has {eligible} mixes besides the two ends, and a path may need {needed}; \
                 use fewer hops, or add mixes"
            ),
            Self::NoNode => f.write_str("there is no other node; add nodes"),
        }
    }
}

impl core::error::Error for PathError {}
