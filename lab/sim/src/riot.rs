//! The thesis' mote: RIOT 2023.01's network stack, and Sphinx as a thread on it.
//!
//! It is a model of what the sources of RIOT and of the thesis say, thread by thread:
//!
//! ```text
//! antenna ─ interface ─ 6LoWPAN ─ IPv6 ─ UDP ─ socket's box ─ sphinx        each arrow a queue, each packet in the packet buffer
//!    reads, spins ┘    cuts, puts together                     └ computes for seconds; all threads to the left go on
//! ```
//!
//! Not modelled: neighbour discovery and router advertisements (addresses follow from the frames',
//! RFC 6775 section 8.1.3), holes in the packet buffer, the shell's own time.

mod buffer;
mod costs;
mod cpu;
mod fragment;
mod packet;
mod reassembly;
mod sphinx;

pub(crate) use costs::Costs;
pub(crate) use fragment::address;
pub(crate) use packet::MAX_HOPS;
pub(crate) use sphinx::Sphinx;

use crate::device::{Antenna, Device};
use crate::meter::Meter;
use crate::scenario::Riot;
use buffer::Buffer;
use cpu::{Cpu, Thread};
use fragment::{Fragment, HEADERS};
use motemix_air::Instant;
use motemix_link::radio::Transceiver;
use motemix_link::serial::{MAX_FRAME, Outcome};
use packet::Packet;
use reassembly::{Added, Reassembly};
use std::collections::VecDeque;
use std::time::Duration;

/// Frames that the transceiver keeps until they are read.
const FRAMES: usize = 1;

/// A datagram between two threads.
#[derive(Clone, Copy)]
struct Datagram {
    /// The neighbour that it is for or from.
    neighbour: u16,
    size: u16,
    packet: Packet,
}

/// A message to a thread.
#[derive(Clone, Copy)]
enum Work {
    /// The interface: take the frame out of the transceiver.
    Read,
    /// The interface: give the transceiver a frame.
    Load(Fragment),
    /// 6LoWPAN: a frame has come.
    Assemble(Fragment),
    /// 6LoWPAN: cut this.
    Cut(Datagram),
    /// 6LoWPAN, to itself: the next fragment.
    CutOn,
    Up(Datagram),
    Down(Datagram),
    /// Sphinx computes.
    Compute,
}

/// What is being cut.
struct Cutting {
    datagram: Datagram,
    tag: u16,
    offset: u16,
}

/// What the transceiver is at.
enum Radio {
    Idle,
    Sends { frame: Fragment, tries: u8 },
}

/// The thesis' mote.
pub(crate) struct Mote {
    me: u16,
    settings: Riot,
    antenna: Antenna,
    radio: Radio,
    sequence: u8,
    cpu: Cpu,
    at: [Option<Work>; Thread::ALL.len()],
    queues: [VecDeque<Work>; Thread::ALL.len()],
    rooms: [usize; Thread::ALL.len()],
    buffer: Buffer,
    reassembly: Reassembly,
    cutting: Vec<Cutting>,
    tag: u16,
    payload: u16,
    sphinx: Sphinx,
    meter: Meter,
}

impl Mote {
    /// A mote whose packets are of `payload` bytes.
    pub fn new(me: u16, settings: &Riot, payload: u16, sphinx: Sphinx) -> Self {
        let rooms =
            [settings.interface_queue, settings.sixlowpan_queue, settings.ipv6_queue, settings.udp_queue, 0]
                .map(usize::from);
        Self {
            me,
            settings: settings.clone(),
            antenna: Antenna::new(FRAMES),
            radio: Radio::Idle,
            sequence: 0,
            cpu: Cpu::default(),
            at: [None; Thread::ALL.len()],
            queues: rooms.map(|room| VecDeque::with_capacity(room.min(64))),
            rooms,
            buffer: Buffer::new(settings.packet_buffer, settings.part, settings.interface_header),
            reassembly: Reassembly::new(settings),
            cutting: Vec::with_capacity(settings.fragmentation.into()),
            tag: 0,
            payload,
            sphinx,
            meter: Meter::default(),
        }
    }

