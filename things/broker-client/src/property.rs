//! The keys of topic properties (draft-ietf-core-coap-pubsub, 5; `docs/spec/broker.md`).

/// The topic's name.
pub const NAME: i64 = 0;
/// Where its data is.
pub const DATA_URI: i64 = 1;
/// What the data is: `core.ps.data`.
pub const RESOURCE_TYPE: i64 = 2;
/// The Content-Format of its data.
pub const CONTENT_FORMAT: i64 = 3;
/// What its data is about.
pub const TOPIC_TYPE: i64 = 4;
/// When the topic ends.
pub const EXPIRATION: i64 = 5;
/// How many may observe it.
pub const MAX_SUBSCRIBERS: i64 = 6;
/// After how many seconds observers are asked whether they are there.
pub const OBSERVER_CHECK: i64 = 7;
/// The first data of a new topic.
pub const INITIALIZE: i64 = 8;
/// The identity of the device whose signed readings the topic takes. Numbers below -65536 are for
/// private use.
pub const DEVICE: i64 = -65_537;
/// Which number of the device comes next. It changes with each reading, so that it is no part of
/// the configuration: who asks for it has it, and nobody sets it.
pub const NEXT: i64 = -65_538;
