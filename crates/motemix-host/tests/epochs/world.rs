//! Whole nodes on the loopback interface, each with a wall clock that the test sets.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
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
use motemix_host::clock::{unix_seconds, unix_time};
use motemix_host::config::{Faults, Limits};
use motemix_host::control::{ControlClient, NodeStatus, Request, Response};
use motemix_host::curve::HostCurve;
use motemix_host::{NodeConfig, NodeKey, RuntimeError, Setup, run};

pub const FIRST: u32 = 7;
pub const NAMES: [&str; 4] = ["mix-1", "mix-2", "receiver", "sender"];
pub const MIX: usize = 0;
pub const SENDER: usize = 3;

pub struct Running {
    control: PathBuf,
    thread: JoinHandle<Result<(), RuntimeError>>,
    ahead: Arc<AtomicI64>,
}

impl Running {
    fn ask(&self, request: &Request) -> Response {
        let mut client = ControlClient::connect(&self.control).unwrap();
        client.set_patience(Some(Duration::from_secs(60))).unwrap();
        client.request(request).unwrap()
    }

    /// Sets the node's wall clock, in seconds ahead of the truth.
    pub fn set_clock(&self, ahead: i64) {
        self.ahead.store(ahead, Ordering::Relaxed);
    }

    fn send(&self, text: &str) -> Response {
        self.ask(&Request::Send { to: "receiver".into(), data_hex: hex::encode(text), wait: true })
    }

    /// Whether the node takes a message; nobody waits for its end.
    pub fn takes(&self, text: &str) -> bool {
        let data_hex = hex::encode(text);
        let request = Request::Send { to: "receiver".into(), data_hex, wait: false };
        matches!(self.ask(&request), Response::Sent { .. })
    }

    pub fn is_acknowledged(&self, text: &str) -> bool {
        matches!(self.send(text), Response::Acknowledged { .. })
    }

    pub fn status(&self) -> NodeStatus {
        match self.ask(&Request::Status {}) {
            Response::Status(status) => status,
            other => panic!("a status and not {other:?}"),
        }
    }

    pub fn counter(&self, name: &str) -> u64 {
        self.status().counters[name]
    }

    pub fn stop(self) {
        assert_eq!(self.ask(&Request::Stop {}), Response::Stopping {});
        self.thread.join().unwrap().unwrap();
    }
}

pub struct Network {
    folder: tempfile::TempDir,
    addresses: Vec<SocketAddr>,
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
            fs::create_dir_all(network.path(&format!("{name}/state"))).unwrap();
            NodeKey::create(network.path(&format!("{name}/node.key")), Epoch(FIRST)).unwrap();
        }
        network
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// The earliest epoch whose key a node still has.
    pub fn key_epoch(&self, node: usize) -> u32 {
        NodeKey::load(self.path(&format!("{}/node.key", NAMES[node]))).unwrap().epoch().0
    }

    pub fn publish(&self, epoch: u32, begins: u64, ends: u64, parameters: Parameters) {
        let keys = NAMES.map(|name| {
            let key = NodeKey::load(self.path(&format!("{name}/node.key"))).unwrap();
            HostCurve::public_key(&key.mix_secret(Epoch(epoch)).unwrap())
        });
        self.publish_as("loopback", epoch, [begins, ends], parameters, keys);
    }

    pub fn publish_as(
        &self,
        network_name: &str,
        epoch: u32,
        [begins, ends]: [u64; 2],
        parameters: Parameters,
        keys: [PublicKey; 4],
    ) {
        let draft = Draft {
            network_name,
            epoch: Epoch(epoch),
            valid_after: UnixTime(begins),
            valid_until: UnixTime(ends),
            profile: ProfileName::Mote,
            parameters,
        };
        let node = |index: usize| {
            let role = if index < 2 { Role::Mix { layer: index as u8 } } else { Role::Endpoint };
            let (name, addresses) = (NAMES[index], &self.addresses[index..=index]);
            NewNode { name, role, mix_key: keys[index], addresses }
        };
        let nodes: Vec<_> = (0..NAMES.len()).map(node).collect();
        let mut buffer = vec![0; document_len_limit(nodes.len(), 1)];
        let mut builder = DocumentBuilder::encode(&mut buffer, &draft, nodes.into_iter()).unwrap();
        builder.sign(&self.authority).unwrap();
        // Renamed into place, as authorities do: a node may be looking.
        let unfinished = self.path("unfinished");
        fs::write(&unfinished, builder.finish().unwrap()).unwrap();
        fs::rename(unfinished, self.path(&format!("documents/{epoch}.cbor"))).unwrap();
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
        (0..NAMES.len()).map(|index| start(self.config(index), 0).unwrap()).collect()
    }
}

/// Starts a node whose wall clock is that many seconds ahead.
pub fn start(config: NodeConfig, ahead: i64) -> Result<Running, RuntimeError> {
    let ahead = Arc::new(AtomicI64::new(ahead));
    let (tell, hear) = mpsc::channel();
    let set = Arc::clone(&ahead);
    let thread = thread::spawn(move || {
        let wall = move || {
            let seconds = set.load(Ordering::Relaxed);
            let by = Duration::from_secs(seconds.unsigned_abs());
            if seconds < 0 { unix_time().saturating_sub(by) } else { unix_time() + by }
        };
        let setup = Setup { wall: Some(Box::new(wall)), ..Setup::default() };
        run(&config, setup, |started| tell.send(started.control.clone()).unwrap())
    });
    match hear.recv() {
        Ok(control) => Ok(Running { control, thread, ahead }),
        Err(mpsc::RecvError) => Err(thread.join().unwrap().unwrap_err()),
    }
}

pub fn now() -> u64 {
    unix_seconds().0
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

pub fn parameters() -> Parameters {
    Parameters {
        min_hops: 3,
        max_hops: 3,
        mean_delay: Duration::from_millis(5),
        hop_allowance: Duration::from_millis(200),
        transmissions: 5,
        loop_mean: Some(Duration::from_millis(200)),
        drop_mean: Some(Duration::from_millis(200)),
        payload_mean: None,
        overlap: Duration::from_secs(1),
    }
}
