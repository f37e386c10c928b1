//! How many connections there may be, from their first moment on: whoever says nothing holds a
//! place as well, until patience ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::directory::network_of;

/// Connections at a time; one IPv4 address, or the first 64 bits of an IPv6 address, may have a
/// sixteenth of them.
pub(super) const MOST: usize = 4096;
pub(super) const MOST_OF_A_NETWORK: usize = MOST / 16;

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    of_networks: HashMap<IpAddr, usize>,
    refused: u64,
}

/// Places of connections.
#[derive(Debug, Clone, Default)]
pub(super) struct Places(Arc<Mutex<Taken>>);

impl Places {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from there, if there is one.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        // Everything on this machine is one network, whatever its addresses.
        let network = if address.is_loopback() { address } else { network_of(address) };
        let mut taken = self.taken();
        let of_network = taken.of_networks.get(&network).copied().unwrap_or_default();
        if taken.in_all >= MOST || of_network >= MOST_OF_A_NETWORK {
            taken.refused += 1;
            return None;
        }
        taken.in_all += 1;
        taken.of_networks.insert(network, of_network + 1);
        Some(Place { places: self.clone(), network })
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
    network: IpAddr,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.in_all -= 1;
        if let Some(count) = taken.of_networks.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                taken.of_networks.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_has_a_sixteenth_and_all_together_what_there_is() {
        let places = Places::default();
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
