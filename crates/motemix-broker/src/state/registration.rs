//! Registrations of the resource directory (RFC 9176).

use std::sync::Arc;

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
    /// When it ends unless it is renewed.
    pub expires: Moment,
    /// For how long a renewal lasts, in seconds.
    pub lifetime: u32,
    /// Other parameters of the registration, shown in look-ups: `et`, and unknown ones.
    pub attributes: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// Its links.
    pub links: Vec<Link>,
    /// Whose key the registration has as a link attribute (RFC 8387 §7.3), if it has one: only who
    /// holds the key changes it.
    pub device: Option<Identity>,
}

/// A link as it was registered (RFC 6690).
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The target, as it stood there.
    pub target: Arc<str>,
    /// Its attributes, in order.
    pub attributes: Vec<(Arc<str>, Option<Arc<str>>)>,
}
