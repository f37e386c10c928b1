//! The stations of a network on a radio, and this one's own key.

use std::collections::HashSet;
use std::net::Ipv6Addr;

use motemix_crypto::{PublicKey, Secret};
use motemix_directory::Epoch;
use motemix_link::meeting::{Admitted, Neighbourhood, admitted};
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::{interface_of, station_of};

/// What a radio has to know of a network document.
pub struct RadioNetwork {
    /// Where its nodes are, and their mix keys.
    pub nodes: Vec<(Ipv6Addr, PublicKey)>,
    /// The document's epoch.
    pub epoch: Epoch,
    /// This node's mix key of that epoch, if frames are to be protected.
    pub own_key: Option<(Box<Secret<32>>, PublicKey)>,
}

/// The stations of a network document, and of the one before, whose packets are under way.
#[derive(Default)]
pub(super) struct Stations {
    latest: Vec<(ExtendedAddress, Admitted)>,
    interfaces: [HashSet<u64>; 2],
    before: HashSet<ExtendedAddress>,
}

impl Stations {
    /// Takes the next document's stations.
    pub(super) fn follow(&mut self, network: &RadioNetwork) {
        self.before = self.latest.iter().map(|(station, _)| *station).collect();
        let interfaces = network.nodes.iter().filter_map(|(address, _)| interface_of(*address)).collect();
        let [latest, before] = &mut self.interfaces;
        *before = std::mem::replace(latest, interfaces);
        let of = |(address, key): &(Ipv6Addr, PublicKey)| {
            Some((station_of(*address)?, admitted(key.0, network.epoch.0)))
        };
        self.latest = network.nodes.iter().filter_map(of).collect();
    }

    /// Whether a station is named, by its interface identifier.
    pub(super) fn names(&self, interface: u64) -> bool {
        self.interfaces.iter().any(|known| known.contains(&interface))
    }

    pub(super) fn keeps(&self, station: ExtendedAddress) -> bool {
        self.before.contains(&station) || self.latest.iter().any(|(it, _)| *it == station)
    }
}

impl Neighbourhood for Stations {
    fn admitted(&self, station: ExtendedAddress) -> Option<Admitted> {
        self.latest.iter().find(|(it, _)| *it == station).map(|(_, admitted)| *admitted)
    }

    fn station_with(&self, short: [u8; 2]) -> Option<ExtendedAddress> {
        let mut with = self.latest.iter().map(|(station, _)| *station).filter(|it| it.short() == short);
        let station = with.next();
        station.filter(|_| with.next().is_none())
    }

    fn shares_short(&self, station: ExtendedAddress) -> bool {
        let is_other = |it: &ExtendedAddress| *it != station && it.short() == station.short();
        self.latest.iter().any(|(it, _)| is_other(it)) || self.before.iter().any(is_other)
    }
}
