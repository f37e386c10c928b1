//! One security context (RFC 8613, section 3).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use motemix_time::Instant;

use super::contexts::{Asking, ContextId};
use super::edhoc::Device;
use super::keys::{Id, Keys};
use super::numbers::Numbers;
use super::renewal::Renewal;
use super::window::{ECHO_LEN, Window};
use crate::Source;

/// Bytes of a master secret at most. RFC 8613 names no bound.
pub const MAX_SECRET_LEN: usize = 255;

/// What both sides were given before they met (RFC 8613, section 3.2).
#[derive(Clone, Copy)]
pub struct Preshared<'a> {
    /// What [`super::NumberStore`] calls it.
    pub name: &'a str,
    /// Random bytes, 16 to [`MAX_SECRET_LEN`].
    pub master_secret: &'a [u8],
    /// Not secret; may be empty.
    pub master_salt: &'a [u8],
    /// Tells contexts with the same identifiers apart; at most 255 bytes.
    pub id_context: Option<&'a [u8]>,
    /// This side's identifier.
    pub sender: &'a [u8],
    /// The other side's.
    pub recipient: &'a [u8],
}

/// What is wrong with a context's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadContext {
    /// An identifier is too long.
    #[error("an identifier of OSCORE has at most 7 bytes")]
    Id,
    /// Both sides would use the same nonces.
    #[error("the identifiers of the two sides are the same: they must differ")]
    SameIds,
    /// It could be guessed.
    #[error("the master secret has less than 16 bytes: make one of 16 random bytes or more")]
    ShortSecret,
    /// It is longer than anybody needs.
    #[error("the master secret has more than 255 bytes: make one of 16 random bytes or more")]
    LongSecret,
    /// There is one byte for its length.
    #[error("the ID Context has more than 255 bytes")]
    IdContext,
}

/// Keys for both directions and what was sent and seen under them.
pub struct Context {
    pub(super) name: Option<Box<str>>,
    pub(super) keys: Box<Keys>,
    pub(super) sender: Id,
    pub(super) recipient: Id,
    pub(super) id_context: Option<Box<[u8]>>,
    pub(super) numbers: Numbers,
    pub(super) window: Window,
    /// Who proved itself when it was made.
    pub(super) device: Option<Device>,
    pub(super) made: Instant,
    pub(super) used: Instant,
    /// What the application is to know of whoever proved itself.
    pub(super) is_known: bool,
    /// What other contexts are made of when this one is lost, if both sides were given it.
    pub(super) renewal: Option<Box<Renewal>>,
    /// The one that both sides were given, if this one was made of it.
    pub(super) given: Option<ContextId>,
    /// Whether requests have the ID Context as a byte string of CBOR (appendix B.2).
    pub(super) wraps: bool,
    /// Where the handshake that made it came from.
    pub(super) source: Option<Source>,
}

impl Context {
    /// A context that both sides were given. `numbers` say how far an earlier process may have come
    /// ([`Numbers::restored`]).
    ///
    /// `echo`, random bytes, if the context may have been used before: what was seen then is
    /// forgotten, and the first request has to give them back (appendix B.1.2).
    pub fn preshared(
        now: Instant,
        given: &Preshared,
        numbers: Numbers,
        echo: Option<[u8; ECHO_LEN]>,
    ) -> Result<Self, BadContext> {
        if given.master_secret.len() < 16 {
            return Err(BadContext::ShortSecret);
        }
        if given.master_secret.len() > MAX_SECRET_LEN {
            return Err(BadContext::LongSecret);
        }
        let made = Self::derive(now, given, numbers)?;
        let window = echo.map_or(Window::FRESH, |echo| Window::Forgotten { echo });
        Ok(Self { window, name: Some(given.name.into()), renewal: Renewal::of(given), ..made })
    }

    /// A context that nobody used before.
    pub(super) fn derive(now: Instant, given: &Preshared, numbers: Numbers) -> Result<Self, BadContext> {
        let id = |bytes| Id::new(bytes).ok_or(BadContext::Id);
        let (sender, recipient) = (id(given.sender)?, id(given.recipient)?);
        if sender == recipient {
            return Err(BadContext::SameIds);
        }
        let secrets = [given.master_secret, given.master_salt];
        let keys = Keys::derive(secrets, given.id_context, [sender, recipient]);
        Ok(Self {
            name: None,
            keys: keys.ok_or(BadContext::IdContext)?,
            sender,
            recipient,
            id_context: given.id_context.map(Into::into),
            numbers,
            window: Window::FRESH,
            device: None,
            made: now,
            used: now,
            is_known: true,
            renewal: None,
            given: None,
            wraps: false,
            source: None,
        })
    }

    /// The same, made by a handshake from there.
    pub(super) fn with_source(self, source: Source) -> Self {
        Self { source: Some(source), ..self }
    }

    /// By what name the other side's requests ask for this context.
    pub(super) fn asked_by(&self) -> Asking {
        (self.recipient, self.id_context.clone())
    }

    /// Made by EDHOC, so that another handshake can make it again.
    pub(super) const fn is_replaceable(&self) -> bool {
        self.name.is_none() && self.renewal.is_none()
    }

    /// Whether it is over.
    pub(super) fn is_expired(&self, now: Instant, lifetime: Duration) -> bool {
        self.is_replaceable() && now - self.made >= lifetime
    }

    /// Who proved itself when the context was made by EDHOC.
    pub const fn device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// How many numbers this side has used.
    pub const fn numbers_used(&self) -> u64 {
        self.numbers.used()
    }
}

/// The source that has the most contexts of strangers, if it has more than the newcomer's has with
/// the newcomer.
pub(super) fn crowd<'c>(contexts: impl Iterator<Item = &'c Context>, newcomer: &Context) -> Option<Source> {
    let mut counts = BTreeMap::<Source, usize>::new();
    for source in contexts.filter(|old| !old.is_known).filter_map(|old| old.source) {
        *counts.entry(source).or_default() += 1;
    }
    let own = newcomer.source.and_then(|source| counts.get(&source).copied()).unwrap_or_default();
    let (source, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (most > own + 1).then_some(source)
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("sender", &self.sender)
            .field("recipient", &self.recipient)
            .field("numbers", &self.numbers)
            .finish_non_exhaustive()
    }
}
