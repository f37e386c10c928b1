//! A device registers by asking the broker to ask for its links (RFC 9176, 5.1).

use serde_json::json;

use crate::broker::{Broker, code, text};
use crate::python::Python;

#[test]
fn a_device_that_has_shown_its_address_is_asked_for_its_links_and_registered() {
    let folder = tempfile::tempdir().expect("a folder");
    let broker = Broker::start(&folder.path().join("data"));
    let mut device = Python::device();
    let links = hex::encode("</t>;rt=temperature");
    let port = device.ask("serve", json!({ "links": links })).expect("it serves")["port"].clone();

    // Whoever asks for the first time could have written anybody's address on it.
    let path = "/.well-known/rd?ep=shed&lt=600";
    let first = broker.ask(&mut device, "POST", path, json!({ "from_here": true }));
    assert_eq!(code(&first), "4.01");
    let echo = first["echo"].as_str().expect("an Echo value").to_owned();
    assert_eq!(device.ask("asked", json!({})), Ok(json!({ "times": 0 })));

    let again = broker.ask(&mut device, "POST", path, json!({ "from_here": true, "echo": echo }));
    assert_eq!(code(&again), "2.04", "{}", text(&again));
    assert_eq!(device.ask("asked", json!({})), Ok(json!({ "times": 1 })));
    let found = text(&broker.ask(&mut device, "GET", "/rd-lookup/res?rt=temperature", json!({})));
    assert_eq!(found, format!("<coap://[::1]:{port}/t>;rt=temperature"));
}

#[test]
fn the_proof_of_one_address_is_none_of_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let broker = Broker::start(&folder.path().join("data"));
    let (mut device, mut victim) = (Python::device(), Python::device());
    for peer in [&mut device, &mut victim] {
        peer.ask("serve", json!({ "links": hex::encode("</t>") })).expect("it serves");
    }
    let path = "/.well-known/rd?ep=shed";
    let first = broker.ask(&mut device, "POST", path, json!({ "from_here": true }));
    let echo = first["echo"].as_str().expect("an Echo value").to_owned();
    let stolen = broker.ask(&mut victim, "POST", path, json!({ "from_here": true, "echo": echo }));
    assert_eq!(code(&stolen), "4.01");
    assert_eq!(victim.ask("asked", json!({})), Ok(json!({ "times": 0 })));
}
