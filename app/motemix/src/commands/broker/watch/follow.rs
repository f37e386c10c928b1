//! One device's readings.

use super::{AGAIN, Genuine, Shown, heard};
use motemix_broker_client::client::{Client, ClientError, topics};
use motemix_coap::link_format::{self, Link};
use motemix_coap::{Method, Request, Response, format};
use motemix_object::{
    Audience, Credential, Freshness, Identity, Policy, PublicKey, SealedReading, Stale, Verified,
};
use motemix_readings::{base64url, jws, senml::Pack};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;

/// Bytes that are shown of what nobody signed.
const UNSIGNED: usize = 100;
/// Bytes of a value that are looked at: four times what brokers take by default.
const LONGEST: usize = 256 << 10;
/// Topics that are asked for their first value, and for what belongs to it, at a time: a broker has
/// a value of each kept meanwhile.
const BEGINNING: usize = 64;
/// Topics that are asked again in a second, if none of them has anything: a broker takes a hundred
/// requests in that time, and whoever makes many empty topics must not use those up.
const ASKED_AGAIN: u32 = 32;
/// Devices whose numbers are remembered.
const MOST_DEVICES: usize = 16_384;

/// Which numbers of each device were shown: over all of its topics, and also when a broker forgets
/// one and has it again, or its old readings would be fresh once more.
#[derive(Debug, Default)]
pub struct Numbers(HashMap<Identity, Arc<Mutex<Freshness>>>);

impl Numbers {
    fn of(&mut self, device: &Identity) -> Arc<Mutex<Freshness>> {
        if self.0.len() >= MOST_DEVICES {
            // Of devices that somebody follows there is more than this one.
            self.0.retain(|_, fresh| Arc::strong_count(fresh) > 1);
        }
        self.0.entry(*device).or_insert_with(|| Arc::new(Mutex::new(Freshness::starting_at(0)))).clone()
    }
}

/// All topics that are followed.
#[derive(Debug)]
pub struct Topics {
    /// How many there are.
    pub count: AtomicU32,
    beginning: Semaphore,
}

impl Default for Topics {
    fn default() -> Self {
        Self { count: AtomicU32::new(0), beginning: Semaphore::new(BEGINNING) }
    }
}

/// Follows one device.
pub struct Follower {
    client: Client,
    audience: String,
    topic: topics::Path,
    credential: String,
    device: Identity,
    key: PublicKey,
    fresh: Arc<Mutex<Freshness>>,
    /// A broker says the newest again, to see who listens. Of that a hash is enough, under a key
    /// that no broker knows.
    last: Option<u64>,
    hashing: RandomState,
    topics: Arc<Topics>,
}

/// The path of a link. A broker has several addresses, and brokers that store together have each
/// other's topics: what this one has under the path is checked, whatever it registered as.
fn path_of(target: &str) -> Option<&str> {
    let Some((_, rest)) = target.split_once("://") else { return Some(target) };
    Some(rest.split_at(rest.find('/')?).1)
}

impl Follower {
    /// `None` if the link is malformed.
    pub fn new(
        client: &Client,
        audience: &str,
        link: &Link,
        numbers: &mut Numbers,
        topics: &Arc<Topics>,
    ) -> Option<Self> {
        let topic = path_of(&link.target)?;
        let topics = topics.clone();
        let bytes = base64url::decode(link.value("key")?)?;
        let credential = Credential::parse(&bytes).ok()?;
        let device = credential.identity().ok()?;
        Some(Self {
            client: client.clone(),
            audience: audience.to_owned(),
            topic: topics::path(topic),
            credential: link.value("key")?.to_owned(),
            device,
            key: *credential.key(),
            fresh: numbers.of(&device),
            last: None,
            hashing: RandomState::new(),
            topics,
        })
    }

    pub const fn device(&self) -> &Identity {
        &self.device
    }

    /// Shows what the device published, until nobody looks any more.
    pub async fn run(mut self, show: mpsc::Sender<Shown>) {
        while !self.client.is_over() {
            let followed = self.follow(&show).await;
            if show.is_closed() {
                return;
            }
            // What is wrong with the connection is told by whoever looks devices up.
            sleep(if matches!(followed, Ok(false)) { self.rest() } else { AGAIN }).await;
        }
    }

    /// How long a topic without a value is left alone: the longer, the more topics there are, and
    /// not all of them for equally long.
    fn rest(&self) -> Duration {
        let rest = AGAIN * (self.topics.count.load(Ordering::Relaxed) / ASKED_AGAIN);
        AGAIN + rest / 2 + rest * (self.hashing.hash_one(&self.topic) % 64) as u32 / 64
    }