    /// What was counted.
    pub fn meter(&self) -> Meter {
        let mut meter = self.meter.clone();
        meter.computed = self.cpu.computed;
        meter.drop("riot: transceiver's buffer taken", self.antenna.overrun());
        meter
    }

    /// A frame arrived, or the one that was sent is through.
    fn hear(&mut self) {
        let Some(outcome) = self.antenna.poll_outcome() else { return };
        let Radio::Sends { frame, tries } = self.radio else { return };
        self.radio = Radio::Idle;
        if outcome == Outcome::ChannelBusy && tries < self.settings.requeue {
            self.transmit(frame, tries + 1);
        } else if !self.must_load() {
            self.antenna.listen(true);
        }
    }

    fn transmit(&mut self, frame: Fragment, tries: u8) {
        let mut bytes = [0; MAX_FRAME];
        let len = frame.write(self.sequence, &mut bytes);
        self.antenna.transmit(bytes.get(..len).unwrap_or_default());
        self.radio = Radio::Sends { frame, tries };
    }

    /// What a thread does next, and how long it takes.
    fn begin(&mut self, thread: Thread, now: Instant) -> Option<(Work, Duration)> {
        if thread == Thread::Sphinx {
            let time = self.sphinx.begin(now, &mut self.buffer, &mut self.meter)?;
            return Some((Work::Compute, time));
        }
        let frame = self.settings.frame.0;
        let datagram = self.settings.datagram.0;
        if thread == Thread::Interface
            && let Some(bytes) = self.antenna.waiting()
        {
            return Some((Work::Read, frame + self.transfer(bytes)));
        }
        let work = self.queues[thread as usize].pop_front()?;
        let time = match &work {
            Work::Load(fragment) => {
                // The driver lets the transceiver finish what it receives, and takes it into
                // `TX_ARET_ON`.
                self.antenna.listen(!self.settings.deaf_until_sent);
                frame + self.transfer(fragment.frame_len())
            }
            Work::Read | Work::Assemble(_) | Work::CutOn => frame,
            Work::Cut(_) | Work::Up(_) | Work::Down(_) | Work::Compute => datagram,
        };
        Some((work, time))
    }

    fn transfer(&self, bytes: usize) -> Duration {
        self.settings.transfer.0 * u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Whether the interface's thread has a frame and the transceiver is still at the one before.
    fn must_wait(&self, thread: Thread) -> bool {
        thread == Thread::Interface && matches!(self.radio, Radio::Sends { .. }) && self.must_load()
    }

    /// Whether what the interface's thread does next is to give the transceiver a frame.
    fn must_load(&self) -> bool {
        let interface = Thread::Interface as usize;
        self.at[interface].is_none()
            && self.antenna.waiting().is_none()
            && matches!(self.queues[interface].front(), Some(Work::Load(_)))
    }

    /// Lets the first thread run that can. Returns when something is due, if nothing happens
    /// before.
    fn schedule(&mut self, now: Instant) -> Option<Instant> {
        'threads: loop {
            for thread in Thread::ALL {
                if self.must_wait(thread) {
                    if self.settings.spins {
                        self.cpu.run(None);
                        return None;
                    }
                    continue;
                }
                if self.at[thread as usize].is_none() {
                    let Some((work, time)) = self.begin(thread, now) else { continue };
                    self.at[thread as usize] = Some(work);
                    self.cpu.begin(thread, time);
                }
                let left = self.cpu.left(thread).unwrap_or_default();
                if !left.is_zero() {
                    self.cpu.run(Some(thread));
                    return Some(now + left);
                }
                self.cpu.finish(thread);
                if let Some(work) = self.at[thread as usize].take() {
                    self.finish(thread, work, now);
                }
                continue 'threads;
            }
            self.cpu.run(None);
            return self.sphinx.looks_at();
        }
    }

    /// Puts a message into a thread's queue; whether there was room.
    fn post(&mut self, thread: Thread, work: Work) -> bool {
        let queue = &mut self.queues[thread as usize];
        let room = queue.len() < self.rooms[thread as usize];
        if room {
            queue.push_back(work);
        }
        room
    }

