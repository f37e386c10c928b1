//! Changes that are made together, as messages of a log that several brokers write
//! (`docs/spec/broker-nats.md`).
//!
//! A message has changes as byte strings in CBOR, one after the other. Its headers name the batch,
//! the message's number in it, how many there are, and the batch that was the last to count when it
//! was decided. The log only puts messages in an order. A batch counts when all of it is there and
//! none has counted since the one that it names; so each reader finds by itself which do, and all
//! find the same. What came too late, what is left of a batch whose broker died, and what stands
//! twice in the log count for nothing.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use crate::Change;
use crate::state::BadChange;

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What changed.
    Changes,
    /// All that is known.
    Snapshot,
}

/// A batch that counts, and where it ends in the log: nothing, at the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The number of its last message.
    pub sequence: u64,
    /// Its name, which no other batch has.
    pub batch: String,
}

impl Place {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (batch, sequence) = text.rsplit_once('/')?;
        Some(Self { sequence: sequence.parse().ok()?, batch: batch.to_owned() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.batch, self.sequence)
    }
}

/// A message of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// What it is about.
    pub kind: Kind,
    /// The name of its batch.
    pub batch: String,
    /// Its place in it, from 0 on.
    pub number: usize,
    /// How many messages the batch has. None says that it is no message of a broker.
    pub of: usize,
    /// The last batch that counted when this one was decided; none in a mark.
    pub after: Option<Place>,
    /// Its place in the log.
    pub sequence: u64,
    /// Changes.
    pub payload: Vec<u8>,
}

/// A message that is to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The name of its batch.
    pub batch: String,
    /// Its place in it, from 0 on.
    pub number: usize,
    /// How many messages the batch has.
    pub of: usize,
    /// The last batch that counts, as far as its broker knows; none in a mark.
    pub after: Option<Place>,
    /// Changes.
    pub payload: Vec<u8>,
}

/// The changes of a whole batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// Its name, which no other batch has.
    pub batch: String,
    /// What it is about.
    pub kind: Kind,
    /// The batch that it follows.
    pub after: Place,
    /// The number of its first message.
    pub first: u64,
    /// In the order in which they are made.
    pub changes: Vec<Change>,
}

/// Why a message is none of a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// It does not say of which batch it is.
    #[error("it is of no batch of changes")]
    NoBatch,
    /// Something else stands in it.
    #[error("it has no changes as byte strings")]
    NoBytes,
    /// A byte string is no change.
    #[error(transparent)]
    Change(#[from] BadChange),
}

/// A change that is longer than a message of the log may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a change of {len} bytes, and a message has {most}")]
pub struct LongChange {
    /// Its length in bytes.
    pub len: usize,
    /// What a message may have.
    pub most: usize,
}

impl LongChange {
    /// What to do.
    pub const fn remedy(&self) -> &'static str {
        "raise max_payload of the servers, or lower limits.payload of the broker"
    }
}

/// Makes batches, puts those of others together, and finds which of them count.
#[derive(Debug)]
pub struct Batches {
    seed: u64,
    next: u64,
    /// The last batches that count, oldest first: as many as a late one may name.
    counted: VecDeque<Place>,
    /// Messages are missing, so that it is not known which batches count: only a snapshot of what
    /// was there at this number, or later, helps.
    lost: Option<u64>,
    /// By name: what follows the last batch that counts. When one of them counts, the others came
    /// too late.
    open: BTreeMap<String, Open>,
}

/// How a batch stands to those that count.
enum Standing {
    Follows,
    Late,
    /// It follows one that is not here.
    Apart,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    of: usize,
    taken: usize,
    after: Place,
    first: u64,
    changes: Vec<Change>,
}

/// Messages that a batch may have.
const MOST: usize = 1 << 16;
/// Batches that count, and are remembered: a late one follows one of them.
const REMEMBERED: usize = 1 << 12;
/// The longest name of a batch.
const NAME: usize = 64;

impl Batches {
    /// With what tells batches of this broker from those of others, for who knows the log up to a
    /// batch.
    pub fn new(seed: u64, head: Place) -> Self {
        Self { seed, next: 0, counted: VecDeque::from([head]), lost: None, open: BTreeMap::new() }
    }

    /// The last batch that counts.
    ///
    /// # Panics
    /// Never: there is one from the beginning on.
    pub fn head(&self) -> &Place {
        self.counted.back().expect("one from the beginning on")
    }

    fn name(&mut self) -> String {
        let name = format!("{:016x}-{}", self.seed, self.next);
        self.next += 1;
        name
    }

