//! A change as bytes, for stores and for other brokers (`docs/spec/broker.md`).
//!
//! An array in CBOR: version, kind, identifier, and what is there from now on or null. There is one
//! form for each change, and all others are refused: what was stored is what was written.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use minicbor::data::Type;
use minicbor::encode::Write;
use minicbor::{Decoder, Encoder};
use motemix_object::{Freshness, Identity};

use super::{Change, Link, Registration, RegistrationId, Signed, Topic, TopicId, Value};
use crate::Moment;

/// The version of the form.
pub const CHANGE_VERSION: u8 = 1;
/// The longest change, in bytes: nothing that a policy lets in is longer.
pub const MAX_CHANGE_LEN: usize = 1 << 21;

const TOPIC: u8 = 0;
const VALUE: u8 = 1;
const REGISTRATION: u8 = 2;
const FRESHNESS: u8 = 3;

const TOPIC_FIELDS: u64 = 8;
const VALUE_FIELDS: u64 = 4;
const REGISTRATION_FIELDS: u64 = 11;

/// Why bytes are no change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadChange {
    /// It is longer than [`MAX_CHANGE_LEN`].
    Long(usize),
    /// A later version wrote it.
    Version(u8),
    /// It is not what [`Change::encode`] writes.
    Malformed(String),
}

impl fmt::Display for BadChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Long(len) => write!(f, "a change of {len} bytes; none has more than {MAX_CHANGE_LEN}"),
            Self::Version(version) => {
                write!(
                    f,
                    "a change in version {version} of the form, but this program knows {CHANGE_VERSION}; update it"
                )
            }
            Self::Malformed(problem) => write!(f, "not a change: {problem}"),
        }
    }
}

impl std::error::Error for BadChange {}

impl From<minicbor::decode::Error> for BadChange {
    fn from(error: minicbor::decode::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

fn malformed<T>(problem: &str) -> Result<T, BadChange> {
    Err(BadChange::Malformed(problem.to_owned()))
}

impl Change {
    /// The change as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        let Ok(()) = self.write(&mut Encoder::new(&mut bytes)) else {
            unreachable!("memory takes everything");
        };
        bytes
    }

    /// The change that bytes are.
    ///
    /// # Errors
    /// See [`BadChange`].
    pub fn decode(bytes: &[u8]) -> Result<Self, BadChange> {
        if bytes.len() > MAX_CHANGE_LEN {
            return Err(BadChange::Long(bytes.len()));
        }
        let change = Self::read(&mut Decoder::new(bytes))?;
        // Also says that nothing follows.
        if change.encode() != bytes {
            return malformed("in another form than this program writes");
        }
        Ok(change)
    }

