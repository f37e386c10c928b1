//! Packets that wait: for their delay to pass, for the application's reply, for a tick of the
//! payload stream.

use core::mem;

use motemix_sphinx::{Forward, Message, MessageId, NodeId, Profile, TurnKey};

use crate::Instant;
use crate::event::ReceiptToken;
use crate::storage::Empty;

/// No slot, or no place in the heap.
const NONE: u32 = u32::MAX;

/// Room for one packet that waits.
pub struct PacketSlot<P: Profile> {
    packet: P::Packet,
    contents: Contents,
    due: Instant,
    /// Where in the heap this slot's number is.
    place: u32,
    /// The next slot of the free list, of the arrivals, or of those that wait for a tick.
    next: u32,
    /// Counts uses, so that a token of an earlier use is recognised.
    generation: u32,
}

impl<P: Profile> PacketSlot<P> {
    /// An empty slot.
    pub const fn new() -> Self {
        // Nothing but zeros, see `Empty`; the queue gives each slot its place.
        Self {
            packet: P::PACKET,
            contents: Contents::Free,
            due: Instant::from_micros(0),
            place: 0,
            next: 0,
            generation: 0,
        }
    }
}

impl<P: Profile> Empty for PacketSlot<P> {
    const EMPTY: Self = Self::new();
}

impl<P: Profile> Default for PacketSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

// The number of what it is has a byte of its own, so that nothing is all zeros.
#[repr(u8)]
enum Contents {
    Free,
    /// Due means: send it.
    Leaving(NodeId),
    /// Turned round. Due means: its delay is over, and it may take a tick of the payload stream.
    Turned(NodeId),
    /// Due means: the application did not reply.
    Received(Receipt),
    /// Waits to be polled, and for nothing else.
    Delivered(Arrival),
}

/// A message as it lies in its packet.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) id: MessageId,
    /// Bytes of its data: less than a packet's.
    len: u16,
}

impl Arrival {
    pub(crate) const fn of(message: &Message<'_>) -> Self {
        Self { id: message.id, len: message.data.len() as u16 }
    }
}

/// A received message and what its reply needs. Aligned to four bytes, so that the number before it
/// takes four and not eight of each slot.
#[repr(C, packed(4))]
pub(crate) struct Receipt {
    pub(crate) arrival: Arrival,
    pub(crate) turn_key: TurnKey,
    pub(crate) forward: Forward,
    pub(crate) arrived: Instant,
    pub(crate) digest: u64,
    pub(crate) repeated: bool,
}

/// The queue has no room.
pub(crate) struct Full;

/// What has become due.
pub(crate) enum Due<'q> {
    Send(NodeId, &'q [u8]),
    /// The application did not reply in time. The packet waits to be turned round.
    Unanswered(ReceiptToken),
    /// As many turned packets wait for ticks as may; this one was dropped.
    NoTick,
}

/// When packets that were turned round leave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// As soon as their delay is over.
    WhenDue,
    /// On the first tick afterwards that is theirs. At most so many wait for one.
    OnTicks { most: usize },
}

/// Slots and a heap over their numbers, least due first. Each slot knows its place in the heap, so
/// a waiting packet's time can be changed.
pub(crate) struct Queue<'s, P: Profile> {
    slots: &'s mut [PacketSlot<P>],
    heap: &'s mut [u32],
    waiting: usize,
    free: u32,
    first_arrival: u32,
    last_arrival: u32,
    /// Messages that wait for a reply, and packets turned round that have not left.
    turning: usize,
    /// Turned packets whose delay is over, in the order in which they take ticks.
    first_for_tick: u32,
    last_for_tick: u32,
    waiting_for_tick: usize,
}

impl<'s, P: Profile> Queue<'s, P> {
    /// As many packets as the shorter of both slices allows.
    pub(crate) fn new(slots: &'s mut [PacketSlot<P>], heap: &'s mut [u32]) -> Self {
        let capacity = slots.len().min(heap.len()).min(NONE as usize);
        let slots = &mut slots[..capacity];
        for (number, slot) in slots.iter_mut().enumerate() {
            slot.contents = Contents::Free;
            slot.place = NONE;
            slot.next = if number + 1 == capacity { NONE } else { number as u32 + 1 };
        }
        let free = if capacity == 0 { NONE } else { 0 };
        Self {
            slots,
            heap,
            waiting: 0,
            free,
            first_arrival: NONE,
            last_arrival: NONE,
            turning: 0,
            first_for_tick: NONE,
            last_for_tick: NONE,
            waiting_for_tick: 0,
        }
    }

    /// Packets that wait for their time, and how many can.
    pub(crate) const fn occupied(&self) -> (usize, usize) {
        (self.waiting + self.waiting_for_tick, self.slots.len())
    }

