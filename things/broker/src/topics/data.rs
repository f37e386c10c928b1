//! What is published to a topic, `/ps/data/<id>`.

use std::sync::Arc;

use motemix_coap::{Code, Method, Request, Response, format};
use motemix_object::{Freshness, Identity};

use super::{
    Reply, access, content, etag_of_value, is_acceptable, malformed, no_such_method, or_valid, precondition,
};
use crate::Change;
use crate::broker::{Holder, Refused};
use crate::context::Context;
use crate::policy::Operation;
use crate::signed::{self, Found, Told};
use crate::state::{Signed, Topic, TopicId, Value};

/// The number of a reading, as a receiver of this machine says it.
const NUMBER: &str = "sequence";

pub(super) fn handle(context: &mut Context<'_>, id: &TopicId, topic: &Topic, request: &Request) -> Reply {
    let operation = if request.method == Method::Get { Operation::Read } else { Operation::Publish };
    if let Some(refused) = access(context, operation, topic) {
        return refused.into();
    }
    match request.method {
        Method::Get => read(context, id, request),
        Method::Put => publish(context, id, topic, request),
        Method::Delete => delete(context, id, topic, request),
        _ => no_such_method(context, "GET, PUT and DELETE"),
    }
}

fn read(context: &mut Context<'_>, id: &TopicId, request: &Request) -> Reply {
    let Some(value) = context.state().value(id).cloned() else { return nothing_here(context) };
    if let Some(refused) = is_acceptable(context, request, value.content_format) {
        return refused.into();
    }
    Reply::Data(id.clone(), or_valid(request, content(&value)))
}

fn nothing_here(context: &mut Context<'_>) -> Reply {
    let text = "nothing is published here yet; wait until the publisher has";
    context.refuse(Refused::NotFound, Code::NOT_FOUND, text).into()
}

/// What the broker found when it looked at something that is to be published.
#[derive(Debug)]
pub(super) enum Judged {
    /// A value, and which numbers of the device were accepted with it.
    New(Value, Option<(Identity, Freshness)>),
    /// It is the newest value already.
    Again,
    /// The device said which number comes next.
    Registered(Identity, Freshness),
}

fn publish(context: &mut Context<'_>, id: &TopicId, topic: &Topic, request: &Request) -> Reply {
    let current = context.state().value(id).cloned();
    let etag = current.as_deref().map(etag_of_value);
    if let Some(refused) = precondition(context, request, etag) {
        return refused.into();
    }
    let told = match request.parameter(NUMBER).filter(|_| context.caller.local).map(str::parse::<u64>) {
        Some(Ok(told)) => Some(told),
        Some(Err(_)) => return malformed(context, "sequence= is the number of the reading").into(),
        None => None,
    };
    let judged = judge(context, (id, topic), request.content_format, &request.payload, told);
    match judged {
        Ok(judged) => {
            let is_first = current.is_none() && matches!(judged, Judged::New(..));
            let is_other = |current: &Value| matches!(&judged, Judged::New(new, _) if new.content_format != current.content_format);
            // An observation has one format (RFC 7641 §4.2): it ends.
            let ends = current.as_deref().is_some_and(is_other);
            keep(context, id, judged);
            let response = Response::new(if is_first { Code::CREATED } else { Code::CHANGED });
            if ends { Reply::Gone(id.clone(), response) } else { response.into() }
        }
        Err(refused) => refused.into(),
    }
}

/// Makes the changes.
pub(super) fn keep(context: &mut Context<'_>, id: &TopicId, judged: Judged) {
    match judged {
        Judged::New(value, fresh) => {
            context.counters.publications += 1;
            if let Some((device, fresh)) = fresh {
                context.apply(Change::Freshness(device, Some(fresh)));
            }
            context.apply(Change::Value(id.clone(), Some(Arc::new(value))));
        }
        Judged::Again => context.counters.repetitions += 1,
        Judged::Registered(device, fresh) => context.apply(Change::Freshness(device, Some(fresh))),
    }
}

