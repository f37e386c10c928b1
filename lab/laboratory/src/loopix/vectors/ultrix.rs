//! `ultrix`: its own primitives, and packets and SURBs in both groups.

use motemix_crypto::p224::{Point, Scalar};
use motemix_crypto::{PublicKey, Secret};
use motemix_sphinx::ReplayTag;

use super::entry::{Entry, Stop};
use super::format;
use super::journey::{Anew, associated};
use super::pack::expect_decoded;
use super::primitives::secret;
use super::script::Script;
use crate::loopix::ultrix::header::MAX_DESTINATION;
use crate::loopix::ultrix::process::Step;
use crate::loopix::ultrix::{
    Format, Group, Hop, Layer, P224, Packet, ProcessError, X25519, create, keys, surb,
};
use motemix_loopix::packet::format::K;

/// Checks all of it.
pub fn check(ultrix: &Entry<'_>) {
    // What was repaired, in words.
    ultrix.skip("shims");
    ultrix.section("primitives", |primitives| {
        primitives.each("cbc", chained);
        primitives.each("keystream", keystream);
        primitives.each("small_perm", block);
    });
    ultrix.each("packets", |entry| match entry.text("group")? {
        "p224" => packet::<P224>(entry),
        "c25519" => packet::<X25519>(entry),
        _ => Err(entry.at("group")?.stop("is not a group that is known here")),
    });
}

fn chained(entry: &Entry<'_>) -> Result<(), Stop> {
    let (key, bytes) = (entry.secret("key")?, entry.bytes("in")?);
    if !bytes.len().is_multiple_of(K) {
        return Err(entry.at("in")?.stop("has a part of a block"));
    }
    let [mut encrypted, mut decrypted] = [bytes.clone(), bytes];
    keys::encrypt_chained(&key, &mut encrypted);
    entry.expect_bytes("enc", encrypted);
    keys::decrypt_chained(&key, &mut decrypted);
    entry.expect_bytes("dec", decrypted);
    Ok(())
}

fn keystream(entry: &Entry<'_>) -> Result<(), Stop> {
    /// More than any key needs.
    const BLOCKS: usize = 8;
    let stream = keys::keystream::<BLOCKS>(&entry.secret("key")?, &entry.array("iv")?);
    let stated = entry.list("blocks")?;
    if stated.len() > BLOCKS {
        return Err(entry.stop("has more blocks than any key needs"));
    }
    for (stated, found) in stated.iter().zip(&stream) {
        stated.is(hex::encode(found.expose()));
    }
    Ok(())
}

fn block(entry: &Entry<'_>) -> Result<(), Stop> {
    let (key, bytes) = (entry.secret("key")?, entry.array("in")?);
    let [mut encrypted, mut decrypted] = [bytes; 2];
    keys::encrypt_block(&key, &mut encrypted);
    entry.expect_bytes("perm", encrypted);
    keys::decrypt_block(&key, &mut decrypted);
    entry.expect_bytes("inv", decrypted);
    Ok(())
}

/// How the file writes a group.
trait Written: Group {
    fn secret(entry: &Entry<'_>, key: &str) -> Result<Self::Exponent, Stop>;
    fn element(element: &Self::Element) -> Vec<u8>;
}

impl Written for P224 {
    fn secret(entry: &Entry<'_>, key: &str) -> Result<Scalar, Stop> {
        secret(entry, key)
    }

    fn element(element: &Point) -> Vec<u8> {
        element.compress().to_vec()
    }
}

impl Written for X25519 {
    fn secret(entry: &Entry<'_>, key: &str) -> Result<Secret<32>, Stop> {
        entry.secret(key)
    }

    fn element(element: &PublicKey) -> Vec<u8> {
        element.0.to_vec()
    }
}

/// A node of a path.
struct Node<G: Group> {
    secret: G::Exponent,
    key: G::Element,
    routing: Vec<u8>,
    associated: Vec<u8>,
}

fn nodes<G: Written>(entry: &Entry<'_>) -> Result<Vec<Node<G>>, Stop> {
    let stated = entry.list("nodes")?;
    let mut associated = associated(entry, stated.len())?.into_iter();
    let read = |node: &Entry<'_>| {
        let secret = G::secret(node, "secret")?;
        let key = G::public(&secret);
        node.expect_bytes("public", G::element(&key));
        let associated = associated.next().unwrap_or_default();
        Ok(Node { secret, key, routing: node.bytes("nenc")?, associated })
    };
    stated.iter().map(read).collect()
}

