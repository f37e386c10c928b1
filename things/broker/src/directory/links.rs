//! Links that are registered, and the key in them.

use motemix_coap::link_format::{self, Link, Origin, Problem};
use motemix_coap::{Code, Request, Response, format};
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

/// The most characters of what is said of links that are left out.
const MOST_SAID: usize = 400;

/// The links of a registration.
#[derive(Debug)]
pub(super) struct Links {
    pub(super) links: Vec<Link>,
    /// For people: what was left out, and why; empty if nothing was.
    pub(super) left_out: String,
}

impl Links {
    /// A response that says what was left out.
    pub(super) fn tell(&self, response: Response) -> Response {
        if self.left_out.is_empty() {
            return response;
        }
        Response { content_format: Some(format::TEXT), payload: self.left_out.as_bytes().into(), ..response }
    }
}

/// The links of a registration. Devices write much that is no link format, and one link of it says
/// nothing of the others: what cannot be understood is left out.
///
/// # Errors
/// They are in another format, or too many, or the key is among what cannot be understood.
pub(super) fn of_request(settings: &Settings, request: &Request) -> Result<Links, Refused> {
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
/// As those of [`of_request`].
pub(super) fn of_payload(settings: &Settings, payload: &[u8]) -> Result<Links, Refused> {
    if payload.len() > settings.registration_bytes {
        return Err(Refused { size1: u32::try_from(settings.registration_bytes).ok(), ..LARGE });
    }
    // Titles of devices have degrees in Latin-1, too.
    let text = String::from_utf8_lossy(payload);
    let reading = link_format::parse_lenient(&text, settings.links)
        .map_err(|fault| Refused { text: fault.to_string().into(), ..LARGE })?;
    let has_links = reading.links.len() + reading.left_out.len();
    let is_no_list = reading.left_out.iter().all(|left_out| left_out.fault.problem == Problem::NoTarget);
    let shows_key = |text: &str| text.split(';').any(|part| part.trim_start().starts_with(KEY));
    let mut said: Vec<String> = Vec::new();
    for left_out in &reading.left_out {
        let fault = left_out.fault.to_string();
        if (is_no_list && reading.links.is_empty()) || shows_key(left_out.text) {
            return Err(Refused {
                text: fault.into(),
                ..Refused::new(Refusal::Format, Code::BAD_REQUEST, "")
            });
        }
        said.push(fault);
    }
    let (mut links, mut is_key_left_out) = (Vec::new(), false);
    for link in reading.links {
        // Limited Link Format (RFC 9176, D).
        let references = [Some(&*link.target), link.value("anchor")].into_iter().flatten();
        let Some(other) = references.into_iter().find(|reference| !Origin::takes(reference)) else {
            links.push(link);
            continue;
        };
        is_key_left_out |= link.has(KEY);
        let other: String = other.chars().take(60).collect();
        said.push(format!("<{other}>: a link's target and anchor are URIs, or begin with one slash"));
    }
    if is_key_left_out {
        let text = said.pop().unwrap_or_default().into();
        return Err(Refused { text, ..Refused::new(Refusal::Format, Code::BAD_REQUEST, "") });
    }
    let mut left_out = String::new();
    if !said.is_empty() {
        let text = format!("{} of {has_links} links left out: {}", said.len(), said.join("; "));
        left_out = text.chars().take(MOST_SAID).collect();
    }
    Ok(Links { links, left_out })
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
