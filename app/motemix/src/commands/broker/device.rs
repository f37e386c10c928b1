//! A device that registers and publishes by itself.

use super::{ask_as, connect, hint, said_by_broker};
use crate::commands::object::senml;
use motemix_broker_client::client::registration::{Registration, discovered, discovery, link_to_readings};
use motemix_broker_client::client::{Address, Client, topics};
use motemix_coap::link_format::Link;
use motemix_coap::{Code, Method, Request, Response, format};
use motemix_object::{
    Identity, MAX_REQUEST_PROOF_LEN, MAX_TEXT_LEN, OVERHEAD, Path, RequestDigest, Sealer, sign_request,
};
use motemix_program::cli::{BrokerPublish, BrokerRegister, For};
use motemix_program::failure::Failure;
use motemix_program::report;
use motemix_readings::keys::DeviceKey;
use motemix_readings::{Counter, base64url};

/// Room for a key and what may stand beside it.
const CREDENTIAL_LEN: usize = 2048;
/// What signing a request takes besides the proof.
const SIGNED: usize = 32;

/// A device that signs what it asks.
struct Device<'a> {
    key: DeviceKey,
    identity: Identity,
    counter: Counter,
    audience: &'a For,
}

impl<'a> Device<'a> {
    fn load(path: &std::path::Path, audience: &'a For) -> Result<Self, Failure> {
        let key = DeviceKey::load(path).map_err(Failure::broken)?;
        let identity = key.identity();
        Ok(Self { counter: Counter::beside(path, &identity), key, identity, audience })
    }

    fn credential(&self) -> Result<Vec<u8>, Failure> {
        let mut out = [0; CREDENTIAL_LEN];
        let len = self.key.credential().encode(&mut out).map_err(Failure::failed)?;
        Ok(out[..len].to_vec())
    }

    /// The request with its proof.
    fn sign(&mut self, mut request: Request) -> Result<Request, Failure> {
        let number = self.counter.take().map_err(Failure::failed)?.number();
        let method = request.method.byte();
        let digest = RequestDigest::of(method, &request.path, &request.query, &request.payload);
        let digest = digest.map_err(Failure::failed)?;
        let mut out = [0; MAX_REQUEST_PROOF_LEN + SIGNED];
        let (signer, _) = self.key.parts();
        let len = sign_request(signer, &self.identity, number, &digest, self.audience.get(), &mut out);
        let proof = base64url::encode(&out[..len.map_err(Failure::failed)?]);
        request.query.push(format!("proof={proof}"));
        Ok(request)
    }

    fn registration(
        &mut self,
        args: &BrokerRegister,
        directory: &topics::Path,
        links: &[Link],
    ) -> Result<Request, Failure> {
        let base = match &args.broker.at {
            // What it publishes is there, and it sleeps.
            Address::Local(_) => None,
            broker => Some(broker.to_string()),
        };
        let registration = Registration {
            identity: &self.identity,
            lifetime: args.lifetime,
            place: &args.place,
            purpose: &args.purpose,
            base: base.as_deref(),
        };
        self.sign(Request { path: directory.clone(), ..registration.request(links) })
    }

    async fn make_topic(&mut self, client: &Client) -> Result<topics::Path, Failure> {
        let mut creation = topics::creation_of(&topics::of_readings(&self.identity), &self.identity);
        creation.query.push(format!("device={}", self.identity));
        let creation = self.sign(creation)?;
        let made = ask_as(client, creation, "make a topic for its readings", Some(self.audience)).await?;
        Ok(topics::data(&made.location_path))
    }

    /// Asks where its readings go.
    fn search(&self) -> Request {
        // Others may have made topics for it too, and would take them away.
        topics::named_of(&topics::of_readings(&self.identity), &self.identity)
    }

    /// Where its readings go, if it has a topic.
    async fn topic(&self, client: &Client) -> Result<Option<topics::Path>, Failure> {
        let found = ask_as(client, self.search(), "look for the device's topic", Some(self.audience)).await?;
        Ok(topic_in(&found))
    }
}

fn topic_in(response: &Response) -> Option<topics::Path> {
    topics::found(response).first().map(|topic| topics::data(topic))
}

