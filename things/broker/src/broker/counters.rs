//! How many requests were refused, and why.

macro_rules! refused {
    ($($(#[$doc:meta])* $variant:ident => $name:literal,)*) => {
        /// Why a request was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Refused {
            $($(#[$doc])* $variant,)*
        }

        impl Refused {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

refused! {
    /// The peer asks more often than the policy lets it.
    Rate => "rate",
    /// There is no such resource.
    NotFound => "not_found",
    /// The resource has no such method.
    Method => "method",
    /// Path, query, options or payload are not what the resource takes.
    Malformed => "malformed",
    /// The payload or the response would be in another format.
    Format => "format",
    /// It is longer than the policy lets it be.
    Length => "length",
    /// The policy does not let this caller do that.
    Access => "access",
    /// The caller has as much as the policy lets it have.
    Quota => "quota",
    /// The broker has as much as it keeps.
    Full => "full",
    /// A topic has this name already.
    NameTaken => "name_taken",
    /// The resource is in another version than the request was for.
    Precondition => "precondition",
    /// What is registered belongs to another device.
    NotOwner => "not_owner",
    /// The device has no registration with its key.
    UnknownDevice => "unknown_device",
    /// The signature is not that of the device.
    Signature => "signature",
    /// The reading arrived before, or too late, or is too far ahead.
    Stale => "stale",
    /// The store did not take it.
    NotStored => "not_stored",
    /// An observation was not accepted; the request was answered without.
    Observation => "observation",
    /// An observer had to go because a topic takes fewer.
    Dismissed => "dismissed",
}

/// What a broker refused since it started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    refused: [u64; Refused::ALL.len()],
    /// What the directory refused.
    pub directory: crate::directory::Counters,
    /// Requests handled, with those that were refused.
    pub requests: u64,
    /// Values that were published.
    pub publications: u64,
    /// Readings that were published again while they were the newest value.
    pub repetitions: u64,
    /// Readings whose signature was checked and right.
    pub verified: u64,
    /// Notifications made for observers.
    pub notices: u64,
}

impl Counters {
    /// How many were refused for this reason.
    pub fn refused(&self, why: Refused) -> u64 {
        self.refused[why as usize]
    }

    /// All, with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let refused = Refused::ALL.iter().map(|why| (why.name(), self.refused(*why)));
        let done = [
            ("requests", self.requests),
            ("publications", self.publications),
            ("repetitions", self.repetitions),
            ("verified", self.verified),
            ("notices", self.notices),
        ];
        done.into_iter().chain(refused)
    }

    pub(crate) fn count(&mut self, why: Refused) {
        self.refused[why as usize] += 1;
    }
}
