//! Datagrams on their way in and out, in memory that is reused.

use std::io::{IoSlice, IoSliceMut};
use std::net::SocketAddr;

/// The most datagrams that one system call moves.
///
/// A batch of packets is processed as one, so it bounds for how long packets that have become due
/// wait for arriving ones: about two milliseconds.
pub const BATCH: usize = 32;

/// Room for one batch of arriving datagrams.
///
/// Each slot is one byte longer than a packet, so that a longer datagram shows as such instead of
/// being cut to the right length.
#[derive(Debug)]
pub struct Batch {
    slot_len: usize,
    bytes: Vec<u8>,
    /// `None` where no datagram arrived, or where it has been dropped.
    lens: [Option<usize>; BATCH],
    /// Where the datagrams came from, as far as the link says.
    sources: [Option<SocketAddr>; BATCH],
}

impl Batch {
    /// Room for packets of `packet_len` bytes.
    pub fn new(packet_len: usize) -> Self {
        let slot_len = packet_len + 1;
        Self { slot_len, bytes: vec![0; slot_len * BATCH], lens: [None; BATCH], sources: [None; BATCH] }
    }

    /// How many datagrams there are.
    pub fn len(&self) -> usize {
        self.lens.iter().flatten().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lens.iter().all(Option::is_none)
    }

    /// The datagrams, in the order of arrival. One that is longer than a packet is cut to one byte
    /// more.
    pub fn datagrams(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.bytes
            .chunks_exact_mut(self.slot_len)
            .zip(&self.lens)
            .filter_map(|(slot, len)| slot.get_mut(..(*len)?))
    }

    /// The datagrams with the addresses that they came from, where the link says them.
    pub fn with_sources(&mut self) -> impl Iterator<Item = (Option<SocketAddr>, &mut [u8])> {
        self.bytes
            .chunks_exact_mut(self.slot_len)
            .zip(&self.lens)
            .zip(&self.sources)
            .filter_map(|((slot, len), source)| Some((*source, slot.get_mut(..(*len)?)?)))
    }

    /// Drops the datagrams for which `keep` says no.
    pub fn retain(&mut self, mut keep: impl FnMut() -> bool) {
        for len in self.lens.iter_mut().filter(|len| len.is_some()) {
            if !keep() {
                *len = None;
            }
        }
    }

    /// Puts what `open` makes of each datagram, in its place, where the datagram was, and drops it
    /// if that is nothing.
    pub fn open_each(
        &mut self,
        mut open: impl FnMut(Option<SocketAddr>, &mut [u8]) -> Option<(usize, SocketAddr)>,
    ) {
        let slots = self.bytes.chunks_exact_mut(self.slot_len);
        for ((slot, len), source) in slots.zip(&mut self.lens).zip(&mut self.sources) {
            let Some(datagram) = len.take().and_then(|len| slot.get_mut(..len)) else { continue };
            if let Some((opened, from)) = open(*source, datagram) {
                (*len, *source) = (Some(opened), Some(from));
            }
        }
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.lens = [None; BATCH];
        self.sources = [None; BATCH];
    }

    /// Fills the batch by calls to `next`, which writes one datagram and tells its length, until it
    /// has no more.
    pub(super) fn fill(&mut self, mut next: impl FnMut(&mut [u8]) -> Option<usize>) -> usize {
        self.clear();
        let slots = self.bytes.chunks_exact_mut(self.slot_len).zip(&mut self.lens);
        slots.map_while(|(slot, len)| Some(len.insert(next(slot)?))).count()
    }

    pub(super) fn slots(&mut self) -> [[IoSliceMut<'_>; 1]; BATCH] {
        let mut slots = self.bytes.chunks_exact_mut(self.slot_len);
        std::array::from_fn(|_| [IoSliceMut::new(slots.next().unwrap_or_default())])
    }

    /// Tells the length and the source of each datagram that was written into [`Batch::slots`].
    pub(super) fn set_arrived(
        &mut self,
        arrived: impl Iterator<Item = (usize, Option<SocketAddr>)>,
    ) -> usize {
        self.clear();
        let places = self.lens.iter_mut().zip(&mut self.sources);
        places.zip(arrived).map(|((len, from), arrived)| (*len, *from) = (Some(arrived.0), arrived.1)).count()
    }
}

/// One datagram to send.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// Where to.
    pub to: SocketAddr,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl<'a> Outgoing<'a> {
    pub(super) fn slice(&self) -> [IoSlice<'a>; 1] {
        [IoSlice::new(self.bytes)]
    }
}

/// Room for one batch of departing datagrams.
#[derive(Debug)]
pub struct Outbox {
    packet_len: usize,
    bytes: Vec<u8>,
    entries: Vec<(SocketAddr, usize)>,
}

impl Outbox {
    /// Room for packets of `packet_len` bytes.
    pub fn new(packet_len: usize) -> Self {
        Self { packet_len, bytes: vec![0; packet_len * BATCH], entries: Vec::with_capacity(BATCH) }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether nothing more fits.
    pub fn is_full(&self) -> bool {
        self.entries.len() == BATCH
    }

    /// The memory for the next datagram, of one packet's length; `None` if the outbox is full.
    pub fn next_slot(&mut self) -> Option<&mut [u8]> {
        self.bytes.chunks_exact_mut(self.packet_len).nth(self.entries.len())
    }

    /// Adds what has been written into [`Outbox::next_slot`]; nothing happens if the outbox is
    /// full.
    pub fn push(&mut self, to: SocketAddr, len: usize) {
        if !self.is_full() {
            self.entries.push((to, len.min(self.packet_len)));
        }
    }

    /// The datagrams that wait.
    pub fn datagrams(&self) -> impl Iterator<Item = Outgoing<'_>> + Clone {
        let slots = self.bytes.chunks_exact(self.packet_len);
        slots.zip(&self.entries).map(|(slot, &(to, len))| Outgoing { to, bytes: &slot[..len] })
    }

    /// Empties the outbox.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}
