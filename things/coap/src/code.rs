//! Methods and response codes (RFC 7252 §12.1, RFC 8132, RFC 8516).

use std::fmt;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// 0.01
    Get,
    /// 0.02
    Post,
    /// 0.03
    Put,
    /// 0.04
    Delete,
    /// 0.05, RFC 8132
    Fetch,
    /// 0.06, RFC 8132
    Patch,
    /// 0.07, RFC 8132
    IPatch,
}

impl Method {
    const ALL: [Self; 7] =
        [Self::Get, Self::Post, Self::Put, Self::Delete, Self::Fetch, Self::Patch, Self::IPatch];

    /// The code's byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Get => 1,
            Self::Post => 2,
            Self::Put => 3,
            Self::Delete => 4,
            Self::Fetch => 5,
            Self::Patch => 6,
            Self::IPatch => 7,
        }
    }

    /// The method that a code's byte means.
    pub fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.byte() == byte)
    }
}

/// How a request ended: three bits of class, five of detail.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(u8);

impl Code {
    /// 2.01
    pub const CREATED: Self = Self::new(2, 1);
    /// 2.02
    pub const DELETED: Self = Self::new(2, 2);
    /// 2.03
    pub const VALID: Self = Self::new(2, 3);
    /// 2.04
    pub const CHANGED: Self = Self::new(2, 4);
    /// 2.05
    pub const CONTENT: Self = Self::new(2, 5);
    /// 2.31, RFC 7959
    pub const CONTINUE: Self = Self::new(2, 31);
    /// 4.00
    pub const BAD_REQUEST: Self = Self::new(4, 0);
    /// 4.01
    pub const UNAUTHORIZED: Self = Self::new(4, 1);
    /// 4.02
    pub const BAD_OPTION: Self = Self::new(4, 2);
    /// 4.03
    pub const FORBIDDEN: Self = Self::new(4, 3);
    /// 4.04
    pub const NOT_FOUND: Self = Self::new(4, 4);
    /// 4.05
    pub const METHOD_NOT_ALLOWED: Self = Self::new(4, 5);
    /// 4.06
    pub const NOT_ACCEPTABLE: Self = Self::new(4, 6);
    /// 4.08, RFC 7959
    pub const REQUEST_ENTITY_INCOMPLETE: Self = Self::new(4, 8);
    /// 4.09, RFC 8132
    pub const CONFLICT: Self = Self::new(4, 9);
    /// 4.12
    pub const PRECONDITION_FAILED: Self = Self::new(4, 12);
    /// 4.13
    pub const REQUEST_ENTITY_TOO_LARGE: Self = Self::new(4, 13);
    /// 4.15
    pub const UNSUPPORTED_CONTENT_FORMAT: Self = Self::new(4, 15);
    /// 4.22, RFC 8132
    pub const UNPROCESSABLE_ENTITY: Self = Self::new(4, 22);
    /// 4.29, RFC 8516
    pub const TOO_MANY_REQUESTS: Self = Self::new(4, 29);
    /// 5.00
    pub const INTERNAL_SERVER_ERROR: Self = Self::new(5, 0);
    /// 5.01
    pub const NOT_IMPLEMENTED: Self = Self::new(5, 1);
    /// 5.03
    pub const SERVICE_UNAVAILABLE: Self = Self::new(5, 3);
    /// 5.05
    pub const PROXYING_NOT_SUPPORTED: Self = Self::new(5, 5);

    const fn new(class: u8, detail: u8) -> Self {
        Self(class << 5 | detail)
    }

    /// The code that a byte means, if it is a response's: class 2, 4 or 5.
    pub const fn of_byte(byte: u8) -> Option<Self> {
        if matches!(byte >> 5, 2 | 4 | 5) { Some(Self(byte)) } else { None }
    }

    /// Its byte.
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// Whether the request was carried out.
    pub const fn is_success(self) -> bool {
        self.0 >> 5 == 2
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 >> 5, self.0 & 0x1f)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
