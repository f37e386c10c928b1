//! How many connections there may be, from their first moment on: whoever says nothing holds a
//! place as well, until patience ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motemix_coap::{Room, Source};

/// Connections at a time, if the system lets the broker have so many files.
pub(super) const MOST: usize = 4096;
/// Bytes that may wait to leave, of all connections.
const MOST_WAITING: usize = 64 << 20;
/// What one source may have of both: a sixteenth.
const SOURCES: usize = 16;

#[derive(Debug)]
struct Taken {
    in_all: usize,
    of_sources: HashMap<Source, OfSource>,
    refused: u64,
    foreign: u64,
}

#[derive(Debug)]
struct OfSource {
    connections: usize,
    room: Room,
}

/// Places of connections.
#[derive(Debug, Clone)]
pub(super) struct Places {
    most: usize,
    room: Room,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        let taken = Taken { in_all: 0, of_sources: HashMap::new(), refused: 0, foreign: 0 };
        Self { most, room: Room::new(MOST_WAITING), taken: Arc::new(Mutex::new(taken)) }
    }

    /// How many there are.
    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Bytes that wait to leave, of all connections but those of this machine's socket.
    pub(super) fn waiting(&self) -> usize {
        self.room.taken()
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from there, if there is one.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        let source = Source::of(address);
        let mut taken = self.taken();
        let of_source = taken.of_sources.get(&source).map_or(0, |of_source| of_source.connections);
        if taken.in_all >= self.most || of_source >= (self.most / SOURCES).max(1) {
            taken.refused += 1;
            return None;
        }
        taken.in_all += 1;
        let fresh = || OfSource { connections: 0, room: self.room.share(MOST_WAITING / SOURCES) };
        let of_source = taken.of_sources.entry(source).or_insert_with(fresh);
        of_source.connections += 1;
        let room = of_source.room.clone();
        Some(Place { places: self.clone(), share: Share { source, room } })
    }

    /// A page of somebody else wanted a connection.
    pub(super) fn refuse_foreign(&self) {
        self.taken().foreign += 1;
    }

    /// How many did.
    pub(super) fn foreign(&self) -> u64 {
        self.taken().foreign
    }

    /// Connections for which there was none.
    pub(super) fn refused(&self) -> u64 {
        self.taken().refused
    }
}

/// A connection's place, free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Places,
    share: Share,
}

/// What a connection shares with others of its source.
#[derive(Debug, Clone)]
pub(super) struct Share {
    pub(super) source: Source,
    pub(super) room: Room,
}

impl Place {
    pub(super) fn share(&self) -> Share {
        self.share.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.in_all -= 1;
        let source = self.share.source;
        if let Some(of_source) = taken.of_sources.get_mut(&source) {
            of_source.connections -= 1;
            if of_source.connections == 0 {
                taken.of_sources.remove(&source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_has_a_sixteenth_and_all_together_what_there_is() {
        const MOST_OF_ONE: usize = MOST / SOURCES;
        let places = Places::new(MOST);
        let from = |network: usize, host: usize| -> IpAddr {
            format!("2001:db8:0:{network:x}::{host:x}").parse().unwrap()
        };
        let mut held: Vec<_> = (0..300).filter_map(|host| places.take(from(1, host))).collect();
        assert_eq!((held.len(), places.refused()), (MOST_OF_ONE, 300 - MOST_OF_ONE as u64));
        for network in 2..40 {
            held.extend((0..300).filter_map(|host| places.take(from(network, host))));
        }
        assert_eq!(held.len(), MOST);
        assert!(places.take(from(100, 1)).is_none());
        drop(held);
        assert!(places.take(from(1, 1)).is_some());
        assert!(places.taken().of_sources.is_empty());
    }
}
