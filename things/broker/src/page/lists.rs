//! Lists as they are sent: made once for all who ask between two changes. Whoever reads slowly
//! holds a share of one, and there are so many at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use axum::body::Bytes;
use motemix_coap::Source;
use serde_json::Value as Json;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

use super::Feed;

/// Entries of a list.
const MOST_LISTED: usize = 5000;
/// Bytes of a list, about.
const MOST_BYTES: usize = 4 << 20;

/// Something that is sent, and the place that it takes until everybody has it.
struct Held {
    bytes: Vec<u8>,
    _place: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Places for answers, of which a source reads so many at a time.
#[derive(Debug, Clone)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    of_one: usize,
    next: Arc<AtomicU64>,
    /// How many of a source's connections read an answer.
    reading: Arc<std::sync::Mutex<HashMap<(Source, u64), usize>>>,
}

impl Places {
    pub(super) fn new(places: usize, of_one: usize) -> Self {
        let (next, reading) = (Arc::default(), Arc::default());
        Self { free: Arc::new(Semaphore::new(places)), of_one: of_one.max(1), next, reading }
    }

    pub(super) fn take(&self) -> Option<Place> {
        let permit = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(Place { permit, number: self.next.fetch_add(1, Ordering::Relaxed) })
    }

    fn reading(&self) -> MutexGuard<'_, HashMap<(Source, u64), usize>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a source read the answer with this number, unless it reads as many others as it may.
    pub(super) fn begin(&self, source: Source, number: u64) -> Option<Reading> {
        let mut reading = self.reading();
        let others = reading.keys().filter(|(whose, which)| *whose == source && *which != number).count();
        if others >= self.of_one {
            return None;
        }
        *reading.entry((source, number)).or_default() += 1;
        drop(reading);
        Some(Reading { places: self.clone(), of: (source, number) })
    }
}

/// A place of one answer.
#[derive(Debug)]
pub(super) struct Place {
    permit: OwnedSemaphorePermit,
    pub(super) number: u64,
}

impl Place {
    pub(super) fn keep(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Held { bytes, _place: self.permit })
    }
}

/// A source reads an answer.
#[derive(Debug)]
pub(super) struct Reading {
    places: Places,
    of: (Source, u64),
}

impl Reading {
    /// The answer, until it is read.
    pub(super) fn of(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Read { bytes, _reading: self })
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut reading = self.places.reading();
        if let Some(count) = reading.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                reading.remove(&self.of);
            }
        }
    }
}

struct Read {
    bytes: Bytes,
    _reading: Reading,
}

impl AsRef<[u8]> for Read {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Debug)]
struct Made {
    begun: Instant,
    /// How many changes there had been.
    changed: u64,
    number: u64,
    bytes: Bytes,
}

/// A list.
#[derive(Debug)]
pub(super) struct List {
    feed: Arc<Feed>,
    places: Places,
    made: Mutex<Option<Made>>,
}

impl List {
    pub(super) fn new(feed: Arc<Feed>, places: Places) -> Self {
        Self { feed, places, made: Mutex::new(None) }
    }

    /// The list as it is now, or was after this was called. While things change it is made once in
    /// a while, and whoever asks waits for that. Nothing, if slow readers hold too many others, or
    /// the source reads too many others itself.
    pub(super) async fn get(&self, source: Source, render: impl FnOnce() -> Vec<u8>) -> Option<Bytes> {
        let (number, bytes) = self.now(render).await?;
        Some(self.places.begin(source, number)?.of(bytes))
    }

    async fn now(&self, render: impl FnOnce() -> Vec<u8>) -> Option<(u64, Bytes)> {
        let asked = Instant::now();
        let mut made = self.made.lock().await;
        if let Some(made) = &*made {
            if made.begun >= asked || made.changed == self.feed.changed() {
                return Some((made.number, made.bytes.clone()));
            }
            sleep_until(made.begun + self.feed.limits().pause).await;
        }
        // If nobody reads it any more, its place is free.
        *made = None;
        let place = self.places.take()?;
        let (begun, changed) = (Instant::now(), self.feed.changed());
        let number = place.number;
        let bytes = place.keep(render());
        *made = Some(Made { begun, changed, number, bytes: bytes.clone() });
        Some((number, bytes))
    }
}

/// A list of this name, with how many had no room in it.
pub(super) fn listed<T>(name: &str, all: &[T], json: impl Fn(&T) -> Json) -> Vec<u8> {
    let mut text = format!("{{\"{name}\":[");
    let mut shown = 0;
    for one in all.iter().take(MOST_LISTED) {
        let one = json(one).to_string();
        if text.len() + one.len() > MOST_BYTES {
            break;
        }
        if shown > 0 {
            text.push(',');
        }
        text.push_str(&one);
        shown += 1;
    }
    text.extend(["],\"left_off\":", &(all.len() - shown).to_string(), "}"]);
    text.into_bytes()
}
