//! Loopix: packets of the originals and of the hardened profile, and the proofs between client and
//! provider.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng as _;
use motemix_checked_sources::packet::{
    Format, Hop, HopKeys, Layer, Packet, ProcessError, body, create, forward, surb,
};
use motemix_checked_sources::wire::command::{Command, Next, Text};
use motemix_checked_sources::wire::hardened::{ControlKey, Payload, Request};
use motemix_checked_sources::{pack, packet};
use motemix_crypto::Secret;
use motemix_crypto::p224::{self, Point, Scalar};

use crate::marks;
use crate::packets::AdmitAll;
use crate::trial::{Expected, Operation, Trial};

const HOPS: usize = 3;
const MESSAGE: &[u8] = b"what only its receiver reads";
const SEED: [u8; 32] = [0x4c; 32];
const K: usize = 16;
const NAMED: Format = Format::LOOPIX;
const HARDENED: Format = Format::HARDENED;

pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "Loopix: make a packet",
        secret: "seed, message",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| made(trial, &NAMED),
    },
    Operation {
        name: "Loopix, hardened: make a packet",
        secret: "seed, message",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| made(trial, &HARDENED),
    },
    Operation {
        name: "Loopix: relay",
        secret: "the node's secret",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| processed(trial, &NAMED, 1, |_, _| ()),
    },
    Operation {
        name: "Loopix, hardened: relay",
        secret: "the node's secret",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| processed(trial, &HARDENED, 1, |_, _| ()),
    },
    Operation {
        name: "Loopix: deliver",
        secret: "the node's secret",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| processed(trial, &NAMED, HOPS - 1, |_, _| ()),
    },
    Operation {
        name: "Loopix, hardened: deliver",
        secret: "the node's secret",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| processed(trial, &HARDENED, HOPS - 1, |_, _| ()),
    },
    Operation {
        name: "Loopix: refuse a packet with one wrong byte in its header MAC",
        secret: "the node's secret",
        expected: Expected::Disclosed,
        variants: K,
        run: |trial| wrong_header_mac(trial, &NAMED),
    },
    Operation {
        name: "Loopix, hardened: refuse a packet with one wrong byte in its header MAC",
        secret: "the node's secret",
        expected: Expected::Disclosed,
        variants: K,
        run: |trial| wrong_header_mac(trial, &HARDENED),
    },
    Operation {
        name: "Loopix: refuse a message with one wrong byte in its tag",
        secret: "the node's secret",
        expected: Expected::Secret,
        variants: K,
        run: |trial| wrong_tag(trial, &NAMED),
    },
    Operation {
        name: "Loopix, hardened: refuse a message with one wrong byte in its tag",
        secret: "the node's secret",
        expected: Expected::Secret,
        variants: K,
        run: |trial| wrong_tag(trial, &HARDENED),
    },
    Operation {
        name: "Loopix, hardened: make a SURB, reply, open",
        secret: "seed of the SURB",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| replied(trial, None),
    },
    Operation {
        name: "Loopix, hardened: refuse a reply with one wrong byte in its tag",
        secret: "seed of the SURB",
        expected: Expected::Disclosed,
        variants: K,
        run: |trial| replied(trial, Some(trial.variant())),
    },
    Operation {
        name: "Loopix, hardened: prove a request",
        secret: "the client's secret",
        expected: Expected::Secret,
        variants: 1,
        run: |trial| client(&secret_of(trial, 0)).sign(7, &REQUEST).encode(),
    },
    Operation {
        name: "Loopix, hardened: refuse a request with one wrong byte in its proof",
        secret: "the provider's secret",
        expected: Expected::Disclosed,
        variants: K,
        run: |trial| {
            let mut signed = client(&scalar(0)).sign(7, &REQUEST).encode();
            let place = signed.len() - K + trial.variant();
            signed[place] ^= 1;
            let Some(Payload::Signed(signed)) = Payload::parse(&signed) else { panic!("a request") };
            vec![u8::from(provider(&secret_of(trial, 1)).verify(&signed).is_some())]
        },
    },
    Operation {
        name: "Loopix, hardened: ignore a challenge with one wrong byte in its proof",
        secret: "the client's secret",
        expected: Expected::Disclosed,
        variants: K,
        run: |trial| {
            let mut challenge = provider(&scalar(1)).challenge([9; K]).encode();
            let place = challenge.len() - K + trial.variant();
            challenge[place] ^= 1;
            let Some(Payload::Challenge(challenge)) = Payload::parse(&challenge) else {
                panic!("a challenge")
            };
            vec![u8::from(client(&secret_of(trial, 0)).answer(&challenge).is_some())]
        },
    },
];

