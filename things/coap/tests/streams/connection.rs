//! A session with a socket and a clock.

use std::future::pending;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use motemix_coap::{Carrier, Session, Settings};
use motemix_time::Instant;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};

const PROTOCOL: &str = "sec-websocket-protocol";
/// RFC 8323 §8.1.
const COAP: &str = "coap";
const PATH: &str = "/.well-known/coap";

pub enum Socket {
    Tcp(TcpStream),
    Web(Box<WebSocketStream<TcpStream>>),
}

impl Socket {
    #[expect(clippy::result_large_err, reason = "tungstenite has it so")]
    pub async fn accept_web(stream: TcpStream) -> Self {
        let check = |request: &Request, mut response: Response| {
            let protocols = request.headers().get_all(PROTOCOL).iter();
            let names = protocols.filter_map(|names| names.to_str().ok()).flat_map(|names| names.split(','));
            let speaks_coap = names.map(str::trim).any(|name| name == COAP);
            if request.uri().path() != PATH || !speaks_coap {
                let mut refused = ErrorResponse::new(None);
                *refused.status_mut() = StatusCode::BAD_REQUEST;
                return Err(refused);
            }
            response.headers_mut().insert(PROTOCOL, HeaderValue::from_static(COAP));
            Ok(response)
        };
        let socket = tokio_tungstenite::accept_hdr_async(stream, check).await.expect("a handshake");
        Self::Web(Box::new(socket))
    }

    pub async fn connect_web(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a server");
        let uri = format!("ws://127.0.0.1:{port}{PATH}");
        let mut request = uri.into_client_request().expect("an address");
        request.headers_mut().insert(PROTOCOL, HeaderValue::from_static(COAP));
        let (socket, response) = tokio_tungstenite::client_async(request, stream).await.expect("a handshake");
        assert_eq!(response.headers()[PROTOCOL], COAP);
        Self::Web(Box::new(socket))
    }

    fn carrier(&self) -> Carrier {
        match self {
            Self::Tcp(_) => Carrier::Stream,
            Self::Web(_) => Carrier::WebSocket,
        }
    }

    async fn send(&mut self, bytes: Vec<u8>) {
        // Whoever cannot be written to cannot be read from either, which ends the connection.
        match self {
            Self::Tcp(stream) => drop(stream.write_all(&bytes).await),
            Self::Web(socket) => drop(socket.send(Message::binary(bytes)).await),
        }
    }

    /// Nothing at the end.
    async fn read(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Tcp(stream) => {
                let mut bytes = Vec::with_capacity(4096);
                let read = stream.read_buf(&mut bytes).await;
                read.ok().filter(|len| *len > 0).map(|_| bytes)
            }
            Self::Web(socket) => loop {
                match socket.next().await?.ok()? {
                    Message::Binary(bytes) => return Some(bytes.into()),
                    Message::Close(_) | Message::Text(_) => return None,
                    _ => {}
                }
            },
        }
    }
}

pub struct Connection {
    pub session: Session,
    socket: Socket,
    begin: tokio::time::Instant,
}

impl Connection {
    pub fn new(socket: Socket, number: u64) -> Self {
        let session =
            Session::new(Instant::default(), number, socket.carrier(), Settings::default(), [number, 1]);
        Self { session, socket, begin: tokio::time::Instant::now() }
    }

    pub fn now(&self) -> Instant {
        Instant::default() + self.begin.elapsed()
    }

    /// Sends what waits, and takes what comes next or does what is due; false at the end.
    pub async fn step(&mut self) -> bool {
        while let Some(bytes) = self.session.poll_transmit() {
            self.socket.send(bytes).await;
        }
        if self.session.is_over() {
            return false;
        }
        let timeout =
            self.session.poll_timeout().map(|at| self.begin + Duration::from_micros(at.as_micros()));
        let due = async {
            match timeout {
                Some(at) => tokio::time::sleep_until(at).await,
                None => pending().await,
            }
        };
        let wants_input = self.session.wants_more();
        tokio::select! {
            bytes = self.socket.read(), if wants_input => {
                let now = self.now();
                match bytes {
                    Some(bytes) => self.session.handle_bytes(now, &bytes),
                    None => self.session.closed(),
                }
            }
            () = due => {
                let now = self.now();
                self.session.handle_timeout(now);
            }
        }
        true
    }
}
