//! `motemix broker`, and servers of CoAP of other makes, as processes under load.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use minicbor::Encoder;
use motemix_coap::{Code, Endpoint, Event, Method, Request, Response, Settings, format};
use motemix_object::{Audience, RequestDigest, sign_request};
use motemix_readings::base64url;
use motemix_time::Instant;
use tempfile::TempDir;

use crate::load::process::UnderLoad;
use crate::load::updates::{Device, NETWORK};
use crate::machine::Machine;

/// The private property of a device's topic (`docs/spec/broker.md`).
const DEVICE: i64 = -65_537;
/// How long a server may take to begin.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server under load.
pub struct Server {
    /// The process.
    pub process: UnderLoad,
    /// Where it listens.
    pub address: SocketAddr,
    /// Paths, one for each device.
    pub paths: Vec<Vec<String>>,
    /// What it is told about the format of what is published.
    pub content_format: Option<u16>,
    _folder: Option<TempDir>,
}

/// Whose server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `motemix broker`, with its store; it verifies, or leaves that to applications.
    Motemix { verify: bool },
    /// `coap-server-notls`: keeps what is put in memory.
    Libcoap,
    /// A server of aiocoap, which does the same.
    Aiocoap,
}

impl Server {
    /// Starts it, and prepares a place for each device.
    pub fn start(
        machine: &Machine,
        kind: Kind,
        program: &Path,
        project: &Path,
        devices: &mut [Device],
    ) -> Result<Self> {
        let address = free_address()?;
        let port = address.port().to_string();
        let count = devices.len().to_string();
        match kind {
            Kind::Motemix { verify } => {
                // Beside the programs, which is a disk; the system's folder may be in memory.
                let parent = program.parent().context("the program is in no folder")?;
                let folder = tempfile::tempdir_in(parent).context("making a folder for the store")?;
                let config = folder.path().join("broker.toml");
                std::fs::write(&config, policy(verify))?;
                let address_text = address.to_string();
                let data = folder.path().join("data");
                let words = ["broker", "--listen", &address_text, "--data"].map(OsStr::new);
                let more = [data.as_os_str(), OsStr::new("--config"), config.as_os_str()];
                let words: Vec<_> = words.into_iter().chain(more).collect();
                let process = UnderLoad::start(machine, program.as_os_str(), &words)?;
                let mut server = Self::new(process, address, Some(folder));
                server.content_format = Some(format::COSE_SIGN1);
                server.wait_for(&[".well-known", "core"])?;
                for device in devices {
                    server.prepare(device)?;
                }
                Ok(server)
            }
            Kind::Libcoap => {
                let words = ["-A", "127.0.0.1", "-p", &port, "-N", "-d", &count].map(OsStr::new);
                let process = UnderLoad::start(machine, OsStr::new(LIBCOAP), &words)?;
                let mut server = Self::new(process, address, None);
                server.wait_for(&[])?;
                server.put_first(devices)?;
                Ok(server)
            }
            Kind::Aiocoap => {
                let script = project.join("scripts/neighbour/updates_server.py");
                let words = [script.as_os_str(), OsStr::new(&port), OsStr::new(&count)];
                let process = UnderLoad::start(machine, python(project).as_os_str(), &words)?;
                let mut server = Self::new(process, address, None);
                server.wait_for(&[".well-known", "core"])?;
                server.put_first(devices)?;
                Ok(server)
            }
        }
    }

    fn new(process: UnderLoad, address: SocketAddr, folder: Option<TempDir>) -> Self {
        Self { process, address, paths: Vec::new(), content_format: None, _folder: folder }
    }

    fn wait_for(&mut self, path: &[&str]) -> Result<()> {
        let begin = std::time::Instant::now();
        loop {
            self.process.check()?;
            if ask(self.address, Request::new(Method::Get, path), Duration::from_millis(200))?.is_some() {
                return Ok(());
            }
            ensure!(begin.elapsed() < PATIENCE, "the server under load does not answer");
        }
    }

