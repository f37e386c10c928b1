//! A log that several brokers write, some of which die in between or do not look at what others wrote, and
//! somebody who writes what he likes: a batch counts if it is whole and was decided with all before it known,
//! comes out as it was, and all who read find the same ones.
#![cfg_attr(fuzzing, no_main)]

use motemix_fuzz::fuzz_target;
use std::sync::Arc;

use arbitrary::Arbitrary;
use motemix_broker::state::{Signed, TopicId, Value};
use motemix_broker::store::batch::{Batches, Kind, Logged, Place};
use motemix_broker::{Change, Moment};

#[derive(Arbitrary, Debug)]
enum Step<'b> {
    /// A broker publishes values of these lengths, and dies after so many messages.
    Batch { broker: u8, snapshot: bool, lengths: Vec<u8>, dies_after: u8, lost: Option<u8> },
    /// A broker looks at what was written.
    Look { broker: u8 },
    /// A message of somebody else.
    Message { batch: &'b str, number: u8, of: u8, after: Option<(&'b str, u8)>, payload: &'b [u8] },
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

/// Somebody who reads the log, and the batches that counted, by name.
struct Reader {
    batches: Batches,
    read: usize,
    counted: Vec<String>,
}

impl Reader {
    fn new(seed: u64) -> Self {
        Self { batches: Batches::new(seed, Place::default()), read: 0, counted: Vec::new() }
    }

    /// Reads the rest of the log: the last batch that came out.
    fn look(&mut self, log: &[Logged]) -> Option<(Kind, Vec<Change>)> {
        let mut last = None;
        for message in &log[self.read..] {
            match self.batches.take(message) {
                Ok(Some(whole)) if self.batches.is_lost() => {
                    assert_eq!(whole.kind, Kind::Snapshot);
                    self.batches.go_on(whole.after);
                }
                Ok(Some(whole)) => {
                    self.counted.push(whole.batch);
                    last = Some((whole.kind, whole.changes));
                }
                Ok(None) => {}
                Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
            }
        }
        self.read = log.len();
        last
    }

    fn knows_all_of(&self, other: &Self) -> bool {
        !self.batches.is_lost() && !other.batches.is_lost() && self.counted == other.counted
    }
}

fuzz_target!(|steps: Vec<Step<'_>>| {
    let mut brokers = [1, 2].map(Reader::new);
    let mut reader = Reader::new(3);
    let mut log = Vec::new();
    for step in steps {
        match step {
            Step::Batch { broker, snapshot, lengths, dies_after, lost } => {
                let broker = &mut brokers[usize::from(broker % 2)];
                let changes: Vec<Change> = lengths.iter().take(16).map(|length| value(*length)).collect();
                let kind = if snapshot { Kind::Snapshot } else { Kind::Changes };
                let messages = broker.batches.split(&changes, MOST).expect("no value is longer");
                let of = messages.len();
                let is_whole =
                    usize::from(dies_after) >= of && lost.is_none_or(|lost| usize::from(lost) >= of);
                let (in_time, sane) = (broker.knows_all_of(&reader), !reader.batches.is_lost());
                let mut out = None;
                for message in messages.into_iter().take(dies_after.into()) {
                    assert!(message.payload.len() <= MOST);
                    if lost == u8::try_from(message.number).ok() {
                        continue;
                    }
                    let sequence = log.len() as u64 + 1;
                    let (batch, number, of, after, payload) =
                        (message.batch, message.number, message.of, message.after, message.payload);
                    log.push(Logged { kind, batch, number, of, after, sequence, payload });
                    assert!(out.is_none(), "it was whole before its last message");
                    out = reader.look(&log);
                }
                if sane && in_time {
                    assert_eq!(out, is_whole.then_some((kind, changes)));
                }
            }
            Step::Look { broker } => {
                let broker = &mut brokers[usize::from(broker % 2)];
                broker.look(&log);
                if broker.counted == reader.counted {
                    assert_eq!(broker.batches.is_lost(), reader.batches.is_lost());
                }
            }
            Step::Message { batch, number, of, after, payload } => {
                let after = after
                    .map(|(batch, sequence)| Place { sequence: sequence.into(), batch: batch.to_owned() });
                log.push(Logged {
                    kind: Kind::Changes,
                    batch: batch.to_owned(),
                    number: number.into(),
                    of: of.into(),
                    after,
                    sequence: log.len() as u64 + 1,
                    payload: payload.to_vec(),
                });
                reader.look(&log);
            }
        }
    }
    for broker in &mut brokers {
        broker.look(&log);
        assert_eq!(broker.counted, reader.counted);
    }
});
