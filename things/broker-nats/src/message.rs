//! The form of messages in the stream (`docs/spec/broker-nats.md`).

use async_nats::HeaderMap;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use motemix_broker::store::batch::{Kind, Logged, Message, Place};

const BATCH: &str = "Motemix-Batch";
const NUMBER: &str = "Motemix-Number";
const OF: &str = "Motemix-Of";
const AFTER: &str = "Motemix-After";

/// What the subject of messages of a kind ends with.
pub(crate) const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Changes => "changes",
        Kind::Snapshot => "snapshot",
    }
}

/// A message of the stream as brokers read it.
pub(crate) fn logged(message: &StreamMessage) -> Logged {
    let text = |name: &str| message.headers.get(name).map_or("", |value| value.as_str()).to_owned();
    let number = |name: &str| text(name).parse().ok();
    let is_snapshot = message.subject.as_str().ends_with(word(Kind::Snapshot));
    Logged {
        kind: if is_snapshot { Kind::Snapshot } else { Kind::Changes },
        batch: text(BATCH),
        number: number(NUMBER).unwrap_or(0),
        of: number(OF).unwrap_or(0),
        after: Place::parse(&text(AFTER)),
        sequence: message.sequence,
        payload: message.payload.to_vec(),
    }
}

/// A message as it is published. Servers put it in an order, and decide nothing: what they refuse
/// by its headers, some of them lose count of (ADR 25).
pub(crate) fn outgoing(message: &Message) -> PublishMessage {
    let mut headers = HeaderMap::new();
    headers.insert(BATCH, message.batch.as_str());
    headers.insert(NUMBER, message.number.to_string().as_str());
    headers.insert(OF, message.of.to_string().as_str());
    if let Some(after) = &message.after {
        headers.insert(AFTER, after.to_string().as_str());
    }
    PublishMessage::build().headers(headers).payload(message.payload.clone().into())
}
