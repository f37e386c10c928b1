//! An application that trusts nobody on the way: it looks devices up, observes their readings, and
//! checks each signature itself (RFC 8387, 7.3).
//!
//! ```text
//! /rd-lookup/res, observed ─ a task for each topic: which number is next, then observed
//!     ─ Follower::check ─ Shown ─ a line each
//! ```

mod follow;

use super::connect;
use crate::cli::BrokerWatch;
use crate::failure::Failure;
use crate::reading;
use crate::report;
use follow::{Follower, Numbers};
use motemix_broker::client::{Client, ClientError, Observation, topics};
use motemix_coap::link_format::{self, Link};
use motemix_coap::{Method, Request, Response};
use motemix_host::clock::unix_time;
use motemix_object::Identity;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Readings of all devices that wait to be shown.
const WAITING: usize = 256;
/// Topics that are followed at a time.
const MOST: usize = 2048;
/// How long nothing may be heard before the broker is asked anew: one that was started again has
/// forgotten who observes over UDP (RFC 7641, 3.3.1). It says no other time of its values.
const SILENCE: Duration = Duration::from_secs(60);
/// How long after an observation has ended it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// A reading, and what its check found.
pub struct Shown {
    device: Identity,
    /// Where it is and what it is for, or its identity.
    name: String,
    outcome: Result<Genuine, String>,
    data: Vec<u8>,
}

/// What a device signed.
pub struct Genuine {
    sequence: u64,
    senml: Vec<u8>,
}

/// How many readings were what.
#[derive(Debug, Default)]
struct Counted {
    devices: HashMap<Identity, u64>,
    verified: u64,
    refused: u64,
}

pub async fn watch(args: &BrokerWatch) -> Result<(), Failure> {
    let interrupted = super::serve::stopped()?;
    let mut interrupted = std::pin::pin!(interrupted);
    let client = connect(&args.broker.at).await?;
    let (show, mut shown) = mpsc::channel(WAITING);
    let audience = args.audience.audience.clone();
    let answered = Arc::new(AtomicBool::new(false));
    let (at, is_known) = (client.address().clone(), answered.clone());
    let mut looking = tokio::spawn(look(client, audience, show, answered));
    let end = args.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let end = async {
        match end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    };
    let mut end = std::pin::pin!(end);
    let mut counted = Counted::default();
    loop {
        tokio::select! {
            () = &mut interrupted => break,
            () = &mut end => break,
            looked = &mut looking => {
                return Err(looked.unwrap_or_else(|_| Failure::failed("the search ended unexpectedly")));
            }
            Some(shown) = shown.recv() => {
                counted.count(&shown);
                shown.print(args.json)?;
            }
        }
    }
    if !is_known.load(Ordering::Relaxed) {
        return Err(Failure::failed(ClientError::Silent(at)));
    }
    counted.summary(args.json)
}

impl Counted {
    fn count(&mut self, shown: &Shown) {
        *self.devices.entry(shown.device).or_default() += 1;
        match shown.outcome {
            Ok(_) => self.verified += 1,
            Err(_) => self.refused += 1,
        }
    }

    fn summary(&self, json: bool) -> Result<(), Failure> {
        if !json {
            let devices = report::counted(self.devices.len() as u64, "device", "devices");
            let readings = report::counted(self.verified, "reading", "readings");
            report::print(format!("{devices}, {readings} verified\n").as_bytes())?;
        }
        if self.refused == 0 {
            return Ok(());
        }
        let readings = report::counted(self.refused, "reading is", "readings are");
        Err(Failure::failed(format!("{readings} not what a device signed; see above")))
    }
}

impl Shown {
    fn print(&self, as_json: bool) -> Result<(), Failure> {
        let at = humantime::format_rfc3339_millis(UNIX_EPOCH + unix_time()).to_string();
        let senml = self.outcome.as_ref().map_or(&self.data, |genuine| &genuine.senml);
        let line = if as_json {
            let line = json!({
                "at": at,
                "device": self.device.to_string(),
                "name": self.name,
                "verified": self.outcome.is_ok(),
                "sequence": self.outcome.as_ref().ok().map(|genuine| genuine.sequence),
                "problem": self.outcome.as_ref().err(),
                "senml": reading::decode(senml).ok(),
            });
            report::printable_json(&line.to_string())
        } else {
            let check = match &self.outcome {
                Ok(genuine) => format!("verified, {}", genuine.sequence),
                Err(problem) => format!("NOT verified: {problem}"),
            };
            let words = reading::in_words(senml);
            report::printable(&format!("{at}  {:<24}  {words:<40}  {check}", self.name))
        };
        Ok(report::print((line + "\n").as_bytes())?)
    }
}

/// Follows all topics that the directory has. Ends with what is wrong.
async fn look(
    client: Client,
    audience: String,
    show: mpsc::Sender<Shown>,
    is_known: Arc<AtomicBool>,
) -> Failure {
    let mut followed: HashMap<(String, String), AbortHandle> = HashMap::new();
    let mut numbers = Numbers::default();
    let mut told = false;
    loop {
        let mut request = Request::new(Method::Get, &["rd-lookup", "res"]);
        // Links without a key cost nobody a proof, and say nothing here.
        request.query = vec![format!("rt={}", topics::TYPE), "key=*".to_owned(), format!("count={MOST}")];
        let mut observation = match client.observe(request).await {
            Ok(observation) => observation,
            Err(problem) => return Failure::failed(problem),
        };
        let mut answered = false;
        while let Some(response) = heard(&mut observation).await {
            (answered, told) = (true, false);
            is_known.store(true, Ordering::Relaxed);
            if !response.code.is_success() {
                let said = topics::text(&response);
                return Failure::failed(format!("{} says {}: {said}", client.address(), response.code));
            }
            let said = String::from_utf8_lossy(&response.payload);
            let links = match link_format::parse(&said, MOST) {
                Ok(links) => links,
                Err(fault) => return Failure::failed(format!("{}: {fault}", client.address())),
            };
            let links: HashMap<_, _> = links.iter().filter_map(|link| Some((key_of(link)?, link))).collect();
            followed.retain(|key, task| {
                links.contains_key(key) || {
                    task.abort();
                    false
                }
            });
            for (key, link) in links {
                // One that has ended, because its topic was gone, is begun anew.
                if followed.get(&key).is_none_or(AbortHandle::is_finished)
                    && let Some(follower) = Follower::new(&client, &audience, link, &mut numbers)
                {
                    let task = tokio::spawn(follower.run(show.clone()));
                    followed.insert(key, task.abort_handle());
                }
            }
        }
        if !answered && (!is_known.load(Ordering::Relaxed) || client.is_over()) {
            return Failure::failed(ClientError::Silent(client.address().clone()));
        }
        if !answered && !std::mem::replace(&mut told, true) {
            eprintln!("motemix: {} does not answer; it is asked again and again", client.address());
        }
        sleep(AGAIN).await;
    }
}

/// What is observed next; nothing after a silence.
async fn heard(observation: &mut Observation) -> Option<Response> {
    timeout(SILENCE, observation.next()).await.ok().flatten()
}

/// Tells one device's topic from all others.
fn key_of(link: &Link) -> Option<(String, String)> {
    Some((link.target.to_string(), link.value("key")?.to_owned()))
}
