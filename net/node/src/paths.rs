//! Which nodes the loops of a node pass, and how many through each of them came back and were lost.
//!
//! A host lends memory for it: [`Paths`]. A board has none to lend, nor flash for code that would
//! use it, so there it is a type without a size whose calls do nothing: [`NoPaths`].

use motemix_directory::{Entry, Role, Topology};
use motemix_sphinx::NodeId;
use motemix_sphinx::geometry::MAX_HOPS;

/// Loops that passed one node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoopTally {
    /// Those that came back in their time.
    pub returned: u32,
    /// Those that did not. They may have come back later.
    pub lost: u32,
    /// Those that were lost in a row, up to now.
    pub missing: u32,
}

impl LoopTally {
    /// No loop.
    pub const NONE: Self = Self { returned: 0, lost: 0, missing: 0 };
    /// An endpoint by way of which so many loops in a row were lost is silent: it is switched off,
    /// or cut off. Where one loop in twenty is lost, that happens by chance once in 64 million
    /// times; and the losses up to there are less than what raises the usual alarm.
    pub const SILENT: u32 = 6;

    /// Whether a node by way of which loops turn round is switched off or cut off.
    pub const fn is_silent(&self) -> bool {
        self.missing >= Self::SILENT
    }
}

/// The nodes of a header's path, there and back: each once, its sender excepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopPath {
    nodes: [NodeId; MAX_HOPS],
    count: u8,
    /// The endpoint at which it turns round; `None` if that is a mix.
    endpoint: Option<NodeId>,
}

impl LoopPath {
    /// A path that passes nobody.
    pub const NONE: Self = Self { nodes: [NodeId::MIN; MAX_HOPS], count: 0, endpoint: None };

    fn new(me: NodeId, hops: &[NodeId], is_endpoint: impl Fn(NodeId) -> bool) -> Self {
        let mut path = Self::NONE;
        for (at, hop) in hops.iter().enumerate() {
            let again = hops.iter().take(at).any(|earlier| earlier == hop);
            if again || *hop == me {
                continue;
            }
            let Some(place) = path.nodes.get_mut(usize::from(path.count)) else { break };
            *place = *hop;
            path.count += 1;
            // No way leads through an endpoint: it is where the two ways meet.
            if is_endpoint(*hop) {
                path.endpoint = Some(*hop);
            }
        }
        path
    }

    fn nodes(&self) -> &[NodeId] {
        self.nodes.get(..usize::from(self.count)).unwrap_or_default()
    }
}

/// What a node remembers of the paths of its loops: [`Paths`] or [`NoPaths`].
pub trait LoopPaths: private::Remember {}

/// Nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NoPaths;

/// The path of each loop, and a tally for each node.
#[derive(Debug)]
pub struct Paths<'s> {
    of_headers: &'s mut [LoopPath],
    /// The path of the header that is made alone, without a place in the pool.
    making: LoopPath,
    /// The path of the header that was taken last.
    taken: LoopPath,
    of_loops: &'s mut [LoopPath],
    tallies: &'s mut [LoopTally],
}

impl<'s> Paths<'s> {
    /// Nothing was counted yet. `of_headers` and `of_loops` are as long as the tables of
    /// [`Storage`](crate::Storage) for headers and loops, and `tallies` as that for nodes. What a
    /// table has no place for is not counted.
    pub fn new(
        of_headers: &'s mut [LoopPath],
        of_loops: &'s mut [LoopPath],
        tallies: &'s mut [LoopTally],
    ) -> Self {
        of_headers.fill(LoopPath::NONE);
        of_loops.fill(LoopPath::NONE);
        tallies.fill(LoopTally::NONE);
        Self { of_headers, making: LoopPath::NONE, taken: LoopPath::NONE, of_loops, tallies }
    }

    fn count(&mut self, at: usize, count: impl Fn(&mut LoopTally)) {
        let Some(path) = self.of_loops.get(at) else { return };
        for node in path.nodes() {
            if let Some(tally) = self.tallies.get_mut(usize::from(node.get())) {
                count(tally);
            }
        }
    }
}

impl LoopPaths for NoPaths {}
impl LoopPaths for Paths<'_> {}

pub(crate) mod private {
    use super::{Entry, LoopPath, LoopTally, NoPaths, NodeId, Paths, Role, Topology};

