//! Metrics over HTTP, in the text format that Prometheus reads.
//!
//! Whoever asks pays: a scrape calls a closure that copies the node's counters, and the path of
//! packets has neither atomics nor locks for it. `GET /metrics` answers with the metrics. `GET
//! /healthz` answers 200 `ok`, 200 with a line for each warning, or 503 with the reasons why the
//! node fails. `GET /readyz` answers 200 `ready` while a network document is in force, and 503 with
//! the reason otherwise: a node that is ready may be unwell, and one that waits for a document, or
//! for room to begin with, is not ready.
//!
//! All details are on a Unix-domain socket that only the node's user may use. What is served over
//! TCP is open to every user of the machine, so it must not tell cover from messages;
//! [`crate::runtime`] gives it less.

use std::borrow::Cow;
use std::fmt;
use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::yield_now;
use tokio::time;

use crate::control::{ControlError, bind_private};
use crate::health::{Health, State};
use crate::places::{Network, Places, idle_now};
use crate::web::converse;

/// Connections served at a time; a further one takes the place of the oldest of whoever has most.
const CONNECTIONS: usize = 8;
/// The type of what [`Metrics::encode`] makes.
pub const TEXT_FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The values of one scrape.
///
/// Values of one name, told apart by labels, have to follow each other.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    samples: Vec<Sample>,
}

#[derive(Debug, Clone)]
struct Sample {
    name: &'static str,
    help: &'static str,
    labels: Vec<(&'static str, Cow<'static, str>)>,
    value: Value,
}

#[derive(Debug, Clone, Copy)]
enum Value {
    Counter(u64),
    Gauge(i64),
}

impl Value {
    fn encode(&self, encoder: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Self::Counter(value) => encoder.encode_counter::<NoLabelSet, _, u64>(value, None),
            Self::Gauge(value) => encoder.encode_gauge(value),
        }
    }
}

impl Metrics {
    /// Adds a number of events since the start; `_total` is appended to its name.
    pub fn counter(&mut self, name: &'static str, help: &'static str, value: u64) {
        self.counter_of(name, help, [], value);
    }

    /// Like [`Metrics::counter`], one of several that `label`, a name and a value, tells apart.
    pub fn counter_with(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: (&'static str, &'static str),
        value: u64,
    ) {
        let (label, label_value) = label;
        self.counter_of(name, help, [(label, label_value.into())], value);
    }

    /// Like [`Metrics::counter`], one of several that these labels tell apart.
    pub fn counter_of<const LABELS: usize>(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: [(&'static str, Cow<'static, str>); LABELS],
        value: u64,
    ) {
        self.samples.push(Sample { name, help, labels: labels.into(), value: Value::Counter(value) });
    }

    /// Adds a quantity that goes up and down.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, value: i64) {
        self.samples.push(Sample { name, help, labels: Vec::new(), value: Value::Gauge(value) });
    }

    /// Like [`Metrics::gauge`], one of several that `label`, a name and a value, tells apart.
    pub fn gauge_with(
        &mut self,
        name: &'static str,
        help: &'static str,
        label: (&'static str, &'static str),
        value: i64,
    ) {
        let (label, label_value) = label;
        let labels = vec![(label, label_value.into())];
        self.samples.push(Sample { name, help, labels, value: Value::Gauge(value) });
    }

    /// The text of a scrape.
    ///
    /// # Errors
    /// Never with the names and values that this type takes; the encoder's interface has them.
    pub fn encode(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in self.samples.chunk_by(|one, next| one.name == next.name) {
            let Some(Sample { name, help, value, .. }) = family.first() else { continue };
            let kind = match value {
                Value::Counter(_) => MetricType::Counter,
                Value::Gauge(_) => MetricType::Gauge,
            };
            let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
            for sample in family {
                if sample.labels.is_empty() {
                    sample.value.encode(&mut metric)?;
                } else {
                    sample.value.encode(&mut metric.encode_family(&sample.labels)?)?;
                }
            }
        }
        Ok(())
    }
}

