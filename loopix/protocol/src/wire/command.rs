//! The routing command: where a hop sends the packet, and after which delay.
//!
//! ```text
//! originals  92 c4 01 f0 95 92 HOST PORT  DROP  TYPE  cb DELAY  NAME     text, of up to 127 bytes
//! hardened   92 c4 01 f0 c4 0c ID₈ DELAY₄                                18 bytes
//! ```
//!
//! Whether a text is *bin* or *str* depends, in the originals, on where Python 2 had it from; the
//! receiver does not care, but an observer at a node does. [`Text`] is therefore chosen by who is
//! named, and never by who sends.

use std::time::Duration;

use motemix_crypto::p224::Point;
use rmpv::Value;
use sha2::{Digest as _, Sha256};

use crate::pack::{binary, text};

/// Bytes of a hardened node id.
pub const NODE_ID_LEN: usize = 8;
const NODE_ID: &[u8] = b"motemix-loopix/1 node";
const COMMAND_LEN: usize = NODE_ID_LEN + 4;

/// Names a node of a hardened network: a hash of its public key.
pub type NodeId = [u8; NODE_ID_LEN];

/// The id of whoever has this key.
pub fn node_id(key: &Point) -> NodeId {
    let digest = Sha256::new().chain_update(NODE_ID).chain_update(key.compress()).finalize();
    *digest.first_chunk().expect("a digest of 32 bytes has 8")
}

/// How a text is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// As *bin*, like the native strings of Python 2.
    Bin,
    /// As *str*.
    Str,
}

impl Text {
    /// Packs `text`.
    pub fn value(self, text: &str) -> Value {
        match self {
            Self::Bin => binary(text),
            Self::Str => Value::from(text),
        }
    }
}

/// Who is to receive a packet next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// In the words of the originals.
    Named {
        /// IP address or DNS name.
        host: String,
        /// UDP port.
        port: u16,
        /// The node's name.
        name: String,
    },
    /// In a hardened network.
    Id(NodeId),
}

/// What a hop is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Where to.
    pub next: Next,
    /// Not before this time has passed.
    pub delay: Duration,
    /// To be thrown away by the last provider. Never set in a hardened network.
    pub drop: bool,
}

impl Command {
    /// Reads a command of the originals, whichever way its texts are packed. `None` if anything is
    /// not as they write it; a delay must be a number of seconds from zero on, and is cut to
    /// `max_delay`.
    pub fn parse_named(value: &Value, max_delay: Duration) -> Option<Self> {
        let [address, drop, _kind, delay, name] = value.as_array()?.as_slice() else { return None };
        let [host, port] = address.as_array()?.as_slice() else { return None };
        let next = Next::Named {
            host: text(host)?.to_owned(),
            port: u16::try_from(port.as_u64()?).ok()?,
            name: text(name)?.to_owned(),
        };
        let seconds = delay.as_f64().filter(|seconds| *seconds >= 0.0)?;
        let delay = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX).min(max_delay);
        Some(Self { next, delay, drop: drop.as_bool()? })
    }

    /// Reads a command of a hardened network.
    pub fn parse_id(value: &Value, max_delay: Duration) -> Option<Self> {
        let Value::Binary(bytes) = value else { return None };
        let (id, delay) = bytes.split_first_chunk::<NODE_ID_LEN>()?;
        let micros = u32::from_be_bytes(delay.try_into().ok()?);
        let delay = Duration::from_micros(micros.into()).min(max_delay);
        Some(Self { next: Next::Id(*id), delay, drop: false })
    }

    /// The command as a value. `host` and `name` say how the texts are packed.
    pub fn value(&self, host: Text, name: Text) -> Value {
        match &self.next {
            Next::Named { host: to, port, name: called } => Value::Array(vec![
                Value::Array(vec![host.value(to), Value::from(*port)]),
                Value::from(self.drop),
                // The fork of 2018 tells every hop here what it carries. Its nodes do without.
                Value::Nil,
                Value::F64(self.delay.as_secs_f64()),
                name.value(called),
            ]),
            Next::Id(id) => {
                let micros = u32::try_from(self.delay.as_micros()).unwrap_or(u32::MAX);
                let mut bytes = [0; COMMAND_LEN];
                let (front, back) = bytes.split_at_mut(NODE_ID_LEN);
                front.copy_from_slice(id);
                back.copy_from_slice(&micros.to_be_bytes());
                binary(bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn with_delay(delay: Value) -> Value {
        let address = Value::Array(vec![Value::from("127.0.0.1"), Value::from(30000)]);
        Value::Array(vec![address, Value::from(false), Value::Nil, delay, binary("Mix1")])
    }

    #[test]
    fn a_delay_is_a_number_of_seconds_from_zero_on() {
        let delay = |value| Command::parse_named(&with_delay(value), HOUR).map(|command| command.delay);
        assert_eq!(delay(Value::F64(0.25)), Some(Duration::from_millis(250)));
        assert_eq!(delay(Value::from(2)), Some(Duration::from_secs(2)));
        for endless in [1e300, f64::INFINITY, 3601.0] {
            assert_eq!(delay(Value::F64(endless)), Some(HOUR));
        }
        for bad in [Value::F64(-0.1), Value::F64(f64::NAN), Value::F64(f64::NEG_INFINITY), Value::Nil] {
            assert_eq!(delay(bad), None);
        }
        assert_eq!(delay(Value::from("1.0")), None);
    }

    #[test]
    fn both_forms_come_back_as_they_were() {
        let named = Command {
            next: Next::Named { host: "127.0.0.1".into(), port: 30000, name: "Mix1".into() },
            delay: Duration::from_micros(1500),
            drop: true,
        };
        for (host, name) in [(Text::Bin, Text::Str), (Text::Str, Text::Bin)] {
            assert_eq!(Command::parse_named(&named.value(host, name), HOUR), Some(named.clone()));
        }
        let id = Command { next: Next::Id([7; 8]), delay: Duration::from_micros(1500), drop: false };
        assert_eq!(Command::parse_id(&id.value(Text::Bin, Text::Bin), HOUR), Some(id));
    }
}
