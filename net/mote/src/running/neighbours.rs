//! Keys with neighbours, on a link that protects what passes: whom the network document names is
//! admitted, and proves the mix key that the document gives it.

use core::net::SocketAddrV6;

use motemix_crypto::Secret;
use motemix_link::meeting::{Admitted, Neighbourhood, admitted};
use motemix_link::serial::ExtendedAddress;
use motemix_node::{Instant, Node};
use motemix_sphinx::{NodeId, Profile};
use rand_core::CryptoRng;

use super::Running;
use crate::link::Link;
use crate::network::{Network, Route};

/// What the link is to be told of this node's own key.
pub(super) enum OwnKey {
    /// Another epoch has begun, with this mix key.
    Changed(Secret<32>),
    /// The epoch is over.
    Gone,
}

/// The stations of the network document, and those of the document before.
struct Named<'r, 'm, P: Profile, R: CryptoRng> {
    routes: &'r [Route],
    network: &'r Network,
    node: &'r Node<'m, P, R>,
    /// The link's.
    station_at: fn(SocketAddrV6) -> Option<ExtendedAddress>,
}

impl<P: Profile, R: CryptoRng> Named<'_, '_, P, R> {
    fn stations(&self) -> impl Iterator<Item = ExtendedAddress> {
        self.routes.iter().filter_map(|route| (self.station_at)(route.address()?))
    }
}

impl<P: Profile, R: CryptoRng> Neighbourhood for Named<'_, '_, P, R> {
    fn admitted(&self, station: ExtendedAddress) -> Option<Admitted> {
        let index = self.stations_of_now().position(|it| it == Some(station))?;
        let entry = self.node.entry(NodeId::new(index as u16)?)?;
        Some(admitted(entry.mix_key.0, self.network.epoch.0))
    }

    fn station_with(&self, short: [u8; 2]) -> Option<ExtendedAddress> {
        let mut stations = self.stations_of_now().flatten().filter(|station| station.short() == short);
        let station = stations.next();
        station.filter(|_| stations.next().is_none())
    }

    fn shares_short(&self, station: ExtendedAddress) -> bool {
        self.stations().any(|other| other != station && other.short() == station.short())
    }

    fn address_of(&self, station: ExtendedAddress) -> Option<SocketAddrV6> {
        let mut addresses = self.routes.iter().filter_map(Route::address);
        addresses.find(|address| (self.station_at)(*address) == Some(station))
    }
}

impl<P: Profile, R: CryptoRng> Named<'_, '_, P, R> {
    /// By their ids.
    fn stations_of_now(&self) -> impl Iterator<Item = Option<ExtendedAddress>> {
        let now = self.routes.iter().take(self.network.nodes);
        now.map(|route| route.address().and_then(self.station_at))
    }
}

impl<P: Profile, F, R: CryptoRng> Running<'_, P, F, R> {
    /// Makes keys with neighbours, by one scalar multiplication at most; `true` if the link has
    /// more to do.
    #[inline(never)]
    pub(super) fn meet<L: Link>(&mut self, now: Instant, link: &mut L) -> bool {
        if let Some(own) = self.own_key.take() {
            self.prove(own, link);
        }
        let (routes, network, node) = (&*self.routes, &self.network, &self.node);
        let named = Named { routes, network, node, station_at: L::station_at };
        link.meet(now, &named, &mut self.mote.random)
    }

    /// Has the link prove another key, or none. In a frame of its own: what it moves must not lie
    /// beneath a multiplication.
    #[inline(never)]
    fn prove<L: Link>(&self, own: OwnKey, link: &mut L) {
        let public = self.node.entry(self.node.id());
        let own = match (own, public) {
            (OwnKey::Changed(secret), Some(entry)) => {
                Some((secret, admitted(entry.mix_key.0, self.network.epoch.0)))
            }
            _ => None,
        };
        let (routes, network, node) = (&*self.routes, &self.network, &self.node);
        let named = Named { routes, network, node, station_at: L::station_at };
        let me = named.stations_of_now().nth(self.node.id().get().into()).flatten();
        // Whom neither document names has no place here any more.
        link.set_identity(me, own, &mut |station| named.stations().any(|it| it == station));
    }
}
