//! A radio at the end of a serial line: the air of `motemix-lab air`, or a stick that speaks the
//! same protocol.
//!
//! It reaches nodes by their link-local addresses. One datagram is three frames or more, so it goes
//! out over many calls; those behind it wait here, as many as a mote could have for us in a few
//! seconds.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::Ipv6Addr;
use std::path::Path;

use motemix_link::Instant;
use motemix_link::meeting::{Meeting, admitted};
use motemix_link::protection::KeySlot;
use motemix_link::radio::{Radio, RadioCounters, Transceiver};
use motemix_link::serial::{Decoder, ExtendedAddress, Item, MAX_FRAME, Message, Outcome};
use motemix_link::settings::LinkSettings;
use motemix_link::stack::{PORT, Stack, StackMemory, link_local, neighbour_at};
use motemix_link::watched_keys::WatchedKeys;
use rand_core::Rng as _;
use tokio::net::UnixStream;
use tokio::time::sleep_until;

use super::key_log::{self, KeyLog};
use super::stations::{RadioNetwork, Stations};
use super::{Batch, LinkCounters};
use motemix_os::clock::HostClock;
use motemix_os::curve::HostCurve;
use motemix_os::rng::HostRng;

/// The longest packet of motes, MOTE5's.
const PACKET: usize = 376;
/// Datagrams that arrive, or have arrived and were not taken yet.
const ARRIVALS: usize = 16;
/// Datagrams that leave side by side, to different neighbours.
const DEPARTURES: usize = 4;
/// Datagrams that wait for those before them.
const WAITING: usize = 64;
/// Neighbours with whom there are keys at a time: as many as a network of motes has nodes.
const NEIGHBOURS: usize = 255;
/// Steps of handshakes in one round: a host multiplies in microseconds.
const STEPS: usize = 8;
/// Bytes and frames that are read at once.
const READ: usize = 4096;

/// The line, taken apart into frames. Console text has no meaning here.
#[derive(Default)]
struct Line {
    decoder: Decoder,
    arrived: VecDeque<Vec<u8>>,
    outcome: Option<Outcome>,
    to_write: VecDeque<u8>,
}

impl Transceiver for Line {
    fn receive(&mut self, out: &mut [u8; MAX_FRAME]) -> Option<usize> {
        let frame = self.arrived.pop_front()?;
        out.get_mut(..frame.len())?.copy_from_slice(&frame);
        Some(frame.len())
    }

    fn transmit(&mut self, frame: &[u8]) {
        Message::Transmit { handle: 0, frame }.write(|byte| self.to_write.push_back(byte));
    }

    fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }
}

impl Line {
    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match self.decoder.push(byte) {
                Some(Item::Message(Message::Received { frame, .. })) => {
                    self.arrived.push_back(frame.to_vec())
                }
                Some(Item::Message(Message::Done { outcome, .. })) => self.outcome = Some(outcome),
                _ => {}
            }
        }
    }
}

/// A node's radio, driven by one thread.
pub struct RadioLink {
    stream: UnixStream,
    radio: Radio<Line>,
    stack: Stack<'static>,
    address: ExtendedAddress,
    port: u16,
    outgoing: VecDeque<(Ipv6Addr, Vec<u8>)>,
    refused: u64,
    /// `None` before there is a document: everybody is heard.
    stations: Option<Stations>,
    /// What makes keys with neighbours, if frames are protected.
    meeting: Option<Meeting<HostCurve>>,
    /// Where keys are written down, if they are.
    key_log: Option<KeyLog>,
    rng: HostRng,
    clock: HostClock,
}

impl RadioLink {
    /// Connects to the line, and joins the channel with this address.
    ///
    /// # Errors
    /// There is no such socket, nobody listens there, or there is no tokio runtime.
    pub fn connect(line: &Path, address: ExtendedAddress, rng: HostRng) -> io::Result<Self> {
        Self::connect_at(line, address, PORT, rng)
    }

