//! One channel in the 2.4 GHz band (O-QPSK, 250 kbit/s), unslotted CSMA/CA: IEEE 802.15.4-2006,
//! sections 6.5 and 7.5.
//!
//! A discrete-event model without clock or sockets. The caller says what time it is:
//!
//! 1. [`Channel::join`] the stations, [`Channel::transmit`] frames;
//! 2. take [`Channel::poll_event`] until there is none;
//! 3. wait until [`Channel::poll_timeout`], call [`Channel::handle_timeout`], go to 2.
//!
//! Events are processed at their own times and in order. So a caller that comes late changes only
//! when it hears of them. The same calls with the same seed give the same events.
//!
//! A transmission, in microseconds; `n` is the length with the check sequence:
//!
//! ```text
//! ├─ backoff ─┼─ CCA 128 ─┼─ turn 192 ─┼─ frame 32·(6+n) ─┼─ turn 192 ─┼─ ack 352 ─┼─ gap 192|640 ─┤
//!  320·[0,2^BE)                                           └─ no ack within 864: once more, 3 times
//! ```
//!
//! A radio that sends or turns round hears nothing, nor does one that does not listen. Frames that
//! overlap are lost to all who hear both, unless [`Settings::capture`] is set and one of them is so
//! much stronger than the others. A frame that nothing overlapped is lost to each receiver by
//! itself, with its link's probability. If only the acknowledgement is lost, the frame is sent and
//! delivered again; the caller recognises duplicates. Each station has at most one frame under way,
//! which bounds memory, and the work between two calls.

mod air;
mod counters;
mod link;
mod sender;
mod settings;
mod station;
pub(crate) mod timing;

pub use counters::{Counters, Drops};
pub use link::{Centibels, Link, Loss, Paths};
pub use settings::{Access, Settings};
pub use station::Station;

use crate::Instant;
use crate::frame::{self, Frame, Header, Type};
use air::{Air, Fate, Span, Ticket, Transmission};
use link::Links;
use motemix_link::serial::{ExtendedAddress, Outcome};
use rand_core::Rng as _;
use sender::{Attempt, Next};
use station::{Member, Members};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use timing::{ACKNOWLEDGEMENT_WAIT, ASSESSMENT, LONG_GAP, SHORT_FRAME, SHORT_GAP, TURNAROUND, UNIT_BACKOFF};

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
    /// A transmission ends.
    End(Ticket),
    /// No acknowledgement came.
    WaitedEnough(Station, Attempt),
}

/// One channel and its stations.
pub struct Channel {
    settings: Settings,
    seed: u64,
    now: Instant,
    /// By time, then in the order in which they were put in.
    due: BinaryHeap<Reverse<(Instant, u64, Due)>>,
    order: u64,
    members: Members,
    last_joined: Instant,
    links: Links,
    air: Air,
    /// Those whose frame was on the air and waits for its acknowledgement.
    waiting: Vec<Station>,
    /// Room for the places of those whom a frame may be for.
    candidates: Vec<u16>,
    events: VecDeque<Event>,
}

