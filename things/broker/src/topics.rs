//! Topics (draft-ietf-core-coap-pubsub, revision 21).

mod collection;
mod configuration;
mod data;
mod properties;

use motemix_coap::{Code, ETag, Method, Request, Response, format};
use sha2::{Digest, Sha256};

pub(crate) use motemix_broker_client::client::topics::{COLLECTION, DATA, DATA_TYPE};

use crate::broker::Refused;
use crate::context::Context;
use crate::policy::{self, Operation};
use crate::state::{Topic, TopicId, Value};

/// How a request to a topic ends.
pub(crate) enum Reply {
    /// With this.
    Response(Response),
    /// With the topic's value: whoever asks may observe it.
    Data(TopicId, Response),
    /// The topic's value is no more: nobody observes it any more.
    Gone(TopicId, Response),
    /// The topic's configuration changed.
    Configured(TopicId, Response),
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

/// A request to `/ps` and below.
pub(crate) fn handle(context: &mut Context<'_>, path: &[&str], request: &Request) -> Reply {
    match path {
        [] => collection::handle(context, request),
        [DATA, id] => {
            let id = TopicId((*id).into());
            match context.state().topic(&id).cloned() {
                Some(topic) => data::handle(context, &id, &topic, request),
                None => not_found(context),
            }
        }
        [id] => {
            let id = TopicId((*id).into());
            match context.state().topic(&id).cloned() {
                Some(topic) => configuration::handle(context, &id, &topic, request),
                None => not_found(context),
            }
        }
        _ => not_found(context),
    }
}

fn not_found(context: &mut Context<'_>) -> Reply {
    context.refuse(Refused::NotFound, Code::NOT_FOUND, "no such topic; GET /ps lists those there are").into()
}

fn no_such_method(context: &mut Context<'_>, has: &str) -> Reply {
    context.refuse(Refused::Method, Code::METHOD_NOT_ALLOWED, &format!("this resource has {has}")).into()
}

/// The newest value as a response.
pub(crate) fn content(value: &Value) -> Response {
    Response {
        content_format: value.content_format,
        etag: Some(etag_of_value(value)),
        payload: value.payload.clone(),
        ..Response::new(Code::CONTENT)
    }
}

fn etag_of_value(value: &Value) -> ETag {
    let format = value.content_format.map_or([0; 3], |format| {
        let [high, low] = format.to_be_bytes();
        [1, high, low]
    });
    etag(&[&format, &value.payload])
}

/// One that follows from the representation, so that it is the same after a restart.
fn etag(representation: &[&[u8]]) -> ETag {
    let hash = representation.iter().fold(Sha256::new(), Sha256::chain_update).finalize();
    let (first, _) = hash.split_at(8);
    ETag::new(first).unwrap_or_else(|| unreachable!("eight bytes are an ETag"))
}

/// Whether the policy lets the caller do that.
fn may(context: &Context<'_>, operation: Operation, topic: &Topic) -> bool {
    let asked = policy::Topic {
        name: &topic.name,
        is_owner: topic.owner.is_some() && topic.owner == context.caller.device,
        device: topic.device,
        is_signed: topic.device.is_some() && context.policy.verify,
    };
    context.policy.lets(context.caller, operation, &asked)
}

/// `None` if the policy lets the caller do that.
fn access(context: &mut Context<'_>, operation: Operation, topic: &Topic) -> Option<Response> {
    if may(context, operation, topic) {
        return None;
    }
    let (code, text) = match (context.caller.device, operation) {
        (_, Operation::Read) => (Code::FORBIDDEN, "the policy lets others read this topic"),
        (None, _) => (
            Code::UNAUTHORIZED,
            "the policy lets nobody do that who does not prove who it is; use OSCORE with EDHOC",
        ),
        (Some(_), Operation::Publish) => (Code::FORBIDDEN, "the policy lets others publish to this topic"),
        (Some(_), Operation::Create) => {
            let text = match topic.device {
                Some(device) if context.caller.device != Some(device) => {
                    "a topic for a device's readings is created by the device, or by its receiver"
                }
                _ => "the policy lets others create topics of this name; choose another name",
            };
            (Code::FORBIDDEN, text)
        }
        (Some(_), Operation::Configure) => {
            (Code::FORBIDDEN, "the policy lets others, such as who created it, configure this topic")
        }
    };
    Some(context.refuse(Refused::Access, code, text))
}

/// `None` if the resource is in a version that the request is for (RFC 7252 §5.10.8).
fn precondition(context: &mut Context<'_>, request: &Request, current: Option<ETag>) -> Option<Response> {
    let matches = request.if_match.is_empty()
        || current.is_some_and(|current| {
            request.if_match.iter().any(|wanted| wanted.is_empty() || wanted == current.as_bytes())
        });
    if matches && !(request.if_none_match && current.is_some()) {
        return None;
    }
    let text = "it is in another version than the request is for; read it again";
    Some(context.refuse(Refused::Precondition, Code::PRECONDITION_FAILED, text))
}

/// 2.03 without a body, if the client has this version already.
fn or_valid(request: &Request, response: Response) -> Response {
    match response.etag {
        Some(etag) if request.etags.contains(&etag) => {
            Response { etag: Some(etag), max_age: response.max_age, ..Response::new(Code::VALID) }
        }
        _ => response,
    }
}

/// `None` if the request's payload is in this format.
fn is_in_format(context: &mut Context<'_>, request: &Request, wanted: u16) -> Option<Response> {
    if request.content_format == Some(wanted) {
        return None;
    }
    let text = format!("the payload has to be in Content-Format {wanted}");
    Some(context.refuse(Refused::Format, Code::UNSUPPORTED_CONTENT_FORMAT, &text))
}

/// `None` if the client takes a response in this format.
fn is_acceptable(context: &mut Context<'_>, request: &Request, format: Option<u16>) -> Option<Response> {
    match request.accept {
        Some(accept) if Some(accept) != format => {
            let text = match format {
                Some(format) => format!("only Content-Format {format} is here"),
                None => "it has no Content-Format; ask without Accept".to_owned(),
            };
            Some(context.refuse(Refused::Format, Code::NOT_ACCEPTABLE, &text))
        }
        _ => None,
    }
}

fn malformed(context: &mut Context<'_>, text: &str) -> Response {
    context.refuse(Refused::Malformed, Code::BAD_REQUEST, text)
}

/// A topic's configuration as a response.
fn configuration_of(code: Code, id: &TopicId, topic: &Topic) -> Response {
    let payload = properties::write(id, topic, &properties::KEYS);
    let etag = Some(etag(&[&payload]));
    Response { etag, ..Response::content(code, format::CORE_PUBSUB_CBOR, payload) }
}

/// Whether a method changes nothing.
const fn reads(method: Method) -> bool {
    matches!(method, Method::Get | Method::Fetch)
}
