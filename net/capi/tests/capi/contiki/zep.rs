//! The radio of a PC against a dispatcher that the test plays, and on the laboratory's air.

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::{PORT, link, port, sources};
use crate::SANITIZERS;
use crate::ports::Link;
use crate::shell::Shell;
use crate::signed::to_hex;
use crate::systems::laboratory;

const HEADER_LEN: usize = 32;
const CHANNEL: u8 = 26;

/// A datagram that arrives. Another test's child may end meanwhile, which interrupts.
fn hear(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            heard => return heard,
        }
    }
}

fn radio() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| radio_with("radio", &[]))
}

fn radio_with(name: &str, flags: &[&str]) -> PathBuf {
    let drivers = ["motemix/motemix-zep.c", "motemix/motemix-flash.c"].map(|source| port().join(source));
    let sources = [sources().join("radio.c")].into_iter().chain(drivers).collect::<Vec<_>>();
    link(name, &sources, &[&SANITIZERS, flags].concat())
}

/// The dispatcher's end, and a program with a radio.
struct Air {
    socket: UdpSocket,
    program: SocketAddr,
    shell: Shell,
    /// What the program said first.
    hello: Vec<u8>,
    _link: Link,
}

impl Air {
    fn new(address: &str) -> Self {
        Self::with(radio(), address)
    }

    fn with(program: &Path, address: &str) -> Self {
        let socket = UdpSocket::bind(address).expect("a port");
        socket.set_read_timeout(Some(Duration::from_mins(3))).expect("a timeout");
        let zep = socket.local_addr().expect("bound").to_string();
        let link = Link::of(&PORT, 1);
        let flash = link.flash(0);
        let variables = [("MOTEMIX_ZEP", zep.as_ref()), ("MOTEMIX_FLASH", flash.as_os_str())];
        let mut shell = Shell::start(program, &link.sockets[0], &variables);
        let mut buffer = [0; 2048];
        let (len, program) = hear(&socket, &mut buffer).expect("a hello");
        shell.until("on");
        Self { socket, program, shell, hello: buffer[..len].to_vec(), _link: link }
    }

    /// The next datagram that is no hello: those come again and again.
    fn hear(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        loop {
            let (len, from) = hear(&self.socket, &mut buffer).expect("a datagram");
            assert_eq!(from, self.program);
            if buffer[3] != 255 {
                return buffer[..len].to_vec();
            }
        }
    }

    fn say(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.program).expect("it leaves");
        // Not more at once than the socket holds.
        thread::sleep(Duration::from_micros(500));
    }
}

/// A data frame of IEEE 802.15.4 that asks for an acknowledgement, without its check sequence.
fn frame(sequence: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![0x61, 0xdc, sequence];
    frame.resize(len, sequence);
    frame
}

/// A frame in a datagram, as a dispatcher hands it on.
pub(crate) fn datagram(frame: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; HEADER_LEN];
    datagram[..5].copy_from_slice(&[b'E', b'X', 2, 1, CHANNEL]);
    datagram[31] = u8::try_from(frame.len() + 2).expect("a frame's length");
    datagram.extend_from_slice(frame);
    datagram.extend_from_slice(&[0xaa, 0xbb]);
    datagram
}

fn acknowledgement(sequence: u8) -> Vec<u8> {
    datagram(&[2, 0, sequence])
}

#[test]
fn a_radio_says_hello_and_sends_each_frame_in_a_datagram() {
    for address in ["[::1]:0", "127.0.0.1:0"] {
        let mut air = Air::new(address);
        assert_eq!(air.hello[..5], [b'E', b'X', 2, 255, CHANNEL]);
        assert_eq!((air.hello.len(), air.hello[31]), (HEADER_LEN + 8, 8));
        // Locally made, and of one mote.
        assert_eq!(air.hello[HEADER_LEN] & 3, 2);
        let mut numbers = vec![air.hello[17..21].to_vec()];
        // The shell's line ends there.
        for len in [3, 4, 50, 59] {
            let frame = frame(7, len);
            air.shell.type_line(&format!("transmit {}", to_hex(&frame)));
            let heard = air.hear();
            assert_eq!(heard[..5], [b'E', b'X', 2, 1, CHANNEL], "{len}");
            assert_eq!(heard.len(), HEADER_LEN + len + 2, "with room for the check sequence");
            assert_eq!(usize::from(heard[31]), len + 2);
            assert_eq!(heard[HEADER_LEN..][..len], frame);
            numbers.push(heard[17..21].to_vec());
            air.say(&acknowledgement(7));
            air.shell.until("acknowledged");
        }
        assert!(numbers.is_sorted() && numbers.iter().collect::<HashSet<_>>().len() == 5, "{numbers:?}");
        air.shell.ask("transmit", "error");
    }
}

#[test]
fn a_dispatcher_that_starts_late_hears_of_the_radio() {
    let air = Air::new("[::1]:0");
    let mut buffer = [0; 2048];
    for _ in 0..2 {
        let (len, _) = hear(&air.socket, &mut buffer).expect("another hello");
        assert_eq!((&buffer[..5], &buffer[HEADER_LEN..len]), (&air.hello[..5], &air.hello[HEADER_LEN..]));
    }
}

