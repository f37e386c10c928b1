//! `surbs`: made, used, followed from hop to hop, opened.

use rmpv::Value;
use sha2::{Digest as _, Sha256};

use super::entry::{Entry, Stop};
use super::format;
use super::journey::{self, Node, Outcome, expect_hop, expect_parts};
use super::script::Script;
use motemix_loopix::pack::{self, binary};
use motemix_loopix::packet::format::K;
use motemix_loopix::packet::{Flag, Format, Surb, SurbKeys, surb};

/// Checks one SURB.
pub fn surb(entry: &Entry<'_>) -> Result<(), Stop> {
    entry.skip("id");
    entry.expect("kind", "surb");
    let format = format::read(entry)?;
    entry.expect("body_tag", format::tag_name(format.body_tag));
    let nodes = journey::nodes(entry)?;
    let destination = pack::decode(&entry.bytes("dest_packed")?);
    let destination = destination.map_err(|error| entry.stop(&format!("dest_packed: {error}")))?;

    let rng = entry.at("rng")?;
    let draws = ["xid", "x", "beta_pad", "ktilde"].map(|key| rng.bytes(key));
    let draws = draws.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut script = Script::new(&draws.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let hops: Vec<_> = nodes.iter().map(Node::hop).collect();
    let (surb, keys) = surb::create(&format, &hops, destination.clone(), &mut script)
        .map_err(|error| entry.stop(&format!("cannot be made: {error}")))?;
    rng.holds("drawn", script.is_used_up(), "more or fewer bytes are drawn than the file has");

    entry.expect_bytes("surb_id", keys.id);
    let last = Value::Array(vec![Flag::Surb.value(format.flags), destination.clone(), binary(keys.id)]);
    entry.expect_bytes("final_routing", pack::encode(&last));
    expect_given_away(entry, &surb)?;
    expect_kept(entry, &keys, nodes.len())?;
    let mut payload = expect_reply(entry, &format, &nodes, surb, (&destination, keys.id))?;
    let opened = keys.open(format.body_tag, &mut payload);
    entry.expect_found("message", opened);
    Ok(())
}

/// What sphinxmix calls nymtuple.
fn expect_given_away(entry: &Entry<'_>, surb: &Surb) -> Result<(), Stop> {
    let (header, key) = surb.parts();
    let group_element = header.group_element.compress();
    let parts = entry.at("nymtuple")?;
    parts.expect_bytes("first_nenc", &surb.first);
    parts.expect_bytes("alpha", group_element);
    parts.expect_bytes("beta", &header.routing_info);
    parts.expect_bytes("gamma", header.header_mac);
    parts.expect_bytes("ktilde", key.expose());
    let sent = vec![pack::point(&group_element), binary(&*header.routing_info), binary(header.header_mac)];
    let packed =
        pack::encode(&Value::Array(vec![binary(&*surb.first), Value::Array(sent), binary(*key.expose())]));
    entry.expect("nymtuple_packed_len", packed.len());
    entry.expect_bytes("nymtuple_packed_sha256", Sha256::digest(packed));
    Ok(())
}

/// What sphinxmix calls keytuple.
fn expect_kept(entry: &Entry<'_>, keys: &SurbKeys, hops: usize) -> Result<(), Stop> {
    for (stated, key) in entry.list_of("keytuple", 1 + hops)?.iter().zip(keys.keys()) {
        stated.is(hex::encode(key.expose()));
    }
    Ok(())
}

/// The payload as it arrives.
fn expect_reply(
    entry: &Entry<'_>,
    format: &Format,
    nodes: &[Node],
    surb: Surb,
    told: (&Value, [u8; K]),
) -> Result<Vec<u8>, Stop> {
    let message = entry.bytes("message")?;
    let mut datagram = surb
        .reply(format, &message)
        .map_err(|error| entry.stop(&format!("its reply cannot be made: {error}")))?;
    if let Some(parts) = format.split(&mut datagram) {
        entry.expect_bytes("reply_body", parts.payload);
    }
    let mut arrived = None;
    for (node, hop) in nodes.iter().zip(entry.list_of("hops", nodes.len())?) {
        let outcome = expect_hop(&hop, format, (&node.secret, &node.associated), &mut datagram)?;
        expect_parts(&hop, format, &mut datagram);
        arrived = Some(outcome);
    }
    let Some(Outcome::Replied { destination, id, payload }) = arrived else {
        return Err(entry.stop("its last hop does not find a reply"));
    };
    entry.holds("told at the last hop", (&destination, id) == told, "is not what the SURB was made with");
    Ok(payload)
}
