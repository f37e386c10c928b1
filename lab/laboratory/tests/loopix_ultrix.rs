//! Ultrix notices changes, but only at its end: what arrives is what was sent.

use chacha20::ChaCha20Rng;
use motemix_lab::loopix::ultrix::{self, Group, P224, X25519};
use motemix_loopix::pack;
use motemix_loopix::packet::Flags;
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use proptest::prelude::*;
use proptest::sample::Index;
use rand_core::SeedableRng as _;

const FORMAT: ultrix::Format = ultrix::Format { header_len: 192, body_len: 512, flags: Flags::Str };

/// Every packet is new here.
struct AllNew;

impl ReplayFilter for AllNew {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

struct Node<G: Group> {
    secret: G::Exponent,
    routing: Vec<u8>,
}

fn open<G: Group>(node: &Node<G>, packet: ultrix::Packet<G>) -> Option<ultrix::Layer<G>> {
    packet.open(&FORMAT, &node.secret, &[]).ok()?.admit(&mut AllNew).ok()?.read().ok()
}

/// What arrives of a packet of which a bit is flipped before hop `at`.
fn arrives<G: Group>(hops: usize, seed: u64, damage: Option<(usize, Index)>) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let path: Vec<Node<G>> = (0..hops)
        .map(|number| {
            let command = pack::Value::Array(vec![pack::binary([0xf0]), pack::Value::from(number)]);
            Node { secret: G::draw(&mut rng), routing: pack::encode(&command) }
        })
        .collect();
    let told = path.iter().map(|node| ultrix::Hop {
        key: G::public(&node.secret),
        routing: &node.routing,
        associated: &[],
    });
    let told: Vec<ultrix::Hop<'_, G>> = told.collect();
    let mut packet = ultrix::create(&FORMAT, &told, b"bob", b"hello", &mut rng).expect("it fits");
    for (number, node) in path.iter().enumerate() {
        if let Some((_, bit)) = damage.filter(|(at, _)| *at == number) {
            let bit = bit.index(8 * (packet.routing_info.len() + packet.payload.len() + 32));
            let places = [
                &mut packet.chain[..],
                &mut packet.destination_key,
                &mut packet.routing_info,
                &mut packet.payload,
            ];
            let mut byte = bit / 8;
            for place in places {
                match place.get_mut(byte) {
                    Some(place) => {
                        *place ^= 1 << (bit % 8);
                        break;
                    }
                    None => byte -= place.len(),
                }
            }
        }
        match open(node, packet)? {
            ultrix::Layer::Relay { packet: next, .. } => packet = next,
            ultrix::Layer::Destination(arrival) => {
                let destination = arrival.destination.clone();
                return arrival.open().ok().map(|message| (destination, message));
            }
            ultrix::Layer::Surb { .. } => return None,
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn only_a_sound_packet_arrives(hops in 1..=5usize, seed: u64, at: Index, bit: Index) {
        let sent = Some((b"bob".to_vec(), b"hello".to_vec()));
        prop_assert_eq!(arrives::<P224>(hops, seed, None), sent.clone());
        prop_assert_eq!(arrives::<X25519>(hops, seed, None), sent);
        let damage = Some((at.index(hops), bit));
        prop_assert_eq!(arrives::<P224>(hops, seed, damage), None);
        prop_assert_eq!(arrives::<X25519>(hops, seed, damage), None);
    }
}
