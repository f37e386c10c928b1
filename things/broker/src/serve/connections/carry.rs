//! Moves the bytes of connections.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use motemix_coap::Carrier;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async_with_config};

use super::frames::{Begun, Watched};
use super::places::{Place, Places};
use super::{Opened, Told, WRITES};
use crate::browser::{Names, may_open_socket};

/// Bytes that are read at a time.
const CHUNK: usize = 16 << 10;
/// The longest message of a WebSocket: a body and what is around it.
const LONGEST: usize = 80 << 10;
/// The longest message that is written to a WebSocket, and Pongs of its library in front of it.
const WRITTEN: usize = (1 << 20) + (128 << 10);
/// How long a peer may take to say what it speaks, and to take what is written to it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where WebSockets are, and what they are for (RFC 8323 §8.1).
const PATH: &str = "/.well-known/coap";
const PROTOCOL: &str = "coap";

/// Accepts connections.
#[derive(Debug, Clone)]
pub(super) struct Listener {
    tell: mpsc::Sender<Told>,
    written: Arc<Notify>,
    next: Arc<AtomicU64>,
    places: Places,
    /// Those of pages that may open WebSockets.
    names: Names,
}

/// A connection's ends of the channels.
struct Line {
    number: u64,
    tell: mpsc::Sender<Told>,
    writes: mpsc::Receiver<Vec<u8>>,
    read_on: Arc<Notify>,
    written: Arc<Notify>,
    /// Bytes that were handed over and are not written.
    under_way: Arc<AtomicUsize>,
}

impl Listener {
    pub(super) fn new(tell: mpsc::Sender<Told>, written: Arc<Notify>, places: Places, names: Names) -> Self {
        Self { tell, written, next: Arc::new(AtomicU64::new(1)), places, names }
    }

    pub(super) async fn accept_tcp(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    let address = address.ip().to_canonical();
                    // Dropping the stream closes the connection.
                    let Some(place) = self.places.take(address) else { continue };
                    let line = self.clone();
                    tokio::spawn(async move {
                        // That a peer does not behave is its own affair.
                        let _ = line.greet(stream, address, &place).await;
                        drop(place);
                    });
                }
                // Out of file descriptors, most likely: some connection will end.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    pub(super) async fn accept_local(self, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let line = self.clone();
                    tokio::spawn(async move {
                        if let Some(line) = line.open(Carrier::Stream, None).await {
                            let _ = line.carry_stream(stream).await;
                        }
                    });
                }
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Finds out what a peer speaks. A request of HTTP begins with `G`, which as CoAP would be a
    /// response, and nobody begins with one.
    async fn greet(self, stream: TcpStream, address: IpAddr, place: &Place) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut first = [0];
        timeout(PATIENCE, stream.peek(&mut first)).await??;
        if first == *b"G" {
            let config = WebSocketConfig::default()
                .max_message_size(Some(LONGEST))
                .max_frame_size(Some(LONGEST))
                .read_buffer_size(CHUNK)
                .write_buffer_size(0)
                .max_write_buffer_size(WRITTEN);
            let (stream, begun) = Watched::new(stream);
            let upgrade = Upgrade { names: self.names.clone(), places: self.places.clone() };
            let accepted = accept_hdr_async_with_config(stream, upgrade, Some(config));
            let Ok(Ok(socket)) = timeout(PATIENCE, accepted).await else { return Ok(()) };
            let Some(line) = self.open(Carrier::WebSocket, Some((address, place))).await else {
                return Ok(());
            };
            line.carry_messages(socket, &begun).await;
            return Ok(());
        }
        match self.open(Carrier::Stream, Some((address, place))).await {
            Some(line) => line.carry_stream(stream).await,
            None => Ok(()),
        }
    }

    async fn open(self, carrier: Carrier, from: Option<(IpAddr, &Place)>) -> Option<Line> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (put, writes) = mpsc::channel(WRITES);
        let read_on = Arc::new(Notify::new());
        let under_way = Arc::new(AtomicUsize::new(0));
        let opened = Opened {
            number,
            carrier,
            address: from.map(|(address, _)| address),
            share: from.map(|(_, place)| place.share()),
            writes: put,
            read_on: read_on.clone(),
            under_way: under_way.clone(),
        };
        self.tell.send(Told::Opened(opened)).await.ok()?;
        Some(Line { number, tell: self.tell, writes, read_on, written: self.written, under_way })
    }
}

