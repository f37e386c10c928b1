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

/// How the text of a device's label begins.
pub(crate) const LABEL: &str = "MOTEMIX:ID:";

impl Registration {
    /// What people call it: a name that is the text of a label says nothing to them, so that it is
    /// then where the device is and what it is for.
    pub fn name(&self) -> Arc<str> {
        let words = ["place", "purpose"].map(|name| self.attribute(name).unwrap_or_default());
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if self.endpoint.starts_with(LABEL) && !words.is_empty() {
            return words.join(" ").into();
        }
        self.endpoint.clone()
    }

    /// What it takes to compare it with a value: one for itself, for each link, and for so many
    /// bytes, because a list of words is compared word by word.
    pub(crate) fn work(&self) -> usize {
        const BYTES: usize = 128;
        let links = self.links.iter().flat_map(|link| &link.attributes);
        let len = |(name, value): &Attribute| name.len() + value.as_deref().map_or(0, str::len);
        let targets: usize = self.links.iter().map(|link| link.target.len()).sum();
        let bytes = targets + self.attributes.iter().chain(links).map(len).sum::<usize>();
        1 + self.links.len() + bytes / BYTES
    }

    /// The first attribute with this name, of the registration or of a link of it.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let links = self.links.iter().flat_map(|link| &link.attributes);
        let mut all = self.attributes.iter().chain(links);
        all.find_map(|(other, value)| if **other == *name { value.as_deref() } else { None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_no_name_for_people_where_they_said_what_it_is() {
        let named = |endpoint: &str, attributes: &[(&str, &str)]| Registration {
            endpoint: endpoint.into(),
            sector: None,
            base: "".into(),
            base_stated: false,
            expires: Moment::from_millis(0),
            lifetime: 60,
            attributes: attributes
                .iter()
                .map(|(name, value)| ((*name).into(), Some((*value).into())))
                .collect(),
            links: vec![Link::new("/t").with("purpose", "warmth")],
            device: None,
            owner: None,
            registrant: None,
        };
        let label = "MOTEMIX:ID:00112233445566778899AABBCCDDEEFF";
        assert_eq!(&*named(label, &[("place", "cellar")]).name(), "cellar warmth");
        assert_eq!(&*named("shed", &[("place", "cellar")]).name(), "shed");
        let bare = Registration { links: Vec::new(), ..named(label, &[]) };
        assert_eq!(&*bare.name(), label);
    }
}
