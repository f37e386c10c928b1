//! How much room the values of each creator take, and which of them go when it is too much.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use motemix_object::Identity;

use crate::Moment;
use crate::state::{Topic, TopicId};
use crate::store::Retention;

/// A change of at most so many bytes stands in a page with others.
const IN_A_PAGE: u64 = 800;
/// Bytes that a row takes beside its change.
const ROW: u64 = 64;
/// Bytes of a change in a page of its own.
const PAGE: u64 = 4092;
/// What is at least removed at a time is this part of a bound, or so many bytes: whose oldest value
/// goes is looked up once for all of them.
const AT_ONCE: (u64, u64) = (64, 1 << 18);

/// What a value takes in the file, by the length of its change.
pub(super) const fn taken(len: u64) -> u64 {
    if len <= IN_A_PAGE { len + ROW } else { len.div_ceil(PAGE) * PAGE + IN_A_PAGE }
}

/// The same, as SQL.
pub(super) fn sum_of_taken() -> String {
    format!(
        "sum(CASE WHEN length(change) <= {IN_A_PAGE} THEN length(change) + {ROW}
             ELSE (length(change) + {PAGE} - 1) / {PAGE} * {PAGE} + {IN_A_PAGE} END)"
    )
}

/// Whose values are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Holder {
    /// The device that made the topic, or else the one whose readings it takes.
    Device(Identity),
    Others,
}

impl Holder {
    pub(super) fn of(topic: &Topic) -> Self {
        topic.owner.or(topic.device).map_or(Self::Others, Self::Device)
    }

    const fn bound(self, retention: &Retention) -> u64 {
        match self {
            Self::Device(_) => retention.bytes_of_a_device,
            Self::Others => retention.bytes_of_others,
        }
    }
}

/// Which places of a topic's history are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: i64,
    pub(super) next: i64,
    /// When the first was published.
    pub(super) oldest: Moment,
    /// What all of them take.
    pub(super) bytes: u64,
    /// What the first takes, if it was looked at.
    pub(super) of_first: Option<u64>,
}

impl Span {
    pub(super) const fn empty(published: Moment) -> Self {
        Self { first: 0, next: 0, oldest: published, bytes: 0, of_first: None }
    }

