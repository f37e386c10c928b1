//! A peer of another make: smoltcp, which looks for its neighbours before it sends. Whole networks
//! of either make and mixed ones work, because the bytes are those of the RFCs.

mod world;

use std::collections::VecDeque;
use std::time::Duration;

use motemix_link::counters::LinkDrop;
use motemix_link::radio::{Radio, Transceiver};
use motemix_link::serial::{ExtendedAddress, MAX_FRAME, Outcome};
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{PAN, PORT, Stack, StackMemory, link_local};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, Ieee802154Address, Ieee802154Pan, IpAddress, IpCidr};
use world::{PACKET, address, datagram};

/// Frames that came, and frames to go.
#[derive(Default)]
struct Antenna {
    heard: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
    outcome: Option<Outcome>,
}

impl Transceiver for Antenna {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let frame = self.heard.pop_front()?;
        out[..frame.len()].copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        self.sent.push_back(frame.to_vec());
        self.outcome = Some(Outcome::Sent);
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }
}

struct Arrival(Vec<u8>);

impl RxToken for Arrival {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

struct Departure<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Departure<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut frame = vec![0; len];
        let result = write(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Antenna {
    type RxToken<'a> = Arrival;
    type TxToken<'a> = Departure<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrival, Departure<'_>)> {
        Some((Arrival(self.heard.pop_front()?), Departure(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Departure<'_>> {
        Some(Departure(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ieee802154;
        capabilities.max_transmission_unit = MAX_FRAME;
        capabilities
    }
}

/// The other one.
struct Peer {
    antenna: Antenna,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
}

impl Peer {
    fn new(ExtendedAddress(mut bytes): ExtendedAddress) -> Self {
        let ip = link_local(ExtendedAddress(bytes));
        bytes.reverse();
        let mut config = Config::new(HardwareAddress::Ieee802154(Ieee802154Address::Extended(bytes)));
        config.pan_id = Some(Ieee802154Pan(PAN));
        config.random_seed = 5;
        let mut antenna = Antenna::default();
        let mut interface = Interface::new(config, &mut antenna, Instant::from_millis(0));
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::Ipv6(ip), 64)).expect("there is room for one");
        });
        let buffer =
            || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 4].leak(), vec![0; 2000].leak());
        let mut sockets = SocketSet::new(vec![SocketStorage::EMPTY].leak());
        let socket = sockets.add(udp::Socket::new(buffer(), buffer()));
        sockets.get_mut::<udp::Socket<'_>>(socket).bind(PORT).expect("it is free");
        Self { antenna, interface, sockets, socket }
    }

    fn socket(&mut self) -> &mut udp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    fn send(&mut self, to: ExtendedAddress, datagram: &[u8]) {
        self.socket().send_slice(datagram, (link_local(to), PORT)).expect("there is room");
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        self.socket().recv().ok().map(|(datagram, _)| datagram.to_vec())
    }
}

/// Ours and the other one, and all that was on the air.
struct Pair {
    now: motemix_link::Instant,
    radio: Radio<Antenna>,
    stack: Stack<'static>,
    peer: Peer,
    frames: Vec<(&'static str, Vec<u8>)>,
}

const OURS: usize = 1;
const THEIRS: usize = 2;

impl Pair {
    fn new() -> Self {
        let now = motemix_link::Instant::from_micros(1_000_000);
        let radio = Radio::new(Antenna::default());
        let memory = Box::leak(Box::new(StackMemory::<PACKET, 4>::new()));
        let stack = Stack::new(address(OURS), 3, &LinkSettings::new(), memory.lend());
        Self { now, radio, stack, peer: Peer::new(address(THEIRS)), frames: Vec::new() }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now = self.now + Duration::from_millis(1);
            self.stack.poll(self.now, &mut self.radio);
            let now = Instant::from_micros(self.now.as_micros().cast_signed());
            self.peer.interface.poll(now, &mut self.peer.antenna, &mut self.peer.sockets);
            for frame in self.radio.transceiver_mut().sent.drain(..) {
                self.frames.push(("ours", frame.clone()));
                self.peer.antenna.heard.push_back(frame);
            }
            for frame in self.peer.antenna.sent.drain(..) {
                self.frames.push(("theirs", frame.clone()));
                self.radio.transceiver_mut().heard.push_back(frame);
            }
        }
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut out = [0; PACKET];
        self.stack.receive(&mut out).map(|received| out[..received.len].to_vec())
    }
}

#[test]
fn datagrams_of_all_lengths_pass_both_ways() {
    let mut pair = Pair::new();
    for len in (0..=PACKET).step_by(7) {
        assert_eq!(pair.stack.send(link_local(address(THEIRS)), &datagram(1, len)), Ok(()));
        pair.run(Duration::from_millis(200));
        assert_eq!(pair.peer.receive(), Some(datagram(1, len)), "{len} bytes from us");
        pair.peer.send(address(OURS), &datagram(2, len));
        pair.run(Duration::from_millis(200));
        assert_eq!(pair.receive(), Some(datagram(2, len)), "{len} bytes from them");
    }
    assert_eq!(pair.stack.counters().dropped(LinkDrop::BadHeader), 0);
}

#[test]
fn it_looks_for_us_once_and_we_never_look_for_it() {
    let mut pair = Pair::new();
    for number in 0..3 {
        pair.peer.send(address(OURS), &datagram(number, PACKET));
        pair.run(Duration::from_secs(1));
        assert_eq!(pair.receive(), Some(datagram(number, PACKET)));
        assert_eq!(pair.stack.send(link_local(address(THEIRS)), &datagram(number, PACKET)), Ok(()));
        pair.run(Duration::from_secs(1));
        assert_eq!(pair.peer.receive(), Some(datagram(number, PACKET)));
    }
    let frames = |whose: &str| pair.frames.iter().filter(|(of, _)| *of == whose).count();
    assert_eq!(frames("theirs"), 1 + 3 * 3, "a question and three packets");
    assert_eq!(frames("ours"), 1 + 3 * 3, "the answer and three packets");
}

/// What is between the addresses and the payload does not depend on who made it, but for numbers.
#[test]
fn both_make_the_same_frames() {
    let mut pair = Pair::new();
    pair.peer.send(address(OURS), &[]);
    pair.run(Duration::from_millis(100));
    pair.frames.clear();
    pair.peer.send(address(OURS), &datagram(1, PACKET));
    pair.run(Duration::from_millis(100));
    assert_eq!(pair.stack.send(link_local(address(THEIRS)), &datagram(1, PACKET)), Ok(()));
    pair.run(Duration::from_millis(100));
    let [one, two, three, other_one, other_two, other_three] = &pair.frames[..] else {
        panic!("{} frames", pair.frames.len())
    };
    for ((_, theirs), (_, ours)) in [(one, other_one), (two, other_two), (three, other_three)] {
        assert_eq!((theirs.len(), theirs[21..23].to_vec()), (ours.len(), ours[21..23].to_vec()));
        // The tag differs. The checksum does not, because addresses are only swapped.
        assert_eq!(theirs[25..], ours[25..]);
        assert_eq!(ours[0], theirs[0] | 0x20, "we ask for an acknowledgement");
        assert_eq!((&ours[3..5], &theirs[3..5]), (&[0x23, 0][..], &[0x23, 0][..]));
    }
}
