//! The laboratory's air under motes of an operating system: what they say on it, as Wireshark reads
//! it, and a stranger who says something in the name of one of them.

use std::fs;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use motemix_air::channel::Settings;
use motemix_air::server::{Server, Setup};

use crate::ports::Mote;
use crate::shell::Shell;
use crate::signed::from_hex;
use crate::{contiki, riot, succeed};

/// The UDP port of motes, as far as 6LoWPAN writes it in four bits.
const PORT: u16 = 61616;

/// The laboratory's air, and a folder with a mote's own in it for each.
pub(crate) struct Air {
    pub(crate) place: tempfile::TempDir,
    pub(crate) zep: SocketAddr,
    _stop: UnixStream,
}

impl Air {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (zep, stop) = open(Some(capture(&place)));
        Self { place, zep, _stop: stop }
    }

    /// A program in the folder in which its flash is.
    fn command(&self, program: &Path, number: usize) -> Command {
        let folder = self.place.path().join(format!("mote-{number}"));
        fs::create_dir_all(&folder).expect("a folder");
        let mut command = Command::new(program);
        command.current_dir(folder);
        command
    }

    /// Switches a mote of RIOT on. What it kept in its flash is there.
    pub(crate) fn mote_of_riot(&self, program: &Path, number: usize) -> Mote {
        let mut command = self.command(program, number);
        command.arg("-z").arg(self.zep.to_string()).arg(format!("--eui64=02:00:00:00:00:00:00:{number:02x}"));
        Mote { port: &riot::PORT, shell: Shell::of(&mut command) }
    }

    /// The same of Contiki-NG.
    pub(crate) fn mote_of_contiki(&self, program: &Path, number: usize) -> Mote {
        let mut command = self.command(program, number);
        Mote { port: &contiki::PORT, shell: Shell::of(command.env("MOTEMIX_ZEP", self.zep.to_string())) }
    }

    /// What datagrams on the motes' port carried so far, put together by Wireshark.
    pub(crate) fn datagrams(&self) -> Vec<Vec<u8>> {
        let mut tshark = Command::new("tshark");
        // What is carried looks like random bytes, in which other protocols are found now and then.
        tshark.args(["-n", "-d", &format!("udp.port=={PORT},data"), "-r"]).arg(capture(&self.place));
        // The capture may end within a frame. A frame that collided is one that nobody heard.
        tshark.args(["-Y", &format!("wpan.fcs_ok == 1 && udp.port == {PORT}")]);
        tshark.args(["-T", "fields", "-e", "udp.payload"]);
        let said = succeed(&mut tshark).stdout;
        String::from_utf8(said).expect("hex digits").lines().map(from_hex).collect()
    }
}

fn capture(place: &tempfile::TempDir) -> PathBuf {
    place.path().join("air.pcap")
}

/// The laboratory's air, on a thread that ends with the sender.
pub(crate) fn laboratory() -> (SocketAddr, UnixStream) {
    open(None)
}

fn open(capture: Option<PathBuf>) -> (SocketAddr, UnixStream) {
    let setup = Setup {
        // Without stations it is not made.
        dir: PathBuf::new(),
        stations: Vec::new(),
        channel: Settings::default(),
        seed: 1,
        capture,
        zep: Some("[::1]:0".parse().expect("an address")),
    };
    let mut server = Server::open(&setup).expect("it opens");
    let address = server.zep().expect("it takes ZEP");
    let (stop, stopped) = UnixStream::pair().expect("a pair");
    thread::spawn(move || server.run(&stopped).expect("it runs"));
    (address, stop)
}

/// A station whose frames bear the address of another one.
pub(crate) struct Stranger {
    socket: UdpSocket,
    sequence: u8,
}

impl Stranger {
    pub(crate) fn on(air: &Air) -> Self {
        let socket = UdpSocket::bind("[::1]:0").expect("a port");
        socket.connect(air.zep).expect("the air");
        Self { socket, sequence: 0 }
    }

    /// Says `carried` in the name of `from`, in one frame that asks for no acknowledgement.
    pub(crate) fn say(&mut self, from: Ipv6Addr, to: Ipv6Addr, carried: &[u8]) {
        self.sequence = self.sequence.wrapping_add(1);
        // Data within a PAN, between extended addresses, which are the interfaces of these (RFC 4944, 6).
        let mut bytes = vec![0x41, 0xdc, self.sequence, 0x23, 0x00];
        for address in [to, from] {
            let mut extended: [u8; 8] = address.octets()[8..].try_into().expect("half of it");
            extended[0] ^= 2;
            bytes.extend(extended.iter().rev());
        }
        // IPHC with both addresses elided, UDP with both ports in four bits (RFC 6282, 3.1 and 4.3).
        bytes.extend([0x7e, 0x33, 0xf3, 0x00]);
        bytes.extend(checksum(from, to, carried).to_be_bytes());
        bytes.extend(carried);
        self.socket.send(&contiki::zep::datagram(&bytes)).expect("it leaves");
    }
}

/// Of a UDP datagram between motes (RFC 768; RFC 8200, 8.1).
fn checksum(from: Ipv6Addr, to: Ipv6Addr, carried: &[u8]) -> u16 {
    let len = u8::try_from(carried.len() + 8).expect("what fits into a frame");
    let [high, low] = PORT.to_be_bytes();
    let header = [0, len, 0, 17, high, low, high, low, 0, len];
    let mut sum = 0;
    for pair in [&from.octets()[..], &to.octets(), &header, carried].concat().chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // Zero would say that there is none.
    if sum == 0xffff { 0xffff } else { !(sum as u16) }
}