    /// A message that changes nothing and may stand anywhere.
    pub fn mark(&mut self) -> Message {
        Message { batch: self.name(), number: 0, of: 1, after: None, payload: Vec::new() }
    }

    /// Whether messages are missing, so that only a snapshot helps.
    pub const fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Messages are missing before the next one.
    pub fn lose(&mut self) {
        self.lose_up_to(self.head().sequence);
    }

    fn lose_up_to(&mut self, sequence: u64) {
        self.lost = self.lost.max(Some(sequence));
        self.open.clear();
    }

    /// This batch counts, and nothing came between it and the one before.
    pub fn count(&mut self, place: Place) {
        if self.counted.len() == REMEMBERED {
            self.counted.pop_front();
        }
        self.counted.push_back(place);
        self.open.clear();
    }

    /// The log is known up to this batch, and no further: a snapshot follows it.
    pub fn go_on(&mut self, head: Place) {
        self.counted = VecDeque::from([head]);
        self.lost = None;
        self.open.clear();
    }

    fn standing(&self, after: &Place) -> Standing {
        if after.batch == self.head().batch {
            return Standing::Follows;
        }
        // In one log, what a broker names has counted there.
        match self.counted.front() {
            Some(oldest) if after.sequence < oldest.sequence => Standing::Late,
            _ if self.counted.contains(after) => Standing::Late,
            _ => Standing::Apart,
        }
    }

    /// Changes as the messages of one batch, of at most so many bytes each.
    ///
    /// # Errors
    /// A change is longer.
    pub fn split(&mut self, changes: &[Change], most: usize) -> Result<Vec<Message>, LongChange> {
        let mut payloads = vec![Vec::new()];
        for change in changes {
            let bytes = change.encode();
            if bytes.len() + HEAD > most {
                return Err(LongChange { len: bytes.len(), most });
            }
            if payloads.last().is_none_or(|payload| payload.len() + bytes.len() + HEAD > most) {
                payloads.push(Vec::new());
            }
            if let Some(payload) = payloads.last_mut() {
                push(payload, &bytes);
            }
        }
        let (of, batch) = (payloads.len(), self.name());
        let messages = payloads.into_iter().enumerate();
        let message = |(number, payload)| {
            let (batch, after) = (batch.clone(), Some(self.head().clone()));
            Message { batch, number, of, after, payload }
        };
        Ok(messages.map(message).collect())
    }

    /// Takes the next message of the log; the batch, if it is whole now and counts. Of who is lost,
    /// a snapshot that is whole: it is the state after the batch that it follows.
    ///
    /// # Errors
    /// No broker of this version wrote it. The batch that it is in counts for nothing.
    pub fn take(&mut self, message: &Logged) -> Result<Option<Whole>, BadMessage> {
        let Logged { kind, batch, number, of, after, sequence, payload } = message;
        let names = [batch, after.as_ref().map_or(batch, |after| &after.batch)];
        if *of == 0 || *of > MOST || number >= of || names.iter().any(|name| name.len() > NAME) {
            return Err(BadMessage::NoBatch);
        }
        let Some(after) = after else {
            let is_mark = *of == 1 && payload.is_empty();
            return if is_mark { Ok(None) } else { Err(BadMessage::NoBatch) };
        };
        // Before anything is noted of it: it is the same error the next time.
        let changes = changes_in(payload)?;
        if *number == 0 {
            // Once more, because its broker heard of no acknowledgement; or for the first time.
            self.open.remove(batch);
            if !self.opens(*kind, after, *sequence) {
                return Ok(None);
            }
            let (after, first) = (after.clone(), *sequence);
            let open = Open { kind: *kind, of: *of, taken: 0, after, first, changes: Vec::new() };
            self.open.insert(batch.clone(), open);
        }
        // Otherwise it came too late, or stands here twice.
        let fits = |open: &&mut Open| (open.kind, open.of, open.taken) == (*kind, *of, *number);
        let Some(open) = self.open.get_mut(batch).filter(fits) else { return Ok(None) };
        open.changes.extend(changes);
        open.taken += 1;
        if open.taken < open.of {
            return Ok(None);
        }
        let Some(Open { kind, after, first, changes, .. }) = self.open.remove(batch) else { return Ok(None) };
        if self.lost.is_none() {
            self.count(Place { sequence: *sequence, batch: batch.clone() });
        }
        Ok(Some(Whole { batch: batch.clone(), kind, after, first, changes }))
    }

