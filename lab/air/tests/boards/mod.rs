//! The air in a folder of its own, and boards made of a socket.
#![allow(dead_code, reason = "each test file uses a part")]

use motemix_air::channel::Settings;
use motemix_air::server::{Report, Server, Setup};
use motemix_link::serial::{Decoder, ExtendedAddress, Item, Message, Outcome};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// For what has to happen in the end; a story that waits this long has failed.
const PATIENCE: Duration = Duration::from_mins(3);
const PAN: [u8; 2] = [0x23, 0x00];

/// A server on a thread of its own, stopped whatever the story does.
pub struct Air {
    pub dir: TempDir,
    /// Where it takes ZEP, if it does.
    pub zep: Option<SocketAddr>,
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<Report>>,
}

impl Air {
    pub fn open<const N: usize>(stations: [&str; N]) -> Self {
        Self::open_with(stations, |_| {})
    }

    pub fn open_with<const N: usize>(stations: [&str; N], change: impl FnOnce(&mut Setup)) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut setup = setup(dir.path().to_owned(), stations);
        change(&mut setup);
        let mut server = Server::open(&setup).expect("it opens");
        let zep = server.zep();
        let (stop, stopped) = UnixStream::pair().expect("a pair");
        let thread = std::thread::spawn(move || {
            server.run(&stopped).expect("it runs");
            server.report()
        });
        Self { dir, zep, stop: Some(stop), thread: Some(thread) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn connect(&self, name: &str) -> UnixStream {
        let stream = UnixStream::connect(self.path(name)).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        stream
    }

    pub fn stop(mut self) -> Report {
        self.end().expect("it was not stopped before")
    }

    fn end(&mut self) -> Option<Report> {
        drop(self.stop.take());
        self.thread.take().map(|thread| thread.join().expect("it did not panic"))
    }
}

impl Drop for Air {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

pub fn setup<const N: usize>(dir: PathBuf, stations: [&str; N]) -> Setup {
    Setup {
        dir,
        stations: stations.map(String::from).to_vec(),
        channel: Settings::default(),
        seed: 1,
        capture: None,
        zep: None,
    }
}

/// A board's end of its line.
pub struct Board {
    pub stream: UnixStream,
    decoder: Decoder,
    /// What it was sent as text.
    pub text: Vec<u8>,
    /// Bytes that were read and not looked at.
    rest: Vec<u8>,
}

/// What a radio says.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Received(Vec<u8>),
    Done(u8, Outcome),
}

impl Board {
    pub fn connect(air: &Air, name: &str) -> Self {
        let stream = air.connect(&format!("{name}.air"));
        Self { stream, decoder: Decoder::new(), text: Vec::new(), rest: Vec::new() }
    }

    /// A board whose join the air has read.
    pub fn join(air: &Air, name: &str, number: u8) -> Self {
        let mut board = Self::connect(air, name);
        board.say(&Message::Join(address(number)));
        // No frame: its refusal comes after the join was read.
        board.transmit(255, &[]);
        assert_eq!(board.done(), (255, Outcome::Refused));
        board
    }

    pub fn say(&mut self, message: &Message<'_>) {
        self.stream.write_all(&on_line(message)).expect("the air reads");
    }

    pub fn transmit(&mut self, handle: u8, frame: &[u8]) {
        self.say(&Message::Transmit { handle, frame });
    }

    /// What was typed before the next thing that the radio says.
    pub fn next_with_text(&mut self) -> Vec<u8> {
        self.next();
        std::mem::take(&mut self.text)
    }

    /// The next thing that the radio says.
    pub fn next(&mut self) -> Said {
        loop {
            while !self.rest.is_empty() {
                let byte = self.rest.remove(0);
                match self.decoder.push(byte) {
                    Some(Item::Message(Message::Received { frame, .. })) => {
                        return Said::Received(frame.to_vec());
                    }
                    Some(Item::Message(Message::Done { handle, outcome })) => {
                        return Said::Done(handle, outcome);
                    }
                    Some(Item::Message(other)) => panic!("no radio says {other:?}"),
                    Some(Item::Text(character)) => self.text.push(character),
                    None => {}
                }
            }
            let mut buffer = [0; 4096];
            let len = self.stream.read(&mut buffer).expect("the air says something");
            assert!(len > 0, "the air hung up");
            self.rest.extend(&buffer[..len]);
        }
    }

    pub fn received(&mut self) -> Vec<u8> {
        match self.next() {
            Said::Received(frame) => frame,
            other @ Said::Done(..) => panic!("{other:?} came instead of a frame"),
        }
    }

    pub fn done(&mut self) -> (u8, Outcome) {
        match self.next() {
            Said::Done(handle, outcome) => (handle, outcome),
            other @ Said::Received(_) => panic!("{other:?} came instead of an outcome"),
        }
    }
}

pub fn on_line(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(|byte| bytes.push(byte));
    bytes
}

pub fn address(number: u8) -> ExtendedAddress {
    ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2])
}

/// A data frame that asks for an acknowledgement, between extended addresses of one PAN.
pub fn data(from: u8, to: u8, sequence: u8, payload: &[u8]) -> Vec<u8> {
    [&[0x61, 0xdc, sequence], &PAN[..], &address(to).0, &address(from).0, payload].concat()
}

/// A data frame to all.
pub fn broadcast(from: u8, sequence: u8, payload: &[u8]) -> Vec<u8> {
    [&[0x41, 0xd8, sequence], &PAN[..], &[0xff, 0xff], &address(from).0, payload].concat()
}
