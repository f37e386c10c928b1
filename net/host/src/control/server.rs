//! The node's side of the control socket.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Interest};
use tokio::net::unix::WriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{self, Instant};

use super::{REQUEST_LEN, Request, Response};

use motemix_os::control::{ControlError, bind_private};
use motemix_os::places::{Idle, Network, Places, idle_now};

/// Connections served at a time. A further one takes the place of the one that is idle for longest;
/// where all of them wait for answers of the node, it is told to come again.
const CONNECTIONS: usize = 32;
/// Connections that may wait for the outcome of a message: the others are for whoever asks how the
/// node is, or stops it.
const WAITING: usize = 24;
/// How often a connection that waits is looked at: whether its client is still there.
const LOOK: Duration = Duration::from_secs(1);
/// A connection on which nothing is asked for this long is closed.
const IDLE: Duration = Duration::from_mins(1);

/// A request and where its response goes.
#[derive(Debug)]
pub struct Call {
    /// What is asked.
    pub request: Request,
    /// Takes the response; dropping it answers with an error.
    pub reply: oneshot::Sender<Response>,
}

/// A control socket that listens.
#[derive(Debug)]
pub struct ControlServer {
    path: PathBuf,
    listener: UnixListener,
}

impl ControlServer {
    /// Listens at `path`, with mode 0600; takes the place of a socket that a killed process left
    /// behind.
    ///
    /// # Errors
    /// A node listens there already, the path is too long, or the system refuses.
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, ControlError> {
        let path = path.as_ref();
        Ok(Self { path: path.to_owned(), listener: bind_private(path)? })
    }

    /// Hands requests to `calls` until its receiver is gone. It has to run inside a
    /// [`tokio::task::LocalSet`].
    pub async fn serve(self, calls: mpsc::Sender<Call>) {
        let mut places = Places::new(CONNECTIONS);
        let waiting = Rc::new(Cell::new(0));
        while !calls.is_closed() {
            let stream = tokio::select! {
                () = calls.closed() => return,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Out of file descriptors, most likely: an idle connection has one.
                        if !places.close_one(None) {
                            tracing::debug!(%error, "the control socket cannot accept a connection");
                            time::sleep(Duration::from_secs(1)).await;
                        }
                        // The closed one goes when its task is next looked at.
                        tokio::task::yield_now().await;
                        continue;
                    }
                },
            };
            if !places.make_room(Network::HERE) {
                turn_away(&stream);
                continue;
            }
            let (calls, idle, waiting) = (calls.clone(), idle_now(), Rc::clone(&waiting));
            let watched = idle.clone();
            let task = tokio::task::spawn_local(async move {
                if let Err(error) = converse(stream, &calls, &idle, &waiting).await {
                    tracing::debug!(%error, "a control connection ended");
                }
            });
            places.take(Network::HERE, &task, watched);
            // Its request may be there already: then it is not one of those that are idle.
            tokio::task::yield_now().await;
        }
    }
}

/// One line for a client that finds all places taken by those that wait for an answer.
fn turn_away(stream: &UnixStream) {
    if let Ok(mut line) = serde_json::to_vec(&refusal("too many requests wait already; try again")) {
        line.push(b'\n');
        // A new connection has room for a line; if not, its end says enough.
        let _ = stream.try_write(&line);
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // If it is gone already, so be it.
        let _ = fs::remove_file(&self.path);
    }
}

async fn converse(
    mut stream: UnixStream,
    calls: &mpsc::Sender<Call>,
    idle: &Idle,
    waiting: &Cell<usize>,
) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut reader).take(REQUEST_LEN as u64);
        idle.set(Some(Instant::now()));
        time::timeout(IDLE, bounded.read_until(b'\n', &mut line)).await??;
        idle.set(None);
        let (response, last) = match line.split_last() {
            None => return Ok(()),
            Some((b'\n', request)) => match respond(request, calls, waiting, &writer).await {
                Some(response) => (response, false),
                None => return Ok(()),
            },
            Some(_) if line.len() == REQUEST_LEN => (refusal("the request is longer than 64 KiB"), true),
            Some(_) => (refusal("the request does not end with a line feed"), true),
        };
        let mut text = serde_json::to_vec(&response)?;
        text.push(b'\n');
        idle.set(Some(Instant::now()));
        time::timeout(IDLE, writer.write_all(&text)).await??;
        if last {
            return Ok(());
        }
    }
}

/// `None` if the client has gone while the node was working; what it asked for goes on.
async fn respond(
    request: &[u8],
    calls: &mpsc::Sender<Call>,
    waiting: &Cell<usize>,
    client: &WriteHalf<'_>,
) -> Option<Response> {
    let request = match serde_json::from_slice(request) {
        Ok(request) => request,
        Err(error) => return Some(refusal(&format!("not a request: {error}"))),
    };
    let _place = match &request {
        Request::Send { wait: true, .. } if waiting.get() >= WAITING => {
            return Some(refusal("too many wait for the outcome of a message already; send again later"));
        }
        Request::Send { wait: true, .. } => Some(Waiting::among(waiting)),
        _ => None,
    };
    let (reply, response) = oneshot::channel();
    if calls.send(Call { request, reply }).await.is_err() {
        return Some(refusal("the node is stopping"));
    }
    tokio::select! {
        response = response => Some(response.unwrap_or_else(|_| refusal("the node is stopping"))),
        () = hang_up(client) => None,
    }
}

/// One of those that wait for the outcome of a message, until it is dropped.
struct Waiting<'w>(&'w Cell<usize>);

impl<'w> Waiting<'w> {
    fn among(waiting: &'w Cell<usize>) -> Self {
        waiting.set(waiting.get() + 1);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Ends when the client has closed its connection, or has ended. One that has only finished asking
/// is still there.
async fn hang_up(client: &WriteHalf<'_>) {
    loop {
        time::sleep(LOOK).await;
        match client.ready(Interest::WRITABLE).await {
            Ok(ready) if !ready.is_write_closed() => {}
            _ => return,
        }
    }
}

fn refusal(message: &str) -> Response {
    Response::Error { message: message.to_owned() }
}
