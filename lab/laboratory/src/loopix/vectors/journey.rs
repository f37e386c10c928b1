//! A packet goes from hop to hop, and each hop's outcome is compared with the file's.

use motemix_crypto::p224::{self, Point, Scalar};
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use rmpv::Value;
use sha2::{Digest as _, Sha256};

use super::entry::{Entry, Stop};
use super::pack::expect_decoded;
use super::primitives::{expect_blinding, expect_keys, secret};
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::keys::extract;
use motemix_loopix::packet::{Format, Fresh, Hop, HopKeys, Layer, Packet, ProcessError};

/// A node of a path.
pub struct Node {
    /// Its secret.
    pub secret: Scalar,
    /// Its public key.
    pub key: Point,
    /// What the hop before it is told.
    pub routing: Vec<u8>,
    /// What its header MAC covers beside β.
    pub associated: Vec<u8>,
}

impl Node {
    /// As the sender sees it.
    pub fn hop(&self) -> Hop<'_> {
        Hop { key: self.key, routing: &self.routing, associated: &self.associated }
    }
}

/// The nodes of a path, with the associated data that the file has for them.
pub fn nodes(entry: &Entry<'_>) -> Result<Vec<Node>, Stop> {
    let mut nodes = entry.list("nodes")?.iter().map(node).collect::<Result<Vec<_>, _>>()?;
    let stated = associated(entry, nodes.len())?;
    for (node, associated) in nodes.iter_mut().zip(stated) {
        node.associated = associated;
    }
    Ok(nodes)
}

fn node(entry: &Entry<'_>) -> Result<Node, Stop> {
    let secret = secret(entry, "secret")?;
    let key = Point::mul_generator(&secret);
    entry.expect_bytes("public", key.compress());
    let routing = entry.bytes("nenc")?;
    if entry.at("nenc_tree").is_ok() {
        expect_decoded(entry, "nenc_tree", &routing)?;
    }
    Ok(Node { secret, key, routing, associated: Vec::new() })
}

/// The associated data of each hop; none, if a packet has none.
pub fn associated(entry: &Entry<'_>, hops: usize) -> Result<Vec<Vec<u8>>, Stop> {
    let associated = match entry.optional("assoc") {
        None => Vec::new(),
        Some(_) => entry.list_of("assoc", hops)?.iter().map(Entry::as_bytes).collect::<Result<_, _>>()?,
    };
    entry.at("params")?.expect("assoc_len", associated.first().map_or(0, Vec::len));
    Ok(associated)
}

/// Admits everything: each packet of the file is a network of its own.
pub struct Anew;

impl ReplayFilter for Anew {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

fn authenticate<'a>(
    format: &'a Format,
    node: (&Scalar, &[u8]),
    datagram: &'a mut [u8],
) -> Result<(ReplayTag, Fresh<'a>), ProcessError> {
    let (secret, associated) = node;
    let packet = Packet::parse(format, datagram)?.authenticate(secret, associated)?;
    let tag = packet.replay_tag();
    Ok((tag, packet.admit(&mut Anew).map_err(|_| ProcessError::BadHeaderMac)?))
}

/// What a node puts out.
pub struct Step {
    /// The replay tag.
    pub tag: ReplayTag,
    /// What the hop is told.
    pub routing: Vec<u8>,
    /// The keys of the hop.
    pub keys: HopKeys,
    /// What is sent on; at a last hop it means nothing.
    pub datagram: Vec<u8>,
}

/// Does what the reference's nodes do.
pub fn step(format: &Format, node: (&Scalar, &[u8]), datagram: &[u8]) -> Result<Step, ProcessError> {
    let mut next = datagram.to_vec();
    let keys = {
        let parts = format.split(&mut next).ok_or(ProcessError::Malformed)?;
        let group_element = Point::decompress(parts.group_element).ok_or(ProcessError::NotOnCurve)?;
        HopKeys::new(&p224::diffie_hellman(node.0, &group_element))
    };
    let (tag, packet) = authenticate(format, node, &mut next)?;
    let routing = packet.step().ok_or(ProcessError::BadRouting)?;
    Ok(Step { tag, routing, keys, datagram: next })
}