    /// Whether there is more than the newest.
    pub(super) const fn has_older(&self) -> bool {
        self.first + 1 < self.next
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    holder: Holder,
    span: Option<Span>,
}

#[derive(Debug, Default)]
struct Holding {
    bytes: u64,
    topics: HashSet<TopicId>,
}

/// The spans of all topics, as the file has them, and as the open transaction makes them.
#[derive(Debug)]
pub(super) struct Room {
    retention: Retention,
    topics: HashMap<TopicId, Entry>,
    holdings: HashMap<Holder, Holding>,
    bytes: u64,
    /// What was before the open transaction, in the order in which it changed.
    before: Vec<(TopicId, Option<Entry>)>,
    /// Holders who have more than they may.
    above: Vec<Holder>,
}

fn bytes(entry: Option<&Entry>) -> u64 {
    entry.and_then(|entry| entry.span).map_or(0, |span| span.bytes)
}

impl Room {
    pub(super) fn new(retention: Retention) -> Self {
        let (topics, holdings) = (HashMap::new(), HashMap::new());
        Self { retention, topics, holdings, bytes: 0, before: Vec::new(), above: Vec::new() }
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn span(&self, id: &TopicId) -> Option<Span> {
        self.topics.get(id)?.span
    }

    pub(super) fn spans(&self) -> impl Iterator<Item = (&TopicId, Span)> {
        self.topics.iter().filter_map(|(id, entry)| Some((id, entry.span?)))
    }

    pub(super) fn set(&mut self, id: &TopicId, span: Option<Span>) {
        let Some(entry) = self.topics.get_mut(id) else {
            let before = self.replace(id, Some(Entry { holder: Holder::Others, span }));
            self.before.push((id.clone(), before));
            return;
        };
        let before = std::mem::replace(entry, Entry { span, ..*entry });
        let (more, less) = (bytes(Some(entry)), bytes(Some(&before)));
        self.bytes = self.bytes + more - less;
        self.before.push((id.clone(), Some(before)));
        let holder = before.holder;
        if let Some(holding) = self.holdings.get_mut(&holder) {
            holding.bytes = holding.bytes + more - less;
            if holding.bytes > holder.bound(&self.retention) && self.above.last() != Some(&holder) {
                self.above.push(holder);
            }
        }
    }

    /// The topic is this one from now on, or none.
    pub(super) fn keep(&mut self, id: &TopicId, topic: Option<&Topic>) {
        let span = self.span(id);
        let holder = topic.map_or(Holder::Others, Holder::of);
        let new = (topic.is_some() || span.is_some()).then_some(Entry { holder, span });
        let before = self.replace(id, new);
        self.before.push((id.clone(), before));
    }

    fn replace(&mut self, id: &TopicId, new: Option<Entry>) -> Option<Entry> {
        let is_new = |entry: &Entry| self.topics.get(id).is_none_or(|old| old.holder != entry.holder);
        if let Some(entry) = new.filter(is_new) {
            self.holdings.entry(entry.holder).or_default().topics.insert(id.clone());
        }
        let old = match new {
            Some(entry) => self.topics.insert(id.clone(), entry),
            None => self.topics.remove(id),
        };
        self.bytes = self.bytes + bytes(new.as_ref()) - bytes(old.as_ref());
        if let Some(entry) = new {
            self.holdings.entry(entry.holder).or_default().bytes += bytes(new.as_ref());
        }
        if let Some(entry) = old
            && let Some(holding) = self.holdings.get_mut(&entry.holder)
        {
            holding.bytes -= bytes(old.as_ref());
            if new.is_none_or(|new| new.holder != entry.holder) {
                holding.topics.remove(id);
                if holding.topics.is_empty() {
                    self.holdings.remove(&entry.holder);
                }
            }
        }
        old
    }

    /// The file has what the transaction made.
    pub(super) fn commit(&mut self) {
        self.before.clear();
        self.above.clear();
    }

    /// The file has nothing of it.
    pub(super) fn take_back(&mut self) {
        while let Some((id, before)) = self.before.pop() {
            self.replace(&id, before);
        }
        self.above.clear();
    }

    /// Who has more than he may, and how much he may keep. Of all together it is who has the most.
    pub(super) fn too_much(&mut self) -> Option<(Holder, u64)> {
        let retention = self.retention;
        let less = |bound: u64| bound - (bound / AT_ONCE.0).min(AT_ONCE.1);
        while let Some(holder) = self.above.pop() {
            let bound = holder.bound(&retention);
            if self.holdings.get(&holder).is_some_and(|holding| holding.bytes > bound)
                && self.has_older(holder)
            {
                return Some((holder, less(bound)));
            }
        }
        if self.bytes <= retention.bytes {
            return None;
        }
        let with_older = self.holdings.iter().filter(|(holder, _)| self.has_older(**holder));
        let mut most: Option<(u64, Holder)> = None;
        let mut next = 0;
        for (holder, holding) in with_older {
            let one = (holding.bytes, *holder);
            if most.is_none_or(|most| one > most) {
                next = most.map_or(next, |(bytes, _)| bytes);
                most = Some(one);
            } else {
                next = next.max(holding.bytes);
            }
        }
        let (bytes, holder) = most?;
        let needed = bytes.saturating_sub(self.bytes - less(retention.bytes));
        // Two who have as much give in turn, and not all of one before any of the other.
        let step = bytes - (bytes / AT_ONCE.0).clamp(1, AT_ONCE.1);
        Some((holder, needed.max(next.min(step))))
    }

    fn has_older(&self, holder: Holder) -> bool {
        self.of(holder).next().is_some()
    }

    fn of(&self, holder: Holder) -> impl Iterator<Item = (&TopicId, Span)> {
        let topics = self.holdings.get(&holder).into_iter().flat_map(|holding| &holding.topics);
        topics.filter_map(|id| Some((id, self.span(id).filter(Span::has_older)?)))
    }

    /// Takes away the oldest values of a holder until he has so many bytes. `remove` removes the
    /// first of a topic, and says what is left.
    pub(super) fn shrink<E>(
        &mut self,
        (holder, keep): (Holder, u64),
        mut remove: impl FnMut(&TopicId, Span) -> Result<Span, E>,
    ) -> Result<u64, E> {
        let mut oldest: BinaryHeap<_> =
            self.of(holder).map(|(id, span)| Reverse((span.oldest, id.clone()))).collect();
        let mut removed = 0;
        while self.holdings.get(&holder).is_some_and(|holding| holding.bytes > keep) {
            let Some(Reverse((_, id))) = oldest.pop() else { break };
            let Some(span) = self.span(&id) else { continue };
            let span = remove(&id, span)?;
            removed += 1;
            if span.has_older() {
                oldest.push(Reverse((span.oldest, id.clone())));
            }
            self.set(&id, Some(span));
        }
        Ok(removed)
    }
}