/// What an endpoint tells.
pub trait Told {
    /// Fills in the metrics of this moment.
    fn metrics(&self, metrics: &mut Metrics);
    /// How the node is.
    fn health(&self) -> Health;
    /// Why the node does not do its work yet, or no more; `None` if it does.
    fn unready(&self) -> Option<String>;
}

/// The HTTP endpoint.
#[derive(Debug)]
pub struct MetricsServer {
    listener: Listener,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix { listener: UnixListener, path: PathBuf },
}

impl MetricsServer {
    /// Opens the endpoint; port 0 lets the system choose one.
    ///
    /// # Errors
    /// The address is in use or not this machine's.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { listener: Listener::Tcp(TcpListener::bind(address).await?) })
    }

    /// Opens the endpoint at `path`, with mode 0600; takes the place of a socket that a killed
    /// process left behind.
    ///
    /// # Errors
    /// A node listens there already, the path is too long, or the system refuses.
    pub fn bind_private(path: impl AsRef<Path>) -> Result<Self, ControlError> {
        let path = path.as_ref();
        let listener = bind_private(path)?;
        Ok(Self { listener: Listener::Unix { listener, path: path.to_owned() } })
    }

    /// The TCP address that it listens on; `None` for a Unix-domain socket.
    ///
    /// # Errors
    /// The system refuses.
    pub fn local_addr(&self) -> io::Result<Option<SocketAddr>> {
        match &self.listener {
            Listener::Tcp(listener) => listener.local_addr().map(Some),
            Listener::Unix { .. } => Ok(None),
        }
    }

    /// Answers requests for ever. It has to run inside a [`tokio::task::LocalSet`].
    pub async fn serve(self, told: impl Told + 'static) {
        let told = Rc::new(told);
        let mut places = Places::new(CONNECTIONS);
        loop {
            let idle = idle_now();
            let accepted = match &self.listener {
                Listener::Tcp(listener) => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, from)| (Network::of(from.ip()), converse(stream, say(&told))))
                }
                Listener::Unix { listener, .. } => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, _)| (Network::HERE, converse(stream, say(&told))))
                }
            };
            match accepted {
                Ok((from, task)) => {
                    places.make_room(from);
                    places.take(from, &task, idle);
                }
                Err(error) => {
                    // Out of file descriptors, most likely: an open connection has one.
                    if !places.close_one(None) {
                        tracing::debug!(%error, "the metrics endpoint cannot accept a connection");
                        time::sleep(Duration::from_secs(1)).await;
                    }
                    // The closed one goes when its task is next looked at.
                    yield_now().await;
                }
            }
        }
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        if let Listener::Unix { path, .. } = &self.listener {
            // If it is gone already, so be it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What answers the request of one connection.
fn say(
    told: &Rc<impl Told + 'static>,
) -> impl Fn(Request<Incoming>) -> Ready<Response<Full<Bytes>>> + 'static {
    let told = Rc::clone(told);
    move |request| ready(answer(&request, &*told))
}

fn answer(request: &Request<Incoming>, told: &impl Told) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "GET only\n");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/healthz" => {
            let health = told.health();
            let failing = health.state == State::Failing;
            plain(if failing { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }, health.text())
        }
        "/readyz" => match told.unready() {
            None => plain(StatusCode::OK, "ready\n"),
            Some(why) => plain(StatusCode::SERVICE_UNAVAILABLE, why + "\n"),
        },
        "/metrics" => {
            let mut metrics = Metrics::default();
            told.metrics(&mut metrics);
            match metrics.encode() {
                Ok(text) => {
                    let mut response = Response::new(Full::from(text));
                    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(TEXT_FORMAT));
                    response
                }
                Err(fmt::Error) => plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot encode\n"),
            }
        }
        _ => plain(StatusCode::NOT_FOUND, "see /metrics, /healthz and /readyz\n"),
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
}
