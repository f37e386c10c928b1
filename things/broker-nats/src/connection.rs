//! The connection to the servers, on a thread of its own, and what is asked over it.

use std::fmt;
use std::future::Future;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use async_nats::connection::State as Connected;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, RawMessageErrorKind, Republish, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{self, Context};
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions};
use futures_util::StreamExt as _;
use motemix_broker::store::StoreError;
use motemix_broker::store::batch::{Kind, Logged, Message};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::Settings;
use crate::message::{logged, outgoing, word};

/// The longest message; servers take 1 MiB unless they are told otherwise.
const MESSAGE: usize = 1 << 19;
/// For what a message has besides its changes.
const HEADERS: usize = 1 << 10;
/// How long one answer of a server is waited for.
const ANSWER: Duration = Duration::from_secs(2);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// How often the stream is looked at, should no server have told of a message.
const LOOK: Duration = Duration::from_secs(2);
/// Messages that are fetched at the same time.
const AT_ONCE: usize = 32;
/// Added by the server to what it tells of a stored message.
const SEQUENCE: &str = "Nats-Sequence";

/// The stream as it was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Its name, and when it was made.
    pub(crate) identity: String,
    pub(crate) first: u64,
    pub(crate) bytes: u64,
}

/// What the connection's tasks know.
#[derive(Debug, Default)]
struct Known {
    /// The last message that is stored.
    stored: AtomicU64,
    /// The last one that most servers acknowledged: whoever knows less is behind.
    acknowledged: AtomicU64,
    /// Times that somebody told of a message which is not stored.
    false_news: AtomicU64,
    news: Arc<Notify>,
}

impl Known {
    fn acknowledge(&self, sequence: u64) {
        self.acknowledged.fetch_max(sequence, Ordering::AcqRel);
        // It is no news.
        self.stored.fetch_max(sequence, Ordering::AcqRel);
    }

    fn note(&self, sequence: u64) {
        if self.stored.fetch_max(sequence, Ordering::AcqRel) < sequence {
            self.news.notify_one();
        }
    }
}

/// A connection to the servers.
pub(crate) struct Connection {
    /// `None` when it ends.
    runtime: Option<Runtime>,
    client: async_nats::Client,
    context: Context,
    stream: Stream,
    name: String,
    servers: String,
    patience: Duration,
    start: Duration,
    message_len: usize,
    known: Arc<Known>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({} at {})", self.name, self.servers)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Whoever drops it may be a task of another runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}

impl Connection {
    /// A stream that is made has so many bytes at most.
    pub(crate) fn open(settings: &Settings, most: u64) -> Result<(Self, Found), StoreError> {
        let servers = settings.servers.join(", ");
        let problem = |problem: String, remedy: &str| StoreError::Remote {
            store: format!("nats {servers}"),
            problem,
            remedy: remedy.to_owned(),
        };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if settings.name.is_empty() || settings.name.len() > 64 || !settings.name.bytes().all(is_letter) {
            let remedy = "use up to 64 letters, digits, - and _";
            return Err(problem(format!("{:?} is no name of a stream", settings.name), remedy));
        }
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("nats").enable_all().build();
        let runtime = runtime.map_err(|error| problem(error.to_string(), "allow it another thread"))?;
        let patience = settings.patience;
        let start = settings.start.max(patience);
        let connected = wait(&runtime, start + ANSWER, connect(settings.servers.clone(), start));
        let (client, context) = connected
            .and_then(|connected| connected)
            .map_err(|said| problem(said, "start a server, or name another one"))?;
        let config = config(settings, most);
        let asked = context.clone();
        let made = wait(&runtime, start + ANSWER, make(asked, config, start)).and_then(|made| made);
        let (stream, found) = made.map_err(|said| {
            let remedy = "are the servers started with JetStream (-js), as many as there are replicas, and with room \
                          for four times history.bytes (max_file)?";
            problem(said, remedy)
        })?;
        let known = Arc::new(Known::default());
        runtime.spawn(listen(client.clone(), told(&settings.name), Arc::clone(&known)));
        runtime.spawn(look(client.clone(), stream.clone(), Arc::clone(&known)));
        let connection = Self {
            runtime: Some(runtime),
            message_len: client.max_payload().saturating_sub(HEADERS).min(MESSAGE),
            client,
            context,
            stream,
            name: settings.name.clone(),
            servers,
            patience,
            start,
            known,
        };
        Ok((connection, found))
    }

