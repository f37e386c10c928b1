//! A directory, and who comes to it.

use std::net::SocketAddr;

use motemix_broker::directory::{self, Counters, Desk, Outcome, Refusal, Settings};
use motemix_broker::{Caller, Moment, State};
use motemix_coap::{Code, Method, Peer, Request, Response, format};
use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, Credential, Identity, Other, OtherKind, PrivateKey, RequestDigest, Signer as _,
    sign_request,
};
use motemix_readings::base64url;

pub(crate) const PLANT: &str = "plant";

/// A directory and its clock.
pub(crate) struct Town {
    pub(crate) settings: Settings,
    pub(crate) state: State,
    pub(crate) now: Moment,
    pub(crate) refused: Counters,
}

impl Town {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings { audience: PLANT.to_owned(), ..Settings::default() };
        change(&mut settings);
        let (state, refused) = (State::default(), Counters::default());
        Self { settings, state, now: Moment::from_millis(1_700_000_000_000), refused }
    }

    pub(crate) fn desk(&self) -> Desk<'_> {
        Desk { settings: &self.settings, state: &self.state, now: self.now }
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus_secs(seconds);
    }

    /// What is answered; what has changed is there from then on.
    pub(crate) fn ask(&mut self, caller: &Caller, request: &Request) -> Response {
        let outcome = directory::handle(self.desk(), caller, request).expect("a path of the directory");
        match outcome {
            Ok(Outcome::Done { changes, response }) => {
                for change in changes {
                    self.state.apply(change);
                }
                response
            }
            Ok(Outcome::Fetch(_)) => panic!("links are to be fetched"),
            Err(refused) => {
                self.refused.count(refused.why);
                refused.response()
            }
        }
    }

    /// The code of an answer, and its text.
    pub(crate) fn said(&mut self, caller: &Caller, request: &Request) -> (String, String) {
        let response = self.ask(caller, request);
        (response.code.to_string(), String::from_utf8(response.payload.to_vec()).unwrap())
    }

    /// Registers what has to succeed. Returns the path.
    pub(crate) fn registered(&mut self, caller: &Caller, request: &Request) -> String {
        let response = self.ask(caller, request);
        assert_eq!(response.code, Code::CREATED, "{:?}", std::str::from_utf8(&response.payload));
        format!("/{}", response.location_path.join("/"))
    }

    /// What a look-up finds.
    pub(crate) fn found(&mut self, path: &str) -> String {
        let (code, text) = self.said(&at("192.0.2.9:50000"), &request(&format!("GET {path}"), ""));
        assert_eq!(code, "2.05", "{text}");
        text
    }

    /// Asks, is refused with this code for this reason, and nothing has changed.
    pub(crate) fn refuses(&mut self, caller: &Caller, request: &Request, code: &str, why: Refusal) -> String {
        let (before, count) = (self.state.clone(), self.refused.of(why));
        let (said, text) = self.said(caller, request);
        assert_eq!((&*said, self.refused.of(why)), (code, count + 1), "{text}");
        assert!(self.state == before, "a refused request changed something");
        text
    }
}

/// Somebody who sends datagrams from there.
pub(crate) fn at(address: &str) -> Caller {
    let address: SocketAddr = address.parse().unwrap();
    Caller { peer: Peer::Datagram(address), connected: None, proven: true, device: None, local: false }
}

/// `POST /rd?ep=a&lt=60`
pub(crate) fn request(line: &str, payload: &str) -> Request {
    let (method, uri) = line.split_once(' ').unwrap();
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "FETCH" => Method::Fetch,
        "PATCH" => Method::Patch,
        "iPATCH" => Method::IPatch,
        _ => panic!("{method}"),
    };
    let segments: Vec<_> = path.split('/').skip(1).collect();
    let mut request = Request::new(method, &segments);
    request.query = query.split('&').filter(|parameter| !parameter.is_empty()).map(str::to_owned).collect();
    if !payload.is_empty() {
        request.content_format = Some(format::LINK_FORMAT);
        request.payload = payload.as_bytes().to_vec();
    }
    request
}

/// A device with a key.
pub(crate) struct Device {
    key: PrivateKey,
    credential: Vec<u8>,
    pub(crate) identity: Identity,
    /// The number that it signs with next.
    pub(crate) next: u64,
}

impl Device {
    pub(crate) fn new(seed: u8, algorithm: Algorithm) -> Self {
        let key = PrivateKey::new(algorithm, Secret::new([seed; 32])).unwrap();
        let others = [Other { kind: OtherKind::Serial, value: b"A-17" }];
        let credential = Credential::new(key.public_key(), &others).unwrap();
        let mut bytes = [0; 128];
        let len = credential.encode(&mut bytes).unwrap();
        let identity = credential.identity().unwrap();
        Self { key, credential: bytes[..len].to_vec(), identity, next: 0 }
    }

    /// Its links: a temperature, and its key.
    pub(crate) fn links(&self) -> String {
        format!("</temp>;rt=temperature;key=\"{}\"", base64url::encode(&self.credential))
    }

    /// The request with its signature, for this network.
    pub(crate) fn signed(&mut self, request: Request) -> Request {
        self.signed_for(PLANT, request)
    }

    pub(crate) fn signed_for(&mut self, audience: &str, mut request: Request) -> Request {
        let method = request.method.byte();
        let digest = RequestDigest::of(method, &request.path, &request.query, &request.payload).unwrap();
        let mut out = [0; 160];
        let audience = Audience::new(audience).unwrap();
        let len =
            sign_request(&mut self.key, &self.identity, self.next, &digest, audience, &mut out).unwrap();
        self.next = self.next.saturating_add(1);
        request.query.push(format!("proof={}", base64url::encode(&out[..len])));
        request
    }

    /// A signed registration under this name.
    pub(crate) fn registration(&mut self, name: &str) -> Request {
        let line = format!("POST /rd?ep={name}&base=coap://[2001:db8::17]");
        let links = self.links();
        self.signed(request(&line, &links))
    }

    /// The device, over OSCORE with EDHOC.
    pub(crate) fn proven(&self, address: &str) -> Caller {
        Caller { device: Some(self.identity), ..at(address) }
    }
}

pub(crate) fn mote(seed: u8) -> Device {
    Device::new(seed, Algorithm::Ed25519)
}
