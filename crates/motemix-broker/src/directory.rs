//! The resource directory (RFC 9176).

use motemix_coap::{Code, Request, Response};

use crate::broker::Refused;
use crate::context::Context;
use crate::policy::Policy;
use crate::{Moment, State};

/// A request to `/rd` and below.
pub(crate) fn handle(context: &mut Context<'_>, request: &Request) -> Response {
    let _ = request;
    context.refuse(Refused::NotFound, Code::NOT_FOUND, "no such registration")
}

/// A request to `/rd-lookup` and below.
pub(crate) fn look_up(context: &mut Context<'_>, request: &Request) -> Response {
    read(context.state(), context.policy, context.now, request)
}

/// What a look-up says of a state: for a request that is answered, and again for those who observe
/// it whenever registrations changed.
pub(crate) fn read(state: &State, policy: &Policy, now: Moment, request: &Request) -> Response {
    let _ = (state, policy, now, request);
    Response::error(Code::NOT_FOUND, "no such look-up")
}