    /// The same with another UDP port, for an application that is no node's.
    ///
    /// # Errors
    /// There is no such socket, nobody listens there, or there is no tokio runtime.
    pub fn connect_at(
        line: &Path,
        address: ExtendedAddress,
        port: u16,
        mut rng: HostRng,
    ) -> io::Result<Self> {
        let stream = std::os::unix::net::UnixStream::connect(line)?;
        stream.set_nonblocking(true)?;
        let stream = UnixStream::from_std(stream)?;
        let mut radio = Radio::new(Line::default());
        let stack = stack_of(address, port, rng.next_u64());
        let to_write = &mut radio.transceiver_mut().to_write;
        Message::Join(address).write(|byte| to_write.push_back(byte));
        Ok(Self {
            stream,
            radio,
            stack,
            address,
            port,
            outgoing: VecDeque::new(),
            refused: 0,
            stations: None,
            meeting: None,
            key_log: None,
            rng,
            clock: HostClock::start(),
        })
    }

    /// Writes the keys of neighbours down from now on.
    pub fn write_keys(&mut self, log: KeyLog) {
        self.key_log = Some(log);
    }

    /// The address at which neighbours reach this node.
    pub fn local_addr(&self) -> Ipv6Addr {
        link_local(self.address)
    }

    /// Hears nobody from now on but the nodes of this network, and those of the one before. With a
    /// key of its own it protects frames, or else it does not.
    pub fn set_network(&mut self, network: RadioNetwork) {
        let stations = self.stations.get_or_insert_default();
        stations.follow(&network);
        let protects = network.own_key.is_some();
        if protects != self.meeting.is_some() {
            // What is under way was addressed otherwise.
            self.stack = stack_of(self.address, self.port, self.rng.next_u64());
            self.meeting = protects.then(|| Meeting::new(self.address, &mut self.rng));
            if protects {
                self.stack.protect(key_slots());
            }
        }
        if let (Some(meeting), Some((secret, public))) = (&mut self.meeting, network.own_key) {
            meeting.set_identity(Some((secret.duplicate(), admitted(public.0, network.epoch.0))));
        }
        if let Some(keys) = self.stack.keys() {
            keys.retain_keys(&mut |station| stations.keeps(station));
        }
    }

    /// The epoch is over, and its key is gone: no more handshakes until the next one.
    pub fn forget_key(&mut self) {
        if let Some(meeting) = &mut self.meeting {
            meeting.set_identity(None);
        }
    }

    /// Waits until there is something to do: a datagram has become whole, the line has news, or a
    /// timer is due.
    ///
    /// # Errors
    /// The line is broken.
    pub async fn readable(&mut self) -> io::Result<()> {
        // It may have been read while another one left.
        if self.stack.has_datagram() { Ok(()) } else { self.changed().await }
    }