    pub(crate) const fn has_room(&self) -> bool {
        self.free != NONE
    }

    /// Queues what `write` writes, for `to` at `due`.
    pub(crate) fn leave(
        &mut self,
        due: Instant,
        to: NodeId,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        self.fill(due, Contents::Leaving(to), write)
    }

    fn fill(&mut self, due: Instant, contents: Contents, write: impl FnOnce(&mut [u8])) -> Result<(), Full> {
        let number = self.allocate()?;
        let slot = &mut self.slots[number as usize];
        write(slot.packet.as_mut());
        slot.contents = contents;
        self.schedule(number, due);
        Ok(())
    }

    /// Whether one more packet to be turned round finds a place. Those that wait for ticks leave
    /// half of the places to what is forwarded.
    pub(crate) const fn has_room_to_turn(&self, leave: Leave) -> bool {
        self.has_room() && (matches!(leave, Leave::WhenDue) || self.turning < self.slots.len().div_ceil(2))
    }

    /// Keeps a message for the application, which has until `due` to reply.
    pub(crate) fn receive(&mut self, due: Instant, packet: &[u8], receipt: Receipt) -> Result<(), Full> {
        let number = self.keep(packet, Contents::Received(receipt))?;
        self.turning += 1;
        self.schedule(number, due);
        Ok(())
    }

    /// Queues what `write` writes, a packet that was turned round at once.
    pub(crate) fn turn(
        &mut self,
        due: Instant,
        to: NodeId,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        self.fill(due, Contents::Turned(to), write)?;
        self.turning += 1;
        Ok(())
    }

    /// Lets the turned packet that has waited longest for a tick leave. `false` if none waits.
    pub(crate) fn take_tick(&mut self, now: Instant) -> bool {
        let number = self.first_for_tick;
        let Some(slot) = self.slots.get_mut(number as usize) else { return false };
        self.first_for_tick = slot.next;
        if self.first_for_tick == NONE {
            self.last_for_tick = NONE;
        }
        self.waiting_for_tick -= 1;
        self.turning -= 1;
        if let Contents::Turned(to) = slot.contents {
            slot.contents = Contents::Leaving(to);
        }
        self.schedule(number, now);
        true
    }

    /// Keeps a message without a way to reply until it is polled.
    pub(crate) fn deliver(&mut self, packet: &[u8], arrival: Arrival) -> Result<(), Full> {
        self.keep(packet, Contents::Delivered(arrival)).map(drop)
    }

    fn keep(&mut self, packet: &[u8], contents: Contents) -> Result<u32, Full> {
        let number = self.allocate()?;
        let slot = &mut self.slots[number as usize];
        slot.packet.as_mut().copy_from_slice(packet);
        slot.contents = contents;
        slot.next = NONE;
        match self.last_arrival {
            NONE => self.first_arrival = number,
            last => self.slots[last as usize].next = number,
        }
        self.last_arrival = number;
        Ok(number)
    }

