//! Connections that say nothing.

use std::io::Read as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::broker::{Broker, code};
use crate::python::Python;

/// What one network may have (`docs/explanation/broker-attacks.md`).
const MOST_OF_A_NETWORK: usize = 256;

#[test]
fn silent_connections_of_one_network_take_its_places_and_the_broker_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut broker = Broker::start_with(&folder.path().join("data"), &["--page", "127.0.0.1:0"]);
    let address = broker.base.strip_prefix("coap://").expect("an address").to_owned();
    let connect = || TcpStream::connect(&address).expect("the system takes it");
    let silent: Vec<_> = (0..MOST_OF_A_NETWORK).map(|_| connect()).collect();
    for _ in 0..5 {
        // Closed at once, by an end or a reset.
        assert!(matches!(connect().read(&mut [0]), Ok(0) | Err(_)));
    }
    let registered = broker.ask(
        &mut Python::device(),
        "POST",
        "/rd?ep=shed",
        json!({ "format": 40, "payload": hex::encode("</t>") }),
    );
    assert_eq!(code(&registered), "2.01");
    let [counters] = <[Value; 1]>::try_from(broker.page(&["/api/counters"])).expect("one");
    assert_eq!(counters["connections"]["refused"], json!(5), "{counters}");
    drop(silent);
}
