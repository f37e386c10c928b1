//! aiocoap over TCP and WebSockets.

use motemix_coap::{Code, Event, Method, Observe, Request, Response, format};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::connection::{Connection, Socket};
use crate::python::Python;
use crate::server::{Server, runtime};

/// Where a server is, as aiocoap writes it.
fn bases(server: &Server) -> [String; 2] {
    [format!("coap+tcp://127.0.0.1:{}", server.tcp), format!("coap+ws://127.0.0.1:{}", server.web)]
}

fn ask(peer: &mut Python, method: &str, uri: &str, payload: &[u8]) -> Value {
    let question = json!({ "method": method, "uri": uri, "payload": hex::encode(payload) });
    peer.ask("ask", question).expect("a response")
}

#[test]
fn aiocoap_asks_over_either() {
    let server = Server::start();
    let mut peer = Python::over_streams();
    for base in bases(&server) {
        let value = format!("{base}/value");
        assert_eq!(ask(&mut peer, "PUT", &value, base.as_bytes())["code"], "2.04");
        let state = ask(&mut peer, "GET", &value, b"");
        assert_eq!(state, json!({ "code": "2.05", "payload": hex::encode(&base), "format": 0 }));
        let long = ask(&mut peer, "GET", &format!("{base}/long"), b"");
        assert_eq!(long["payload"], "6d".repeat(50_000));
        assert_eq!(ask(&mut peer, "DELETE", &value, b"")["code"], "4.04");
        let long = vec![0xa5; 60_000];
        assert_eq!(ask(&mut peer, "PUT", &value, &long)["code"], "2.04");
        assert_eq!(ask(&mut peer, "GET", &value, b"")["payload"], hex::encode(&long));
    }
}

#[test]
fn aiocoap_observes_over_either() {
    let server = Server::start();
    let mut peer = Python::over_streams();
    for base in bases(&server) {
        let value = format!("{base}/value");
        ask(&mut peer, "PUT", &value, b"0");
        // The first change comes from outside, once it observes.
        let change = value.clone();
        let mut other = Python::over_streams();
        let changing = std::thread::spawn(move || {
            loop {
                ask(&mut other, "PUT", &change, b"begin");
                if OBSERVED.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        });
        let watched = peer.ask("watch", json!({ "uri": value, "states": 4 }));
        OBSERVED.store(true, std::sync::atomic::Ordering::Relaxed);
        changing.join().expect("it changes the value");
        let watched = watched.expect("four states");
        let states = watched["states"].as_array().expect("states");
        assert_eq!(states.len(), 4, "{watched}");
        assert!(states.iter().all(|state| state["code"] == "2.05"), "{watched}");
        OBSERVED.store(false, std::sync::atomic::Ordering::Relaxed);
    }
}

static OBSERVED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

async fn next(connection: &mut Connection) -> Event {
    loop {
        if let Some(event) = connection.session.poll_event() {
            return event;
        }
        assert!(connection.step().await, "the connection is over");
    }
}

#[test]
fn aiocoap_answers_over_either() {
    let mut peer = Python::over_streams();
    let ports = peer.ask("serve", json!({})).expect("two ports");
    let [tcp, web] = ["tcp", "ws"].map(|name| ports[name].as_u64().expect("a port") as u16);
    runtime().block_on(async {
        let stream = TcpStream::connect(("127.0.0.1", tcp)).await.expect("a server");
        for socket in [Socket::Tcp(stream), Socket::connect_web(web).await] {
            let mut connection = Connection::new(socket, 1);
            let now = connection.now();
            let observe =
                Request { observe: Some(Observe::Register), ..Request::new(Method::Get, &["value"]) };
            let watching = connection.session.request(now, &observe).expect("room");
            let first = next(&mut connection).await;
            assert!(matches!(first, Event::Response { call, .. } if call == watching), "{first:?}");
            let put = Request { payload: b"21.5".to_vec(), ..Request::new(Method::Put, &["value"]) };
            let putting = connection.session.request(now, &put).expect("room");
            let mut told = (false, false);
            while told != (true, true) {
                match next(&mut connection).await {
                    Event::Notification { call, response } if call == watching => {
                        assert_eq!(response, Response::content(Code::CONTENT, format::TEXT, *b"21.5"));
                        told.0 = true;
                    }
                    Event::Response { call, response } if call == putting => {
                        assert_eq!(response.code, Code::CHANGED);
                        told.1 = true;
                    }
                    other => panic!("{other:?}"),
                }
            }
            connection.session.release();
            while connection.step().await {}
        }
    });
}
