//! A mosquitto of its own for each story, and a broker with a bridge to it.
#![allow(dead_code, reason = "each story uses a part")]

use std::fs;
use std::future::Future;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use minicbor::Encoder;
use motemix_broker::bridge::{Bridge, Settings, Status};
use motemix_broker::serve::{Inner, Listen, Server, inside};
use motemix_broker::store::{Retention, Sqlite, Store as _};
use motemix_broker::{Change, Policy};
use motemix_coap::{Code, Method, Request, Response, format};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::{sleep, timeout};

pub const NETWORK: &str = "building";
/// Longer than any machine takes: nothing is measured with it.
const PATIENCE: Duration = Duration::from_mins(3);

/// Runs a story on one thread.
pub fn story(story: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(story));
}

pub struct Mosquitto {
    pub port: u16,
    folder: TempDir,
    config: String,
    process: Option<Child>,
}

impl Mosquitto {
    /// With these lines beside the listener's.
    pub fn start(config: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let mut mosquitto = Self { port: 0, folder, config: config.to_owned(), process: None };
        // Somebody may take a free port in between.
        for _ in 0..5 {
            mosquitto.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if mosquitto.run() {
                return mosquitto;
            }
        }
        panic!("mosquitto does not start: {}", mosquitto.log());
    }

    /// Where its files may be.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Kills it: it says farewell to nobody.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    pub fn restart(&mut self) {
        assert!(self.run(), "mosquitto does not start again: {}", self.log());
    }

    fn run(&mut self) -> bool {
        let config = self.folder.path().join("mosquitto.conf");
        let folder = self.folder.path().display().to_string();
        let own = self.config.replace("FOLDER", &folder);
        // Started by root, it would become somebody who may not read this folder.
        let text = format!("user root\nlistener {} 127.0.0.1\n{own}\n", self.port);
        fs::write(&config, text).unwrap();
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        let mut command = Command::new("mosquitto");
        command.arg("-c").arg(&config).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut process = command.spawn().expect("mosquitto is missing: scripts/setup mosquitto");
        loop {
            if process.try_wait().unwrap().is_some() {
                return false;
            }
            if self.log().contains("running") {
                self.process = Some(process);
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn client(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(["-V", "5", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        command
    }

    /// Publishes as somebody else does, with further arguments of `mosquitto_pub`.
    pub fn publish(&self, topic: &str, payload: &str, arguments: &[&str]) {
        let mut command = self.client("mosquitto_pub");
        command.args(["-q", "1", "-t", topic, "-m", payload]).args(arguments);
        assert!(command.status().expect("mosquitto_pub is missing: scripts/setup mosquitto").success());
    }

    pub fn listen(&self, filter: &str) -> Listener {
        self.listen_as(filter, &[])
    }

    pub fn listen_as(&self, filter: &str, arguments: &[&str]) -> Listener {
        let mut command = self.client("mosquitto_sub");
        command.args(["-q", "1", "-t", filter, "-F", "%j"]).args(arguments).stdout(Stdio::piped());
        let mut process = command.spawn().expect("mosquitto_sub is missing: scripts/setup mosquitto");
        let output = process.stdout.take().unwrap();
        let (sender, messages) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if sender.send(Message(message)).is_err() {
                    return;
                }
            }
        });
        Listener { process, messages, seen: Vec::new() }
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A message as `mosquitto_sub` shows it.
#[derive(Debug, Clone)]
pub struct Message(Json);

impl Message {
    pub fn topic(&self) -> &str {
        self.0["topic"].as_str().unwrap()
    }

    pub fn is_retained(&self) -> bool {
        self.0["retain"] == 1
    }

    pub fn text(&self) -> &str {
        self.0["payload"].as_str().unwrap_or_default()
    }

    pub fn json(&self) -> Json {
        serde_json::from_str(self.text()).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn properties(&self) -> &Json {
        &self.0["properties"]
    }
}

pub struct Listener {
    process: Child,
    messages: mpsc::UnboundedReceiver<Message>,
    pub seen: Vec<Message>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Listener {
    /// The next message of a topic, whatever comes before.
    pub async fn next(&mut self, topic: &str) -> Message {
        self.until(&format!("a message at {topic}"), |message| message.topic() == topic).await
    }

    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Message) -> bool) -> Message {
        let looking = async {
            loop {
                let message = self.messages.recv().await.expect("mosquitto_sub has ended");
                self.seen.push(message.clone());
                if wanted(&message) {
                    return message;
                }
            }
        };
        let message = timeout(PATIENCE, looking).await;
        message.unwrap_or_else(|_| panic!("there was not {what}, but {:#?}", self.seen))
    }
}

/// A broker that runs, and what bridges it.
pub struct Network {
    pub inner: Inner,
    folder: TempDir,
    _stop: oneshot::Sender<()>,
}

impl Network {
    /// With these changes made before.
    pub async fn start(changes: &[Change]) -> Self {
        let folder = TempDir::new().unwrap();
        let mut store = Sqlite::open(folder.path(), Retention::default()).unwrap();
        store.load().unwrap();
        store.commit(changes).unwrap();
        let (inner, inside) = inside();
        let policy = Policy { audience: NETWORK.to_owned(), ..Policy::default() };
        let (server, _) = Server::open(policy, store, &Listen::default(), inside).unwrap();
        let (stop, stopped) = oneshot::channel();
        tokio::task::spawn_local(async move {
            server.serve(async { stopped.await.unwrap_or(()) }).await.unwrap();
        });
        let network = Self { inner, folder, _stop: stop };
        // It has taken in what was stored.
        network.ask(Request::new(Method::Get, &["ps"])).await;
        network
    }

    pub async fn ask(&self, request: Request) -> Response {
        self.inner.ask(request).await
    }

    /// Creates a topic, and returns the last segment of its path.
    pub async fn create(&self, name: &str) -> String {
        let mut properties = Encoder::new(Vec::new());
        properties
            .map(2)
            .unwrap()
            .u8(0)
            .unwrap()
            .str(name)
            .unwrap()
            .u8(2)
            .unwrap()
            .str("core.ps.data")
            .unwrap();
        let mut request = Request::new(Method::Post, &["ps"]);
        request.content_format = Some(format::CORE_PUBSUB_CBOR);
        request.payload = properties.into_writer();
        let response = self.ask(request).await;
        assert_eq!(response.code, Code::CREATED, "{}", String::from_utf8_lossy(&response.payload));
        response.location_path[1].clone()
    }

    pub async fn put(&self, id: &str, content_format: u16, payload: &[u8]) {
        let mut request = Request::new(Method::Put, &["ps", "data", id]);
        request.content_format = Some(content_format);
        request.payload = payload.to_vec();
        let response = self.ask(request).await;
        assert!(response.code.is_success(), "{}", String::from_utf8_lossy(&response.payload));
    }

    pub async fn put_senml(&self, id: &str, text: &str) {
        self.put(id, format::SENML_JSON, text.as_bytes()).await;
    }

    pub async fn delete(&self, path: &[&str]) {
        let response = self.ask(Request::new(Method::Delete, path)).await;
        assert_eq!(response.code, Code::DELETED, "{}", String::from_utf8_lossy(&response.payload));
    }

    /// The newest value of the topic of this name.
    pub fn value(&self, name: &str) -> Option<String> {
        let state = self.inner.state();
        let (id, _) = state.topics().find(|(_, topic)| *topic.name == *name)?;
        Some(String::from_utf8_lossy(&state.value(id)?.payload).into_owned())
    }

    /// A bridge with these settings.
    pub fn bridge(&self, mosquitto: &Mosquitto, settings: &str) -> Bridging {
        let text = format!("port = {}\nhost = \"127.0.0.1\"\n{settings}", mosquitto.port);
        let settings: Settings = motemix_toml::parse(Path::new("mqtt.toml"), &text).unwrap();
        let (bridge, status) = Bridge::new(settings.plan("mqtt").unwrap());
        let bridge = bridge.keeping_records_in(self.folder.path());
        let (stop, stopped) = oneshot::channel::<()>();
        let mut number = 0_u64;
        // The shortest pauses.
        let draw = move || std::mem::replace(&mut number, 0);
        let stopped = async { stopped.await.unwrap_or(()) };
        let task = tokio::task::spawn_local(bridge.run(self.inner.clone(), draw, stopped));
        Bridging { status, stop: Some(stop), task }
    }
}

/// A bridge that runs.
pub struct Bridging {
    status: watch::Receiver<Status>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Bridging {
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        let waiting = self.status.wait_for(|status| wanted(status));
        let status = timeout(PATIENCE, waiting).await.map(|status| status.unwrap().clone());
        status.unwrap_or_else(|_| panic!("the bridge never was {what}: {:#?}", self.status.borrow()))
    }

    /// Ends it as an orderly shutdown does.
    pub async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        timeout(PATIENCE, &mut self.task).await.expect("the bridge does not end").unwrap();
    }

    /// Ends it as a crash does.
    pub async fn crash(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Until something holds that nobody tells of.
pub async fn until(what: &str, holds: impl Fn() -> bool) {
    let looking = async {
        while !holds() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(PATIENCE, looking).await.is_ok(), "never: {what}");
}
