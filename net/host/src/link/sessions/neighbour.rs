//! One neighbour: the handshakes with it, its keys, and packets that wait for one.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use motemix_crypto::{PublicKey, Secret};
use motemix_directory::Epoch;
use motemix_link::Instant;
use motemix_link::counters::LinkDrop;
use motemix_link::meeting::{Admitted, Failure, HandshakeDrop, Handshakes, admitted};
use motemix_link::protection::KEY_LEN;
use motemix_link::serial::ExtendedAddress;
use motemix_link::settings::LinkSettings;
use motemix_neighbour::datagram::{Datagram, HANDSHAKE_OVERHEAD, PAYLOAD_OVERHEAD, carry};
use motemix_neighbour::edhoc::{Suite0, WithoutSignatures};
use motemix_neighbour::handshakes::{
    Admission, Event, Identity, Peer, is_for_caller, is_hello, is_message_1, is_message_2,
};

use super::counters::Told;
use super::keys::SessionKeys;
use motemix_os::curve::HostCurve;
use motemix_os::rng::HostRng;

/// Packets that wait for one neighbour's key at most.
const WAITING: usize = 64;
/// For how long a packet waits for a key.
const KEY_WITHIN: Duration = LinkSettings::new().keys_within;
/// After a call that failed, the next one waits for so long.
const PAUSE: Duration = Duration::from_secs(2);
/// How often somebody is answered who may be this neighbour or another one.
const SPARING: Duration = Duration::from_secs(1);
/// Handshakes of a neighbour that are answered within [`SPARING`]: more than it needs. Each costs
/// three multiplications, and whoever heard a cookie can begin them.
const ANSWERS: u32 = 8;
/// Answers of a neighbour that are read within [`SPARING`]. Whoever saw message_1 can forge them,
/// and each costs a multiplication; of others' forgeries the echo is wrong, and they cost none.
const READS: u32 = 8;
/// Steps of handshakes at once: a host multiplies in microseconds.
const STEPS: usize = 8;

/// This node, as it proves itself to its neighbours.
pub(super) struct Own {
    pub(super) station: ExtendedAddress,
    pub(super) secret: Box<Secret<32>>,
    pub(super) public: PublicKey,
    pub(super) epoch: Epoch,
}

/// What the network document says of a neighbour.
pub(super) struct Described {
    /// What the document calls it.
    pub(super) name: String,
    /// What its messages of handshakes are from.
    pub(super) station: ExtendedAddress,
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) route: SocketAddr,
    /// The key that it has to prove; `None` if only the document before names it.
    pub(super) admitted: Option<Admitted>,
}

impl Admission for Described {
    fn admitted(&self, peer: Peer) -> Option<Admitted> {
        self.admitted.filter(|_| peer == Peer(self.station.0))
    }
}

/// How often something happened within [`SPARING`].
#[derive(Default)]
struct Lately {
    since: Instant,
    count: u32,
}

impl Lately {
    fn count(&mut self, now: Instant) -> u32 {
        if now >= self.since + SPARING {
            *self = Self { since: now, count: 0 };
        }
        self.count
    }

    const fn add(&mut self, more: u32) {
        self.count += more;
    }
}

/// What is in a datagram.
pub(super) enum Opened<'o> {
    Packet(&'o [u8]),
    /// A message of a handshake, on which [`Neighbour::progress`] works.
    Handshake,
}

/// Whether what came last of a neighbour's messages of handshakes had the length of a packet's
/// datagram: what is sent in return has it then.
struct Pads {
    /// What it asks.
    answers: bool,
    /// What it answers to a call: told apart, so that nobody shortens calls by asking.
    call: bool,
}

pub(super) struct Neighbour {
    described: Described,
    handshakes: Handshakes<WithoutSignatures<Suite0<HostCurve>>>,
    keys: SessionKeys,
    /// No call begins before this.
    call_from: Instant,
    /// Why the last call failed; `None` after a key.
    failure: Option<Failure>,
    is_unprotected: bool,
    pads: Pads,
    /// When somebody at an address that it may have asked for a cookie last.
    asked: Option<Instant>,
    /// Handshakes that were answered.
    answers: Lately,
    /// Answers that were read.
    reads: Lately,
    waiting: VecDeque<(Instant, Vec<u8>)>,
    /// Refused messages that were told already, by reason.
    told: [u32; HandshakeDrop::ALL.len()],
}

