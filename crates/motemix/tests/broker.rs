//! `motemix broker`, as somebody installs it: the program, its folder, its sockets.

mod program;

use motemix_coap::{Code, Endpoint, Event, Method, Request, Response, Settings, format};
use motemix_time::Instant;
use program::motemix;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A broker that runs. Dropping it kills it, as a power cut would.
struct Broker {
    child: Child,
    address: SocketAddr,
    _said: BufReader<ChildStderr>,
}

impl Broker {
    fn start(data: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_motemix"))
            .args(["broker", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it listens");
        let address = line.strip_prefix("motemix: coap://").and_then(|rest| rest.split(',').next());
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        Self { child, address, _said: said }
    }

    /// Asks it over a socket of its own.
    fn answer(&self, request: Request) -> Response {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let mut client = Endpoint::new(Settings::default(), [9; 32]);
        let now = Instant::from_micros(1);
        client.request(now, self.address, request).expect("there is room");
        let mut buffer = [0; 2048];
        loop {
            while let Some(transmit) = client.poll_transmit() {
                socket.send_to(&transmit.bytes, transmit.to).expect("loopback");
            }
            if let Some(Event::Response { response, .. }) = client.poll_event() {
                return response;
            }
            let (len, from) = socket.recv_from(&mut buffer).expect("it answers");
            let _ = client.handle_datagram(now, from, &buffer[..len]);
        }
    }

    fn endpoints(&self) -> String {
        let response = self.answer(Request::new(Method::Get, &["rd-lookup", "ep"]));
        String::from_utf8(response.payload.to_vec()).expect("link format is text")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn registration() -> Request {
    let mut request = Request::new(Method::Post, &["rd"]);
    request.query = vec!["ep=shed".to_owned(), "base=coap://[::1]:7000".to_owned()];
    request.content_format = Some(format::LINK_FORMAT);
    request.payload = b"</t>;rt=temperature".to_vec();
    request
}

#[test]
fn what_it_acknowledged_is_there_after_it_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let broker = Broker::start(&data, &[]);
    assert_eq!(broker.endpoints(), "");
    assert_eq!(broker.answer(registration()).code, Code::CREATED);
    drop(broker);

    let again = Broker::start(&data, &[]);
    assert!(again.endpoints().contains("ep=shed"), "{}", again.endpoints());
}

#[test]
fn a_second_broker_on_one_folder_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let broker = Broker::start(folder.path(), &[]);
    let data = folder.path().to_str().expect("UTF-8");
    let again = motemix(["broker", "--listen", "127.0.0.1:0", "--data", data]);
    again.fails(1, &["local.sock", "running"]);
    assert_eq!(broker.answer(registration()).code, Code::CREATED);
}

#[test]
fn mistakes_are_named_with_their_line_and_nothing_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("broker.toml");
    let data = folder.path().join("data");
    for (text, expected) in [
        ("[limits]\ntopics = \"many\"\n", "broker.toml:2: limits.topics"),
        ("verify = true\nverfy = true\n", "broker.toml:2: verfy: unknown field"),
        ("[mqtt]\nprefix = \"a/+\"\n", "broker.toml:2: mqtt.prefix"),
    ] {
        fs::write(&config, text).expect("a file");
        let words = ["broker", "--listen", "127.0.0.1:0", "--data"].map(Path::new);
        let words = words.into_iter().chain([&*data, Path::new("--config"), &*config]);
        motemix(words.map(Path::as_os_str)).fails(2, &[expected]);
        assert!(!data.exists());
    }
    let two = ["broker", "--listen", "127.0.0.1:0", "--listen", "127.0.0.2:0", "--data"];
    let words = two.map(Path::new).into_iter().chain([&*data]);
    motemix(words.map(Path::as_os_str)).fails(2, &["one family"]);
}
