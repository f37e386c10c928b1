//! A network of processes that is told what a plan says, and applications on its clients.

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]

use crate::measured::Measured;
use crate::program::wait_until;
use crate::tap::{Loss, Tap};
use chacha20::ChaCha8Rng;
use motemix_loopix::files::{Config, NodeEntry, Profile, Role, Settings};
use motemix_loopix_program::network::{Blueprint, Size, init, nodes_of};
use motemix_testbed::Ports;
use rand_core::{Rng as _, SeedableRng as _};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MIXES: u16 = 3;
/// As the advice is told.
pub const MIXES_OF_A_LAYER: &str = "1";

pub struct Network {
    clients: Vec<Process>,
    // They end with this value.
    _others: Vec<Process>,
    provider: Tap,
    client_taps: Vec<Tap>,
    messages_per_s: f64,
    _ports: Ports,
    _folder: TempDir,
}

struct Process {
    child: Child,
    input: ChildStdin,
    /// Where it listens.
    at: SocketAddr,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    is_ready: bool,
    /// When each text arrived for the first time.
    texts: BTreeMap<String, Instant>,
}

impl Network {
    /// `loss` is the share of what mixes send to the provider that does not arrive.
    pub fn start(profile: Profile, plan: &Value, clients: u16, loss: f64) -> Self {
        let (folder, ports) = (tempfile::tempdir().unwrap(), Ports::new());
        let seconds = |value: f64| Duration::from_secs_f64(value);
        let number = |name: &str| plan[name].as_f64().unwrap_or_else(|| panic!("no {name} in {plan}"));
        let stream = seconds(1.0 / number("stream"));
        let mut config = Config::default();
        config.clients.loops = stream;
        config.clients.drop = stream;
        config.clients.payload = stream;
        config.clients.delay = seconds(number("delay_s"));
        config.clients.pull = seconds(number("pull_every_s"));
        config.mixes.loops = stream;
        config.mixes.delay = config.clients.delay;
        config.providers.max_retrieve = u32::try_from(plan["pull_packets"].as_u64().unwrap()).unwrap();
        config.providers.push = (profile == Profile::Fork2018).then_some(false);
        let size = Size { mixes: MIXES, layers: MIXES, providers: 1, clients };
        let all = u16::try_from(size.nodes()).unwrap();
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], ports.first + port));
        let addresses: Vec<_> = (0..all).map(address).collect();
        let mut settings = Settings::of(profile);
        settings.originals.start_s = 0;
        let blueprint = Blueprint { size, addresses: &addresses, config: &config, settings };
        let mut rng = ChaCha8Rng::from_seed([9; 32]);
        let network = init(&folder.path().join("n"), &blueprint, &mut rng).unwrap();
        let (mut processes, mut others, mut taps) = (Vec::new(), Vec::new(), Vec::new());
        let mut provider = None;
        for (node, entry) in nodes_of(&network).unwrap() {
            let listed = SocketAddr::from(([127, 0, 0, 1], entry.port()));
            // Behind the ports of all nodes.
            let behind = SocketAddr::from(([127, 0, 0, 1], entry.port() + all));
            match entry.role() {
                Role::Mix => others.push(Process::start(&entry, node.path(), listed)),
                Role::Provider => {
                    let from = addresses[..usize::from(MIXES)].to_vec();
                    provider = Some(Tap::start(listed, behind, Loss { share: loss, from }));
                    others.push(Process::start(&entry, node.path(), behind));
                }
                Role::Client => {
                    taps.push(Tap::start(listed, behind, Loss { share: 0.0, from: vec![] }));
                    processes.push(Process::start(&entry, node.path(), behind));
                }
            }
        }
        for process in others.iter().chain(&processes) {
            wait_until("a node is ready", || process.heard.lock().unwrap().is_ready);
        }
        Self {
            clients: processes,
            _others: others,
            provider: provider.expect("there is one"),
            client_taps: taps,
            messages_per_s: number("messages_per_s"),
            _ports: ports,
            _folder: folder,
        }
    }

    /// Lets applications talk, each to all others: for `before`, for `length`, which is measured,
    /// and until what was said then has arrived. Fails if none of it arrives in `patience`.
    pub fn measure(&mut self, before: Duration, length: Duration, patience: Duration) -> Measured {
        let mut rng = ChaCha8Rng::from_seed([11; 32]);
        let count = self.clients.len();
        let mean = 1.0 / self.messages_per_s / count as f64;
        let mut said: Vec<(String, usize, Instant)> = Vec::new();
        let begin = Instant::now();
        let (from, until) = (begin + before, begin + before + length);
        let mut next = begin + exponential(&mut rng, mean);
        let (mut first, mut last) = (None, None);
        // Where others use the machine too, messages come late, but they come.
        let (mut most, mut patient) = (0, until + patience);
        loop {
            let now = Instant::now();
            if first.is_none() && now >= from {
                first = Some((now, self.bytes()));
            }
            if last.is_none() && now >= until {
                last = Some((now, self.bytes()));
            }
            let measured = || said.iter().filter(|(_, _, at)| (from..until).contains(at));
            let heard = measured().filter(|(text, to, _)| self.clients[*to].has_heard(text)).count();
            if last.is_some() && heard == measured().count() {
                break;
            }
            if heard > most {
                (most, patient) = (heard, patient.max(now + patience));
            }
            assert!(now < patient, "messages are missing, and none came in {patience:?}");
            while next <= Instant::now() {
                let sender = rng.next_u32() as usize % count;
                let to = (sender + 1 + rng.next_u32() as usize % (count - 1)) % count;
                let text = format!("m{}", said.len());
                let line = format!("send Client{} {text}", to + 1);
                said.push((text, to, Instant::now()));
                writeln!(self.clients[sender].input, "{line}").expect("it reads");
                next += exponential(&mut rng, mean);
            }
            thread::sleep(next.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)));
        }
        let measured = said.iter().filter(|(_, _, at)| (from..until).contains(at));
        let took: Vec<f64> = measured
            .map(|(text, to, at)| {
                let heard = self.clients[*to].heard.lock().unwrap();
                heard.texts[text].duration_since(*at).as_secs_f64()
            })
            .collect();
        let ((first_at, first), (last_at, last)) = first.zip(last).expect("both have passed");
        Measured::of(&took, last - first, count, last_at.duration_since(first_at).as_secs_f64())
    }

    /// What all clients have sent and got.
    fn bytes(&self) -> u64 {
        let up = self.provider.bytes();
        let up = self.clients.iter().filter_map(|client| up.get(&client.at)).sum::<u64>();
        up + self.client_taps.iter().map(|tap| tap.bytes().values().sum::<u64>()).sum::<u64>()
    }
}

