//! What the observer heard and concluded, as Apache Parquet for other programs; and other
//! programs' conclusions, to be judged as its own are.

use super::evidence::{Evidence, Way};
use super::measure::{Guesses, Judged};
use super::sniffer::Transfer;
use motemix_air::Instant;
use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::data_type::{DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::RowAccessor as _;
use parquet::schema::types::Type;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::panic;
use std::path::Path;
use std::sync::Arc;

/// The columns of posteriors that hold probabilities.
pub const POSTERIORS: [&str; 4] = ["there", "round_trip", "there_with_habits", "round_trip_with_habits"];
/// The sum of a message's probabilities may be so far from one.
const ROUNDING: f64 = 1e-6;

/// What the observer heard in a run, and its distributions over the senders of all messages that
/// it traced.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    transfers: Vec<Transfer>,
    messages: Vec<Finding>,
}

/// One message.
#[derive(Clone, Debug)]
struct Finding {
    transfer: u32,
    receiver: u16,
    true_sender: u16,
    /// In the order of [`POSTERIORS`].
    posteriors: [Vec<f64>; 4],
}

impl Findings {
    /// Findings from what was heard and learned; `learned` has the distributions with habits of a
    /// message, there and for the round trip.
    pub(crate) fn of(
        transfers: &[Transfer],
        evidence: &Evidence,
        nodes: usize,
        learned: impl Fn(usize) -> [Vec<f64>; 2],
    ) -> Self {
        let messages = evidence.heard.iter().enumerate().map(|(at, heard)| {
            let [there, round_trip] = [Way::There, Way::RoundTrip].map(|way| heard.senders(way, nodes));
            let [learned_there, learned_round_trip] = learned(at);
            Finding {
                transfer: heard.transfer,
                receiver: heard.receiver,
                true_sender: heard.sender,
                posteriors: [there, round_trip, learned_there, learned_round_trip],
            }
        });
        Self { transfers: transfers.to_vec(), messages: messages.collect() }
    }

    /// Distributions from the round trips of single messages, each with the true sender.
    #[cfg(test)]
    pub(crate) fn single_messages(&self) -> impl Iterator<Item = (&[f64], u16)> {
        self.messages.iter().map(|message| (message.posteriors[1].as_slice(), message.true_sender))
    }

    /// Writes what was on the air, a row for each transfer: number, sender and receiver, begin and
    /// end in microseconds, and for those that brought a message its number and its true sender.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_transfers(&self, to: impl Write + Send) -> io::Result<()> {
        let brought: BTreeMap<u32, (i64, i64)> = self
            .messages
            .iter()
            .zip(0..)
            .map(|(message, number)| (message.transfer, (number, i64::from(message.true_sender))))
            .collect();
        let numbered = || self.transfers.iter().zip(0_u32..);
        let micros = |at: Instant| i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
        let brought = |pick: fn(&(i64, i64)) -> i64| {
            numbered().map(|(_, number)| brought.get(&number).map(pick)).collect::<Vec<_>>()
        };
        let columns = [
            ("transfer", numbered().map(|(_, number)| Some(i64::from(number))).collect()),
            ("from", numbered().map(|(transfer, _)| Some(i64::from(transfer.from))).collect()),
            ("to", numbered().map(|(transfer, _)| Some(i64::from(transfer.to))).collect()),
            ("begin_us", numbered().map(|(transfer, _)| Some(micros(transfer.begin))).collect()),
            ("end_us", numbered().map(|(transfer, _)| transfer.end.map(micros)).collect()),
            ("message", brought(|(message, _)| *message)),
            ("true_sender", brought(|(_, sender)| *sender)),
        ];
        write("transfers", to, &columns, &[]).map_err(io::Error::other)
    }

    /// Writes the distributions, a row for each message and each node that may have sent it.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write_posteriors(&self, to: impl Write + Send) -> io::Result<()> {
        let rows = || {
            self.messages.iter().zip(0_i64..).flat_map(|(message, number)| {
                let possible = |sender: &usize| message.posteriors.iter().any(|of| of[*sender] > 0.0);
                let senders = (0..message.posteriors[0].len()).filter(possible);
                senders.map(move |sender| (number, message, sender))
            })
        };
        let integers = |of: fn(i64, &Finding, usize) -> i64| {
            rows().map(|(number, message, sender)| Some(of(number, message, sender))).collect()
        };
        let columns = [
            ("message", integers(|number, _, _| number)),
            ("transfer", integers(|_, message, _| i64::from(message.transfer))),
            ("receiver", integers(|_, message, _| i64::from(message.receiver))),
            ("true_sender", integers(|_, message, _| i64::from(message.true_sender))),
            ("sender", integers(|_, _, sender| i64::try_from(sender).unwrap_or(i64::MAX))),
        ];
        let probabilities: Vec<(&str, Vec<Option<f64>>)> = POSTERIORS
            .iter()
            .enumerate()
            .map(|(at, name)| {
                (*name, rows().map(|(_, of, sender)| Some(of.posteriors[at][sender])).collect())
            })
            .collect();
        write("posteriors", to, &columns, &probabilities).map_err(io::Error::other)
    }
}

