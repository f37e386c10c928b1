//! Registrations: made, renewed, read, removed, expired (RFC 9176 §5).

use std::sync::Arc;

use motemix_coap::link_format::{Attribute, Link, emit};
use motemix_coap::{Code, Request, Response};
use motemix_object::Identity;
use sha2::{Digest, Sha256};

use super::authority::{Held, holds, is_registrant, may_change, may_move};
use super::parameters::{Parameters, is_reserved_for_another};
use super::{Desk, Outcome, Refusal, Refused, base, content, links};
use crate::state::{Change, Registration, RegistrationId, State};
use crate::{Caller, Moment};

/// Seconds of a registration that says none: 25 hours.
const DEFAULT_LIFETIME: u32 = 90_000;
const NAMELESS: Refused = Refused::malformed("say the endpoint's name: ep=");

impl RegistrationId {
    /// The place of an endpoint: the same name is at the same place, in every broker and for ever.
    /// Whoever has 2⁹⁶ hashes to spend finds a name for somebody's place, and is refused.
    pub(crate) fn of(endpoint: &str, sector: Option<&str>) -> Self {
        let mut hash = Sha256::new();
        // Names have at most 63 bytes, and sectors one at least.
        for name in [endpoint, sector.unwrap_or_default()] {
            hash.update([u8::try_from(name.len()).unwrap_or(u8::MAX)]);
            hash.update(name);
        }
        let hash = hash.finalize();
        let first = hash.get(..12).unwrap_or_default();
        Self(Arc::from(motemix_readings::base64url::encode(first)))
    }
}

/// `POST /rd`
pub(super) fn register(desk: Desk<'_>, caller: &Caller, request: &Request) -> Result<Outcome, Refused> {
    let links = links::of_request(desk.settings, request)?;
    let parameters = Parameters::of(request)?;
    let mut response = links.tell(Response::new(Code::CREATED));
    let (RegistrationId(id), changes) = put(desk, caller, request, links.links, &parameters)?;
    response.location_path = vec!["rd".to_owned(), id.to_string()];
    Ok(Outcome::Done { changes, response })
}

/// The changes that register an endpoint, or put other links in the place of those that it had.
pub(super) fn put(
    desk: Desk<'_>,
    caller: &Caller,
    request: &Request,
    links: Vec<Link>,
    parameters: &Parameters<'_>,
) -> Result<(RegistrationId, Vec<Change>), Refused> {
    let endpoint = parameters.endpoint.ok_or(NAMELESS)?;
    let id = RegistrationId::of(endpoint, parameters.sector);
    let key = links::key_in(&links)?;
    let before = alive(desk, &id);
    if before
        .is_some_and(|before| (&*before.endpoint, before.sector.as_deref()) != (endpoint, parameters.sector))
    {
        return Err(Refused::FOREIGN);
    }
    if let Some(before) = before {
        match (before.device, &key) {
            (Some(device), Some(key)) if device == key.identity => {}
            (Some(_), _) => {
                return Err(Refused::new(
                    Refusal::Foreign,
                    Code::FORBIDDEN,
                    "this endpoint has another key; who holds that one deletes the registration first",
                ));
            }
            (None, _) if is_registrant(caller, before) => {}
            (None, key) if may_move(desk, before, key.as_ref().map(|key| key.identity).or(caller.device)) => {
            }
            (None, _) => return Err(Refused::FOREIGN),
        }
    }
    let held = if let Some(key) = &key {
        Some(holds(desk, caller, request, parameters.proof, key)?)
    } else {
        lets_keyless(desk, caller, parameters)?;
        None
    };
    let device = key.map(|key| key.identity);
    if is_reserved_for_another(endpoint, device.as_ref().or(caller.device.as_ref())) {
        return Err(Refused::new(
            Refusal::Forbidden,
            Code::FORBIDDEN,
            "this name is a device's label: only that device takes it",
        ));
    }
    // Whoever passed it on would otherwise put his own address there.
    if matches!(held, Some(Held::BySignature(_))) && parameters.base.is_none() {
        return Err(Refused::malformed("a signed registration says its base=, which the signature covers"));
    }
    if before.is_none() {
        has_room(desk, caller, device.as_ref())?;
    }
    let base = match parameters.base {
        Some(base) => base.to_owned(),
        None if caller.local => base::HERE.to_owned(),
        None => base::of_peer(caller.peer)?,
    };
    let lifetime = parameters.lifetime.unwrap_or(DEFAULT_LIFETIME);
    let registration = Registration {
        endpoint: Arc::from(endpoint),
        sector: parameters.sector.map(Arc::from),
        base: Arc::from(base),
        base_stated: parameters.base.is_some(),
        expires: desk.now.plus_secs(lifetime.into()),
        lifetime,
        attributes: parameters.attributes.clone(),
        links,
        device,
        owner: caller.device.filter(|_| device.is_none()),
        registrant: caller.address(),
    };
    let mut changes: Vec<Change> = held.and_then(Held::into_change).into_iter().collect();
    changes.push(Change::Registration(id.clone(), Some(Arc::new(registration))));
    Ok((id, changes))
}

