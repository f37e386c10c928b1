//! Addresses as people write them: one of IPv6 in brackets, a link-local one with the interface
//! that leads to it (`[fe80::1%eth0]:5683`, RFC 4007 section 11.2), and names of hosts.
//!
//! A zone is the name of an interface or its number. Numbers change when a machine starts again, so
//! files and messages have the name.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs as _};

/// Why a text is no address; prints as one line with an example.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is none.
    #[error("{0:?} is not an address and a port, as in [::1]:5683, [fe80::1%eth0]:5683 or 127.0.0.1:5683")]
    Form(String),
    /// The interface behind `%` is not there.
    #[error("{address}: this machine has no interface {zone:?}; `ip link` names those that it has")]
    NoInterface {
        /// The text.
        address: String,
        /// What is no interface.
        zone: String,
    },
    /// The host has no address.
    #[error("{host}: {problem}; correct the name, or write an address, as in [::1]:5683 or 127.0.0.1:5683")]
    NotFound {
        /// Its name.
        host: String,
        /// What the resolver says.
        problem: io::Error,
    },
}

impl From<AddressError> for io::Error {
    fn from(error: AddressError) -> Self {
        match error {
            AddressError::NotFound { problem, .. } => problem,
            other => Self::new(io::ErrorKind::InvalidInput, other.to_string()),
        }
    }
}

/// An address and a port. No name is looked up.
///
/// # Errors
/// It is something else, or names an interface that is not there.
pub fn parse(text: &str) -> Result<SocketAddr, AddressError> {
    let wrong = || AddressError::Form(text.to_owned());
    let (host, port) = split(text).ok_or_else(wrong)?;
    of_number(host, port).ok_or_else(wrong)?
}

/// An address and a port, or those of a host: all that it has. It waits for the resolver.
///
/// # Errors
/// It is something else, names an interface that is not there, or the host has no address.
pub fn resolve(text: &str) -> Result<Vec<SocketAddr>, AddressError> {
    let (host, port) = split(text).ok_or_else(|| AddressError::Form(text.to_owned()))?;
    if let Some(address) = of_number(host, port) {
        return Ok(vec![address?]);
    }
    let failed = |problem| AddressError::NotFound { host: host.to_owned(), problem };
    Ok((host, port).to_socket_addrs().map_err(failed)?.collect())
}

/// The same, and meanwhile others go on.
///
/// # Errors
/// See [`resolve`].
pub async fn lookup(text: &str) -> io::Result<Vec<SocketAddr>> {
    let (host, port) = split(text).ok_or_else(|| AddressError::Form(text.to_owned()))?;
    if let Some(address) = of_number(host, port) {
        return Ok(vec![address?]);
    }
    Ok(tokio::net::lookup_host((host, port)).await?.collect())
}

/// An address as [`parse`] reads it: an interface by its name.
pub fn text(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => {
            let zone = name_of(v6.scope_id()).unwrap_or_else(|| v6.scope_id().to_string());
            format!("[{}%{zone}]:{}", v6.ip(), v6.port())
        }
        other => other.to_string(),
    }
}

/// Why an address cannot be used, with a remedy: what the system says, or that a link-local address
/// names no interface.
pub fn refusal(address: SocketAddr, error: &io::Error, remedy: &str) -> String {
    without_interface(address).unwrap_or_else(|| format!("{error}; {remedy}"))
}

/// What is missing in a link-local address that names no interface, with the name of one.
pub fn without_interface(address: SocketAddr) -> Option<String> {
    let SocketAddr::V6(v6) = address else { return None };
    (v6.ip().is_unicast_link_local() && v6.scope_id() == 0).then(|| {
        let zone = interface_of(*v6.ip()).unwrap_or_else(|| "eth0".to_owned());
        format!(
            "a link-local address leads nowhere without its interface; write [{}%{zone}]:{} (`ip link` lists the \
             interfaces of this machine)",
            v6.ip(),
            v6.port()
        )
    })
}

/// The interface that has this address, or else the first that has a link-local one.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))]
fn interface_of(ip: Ipv6Addr) -> Option<String> {
    let all = nix::ifaddrs::getifaddrs().ok()?;
    let mut linked: Vec<_> = all
        .filter_map(|found| Some((found.interface_name, found.address?.as_sockaddr_in6()?.ip())))
        .filter(|(_, found)| found.is_unicast_link_local())
        .collect();
    linked.sort_by_key(|(_, found)| *found != ip);
    linked.into_iter().next().map(|(name, _)| name)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd")))]
fn interface_of(_: Ipv6Addr) -> Option<String> {
    None
}

/// The host and the port, without brackets. A colon of IPv6 stands in brackets, or nobody knows
/// whether the last number is a port.
fn split(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    // `+5` is a number for Rust.
    let port = port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse().ok())??;
    let host = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').filter(|inner| inner.contains(':'))?,
        None => Some(host).filter(|host| !host.contains([':', '%', '[', ']']))?,
    };
    (!host.is_empty() && !host.contains(char::is_whitespace)).then_some((host, port))
}

