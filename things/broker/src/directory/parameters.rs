//! What stands in the query of a registration (RFC 9176 §5).

use std::sync::Arc;

use motemix_coap::Request;
use motemix_coap::link_format::{Attribute, is_name};
use motemix_object::{Identity, IdentityLabel};

use super::{Refused, base};
use crate::state::LABEL;

/// The most bytes of a name of an endpoint or sector.
const MAX_NAME_LEN: usize = 63;
/// The most attributes of a registration beside those that RFC 9176 names.
pub(super) const MAX_ATTRIBUTES: usize = 16;
/// There are more.
pub(super) const MANY: Refused = Refused::malformed("a registration has at most 16 attributes of its own");
/// Names that mean something in look-ups, where an attribute of an endpoint would pass for it.
const RESERVED: [&str; 10] = ["href", "rt", "if", "rel", "rev", "anchor", "page", "count", "key", "obs"];

/// What stands in the query of a registration.
#[derive(Debug, Default)]
pub(super) struct Parameters<'q> {
    pub(super) endpoint: Option<&'q str>,
    pub(super) sector: Option<&'q str>,
    pub(super) lifetime: Option<u32>,
    pub(super) base: Option<&'q str>,
    pub(super) proof: Option<&'q str>,
    pub(super) attributes: Vec<Attribute>,
}

impl<'q> Parameters<'q> {
    /// # Errors
    /// A parameter is malformed, or stands there twice.
    pub(super) fn of(request: &'q Request) -> Result<Self, Refused> {
        let mut parameters = Self::default();
        for parameter in &request.query {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (&**parameter, None),
            };
            match name {
                "ep" => once(&mut parameters.endpoint, name_of(value)?)?,
                "d" => once(&mut parameters.sector, name_of(value)?)?,
                "lt" => once(&mut parameters.lifetime, lifetime(value)?)?,
                "base" => {
                    let base = value.unwrap_or_default();
                    base::check(base)?;
                    once(&mut parameters.base, base)?;
                }
                "proof" => once(&mut parameters.proof, value.unwrap_or_default())?,
                _ => parameters.attributes.push(attribute(name, value)?),
            }
        }
        if parameters.attributes.len() > MAX_ATTRIBUTES {
            return Err(MANY);
        }
        Ok(parameters)
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Refused> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Refused::malformed("ep, d, lt, base and proof stand in a query once")),
    }
}

fn name_of(value: Option<&str>) -> Result<&str, Refused> {
    let is_name =
        |value: &&str| (1..=MAX_NAME_LEN).contains(&value.len()) && !value.contains(char::is_control);
    value.filter(is_name).ok_or(Refused::malformed("ep= and d= are 1 to 63 bytes without control characters"))
}

fn lifetime(value: Option<&str>) -> Result<u32, Refused> {
    let digits = value.filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    let lifetime = digits.and_then(|digits| digits.parse().ok()).filter(|lifetime| *lifetime > 0);
    lifetime.ok_or(Refused::malformed("lt= is 1 to 4294967295 seconds"))
}

fn attribute(name: &str, value: Option<&str>) -> Result<Attribute, Refused> {
    if !is_name(name) || (value.is_none() && name.ends_with('*')) || RESERVED.contains(&name) {
        return Err(Refused::malformed("an endpoint has no attribute of this name; leave it out"));
    }
    if value.is_some_and(|value| value.contains(char::is_control)) {
        return Err(Refused::malformed("an attribute has no control characters"));
    }
    Ok((Arc::from(name), value.map(Arc::from)))
}

/// Whether a name of an endpoint is the text of another device's label: it belongs to that device
/// alone, so that nobody takes it before the device comes.
pub(super) fn is_reserved_for_another(endpoint: &str, device: Option<&Identity>) -> bool {
    let is_label =
        endpoint.trim_start().get(..LABEL.len()).is_some_and(|first| first.eq_ignore_ascii_case(LABEL));
    let is_own = |device| IdentityLabel::parse(endpoint).is_ok_and(|label| label.names(device));
    is_label && !device.is_some_and(is_own)
}
