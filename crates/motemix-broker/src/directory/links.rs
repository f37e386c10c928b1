//! Links that are registered, and the key in them.

use motemix_coap::link_format::{self, Link, Origin, Problem};
use motemix_coap::{Code, Request, format};
use motemix_object::{Credential, Identity, PublicKey};
use motemix_readings::base64url;

use super::{Refusal, Refused, Settings};

/// The attribute that a device's credential stands in.
pub(super) const KEY: &str = "key";

const LARGE: Refused = Refused::new(
    Refusal::Large,
    Code::REQUEST_ENTITY_TOO_LARGE,
    "a registration has fewer bytes here; register less, or under several names",
);

/// A device's key, as a link has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceKey {
    pub(super) identity: Identity,
    pub(super) public: PublicKey,
}

/// The links of a registration.
///
/// # Errors
/// They are malformed, or too many.
pub(super) fn of_request(settings: &Settings, request: &Request) -> Result<Vec<Link>, Refused> {
    match request.content_format {
        Some(format::LINK_FORMAT) => {}
        None if request.payload.is_empty() => {}
        _ => {
            return Err(Refused::new(
                Refusal::Format,
                Code::UNSUPPORTED_CONTENT_FORMAT,
                "links are registered in link format alone (content format 40)",
            ));
        }
    }
    let query: usize = request.query.iter().map(String::len).sum();
    let room = settings.registration_bytes.saturating_sub(query);
    if request.payload.len() > room {
        return Err(Refused { size1: u32::try_from(room).ok(), ..LARGE });
    }
    of_payload(settings, &request.payload)
}

/// The links of a text.
///
/// # Errors
/// They are malformed, or too many.
pub(super) fn of_payload(settings: &Settings, payload: &[u8]) -> Result<Vec<Link>, Refused> {
    if payload.len() > settings.registration_bytes {
        return Err(Refused { size1: u32::try_from(settings.registration_bytes).ok(), ..LARGE });
    }
    let malformed =
        |text: String| Refused { text: text.into(), ..Refused::new(Refusal::Format, Code::BAD_REQUEST, "") };
    let text = std::str::from_utf8(payload)
        .map_err(|fault| malformed(format!("link format, byte {}: not UTF-8", fault.valid_up_to())))?;
    let links = link_format::parse(text, settings.links).map_err(|fault| match fault.problem {
        Problem::Links(_) => Refused { text: fault.to_string().into(), ..LARGE },
        _ => malformed(fault.to_string()),
    })?;
    // Limited Link Format (RFC 9176, D).
    let references = links.iter().flat_map(|link| [Some(&*link.target), link.value("anchor")]).flatten();
    if let Some(other) = references.into_iter().find(|reference| !Origin::takes(reference)) {
        return Err(malformed(format!(
            "<{other}>: a link's target and anchor are URIs, or begin with one slash"
        )));
    }
    Ok(links)
}

/// The key in links; none if no link has one.
///
/// # Errors
/// A key is malformed, or there are two.
pub(super) fn key_in(links: &[Link]) -> Result<Option<DeviceKey>, Refused> {
    let all = || links.iter().flat_map(|link| &link.attributes).filter(|(name, _)| &**name == KEY);
    let Some((_, first)) = all().next() else { return Ok(None) };
    if all().any(|(_, other)| other != first) {
        return Err(Refused::malformed("a registration has one key; register each device under its name"));
    }
    let malformed = Refused::malformed("key= is a credential in base64url (docs/spec/identity.md)");
    let bytes = first.as_deref().and_then(base64url::decode).ok_or(malformed.clone())?;
    let credential = Credential::parse(&bytes).map_err(|_| malformed.clone())?;
    let identity = credential.identity().map_err(|_| malformed)?;
    Ok(Some(DeviceKey { identity, public: *credential.key() }))
}