    /// Bytes of changes in a message, at most.
    pub(crate) const fn message_len(&self) -> usize {
        self.message_len
    }

    /// How often there was a connection: after another one the stream may be another.
    pub(crate) fn connects(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    /// The last message that is stored, as far as is known.
    pub(crate) fn stored(&self) -> u64 {
        self.known.stored.load(Ordering::Acquire)
    }

    /// Is notified when a message was stored.
    pub(crate) fn notify(&self) -> Arc<Notify> {
        Arc::clone(&self.known.news)
    }

    /// What is wrong with the stream.
    pub(crate) fn problem(&self, problem: impl Into<String>, remedy: &str) -> StoreError {
        StoreError::Remote {
            store: format!("nats {}, stream {}", self.servers, stream_name(&self.name)),
            problem: problem.into(),
            remedy: remedy.to_owned(),
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.ask_within(self.patience + ANSWER, work)
    }

    fn ask_within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(runtime) = &self.runtime else { return Err(self.problem("it is closed", "start again")) };
        let done = wait(runtime, limit, work).and_then(|done| done);
        done.map_err(|said| {
            let remedy = if said.contains("maximum bytes") {
                "the stream is full: raise its max_bytes (`nats stream edit`), and keep fewer or shorter values"
            } else {
                "are most of its servers running, and can they be reached?"
            };
            self.problem(said, remedy)
        })
    }

    /// Stores a mark. Most servers acknowledge it, so that all that was ever acknowledged stands
    /// before it: what a single server says of the end may be old. Returns its number.
    pub(crate) fn mark(&self, mark: Message) -> Result<u64, StoreError> {
        let limit = self.start;
        let marked = self.publish_within(limit, Kind::Changes, vec![mark])?;
        marked.last().copied().ok_or_else(|| self.problem("nothing was stored", "start again"))
    }

    /// Publishes a batch. Returns its messages' numbers: it stands in the stream at least there.
    pub(crate) fn publish(&self, kind: Kind, messages: Vec<Message>) -> Result<Vec<u64>, StoreError> {
        self.publish_within(self.patience, kind, messages)
    }

    fn publish_within(
        &self,
        limit: Duration,
        kind: Kind,
        messages: Vec<Message>,
    ) -> Result<Vec<u64>, StoreError> {
        let subject = format!("motemix.{}.{}", self.name, word(kind));
        let context = self.context.clone();
        let stored = self.ask_within(limit + 2 * ANSWER, async move {
            publish(&context, &subject, &messages, Instant::now() + limit).await
        })?;
        for sequence in &stored {
            self.known.acknowledge(*sequence);
        }
        Ok(stored)
    }

    /// The messages of these numbers that are there.
    pub(crate) fn fetch(&self, range: RangeInclusive<u64>) -> Result<Vec<Logged>, StoreError> {
        let stream = self.stream.clone();
        self.ask(async move {
            let gets = futures_util::stream::iter(range.map(|sequence| get(stream.clone(), sequence)));
            let got: Vec<_> = gets.buffered(AT_ONCE).collect().await;
            got.into_iter().filter_map(Result::transpose).collect()
        })
    }

    /// The numbers of the first message that is there, and of the last.
    pub(crate) fn ends(&self) -> Result<(u64, u64), StoreError> {
        let (stream, known) = (self.stream.clone(), Arc::clone(&self.known));
        self.ask(async move {
            let info = info(&stream, &known).await?;
            Ok((info.state.first_sequence, info.state.last_sequence))
        })
    }

    /// Somebody told of message `told`, and the stream goes to `last` alone.
    pub(crate) fn disbelieve(&self, told: u64, last: u64) {
        // Not if more was told meanwhile.
        if self.known.stored.compare_exchange(told, last, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            let before = self.known.false_news.fetch_add(1, Ordering::Relaxed);
            if before == 0 {
                tracing::warn!(
                    "somebody tells of messages that are not in the stream; who may publish to NATS?"
                );
            }
        }
    }

    /// How often that happened.
    pub(crate) fn false_news(&self) -> u64 {
        self.known.false_news.load(Ordering::Relaxed)
    }

    /// Has messages before this one removed. If that fails, they go with the next snapshot.
    pub(crate) fn remove_before(&self, sequence: u64) {
        let stream = self.stream.clone();
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                if let Err(problem) = stream.purge().sequence(sequence).await {
                    tracing::warn!(%problem, "old messages stay in the stream");
                }
            });
        }
    }
}

