//! Headers for arbitrary paths: what the specification refuses is refused, for its reason;
//! everything else takes one multiplication more than it has hops, and no step more or less.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use motemix_crypto::PublicKey;
use motemix_fuzz::{AnyProfile, ForProfile, Kind, fuzz_target, node, seed};
use motemix_sphinx::{HeaderBuilder, HopDelay, PathError, PathHop, Profile, Shape};

#[derive(Arbitrary, Debug)]
struct Node {
    number: u16,
    has_small_order: bool,
}

#[derive(Arbitrary, Debug)]
struct Input {
    profile: AnyProfile,
    kind: Kind,
    seed: u64,
    steps: u8,
    path: Vec<Node>,
}

fuzz_target!(|input: Input| input.profile.with(input));

impl ForProfile for Input {
    fn run<P: Profile>(self) {
        let path: Vec<_> = self.path.iter().map(Node::hop).collect();
        let shape = self.kind.shape();
        let built = HeaderBuilder::<P>::new(&path, shape, seed(self.seed));
        let refusal = refusal::<P>(path.len(), shape);
        assert_eq!(built.as_ref().err(), refusal.as_ref());
        let Ok(mut builder) = built else { return };

        let small = self.path.iter().position(|node| node.has_small_order);
        for step in 1..=usize::from(self.steps) {
            match builder.step() {
                Ok(done) => assert_eq!(done, step > path.len()),
                Err(error) => {
                    // The first step is the sender's own; step n + 1 meets hop n.
                    assert_eq!(Some(step), small.map(|hop| hop + 2));
                    assert_eq!(error, PathError::SmallOrderKey(path[step - 2].id));
                    return;
                }
            }
        }
        let Some(header) = builder.finish() else {
            assert!(usize::from(self.steps) <= path.len(), "all steps are done");
            return;
        };
        assert!(usize::from(self.steps) > path.len(), "steps are missing");
        assert_eq!((header.first(), header.hops()), (path[0].id, path.len()));
        assert!(path.len() > 1 || header.delay() == HopDelay::default(), "the last hop does not wait");
    }
}

impl Node {
    fn hop(&self) -> PathHop {
        let hop = node(self.number);
        if self.has_small_order { PathHop { mix_key: PublicKey([0; 32]), ..hop } } else { hop }
    }
}

/// What the specification says of a path.
fn refusal<P: Profile>(hops: usize, shape: Shape) -> Option<PathError> {
    if hops == 0 || hops > P::GEOMETRY.hops() {
        return Some(PathError::Length);
    }
    let Shape::RoundTrip { receiver } = shape else { return None };
    let (there, back) = (receiver + 1, hops.saturating_sub(receiver + 1));
    let one_way = 1..=P::GEOMETRY.hops_each_way();
    (!one_way.contains(&there) || !one_way.contains(&back)).then_some(PathError::Receiver)
}