/// Columns of integers, then columns of probabilities.
fn write(
    name: &str,
    to: impl Write + Send,
    integers: &[(&str, Vec<Option<i64>>)],
    probabilities: &[(&str, Vec<Option<f64>>)],
) -> Result<()> {
    let field = |name: &str, physical, optional: bool| {
        let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(name, physical).with_repetition(repetition).build().map(Arc::new)
    };
    let mut fields = Vec::new();
    for (name, cells) in integers {
        fields.push(field(name, Physical::INT64, cells.iter().any(Option::is_none))?);
    }
    for (name, cells) in probabilities {
        fields.push(field(name, Physical::DOUBLE, cells.iter().any(Option::is_none))?);
    }
    let schema = Arc::new(Type::group_type_builder(name).with_fields(fields).build()?);
    let mut file = SerializedFileWriter::new(to, schema, Arc::new(WriterProperties::builder().build()))?;
    let mut group = file.next_row_group()?;
    for (_, cells) in integers {
        put::<Int64Type, _>(&mut group, cells)?;
    }
    for (_, cells) in probabilities {
        put::<DoubleType, _>(&mut group, cells)?;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: &[Option<T::T>],
) -> Result<()> {
    let values: Vec<T::T> = cells.iter().flatten().cloned().collect();
    let present: Option<Vec<i16>> =
        (values.len() < cells.len()).then(|| cells.iter().map(|cell| i16::from(cell.is_some())).collect());
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, present.as_deref(), None)?;
        column.close()?;
    }
    Ok(())
}

/// Why posteriors cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum NotPosteriors {
    /// It cannot be read, or is no Parquet file.
    #[error("cannot read it: {0}; check the path, or have the file written again")]
    Unreadable(String),
    /// A column is not there.
    #[error(
        "has no column {0} of the right type; it needs message, receiver, true_sender and sender as INT64, and probabilities as DOUBLE"
    )]
    Column(String),
    /// A column is compressed.
    #[error("column {0} is compressed; write the file without compression")]
    Compressed(String),
    /// A number is no node.
    #[error("message {message}: {node} is no node; nodes are 0 to 65535")]
    Node {
        /// The message.
        message: i64,
        /// What stands there.
        node: i64,
    },
    /// A probability is none.
    #[error("message {message}: the probability of sender {sender} is {probability}; it must be 0 to 1")]
    Probability {
        /// The message.
        message: i64,
        /// The sender.
        sender: u16,
        /// What stands there.
        probability: f64,
    },
    /// One sender has two probabilities.
    #[error("message {message}: sender {sender} is there twice")]
    Twice {
        /// The message.
        message: i64,
        /// The sender.
        sender: u16,
    },
    /// The rows of a message have two truths.
    #[error("message {message}: its rows name different receivers or true senders")]
    Truth {
        /// The message.
        message: i64,
    },
    /// The probabilities are no distribution.
    #[error("message {message}: its probabilities add up to {sum}; they must add up to 1")]
    Sum {
        /// The message.
        message: i64,
        /// What they add up to.
        sum: f64,
    },
    /// Nothing is there.
    #[error("has no messages")]
    Empty,
}

/// Judges the distributions over senders in a column of a Parquet file, as
/// [`Findings::write_posteriors`] writes them. Returns the number of messages besides.
///
/// A file that was damaged may make the library that reads it panic. That is caught here and
/// reported as unreadable; who does not want the panic's own words sets a hook.
///
/// # Errors
/// The file cannot be read, or what it says is no distribution.
pub fn judge_posteriors(path: &Path, column: &str) -> std::result::Result<(u64, Guesses), NotPosteriors> {
    // The library panics at some pages that contradict themselves, where a file was damaged.
    let messages = panic::catch_unwind(|| read(path, column))
        .unwrap_or_else(|_| Err(NotPosteriors::Unreadable("its pages are damaged".into())))?;
    let senders: BTreeSet<u16> =
        messages.values().flat_map(|message| message.probabilities.keys().copied()).collect();
    let most = senders.last().copied().ok_or(NotPosteriors::Empty)?;
    let mut judged = Vec::new();
    for (number, message) in &messages {
        let sum: f64 = message.probabilities.values().sum();
        if (sum - 1.0).abs() > ROUNDING {
            return Err(NotPosteriors::Sum { message: *number, sum });
        }
        let mut dense = vec![0.0; usize::from(most) + 1];
        for (sender, probability) in &message.probabilities {
            dense[usize::from(*sender)] = *probability;
        }
        let others = senders.iter().copied().filter(|other| *other != message.receiver);
        judged.push(Judged::of(&dense, message.true_sender, others));
    }
    Ok((judged.len() as u64, Guesses::of(&judged)))
}

