//! Small HTTP services and who asks them. What passes is signed, so that it does not matter who
//! passes it on: there is no TLS. Everything is bounded: connections, lengths and time.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
pub use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, DATE, HOST, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use motemix_time::UnixTime;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, spawn_local, yield_now};
use tokio::time;

use crate::address;
use crate::clock::{unix_seconds, unix_time};
use crate::places::{Network, Places, idle_now};

/// Connections served at a time; a further one takes the place of the oldest of whoever has most.
const CONNECTIONS: usize = 64;
/// Connections that wait to be accepted.
const WAITING: i32 = 128;
/// For a request and its answer together.
const PATIENCE: Duration = Duration::from_secs(10);
/// A request is one line and a few headers.
const REQUEST_LEN: usize = 16 << 10;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Whether something is handed in, or asked for.
    pub handed_in: Option<Vec<u8>>,
    /// For what, without what stands behind a question mark.
    pub path: String,
    /// In which formats: the header `Accept`, empty if there is none.
    pub accept: String,
}

/// What is said to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// As HTTP has it: 200 and so on.
    pub status: u16,
    /// The media type.
    pub kind: &'static str,
    /// What follows; one body may be given to many.
    pub body: Bytes,
}

impl Answer {
    /// A line of text.
    pub fn text(status: u16, text: impl Into<String>) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: text.into().into_bytes().into() }
    }

    /// Something that is there.
    pub fn found(kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status: 200, kind, body: body.into() }
    }

    /// Nothing is there.
    pub fn nothing() -> Self {
        Self::text(404, "nothing is here\n")
    }

    fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        response
    }
}

/// What a service says.
pub trait Site {
    /// The most bytes that somebody may hand in here; `None` where nothing is handed in.
    fn takes(&self, path: &str) -> Option<usize>;
    /// What is said to a request.
    fn answer(&self, asked: Asked) -> Answer;
}

/// Opens an address for HTTP. One of IPv6 is that alone, as a node's sockets are, so that one of
/// IPv4 can have the same port.
///
/// # Errors
/// The address is in use or not this machine's.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Connections of a process that was there before may not be over.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Answers requests for ever. It has to run inside a [`tokio::task::LocalSet`].
pub async fn serve(listener: TcpListener, site: Rc<impl Site + 'static>) {
    let mut places = Places::new(CONNECTIONS);
    loop {
        let idle = idle_now();
        match listener.accept().await {
            Ok((stream, from)) => {
                let from = Network::of(from.ip());
                places.make_room(from);
                let site = Rc::clone(&site);
                let task = converse(stream, move |request| {
                    let site = Rc::clone(&site);
                    async move { respond(request, &*site).await.response() }
                });
                places.take(from, &task, idle);
            }
            Err(error) => {
                // Out of file descriptors, most likely: an open connection has one.
                if !places.close_one(None) {
                    tracing::debug!(%error, "a connection cannot be accepted");
                    time::sleep(Duration::from_secs(1)).await;
                }
                // The closed one goes when its task is next looked at.
                yield_now().await;
            }
        }
    }
}

