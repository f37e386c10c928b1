//! The known answers of `vectors/packet.json`: what is made and processed with marked secrets is
//! what they say.

use motemix_crypto::{Portable, PublicKey};
use motemix_sphinx::{
    HeaderBuilder, Host1k, Host2k, MessageId, MixKey, Mote, Mote5, NodeId, PathHop, Profile, Shape,
};
use serde_json::Value;

use crate::marks;
use crate::packets::process_at;
use crate::trial::{Expected, Operation, Trial};

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "known answers, mote",
        secret: "seeds, mix keys",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            [known::<Mote<Portable>>(trial, "MOTE"), known::<Mote5<Portable>>(trial, "MOTE5")].concat()
        },
    },
    Operation {
        name: "known answers, host",
        secret: "seeds, mix keys",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| {
            [known::<Host1k<Portable>>(trial, "HOST1K"), known::<Host2k<Portable>>(trial, "HOST2K")].concat()
        },
    },
];

const VECTORS: &str = include_str!("../../../vectors/packet.json");

/// Every packet of a profile, made from its seed and processed as it arrives at each of its hops.
fn known<P: Profile>(trial: &Trial, profile: &str) -> Vec<u8> {
    let vectors: Value = serde_json::from_str(VECTORS).expect("the vectors are JSON");
    let packets = vectors["packets"].as_array().expect("they have packets");
    packets
        .iter()
        .filter(|packet| packet["profile"] == profile)
        .flat_map(|packet| one::<P>(trial, packet))
        .collect()
}

fn one<P: Profile>(trial: &Trial, vector: &Value) -> Vec<u8> {
    let nodes = vector["path"].as_array().expect("a path");
    let path: Vec<PathHop> = nodes
        .iter()
        .map(|node| PathHop {
            id: NodeId::new(node["id"].as_u64().expect("a number") as u16).expect("14 bits"),
            mix_key: PublicKey(array(&node["public"])),
        })
        .collect();
    let shape = match vector["shape"].as_str() {
        Some("one-way-deliver") => Shape::OneWay,
        Some("one-way-drop") => Shape::Drop,
        Some("round-trip") => {
            Shape::RoundTrip { receiver: vector["turn_round_hop"].as_u64().expect("a number") as usize }
        }
        _ => Shape::Loop,
    };
    let header = HeaderBuilder::<P>::new(&path, shape, trial.secret(array(&vector["seed"])))
        .and_then(HeaderBuilder::build)
        .expect("a sound path");
    let mut packet = P::packet();
    if let Shape::Loop = shape {
        header.cover(packet.as_mut(), |payload| payload.copy_from_slice(&bytes(&vector["payload_sealed"])));
    } else {
        let id = MessageId(array(&vector["message_id"]));
        header.seal(id, &bytes(&vector["data"]), packet.as_mut()).expect("it fits");
    }
    expect(packet.as_ref(), &vector["packet"]);

    let mut made = packet.as_ref().to_vec();
    let wire = vector["wire"].as_array().expect("datagrams");
    for (at, (node, arriving)) in nodes.iter().zip(wire).enumerate() {
        let mut datagram = bytes(arriving);
        let key = MixKey::new(trial.secret(array(&node["secret"])));
        let found = process_at::<P>(&key, &mut datagram).expect("a sound packet");
        // Where a packet is turned round, the vectors have another reply.
        let turns = matches!(shape, Shape::RoundTrip { receiver } if receiver == at);
        if let (Some(next), false) = (wire.get(at + 1), turns) {
            expect(&datagram, next);
        }
        made.extend([datagram, found].concat());
    }
    made
}

/// In the clear: the comparison is the check's own.
fn expect(found: &[u8], vector: &Value) {
    let mut found = found.to_vec();
    marks::mark_public(&mut found);
    assert_eq!(found, bytes(vector), "the vectors say otherwise");
}

fn bytes(vector: &Value) -> Vec<u8> {
    let digits = vector.as_str().expect("digits").as_bytes();
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("a hexadecimal digit") as u8;
    digits.as_chunks::<2>().0.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect()
}

fn array<const N: usize>(vector: &Value) -> [u8; N] {
    bytes(vector).try_into().expect("the vector has this length")
}
