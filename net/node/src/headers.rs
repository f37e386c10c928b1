//! The pool of headers: made in slices of one scalar multiplication, before there is a message;
//! where the curve has lanes, several headers side by side, each in its place of the pool.

use core::mem;

use motemix_crypto::{Curve, Secret};
use motemix_directory::{PathError, Topology, WayLengths};
use motemix_sphinx::geometry::MAX_HOPS;
use motemix_sphinx::{Header, HeaderBuilder, NodeId, PathHop, Profile, Shape};
use rand_core::CryptoRng;

use crate::paths::LoopPaths;
use crate::storage::Empty;

/// What a header is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A message to this receiver, and its reply.
    Message(NodeId),
    /// Loop cover.
    Loop,
    /// Drop cover.
    Drop,
    /// A loop on a tick of the payload stream, when no message waits: as a message to a node drawn
    /// at random.
    Filler,
}

/// What headers are of use at this moment.
pub(crate) struct Needs<'n> {
    /// Whether a message to this receiver waits for a header.
    pub(crate) waiting: &'n dyn Fn(NodeId) -> bool,
    /// Loop cover is on.
    pub(crate) loops: bool,
    /// Drop cover is on.
    pub(crate) drops: bool,
    /// The payload stream is on.
    pub(crate) fillers: bool,
}

/// So many headers at most are made side by side.
const MOST_SIDE_BY_SIDE: usize = 16;

/// Room for one header.
pub struct HeaderSlot<P: Profile>(Place<P>);

// The number of what it is has a byte of its own, so that nothing is all zeros.
#[repr(u8)]
enum Place<P: Profile> {
    Free,
    Made(Purpose, Header<P>),
    /// Beside others, where the curve has lanes. A header takes more room than its builder.
    Making(Purpose, HeaderBuilder<P>),
}

impl<P: Profile> HeaderSlot<P> {
    /// An empty slot.
    pub const fn new() -> Self {
        Self(Place::Free)
    }

    /// What the header is for that is here.
    const fn made(&self) -> Option<Purpose> {
        match &self.0 {
            Place::Made(purpose, _) => Some(*purpose),
            _ => None,
        }
    }

    /// What the header is for that is here or will be.
    const fn purpose(&self) -> Option<Purpose> {
        match &self.0 {
            Place::Made(purpose, _) | Place::Making(purpose, _) => Some(*purpose),
            Place::Free => None,
        }
    }

    const fn builder(&mut self) -> Option<&mut HeaderBuilder<P>> {
        match &mut self.0 {
            Place::Making(_, builder) => Some(builder),
            _ => None,
        }
    }

    /// Puts the header in place of its builder, which has done all steps.
    fn finish(&mut self) -> Option<Purpose> {
        let Place::Making(purpose, builder) = mem::replace(&mut self.0, Place::Free) else { return None };
        self.0 = Place::Made(purpose, builder.finish()?);
        Some(purpose)
    }
}

impl<P: Profile> Empty for HeaderSlot<P> {
    const EMPTY: Self = Self::new();
}

impl<P: Profile> Default for HeaderSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Finished headers, and those in the making.
pub(crate) struct Headers<'s, P: Profile, L> {
    slots: &'s mut [HeaderSlot<P>],
    /// What the one is for that is made alone, and the header itself.
    purpose: Option<Purpose>,
    making: Option<HeaderBuilder<P>>,
    /// The paths of loops. They are a field and no argument: on boards, which remember none, a
    /// field without a size costs nothing, and an argument of what is not inlined would.
    pub(crate) paths: L,
}

impl<'s, P: Profile, L: LoopPaths> Headers<'s, P, L> {
    pub(crate) fn new(slots: &'s mut [HeaderSlot<P>], paths: L) -> Self {
        slots.fill_with(HeaderSlot::new);
        Self { slots, purpose: None, making: None, paths }
    }

    /// Forgets all headers: they were made for another epoch's keys.
    pub(crate) fn clear(&mut self) {
        self.slots.fill_with(HeaderSlot::new);
        self.forget();
    }

    /// Forgets the one in the making.
    fn forget(&mut self) {
        (self.purpose, self.making) = (None, None);
    }

    /// How many are ready.
    pub(crate) fn count(&self, purpose: Purpose) -> usize {
        self.slots.iter().filter(|slot| slot.made() == Some(purpose)).count()
    }

