//! Packets of all formats on random paths: sound ones arrive, changed ones are refused.

use chacha20::ChaCha20Rng;
use motemix_crypto::p224::{Point, Scalar};
use motemix_loopix::pack;
use motemix_loopix::packet::header::draw_scalar;
use motemix_loopix::packet::{
    Blinding, BodyTag, CreateError, Flags, Format, Hop, Layer, Packet, ProcessError, forward, surb,
};
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use proptest::prelude::*;
use proptest::sample::Index;
use rand_core::SeedableRng as _;

/// sphinxmix 0.0.7 on Python 3, with its own lengths.
const PYTHON_3: Format = Format {
    header_len: 192,
    body_len: 1024,
    flags: Flags::Str,
    body_tag: BodyTag::Hmac,
    blinding: Blinding::Short,
};

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(vec![Format::LOOPIX, Format::HARDENED, PYTHON_3])
}

#[derive(Default)]
struct Seen(Vec<ReplayTag>);

impl ReplayFilter for Seen {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        if self.0.iter().any(|seen| seen.0 == tag.0) {
            return Err(ReplayError::Replayed);
        }
        self.0.push(*tag);
        Ok(())
    }
}

struct Node {
    secret: Scalar,
    key: Point,
    routing: Vec<u8>,
}

impl Node {
    fn hop(&self) -> Hop<'_> {
        Hop { key: self.key, routing: &self.routing, associated: &[] }
    }
}

