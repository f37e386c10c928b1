//! The broker of a demonstration, an application that checks each reading, and a server that
//! commands.
//!
//! ```text
//! motes ─ mixes ─ receiver ─ broker ─ application (`motemix broker watch`)
//!   └─────── replies ───────── broker ─ server (`motemix broker command`)
//! ```

mod application;

use anyhow::Context as _;
use application::Application;
pub use application::Seen;
use motemix_host::config::BrokerConfig;
use motemix_host::{NodeConfig, config::ConfigError};
use motemix_object::{Algorithm, Audience, Command as Order, Identity, command as sign_command};
use motemix_os::store::Inbox;
use motemix_program::failure::Failure;
use motemix_program::network::{NetworkDir, RECEIVER};
use motemix_program::program;
use motemix_program::report::{Progress, Table};
use motemix_readings::keys::DeviceKey;
use motemix_readings::{Counter, Devices, Servers};
use serde::Serialize;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long after the last acknowledgement the application may take to see the last reading.
const SETTLE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);
/// What is commanded: `[{"n": "led", "v": 1}]`, in CBOR.
const ORDER: &[u8] = b"\x81\xa2\x00\x63led\x02\x01";
/// Room for a command.
const COMMAND_LEN: usize = 512;

/// What runs beside the network. Dropping it ends the processes.
pub struct Smart {
    folder: PathBuf,
    network: String,
    broker: Child,
    coap: String,
    page: String,
    application: Option<Application>,
    server: DeviceKey,
    order: Ordered,
}

/// The command to the first mote.
struct Ordered {
    mote: String,
    device: Identity,
    /// Where the mote writes what it was commanded.
    file: PathBuf,
    at: Option<Instant>,
    obeyed_after: Option<Duration>,
}

/// What came of it, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct SmartSummary {
    devices: Vec<Seen>,
    /// Messages that the receiver has handed to the broker, and those that it has not.
    handed_over: u64,
    waiting: u64,
    not_verified: u64,
    /// From handing the command to the broker until the mote had obeyed it.
    obeyed_after_ms: Option<u64>,
    commanded: String,
}

impl Smart {
    /// Makes the broker's folder in that of the network, tells the nodes of it, and starts it.
    pub fn start(network: &NetworkDir, name: &str, motes: &[String]) -> Result<Self, Failure> {
        let folder = network.path().join("broker");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let settings = folder.join("broker.toml");
        fs::write(&settings, format!("network = \"{name}\"\n"))
            .with_context(|| format!("cannot write {}", settings.display()))?;
        let server = DeviceKey::create(folder.join("server.key"), Algorithm::Ed25519, &[]);
        let mut server = server.map_err(Failure::failed)?;
        let order = tell_nodes(network, &mut server, name, motes)?;
        let mut broker = Command::new(program::of_nodes()?)
            .args(["broker", "--with-parent", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0"])
            .arg("--data")
            .arg(folder.join("data"))
            .arg("--config")
            .arg(&settings)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the broker")?;
        let mut said = BufReader::new(broker.stderr.take().context("the broker has no stderr")?);
        let mut line = |what: &str, after: &str| -> Result<String, Failure> {
            let (mut line, mut last) = (String::new(), String::new());
            while said.read_line(&mut line).context("cannot read what the broker says")? > 0 {
                if let Some((_, place)) = line.trim_end().split_once(after) {
                    return Ok(place.to_owned());
                }
                last = std::mem::take(&mut line);
            }
            Err(Failure::failed(format!("the broker ended before it said its {what}: {}", last.trim_end())))
        };
        let coap = line("address", "coap://")?;
        let coap = format!("coap+tcp://{}", coap.split(',').next().unwrap_or_default());
        let page = format!("http://{}", line("page", "http://")?);
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::stderr()));
        Ok(Self {
            folder: network.path().to_owned(),
            network: name.to_owned(),
            broker,
            coap,
            page,
            application: None,
            server,
            order,
        })
    }

    /// Starts the application, and says where the page is.
    pub fn watch(&mut self) -> Result<(), Failure> {
        eprintln!("devices and readings, while this runs: {}", self.page);
        self.application = Some(Application::start(&self.coap, &self.network)?);
        Ok(())
    }

