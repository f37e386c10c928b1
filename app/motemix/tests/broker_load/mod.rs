//! `motemix broker` as a process that is killed and begins again, and clients that publish to it all
//! the while.
#![allow(dead_code, reason = "each test uses a part")]

use motemix_coap::{Code, Endpoint, Event, Method, Observe, Request, Response, Settings};
use motemix_time::Instant;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Everybody may do everything, as often as they like: it is about what is kept.
const POLICY: &str = "[rates]\nrequests = 1000000\nburst = 1000000\n\
                      [[access]]\ntopics = \"#\"\ncreate = [\"anyone\"]\npublish = [\"anyone\"]\n";

/// A broker that runs. Dropping it kills it, as a power cut would.
pub struct Broker {
    child: Option<Child>,
    folder: PathBuf,
    more: Vec<String>,
    pub address: SocketAddr,
    said: Option<BufReader<ChildStderr>>,
}

impl Broker {
    pub fn start(folder: &Path, more: &[&str]) -> Self {
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join("broker.toml"), POLICY).expect("a file");
        let more = more.iter().map(|&word| word.to_owned()).collect();
        let any = "127.0.0.1:0".parse().expect("an address");
        let mut broker = Self { child: None, folder: folder.to_owned(), more, address: any, said: None };
        broker.begin();
        broker
    }

    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Begins where it was before, on the same port.
    pub fn begin(&mut self) {
        let mut child = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
            .args(["broker", "--listen", &self.address.to_string(), "--data"])
            .arg(self.data())
            .arg("--config")
            .arg(self.folder.join("broker.toml"))
            .args(&self.more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut lines = String::new();
        self.address = loop {
            let before = lines.len();
            let len = said.read_line(&mut lines).expect("it says where it listens");
            assert!(len > 0, "it says {lines:?}");
            // Before that it may say what it waits for.
            let address = lines[before..].strip_prefix("motemix: coap://");
            let address = address.and_then(|rest| rest.split(',').next());
            if let Some(address) = address.and_then(|address| address.parse().ok()) {
                break address;
            }
        };
        // Dropping what it says would break its pipe.
        (self.child, self.said) = (Some(child), Some(said));
    }

    /// Where its page is, if it was started with one.
    pub fn page(&mut self) -> SocketAddr {
        let said = self.said.as_mut().expect("it runs");
        loop {
            let mut line = String::new();
            assert!(said.read_line(&mut line).expect("it says where its page is") > 0, "it has ended");
            let address = line.trim().strip_prefix("motemix: http://");
            if let Some(address) = address.and_then(|rest| rest.strip_suffix('/')?.parse().ok()) {
                return address;
            }
        }
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("SIGKILL");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        if let Some(said) = self.said.as_mut().filter(|_| std::thread::panicking()) {
            let mut rest = String::new();
            let _ = said.read_to_string(&mut rest);
            eprintln!("the broker at {} said:\n{rest}", self.address);
        }
    }
}

/// A client that asks again soon.
pub struct Client {
    socket: UdpSocket,
    endpoint: Endpoint,
    begin: std::time::Instant,
    server: SocketAddr,
}

impl Client {
    pub fn new(server: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
        let seed = socket.local_addr().expect("its address").port().to_be_bytes().repeat(16);
        let mut settings = Settings::default();
        settings.ack_timeout = Duration::from_millis(100);
        settings.max_retransmit = 8;
        let endpoint = Endpoint::new(settings, seed.try_into().expect("32 bytes"));
        Self { socket, endpoint, begin: std::time::Instant::now(), server }
    }

    fn now(&self) -> Instant {
        Instant::from_micros(1) + self.begin.elapsed()
    }

    /// What happens next, if something does soon.
    pub fn hear(&mut self) -> Option<Event> {
        let now = self.now();
        self.endpoint.handle_timeout(now);
        while let Some(transmit) = self.endpoint.poll_transmit() {
            // A broker that was killed is told of by ICMP, which is no error here.
            let _ = self.socket.send_to(&transmit.bytes, transmit.to);
        }
        if let Some(event) = self.endpoint.poll_event() {
            return Some(event);
        }
        let mut buffer = [0; 2048];
        if let Ok((len, from)) = self.socket.recv_from(&mut buffer) {
            let _ = self.endpoint.handle_datagram(self.now(), from, &buffer[..len]);
        }
        self.endpoint.poll_event()
    }

    pub fn observe(&mut self, path: &[&str]) {
        let request = Request { observe: Some(Observe::Register), ..Request::new(Method::Get, path) };
        let now = self.now();
        self.endpoint.request(now, self.server, request).expect("there is room");
    }

    /// Asks until somebody answers.
    pub fn answer(&mut self, request: &Request) -> Response {
        for _ in 0..20 {
            if let Some(response) = self.ask(request, &AtomicBool::new(false)) {
                return response;
            }
        }
        panic!("the broker does not answer");
    }

    /// Asks until `stop`.
    pub fn ask(&mut self, request: &Request, stop: &AtomicBool) -> Option<Response> {
        let now = self.now();
        self.endpoint.request(now, self.server, request.clone()).expect("there is room");
        loop {
            match self.hear() {
                Some(Event::Response { response, .. }) => return Some(response),
                Some(Event::Failed { .. }) => return None,
                _ if stop.load(Ordering::Relaxed) => return None,
                _ => {}
            }
        }
    }
}

/// A topic, and the last segment of its path.
pub fn create(client: &mut Client, name: &str) -> String {
    let mut request = Request::new(Method::Post, &["ps"]);
    request.content_format = Some(motemix_coap::format::CORE_PUBSUB_CBOR);
    // {0: name, 2: "core.ps.data"}
    request.payload = vec![0xa2, 0, 0x60 | u8::try_from(name.len()).expect("a short name")];
    request.payload.extend_from_slice(name.as_bytes());
    request.payload.extend_from_slice(b"\x02\x6ccore.ps.data");
    let response = client.answer(&request);
    assert_eq!(response.code, Code::CREATED, "{}", String::from_utf8_lossy(&response.payload));
    response.location_path.last().expect("a path").clone()
}

pub fn put(topic: &str, number: u64) -> Request {
    let mut request = Request::new(Method::Put, &["ps", "data", topic]);
    request.content_format = Some(motemix_coap::format::TEXT);
    request.payload = number.to_string().into_bytes();
    request
}

/// What was published to a topic last.
pub fn newest(client: &mut Client, topic: &str) -> u64 {
    let response = client.answer(&Request::new(Method::Get, &["ps", "data", topic]));
    String::from_utf8_lossy(&response.payload).parse().expect("a number")
}

/// Publishes one number after the other, each when the last one was acknowledged. Returns the
/// numbers that were acknowledged, and how many were begun.
pub fn publish(server: SocketAddr, topic: &str, stop: &AtomicBool, all: &AtomicU64) -> (Vec<u64>, u64) {
    let mut client = Client::new(server);
    let (mut acknowledged, mut next) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let response = client.ask(&put(topic, next), stop);
        if response.is_some_and(|response| response.code.is_success()) {
            acknowledged.push(next);
            all.fetch_add(1, Ordering::Relaxed);
        }
        next += 1;
    }
    (acknowledged, next)
}