    /// How many are ready, or have their place and will be.
    // Not inlined: it is asked for in several places, each of which would be a kilobyte of a
    // board's flash.
    #[inline(never)]
    pub(crate) fn stock(&self, purpose: Purpose) -> usize {
        self.slots.iter().filter(|slot| slot.purpose() == Some(purpose)).count()
    }

    pub(crate) fn take(&mut self, purpose: Purpose) -> Option<Header<P>> {
        let mut places = self.slots.iter_mut().enumerate();
        let (place, slot) = places.find(|(_, slot)| slot.made() == Some(purpose))?;
        self.paths.taken(place);
        match mem::replace(&mut slot.0, Place::Free) {
            Place::Made(_, header) => Some(header),
            // There is none: one that is made was looked for. Were it dropped here, the header
            // would be copied once more, which a board's stack would notice.
            none => {
                mem::forget(none);
                None
            }
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Whether one is made alone.
    pub(crate) fn is_making(&self) -> bool {
        self.making.is_some()
    }

    /// Headers that are made side by side on this machine.
    pub(crate) fn lanes() -> usize {
        P::Curve::lanes().min(MOST_SIDE_BY_SIDE)
    }

    /// How many are made side by side now.
    pub(crate) fn side_by_side(&self) -> usize {
        self.slots.iter().filter(|slot| matches!(slot.0, Place::Making(..))).count()
    }

    /// Begins a header on a path drawn at random: alone, or in its place in the pool.
    #[inline(never)]
    pub(crate) fn begin<R: CryptoRng>(
        &mut self,
        purpose: Purpose,
        place: Option<usize>,
        me: NodeId,
        topology: &Topology<'_>,
        ways: WayLengths,
        rng: &mut R,
    ) -> Result<(), PathError> {
        let mut path = Path { ids: [me; MAX_HOPS], len: 0 };
        let (there, back) = (usize::from(ways.there), usize::from(ways.back));
        let shape = match purpose {
            Purpose::Message(receiver) => {
                path.way(topology, rng, there, receiver, me)?;
                path.way(topology, rng, back, me, receiver)?;
                Shape::RoundTrip { receiver: there - 1 }
            }
            Purpose::Loop => {
                // As long as a round trip, by way of a node that any message might go to.
                let turn = topology.draw_node(rng, &[me])?;
                path.way(topology, rng, there, turn, me)?;
                path.way(topology, rng, back, me, turn)?;
                Shape::Loop
            }
            // A node turns it round as it would a message, and on its own ticks.
            Purpose::Filler => {
                let turn = topology.draw_node(rng, &[me])?;
                path.way(topology, rng, there, turn, me)?;
                path.way(topology, rng, back, me, turn)?;
                Shape::RoundTrip { receiver: there - 1 }
            }
            Purpose::Drop => {
                let end = topology.draw_node(rng, &[me])?;
                path.way(topology, rng, there, end, me)?;
                Shape::Drop
            }
        };
        let mut hops = [PathHop { id: me, mix_key: motemix_crypto::PublicKey([0; 32]) }; MAX_HOPS];
        // Whatever it is for: to ask would cost boards more than to remember costs hosts. Behind
        // its end it has this node's own id, which no path counts.
        self.paths.drawn(place, me, &path.ids, topology);
        for (hop, id) in hops.iter_mut().zip(path.ids()) {
            let entry = topology.entry(*id).ok_or(PathError::NoNode)?;
            *hop = PathHop { id: *id, mix_key: entry.mix_key };
        }
        let mut seed = Secret::zero();
        rng.fill_bytes(seed.expose_mut());
        let builder = HeaderBuilder::new(&hops[..path.len], shape, seed).map_err(|_| PathError::NoNode)?;
        if let Some(place) = place {
            self.slots[place].0 = Place::Making(purpose, builder);
        } else {
            (self.purpose, self.making) = (Some(purpose), Some(builder));
        }
        Ok(())
    }

    /// Whether a header for `purpose` would find a place. Ask before one is begun: two purposes
    /// that take each other's place would be built for ever.
    pub(crate) fn has_place(&self, purpose: Purpose, needs: &Needs<'_>) -> bool {
        self.place(purpose, needs).is_some()
    }

    /// How many loops are kept, and drops: as many as may be made side by side, if they take no
    /// more than a quarter of the pool.
    pub(crate) fn most_cover(&self) -> usize {
        if Self::lanes() > 1 { (self.slots.len() / 4).clamp(1, Self::lanes()) } else { 1 }
    }

    /// How many headers of filler are kept: half of the pool besides other cover. Ticks come in
    /// bursts.
    pub(crate) fn most_fillers(&self, needs: &Needs<'_>) -> usize {
        let for_cover = (usize::from(needs.loops) + usize::from(needs.drops)) * self.most_cover();
        if needs.fillers { (self.slots.len().saturating_sub(for_cover) / 2).max(1) } else { 0 }
    }

    /// A free place, or that of a header which is of no use now. Messages leave the places of each
    /// kind of cover, where there is more than one: a node must not fall silent because it has
    /// much to say.
    pub(crate) fn place(&self, purpose: Purpose, needs: &Needs<'_>) -> Option<usize> {
        let held = self.slots.iter().filter_map(HeaderSlot::purpose);
        let for_messages = held.filter(|of| matches!(of, Purpose::Message(_))).count();
        let for_cover = (usize::from(needs.loops) + usize::from(needs.drops)) * self.most_cover()
            + self.most_fillers(needs);
        let most_for_messages = self.slots.len().saturating_sub(for_cover).max(1);
        let in_place_of_a_message =
            matches!(purpose, Purpose::Message(_)) && for_messages >= most_for_messages;
        let usable = |of: Purpose| match of {
            // One for each receiver is what the waiting messages need; more is stock.
            Purpose::Message(to) => of != purpose && (!(needs.waiting)(to) || self.count(of) > 1),
            Purpose::Loop => !needs.loops && !in_place_of_a_message,
            Purpose::Drop => !needs.drops && !in_place_of_a_message,
            Purpose::Filler => !needs.fillers && !in_place_of_a_message,
        };
        let free = self.slots.iter().position(|slot| slot.purpose().is_none() && !in_place_of_a_message);
        free.or_else(|| self.slots.iter().position(|slot| slot.made().is_some_and(usable)))
    }

    /// One scalar multiplication. `Some` when a header was finished.
    pub(crate) fn step(&mut self, needs: &Needs<'_>) -> Option<Purpose> {
        let purpose = self.purpose?;
        match self.making.as_mut()?.step() {
            Ok(false) => None,
            Ok(true) => self.finish(purpose, needs),
            // A key of small order: the document's check lets none through. Draw another path.
            Err(_) => {
                self.forget();
                None
            }
        }
    }

    // Not inlined, as `begin`: headers are large, and a small board has no stack for several of
    // them under a multiplication.
    #[inline(never)]
    fn finish(&mut self, purpose: Purpose, needs: &Needs<'_>) -> Option<Purpose> {
        self.purpose = None;
        let header = HeaderBuilder::finish_in(&mut self.making)?;
        // What has no place any more, because others took it meanwhile, is forgotten.
        if let Some(place) = self.place(purpose, needs) {
            self.slots[place].0 = Place::Made(purpose, header);
            self.paths.placed(place);
        }
        Some(purpose)
    }

    /// One scalar multiplication of each header that is made side by side with others; how many.
    /// `made` learns what was finished.
    pub(crate) fn step_side_by_side(&mut self, mut made: impl FnMut(Purpose)) -> usize {
        let mut outcomes = [Ok(false); MOST_SIDE_BY_SIDE];
        let mut steps = 0;
        let builders = self.slots.iter_mut().filter_map(HeaderSlot::builder).take(MOST_SIDE_BY_SIDE);
        HeaderBuilder::step_batch(builders, |number, outcome| {
            outcomes[number] = outcome;
            steps += 1;
        });
        let making = self.slots.iter_mut().filter(|slot| matches!(slot.0, Place::Making(..)));
        for (slot, outcome) in making.zip(outcomes) {
            match outcome {
                Ok(false) => {}
                Ok(true) => slot.finish().into_iter().for_each(&mut made),
                // As for one that is made alone.
                Err(_) => slot.0 = Place::Free,
            }
        }
        steps
    }
}

struct Path {
    ids: [NodeId; MAX_HOPS],
    len: usize,
}

impl Path {
    fn ids(&self) -> &[NodeId] {
        &self.ids[..self.len]
    }

    /// Appends `hops - 1` mixes and then `to`.
    fn way<R: CryptoRng>(
        &mut self,
        topology: &Topology<'_>,
        rng: &mut R,
        hops: usize,
        to: NodeId,
        from: NodeId,
    ) -> Result<(), PathError> {
        let end = self.len + hops;
        let way = self.ids.get_mut(self.len..end).ok_or(PathError::NoNode)?;
        let (last, mixes) = way.split_last_mut().ok_or(PathError::NoNode)?;
        topology.draw_mixes(rng, mixes, from, to)?;
        *last = to;
        self.len = end;
        Ok(())
    }
}
