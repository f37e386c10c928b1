//! aiocoap asks, observes and answers.

use std::net::{Ipv4Addr, SocketAddr};

use motemix_coap::{Code, Event, Method, Observe, Request, Settings};
use serde_json::{Value, json};

use crate::python::{Python, bytes};
use crate::socket::{Client, Server};

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 % 251) as u8).collect()
}

fn ask(peer: &mut Python, server: &Server, method: &str, path: &str, payload: &[u8]) -> Value {
    let uri = format!("coap://{}/{path}", server.address);
    let question = json!({ "method": method, "uri": uri, "payload": hex::encode(payload) });
    peer.ask("ask", question).expect("a response")
}

#[test]
fn aiocoap_puts_and_gets_bodies_of_any_length() {
    let server = Server::start(Settings::default());
    let mut peer = Python::over_datagrams();
    assert_eq!(ask(&mut peer, &server, "GET", "value", b"")["code"], "4.04");
    for len in [0, 4, 300, 1024, 1025, 5 * 1024, 64 * 1024] {
        assert_eq!(ask(&mut peer, &server, "PUT", "value", &body(len))["code"], "2.04", "{len}");
        let got = ask(&mut peer, &server, "GET", "value", b"");
        assert_eq!((&got["code"], &got["format"]), (&json!("2.05"), &json!(42)), "{len}");
        assert!(bytes(&got, "payload") == body(len), "{len}");
    }
    let refused = ask(&mut peer, &server, "PUT", "value", &body(64 * 1024 + 1));
    assert_eq!(refused["code"], "4.13");
}

#[test]
fn aiocoap_observes_and_cancels() {
    let server = Server::start(Settings::default());
    let mut peer = Python::over_datagrams();
    let question = json!({ "uri": format!("coap://{}/tick", server.address), "states": 100 });
    let watched = peer.ask("watch", question).expect("states");
    let states = watched["states"].as_array().expect("states");
    let states: Vec<u32> = states
        .iter()
        .map(|state| String::from_utf8(bytes(state, "payload")).expect("text").parse().expect("a number"))
        .collect();
    assert!(states.len() == 100 && states.is_sorted(), "{states:?}");
    server.wait_for_observers(0);
}

#[test]
fn aiocoap_leaves_the_proof_of_its_address_to_its_user() {
    let mut settings = Settings::default();
    settings.challenge = true;
    let server = Server::start(settings);
    let mut peer = Python::over_datagrams();
    let refused = ask(&mut peer, &server, "PUT", "value", b"21.5");
    assert_eq!(refused["code"], "4.01");
    let question = json!({
        "method": "PUT", "uri": format!("coap://{}/value", server.address), "payload": "00",
        "echo": refused["echo"],
    });
    assert_eq!(peer.ask("ask", question).expect("a response")["code"], "2.04");
}

#[test]
fn aiocoap_answers_and_is_observed() {
    let mut peer = Python::over_datagrams();
    let port = peer.ask("serve", json!({})).expect("a port")["port"].as_u64().expect("a number");
    let there = SocketAddr::from((Ipv4Addr::LOCALHOST, port as u16));
    let mut client = Client::new();
    let get = Request::new(Method::Get, &["value"]);
    let mut put = Request::new(Method::Put, &["value"]);
    for len in [4, 1024, 5 * 1024] {
        put.payload = body(len);
        assert_eq!(client.ask(there, put.clone()).code, Code::CHANGED, "{len}");
        let response = client.ask(there, get.clone());
        assert!(response.payload[..] == body(len), "{len}: {:?}", response.code);
    }
    put.payload = b"0".to_vec();
    client.ask(there, put.clone());
    let observe = Request { observe: Some(Observe::Register), ..get };
    let watching = client.begin(there, observe);
    assert!(matches!(client.next(), Event::Response { call, .. } if call == watching));
    for state in [&b"1"[..], b"2", b"3"] {
        put.payload = state.to_vec();
        let putting = client.begin(there, put.clone());
        let mut told = [false, false];
        while told != [true, true] {
            match client.next() {
                Event::Response { call, response } if call == putting => {
                    assert_eq!(response.code, Code::CHANGED);
                    told[0] = true;
                }
                Event::Notification { call, response } if call == watching => {
                    assert_eq!(&response.payload[..], state);
                    told[1] = true;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    client.cancel(watching);
    put.payload = b"nobody hears".to_vec();
    client.ask(there, put);
    client.linger();
}
