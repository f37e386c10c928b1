//! Registrations of the resource directory (RFC 9176).

use std::net::IpAddr;
use std::sync::Arc;

use motemix_coap::link_format::{Attribute, Link};
use motemix_object::Identity;

use crate::Moment;

/// The segment of a registration's path, made by the directory: `4521` of `/rd/4521`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistrationId(pub Arc<str>);

/// What an endpoint registered.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// Name of the endpoint; with its sector it is unique.
    pub endpoint: Arc<str>,
    /// Its sector.
    pub sector: Option<Arc<str>>,
    /// Where its resources are: scheme and authority.
    pub base: Arc<str>,
    /// Whether the endpoint said so; otherwise it is where its request came from.
    pub base_stated: bool,
    /// When it ends unless it is renewed.
    pub expires: Moment,
    /// For how long a renewal lasts, in seconds.
    pub lifetime: u32,
    /// Other parameters of the registration, shown in look-ups: `et`, and unknown ones.
    pub attributes: Vec<Attribute>,
    /// Its links.
    pub links: Vec<Link>,
    /// Whose key the registration has as a link attribute (RFC 8387 §7.3), if it has one: only who
    /// holds the key changes it.
    pub device: Option<Identity>,
    /// The device that registered it without a key, if it proved who it is: only it changes it.
    pub owner: Option<Identity>,
    /// The address that registered it, if it has one: only from there others change it.
    pub registrant: Option<IpAddr>,
}