    /// Shows what the application has seen, and commands once the first mote is heard of.
    pub fn advance(&mut self, progress: &Progress) -> Result<(), Failure> {
        if let Some(exit) = self.broker.try_wait().context("cannot wait for the broker")? {
            return Err(Failure::failed(format!("the broker ended by itself ({exit})")));
        }
        let Some(application) = &mut self.application else { return Ok(()) };
        for line in application.lines()? {
            progress.note(&line);
        }
        let order = &mut self.order;
        if order.at.is_none() && application.seen().iter().any(|seen| seen.name == order.mote) {
            order.at = Some(Instant::now());
            let command = sign(&mut self.server, &self.folder, &order.device, &self.network)?;
            hand_over(&self.folder, &order.device, &command)?;
            progress.note(&format!("the server commands {}: led 1", order.mote));
        }
        if let (Some(at), None) = (order.at, order.obeyed_after)
            && order.file.exists()
        {
            order.obeyed_after = Some(at.elapsed());
            progress.note(&format!("{} has obeyed", order.mote));
        }
        Ok(())
    }

    /// Waits until the command was obeyed, or for too long: it comes with the acknowledgement of a
    /// reading, and so not after the last one.
    pub fn see_obeyed(&mut self, progress: &Progress, interrupted: &AtomicBool) -> Result<(), Failure> {
        let until = Instant::now() + SETTLE;
        while self.order.obeyed_after.is_none()
            && Instant::now() < until
            && !interrupted.load(Ordering::Relaxed)
        {
            self.advance(progress)?;
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits until the application has seen the last reading of each device, or for too long.
    pub fn settle(&mut self, progress: &Progress) -> Result<(), Failure> {
        let until = Instant::now() + SETTLE;
        while Instant::now() < until {
            self.advance(progress)?;
            let (_, waiting) = self.handed_over()?;
            if waiting == 0 && self.has_seen_all()? && self.order.obeyed_after.is_some() {
                break;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn has_seen_all(&self) -> Result<bool, Failure> {
        let list = Devices::open(self.receiver().join("state/devices.db")).map_err(Failure::failed)?;
        let seen = self.application.as_ref().map(Application::seen).unwrap_or_default();
        let devices = list.all().map_err(Failure::failed)?;
        Ok(devices.iter().filter(|device| device.accepted > 0).all(|device| {
            let newest = device.fresh.next().checked_sub(1);
            seen.iter().any(|seen| seen.name == device.place && Some(seen.last) == newest)
        }))
    }

    /// How many messages of the inbox the broker has, and how many it has not.
    fn handed_over(&self) -> Result<(u64, u64), Failure> {
        let mark = fs::read_to_string(self.receiver().join("state/handed-over")).unwrap_or_default();
        let mark: u64 = mark.trim().parse().unwrap_or(0);
        let inbox = Inbox::open(self.receiver().join("state/inbox.db")).map_err(Failure::failed)?;
        let newest = inbox.recent(1).map_err(Failure::failed)?;
        Ok((mark, newest.first().map_or(0, |newest| newest.number.saturating_sub(mark))))
    }

    fn receiver(&self) -> PathBuf {
        self.folder.join("nodes").join(RECEIVER)
    }

    pub fn summary(&self) -> Result<SmartSummary, Failure> {
        let (handed_over, waiting) = self.handed_over()?;
        let devices = self.application.as_ref().map(Application::seen).unwrap_or_default();
        Ok(SmartSummary {
            handed_over,
            waiting,
            not_verified: devices.iter().map(|seen| seen.not_verified).sum(),
            devices,
            obeyed_after_ms: self.order.obeyed_after.map(|after| after.as_millis() as u64),
            commanded: self.order.mote.clone(),
        })
    }
}

impl Drop for Smart {
    fn drop(&mut self) {
        // The application first: it would tell that the broker is gone.
        self.application = None;
        let _ = self.broker.kill();
        let _ = self.broker.wait();
    }
}

impl SmartSummary {
    /// What did not end well, in words.
    pub fn shortfall(&self, motes: usize) -> Option<String> {
        if self.not_verified > 0 {
            return Some(format!(
                "{} readings at the broker are not what a device signed",
                self.not_verified
            ));
        }
        if self.devices.len() < motes {
            let missing = motes - self.devices.len();
            return Some(format!("the application saw nothing of {missing} motes; let it run for longer"));
        }
        if self.waiting > 0 {
            return Some(format!("{} messages did not reach the broker", self.waiting));
        }
        self.obeyed_after_ms.is_none().then(|| format!("{} did not obey in time", self.commanded))
    }

    /// A line for each device.
    pub fn devices(&self) -> Table {
        let mut table =
            Table::new(["device", "identity", "verified", "not verified", "last", "what it says"]);
        for seen in &self.devices {
            let Seen { name, device, verified, not_verified, last, says } = seen;
            table.row([
                name.clone(),
                format!("{device:.16}"),
                verified.to_string(),
                not_verified.to_string(),
                last.to_string(),
                says.clone(),
            ]);
        }
        table
    }

    pub fn figures(&self, table: &mut Table) {
        table.figure("handed to the broker", &self.handed_over, "messages");
        let obeyed = self.obeyed_after_ms.map_or_else(|| "-".to_owned(), |after| after.to_string());
        table.figure(&format!("{} obeyed a command after", self.commanded), &obeyed, "ms");
    }
}

/// Has the receiver hand over, and the motes obey the server. Returns what is to be commanded.
fn tell_nodes(
    network: &NetworkDir,
    server: &mut DeviceKey,
    name: &str,
    motes: &[String],
) -> Result<Ordered, Failure> {
    let broken = |error: ConfigError| Failure::broken(error);
    let receiver = network.node(RECEIVER);
    let mut config = NodeConfig::load(receiver.config()).map_err(broken)?;
    // Relative to the configuration, so that the network's folder may be moved.
    config.broker = Some(BrokerConfig::new(receiver.path().join("../../broker/data/local.sock")));
    config.save(receiver.config()).map_err(broken)?;
    let (identity, key) = (server.identity(), *server.credential().key());
    let mut first = None;
    for mote in motes {
        let node = network.node(mote);
        let mut config = NodeConfig::load(node.config()).map_err(broken)?;
        let file = config.state.join("commands.json");
        let readings = config.readings.as_mut().context("a mote without readings")?;
        readings.commands = Some(file.clone());
        config.save(node.config()).map_err(broken)?;
        let device = DeviceKey::load(node.device_key()).map_err(Failure::broken)?.identity();
        let servers = Servers::beside(node.device_key(), &device);
        servers.add(identity.short(), Some((identity, key)), Some(name)).map_err(Failure::failed)?;
        let order = Ordered { mote: mote.clone(), device, file, at: None, obeyed_after: None };
        first.get_or_insert(order);
    }
    first.ok_or_else(|| Failure::broken("--motes 0: there is nobody to be read of"))
}

/// A command as the server signs it for one device, without its key: the device has that.
fn sign(server: &mut DeviceKey, folder: &Path, device: &Identity, network: &str) -> Result<Vec<u8>, Failure> {
    let counter = Counter::beside(folder.join("broker/server.key"), &server.identity());
    let sequence = counter.take().map_err(Failure::failed)?.number();
    let audience = Audience::new(network).map_err(Failure::broken)?;
    let (signer, credential) = server.parts();
    let mut out = vec![0; COMMAND_LEN];
    let order = Order { sequence, senml: ORDER };
    let len = sign_command(signer, &credential, false, device, audience, order, &mut out);
    out.truncate(len.map_err(Failure::failed)?);
    Ok(out)
}

/// As a server would, with the program.
fn hand_over(folder: &Path, device: &Identity, command: &[u8]) -> Result<(), Failure> {
    let mut program = Command::new(program::of_nodes()?)
        .args(["broker", "command"])
        .arg(folder.join("broker/data/local.sock"))
        .args(["--device", &device.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start the program")?;
    let mut stdin = program.stdin.take().context("the program has no stdin")?;
    stdin.write_all(command).context("cannot hand the command over")?;
    drop(stdin);
    let exit = program.wait().context("cannot wait for the program")?;
    if exit.success() { Ok(()) } else { Err(Failure::failed("the broker did not take the command")) }
}