/// Lets the connection's thread do something, and waits for it.
fn wait<T: Send + 'static>(
    runtime: &Runtime,
    patience: Duration,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    let (tell, told) = mpsc::sync_channel(1);
    let _task = runtime.spawn(async move {
        // Whoever has given up hears nothing.
        let _ = tell.send(work.await);
    });
    told.recv_timeout(patience).map_err(|_| format!("no answer within {} s", patience.as_secs()))
}

fn stream_name(name: &str) -> String {
    format!("motemix-{name}")
}

/// Where servers tell what is stored.
fn told(name: &str) -> String {
    format!("motemix-stored.{name}.>")
}

fn config(settings: &Settings, most: u64) -> Config {
    let name = &settings.name;
    Config {
        name: stream_name(name),
        subjects: vec![format!("motemix.{name}.*")],
        retention: RetentionPolicy::Limits,
        // What is in it is all that there is: nothing goes but what a snapshot has.
        max_bytes: i64::try_from(most).unwrap_or(i64::MAX),
        discard: DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: settings.replicas,
        republish: Some(Republish {
            source: format!("motemix.{name}.>"),
            destination: told(name),
            headers_only: true,
        }),
        ..Config::default()
    }
}

fn passes(error: &ConnectError) -> bool {
    matches!(error.kind(), ConnectErrorKind::Io | ConnectErrorKind::TimedOut | ConnectErrorKind::Dns)
}

/// The first connection. After a power cut all machines begin at once: a server that does not
/// listen yet, or has no name yet, is given time.
async fn connect(servers: Vec<String>, start: Duration) -> Result<(async_nats::Client, Context), String> {
    let end = Instant::now() + start;
    let mut said = String::new();
    loop {
        let options = ConnectOptions::new().connection_timeout(ANSWER).request_timeout(Some(ANSWER));
        let problem = match options.connect(servers.clone()).await {
            Ok(client) => {
                let mut context = jetstream::new(client.clone());
                context.set_timeout(ANSWER);
                return Ok((client, context));
            }
            Err(error) if !passes(&error) || Instant::now() >= end => return Err(error.to_string()),
            Err(error) => error.to_string(),
        };
        if problem != said {
            tracing::warn!(%problem, servers = servers.join(", "), "waits for a server");
            said = problem;
        }
        sleep(PAUSE * 4).await;
    }
}

