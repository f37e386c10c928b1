//! `/.well-known/core` (RFC 6690 §4): what the broker offers to whoever does not know it yet.
//! Topics and registrations are not there: the collection and the look-ups have them.

use motemix_coap::link_format::{Filter, Link, emit};
use motemix_coap::{Code, Method, Request, Response, format};

use super::counters::Refused;
use crate::context::Context;
use crate::directory;

pub(super) fn handle(context: &mut Context<'_>, request: &Request) -> Response {
    if request.method != Method::Get {
        let text = "/.well-known/core only has GET";
        return context.refuse(Refused::Method, Code::METHOD_NOT_ALLOWED, text);
    }
    if request.accept.is_some_and(|accept| accept != format::LINK_FORMAT) {
        return context.refuse(Refused::Format, Code::NOT_ACCEPTABLE, "only Content-Format 40 is here");
    }
    let filters: Vec<Filter<'_>> =
        request.query.iter().map(|parameter| Filter::of_parameter(parameter)).collect();
    let content_format = format::LINK_FORMAT.to_string();
    let topics = Link::new("/ps").with("rt", "core.ps core.ps.coll").with("ct", &content_format);
    let links = [topics].into_iter().chain(directory::own_links());
    let wanted: Vec<Link> = links.filter(|link| filters.iter().all(|filter| filter.matches(link))).collect();
    Response::content(Code::CONTENT, format::LINK_FORMAT, emit(&wanted).into_bytes())
}
