//! Requests and responses out of options, and back.

use std::sync::Arc;

use super::options::{Options, uint};
use crate::{Code, ETag, Method, Observe, Request, Response};

const IF_MATCH: u16 = 1;
const URI_HOST: u16 = 3;
const ETAG: u16 = 4;
const IF_NONE_MATCH: u16 = 5;
const OBSERVE: u16 = 6;
const URI_PORT: u16 = 7;
const LOCATION_PATH: u16 = 8;
const URI_PATH: u16 = 11;
const CONTENT_FORMAT: u16 = 12;
const MAX_AGE: u16 = 14;
const URI_QUERY: u16 = 15;
const ACCEPT: u16 = 17;
const PROXY_URI: u16 = 35;
const PROXY_SCHEME: u16 = 39;

/// So many segments of a path, parameters of a query, versions: a request that has more is refused.
const MAX_REPEATED: usize = 32;

/// A request, or the code and the text of the answer that it gets at once.
pub fn request(method: Method, read: Options) -> Result<Request, (Code, String)> {
    let mut request = Request::new(method, &[]);
    let mut before = None;
    for (number, value) in read.options {
        let twice = before == Some(number);
        before = Some(number);
        let fits = match number {
            IF_MATCH => push(&mut request.if_match, (value.len() <= 8).then_some(value)),
            URI_HOST => !twice && (1..=255).contains(&value.len()),
            ETAG => {
                // Elective: what is no version, or one too many, is none that the client has.
                push(&mut request.etags, ETag::new(&value));
                true
            }
            IF_NONE_MATCH => {
                request.if_none_match = true;
                !twice && value.is_empty()
            }
            OBSERVE => {
                request.observe = match uint(&value) {
                    Some(0) => Some(Observe::Register),
                    Some(1) => Some(Observe::Deregister),
                    _ => None,
                };
                true
            }
            URI_PORT => !twice && value.len() <= 2,
            URI_PATH => push(&mut request.path, text(value)),
            URI_QUERY => push(&mut request.query, text(value)),
            CONTENT_FORMAT => {
                request.content_format = short(&value);
                true
            }
            ACCEPT => {
                request.accept = short(&value);
                !twice && request.accept.is_some()
            }
            PROXY_URI | PROXY_SCHEME => {
                let why = "this server is no proxy: leave Proxy-Uri and Proxy-Scheme out".to_owned();
                return Err((Code::PROXYING_NOT_SUPPORTED, why));
            }
            _ => number % 2 == 0,
        };
        if !fits {
            return Err((Code::BAD_OPTION, format!("option {number} is unknown here, or its value is")));
        }
    }
    request.payload = read.payload;
    Ok(request)
}

/// A response, and whether it is a notification; `None`, if a critical option is unknown.
pub fn response(code: Code, read: Options) -> Option<(Response, bool)> {
    let mut response = Response { payload: Arc::from(read.payload), ..Response::new(code) };
    let mut observed = false;
    for (number, value) in read.options {
        match number {
            ETAG => response.etag = ETag::new(&value),
            OBSERVE => observed = true,
            LOCATION_PATH => {
                push(&mut response.location_path, text(value));
            }
            CONTENT_FORMAT => response.content_format = short(&value),
            MAX_AGE => response.max_age = uint(&value),
            _ if number % 2 == 1 => return None,
            _ => {}
        }
    }
    Some((response, observed))
}

/// Of a request.
pub fn of_request(request: &Request) -> Options {
    let mut options = Options { payload: request.payload.clone(), ..Options::default() };
    request.if_match.iter().for_each(|version| options.push(IF_MATCH, version.as_slice()));
    request.etags.iter().for_each(|etag| options.push(ETAG, etag.as_bytes()));
    if request.if_none_match {
        options.push(IF_NONE_MATCH, []);
    }
    if let Some(observe) = request.observe {
        options.push_uint(OBSERVE, u32::from(observe == Observe::Deregister));
    }
    request.path.iter().for_each(|segment| options.push(URI_PATH, segment.as_bytes()));
    request.query.iter().for_each(|parameter| options.push(URI_QUERY, parameter.as_bytes()));
    push_uint(&mut options, CONTENT_FORMAT, request.content_format.map(u32::from));
    push_uint(&mut options, ACCEPT, request.accept.map(u32::from));
    options
}

/// Of a response, with a sequence number if it is a notification.
pub fn of_response(response: &Response, sequence: Option<u32>) -> Options {
    let mut options = Options { payload: response.payload.to_vec(), ..Options::default() };
    if let Some(etag) = response.etag {
        options.push(ETAG, etag.as_bytes());
    }
    push_uint(&mut options, OBSERVE, sequence);
    response.location_path.iter().for_each(|segment| options.push(LOCATION_PATH, segment.as_bytes()));
    push_uint(&mut options, CONTENT_FORMAT, response.content_format.map(u32::from));
    push_uint(&mut options, MAX_AGE, response.max_age);
    options
}

fn push_uint(options: &mut Options, number: u16, value: Option<u32>) {
    if let Some(value) = value {
        options.push_uint(number, value);
    }
}

/// Whether there is a value, and room for it.
fn push<T>(to: &mut Vec<T>, value: Option<T>) -> bool {
    let fits = value.is_some() && to.len() < MAX_REPEATED;
    to.extend(value.filter(|_| fits));
    fits
}

fn text(value: Vec<u8>) -> Option<String> {
    String::from_utf8(value).ok().filter(|text| text.len() <= 255)
}

fn short(value: &[u8]) -> Option<u16> {
    uint(value).filter(|_| value.len() <= 2).and_then(|number| number.try_into().ok())
}
