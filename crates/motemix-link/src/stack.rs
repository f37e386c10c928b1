//! Datagrams over the radio: UDP, IPv6 and 6LoWPAN (RFC 4944, RFC 6282), by smoltcp.
//!
//! Addresses are link-local and made of extended addresses, and the port is one of the sixteen that
//! 6LoWPAN writes in four bits. So a packet of 280 bytes takes three frames: 88 + 96 + 96 bytes beside the
//! headers.

use core::net::Ipv6Addr;
use core::time::Duration;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, Ieee802154Address, Ieee802154Pan, IpAddress, IpCidr, IpEndpoint};

use crate::radio::{Radio, Transceiver};
use crate::serial::ExtendedAddress;

/// The UDP port of all nodes on the radio: in 61616–61631, which 6LoWPAN compresses best (RFC 6282, 4.3.3).
pub const PORT: u16 = 61_616;
/// The personal area network of all nodes, RIOT's default.
pub const PAN: u16 = 0x0023;
/// For how long a datagram may be incomplete.
const REASSEMBLY: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(3);
/// For how long a datagram waits for its neighbour to be found.
const DISCOVERY: Duration = Duration::from_secs(4);

/// Memory of a stack for datagrams of at most `LEN` bytes: `COUNT` that came and one that leaves.
pub struct StackMemory<'s, const LEN: usize, const COUNT: usize> {
    sockets: [SocketStorage<'s>; 1],
    arrived: [[u8; LEN]; COUNT],
    arrivals: [udp::PacketMetadata; COUNT],
    leaving: [u8; LEN],
    departures: [udp::PacketMetadata; 1],
}

impl<const LEN: usize, const COUNT: usize> StackMemory<'_, LEN, COUNT> {
    /// Empty memory.
    pub const fn new() -> Self {
        Self {
            sockets: [SocketStorage::EMPTY],
            arrived: [[0; LEN]; COUNT],
            arrivals: [udp::PacketMetadata::EMPTY; COUNT],
            leaving: [0; LEN],
            departures: [udp::PacketMetadata::EMPTY],
        }
    }
}

impl<const LEN: usize, const COUNT: usize> Default for StackMemory<'_, LEN, COUNT> {
    fn default() -> Self {
        Self::new()
    }
}

/// What a stack has seen.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StackCounters {
    /// Datagrams that arrived whole.
    pub received: u32,
    /// Datagrams handed to the radio.
    pub sent: u32,
    /// Datagrams whose neighbour was not found in time.
    pub unreachable: u32,
}

/// UDP datagrams over one radio. One datagram leaves at a time. Time is the duration since any origin.
pub struct Stack<'s> {
    interface: Interface,
    sockets: SocketSet<'s>,
    socket: SocketHandle,
    /// Since when the datagram that leaves waits.
    leaving_since: Option<Duration>,
    counters: StackCounters,
}

impl<'s> Stack<'s> {
    /// A stack for the radio with this address. `seed` is a random number: it only has to differ between
    /// nodes and restarts.
    // Not inlined: what it takes to make it must not stay on the stack with it.
    #[inline(never)]
    pub fn new<T: Transceiver, const LEN: usize, const COUNT: usize>(
        address: ExtendedAddress,
        seed: u64,
        memory: &'s mut StackMemory<'s, LEN, COUNT>,
        radio: &mut Radio<T>,
        now: Duration,
    ) -> Self {
        let mut config = Config::new(HardwareAddress::Ieee802154(canonical(address)));
        config.pan_id = Some(Ieee802154Pan(PAN));
        config.random_seed = seed;
        let mut interface = Interface::new(config, radio, instant(now));
        interface.set_reassembly_timeout(REASSEMBLY);
        interface.update_ip_addrs(|addresses| {
            // The list is empty and has room for one.
            let _ = addresses.push(IpCidr::new(IpAddress::Ipv6(link_local(address)), 64));
        });
        let StackMemory { sockets, arrived, arrivals, leaving, departures } = memory;
        let mut socket = udp::Socket::new(
            udp::PacketBuffer::new(&mut arrivals[..], arrived.as_flattened_mut()),
            udp::PacketBuffer::new(&mut departures[..], &mut leaving[..]),
        );
        bind(&mut socket);
        let mut sockets = SocketSet::new(&mut sockets[..]);
        let socket = sockets.add(socket);
        Self { interface, sockets, socket, leaving_since: None, counters: StackCounters::default() }
    }