/// Answers the one request of a connection.
pub fn converse<S, F>(stream: S, respond: impl Fn(Request<Incoming>) -> F + 'static) -> JoinHandle<()>
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
    F: Future<Output = Response<Full<Bytes>>> + 'static,
{
    spawn_local(async move {
        let service = service_fn(|request| {
            let response = respond(request);
            async move {
                let mut response = response.await;
                response.headers_mut().extend(date(unix_seconds()).map(|date| (DATE, date)));
                Ok::<_, Infallible>(response)
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            // Hyper keeps the latest date that it has written, after a clock was set back as well.
            .auto_date_header(false)
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .keep_alive(false)
            .max_buf_size(REQUEST_LEN)
            .serve_connection(TokioIo::new(stream), service);
        // A peer that is too slow or speaks something else is not our concern.
        let _ = time::timeout(PATIENCE, connection).await;
    })
}

/// The headers `Accept` of a request, as one list.
pub fn accept(headers: &HeaderMap) -> String {
    let lists = headers.get_all(ACCEPT).iter().filter_map(|list| list.to_str().ok());
    lists.collect::<Vec<_>>().join(",")
}

async fn respond(request: Request<Incoming>, site: &impl Site) -> Answer {
    let path = request.uri().path().to_owned();
    let accept = accept(request.headers());
    if request.method() == Method::GET {
        return site.answer(Asked { handed_in: None, path, accept });
    }
    let Some(most) = site.takes(&path).filter(|_| request.method() == Method::POST) else {
        return Answer::text(405, "ask with GET\n");
    };
    match Limited::new(request.into_body(), most).collect().await {
        Ok(body) => site.answer(Asked { handed_in: Some(body.to_bytes().to_vec()), path, accept }),
        Err(_) => Answer::text(413, format!("at most {most} bytes\n")),
    }
}

/// Why somebody could not be asked; prints as one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// It has no such address, or nobody answers there.
    #[error("{at}: {problem}")]
    Unreachable {
        /// Whom.
        at: String,
        /// What the system says.
        problem: io::Error,
    },
    /// It said nothing in time.
    #[error("{at}: no answer within {} s", .within.as_secs_f32())]
    Slow {
        /// Whom.
        at: String,
        /// The patience.
        within: Duration,
    },
    /// It refuses, and says why.
    #[error("{at}: {said}")]
    Refused {
        /// Whom.
        at: String,
        /// As HTTP has it.
        status: u16,
        /// What it said.
        said: String,
    },
    /// What it said is no answer, or is too long.
    #[error("{at}: {problem}")]
    Nonsense {
        /// Whom.
        at: String,
        /// What is wrong.
        problem: String,
    },
}

/// Asks `at`, a host and a port, for what is at `path`: at most so many bytes of it.
///
/// # Errors
/// See [`WebError`]. That nothing is there is no error.
pub async fn get(at: &str, path: &str, most: usize, within: Duration) -> Result<Option<Vec<u8>>, WebError> {
    let Answered { status, body, .. } = ask(at, Method::GET, path, Vec::new(), most, within).await?;
    found(at, status, body)
}

fn found(at: &str, status: u16, body: Vec<u8>) -> Result<Option<Vec<u8>>, WebError> {
    match status {
        200 => Ok(Some(body)),
        404 => Ok(None),
        status => Err(WebError::Refused { at: at.to_owned(), status, said: line(&body) }),
    }
}

/// What somebody said, and what time it was by the clock there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dated {
    /// As [`get`] has it.
    pub body: Option<Vec<u8>>,
    /// How far the clock there is ahead of ours, in seconds, as far as whole seconds tell: HTTP has
    /// no others. `None` if it does not say the time.
    pub ahead_s: Option<i64>,
}

/// As [`get`], with what the answer's header `Date` says of the clock there.
///
/// # Errors
/// See [`WebError`].
pub async fn get_dated(at: &str, path: &str, most: usize, within: Duration) -> Result<Dated, WebError> {
    let asked = unix_time();
    let Answered { status, body, date } = ask(at, Method::GET, path, Vec::new(), most, within).await?;
    let ahead_s = date.map(|date| ahead(date, asked, unix_time()));
    let body = found(at, status, body)?;
    Ok(Dated { body, ahead_s })
}

/// How far a clock is ahead that showed this second at some moment between two of ours.
fn ahead(second: u64, from: Duration, until: Duration) -> i64 {
    let signed = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    if second > until.as_secs() {
        signed(second - until.as_secs())
    } else {
        -signed(from.as_secs().saturating_sub(second))
    }
}

/// Hands something in at `path`.
///
/// # Errors
/// See [`WebError`].
pub async fn post(at: &str, path: &str, body: Vec<u8>, within: Duration) -> Result<String, WebError> {
    let Answered { status, body, .. } = ask(at, Method::POST, path, body, 4096, within).await?;
    let said = line(&body);
    if (200..300).contains(&status) {
        return Ok(said);
    }
    Err(WebError::Refused { at: at.to_owned(), status, said })
}

fn nonsense(at: &str, problem: impl Into<String>) -> WebError {
    WebError::Nonsense { at: at.to_owned(), problem: problem.into() }
}

/// The first line, without what a terminal would act on.
fn line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    text.lines().next().unwrap_or_default().chars().filter(|one| !one.is_control()).take(200).collect()
}

/// An answer as it came.
struct Answered {
    status: u16,
    body: Vec<u8>,
    /// In seconds since 1970.
    date: Option<u64>,
}

async fn ask(
    at: &str,
    method: Method,
    path: &str,
    body: Vec<u8>,
    most: usize,
    within: Duration,
) -> Result<Answered, WebError> {
    let asked = exchange(at, method, path, body, most);
    match time::timeout(within, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(WebError::Slow { at: at.to_owned(), within }),
    }
}

async fn exchange(
    at: &str,
    method: Method,
    path: &str,
    body: Vec<u8>,
    most: usize,
) -> Result<Answered, WebError> {
    let unreachable = |problem| WebError::Unreachable { at: at.to_owned(), problem };
    let stream = connect(at).await.map_err(unreachable)?;
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(REQUEST_LEN)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| nonsense(at, error.to_string()))?;
    let request =
        Request::builder().method(method).uri(path).header(HOST, host(at)).body(Full::<Bytes>::from(body));
    let request = request.map_err(|error| nonsense(at, error.to_string()))?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(|error| nonsense(at, error.to_string()))?;
        let status = response.status().as_u16();
        let date = response.headers().get(DATE).and_then(|date| seconds(date.to_str().ok()?));
        let body = Limited::new(response.into_body(), most).collect().await;
        let body = body.map_err(|error| nonsense(at, error.to_string()))?;
        Ok(Answered { status, body: body.to_bytes().to_vec(), date })
    };
    tokio::pin!(answered);
    tokio::pin!(connection);
    let mut open = true;
    loop {
        tokio::select! {
            answer = &mut answered => return answer,
            _ = &mut connection, if open => open = false,
        }
    }
}

