//! What two implementations of one packet are asked, in bytes, so that answers can be compared and
//! handed on.

use std::collections::BTreeSet;

use chacha20::ChaCha20Rng;
use motemix_crypto::Secret;
use motemix_crypto::p224::{Point, SCALAR_LEN, Scalar};
use motemix_loopix::pack;
use motemix_loopix::packet::format::{GROUP_ELEMENT_LEN, K};
use motemix_loopix::packet::{
    CreateError, Format, Fresh, Hop, Layer, Packet, ProcessError, Surb, SurbKeys, forward, surb,
};
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use rand_core::SeedableRng as _;
use rmpv::Value;

/// A node's key pair.
pub struct Keys {
    pub secret: [u8; SCALAR_LEN],
    pub public: [u8; GROUP_ELEMENT_LEN],
}

/// A node of a path, as its sender sees it.
#[derive(Debug, Clone)]
pub struct Step {
    pub public: [u8; GROUP_ELEMENT_LEN],
    pub routing: Vec<u8>,
}

/// What a node puts out.
#[derive(Debug, Clone, PartialEq)]
pub enum Processed {
    Relay { tag: [u8; K], command: Value, datagram: Vec<u8> },
    Destination { tag: [u8; K], opened: Result<Opened, Refused> },
    Surb { tag: [u8; K], id: [u8; K], destination: Value, body: Vec<u8> },
}

/// Packed destination and message of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub destination: Vec<u8>,
    pub message: Vec<u8>,
}

/// What the maker of a SURB keeps.
#[derive(Debug, Clone)]
pub struct Kept {
    pub id: [u8; K],
    pub keys: Vec<[u8; K]>,
}

/// What it gives away; `header` is packed.
#[derive(Debug, Clone)]
pub struct Given {
    pub first: Vec<u8>,
    pub header: Vec<u8>,
    pub key: [u8; K],
}

/// Why not, in the words of the Python peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

/// An implementation of the packet.
pub trait Sphinx {
    fn name(&self) -> &'static str;
    fn keys(&mut self) -> Keys;
    fn create(
        &mut self,
        format: &Format,
        path: &[Step],
        destination: &[u8],
        message: &[u8],
    ) -> Result<Vec<u8>, Refused>;
    fn process(&mut self, format: &Format, keys: &Keys, datagram: &[u8]) -> Result<Processed, Refused>;
    fn surb(&mut self, format: &Format, path: &[Step], destination: &[u8]) -> Result<(Kept, Given), Refused>;
    fn reply(&mut self, format: &Format, given: &Given, message: &[u8]) -> Result<Vec<u8>, Refused>;
    fn receive(&mut self, format: &Format, kept: &Kept, body: &[u8]) -> Result<Vec<u8>, Refused>;
}

/// This crate's.
pub struct Here {
    rng: ChaCha20Rng,
}

impl Here {
    pub fn new(seed: u64) -> Self {
        Self { rng: ChaCha20Rng::seed_from_u64(seed) }
    }
}

