//! How many connections there may be, from their first moment on: whoever says nothing holds a
//! place as well, until patience ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use motemix_coap::Room;

use crate::directory::network_of;

/// Connections at a time, if the system lets the broker have so many files.
pub(super) const MOST: usize = 4096;
/// Bytes that may wait to leave, of all connections.
const MOST_WAITING: usize = 64 << 20;
/// What one IPv4 address, or the first 64 bits of an IPv6 address, may have of both: a sixteenth.
const NETWORKS: usize = 16;

#[derive(Debug)]
struct Taken {
    in_all: usize,
    of_networks: HashMap<IpAddr, OfNetwork>,
    refused: u64,
    foreign: u64,
}

#[derive(Debug)]
struct OfNetwork {
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
        let taken = Taken { in_all: 0, of_networks: HashMap::new(), refused: 0, foreign: 0 };
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
        // Everything on this machine is one network, whatever its addresses.
        let network = if address.is_loopback() { address } else { network_of(address) };
        let mut taken = self.taken();
        let of_network = taken.of_networks.get(&network).map_or(0, |of_network| of_network.connections);
        if taken.in_all >= self.most || of_network >= (self.most / NETWORKS).max(1) {
            taken.refused += 1;
            return None;
        }
        taken.in_all += 1;
        let fresh = || OfNetwork { connections: 0, room: self.room.share(MOST_WAITING / NETWORKS) };
        let of_network = taken.of_networks.entry(network).or_insert_with(fresh);
        of_network.connections += 1;
        let room = of_network.room.clone();
        Some(Place { places: self.clone(), share: Share { network, room } })
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

/// What a connection shares with others of its network.
#[derive(Debug, Clone)]
pub(super) struct Share {
    pub(super) network: IpAddr,
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
        let network = self.share.network;
        if let Some(of_network) = taken.of_networks.get_mut(&network) {
            of_network.connections -= 1;
            if of_network.connections == 0 {
                taken.of_networks.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_has_a_sixteenth_and_all_together_what_there_is() {
        const MOST_OF_A_NETWORK: usize = MOST / NETWORKS;
        let places = Places::new(MOST);
        let from = |network: usize, host: usize| -> IpAddr {
            format!("2001:db8:0:{network:x}::{host:x}").parse().unwrap()
        };
        let mut held: Vec<_> = (0..300).filter_map(|host| places.take(from(1, host))).collect();
        assert_eq!((held.len(), places.refused()), (MOST_OF_A_NETWORK, 300 - MOST_OF_A_NETWORK as u64));
        for network in 2..40 {
            held.extend((0..300).filter_map(|host| places.take(from(network, host))));
        }
        assert_eq!(held.len(), MOST);
        assert!(places.take(from(100, 1)).is_none());
        drop(held);
        assert!(places.take(from(1, 1)).is_some());
        assert!(places.taken().of_networks.is_empty());
    }
}