    /// The same without datagrams that are whole already.
    pub(super) async fn changed(&mut self) -> io::Result<()> {
        if self.stack.can_send() && !self.outgoing.is_empty() {
            return Ok(());
        }
        let stream = &self.stream;
        let writable = async {
            if self.radio.transceiver().to_write.is_empty() {
                std::future::pending().await
            } else {
                stream.writable().await
            }
        };
        let meeting = self.meeting.as_ref().zip(self.stack.keys_ref());
        let meeting = meeting.and_then(|(meeting, keys)| meeting.poll_timeout(keys));
        let due = self.stack.poll_timeout(&self.radio).into_iter().chain(meeting).min();
        let due = due.map(|due| self.clock.at(due));
        let is_due = async {
            match due {
                Some(due) => sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            readable = stream.readable() => readable,
            written = writable => written,
            () = is_due => Ok(()),
        }
    }

    /// Moves frames, and fills the batch with the datagrams that have become whole.
    ///
    /// # Errors
    /// The line is broken.
    pub fn try_recv_batch(&mut self, batch: &mut Batch) -> io::Result<usize> {
        self.pump()?;
        let stack = &mut self.stack;
        Ok(batch.fill(|slot| stack.receive(slot).map(|received| received.len)))
    }

    /// Sends a datagram when those before it have left; `false` if too many wait.
    ///
    /// # Errors
    /// The line is broken.
    pub fn send(&mut self, to: Ipv6Addr, datagram: &[u8]) -> io::Result<bool> {
        let has_room = self.outgoing.len() < WAITING;
        if has_room {
            self.outgoing.push_back((to, datagram.to_vec()));
        } else {
            self.refused += 1;
        }
        self.pump()?;
        Ok(has_room)
    }

    /// The datagram that became whole first, at the beginning of `out`, and who sent it. Without
    /// protection nobody vouches for that.
    pub(super) fn receive(&mut self, out: &mut [u8]) -> Option<(usize, Ipv6Addr)> {
        let received = self.stack.receive(out)?;
        Some((received.len, neighbour_at(received.from)))
    }

    /// Whether all that was to be sent has left, or was given up.
    pub(super) fn is_idle(&self) -> bool {
        let is_written = self.radio.transceiver().to_write.is_empty();
        is_written && self.outgoing.is_empty() && self.stack.poll_timeout(&self.radio).is_none()
    }

    /// What the link has seen so far.
    pub fn counters(&self) -> LinkCounters {
        let counters = self.stack.counters();
        LinkCounters {
            received: counters.received.into(),
            sent: counters.sent.into(),
            send_errors: self.refused + u64::from(counters.given_up()),
            receive_errors: 0,
            overflow: 0,
        }
    }

    /// What the radio has seen so far.
    pub fn radio_counters(&self) -> RadioCounters {
        *self.radio.counters()
    }

    fn poll_stack(&mut self, now: Instant) {
        let stations = self.stations.as_ref();
        let is_neighbour = |from| stations.is_none_or(|stations| stations.names(from));
        self.stack.poll_among(now, &mut self.radio, &is_neighbour);
        if let (Some(meeting), Some(stations)) = (&mut self.meeting, stations) {
            for _ in 0..STEPS {
                let Some(keys) = self.stack.keys() else { break };
                let (log, me) = (&mut self.key_log, self.address);
                let mut keys =
                    WatchedKeys { keys, watch: |peer, key: &_| key_log::note(log, [me, peer], key) };
                if !meeting.poll(now, &mut keys, stations, &mut self.rng) {
                    break;
                }
            }
            self.stack.poll_among(now, &mut self.radio, &is_neighbour);
        }
    }

    pub(super) fn pump(&mut self) -> io::Result<()> {
        let mut bytes = [0; READ];
        match self.stream.try_read(&mut bytes) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the radio is gone")),
            Ok(len) => self.radio.transceiver_mut().read(&bytes[..len]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let now = self.clock.now();
        self.poll_stack(now);
        if self.stack.can_send()
            && let Some((to, datagram)) = self.outgoing.pop_front()
        {
            // It can, and the datagram is a packet of motes.
            let _ = self.stack.send(to, &datagram);
            self.poll_stack(now);
        }
        let to_write = &mut self.radio.transceiver_mut().to_write;
        while !to_write.is_empty() {
            match self.stream.try_write(to_write.make_contiguous()) {
                Ok(len) => drop(to_write.drain(..len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn key_slots() -> &'static mut [KeySlot] {
    std::iter::repeat_with(|| KeySlot::FREE).take(NEIGHBOURS).collect::<Vec<_>>().leak()
}

/// A stack in memory that is never given back: there is one for a process, and another when a
/// network begins or ends to protect its links.
fn stack_of(address: ExtendedAddress, port: u16, seed: u64) -> Stack<'static> {
    let memory = Box::leak(Box::new(StackMemory::<PACKET, ARRIVALS, DEPARTURES>::new()));
    let settings = LinkSettings { port, ..LinkSettings::new() };
    Stack::new(address, seed, &settings, memory.lend())
}

impl fmt::Debug for RadioLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RadioLink").field("address", &self.local_addr()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_crypto::PublicKey;
    use motemix_directory::Epoch;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    /// A node beside an air that is still, after it ran for two hours.
    async fn old_link(folder: &Path) -> (RadioLink, UnixListener) {
        let socket = folder.join("air");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let mut link = RadioLink::connect(
            &socket,
            ExtendedAddress([1, 0, 0, 0, 0, 0, 0, 2]),
            HostRng::new().expect("it"),
        )
        .expect("a line");
        link.clock = HostClock::started(Duration::from_hours(2));
        while !link.radio.transceiver().to_write.is_empty() {
            link.pump().expect("it is written");
            tokio::task::yield_now().await;
        }
        (link, listener)
    }

    /// A datagram of one byte in the name of a station, as its own stack writes it.
    fn frame(from: ExtendedAddress, to: ExtendedAddress) -> Vec<u8> {
        let mut radio = Radio::new(Line::default());
        let mut memory = StackMemory::<PACKET, 1, 1>::new();
        let mut stack = Stack::new(from, 1, &LinkSettings::new(), memory.lend());
        stack.send(link_local(to), &[7]).expect("there is room");
        stack.poll(Instant::default(), &mut radio);
        let mut decoder = Decoder::default();
        let items = radio.transceiver().to_write.iter().filter_map(|&byte| match decoder.push(byte) {
            Some(Item::Message(Message::Transmit { frame, .. })) => Some(frame.to_vec()),
            _ => None,
        });
        items.last().expect("a frame has left")
    }

    #[tokio::test]
    async fn from_the_first_document_on_strangers_are_not_heard() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut link, _listener) = old_link(folder.path()).await;
        let station = |number| ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2]);
        let heard = |link: &mut RadioLink, from: u8| {
            let mut out = [0; PACKET];
            link.radio.transceiver_mut().arrived.push_back(frame(station(from), station(1)));
            link.pump().expect("the line is there");
            link.stack.receive(&mut out).is_some()
        };
        assert!(heard(&mut link, 2) && heard(&mut link, 3), "nobody knows yet");
        let network = |number| RadioNetwork {
            nodes: vec![(link_local(station(number)), PublicKey([number; 32]))],
            epoch: Epoch(u32::from(number)),
            own_key: None,
        };
        link.set_network(network(2));
        assert!(heard(&mut link, 2) && !heard(&mut link, 3));
        link.set_network(network(3));
        assert!(heard(&mut link, 2) && heard(&mut link, 3), "packets of the epoch before are under way");
        link.set_network(network(3));
        assert!(!heard(&mut link, 2) && heard(&mut link, 3));
    }

    #[tokio::test]
    async fn a_datagram_that_is_read_while_another_leaves_is_no_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut link, _listener) = old_link(folder.path()).await;
        let station = |number| ExtendedAddress([number, 0, 0, 0, 0, 0, 0, 2]);
        link.radio.transceiver_mut().arrived.push_back(frame(station(2), station(1)));
        link.send(link_local(station(2)), &[1]).expect("it is sent");
        let woken = tokio::time::timeout(Duration::from_secs(10), link.readable()).await;
        woken.expect("there is something to do").expect("the line is there");
        assert!(link.receive(&mut [0; PACKET]).is_some());
    }

    #[tokio::test]
    async fn a_link_without_news_sleeps_however_long_it_has_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut link, _listener) = old_link(folder.path()).await;
        let woken = tokio::time::timeout(Duration::from_millis(100), link.readable()).await;
        assert!(woken.is_err(), "nothing is due");

        link.send(link_local(ExtendedAddress([2, 0, 0, 0, 0, 0, 0, 2])), &[1]).expect("it is sent");
        link.pump().expect("it is written");
        let woken = tokio::time::timeout(Duration::from_millis(100), link.readable()).await;
        assert!(woken.is_err(), "the frame's outcome is waited for longer");
    }
}
