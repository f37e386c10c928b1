//! What the page's interface answers, over a real socket.

#[path = "page/client.rs"]
mod client;
#[path = "page/fake.rs"]
mod fake;
#[path = "page/listeners.rs"]
mod listeners;
#[path = "page/readers.rs"]
mod readers;

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use client::{Event, Events, exchange, get, get_with};
use fake::{Fake, anywhere, identity, now};
use motemix_broker::Moment;
use motemix_broker::page::{Limits, Page, Settings};
use motemix_crypto::Secret;
use motemix_object::{Audience, Command, Credential, Ed25519Key, Path, Reserved, Sealer, command};
use motemix_readings::jws;
use motemix_readings::senml::Pack;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

fn limits_with(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

fn settings_with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = anywhere();
    change(&mut settings);
    settings
}

async fn a_house() -> (Arc<Fake>, SocketAddr, JoinHandle<()>) {
    house_within(
        limits_with(|it| {
            it.pause = Duration::from_millis(1);
        }),
        anywhere(),
    )
    .await
}

async fn house_within(limits: Limits, settings: Settings) -> (Arc<Fake>, SocketAddr, JoinHandle<()>) {
    let house = Fake::new(limits);
    house.register("4521", "mote-1", Some(identity(1)), &[("place", "Attic"), ("purpose", "climate")]);
    house.topic("t1", "Attic/temperature", Some(identity(1)));
    let (address, serving) = house.serve(settings).await;
    (house, address, serving)
}

fn hello(event: Option<Event>) -> String {
    let event = event.expect("an event");
    assert_eq!(event.kind, "hello");
    assert!(event.data["now"].as_u64().is_some_and(|now| now > 0));
    event.id
}

#[tokio::test]
async fn devices_are_the_registrations_with_a_key() {
    let (house, address, _serving) = a_house().await;
    house.register("4522", "no key", None, &[]);
    let devices = get(address, "/api/devices").await.json();
    assert_eq!(devices["left_off"], 0);
    let [device] = devices["devices"].as_array().expect("a list").as_slice() else { panic!("{devices}") };
    assert_eq!(device["endpoint"], "mote-1");
    assert_eq!((&device["place"], &device["purpose"]), (&json!("Attic"), &json!("climate")));
    assert_eq!(device["identity"], hex::encode(identity(1).as_bytes()));
    assert_eq!(device["links"][1], json!({ "target": "/sensors/humidity", "type": "humidity" }));
}

