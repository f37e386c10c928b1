//! The values of a topic, oldest first: each has the next place.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::room::{Span, sum_of_taken, taken};
use super::{millis, moment};
use crate::state::{TopicId, Value};
use crate::store::Retention;
use crate::{Change, Moment};

/// Adds the newest value, and removes what is too much.
pub(super) fn append(
    connection: &Connection,
    topic: &TopicId,
    value: &Value,
    change: &Change,
    span: Option<Span>,
    retention: Retention,
) -> rusqlite::Result<Span> {
    let change = change.encode();
    if let Some(span) = span
        && let Some(len) = written_ahead(connection, topic, value, span)?
    {
        connection
            .prepare_cached("UPDATE history SET published = ?3, change = ?4 WHERE topic = ?1 AND place = ?2")?
            .execute(params![&*topic.0, span.next - 1, millis(value.published), change])?;
        let bytes = span.bytes.saturating_sub(taken(len)) + taken(change.len() as u64);
        let oldest = if span.has_older() { span.oldest } else { value.published };
        return Ok(Span { bytes, oldest, of_first: None, ..span });
    }
    let mut span = span.unwrap_or_else(|| Span::empty(value.published));
    connection
        .prepare_cached("INSERT INTO history (topic, place, published, change) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![&*topic.0, span.next, millis(value.published), change])?;
    span.next += 1;
    span.bytes += taken(change.len() as u64);
    let first = span.next.saturating_sub(i64::from(retention.values));
    if first > span.first { remove_until(connection, topic, span, first) } else { Ok(span) }
}

/// The length of the newest entry, if it is this very value at a later moment: then only its moment
/// is set right.
fn written_ahead(
    connection: &Connection,
    topic: &TopicId,
    value: &Value,
    span: Span,
) -> rusqlite::Result<Option<u64>> {
    let newest: Option<Vec<u8>> = connection
        .prepare_cached("SELECT change FROM history WHERE topic = ?1 AND place = ?2 AND published > ?3")?
        .query_row(params![&*topic.0, span.next - 1, millis(value.published)], |row| row.get(0))
        .optional()?;
    Ok(newest.and_then(|newest| match Change::decode(&newest) {
        Ok(Change::Value(_, Some(before))) if before.is_later_copy_of(value) => Some(newest.len() as u64),
        _ => None,
    }))
}

/// Removes what was published before `cutoff`, from the oldest on; the newest stays.
pub(super) fn trim_old(
    connection: &Connection,
    topic: &TopicId,
    span: Span,
    cutoff: Moment,
) -> rusqlite::Result<Span> {
    let newest = span.next - 1;
    let first = connection
        .prepare_cached(
            "SELECT min(place) FROM history WHERE topic = ?1 AND (published >= ?2 OR place = ?3)",
        )?
        .query_row(params![&*topic.0, millis(cutoff), newest], |row| row.get(0))?;
    remove_until(connection, topic, span, first)
}

pub(super) fn remove_first(connection: &Connection, topic: &TopicId, span: Span) -> rusqlite::Result<Span> {
    remove_until(connection, topic, span, span.first + 1)
}

/// Removes what stands before a place.
fn remove_until(connection: &Connection, topic: &TopicId, span: Span, first: i64) -> rusqlite::Result<Span> {
    // What is removed mostly is the first, which was looked at when the one before it went.
    let removed = match span.of_first.filter(|_| first == span.first + 1) {
        Some(bytes) => bytes,
        None => bytes_before(connection, topic, first)?,
    };
    connection
        .prepare_cached("DELETE FROM history WHERE topic = ?1 AND place < ?2")?
        .execute(params![&*topic.0, first])?;
    let (oldest, len): (i64, u64) = connection
        .prepare_cached("SELECT published, length(change) FROM history WHERE topic = ?1 AND place = ?2")?
        .query_row(params![&*topic.0, first], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let bytes = span.bytes.saturating_sub(removed);
    Ok(Span { first, oldest: moment(oldest), bytes, of_first: Some(taken(len)), ..span })
}

fn bytes_before(connection: &Connection, topic: &TopicId, first: i64) -> rusqlite::Result<u64> {
    let sum = format!("SELECT {} FROM history WHERE topic = ?1 AND place < ?2", sum_of_taken());
    let sum = connection
        .prepare_cached(&sum)?
        .query_row(params![&*topic.0, first], |row| row.get::<_, Option<u64>>(0))?;
    Ok(sum.unwrap_or(0))
}