impl Channel {
    /// An empty channel. All that happens by chance follows from the seed.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self::with_links(settings, seed, Links::new(settings.loss, None))
    }

    /// The same where links that are not set follow from `paths`.
    pub fn on(paths: Box<dyn Paths>, settings: Settings, seed: u64) -> Self {
        Self::with_links(settings, seed, Links::new(settings.loss, Some(paths)))
    }

    fn with_links(settings: Settings, seed: u64, links: Links) -> Self {
        Self {
            settings,
            seed,
            now: Instant::default(),
            due: BinaryHeap::new(),
            order: 0,
            members: Members::default(),
            last_joined: Instant::default(),
            links,
            air: Air::default(),
            waiting: Vec::new(),
            candidates: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// Lets a radio in. It hears frames for its extended address, for the short one that is the
    /// last 15 bits of that, and for all, in any PAN; see [`Channel::set_short_address`] and
    /// [`Channel::set_pan`].
    ///
    /// # Errors
    /// The address is taken, or the channel is full.
    pub fn join(&mut self, now: Instant, address: ExtendedAddress) -> Result<Station, JoinError> {
        if self.members.has(address) {
            return Err(JoinError::AddressInUse);
        }
        self.admit(now, Some(address))
    }

    /// Lets one in that has a MAC of its own, outside: it hears everything, including
    /// acknowledgements, makes none itself, and sends with [`Channel::send_from_outside`].
    ///
    /// # Errors
    /// The channel is full.
    pub fn join_outside(&mut self, now: Instant) -> Result<Station, JoinError> {
        self.admit(now, None)
    }

    fn admit(&mut self, now: Instant, address: Option<ExtendedAddress>) -> Result<Station, JoinError> {
        self.handle_timeout(now);
        let Settings { access, stations, .. } = self.settings;
        let (index, number) = self.members.next_place(stations).ok_or(JoinError::Full)?;
        let mut member = match address {
            Some(address) => Member::radio(address, access, self.seed, number),
            None => Member::outside(access, self.seed, number),
        };
        member.joined = self.now;
        self.last_joined = self.now;
        Ok(self.members.add(index, member))
    }

    /// A station goes. What it has under way ends as refused; what it has on the air stays there.
    pub fn leave(&mut self, now: Instant, station: Station) {
        self.handle_timeout(now);
        self.air.withdraw(self.now, station);
        self.links.forget(station);
        self.waiting.retain(|waiting| *waiting != station);
        let gone = self.members.remove(station);
        if let Some(handle) = gone.and_then(|member| member.sender).map(|sender| sender.handle) {
            self.events.push_back(Event::Done { station, handle, at: self.now, outcome: Outcome::Refused });
        }
    }

    /// Gives a radio a short address; `None` for none.
    pub fn set_short_address(&mut self, station: Station, short: Option<u16>) {
        self.members.set_short_address(station, short);
    }

    /// Makes a radio hear one PAN, and broadcasts to all of them; `None` for any.
    pub fn set_pan(&mut self, station: Station, pan: Option<u16>) {
        if let Some(own) = self.members.get_mut(station).and_then(|member| member.addresses.as_mut()) {
            own.pan = pan;
        }
    }

    /// How a station gets at the channel, from its next frame on.
    pub fn set_access(&mut self, station: Station, access: Access) {
        if let Some(member) = self.members.get_mut(station) {
            member.access = access;
        }
    }

    /// Whether a radio begins to receive what begins from now on; of its own accord, one always
    /// does when it neither sends nor turns round. What it receives already it receives to its end,
    /// and acknowledgements of its own frames all the same.
    ///
    /// Transceivers that do CSMA/CA and retries themselves are deaf for all of that: the AT86RF231
    /// in its state `TX_ARET_ON` (data sheet Atmel 8111C, 7.2.4), which its driver takes it into
    /// and out of.
    pub fn set_listening(&mut self, now: Instant, station: Station, listens: bool) {
        self.handle_timeout(now);
        if let Some(member) = self.members.get_mut(station) {
            member.listen(self.now, listens);
        }
    }

    /// Sets what a station hears of another, also of a frame that is on the air now. The way back
    /// is another link.
    pub fn set_link(&mut self, from: Station, to: Station, link: Link) {
        self.links.set(from, to, link);
    }

    /// A frame to send, without its check sequence. It is refused if it is no frame of version 0 or
    /// 1, if it is an acknowledgement, which are the radio's, or if the station has another one
    /// under way.
    pub fn transmit(&mut self, now: Instant, station: Station, handle: u8, bytes: &[u8]) {
        self.handle_timeout(now);
        let at = self.now;
        let refused = Event::Done { station, handle, at, outcome: Outcome::Refused };
        let Some(member) = self.members.get_mut(station) else {
            self.events.push_back(refused);
            return;
        };
        let next = match frame::read(bytes) {
            Ok((frame, header)) if member.addresses.is_some() && header.kind != Type::Acknowledgement => {
                member.begin(handle, frame, header)
            }
            _ => {
                member.counters.malformed += 1;
                None
            }
        };
        match next {
            Some(attempt) => self.back_off(station, attempt),
            None => self.events.push_back(refused),
        }
    }

    /// A frame of one that joined from outside, without its check sequence: it ends now, and had
    /// the air for its airtime before now. Nobody can have held back for it. It collides with what
    /// is on the air now, and not with what ended before: its true time is not known, and an
    /// acknowledgement would collide with its own frame. Returns whether it is a frame.
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
        let now = self.now;
        let begin = self.air.quiet_before(now - frame.airtime()).max(self.last_joined);
        self.arrived(&Transmission { span: Span { from: station, begin, end: now }, frame, header });
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
                Due::End(ticket) => self.end(ticket),
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
        let Some(member) = self.members.get_mut(station) else { return };
        let Some(sender) = &member.sender else { return };
        let units = member.backoffs.next_u32() & ((1 << sender.exponent) - 1);
        let at = self.now.max(member.free_at) + UNIT_BACKOFF * units + ASSESSMENT;
        self.schedule(at, Due::Assessed(station, attempt));
    }

    fn assessed(&mut self, station: Station, attempt: Attempt) {
        let now = self.now;
        let Some(member) = self.members.sending(station, attempt) else { return };
        member.counters.assessments += 1;
        let busy = member.is_deaf_during(now - ASSESSMENT, now)
            || self.air.is_busy(now, station, &self.links, &self.settings);
        if busy {
            match member.back_off_longer() {
                Next::Again(attempt) => self.back_off(station, attempt),
                Next::GiveUp => self.finish(station, Outcome::ChannelBusy),
            }
            return;
        }
        let Some(sender) = &mut member.sender else { return };
        let (frame, header) = (sender.frame, sender.header);
        member.counters.transmissions += 1;
        member.counters.retries += u64::from(sender.tries > 0);
        self.put_on_air(station, frame, header);
    }

    /// The radio turns round, and sends.
    fn put_on_air(&mut self, from: Station, frame: Frame, header: Header) {
        let begin = self.now + TURNAROUND;
        let end = begin + frame.airtime();
        if let Some(member) = self.members.get_mut(from) {
            member.deafen(self.now, end);
            member.counters.airtime += frame.airtime();
        }
        let ticket = self.air.begin(Transmission { span: Span { from, begin, end }, frame, header });
        self.schedule(end, Due::End(ticket));
    }

    fn end(&mut self, ticket: Ticket) {
        let Some(transmission) = self.air.end(ticket) else { return };
        self.arrived(&transmission);
        if transmission.header.kind != Type::Acknowledgement {
            self.after_own_frame(transmission.span.from, &transmission.header);
        }
    }

    /// The last byte is through; each whom it is for has it or not.
    fn arrived(&mut self, transmission: &Transmission) {
        let Transmission { span, frame, header } = transmission;
        let collided = self.air.is_overlapped(span);
        if collided && let Some(member) = self.members.get_mut(span.from) {
            member.counters.collisions += 1;
        }
        if self.settings.report_air {
            let (from, begin, end) = (span.from, span.begin, span.end);
            self.events.push_back(Event::OnAir { from, begin, end, collided, frame: *frame });
        }
        if header.kind == Type::Acknowledgement {
            for at in (0..self.waiting.len()).rev() {
                if let Some(to) = self.waiting.get(at).copied() {
                    self.acknowledged(transmission, to);
                }
            }
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        self.members.candidates(header.to, &mut candidates);
        for index in candidates.drain(..) {
            self.delivered(transmission, index);
        }
        self.candidates = candidates;
        self.air.remember(self.now, *span);
    }

    /// Whether a transmission has reached a station; if not, why is counted.
    fn reaches(&mut self, transmission: &Transmission, to: Station) -> bool {
        let Some(member) = self.members.get_mut(to) else { return false };
        let fate = self.air.fate(&transmission.span, to, member, &self.links, &self.settings);
        let awaited = transmission.header.kind == Type::Acknowledgement;
        let hears = awaited || member.listened_at(transmission.span.begin);
        let drops = &mut member.counters.drops;
        match fate {
            Fate::Intact | Fate::Collided if !hears => drops.deaf += 1,
            Fate::Silent => return false,
            Fate::Deaf => drops.deaf += 1,
            Fate::Collided => drops.collided += 1,
            Fate::Intact if self.links.get(transmission.span.from, to).loss().strikes(&mut member.losses) => {
                drops.lost += 1;
            }
            Fate::Intact => return true,
        }
        false
    }

    fn acknowledged(&mut self, transmission: &Transmission, to: Station) {
        let awaits = |member: &Member| member.awaits(transmission.header.sequence);
        if self.members.get(to).is_some_and(awaits) && self.reaches(transmission, to) {
            if let Some(member) = self.members.get_mut(to) {
                member.counters.acknowledged += 1;
            }
            self.finish(to, Outcome::Sent);
        }
    }

    fn delivered(&mut self, transmission: &Transmission, index: u16) {
        let Transmission { span, frame, header } = transmission;
        let Some((to, member)) = self.members.with_id(index) else { return };
        let own = member.addresses;
        if to == span.from || own.is_some_and(|own| !own.accept(header)) || !self.reaches(transmission, to) {
            return;
        }
        if let Some(member) = self.members.get_mut(to) {
            member.counters.received += 1;
            let mine = own.is_some_and(|own| own.is_alone_meant(header));
            let acknowledges = mine && header.wants_acknowledgement;
            member.counters.acknowledgements += u64::from(acknowledges);
            self.events.push_back(Event::Delivered { to, from: span.from, at: self.now, frame: *frame });
            if acknowledges {
                let (frame, header) = Frame::acknowledgement(header.sequence);
                self.put_on_air(to, frame, header);
            }
        }
    }

    fn after_own_frame(&mut self, station: Station, header: &Header) {
        let Some(member) = self.members.get_mut(station) else { return };
        let Some(sender) = &mut member.sender else { return };
        if header.wants_acknowledgement {
            sender.awaits = true;
            let attempt = sender.attempt;
            self.waiting.push(station);
            self.schedule(self.now + ACKNOWLEDGEMENT_WAIT, Due::WaitedEnough(station, attempt));
        } else {
            self.finish(station, Outcome::Sent);
        }
    }

    fn waited_enough(&mut self, station: Station, attempt: Attempt) {
        let Some(member) = self.members.sending(station, attempt) else { return };
        self.waiting.retain(|waiting| *waiting != station);
        match member.try_again() {
            Next::Again(attempt) => self.back_off(station, attempt),
            Next::GiveUp => self.finish(station, Outcome::NoAcknowledgement),
        }
    }

    fn finish(&mut self, station: Station, outcome: Outcome) {
        let at = self.now;
        self.waiting.retain(|waiting| *waiting != station);
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