impl Sphinx for Here {
    fn name(&self) -> &'static str {
        "here"
    }

    fn keys(&mut self) -> Keys {
        let secret = motemix_loopix::packet::header::draw_scalar(&mut self.rng);
        Keys { secret: *secret.to_be_bytes().expose(), public: Point::mul_generator(&secret).compress() }
    }

    fn create(
        &mut self,
        format: &Format,
        path: &[Step],
        destination: &[u8],
        message: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let destination = pack::decode(destination).expect("a packed destination");
        let payload = forward::payload(destination, message);
        forward::create(format, &hops(path), &payload, &mut self.rng).map_err(not_made)
    }

    fn process(&mut self, format: &Format, keys: &Keys, datagram: &[u8]) -> Result<Processed, Refused> {
        let mut datagram = datagram.to_vec();
        let secret = Scalar::from_be_bytes(&Secret::new(keys.secret)).expect("a secret");
        let (tag, packet) = fresh(format, &secret, &mut datagram).map_err(refused)?;
        match packet.read().map_err(refused)? {
            Layer::Relay(mut relay) => {
                let command = std::mem::replace(&mut relay.command, Value::Nil);
                relay.forward().map_err(refused)?;
                Ok(Processed::Relay { tag, command, datagram })
            }
            Layer::Destination(arrival) => {
                let opened = arrival.open().map_err(refused);
                Ok(Processed::Destination { tag, opened: opened.and_then(read_payload) })
            }
            Layer::Surb(arrival) => {
                let (id, destination) = (arrival.id, arrival.destination.clone());
                Ok(Processed::Surb { tag, id, destination, body: arrival.into_payload().to_vec() })
            }
        }
    }

    fn surb(&mut self, format: &Format, path: &[Step], destination: &[u8]) -> Result<(Kept, Given), Refused> {
        let destination = pack::decode(destination).expect("a packed destination");
        let (surb, keys) = surb::create(format, &hops(path), destination, &mut self.rng).map_err(not_made)?;
        let (header, key) = surb.parts();
        let parts = vec![
            pack::point(&header.group_element.compress()),
            pack::binary(&*header.routing_info),
            pack::binary(header.header_mac),
        ];
        let header = pack::encode(&Value::Array(parts));
        let given = Given { first: surb.first.clone(), header, key: *key.expose() };
        Ok((Kept { id: keys.id, keys: keys.keys().map(|key| *key.expose()).collect() }, given))
    }

    fn reply(&mut self, format: &Format, given: &Given, message: &[u8]) -> Result<Vec<u8>, Refused> {
        let header = pack::decode(&given.header).expect("a packed header");
        let parts = header.as_array().expect("three parts");
        let [group_element, Value::Binary(routing_info), Value::Binary(header_mac)] = parts.as_slice() else {
            panic!("no header: {header}");
        };
        let group_element = pack::compressed_point(group_element).expect("a point");
        let bytes = [group_element.as_slice(), routing_info, header_mac, &given.key].concat();
        let surb = Surb::parse(format, &bytes).expect("a SURB");
        surb.reply(format, message).map_err(not_made)
    }

    fn receive(&mut self, format: &Format, kept: &Kept, body: &[u8]) -> Result<Vec<u8>, Refused> {
        let keys = kept.keys.iter().map(|key| Secret::new(*key));
        let keys = SurbKeys::from_keys(kept.id, keys).expect("the reply's key at least");
        let mut body = body.to_vec();
        keys.open(format.body_tag, &mut body).map(<[u8]>::to_vec).map_err(refused)
    }
}

fn hops(path: &[Step]) -> Vec<Hop<'_>> {
    path.iter()
        .map(|step| Hop {
            key: Point::decompress(&step.public).expect("a public key"),
            routing: &step.routing,
            associated: &[],
        })
        .collect()
}

fn fresh<'a>(
    format: &'a Format,
    secret: &Scalar,
    datagram: &'a mut [u8],
) -> Result<([u8; K], Fresh<'a>), ProcessError> {
    let packet = Packet::parse(format, datagram)?.authenticate(secret, &[])?;
    let tag = packet.replay_tag();
    // Each question is one to a node that has seen nothing: the other implementation remembers
    // nothing, either.
    let packet = packet.admit(&mut Tags::default()).expect("nothing was seen before");
    Ok((tag.0, packet))
}

fn read_payload(payload: &[u8]) -> Result<Opened, Refused> {
    match pack::decode(payload).ok().as_ref().and_then(Value::as_array).map(Vec::as_slice) {
        Some([destination, Value::Binary(message)]) => {
            Ok(Opened { destination: pack::encode(destination), message: message.clone() })
        }
        _ => Err(Refused("malformed".into())),
    }
}

fn not_made(error: CreateError) -> Refused {
    Refused(match error {
        CreateError::BodyFull | CreateError::HeaderFull | CreateError::LongRouting => "too_long".into(),
        CreateError::NoHops => panic!("a path without nodes"),
    })
}

/// petlib reads group elements while it unpacks, so one that is on no curve is malformed to the
/// peer.
fn refused(error: ProcessError) -> Refused {
    let word = match error {
        ProcessError::Malformed | ProcessError::NotOnCurve => "malformed",
        ProcessError::BadHeaderMac => "bad_mac",
        ProcessError::BadRouting => "bad_routing",
        ProcessError::BadPayload => "bad_body_tag",
    };
    Refused(word.into())
}

#[derive(Default)]
struct Tags(BTreeSet<[u8; K]>);

impl ReplayFilter for Tags {
    fn admit(&mut self, tag: &ReplayTag) -> Result<(), ReplayError> {
        self.0.insert(tag.0).then_some(()).ok_or(ReplayError::Replayed)
    }
}
