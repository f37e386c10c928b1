//! `negative`: what was changed on the way, and what the reference made of it.

use motemix_crypto::p224::Scalar;
use rmpv::Value;
use serde_json::Value as Json;

use super::entry::{Entry, Stop};
use super::format;
use super::journey::{Outcome, process};
use super::refusals;
use motemix_loopix::pack::{self, POINT_PREFIX, binary};
use motemix_loopix::packet::keys::extract;
use motemix_loopix::packet::{Format, HopKeys, ProcessError};

/// How the file says that a packet arrived.
const DELIVERED: &str = "delivered";

/// Checks one packet and what became of it.
pub fn packet(entry: &Entry<'_>) -> Result<(), Stop> {
    let base = entry.at("base")?;
    let format = format::read(&base)?;
    base.at("params")?.expect("assoc_len", 0);
    let secrets = secrets(&base)?;
    entry.each("cases", |case| changed(case, &base, &format, &secrets));
    entry.each("wire_cases", |case| datagram(case, &format, &secrets));
    Ok(())
}

fn secrets(base: &Entry<'_>) -> Result<Vec<Scalar>, Stop> {
    let read = |entry: &Entry<'_>| {
        Scalar::from_be_bytes(&motemix_crypto::Secret::new(entry.as_array()?))
            .ok_or_else(|| entry.stop("is not a scalar"))
    };
    base.list("node_secrets")?.iter().map(read).collect()
}

/// How far a packet came.
#[derive(Debug, PartialEq)]
struct Verdict {
    stage: &'static str,
    hop: usize,
}

/// The first node refused it.
const REFUSED: Verdict = Verdict { stage: "process", hop: 0 };

fn verdict(format: &Format, secrets: &[Scalar], mut datagram: Vec<u8>) -> Verdict {
    for (hop, secret) in secrets.iter().enumerate() {
        let stage = match process(format, (secret, &[]), &mut datagram) {
            Ok(Outcome::Sent(_)) => continue,
            Ok(Outcome::Arrived(payload)) if pack::decode(&payload).is_ok() => DELIVERED,
            Ok(_) | Err(ProcessError::BadPayload) => "receive_forward",
            Err(_) => "process",
        };
        return Verdict { stage, hop };
    }
    Verdict { stage: "on its way", hop: secrets.len() }
}

/// Parts of a packet were replaced.
fn changed(case: &Entry<'_>, base: &Entry<'_>, format: &Format, secrets: &[Scalar]) -> Result<(), Stop> {
    let part = |key: &str| match case.optional(key) {
        Some(changed) => changed.as_bytes(),
        None => base.bytes(key),
    };
    // The base packet is in the file even where every case replaces a part of it.
    ["alpha", "beta", "gamma", "body"].iter().try_for_each(|key| base.bytes(key).map(drop))?;
    let datagram = wire(&part("alpha")?, &part("beta")?, &part("gamma")?, &part("body")?)
        .ok_or_else(|| case.stop("its alpha is too long"))?;
    let found = verdict(format, secrets, datagram);
    let result = case.at("result")?;
    if let Some(reason) = refusals::reason(case.text("case")?) {
        result.expect("stage", DELIVERED);
        result.expect("error", Json::Null);
        expect_everybody(case, &part("alpha")?, &part("beta")?)?;
        let is_refused = found == REFUSED;
        case.holds("refused on purpose", is_refused, format!("was accepted, although {reason}"));
        let verdict = if is_refused { "reject" } else { "accept" };
        case.expect("hardened", verdict);
        return Ok(());
    }
    result.expect("stage", found.stage);
    result.expect("hop", found.hop);
    if found.stage == DELIVERED {
        result.expect("error", Json::Null);
    } else {
        // In the words of the reference.
        result.skip("error");
    }
    Ok(())
}

/// With infinity all nodes share the same secret, which is known: whoever knows this made the MAC.
fn expect_everybody(case: &Entry<'_>, alpha: &[u8], beta: &[u8]) -> Result<(), Stop> {
    let result = case.at("result")?;
    let is_shared = alpha == refusals::INFINITY;
    result.expect("accepted_by_every_node", is_shared);
    if is_shared {
        let keys = HopKeys::from_key(&extract(alpha));
        case.expect_bytes("gamma", keys.header_mac([&[], &[]], beta));
    }
    Ok(())
}

/// A datagram of parts of any length.
fn wire(alpha: &[u8], beta: &[u8], gamma: &[u8], body: &[u8]) -> Option<Vec<u8>> {
    let [.., array, curve, high, low, _] = POINT_PREFIX;
    // A raw string of up to 31 bytes, as petlib writes points.
    let len = u8::try_from(alpha.len()).ok().filter(|len| *len < 32)?;
    let mut point = vec![array, curve, high, low, 0xa0 | len];
    point.extend_from_slice(alpha);
    let header = Value::Array(vec![Value::Ext(2, point), binary(beta), binary(gamma)]);
    Some(pack::encode(&Value::Array(vec![header, binary(body)])))
}

/// A whole datagram. Where the reference accepts it, it arrives.
fn datagram(case: &Entry<'_>, format: &Format, secrets: &[Scalar]) -> Result<(), Stop> {
    let result = case.at("reference_result")?;
    let is_accepted_there = result.as_text()? == "accepted";
    let found = verdict(format, secrets, case.bytes("wire")?);
    let is_refused = found == REFUSED;
    match refusals::reason(case.text("case")?) {
        Some(reason) => {
            let holds = is_accepted_there && is_refused;
            case.holds("refused on purpose", holds, format!("was accepted, although {reason}"));
        }
        None if is_accepted_there => {
            let arrives = found.stage == DELIVERED;
            result.holds("here", arrives, format!("expected that it arrives, found {found:?}"));
        }
        None => result.holds("here", is_refused, format!("expected a refusal, found {found:?}")),
    }
    Ok(())
}
