//! Those who speak ZEP: whoever sends a datagram is a station from then on.

mod pacing;

use super::AirError;
use crate::Instant;
use crate::channel::{Channel, Counters, Station};
use crate::frame::{self, Frame};
use crate::zep::{self, Datagram, NoZep, Outgoing};
use pacing::{Heard, Offered, Pacing};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// At a time; datagrams of further ones are dropped.
const PEERS: usize = 64;
/// One who only listens is silent for long, and nothing says that it went.
const SILENCE: Duration = Duration::from_hours(1);
/// Datagrams read in one round.
const ROUND: usize = 64;

/// What came in datagrams, and what did not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct ZepCounters {
    /// Peers that became stations.
    pub peers: u64,
    /// Frames that went to the channel.
    pub frames: u64,
    /// Greetings and acknowledgements of datagrams.
    pub greetings: u64,
    /// Datagrams that are none of ZEP.
    pub no_zep: u64,
    /// Datagrams of another version or type.
    pub unsupported: u64,
    /// With a length that is not the frame's.
    pub wrong_length: u64,
    /// For another channel.
    pub wrong_channel: u64,
    /// With a frame that no radio sends.
    pub malformed: u64,
    /// Datagrams of a peer for whom there was no place.
    pub no_place: u64,
    /// Datagrams to peers that the system did not take.
    pub not_sent: u64,
    /// Frames that waited until their peer could receive them.
    pub delayed: u64,
    /// Frames that were repeated before their peer acknowledged them, and not given to it again.
    pub repeated: u64,
    /// Acknowledgements that a peer was not given, because it awaited another one.
    pub not_awaited: u64,
    /// Frames to a peer for whom too many waited.
    pub queue_full: u64,
}

/// The socket and who was heard on it.
pub(super) struct Peers {
    socket: UdpSocket,
    channel: u8,
    peers: BTreeMap<SocketAddr, Peer>,
    sequence: u32,
    past: Counters,
    /// What is about to be sent.
    out: Vec<(SocketAddr, Heard)>,
    pub counters: ZepCounters,
}

struct Peer {
    station: Station,
    heard_at: Instant,
    pacing: Pacing,
}

impl Peers {
    pub fn open(address: SocketAddr) -> Result<Self, AirError> {
        let failed = |source| AirError::Zep { address, source };
        let socket = UdpSocket::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            socket,
            channel: zep::CHANNEL,
            peers: BTreeMap::new(),
            sequence: 0,
            past: Counters::default(),
            out: Vec::new(),
            counters: ZepCounters::default(),
        })
    }

    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// The counters of all peers, also of those that went.
    pub fn channel_counters(&self, channel: &Channel) -> Counters {
        let mut sum = self.past;
        for counters in self.peers.values().filter_map(|peer| channel.counters(peer.station)) {
            sum += *counters;
        }
        sum
    }

    /// Takes in the datagrams that are there.
    pub fn read(&mut self, now: Instant, channel: &mut Channel) {
        // One byte more, so that a datagram that is too long is not taken for one that fits.
        let mut buffer = [0; zep::MAX_LEN + 1];
        for _ in 0..ROUND {
            match self.socket.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    self.take_in(now, channel, from, buffer.get(..len).unwrap_or_default());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Something about an earlier datagram to one that went.
                Err(_) => {}
            }
        }
    }

    fn take_in(&mut self, now: Instant, channel: &mut Channel, from: SocketAddr, bytes: &[u8]) {
        let count = &mut self.counters;
        let datagram = match Datagram::read(bytes) {
            Ok(datagram) => datagram,
            Err(NoZep::Preamble) => return count.no_zep += 1,
            Err(NoZep::Unsupported) => return count.unsupported += 1,
            Err(NoZep::Length) => return count.wrong_length += 1,
        };
        if matches!(datagram, Datagram::Data { channel, .. } if channel != self.channel) {
            return count.wrong_channel += 1;
        }
        let Some(station) = self.admit(now, channel, from) else { return self.counters.no_place += 1 };
        match datagram {
            Datagram::Hello | Datagram::Acknowledgement => self.counters.greetings += 1,
            Datagram::Data { frame, .. } if channel.send_from_outside(now, station, frame) => {
                self.counters.frames += 1;
                let pacing = self.peers.get_mut(&from).map(|peer| &mut peer.pacing);
                if let (Some(pacing), Ok((frame, header))) = (pacing, frame::read(frame)) {
                    pacing.sent(now, &frame, &header);
                }
            }
            Datagram::Data { .. } => self.counters.malformed += 1,
        }
    }

    fn admit(&mut self, now: Instant, channel: &mut Channel, from: SocketAddr) -> Option<Station> {
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.heard_at = now;
            return Some(peer.station);
        }
        if self.peers.len() >= PEERS {
            self.forget_silent(now, channel);
        }
        if self.peers.len() >= PEERS {
            return None;
        }
        let station = channel.join_outside(now).ok()?;
        self.peers.insert(from, Peer { station, heard_at: now, pacing: Pacing::default() });
        self.counters.peers += 1;
        Some(station)
    }

    fn forget_silent(&mut self, now: Instant, channel: &mut Channel) {
        let past = &mut self.past;
        self.peers.retain(|_, peer| {
            let stays = now - peer.heard_at < SILENCE;
            if !stays {
                *past += channel.counters(peer.station).copied().unwrap_or_default();
                channel.leave(now, peer.station);
            }
            stays
        });
    }

    /// A frame reached a station. Returns whether it is one of these.
    pub fn deliver(&mut self, now: Instant, to: Station, from: Station, at: Duration, frame: &Frame) -> bool {
        let mut peers = self.peers.iter_mut();
        let Some((address, peer)) = peers.find(|(_, peer)| peer.station == to) else { return false };
        let Ok((frame, header)) = frame::read(frame.bytes()) else { return true };
        let heard = Heard { from: from.number(), at, frame, header };
        let count = &mut self.counters;
        match peer.pacing.offer(now, &heard) {
            Offered::Now => self.out.push((*address, heard)),
            Offered::Waits => match peer.pacing.next(now) {
                Some(first) => self.out.push((*address, first)),
                None => count.delayed += 1,
            },
            Offered::Repeated => count.repeated += 1,
            Offered::NotAwaited => count.not_awaited += 1,
            Offered::Full => count.queue_full += 1,
        }
        self.send();
        true
    }

    /// When [`Peers::flush`] is to be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.peers.values().filter_map(|peer| peer.pacing.poll_timeout()).min()
    }

    /// Sends what waited for peers that can receive now.
    pub fn flush(&mut self, now: Instant) {
        for (address, peer) in &mut self.peers {
            self.out.extend(peer.pacing.next(now).map(|heard| (*address, heard)));
        }
        self.send();
    }

    fn send(&mut self) {
        for (address, heard) in self.out.drain(..) {
            self.sequence = self.sequence.wrapping_add(1);
            let (channel, sequence) = (self.channel, self.sequence);
            let Heard { from, at, ref frame, .. } = heard;
            let datagram = Outgoing { channel, device: from, at, sequence, frame };
            // A datagram that the system does not take is a frame that was not heard.
            if self.socket.send_to(&datagram.bytes(), address).is_err() {
                self.counters.not_sent += 1;
            }
        }
    }
}

impl AsFd for Peers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
