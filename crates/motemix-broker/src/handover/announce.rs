//! Registers devices, and makes their topics.

use std::collections::HashMap;

use minicbor::Encoder;
use motemix_coap::link_format::{self, Link, emit};
use motemix_coap::{Code, Method, Request, Response, format};
use motemix_object::Identity;
use motemix_readings::devices::Verdict;
use motemix_readings::{Device, Devices, base64url};
use tokio::task::AbortHandle;
use tokio::time::{Duration, Instant};

use super::publish::text;
use super::{Commands, HandoverError, Short};
use crate::client::Client;
use crate::topics::{DATA_TYPE, property};

/// Seconds that a registration lasts: should the receiver end, its devices are gone after that.
const LIFETIME: u32 = 90_000;
/// When it is renewed.
const RENEW: Duration = Duration::from_hours(6);
/// The interface of topics that devices are commanded on (RFC 6690, `if`).
const COMMANDED: &str = "motemix.command";

/// A device as it was announced.
#[derive(Debug)]
struct Entry {
    place: String,
    purpose: String,
    /// Where its registration is.
    registration: Vec<String>,
    /// Where its readings go.
    data: Vec<String>,
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
    told: HashMap<Short, String>,
}

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
    /// not in it any more.
    ///
    /// # Errors
    /// The broker has ended, or refuses; or the list does not work.
    pub(super) async fn announce(
        &mut self,
        client: &Client,
        devices: &mut Devices,
        commands: &Commands,
    ) -> Result<(), HandoverError> {
        let listed = devices.all()?;
        let stays =
            |short: &Short| listed.iter().any(|device| device.short == *short && device.successor.is_none());
        let gone: Vec<Short> = self.devices.keys().copied().filter(|short| !stays(short)).collect();
        for short in gone {
            if let Some(entry) = self.devices.remove(&short) {
                let mut request = Request::new(Method::Delete, &[]);
                request.path.clone_from(&entry.registration);
                client.ask(request).await?;
            }
        }
        for device in listed.iter().filter(|device| device.successor.is_none()) {
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
                    self.told.remove(&device.short);
                    self.devices.insert(device.short, entry);
                }
                // The others are not to suffer from it.
                Err(refused @ HandoverError::Refused(..)) => {
                    self.tell(device.short, identity, &refused.to_string());
                }
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
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
    let base = format!("devices/{identity:.32}");
    let readings = topic(client, &format!("{base}/readings"), Some(identity)).await?;
    let commanded = topic(client, &format!("{base}/commands"), None).await?;
    let links = [
        Link::new(&uri(&readings))
            .with("rt", DATA_TYPE)
            .with("key", &base64url::encode(credential))
            .with_flag("obs"),
        Link::new(&uri(&commanded)).with("rt", DATA_TYPE).with("if", COMMANDED),
    ];
    let mut request = Request::new(Method::Post, &["rd"]);
    request.content_format = Some(format::LINK_FORMAT);
    request.payload = emit(&links).into_bytes();
    request.query = vec![format!("ep=MOTEMIX:ID:{identity:.32}"), format!("lt={LIFETIME}")];
    for (name, value) in [("place", &device.place), ("purpose", &device.purpose)] {
        if !value.is_empty() {
            request.query.push(format!("{name}={value}"));
        }
    }
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
fn follow(client: Client, path: Vec<String>, device: Short, commands: Commands) -> AbortHandle {
    /// What was deleted cannot be observed (draft-ietf-core-coap-pubsub).
    const AGAIN: Duration = Duration::from_secs(10);
    let follow = async move {
        while !client.is_over() {
            let mut request = Request::new(Method::Get, &[]);
            request.path.clone_from(&path);
            let Ok(mut observation) = client.observe(request).await else { return };
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

/// Where the data of a topic is that has this name, or of any topic of the device; makes one if
/// there is none.
async fn topic(client: &Client, name: &str, device: Option<&Identity>) -> Result<Vec<String>, HandoverError> {
    let filter = match device {
        Some(device) => map(|out| out.map(1)?.i64(property::DEVICE)?.bytes(device.as_bytes()).map(|_| ())),
        None => map(|out| out.map(1)?.i64(property::NAME)?.str(name).map(|_| ())),
    };
    let mut request = Request::new(Method::Fetch, &["ps"]);
    request.content_format = Some(format::CORE_PUBSUB_CBOR);
    request.payload = filter;
    let response = expect(client.ask(request).await?, "list topics")?;
    let links =
        std::str::from_utf8(&response.payload).ok().and_then(|text| link_format::parse(text, 64).ok());
    let found = links.iter().flatten().next().map(|link| segments(&link.target));
    let path = if let Some(path) = found {
        path
    } else {
        let mut request = Request::new(Method::Post, &["ps"]);
        request.content_format = Some(format::CORE_PUBSUB_CBOR);
        request.payload = map(|out| {
            out.map(if device.is_some() { 3 } else { 4 })?;
            out.i64(property::NAME)?.str(name)?.i64(property::RESOURCE_TYPE)?.str(DATA_TYPE)?;
            match device {
                Some(device) => out.i64(property::DEVICE)?.bytes(device.as_bytes())?,
                // What is observed has to have a value: none is commanded yet.
                None => {
                    out.i64(property::CONTENT_FORMAT)?.u16(format::COSE_SIGN1)?;
                    out.i64(property::INITIALIZE)?.bytes(&[])?
                }
            };
            Ok(())
        });
        expect(client.ask(request).await?, "make a topic")?.location_path
    };
    let id = path.last().cloned().unwrap_or_default();
    Ok(vec!["ps".to_owned(), "data".to_owned(), id])
}

fn map(
    write: impl FnOnce(
        &mut Encoder<&mut Vec<u8>>,
    ) -> Result<(), minicbor::encode::Error<std::convert::Infallible>>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Ok(()) = write(&mut Encoder::new(&mut bytes)) else { unreachable!("memory takes everything") };
    bytes
}

fn expect(response: Response, what: &'static str) -> Result<Response, HandoverError> {
    match response.code {
        code if code.is_success() => Ok(response),
        Code::SERVICE_UNAVAILABLE | Code::TOO_MANY_REQUESTS => {
            Err(HandoverError::Later(text(&response.payload)))
        }
        _ => Err(HandoverError::Refused(what, text(&response.payload))),
    }
}

fn segments(target: &str) -> Vec<String> {
    target.trim_start_matches('/').split('/').map(str::to_owned).collect()
}

fn uri(path: &[String]) -> String {
    format!("/{}", path.join("/"))
}