/// Whether the caller may register under this name, as far as can be said before the links are
/// there.
pub(super) fn is_free(desk: Desk<'_>, caller: &Caller, parameters: &Parameters<'_>) -> Result<(), Refused> {
    let endpoint = parameters.endpoint.ok_or(NAMELESS)?;
    base::of_peer(caller.peer)?;
    match alive(desk, &RegistrationId::of(endpoint, parameters.sector)) {
        None => has_room(desk, caller, caller.device.as_ref()),
        Some(before) if before.device.is_some() && before.device == caller.device => Ok(()),
        Some(before) if before.device.is_none() && is_registrant(caller, before) => Ok(()),
        Some(before) if may_move(desk, before, caller.device) => Ok(()),
        Some(_) => Err(Refused::FOREIGN),
    }
}

fn lets_keyless(desk: Desk<'_>, caller: &Caller, parameters: &Parameters<'_>) -> Result<(), Refused> {
    let settings = desk.settings;
    if parameters.proof.is_some() {
        return Err(Refused::malformed("a proof needs a key: say key= with one of the links"));
    }
    let is_listed = caller.device.is_some_and(|device| settings.lets(&device));
    if !settings.keyless && !is_listed && !caller.local {
        return Err(Refused::new(
            Refusal::Forbidden,
            Code::FORBIDDEN,
            "the operator wants a key: say key= with one of the links, and prove it",
        ));
    }
    is_short_enough(desk, parameters.lifetime)
}

fn is_short_enough(desk: Desk<'_>, lifetime: Option<u32>) -> Result<(), Refused> {
    if lifetime.unwrap_or(DEFAULT_LIFETIME) > desk.settings.keyless_lifetime {
        return Err(Refused {
            text: format!("lt= is at most {} without a key", desk.settings.keyless_lifetime).into(),
            ..Refused::new(Refusal::Forbidden, Code::BAD_REQUEST, "")
        });
    }
    Ok(())
}

fn has_room(desk: Desk<'_>, caller: &Caller, device: Option<&Identity>) -> Result<(), Refused> {
    // A receiver's list is bounded, and strangers do not take its places; nor that of a device
    // which the operator has listed. What such a device registers beyond it counts as all others.
    let has_its_own = |device| desk.settings.names(device) && !desk.state.is_registered(device);
    if caller.local || device.is_some_and(has_its_own) {
        return Ok(());
    }
    let registrations = desk.state.registrations();
    if registrations.len() >= desk.settings.registrations {
        return Err(Refused::later(
            Refusal::Full,
            Code::SERVICE_UNAVAILABLE,
            "the directory is full; try later",
        ));
    }
    let Some(address) = caller.address() else {
        return Ok(());
    };
    if desk.state.registrations_from(address) >= desk.settings.registrations_of_a_network {
        return Err(Refused::later(
            Refusal::Crowded,
            Code::TOO_MANY_REQUESTS,
            "your network has as many registrations as it may; remove some",
        ));
    }
    Ok(())
}

