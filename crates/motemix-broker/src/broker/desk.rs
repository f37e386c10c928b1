//! The broker's side of the directory: its settings, and what becomes of its outcomes.

use motemix_coap::{Code, Request, Response};

use super::counters::Refused;
use crate::context::Context;
use crate::directory::{self, Desk, Outcome, Refusal, Settings};
use crate::policy::Who;
use crate::state::Registration;
use crate::{Caller, Change, Moment, Policy, State};

/// What the policy means for the directory.
fn settings(policy: &Policy) -> Settings {
    let limits = &policy.limits;
    Settings {
        audience: policy.audience.clone(),
        // Who may register is looked at below, when it is known who it is.
        devices: None,
        keyless: policy.register.contains(&Who::Anyone),
        simple: false,
        registrations: limits.registrations as usize,
        known_devices: limits.devices as usize,
        links: limits.links as usize,
        registration_bytes: limits.registration_bytes as usize,
        ..Settings::default()
    }
}

/// A request to a path of the directory.
pub(super) fn handle(context: &mut Context<'_>, request: &Request) -> Response {
    let settings = settings(context.policy);
    let desk = Desk { settings: &settings, state: context.state(), now: context.now };
    let outcome = directory::handle(desk, context.caller, request);
    let (changes, response) = match outcome {
        Some(Ok(Outcome::Done { changes, response })) => (changes, response),
        Some(Ok(Outcome::Fetch(_))) | None => {
            let text = "no such resource; see /.well-known/core";
            return context.refuse(Refused::NotFound, Code::NOT_FOUND, text);
        }
        Some(Err(refused)) => {
            context.counters.count(reason(refused.why));
            return refused.response();
        }
    };
    let is_admitted = changes.iter().all(|change| match change {
        Change::Registration(_, Some(registration)) => may_register(context, registration),
        _ => true,
    });
    if !is_admitted {
        let text = "the broker's policy does not let this device register; ask who runs it";
        return context.refuse(Refused::Access, Code::FORBIDDEN, text);
    }
    for change in changes {
        context.apply(change);
    }
    response
}

fn may_register(context: &Context<'_>, registration: &Registration) -> bool {
    let device = registration.device.or(context.caller.device);
    context.policy.lets_register(&Caller { device, ..context.caller.clone() })
}

/// What a look-up says of a state: for those who observe it, whenever registrations changed.
pub(super) fn look_up(state: &State, policy: &Policy, now: Moment, request: &Request) -> Response {
    let settings = settings(policy);
    let caller = Caller { peer: motemix_coap::Peer::Stream(0), connected: None, device: None, local: true };
    match directory::handle(Desk { settings: &settings, state, now }, &caller, request) {
        Some(Ok(Outcome::Done { response, .. })) => response,
        Some(Err(refused)) => refused.response(),
        Some(Ok(Outcome::Fetch(_))) | None => Response::error(Code::NOT_FOUND, "no such look-up"),
    }
}

const fn reason(why: Refusal) -> Refused {
    match why {
        Refusal::Malformed => Refused::Malformed,
        Refusal::Format => Refused::Format,
        Refusal::Absent => Refused::NotFound,
        Refusal::Unproven | Refusal::Forbidden => Refused::Access,
        Refusal::NotHeld => Refused::Signature,
        Refusal::Foreign => Refused::NotOwner,
        Refusal::Large => Refused::Length,
        Refusal::Crowded => Refused::Quota,
        Refusal::Full | Refusal::Long => Refused::Full,
    }
}