/// The stream, made if there is none. A cluster that has just begun, or that chooses a leader, is
/// given time.
async fn make(context: Context, config: Config, start: Duration) -> Result<(Stream, Found), String> {
    let end = Instant::now() + start;
    let mut said = String::new();
    loop {
        let problem = match context.get_or_create_stream(config.clone()).await {
            Ok(stream) => match info(&stream, &Known::default()).await {
                Ok(info) => {
                    let identity = format!("{} of {}", info.config.name, info.created);
                    let state = &info.state;
                    let found = Found { identity, first: state.first_sequence.max(1), bytes: state.bytes };
                    return Ok((stream, found));
                }
                Err(problem) => problem,
            },
            Err(error) => error.to_string(),
        };
        if Instant::now() >= end {
            return Err(problem);
        }
        if problem != said {
            let (stream, replicas) = (&config.name, config.num_replicas);
            tracing::warn!(%problem, %stream, replicas, "waits for the stream");
            said = problem;
        }
        sleep(PAUSE * 4).await;
    }
}

/// What the stream's leader says of it.
///
/// A server that came back answers as well, for ten seconds, if it led the stream first; so does
/// each while there is no leader. They know what they had. A leader that was just chosen may
/// have to take in what it has.
async fn info(stream: &Stream, known: &Known) -> Result<Info, String> {
    let acknowledged = known.acknowledged.load(Ordering::Acquire);
    let info = stream.get_info().await.map_err(|error| error.to_string())?;
    if let Some(cluster) = &info.cluster {
        let leader = cluster.leader.as_deref().filter(|leader| !leader.is_empty());
        let leader = leader.ok_or("the servers choose who leads the stream")?;
        // Who answers is not among its own replicas.
        if cluster.replicas.iter().any(|replica| replica.name == leader) {
            return Err(format!("a server answers that does not lead the stream, as {leader} does"));
        }
    }
    let last = info.state.last_sequence;
    if last < acknowledged {
        return Err(format!("the server that answers has {last} of {acknowledged} messages"));
    }
    Ok(info)
}

/// Publishes until all is acknowledged. Whatever became of an attempt before: the same messages may
/// stand in the stream more than once.
async fn publish(
    context: &Context,
    subject: &str,
    messages: &[Message],
    end: Instant,
) -> Result<Vec<u64>, String> {
    loop {
        let mut waiting = Vec::with_capacity(messages.len());
        let mut problem = None;
        for message in messages {
            match context.send_publish(subject.to_owned(), outgoing(message)).await {
                Ok(acknowledgement) => waiting.push(acknowledgement),
                Err(error) => problem = Some(error.to_string()),
            }
        }
        let mut stored = Vec::with_capacity(messages.len());
        for acknowledgement in waiting {
            match timeout(ANSWER, acknowledgement.into_future()).await {
                Ok(Ok(said)) => stored.push(said.sequence),
                Ok(Err(error)) => problem = Some(error.to_string()),
                Err(_) => problem = Some("no acknowledgement".to_owned()),
            }
        }
        match problem {
            None => return Ok(stored),
            Some(problem) if Instant::now() >= end => return Err(problem),
            Some(_) => sleep(PAUSE).await,
        }
    }
}

/// Asked once: whoever asks does so again later.
async fn get(stream: Stream, sequence: u64) -> Result<Option<Logged>, String> {
    match stream.get_raw_message(sequence).await {
        Ok(message) => Ok(Some(logged(&message))),
        Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Hears of each message that is stored.
async fn listen(client: async_nats::Client, subject: String, known: Arc<Known>) {
    loop {
        if let Ok(mut messages) = client.subscribe(subject.clone()).await {
            while let Some(message) = messages.next().await {
                let sequence = message.headers.as_ref().and_then(|headers| headers.get(SEQUENCE));
                if let Some(sequence) = sequence.and_then(|value| value.as_str().parse().ok()) {
                    known.note(sequence);
                }
            }
        }
        sleep(LOOK).await;
    }
}

/// Looks at the stream now and then: what servers tell may get lost.
async fn look(client: async_nats::Client, stream: Stream, known: Arc<Known>) {
    loop {
        sleep(LOOK).await;
        if client.connection_state() == Connected::Connected
            && let Ok(info) = info(&stream, &known).await
        {
            known.note(info.state.last_sequence);
        }
    }
}