fn packet<G: Written>(entry: &Entry<'_>) -> Result<(), Stop> {
    entry.skip("id");
    let format = format::read(entry)?;
    entry.at("params")?.expect("dest_len", MAX_DESTINATION);
    if !format.body_len.is_multiple_of(K) {
        return Err(entry.at("params")?.stop("body_len is not a multiple of 16"));
    }
    let format = Format { header_len: format.header_len, body_len: format.body_len, flags: format.flags };
    let nodes = nodes::<G>(entry)?;
    let hops =
        nodes.iter().map(|node| Hop { key: node.key, routing: &node.routing, associated: &node.associated });
    let hops: Vec<Hop<'_, G>> = hops.collect();
    let (destination, message) = (entry.bytes("dest")?, entry.bytes("message")?);
    match entry.text("kind")? {
        "ultrix-forward" => {
            let mut script = script(entry, &["dest_key", "x", "gamma0", "beta_pad"])?;
            let packet = create(&format, &hops, &destination, &message, &mut script)
                .map_err(|error| entry.stop(&format!("cannot be made: {error}")))?;
            expect_drawn(entry, &script)?;
            match expect_journey(entry, &format, &nodes, packet)? {
                Layer::Destination(arrival) => {
                    entry.expect_bytes("dest", &arrival.destination);
                    entry.expect_found("message", arrival.open());
                    Ok(())
                }
                _ => Err(entry.stop("its last hop does not find a message")),
            }
        }
        "ultrix-surb" => {
            let mut script = script(entry, &["xid", "x", "gamma0", "beta_pad", "ktilde"])?;
            let (surb, kept) = surb::create(&format, &hops, &destination, &mut script)
                .map_err(|error| entry.stop(&format!("cannot be made: {error}")))?;
            expect_drawn(entry, &script)?;
            for (stated, key) in entry.list_of("keytuple", 1 + nodes.len())?.iter().zip(kept.keys()) {
                stated.is(hex::encode(key.expose()));
            }
            if let Some(key) = kept.keys().next() {
                entry.expect_bytes("ktilde", key.expose());
            }
            let reply = surb
                .reply(&format, &message)
                .map_err(|error| entry.stop(&format!("its reply cannot be made: {error}")))?;
            match expect_journey(entry, &format, &nodes, reply)? {
                Layer::Surb { destination, id, payload } => {
                    entry.expect_bytes("dest", destination);
                    entry.holds("id at the last hop", id == kept.id, "differs from that of the SURB");
                    entry.expect_found("message", kept.open(payload));
                    Ok(())
                }
                _ => Err(entry.stop("its last hop does not find a reply")),
            }
        }
        _ => Err(entry.at("kind")?.stop("is not a kind that is known here")),
    }
}

fn script(entry: &Entry<'_>, draws: &[&str]) -> Result<Script, Stop> {
    let rng = entry.at("rng")?;
    let draws = draws.iter().map(|key| rng.bytes(key)).collect::<Result<Vec<_>, _>>()?;
    Ok(Script::new(&draws.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

fn expect_drawn(entry: &Entry<'_>, script: &Script) -> Result<(), Stop> {
    entry.at("rng")?.holds("drawn", script.is_used_up(), "more or fewer bytes are drawn than the file has");
    Ok(())
}

/// Follows a packet from hop to hop. What the last hop finds.
fn expect_journey<G: Written>(
    entry: &Entry<'_>,
    format: &Format,
    nodes: &[Node<G>],
    mut packet: Packet<G>,
) -> Result<Layer<G>, Stop> {
    expect_parts(entry, &packet);
    entry.expect_bytes("dest_key_enc", packet.destination_key);
    let again = Packet::decode(&packet.encode());
    entry.holds("on the wire", again.as_ref() == Some(&packet), "is not read as it was written");
    let mut found = None;
    for (node, hop) in nodes.iter().zip(entry.list_of("hops", nodes.len())?) {
        let refused = |error: ProcessError| hop.stop(&format!("the packet was refused: {error}"));
        let (tag, step) = step(format, node, packet.clone()).map_err(refused)?;
        hop.expect_bytes("tag", tag.0);
        hop.expect_bytes("routing", &step.routing);
        expect_decoded(&hop, "routing_tree", &step.routing)?;
        hop.expect_bytes("body_K", step.payload_key.expose());
        hop.expect_bytes("dest_key", step.next.destination_key);
        expect_parts(&hop, &step.next);
        let layer = read(format, node, packet).map_err(refused)?;
        if let Layer::Relay { packet, .. } = &layer {
            hop.holds("in steps", *packet == step.next, "what is sent on depends on how the packet is read");
        }
        packet = step.next;
        found = Some(layer);
    }
    found.ok_or_else(|| entry.stop("has no hops"))
}

fn expect_parts<G: Written>(entry: &Entry<'_>, packet: &Packet<G>) {
    entry.expect_bytes("alpha", G::element(&packet.group_element));
    entry.expect_bytes("beta", &packet.routing_info);
    entry.expect_bytes("gamma", packet.chain);
    entry.expect_bytes("body", &packet.payload);
}

fn step<G: Group>(
    format: &Format,
    node: &Node<G>,
    packet: Packet<G>,
) -> Result<(ReplayTag, Step<G>), ProcessError> {
    let opened = packet.open(format, &node.secret, &node.associated)?;
    let tag = opened.replay_tag();
    let fresh = opened.admit(&mut Anew).map_err(|_| ProcessError::Malformed)?;
    Ok((tag, fresh.step()?))
}

fn read<G: Group>(format: &Format, node: &Node<G>, packet: Packet<G>) -> Result<Layer<G>, ProcessError> {
    let opened = packet.open(format, &node.secret, &node.associated)?;
    opened.admit(&mut Anew).map_err(|_| ProcessError::Malformed)?.read()
}
