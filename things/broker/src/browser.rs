//! What a browser says of the page whose request it sends, and which pages this broker is for.

use std::net::Ipv6Addr;
use std::sync::Arc;

use axum::http::{HeaderMap, header};

/// The names that the broker is asked for by, beside addresses and `localhost`.
pub(crate) type Names = Arc<[String]>;

/// Whether the broker is asked for by an address or a name of its own. A stranger's page may have a
/// name that suddenly has this machine's address.
pub(crate) fn has_own_host(names: &[String], headers: &HeaderMap) -> bool {
    host_of(headers).is_some_and(|host| is_own(names, host))
}

/// Whether a page of somebody else asks.
pub(crate) fn is_from_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(axum::http::HeaderValue::as_bytes);
    matches!(site, Some(b"cross-site" | b"same-site"))
}

/// Whether a WebSocket may be opened: by whoever is no browser, by a page of the very place that is
/// asked, and by pages whose names are listed. Browsers ask nobody before, and send `Origin`.
pub(crate) fn may_open_socket(names: &[String], headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, more) = (origins.next(), origins.next());
    if origin.is_none() && !headers.contains_key("sec-fetch-site") {
        return true;
    }
    if more.is_some() || !has_own_host(names, headers) {
        return false;
    }
    let Some(origin) = origin else { return !is_from_another_site(headers) };
    let origin = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
    let Some(origin) = origin else { return false };
    let is_the_same = host_of(headers).is_some_and(|host| host.eq_ignore_ascii_case(origin));
    let name = origin.split_once(':').map_or(origin, |(name, _)| name);
    let is_listed = names.iter().any(|known| known.eq_ignore_ascii_case(name));
    is_listed || (is_the_same && !is_from_another_site(headers))
}

/// The only `Host` of a request.
fn host_of(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next()?.to_str().ok()?;
    hosts.next().is_none().then_some(host)
}

/// An address cannot be rebound, and names have to be known.
fn is_own(names: &[String], host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if address.parse::<Ipv6Addr>().is_ok() => ("localhost", port),
            _ => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port_is_one =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let is_known = name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::Ipv4Addr>().is_ok()
        || names.iter().any(|known| known.eq_ignore_ascii_case(name));
    port_is_one && is_known
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    use super::{is_own, may_open_socket};

    #[test]
    fn addresses_and_known_names_are_its_own_and_no_others() {
        let names = ["broker.example".to_owned()];
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8680",
            "192.0.2.1",
            "[::1]",
            "[2001:db8::1]:8680",
            "Broker.Example:1",
        ] {
            assert!(is_own(&names, host), "{host}");
        }
        for host in [
            "",
            "attacker.example",
            "localhost.attacker.example",
            "127.0.0.1.attacker.example",
            "broker.example.",
            "localhost:",
            "localhost:x",
            "localhost:80:80",
            "user@localhost",
            "[::1",
            "[::1]x",
            "[localhost]",
            "::1",
            "2130706433",
        ] {
            assert!(!is_own(&names, host), "{host}");
        }
    }

    #[test]
    fn a_socket_is_for_who_is_no_browser_and_for_pages_that_are_its_own_or_listed() {
        let names = ["broker.example".to_owned()];
        let may = |said: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in said {
                headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            may_open_socket(&names, &headers)
        };
        // aiocoap, which may know the broker by any name.
        assert!(may(&[("host", "cellar.local:5683")]));
        assert!(may(&[("host", "192.0.2.1:5683"), ("origin", "http://192.0.2.1:5683")]));
        assert!(may(&[("host", "[2001:db8::1]"), ("origin", "http://[2001:db8::1]")]));
        let listed = ("origin", "https://Broker.Example:8443");
        assert!(may(&[("host", "192.0.2.1"), listed, ("sec-fetch-site", "cross-site")]));
        assert!(may(&[("host", "192.0.2.1"), ("sec-fetch-site", "same-origin")]));
        for origin in [
            "https://evil.example",
            "https://evil.example:5683",
            "http://broker.example.evil.example",
            "http://192.0.2.1:8680",
            "http://192.0.2.1:56831",
            "null",
            "",
        ] {
            assert!(!may(&[("host", "192.0.2.1:5683"), ("origin", origin)]), "{origin}");
        }
        // A name that was made to be this machine's, two words on one thing, and no Origin at all.
        assert!(!may(&[("host", "evil.example:5683"), ("origin", "http://evil.example:5683")]));
        assert!(!may(&[("host", "192.0.2.1"), ("origin", "http://192.0.2.1"), ("origin", "null")]));
        assert!(!may(&[("host", "192.0.2.1"), ("host", "192.0.2.1"), ("origin", "http://192.0.2.1")]));
        assert!(!may(&[("host", "192.0.2.1"), ("sec-fetch-site", "cross-site")]));
        let same = [("host", "192.0.2.1"), ("origin", "http://192.0.2.1"), ("sec-fetch-site", "same-site")];
        assert!(!may(&same));
    }
}
