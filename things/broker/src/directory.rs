//! The resource directory (RFC 9176), in which registrations carry keys (RFC 8387 §7.3).
//!
//! `docs/spec/resource-directory.md` is normative. Everything here is a function of a [`State`], a
//! moment and a request. It changes nothing: what is to change comes out as [`Change`]s.
//!
//! ```text
//! POST   /rd?ep=node1&base=…   register       GET /rd-lookup/ep    which endpoints
//! POST   /rd/<id>?lt=…         update         GET /rd-lookup/res   which resources
//! DELETE /rd/<id>              remove         POST /.well-known/rd a simple registration
//! ```

mod authority;
mod base;
mod links;
mod look_up;
mod parameters;
mod refusal;
mod register;
mod settings;
mod simple;

use motemix_coap::link_format::Link;
use motemix_coap::{Method, Request, Response, format};
use motemix_object::{Identity, PublicKey};

pub(crate) use authority::signed_by;
pub use look_up::{Kind, look_up};
pub(crate) use look_up::{comparisons, comparisons_with, concerns};
pub use refusal::{Counters, Refusal, Refused};
pub use register::{expire, next_expiry};
pub use settings::Settings;
pub use simple::{Fetch, Registrant, fetched};

use crate::state::{Change, Registration, RegistrationId, State};
use crate::{Caller, Moment};

/// The path of look-ups.
pub(crate) const LOOK_UP: &str = "rd-lookup";

/// Where a request is handled.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'s> {
    /// What the operator wants.
    pub settings: &'s Settings,
    /// What there is.
    pub state: &'s State,
    /// When it is.
    pub now: Moment,
}

/// What comes of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It is answered as soon as the changes are stored; there may be none.
    Done {
        /// What is different from now on.
        changes: Vec<Change>,
        /// The answer.
        response: Response,
    },
    /// Links have to be fetched first; [`fetched`] goes on.
    Fetch(Box<Fetch>),
}

/// What comes of a request to a path of the directory; none if the path is not one of them.
pub fn handle(desk: Desk<'_>, caller: &Caller, request: &Request) -> Option<Result<Outcome, Refused>> {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let outcome = match (path.as_slice(), request.method) {
        (["rd"], Method::Post) => register::register(desk, caller, request),
        (["rd", id], method) => {
            let id = RegistrationId((*id).into());
            match method {
                Method::Get => register::read(desk, &id, request),
                Method::Post => register::update(desk, caller, &id, request),
                Method::Delete => register::remove(desk, caller, &id, request),
                _ => Err(Refused::METHOD),
            }
        }
        (["rd-lookup", "ep"], Method::Get) => look_up::answer(desk, Kind::Endpoints, request),
        (["rd-lookup", "res"], Method::Get) => look_up::answer(desk, Kind::Resources, request),
        ([".well-known", "rd"], Method::Post) => simple::begin(desk, caller, request),
        (["rd"] | ["rd-lookup", "ep" | "res"] | [".well-known", "rd"], _) => Err(Refused::METHOD),
        _ => return None,
    };
    Some(outcome)
}

/// The directory's own links, for `/.well-known/core` (RFC 9176 §4.3).
pub fn own_links() -> [Link; 3] {
    let format = format::LINK_FORMAT.to_string();
    [("/rd", "core.rd"), ("/rd-lookup/ep", "core.rd-lookup-ep"), ("/rd-lookup/res", "core.rd-lookup-res")]
        .map(|(path, resource_type)| {
            let link = Link::new(path).with("rt", resource_type).with("ct", &format);
            if path == "/rd" { link } else { link.with_flag("obs") }
        })
}

/// The device of a registration and its key, if it has one.
pub(crate) fn device_key(registration: &Registration) -> Option<(Identity, PublicKey)> {
    let key = links::key_in(&registration.links).ok().flatten()?;
    (registration.device == Some(key.identity)).then_some((key.identity, key.public))
}

/// An answer in link format, if the client takes one.
fn content(request: &Request, text: String) -> Result<Response, Refused> {
    match request.accept {
        None | Some(format::LINK_FORMAT) => {
            Ok(Response::content(motemix_coap::Code::CONTENT, format::LINK_FORMAT, text.into_bytes()))
        }
        Some(_) => Err(Refused::ACCEPT),
    }
}