struct Read {
    receiver: u16,
    true_sender: u16,
    probabilities: BTreeMap<u16, f64>,
}

/// Refuses columns that cannot be read. The library says nothing of use to whoever compressed them,
/// and does not survive places in the file that are negative.
fn check(columns: &[ColumnChunkMetaData], names: &[&str]) -> std::result::Result<(), NotPosteriors> {
    for column in columns {
        let name = column.column_descr().name();
        if names.contains(&name) && column.compression() != Compression::UNCOMPRESSED {
            return Err(NotPosteriors::Compressed(name.into()));
        }
        let begin = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        if begin < 0 || column.compressed_size() < 0 {
            return Err(NotPosteriors::Unreadable(format!("column {name} has no place in it")));
        }
    }
    Ok(())
}

fn read(path: &Path, column: &str) -> std::result::Result<BTreeMap<i64, Read>, NotPosteriors> {
    let unreadable = |error: &dyn std::fmt::Display| NotPosteriors::Unreadable(error.to_string());
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let reader = SerializedFileReader::new(file).map_err(|error| unreadable(&error))?;
    let names = ["message", "receiver", "true_sender", "sender", column];
    let schema = reader.metadata().file_metadata().schema();
    let mut fields = Vec::new();
    for name in names {
        let wanted = if name == column { Physical::DOUBLE } else { Physical::INT64 };
        let fits = |field: &&Arc<Type>| {
            field.name() == name && field.is_primitive() && field.get_physical_type() == wanted
        };
        let field = schema.get_fields().iter().find(fits);
        fields.push(Arc::clone(field.ok_or_else(|| NotPosteriors::Column(name.into()))?));
    }
    for group in reader.metadata().row_groups() {
        check(group.columns(), &names)?;
    }
    let wanted = Type::group_type_builder(schema.name()).with_fields(fields).build();
    let rows = wanted.and_then(|wanted| reader.get_row_iter(Some(wanted)));
    let mut messages: BTreeMap<i64, Read> = BTreeMap::new();
    for row in rows.map_err(|error| unreadable(&error))? {
        let row = row.map_err(|error| unreadable(&error))?;
        // A projection may keep the order of the file.
        let place = |name: &str| row.get_column_iter().position(|(of, _)| of == name).unwrap_or(usize::MAX);
        let integer =
            |name: &str| row.get_long(place(name)).map_err(|error: ParquetError| unreadable(&error));
        let message = integer("message")?;
        let node = |name: &str| {
            let node = integer(name)?;
            u16::try_from(node).map_err(|_| NotPosteriors::Node { message, node })
        };
        let (receiver, true_sender, sender) = (node("receiver")?, node("true_sender")?, node("sender")?);
        let probability = row.get_double(place(column)).map_err(|error| unreadable(&error))?;
        if !(0.0..=1.0 + ROUNDING).contains(&probability) {
            return Err(NotPosteriors::Probability { message, sender, probability });
        }
        let known = messages.entry(message).or_insert_with(|| Read {
            receiver,
            true_sender,
            probabilities: BTreeMap::new(),
        });
        if (known.receiver, known.true_sender) != (receiver, true_sender) {
            return Err(NotPosteriors::Truth { message });
        }
        if known.probabilities.insert(sender, probability).is_some() {
            return Err(NotPosteriors::Twice { message, sender });
        }
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::NamedTempFile;

    fn finding(true_sender: u16, posterior: [f64; 3]) -> Finding {
        let posteriors = std::array::from_fn(|_| posterior.to_vec());
        Finding { transfer: 1, receiver: 0, true_sender, posteriors }
    }

    fn judged(findings: &Findings) -> std::result::Result<(u64, Guesses), String> {
        let file = NamedTempFile::new().expect("a file");
        findings.write_posteriors(file.as_file()).expect("it is written");
        judge_posteriors(file.path(), "there").map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_judged_as_it_was() {
        let messages = vec![finding(1, [0.0, 0.75, 0.25]), finding(2, [0.0, 0.5, 0.5])];
        let (count, guesses) = judged(&Findings { transfers: Vec::new(), messages }).expect("distributions");
        assert_eq!(count, 2);
        assert!((guesses.first_guess - 0.75).abs() < 1e-12, "{guesses:?}");
        assert!((guesses.true_sender - 0.625).abs() < 1e-12, "{guesses:?}");
        assert!((guesses.min_entropy_bits + 0.625_f64.log2()).abs() < 1e-12, "{guesses:?}");
        // For the first, 1 − 1/3; for the second nothing.
        assert!((guesses.delta_0 - 1.0 / 3.0).abs() < 1e-12, "{guesses:?}");
    }

    #[test]
    fn what_is_no_distribution_is_refused_in_one_line() {
        for (posterior, said) in [
            ([0.0, 0.5, 0.4], "message 0: its probabilities add up to 0.9; they must add up to 1"),
            ([0.0, 1.5, -0.5], "message 0: the probability of sender 1 is 1.5; it must be 0 to 1"),
        ] {
            let messages = vec![finding(1, posterior)];
            let error = judged(&Findings { transfers: Vec::new(), messages });
            assert_eq!(error, Err(said.to_owned()));
        }
        assert_eq!(judged(&Findings::default()), Err("has no messages".to_owned()));
    }

    #[test]
    fn columns_that_cannot_be_read_are_refused_in_one_line() {
        let file = NamedTempFile::new().expect("a file");
        let messages = vec![finding(1, [0.0, 0.75, 0.25])];
        Findings { transfers: Vec::new(), messages }.write_posteriors(file.as_file()).expect("it is written");
        let reader = SerializedFileReader::new(file.reopen().expect("a file")).expect("Parquet");
        let written = reader.metadata().row_group(0).columns().to_vec();
        let first = || written[0].clone().into_builder();
        let said = |first: ColumnChunkMetaData, names: &[&str]| {
            let columns = [&[first], &written[1..]].concat();
            check(&columns, names).map_err(|error| error.to_string())
        };
        let compressed = first().set_compression(Compression::SNAPPY).build().expect("a column");
        let nowhere = first().set_dictionary_page_offset(Some(-1)).build().expect("a column");
        assert_eq!(said(written[0].clone(), &["message"]), Ok(()));
        // A column that is not asked for may be compressed.
        assert_eq!(said(compressed.clone(), &["sender"]), Ok(()));
        assert_eq!(
            said(compressed, &["message"]),
            Err("column message is compressed; write the file without compression".to_owned())
        );
        let refused = Err(unreadable("column message has no place in it"));
        assert_eq!(said(nowhere, &["message"]), refused);
    }

    fn unreadable(why: &str) -> String {
        format!("cannot read it: {why}; check the path, or have the file written again")
    }

    /// Each byte of a file in turn is another one. Whatever is read then is a distribution or an
    /// error.
    #[test]
    fn a_file_that_was_damaged_anywhere_is_refused_and_never_ends_the_program() {
        let mut written = Vec::new();
        let messages = vec![finding(1, [0.0, 0.75, 0.25]), finding(2, [0.0, 0.5, 0.5])];
        Findings { transfers: Vec::new(), messages }.write_posteriors(&mut written).expect("it is written");
        let file = NamedTempFile::new().expect("a file");
        let mut pages = 0;
        for at in 0..written.len() {
            for byte in [0x00, 0x7f, 0xff, written[at] ^ 0x01, written[at] ^ 0x80] {
                let mut damaged = written.clone();
                damaged[at] = byte;
                std::fs::write(file.path(), &damaged).expect("it is written");
                let error = judge_posteriors(file.path(), "there").map_err(|error| error.to_string());
                pages += u32::from(error == Err(unreadable("its pages are damaged")));
            }
        }
        assert!(pages > 0, "the library no longer panics: nothing need be caught");
    }

    #[test]
    fn transfers_have_an_end_and_a_message_only_if_they_do() {
        let at = Instant::from_micros;
        let transfer = |begin, end: Option<u64>| Transfer {
            from: 2,
            to: 0,
            begin: at(begin),
            end: end.map(at),
            fingerprint: None,
        };
        let transfers = vec![transfer(5, None), transfer(7, Some(9))];
        let findings = Findings { transfers, messages: vec![finding(1, [0.0, 1.0, 0.0])] };
        let file = NamedTempFile::new().expect("a file");
        findings.write_transfers(file.as_file()).expect("it is written");
        let reader = SerializedFileReader::new(file.reopen().expect("a file")).expect("Parquet");
        let rows: Vec<String> =
            reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row").to_string()).collect();
        assert_eq!(
            rows,
            [
                "{transfer: 0, from: 2, to: 0, begin_us: 5, end_us: null, message: null, true_sender: null}",
                "{transfer: 1, from: 2, to: 0, begin_us: 7, end_us: 9, message: 0, true_sender: 1}",
            ]
        );
    }
}
