//! Moves the bytes of connections.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use motemix_coap::Carrier;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::accept_hdr_async_with_config;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::places::Places;
use super::{Opened, Told, WRITES};

/// Bytes that are read at a time.
const CHUNK: usize = 16 << 10;
/// The longest message of a WebSocket: a body and what is around it.
const LONGEST: usize = 80 << 10;
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
}

/// A connection's ends of the channels.
struct Line {
    number: u64,
    tell: mpsc::Sender<Told>,
    writes: mpsc::Receiver<Vec<u8>>,
    read_on: Arc<Notify>,
    written: Arc<Notify>,
}

impl Listener {
    pub(super) fn new(tell: mpsc::Sender<Told>, written: Arc<Notify>, places: Places) -> Self {
        Self { tell, written, next: Arc::new(AtomicU64::new(1)), places }
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
                        let _ = line.greet(stream, address).await;
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
    async fn greet(self, stream: TcpStream, address: IpAddr) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut first = [0];
        timeout(PATIENCE, stream.peek(&mut first)).await??;
        if first == *b"G" {
            let config =
                WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
            let accepted = accept_hdr_async_with_config(stream, Upgrade, Some(config));
            let Ok(Ok(socket)) = timeout(PATIENCE, accepted).await else { return Ok(()) };
            let Some(line) = self.open(Carrier::WebSocket, Some(address)).await else { return Ok(()) };
            line.carry_messages(socket).await;
            return Ok(());
        }
        match self.open(Carrier::Stream, Some(address)).await {
            Some(line) => line.carry_stream(stream).await,
            None => Ok(()),
        }
    }

    async fn open(self, carrier: Carrier, address: Option<IpAddr>) -> Option<Line> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (put, writes) = mpsc::channel(WRITES);
        let read_on = Arc::new(Notify::new());
        let opened = Opened { number, carrier, address, writes: put, read_on: read_on.clone() };
        self.tell.send(Told::Opened(opened)).await.ok()?;
        Some(Line { number, tell: self.tell, writes, read_on, written: self.written })
    }
}

impl Line {
    async fn carry_stream<S: AsyncRead + AsyncWrite>(self, stream: S) -> io::Result<()> {
        let Self { number, tell, mut writes, read_on, written } = self;
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

    async fn carry_messages(self, socket: tokio_tungstenite::WebSocketStream<TcpStream>) {
        let Self { number, tell, mut writes, read_on, written } = self;
        let (mut sink, mut source) = socket.split();
        let reading = async {
            loop {
                read_on.notified().await;
                let bytes = loop {
                    match source.next().await {
                        Some(Ok(Message::Binary(bytes))) => break bytes,
                        // Text is none of this protocol (RFC 8323 §8.2).
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        _ => return,
                    }
                };
                if tell.send(Told::Chunk(number, bytes.to_vec())).await.is_err() {
                    return;
                }
            }
        };
        let writing = async {
            while let Some(bytes) = writes.recv().await {
                let sent = timeout(PATIENCE, sink.send(Message::Binary(bytes.into()))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
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
struct Upgrade;

impl Callback for Upgrade {
    fn on_request(self, request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
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