/// A path of so many nodes; each is told its own number.
fn path(format: &Format, hops: usize, rng: &mut ChaCha20Rng) -> Vec<Node> {
    let node = |number: usize| {
        let secret = draw_scalar(rng);
        let routing = forward::relay(format, pack::Value::from(number));
        Node { key: Point::mul_generator(&secret), secret, routing }
    };
    (0..hops).map(node).collect()
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn make(format: &Format, path: &[Node], message: &[u8], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let hops: Vec<_> = path.iter().map(Node::hop).collect();
    let payload = forward::payload(pack::Value::from("bob"), message);
    forward::create(format, &hops, &payload, rng).expect("it fits")
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Sent(u64),
    Arrived(Vec<u8>),
    Replied([u8; 16], Vec<u8>),
}

fn process(format: &Format, node: &Node, datagram: &mut [u8]) -> Result<Outcome, ProcessError> {
    let packet = Packet::parse(format, datagram)?.authenticate(&node.secret, &[])?;
    match packet.admit(&mut Seen::default()).expect("an empty filter").read()? {
        Layer::Relay(relay) => {
            let next = relay.command.as_u64().ok_or(ProcessError::BadRouting)?;
            relay.forward().map(|()| Outcome::Sent(next))
        }
        Layer::Destination(arrival) => arrival.open().map(|payload| Outcome::Arrived(payload.to_vec())),
        Layer::Surb(arrival) => Ok(Outcome::Replied(arrival.id, arrival.into_payload().to_vec())),
    }
}

/// Takes a packet over the first `hops` nodes of its path.
fn travel(format: &Format, path: &[Node], hops: usize, datagram: &mut [u8]) {
    for (number, node) in path.iter().enumerate().take(hops) {
        let outcome = process(format, node, datagram);
        assert_eq!(outcome, Ok(Outcome::Sent(number as u64 + 1)));
    }
}

/// Where the parts of a datagram are.
struct Places {
    header: std::ops::Range<usize>,
    payload: std::ops::Range<usize>,
}

fn places(format: &Format) -> Places {
    let payload = format.datagram_len() - format.body_len;
    // In front of the payload stands the three bytes long header of a byte string.
    Places { header: 0..payload - 3, payload: payload..format.datagram_len() }
}

fn flip(datagram: &mut [u8], within: std::ops::Range<usize>, bit: Index) {
    let bit = 8 * within.start + bit.index(8 * within.len());
    datagram[bit / 8] ^= 1 << (bit % 8);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_packet_arrives_once_and_in_order(format in formats(), hops in 1..=7usize, seed: u64, len in 0..900usize) {
        let mut rng = rng(seed);
        let path = path(&format, hops, &mut rng);
        let message = vec![0x5a; len];
        let mut datagram = make(&format, &path, &message, &mut rng);
        prop_assert_eq!(datagram.len(), format.datagram_len());
        for (number, node) in path.iter().enumerate() {
            // Nobody else on the path can open it, nor take it again.
            for (other, wrong) in path.iter().enumerate() {
                let refused = process(&format, wrong, &mut datagram.clone());
                prop_assert_eq!(refused.is_ok(), other == number, "{} at {}", other, number);
            }
            let mut seen = Seen::default();
            for expected in [Ok(()), Err(ReplayError::Replayed)] {
                let mut copy = datagram.clone();
                let packet = Packet::parse(&format, &mut copy).expect("a packet");
                let packet = packet.authenticate(&node.secret, &[]).expect("for this node");
                prop_assert_eq!(packet.admit(&mut seen).map(drop), expected);
            }
            let outcome = process(&format, node, &mut datagram).expect("it is sound");
            if number + 1 == hops {
                prop_assert_eq!(outcome, Outcome::Arrived(forward::payload(pack::Value::from("bob"), &message)));
            } else {
                prop_assert_eq!(outcome, Outcome::Sent(number as u64 + 1));
            }
        }
    }

    #[test]
    fn a_changed_header_is_refused_at_the_next_hop(
        format in formats(), hops in 1..=7usize, at: Index, bit: Index, seed: u64,
    ) {
        let mut rng = rng(seed);
        let path = path(&format, hops, &mut rng);
        let mut datagram = make(&format, &path, b"hello", &mut rng);
        let at = at.index(hops);
        travel(&format, &path, at, &mut datagram);
        flip(&mut datagram, places(&format).header, bit);
        let refused = process(&format, &path[at], &mut datagram);
        prop_assert!(
            matches!(
                refused,
                Err(ProcessError::Malformed | ProcessError::NotOnCurve | ProcessError::BadHeaderMac)
            ),
            "{:?}",
            refused
        );
    }

    #[test]
    fn a_changed_payload_is_found_at_the_end(
        format in formats(), hops in 1..=7usize, at: Index, bit: Index, seed: u64,
    ) {
        let mut rng = rng(seed);
        let path = path(&format, hops, &mut rng);
        let mut datagram = make(&format, &path, b"hello", &mut rng);
        let at = at.index(hops);
        travel(&format, &path, at, &mut datagram);
        flip(&mut datagram, places(&format).payload, bit);
        for node in &path[at..hops - 1] {
            let outcome = process(&format, node, &mut datagram);
            prop_assert!(matches!(outcome, Ok(Outcome::Sent(_))), "{:?}", outcome);
        }
        prop_assert_eq!(process(&format, &path[hops - 1], &mut datagram), Err(ProcessError::BadPayload));
    }

    #[test]
    fn a_reply_comes_back(format in formats(), hops in 1..=7usize, seed: u64, damage: Option<Index>) {
        let mut rng = rng(seed);
        let path = path(&format, hops, &mut rng);
        let told: Vec<_> = path.iter().map(Node::hop).collect();
        // A SURB's last string is longer: seven hops do not fit into every format.
        let made = surb::create(&format, &told, pack::Value::from("me"), &mut rng);
        let Ok((surb, keys)) = made else {
            prop_assert_eq!(made.map(drop), Err(CreateError::HeaderFull));
            return Ok(());
        };
        let mut datagram = surb.reply(&format, b"all is well").expect("it fits");
        travel(&format, &path, hops - 1, &mut datagram);
        if let Some(bit) = damage {
            flip(&mut datagram, places(&format).payload, bit);
        }
        let Ok(Outcome::Replied(id, mut payload)) = process(&format, &path[hops - 1], &mut datagram) else {
            return Err(TestCaseError::fail("no reply"));
        };
        prop_assert_eq!(id, keys.id);
        let opened = keys.open(format.body_tag, &mut payload);
        let expected =
            if damage.is_none() { Ok(b"all is well".as_slice()) } else { Err(ProcessError::BadPayload) };
        prop_assert_eq!(opened, expected);
    }

    #[test]
    fn what_does_not_fit_is_refused(
        format in formats(), lens in prop::collection::vec(0..=200usize, 0..12), message in 0..1200usize, seed: u64,
    ) {
        let mut rng = rng(seed);
        let key = Point::mul_generator(&draw_scalar(&mut rng));
        let strings: Vec<_> = lens.iter().map(|len| vec![0xc0; *len]).collect();
        let path: Vec<_> =
            strings.iter().map(|routing| Hop { key, routing, associated: &[] }).collect();
        let payload = vec![1; message];
        let made = forward::create(&format, &path, &payload, &mut rng).map(|datagram| datagram.len());
        let told = lens.get(1..).unwrap_or_default();
        let needed = told.iter().map(|len| 1 + len + 16).sum::<usize>() + 1 + 4;
        let expected = if lens.is_empty() {
            Err(CreateError::NoHops)
        } else if told.iter().any(|len| *len > 127) {
            Err(CreateError::LongRouting)
        } else if needed > format.routing_info_len() {
            Err(CreateError::HeaderFull)
        } else if 16 + message + 1 > format.body_len {
            Err(CreateError::BodyFull)
        } else {
            Ok(format.datagram_len())
        };
        prop_assert_eq!(made, expected);
    }

    /// What the hardened format changes beside lengths: the blinding, and with it every group
    /// element after the first.
    #[test]
    fn hardened_packets_blind_otherwise(hops in 2..=7usize, seed: u64) {
        let short = Format { blinding: Blinding::Short, ..Format::HARDENED };
        let of = |format: &Format| {
            let mut rng = rng(seed);
            let path = path(format, hops, &mut rng);
            let mut datagram = make(format, &path, b"hello", &mut rng);
            let element = |datagram: &mut [u8]| *format.split(datagram).expect("a packet").group_element;
            let first = element(&mut datagram);
            travel(format, &path, 1, &mut datagram);
            (first, element(&mut datagram), *format.split(&mut datagram).expect("a packet").header_mac)
        };
        let (hardened, original) = (of(&Format::HARDENED), of(&short));
        prop_assert_eq!(hardened.0, original.0);
        prop_assert_ne!(hardened.1, original.1);
        prop_assert_ne!(hardened.2, original.2);
    }

    #[test]
    fn any_value_is_read_as_it_was_packed(value in values()) {
        prop_assert_eq!(pack::decode(&pack::encode(&value)), Ok(value));
    }

    #[test]
    fn any_bytes_are_a_value_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // Several encodings of one value are read; ours is not longer than any of them.
        if let Ok(value) = pack::decode(&bytes) {
            prop_assert!(pack::encode(&value).len() <= bytes.len());
        }
    }
}

/// Values of the kinds that the protocol has.
fn values() -> impl Strategy<Value = pack::Value> {
    let leaf = prop_oneof![
        Just(pack::Value::Nil),
        any::<bool>().prop_map(pack::Value::from),
        any::<u64>().prop_map(pack::Value::from),
        any::<i64>().prop_map(pack::Value::from),
        prop::num::f64::NORMAL.prop_map(pack::Value::F64),
        ".{0,40}".prop_map(pack::Value::from),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(pack::binary),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| pack::big_integer(&bytes)),
        any::<[u8; 29]>().prop_map(|bytes| pack::point(&bytes)),
    ];
    leaf.prop_recursive(4, 40, 10, |inner| prop::collection::vec(inner, 0..20).prop_map(pack::Value::Array))
}
