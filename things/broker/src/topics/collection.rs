//! The collection of topics, `/ps`: what there is, and new ones.

use std::sync::Arc;

use motemix_coap::{Code, Method, Request, Response, format};
use sha2::{Digest, Sha256};

use super::DATA_TYPE;
use super::properties::{DEFAULT_CHECK, Properties, data_uri};
use super::{
    COLLECTION, DATA, Reply, access, configuration_of, data, is_acceptable, is_in_format, malformed,
    no_such_method,
};
use crate::Change;
use crate::broker::{Holder, Refused};
use crate::context::Context;
use crate::policy::Operation;
use crate::state::{Topic, TopicId};

/// The network that a receiver of this machine believes readings for.
const NETWORK: &str = "network";

pub(super) fn handle(context: &mut Context<'_>, request: &Request) -> Reply {
    match request.method {
        Method::Get => list(context, request).into(),
        Method::Fetch => find(context, request).into(),
        Method::Post => create(context, request).into(),
        _ => no_such_method(context, "GET, FETCH and POST"),
    }
}

/// Links to topics, or to their data with `rt=core.ps.data`.
fn list(context: &mut Context<'_>, request: &Request) -> Response {
    if let Some(refused) = is_acceptable(context, request, Some(format::LINK_FORMAT)) {
        return refused;
    }
    let mut of_data = false;
    for parameter in &request.query {
        match parameter.as_str() {
            "rt=core.ps.data" => of_data = true,
            "rt=core.ps.conf" | "rt=core.ps.*" => {}
            other if other.starts_with("rt=") => {
                return Response::content(Code::CONTENT, format::LINK_FORMAT, Vec::new());
            }
            _ => return malformed(context, "the collection has the parameter rt alone; FETCH finds more"),
        }
    }
    links(context, &Properties::default(), of_data)
}

fn find(context: &mut Context<'_>, request: &Request) -> Response {
    if let Some(refused) = is_in_format(context, request, format::CORE_PUBSUB_CBOR) {
        return refused;
    }
    if let Some(refused) = is_acceptable(context, request, Some(format::LINK_FORMAT)) {
        return refused;
    }
    let network = request.parameter(NETWORK).filter(|_| context.caller.local);
    if let Some(network) = network.filter(|network| *network != context.policy.audience) {
        let text = format!(
            "these readings are for network {network:?}, and this broker verifies those for {:?}; set network in \
             its --config",
            context.policy.audience
        );
        return context.refuse(Refused::Precondition, Code::PRECONDITION_FAILED, &text);
    }
    match Properties::read(&request.payload) {
        Ok(wanted) => links(context, &wanted, false),
        Err(problem) => malformed(context, &problem),
    }
}

/// Those that the caller may read and that have these properties.
fn links(context: &mut Context<'_>, wanted: &Properties, of_data: bool) -> Response {
    let mut text = String::new();
    let may_read = |topic: &Topic| super::may(context, Operation::Read, topic);
    // A name finds one topic without a look at all.
    let named = wanted.name.as_ref().map(|name| context.memory.topic_named(name));
    let mut push = |id: &TopicId, topic: &Topic| {
        if !wanted.are_of(id, topic) || !may_read(topic) {
            return;
        }
        let link = if of_data { data_uri(id) } else { format!("/{COLLECTION}/{}", id.0) };
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(["<", &link, ">"]);
    };
    match named {
        Some(None) => {}
        Some(Some(id)) => {
            if let Some(topic) = context.state().topic(id) {
                push(id, topic);
            }
        }
        None => context.state().topics().for_each(|(id, topic)| push(id, topic)),
    }
    Response::content(Code::CONTENT, format::LINK_FORMAT, text.into_bytes())
}

fn create(context: &mut Context<'_>, request: &Request) -> Response {
    if let Some(refused) = is_in_format(context, request, format::CORE_PUBSUB_CBOR) {
        return refused;
    }
    if let Some(refused) = is_acceptable(context, request, Some(format::CORE_PUBSUB_CBOR)) {
        return refused;
    }
    let properties = match Properties::read(&request.payload) {
        Ok(properties) => properties,
        Err(problem) => return malformed(context, &problem),
    };
    let topic = match new_topic(context, &properties) {
        Ok(topic) => topic,
        Err(problem) => return malformed(context, &problem),
    };
    if let Some(refused) = access(context, Operation::Create, &topic) {
        return refused;
    }
    if context.memory.topic_named(&topic.name).is_some() {
        let text = "a topic has this name already; choose another one";
        return context.refuse(Refused::NameTaken, Code::BAD_REQUEST, text);
    }
    if let Some(refused) = no_room(context, &topic) {
        return refused;
    }
    let id = new_id(context, &topic.name);
    let first = match &properties.initialize {
        None => None,
        Some(_) if topic.content_format.is_none() => {
            return malformed(context, "initialize needs topic-content-format");
        }
        Some(first) => match data::judge(context, (&id, &topic), topic.content_format, first, None) {
            Ok(judged) => Some(judged),
            Err(refused) => return refused,
        },
    };
    let response = Response {
        location_path: vec![COLLECTION.to_owned(), id.0.to_string()],
        ..configuration_of(Code::CREATED, &id, &topic)
    };
    context.apply(Change::Topic(id.clone(), Some(Arc::new(topic))));
    if let Some(judged) = first {
        data::keep(context, &id, judged);
    }
    response
}