impl Neighbour {
    pub(super) fn new(described: Described, own: &Own, rng: &mut HostRng) -> Self {
        let mut handshakes = Handshakes::new(WithoutSignatures(Suite0::new()), Peer(own.station.0), rng);
        handshakes.be_quick();
        Self {
            described,
            handshakes,
            keys: SessionKeys::default(),
            call_from: Instant::default(),
            failure: None,
            is_unprotected: false,
            pads: Pads { answers: true, call: true },
            asked: None,
            answers: Lately::default(),
            reads: Lately::default(),
            waiting: VecDeque::new(),
            told: [0; HandshakeDrop::ALL.len()],
        }
    }

    pub(super) fn describe(&mut self, described: Described) {
        self.described = described;
    }

    /// From now on only the document before names it; `false` if none did.
    pub(super) fn is_of_the_past(&mut self) -> bool {
        self.described.admitted.take().is_some()
    }

    pub(super) fn prove(&mut self, own: &Own) {
        let public = admitted(own.public.0, own.epoch.0);
        self.handshakes.set_identity(Some(Identity::new(own.secret.duplicate(), public)));
    }

    pub(super) fn forget_identity(&mut self) {
        self.handshakes.set_identity(None);
    }

    pub(super) const fn want_key(&mut self) {
        self.keys.want();
    }

    pub(super) fn name(&self) -> &str {
        &self.described.name
    }

    pub(super) const fn station(&self) -> ExtendedAddress {
        self.described.station
    }