    /// Whether a batch that begins here can count, or help who is lost.
    fn opens(&mut self, kind: Kind, after: &Place, sequence: u64) -> bool {
        // It would follow itself: numbers of a log that is not there any more.
        if after.sequence >= sequence {
            return false;
        }
        if self.lost.is_none() {
            match self.standing(after) {
                Standing::Follows => return true,
                Standing::Late => return false,
                Standing::Apart => self.lose_up_to(after.sequence),
            }
        }
        kind == Kind::Snapshot && self.lost.is_some_and(|lost| after.sequence >= lost)
    }
}

/// The changes in a message.
fn changes_in(payload: &[u8]) -> Result<Vec<Change>, BadMessage> {
    let (mut rest, mut changes) = (payload, Vec::new());
    while !rest.is_empty() {
        let (bytes, after) = pull(rest).ok_or(BadMessage::NoBytes)?;
        changes.push(Change::decode(bytes)?);
        rest = after;
    }
    Ok(changes)
}

/// Bytes before a byte string.
const HEAD: usize = 5;

/// A byte string in CBOR, with a length of four bytes.
fn push(payload: &mut Vec<u8>, bytes: &[u8]) {
    payload.push(0x5a);
    payload.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    payload.extend_from_slice(bytes);
}

fn pull(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = payload.split_first_chunk::<HEAD>()?;
    let [0x5a, len @ ..] = *head else { return None };
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(len)).ok()?)
}

#[cfg(test)]
mod tests {
    use std::slice;
    use std::sync::Arc;

    use crate::Moment;
    use crate::state::{Signed, TopicId, Value};

    use super::*;

    fn value(number: u8, len: usize) -> Change {
        let value = Value {
            published: Moment::from_millis(number.into()),
            content_format: None,
            payload: vec![number; len].into(),
            signed: Signed::Unchecked,
        };
        Change::Value(TopicId(format!("t{number}").into()), Some(Arc::new(value)))
    }

    fn logged(message: &Message, kind: Kind, sequence: u64) -> Logged {
        let Message { batch, number, of, after, payload } = message.clone();
        Logged { kind, batch, number, of, after, sequence, payload }
    }

    /// Takes messages in this order, the first as message 1: the places of those that make a batch
    /// whole that counts.
    fn counting(messages: &[&Message]) -> Vec<usize> {
        let mut reader = Batches::new(9, Place::default());
        let taken = messages.iter().zip(1..).map(|(message, sequence)| {
            reader.take(&logged(message, Kind::Changes, sequence)).expect("a message").is_some()
        });
        taken.zip(1..).filter(|(counts, _)| *counts).map(|(_, place)| place).collect()
    }

    #[test]
    fn a_batch_counts_when_it_is_whole_and_none_counted_since_it_was_decided() {
        let changes: Vec<_> = (0..5).map(|number| value(number, 100)).collect();
        let start = Place::default;
        let long = Batches::new(1, start()).split(&changes, 300).unwrap();
        let [first, second, third] = &long[..] else { panic!("{long:?}") };
        let whole = {
            let mut reader = Batches::new(9, start());
            let mut take = |message, at| reader.take(&logged(message, Kind::Changes, at)).unwrap();
            assert_eq!((take(first, 1), take(second, 2)), (None, None));
            take(third, 3).unwrap()
        };
        assert_eq!((whole.after, whole.first, whole.changes), (start(), 1, changes.clone()));
        let other = Batches::new(2, start()).split(&changes[..1], 300).unwrap().remove(0);
        let mark = Batches::new(3, start()).mark();
        let head = Place { sequence: 3, batch: first.batch.clone() };
        let next = Batches::new(4, head).split(&changes[..1], 300).unwrap().remove(0);

        // What stands between its messages does not matter, if it does not count.
        assert_eq!(counting(&[first, &mark, second, &mark, third, &next]), [5, 6]);
        // Another one was whole before.
        assert_eq!(counting(&[first, &other, second, third]), [2]);
        // Its broker died; or heard nothing, and published it all again.
        assert_eq!(counting(&[first, second, &other]), [3]);
        assert_eq!(counting(&[first, second, first, second, third, &next, third]), [5, 6]);
        assert_eq!(counting(&[first, second, third, first, second, third, &next]), [3, 7]);
        assert_eq!(counting(&[&other, &other, &other]), [1]);
        // Not in their order.
        assert_eq!(counting(&[first, third, &other]), [3]);
    }

