//! `/.well-known/core` (RFC 6690 §4): what the broker offers to whoever does not know it yet.
//! Topics and registrations are not there: the collection and the look-ups have them.

use motemix_coap::{Code, Method, Request, Response, format};

use super::counters::Refused;
use crate::context::Context;

/// Target, resource type, and the content format if it is not the one that the type implies.
const LINKS: [(&str, &str, Option<u16>); 5] = [
    ("/ps", "core.ps core.ps.coll", Some(format::LINK_FORMAT)),
    ("/rd", "core.rd", Some(format::LINK_FORMAT)),
    ("/rd-lookup/ep", "core.rd-lookup-ep", Some(format::LINK_FORMAT)),
    ("/rd-lookup/res", "core.rd-lookup-res", Some(format::LINK_FORMAT)),
    ("/.well-known/core", "", Some(format::LINK_FORMAT)),
];
/// What may be observed.
const OBSERVABLE: &str = "/rd-lookup/";

pub(super) fn handle(context: &mut Context<'_>, request: &Request) -> Response {
    if request.method != Method::Get {
        let text = "/.well-known/core only has GET";
        return context.refuse(Refused::Method, Code::METHOD_NOT_ALLOWED, text);
    }
    if request.accept.is_some_and(|accept| accept != format::LINK_FORMAT) {
        return context.refuse(Refused::Format, Code::NOT_ACCEPTABLE, "only Content-Format 40 is here");
    }
    let mut links = Vec::new();
    for (target, resource_type, content_format) in LINKS {
        if request.query.iter().all(|parameter| matches(parameter, target, resource_type, content_format)) {
            links.push(write(target, resource_type, content_format));
        }
    }
    Response::content(Code::CONTENT, format::LINK_FORMAT, links.join(",").into_bytes())
}

/// One parameter of the query (RFC 6690 §4.1); a star at its end stands for whatever follows.
fn matches(parameter: &str, target: &str, resource_type: &str, content_format: Option<u16>) -> bool {
    let Some((name, wanted)) = parameter.split_once('=') else { return false };
    let is_wanted = |value: &str| match wanted.strip_suffix('*') {
        Some(start) => value.starts_with(start),
        None => value == wanted,
    };
    match name {
        "href" => is_wanted(target),
        "rt" => resource_type.split(' ').any(|one| !one.is_empty() && is_wanted(one)),
        "ct" => content_format.is_some_and(|number| is_wanted(&number.to_string())),
        "obs" => target.starts_with(OBSERVABLE) && wanted.is_empty(),
        _ => false,
    }
}

fn write(target: &str, resource_type: &str, content_format: Option<u16>) -> String {
    let mut link = format!("<{target}>");
    if !resource_type.is_empty() {
        link.push_str(&format!(";rt=\"{resource_type}\""));
    }
    if let Some(number) = content_format {
        link.push_str(&format!(";ct={number}"));
    }
    if target.starts_with(OBSERVABLE) {
        link.push_str(";obs");
    }
    link
}
