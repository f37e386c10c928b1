//! A broker may be anybody: what one that lies makes those believe and print who ask it.

mod program;

use motemix_coap::{Code, Endpoint, Method, Request, Response, Settings, format};
use motemix_crypto::Secret;
use motemix_object::{Algorithm, Audience, Credential, Path, PrivateKey, Reserved, Sealer, Signer as _};
use motemix_readings::base64url;
use motemix_time::Instant;
use program::motemix;
use std::collections::HashSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// It answers with whatever it likes until it is dropped.
struct Liar {
    at: String,
    over: Arc<AtomicBool>,
    answering: Option<JoinHandle<()>>,
}

impl Liar {
    fn start(lies: impl Fn(&Request) -> Response + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
        let at = format!("coap://{}", socket.local_addr().expect("an address"));
        let over = Arc::new(AtomicBool::new(false));
        let ended = over.clone();
        let answering = thread::spawn(move || {
            let mut endpoint = Endpoint::new(Settings::default(), [7; 32]);
            let mut buffer = vec![0; 65_536];
            let mut now = 1;
            while !ended.load(Ordering::Relaxed) {
                now += 1;
                let at = Instant::from_micros(now);
                if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                    let _ = endpoint.handle_datagram(at, from, &buffer[..len]);
                }
                while let Some(incoming) = endpoint.poll_request() {
                    endpoint.respond(at, incoming.ticket, &lies(&incoming.request), true);
                }
                while let Some(transmit) = endpoint.poll_transmit() {
                    let _ = socket.send_to(&transmit.bytes, transmit.to);
                }
            }
        });
        Self { at, over, answering: Some(answering) }
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.answering.take().map(JoinHandle::join);
    }
}

/// A device's key in base64url, and its reading with this number.
fn signed(number: u64) -> (String, Vec<u8>) {
    let mut key = PrivateKey::new(Algorithm::Ed25519, Secret::new([1; 32])).expect("a key");
    let credential = Credential::new(key.public_key(), &[]).expect("a credential");
    let mut bytes = [0; 128];
    let len = credential.encode(&mut bytes).expect("room");
    let identity = credential.identity().expect("an identity");
    let audience = Audience::default();
    let mut sealer = Sealer { signer: &mut key, identity, path: Path::Direct, audience };
    let mut reading = [0; 256];
    // `[{"n": "t", "v": 1}]`
    let senml = b"\x81\xa2\x00\x61t\x02\x01";
    let signed = sealer.seal(Reserved::promised(number), senml, &mut reading).expect("room");
    (base64url::encode(&bytes[..len]), reading[..signed].to_vec())
}

#[test]
fn a_reading_that_a_broker_shows_under_two_names_is_verified_once() {
    let (key, reading) = signed(0);
    let liar = Liar::start(move |request| {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method, &path[..]) {
            (Method::Get, ["rd-lookup", "res"]) => {
                let link = |id: &str| format!("</ps/data/{id}>;rt=core.ps.data;key=\"{key}\"");
                let links = format!("{},{}", link("one"), link("two"));
                Response::content(Code::CONTENT, format::LINK_FORMAT, links.into_bytes())
            }
            (Method::Get, ["ps", "data", _]) => {
                Response::content(Code::CONTENT, format::COSE_SIGN1, reading.clone())
            }
            _ => Response::error(Code::NOT_FOUND, "nothing"),
        }
    });
    let seen = motemix(["broker", "watch", &liar.at, "--seconds", "5"]).succeeds();
    assert!(seen.contains("1 device, 1 reading verified"), "{seen}");
}

#[test]
fn a_stranger_s_thousand_empty_topics_do_not_use_up_what_a_broker_takes_from_who_watches() {
    let (key, reading) = signed(0);
    let (asked, dead) = (Arc::new(AtomicU32::new(0)), 640);
    let count = asked.clone();
    let liar = Liar::start(move |request| {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method, &path[..]) {
            (Method::Get, ["rd-lookup", "res"]) => {
                let link = |id: &str| format!("</ps/data/{id}>;rt=core.ps.data;key=\"{key}\"");
                let links: Vec<_> = (0..dead).map(|id| link(&id.to_string())).chain([link("one")]).collect();
                Response::content(Code::CONTENT, format::LINK_FORMAT, links.join(",").into_bytes())
            }
            (Method::Get, ["ps", "data", "one"]) => {
                Response::content(Code::CONTENT, format::COSE_SIGN1, reading.clone())
            }
            (Method::Get, ["ps", "data", _]) => {
                count.fetch_add(1, Ordering::Relaxed);
                Response::error(Code::NOT_FOUND, "nothing")
            }
            _ => Response::error(Code::NOT_FOUND, "nothing"),
        }
    });
    let seen = motemix(["broker", "watch", &liar.at, "--seconds", "5"]).succeeds();
    assert!(seen.contains("1 device, 1 reading verified"), "{seen}");
    // Once each, and not each second.
    let asked = asked.load(Ordering::Relaxed);
    assert!((1..=dead).contains(&asked), "{asked} questions for {dead} topics");
}

