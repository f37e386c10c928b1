//! `packets`: made anew from what was drawn, then followed from hop to hop.

use rmpv::Value;
use sha2::{Digest as _, Sha256};

use super::entry::{Entry, Stop};
use super::format;
use super::journey::{self, Node, Outcome, expect_hop, expect_parts, expect_secrets};
use super::pack::expect_decoded;
use super::script::Script;
use motemix_loopix::pack;
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::{Flag, Format, forward};

/// Checks one packet.
pub fn packet(entry: &Entry<'_>) -> Result<(), Stop> {
    entry.skip("id");
    entry.expect("kind", "forward");
    let format = format::read(entry)?;
    entry.expect("body_tag", format::tag_name(format.body_tag));
    let nodes = journey::nodes(entry)?;
    let payload = expect_payload(entry)?;
    let flag = Value::Array(vec![Flag::Destination.value(format.flags)]);
    entry.expect_bytes("final_routing", pack::encode(&flag));

    let rng = entry.at("rng")?;
    let mut script = Script::new(&[&rng.bytes("x")?, &rng.bytes("beta_pad")?]);
    let hops: Vec<_> = nodes.iter().map(Node::hop).collect();
    let mut datagram = forward::create(&format, &hops, &payload, &mut script)
        .map_err(|error| entry.stop(&format!("cannot be made: {error}")))?;
    rng.holds("drawn", script.is_used_up(), "more or fewer bytes are drawn than the file has");
    expect_parts(entry, &format, &mut datagram);
    expect_wire(entry, &format, &datagram)?;
    expect_journey(entry, &format, &nodes, &payload, datagram)
}

fn expect_payload(entry: &Entry<'_>) -> Result<Vec<u8>, Stop> {
    let destination = pack::decode(&entry.bytes("dest_packed")?);
    let destination = destination.map_err(|error| entry.stop(&format!("dest_packed: {error}")))?;
    let payload = forward::payload(destination, &entry.bytes("message")?);
    entry.expect_bytes("payload", &payload);
    expect_decoded(entry, "payload_tree", &payload)?;
    Ok(payload)
}

fn expect_wire(entry: &Entry<'_>, format: &Format, datagram: &[u8]) -> Result<(), Stop> {
    let value = pack::decode(datagram).map_err(|error| entry.stop(&format!("its datagram: {error}")))?;
    entry.expect("wire_len", datagram.len());
    entry.holds("computed length", format.datagram_len() == datagram.len(), "is wrong");
    entry.expect_bytes("wire_sha256", Sha256::digest(datagram));
    let params = Value::Array([format.header_len, format.body_len].map(Value::from).into());
    let message = pack::encode(&Value::Array(vec![params, value]));
    entry.expect("pack_message_len", message.len());
    entry.expect_bytes("pack_message_sha256", Sha256::digest(message));
    Ok(())
}

fn expect_journey(
    entry: &Entry<'_>,
    format: &Format,
    nodes: &[Node],
    payload: &[u8],
    mut datagram: Vec<u8>,
) -> Result<(), Stop> {
    let hops = entry.list_of("hops", nodes.len())?;
    let secrets = entry.list_of("secrets", nodes.len())?;
    for (number, ((node, hop), secret)) in nodes.iter().zip(&hops).zip(&secrets).enumerate() {
        let is_last = number + 1 == nodes.len();
        if is_last {
            expect_filler(entry, format, nodes, &mut datagram)?;
        }
        expect_secrets(secret, format, &node.secret, &datagram)?;
        let outcome = expect_hop(hop, format, (&node.secret, &node.associated), &mut datagram)?;
        expect_parts(hop, format, &mut datagram);
        let is_right = match outcome {
            Outcome::Sent(_) => !is_last,
            Outcome::Arrived(found) => is_last && found == payload,
            Outcome::Replied { .. } => false,
        };
        hop.holds("outcome", is_right, "is not what the sender wanted");
    }
    Ok(())
}

/// The filler is the end of what the last hop finds as β.
fn expect_filler(
    entry: &Entry<'_>,
    format: &Format,
    nodes: &[Node],
    datagram: &mut [u8],
) -> Result<(), Stop> {
    let len: usize = nodes.iter().skip(1).map(|node| 1 + node.routing.len() + K).sum();
    let parts = format.split(datagram).ok_or_else(|| entry.stop("there is no packet"))?;
    let (_, filler) = parts.routing_info.split_at(parts.routing_info.len().saturating_sub(len));
    entry.expect_bytes("filler", filler);
    Ok(())
}
