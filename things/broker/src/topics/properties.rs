//! Topic properties in CBOR (draft-ietf-core-coap-pubsub, 5).

use std::sync::Arc;

use minicbor::data::{Tag, Type};
use minicbor::encode::Write;
use minicbor::{Decoder, Encoder};
use motemix_object::Identity;

use super::{COLLECTION, DATA, DATA_TYPE};
use crate::Moment;
use crate::state::{Topic, TopicId};
use motemix_broker_client::property::{
    CONTENT_FORMAT, DATA_URI, DEVICE, EXPIRATION, INITIALIZE, MAX_SUBSCRIBERS, NAME, NEXT, OBSERVER_CHECK,
    RESOURCE_TYPE, TOPIC_TYPE,
};

/// What a topic shows, in the order of its bytes.
pub(super) const KEYS: [i64; 9] = [
    NAME,
    DATA_URI,
    RESOURCE_TYPE,
    CONTENT_FORMAT,
    TOPIC_TYPE,
    EXPIRATION,
    MAX_SUBSCRIBERS,
    OBSERVER_CHECK,
    DEVICE,
];

/// RFC 7641 §4.5: once in 24 hours.
pub(super) const DEFAULT_CHECK: u32 = 86_400;
/// More than any request needs.
const MAX_KEYS: u64 = 32;

/// Properties of a request: what is not there was not said.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Properties {
    pub(super) name: Option<Arc<str>>,
    pub(super) data_uri: Option<Arc<str>>,
    pub(super) resource_type: Option<Arc<str>>,
    pub(super) content_format: Option<u16>,
    pub(super) topic_type: Option<Arc<str>>,
    pub(super) expiration: Option<Moment>,
    pub(super) max_subscribers: Option<u32>,
    pub(super) observer_check: Option<u32>,
    pub(super) initialize: Option<Arc<[u8]>>,
    pub(super) device: Option<Identity>,
}

impl Properties {
    /// Reads a map.
    ///
    /// # Errors
    /// What is wrong, and with which property.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut input = Decoder::new(bytes);
        let len = input.map().ok().flatten().ok_or("the payload is no CBOR map with a length")?;
        let mut properties = Self::default();
        let mut keys = Vec::new();
        for _ in 0..len.min(MAX_KEYS) {
            let key = input.i64().map_err(|_| "a key is no integer, or there are fewer entries than said")?;
            if keys.contains(&key) {
                return Err(format!("property {key} is there twice"));
            }
            keys.push(key);
            properties.read_one(key, &mut input).map_err(|what| format!("property {key} {what}"))?;
        }
        if input.position() != bytes.len() {
            return Err("there are bytes behind the map, or too many entries in it".to_owned());
        }
        Ok(properties)
    }

    fn read_one(&mut self, key: i64, input: &mut Decoder<'_>) -> Result<(), &'static str> {
        match key {
            NAME => self.name = Some(text(input)?),
            DATA_URI => self.data_uri = Some(text(input)?),
            RESOURCE_TYPE => self.resource_type = Some(text(input)?),
            CONTENT_FORMAT => {
                self.content_format = Some(input.u16().map_err(|_| "is no number of a Content-Format")?);
            }
            TOPIC_TYPE => self.topic_type = Some(text(input)?),
            EXPIRATION => self.expiration = Some(date(input)?),
            // No broker has more.
            MAX_SUBSCRIBERS => self.max_subscribers = Some(saturating(input)?),
            OBSERVER_CHECK => match saturating(input)? {
                0 => return Err("is 0; it takes seconds"),
                seconds => self.observer_check = Some(seconds),
            },
            INITIALIZE => self.initialize = Some(bytes(input)?.into()),
            DEVICE => {
                let identity = bytes(input)?.try_into().map_err(|_| "is no identity of 32 bytes")?;
                self.device = Some(Identity::from_bytes(identity));
            }
            _ => return Err("is not known here; leave it out"),
        }
        Ok(())
    }

    /// Whether a topic has all of these properties with these values.
    pub(super) fn are_of(&self, id: &TopicId, topic: &Topic) -> bool {
        fn same<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none() || wanted == found
        }
        let uri: Option<Arc<str>> = self.data_uri.as_ref().map(|_| data_uri(id).into());
        same(self.name.as_ref(), Some(&topic.name))
            && same(self.data_uri.as_ref(), uri.as_ref())
            && self.resource_type.as_ref().is_none_or(|wanted| **wanted == *DATA_TYPE)
            && same(self.content_format.as_ref(), topic.content_format.as_ref())
            && same(self.topic_type.as_ref(), topic.topic_type.as_ref())
            && same(self.expiration.as_ref(), topic.expires.as_ref())
            && same(self.max_subscribers.as_ref(), topic.max_subscribers.as_ref())
            && same(self.observer_check.as_ref(), Some(&topic.observer_check))
            && self.initialize.is_none()
            && same(self.device.as_ref(), topic.device.as_ref())
    }
}

