//! Requests and responses as an application sees them: whole, whatever carried them.

use std::sync::Arc;

use crate::{Code, Method, Peer, Token};

/// A version of a representation: 1 to 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ETag {
    len: u8,
    bytes: [u8; 8],
}

impl ETag {
    /// Made of 1 to 8 bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() || bytes.len() > 8 {
            return None;
        }
        let mut etag = Self { len: bytes.len() as u8, bytes: [0; 8] };
        etag.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(etag)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// What a request says of observation (RFC 7641 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observe {
    /// Tell me of changes.
    Register,
    /// No more.
    Deregister,
}

/// What a client asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What to do.
    pub method: Method,
    /// To which resource: segments of its path, decoded.
    pub path: Vec<String>,
    /// Parameters of the query, decoded, `name` or `name=value`.
    pub query: Vec<String>,
    /// What the payload is.
    pub content_format: Option<u16>,
    /// What the response should be.
    pub accept: Option<u16>,
    /// Versions that the client has.
    pub etags: Vec<ETag>,
    /// Only if the resource has one of these versions; an empty one is any.
    pub if_match: Vec<Vec<u8>>,
    /// Only if there is no such resource.
    pub if_none_match: bool,
    /// Whether the client wants to be told of changes.
    pub observe: Option<Observe>,
    /// The whole body.
    pub payload: Vec<u8>,
}

impl Request {
    /// A request without options and payload.
    pub fn new(method: Method, path: &[&str]) -> Self {
        Self {
            method,
            path: path.iter().map(|&segment| segment.to_owned()).collect(),
            query: Vec::new(),
            content_format: None,
            accept: None,
            etags: Vec::new(),
            if_match: Vec::new(),
            if_none_match: false,
            observe: None,
            payload: Vec::new(),
        }
    }

    /// The value of a parameter of the query; the first, if it stands there twice.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find_map(|parameter| parameter.strip_prefix(name)?.strip_prefix('='))
    }
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// How it ended.
    pub code: Code,
    /// What the payload is.
    pub content_format: Option<u16>,
    /// The version of the representation.
    pub etag: Option<ETag>,
    /// For how many seconds it is fresh; 60 if nothing is said (RFC 7252 §5.10.5).
    pub max_age: Option<u32>,
    /// How many bytes of a body would be taken, in an error for one that is too long (RFC 7959
    /// §2.9.3).
    pub size1: Option<u32>,
    /// Where the resource is that was made.
    pub location_path: Vec<String>,
    /// The whole body; a diagnostic text, if the code is an error's.
    pub payload: Arc<[u8]>,
}

impl Response {
    /// Without options and payload.
    pub fn new(code: Code) -> Self {
        Self {
            code,
            content_format: None,
            etag: None,
            max_age: None,
            size1: None,
            location_path: Vec::new(),
            payload: Arc::from([]),
        }
    }

    /// With a body.
    pub fn content(code: Code, content_format: u16, payload: impl Into<Arc<[u8]>>) -> Self {
        Self { content_format: Some(content_format), payload: payload.into(), ..Self::new(code) }
    }

    /// That a body is too long, and how long one may be.
    pub fn too_large(most: usize, text: &str) -> Self {
        let size1 = Some(u32::try_from(most).unwrap_or(u32::MAX));
        Self { size1, ..Self::error(Code::REQUEST_ENTITY_TOO_LARGE, text) }
    }

    /// An error with a text for people: what is wrong, and what to do.
    pub fn error(code: Code, text: &str) -> Self {
        Self { payload: Arc::from(text.as_bytes()), ..Self::new(code) }
    }
}

/// Who observes: a client may have many observations, told apart by their tokens (RFC 7641 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relation {
    /// The client.
    pub peer: Peer,
    /// What it called this.
    pub token: Token,
}