    pub(super) const fn route(&self) -> SocketAddr {
        self.described.route
    }

    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.described.addresses
    }

    pub(super) const fn is_admitted(&self) -> bool {
        self.described.admitted.is_some()
    }

    pub(super) fn has_key(&self) -> bool {
        self.keys.can_seal()
    }

    pub(super) const fn has_failed(&self) -> bool {
        self.failure.is_some() && self.is_admitted()
    }

    /// Whether it uses another key than the document in force has for it.
    pub(super) fn has_another_key(&self) -> bool {
        self.failure == Some(Failure::OtherKey) && self.is_admitted()
    }

    /// Whether it sends packets without protection. One that has a key does not, whatever comes in
    /// its name.
    pub(super) fn is_unprotected(&self) -> bool {
        self.is_unprotected && self.is_admitted() && !self.has_key()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Opens what came from its address into `out`. Whoever claims the address costs a run of
    /// AES-CCM, or two while there is a key before. `known`: the address is no other node's.
    pub(super) fn open<'o>(
        &mut self,
        now: Instant,
        known: bool,
        datagram: &[u8],
        out: &'o mut [u8],
        packet_len: usize,
    ) -> Result<Opened<'o>, LinkDrop> {
        let whole = packet_len + PAYLOAD_OVERHEAD;
        match Datagram::parse(datagram) {
            Ok(Datagram::Handshake(_)) if datagram.len() > whole => Err(LinkDrop::TooLong),
            Ok(Datagram::Handshake(message)) => {
                if !known && is_hello(message) {
                    // One question is answered to several nodes: that must not multiply a flood.
                    if self.asked.is_some_and(|asked| now < asked + SPARING) {
                        return Err(LinkDrop::HandshakeBusy);
                    }
                    self.asked = Some(now);
                }
                let is_costly = (is_message_1(message) && self.answers.count(now) >= ANSWERS)
                    || (is_message_2(message) && self.reads.count(now) >= READS);
                if is_costly {
                    return Err(LinkDrop::HandshakeBusy);
                }
                let pads = if is_for_caller(message) { &mut self.pads.call } else { &mut self.pads.answers };
                *pads = datagram.len() == whole;
                let before = self.handshakes.counters().answered;
                // What is dropped is counted there.
                let handled =
                    self.handshakes.handle(now, Peer(self.described.station.0), message, &self.described);
                // Wrong cookies use up no answers, and wrong echoes no reads.
                self.answers.add(self.handshakes.counters().answered.wrapping_sub(before));
                self.reads.add(u32::from(handled.is_ok() && is_message_2(message)));
                Ok(Opened::Handshake)
            }
            Ok(Datagram::Protected(protected)) if datagram.len() == whole => {
                let packet = self.keys.open(now, &protected, out)?;
                self.is_unprotected = false;
                if packet.len() == packet_len { Ok(Opened::Packet(packet)) } else { Err(LinkDrop::BadHeader) }
            }
            _ => {
                self.is_unprotected |= known && datagram.len() == packet_len;
                Err(LinkDrop::Unprotected)
            }
        }
    }

    /// Seals a packet into the beginning of `out`; `None`: there is no key.
    pub(super) fn seal(&mut self, packet: &[u8], out: &mut [u8]) -> Option<usize> {
        self.keys.seal(packet, out)
    }

    /// Asks for a key, and keeps a packet until there is one; `false` if too many wait here, or
    /// there is no room.
    pub(super) fn wait(&mut self, now: Instant, packet: &[u8], has_room: bool) -> bool {
        self.keys.want();
        let has_room = has_room && self.waiting.len() < WAITING;
        if has_room {
            self.waiting.push_back((now + KEY_WITHIN, packet.to_vec()));
        }
        has_room
    }

    /// Moves the handshakes forward, and hands the datagrams that are to leave for it to `leave`,
    /// and each key that is made to `note`.
    pub(super) fn progress(
        &mut self,
        now: Instant,
        packet_len: usize,
        rng: &mut HostRng,
        mut leave: impl FnMut(Vec<u8>),
        mut note: impl FnMut(&Secret<KEY_LEN>),
    ) -> Told {
        let mut told = Told::default();
        let whole = packet_len + PAYLOAD_OVERHEAD;
        self.keys.expire(now);
        self.handshakes.handle_timeout(now);
        for _ in 0..STEPS {
            if self.is_to_call(now) {
                self.keys.is_called();
                self.pads.call = true;
                self.handshakes.call(now, Peer(self.described.station.0), &self.described);
            }
            let worked = self.handshakes.work(now, &self.described, rng);
            let ended = self.settle(now, &mut told, &mut note);
            while let Some(message) = self.handshakes.poll_transmit(now) {
                let message = message.as_bytes();
                let pads = if is_for_caller(message) { self.pads.answers } else { self.pads.call };
                let len = if pads { whole } else { message.len() + HANDSHAKE_OVERHEAD };
                let mut datagram = vec![0; len];
                if carry(message, &mut datagram).is_ok() {
                    leave(datagram);
                }
            }
            if !worked && !ended {
                break;
            }
        }
        while self.has_key()
            && let Some((_, packet)) = self.waiting.pop_front()
        {
            let mut datagram = vec![0; whole];
            if self.keys.seal(&packet, &mut datagram).is_some() {
                leave(datagram);
            }
        }
        while self.waiting.front().is_some_and(|(until, _)| *until <= now) {
            self.waiting.pop_front();
            told.unheard += 1;
        }
        for ((reason, said), count) in HandshakeDrop::ALL.iter().zip(&mut self.told).zip(&mut told.refused) {
            let total = self.handshakes.counters().dropped(*reason);
            *count = total.wrapping_sub(std::mem::replace(said, total)).into();
        }
        told
    }

    fn settle(&mut self, now: Instant, told: &mut Told, note: &mut impl FnMut(&Secret<KEY_LEN>)) -> bool {
        match self.handshakes.poll_event() {
            Some(Event::Key { key, role, .. }) => {
                told.keys += 1;
                note(&key);
                self.keys.set(now, key, role);
                (self.failure, self.call_from) = (None, now);
            }
            Some(Event::Failed { reason, .. }) => {
                told.failed += 1;
                self.failure = Some(reason).filter(|reason| *reason != Failure::NotAdmitted);
                self.call_from = now + PAUSE;
                if reason == Failure::Unconfirmed {
                    // It may have the new key, and seal with that.
                    self.keys.forget_newest();
                }
                // Anybody can make a call fail: a key that works goes on. While it lasts, no other
                // call is made, because a stranger may have caused this one.
                if self.keys.is_worn() || !self.waiting.is_empty() {
                    self.keys.want();
                }
            }
            None => return false,
        }
        true
    }

    fn is_to_call(&self, now: Instant) -> bool {
        self.keys.is_wanted() && self.handshakes.is_idle() && self.call_from <= now
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        if self.handshakes.has_work() {
            return Some(Instant::default());
        }
        let call = (self.keys.is_wanted() && self.handshakes.is_idle()).then_some(self.call_from);
        let handshakes = self.handshakes.poll_timeout();
        let waiting = self.waiting.front().map(|(until, _)| *until);
        [call, handshakes, waiting, self.keys.poll_timeout()].into_iter().flatten().min()
    }
}
