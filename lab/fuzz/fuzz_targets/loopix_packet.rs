//! Anything that arrives at a node of Loopix: datagrams, headers that its own sender made, msgpack.
//! Nothing panics, only what was sealed is read, and what is read has no more in it than arrived.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use motemix_crypto::Secret;
use motemix_crypto::p224::{self, Point, Scalar};
use motemix_fuzz::fuzz_target;
use motemix_loopix::pack::{self, Value};
use motemix_loopix::packet::format::Parts;
use motemix_loopix::packet::{Format, HopKeys, Layer, Packet, ProcessError};
use motemix_loopix::wire::command::Command;
use motemix_loopix::wire::control::Control;
use motemix_sphinx::{ReplayError, ReplayFilter, ReplayTag};
use std::time::Duration;

#[derive(Arbitrary, Debug)]
struct Input {
    hardened: bool,
    kind: Kind,
}

#[derive(Arbitrary, Debug)]
enum Kind {
    /// Bytes as they are.
    Datagram(Vec<u8>),
    /// A datagram of the right shape.
    Shaped { group_element: [u8; 29], routing_info: Vec<u8>, header_mac: [u8; 16] },
    /// A header that was made for the node: its MAC holds, whatever it tells.
    Sealed { exponent: u64, told: Vec<u8>, payload: Vec<u8> },
    /// msgpack.
    Value(Vec<u8>),
}

fuzz_target!(|input: Input| {
    let format = if input.hardened { &Format::HARDENED } else { &Format::LOOPIX };
    match input.kind {
        Kind::Datagram(mut bytes) => {
            let _ = Control::parse(&bytes);
            let fits = bytes.len() == format.datagram_len();
            let found = process(format, &mut bytes);
            assert!(found.is_err(), "nobody sealed it");
            assert!(fits || found == Err(ProcessError::Malformed));
        }
        Kind::Shaped { group_element, routing_info, header_mac } => {
            let mut datagram = format.blank();
            fill(format, &mut datagram, |parts| {
                *parts.group_element = group_element;
                copy(parts.routing_info, &routing_info);
                *parts.header_mac = header_mac;
            });
            let found = process(format, &mut datagram);
            let is_point = Point::decompress(&group_element).is_some();
            let expected = if is_point { ProcessError::BadHeaderMac } else { ProcessError::NotOnCurve };
            assert_eq!(found, Err(expected));
        }
        Kind::Sealed { exponent, told, payload } => {
            let mut datagram = seal(format, exponent, &told, &payload);
            let found = process(format, &mut datagram);
            assert!(!matches!(found, Err(ProcessError::Malformed | ProcessError::BadHeaderMac)), "{found:?}");
            // What was forwarded is a packet again.
            assert!(format.split(&mut datagram).is_some());
        }
        Kind::Value(bytes) => {
            if let Ok(value) = pack::decode(&bytes) {
                assert!(size(&value) <= bytes.len(), "more is kept than arrived");
                // The sign of a number, or its length, may be written in more bytes than ours.
                assert!(pack::encode(&value).len() <= bytes.len());
            }
        }
    }
});

/// The node of all packets.
fn secret() -> Scalar {
    scalar(0x006d_6f74_656d_6978)
}

fn scalar(number: u64) -> Scalar {
    let mut bytes = Secret::<28>::zero();
    bytes.expose_mut()[20..].copy_from_slice(&number.max(1).to_be_bytes());
    Scalar::from_be_bytes(&bytes).expect("neither zero nor too large")
}

struct Anew;

impl ReplayFilter for Anew {
    fn admit(&mut self, _: &ReplayTag) -> Result<(), ReplayError> {
        Ok(())
    }
}

fn process(format: &Format, datagram: &mut [u8]) -> Result<(), ProcessError> {
    let packet = Packet::parse(format, datagram)?.authenticate(&secret(), &[])?;
    match packet.admit(&mut Anew).expect("all are admitted").read()? {
        Layer::Relay(relay) => {
            let longest = Duration::from_secs(60);
            let commands =
                [Command::parse_named, Command::parse_id].map(|read| read(&relay.command, longest));
            assert!(commands.iter().flatten().all(|command| command.delay <= longest));
            relay.forward()
        }
        Layer::Destination(arrival) => arrival.open().map(drop),
        Layer::Surb(arrival) => {
            arrival.into_payload();
            Ok(())
        }
    }
}

fn fill(format: &Format, datagram: &mut [u8], write: impl FnOnce(Parts<'_>)) {
    write(format.split(datagram).expect("a blank datagram is a datagram"));
}

fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// A packet whose only hop is told `told`.
fn seal(format: &Format, exponent: u64, told: &[u8], payload: &[u8]) -> Vec<u8> {
    let exponent = scalar(exponent);
    let keys = HopKeys::new(&p224::diffie_hellman(&exponent, &Point::mul_generator(&secret())));
    let mut datagram = format.blank();
    fill(format, &mut datagram, |parts| {
        *parts.group_element = Point::mul_generator(&exponent).compress();
        copy(parts.routing_info, told);
        keys.xor_stream(0, parts.routing_info);
        let bound: &[u8] = if format.binds_group_element() { parts.group_element } else { &[] };
        *parts.header_mac = keys.header_mac([bound, &[]], parts.routing_info);
        copy(parts.payload, payload);
    });
    datagram
}

/// Values, and bytes in them: each of them took a byte at least.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.as_bytes().len(),
        Value::Binary(bytes) | Value::Ext(_, bytes) => bytes.len(),
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Map(pairs) => pairs.iter().map(|(key, value)| size(key) + size(value)).sum(),
        _ => 0,
    }
}