    #[test]
    fn who_lacks_a_batch_goes_on_with_a_snapshot_that_has_it() {
        let (kept, lost) = (value(1, 10), value(2, 10));
        let mut writer = Batches::new(1, Place::default());
        let mut written = Vec::new();
        let mut write = |kind, changes: &[Change]| {
            let message = writer.split(changes, 300).unwrap().remove(0);
            written.push(logged(&message, kind, written.len() as u64 + 1));
            writer.take(written.last().unwrap()).unwrap().unwrap();
        };
        let all = [kept.clone(), lost.clone()];
        write(Kind::Changes, slice::from_ref(&kept));
        write(Kind::Snapshot, &[kept]);
        write(Kind::Changes, &[lost]);
        write(Kind::Changes, &[]);
        write(Kind::Snapshot, &all);
        write(Kind::Changes, &[]);
        let mut reader = Batches::new(2, Place::default());
        let mut take = |at: usize| reader.take(&written[at]).unwrap();
        // The third message is not there.
        assert!(take(0).is_some() && take(1).is_some() && take(3).is_none());
        let found = take(4).unwrap();
        assert_eq!((&found.after.batch, &found.changes[..]), (&written[3].batch, &all[..]));
        assert!(reader.is_lost());
        reader.go_on(found.after);
        assert!(reader.take(&written[4]).unwrap().is_some() && reader.take(&written[5]).unwrap().is_some());
        // The snapshot before it does not help.
        let mut reader = Batches::new(2, Place::default());
        reader.take(&written[3]).unwrap();
        assert!(reader.is_lost() && reader.take(&written[1]).unwrap().is_none());
    }

    fn place(sequence: u64, batch: &str) -> Place {
        Place { sequence, batch: batch.to_owned() }
    }

    fn one(seed: u64, head: Place) -> Message {
        Batches::new(seed, head).split(&[value(1, 10)], 300).unwrap().remove(0)
    }

    #[test]
    fn a_batch_that_follows_none_of_this_log_shows_that_messages_are_missing() {
        let first = one(1, Place::default());
        let counted = place(1, &first.batch);
        let took = |message: Message| {
            let mut reader = Batches::new(9, Place::default());
            reader.take(&logged(&first, Kind::Changes, 1)).unwrap().unwrap();
            let next = logged(&one(2, counted.clone()), Kind::Changes, 2);
            reader.take(&next).unwrap().unwrap();
            let whole = reader.take(&logged(&message, Kind::Changes, 3)).unwrap();
            (whole.is_some(), reader.is_lost())
        };
        assert_eq!(took(one(3, place(2, &one(2, counted.clone()).batch))), (true, false));
        // Too late, once for each that counted.
        assert_eq!(took(one(3, counted.clone())), (false, false));
        assert_eq!(took(one(3, Place::default())), (false, false));
        // Of another history: with another batch at a number, or between two.
        assert_eq!(took(one(3, place(1, "another"))), (false, true));
        assert_eq!(took(one(3, place(2, "another"))), (false, true));
        // Numbers of a log that went further than this one: it says nothing of this one.
        assert_eq!(took(one(3, place(3, "another"))), (false, false));
        assert_eq!(took(one(3, place(50, "another"))), (false, false));
    }

    #[test]
    fn what_no_broker_wrote_is_the_same_error_the_next_time() {
        let changes: Vec<_> = (0..3).map(|number| value(number, 100)).collect();
        let long = Batches::new(1, Place::default()).split(&changes, 250).unwrap();
        let mut reader = Batches::new(9, Place::default());
        assert_eq!(reader.take(&logged(&long[0], Kind::Changes, 1)), Ok(None));
        let bad = Message { payload: vec![0x5a, 0, 0, 0, 1, 0xff], ..long[1].clone() };
        for _ in 0..2 {
            assert!(matches!(reader.take(&logged(&bad, Kind::Changes, 2)), Err(BadMessage::Change(_))));
        }
    }

    #[test]
    fn a_snapshot_that_came_too_late_makes_nothing_count_that_does_not() {
        let changes: Vec<_> = (0..3).map(|number| value(number, 100)).collect();
        let (old, new) = (place(40, "q"), place(50, "p"));
        let late = Batches::new(1, old.clone()).split(&changes[..1], 150).unwrap().remove(0);
        let long = Batches::new(2, new.clone()).split(&changes, 150).unwrap();
        // What stands before was removed: 60 is the first message.
        let order = [&long[0], &late, &long[1], &long[2]];
        let mut reader = Batches::new(9, Place::default());
        reader.lose();
        let mut begun = Vec::new();
        let mut at = 0;
        while let Some(message) = order.get(at) {
            at += 1;
            let lost = reader.is_lost();
            if let Some(whole) = reader.take(&logged(message, Kind::Snapshot, 59 + at as u64)).unwrap() {
                begun.push((whole.batch.clone(), lost));
                if lost {
                    reader.go_on(whole.after);
                    at = 0;
                }
            }
        }
        let (late, long) = (late.batch.clone(), long[0].batch.clone());
        assert_eq!(begun, [(late, true), (long.clone(), true), (long.clone(), false)]);
        assert_eq!(reader.head(), &place(63, &long));
    }

