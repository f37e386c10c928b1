//! Where an endpoint's resources are (RFC 9176 §5, `base`).

use std::net::{IpAddr, Ipv6Addr};

use motemix_coap::Peer;
use motemix_coap::link_format::{Link, Origin};

use super::Refused;

/// The base of what a receiver registers for devices behind mixes, which have no address: what they
/// publish is on this broker, and their links are relative to it.
pub(super) const HERE: &str = "";
/// CoAP's port.
const PORT: u16 = 5683;

const LINK_LOCAL: Refused =
    Refused::malformed("a link-local address leads nowhere from another link; register a wider one as base=");
const MALFORMED: Refused = Refused::malformed("base= is scheme://host, perhaps with a port and a path");

/// The base of an endpoint that did not say one.
///
/// # Errors
/// It has no address that others reach it at.
pub(super) fn of_peer(peer: Peer) -> Result<String, Refused> {
    let Peer::Datagram(address) = peer else {
        return Err(Refused::malformed("nobody reaches you where this connection begins; say base="));
    };
    let host = address.ip().to_canonical();
    check_address(host)?;
    let host = match host {
        IpAddr::V4(host) => host.to_string(),
        IpAddr::V6(host) => format!("[{host}]"),
    };
    Ok(match address.port() {
        PORT => format!("coap://{host}"),
        port => format!("coap://{host}:{port}"),
    })
}

/// A base that an endpoint said.
///
/// # Errors
/// Nothing is there for others, or it is no such URI.
pub(super) fn check(base: &str) -> Result<(), Refused> {
    let origin = Origin::of(base).ok_or(MALFORMED)?;
    if base.contains(['?', '#']) || !is_a_target(base) {
        return Err(MALFORMED);
    }
    let authority = origin.authority();
    // Whoever names an interface has an address of its own link.
    if authority.strip_prefix('[').and_then(|host| host.split_once('%')).is_some_and(|(address, _)| {
        address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_unicast_link_local())
    }) {
        return Err(LINK_LOCAL);
    }
    // Neither names of users nor zones (RFC 9176 §5), and no host that is written in two ways.
    if authority.contains(['@', '%', '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=']) {
        return Err(MALFORMED);
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or(MALFORMED)?;
        check_address(IpAddr::V6(host.parse::<Ipv6Addr>().map_err(|_| MALFORMED)?).to_canonical())?;
        (host, port)
    } else {
        let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
        if let Ok(address) = host.parse::<IpAddr>() {
            check_address(address)?;
        }
        (host, port)
    };
    let is_port = match port.strip_prefix(':') {
        Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok(),
        None => port.is_empty(),
    };
    if host.is_empty() || host.contains(['[', ']']) || !is_port { Err(MALFORMED) } else { Ok(()) }
}

fn is_a_target(base: &str) -> bool {
    // Emitting changes what cannot stand between < and >.
    Link::new(base).to_string() == format!("<{base}>")
}

fn check_address(address: IpAddr) -> Result<(), Refused> {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    if is_link_local {
        return Err(LINK_LOCAL);
    }
    if address.is_unspecified() || address.is_multicast() {
        return Err(Refused::malformed("base= is the address of one endpoint"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_local_base_is_refused_as_one_whatever_its_interface() {
        for base in [
            "coap://[fe80::1]",
            "coap://[fe80::1%eth0]:15684",
            "coap://[fe80::1%4]",
            "coap://[fe80::1%25eth0]",
        ] {
            assert_eq!(check(base).unwrap_err().text, LINK_LOCAL.text, "{base}");
        }
        for base in ["coap://[2001:db8::1%eth0]", "coap://h%eth0", "coap://[x%eth0]"] {
            assert_eq!(check(base).unwrap_err().text, MALFORMED.text, "{base}");
        }
    }
}