    fn finish(&mut self, thread: Thread, work: Work, now: Instant) {
        match work {
            Work::Read => self.read(),
            Work::Load(fragment) => {
                self.sequence = self.sequence.wrapping_add(1);
                self.transmit(fragment, 0);
                self.buffer.give(self.buffer.frame(fragment.payload_len()));
            }
            Work::Assemble(fragment) => self.assemble(now, &fragment),
            Work::Cut(datagram) => self.cut(datagram),
            Work::CutOn => self.cut_on(),
            Work::Up(datagram) => self.up(thread, datagram),
            Work::Down(datagram) => self.down(thread, datagram),
            Work::Compute => {
                if let Some(letter) = self.sphinx.finish(now, &mut self.meter) {
                    let size = self.payload + HEADERS;
                    let datagram = Datagram { neighbour: letter.to, size, packet: letter.packet };
                    if self.buffer.take(self.buffer.datagram(size)) {
                        self.hand_down(Thread::Udp, datagram);
                    } else {
                        self.meter.drop("riot: packet buffer full, datagram not sent", 1);
                    }
                }
            }
        }
    }

    fn read(&mut self) {
        let mut bytes = [0; MAX_FRAME];
        let Some(len) = self.antenna.receive(&mut bytes) else { return };
        let Some(fragment) = Fragment::read(bytes.get(..len).unwrap_or_default()) else {
            self.meter.drop("riot: not understood", 1);
            return;
        };
        let held = self.buffer.frame(fragment.payload_len());
        if !self.buffer.take(held) {
            self.meter.drop("riot: packet buffer full, frame not read", 1);
        } else if !self.post(Thread::Sixlowpan, Work::Assemble(fragment)) {
            self.buffer.give(held);
            self.meter.drop("riot: 6LoWPAN's queue full, frame", 1);
        }
    }

    fn assemble(&mut self, now: Instant, fragment: &Fragment) {
        let held = self.buffer.frame(fragment.payload_len());
        if fragment.len == fragment.size {
            // No fragment, but a datagram of its own: its headers are spelt out again.
            self.buffer.give(held);
            if let Some(packet) = fragment.packet {
                let room = self.buffer.take(self.buffer.datagram(fragment.size));
                self.complete(fragment.from, fragment.size, packet, room);
            }
            return;
        }
        self.collect(now);
        if let Some(size) = self.reassembly.make_place(fragment) {
            self.buffer.give(self.buffer.incomplete(size));
            self.meter.drop("riot: reassembly given up for a newer one", 1);
        }
        let mut refused = false;
        let buffer = &mut self.buffer;
        let added = self.reassembly.add(now, fragment, |size| {
            let room = buffer.take(buffer.incomplete(size));
            refused = !room;
            room
        });
        self.buffer.give(held);
        match added {
            Added::Begun | Added::Continued => {}
            Added::Full if refused => self.meter.drop("riot: packet buffer full, no reassembly", 1),
            Added::Full => self.meter.drop("riot: reassembly full", 1),
            Added::Complete(from, packet) => {
                self.buffer.give(self.buffer.incomplete(fragment.size));
                let room = self.buffer.take(self.buffer.datagram(fragment.size));
                self.complete(from, fragment.size, packet, room);
            }
        }
    }

    fn complete(&mut self, from: u16, size: u16, packet: Packet, room: bool) {
        if !room {
            self.meter.drop("riot: packet buffer full, datagram", 1);
        } else if !self.post(Thread::Ipv6, Work::Up(Datagram { neighbour: from, size, packet })) {
            self.buffer.give(self.buffer.datagram(size));
            self.meter.drop("riot: IPv6's queue full", 1);
        }
    }

    fn up(&mut self, thread: Thread, datagram: Datagram) {
        let (room, reason) = if thread == Thread::Ipv6 {
            (self.post(Thread::Udp, Work::Up(datagram)), "riot: UDP's queue full")
        } else {
            (self.sphinx.arrived(datagram.packet), "riot: socket's box full")
        };
        if !room {
            self.buffer.give(self.buffer.datagram(datagram.size));
            self.meter.drop(reason, 1);
        }
    }

