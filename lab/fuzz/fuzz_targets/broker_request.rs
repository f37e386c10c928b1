//! Requests to a broker, of whatever path and payload, from strangers, devices and bridges, in
//! batches that the store takes or not: what was not stored leaves the state as it was, and what
//! was stored makes the same state again.
#![cfg_attr(fuzzing, no_main)]

use arbitrary::Arbitrary;
use motemix_broker::policy::Limits;
use motemix_broker::{Broker, Caller, Moment, Policy, State};
use motemix_coap::{Method, Observe, Peer, Relation, Request, Token};
use motemix_fuzz::fuzz_target;
use motemix_object::Identity;

#[derive(Arbitrary, Debug)]
enum Step<'b> {
    Ask(Asked<'b>),
    Stored,
    NotStored,
    Wait(u16),
    End(u8),
}

#[derive(Arbitrary, Debug)]
struct Asked<'b> {
    who: u8,
    method: u8,
    path: Path,
    query: Option<&'b str>,
    content_format: Format,
    accept: Option<u16>,
    if_match: Option<Vec<u8>>,
    observe: Option<bool>,
    payload: Payload<'b>,
}

#[derive(Arbitrary, Debug)]
enum Path {
    Known,
    Collection,
    /// One of the topics that there are.
    Topic(u8),
    Data(u8),
    Directory,
    Registration(u8),
    LookUp(bool),
    Simple,
}

#[derive(Arbitrary, Debug)]
enum Format {
    None,
    PubSub,
    Links,
    Cbor,
    Sign1,
    Other(u16),
}

#[derive(Arbitrary, Debug)]
enum Payload<'b> {
    Bytes(&'b [u8]),
    /// A topic with this name, and what else there is in CBOR.
    Topic(&'b str, bool, &'b [u8]),
}

fn caller(who: u8) -> Caller {
    let address = std::net::SocketAddr::from(([192, 0, 2, who], 5683));
    Caller {
        peer: Peer::Datagram(address),
        connected: None,
        proven: who >= 128,
        device: (who % 4 == 1).then(|| Identity::from_bytes([who; 32])),
        local: who % 4 == 2,
    }
}

fn request(asked: &Asked<'_>, state: &State) -> Request {
    let topic = |number: u8| {
        let mut ids = state.topics().map(|(id, _)| id.0.to_string());
        ids.nth(usize::from(number) % state.topics().len().max(1)).unwrap_or_default()
    };
    let registration = |number: u8| {
        let mut ids = state.registrations().map(|(id, _)| id.0.to_string());
        ids.nth(usize::from(number) % state.registrations().len().max(1)).unwrap_or_default()
    };
    let path: Vec<String> = match asked.path {
        Path::Known => vec![".well-known".into(), "core".into()],
        Path::Collection => vec!["ps".into()],
        Path::Topic(number) => vec!["ps".into(), topic(number)],
        Path::Data(number) => vec!["ps".into(), "data".into(), topic(number)],
        Path::Directory => vec!["rd".into()],
        Path::Registration(number) => vec!["rd".into(), registration(number)],
        Path::LookUp(of_endpoints) => {
            vec!["rd-lookup".into(), if of_endpoints { "ep".into() } else { "res".into() }]
        }
        Path::Simple => vec![".well-known".into(), "rd".into()],
    };
    let payload = match asked.payload {
        Payload::Bytes(bytes) => bytes.to_vec(),
        Payload::Topic(name, with_device, more) => {
            // A map of two or three, and whatever follows.
            let mut payload = vec![if with_device { 0xa3 } else { 0xa2 }, 0x00, 0x78];
            let name = name.as_bytes();
            let name = &name[..name.len().min(255)];
            payload.push(name.len() as u8);
            payload.extend_from_slice(name);
            payload.extend_from_slice(b"\x02\x6ccore.ps.data");
            if with_device {
                payload.extend_from_slice(b"\x3a\x00\x01\x00\x00\x58\x20");
                payload.extend_from_slice(&[1; 32]);
            }
            payload.extend_from_slice(more);
            payload
        }
    };
    Request {
        path,
        query: asked.query.iter().map(|&parameter| parameter.to_owned()).collect(),
        content_format: match asked.content_format {
            Format::None => None,
            Format::PubSub => Some(606),
            Format::Links => Some(40),
            Format::Cbor => Some(60),
            Format::Sign1 => Some(18),
            Format::Other(other) => Some(other),
        },
        accept: asked.accept,
        if_match: asked.if_match.iter().cloned().collect(),
        observe: asked.observe.map(|on| if on { Observe::Register } else { Observe::Deregister }),
        payload,
        ..Request::new(Method::of_byte(asked.method % 7 + 1).expect("a method"), &[])
    }
}

fuzz_target!(|steps: Vec<Step<'_>>| {
    let limits = Limits { topics: 8, observers: 8, observers_of_a_peer: 4, ..Limits::default() };
    let mut broker = Broker::new(Policy { limits, ..Policy::default() }, State::default());
    let mut now = Moment::from_millis(1_795_564_800_000);
    // What a store would have.
    let mut kept = State::default();
    for step in steps {
        match step {
            Step::Ask(asked) => {
                let relation = Relation {
                    peer: caller(asked.who).peer,
                    token: Token::new(&[asked.method]).expect("short"),
                };
                let request = request(&asked, broker.state());
                broker.handle(now, &caller(asked.who), (), relation, request);
            }
            Step::Stored => {
                for change in broker.changes() {
                    kept.apply(change.clone());
                }
                let settled = broker.stored();
                assert!(
                    settled.notices.iter().all(|notice| { notice.last || notice.response.code.is_success() })
                );
            }
            Step::NotStored => {
                let settled = broker.not_stored("no room");
                assert!(settled.feed.is_empty());
                assert!(settled.answers.iter().all(|answer| !answer.response.code.is_success()));
                assert_eq!(*broker.state(), kept);
            }
            Step::Wait(seconds) => {
                now = now.plus_secs(seconds.into());
                broker.expire(now);
            }
            Step::End(token) => broker
                .end(&Relation { peer: caller(token).peer, token: Token::new(&[token]).expect("short") }),
        }
        assert!(broker.state().topics().len() <= 8 && broker.observers() <= 8);
    }
    broker.not_stored("the end");
    assert_eq!(*broker.state(), kept);
});
