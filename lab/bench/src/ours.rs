//! Our side: nodes, paths and packets of motemix with the host's curve.

use std::cell::RefCell;
use std::hint::black_box;

use motemix_crypto::{AsReceived, Curve, PublicKey, Secret, SharedSecret, hash};
pub use motemix_os::curve::HostCurve;
use motemix_sphinx::{
    AuthenticBatch, Batch, HeaderBuilder, Hop, MessageId, MixKey, NodeId, Packet, PathHop, Profile,
    ReplayError, ReplayFilter, ReplayTag, Shape,
};

thread_local! {
    static PRODUCTS: RefCell<(Vec<[u8; 32]>, usize)> = const { RefCell::new((Vec::new(), 0)) };
}

/// Multiplies with [`HostCurve`] and remembers the products for [`Replayed`].
pub enum Recorded {}

impl Curve for Recorded {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        HostCurve::public_key(secret)
    }

    fn diffie_hellman(secret: &Secret<32>, point: &PublicKey) -> Option<SharedSecret> {
        let product = HostCurve::diffie_hellman(secret, point)?;
        PRODUCTS.with_borrow_mut(|(products, _)| products.push(*product.expose()));
        Some(product)
    }
}

/// Answers with the recorded products, over and over: a hop without its multiplications.
pub enum Replayed {}

impl Curve for Replayed {
    type Point = AsReceived<Self>;

    fn public_key(secret: &Secret<32>) -> PublicKey {
        HostCurve::public_key(secret)
    }

    fn diffie_hellman(_: &Secret<32>, _: &PublicKey) -> Option<SharedSecret> {
        PRODUCTS.with_borrow_mut(|(products, next)| {
            let product = products[*next];
            *next = (*next + 1) % products.len();
            SharedSecret::contributory(product)
        })
    }
}

/// Admits everything: the peer has no filter.
pub struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

/// Node n's secret.
pub fn mix_key(n: u16) -> MixKey {
    MixKey::new(hash::blake2s_256(b"bench node", &n.to_be_bytes()))
}

/// Nodes 0 to `hops` − 1.
pub fn path(hops: u16) -> Vec<PathHop> {
    (0..hops)
        .map(|n| PathHop {
            id: NodeId::new(n).expect("a small number"),
            mix_key: mix_key(n).public_key::<HostCurve>(),
        })
        .collect()
}

/// The seed of packet n.
pub fn seed(n: u64) -> Secret<32> {
    hash::blake2s_256(b"bench packet", &n.to_be_bytes())
}

/// Creates a one-way packet and seals `data` in it.
pub fn create<P: Profile>(path: &[PathHop], seed: Secret<32>, data: &[u8], packet: &mut [u8]) {
    HeaderBuilder::<P>::new(path, Shape::OneWay, seed)
        .and_then(HeaderBuilder::build)
        .expect("the path is sound")
        .seal(MessageId([0; 4]), data, packet)
        .expect("the data fits");
}

/// Creates one-way packets side by side, one for each seed, and seals `data` in each.
pub fn create_many<P: Profile>(path: &[PathHop], seeds: Vec<Secret<32>>, data: &[u8]) -> Vec<P::Packet> {
    let begin = |seed| HeaderBuilder::<P>::new(path, Shape::OneWay, seed).expect("the path is sound");
    let mut builders: Vec<_> = seeds.into_iter().map(begin).collect();
    while HeaderBuilder::step_batch(&mut builders, |_, outcome| assert!(outcome.is_ok())) > 0 {}
    let seal = |builder: HeaderBuilder<P>| {
        let mut packet = P::packet();
        let header = builder.finish().expect("all steps are done");
        header.seal(MessageId([0; 4]), data, packet.as_mut()).expect("the data fits");
        packet
    };
    builders.into_iter().map(seal).collect()
}

/// Removes one layer in place; the next node.
pub fn forward<P: Profile>(packet: &mut [u8], key: &MixKey) -> Option<NodeId> {
    forward_admitted::<P>(packet, key, &mut AdmitAll)
}

/// The same if `filter` admits it.
pub fn forward_admitted<P: Profile>(
    packet: &mut [u8],
    key: &MixKey,
    filter: &mut impl ReplayFilter,
) -> Option<NodeId> {
    let ((), authentic) = Packet::<P>::parse(packet).ok()?.authenticate([((), key)]).ok()?;
    match authentic.admit(filter).ok()?.unwrap_layer().ok()? {
        Hop::Forward(forward) => Some(forward.next),
        _ => None,
    }
}

/// Removes one layer of each packet of a batch, which is empty then; how many are to be sent on.
pub fn forward_batch<P: Profile>(
    batch: &mut Batch<P, (), ()>,
    key: &MixKey,
    filter: &mut impl ReplayFilter,
) -> usize {
    let fresh = AuthenticBatch::authenticate(batch, [((), key)]).admit(|(), packet| {
        let _ = packet.map(|((), packet)| packet.admit(filter));
    });
    let mut forwarded = 0;
    fresh.unwrap_layers().take_each(|(), mut packet| {
        forwarded += usize::from(matches!(packet.hop(), Ok(Hop::Forward(_))));
        black_box(packet.into_bytes());
    });
    forwarded
}
