//! Who may ask, and what browsers are told about every answer.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::browser::{Names, has_own_host, is_from_another_site};

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
    if !has_own_host(names, headers) {
        return Some((
            StatusCode::MISDIRECTED_REQUEST,
            "this broker does not have that name; ask by address, or put the name into its settings\n",
        ));
    }
    let says = |name: &str, value: &str| headers.get(name).is_some_and(|said| said == value);
    // Whoever follows a link comes to the page; a frame is none, and nobody looks at an interface.
    let is_a_visit = says("sec-fetch-mode", "navigate")
        && headers.get("sec-fetch-dest").is_none_or(|kind| kind == "document")
        && !path.starts_with("/api/");
    if is_from_another_site(headers) && !is_a_visit {
        // It could not read the answer, and would take a listener's place.
        return Some((StatusCode::FORBIDDEN, "this is for the broker's own page\n"));
    }
    None
}