    /// The next message that the application has not seen.
    pub(crate) fn next_arrival(&mut self) -> Option<Polled<'_>> {
        let number = self.first_arrival;
        if number == NONE {
            return None;
        }
        self.first_arrival = self.slots[number as usize].next;
        if self.first_arrival == NONE {
            self.last_arrival = NONE;
        }
        if let Contents::Delivered(arrival) = self.slots[number as usize].contents {
            self.release(number);
            return Some(Polled::Delivered(arrival, data::<P>(&self.slots[number as usize].packet, arrival)));
        }
        let slot = &self.slots[number as usize];
        let Contents::Received(receipt) = &slot.contents else { return None };
        let token = ReceiptToken { slot: number, generation: slot.generation };
        let data = data::<P>(&slot.packet, receipt.arrival);
        Some(Polled::Received { token, id: receipt.arrival.id, data, repeated: receipt.repeated })
    }

    /// The message that a token names, if it still waits, and its packet.
    pub(crate) fn receipt(&mut self, token: ReceiptToken) -> Option<&Receipt> {
        match &self.slots.get(token.slot as usize)?.contents {
            Contents::Received(receipt) if self.slots[token.slot as usize].generation == token.generation => {
                Some(receipt)
            }
            _ => None,
        }
    }

    /// Turns a received message into a packet that leaves: `reply` writes it, and says when it is
    /// due.
    pub(crate) fn turn_round(
        &mut self,
        token: ReceiptToken,
        reply: impl FnOnce(&mut [u8], Receipt) -> (NodeId, Instant),
    ) {
        let slot = &mut self.slots[token.slot as usize];
        if let Contents::Received(receipt) = mem::replace(&mut slot.contents, Contents::Free) {
            let (to, due) = reply(slot.packet.as_mut(), receipt);
            slot.contents = Contents::Turned(to);
            slot.generation = slot.generation.wrapping_add(1);
            self.reschedule(token.slot, due);
        }
    }

    /// What is due first, if it is due by `now`. A packet leaves the queue, a message stays for
    /// [`turn_round`](Self::turn_round).
    pub(crate) fn pop_due(&mut self, now: Instant, leave: Leave) -> Option<Due<'_>> {
        loop {
            let number = *self.heap[..self.waiting].first()?;
            let slot = &self.slots[number as usize];
            if slot.due > now {
                return None;
            }
            let to = match slot.contents {
                Contents::Leaving(to) => to,
                Contents::Turned(to) => match leave {
                    Leave::WhenDue => {
                        self.turning -= 1;
                        to
                    }
                    Leave::OnTicks { most } if self.waiting_for_tick < most => {
                        self.unschedule(number);
                        self.wait_for_tick(number);
                        continue;
                    }
                    Leave::OnTicks { .. } => {
                        self.turning -= 1;
                        self.unschedule(number);
                        self.release(number);
                        return Some(Due::NoTick);
                    }
                },
                Contents::Received(_) => {
                    let token = ReceiptToken { slot: number, generation: slot.generation };
                    self.forget_arrival(number);
                    return Some(Due::Unanswered(token));
                }
                Contents::Free | Contents::Delivered(_) => {
                    self.unschedule(number);
                    continue;
                }
            };
            self.unschedule(number);
            self.release(number);
            return Some(Due::Send(to, self.slots[number as usize].packet.as_ref()));
        }
    }

    fn wait_for_tick(&mut self, number: u32) {
        self.slots[number as usize].next = NONE;
        match self.last_for_tick {
            NONE => self.first_for_tick = number,
            last => self.slots[last as usize].next = number,
        }
        self.last_for_tick = number;
        self.waiting_for_tick += 1;
    }

    /// When the first packet is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.heap[..self.waiting].first().map(|number| self.slots[*number as usize].due)
    }

    fn allocate(&mut self) -> Result<u32, Full> {
        let number = self.free;
        let slot = self.slots.get_mut(number as usize).ok_or(Full)?;
        self.free = slot.next;
        Ok(number)
    }

    fn release(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        slot.contents = Contents::Free;
        slot.generation = slot.generation.wrapping_add(1);
        slot.next = self.free;
        self.free = number;
    }

    /// Takes a message that expired before it was polled out of the arrivals.
    fn forget_arrival(&mut self, number: u32) {
        let after = self.slots[number as usize].next;
        let (mut at, mut before) = (self.first_arrival, NONE);
        while at != NONE && at != number {
            before = at;
            at = self.slots[at as usize].next;
        }
        if at == NONE {
            return;
        }
        if before == NONE {
            self.first_arrival = after;
        } else {
            self.slots[before as usize].next = after;
        }
        if after == NONE {
            self.last_arrival = before;
        }
    }

    fn schedule(&mut self, number: u32, due: Instant) {
        let place = self.waiting;
        self.heap[place] = number;
        self.waiting += 1;
        let slot = &mut self.slots[number as usize];
        slot.due = due;
        slot.place = place as u32;
        self.rise(place);
    }

    fn reschedule(&mut self, number: u32, due: Instant) {
        self.unschedule(number);
        self.schedule(number, due);
    }

    fn unschedule(&mut self, number: u32) {
        let place = mem::replace(&mut self.slots[number as usize].place, NONE);
        if place == NONE {
            return;
        }
        self.waiting -= 1;
        let moved = self.heap[self.waiting];
        if moved != number {
            self.put(place as usize, moved);
            self.rise(place as usize);
            self.sink(self.slots[moved as usize].place as usize);
        }
    }

    fn due_at(&self, place: usize) -> Instant {
        self.slots[self.heap[place] as usize].due
    }

    fn put(&mut self, place: usize, number: u32) {
        self.heap[place] = number;
        self.slots[number as usize].place = place as u32;
    }

    fn swap(&mut self, a: usize, b: usize) {
        let (at_a, at_b) = (self.heap[a], self.heap[b]);
        self.put(a, at_b);
        self.put(b, at_a);
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.due_at(place) < self.due_at((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.waiting);
            match children.min_by_key(|child| self.due_at(*child)) {
                Some(child) if self.due_at(child) < self.due_at(place) => {
                    self.swap(place, child);
                    place = child;
                }
                _ => return,
            }
        }
    }
}

/// A message for the application.
pub(crate) enum Polled<'q> {
    Received { token: ReceiptToken, id: MessageId, data: &'q [u8], repeated: bool },
    Delivered(Arrival, &'q [u8]),
}

fn data<P: Profile>(packet: &P::Packet, arrival: Arrival) -> &[u8] {
    &packet.as_ref()[P::GEOMETRY.data(arrival.len.into())]
}
