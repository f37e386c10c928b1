//! Who may register and change what.

use std::net::IpAddr;

use motemix_coap::{Code, Request, Source};
use motemix_object::{Audience, Freshness, Identity, PublicKey, RequestDigest, RequestProof};
use motemix_readings::base64url;

use super::links::DeviceKey;
use super::{Desk, Refusal, Refused, links};
use crate::Caller;
use crate::state::{Change, Registration};

/// How the holder of a key has shown himself.
pub(super) enum Held {
    /// By OSCORE with EDHOC, or to a receiver of this machine, which registers it.
    BySession,
    /// By a signed request, whose number is used up from now on.
    BySignature(Change),
}

impl Held {
    /// What is to be remembered of it.
    pub(super) fn into_change(self) -> Option<Change> {
        match self {
            Self::BySession => None,
            Self::BySignature(change) => Some(change),
        }
    }
}

/// Whether the caller holds a key.
///
/// # Errors
/// He has not shown it.
pub(super) fn holds(
    desk: Desk<'_>,
    caller: &Caller,
    request: &Request,
    proof: Option<&str>,
    key: &DeviceKey,
) -> Result<Held, Refused> {
    if !desk.settings.lets(&key.identity) {
        return Err(Refused::new(
            Refusal::Forbidden,
            Code::FORBIDDEN,
            "the operator has not listed this device",
        ));
    }
    if caller.device == Some(key.identity) || caller.local {
        return Ok(Held::BySession);
    }
    let proof = proof.ok_or(Refused::UNPROVEN)?;
    signed(desk, request, proof, (&key.identity, &key.public)).map(Held::BySignature)
}

/// The device that signed a request to another part of the broker, which says so with `device=` and
/// `proof=`, and has registered its key. Returns what is to be remembered of that; `None` if the
/// request has no proof.
///
/// # Errors
/// The proof does not hold.
pub fn signed_by<'k>(
    desk: Desk<'_>,
    request: &Request,
    key_of: impl FnOnce(&Identity) -> Option<&'k PublicKey>,
) -> Result<Option<(Identity, Change)>, Refused> {
    let Some(proof) = request.parameter("proof") else { return Ok(None) };
    let malformed =
        Refused::malformed("device= is the identity that signed the proof, 64 hexadecimal digits");
    let digits = request.parameter("device").ok_or(malformed.clone())?;
    let bytes = hex::decode(digits).ok().and_then(|bytes| bytes.try_into().ok()).ok_or(malformed)?;
    let device = Identity::from_bytes(bytes);
    let key = key_of(&device).ok_or(Refused::UNPROVEN)?;
    let change = signed(desk, request, proof, (&device, key))?;
    Ok(Some((device, change)))
}

/// Whether a device signed a request; its number is used up from now on.
fn signed(
    desk: Desk<'_>,
    request: &Request,
    proof: &str,
    (device, key): (&Identity, &PublicKey),
) -> Result<Change, Refused> {
    let malformed = Refused::malformed("proof= is a signed request in base64url (docs/spec/identity.md)");
    let proof = base64url::decode(proof).ok_or(malformed.clone())?;
    let proof = RequestProof::parse(&proof).map_err(|_| malformed)?;
    let known = desk.state.freshness(device);
    let is_full = desk.state.devices() >= desk.settings.known_devices;
    if known.is_none() && is_full && !desk.settings.names(device) {
        return Err(Refused::later(
            Refusal::Full,
            Code::SERVICE_UNAVAILABLE,
            "the broker knows as many devices as it may; ask its operator to list yours",
        ));
    }
    // Before the signature, so that what was recorded costs no check.
    let mut fresh = known.unwrap_or(Freshness::starting_at(0));
    let after = proof.sequence().checked_add(1).ok_or(Refused::NOT_HELD)?;
    if proof.sequence() < fresh.next() || fresh.register(after).is_err() {
        return Err(Refused::NOT_HELD);
    }
    let query: Vec<&str> = request
        .query
        .iter()
        .map(String::as_str)
        .filter(|parameter| !parameter.starts_with("proof="))
        .collect();
    let digest = RequestDigest::of(request.method.byte(), &request.path, &query, &request.payload);
    let digest = digest.map_err(|_| Refused::NOT_HELD)?;
    let audience = Audience::new(&desk.settings.audience).map_err(|_| Refused::NOT_HELD)?;
    proof.verify(device, key, &digest, audience).map_err(|_| Refused::NOT_HELD)?;
    Ok(Change::Freshness(*device, Some(fresh)))
}

/// Whether the caller may change a registration. Returns what is to be remembered of his proof.
///
/// # Errors
/// He may not.
pub(super) fn may_change(
    desk: Desk<'_>,
    caller: &Caller,
    request: &Request,
    proof: Option<&str>,
    registration: &Registration,
) -> Result<Option<Change>, Refused> {
    // The key is in a link as long as there is a device: it was read from there.
    if let Some(key) = links::key_in(&registration.links)? {
        return holds(desk, caller, request, proof, &key).map(Held::into_change);
    }
    if is_registrant(caller, registration) { Ok(None) } else { Err(Refused::FOREIGN) }
}

/// Whether a device that proves its key may take over a registration of which nothing but an
/// address is known: it may be the device's own, whose address has changed. The operator has listed
/// the device; any key would do for anybody else's registration otherwise.
pub(super) fn may_move(desk: Desk<'_>, registration: &Registration, proven: Option<Identity>) -> bool {
    let is_of_an_address = registration.device.is_none() && registration.owner.is_none();
    is_of_an_address
        && registration.registrant.is_some()
        && proven.is_some_and(|device| desk.settings.names(&device))
}

/// Whether a registration without a key is the caller's: his who proved who he is, or else that of
/// his address, which others can forge. The second half of an IPv6 address does not count: devices
/// change it (RFC 8981). Of a link-local address it alone tells who it is, and stays.
pub(super) fn is_registrant(caller: &Caller, registration: &Registration) -> bool {
    match (&registration.owner, registration.registrant) {
        (Some(owner), _) => caller.device.as_ref() == Some(owner),
        (None, Some(address)) => caller.address().is_some_and(|own| are_of_one(own, address)),
        (None, None) => caller.local,
    }
}

/// Whether whoever has one address may have the other.
fn are_of_one(one: IpAddr, other: IpAddr) -> bool {
    match (one.to_canonical(), other.to_canonical()) {
        (IpAddr::V6(one), IpAddr::V6(other)) if one.is_unicast_link_local() => one == other,
        (one, other) => Source::of(one) == Source::of(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_of_one_but_for_that_of_a_link() {
        let are_of_one = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|address| address.parse().expect("an address"));
            are_of_one(one, other) && are_of_one(other, one)
        };
        assert!(are_of_one("2001:db8::1", "2001:db8::2") && !are_of_one("2001:db8::1", "2001:db8:0:1::1"));
        assert!(are_of_one("fe80::1", "fe80::1") && !are_of_one("fe80::1", "fe80::2"));
        assert!(are_of_one("::ffff:192.0.2.1", "192.0.2.1") && !are_of_one("192.0.2.1", "192.0.2.2"));
    }
}