/// What becomes of a packet at a node.
#[derive(Debug)]
pub enum Outcome {
    /// It is sent on, as the datagram is now.
    Sent(Value),
    /// It arrived.
    Arrived(Vec<u8>),
    /// A reply arrived.
    Replied {
        /// Who made the SURB.
        destination: Value,
        /// Which it is.
        id: [u8; K],
        /// The payload.
        payload: Vec<u8>,
    },
}

/// Does what a node does here, in steps each of which needs what the one before it returned.
pub fn process(
    format: &Format,
    node: (&Scalar, &[u8]),
    datagram: &mut [u8],
) -> Result<Outcome, ProcessError> {
    let (_, packet) = authenticate(format, node, datagram)?;
    match packet.read()? {
        Layer::Relay(mut relay) => {
            let command = std::mem::replace(&mut relay.command, Value::Nil);
            relay.forward()?;
            Ok(Outcome::Sent(command))
        }
        Layer::Destination(arrival) => arrival.open().map(|payload| Outcome::Arrived(payload.to_vec())),
        Layer::Surb(arrival) => {
            let (destination, id) = (arrival.destination.clone(), arrival.id);
            Ok(Outcome::Replied { destination, id, payload: arrival.into_payload().to_vec() })
        }
    }
}

/// Checks what a node puts out for `datagram`, and replaces that by what it sends on. Returns what
/// becomes of the packet.
pub fn expect_hop(
    hop: &Entry<'_>,
    format: &Format,
    node: (&Scalar, &[u8]),
    datagram: &mut Vec<u8>,
) -> Result<Outcome, Stop> {
    let refused = |error: ProcessError| hop.stop(&format!("the packet was refused: {error}"));
    let mut step = step(format, node, datagram).map_err(refused)?;
    hop.expect_bytes("tag", step.tag.0);
    hop.expect_bytes("routing", &step.routing);
    expect_decoded(hop, "routing_tree", &step.routing)?;
    if hop.at("mac_key").is_ok() {
        hop.expect_bytes("mac_key", step.keys.payload().expose());
    }
    let outcome = process(format, node, datagram).map_err(refused)?;
    if let Outcome::Sent(_) = outcome {
        hop.holds(
            "in steps",
            *datagram == step.datagram,
            "what is sent on depends on how the packet is read",
        );
    }
    std::mem::swap(datagram, &mut step.datagram);
    Ok(outcome)
}

/// Checks the parts of a datagram.
pub fn expect_parts(entry: &Entry<'_>, format: &Format, datagram: &mut [u8]) {
    let Some(parts) = format.split(datagram) else { return };
    entry.expect_bytes("alpha", parts.group_element);
    if entry.at("beta_sha256").is_ok() {
        entry.expect_bytes("beta_sha256", Sha256::digest(parts.routing_info));
    } else {
        entry.expect_bytes("beta", parts.routing_info);
    }
    entry.expect_bytes("gamma", parts.header_mac);
    entry.expect_bytes("body", parts.payload);
}

/// Checks everything that a node derives from the group element.
pub fn expect_secrets(
    entry: &Entry<'_>,
    format: &Format,
    secret: &Scalar,
    datagram: &[u8],
) -> Result<(), Stop> {
    let mut datagram = datagram.to_vec();
    let parts = format.split(&mut datagram).ok_or_else(|| entry.stop("there is no packet"))?;
    entry.expect_bytes("alpha", *parts.group_element);
    let point =
        Point::decompress(parts.group_element).ok_or_else(|| entry.stop("there is no group element"))?;
    let shared = p224::diffie_hellman(secret, &point);
    entry.expect_bytes("s", point.mul(secret).compress());
    entry.expect_bytes("aes_key", extract(shared.expose()).expose());
    let keys = HopKeys::new(&shared);
    expect_blinding(entry, "b", keys.short_blinding());
    expect_keys(entry, &keys);
    Ok(())
}
