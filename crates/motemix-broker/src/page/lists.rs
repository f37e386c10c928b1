//! Lists as they are sent: made once for all who ask between two changes. Whoever reads slowly
//! holds a share of one, and there are so many at a time.

use std::sync::Arc;

use axum::body::Bytes;
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

/// Places for answers.
#[derive(Debug, Clone)]
pub(super) struct Places(Arc<Semaphore>);

impl Places {
    pub(super) fn new(places: usize) -> Self {
        Self(Arc::new(Semaphore::new(places)))
    }

    pub(super) fn take(&self) -> Option<Place> {
        Arc::clone(&self.0).try_acquire_owned().ok().map(Place)
    }
}

/// A place of one answer.
#[derive(Debug)]
pub(super) struct Place(OwnedSemaphorePermit);

impl Place {
    pub(super) fn keep(self, bytes: Vec<u8>) -> Bytes {
        Bytes::from_owner(Held { bytes, _place: self.0 })
    }
}

#[derive(Debug)]
struct Made {
    begun: Instant,
    /// How many changes there had been.
    changed: u64,
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
    /// a while, and whoever asks waits for that. Nothing, if slow readers hold too many others.
    pub(super) async fn get(&self, render: impl FnOnce() -> Vec<u8>) -> Option<Bytes> {
        let asked = Instant::now();
        let mut made = self.made.lock().await;
        if let Some(made) = &*made {
            if made.begun >= asked || made.changed == self.feed.changed() {
                return Some(made.bytes.clone());
            }
            sleep_until(made.begun + self.feed.limits().pause).await;
        }
        // If nobody reads it any more, its place is free.
        *made = None;
        let place = self.places.take()?;
        let (begun, changed) = (Instant::now(), self.feed.changed());
        let bytes = place.keep(render());
        *made = Some(Made { begun, changed, bytes: bytes.clone() });
        Some(bytes)
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
