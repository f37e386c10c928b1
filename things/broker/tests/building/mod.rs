//! A building with a broker, devices that sign, and people who ask, without any network.
#![allow(dead_code, reason = "each story uses a part")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use minicbor::Encoder;
use motemix_broker::state::{Link, Registration, RegistrationId};
use motemix_broker::{Broker, Caller, Change, Moment, Policy, Settled, State};
use motemix_coap::{Code, Method, Observe, Peer, Relation, Request, Response, Token, format};
use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, Credential, Identity, PrivateKey, RequestDigest, Reserved, Sealer, Signer as _,
    register, sign_request,
};
use motemix_readings::senml::{Pack, Record, Value};
use motemix_readings::{base64url, jws};

pub const NETWORK: &str = "building";
/// 2026-11-25T00:00:00Z
pub const START: Moment = Moment::from_millis(1_795_564_800_000);
/// The private property of a device's topic (`docs/spec/broker.md`).
pub const DEVICE: i64 = -65_537;

pub struct Device {
    key: PrivateKey,
    pub identity: Identity,
    credential: Vec<u8>,
    next: u64,
}

impl Device {
    pub fn new(seed: u8) -> Self {
        let key = PrivateKey::new(Algorithm::Ed25519, Secret::new([seed; 32])).unwrap();
        let credential = Credential::new(key.public_key(), &[]).unwrap();
        let mut bytes = [0; 128];
        let len = credential.encode(&mut bytes).unwrap();
        let identity = credential.identity().unwrap();
        Self { identity, credential: bytes[..len].to_vec(), key, next: 0 }
    }

    fn senml(degrees: i64) -> Pack {
        let value = Some(Value::Text(format!("{degrees}")));
        Pack { records: vec![Record { name: Some("t".into()), value, ..Record::default() }] }
    }

    pub fn seal(&mut self, degrees: i64) -> Vec<u8> {
        let number = self.next;
        self.next += 1;
        self.seal_as(number, degrees, NETWORK, motemix_object::Path::Direct)
    }

    pub fn seal_as(
        &mut self,
        number: u64,
        degrees: i64,
        network: &str,
        path: motemix_object::Path,
    ) -> Vec<u8> {
        self.seal_pack(number, &Self::senml(degrees).to_cbor(), network, path)
    }

    pub fn seal_pack(
        &mut self,
        number: u64,
        pack: &[u8],
        network: &str,
        path: motemix_object::Path,
    ) -> Vec<u8> {
        let audience = Audience::new(network).unwrap();
        let mut sealer = Sealer { signer: &mut self.key, identity: self.identity, path, audience };
        let mut out = vec![0; 256];
        let len = sealer.seal(Reserved::promised(number), pack, &mut out).unwrap();
        out.truncate(len);
        out
    }

    pub fn seal_jws(&mut self, degrees: i64) -> Vec<u8> {
        let number = self.next;
        self.next += 1;
        let audience = Audience::new(NETWORK).unwrap();
        let path = motemix_object::Path::Direct;
        let mut sealer = Sealer { signer: &mut self.key, identity: self.identity, path, audience };
        jws::seal(&mut sealer, Reserved::promised(number), &Self::senml(degrees)).unwrap().into_bytes()
    }

    /// Which number comes next, signed.
    pub fn says_next(&mut self, number: u64) -> Vec<u8> {
        self.next = number;
        let mut out = vec![0; 256];
        let credential = self.credential.clone();
        let credential = Credential::parse(&credential).unwrap();
        let audience = Audience::new(NETWORK).unwrap();
        let len = register(&mut self.key, &credential, true, number, audience, &mut out).unwrap();
        out.truncate(len);
        out
    }

    /// A request that the device signs, to whatever is not the directory.
    pub fn sign(&mut self, mut request: Request) -> Request {
        request.query.push(format!("device={}", self.identity));
        self.prove(request)
    }

    /// The same to the directory, where the key says who signs.
    pub fn prove(&mut self, mut request: Request) -> Request {
        let query: Vec<&str> = request.query.iter().map(String::as_str).collect();
        let digest = RequestDigest::of(request.method.byte(), &request.path, &query, &request.payload);
        let audience = Audience::new(NETWORK).unwrap();
        let mut out = [0; 160];
        let (number, digest) = (self.next, digest.unwrap());
        self.next += 1;
        let len = sign_request(&mut self.key, &self.identity, number, &digest, audience, &mut out).unwrap();
        request.query.push(format!("proof={}", base64url::encode(&out[..len])));
        request
    }

    pub fn credential(&self) -> &[u8] {
        &self.credential
    }

    pub fn registration(&self) -> Change {
        let key = base64url::encode(&self.credential);
        let link = Link::new("/t").with("rt", "temperature").with("key", &key);
        let registration = Registration {
            endpoint: format!("{:.8}", self.identity).into(),
            sector: None,
            base: "coap://[2001:db8::1]".into(),
            base_stated: true,
            expires: START.plus_secs(90_000),
            lifetime: 90_000,
            attributes: Vec::new(),
            links: vec![link],
            device: Some(self.identity),
            owner: None,
            registrant: None,
        };
        let id = RegistrationId(format!("{:.8}", self.identity).into());
        Change::Registration(id, Some(Arc::new(registration)))
    }
}

