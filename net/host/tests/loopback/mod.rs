//! A network over the loopback interface: four mixes in two layers, a sender and a receiver.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use motemix_crypto::{Curve as _, PublicKey};
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, Draft, Epoch, NewNode, Parameters, ProfileName, Role, UnixTime,
    document_len_limit,
};
use motemix_host::control::{ControlClient, NodeStatus, Request, Response};
use motemix_host::{NodeConfig, NodeKey, RuntimeError, Setup, Started, run};
use motemix_os::clock::{unix_seconds, unix_time};
use motemix_os::curve::HostCurve;

use motemix_testbed::Ports;

pub const FIRST_EPOCH: u32 = 7;
pub const NAMES: [&str; 6] = ["mix-1", "mix-2", "mix-3", "mix-4", "receiver", "sender"];
/// Those of the first layer; `MIX` is one of them.
pub const FIRST_LAYER: [usize; 2] = [0, 1];
pub const MIX: usize = 0;
pub const RECEIVER: usize = 4;
pub const SENDER: usize = 5;

pub struct Running {
    pub started: Started,
    pub thread: JoinHandle<Result<(), RuntimeError>>,
    clock_ahead: Arc<AtomicI64>,
}

impl Running {
    pub fn ask(&self, request: &Request) -> Response {
        let mut client = ControlClient::connect(&self.started.control).unwrap();
        client.set_patience(Some(Duration::from_mins(3))).unwrap();
        client.request(request).unwrap()
    }

    /// Sets the node's wall clock, in seconds ahead of the truth.
    pub fn set_clock(&self, ahead: i64) {
        self.clock_ahead.store(ahead, Ordering::Relaxed);
    }

    pub fn send(&self, data: &[u8]) -> Response {
        self.ask(&Request::Send { to: "receiver".into(), data_hex: hex::encode(data), wait: true })
    }

    pub fn is_acknowledged(&self, text: &str) -> bool {
        matches!(self.send(text.as_bytes()), Response::Acknowledged { .. })
    }

    /// Whether the node takes a message; nobody waits for its end.
    pub fn takes(&self, text: &str) -> bool {
        let data_hex = hex::encode(text);
        let request = Request::Send { to: "receiver".into(), data_hex, wait: false };
        matches!(self.ask(&request), Response::Sent { .. })
    }

    pub fn status(&self) -> NodeStatus {
        match self.ask(&Request::Status {}) {
            Response::Status(status) => status,
            other => panic!("a status and not {other:?}"),
        }
    }

    pub fn inbox(&self) -> Vec<Vec<u8>> {
        match self.ask(&Request::Inbox { last: 100 }) {
            Response::Inbox { messages } => {
                messages.iter().map(|message| hex::decode(&message.data_hex).unwrap()).collect()
            }
            other => panic!("an inbox and not {other:?}"),
        }
    }

    pub fn stop(self) {
        assert_eq!(self.ask(&Request::Stop {}), Response::Stopping {});
        self.thread.join().unwrap().unwrap();
        assert!(!self.started.control.exists());
    }
}

pub struct Network {
    folder: tempfile::TempDir,
    pub addresses: Vec<SocketAddr>,
    /// Which node has which id in what is published.
    pub ids: [usize; NAMES.len()],
    authority: AuthoritySecret,
    _ports: Ports,
}

impl Network {
    pub fn new() -> Self {
        let ports = Ports::new();
        let addresses = (ports.first..).map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let network = Self {
            folder: tempfile::tempdir().unwrap(),
            addresses: addresses.take(NAMES.len()).collect(),
            ids: std::array::from_fn(|index| index),
            _ports: ports,
            authority: AuthoritySecret::from_bytes(&[7; 32]),
        };
        fs::create_dir(network.path("documents")).unwrap();
        for name in NAMES {
            fs::create_dir(network.path(name)).unwrap();
            NodeKey::create(network.path(name).join("node.key"), Epoch(FIRST_EPOCH)).unwrap();
        }
        network
    }