#[test]
fn datagrams_that_are_no_frames_are_dropped() {
    let mut air = Air::new("[::1]:0");
    let sound = datagram(&frame(1, 40));
    // Any byte of what says what it is.
    for (at, value) in [(0, b'x'), (1, b'x'), (2, 1), (3, 2), (3, 255), (4, 25), (31, 41), (31, 43), (31, 0)]
    {
        let mut wrong = sound.clone();
        wrong[at] = value;
        air.say(&wrong);
    }
    for len in 0..sound.len() {
        air.say(&sound[..len]);
    }
    for len in (0..300).chain([1500, 60_000]) {
        // With the length that its own byte can say.
        let mut long = vec![len as u8; HEADER_LEN + len];
        long[..5].copy_from_slice(&sound[..5]);
        long[31] = len as u8;
        if !(2..=127).contains(&len) {
            air.say(&long);
        }
    }
    // All of these came before, and the shortest and the longest frames are frames.
    for len in [3, 125] {
        air.say(&datagram(&frame(9, len)));
        let said = air.shell.until("input ");
        assert_eq!(said, format!("input {}", to_hex(&frame(9, len))));
        assert_eq!(air.hear()[HEADER_LEN..][..3], [2, 0, 9]);
    }
    air.shell.type_line(&format!("transmit {}", to_hex(&frame(3, 20))));
    air.hear();
    air.say(&acknowledgement(3));
    air.shell.until("acknowledged");
}

#[test]
fn every_frame_that_is_acknowledged_is_taken_in() {
    let mut air = Air::new("[::1]:0");
    // While the program waits for an acknowledgement, more frames come than it has places for.
    air.shell.type_line(&format!("transmit {}", to_hex(&frame(200, 20))));
    air.hear();
    for sequence in 0..40 {
        air.say(&datagram(&frame(sequence, 30)));
    }
    air.shell.until("not acknowledged");
    let acknowledged: Vec<_> = (0..40).map(|_| air.hear()[HEADER_LEN + 2]).collect();
    assert_eq!(acknowledged, (0..40).collect::<Vec<_>>());
    for sequence in 0..40 {
        assert_eq!(air.shell.until("input "), format!("input {}", to_hex(&frame(sequence, 30))));
    }
    // A frame that was noticed while somebody looked for an acknowledgement, and nothing after it.
    air.say(&datagram(&frame(77, 30)));
    thread::sleep(Duration::from_millis(50));
    air.shell.until("input 61dc4d");
    air.hear();
}

#[test]
fn an_acknowledgement_is_of_the_frame_that_was_sent_and_stops_nothing_when_it_is_late() {
    let mut air = Air::new("[::1]:0");
    let line = |sequence| format!("transmit {}", to_hex(&frame(sequence, 20)));
    air.shell.type_line(&line(1));
    air.hear();
    air.say(&acknowledgement(2));
    air.shell.until("not acknowledged");
    // Late: once before, and once while the same frame is sent again.
    air.say(&acknowledgement(1));
    thread::sleep(Duration::from_millis(50));
    air.shell.ask("fill", "pending 0");
    air.shell.type_line(&line(1));
    air.hear();
    air.say(&acknowledgement(1));
    air.shell.until("acknowledged");
    // A frame of another comes between: it waits behind the acknowledgement.
    air.shell.type_line(&line(3));
    air.hear();
    air.say(&datagram(&frame(50, 30)));
    air.say(&acknowledgement(3));
    air.shell.until("acknowledged");
    air.shell.until("input 61dc32");
    assert_eq!(air.hear()[HEADER_LEN..][..3], [2, 0, 50]);
    air.shell.ask("fill", "pending 0");
}

#[test]
fn a_flood_keeps_nobody_in_front_of_the_socket() {
    let storm = sources().join("storm.c");
    let flags = [storm.to_str().expect("a path"), "-Wl,--wrap=recv"];
    let mut air = Air::with(&radio_with("storm", &flags), "[::1]:0");
    // From now on, there is always one more datagram: of no frames at first, then of frames.
    for storm in [b"junk", b"data"] {
        air.say(storm);
        for _ in 0..3 {
            air.shell.ask("fill", "pending ");
        }
    }
    air.shell.until("input 41dc");
}

#[test]
fn two_radios_hear_each_other_on_the_laboratorys_air() {
    let (zep, _stop) = laboratory();
    let (zep, link) = (zep.to_string(), Link::of(&PORT, 2));
    let [mut sender, mut receiver] = [0, 1].map(|mote| {
        let flash = link.flash(mote);
        let variables = [("MOTEMIX_ZEP", zep.as_ref()), ("MOTEMIX_FLASH", flash.as_os_str())];
        let mut shell = Shell::start(radio(), &link.sockets[mote], &variables);
        shell.until("on");
        shell
    });
    for sequence in 0..20 {
        // Frame control, sequence number, PAN, and extended addresses: data that asks for an
        // acknowledgement.
        let mut frame = vec![0x61, 0xdc, sequence, 0x23, 0x00];
        frame.extend([[2; 8], [4; 8]].concat());
        frame.extend([sequence; 30]);
        sender.ask(&format!("transmit {}", to_hex(&frame)), "acknowledged");
        assert_eq!(receiver.until("input "), format!("input {}", to_hex(&frame)));
    }
}