const REQUEST: Request = Request::Confirm([3; K]);

fn bytes_of(node: usize) -> Secret<28> {
    Secret::new([node as u8 + 1; 28])
}

fn scalar(node: usize) -> Scalar {
    Scalar::from_be_bytes(&bytes_of(node)).expect("below n")
}

fn secret_of(trial: &Trial, node: usize) -> Scalar {
    Scalar::from_be_bytes(&trial.secret(*bytes_of(node).expose())).expect("below n")
}

fn public(node: usize) -> Point {
    Point::mul_generator(&scalar(node))
}

fn client(secret: &Scalar) -> ControlKey {
    ControlKey::of_client(secret, &public(0), &public(1))
}

fn provider(secret: &Scalar) -> ControlKey {
    ControlKey::of_provider(secret, &public(1), &public(0))
}

/// What hop `node` is to be called by the one before it.
fn routing(format: &Format, node: usize) -> Vec<u8> {
    let next = if *format == HARDENED {
        Next::Id([node as u8; 8])
    } else {
        Next::Named { host: "127.0.0.1".into(), port: 9000 + node as u16, name: format!("Mix{node}") }
    };
    let command = Command { next, delay: Duration::from_millis(5), drop: false };
    forward::relay(format, command.value(Text::Bin, Text::Bin))
}

