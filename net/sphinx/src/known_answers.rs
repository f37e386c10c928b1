//! Every intermediate value against `vectors/`, which an independent implementation produced.

extern crate std;

use std::string::String;
use std::vec::Vec;

use motemix_crypto::wide_block::WideBlockKeys;
use motemix_crypto::{Curve, Portable, PublicKey, Secret, WideBlake2b, WideBlake2s};
use serde::Deserialize;
use serde_json::Value;

use crate::keys::HopKey;
use crate::onion::LayerKeys;
use crate::{
    Header, HeaderBuilder, HeaderId, Hop, HopDelay, Host1k, Host2k, Message, MessageId, MixKey, Mote, Mote5,
    NodeId, Packet, PathHop, ProcessError, Profile, ReplayError, ReplayFilter, ReplayTag, ReturnKeys, Shape,
    Surb, TurnRound,
};

/// Miri looks for undefined behaviour and takes minutes for a packet: it is given one case in so
/// many, others all.
const ONE_IN: usize = if cfg!(miri) { 20 } else { 1 };

/// A file of `vectors/`, which is in the repository and not in the package.
fn vectors(file: &str) -> String {
    let path = std::format!("{}/../../vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[derive(Deserialize)]
struct Case {
    name: String,
    profile: String,
    #[serde(default)]
    shape: String,
    seed: String,
    path: Vec<Node>,
    turn_round_hop: Option<usize>,
    x: String,
    header_id: String,
    alpha0: String,
    hops: Vec<HopValues>,
    message_id: Option<String>,
    wire: Vec<String>,
    payload_at_sender: Option<String>,
    // Packets only.
    data: Option<String>,
    payload_plain: Option<String>,
    payload_sealed: Option<String>,
    packet: Option<String>,
    turn_keys: Option<String>,
    reply_data: Option<String>,
    reply_plain: Option<String>,
    // SURBs only.
    surb_seed: String,
    encoded: Option<String>,
}

#[derive(Deserialize)]
struct Node {
    id: u16,
    secret: String,
    public: String,
}

#[derive(Deserialize)]
struct HopValues {
    shared_secret: String,
    scalar: String,
    hop_key: String,
    blinding: String,
    replay_tag: String,
    exponential: u64,
    delay_us: u64,
    payload_keys: String,
    beta: String,
    gamma: String,
}

struct AdmitAll;

impl ReplayFilter for AdmitAll {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: &[u8]| u8::from_str_radix(std::str::from_utf8(byte).unwrap(), 16).unwrap();
    text.as_bytes().chunks(2).map(digit).collect()
}

fn array<const N: usize>(text: &str) -> [u8; N] {
    unhex(text).try_into().expect("the vector has the right length")
}

impl Case {
    fn path(&self) -> Vec<PathHop> {
        let hop = |node: &Node| PathHop {
            id: NodeId::new(node.id).unwrap(),
            mix_key: PublicKey(array(&node.public)),
        };
        self.path.iter().map(hop).collect()
    }

    fn keys(&self) -> impl Iterator<Item = MixKey> {
        self.path.iter().map(|node| MixKey::new(Secret::new(array(&node.secret))))
    }

    fn shape(&self) -> Shape {
        match self.shape.as_str() {
            "one-way-deliver" => Shape::OneWay,
            "one-way-drop" => Shape::Drop,
            "round-trip" => Shape::RoundTrip { receiver: self.turn_round_hop.unwrap() },
            "loop" | "" => Shape::Loop,
            other => panic!("shape {other}"),
        }
    }

    fn message_id(&self) -> MessageId {
        MessageId(self.message_id.as_deref().map_or([0; 4], array))
    }

    fn check_secrets(&self, hop_keys: &[HopKey]) {
        assert_eq!(hop_keys.len(), self.hops.len(), "{}", self.name);
        for ((hop, key), node) in self.hops.iter().zip(hop_keys).zip(&self.path) {
            let public = PublicKey(array(&node.public));
            assert_eq!(MixKey::new(Secret::new(array(&node.secret))).public_key::<Portable>(), public);
            let shared = Portable::diffie_hellman(&Secret::new(array(&hop.scalar)), &public).unwrap();
            assert_eq!(shared.expose(), &array(&hop.shared_secret), "{}", self.name);
            let expected = HopKey::extract(&shared);
            assert_eq!(format_key(&expected), hop.hop_key);
            assert_eq!(format_key(key), hop.hop_key, "{}", self.name);
            let header = key.header_keys();
            assert_eq!(header.blinding().expose(), &array(&hop.blinding));
            assert_eq!(header.replay_tag(), ReplayTag(array(&hop.replay_tag)));
            assert_eq!(header.delay().factor(), hop.exponential);
            let second = core::time::Duration::from_secs(1);
            assert_eq!(header.delay().of_mean(second).as_micros(), u128::from(hop.delay_us));
            assert_eq!(header.header_mac(&unhex(&hop.beta)), array(&hop.gamma));
            let (mut ours, mut theirs) = ([7; 64], [7; 64]);
            key.payload_keys().encrypt::<WideBlake2s>(&mut ours);
            WideBlockKeys::new(Secret::new(array(&hop.payload_keys))).encrypt::<WideBlake2s>(&mut theirs);
            assert_eq!(ours, theirs, "payload keys of {}", self.name);
        }
    }

    fn check_packet<P: Profile<Curve = Portable>>(&self) {
        let mut builder =
            HeaderBuilder::<P>::new(&self.path(), self.shape(), Secret::new(array(&self.seed))).unwrap();
        while !builder.step().unwrap() {}
        self.check_secrets(builder.hop_keys());
        let header: Header<P> = builder.finish().unwrap();
        assert_eq!(header.group_element.0, array(&self.alpha0));
        assert_eq!(header.group_element, Portable::public_key(&Secret::new(array(&self.x))));
        assert_eq!(header.routing_info.as_ref().as_flattened(), unhex(&self.hops[0].beta), "{}", self.name);
        assert_eq!(header.header_mac, array(&self.hops[0].gamma));
        assert_eq!(header.id, HeaderId(array(&self.header_id)));

        let mut packet = P::packet();
        let packet = packet.as_mut();
        let return_keys = match self.shape() {
            Shape::Loop => header.cover(packet, |payload| {
                payload.copy_from_slice(&unhex(self.payload_sealed.as_deref().unwrap()));
            }),
            _ => header.seal(self.message_id(), &unhex(self.data.as_deref().unwrap()), packet).unwrap(),
        }
        .return_keys;
        assert_eq!(packet, unhex(self.packet.as_deref().unwrap()), "{}", self.name);
        assert_eq!(packet[P::GEOMETRY.payload()], unhex(self.payload_sealed.as_deref().unwrap()));
        self.check_way::<P>(packet, return_keys.as_ref());
    }

    /// Follows the packet hop by hop; `wire` holds the datagram as it arrives at each.
    fn check_way<P: Profile>(&self, packet: &mut [u8], return_keys: Option<&ReturnKeys<P>>) {
        for (at, ((key, arriving), hop)) in self.keys().zip(&self.wire).zip(&self.hops).enumerate() {
            assert_eq!(packet, unhex(arriving), "{} arriving at hop {at}", self.name);
            let header_len = P::GEOMETRY.header_len();
            assert_eq!(packet[32..header_len - 16], unhex(&hop.beta));
            let ((), authenticated) = Packet::<P>::parse(packet).unwrap().authenticate([((), &key)]).unwrap();
            assert_eq!(authenticated.replay_tag(), ReplayTag(array(&hop.replay_tag)));
            let fresh = authenticated.admit(&mut AdmitAll).unwrap();
            let data = self.data.as_deref().map(unhex).unwrap_or_default();
            let reply_data = self.reply_data.as_deref().map(unhex).unwrap_or_default();
            let message = |data| Message { id: self.message_id(), data };
            match fresh.unwrap_layer().unwrap() {
                Hop::Forward(forward) => {
                    assert_eq!(forward.next.get(), self.path[at + 1].id);
                    assert_eq!(forward.delay.factor(), hop.exponential);
                }
                Hop::TurnRound(turn) => {
                    assert_eq!(Some(at), self.turn_round_hop);
                    assert_eq!(turn.forward.next.get(), self.path[at + 1].id);
                    assert_eq!(turn.message, Some(message(&data)));
                    let reply = unhex(self.reply_data.as_deref().unwrap());
                    turn.turn_key.reply::<P>(packet, self.message_id(), &reply).unwrap();
                    // What the reply is sealed from, by the keys as the vector names them.
                    let mut sealed = unhex(self.reply_plain.as_deref().unwrap());
                    WideBlockKeys::new(Secret::new(array(self.turn_keys.as_deref().unwrap())))
                        .encrypt::<P::WideHash>(&mut sealed);
                    assert_eq!(packet[P::GEOMETRY.payload()], sealed);
                }
                Hop::Deliver(delivered) => {
                    assert_eq!(delivered, message(&data));
                    assert_eq!(packet[P::GEOMETRY.payload()], unhex(self.payload_plain.as_deref().unwrap()));
                }
                Hop::Drop => assert_eq!(self.shape, "one-way-drop"),
                Hop::Yours(yours) => {
                    assert_eq!(yours.header_id, HeaderId(array(&self.header_id)));
                    if let Some(at_sender) = &self.payload_at_sender {
                        assert_eq!(yours.payload, unhex(at_sender));
                    }
                    if let Some(keys) = return_keys {
                        let opened = keys.open(yours.payload);
                        assert_eq!(opened, Some(message(&reply_data)));
                    }
                }
            }
        }
    }

    fn check_surb<P: Profile<Curve = Portable>>(&self) {
        let mut encoded = [0; 512];
        let seed = || Secret::new(array(&self.seed));
        let mut builder = HeaderBuilder::<P>::new(&self.path(), Shape::Loop, seed()).unwrap();
        while !builder.step().unwrap() {}
        self.check_secrets(builder.hop_keys());
        assert_eq!(builder.seed_bytes().surb_seed().expose(), &array(&self.surb_seed));

        let (keys, len) = Surb::<P>::create(&self.path(), seed(), &mut encoded).unwrap();
        assert_eq!(&encoded[..len], unhex(self.encoded.as_deref().unwrap()), "{}", self.name);
        assert_eq!(keys.header_id(), HeaderId(array(&self.header_id)));
        let reply = unhex(self.reply_data.as_deref().unwrap());
        let mut packet = P::packet();
        let first = Surb::<P>::parse(&encoded[..len])
            .unwrap()
            .reply(self.message_id(), &reply, packet.as_mut())
            .unwrap();
        assert_eq!(first.get(), self.path[0].id);
        self.check_way::<P>(packet.as_mut(), None);
        let mut arrived = unhex(self.payload_at_sender.as_deref().unwrap());
        assert_eq!(keys.open(&mut arrived), Some(Message { id: self.message_id(), data: &reply }));
    }
}

fn format_key(key: &HopKey) -> String {
    use core::fmt::Write;
    let mut text = String::new();
    for byte in key.expose() {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

fn document() -> Value {
    serde_json::from_str(&vectors("packet.json")).expect("vectors/packet.json is JSON")
}

fn cases(key: &str) -> Vec<Case> {
    let cases: Vec<Case> =
        serde_json::from_value(document()[key].clone()).expect("the format of vectors/README.md");
    assert!(cases.len() > 5, "{key}: {} cases", cases.len());
    cases
}

macro_rules! by_profile {
    ($profile:expr, $case:ident . $check:ident) => {
        match $profile {
            "MOTE" => $case.$check::<Mote>(),
            "MOTE5" => $case.$check::<Mote5>(),
            "HOST1K" => $case.$check::<Host1k>(),
            "HOST2K" => $case.$check::<Host2k>(),
            other => panic!("profile {other}"),
        }
    };
}

#[test]
fn every_packet_of_the_vectors_is_made_and_processed_byte_for_byte() {
    for case in cases("packets").iter().step_by(ONE_IN) {
        by_profile!(case.profile.as_str(), case.check_packet);
    }
}

#[test]
fn every_surb_of_the_vectors_is_made_and_answered_byte_for_byte() {
    for case in cases("surbs").iter().step_by(ONE_IN) {
        by_profile!(case.profile.as_str(), case.check_surb);
    }
}

#[test]
fn the_wide_block_is_that_of_the_vectors() {
    let document = document();
    let blocks = document["wide_block"].as_array().unwrap();
    assert!(!blocks.is_empty());
    for block in blocks {
        let field = |name: &str| unhex(block[name].as_str().unwrap());
        let keys = || WideBlockKeys::new(Secret::new(field("keys").try_into().unwrap()));
        let mut bytes = field("plain");
        let both = |bytes: &mut Vec<u8>, decrypt: bool| match (block["hash"].as_str().unwrap(), decrypt) {
            ("blake2s", false) => keys().encrypt::<WideBlake2s>(bytes),
            ("blake2s", true) => keys().decrypt::<WideBlake2s>(bytes),
            ("blake2b", false) => keys().encrypt::<WideBlake2b>(bytes),
            (_, _) => keys().decrypt::<WideBlake2b>(bytes),
        };
        both(&mut bytes, false);
        assert_eq!(bytes, field("cipher"));
        both(&mut bytes, true);
        assert_eq!(bytes, field("plain"));
    }
}

#[test]
fn the_delays_are_those_of_the_vectors() {
    let document = document();
    for delay in document["delay"].as_array().unwrap() {
        let seed = u64::from_str_radix(delay["seed_u64"].as_str().unwrap(), 16).unwrap();
        let mean = core::time::Duration::from_micros(delay["mean_us"].as_u64().unwrap());
        let ours = HopDelay::from_seed(seed);
        assert_eq!(ours.factor(), delay["exponential"].as_u64().unwrap(), "seed {seed}");
        assert_eq!(ours.of_mean(mean).as_micros(), u128::from(delay["delay_us"].as_u64().unwrap()));
    }
}

#[derive(Deserialize)]
struct Tampered {
    name: String,
    profile: String,
    hop_secret: String,
    datagram: String,
    verdict: String,
}

impl Tampered {
    fn check<P: Profile>(&self) {
        let key = MixKey::new(Secret::new(array(&self.hop_secret)));
        let mut datagram = unhex(&self.datagram);
        let verdict =
            Packet::<P>::parse(&mut datagram).and_then(|packet| packet.authenticate([((), &key)])).and_then(
                |((), authenticated)| match authenticated.admit(&mut AdmitAll).unwrap().unwrap_layer()? {
                    // It leaves, and nobody replies in it.
                    Hop::TurnRound(TurnRound { message: None, .. }) => Err(ProcessError::BadPayload),
                    _ => Ok(()),
                },
            );
        let expected = match self.verdict.as_str() {
            "wrong-length" => ProcessError::WrongLength,
            "non-contributory" => ProcessError::NonContributory,
            "bad-header-mac" => ProcessError::BadHeaderMac,
            "unknown-command" => ProcessError::UnknownCommand,
            "bad-payload" => ProcessError::BadPayload,
            other => panic!("verdict {other}"),
        };
        assert_eq!(verdict, Err(expected), "{}", self.name);
    }
}

#[test]
fn every_tampered_datagram_is_refused_for_its_reason() {
    let document: Value = serde_json::from_str(&vectors("tamper.json")).unwrap();
    let cases: Vec<Tampered> = serde_json::from_value(document["negative"].clone()).unwrap();
    assert!(cases.len() > 30);
    for case in cases.iter().step_by(ONE_IN) {
        by_profile!(case.profile.as_str(), case.check);
    }
}