    /// Registers a device with its key, and makes its topic.
    fn prepare(&mut self, device: &mut Device) -> Result<()> {
        let mut request = Request::new(Method::Post, &["rd"]);
        request.query = vec![format!("ep={:.16}", device.identity()), "base=coap://127.0.0.1".to_owned()];
        request.content_format = Some(format::LINK_FORMAT);
        request.payload = format!("</t>;rt=temperature;key=\"{}\"", device.credential()).into_bytes();
        prove(device, &mut request)?;
        self.ask(request, Code::CREATED)?;

        let mut topic = Encoder::new(Vec::new());
        let name = format!("building/{:.16}", device.identity());
        topic.map(3)?.i64(0)?.str(&name)?.i64(2)?.str("core.ps.data")?;
        topic.i64(DEVICE)?.bytes(device.identity().as_bytes())?;
        let mut request = Request::new(Method::Post, &["ps"]);
        request.content_format = Some(format::CORE_PUBSUB_CBOR);
        request.payload = topic.into_writer();
        request.query = vec![format!("device={}", device.identity())];
        prove(device, &mut request)?;
        let response = self.ask(request, Code::CREATED)?;
        let id = response.location_path.last().context("a topic without a path")?;
        self.paths.push(vec!["ps".to_owned(), "data".to_owned(), id.clone()]);
        self.update(self.paths.len() - 1, device)
    }

    /// Peers make a resource of what is put first.
    fn put_first(&mut self, devices: &mut [Device]) -> Result<()> {
        for (index, device) in devices.iter_mut().enumerate() {
            self.paths.push(vec![format!("d{index}")]);
            self.update(index, device)?;
        }
        Ok(())
    }

    /// Publishes a device's next reading.
    pub fn update(&self, index: usize, device: &mut Device) -> Result<()> {
        let path: Vec<_> = self.paths[index].iter().map(String::as_str).collect();
        let mut request = Request::new(Method::Put, &path);
        (request.content_format, request.payload) = (self.content_format, device.reading()?);
        let response = self.answer(request)?;
        ensure!(response.code.is_success(), "an update was refused: {response:?}");
        Ok(())
    }

    fn ask(&self, request: Request, expected: Code) -> Result<Response> {
        let response = self.answer(request)?;
        if response.code != expected {
            bail!("the broker answers {:?}: {}", response.code, String::from_utf8_lossy(&response.payload));
        }
        Ok(response)
    }

    fn answer(&self, request: Request) -> Result<Response> {
        ask(self.address, request, PATIENCE)?.context("the server under load does not answer any more")
    }
}

/// Has the device sign a request, as `motemix broker register` does.
fn prove(device: &mut Device, request: &mut Request) -> Result<()> {
    let digest = RequestDigest::of(request.method.byte(), &request.path, &request.query, &request.payload);
    let digest = digest.ok().context("a request has no digest")?;
    let mut proof = [0; 160];
    let (identity, number) = (device.identity(), device.next_number());
    let audience = Audience::new(NETWORK).ok().context("the network's name is too long")?;
    let len = sign_request(device.key(), &identity, number, &digest, audience, &mut proof)
        .ok()
        .context("a request cannot be signed")?;
    request.query.push(format!("proof={}", base64url::encode(&proof[..len])));
    Ok(())
}

/// What Debian calls libcoap's server.
const LIBCOAP: &str = "coap-server-notls";

/// Whether libcoap's server is installed.
pub fn has_libcoap() -> bool {
    Command::new(LIBCOAP).arg("-?").output().is_ok()
}

/// Where aiocoap is, if it is installed.
pub fn python(project: &Path) -> PathBuf {
    project.join(".venv-neighbour/bin/python")
}

/// All devices are on one machine here, and ask as fast as they can.
fn policy(verify: bool) -> String {
    format!(
        "network = \"{NETWORK}\"\nverify = {verify}\n\
         [rates]\nrequests = 1000000\nburst = 1000000\n\
         [limits]\nobservers_of_a_peer = 20000\nobservers_of_a_topic = 20000\n\
         [directory]\nregistrations_of_a_network = 10000\n\
         [[access]]\ntopics = \"#\"\ncreate = [\"anyone\"]\npublish = [\"anyone\"]\n"
    )
}

/// A port that nobody has at the moment.
fn free_address() -> Result<SocketAddr> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Asks over a socket of its own; none if there is no answer in time.
fn ask(address: SocketAddr, request: Request, patience: Duration) -> Result<Option<Response>> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(patience))?;
    let seed = socket.local_addr()?.port().to_be_bytes().repeat(16);
    let mut client = Endpoint::new(Settings::default(), seed.try_into().unwrap_or([0; 32]));
    let now = Instant::from_micros(1);
    client.request(now, address, request)?;
    let mut buffer = [0; 2048];
    loop {
        while let Some(transmit) = client.poll_transmit() {
            socket.send_to(&transmit.bytes, transmit.to)?;
        }
        if let Some(Event::Response { response, .. }) = client.poll_event() {
            return Ok(Some(response));
        }
        let Ok((len, from)) = socket.recv_from(&mut buffer) else { return Ok(None) };
        let _ = client.handle_datagram(now, from, &buffer[..len]);
    }
}