#[test]
fn of_what_nobody_signed_the_beginning_is_shown() {
    let (key, _) = signed(0);
    let liar = Liar::start(move |request| {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method, &path[..]) {
            (Method::Get, ["rd-lookup", "res"]) => {
                let link = format!("</ps/data/one>;rt=core.ps.data;key=\"{key}\"");
                Response::content(Code::CONTENT, format::LINK_FORMAT, link.into_bytes())
            }
            (Method::Get, ["ps", "data", _]) => {
                Response::content(Code::CONTENT, format::COSE_SIGN1, vec![0xff; 20_000])
            }
            _ => Response::error(Code::NOT_FOUND, "nothing"),
        }
    });
    let run = motemix(["broker", "watch", &liar.at, "--seconds", "5"]);
    assert!(run.stdout().contains("NOT verified"), "{}", run.stdout());
    let longest = run.stdout().lines().map(str::len).max();
    assert!(longest.is_some_and(|longest| longest < 400), "{longest:?}");
}

#[test]
fn values_of_so_many_topics_are_held_while_the_broker_is_asked_whose_they_are() {
    let (key, _) = signed(0);
    let (held, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (of_liar, most_of_liar, asked) = (held, most.clone(), Mutex::new(HashSet::new()));
    let liar = Liar::start(move |request| {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method, &path[..]) {
            (Method::Get, ["rd-lookup", "res"]) => {
                let link = |id: u32| format!("</ps/data/{id}>;rt=core.ps.data;key=\"{key}\"");
                let links = (0..300).map(link).collect::<Vec<_>>().join(",");
                Response::content(Code::CONTENT, format::LINK_FORMAT, links.into_bytes())
            }
            (Method::Get, ["ps", "data", _]) => {
                if asked.lock().expect("nobody panicked").insert(request.path.clone()) {
                    let held = of_liar.fetch_add(1, Ordering::Relaxed) + 1;
                    most_of_liar.fetch_max(held, Ordering::Relaxed);
                }
                Response::content(Code::CONTENT, format::COSE_SIGN1, vec![0xff; 1000])
            }
            (Method::Get, ["rd-lookup", "ep"]) => {
                of_liar.fetch_sub(1, Ordering::Relaxed);
                Response::error(Code::NOT_FOUND, "nothing")
            }
            _ => Response::error(Code::NOT_FOUND, "nothing"),
        }
    });
    let run = motemix(["broker", "watch", &liar.at, "--seconds", "5"]);
    assert!(run.stdout().contains("NOT verified"), "{}", run.stdout());
    let most = most.load(Ordering::Relaxed);
    assert!((1..=64).contains(&most), "{most} values are held");
}

#[test]
fn what_a_broker_says_moves_nothing_on_the_terminal_of_who_asks() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("mote.key");
    let key = key.to_str().expect("UTF-8");
    motemix(["id", "new", key]).succeeds();
    let liar = Liar::start(|request| match request.method {
        Method::Post => {
            let location_path = vec!["ps".to_owned(), "\u{1b}]0;owned\u{7}".to_owned()];
            Response { location_path, ..Response::new(Code::CREATED) }
        }
        Method::Get if request.path == [".well-known", "core"] => {
            let directory = b"</rd>;rt=core.rd".to_vec();
            Response::content(Code::CONTENT, format::LINK_FORMAT, directory)
        }
        _ => Response::content(Code::CONTENT, format::LINK_FORMAT, Vec::new()),
    });
    let seen = motemix(["broker", "register", &liar.at, "--key", key]).succeeds();
    assert!(seen.contains("owned") && !seen.contains('\u{1b}'), "{seen:?}");
}
