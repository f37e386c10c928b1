//! Connections to a node's HTTP port: of one source that asks nothing, and of others that do.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::flood::{Flood, Sent};

/// Connections of the source at a time.
const OPEN: usize = 300;
/// A visitor's way to the node takes time: between its connection and its request.
const WAY: Duration = Duration::from_millis(40);
/// Between two visits.
const PAUSE: Duration = Duration::from_millis(60);
/// For an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections that one source keeps open as long as it may.
pub struct Connections(Flood);

impl Connections {
    /// That say nothing.
    pub fn idle(to: SocketAddr) -> Self {
        Self::by(to, b"", OPEN)
    }

    /// That say a byte of a request now and then.
    pub fn slow(to: SocketAddr) -> Self {
        Self::by(to, b"GET /healthz HTTP/1.1\r\nx: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", OPEN)
    }

    /// That are made as fast as can be, and a few of which are open.
    pub fn again_and_again(to: SocketAddr) -> Self {
        Self::by(to, b"", 0)
    }

    fn by(to: SocketAddr, says: &'static [u8], most: usize) -> Self {
        let mut open: Vec<(TcpStream, usize)> = Vec::new();
        let mut looked = Instant::now();
        Self(Flood::by(move || {
            if open.len() <= most {
                let Some(stream) = connected(to) else { return 0 };
                open.push((stream, 0));
                if most == 0 {
                    open.clear();
                }
                return 1;
            }
            thread::sleep(Duration::from_millis(5));
            if looked.elapsed() > Duration::from_millis(100) {
                looked = Instant::now();
                open.retain_mut(|(stream, at)| {
                    let said = says.get(*at).is_none_or(|byte| stream.write_all(&[*byte]).is_ok());
                    *at += 1;
                    // Closed ones end, and others are made.
                    let quiet = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
                    said && stream.read(&mut [0]).err().is_some_and(quiet)
                });
            }
            0
        }))
    }

    pub fn end(self) -> Sent {
        self.0.end()
    }
}

/// A connection that reads what is there; `None` if there is none for now.
fn connected(to: SocketAddr) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    // Closed ones hold no port, of which an address has only so many.
    socket.set_linger(Some(Duration::ZERO)).ok()?;
    socket.connect(&to.into()).ok()?;
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

/// Somebody else who asks how the node is, again and again.
pub struct Visitor {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<(u64, u64)>,
}

impl Visitor {
    /// From this address to that one.
    pub fn from(address: [u8; 4], at: SocketAddr) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let (mut asked, mut answered) = (0, 0);
            while !over.load(Ordering::Relaxed) {
                asked += 1;
                answered += u64::from(is_answered(address, at).unwrap_or(false));
                thread::sleep(PAUSE);
            }
            (asked, answered)
        });
        Self { ended, thread }
    }

    /// How often it asked, and how often it was told.
    pub fn end(self) -> (u64, u64) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("the visitor has not failed")
    }
}

fn is_answered(address: [u8; 4], at: SocketAddr) -> std::io::Result<bool> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::from(address), 0)).into())?;
    socket.connect_timeout(&at.into(), PATIENCE)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    thread::sleep(WAY);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 "))
}