    /// What becomes of headers and loops, in the order in which it happens. Places are those of the
    /// header pool, and then those of the loops under way.
    pub trait Remember {
        /// A path was drawn for the header in this place, or for the one that is made alone.
        fn drawn(&mut self, place: Option<usize>, me: NodeId, hops: &[NodeId], topology: &Topology<'_>);
        /// The header that was made alone has a place now.
        fn placed(&mut self, place: usize);
        /// The header in this place was taken.
        fn taken(&mut self, place: usize);
        /// The loop whose header was taken last is under way, in this place.
        fn sent(&mut self, at: usize);
        /// The loop in this place is lost. Whether that speaks for an attack: loops by way of an
        /// endpoint that is silent are lost without one.
        fn lost(&mut self, at: usize) -> bool;
        /// The loop in this place came back in its time.
        fn returned(&mut self, at: usize);
        /// A new document has these nodes: whoever is not among them has gone.
        fn keep(&mut self, nodes: &[Entry]);
        /// Another node has this id.
        fn forget(&mut self, id: NodeId);
        fn through(&self, id: NodeId) -> Option<LoopTally>;
    }

    impl Remember for NoPaths {
        #[inline]
        fn drawn(&mut self, _: Option<usize>, _: NodeId, _: &[NodeId], _: &Topology<'_>) {}
        #[inline]
        fn placed(&mut self, _: usize) {}
        #[inline]
        fn taken(&mut self, _: usize) {}
        #[inline]
        fn sent(&mut self, _: usize) {}
        #[inline]
        fn lost(&mut self, _: usize) -> bool {
            true
        }
        #[inline]
        fn returned(&mut self, _: usize) {}
        #[inline]
        fn keep(&mut self, _: &[Entry]) {}
        #[inline]
        fn forget(&mut self, _: NodeId) {}
        #[inline]
        fn through(&self, _: NodeId) -> Option<LoopTally> {
            None
        }
    }

    impl Remember for Paths<'_> {
        fn drawn(&mut self, place: Option<usize>, me: NodeId, hops: &[NodeId], topology: &Topology<'_>) {
            let is_endpoint = |id| topology.entry(id).is_some_and(|entry| entry.role == Role::Endpoint);
            let path = LoopPath::new(me, hops, is_endpoint);
            match place {
                Some(place) => {
                    if let Some(of_header) = self.of_headers.get_mut(place) {
                        *of_header = path;
                    }
                }
                None => self.making = path,
            }
        }

        fn placed(&mut self, place: usize) {
            if let Some(of_header) = self.of_headers.get_mut(place) {
                *of_header = self.making;
            }
        }

        fn taken(&mut self, place: usize) {
            self.taken = self.of_headers.get(place).copied().unwrap_or(LoopPath::NONE);
        }

        fn sent(&mut self, at: usize) {
            if let Some(of_loop) = self.of_loops.get_mut(at) {
                *of_loop = self.taken;
            }
        }

        fn lost(&mut self, at: usize) -> bool {
            let endpoint = self.of_loops.get(at).and_then(|path| path.endpoint);
            let silent = endpoint.and_then(|id| self.through(id)).is_some_and(|tally| tally.is_silent());
            self.count(at, |tally| {
                tally.lost = tally.lost.saturating_add(1);
                tally.missing = tally.missing.saturating_add(1);
            });
            !silent
        }

        fn returned(&mut self, at: usize) {
            self.count(at, |tally| {
                tally.returned = tally.returned.saturating_add(1);
                tally.missing = 0;
            });
        }

        fn keep(&mut self, nodes: &[Entry]) {
            for (at, tally) in self.tallies.iter_mut().enumerate() {
                if nodes.get(at).is_none_or(Entry::is_vacant) {
                    *tally = LoopTally::NONE;
                }
            }
        }

        fn forget(&mut self, id: NodeId) {
            if let Some(tally) = self.tallies.get_mut(usize::from(id.get())) {
                *tally = LoopTally::NONE;
            }
        }

        fn through(&self, id: NodeId) -> Option<LoopTally> {
            self.tallies.get(usize::from(id.get())).copied()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::private::Remember as _;
    use super::*;
    use motemix_crypto::PublicKey;

    const ME: NodeId = NodeId::MIN;

    fn id(node: u16) -> NodeId {
        NodeId::new(node).unwrap()
    }

    fn ids<const N: usize>(nodes: [u16; N]) -> [NodeId; N] {
        nodes.map(id)
    }

    /// All nodes but the fourth are mixes.
    const NODES: [Entry; 5] = {
        let mix = Entry { mix_key: PublicKey([1; 32]), role: Role::Mix { layer: 0 } };
        [mix, mix, mix, Entry { role: Role::Endpoint, ..mix }, mix]
    };

    fn topology() -> Topology<'static> {
        Topology::new(&NODES).unwrap()
    }