pub fn peer(number: u16) -> Peer {
    let address: SocketAddr = format!("[2001:db8:0:{number:x}::1]:5683").parse().unwrap();
    Peer::Datagram(address)
}

/// Somebody who did not prove who it is.
pub fn stranger(number: u16) -> Caller {
    Caller { peer: peer(number), connected: None, proven: true, device: None, local: false }
}

/// A device that proved who it is.
pub fn proven(device: &Device) -> Caller {
    Caller { peer: peer(9), connected: None, proven: true, device: Some(device.identity), local: false }
}

/// A receiver of the network, or a bridge.
pub fn local() -> Caller {
    Caller { peer: Peer::Stream(0), connected: None, proven: true, device: None, local: true }
}

pub fn relation(caller: &Caller, token: u8) -> Relation {
    Relation { peer: caller.peer, token: Token::new(&[token]).unwrap() }
}

pub struct Building {
    pub broker: Broker<u32>,
    pub now: Moment,
}

pub fn policy() -> Policy {
    Policy { audience: NETWORK.to_owned(), ..Policy::default() }
}

pub fn parse(text: &str) -> Policy {
    let policy = Policy::parse(Path::new("policy.toml"), text).unwrap();
    Policy { audience: NETWORK.to_owned(), ..policy }
}

impl Building {
    pub fn new(policy: Policy, devices: &[&Device]) -> Self {
        let mut state = State::default();
        for device in devices {
            state.apply(device.registration());
        }
        Self { broker: Broker::new(policy, state), now: START }
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus_secs(seconds);
    }

    /// One request, stored at once.
    pub fn ask(&mut self, caller: &Caller, token: u8, request: Request) -> (Response, Settled<u32>) {
        self.broker.handle(self.now, caller, 7, relation(caller, token), request);
        let settled = self.broker.stored();
        assert_eq!(settled.answers.len(), 1);
        assert_eq!(settled.answers[0].ticket, 7);
        (settled.answers[0].response.clone(), settled)
    }

    pub fn answer(&mut self, caller: &Caller, request: Request) -> Response {
        self.ask(caller, 1, request).0
    }

    /// Creates a topic, and returns the last segment of its path.
    pub fn create(&mut self, caller: &Caller, properties: &[(i64, Property<'_>)]) -> String {
        let response = self.answer(caller, post(properties));
        assert_eq!(response.code, Code::CREATED, "{}", text(&response));
        assert_eq!(response.location_path[0], "ps");
        response.location_path[1].clone()
    }

    pub fn topic(&mut self, name: &str) -> String {
        self.create(&local(), &[(0, Property::Text(name)), (2, Property::Text("core.ps.data"))])
    }

    pub fn topic_of(&mut self, name: &str, device: &Device) -> String {
        let of = device.identity;
        self.create(
            &local(),
            &[
                (0, Property::Text(name)),
                (2, Property::Text("core.ps.data")),
                (DEVICE, Property::Bytes(of.as_bytes())),
            ],
        )
    }

    pub fn observe(&mut self, caller: &Caller, token: u8, id: &str) -> (Response, bool) {
        let request = Request { observe: Some(Observe::Register), ..get(&["ps", "data", id]) };
        let (response, settled) = self.ask(caller, token, request);
        (response, settled.answers[0].observing)
    }
}

#[derive(Clone, Copy)]
pub enum Property<'p> {
    Text(&'p str),
    Number(u64),
    Date(u64),
    Bytes(&'p [u8]),
}

pub fn map(properties: &[(i64, Property<'_>)]) -> Vec<u8> {
    let mut out = Encoder::new(Vec::new());
    out.map(properties.len() as u64).unwrap();
    for (key, value) in properties {
        out.i64(*key).unwrap();
        match value {
            Property::Text(text) => out.str(text).unwrap(),
            Property::Number(number) => out.u64(*number).unwrap(),
            Property::Date(seconds) => out.tag(minicbor::data::Tag::new(1)).unwrap().u64(*seconds).unwrap(),
            Property::Bytes(bytes) => out.bytes(bytes).unwrap(),
        };
    }
    out.into_writer()
}

pub fn get(path: &[&str]) -> Request {
    Request::new(Method::Get, path)
}

pub fn post(properties: &[(i64, Property<'_>)]) -> Request {
    with(Request::new(Method::Post, &["ps"]), format::CORE_PUBSUB_CBOR, &map(properties))
}

pub fn put(id: &str, content_format: u16, payload: &[u8]) -> Request {
    with(Request::new(Method::Put, &["ps", "data", id]), content_format, payload)
}

pub fn with(request: Request, content_format: u16, payload: &[u8]) -> Request {
    Request { content_format: Some(content_format), payload: payload.to_vec(), ..request }
}

pub fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.payload).into_owned()
}
