//! A network whose every datagram passes a recorder.
//!
//! ```text
//! node ─▶ address in the network document: the recorder's ─▶ address that the node really listens on
//! ```
//!
//! What a node sends comes out of the recorder from the address that the document has for it.
#![allow(dead_code, reason = "each test file uses a part")]

use super::program::{Network, Running, edit, motemix};
use motemix_host::NodeConfig;
use serde_json::Value;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How soon a relay notices that the story has ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Another program may take a port between the choice and the binding of it.
const ATTEMPTS: usize = 10;

/// A datagram on its way to a node.
#[derive(Clone)]
pub struct Recorded {
    pub to: String,
    pub bytes: Vec<u8>,
}

/// A running network and the recorder.
pub struct RecordedNetwork {
    pub running: Running,
    recording: Arc<Mutex<Vec<Recorded>>>,
    /// Where each node really listens.
    pub behind: Vec<(String, SocketAddr)>,
    ended: Arc<AtomicBool>,
    relays: Vec<JoinHandle<()>>,
}

impl RecordedNetwork {
    pub fn up(more: &[&str]) -> Self {
        let (network, relays) = (0..ATTEMPTS).find_map(|_| interpose(more)).expect("free ports");
        let running = Running(network);
        // What nodes send while others start waits in the recorder's sockets.
        let said = motemix(["net", "up", running.dir(), "--json"]).succeeds();
        let behind = listening(&said);
        let recording = Arc::default();
        let ended = Arc::new(AtomicBool::new(false));
        let really = |name: &String| behind.iter().find(|(node, _)| node == name).expect("it listens").1;
        // By where their nodes really are.
        let outside: HashMap<_, _> = relays
            .iter()
            .map(|(name, socket)| (really(name), socket.try_clone().expect("a descriptor")))
            .collect();
        let outside = Arc::new(outside);
        let relays = relays
            .into_iter()
            .map(|(name, socket)| {
                let relay = Relay {
                    to: really(&name),
                    name,
                    socket,
                    outside: Arc::clone(&outside),
                    recording: Arc::clone(&recording),
                    ended: Arc::clone(&ended),
                };
                thread::spawn(move || relay.run())
            })
            .collect();
        Self { running, recording, behind, ended, relays }
    }

    /// Everything recorded so far.
    pub fn recording(&self) -> Vec<Recorded> {
        self.recording.lock().expect("no relay has panicked").clone()
    }

    pub fn recorded(&self) -> usize {
        self.recording.lock().expect("no relay has panicked").len()
    }
}

impl Drop for RecordedNetwork {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for relay in self.relays.drain(..) {
            // One that has panicked has made the story fail.
            let _ = relay.join();
        }
    }
}

/// Makes a network and takes its nodes' addresses away from them; `None` if one was taken
/// meanwhile.
fn interpose(more: &[&str]) -> Option<(Network, Vec<(String, UdpSocket)>)> {
    let network = Network::init(&[&["--host", "127.0.0.1"], more].concat());
    let mut relays = Vec::new();
    for entry in std::fs::read_dir(network.path("nodes")).expect("nodes") {
        let file = entry.expect("an entry").path().join("node.toml");
        let config = NodeConfig::load(&file).expect("a configuration");
        let address = *config.listen.first().expect("an address");
        let socket = UdpSocket::bind(address).ok()?;
        socket.set_read_timeout(Some(LOOK_EVERY)).expect("a read timeout");
        edit(&file, &address.to_string(), "127.0.0.1:0");
        relays.push((config.name, socket));
    }
    Some((network, relays))
}

fn listening(said: &str) -> Vec<(String, SocketAddr)> {
    let rows: Vec<Value> = serde_json::from_str(said).expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    rows.iter()
        .map(|row| (text(&row["name"]), text(&row["listen"][0]).parse().expect("an address")))
        .collect()
}

/// What one address of the network document is to the recorder.
struct Relay {
    name: String,
    socket: UdpSocket,
    /// Where its node really is.
    to: SocketAddr,
    outside: Arc<HashMap<SocketAddr, UdpSocket>>,
    recording: Arc<Mutex<Vec<Recorded>>>,
    ended: Arc<AtomicBool>,
}

impl Relay {
    fn run(&self) {
        let mut buffer = vec![0; 1 << 16];
        while !self.ended.load(Ordering::Relaxed) {
            match self.socket.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    let recorded = Recorded { to: self.name.clone(), bytes: buffer[..len].to_vec() };
                    // First, so that no node has received what is not recorded.
                    self.recording.lock().expect("no relay has panicked").push(recorded);
                    let socket = self.outside.get(&from).unwrap_or(&self.socket);
                    // A node that has stopped refuses.
                    let _ = socket.send_to(&buffer[..len], self.to);
                }
                // A refusal of an earlier datagram is reported here.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("the recorder's socket: {error}"),
            }
        }
    }
}
