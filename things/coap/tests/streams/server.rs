//! A server with one value, over TCP and WebSockets: `/value` can be read, put and observed, `/long`
//! has 50,000 bytes.

use std::thread::{self, JoinHandle};

use motemix_coap::{Code, Method, Observe, Relation, Request, Response, format};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

use crate::connection::{Connection, Socket};

pub struct Server {
    pub tcp: u16,
    pub web: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start() -> Self {
        let (ports, both) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            runtime().block_on(async move {
                let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let web = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
                ports.send((port(&tcp), port(&web))).expect("somebody waits");
                tokio::select! {
                    () = serve(tcp, web) => {}
                    _ = stopped => {}
                }
            });
        });
        let (tcp, web) = both.recv().expect("ports");
        Self { tcp, web, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.expect("it ran").expect("the server has no fault");
        }
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn serve(tcp: TcpListener, web: TcpListener) {
    let (value, _) = watch::channel(b"nothing".to_vec());
    let mut number = 0;
    loop {
        let (stream, is_web) = tokio::select! {
            accepted = tcp.accept() => (accepted, false),
            accepted = web.accept() => (accepted, true),
        };
        number += 1;
        let (stream, _) = stream.expect("a connection");
        tokio::spawn(talk(stream, is_web, number, value.clone()));
    }
}

async fn talk(stream: TcpStream, is_web: bool, number: u64, value: watch::Sender<Vec<u8>>) {
    let socket = if is_web { Socket::accept_web(stream).await } else { Socket::Tcp(stream) };
    let mut connection = Connection::new(socket, number);
    let mut observers: Vec<Relation> = Vec::new();
    let mut changes = value.subscribe();
    loop {
        while let Some(incoming) = connection.session.poll_request() {
            let response = answer(&incoming.request, &value);
            observers.retain(|relation| *relation != incoming.ticket.relation());
            let observing = incoming.request.observe == Some(Observe::Register);
            if observing {
                observers.push(incoming.ticket.relation());
            }
            let now = connection.now();
            connection.session.respond(now, incoming.ticket, &response, observing);
        }
        tokio::select! {
            goes_on = connection.step() => if !goes_on { return },
            told = changes.changed() => {
                told.expect("there is a sender");
                let state = state(&changes.borrow_and_update());
                let now = connection.now();
                for relation in &observers {
                    connection.session.notify(now, relation, &state, false);
                }
            }
        }
    }
}

fn state(value: &[u8]) -> Response {
    Response::content(Code::CONTENT, format::TEXT, value)
}

fn answer(request: &Request, value: &watch::Sender<Vec<u8>>) -> Response {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    match (request.method, &path[..]) {
        (Method::Get, ["value"]) => state(&value.borrow()),
        (Method::Put, ["value"]) => {
            value.send_replace(request.payload.clone());
            Response::new(Code::CHANGED)
        }
        (Method::Get, ["long"]) => Response::content(Code::CONTENT, format::OCTETS, vec![0x6d; 50_000]),
        _ => Response::error(Code::NOT_FOUND, "there is /value and /long"),
    }
}
