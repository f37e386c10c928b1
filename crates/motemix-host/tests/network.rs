//! Whole nodes over the loopback interface: four mixes in two layers, a sender and a receiver.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use motemix_crypto::Curve as _;
use motemix_directory::{
    AuthoritySecret, DocumentBuilder, Draft, Epoch, NewNode, Parameters, ProfileName, Role, UnixTime,
    document_len_limit,
};
use motemix_host::clock::unix_seconds;
use motemix_host::config::{Faults, Limits, MetricsConfig};
use motemix_host::control::{ControlClient, NodeStatus, Request, Response};
use motemix_host::curve::HostCurve;
use motemix_host::{NodeConfig, NodeKey, RuntimeError, Setup, Started, run};

const FIRST_EPOCH: u32 = 7;
const NAMES: [&str; 6] = ["mix-1", "mix-2", "mix-3", "mix-4", "receiver", "sender"];
const RECEIVER: usize = 4;
const SENDER: usize = 5;

struct Running {
    started: Started,
    thread: JoinHandle<Result<(), RuntimeError>>,
}

impl Running {
    fn ask(&self, request: &Request) -> Response {
        let mut client = ControlClient::connect(&self.started.control).unwrap();
        client.set_patience(Some(Duration::from_secs(30))).unwrap();
        client.request(request).unwrap()
    }

    fn send(&self, data: &[u8]) -> Response {
        self.ask(&Request::Send { to: "receiver".into(), data_hex: hex::encode(data), wait: true })
    }

    fn status(&self) -> NodeStatus {
        match self.ask(&Request::Status {}) {
            Response::Status(status) => status,
            other => panic!("a status and not {other:?}"),
        }
    }

    fn inbox(&self) -> Vec<Vec<u8>> {
        match self.ask(&Request::Inbox { last: 100 }) {
            Response::Inbox { messages } => {
                messages.iter().map(|message| hex::decode(&message.data_hex).unwrap()).collect()
            }
            other => panic!("an inbox and not {other:?}"),
        }
    }

    fn stop(self) {
        assert_eq!(self.ask(&Request::Stop {}), Response::Stopping {});
        self.thread.join().unwrap().unwrap();
        assert!(!self.started.control.exists());
    }
}

struct Network {
    folder: tempfile::TempDir,
    addresses: Vec<SocketAddr>,
    authority: AuthoritySecret,
}

impl Network {
    fn new() -> Self {
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

    fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(file)
    }

