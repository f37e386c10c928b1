//! Metrics over HTTP, in the format that is asked for: OpenMetrics, or Prometheus' text 0.0.4,
//! which all readers know.
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
use std::fmt::{self, Write as _};
use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, VARY};
use hyper::{Method, Request, Response, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::yield_now;
use tokio::time;

use crate::health::{Health, State};
use motemix_os::control::{ControlError, bind_private};
use motemix_os::places::{Network, Places, idle_now};
use motemix_os::web::{accept, converse};

/// Connections served at a time; a further one takes the place of the oldest of whoever has most.
const CONNECTIONS: usize = 8;

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text, version 0.0.4: a counter is called as its samples are.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The one that a header `Accept` asks for (RFC 9110, section 12.5.1): OpenMetrics if that is
    /// named, and text is not liked better.
    pub fn accepted(accept: &str) -> Self {
        let (mut open, mut text) = (None, None);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            let quality = quality.map_or(1000, thousandths);
            match kind.as_str() {
                "application/openmetrics-text" => open = open.max(Some(quality)),
                "text/plain" | "text/*" | "*/*" => text = text.max(Some(quality)),
                _ => {}
            }
        }
        match (open, text) {
            (Some(open), text) if open > 0 && text.is_none_or(|text| open >= text) => Self::OpenMetrics,
            _ => Self::Text,
        }
    }

    /// The type of what [`Metrics::encode`] makes.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A quality of `Accept`, `0.5`; nothing if it is none.
fn thousandths(quality: &str) -> u32 {
    let (whole, rest) = quality.trim().split_once('.').unwrap_or((quality.trim(), ""));
    let rest = format!("{rest:0<3}");
    let figure = format!("{whole}{}", rest.get(..3).unwrap_or_default());
    figure.parse().map_or(0, |figure: u32| figure.min(1000))
}

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
    pub fn encode(self, format: Format) -> Result<String, fmt::Error> {
        if format == Format::Text {
            return self.text();
        }
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }

    /// Prometheus' text, version 0.0.4, which the library does not write
    /// (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
    fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        for family in self.samples.chunk_by(|one, next| one.name == next.name) {
            let Some(Sample { name, help, value, .. }) = family.first() else { continue };
            let (suffix, kind) = match value {
                Value::Counter(_) => ("_total", "counter"),
                Value::Gauge(_) => ("", "gauge"),
            };
            let help = help.replace('\\', r"\\").replace('\n', r"\n");
            writeln!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}")?;
            for Sample { labels, value, .. } in family {
                write!(text, "{name}{suffix}")?;
                for (place, (label, value)) in labels.iter().enumerate() {
                    let value = value.replace('\\', r"\\").replace('\n', r"\n").replace('"', "\\\"");
                    write!(text, "{}{label}=\"{value}\"", if place == 0 { '{' } else { ',' })?;
                }
                let end = if labels.is_empty() { "" } else { "}" };
                match value {
                    Value::Counter(value) => writeln!(text, "{end} {value}")?,
                    Value::Gauge(value) => writeln!(text, "{end} {value}")?,
                }
            }
        }
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
            let format = Format::accepted(&accept(request.headers()));
            match metrics.encode(format) {
                Ok(text) => {
                    let mut response = Response::new(Full::from(text));
                    let kind = HeaderValue::from_static(format.media_type());
                    response.headers_mut().insert(CONTENT_TYPE, kind);
                    // What stands between must not give one format for the other.
                    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_for_openmetrics_gets_it_and_all_others_text() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;\
                          q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for open in
            [prometheus, "application/openmetrics-text", "text/plain, Application/OpenMetrics-Text; q=1.0"]
        {
            assert_eq!(Format::accepted(open), Format::OpenMetrics, "{open}");
        }
        for text in [
            "",
            "*/*",
            "text/plain;version=0.0.4",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=x",
            "application/openmetrics-text;q=0.3, text/plain;q=0.5",
            "application/json",
        ] {
            assert_eq!(Format::accepted(text), Format::Text, "{text}");
        }
    }

    #[test]
    fn text_says_of_a_counter_what_its_samples_are_called() {
        let mut metrics = Metrics::default();
        metrics.counter_of(
            "motemix_lost",
            "Lost,\nby \\",
            [("mix", "a\"b\\\n".into()), ("layer", "0".into())],
            3,
        );
        metrics.counter_of("motemix_lost", "Lost,\nby \\", [("mix", "c".into()), ("layer", "1".into())], 4);
        metrics.gauge("motemix_health", "How it is", -1);
        let expected = "# HELP motemix_lost_total Lost,\\nby \\\\\n# TYPE motemix_lost_total counter\n\
                        motemix_lost_total{mix=\"a\\\"b\\\\\\n\",layer=\"0\"} 3\n\
                        motemix_lost_total{mix=\"c\",layer=\"1\"} 4\n\
                        # HELP motemix_health How it is\n# TYPE motemix_health gauge\nmotemix_health -1\n";
        assert_eq!(metrics.encode(Format::Text).unwrap(), expected);
    }
}