    /// Whether there was a value.
    async fn follow(&mut self, show: &mpsc::Sender<Shown>) -> Result<bool, ClientError> {
        let topics = self.topics.clone();
        let mut begins = topics.beginning.acquire().await.ok();
        let (mut is_first, mut name, mut was_there) = (true, String::new(), false);
        let mut observation = self.client.observe(topics::request(Method::Get, &self.topic)).await?;
        while let Some(response) = heard(&mut observation).await {
            // Nothing is published yet, or nothing any more.
            if !response.code.is_success() {
                drop(begins.take());
                continue;
            }
            was_there = true;
            let hash = Some(self.hashing.hash_one(&response.payload));
            if std::mem::replace(&mut self.last, hash) == hash {
                drop(begins.take());
                continue;
            }
            let is_first = std::mem::take(&mut is_first);
            if is_first {
                name = self.name().await?;
                let next = topics::number(&self.client.ask(topics::next_number(&self.topic)).await?);
                // What is there already may be one of the last; from then on each has to be fresh.
                let next = next.unwrap_or(0).saturating_sub(motemix_object::WINDOW);
                let mut fresh = self.fresh();
                if next > fresh.next() {
                    *fresh = Freshness::starting_at(next);
                }
            }
            let outcome = self.check(&response);
            drop(begins.take());
            // It was there when somebody looked before.
            if is_first && matches!(outcome, Err(Problem::Before)) {
                continue;
            }
            let shown = Shown {
                device: self.device,
                name: name.clone(),
                outcome: outcome.map_err(|problem| problem.to_string()),
                unsigned: response.payload.iter().copied().take(UNSIGNED).collect(),
            };
            drop(response);
            if show.send(shown).await.is_err() {
                break;
            }
        }
        Ok(was_there)
    }

    /// Where the device is and what it is for; empty if that is not stated.
    async fn name(&self) -> Result<String, ClientError> {
        let mut request = Request::new(Method::Get, &["rd-lookup", "ep"]);
        request.query.push(format!("key={}", self.credential));
        let response = self.client.ask(request).await?;
        let text = String::from_utf8_lossy(&response.payload);
        let links = link_format::parse(&text, 1).unwrap_or_default();
        let words = ["place", "purpose"].map(|name| links.first().and_then(|link| link.value(name)));
        Ok(words.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }

    fn fresh(&self) -> MutexGuard<'_, Freshness> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the device signed it, for this audience, and under which number.
    fn check(&self, response: &Response) -> Result<Genuine, Problem> {
        if response.payload.len() > LONGEST {
            return Err(Problem::new("it is longer than any reading"));
        }
        let audience = Audience::new(&self.audience).unwrap_or_default();
        if response.content_format == Some(format::COSE_SIGN1) {
            let sealed = SealedReading::parse(&response.payload).map_err(Problem::new)?;
            let sequence = self.sequence(sealed.key_id())?;
            let verified =
                sealed.verify(&self.key, &self.device, sequence, audience).map_err(Problem::new)?;
            self.admit(&verified)?;
            Pack::read_valid(verified.senml()).map_err(Problem::new)?;
            return Ok(Genuine { sequence, senml: verified.senml().to_vec() });
        }
        let text = std::str::from_utf8(&response.payload).map_err(Problem::new)?;
        let sealed = jws::open(text).map_err(Problem::new)?;
        let sequence = self.sequence(sealed.key_id())?;
        let verified = sealed.verify(&self.key, &self.device, sequence, audience).map_err(Problem::new)?;
        self.admit(&verified)?;
        let pack = Pack::read_valid(verified.senml()).map_err(Problem::new)?;
        Ok(Genuine { sequence, senml: pack.to_cbor() })
    }

    fn admit(&self, verified: &Verified<'_>) -> Result<(), Problem> {
        self.fresh().admit(verified, Policy::WINDOW).map_err(|stale| match stale {
            Stale::Replayed => Problem::Before,
            _ => Problem::new(stale),
        })
    }

    fn sequence(&self, key_id: motemix_object::KeyId) -> Result<u64, Problem> {
        let fresh = *self.fresh();
        if key_id.names(&self.device) {
            return Ok(fresh.nearest(key_id.low()));
        }
        let found = fresh.sequence_of(&self.device, key_id, Policy::WINDOW);
        found.ok_or_else(|| Problem::new("it is of another device, or its number is not fresh"))
    }
}

/// Why it is not what a device signed, or not now.
#[derive(Debug)]
enum Problem {
    Before,
    Other(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Before => Stale::Replayed.fmt(f),
            Self::Other(problem) => f.write_str(problem),
        }
    }
}

impl Problem {
    fn new(problem: impl std::fmt::Display) -> Self {
        Self::Other(problem.to_string())
    }
}