    fn down(&mut self, thread: Thread, datagram: Datagram) {
        if thread == Thread::Udp {
            self.hand_down(Thread::Ipv6, datagram);
        } else if !self.post(Thread::Sixlowpan, Work::Cut(datagram)) {
            self.buffer.give(self.buffer.datagram(datagram.size));
            self.meter.drop("riot: 6LoWPAN's queue full, datagram", 1);
        }
    }

    fn hand_down(&mut self, thread: Thread, datagram: Datagram) {
        if !self.post(thread, Work::Down(datagram)) {
            self.buffer.give(self.buffer.datagram(datagram.size));
            let udp = thread == Thread::Udp;
            self.meter.drop(if udp { "riot: UDP's queue full" } else { "riot: IPv6's queue full" }, 1);
        }
    }

    fn cut(&mut self, datagram: Datagram) {
        if self.cutting.len() >= usize::from(self.settings.fragmentation) {
            self.buffer.give(self.buffer.datagram(datagram.size));
            self.meter.drop("riot: fragmentation buffer taken", 1);
            return;
        }
        self.tag = self.tag.wrapping_add(1);
        self.cutting.push(Cutting { datagram, tag: self.tag, offset: 0 });
        self.cut_on();
    }

    /// Sends the next fragment, and itself a message to go on. What stays unsent after a failure is
    /// given up; what the air did to fragments that were sent, nobody asks.
    fn cut_on(&mut self) {
        if self.cutting.is_empty() {
            return;
        }
        let Cutting { datagram, tag, offset } = self.cutting.remove(0);
        let len = fragment::cut(self.payload, offset);
        if len == 0 || offset >= datagram.size {
            self.buffer.give(self.buffer.datagram(datagram.size));
            return;
        }
        let fragment = Fragment {
            from: self.me,
            to: datagram.neighbour,
            tag,
            size: datagram.size,
            offset,
            len,
            packet: (offset == 0).then_some(datagram.packet),
        };
        let held = self.buffer.frame(fragment.payload_len());
        let failure = if !self.buffer.take(held) {
            Some("riot: packet buffer full, fragment not sent")
        } else if !self.post(Thread::Interface, Work::Load(fragment)) {
            self.buffer.give(held);
            // RIOT drops the fragment and goes on with the next.
            self.meter.drop("riot: interface's queue full", 1);
            None
        } else {
            None
        };
        let going_on = failure.is_none() && self.post(Thread::Sixlowpan, Work::CutOn);
        if going_on {
            self.cutting.push(Cutting { datagram, tag, offset: offset + len });
        } else {
            self.buffer.give(self.buffer.datagram(datagram.size));
            self.meter.drop(failure.unwrap_or("riot: 6LoWPAN's queue full, fragment"), 1);
        }
    }

    fn collect(&mut self, now: Instant) {
        let (buffer, meter) = (&mut self.buffer, &mut self.meter);
        self.reassembly.expire(now, |size| {
            buffer.give(buffer.incomplete(size));
            meter.drop("riot: reassembly timeout", 1);
        });
    }
}

impl Device for Mote {
    fn antenna(&mut self) -> &mut Antenna {
        &mut self.antenna
    }

    fn poll(&mut self, now: Instant) -> Option<Instant> {
        self.cpu.advance(now);
        if self.settings.one_buffer
            && matches!(self.radio, Radio::Sends { .. })
            && self.antenna.waiting().is_some()
            && self.at[Thread::Interface as usize].is_none()
        {
            let mut bytes = [0; MAX_FRAME];
            self.antenna.receive(&mut bytes);
            self.meter.drop("riot: frame overwritten by one to send", 1);
        }
        self.hear();
        self.sphinx.ask(now, &mut self.meter);
        if self.reassembly.timer().is_some_and(|timer| timer <= now) {
            self.collect(now);
        }
        let due = self.schedule(now);
        [due, self.sphinx.asked_at(), self.reassembly.timer()].into_iter().flatten().min()
    }
}