/// A registration that has not expired.
fn alive<'s>(desk: Desk<'s>, id: &RegistrationId) -> Option<&'s Registration> {
    desk.state.registration(id).map(|registration| &**registration).filter(|found| found.expires > desk.now)
}

/// `POST /rd/<id>`. What links it has take the place of all before: RFC 9176 leaves that open, and
/// devices of LwM2M do it (Core 1.1, 6.2.2).
pub(super) fn update(
    desk: Desk<'_>,
    caller: &Caller,
    id: &RegistrationId,
    request: &Request,
) -> Result<Outcome, Refused> {
    let before = alive(desk, id).ok_or(Refused::ABSENT)?;
    let parameters = Parameters::of(request)?;
    if parameters.endpoint.is_some() || parameters.sector.is_some() {
        return Err(Refused::malformed("an update changes neither ep nor d; leave them out"));
    }
    if before.device.is_none() && parameters.lifetime.is_some() {
        is_short_enough(desk, parameters.lifetime)?;
    }
    let links =
        if request.payload.is_empty() { None } else { Some(links::of_request(desk.settings, request)?) };
    if let Some(links) = &links
        && links::key_in(&links.links)?.map(|key| key.identity) != before.device
    {
        return Err(Refused::malformed(
            "the links of an update have the registration's key= with one of them, and no other; register again",
        ));
    }
    let change = may_change(desk, caller, request, parameters.proof, before)?;
    let mut after = before.clone();
    match parameters.base {
        Some(base) => (after.base, after.base_stated) = (Arc::from(base), true),
        None if before.base_stated => {}
        None if caller.local => after.base = Arc::from(base::HERE),
        None => after.base = Arc::from(base::of_peer(caller.peer)?),
    }
    override_with(&mut after.attributes, parameters.attributes)?;
    after.lifetime = parameters.lifetime.unwrap_or(before.lifetime);
    after.expires = desk.now.plus_secs(after.lifetime.into());
    let mut response = Response::new(Code::CHANGED);
    if let Some(links) = links {
        response = links.tell(response);
        after.links = links.links;
    }
    let registration = Change::Registration(id.clone(), Some(Arc::new(after)));
    Ok(Outcome::Done { changes: change.into_iter().chain([registration]).collect(), response })
}

/// New attributes take the place of all that have their name.
fn override_with(attributes: &mut Vec<Attribute>, new: Vec<Attribute>) -> Result<(), Refused> {
    attributes.retain(|(name, _)| !new.iter().any(|(other, _)| other == name));
    attributes.extend(new);
    if attributes.len() > super::parameters::MAX_ATTRIBUTES {
        return Err(super::parameters::MANY);
    }
    Ok(())
}

/// `DELETE /rd/<id>`
pub(super) fn remove(
    desk: Desk<'_>,
    caller: &Caller,
    id: &RegistrationId,
    request: &Request,
) -> Result<Outcome, Refused> {
    let before = alive(desk, id).ok_or(Refused::ABSENT)?;
    let proof = request.parameter("proof");
    let change = may_change(desk, caller, request, proof, before)?;
    Ok(Outcome::Done {
        changes: change.into_iter().chain([Change::Registration(id.clone(), None)]).collect(),
        response: Response::new(Code::DELETED),
    })
}

/// `GET /rd/<id>`: the links as they were registered.
pub(super) fn read(desk: Desk<'_>, id: &RegistrationId, request: &Request) -> Result<Outcome, Refused> {
    let registration = alive(desk, id).ok_or(Refused::ABSENT)?;
    Ok(Outcome::Done { changes: Vec::new(), response: content(request, emit(&registration.links))? })
}

/// The changes that remove what has expired.
pub fn expire(state: &State, now: Moment) -> Vec<Change> {
    let expired = state.registrations().filter(|(_, registration)| registration.expires <= now);
    expired.map(|(id, _)| Change::Registration(id.clone(), None)).collect()
}

/// When the next registration expires.
pub fn next_expiry(state: &State) -> Option<Moment> {
    state.registrations().map(|(_, registration)| registration.expires).min()
}
