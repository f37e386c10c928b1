//! Changes that are made together, as messages of a log that several brokers write
//! (`docs/spec/broker-nats.md`).
//!
//! A message has changes as byte strings in CBOR, one after the other. Its headers name the batch,
//! the message's number in it, and how many there are. A batch counts when it is whole and nothing
//! stands between its messages; what is left of one whose broker died counts for nothing.

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

/// Makes batches, and puts those of others together.
#[derive(Debug)]
pub struct Batches {
    seed: u64,
    next: u64,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    batch: String,
    of: usize,
    taken: usize,
    last: u64,
    changes: Vec<Change>,
}

/// Messages that a batch may have.
const MOST: usize = 1 << 16;
/// The longest name of a batch.
const NAME: usize = 64;

impl Batches {
    /// With what tells batches of this broker from those of others.
    pub const fn new(seed: u64) -> Self {
        Self { seed, next: 0, open: None }
    }

    /// Changes as the messages of one batch, of at most so many bytes each.
    ///
    /// # Errors
    /// A change is longer.
    pub fn split(&mut self, changes: &[Change], most: usize) -> Result<Vec<Message>, LongChange> {
        let batch = format!("{:016x}-{}", self.seed, self.next);
        self.next += 1;
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
        let of = payloads.len();
        let messages = payloads.into_iter().enumerate();
        let message = |(number, payload)| Message { batch: batch.clone(), number, of, payload };
        Ok(messages.map(message).collect())
    }

    /// Takes the next message of the log; the batch, if it is whole now.
    ///
    /// # Errors
    /// No broker of this version wrote it. The batch that it is in counts for nothing.
    pub fn take(&mut self, message: &Logged) -> Result<Option<Whole>, BadMessage> {
        let Logged { kind, batch, number, of, sequence, payload } = message;
        if *of == 0 || *of > MOST || number >= of || batch.len() > NAME {
            return Err(BadMessage::NoBatch);
        }
        let mut open = match self.open.take() {
            Some(open)
                if *number > 0
                    && open.batch == *batch
                    && (open.kind, open.of, open.taken, open.last + 1)
                        == (*kind, *of, *number, *sequence) =>
            {
                open
            }
            // The rest of a batch whose broker came too late with its first message.
            _ if *number > 0 => return Ok(None),
            _ => Open { kind: *kind, batch: batch.clone(), of: *of, taken: 0, last: 0, changes: Vec::new() },
        };
        let mut rest = &payload[..];
        while !rest.is_empty() {
            let (bytes, after) = pull(rest).ok_or(BadMessage::NoBytes)?;
            open.changes.push(Change::decode(bytes)?);
            rest = after;
        }
        (open.taken, open.last) = (open.taken + 1, *sequence);
        if open.taken < open.of {
            self.open = Some(open);
            return Ok(None);
        }
        Ok(Some(Whole { batch: open.batch, kind: open.kind, changes: open.changes }))
    }
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

    fn logged(message: Message, sequence: u64) -> Logged {
        let Message { batch, number, of, payload } = message;
        Logged { kind: Kind::Changes, batch, number, of, sequence, payload }
    }

    #[test]
    fn a_batch_counts_when_it_is_whole_and_in_one_piece() {
        let changes: Vec<_> = (0..5).map(|number| value(number, 100)).collect();
        let mut ours = Batches::new(1);
        let messages = ours.split(&changes, 300).unwrap();
        assert_eq!(messages.len(), 3);
        let mut batches = Batches::new(2);
        let mut take =
            |message: &Message, sequence| batches.take(&logged(message.clone(), sequence)).unwrap();
        assert_eq!(take(&messages[0], 1), None);
        assert_eq!(take(&messages[1], 2), None);
        let whole = take(&messages[2], 3).unwrap();
        let batch = messages[0].batch.clone();
        assert_eq!(whole, Whole { batch, kind: Kind::Changes, changes: changes.clone() });

        // Its broker died after the first message; another one went on, and both are told apart.
        let other = Batches::new(3).split(&changes[..1], 300).unwrap();
        assert_eq!(take(&messages[0], 4), None);
        assert_eq!(take(&other[0], 5).unwrap().changes, changes[..1]);
        assert_eq!(take(&messages[1], 6), None);
        assert_eq!(take(&messages[2], 7), None);
        // Something is missing in the middle.
        assert_eq!(take(&messages[0], 8), None);
        assert_eq!(take(&messages[1], 10), None);
        assert_eq!(take(&messages[2], 11), None);
    }

    #[test]
    fn what_no_broker_writes_is_an_error_that_says_so() {
        let good = Batches::new(1).split(&[value(1, 10)], 300).unwrap().remove(0);
        let taken = |change: &dyn Fn(&mut Message)| {
            let mut message = good.clone();
            change(&mut message);
            Batches::new(2).take(&logged(message, 1))
        };
        assert!(taken(&|_| ()).unwrap().is_some());
        assert_eq!(taken(&|message| message.of = 0), Err(BadMessage::NoBatch));
        assert_eq!(taken(&|message| message.of = usize::MAX), Err(BadMessage::NoBatch));
        assert_eq!(taken(&|message| message.number = 1), Err(BadMessage::NoBatch));
        assert_eq!(taken(&|message| message.batch = "g".repeat(65)), Err(BadMessage::NoBatch));
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
    fn a_change_that_no_message_carries_is_refused_with_a_remedy() {
        let long = Batches::new(1).split(&[value(1, 400)], 300).unwrap_err();
        assert!(long.len > 400 && long.most == 300, "{long}");
        assert!(long.remedy().contains("max_payload"));
    }
}