#[tokio::test]
async fn values_are_read_in_each_form_that_a_reading_has() {
    let (house, address, _serving) = a_house().await;
    let at = Moment::from_millis(1_900_000_000_500);
    let pack = Pack::read(br#"[{"n":"t","u":"Cel","t":1900000000,"v":21.5}]"#).expect("SenML");
    let mut signer = Ed25519Key::new(Secret::new([7; 32]));
    let sealer = || Audience::new("house.example").expect("a short name");
    let mut cose = [0; 300];
    let mut seal =
        Sealer { signer: &mut signer, identity: identity(1), path: Path::Direct, audience: sealer() };
    let length = seal.seal(Reserved::promised(17), &pack.to_cbor(), &mut cose).expect("room");
    let twin = jws::seal(&mut seal, Reserved::promised(18), &pack).expect("signed");
    let forms: [(u16, Vec<u8>, &str); 4] = [
        (110, pack.to_json().into_bytes(), "SenML in JSON"),
        (112, pack.to_cbor(), "SenML in CBOR"),
        (18, cose[..length].to_vec(), "signed SenML (COSE)"),
        (0, twin.into_bytes(), "signed SenML (JWS)"),
    ];
    for (format, payload, form) in forms {
        house.publish("t1", at, Some(format), &payload, Some(17));
        let topics = get(address, "/api/topics").await.json();
        let value = &topics["topics"][0]["value"];
        assert_eq!(value["form"], form);
        assert_eq!(value["published"], at.as_millis());
        assert_eq!(value["bytes"], payload.len());
        assert_eq!(value["signed"], json!({ "state": "checked", "sequence": 17 }));
        let record = json!({ "name": "t", "unit": "Cel", "time": 1.9e12, "value": 21.5, "sum": null });
        assert_eq!(value["records"], json!([record]), "{form}");
    }
    let history = get(address, "/api/topics/t1/history?last=3").await.json();
    assert_eq!(history["values"], 3);
    let series = json!([{ "name": "t", "unit": "Cel", "times": [1.9e12, 1.9e12, 1.9e12], "values": [21.5, 21.5, 21.5] }]);
    assert_eq!(history["series"], series);
}

/// The receiver makes the topic with an empty value, and a server puts a command in its place.
#[tokio::test]
async fn commands_are_read_and_a_topic_before_the_first_is_no_trouble() {
    let (house, address, _serving) = a_house().await;
    house.publish("t1", now(), Some(18), b"", None);
    let topics = get(address, "/api/topics").await.json();
    let value = &topics["topics"][0]["value"];
    assert_eq!((&value["form"], &value["bytes"], value.get("problem")), (&json!("empty"), &json!(0), None));

    let senml = Pack::read(br#"[{"n":"vent","vb":true}]"#).expect("SenML").to_cbor();
    let mut server = Ed25519Key::new(Secret::new([9; 32]));
    let credential = Credential::new(server.public_key(), &[]).expect("a key");
    let audience = Audience::new("house.example").expect("a short name");
    let (mut out, said) = ([0; 300], Command { sequence: 2, senml: &senml });
    let length =
        command(&mut server, &credential, false, &identity(1), audience, said, &mut out).expect("room");
    house.publish("t1", now(), Some(18), &out[..length], None);
    let topics = get(address, "/api/topics").await.json();
    let value = &topics["topics"][0]["value"];
    assert_eq!(value["form"], "signed command (COSE)");
    assert_eq!(value["signed"], json!({ "state": "unchecked" }));
    assert_eq!((&value["records"][0]["name"], &value["records"][0]["value"]), (&json!("vent"), &json!(true)));
    assert_eq!(value.get("problem"), None);
}

#[tokio::test]
async fn senml_is_read_as_what_its_content_format_says_it_is() {
    let (house, address, _serving) = a_house().await;
    let array = "not SenML in JSON: not an array of records, which begins with `[`";
    for (format, payload, problem) in [
        (110, &b"{\"temperature\":33.06}"[..], array),
        (110, b"\xef\xbb\xbf{\"e\":[]}", array),
        (110, b"\x81\xa2\x00\x61t\x02\x15", array),
        (110, b"[{\"n\":\"a b\",\"v\":1}]", "not valid SenML: record 1: \"a b\" is no name"),
        (112, b"[{\"n\":\"t\",\"v\":1}]", "not SenML in CBOR: "),
    ] {
        house.publish("t1", now(), Some(format), payload, None);
        let topics = get(address, "/api/topics").await.json();
        let said = topics["topics"][0]["value"]["problem"].as_str().unwrap_or_default().to_owned();
        assert!(said.starts_with(problem), "{said}");
    }
    for (format, payload) in
        [(112, &b"\x81\xbf\x00at\x02\x18\x2a\xff"[..]), (110, b"\xef\xbb\xbf[{\"n\":\"t\",\"v\":42}]")]
    {
        house.publish("t1", now(), Some(format), payload, None);
        let topics = get(address, "/api/topics").await.json();
        let record = &topics["topics"][0]["value"]["records"][0];
        assert_eq!((&record["name"], &record["value"]), (&json!("t"), &json!(42.0)), "{topics}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_said_and_harms_nobody() {
    let (house, address, _serving) = a_house().await;
    let deep = [b'['; 5000];
    let huge_number = br#"[{"n":"t","v":1e999}]"#;
    let bad: [(Option<u16>, &[u8]); 8] = [
        (Some(110), b"[{"),
        (Some(112), &[0x9f, 0x9f, 0xff]),
        (Some(18), b"\x84\x40"),
        (Some(110), &deep),
        (Some(110), huge_number),
        (Some(0), b"\xff\xfe"),
        (None, b""),
        (Some(60000), b"\0"),
    ];
    for (format, payload) in bad {
        house.publish("t1", now(), format, payload, None);
        let topics = get(address, "/api/topics").await;
        assert_eq!(topics.status, 200);
        let value = &topics.json()["topics"][0]["value"];
        assert_eq!(value["signed"], json!({ "state": "unchecked" }));
        assert!(value.get("records").is_none(), "{value}");
    }
    let history = get(address, "/api/topics/t1/history").await.json();
    assert_eq!(history, json!({ "topic": "t1", "values": 8, "series": [] }));
}

#[tokio::test]
async fn long_texts_and_many_records_are_cut() {
    let (house, address, _serving) = a_house().await;
    let name = "é".repeat(5000);
    house.register("r", &name, Some(identity(2)), &[("place", &name)]);
    house.topic("t2", &name, None);
    let records: Vec<_> = (0..500).map(|at| format!(r#"{{"n":"r{at}","v":{at}}}"#)).collect();
    house.publish("t2", now(), Some(110), format!("[{}]", records.join(",")).as_bytes(), None);
    let devices = get(address, "/api/devices").await.json();
    let endpoint = devices["devices"][1]["endpoint"].as_str().expect("text");
    assert_eq!(endpoint.chars().count(), 201);
    let value = &get(address, "/api/topics").await.json()["topics"][1]["value"];
    assert_eq!(
        (value["records"].as_array().map(Vec::len), &value["records_left_off"]),
        (Some(16), &json!(484))
    );
    let history = get(address, "/api/topics/t2/history").await.json();
    assert_eq!(history["series"].as_array().map(Vec::len), Some(8));
}

#[tokio::test]
async fn a_name_cannot_turn_the_text_around_it() {
    let (house, address, _serving) = a_house().await;
    house.register("4521", "mote\u{202e}7\u{200b}\n\u{1b}[31m", Some(identity(1)), &[]);
    let devices = get(address, "/api/devices").await.json();
    assert_eq!(devices["devices"][0]["endpoint"], "mote\u{fffd}7\u{fffd}\u{fffd}\u{fffd}[31m");
}

#[tokio::test]
async fn a_full_store_is_said_and_what_is_asked_of_it_is_answered() {
    let (house, address, _serving) = a_house().await;
    assert_eq!(get(address, "/api/status").await.json()["store"], json!({ "state": "working" }));
    let mut events = Events::connect(address, None).await;
    hello(events.next().await);
    house.store_fails(Some("the disk is full"));
    let event = events.next().await.expect("an event");
    assert_eq!((event.kind.as_str(), &event.data["why"]), ("store", &json!("the disk is full")));
    let status = get(address, "/api/status").await.json();
    assert_eq!(
        (&status["store"]["state"], &status["network"]),
        (&json!("refusing"), &json!("house.example"))
    );
    let history = get(address, "/api/topics/t1/history").await;
    assert_eq!(history.status, 503);
    assert_eq!(history.json()["problem"], "the store does not answer: the disk is full");
}

#[tokio::test]
async fn what_is_asked_wrongly_is_answered() {
    let (_house, address, _serving) = a_house().await;
    for (path, status) in [
        ("/api/topics/none/history", 404),
        ("/api/topics/t1/history?last=many", 400),
        ("/api/topics/t1/history?last=-1", 400),
        ("/api/topics/t1/history?last=99999999", 200),
        ("/api/topics/%ff/history", 400),
        ("/api/nothing", 404),
        ("/../Cargo.toml", 404),
        ("/identity/12.svg", 404),
        ("/identity/zz.svg", 404),
    ] {
        assert_eq!(get(address, path).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn nothing_can_be_changed() {
    let (_house, address, _serving) = a_house().await;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        for path in ["/", "/api/devices", "/api/topics", "/api/topics/t1/history", "/api/feed"] {
            let request = format!(
                "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
            );
            assert_eq!(exchange(address, request.as_bytes()).await.status, 405, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_name_that_was_rebound_to_this_machine_gets_nothing() {
    let named = settings_with(|it| {
        it.names = vec!["broker.example".into()];
    });
    let (_house, address, _serving) = house_within(Limits::default(), named).await;
    let ask = |host: &str| {
        let request = format!("GET /api/devices HTTP/1.1\r\n{host}Connection: close\r\n\r\n");
        async move { exchange(address, request.as_bytes()).await }
    };
    for host in
        ["Host: attacker.example\r\n", "Host: attacker.example\r\nHost: localhost\r\n", "Host:\r\n", ""]
    {
        let answer = ask(host).await;
        assert!(matches!(answer.status, 400 | 421), "{host:?}: {}", answer.status);
        assert!(!answer.text().contains("mote-1"), "{host:?}");
    }
    for host in ["Host: localhost\r\n", "Host: broker.example:8680\r\n", "Host: [::1]:1\r\n"] {
        assert_eq!(ask(host).await.status, 200, "{host:?}");
    }
}

#[tokio::test]
async fn another_site_takes_no_place_of_a_listener() {
    let (_house, address, _serving) = a_house().await;
    for site in ["cross-site", "same-site"] {
        let asked = format!("Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: cors\r\n");
        assert_eq!(get_with(address, "/api/feed", &asked).await.status, 403, "{site}");
    }
    // A frame in a stranger's page opens it too, and a link to it is none that people follow.
    for kind in ["iframe", "document"] {
        let framed =
            format!("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: {kind}\r\n");
        assert_eq!(get_with(address, "/api/feed", &framed).await.status, 403, "{kind}");
        let is_framed = kind == "iframe";
        assert_eq!(get_with(address, "/", &framed).await.status, if is_framed { 403 } else { 200 });
    }
    let followed_a_link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
    assert_eq!(get_with(address, "/", followed_a_link).await.status, 200);
}

#[tokio::test]
async fn every_answer_forbids_what_the_page_does_not_need() {
    let (_house, address, _serving) = a_house().await;
    let drawing = format!("/identity/{}.svg", hex::encode(identity(1).as_bytes()));
    for path in ["/", "/page.js", "/page.css", "/api/devices", "/nothing", &drawing] {
        let answer = get(address, path).await;
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert!(answer.header("access-control-allow-origin").is_none(), "{path}");
    }
}

#[tokio::test]
async fn files_are_asked_for_again_and_sent_once() {
    let (_house, address, _serving) = a_house().await;
    let page = get(address, "/").await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(!page.text().contains("<script>") && !page.text().contains("style="), "nothing is inline");
    for path in ["/", "/page.js", "/page.css", "/icon.svg", "/licences.txt"] {
        let first = get(address, path).await;
        assert_eq!((first.status, first.header("cache-control")), (200, Some("no-cache")), "{path}");
        let tag = first.header("etag").expect("a tag").to_owned();
        let again = get_with(address, path, &format!("If-None-Match: {tag}\r\n")).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        let other = get_with(address, path, "If-None-Match: \"0\"\r\n").await;
        assert_eq!(other.body, first.body, "{path}");
    }
    assert_eq!(get(address, "/api/topics").await.header("cache-control"), Some("no-store"));
    assert!(get(address, "/licences.txt").await.text().contains("Permission is hereby granted"));
}

/// The thread that the broker runs on asks, and does nothing else until it has the answer.
#[tokio::test]
async fn the_page_answers_while_the_broker_is_busy_and_ends_with_it() {
    let house = Fake::new(Limits::default());
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let until = async { drop(ended.await) };
    let (view, feed) = (house.clone(), house.feed.clone());
    let address = Page::start(anywhere(), view, feed, until).expect("an address");
    let ask = || {
        let mut stream = std::net::TcpStream::connect(address)?;
        write!(stream, "GET /api/status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        std::io::read_to_string(stream)
    };
    assert!(ask().expect("an answer").starts_with("HTTP/1.1 200"));
    let in_use = settings_with(|it| it.listen = address);
    let pending = std::future::pending();
    assert!(Page::start(in_use, house.clone(), house.feed.clone(), pending).is_err());
    end.send(()).expect("it runs");
    while ask().is_ok_and(|answer| !answer.is_empty()) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn who_holds_a_connection_and_asks_nothing_is_let_go() {
    let settings = settings_with(|it| {
        it.connections = 1;
        it.patience = Duration::from_millis(50);
    });
    let (_house, address, _serving) = house_within(Limits::default(), settings).await;
    let mut slow = TcpStream::connect(address).await.expect("the page listens");
    slow.write_all(b"GET / HTTP/1.1\r\nHost: loc").await.expect("sent");
    // It has the only place.
    assert_eq!(get(address, "/api/status").await.status, 200);
}

#[test]
fn the_page_is_for_this_machine_unless_somebody_decides_otherwise() {
    assert!(Settings::default().listen.ip().is_loopback());
}