fn with_path<T>(format: &Format, then: impl FnOnce(&[Hop<'_>]) -> T) -> T {
    let routing: [Vec<u8>; HOPS] = std::array::from_fn(|node| routing(format, node));
    let hops: [Hop<'_>; HOPS] =
        std::array::from_fn(|node| Hop { key: public(node), routing: &routing[node], associated: &[] });
    then(&hops)
}

fn packet_of(format: &Format, seed: &Secret<32>, message: &[u8]) -> Vec<u8> {
    let mut rng = ChaCha20Rng::from_seed(*seed.expose());
    with_path(format, |path| create(format, path, message, &mut rng).expect("it fits"))
}

fn made(trial: &Trial, format: &Format) -> Vec<u8> {
    let mut message = MESSAGE.to_vec();
    trial.mark(&mut message);
    packet_of(format, &trial.secret(SEED), &message)
}

/// One hop, in place; what comes out beside the packet.
fn process(format: &Format, datagram: &mut [u8], secret: &Scalar) -> Result<Vec<u8>, ProcessError> {
    let authentic = Packet::parse(format, datagram)?.authenticate(secret, &[])?;
    // Disclosed: what the hop is told, as in the library.
    match authentic.admit(&mut AdmitAll).expect("all are admitted").read()? {
        Layer::Relay(relay) => {
            let command = pack::encode(&relay.command);
            relay.forward().map(|()| command)
        }
        Layer::Destination(arrival) => arrival.open().map(<[u8]>::to_vec),
        Layer::Surb(arrival) => Ok([arrival.id.to_vec(), arrival.into_payload().to_vec()].concat()),
    }
}

/// By the length of the payload and the node.
type Arrived = HashMap<(usize, usize), (Vec<u8>, HopKeys)>;

thread_local! {
    /// Packets by the length of their payload and the node where they have arrived, with that
    /// node's keys.
    static ARRIVED: RefCell<Arrived> = RefCell::default();
}

/// A packet at this node, changed: its header's parts and its payload are given, with the node's
/// keys.
fn arrived(
    format: &Format,
    node: usize,
    change: impl FnOnce(&HopKeys, &mut packet::format::Parts<'_>),
) -> Vec<u8> {
    // Made once for all variants: valgrind takes its time.
    ARRIVED.with_borrow_mut(|arrived| {
        let make = || {
            let mut datagram = packet_of(format, &Secret::new(SEED), MESSAGE);
            for before in 0..node {
                process(format, &mut datagram, &scalar(before)).expect("a sound packet");
            }
            let mut copy = datagram.clone();
            let parts = format.split(&mut copy).expect("a packet");
            let group_element = Point::decompress(parts.group_element).expect("a point");
            (datagram, HopKeys::new(&p224::diffie_hellman(&scalar(node), &group_element)))
        };
        let (datagram, keys) = arrived.entry((format.body_len, node)).or_insert_with(make);
        let mut datagram = datagram.clone();
        change(keys, &mut format.split(&mut datagram).expect("a packet"));
        datagram
    })
}

fn processed(
    trial: &Trial,
    format: &Format,
    node: usize,
    change: impl FnOnce(&HopKeys, &mut packet::format::Parts<'_>),
) -> Vec<u8> {
    let mut datagram = arrived(format, node, change);
    let found = process(format, &mut datagram, &secret_of(trial, node));
    let found = found.unwrap_or_else(|refused| refused.to_string().into_bytes());
    // Its length is what the hop is told, or of the message: disclosed to the hop, and to this
    // check.
    let mut len = found.len().to_ne_bytes();
    marks::mark_public(&mut len);
    datagram.extend_from_slice(&found[..usize::from_ne_bytes(len)]);
    datagram
}

fn wrong_header_mac(trial: &Trial, format: &Format) -> Vec<u8> {
    let mut found = processed(trial, format, 1, |_, parts| parts.header_mac[trial.variant()] ^= 1);
    // The packet is as it came.
    found.drain(..format.datagram_len());
    found
}

fn wrong_tag(trial: &Trial, format: &Format) -> Vec<u8> {
    processed(trial, format, HOPS - 1, |keys, parts| {
        body::decrypt(keys.payload(), parts.payload);
        parts.payload[trial.variant()] ^= 1;
        body::encrypt(keys.payload(), parts.payload);
    })
}

/// A SURB is made in the clear, replied with and returned; the same one, marked, opens the reply.
fn replied(trial: &Trial, wrong: Option<usize>) -> Vec<u8> {
    let surb = |seed: &Secret<32>| {
        let mut rng = ChaCha20Rng::from_seed(*seed.expose());
        let me = pack::Value::Nil;
        // A path of one hop: the reply is under the SURB's own key alone.
        with_path(&HARDENED, |path| surb::create(&HARDENED, &path[..1], me, &mut rng).expect("it fits"))
    };
    let (given, _) = surb(&Secret::new(SEED));
    let key = given.parts().1.duplicate();
    let mut datagram = given.reply(&HARDENED, MESSAGE).expect("it fits");
    let payload = HARDENED.split(&mut datagram).expect("a packet").payload;
    if let Some(byte) = wrong {
        body::decrypt(&key, payload);
        payload[byte] ^= 1;
        body::encrypt(&key, payload);
    }
    let (_, keys) = surb(&trial.secret(SEED));
    // As it leaves its only hop, which decrypts what the keys encrypt again.
    let hop = keys.keys().nth(1).expect("one hop").duplicate();
    body::decrypt(&hop, payload);
    let opened = keys.open(HARDENED.body_tag, payload).map(<[u8]>::to_vec);
    opened.unwrap_or_else(|_| b"refused".to_vec())
}
