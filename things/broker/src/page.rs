//! The page that a broker serves to people: devices, topics, and their values while they come.
//!
//! ```text
//! runtime ── View: what is there now ──▶ routes: JSON ─┐
//!    └────── Feed: what has changed ───▶ routes: SSE ──┴─▶ browser (page/dist: nothing from elsewhere)
//! ```
//!
//! The runtime gives two things and needs to know nothing of HTTP:
//!
//! 1. a [`View`], which is asked for what is there;
//! 2. calls of [`Feed`], *after* the view shows the change. A browser connects to the feed first
//!    and asks for everything then, so it misses nothing.
//!
//! Nothing can be changed through the page. `docs/reference/broker-api.md` describes what it
//! answers.

mod assets;
mod feed;
mod guard;
mod json;
mod lists;
mod qr;
mod reading;
mod routes;
mod serve;
mod timeout;

use std::sync::Arc;

use crate::Moment;
use crate::state::{Registration, RegistrationId, Topic, TopicId, Value};

pub use feed::{Feed, Limits};
pub use serve::{Page, Settings};

/// What the page shows of a broker. Calls are short, except for [`history`](Self::history).
pub trait View: Send + Sync + 'static {
    /// What the broker calls the time.
    fn now(&self) -> Moment;

    /// The name of the network that readings are signed for.
    fn network(&self) -> Arc<str>;

    /// Whether the store takes what comes.
    fn store(&self) -> StoreState;

    /// What was counted since the broker began: groups of names and numbers.
    fn counters(&self) -> Vec<(&'static str, Vec<(&'static str, u64)>)>;

    /// All registrations.
    fn registrations(&self) -> Vec<(RegistrationId, Arc<Registration>)>;

    /// All topics.
    fn topics(&self) -> Vec<TopicNow>;

    /// The last `most` values of a topic, oldest first; none if there is no such topic. May wait
    /// for a disk.
    ///
    /// # Errors
    /// Why the store cannot say, as a sentence for people.
    fn history(&self, topic: &TopicId, most: usize) -> Result<Option<Vec<Value>>, String>;
}

/// A topic, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicNow {
    /// Which.
    pub id: TopicId,
    /// How it is configured.
    pub topic: Arc<Topic>,
    /// Its newest value.
    pub value: Option<Arc<Value>>,
    /// The last publication that was refused, if one was since the broker began.
    pub refused: Option<Refused>,
}

/// A publication that a topic did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// When the last one came.
    pub at: Moment,
    /// How many there were.
    pub count: u64,
    /// Why the last one was refused, as a sentence for people.
    pub why: Arc<str>,
}

/// Whether the store takes what comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreState {
    /// It does.
    Working,
    /// It does not: publications are answered with 5.03.
    Refusing {
        /// Since when.
        since: Moment,
        /// Why, as a sentence for people.
        why: Arc<str>,
    },
}
