//! Where fragments become datagrams again: `gnrc_sixlowpan_frag_rb`.

use super::fragment::Fragment;
use super::packet::Packet;
use crate::scenario::Riot;
use motemix_air::Instant;
use std::time::Duration;

/// A datagram of which not all is there.
struct Entry {
    from: u16,
    tag: u16,
    size: u16,
    /// Fragments that are there, a bit for each 96 bytes.
    there: u32,
    has: u16,
    packet: Option<Packet>,
    last: Instant,
}

/// Datagrams of which not all is there.
pub struct Reassembly {
    entries: Vec<Entry>,
    places: usize,
    timeout: Duration,
    overrides: bool,
    /// The one timer; each fragment sets it anew.
    timer: Option<Instant>,
}

/// What became of a fragment, and what that does to the packet buffer.
pub enum Added {
    /// Its datagram has been begun, so there must be room for this many bytes.
    Begun,
    Continued,
    /// Its datagram is complete. The bytes are still taken.
    Complete(u16, Packet),
    /// There was no place.
    Full,
}

impl Reassembly {
    pub fn new(settings: &Riot) -> Self {
        let places = usize::from(settings.reassembly);
        Self {
            entries: Vec::with_capacity(places),
            places,
            timeout: settings.reassembly_timeout.0,
            overrides: settings.override_oldest,
            timer: None,
        }
    }

    /// When [`Self::expire`] has something to do.
    pub fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Gives up what waited too long; says of how many bytes each was.
    pub fn expire(&mut self, now: Instant, mut given_up: impl FnMut(u16)) {
        if self.timer.is_some_and(|timer| timer <= now) {
            self.timer = None;
        }
        let timeout = self.timeout;
        self.entries.retain(|entry| {
            let stays = now - entry.last < timeout;
            if !stays {
                given_up(entry.size);
            }
            stays
        });
    }

    /// Gives up the oldest, if all places are taken and RIOT is set to do so; says of how many
    /// bytes it was.
    pub fn make_place(&mut self, fragment: &Fragment) -> Option<u16> {
        if self.find(fragment).is_some() || self.entries.len() < self.places || !self.overrides {
            return None;
        }
        let oldest = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.last)?.0;
        Some(self.entries.remove(oldest).size)
    }

    fn find(&self, fragment: &Fragment) -> Option<usize> {
        self.entries.iter().position(|entry| {
            entry.from == fragment.from && entry.tag == fragment.tag && entry.size == fragment.size
        })
    }

    /// Adds a fragment, if `room` says that there is room for its datagram where one must be begun.
    pub fn add(&mut self, now: Instant, fragment: &Fragment, room: impl FnOnce(u16) -> bool) -> Added {
        let (index, begun) = match self.find(fragment) {
            Some(index) => (index, false),
            None if self.entries.len() < self.places && room(fragment.size) => {
                let Fragment { from, tag, size, .. } = *fragment;
                self.entries.push(Entry { from, tag, size, there: 0, has: 0, packet: None, last: now });
                (self.entries.len() - 1, true)
            }
            None => return Added::Full,
        };
        self.timer = Some(now + self.timeout);
        let entry = &mut self.entries[index];
        entry.last = now;
        let bit = 1_u32.checked_shl(u32::from(fragment.offset) / 96).unwrap_or(0);
        if entry.there & bit == 0 {
            entry.there |= bit;
            entry.has += fragment.len;
            entry.packet = entry.packet.or(fragment.packet);
        }
        match entry.packet {
            Some(packet) if entry.has == entry.size => {
                let from = entry.from;
                self.entries.swap_remove(index);
                Added::Complete(from, packet)
            }
            _ if begun => Added::Begun,
            _ => Added::Continued,
        }
    }
}
