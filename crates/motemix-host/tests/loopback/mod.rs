//! A network over the loopback interface: four mixes in two layers, a sender and a receiver.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use motemix_crypto::Curve as _;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, Draft, Epoch, NewNode, Parameters, ProfileName, Role, UnixTime,
    document_len_limit,
};
use motemix_host::clock::unix_seconds;
use motemix_host::config::{Faults, Limits};
use motemix_host::control::{ControlClient, NodeStatus, Request, Response};
use motemix_host::curve::HostCurve;
use motemix_host::{NodeConfig, NodeKey, RuntimeError, Setup, Started, run};

pub const FIRST_EPOCH: u32 = 7;
pub const NAMES: [&str; 6] = ["mix-1", "mix-2", "mix-3", "mix-4", "receiver", "sender"];
pub const RECEIVER: usize = 4;
pub const SENDER: usize = 5;

pub struct Running {
    pub started: Started,
    pub thread: JoinHandle<Result<(), RuntimeError>>,
}

impl Running {
    pub fn ask(&self, request: &Request) -> Response {
        let mut client = ControlClient::connect(&self.started.control).unwrap();
        client.set_patience(Some(Duration::from_secs(30))).unwrap();
        client.request(request).unwrap()
    }

    pub fn send(&self, data: &[u8]) -> Response {
        self.ask(&Request::Send { to: "receiver".into(), data_hex: hex::encode(data), wait: true })
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
    authority: AuthoritySecret,
}

impl Network {
    pub fn new() -> Self {
        let ports: Vec<_> = NAMES.iter().map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let network = Self {
            folder: tempfile::tempdir().unwrap(),
            addresses: ports.iter().map(|port| port.local_addr().unwrap()).collect(),
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
        let draft = Draft {
            network_name: "loopback",
            epoch: Epoch(epoch),
            valid_after: UnixTime(valid_after),
            valid_until: UnixTime(valid_until),
            profile: ProfileName::Mote,
            parameters,
        };
        let nodes: Vec<_> = NAMES
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let key = NodeKey::load(self.path(name).join("node.key")).unwrap();
                let role = match index {
                    0 | 1 => Role::Mix { layer: 0 },
                    2 | 3 => Role::Mix { layer: 1 },
                    _ => Role::Endpoint,
                };
                let mix_key = HostCurve::public_key(&key.mix_secret(Epoch(epoch)).unwrap());
                NewNode { name, role, mix_key, addresses: &self.addresses[index..=index] }
            })
            .collect();
        let mut buffer = vec![0; document_len_limit(nodes.len(), 1)];
        let mut builder = DocumentBuilder::encode(&mut buffer, &draft, nodes.into_iter()).unwrap();
        builder.sign(&self.authority).unwrap();
        fs::write(self.path(format!("documents/{epoch}.cbor")), builder.finish().unwrap()).unwrap();
    }

    pub fn config(&self, index: usize) -> NodeConfig {
        let folder = self.path(NAMES[index]);
        NodeConfig {
            name: NAMES[index].into(),
            id: index as u16,
            listen: vec![self.addresses[index]],
            radio: None,
            key: folder.join("node.key"),
            documents: self.path("documents"),
            network: "loopback".into(),
            authorities: vec![self.authority.public_key().to_bytes()],
            threshold: 1,
            state: folder.join("state"),
            metrics: None,
            limits: Limits { replay_tags: 1 << 16, ..Limits::default() },
            faults: Faults::default(),
            readings: None,
        }
    }

    pub fn start(&self) -> Vec<Running> {
        (0..NAMES.len()).map(|index| start(self.config(index))).collect()
    }
}

pub fn start(config: NodeConfig) -> Running {
    let (tell, hear) = mpsc::channel();
    let thread =
        thread::spawn(move || run(&config, Setup::default(), |started| tell.send(started.clone()).unwrap()));
    match hear.recv() {
        Ok(started) => Running { started, thread },
        Err(mpsc::RecvError) => panic!("the node does not start: {}", thread.join().unwrap().unwrap_err()),
    }
}

pub fn parameters() -> Parameters {
    Parameters {
        min_hops: 3,
        max_hops: 3,
        mean_delay: Duration::from_millis(5),
        hop_allowance: Duration::from_millis(200),
        transmissions: 5,
        loop_mean: Some(Duration::from_millis(500)),
        drop_mean: Some(Duration::from_millis(500)),
        payload_mean: None,
        overlap: Duration::from_secs(1),
    }
}

pub fn hours(network: &Network) {
    let now = unix_seconds().0;
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