/// A topic as a request wants it.
fn new_topic(context: &Context<'_>, properties: &Properties) -> Result<Topic, String> {
    let name = properties.name.clone().ok_or("topic-name (0) is missing")?;
    check_text(context, "topic-name", &name)?;
    match properties.resource_type.as_deref() {
        Some(DATA_TYPE) => {}
        Some(_) => return Err(format!("resource-type (2) has to be {DATA_TYPE} here")),
        None => return Err("resource-type (2) is missing".to_owned()),
    }
    if properties.data_uri.is_some() {
        return Err("topic-data (1) is chosen here; leave it out".to_owned());
    }
    let mut topic = Topic {
        name,
        topic_type: None,
        content_format: None,
        expires: None,
        max_subscribers: None,
        observer_check: DEFAULT_CHECK,
        device: properties.device,
        owner: context.caller.device,
    };
    configure(context, &mut topic, properties)?;
    Ok(topic)
}

/// Gives a topic those of these properties that may be changed.
pub(super) fn configure(
    context: &Context<'_>,
    topic: &mut Topic,
    properties: &Properties,
) -> Result<(), String> {
    if let Some(topic_type) = &properties.topic_type {
        check_text(context, "topic-type", topic_type)?;
        topic.topic_type = Some(topic_type.clone());
    }
    if properties.content_format.is_some() {
        topic.content_format = properties.content_format;
    }
    let of_readings = [format::COSE_SIGN1, format::TEXT];
    if topic.device.is_some() && topic.content_format.is_some_and(|format| !of_readings.contains(&format)) {
        let text = "a device's topic takes signed readings: topic-content-format 18 (COSE_Sign1) or 0 (JWS)";
        return Err(text.to_owned());
    }
    if let Some(expires) = properties.expiration {
        if expires <= context.now {
            return Err("expiration-date (5) is over already".to_owned());
        }
        topic.expires = Some(expires);
    }
    if let Some(most) = properties.max_subscribers {
        topic.max_subscribers = Some(most.min(context.policy.limits.observers_of_a_topic));
    }
    if let Some(check) = properties.observer_check {
        topic.observer_check = check;
    }
    Ok(())
}

fn check_text(context: &Context<'_>, what: &str, text: &str) -> Result<(), String> {
    let most = context.policy.limits.name as usize;
    if text.is_empty() || text.len() > most {
        return Err(format!("{what} has {} bytes; use 1 to {most}", text.len()));
    }
    // The two stand for others in rules and in bridges.
    if text.chars().any(|character| character.is_control() || matches!(character, '+' | '#')) {
        return Err(format!("{what} has a control character, + or #; use others"));
    }
    Ok(())
}

fn no_room(context: &mut Context<'_>, topic: &Topic) -> Option<Response> {
    let limits = &context.policy.limits;
    // What receivers and bridges make is bounded below: strangers do not take its places.
    if !context.caller.local && context.state().topics().len() >= limits.topics as usize {
        let text = "the broker has as many topics as it keeps; delete one, or ask who runs it for more";
        return Some(context.refuse(Refused::Full, Code::SERVICE_UNAVAILABLE, text));
    }
    let holder = Holder::of(topic);
    let most = match holder {
        Holder::Device(_) => limits.topics_of_a_device,
        Holder::Receivers => limits.topics_of_receivers,
        Holder::Others => limits.topics_of_others,
    };
    if context.memory.holding(holder).topics >= most {
        let text = format!("{most} topics of the same creator are all that it may have; delete one first");
        return Some(context.refuse(Refused::Quota, Code::FORBIDDEN, &text));
    }
    None
}

/// The same for the same name, so that two brokers with one store agree; another one if it is
/// taken.
fn new_id(context: &Context<'_>, name: &str) -> TopicId {
    for attempt in 0_u64.. {
        let hash = Sha256::new().chain_update(name).chain_update(attempt.to_be_bytes()).finalize();
        let (first, _) = hash.split_at(5);
        let id = TopicId(hex::encode(first).into());
        if &*id.0 != DATA && context.state().topic(&id).is_none() {
            return id;
        }
    }
    unreachable!("there are fewer topics than numbers")
}
