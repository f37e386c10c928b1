//! What the options of a message mean: requests and responses out of messages, and back.

use crate::message::{Message, option};
use crate::{Block, Code, ETag, Method, Observe, Request, Response};

/// Why a request is refused before anybody sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadRequest {
    /// With what it is answered.
    pub(crate) code: Code,
    /// For people.
    pub(crate) text: &'static str,
}

const fn bad(code: Code, text: &'static str) -> BadRequest {
    BadRequest { code, text }
}

/// A request, and what its options say about how it is carried.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) request: Request,
    pub(crate) block1: Option<Block>,
    pub(crate) block2: Option<Block>,
    pub(crate) echo: Option<Vec<u8>>,
}

/// Options that may stand there more than once (RFC 7252 §5.4.5).
const REPEATABLE: [u16; 7] = [
    option::IF_MATCH,
    option::ETAG,
    option::LOCATION_PATH,
    option::URI_PATH,
    option::URI_QUERY,
    option::LOCATION_QUERY,
    option::REQUEST_TAG,
];

/// Values of paths, queries and conditions that a request has at most: each takes more memory than
/// bytes of a message.
const MOST_VALUES: usize = 64;

/// Lengths of the values of options that requests have (RFC 7252 §5.10); whoever goes beyond
/// them is understood as if the option were unknown.
const fn lengths(number: u16) -> Option<(usize, usize)> {
    Some(match number {
        option::IF_MATCH | option::REQUEST_TAG => (0, 8),
        option::URI_HOST => (1, 255),
        option::ETAG => (1, 8),
        option::IF_NONE_MATCH => (0, 0),
        option::OBSERVE | option::BLOCK1 | option::BLOCK2 => (0, 3),
        option::URI_PORT | option::CONTENT_FORMAT | option::ACCEPT => (0, 2),
        option::URI_PATH | option::URI_QUERY => (0, 255),
        option::ECHO => (1, 40),
        _ => return None,
    })
}

/// Reads a request. A message with a response's code has no method.
pub(crate) fn request_of(message: Message) -> Result<Carried, BadRequest> {
    let method =
        Method::of_byte(message.code).ok_or(bad(Code::METHOD_NOT_ALLOWED, "no method has this code"))?;
    let mut request = Request::new(method, &[]);
    let (mut block1, mut block2, mut echo) = (None, None, None);
    let (mut before, mut values) = (None, 0);
    for (number, value) in message.options {
        let is_repeated = before.replace(number) == Some(number) && !REPEATABLE.contains(&number);
        let is_known = lengths(number).is_some_and(|(least, most)| (least..=most).contains(&value.len()));
        if is_repeated || !is_known {
            match number {
                option::PROXY_URI | option::PROXY_SCHEME => {
                    return Err(bad(Code::PROXYING_NOT_SUPPORTED, "this is no proxy"));
                }
                // Odd numbers are critical (§5.4.1): who sent one wants to know that nobody heeds
                // it. Elective ones are passed over.
                _ if number % 2 == 1 => {
                    return Err(bad(
                        Code::BAD_OPTION,
                        "a critical option is unknown, twice there or too long",
                    ));
                }
                _ => continue,
            }
        }
        values += usize::from(REPEATABLE.contains(&number));
        if values > MOST_VALUES {
            return Err(bad(
                Code::BAD_REQUEST,
                "a request has at most 64 values of paths, queries and conditions",
            ));
        }
        let text = |value: Vec<u8>| {
            String::from_utf8(value).map_err(|_| bad(Code::BAD_OPTION, "a path or query is not UTF-8"))
        };
        let number_of = || crate::message::number_of(&value).unwrap_or_default();
        match number {
            option::IF_MATCH => request.if_match.push(value),
            option::ETAG => request.etags.extend(ETag::new(&value)),
            option::IF_NONE_MATCH => request.if_none_match = true,
            option::OBSERVE => {
                request.observe = match number_of() {
                    0 => Some(Observe::Register),
                    1 => Some(Observe::Deregister),
                    _ => None,
                }
            }
            option::URI_PATH => request.path.push(text(value)?),
            option::URI_QUERY => request.query.push(text(value)?),
            option::CONTENT_FORMAT => request.content_format = Some(number_of() as u16),
            option::ACCEPT => request.accept = Some(number_of() as u16),
            option::BLOCK1 | option::BLOCK2 => {
                let block = Block::read(&value).ok_or(bad(Code::BAD_REQUEST, "a block of no length"))?;
                if number == option::BLOCK1 {
                    block1 = Some(block);
                } else {
                    block2 = Some(block);
                }
            }
            option::ECHO => echo = Some(value),
            // Host, port and Request-Tag: there is one host here, and what the tag says is said by
            // the key of the operation.
            _ => {}
        }
    }
    // `/` is the empty path, and so is a lone empty segment (§6.4).
    if request.path == [""] {
        request.path.clear();
    }
    request.payload = message.payload;
    Ok(Carried { request, block1, block2, echo })
}

/// Adds what a request says to a message that carries it.
pub(crate) fn write_request(request: &Request, message: &mut Message) {
    message.code = request.method.byte();
    for value in &request.if_match {
        message.push(option::IF_MATCH, &value[..]);
    }
    for etag in &request.etags {
        message.push(option::ETAG, etag.as_bytes());
    }
    if request.if_none_match {
        message.push(option::IF_NONE_MATCH, []);
    }
    match request.observe {
        Some(Observe::Register) => message.push_number(option::OBSERVE, 0),
        Some(Observe::Deregister) => message.push_number(option::OBSERVE, 1),
        None => {}
    }
    for segment in &request.path {
        message.push(option::URI_PATH, segment.as_bytes());
    }
    if let Some(format) = request.content_format {
        message.push_number(option::CONTENT_FORMAT, format.into());
    }
    for parameter in &request.query {
        message.push(option::URI_QUERY, parameter.as_bytes());
    }
    if let Some(format) = request.accept {
        message.push_number(option::ACCEPT, format.into());
    }
}

/// Adds what a response says to a message that carries it, but for its body.
pub(crate) fn write_response(response: &Response, message: &mut Message) {
    message.code = response.code.byte();
    if let Some(etag) = &response.etag {
        message.push(option::ETAG, etag.as_bytes());
    }
    for segment in &response.location_path {
        message.push(option::LOCATION_PATH, segment.as_bytes());
    }
    if let Some(format) = response.content_format {
        message.push_number(option::CONTENT_FORMAT, format.into());
    }
    if let Some(seconds) = response.max_age {
        message.push_number(option::MAX_AGE, seconds);
    }
    if let Some(most) = response.size1 {
        message.push_number(option::SIZE1, most);
    }
}

/// A response, with the part of the body that the message has; `None` if it has no response's
/// code, or a critical option that nobody here understands.
pub(crate) fn response_of(message: Message) -> Option<Response> {
    let mut response = Response::new(Code::of_byte(message.code)?);
    for (number, value) in message.options {
        match number {
            option::ETAG => response.etag = ETag::new(&value),
            option::CONTENT_FORMAT => {
                response.content_format = Some(crate::message::number_of(&value)? as u16)
            }
            option::MAX_AGE => response.max_age = crate::message::number_of(&value),
            option::SIZE1 => response.size1 = crate::message::number_of(&value),
            option::LOCATION_PATH => response.location_path.push(String::from_utf8(value).ok()?),
            option::BLOCK1 | option::BLOCK2 => {}
            _ if number % 2 == 1 => return None,
            _ => {}
        }
    }
    response.payload = message.payload.into();
    Some(response)
}
