//! Where a broker is.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use motemix_coap::link_format::{Origin, normalise};

/// CoAP's port.
const PORT: u16 = 5683;

/// Where a broker is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// `coap://host:port`: over UDP. A link-local address has its interface behind it, as in
    /// `[fe80::1%eth0]`; `%25eth0` is read as well (RFC 6874).
    Udp(String),
    /// `coap+tcp://host:port`: over TCP.
    Tcp(String),
    /// The path of a socket of this machine.
    Local(PathBuf),
}

/// It is no address of a broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}: give coap://HOST:PORT, coap+tcp://HOST:PORT, or the path of a broker's local.sock")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.to_owned());
        let Some((scheme, rest)) = text.split_once("://") else {
            // A host without a scheme is a mistake rather than a socket of that name.
            let is_path = text.contains('/') || Path::new(text).extension().is_some_and(|end| end == "sock");
            return if is_path { Ok(Self::Local(text.into())) } else { Err(wrong()) };
        };
        let origin = Origin::of(text.strip_suffix('/').unwrap_or(text)).ok_or_else(wrong)?;
        let authority = origin.authority();
        if authority.is_empty() || rest.strip_suffix('/').unwrap_or(rest) != authority {
            return Err(wrong());
        }
        // Colons of an IPv6 address are inside brackets.
        let has_port = authority.rsplit_once(']').map_or(authority, |(_, after)| after).contains(':');
        let authority = with_plain_zone(authority);
        let host = if has_port { authority } else { format!("{authority}:{PORT}") };
        match scheme {
            "coap" => Ok(Self::Udp(host)),
            "coap+tcp" => Ok(Self::Tcp(host)),
            _ => Err(wrong()),
        }
    }
}

impl Address {
    /// Its host and port; none of a socket of this machine.
    pub(super) fn host(&self) -> Option<&str> {
        match self {
            Self::Udp(host) | Self::Tcp(host) => Some(host),
            Self::Local(_) => None,
        }
    }

    /// Whether the broker is at an address that leads nowhere from another link, so that nothing
    /// can be registered under it.
    pub fn is_link_local(&self) -> bool {
        let Some(host) = self.host() else { return false };
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        match host.split_once('%').map_or(host, |(address, _)| address).parse() {
            Ok(IpAddr::V4(address)) => address.is_link_local(),
            Ok(IpAddr::V6(address)) => address.is_unicast_link_local(),
            Err(_) => false,
        }
    }
}

/// The interface of an address in brackets as people write it: `%25`, and digits after further
/// percent signs, are how RFC 6874 has it in URIs.
fn with_plain_zone(authority: &str) -> String {
    let zoned = authority.split_once("%25").zip(authority.rsplit_once(']'));
    match zoned {
        Some(((address, rest), (_, port))) if address.starts_with('[') && rest.len() > port.len() + 1 => {
            let zone = &rest[..rest.len() - port.len() - 1];
            format!("{address}%{}]{port}", normalise(zone))
        }
        _ => authority.to_owned(),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(host) => write!(f, "coap://{host}"),
            Self::Tcp(host) => write!(f, "coap+tcp://{host}"),
            Self::Local(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_uris_or_sockets_and_nothing_else() {
        for (text, is) in [
            ("coap://[::1]:41", "coap://[::1]:41"),
            ("coap://broker.example/", "coap://broker.example:5683"),
            ("coap+tcp://127.0.0.1", "coap+tcp://127.0.0.1:5683"),
            ("coap://[::1]", "coap://[::1]:5683"),
            ("coap://[fe80::1%eth0]:41", "coap://[fe80::1%eth0]:41"),
            ("coap://[fe80::1%25eth0]", "coap://[fe80::1%eth0]:5683"),
            ("coap+tcp://[fe80::1%25br%2D0.7]:41/", "coap+tcp://[fe80::1%br-0.7]:41"),
            // Without a name behind it, it is a number (RFC 4007).
            ("coap://[fe80::1%25]:41", "coap://[fe80::1%25]:41"),
            ("broker/local.sock", "broker/local.sock"),
            ("local.sock", "local.sock"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), is);
        }
        for (text, is) in [
            ("coap://[fe80::1%eth0]", true),
            ("coap+tcp://169.254.1.1", true),
            ("coap://[2001:db8::1]", false),
            ("coap://broker.local", false),
            ("local.sock", false),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().is_link_local(), is, "{text}");
        }
        for text in ["", "::1", "localhost:5683", "http://a", "coap://", "coap://a/ps", "coaps://a"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