/// `None` if the host is no address. Of one in brackets it is an error instead.
fn of_number(host: &str, port: u16) -> Option<Result<SocketAddr, AddressError>> {
    if !host.contains(':') {
        return Some(Ok(SocketAddr::new(host.parse::<IpAddr>().ok()?, port)));
    }
    let (ip, zone) = host.split_once('%').map_or((host, None), |(ip, zone)| (ip, Some(zone)));
    let address = || format!("[{host}]:{port}");
    let Ok(ip) = ip.parse::<Ipv6Addr>() else { return Some(Err(AddressError::Form(address()))) };
    let scope = match zone {
        None => 0,
        Some(zone) => match number_of(zone) {
            Some(number) => number,
            None => {
                return Some(Err(AddressError::NoInterface { address: address(), zone: zone.to_owned() }));
            }
        },
    };
    Some(Ok(SocketAddrV6::new(ip, port, 0, scope).into()))
}

/// The number of an interface; digits are a number already.
fn number_of(zone: &str) -> Option<u32> {
    if !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_digit()) {
        return zone.parse().ok();
    }
    // The resolver knows interfaces by their names, and asks nobody.
    match (format!("fe80::1%{zone}").as_str(), 0).to_socket_addrs().ok()?.next()? {
        SocketAddr::V6(found) => Some(found.scope_id()).filter(|number| *number != 0),
        SocketAddr::V4(_) => None,
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))]
fn name_of(interface: u32) -> Option<String> {
    let name = nix::net::if_::if_indextoname(interface).ok()?.into_string().ok()?;
    // Of one that is not there it has no error.
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd")))]
fn name_of(_: u32) -> Option<String> {
    None
}

/// Addresses in configuration files, as [`parse`] and [`text`] have them.
pub mod listed {
    use std::net::SocketAddr;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Several.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(addresses: &[SocketAddr], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(addresses.iter().map(|address| super::text(*address)))
    }

    /// Several.
    ///
    /// # Errors
    /// One is none.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SocketAddr>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| super::parse(text).map_err(D::Error::custom)).collect()
    }
}

/// One address in a configuration file.
pub mod single {
    use std::net::SocketAddr;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// One.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(address: &SocketAddr, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::text(*address))
    }

    /// One.
    ///
    /// # Errors
    /// It is none.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
        super::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loopback interface is the first of each machine, and of each network namespace.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_local_address_names_its_interface() {
        let at = SocketAddr::from(SocketAddrV6::new("fe80::1".parse().unwrap(), 5683, 0, 1));
        assert_eq!(parse("[fe80::1%lo]:5683").unwrap(), at);
        assert_eq!(parse("[fe80::1%1]:5683").unwrap(), at);
        assert_eq!(resolve("[fe80::1%lo]:5683").unwrap(), [at]);
        assert_eq!(text(at), "[fe80::1%lo]:5683");
        // Of an interface that is gone the number is left.
        let gone = SocketAddrV6::new("fe80::1".parse().unwrap(), 5683, 0, u32::MAX).into();
        assert_eq!(text(gone), "[fe80::1%4294967295]:5683");
        for zone in ["none", "", "lo lo"] {
            let said = parse(&format!("[fe80::1%{zone}]:5683")).unwrap_err().to_string();
            assert!(said.contains(if zone == "lo lo" { "as in [::1]" } else { "no interface" }), "{said}");
        }
    }

    #[test]
    fn a_link_local_address_without_its_interface_is_told_what_is_missing() {
        let (invalid, remedy) = (io::Error::from_raw_os_error(22), "choose another");
        let said = refusal(parse("[fe80::7]:5683").unwrap(), &invalid, remedy);
        let zoned = said.split(['[', ']']).nth(1).unwrap();
        assert!(
            zoned.starts_with("fe80::7%") && said.contains("]:5683") && !said.contains("os error"),
            "{said}"
        );
        for other in ["[::1]:5683", "127.0.0.1:5683", "[fe80::7%1]:5683"] {
            let said = refusal(parse(other).unwrap(), &invalid, remedy);
            assert!(said.contains("os error 22") && said.ends_with("; choose another"), "{said}");
        }
    }

    #[test]
    fn what_is_no_address_is_answered_with_one() {
        for sound in ["[::1]:5683", "127.0.0.1:0", "[2001:db8::1]:65535"] {
            assert_eq!(text(parse(sound).unwrap()), sound);
        }
        for wrong in [
            "",
            "::1",
            "::1:5683",
            "[::1]",
            "[::1]:",
            "[::1]:+5",
            "[::1]:65536",
            "fe80::1%lo:5",
            "[h]:5",
            "a b:5",
        ] {
            let said = resolve(wrong).unwrap_err().to_string();
            assert!(said.contains("as in [::1]:5683"), "{wrong}: {said}");
        }
        let said = parse("localhost:5683").unwrap_err().to_string();
        assert!(said.contains("as in [::1]:5683"), "{said}");
        assert!(resolve("localhost:5683").unwrap().iter().all(|found| found.ip().is_loopback()));
        let said = resolve("no..host:5683").unwrap_err().to_string();
        assert!(said.starts_with("no..host: ") && said.contains("as in [::1]:5683"), "{said}");
    }
}