impl Process {
    fn start(entry: &NodeEntry, folder: &Path, at: SocketAddr) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_motemix-lab")).with_file_name("motemix");
        let mut command = Command::new(program);
        command.args(["loopix", entry.role().name(), "--with-parent", "--dir"]).arg(folder);
        command.args(["--listen", &at.to_string()]).env_remove("MOTEMIX_LOG");
        let log = File::create(folder.join("log")).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().unwrap());
        let heard = Arc::<Mutex<Heard>>::default();
        let listener = Arc::clone(&heard);
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let now = Instant::now();
                let event: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                let mut heard = listener.lock().unwrap();
                match event["event"].as_str() {
                    Some("ready") => heard.is_ready = true,
                    Some("received") => {
                        let text = event["text"].as_str().expect("a text").to_owned();
                        heard.texts.entry(text).or_insert(now);
                    }
                    _ => {}
                }
            }
        });
        Self { input: child.stdin.take().unwrap(), child, at, heard }
    }

    fn has_heard(&self, text: &str) -> bool {
        self.heard.lock().unwrap().texts.contains_key(text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn exponential(rng: &mut ChaCha8Rng, mean: f64) -> Duration {
    let unit = (f64::from(rng.next_u32()) + 1.0) / 4_294_967_296.0;
    Duration::from_secs_f64(-mean * unit.ln())
}
