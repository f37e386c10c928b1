//! What the directory does not do, and how often.

use std::borrow::Cow;

use motemix_coap::{Code, Response};

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It is not what RFC 9176 lets an endpoint ask.
    Malformed,
    /// The links are not in link format.
    Format,
    /// Nothing is registered there.
    Absent,
    /// A key without a proof that the caller holds it.
    Unproven,
    /// A proof that does not hold: wrong key, request or audience, or recorded before.
    NotHeld,
    /// The policy does not let this device or caller register.
    Forbidden,
    /// Somebody else registered it.
    Foreign,
    /// More bytes or links than a registration may have.
    Large,
    /// More registrations from one network than it may have.
    Crowded,
    /// As many registrations or devices as there may be.
    Full,
    /// A look-up that finds more than one answer takes.
    Long,
}

impl Refusal {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 11] = [
        Self::Malformed,
        Self::Format,
        Self::Absent,
        Self::Unproven,
        Self::NotHeld,
        Self::Forbidden,
        Self::Foreign,
        Self::Large,
        Self::Crowded,
        Self::Full,
        Self::Long,
    ];

    /// Its name in counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Format => "format",
            Self::Absent => "absent",
            Self::Unproven => "unproven",
            Self::NotHeld => "not-held",
            Self::Forbidden => "forbidden",
            Self::Foreign => "foreign",
            Self::Large => "large",
            Self::Crowded => "crowded",
            Self::Full => "full",
            Self::Long => "long",
        }
    }
}

/// How many requests were refused, for each reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters([u64; Refusal::ALL.len()]);

impl Counters {
    /// One more.
    pub fn count(&mut self, why: Refusal) {
        if let Some(counter) = self.0.get_mut(why as usize) {
            *counter = counter.saturating_add(1);
        }
    }

    /// How many were refused for this.
    pub fn of(&self, why: Refusal) -> u64 {
        self.0.get(why as usize).copied().unwrap_or_default()
    }

    /// All, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Refusal::ALL.into_iter().map(|why| (why.name(), self.of(why)))
    }
}

/// A refused request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Why.
    pub why: Refusal,
    /// The answer's code.
    pub code: Code,
    /// For people: what is wrong, and what to do.
    pub text: Cow<'static, str>,
    /// When to ask again, in seconds.
    pub max_age: Option<u32>,
    /// How many bytes of links would be taken, if they are too many.
    pub size1: Option<u32>,
}

impl Refused {
    pub(super) const METHOD: Self = Self::new(
        Refusal::Malformed,
        Code::METHOD_NOT_ALLOWED,
        "this resource does not have the method; RFC 9176 lists those that it has",
    );
    pub(super) const ACCEPT: Self =
        Self::new(Refusal::Malformed, Code::NOT_ACCEPTABLE, "there is link format alone (40)");
    pub(super) const ABSENT: Self =
        Self::new(Refusal::Absent, Code::NOT_FOUND, "nothing is registered here; register again");
    pub(super) const FOREIGN: Self = Self::new(
        Refusal::Foreign,
        Code::FORBIDDEN,
        "somebody else registered this; take another name, or wait until it expires",
    );
    pub(super) const UNPROVEN: Self = Self::new(
        Refusal::Unproven,
        Code::UNAUTHORIZED,
        "show that you hold the key: sign the request (proof=), or use OSCORE with EDHOC",
    );
    // One text for all of it: whoever tries must not learn how far the device has counted.
    pub(super) const NOT_HELD: Self = Self::new(
        Refusal::NotHeld,
        Code::FORBIDDEN,
        "the proof does not hold for this key, request and audience, or its number is used up",
    );

    pub(super) const fn new(why: Refusal, code: Code, text: &'static str) -> Self {
        Self { why, code, text: Cow::Borrowed(text), max_age: None, size1: None }
    }

    pub(super) const fn malformed(text: &'static str) -> Self {
        Self::new(Refusal::Malformed, Code::BAD_REQUEST, text)
    }

    pub(super) fn later(why: Refusal, code: Code, text: &'static str) -> Self {
        Self { max_age: Some(60), ..Self::new(why, code, text) }
    }

    /// The answer.
    pub fn response(&self) -> Response {
        Response { max_age: self.max_age, size1: self.size1, ..Response::error(self.code, &self.text) }
    }
}
