//! What is asked of topics, and what is answered (draft-ietf-core-coap-pubsub).

use std::convert::Infallible;

use minicbor::{Decoder, Encoder};
use motemix_coap::{Method, Request, Response, format, link_format};
use motemix_object::Identity;

use crate::property;

/// The interface of topics on which devices are commanded (RFC 6690, `if`).
pub const COMMANDS: &str = "motemix.command";
/// The path of the collection.
pub const COLLECTION: &str = "ps";
/// The only resource type of topic data.
pub const DATA_TYPE: &str = "core.ps.data";
/// Below the collection, the path of all topic data.
pub const DATA: &str = "data";
/// Before the first half of an identity in the names of a device's topics.
pub const OF_DEVICES: &str = "devices/";
/// More topics than a search of one name or device finds.
const MOST: usize = 1024;

/// The segments of a path.
pub type Path = Vec<String>;

/// Asks for the topic with this name.
pub fn named(name: &str) -> Request {
    search(|out| out.map(1)?.i64(property::NAME)?.str(name).map(|_| ()))
}

/// Asks whether the broker verifies readings for this network: one that does not answers 4.12.
pub fn network(name: &str) -> Request {
    // No topic has an empty name: nothing is found.
    let mut request = named("");
    request.query.push(format!("network={name}"));
    request
}

/// Asks for the topic with this name, if it takes readings of this device.
pub fn named_of(name: &str, device: &Identity) -> Request {
    search(|out| {
        out.map(2)?.i64(property::NAME)?.str(name)?;
        out.i64(property::DEVICE)?.bytes(device.as_bytes()).map(|_| ())
    })
}

/// The name of the topic with a device's readings.
pub fn of_readings(device: &Identity) -> String {
    format!("{OF_DEVICES}{device:.32}/readings")
}

/// The name of the topic with what is commanded to a device.
pub fn of_commands(device: &str) -> String {
    format!("{OF_DEVICES}{device}/commands")
}

/// The paths of topics in the answer to a search.
pub fn found(response: &Response) -> Vec<Path> {
    let text = std::str::from_utf8(&response.payload).unwrap_or_default();
    let links = link_format::parse(text, MOST).unwrap_or_default();
    links.iter().map(|link| path(&link.target)).collect()
}

/// Makes a topic for a device's signed readings.
pub fn creation_of(name: &str, device: &Identity) -> Request {
    create(|out| {
        out.map(3)?.i64(property::NAME)?.str(name)?.i64(property::RESOURCE_TYPE)?.str(DATA_TYPE)?;
        out.i64(property::DEVICE)?.bytes(device.as_bytes()).map(|_| ())
    })
}

/// Makes a topic with empty data, so that it can be observed at once.
pub fn creation(name: &str, content_format: u16) -> Request {
    create(|out| {
        out.map(4)?.i64(property::NAME)?.str(name)?.i64(property::RESOURCE_TYPE)?.str(DATA_TYPE)?;
        out.i64(property::CONTENT_FORMAT)?.u16(content_format)?;
        out.i64(property::INITIALIZE)?.bytes(&[]).map(|_| ())
    })
}

/// Asks which number of the device comes next whose readings are there.
pub fn next_number(data: &[String]) -> Request {
    let id = data.last().map(String::as_str).unwrap_or_default();
    let mut request = Request::new(Method::Fetch, &[COLLECTION, id]);
    request.content_format = Some(format::CBOR);
    request.payload = cbor(|out| out.array(1)?.i64(property::NEXT).map(|_| ()));
    request
}

/// What is answered to that: nothing, if the broker has seen no number of the device.
pub fn number(response: &Response) -> Option<u64> {
    let mut input = Decoder::new(&response.payload);
    let is_one = input.map().ok().flatten() == Some(1) && input.i64().ok() == Some(property::NEXT);
    input.u64().ok().filter(|_| is_one && response.code.is_success())
}

/// Where the data of a topic is.
pub fn data(topic: &[String]) -> Path {
    let id = topic.last().cloned().unwrap_or_default();
    vec![COLLECTION.to_owned(), DATA.to_owned(), id]
}

/// The segments of a reference to a path.
pub fn path(reference: &str) -> Path {
    reference.trim_start_matches('/').split('/').map(str::to_owned).collect()
}

/// The reference to a path.
pub fn reference(path: &[String]) -> String {
    format!("/{}", path.join("/"))
}

/// A request for a path.
pub fn request(method: Method, path: &[String]) -> Request {
    Request { path: path.to_vec(), ..Request::new(method, &[]) }
}

/// The text of a refusal: one line of a length that a terminal takes, for a broker may be anybody.
pub fn text(response: &Response) -> String {
    let text = String::from_utf8_lossy(&response.payload);
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

type Written = Result<(), minicbor::encode::Error<Infallible>>;

fn search(write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Written) -> Request {
    with(Method::Fetch, write)
}

fn create(write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Written) -> Request {
    with(Method::Post, write)
}

fn with(method: Method, write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Written) -> Request {
    let mut request = Request::new(method, &[COLLECTION]);
    request.content_format = Some(format::CORE_PUBSUB_CBOR);
    request.payload = cbor(write);
    request
}

fn cbor(write: impl FnOnce(&mut Encoder<&mut Vec<u8>>) -> Written) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(()) = write(&mut Encoder::new(&mut bytes)) else { unreachable!("memory takes everything") };
    bytes
}
