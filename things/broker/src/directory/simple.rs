//! Simple registration (RFC 9176 §5.1): the directory fetches the links itself.

use std::net::SocketAddr;

use motemix_coap::{Code, Method, Peer, Request, Response, format};

use super::parameters::Parameters;
use super::{Desk, Outcome, Refusal, Refused, links, register};
use crate::Caller;

/// The most attributes and names of a simple registration, in bytes.
const MAX_QUERY_LEN: usize = 1024;

/// Links that have to be fetched before a simple registration is answered.
///
/// Whoever sends the request sees to it that the address has shown that it receives (RFC 9175
/// §2.4): otherwise the directory would ask somebody who never registered, and show what he answers
/// (RFC 9176 §8.1.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Fetch {
    /// Whom to ask.
    pub to: SocketAddr,
    /// What to ask.
    pub request: Request,
    /// What goes on when the links are there.
    pub registrant: Registrant,
}

/// Who waits for his links to be fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct Registrant {
    caller: Caller,
    request: Request,
}

impl Registrant {
    pub(crate) const fn caller(&self) -> &Caller {
        &self.caller
    }
}

/// Says what is to be fetched.
pub(super) fn begin(desk: Desk<'_>, caller: &Caller, request: &Request) -> Result<Outcome, Refused> {
    if !desk.settings.simple {
        return Err(Refused::new(
            Refusal::Forbidden,
            Code::FORBIDDEN,
            "no simple registrations here; send the links to /rd",
        ));
    }
    let Peer::Datagram(to) = caller.peer else {
        return Err(Refused::malformed("a simple registration comes over UDP; send the links to /rd"));
    };
    if !request.payload.is_empty() {
        return Err(Refused::malformed("a simple registration has no payload; send the links to /rd"));
    }
    if request.query.iter().map(String::len).sum::<usize>() > MAX_QUERY_LEN {
        return Err(Refused::malformed("a simple registration has at most 1024 bytes of parameters"));
    }
    let parameters = Parameters::of(request)?;
    if parameters.base.is_some() || parameters.proof.is_some() {
        return Err(Refused::malformed("a simple registration has neither base= nor proof=; use /rd"));
    }
    // What would be refused with any links is refused at once, before anybody is asked for them.
    register::is_free(desk, caller, &parameters)?;
    let mut fetch = Request::new(Method::Get, &[".well-known", "core"]);
    fetch.accept = Some(format::LINK_FORMAT);
    let registrant = Registrant { caller: caller.clone(), request: request.clone() };
    Ok(Outcome::Fetch(Box::new(Fetch { to, request: fetch, registrant })))
}

/// Goes on with a simple registration: `response` is what the endpoint said, or nothing if it said
/// nothing.
///
/// # Errors
/// The links cannot be registered.
pub fn fetched(
    desk: Desk<'_>,
    registrant: &Registrant,
    response: Option<&Response>,
) -> Result<Outcome, Refused> {
    let unusable = Refused::new(
        Refusal::Format,
        Code::BAD_REQUEST,
        "your /.well-known/core did not answer with links; send them to /rd",
    );
    let response = response.filter(|response| response.code == Code::CONTENT).ok_or(unusable.clone())?;
    if response.content_format != Some(format::LINK_FORMAT) {
        return Err(unusable);
    }
    let links = links::of_payload(desk.settings, &response.payload)?;
    let Registrant { caller, request } = registrant;
    let response = links.tell(Response::new(Code::CHANGED));
    let (_, changes) = register::put(desk, caller, request, links.links, &Parameters::of(request)?)?;
    Ok(Outcome::Done { changes, response })
}