    fn write<W: Write>(&self, out: &mut Encoder<W>) -> Written<W> {
        out.array(4)?.u8(CHANGE_VERSION)?;
        match self {
            Self::Topic(TopicId(id), topic) => {
                out.u8(TOPIC)?.str(id)?;
                optional(out, topic.as_deref(), write_topic)
            }
            Self::Value(TopicId(id), value) => {
                out.u8(VALUE)?.str(id)?;
                optional(out, value.as_deref(), write_value)
            }
            Self::Registration(RegistrationId(id), registration) => {
                out.u8(REGISTRATION)?.str(id)?;
                optional(out, registration.as_deref(), write_registration)
            }
            Self::Freshness(device, freshness) => {
                out.u8(FRESHNESS)?.bytes(device.as_bytes())?;
                optional(out, freshness.as_ref(), |out, freshness| {
                    let [next, seen] = freshness.to_words();
                    out.array(2)?.u64(next)?.u64(seen)?;
                    Ok(())
                })
            }
        }
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, BadChange> {
        array(input, 4)?;
        match input.u8()? {
            CHANGE_VERSION => {}
            other => return Err(BadChange::Version(other)),
        }
        Ok(match input.u8()? {
            TOPIC => Self::Topic(TopicId(text(input)?), body(input, read_topic)?.map(Arc::new)),
            VALUE => Self::Value(TopicId(text(input)?), body(input, read_value)?.map(Arc::new)),
            REGISTRATION => Self::Registration(
                RegistrationId(text(input)?),
                body(input, read_registration)?.map(Arc::new),
            ),
            FRESHNESS => Self::Freshness(identity(input)?, body(input, read_freshness)?),
            _ => return malformed("of a kind that this program does not know; update it"),
        })
    }
}

type Written<W> = Result<(), minicbor::encode::Error<<W as Write>::Error>>;
type Read<T> = Result<T, BadChange>;

fn write_topic<W: Write>(out: &mut Encoder<W>, topic: &Topic) -> Written<W> {
    out.array(TOPIC_FIELDS)?.str(&topic.name)?;
    optional(out, topic.topic_type.as_deref(), string)?;
    optional(out, topic.content_format.as_ref(), |out, format| out.u16(*format).map(drop))?;
    optional(out, topic.expires.as_ref(), moment)?;
    optional(out, topic.max_subscribers.as_ref(), |out, most| out.u32(*most).map(drop))?;
    out.u32(topic.observer_check)?;
    optional(out, topic.device.as_ref(), device)?;
    optional(out, topic.owner.as_ref(), device)
}

fn read_topic(input: &mut Decoder<'_>) -> Read<Topic> {
    array(input, TOPIC_FIELDS)?;
    Ok(Topic {
        name: text(input)?,
        topic_type: body(input, text)?,
        content_format: body(input, |input| Ok(input.u16()?))?,
        expires: body(input, read_moment)?,
        max_subscribers: body(input, |input| Ok(input.u32()?))?,
        observer_check: input.u32()?,
        device: body(input, identity)?,
        owner: body(input, identity)?,
    })
}

fn write_value<W: Write>(out: &mut Encoder<W>, value: &Value) -> Written<W> {
    out.array(VALUE_FIELDS)?;
    moment(out, &value.published)?;
    optional(out, value.content_format.as_ref(), |out, format| out.u16(*format).map(drop))?;
    out.bytes(&value.payload)?;
    match value.signed {
        Signed::Unchecked => out.null()?,
        Signed::ByDevice { sequence } => out.u64(sequence)?,
    };
    Ok(())
}

fn read_value(input: &mut Decoder<'_>) -> Read<Value> {
    array(input, VALUE_FIELDS)?;
    Ok(Value {
        published: read_moment(input)?,
        content_format: body(input, |input| Ok(input.u16()?))?,
        payload: Arc::from(input.bytes()?),
        signed: match body(input, |input| Ok(input.u64()?))? {
            None => Signed::Unchecked,
            Some(sequence) => Signed::ByDevice { sequence },
        },
    })
}

fn write_registration<W: Write>(out: &mut Encoder<W>, registration: &Registration) -> Written<W> {
    out.array(REGISTRATION_FIELDS)?.str(&registration.endpoint)?;
    optional(out, registration.sector.as_deref(), string)?;
    out.str(&registration.base)?.bool(registration.base_stated)?;
    moment(out, &registration.expires)?;
    out.u32(registration.lifetime)?;
    write_attributes(out, &registration.attributes)?;
    out.array(registration.links.len() as u64)?;
    for link in &registration.links {
        out.array(2)?.str(&link.target)?;
        write_attributes(out, &link.attributes)?;
    }
    optional(out, registration.device.as_ref(), device)?;
    optional(out, registration.owner.as_ref(), device)?;
    optional(out, registration.registrant.as_ref(), address)
}

fn read_registration(input: &mut Decoder<'_>) -> Read<Registration> {
    array(input, REGISTRATION_FIELDS)?;
    Ok(Registration {
        endpoint: text(input)?,
        sector: body(input, text)?,
        base: text(input)?,
        base_stated: input.bool()?,
        expires: read_moment(input)?,
        lifetime: input.u32()?,
        attributes: read_attributes(input)?,
        links: read_many(input, |input| {
            array(input, 2)?;
            Ok(Link { target: text(input)?, attributes: read_attributes(input)? })
        })?,
        device: body(input, identity)?,
        owner: body(input, identity)?,
        registrant: body(input, read_address)?,
    })
}

fn write_attributes<W: Write>(
    out: &mut Encoder<W>,
    attributes: &[(Arc<str>, Option<Arc<str>>)],
) -> Written<W> {
    out.array(attributes.len() as u64)?;
    for (name, value) in attributes {
        out.array(2)?.str(name)?;
        optional(out, value.as_deref(), string)?;
    }
    Ok(())
}

type Attributes = Vec<(Arc<str>, Option<Arc<str>>)>;

fn read_attributes(input: &mut Decoder<'_>) -> Read<Attributes> {
    read_many(input, |input| {
        array(input, 2)?;
        Ok((text(input)?, body(input, text)?))
    })
}

fn read_freshness(input: &mut Decoder<'_>) -> Read<Freshness> {
    array(input, 2)?;
    Ok(Freshness::from_words([input.u64()?, input.u64()?]))
}

fn optional<W: Write, T: ?Sized>(
    out: &mut Encoder<W>,
    value: Option<&T>,
    write: impl FnOnce(&mut Encoder<W>, &T) -> Written<W>,
) -> Written<W> {
    match value {
        Some(value) => write(out, value),
        None => out.null().map(drop),
    }
}

fn string<W: Write>(out: &mut Encoder<W>, text: &str) -> Written<W> {
    out.str(text).map(drop)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as `optional` has it")]
fn moment<W: Write>(out: &mut Encoder<W>, moment: &Moment) -> Written<W> {
    out.u64(moment.as_millis()).map(drop)
}

fn device<W: Write>(out: &mut Encoder<W>, identity: &Identity) -> Written<W> {
    out.bytes(identity.as_bytes()).map(drop)
}

/// 4 or 16 bytes.
fn address<W: Write>(out: &mut Encoder<W>, address: &IpAddr) -> Written<W> {
    match address {
        IpAddr::V4(address) => out.bytes(&address.octets()).map(drop),
        IpAddr::V6(address) => out.bytes(&address.octets()).map(drop),
    }
}

fn array(input: &mut Decoder<'_>, len: u64) -> Read<()> {
    if input.array()? == Some(len) { Ok(()) } else { malformed("an array of another length") }
}

fn body<T>(input: &mut Decoder<'_>, read: impl FnOnce(&mut Decoder<'_>) -> Read<T>) -> Read<Option<T>> {
    if input.datatype()? == Type::Null {
        input.null()?;
        return Ok(None);
    }
    read(input).map(Some)
}

fn text(input: &mut Decoder<'_>) -> Read<Arc<str>> {
    Ok(Arc::from(input.str()?))
}

fn read_moment(input: &mut Decoder<'_>) -> Read<Moment> {
    Ok(Moment::from_millis(input.u64()?))
}

fn read_address(input: &mut Decoder<'_>) -> Read<IpAddr> {
    let bytes = input.bytes()?;
    let v4 = bytes.try_into().map(|bytes: [u8; 4]| IpAddr::from(bytes));
    let v6 = bytes.try_into().map(|bytes: [u8; 16]| IpAddr::from(bytes));
    v4.or(v6).or_else(|_| malformed("an address of another length"))
}

fn identity(input: &mut Decoder<'_>) -> Read<Identity> {
    match input.bytes()?.try_into() {
        Ok(bytes) => Ok(Identity::from_bytes(bytes)),
        Err(_) => malformed("an identity of another length"),
    }
}

/// No more memory than there are bytes for: each element takes at least one.
fn read_many<T>(input: &mut Decoder<'_>, mut read: impl FnMut(&mut Decoder<'_>) -> Read<T>) -> Read<Vec<T>> {
    let Some(len) = input.array()? else { return malformed("an array without length") };
    let mut elements = Vec::new();
    for _ in 0..len {
        elements.push(read(input)?);
    }
    Ok(elements)
}