/// Whether something may be published to a topic.
pub(super) fn judge(
    context: &mut Context<'_>,
    (id, topic): (&TopicId, &Topic),
    content_format: Option<u16>,
    payload: &[u8],
    told: Option<u64>,
) -> Result<Judged, Response> {
    let most = context.policy.limits.payload as usize;
    if payload.len() > most {
        let text = format!("{} bytes; this broker takes {most} in a value", payload.len());
        let refused = context.refuse(Refused::Length, Code::REQUEST_ENTITY_TOO_LARGE, &text);
        return Err(Response { size1: u32::try_from(most).ok(), ..refused });
    }
    let current = context.state().value(id).cloned();
    check_format(context, topic, current.as_deref(), content_format)?;
    let mut new =
        Value { published: context.now, content_format, payload: Arc::from([]), signed: Signed::Unchecked };
    let mut freshness = None;
    if let Some(device) = topic.device {
        // Of a confirmable request that was sent twice, or of two paths: nothing is new.
        if current.as_ref().is_some_and(|current| *current.payload == *payload) {
            return Ok(Judged::Again);
        }
        if context.policy.verify {
            let is_cose = content_format == Some(format::COSE_SIGN1);
            let told = told.map(|sequence| Told {
                sequence,
                is_taken: context.memory.has_taken(id, sequence, context.policy.freshness.order),
            });
            match signed::check(context, &device, is_cose, payload, told)? {
                Found::Reading { sequence, fresh } => {
                    new.signed = Signed::ByDevice { sequence };
                    freshness = Some((device, fresh));
                }
                Found::Registration { fresh } => return Ok(Judged::Registered(device, fresh)),
            }
        }
    }
    check_room(context, topic, current.as_deref(), payload.len())?;
    new.payload = Arc::from(payload);
    Ok(Judged::New(new, freshness))
}

/// One format for all observers (RFC 7641 §4.2).
fn check_format(
    context: &mut Context<'_>,
    topic: &Topic,
    current: Option<&Value>,
    content_format: Option<u16>,
) -> Result<(), Response> {
    let wanted = match (topic.content_format, current) {
        (Some(wanted), _) => Some(wanted),
        (None, _) if topic.device.is_some() => {
            if matches!(content_format, Some(format::COSE_SIGN1 | format::TEXT)) {
                return Ok(());
            }
            let text = "this topic takes signed readings: Content-Format 18 (COSE_Sign1) or 0 (JWS)";
            return Err(context.refuse(Refused::Format, Code::UNSUPPORTED_CONTENT_FORMAT, text));
        }
        (None, Some(current)) => current.content_format,
        (None, None) => return Ok(()),
    };
    if content_format == wanted {
        return Ok(());
    }
    let text = match wanted {
        Some(wanted) => format!("this topic takes Content-Format {wanted}"),
        None => "what is published here has no Content-Format".to_owned(),
    };
    Err(context.refuse(Refused::Format, Code::UNSUPPORTED_CONTENT_FORMAT, &text))
}

fn check_room(
    context: &mut Context<'_>,
    topic: &Topic,
    current: Option<&Value>,
    len: usize,
) -> Result<(), Response> {
    let limits = &context.policy.limits;
    let holder = Holder::of(topic);
    let most = match holder {
        // A receiver is not to wait because a device has filled its topics, which are bounded.
        Holder::Device(_) if context.caller.local => return Ok(()),
        Holder::Device(_) => limits.bytes_of_a_device,
        Holder::Receivers => limits.bytes_of_receivers,
        Holder::Others => limits.bytes_of_others,
    };
    let before = current.map_or(0, |current| current.payload.len() as u64);
    let after = context.memory.holding(holder).bytes.saturating_sub(before) + len as u64;
    if after <= most {
        return Ok(());
    }
    if holder == Holder::Receivers && context.caller.local {
        // It is no fault of what is handed over, and has to wait.
        let text =
            format!("{most} bytes are all that receivers' topics have; raise limits.bytes_of_receivers");
        return Err(context.refuse(Refused::Quota, Code::SERVICE_UNAVAILABLE, &text));
    }
    let text = format!("{most} bytes in all topics of the same creator are what it may have; delete some");
    Err(context.refuse(Refused::Quota, Code::FORBIDDEN, &text))
}

fn delete(context: &mut Context<'_>, id: &TopicId, topic: &Topic, request: &Request) -> Reply {
    // What a device signed is deleted by whoever may configure the topic: no signature says so.
    if topic.device.is_some()
        && let Some(refused) = access(context, Operation::Configure, topic)
    {
        return refused.into();
    }
    let Some(value) = context.state().value(id).cloned() else { return nothing_here(context) };
    if let Some(refused) = precondition(context, request, Some(etag_of_value(&value))) {
        return refused.into();
    }
    context.apply(Change::Value(id.clone(), None));
    Reply::Gone(id.clone(), Response::new(Code::DELETED))
}
