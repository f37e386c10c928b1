//! Who may ask, and what browsers are told about every answer.

use std::net::Ipv6Addr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Only files of this broker, and no script but its own; nothing frames it, nothing is sent
/// anywhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

const ALWAYS: [(header::HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The names that the page is asked for by, beside addresses and `localhost`.
pub(super) type Names = Arc<[String]>;

pub(super) async fn guard(State(names): State<Names>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&names, request.uri().path(), request.headers()) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn refusal(names: &[String], path: &str, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    if hosts.next().is_some() || !host.is_some_and(|host| is_own(names, host)) {
        // A stranger's page whose name suddenly has this machine's address.
        return Some((
            StatusCode::MISDIRECTED_REQUEST,
            "this broker does not have that name; ask by address, or put the name into its settings\n",
        ));
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    let says = |name: &str, value: &str| headers.get(name).is_some_and(|said| said == value);
    // Whoever follows a link comes to the page; a frame is none, and nobody looks at an interface.
    let is_a_visit = says("sec-fetch-mode", "navigate")
        && headers.get("sec-fetch-dest").is_none_or(|kind| kind == "document")
        && !path.starts_with("/api/");
    if matches!(site, Some(b"cross-site" | b"same-site")) && !is_a_visit {
        // It could not read the answer, and would take a listener's place.
        return Some((StatusCode::FORBIDDEN, "this is for the broker's own page\n"));
    }
    None
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
    use super::is_own;

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
}
