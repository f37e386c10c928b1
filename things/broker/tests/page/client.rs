//! Asks over a real socket, byte by byte what a browser or an attacker sends.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// Longer than anything here takes; no test waits for its end.
const PATIENCE: Duration = Duration::from_mins(3);

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (other, value) = line.split_once(": ")?;
            other.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Sends these bytes and reads until the other side ends.
pub async fn exchange(to: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(to).await.expect("the page listens");
    stream.write_all(request).await.expect("sent");
    let mut bytes = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an answer").expect("read");
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head, body: bytes[end + 4..].to_vec() }
}

/// `more`: headers, each with its line end.
pub async fn get_with(to: SocketAddr, path: &str, more: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{more}\r\n");
    exchange(to, request.as_bytes()).await
}

pub async fn get(to: SocketAddr, path: &str) -> Answer {
    get_with(to, path, "").await
}

#[derive(Debug, PartialEq)]
pub struct Event {
    pub kind: String,
    pub id: String,
    pub data: serde_json::Value,
}

/// A feed that is listened to.
pub struct Events(BufReader<TcpStream>);

impl Events {
    pub async fn connect(to: SocketAddr, last: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(to).await.expect("the page listens");
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let request = format!("GET /api/feed HTTP/1.1\r\nHost: {to}\r\n{last}\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut events = Self(BufReader::new(stream));
        assert!(events.line().await.expect("a status").contains(" 200 "));
        while !events.line().await.expect("a head").is_empty() {}
        events
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = tokio::time::timeout(PATIENCE, self.0.read_line(&mut line)).await.expect("a line in time");
        (read.unwrap_or(0) > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event that is not a heartbeat; none at the end. Sizes of chunks stand between lines.
    pub async fn next(&mut self) -> Option<Event> {
        let (mut kind, mut id) = (String::new(), String::new());
        loop {
            let line = self.line().await?;
            // The last chunk; the connection is there for another request.
            if line == "0" {
                return None;
            }
            match line.split_once(": ") {
                Some(("event", value)) => value.clone_into(&mut kind),
                Some(("id", value)) => value.clone_into(&mut id),
                Some(("data", _)) if kind == "now" => kind.clear(),
                Some(("data", value)) => {
                    let data = serde_json::from_str(value).expect("JSON");
                    // In whichever order they came.
                    let mut event = Event { kind, id, data };
                    while let Some(line) = self.line().await.filter(|line| !line.is_empty()) {
                        match line.split_once(": ") {
                            Some(("event", value)) => value.clone_into(&mut event.kind),
                            Some(("id", value)) => value.clone_into(&mut event.id),
                            _ => {}
                        }
                    }
                    return Some(event);
                }
                _ => {}
            }
        }
    }
}