    fn counted<const N: usize>(paths: &Paths<'_>, nodes: [u16; N]) -> [(u32, u32); N] {
        nodes.map(|node| paths.through(id(node)).map(|tally| (tally.returned, tally.lost)).unwrap())
    }

    #[test]
    fn a_path_has_each_node_once_and_never_its_own() {
        let path = LoopPath::new(ME, &ids([1, 2, 1, 3, 0]), |node| node == id(3));
        assert_eq!((path.nodes(), path.endpoint), (&ids([1, 2, 3])[..], Some(id(3))));
        let longest = LoopPath::new(ME, &ids([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), |node| node == ME);
        assert_eq!((longest.nodes().len(), longest.endpoint), (MAX_HOPS, None), "its own node is none");
    }

    #[test]
    fn the_path_of_a_header_is_that_of_its_loop() {
        let (mut headers, mut loops, mut tallies) =
            ([LoopPath::NONE; 2], [LoopPath::NONE; 2], [LoopTally::NONE; 4]);
        let mut paths = Paths::new(&mut headers, &mut loops, &mut tallies);
        paths.drawn(Some(1), ME, &ids([1, 2, 0]), &topology());
        paths.drawn(None, ME, &ids([1, 3, 0]), &topology());
        paths.placed(0);
        paths.taken(1);
        paths.sent(0);
        paths.taken(0);
        paths.sent(1);
        paths.lost(0);
        paths.returned(1);
        assert_eq!(counted(&paths, [0, 1, 2, 3]), [(0, 0), (1, 1), (0, 1), (1, 0)]);
        assert_eq!(paths.through(id(4)), None);
    }

    #[test]
    fn a_node_that_has_gone_leaves_nothing_to_whoever_has_its_id_next() {
        let (mut headers, mut loops, mut tallies) =
            ([LoopPath::NONE; 1], [LoopPath::NONE; 1], [LoopTally::NONE; 4]);
        let mut paths = Paths::new(&mut headers, &mut loops, &mut tallies);
        paths.drawn(Some(0), ME, &ids([1, 2, 3, 0]), &topology());
        paths.taken(0);
        paths.sent(0);
        paths.lost(0);
        let there = Entry { mix_key: PublicKey([1; 32]), role: Role::Endpoint };
        paths.keep(&[there, there, Entry::VACANT]);
        let through = |paths: &Paths<'_>| [1, 2, 3].map(|node| paths.through(id(node)).unwrap().lost);
        assert_eq!(through(&paths), [1, 0, 0], "one is vacant, and one is past the end");
        paths.forget(id(1));
        assert_eq!(through(&paths), [0; 3]);
    }

    #[test]
    fn what_has_no_place_is_not_counted() {
        let mut tallies = [LoopTally::NONE; 2];
        let mut paths = Paths::new(&mut [], &mut [], &mut tallies);
        paths.drawn(Some(0), ME, &ids([1, 0]), &topology());
        paths.taken(0);
        paths.sent(0);
        paths.lost(0);
        assert_eq!(paths.through(id(1)), Some(LoopTally::NONE));
        assert_eq!(size_of::<NoPaths>(), 0);
        assert!(NoPaths.lost(0), "without memory every loss speaks for an attack");
        assert_eq!(NoPaths.through(id(1)), None);
    }

    #[test]
    fn losses_by_way_of_an_endpoint_that_is_silent_say_nothing_of_an_attack() {
        let (mut headers, mut loops, mut tallies) =
            ([LoopPath::NONE; 2], [LoopPath::NONE; 2], [LoopTally::NONE; 5]);
        let mut paths = Paths::new(&mut headers, &mut loops, &mut tallies);
        paths.drawn(Some(0), ME, &ids([1, 3, 2, 0]), &topology());
        paths.drawn(Some(1), ME, &ids([1, 4, 2, 0]), &topology());
        for place in 0..2 {
            paths.taken(place);
            paths.sent(place);
        }
        let mut lost = |times: u32| (0..times).filter(|_| paths.lost(0)).count();
        assert_eq!(lost(50), LoopTally::SILENT as usize, "from then on it is known to be off");
        assert!(paths.lost(1) && paths.lost(1), "loops that turn round elsewhere speak as before");
        assert!(paths.through(id(3)).unwrap().is_silent());
        paths.returned(0);
        assert!(!paths.through(id(3)).unwrap().is_silent() && paths.lost(0), "it runs again");
        // A mix is on many paths: whatever is lost by way of one, or through one, is told.
        assert!((0..50).all(|_| paths.lost(1)));
    }
}