/// Whom the request is for: its interface is nothing to anybody else (RFC 6874, section 4).
fn host(at: &str) -> String {
    match (at.split_once('%'), at.rsplit_once(']')) {
        (Some((address, _)), Some((_, port))) => format!("{address}]{port}"),
        _ => at.to_owned(),
    }
}

/// The date of a moment, as HTTP has it (RFC 9110, 5.6.7).
fn date(UnixTime(seconds): UnixTime) -> Option<HeaderValue> {
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    let text = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&time);
    HeaderValue::try_from(text.ok()?).ok()
}

/// A date of HTTP (RFC 9110, 5.6.7), in the form that all have to write.
fn seconds(date: &str) -> Option<u64> {
    let time = jiff::fmt::rfc2822::parse(date).ok()?;
    u64::try_from(time.timestamp().as_second()).ok()
}

/// The first of its addresses at which somebody is.
async fn connect(at: &str) -> io::Result<TcpStream> {
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    for address in address::lookup(at).await? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = address::without_interface(address).map_or(error, io::Error::other),
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_ahead_only_if_no_moment_between_explains_it() {
        let at = Duration::from_millis;
        assert_eq!(ahead(100, at(100_200), at(100_400)), 0);
        assert_eq!(ahead(100, at(99_900), at(101_400)), 0, "the answer took long");
        assert_eq!(ahead(99, at(99_900), at(100_100)), 0);
        assert_eq!(ahead(130, at(100_200), at(100_400)), 30);
        assert_eq!(ahead(70, at(100_200), at(100_400)), -30);
    }

    #[test]
    fn nobody_else_is_told_an_interface() {
        assert_eq!(host("[fe80::1%eth0]:7000"), "[fe80::1]:7000");
        for at in ["[::1]:7000", "north.example:7000"] {
            assert_eq!(host(at), at);
        }
    }

    #[test]
    fn dates_of_http_are_written_and_read() {
        let written = date(UnixTime(784_111_777)).unwrap();
        assert_eq!(written, "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        for none in ["", "now", "Sun, 06 Nov 1994", "Sun, 06 Nov 1894 08:49:37 GMT"] {
            assert_eq!(seconds(none), None, "{none}");
        }
    }
}
