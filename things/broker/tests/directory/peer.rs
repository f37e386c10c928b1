//! A directory of another make takes what our devices send: `aiocoap-rd` of aiocoap 0.4.17.
//!
//! `scripts/setup neighbour_peer` installs it. It is very permissive, as it says itself; its parser
//! of link format is what is asked here.

use std::io::Read;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use coap_lite::{CoapOption, MessageType, Packet};
use motemix_coap::link_format::{emit, parse};
use motemix_coap::{Code, Request};
use motemix_object::Algorithm;

use crate::desk::{Device, request};

/// The directory as a process of its own, which ends with the test.
struct Neighbour {
    process: Child,
    socket: UdpSocket,
    number: u16,
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Neighbour {
    fn start() -> Self {
        // The system chooses a port. Somebody could take it before the directory does: then another.
        (0..5).find_map(|_| Self::start_once()).expect("aiocoap-rd answers")
    }

    fn start_once() -> Option<Self> {
        let python = format!("{}/../../.venv-neighbour/bin/python", env!("CARGO_MANIFEST_DIR"));
        let port = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let process = Command::new(python)
            .args(["-m", "aiocoap.cli.rd", "--bind", &format!("[::1]:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("scripts/setup neighbour_peer installs aiocoap");
        let socket = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
        socket.connect(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).unwrap();
        let mut neighbour = Self { process, socket, number: 0 };
        let discovery = request("GET /.well-known/core", "");
        for _ in 0..100 {
            if neighbour.ask_once(&discovery, Duration::from_secs(2)).is_some() {
                return Some(neighbour);
            }
            if neighbour.process.try_wait().unwrap().is_some() {
                let mut said = String::new();
                neighbour.process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                eprintln!("{said}");
                return None;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        None
    }

    fn ask(&mut self, request: &Request) -> Packet {
        self.ask_once(request, Duration::from_mins(3)).expect("an answer")
    }

    /// One message, and its answer if it comes in time. Nothing is lost on loopback.
    fn ask_once(&mut self, request: &Request, patience: Duration) -> Option<Packet> {
        self.number += 1;
        let mut packet = Packet::new();
        packet.header.set_type(MessageType::Confirmable);
        packet.header.code = request.method.byte().into();
        packet.header.message_id = self.number;
        packet.set_token(self.number.to_be_bytes().to_vec());
        for segment in &request.path {
            packet.add_option(CoapOption::UriPath, segment.as_bytes().to_vec());
        }
        for parameter in &request.query {
            packet.add_option(CoapOption::UriQuery, parameter.as_bytes().to_vec());
        }
        if let Some(format) = request.content_format {
            packet.add_option(CoapOption::ContentFormat, vec![u8::try_from(format).unwrap()]);
        }
        packet.payload.clone_from(&request.payload);
        self.socket.set_read_timeout(Some(patience)).unwrap();
        self.socket.send(&packet.to_bytes().unwrap()).ok()?;
        let mut bytes = [0; 2048];
        loop {
            let len = self.socket.recv(&mut bytes).ok()?;
            let answer = Packet::from_bytes(&bytes[..len]).unwrap();
            // What was asked before may have been answered late.
            if answer.get_token() == packet.get_token() {
                return Some(answer);
            }
        }
    }
}

fn code(answer: &Packet) -> Code {
    Code::of_byte(answer.header.code.into()).unwrap()
}

fn look_up(neighbour: &mut Neighbour, line: &str) -> Vec<motemix_coap::link_format::Link> {
    let answer = neighbour.ask(&request(line, ""));
    assert_eq!(code(&answer), Code::CONTENT);
    parse(std::str::from_utf8(&answer.payload).unwrap(), 100).unwrap()
}

#[test]
fn aiocoaps_directory_takes_our_device_with_its_key() {
    let mut neighbour = Neighbour::start();
    let discovered = look_up(&mut neighbour, "GET /.well-known/core?rt=core.rd*");
    let path = |kind: &str| {
        let link = discovered.iter().find(|link| link.value("rt").is_some_and(|rt| rt == kind));
        link.unwrap_or_else(|| panic!("{discovered:?}")).target.to_string()
    };
    let (rd, res, ep) = (path("core.rd"), path("core.rd-lookup-res"), path("core.rd-lookup-ep"));

    let mut device = Device::new(1, Algorithm::Ed25519);
    // Emitted by us, with what needs quotes and escapes.
    let mut links = parse(&device.links(), 1).unwrap();
    links.push(
        motemix_coap::link_format::Link::new("/door").with("title", "north, \"main\"; oak").with_flag("obs"),
    );
    let line = format!("POST {rd}?ep=attic&et=mote&lt=600&base=coap://[2001:db8::17]");
    let registration = device.signed(request(&line, &emit(&links)));
    let answer = neighbour.ask(&registration);
    assert_eq!(code(&answer), Code::CREATED, "{:?}", std::str::from_utf8(&answer.payload));
    let segments = answer.get_option(CoapOption::LocationPath).unwrap();
    let segments: Vec<_> = segments.iter().map(|segment| std::str::from_utf8(segment).unwrap()).collect();
    let place = format!("/{}", segments.join("/"));

    // What applications find there is what the device said, key and all.
    let found = look_up(&mut neighbour, &format!("GET {res}?ep=attic"));
    let key = links[0].value("key").unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((&*found[0].target, found[0].value("key")), ("coap://[2001:db8::17]/temp", Some(key)));
    assert_eq!(found[1].value("title"), links[1].value("title"));
    assert!(found[1].has("obs"));
    let endpoints = look_up(&mut neighbour, &format!("GET {ep}?et=mote"));
    assert_eq!((endpoints.len(), endpoints[0].value("base")), (1, Some("coap://[2001:db8::17]")));

    let update = device.signed(request(&format!("POST {place}?lt=60"), ""));
    assert_eq!(code(&neighbour.ask(&update)), Code::CHANGED);
    let removal = device.signed(request(&format!("DELETE {place}"), ""));
    assert_eq!(code(&neighbour.ask(&removal)), Code::DELETED);
    assert_eq!(look_up(&mut neighbour, &format!("GET {res}")), []);
}
