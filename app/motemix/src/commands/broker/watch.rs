//! An application that trusts nobody on the way: it looks devices up, observes their readings, and
//! checks each signature itself (RFC 8387, 7.3).
//!
//! ```text
//! /rd-lookup/res, observed (look) ─ a task for each topic: which number is next, then observed
//!     ─ Follower::check ─ Shown ─ a line each
//! ```

mod follow;
mod look;

use super::connect;
use crate::commands::id::source;
use follow::Topics;
use look::{Looking, look};
use motemix_broker_client::client::{ClientError, Observation};
use motemix_coap::Response;
use motemix_object::{Identity, IdentityLabel};
use motemix_os::clock::unix_time;
use motemix_program::cli::BrokerWatch;
use motemix_program::failure::Failure;
use motemix_program::reading;
use motemix_program::report;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

/// What names a device in the name of its endpoint.
type Short = [u8; Identity::SHORT_LEN];

/// Readings of all devices that wait to be shown.
const WAITING: usize = 256;
/// How long nothing may be heard before the broker is asked anew: one that was started again has
/// forgotten who observes over UDP (RFC 7641, 3.3.1). It says no other time of its values.
const SILENCE: Duration = Duration::from_secs(60);
/// How long after an observation has ended it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// A reading, and what its check found.
pub struct Shown {
    device: Identity,
    /// Where it is and what it is for, if that is stated: anybody may.
    name: String,
    outcome: Result<Genuine, String>,
    /// The beginning of what came.
    unsigned: Vec<u8>,
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
    let interrupted = motemix_program::foreground::stopped()?;
    let mut interrupted = std::pin::pin!(interrupted);
    let only = args.device.as_deref().map(source::label).transpose()?.map(|label| match label {
        IdentityLabel::Full(identity) => identity.short(),
        IdentityLabel::Short(short) => short,
    });
    let client = connect(&args.broker.at).await?;
    let (show, mut shown) = mpsc::channel(WAITING);
    let audience = args.audience.audience.clone();
    let answered = Arc::new(AtomicBool::new(false));
    let (at, is_known) = (client.address().clone(), answered.clone());
    let topics = Arc::new(Topics::default());
    let followed = topics.clone();
    let looking = Looking { client, audience, only, show, is_known: answered, topics };
    let mut looking = tokio::spawn(look(looking));
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
    if counted.devices.is_empty() {
        eprintln!("motemix: {}", nothing_seen(followed.count.load(Ordering::Relaxed), args.device.is_some()));
    }
    counted.summary(args.json)
}

/// Why there was nothing to see, as far as that is known.
fn nothing_seen(topics: u32, of_one: bool) -> String {
    let whose = if of_one { "this device" } else { "a device" };
    match topics {
        0 => format!("no topic of {whose} that is registered is in the broker's directory"),
        _ => format!(
            "{}: nothing was published, or the broker's rules let others read it",
            report::counted(topics.into(), "topic was asked for", "topics were asked for")
        ),
    }
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
        let senml = self.outcome.as_ref().map_or(&self.unsigned, |genuine| &genuine.senml);
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
            let device = format!("{} {:.16}", self.name, self.device);
            report::printable(&format!("{at}  {:<36}  {words:<40}  {check}", device.trim_start()))
        };
        Ok(report::print((line + "\n").as_bytes())?)
    }
}

/// What is observed next; nothing after a silence.
async fn heard(observation: &mut Observation) -> Option<Response> {
    timeout(SILENCE, observation.next()).await.ok().flatten()
}
