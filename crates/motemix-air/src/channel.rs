//! One channel in the 2.4 GHz band (O-QPSK, 250 kbit/s), unslotted CSMA/CA: IEEE 802.15.4-2006, sections 6.5
//! and 7.5.
//!
//! A discrete-event model without clock or sockets. The caller says what time it is:
//!
//! 1. [`Channel::join`] the stations, [`Channel::transmit`] frames;
//! 2. take [`Channel::poll_event`] until there is none;
//! 3. wait until [`Channel::poll_timeout`], call [`Channel::handle_timeout`], go to 2.
//!
//! Whatever falls due is worked off at its own time and in order, so a caller that comes late changes
//! nothing but when it hears of it. The same calls with the same seed give the same events.
//!
//! A transmission, in microseconds; `n` is the length with the check sequence:
//!
//! ```text
//! ├─ backoff ─┼─ CCA 128 ─┼─ turn 192 ─┼─ frame 32·(6+n) ─┼─ turn 192 ─┼─ ack 352 ─┼─ gap 192|640 ─┤
//!  320·[0,2^BE)                                           └─ no ack within 864: once more, 3 times
//! ```
//!
//! A radio that sends or turns round hears nothing. Frames that overlap are lost to all who hear both. A frame
//! that nothing overlapped is lost to each receiver by itself with its link's probability. If only the
//! acknowledgement is lost, the frame is sent and delivered again: recognising duplicates is for those above.
//! Each station has at most one frame under way, which bounds memory, and the work between two calls.

mod air;
mod counters;
mod link;
mod sender;
mod station;

pub use counters::{Counters, Drops};
pub use link::{Link, Loss};
pub use station::Station;

use crate::Instant;
use crate::frame::{self, Frame, Header, Type};
use air::{Air, Fate, Transmission};
use chacha20::ChaCha8Rng;
use link::Links;
use motemix_link::serial::{ExtendedAddress, Outcome};
use rand_core::{Rng as _, SeedableRng as _};
use sender::{Attempt, Next};
use station::{Member, Members};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

const fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// aUnitBackoffPeriod.
const UNIT_BACKOFF: Duration = micros(320);
/// Clear-channel assessment: 8 symbols.
const ASSESSMENT: Duration = micros(128);
/// aTurnaroundTime: 12 symbols.
const TURNAROUND: Duration = micros(192);
/// An acknowledgement on the air: 6 bytes of synchronisation and 5 of frame.
const ACKNOWLEDGEMENT: Duration = micros(352);
/// macAckWaitDuration: 54 symbols.
const ACKNOWLEDGEMENT_WAIT: Duration = micros(864);
/// aMaxSIFSFrameSize; longer frames are followed by the long gap.
const SHORT_FRAME: usize = 18;
/// macMinSIFSPeriod: 12 symbols.
const SHORT_GAP: Duration = micros(192);
/// macMinLIFSPeriod: 40 symbols.
const LONG_GAP: Duration = micros(640);

/// What a channel is like. The default is the standard's: exponents 3 to 5, 4 backoffs, 3 retries, no loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// macMinBE: the first backoff is below `2^min_exponent` units. At most 16 counts.
    pub min_exponent: u8,
    /// macMaxBE. At most 16 counts.
    pub max_exponent: u8,
    /// macMaxCSMABackoffs: a busy channel is assessed so many times more.
    pub max_backoffs: u8,
    /// macMaxFrameRetries: an unacknowledged frame is sent so many times more.
    pub max_retries: u8,
    /// Of every link that was not set otherwise.
    pub loss: Loss,
    /// How many can be there at a time.
    pub stations: u16,
    /// Whether [`Event::OnAir`] is wanted.
    pub report_air: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min_exponent: 3,
            max_exponent: 5,
            max_backoffs: 4,
            max_retries: 3,
            loss: Loss::NONE,
            stations: 1024,
            report_air: false,
        }
    }
}

/// Something that the caller is to know or to pass on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A frame reached a station that it is for. Addresses were looked at, acknowledgements made.
    Delivered {
        /// The receiver.
        to: Station,
        /// The sender.
        from: Station,
        /// When its last byte arrived.
        at: Instant,
        /// As the sender gave it.
        frame: Frame,
    },
    /// A frame's fate. Each [`Channel::transmit`] is followed by exactly one.
    Done {
        /// The sender.
        station: Station,
        /// As given.
        handle: u8,
        /// When it was known.
        at: Instant,
        /// What became of it.
        outcome: Outcome,
    },
    /// A frame or acknowledgement was on the air: what a capture shows. Only if
    /// [`Settings::report_air`] asks for it.
    OnAir {
        /// The sender.
        from: Station,
        /// The first byte of synchronisation.
        begin: Instant,
        /// After the last byte.
        end: Instant,
        /// Another one was on the air at the same time.
        collided: bool,
        /// Without its check sequence; [`Frame::check`] gives that.
        frame: Frame,
    },
}

