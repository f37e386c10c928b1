//! Registers devices, and makes their topics.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join_all;
use motemix_coap::{Code, Method, Response, format};
use motemix_object::Identity;
use motemix_readings::devices::Verdict;
use motemix_readings::{Device, Devices};
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

use super::{Commands, HandoverError, Short};
use crate::client::Client;
use crate::client::registration::{Registration, link_to_commands, link_to_readings};
use crate::client::topics::{self, Path};

/// How long a registration lasts: should the receiver end, its devices are gone after that.
const LIFETIME: Duration = Duration::from_hours(25);
/// When it is renewed.
const RENEW: Duration = Duration::from_hours(6);

/// A device as it was announced.
#[derive(Debug)]
struct Entry {
    place: String,
    purpose: String,
    /// Where its registration is.
    registration: Path,
    /// Where its readings go.
    data: Path,
    renew: Instant,
    commanded: AbortHandle,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.commanded.abort();
    }
}

/// What was announced over a connection.
#[derive(Debug, Default)]
pub(super) struct Announced {
    devices: HashMap<Short, Entry>,
    /// What is wrong with those that cannot be announced, as it was told.
    told: BTreeMap<Short, String>,
}

/// What the broker and the list had as the next numbers of devices when they were compared last.
pub(super) type Compared = HashMap<Short, (Option<u64>, u64)>;

impl Announced {
    /// Whether the device of a verdict is announced, or cannot be.
    pub(super) fn has(&self, verdict: &Verdict) -> bool {
        let is_known = |short| self.devices.contains_key(short) || self.told.contains_key(short);
        verdict.short.as_ref().is_none_or(is_known)
    }

    /// Where the readings of a verdict's device go.
    pub(super) fn data_of(&self, verdict: &Verdict) -> Option<&[String]> {
        verdict.short.and_then(|short| self.devices.get(&short)).map(|entry| &entry.data[..])
    }

    /// Announces all devices of a list that have shown their keys, and takes back those that are
    /// not in it any more. One that has a successor is announced while messages of it wait. Returns
    /// whether one could not be announced before: messages of it were passed over.
    ///
    /// # Errors
    /// The broker has ended, or refuses; or the list does not work.
    pub(super) async fn announce(
        &mut self,
        client: &Client,
        devices: &mut Devices,
        commands: &Commands,
        waits: &[Short],
    ) -> Result<bool, HandoverError> {
        let mut listed = devices.all()?;
        listed.retain(|device| device.successor.is_none() || waits.contains(&device.short));
        let stays = |short: &Short| listed.iter().any(|device| device.short == *short);
        let gone: Vec<Short> = self.devices.keys().copied().filter(|short| !stays(short)).collect();
        for short in gone {
            if let Some(entry) = self.devices.remove(&short) {
                client.ask(topics::request(Method::Delete, &entry.registration)).await?;
            }
        }
        self.told.retain(|short, _| stays(short));
        let mut was_passed_over = false;
        for device in &listed {
            let is_new = self.devices.get(&device.short).is_none_or(|entry| {
                entry.renew <= Instant::now()
                    || (&entry.place, &entry.purpose) != (&device.place, &device.purpose)
            });
            let Some((identity, key)) = device.known.as_ref().filter(|_| is_new) else { continue };
            let Some(credential) = devices.credential(identity, key)? else {
                self.tell(device.short, identity, "let it register again, so that it shows its key");
                continue;
            };
            match announce_one(client, device, identity, &credential, commands).await {
                Ok(entry) => {
                    was_passed_over |= self.told.remove(&device.short).is_some();
                    self.devices.insert(device.short, entry);
                }
                // The others are not to suffer from it.
                Err(refused @ HandoverError::Refused(..)) => {
                    self.tell(device.short, identity, &refused.to_string());
                }
                Err(problem) => return Err(problem),
            }
        }
        Ok(was_passed_over)
    }

    /// Whose readings are not handed over, and why.
    pub(super) fn problem(&self) -> Option<String> {
        let (short, problem) = self.told.first_key_value()?;
        let more = match self.told.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        Some(format!("those of {}{more}: {problem}", hex::encode(short)))
    }

