//! Keys with neighbours, on a link that protects frames: whom the network document names is
//! admitted, and proves the mix key that the document gives it.

use motemix_crypto::Secret;
use motemix_link::meeting::{Admitted, Neighbourhood, admitted};
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::station_of;
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
}

impl<P: Profile, R: CryptoRng> Named<'_, '_, P, R> {
    fn stations(&self) -> impl Iterator<Item = ExtendedAddress> {
        self.routes.iter().filter_map(|route| station_of(*route.address()?.ip()))
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
}

impl<P: Profile, R: CryptoRng> Named<'_, '_, P, R> {
    /// By their ids.
    fn stations_of_now(&self) -> impl Iterator<Item = Option<ExtendedAddress>> {
        let now = self.routes.iter().take(self.network.nodes);
        now.map(|route| route.address().and_then(|address| station_of(*address.ip())))
    }
}

impl<P: Profile, F, R: CryptoRng> Running<'_, P, F, R> {
    /// Makes keys with neighbours, by one scalar multiplication at most; `true` if the link has
    /// more to do.
    #[inline(never)]
    pub(super) fn meet<L: Link>(&mut self, now: Instant, link: &mut L) -> bool {
        let named = Named { routes: self.routes, network: &self.network, node: &self.node };
        if let Some(own) = self.own_key.take() {
            let public = self.node.entry(self.node.id());
            let own = match (own, public) {
                (OwnKey::Changed(secret), Some(entry)) => {
                    Some((secret, admitted(entry.mix_key.0, self.network.epoch.0)))
                }
                _ => None,
            };
            // Whom neither document names has no place here any more.
            link.set_identity(own, &mut |station| named.stations().any(|it| it == station));
        }
        link.meet(now, &named, &mut self.mote.random)
    }
}