pub async fn register(args: &BrokerRegister) -> Result<(), Failure> {
    for (name, text) in [("--place", &args.place), ("--purpose", &args.purpose)] {
        if text.len() > MAX_TEXT_LEN || text.chars().any(char::is_control) {
            return Err(Failure::broken(format!(
                "{name}: at most {MAX_TEXT_LEN} bytes, without line ends and other control characters"
            )));
        }
    }
    // Before anything is sent: the topic would be made, and the registration be refused.
    if args.broker.at.is_link_local() {
        return Err(Failure::broken(format!(
            "{}: a link-local address leads nowhere from another link, and the directory takes none as base=; name the \
             broker by a wider address or by its host's name, or give the path of its local.sock",
            args.broker.at
        )));
    }
    // What is registered over the local socket has no base, and holds at no other directory.
    if args.audience.audience.is_empty() && !matches!(args.broker.at, Address::Local(_)) {
        eprintln!(
            "motemix: without --audience, whoever gets this registration can make it at any other directory \
             whose network has no name either"
        );
    }
    let mut device = Device::load(&args.key, &args.audience)?;
    let credential = device.credential()?;
    let client = connect(&args.broker.at).await?;
    // Any directory takes a device with its key, and a broker takes its readings too.
    let found = client.ask(device.search()).await.map_err(Failure::failed)?;
    let has_no_topics = matches!(found.code, Code::NOT_FOUND | Code::METHOD_NOT_ALLOWED);
    if !found.code.is_success() && !has_no_topics {
        // One that is full or busy may have its topic: a registration without it would hide that.
        let (code, said) = (found.code, topics::text(&found));
        return Err(Failure::failed(format!("not registered: {} says {code}: {said}", args.broker.at)));
    }
    let directory = client.ask(discovery()).await.map_err(Failure::failed)?;
    let directory = discovered(&directory).ok_or_else(|| {
        Failure::failed(format!("{}: no directory is there; look at the address", args.broker.at))
    })?;
    let keyed = [Link::new("/").with("key", &base64url::encode(&credential))];
    let readings = if let Some(readings) = topic_in(&found) {
        Some(readings)
    } else {
        // Who makes a topic is known first.
        let registration = device.registration(args, &directory, &keyed)?;
        ask_as(&client, registration, "register the device", Some(&args.audience)).await?;
        if has_no_topics { None } else { Some(device.make_topic(&client).await?) }
    };
    let its = if let Some(readings) = &readings {
        let links = [link_to_readings(readings, &credential)];
        let registration = device.registration(args, &directory, &links)?;
        ask_as(&client, registration, "register the device", Some(&args.audience)).await?;
        format!("its readings are at {}", topics::reference(readings))
    } else {
        "the directory has no topics, and takes no readings".to_owned()
    };
    let lifetime = humantime::format_duration(args.lifetime);
    let said = format!("registered {:.32} for {lifetime}; {its}", device.identity);
    Ok(report::print(said_by_broker(&said).as_bytes())?)
}

pub async fn publish(args: &BrokerPublish) -> Result<(), Failure> {
    let (pack, _) = senml(args.reading.as_deref())?;
    let mut device = Device::load(&args.key, &args.audience)?;
    let client = connect(&args.broker.at).await?;
    let topic = device.topic(&client).await?.ok_or_else(|| {
        Failure::failed(format!(
            "{}: no topic that anybody may read takes readings of {:.32}; register the device first \
             (`motemix broker register`), or, if a rule `read` is for others, publish over its local.sock",
            args.broker.at, device.identity
        ))
    })?;
    let number = device.counter.take().map_err(Failure::failed)?;
    let sequence = number.number();
    let (identity, audience) = (device.identity, args.audience.get());
    let mut sealer = Sealer { signer: device.key.signer(), identity, path: Path::Direct, audience };
    let mut out = vec![0; pack.len() + OVERHEAD + 8];
    let len = sealer.seal(number, &pack, &mut out).map_err(Failure::failed)?;
    out.truncate(len);
    let mut request = topics::request(Method::Put, &topic);
    request.content_format = Some(format::COSE_SIGN1);
    request.payload = out;
    let response = client.ask(request).await.map_err(Failure::failed)?;
    match response.code {
        code if code.is_success() => {
            let said = format!("published reading {sequence} at {}", topics::reference(&topic));
            Ok(report::print(said_by_broker(&said).as_bytes())?)
        }
        Code::UNAUTHORIZED => Err(Failure::failed(format!(
            "{}: the registration is over or another network's; register the device again \
             (`motemix broker register`, with the same --audience)",
            args.broker.at
        ))),
        code => {
            let (said, hint) = (topics::text(&response), hint(code, &args.audience));
            Err(Failure::failed(format!("not published: {} says {code}: {said}{hint}", args.broker.at)))
        }
    }
}