    fn publish(&self, epoch: u32, valid_after: u64, valid_until: u64, parameters: Parameters) {
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

    fn config(&self, index: usize) -> NodeConfig {
        let folder = self.path(NAMES[index]);
        NodeConfig {
            name: NAMES[index].into(),
            id: index as u16,
            listen: vec![self.addresses[index]],
            radio: None,
            key: folder.join("node.key"),
            documents: self.path("documents"),
            authorities: vec![self.authority.public_key().to_bytes()],
            threshold: 1,
            state: folder.join("state"),
            metrics: Some(MetricsConfig { listen: "127.0.0.1:0".parse().unwrap() }),
            limits: Limits { replay_tags: 1 << 16, ..Limits::default() },
            faults: Faults::default(),
            readings: None,
        }
    }

    fn start(&self) -> Vec<Running> {
        (0..NAMES.len()).map(|index| start(self.config(index))).collect()
    }
}

fn start(config: NodeConfig) -> Running {
    let (tell, hear) = mpsc::channel();
    let thread =
        thread::spawn(move || run(&config, Setup::default(), |started| tell.send(started.clone()).unwrap()));
    match hear.recv() {
        Ok(started) => Running { started, thread },
        Err(mpsc::RecvError) => panic!("the node does not start: {}", thread.join().unwrap().unwrap_err()),
    }
}

fn parameters() -> Parameters {
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

fn hours(network: &Network) {
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 10, now + 3600, parameters());
}

#[test]
fn a_message_crosses_four_mixes_and_its_acknowledgement_comes_back() {
    let network = Network::new();
    hours(&network);
    let nodes = network.start();

    for number in 0..20_u8 {
        let answer = nodes[SENDER].send(&[number; 40]);
        assert!(matches!(answer, Response::Acknowledged { tries: 1..=5, .. }), "{answer:?}");
    }

    let expected: Vec<_> = (0..20_u8).map(|number| vec![number; 40]).collect();
    assert_eq!(nodes[RECEIVER].inbox(), expected);
    let sender = nodes[SENDER].status();
    assert_eq!((sender.epoch, sender.counters["acknowledged"]), (u64::from(FIRST_EPOCH), 20));
    assert_eq!(nodes[RECEIVER].status().inbox, 20);
    let forwarded: u64 = nodes[..4].iter().map(|mix| mix.status().counters["forwarded"]).sum();
    assert!(forwarded >= 80, "two mixes each way for each message: {forwarded}");
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_lossy_network_delivers_each_message_once() {
    let network = Network::new();
    hours(&network);
    let nodes: Vec<_> = (0..NAMES.len())
        .map(|index| start(NodeConfig { faults: Faults { loss: 0.05 }, ..network.config(index) }))
        .collect();

    let mut acknowledged = 0;
    for number in 0..20_u8 {
        let answer = nodes[SENDER].send(&[number; 40]);
        acknowledged += usize::from(matches!(answer, Response::Acknowledged { .. }));
    }

    let mut inbox = nodes[RECEIVER].inbox();
    inbox.sort();
    inbox.dedup();
    assert_eq!(inbox.len() as u64, nodes[RECEIVER].status().inbox, "no message is there twice");
    assert!(acknowledged >= 19, "{acknowledged}");
    let lost: u64 = nodes.iter().map(|node| node.status().counters["injected_losses"]).sum();
    assert!(lost > 0);
    nodes.into_iter().for_each(Running::stop);
}

/// Somebody between the mixes and the receiver records what passes and sends it again later.
#[test]
fn what_a_restarted_node_has_seen_is_still_refused() {
    let mut network = Network::new();
    let wire = UdpSocket::bind("127.0.0.1:0").unwrap();
    let behind = std::mem::replace(&mut network.addresses[RECEIVER], wire.local_addr().unwrap());
    hours(&network);
    let config = NodeConfig { listen: vec![behind], ..network.config(RECEIVER) };
    let (tap, recorded) = mpsc::channel();
    let relay = wire.try_clone().unwrap();
    thread::spawn(move || {
        let mut packet = [0; 280];
        while relay.recv(&mut packet).is_ok_and(|len| len == packet.len()) {
            relay.send_to(&packet, behind).unwrap();
            tap.send(packet).unwrap();
        }
    });
    let mixes: Vec<_> = (0..4).map(|index| start(network.config(index))).collect();
    let sender = start(network.config(SENDER));
    let receiver = start(config.clone());
    for number in 0..5_u8 {
        assert!(matches!(sender.send(&[number; 10]), Response::Acknowledged { .. }));
    }
    // Nothing new passes while the recording is played.
    sender.stop();
    mixes.into_iter().for_each(Running::stop);
    let mut recording = Vec::new();
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        // A packet is told of after it was relayed, so the receiver may be ahead of the recording.
        recording.extend(recorded.try_iter());
        if receiver.status().counters["datagrams"] == recording.len() as u64 || Instant::now() > end {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    receiver.stop();

    let receiver = start(config);
    let recorded = recording;
    assert!(recorded.len() >= 5);
    for packet in &recorded {
        wire.send_to(packet, behind).unwrap();
    }
    let count = recorded.len() as u64;
    let end = Instant::now() + Duration::from_secs(10);
    while receiver.status().counters["datagrams"] < count && Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
    }

    let status = receiver.status();
    assert_eq!((status.counters["dropped_replayed"], status.counters["delivered"]), (count, 0));
    assert_eq!(status.inbox, 5);
    let metrics = scrape(receiver.started.metrics.unwrap());
    assert!(
        metrics.contains(&format!("motemix_dropped_total{{reason=\"replayed\"}} {count}\n")),
        "{metrics}"
    );
    receiver.stop();
}

#[test]
fn messages_go_on_across_the_boundary_of_two_epochs_and_the_earlier_key_goes() {
    let network = Network::new();
    let now = unix_seconds().0;
    let boundary = now + 4;
    network.publish(FIRST_EPOCH, now - 10, boundary, parameters());
    network.publish(FIRST_EPOCH + 1, boundary, boundary + 3600, parameters());
    let nodes = network.start();

    let end = Instant::now() + Duration::from_secs(9);
    let mut sent = 0;
    while Instant::now() < end {
        let answer = nodes[SENDER].send(&[sent; 40]);
        assert!(matches!(answer, Response::Acknowledged { .. }), "{answer:?}");
        sent += 1;
        thread::sleep(Duration::from_millis(100));
    }

    for node in &nodes {
        assert_eq!(node.status().epoch, u64::from(FIRST_EPOCH) + 1);
    }
    assert_eq!(nodes[RECEIVER].status().inbox, u64::from(sent));
    for name in NAMES {
        assert_eq!(
            NodeKey::load(network.path(name).join("node.key")).unwrap().epoch(),
            Epoch(FIRST_EPOCH + 1)
        );
        assert!(!network.path(format!("{name}/state/replay-{FIRST_EPOCH}.log")).exists());
    }
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn a_node_that_the_document_does_not_describe_says_what_is_wrong() {
    let network = Network::new();
    hours(&network);
    let refused = |config: NodeConfig| run(&config, Setup::default(), |_| {}).unwrap_err().to_string();

    let error = refused(NodeConfig { name: "mix-9".into(), ..network.config(0) });
    assert_eq!(error, "mix-9: the network document of epoch 7 has no such node; publish its description");
    let error = refused(NodeConfig { id: 3, ..network.config(0) });
    assert!(error.ends_with("gives it another id; correct `id` in the configuration"), "{error}");
    let error = refused(NodeConfig { key: network.path("mix-2/node.key"), ..network.config(0) });
    assert!(error.contains("has another mix key for it"), "{error}");
    let error = refused(NodeConfig { listen: vec!["192.0.2.1:9".parse().unwrap()], ..network.config(0) });
    assert!(error.starts_with("listen: 192.0.2.1:9: "), "{error}");
}

fn scrape(address: SocketAddr) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
