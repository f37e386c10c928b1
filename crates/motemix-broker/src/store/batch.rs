//! A batch of messages: changes that are made together.
//!
//! A message has changes as byte strings in CBOR, one after the other. Its headers name the batch,
//! the message's number in it, and how many there are. A batch counts when it is whole and nothing
//! stands between its messages; what is left of one whose broker died counts for nothing.

use motemix_broker::Change;
use motemix_broker::state::BadChange;
use motemix_broker::store::StoreError;

use crate::connection::{Kind, Stored};

/// A message that is to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) batch: String,
    pub(crate) number: usize,
    pub(crate) of: usize,
    pub(crate) payload: Vec<u8>,
}

/// The changes of a whole batch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Whole {
    pub(crate) kind: Kind,
    pub(crate) changes: Vec<Change>,
}

/// Why a message is none of a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadMessage {
    #[error("it is of no batch of changes")]
    NoBatch,
    #[error("it has no changes as byte strings")]
    NoBytes,
    #[error(transparent)]
    Change(#[from] BadChange),
}

/// Makes batches, and puts those of others together.
#[derive(Debug)]
pub(crate) struct Batches {
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
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, next: 0, open: None }
    }

    /// Changes as the messages of one batch.
    pub(crate) fn split(&mut self, changes: &[Change], most: usize) -> Result<Vec<Message>, StoreError> {
        let batch = format!("{:016x}-{}", self.seed, self.next);
        self.next += 1;
        let mut payloads = vec![Vec::new()];
        for change in changes {
            let bytes = change.encode();
            if bytes.len() + HEAD > most {
                return Err(StoreError::Remote {
                    store: "nats".to_owned(),
                    problem: format!("a change of {} bytes; its servers take {most}", bytes.len()),
                    remedy: "raise max_payload of the servers, or lower limits.payload of the broker"
                        .to_owned(),
                });
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

    /// Takes the next message of the stream; the batch, if it is whole now.
    pub(crate) fn take(&mut self, message: &Stored) -> Result<Option<Whole>, BadMessage> {
        let Stored { kind, batch, number, of, sequence, payload } = message;
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
        Ok(Some(Whole { kind: open.kind, changes: open.changes }))
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

    use motemix_broker::Moment;
    use motemix_broker::state::{Signed, TopicId, Value};

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

    fn stored(message: Message, sequence: u64) -> Stored {
        let Message { batch, number, of, payload } = message;
        Stored { kind: Kind::Changes, batch, number, of, sequence, payload }
    }

    #[test]
    fn a_batch_counts_when_it_is_whole_and_in_one_piece() {
        let changes: Vec<_> = (0..5).map(|number| value(number, 100)).collect();
        let mut ours = Batches::new(1);
        let messages = ours.split(&changes, 300).unwrap();
        assert_eq!(messages.len(), 3);
        let mut batches = Batches::new(2);
        let mut take =
            |message: &Message, sequence| batches.take(&stored(message.clone(), sequence)).unwrap();
        assert_eq!(take(&messages[0], 1), None);
        assert_eq!(take(&messages[1], 2), None);
        let whole = take(&messages[2], 3).unwrap();
        assert_eq!(whole, Whole { kind: Kind::Changes, changes: changes.clone() });

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
            Batches::new(2).take(&stored(message, 1))
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
        let error = Batches::new(1).split(&[value(1, 400)], 300).unwrap_err().to_string();
        assert!(error.contains("max_payload"), "{error}");
    }
}
