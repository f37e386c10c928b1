//! A log that several brokers write, some of which die in between, and somebody who writes what he likes:
//! a batch comes out whole and as it was, or not at all.
#![cfg_attr(fuzzing, no_main)]

use motemix_fuzz::fuzz_target;
use std::sync::Arc;

use arbitrary::Arbitrary;
use motemix_broker::state::{Signed, TopicId, Value};
use motemix_broker::store::batch::{Batches, Kind, Logged};
use motemix_broker::{Change, Moment};

#[derive(Arbitrary, Debug)]
enum Step<'b> {
    /// A broker publishes values of these lengths, and dies after so many messages.
    Batch { broker: u8, snapshot: bool, lengths: Vec<u8>, dies_after: u8, lost: Option<u8> },
    /// A message of somebody else.
    Message { batch: &'b str, number: u8, of: u8, payload: &'b [u8] },
}

/// The longest message: a few values.
const MOST: usize = 400;

fn value(length: u8) -> Change {
    let value = Value {
        published: Moment::from_millis(length.into()),
        content_format: Some(u16::from(length)),
        payload: vec![length; length.into()].into(),
        signed: Signed::Unchecked,
    };
    Change::Value(TopicId("t".into()), Some(Arc::new(value)))
}

fuzz_target!(|steps: Vec<Step<'_>>| {
    let mut brokers = [1, 2].map(Batches::new);
    let mut reader = Batches::new(3);
    let mut sequence = 0;
    for step in steps {
        match step {
            Step::Batch { broker, snapshot, lengths, dies_after, lost } => {
                let changes: Vec<Change> = lengths.iter().take(16).map(|length| value(*length)).collect();
                let kind = if snapshot { Kind::Snapshot } else { Kind::Changes };
                let messages = brokers[usize::from(broker % 2)].split(&changes, MOST);
                let messages = messages.expect("no value is longer");
                let of = messages.len();
                let is_whole =
                    usize::from(dies_after) >= of && lost.is_none_or(|lost| usize::from(lost) >= of);
                let mut out = None;
                for message in messages.into_iter().take(dies_after.into()) {
                    assert!(message.payload.len() <= MOST);
                    sequence += 1;
                    if lost == u8::try_from(message.number).ok() {
                        continue;
                    }
                    let (batch, number, of, payload) =
                        (message.batch, message.number, message.of, message.payload);
                    let logged = Logged { kind, batch, number, of, sequence, payload };
                    let whole = reader.take(&logged).expect("a broker wrote it");
                    assert!(out.is_none(), "it was whole before its last message");
                    out = whole;
                }
                assert_eq!(out.is_some(), is_whole);
                if let Some(whole) = out {
                    assert_eq!((whole.kind, whole.changes), (kind, changes));
                }
            }
            Step::Message { batch, number, of, payload } => {
                sequence += 1;
                let (number, of, payload) = (number.into(), of.into(), payload.to_vec());
                let logged =
                    Logged { kind: Kind::Changes, batch: batch.to_owned(), number, of, sequence, payload };
                if let Err(why) = reader.take(&logged) {
                    assert!(!why.to_string().contains('\n'), "{why}");
                }
            }
        }
    }
});