/// Why a station cannot join.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JoinError {
    /// A station that is there has the address. The one that came first keeps it.
    #[error("another station has this address; give each station an address of its own")]
    AddressInUse,
    /// [`Settings::stations`] are there.
    #[error("the channel has as many stations as its settings allow; raise the number or let one leave")]
    Full,
}

/// What falls due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A clear-channel assessment ends.
    Assessed(Station, Attempt),
    /// A frame begins.
    Begin(Station, Attempt),
    /// An acknowledgement of this sequence number begins.
    Acknowledge(Station, u8),
    /// A transmission ends, at this place of [`Air`].
    End(usize),
    /// No acknowledgement came.
    WaitedEnough(Station, Attempt),
}

/// One channel and its stations.
pub struct Channel {
    settings: Settings,
    rng: ChaCha8Rng,
    now: Instant,
    /// By time, then in the order in which they were put in.
    due: BinaryHeap<Reverse<(Instant, u64, Due)>>,
    order: u64,
    members: Members,
    links: Links,
    air: Air,
    events: VecDeque<Event>,
}

impl Channel {
    /// An empty channel. All that happens by chance follows from the seed.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            rng: ChaCha8Rng::seed_from_u64(seed),
            now: Instant::default(),
            due: BinaryHeap::new(),
            order: 0,
            members: Members::default(),
            links: Links::new(settings.loss),
            air: Air::default(),
            events: VecDeque::new(),
        }
    }

    /// Lets a radio in. It hears frames for its extended address, for the short one that is the last 15 bits
    /// of that, and for all, in any PAN; see [`Channel::set_short_address`] and [`Channel::set_pan`].
    ///
    /// # Errors
    /// The address is taken, or the channel is full.
    pub fn join(&mut self, now: Instant, address: ExtendedAddress) -> Result<Station, JoinError> {
        if self.members.has(address) {
            return Err(JoinError::AddressInUse);
        }
        self.admit(now, Member::radio(address))
    }

    /// Lets one in that has a MAC of its own, outside: it hears everything, including acknowledgements, makes
    /// none itself, and sends with [`Channel::send_from_outside`].
    ///
    /// # Errors
    /// The channel is full.
    pub fn join_outside(&mut self, now: Instant) -> Result<Station, JoinError> {
        self.admit(now, Member::outside())
    }

    fn admit(&mut self, now: Instant, member: Member) -> Result<Station, JoinError> {
        self.handle_timeout(now);
        let station = self.members.add(member, self.settings.stations).ok_or(JoinError::Full)?;
        let links = &self.links;
        let audible = self.air.admit(station.index(), |from| links.get(from, station).reaches());
        if let Some(member) = self.members.get_mut(station) {
            member.ear.audible = audible;
        }
        Ok(station)
    }

    /// A station goes. What it has under way ends as refused; what it has on the air stays there.
    pub fn leave(&mut self, now: Instant, station: Station) {
        self.handle_timeout(now);
        self.air.forget(station.index());
        self.links.forget(station);
        let gone = self.members.remove(station);
        if let Some(handle) = gone.and_then(|member| member.sender).map(|sender| sender.handle) {
            self.events.push_back(Event::Done { station, handle, at: self.now, outcome: Outcome::Refused });
        }
    }

    /// Gives a radio a short address; `None` for none.
    pub fn set_short_address(&mut self, station: Station, short: Option<u16>) {
        if let Some(addresses) = self.members.addresses_mut(station) {
            addresses.short = short;
        }
    }

    /// Makes a radio hear one PAN, and broadcasts to all of them; `None` for any.
    pub fn set_pan(&mut self, station: Station, pan: Option<u16>) {
        if let Some(addresses) = self.members.addresses_mut(station) {
            addresses.pan = pan;
        }
    }

    /// Sets what a station hears of another, from the next frame on. The way back is another link.
    pub fn set_link(&mut self, from: Station, to: Station, link: Link) {
        self.links.set(from, to, link);
    }

    /// A frame to send, without its check sequence. It is refused if it is no frame of version 0 or 1, if it
    /// is an acknowledgement, which are the radio's, or if the station has another one under way.
    pub fn transmit(&mut self, now: Instant, station: Station, handle: u8, bytes: &[u8]) {
        self.handle_timeout(now);
        let at = self.now;
        let refused = Event::Done { station, handle, at, outcome: Outcome::Refused };
        let Some(member) = self.members.get_mut(station) else {
            self.events.push_back(refused);
            return;
        };
        let counters = &mut member.counters;
        let next = match frame::read(bytes) {
            Ok((frame, header)) if member.addresses.is_some() && header.kind != Type::Acknowledgement => {
                member.begin(handle, frame, header, &self.settings)
            }
            _ => {
                counters.malformed += 1;
                self.events.push_back(refused);
                return;
            }
        };
        match next {
            Some(attempt) => self.back_off(station, attempt),
            None => self.events.push_back(refused),
        }
    }

    /// A frame of one that joined from outside, without its check sequence: it ends now, and had the air for
    /// its airtime before now. Nobody can have held back for it. It collides with what is on the air now, and
    /// not with what ended before: its true time is not known, and an acknowledgement would collide with its
    /// own frame. Returns whether it is a frame.
    pub fn send_from_outside(&mut self, now: Instant, station: Station, bytes: &[u8]) -> bool {
        self.handle_timeout(now);
        let Some(member) = self.members.get_mut(station) else { return false };
        let Ok((frame, header)) = frame::read(bytes) else {
            member.counters.malformed += 1;
            return false;
        };
        member.counters.frames += 1;
        member.counters.sent += 1;
        member.counters.transmissions += 1;
        member.counters.airtime += frame.airtime();
        let (links, members) = (&self.links, &mut self.members);
        let reaches = |to| links.get(station, to).reaches();
        let transmission = self.air.overlay(station, self.now, (frame, header), members, reaches);
        self.arrived(&transmission);
        true
    }

    /// When [`Channel::handle_timeout`] is to be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }

    /// Works off what is due, each at its time.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(&Reverse((at, _, due))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            self.now = self.now.max(at);
            match due {
                Due::Assessed(station, attempt) => self.assessed(station, attempt),
                Due::Begin(station, attempt) => self.begin(station, attempt),
                Due::Acknowledge(station, sequence) => self.acknowledge(station, sequence),
                Due::End(place) => self.end(place),
                Due::WaitedEnough(station, attempt) => self.waited_enough(station, attempt),
            }
        }
        // A clock that was set back changes nothing.
        self.now = self.now.max(now);
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What a station has seen so far; `None` if it left.
    pub fn counters(&self, station: Station) -> Option<&Counters> {
        self.members.get(station).map(|member| &member.counters)
    }

    fn schedule(&mut self, at: Instant, due: Due) {
        self.order += 1;
        self.due.push(Reverse((at, self.order, due)));
    }

    fn back_off(&mut self, station: Station, attempt: Attempt) {
        let Some(member) = self.members.get(station) else { return };
        let Some(sender) = &member.sender else { return };
        let units = self.rng.next_u32() & ((1 << sender.exponent) - 1);
        let at = self.now.max(member.free_at) + UNIT_BACKOFF * units + ASSESSMENT;
        self.schedule(at, Due::Assessed(station, attempt));
    }

    fn assessed(&mut self, station: Station, attempt: Attempt) {
        let now = self.now;
        let Some(member) = self.members.sending(station, attempt) else { return };
        if member.is_busy_since(now - ASSESSMENT) {
            match member.back_off_longer(&self.settings) {
                Next::Again(attempt) => self.back_off(station, attempt),
                Next::GiveUp => self.finish(station, Outcome::ChannelBusy),
            }
            return;
        }
        let Some(airtime) = member.sender.as_ref().map(|sender| sender.frame.airtime()) else { return };
        member.busy_until = now + TURNAROUND + airtime;
        self.air.deafen(station.index());
        self.schedule(now + TURNAROUND, Due::Begin(station, attempt));
    }

    fn begin(&mut self, station: Station, attempt: Attempt) {
        let Some(member) = self.members.sending(station, attempt) else { return };
        let Some(sender) = &mut member.sender else { return };
        let what = (sender.frame, sender.header);
        member.counters.transmissions += 1;
        if sender.tries > 0 {
            member.counters.retries += 1;
        }
        self.put_on_air(station, what);
    }

    fn acknowledge(&mut self, station: Station, sequence: u8) {
        let Some(member) = self.members.get_mut(station) else { return };
        member.counters.acknowledgements += 1;
        self.put_on_air(station, Frame::acknowledgement(sequence));
    }

    fn put_on_air(&mut self, station: Station, what: (Frame, Header)) {
        let (links, members) = (&self.links, &mut self.members);
        let reaches = |to| links.get(station, to).reaches();
        let place = self.air.begin(station, self.now, what, members, reaches);
        let airtime = what.0.airtime();
        if let Some(member) = self.members.get_mut(station) {
            member.counters.airtime += airtime;
        }
        self.schedule(self.now + airtime, Due::End(place));
    }

    fn end(&mut self, place: usize) {
        let Some(transmission) = self.air.end(place) else { return };
        for (index, _) in transmission.hearers() {
            if let Some(member) = self.members.at_mut(index) {
                member.ear.falls_quiet(self.now);
            }
        }
        self.arrived(&transmission);
        let (station, header) = (transmission.from, transmission.header);
        if header.kind != Type::Acknowledgement {
            self.after_own_frame(station, &header);
        }
        self.air.recycle(transmission);
    }

    /// The last byte is through; each who hears it has it or not.
    fn arrived(&mut self, transmission: &Transmission) {
        let Transmission { from, begin, collided, frame, header, .. } = *transmission;
        let at = self.now;
        if collided && let Some(member) = self.members.get_mut(from) {
            member.counters.collisions += 1;
        }
        if self.settings.report_air {
            self.events.push_back(Event::OnAir { from, begin, end: at, collided, frame });
        }
        for (index, fate) in transmission.hearers() {
            let Some((to, member)) = self.members.with_id(index) else { continue };
            let awaited = header.kind == Type::Acknowledgement && member.awaits(header.sequence);
            let meant = member.addresses.is_none_or(|own| own.accept(&header));
            if !awaited && !meant {
                continue;
            }
            let drops = &mut member.counters.drops;
            match fate {
                Fate::Deaf => drops.deaf += 1,
                Fate::Collided => drops.collided += 1,
                Fate::Intact if self.links.get(from, to).loss().strikes(&mut self.rng) => drops.lost += 1,
                Fate::Intact if awaited => {
                    member.counters.acknowledged += 1;
                    self.finish(to, Outcome::Sent);
                }
                Fate::Intact => {
                    member.counters.received += 1;
                    let mine = member.addresses.is_some_and(|own| own.is_alone_meant(&header));
                    self.events.push_back(Event::Delivered { to, from, at, frame });
                    if mine && header.wants_acknowledgement {
                        member.busy_until = at + TURNAROUND + ACKNOWLEDGEMENT;
                        self.air.deafen(index);
                        self.schedule(at + TURNAROUND, Due::Acknowledge(to, header.sequence));
                    }
                }
            }
        }
    }

    fn after_own_frame(&mut self, station: Station, header: &Header) {
        let Some(member) = self.members.get_mut(station) else { return };
        // It may have left, and another one come to its place, while the frame was on the air.
        let Some(sender) = &mut member.sender else { return };
        if header.wants_acknowledgement {
            sender.awaits = true;
            let attempt = sender.attempt;
            self.schedule(self.now + ACKNOWLEDGEMENT_WAIT, Due::WaitedEnough(station, attempt));
        } else {
            self.finish(station, Outcome::Sent);
        }
    }

    fn waited_enough(&mut self, station: Station, attempt: Attempt) {
        let Some(member) = self.members.sending(station, attempt) else { return };
        match member.try_again(&self.settings) {
            Next::Again(attempt) => self.back_off(station, attempt),
            Next::GiveUp => self.finish(station, Outcome::NoAcknowledgement),
        }
    }

    fn finish(&mut self, station: Station, outcome: Outcome) {
        let at = self.now;
        let Some(member) = self.members.get_mut(station) else { return };
        let Some(sender) = member.sender.take() else { return };
        match outcome {
            Outcome::Sent => {
                let short = sender.frame.psdu_len() <= SHORT_FRAME;
                member.free_at = at + if short { SHORT_GAP } else { LONG_GAP };
                member.counters.sent += 1;
            }
            Outcome::ChannelBusy => member.counters.channel_busy += 1,
            Outcome::NoAcknowledgement => member.counters.no_acknowledgement += 1,
            Outcome::Refused => {}
        }
        self.events.push_back(Event::Done { station, handle: sender.handle, at, outcome });
    }
}
