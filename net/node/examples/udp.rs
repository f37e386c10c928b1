//! A network of six nodes on loopback, one thread and one socket each. Node 0 sends a message to
//! node 5 through mixes; its acknowledgement comes back on a way of its own.
//!
//! `cargo run -p motemix-node --example udp`
//!
//! What a node for use has besides: entropy of the system, a journal that outlives it, keys that
//! change with each epoch, and a network document that authorities signed. `motemix-host` is one.

use std::error::Error;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::{Arc, atomic::AtomicBool, atomic::Ordering};
use std::thread;
use std::time::{Duration, Instant as Clock};

use motemix_crypto::{Portable, Secret};
use motemix_directory::{Entry, Epoch, Parameters, Role};
use motemix_node::{Config, Empty, Event, Instant, Lengths, LinkId, Memory, NoJournal, Node};
use motemix_sphinx::{MixKey, Mote, NodeId, Profile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const NODES: u16 = 6;
const RECEIVER: u16 = 5;
const EPOCH: Epoch = Epoch(1);

/// How long the tables of a node are.
enum Small {}

impl Lengths for Small {
    type Packets<T: Empty> = [T; 16];
    type Replay<T: Empty> = [T; 1024];
    type Window<T: Empty> = [T; 16];
    type Messages<T: Empty> = [T; 2];
    type Returns<T: Empty> = [T; 8];
    type Headers<T: Empty> = [T; 4];
    type Loops<T: Empty> = [T; 4];
    type Nodes<T: Empty> = [T; NODES as usize];
}

/// What all nodes know.
struct Network {
    sockets: Vec<UdpSocket>,
    entries: Vec<Entry>,
    config: Config,
    begin: Clock,
    done: AtomicBool,
}

impl Network {
    fn now(&self) -> Instant {
        Instant::from_micros(self.begin.elapsed().as_micros() as u64)
    }
}

/// One thread's node.
fn run(network: &Network, number: u16, key: MixKey) -> Result<(), Box<dyn Error + Send + Sync>> {
    let socket = &network.sockets[usize::from(number)];
    let me = NodeId::new(number).ok_or("too many nodes")?;

    // 1. Lend memory, make a node.
    let mut memory = Box::new(Memory::<Mote, Small>::new());
    let mut node = Node::new(me, ChaCha20Rng::seed_from_u64(number.into()), memory.lend());

    // 2. Enter the epoch.
    node.prepare_epoch(EPOCH, key)?;
    let entries = network.entries.iter().copied();
    node.begin_epoch(network.now(), EPOCH, Instant::NEVER, entries, network.config)?;
    if number == 0 {
        let to = NodeId::new(RECEIVER).ok_or("too many nodes")?;
        node.send(network.now(), to, b"21.5 degrees")?;
    }

    let mut packet = Mote::<Portable>::packet();
    // One byte more than a packet, to tell longer datagrams by.
    let mut datagram = [0; 281];
    while !network.done.load(Ordering::Relaxed) {
        // 4. Do what is due.
        node.handle_timeout(network.now());

        // 5. Hear what happened, and reply; then let leave what is to leave.
        while let Some(event) = node.poll_event() {
            match event {
                Event::Received { token, data, .. } => {
                    println!("node {number} received {:?}", String::from_utf8_lossy(data));
                    node.reply(network.now(), token, b"")?;
                }
                Event::Acknowledged { elapsed, tries, .. } => {
                    println!("node {number}: acknowledged after {elapsed:?}, try {tries}");
                    network.done.store(true, Ordering::Relaxed);
                }
                Event::Discarded { .. } => return Err("the message was given up".into()),
                _ => {}
            }
        }
        while let Some(transmit) = node.poll_transmit(network.now(), &mut NoJournal, &mut packet)? {
            let to = network.sockets[usize::from(transmit.to.get())].local_addr()?;
            socket.send_to(&packet[..transmit.len], to)?;
        }

        // 6. With nothing else to do, make headers ahead of time.
        let busy = node.work(network.now());

        // 3. Take in what arrives, until something is due.
        let wait = node.poll_timeout().map_or(Duration::MAX, |due| due - network.now());
        let most = Duration::from_millis(if busy { 1 } else { 50 });
        socket.set_read_timeout(Some(wait.clamp(Duration::from_millis(1), most)))?;
        match socket.recv_from(&mut datagram) {
            Ok((len, from)) => {
                let from = LinkId(from.port().into());
                // What is refused is counted; who sent it must not learn why.
                let _ = node.handle_datagram(network.now(), from, &mut datagram[..len], &mut NoJournal);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let mut secret = || {
        let mut secret = Secret::<32>::zero();
        rng.fill_bytes(secret.expose_mut());
        secret
    };
    let keys: Vec<MixKey> = (0..NODES).map(|_| MixKey::new(secret())).collect();
    let entry = |key: &MixKey| Entry { mix_key: key.public_key::<Portable>(), role: Role::Mix { layer: 0 } };
    let mut parameters = Parameters::new(3, 3);
    parameters.mean_delay = Duration::from_millis(20);
    parameters.hop_allowance = Duration::from_millis(100);
    parameters.transmissions = 5;
    let network = Arc::new(Network {
        sockets: (0..NODES).map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<Result<_, _>>()?,
        entries: keys.iter().map(entry).collect(),
        config: Config::of_network(parameters),
        begin: Clock::now(),
        done: AtomicBool::new(false),
    });
    let start = |(number, key)| {
        let network = Arc::clone(&network);
        thread::spawn(move || run(&network, number, key))
    };
    for node in (0..).zip(keys).map(start).collect::<Vec<_>>() {
        node.join().map_err(|_| "a node panicked")??;
    }
    Ok(())
}