impl Line {
    async fn carry_stream<S: AsyncRead + AsyncWrite>(self, stream: S) -> io::Result<()> {
        let Self { number, tell, mut writes, read_on, written, under_way } = self;
        let (mut reader, mut writer) = tokio::io::split(stream);
        let reading = async {
            let mut chunk = vec![0; CHUNK];
            loop {
                read_on.notified().await;
                match reader.read(&mut chunk).await {
                    Ok(len @ 1..) if tell.send(Told::Chunk(number, chunk[..len].to_vec())).await.is_ok() => {}
                    _ => return,
                }
            }
        };
        let writing = async {
            while let Some(bytes) = writes.recv().await {
                let is_written = timeout(PATIENCE, writer.write_all(&bytes)).await;
                if !matches!(is_written, Ok(Ok(()))) {
                    return;
                }
                under_way.fetch_sub(bytes.len(), Ordering::Relaxed);
                written.notify_one();
            }
            let _ = timeout(PATIENCE, writer.shutdown()).await;
        };
        tokio::select! {
            () = reading => {}
            () = writing => {}
        }
        let _ = tell.send(Told::Closed(number)).await;
        Ok(())
    }

    async fn carry_messages(self, socket: WebSocketStream<Watched<TcpStream>>, begun: &Begun) {
        let Self { number, tell, mut writes, read_on, written, under_way } = self;
        let (mut sink, mut source) = socket.split();
        // The library answers a Ping, with what has to be written as everything else.
        let pinged = Notify::new();
        let reading = async {
            let mut is_control = false;
            loop {
                read_on.notified().await;
                // A message takes no longer for what stands between its frames.
                if !is_control {
                    begun.go_on();
                }
                let next = tokio::select! {
                    next = source.next() => next,
                    () = begun.is_late(PATIENCE) => return,
                };
                is_control = matches!(next, Some(Ok(Message::Ping(_) | Message::Pong(_))));
                let bytes = match next {
                    Some(Ok(Message::Binary(bytes))) => bytes.to_vec(),
                    // A message in which there is none: it counts as one.
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                        pinged.notify_one();
                        Vec::new()
                    }
                    // Text is none of this protocol (RFC 8323 §8.2).
                    _ => return,
                };
                if tell.send(Told::Chunk(number, bytes)).await.is_err() {
                    return;
                }
            }
        };
        let writing = async {
            loop {
                let bytes = tokio::select! {
                    bytes = writes.recv() => bytes,
                    () = pinged.notified() => match timeout(PATIENCE, sink.flush()).await {
                        Ok(Ok(())) => continue,
                        _ => return,
                    },
                };
                let Some(bytes) = bytes else { break };
                let len = bytes.len();
                let sent = timeout(PATIENCE, sink.send(Message::Binary(bytes.into()))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
                under_way.fetch_sub(len, Ordering::Relaxed);
                written.notify_one();
            }
            let _ = timeout(PATIENCE, sink.close()).await;
        };
        tokio::select! {
            () = reading => {}
            () = writing => {}
        }
        let _ = tell.send(Told::Closed(number)).await;
    }
}

/// Looks at what an upgrade asks for.
struct Upgrade {
    names: Names,
    places: Places,
}

impl Callback for Upgrade {
    fn on_request(self, request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
        if !may_open_socket(&self.names, request.headers()) {
            // A browser opens it for any page, and hands over whatever comes.
            self.places.refuse_foreign();
            let text = "this is for programs, and for pages of this broker\n".to_owned();
            let mut refusal = ErrorResponse::new(Some(text));
            *refusal.status_mut() = StatusCode::FORBIDDEN;
            return Err(refusal);
        }
        let speaks_coap = request.headers().get_all("sec-websocket-protocol").iter().any(|value| {
            value.to_str().is_ok_and(|names| names.split(',').any(|name| name.trim() == PROTOCOL))
        });
        if request.uri().path() != PATH || !speaks_coap {
            let text = format!("WebSockets are at {PATH}, for the protocol {PROTOCOL}\n");
            let mut refusal = ErrorResponse::new(Some(text));
            *refusal.status_mut() = StatusCode::NOT_FOUND;
            return Err(refusal);
        }
        let protocol = HeaderValue::from_static(PROTOCOL);
        response.headers_mut().insert("sec-websocket-protocol", protocol);
        Ok(response)
    }
}
