//! What somebody sees who looks at packets alone: `docs/spec/packet.md`, "Geometry", says no more
//! and no less.

use curve25519_dalek::montgomery::MontgomeryPoint;
use motemix_crypto::{Portable, Secret, hash};
use motemix_sphinx::{
    HeaderBuilder, Hop, MessageId, MixKey, Mote, NodeId, Packet, PathHop, Profile, ReplayError, ReplayFilter,
    ReplayTag, Shape,
};

type OnMote = Mote<Portable>;

const HOPS: usize = 6;
const PACKETS: u32 = 10;
const STRANGERS: u32 = 1000;

struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

fn mix_key(node: usize) -> MixKey {
    MixKey::new(hash::blake2s_256(b"node", &[node as u8]))
}

/// The group elements of packets as they arrive at each of their hops.
fn group_elements() -> Vec<[u8; 32]> {
    let path: [PathHop; HOPS] = std::array::from_fn(|node| PathHop {
        id: NodeId::new(node as u16).expect("a small id"),
        mix_key: mix_key(node).public_key::<Portable>(),
    });
    let mut elements = Vec::new();
    for number in 0..PACKETS {
        let seed = Secret::new(*hash::blake2s_256(b"seed", &number.to_be_bytes()).expose());
        let mut packet = OnMote::packet();
        HeaderBuilder::<OnMote>::new(&path, Shape::OneWay, seed)
            .and_then(HeaderBuilder::build)
            .expect("a sound path")
            .seal(MessageId([0; 4]), b"a reading", &mut packet)
            .expect("it fits");
        for node in 0..HOPS {
            let arrived = Packet::<OnMote>::parse(&mut packet).expect("a packet");
            elements.push(arrived.group_element().0);
            let ((), authentic) = arrived.authenticate([((), &mix_key(node))]).expect("its MAC holds");
            let hop = authentic.admit(&mut AdmitAll).expect("admitted").unwrap_layer().expect("sound");
            assert_eq!(matches!(hop, Hop::Forward(_)), node + 1 < HOPS);
        }
    }
    elements
}

#[test]
fn group_elements_are_on_the_curve_and_half_of_random_strings_are_not() {
    let is_on_curve = |bytes: &[u8; 32]| MontgomeryPoint(*bytes).to_edwards(0).is_some();
    let ours = group_elements();
    assert_eq!(ours.len(), 60);
    assert!(ours.iter().all(is_on_curve), "an observer tells packets from noise by it");

    let strangers = (0..STRANGERS).map(|number| *hash::blake2s_256(b"noise", &number.to_be_bytes()).expose());
    let on_curve = strangers.filter(is_on_curve).count();
    // 500 ± 16; the noise is the same in each run.
    assert!((440..560).contains(&on_curve), "{on_curve} of {STRANGERS}");
}

#[test]
fn group_elements_have_prime_order_at_every_hop_so_that_none_can_be_followed_by_it() {
    for bytes in group_elements() {
        assert_eq!(bytes[31] >> 7, 0, "the top bit is zero");
        let point = MontgomeryPoint(bytes).to_edwards(0).expect("on the curve");
        assert!(point.is_torsion_free(), "one of small order beside it would survive the hops and mark them");
    }
}
