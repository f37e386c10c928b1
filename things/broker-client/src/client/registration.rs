//! What a device, or somebody for it, tells the directory (RFC 9176 §5).

use std::time::Duration;

use motemix_coap::link_format::{Link, emit};
use motemix_coap::{Method, Request, Response, format};
use motemix_object::Identity;
use motemix_readings::base64url;

use super::topics::{self, Path};

/// What the directory is told of a device.
#[derive(Debug, Clone, Copy)]
pub struct Registration<'a> {
    /// Whose it is.
    pub identity: &'a Identity,
    /// How long it lasts, in whole seconds.
    pub lifetime: Duration,
    /// Where the device is; may be empty.
    pub place: &'a str,
    /// What it is for; may be empty.
    pub purpose: &'a str,
    /// What its links are relative to; without it, the broker.
    pub base: Option<&'a str>,
}

impl Registration<'_> {
    /// The request, without a proof.
    pub fn request(&self, links: &[Link]) -> Request {
        let mut request = Request::new(Method::Post, &["rd"]);
        request.content_format = Some(format::LINK_FORMAT);
        request.payload = emit(links).into_bytes();
        request.query =
            vec![format!("ep=MOTEMIX:ID:{:.32}", self.identity), format!("lt={}", self.lifetime.as_secs())];
        let stated =
            [("base", self.base.unwrap_or_default()), ("place", self.place), ("purpose", self.purpose)];
        let stated = stated.iter().filter(|(_, value)| !value.is_empty());
        request.query.extend(stated.map(|(name, value)| format!("{name}={value}")));
        request
    }
}

/// Asks where the directory is (RFC 9176 §4.3).
pub fn discovery() -> Request {
    let mut request = Request::new(Method::Get, &[".well-known", "core"]);
    request.query.push("rt=core.rd".to_owned());
    request
}

/// Where that is, if the answer says so.
pub fn discovered(response: &Response) -> Option<Path> {
    topics::found(response).into_iter().next().filter(|_| response.code.is_success())
}

/// The link to the topic with a device's readings, and to its public key (RFC 8387 §7.3).
pub fn link_to_readings(data: &[String], credential: &[u8]) -> Link {
    let link = Link::new(&topics::reference(data)).with("rt", topics::DATA_TYPE);
    link.with("key", &base64url::encode(credential)).with_flag("obs")
}

/// The link to the topic with what is commanded to a device.
pub fn link_to_commands(data: &[String]) -> Link {
    Link::new(&topics::reference(data)).with("rt", topics::DATA_TYPE).with("if", topics::COMMANDS)
}