    /// Whether the broker lacks numbers of a device that the list had before all of the inbox was
    /// handed over: it was restored from a backup, or has another folder. What was found the last
    /// time is nothing new.
    ///
    /// # Errors
    /// The broker has ended.
    pub(super) async fn is_ahead_of(
        &self,
        client: &Client,
        listed: &[Device],
        compared: &mut Compared,
    ) -> Result<bool, HandoverError> {
        let announced = self.devices.iter();
        let ask = announced.map(|(short, entry)| async move {
            let answered = client.ask(topics::next_number(&entry.data)).await;
            answered.map(|response| (*short, topics::number(&response)))
        });
        let at_broker: HashMap<Short, Option<u64>> = try_join_all(ask).await?.into_iter().collect();
        let mut is_ahead = false;
        for device in listed.iter().filter(|device| device.accepted > 0) {
            let Some(at_broker) = at_broker.get(&device.short) else { continue };
            let found = (*at_broker, device.fresh.next());
            let is_new = compared.insert(device.short, found) != Some(found);
            is_ahead |= is_new && found.0.unwrap_or(0) < found.1;
        }
        Ok(is_ahead)
    }

    fn tell(&mut self, device: Short, identity: &Identity, problem: &str) {
        if self.told.get(&device).is_none_or(|told| told != problem) {
            let device = format!("{identity:.32}");
            tracing::warn!(device, problem, "its readings are not handed to the broker");
        }
        self.told.insert(device, problem.to_owned());
    }
}

async fn announce_one(
    client: &Client,
    device: &Device,
    identity: &Identity,
    credential: &[u8],
    commands: &Commands,
) -> Result<Entry, HandoverError> {
    let readings = topic(client, &topics::of_readings(identity), Some(identity)).await?;
    let commanded = topic(client, &topics::of_commands(&format!("{identity:.32}")), None).await?;
    let links = [link_to_readings(&readings, credential), link_to_commands(&commanded)];
    let registration = Registration {
        identity,
        lifetime: LIFETIME,
        place: &device.place,
        purpose: &device.purpose,
        base: None,
    };
    let request = registration.request(&links);
    let response = expect(client.ask(request).await?, "register a device")?;
    Ok(Entry {
        place: device.place.clone(),
        purpose: device.purpose.clone(),
        registration: response.location_path,
        data: readings,
        renew: Instant::now() + RENEW,
        commanded: follow(client.clone(), commanded, device.short, commands.clone()),
    })
}

/// Brings what is commanded, for as long as the device is announced.
fn follow(client: Client, path: Path, device: Short, commands: Commands) -> AbortHandle {
    /// What was deleted cannot be observed (draft-ietf-core-coap-pubsub).
    const AGAIN: Duration = Duration::from_secs(10);
    let follow = async move {
        while !client.is_over() {
            let get = topics::request(Method::Get, &path);
            let Ok(mut observation) = client.observe(get).await else { return };
            while let Some(response) = observation.next().await {
                if response.code.is_success() {
                    commands.set(device, &response.payload);
                } else if response.code == Code::NOT_FOUND {
                    commands.set(device, &[][..].into());
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    tokio::spawn(follow).abort_handle()
}

/// Where the data of the topic is that has this name, and takes the readings of the device; makes
/// one if there is none. What somebody else made for the device is not looked at: he could take it
/// away.
async fn topic(client: &Client, name: &str, device: Option<&Identity>) -> Result<Path, HandoverError> {
    let search = device.map_or_else(|| topics::named(name), |device| topics::named_of(name, device));
    let response = expect(client.ask(search).await?, "list topics")?;
    if let Some(id) = topics::found(&response).into_iter().next() {
        return Ok(topics::data(&id));
    }
    let creation = match device {
        Some(device) => topics::creation_of(name, device),
        None => topics::creation(name, format::COSE_SIGN1),
    };
    let response = expect(client.ask(creation).await?, "make a topic")?;
    Ok(topics::data(&response.location_path))
}

/// An answer that is a success.
///
/// # Errors
/// The broker takes nothing now, or refuses.
pub(super) fn expect(response: Response, what: &'static str) -> Result<Response, HandoverError> {
    match response.code {
        code if code.is_success() => Ok(response),
        Code::SERVICE_UNAVAILABLE | Code::TOO_MANY_REQUESTS => {
            Err(HandoverError::Later(topics::text(&response)))
        }
        _ => Err(HandoverError::Refused(what, topics::text(&response))),
    }
}