    /// What happened so far.
    pub const fn counters(&self) -> &StackCounters {
        &self.counters
    }

    /// Moves frames in and out, a few at a time.
    pub fn poll<T: Transceiver>(&mut self, now: Duration, radio: &mut Radio<T>) {
        radio.poll(now);
        self.interface.poll(instant(now), radio, &mut self.sockets);
        radio.poll(now);
        if self.leaving_since.is_some_and(|since| now >= since + DISCOVERY) {
            let socket = self.socket();
            if socket.send_queue() > 0 {
                socket.close();
                bind(socket);
                self.counters.unreachable += 1;
            }
            self.leaving_since = None;
        }
    }

    /// When [`poll`](Self::poll) has something to do, besides when the radio has news.
    pub fn poll_timeout<T: Transceiver>(&mut self, now: Duration, radio: &Radio<T>) -> Option<Duration> {
        let stack = self.interface.poll_at(instant(now), &self.sockets);
        let stack = stack.map(|at| Duration::from_micros(at.total_micros().unsigned_abs()));
        // The rest of a datagram waits for the radio, not for a time.
        let stack = stack.filter(|at| *at > now || radio.is_idle());
        let given_up = self.leaving_since.map(|since| since + DISCOVERY);
        [stack, radio.poll_timeout(), given_up].into_iter().flatten().min()
    }

    /// Whether a datagram may leave now.
    pub fn can_send(&mut self, now: Duration) -> bool {
        // With an empty queue, what is due at once are the rest of a datagram's frames; a second datagram
        // would be written over them.
        let is_empty = self.socket().send_queue() == 0;
        let fragments = self.interface.poll_at(instant(now), &self.sockets);
        is_empty && fragments != Some(Instant::ZERO)
    }

    /// Sends a datagram to a node's link-local address. `false` if another one is still leaving, or it is
    /// longer than the memory lent.
    pub fn send(&mut self, now: Duration, to: Ipv6Addr, datagram: &[u8]) -> bool {
        let to = IpEndpoint::new(IpAddress::Ipv6(to), PORT);
        let sent = self.can_send(now) && self.socket().send_slice(datagram, to).is_ok();
        if sent {
            self.leaving_since = Some(now);
            self.counters.sent += 1;
        }
        sent
    }

    /// A datagram that arrived, written to the beginning of `out`; one that is longer is cut and will not
    /// be a packet.
    pub fn receive(&mut self, out: &mut [u8]) -> Option<usize> {
        let (datagram, _) = self.socket().recv().ok()?;
        let len = datagram.len().min(out.len());
        if let (Some(out), Some(datagram)) = (out.get_mut(..len), datagram.get(..len)) {
            out.copy_from_slice(datagram);
        }
        self.counters.received += 1;
        Some(len)
    }

    fn socket(&mut self) -> &mut udp::Socket<'s> {
        self.sockets.get_mut(self.socket)
    }
}

fn bind(socket: &mut udp::Socket<'_>) {
    let bound = socket.bind(PORT);
    debug_assert!(bound.is_ok(), "the socket is closed and the port is not 0");
}

/// The link-local address of a radio (RFC 4291, appendix A).
pub fn link_local(address: ExtendedAddress) -> Ipv6Addr {
    let ExtendedAddress(mut interface) = address;
    interface.reverse();
    let [first, ..] = &mut interface;
    *first ^= 0x02;
    let prefix: u128 = 0xfe80 << 112;
    Ipv6Addr::from(prefix | u128::from(u64::from_be_bytes(interface)))
}

fn canonical(ExtendedAddress(mut bytes): ExtendedAddress) -> Ieee802154Address {
    bytes.reverse();
    Ieee802154Address::Extended(bytes)
}

fn instant(now: Duration) -> Instant {
    Instant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
}