/// The keys that a request is for.
///
/// # Errors
/// It is no array of keys.
pub(super) fn read_keys(bytes: &[u8]) -> Result<Vec<i64>, &'static str> {
    const WRONG: &str = "the payload is no CBOR array of property keys";
    let mut input = Decoder::new(bytes);
    let len = input.array().ok().flatten().filter(|len| *len <= MAX_KEYS).ok_or(WRONG)?;
    let keys: Result<Vec<i64>, _> = (0..len).map(|_| input.i64().map_err(|_| WRONG)).collect();
    if input.position() == bytes.len() { keys } else { Err("there are bytes behind the array") }
}

/// Where the topic's data is.
pub(super) fn data_uri(TopicId(id): &TopicId) -> String {
    format!("/{COLLECTION}/{DATA}/{id}")
}

/// Those of a topic's properties that have these keys.
pub(super) fn write(id: &TopicId, topic: &Topic, keys: &[i64]) -> Vec<u8> {
    write_with(id, topic, keys, None)
}

/// The same, with the number that comes next of the topic's device, if there is one and it is asked
/// for.
pub(super) fn write_with(id: &TopicId, topic: &Topic, keys: &[i64], next: Option<u64>) -> Vec<u8> {
    let next = next.filter(|_| topic.device.is_some() && keys.contains(&NEXT));
    let has = |key: i64| match key {
        NAME | DATA_URI | RESOURCE_TYPE | OBSERVER_CHECK => true,
        CONTENT_FORMAT => topic.content_format.is_some(),
        TOPIC_TYPE => topic.topic_type.is_some(),
        EXPIRATION => topic.expires.is_some(),
        MAX_SUBSCRIBERS => topic.max_subscribers.is_some(),
        DEVICE => topic.device.is_some(),
        _ => false,
    };
    let shown: Vec<i64> = KEYS.into_iter().filter(|key| keys.contains(key) && has(*key)).collect();
    let mut bytes = Vec::new();
    let mut out = Encoder::new(&mut bytes);
    let mut write = || {
        out.map(shown.len() as u64 + u64::from(next.is_some()))?;
        shown.iter().try_for_each(|key| write_one(&mut out, *key, id, topic))?;
        next.map_or(Ok(()), |next| out.i64(NEXT)?.u64(next).map(|_| ()))
    };
    let Ok(()) = write() else { unreachable!("memory takes everything") };
    bytes
}

type Written<W> = Result<(), minicbor::encode::Error<<W as Write>::Error>>;

fn write_one<W: Write>(out: &mut Encoder<W>, key: i64, id: &TopicId, topic: &Topic) -> Written<W> {
    out.i64(key)?;
    match key {
        NAME => out.str(&topic.name)?,
        DATA_URI => out.str(&data_uri(id))?,
        RESOURCE_TYPE => out.str(DATA_TYPE)?,
        CONTENT_FORMAT => out.u16(topic.content_format.unwrap_or_default())?,
        TOPIC_TYPE => out.str(topic.topic_type.as_deref().unwrap_or_default())?,
        EXPIRATION => {
            out.tag(Tag::new(1))?;
            out.u64(topic.expires.map_or(0, Moment::as_secs))?
        }
        MAX_SUBSCRIBERS => out.u32(topic.max_subscribers.unwrap_or_default())?,
        OBSERVER_CHECK => out.u32(topic.observer_check)?,
        _ => out.bytes(topic.device.as_ref().map_or(&[][..], |device| device.as_bytes()))?,
    };
    Ok(())
}

fn text(input: &mut Decoder<'_>) -> Result<Arc<str>, &'static str> {
    input.str().map(Arc::from).map_err(|_| "is no text")
}

fn bytes<'b>(input: &mut Decoder<'b>) -> Result<&'b [u8], &'static str> {
    input.bytes().map_err(|_| "is no byte string")
}

fn saturating(input: &mut Decoder<'_>) -> Result<u32, &'static str> {
    let number = input.u64().map_err(|_| "is no unsigned number")?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Further ahead than anybody plans, and few enough for milliseconds.
const LAST_SECOND: u64 = 8_000_000_000_000;

/// Whole seconds: a fraction is left out.
fn date(input: &mut Decoder<'_>) -> Result<Moment, &'static str> {
    const WRONG: &str = "is no date: tag 1 with seconds since 1970";
    if input.tag().map_err(|_| WRONG)? != Tag::new(1) {
        return Err(WRONG);
    }
    match input.datatype().map_err(|_| WRONG)? {
        Type::F16 | Type::F32 | Type::F64 => {
            let seconds = input.f64().map_err(|_| WRONG)?;
            if !(0.0..=8e12).contains(&seconds) {
                return Err(WRONG);
            }
            #[expect(clippy::cast_sign_loss, reason = "it is in the range")]
            Ok(Moment::from_millis(seconds as u64 * 1000))
        }
        _ => {
            let seconds = input.u64().ok().filter(|seconds| *seconds <= LAST_SECOND).ok_or(WRONG)?;
            Ok(Moment::from_millis(seconds * 1000))
        }
    }
}