    proptest::proptest! {
        /// Brokers publish when they like, look when they like, die in the middle of a batch and
        /// hear of no acknowledgement: all readers find the same batches, each of which was decided
        /// with all before it known.
        #[test]
        fn all_readers_find_one_history(deeds in proptest::collection::vec((0_usize..3, 0_u8..6), 1..80)) {
            let changes = [value(1, 100), value(2, 100), value(3, 100)];
            let mut log: Vec<Logged> = Vec::new();
            let mut brokers: Vec<_> =
                (0..3).map(|seed| (Batches::new(seed, Place::default()), 0, Vec::new())).collect();
            let mut begun: Vec<(usize, Vec<Message>)> = vec![(0, Vec::new()); 3];
            for (at, deed) in deeds {
                let (batches, read, found) = &mut brokers[at];
                match deed {
                    0 | 1 => begun[at] = (0, batches.split(&changes[..=usize::from(deed)], 150).unwrap()),
                    2 => begun[at].0 = 0,
                    3 | 4 => {
                        let (next, messages) = &mut begun[at];
                        if let Some(message) = messages.get(*next) {
                            log.push(logged(message, Kind::Changes, log.len() as u64 + 1));
                            *next += 1;
                        }
                    }
                    _ => {
                        for message in &log[*read..] {
                            found.extend(batches.take(message).unwrap().map(|whole| (whole.batch, whole.after)));
                        }
                        *read = log.len();
                    }
                }
            }
            let mut reader = Batches::new(9, Place::default());
            let mut history = Vec::new();
            let mut head = Place::default();
            for message in &log {
                if let Some(whole) = reader.take(message).unwrap() {
                    proptest::prop_assert_eq!(&whole.after, &head);
                    head = Place { sequence: message.sequence, batch: whole.batch.clone() };
                    history.push((whole.batch, whole.after));
                }
            }
            for (_, _, found) in &brokers {
                proptest::prop_assert!(history.starts_with(found));
            }
        }
    }

    #[test]
    fn what_no_broker_writes_is_an_error_that_says_so() {
        let good = Batches::new(1, Place::default()).split(&[value(1, 10)], 300).unwrap().remove(0);
        let taken = |change: &dyn Fn(&mut Message)| {
            let mut message = good.clone();
            change(&mut message);
            Batches::new(2, Place::default()).take(&logged(&message, Kind::Changes, 1))
        };
        assert!(taken(&|_| ()).unwrap().is_some());
        assert_eq!(taken(&|message| message.of = 0), Err(BadMessage::NoBatch));
        assert_eq!(taken(&|message| message.of = usize::MAX), Err(BadMessage::NoBatch));
        assert_eq!(taken(&|message| message.number = 1), Err(BadMessage::NoBatch));
        assert_eq!(taken(&|message| message.batch = "g".repeat(65)), Err(BadMessage::NoBatch));
        let far = Place { sequence: 0, batch: "g".repeat(65) };
        assert_eq!(taken(&|message| message.after = Some(far.clone())), Err(BadMessage::NoBatch));
        // Changes that say nothing of what they follow.
        assert_eq!(taken(&|message| message.after = None), Err(BadMessage::NoBatch));
        assert_eq!(taken(&|message| message.payload.push(0)), Err(BadMessage::NoBytes));
        assert_eq!(
            taken(&|message| message.payload.truncate(message.payload.len() - 1)),
            Err(BadMessage::NoBytes)
        );
        assert!(matches!(taken(&|message| message.payload[5] ^= 1), Err(BadMessage::Change(_))));
        // A length that is not there.
        assert_eq!(
            taken(&|message| message.payload = vec![0x5a, 0xff, 0xff, 0xff, 0xff]),
            Err(BadMessage::NoBytes)
        );
    }

    #[test]
    fn a_place_reads_what_it_writes() {
        for place in [Place::default(), Place { sequence: u64::MAX, batch: "a-7/b".to_owned() }] {
            assert_eq!(Place::parse(&place.to_string()), Some(place));
        }
        for bad in ["", "a", "a/", "a/b", "a/-1", "a/18446744073709551616"] {
            assert_eq!(Place::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_change_that_no_message_carries_is_refused_with_a_remedy() {
        let long = Batches::new(1, Place::default()).split(&[value(1, 400)], 300).unwrap_err();
        assert!(long.len > 400 && long.most == 300, "{long}");
        assert!(long.remedy().contains("max_payload"));
    }
}
