//! What a receiver remembers of messages, so that each is handed over once however often it is
//! tried.

use core::time::Duration;

use motemix_sphinx::Message;

use crate::Instant;
use crate::tag_table::{Found, TagTable, WindowKey, nonzero};

/// The window has no room for another message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WindowFull;

/// What became of a message, in the flag bits of its digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// The application did not reply in time: the next try is offered again.
    Unanswered = 0,
    /// The application has it and has not replied yet.
    Pending = 1,
    /// Acknowledged without data: the next try is acknowledged at once.
    Acknowledged = 2,
    /// Replied to with data, which only the application has.
    Answered = 3,
}

impl Fate {
    const fn of(place: u64) -> Self {
        match place & 0b11 {
            0 => Self::Unanswered,
            1 => Self::Pending,
            2 => Self::Acknowledged,
            _ => Self::Answered,
        }
    }
}

/// Digests of messages in two tables: one of this lifetime, one of the lifetime before. Each is
/// cleared when all its messages are too old to be tried again, so nothing is ever evicted early.
pub(crate) struct Window<'s> {
    tables: [TagTable<'s>; 2],
    newer: usize,
    rotate: Instant,
    key: WindowKey,
}

impl<'s> Window<'s> {
    pub(crate) fn new(tables: [TagTable<'s>; 2], key: WindowKey) -> Self {
        Self { tables, newer: 0, rotate: Instant::from_micros(0), key }
    }

    /// Tells messages apart by id and content: nobody can have another's message suppressed by
    /// guessing its id.
    pub(crate) fn digest(&self, message: &Message<'_>) -> u64 {
        let mut state = self.key.hasher();
        core::hash::Hasher::write(&mut state, &message.id.0);
        core::hash::Hasher::write(&mut state, message.data);
        nonzero(core::hash::Hasher::finish(&state))
    }

    /// What became of the message, if it was seen; an error if it was not and cannot be remembered.
    pub(crate) fn fate(&mut self, digest: u64) -> Result<Option<Fate>, WindowFull> {
        let older = 1 - self.newer;
        if let Found::Present(place) = self.tables[older].find(digest) {
            return Ok(Some(Fate::of(*place)));
        }
        match self.tables[self.newer].find(digest) {
            Found::Present(place) => Ok(Some(Fate::of(*place))),
            Found::Vacant(_) => Ok(None),
            Found::Full => Err(WindowFull),
        }
    }

    /// Remembers what became of the message. Without room nothing is remembered; [`Self::fate`] is
    /// asked first.
    pub(crate) fn set(&mut self, digest: u64, fate: Fate) {
        let value = digest | fate as u64;
        let older = 1 - self.newer;
        if let Found::Present(place) = self.tables[older].find(digest) {
            *place = value;
            return;
        }
        let table = &mut self.tables[self.newer];
        match table.find(digest) {
            Found::Present(place) => *place = value,
            Found::Vacant(place) => {
                *place = value;
                table.added();
            }
            Found::Full => {}
        }
    }

    /// Messages of this lifetime, and how many can be remembered in one.
    pub(crate) fn fill(&self) -> (usize, usize) {
        let newer = &self.tables[self.newer];
        (newer.len(), newer.capacity())
    }

    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        (self.tables[0].len() + self.tables[1].len() > 0).then_some(self.rotate)
    }

    /// Forgets what is older than `lifetime`.
    pub(crate) fn handle_timeout(&mut self, now: Instant, lifetime: Duration) {
        if self.rotate <= now {
            self.newer = 1 - self.newer;
            self.tables[self.newer].clear();
            self.rotate = now + lifetime;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_sphinx::MessageId;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng as _;

    #[test]
    fn a_message_is_remembered_for_one_lifetime_at_least_and_two_at_most() {
        let (mut a, mut b) = ([0; 16], [0; 16]);
        let key = WindowKey::draw(&mut ChaCha8Rng::from_seed([3; 32]));
        let mut window = Window::new([TagTable::new(&mut a, key), TagTable::new(&mut b, key)], key);
        let lifetime = Duration::from_secs(10);
        window.handle_timeout(Instant::from_micros(0), lifetime);
        let digest = window.digest(&Message { id: MessageId([1; 4]), data: b"reading" });
        assert_eq!(window.fate(digest), Ok(None));
        window.set(digest, Fate::Pending);
        window.set(digest, Fate::Answered);
        window.handle_timeout(Instant::from_micros(10_000_000), lifetime);
        assert_eq!(window.fate(digest), Ok(Some(Fate::Answered)));
        window.handle_timeout(Instant::from_micros(20_000_000), lifetime);
        assert_eq!(window.fate(digest), Ok(None));
        assert_eq!(window.next_timeout(), None, "an empty window needs no timer");
    }
}