    pub fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(file)
    }

    pub fn publish(&self, epoch: u32, valid_after: u64, valid_until: u64, parameters: Parameters) {
        let keys = NAMES.map(|name| {
            let key = NodeKey::load(self.path(name).join("node.key")).unwrap();
            HostCurve::public_key(&key.mix_secret(Epoch(epoch)).unwrap())
        });
        self.publish_with(&keys, epoch, valid_after, valid_until, parameters);
    }

    /// The same with other keys than the nodes have.
    pub fn publish_with(
        &self,
        keys: &[PublicKey; NAMES.len()],
        epoch: u32,
        valid_after: u64,
        valid_until: u64,
        parameters: Parameters,
    ) {
        let draft = Draft {
            network_name: "loopback",
            epoch: Epoch(epoch),
            valid_after: UnixTime(valid_after),
            valid_until: UnixTime(valid_until),
            profile: ProfileName::Mote,
            parameters,
        };
        let nodes: Vec<_> = (self.ids.iter())
            .map(|&index| {
                let role = match index {
                    0 | 1 => Role::Mix { layer: 0 },
                    2 | 3 => Role::Mix { layer: 1 },
                    _ => Role::Endpoint,
                };
                NewNode {
                    name: NAMES[index],
                    role,
                    mix_key: keys[index],
                    addresses: &self.addresses[index..=index],
                }
            })
            .collect();
        let mut buffer = vec![0; document_len_limit(nodes.len(), 1)];
        let mut builder = DocumentBuilder::encode(&mut buffer, &draft, nodes.into_iter()).unwrap();
        builder.sign(&self.authority).unwrap();
        // Renamed into place, as authorities do: a node may be looking.
        let unfinished = self.path("unfinished");
        fs::write(&unfinished, builder.finish().unwrap()).unwrap();
        fs::rename(unfinished, self.path(format!("documents/{epoch}.cbor"))).unwrap();
    }

    /// The earliest epoch whose key a node still has.
    pub fn key_epoch(&self, node: usize) -> u32 {
        NodeKey::load(self.path(NAMES[node]).join("node.key")).unwrap().epoch().0
    }

    pub fn config(&self, index: usize) -> NodeConfig {
        let folder = self.path(NAMES[index]);
        let authorities = vec![self.authority.public_key().to_bytes()];
        let mut config = NodeConfig::new(NAMES[index], Some(index as u16), "loopback", authorities, 1);
        config.listen = vec![self.addresses[index]];
        config.key = folder.join("node.key");
        config.documents = self.path("documents");
        config.state = folder.join("state");
        config.limits.replay_tags = 1 << 16;
        config
    }

    /// The same, changed.
    pub fn config_with(&self, index: usize, change: impl FnOnce(&mut NodeConfig)) -> NodeConfig {
        let mut config = self.config(index);
        change(&mut config);
        config
    }

    pub fn start(&self) -> Vec<Running> {
        (0..NAMES.len()).map(|index| start(self.config(index))).collect()
    }
}

pub fn start(config: NodeConfig) -> Running {
    try_start(config, 0).unwrap_or_else(|error| panic!("the node does not start: {error}"))
}

/// Starts a node whose wall clock is so many seconds ahead of the truth.
pub fn try_start(config: NodeConfig, ahead: i64) -> Result<Running, RuntimeError> {
    start_with(config, ahead, Setup::default)
}

/// The same, handed more than its configuration.
pub fn start_with(
    config: NodeConfig,
    ahead: i64,
    more: impl FnOnce() -> Setup + Send + 'static,
) -> Result<Running, RuntimeError> {
    let clock_ahead = Arc::new(AtomicI64::new(ahead));
    let (tell, hear) = mpsc::channel();
    let set = Arc::clone(&clock_ahead);
    let thread = thread::spawn(move || {
        let wall = move || {
            let seconds = set.load(Ordering::Relaxed);
            let by = Duration::from_secs(seconds.unsigned_abs());
            if seconds < 0 { unix_time().saturating_sub(by) } else { unix_time() + by }
        };
        let setup = Setup { wall: Some(Box::new(wall)), ..more() };
        run(&config, setup, |started| tell.send(started.clone()).unwrap())
    });
    match hear.recv() {
        Ok(started) => Ok(Running { started, thread, clock_ahead }),
        Err(mpsc::RecvError) => Err(thread.join().unwrap().unwrap_err()),
    }
}

/// Waits until something holds; `true` if it did in time.
pub fn eventually(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + within;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

pub fn now() -> u64 {
    unix_seconds().0
}

pub fn parameters() -> Parameters {
    let mut parameters = Parameters::new(3, 3);
    parameters.mean_delay = Duration::from_millis(5);
    parameters.hop_allowance = Duration::from_millis(200);
    // On a busy machine a few tries are over before a node has had its turn.
    parameters.transmissions = 12;
    parameters.loop_mean = Some(Duration::from_millis(500));
    parameters.drop_mean = Some(Duration::from_millis(500));
    parameters.overlap = Duration::from_secs(1);
    parameters
}

pub fn hours(network: &Network) {
    let now = now();
    network.publish(FIRST_EPOCH, now - 10, now + 3600, parameters());
}

pub fn scrape(socket: &Path) -> String {
    ask_http(UnixStream::connect(socket).unwrap(), "/metrics")
}

pub fn ask_http(mut stream: impl Read + Write, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
