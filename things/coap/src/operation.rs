//! Which messages are of one operation in blocks, and what is answered to one of its blocks: the
//! rules of RFC 7959 and RFC 9175 that datagrams, connections and OSCORE share.

use std::hash::Hasher as _;

use motemix_time::Instant;

use crate::block::Assembled;
use crate::bodies::{Bodies, Owner};
use crate::datagram::proof::Proofs;
use crate::message::option;
use crate::oscore::ContextId;
use crate::{Block, Code, ETag, Method, Request, Response};

/// What tells the operations of one endpoint apart: the code and all options of the cache key.
///
/// Blocks whose keys differ are never of one body (RFC 9175 §3.3). So the first block's If-Match
/// holds for the whole body, or the next block is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Operation {
    /// A digest of code, options and context. It is keyed, so that nobody finds two of a kind.
    key: u64,
    /// A digest of what a FETCH asks for, which is of the key of its response (RFC 8132 §2). 0 if
    /// the message does not say it.
    asked: u64,
}

impl Operation {
    /// That of a request that no message carries.
    pub(crate) const NONE: Self = Self { key: 0, asked: 0 };

    /// That of a message with this code and these options, in the order of their numbers, under a
    /// context of OSCORE if it came under one: whoever has no keys finds nothing there.
    pub(crate) fn of(
        names: &Proofs,
        code: u8,
        options: &[(u16, Vec<u8>)],
        context: Option<ContextId>,
    ) -> Self {
        let mut hasher = names.hasher();
        hasher.write(b"operation");
        hasher.write_u8(code);
        for (number, value) in options.iter().filter(|(number, _)| is_of_key(*number)) {
            hasher.write_u16(*number);
            hasher.write_usize(value.len());
            hasher.write(value);
        }
        if let Some(context) = context {
            hasher.write(b"context");
            hasher.write_u64(context.number());
        }
        Self { key: hasher.finish(), asked: 0 }
    }

    /// With what a FETCH asks for. What other methods carry is not of the key.
    pub(crate) fn asking(self, names: &Proofs, request: &Request) -> Self {
        if request.method != Method::Fetch || request.payload.is_empty() {
            return self;
        }
        let mut hasher = names.hasher();
        hasher.write(b"asked");
        hasher.write(&request.payload);
        Self { asked: hasher.finish().max(1), ..self }
    }

    /// Whether it is the other one as far as it says: a client that goes on with the response to a
    /// FETCH may leave out what it asked for (RFC 7959 §3.3).
    pub(crate) fn may_be(self, other: Self) -> bool {
        self.key == other.key && (self.asked == 0 || self.asked == other.asked)
    }
}

/// Whether an option is of the key: all but those that are no part of cache keys (RFC 7252
/// §5.4.6), those that say which block it is, and Observe (RFC 7641 §2), which stands in the first
/// request alone (RFC 7959 §2.6).
const fn is_of_key(number: u16) -> bool {
    let is_no_cache_key = number & 0x1e == 0x1c;
    let is_of_a_message =
        matches!(number, option::BLOCK1 | option::BLOCK2 | option::OBSERVE | option::NO_RESPONSE);
    !is_no_cache_key && !is_of_a_message
}

/// The Block1 option of a response to a block. An error ends the operation: with the request's M
/// bit it would say that more is collected (RFC 7959 §2.3), and some clients would go on sending.
pub(crate) fn acknowledged(block: Option<Block>, code: Code) -> Option<Block> {
    block.filter(|block| !block.more || code.is_success())
}

/// What becomes of a request with a block of its body.
pub(crate) enum Gathered {
    /// The body is whole.
    Whole(Vec<u8>),
    /// This is answered.
    Answer(Response),
    /// The address is to be proven first, by this very block. Why, for people.
    ProveAddress(&'static str),
}

/// What is answered to a block. `most`: bytes of the longest body.
pub(crate) fn gathered(assembled: Assembled, most: usize) -> Gathered {
    Gathered::Answer(match assembled {
        Assembled::Whole(body) => return Gathered::Whole(body),
        Assembled::FullOfStrangers => {
            let text = "too many bodies of strangers are being gathered: send this again with Echo";
            return Gathered::ProveAddress(text);
        }
        Assembled::Unproven => {
            let text = "this body began with an Echo value: send each of its blocks with one";
            return Gathered::ProveAddress(text);
        }
        Assembled::Continue => Response::new(Code::CONTINUE),
        Assembled::Incomplete => Response::error(
            Code::REQUEST_ENTITY_INCOMPLETE,
            "this block does not continue what is here; begin again with block 0",
        ),
        Assembled::TooLong => Response::too_large(most, "the body is longer than this server takes"),
        Assembled::Full => busy(),
    })
}

/// That there is no place for a further body at present.
pub(crate) fn busy() -> Response {
    let response =
        Response::error(Code::SERVICE_UNAVAILABLE, "too many bodies are being gathered; try again");
    Response { max_age: Some(10), ..response }
}

/// The answer to a request for a further block of a response, if it is not the application's: the
/// response that the client began with, also if the resource has changed since.
///
/// Without it the application makes a response anew, and its ETag tells whether it is the same.
/// What changes something is not done again for the sake of its answer.
pub(crate) fn further(
    bodies: &Bodies,
    now: Instant,
    (owner, operation): (Owner, Operation),
    block: Option<Block>,
    request: &mut Request,
) -> Option<Response> {
    block.filter(|block| block.number > 0)?;
    // Observation does not begin in the middle (RFC 7959 §2.6).
    request.observe = None;
    let kept = bodies.sliced(now, owner, operation);
    kept.or_else(|| {
        let text = "what was answered is not kept any more; look at the resource";
        let is_safe = matches!(request.method, Method::Get | Method::Fetch);
        (!is_safe).then(|| Response::error(Code::REQUEST_ENTITY_INCOMPLETE, text))
    })
}

/// Bytes of a message that [`etag`] takes at most.
pub(crate) const ETAG_ROOM: usize = 12;

/// The ETag of a response in blocks that the application gave none: it tells the client whether two
/// blocks are of one response (RFC 9175 §3.8).
pub(crate) fn etag(names: &Proofs, response: &Response) -> Option<ETag> {
    if response.etag.is_some() {
        return None;
    }
    let mut hasher = names.hasher();
    hasher.write(b"etag");
    hasher.write_u8(response.code.byte());
    hasher.write_u32(response.content_format.map_or(u32::MAX, u32::from));
    hasher.write(&response.payload);
    ETag::new(&hasher.finish().to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_key_are_those_that_the_rfcs_say() {
        for number in [
            option::IF_MATCH,
            option::URI_HOST,
            option::ETAG,
            option::IF_NONE_MATCH,
            option::URI_PORT,
            option::OSCORE,
            option::URI_PATH,
            option::CONTENT_FORMAT,
            option::URI_QUERY,
            option::ACCEPT,
            option::REQUEST_TAG,
            // Unknown ones, critical and elective.
            9999,
            10_000,
        ] {
            assert!(is_of_key(number), "{number}");
        }
        for number in [
            option::OBSERVE,
            option::BLOCK1,
            option::BLOCK2,
            option::SIZE1,
            option::SIZE2,
            option::ECHO,
            option::NO_RESPONSE,
        ] {
            assert!(!is_of_key(number), "{number}");
        }
    }
}
