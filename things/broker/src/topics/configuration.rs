//! One topic's configuration, `/ps/<id>`.

use std::sync::Arc;

use motemix_coap::{Code, Method, Request, Response, format};

use super::DATA_TYPE;
use super::properties::{self, DEFAULT_CHECK, Properties, data_uri};
use super::{
    Reply, access, collection, configuration_of, is_acceptable, is_in_format, malformed, no_such_method,
    or_valid, precondition, reads,
};
use crate::Change;
use crate::context::Context;
use crate::policy::Operation;
use crate::state::{Topic, TopicId};

pub(super) fn handle(context: &mut Context<'_>, id: &TopicId, topic: &Topic, request: &Request) -> Reply {
    let operation = if reads(request.method) { Operation::Read } else { Operation::Configure };
    if let Some(refused) = access(context, operation, topic) {
        return refused.into();
    }
    if request.method != Method::Delete
        && let Some(refused) = is_acceptable(context, request, Some(format::CORE_PUBSUB_CBOR))
    {
        return refused.into();
    }
    match request.method {
        Method::Get => or_valid(request, configuration_of(Code::CONTENT, id, topic)).into(),
        Method::Fetch => part(context, id, topic, request).into(),
        Method::Post | Method::IPatch => update(context, id, topic, request),
        Method::Delete => delete(context, id, topic, request),
        Method::Put | Method::Patch => no_such_method(context, "GET, FETCH, POST, iPATCH and DELETE"),
    }
}

fn part(context: &mut Context<'_>, id: &TopicId, topic: &Topic, request: &Request) -> Response {
    if let Some(refused) = is_in_format(context, request, format::CBOR) {
        return refused;
    }
    match properties::read_keys(&request.payload) {
        Ok(keys) => {
            let fresh = topic.device.and_then(|device| context.state().freshness(&device));
            let next = fresh.map(|fresh| fresh.next());
            let payload = properties::write_with(id, topic, &keys, next);
            Response::content(Code::CONTENT, format::CORE_PUBSUB_CBOR, payload)
        }
        Err(problem) => malformed(context, problem),
    }
}

fn update(context: &mut Context<'_>, id: &TopicId, topic: &Topic, request: &Request) -> Reply {
    if let Some(refused) = is_in_format(context, request, format::CORE_PUBSUB_CBOR) {
        return refused.into();
    }
    let etag = configuration_of(Code::CONTENT, id, topic).etag;
    if let Some(refused) = precondition(context, request, etag) {
        return refused.into();
    }
    let properties = match Properties::read(&request.payload) {
        Ok(properties) => properties,
        Err(problem) => return malformed(context, &problem).into(),
    };
    match updated(context, id, topic, &properties, request.method) {
        Ok(new) => {
            let response = configuration_of(Code::CHANGED, id, &new);
            if new != *topic {
                context.apply(Change::Topic(id.clone(), Some(Arc::new(new))));
            }
            Reply::Configured(id.clone(), response)
        }
        Err(problem) => malformed(context, &problem).into(),
    }
}

/// POST puts back to its default what it does not say; iPATCH leaves it.
fn updated(
    context: &Context<'_>,
    id: &TopicId,
    topic: &Topic,
    properties: &Properties,
    method: Method,
) -> Result<Topic, String> {
    let stays = properties.name.as_ref().is_none_or(|name| *name == topic.name)
        && properties.data_uri.as_ref().is_none_or(|uri| **uri == *data_uri(id))
        && properties.resource_type.as_ref().is_none_or(|of| **of == *DATA_TYPE)
        && properties.device.is_none_or(|device| Some(device) == topic.device);
    if !stays {
        return Err("topic-name, topic-data, resource-type and the device stay as they are".to_owned());
    }
    if properties.initialize.is_some() {
        return Err("initialize (8) is for new topics; publish to topic-data".to_owned());
    }
    let mut new = topic.clone();
    if method == Method::Post {
        (new.topic_type, new.content_format, new.expires) = (None, None, None);
        (new.max_subscribers, new.observer_check) = (None, DEFAULT_CHECK);
    }
    collection::configure(context, &mut new, properties)?;
    // Observers are promised one format (RFC 7641 §4.2).
    let published = context.state().value(id).map(|value| value.content_format);
    if let (Some(format), Some(published)) = (new.content_format, published)
        && published != Some(format)
    {
        return Err("a value is there in another format; delete topic-data first".to_owned());
    }
    Ok(new)
}

fn delete(context: &mut Context<'_>, id: &TopicId, topic: &Topic, request: &Request) -> Reply {
    let etag = configuration_of(Code::CONTENT, id, topic).etag;
    if let Some(refused) = precondition(context, request, etag) {
        return refused.into();
    }
    if context.state().value(id).is_some() {
        context.apply(Change::Value(id.clone(), None));
    }
    context.apply(Change::Topic(id.clone(), None));
    Reply::Gone(id.clone(), Response::new(Code::DELETED))
}
