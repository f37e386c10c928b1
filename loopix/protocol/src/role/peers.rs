//! Who is in the network, as routing commands name them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use motemix_crypto::p224::Point;
use rmpv::Value;

use super::hosts::address;
use super::{Address, Hosts};
use crate::files::{Directory, MixEntry, Profile, ProviderEntry, UserEntry};
use crate::packet::{Format, forward};
use crate::wire::command::{Command, Next, NodeId, Text, node_id};

/// What somebody does in the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Duty {
    /// A mix of this layer.
    Mix {
        /// From 0.
        layer: usize,
    },
    /// A provider.
    Provider,
    /// A user of this provider.
    User {
        /// The provider's name.
        provider: Arc<str>,
    },
}

/// A member of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peer {
    pub(super) name: Arc<str>,
    pub(super) address: Address,
    pub(super) key: Point,
    pub(super) id: NodeId,
    pub(super) duty: Duty,
}

impl Peer {
    fn new(name: &str, host: &str, port: u16, key: Point, duty: Duty) -> Self {
        let address = Address { host: host.into(), port };
        Self { name: name.into(), address, id: node_id(&key), key, duty }
    }

    /// How the originals pack host and name, having them from their database.
    const fn texts(&self) -> (Text, Text) {
        match self.duty {
            Duty::Mix { .. } => (Text::Str, Text::Str),
            Duty::Provider => (Text::Bin, Text::Bin),
            Duty::User { .. } => (Text::Str, Text::Bin),
        }
    }

    /// The routing string that sends a packet here.
    pub(super) fn routing(&self, profile: Profile, format: &Format, delay: Duration, drop: bool) -> Vec<u8> {
        let next = match profile {
            Profile::Hardened => Next::Id(self.id),
            Profile::Ucl2017 | Profile::Fork2018 => Next::Named {
                host: self.address.host.to_string(),
                port: self.address.port,
                name: self.name.to_string(),
            },
        };
        let (host, name) = self.texts();
        forward::relay(format, Command { next, delay, drop }.value(host, name))
    }
}

/// The network as one node sees it.
#[derive(Debug)]
pub(super) struct Peers {
    profile: Profile,
    max_delay: Duration,
    /// Indices of `all`.
    pub(super) layers: Vec<Vec<usize>>,
    pub(super) providers: Vec<usize>,
    pub(super) users: Vec<usize>,
    pub(super) all: Vec<Peer>,
    by_id: HashMap<NodeId, usize>,
    by_address: HashMap<Address, usize>,
    /// By what name servers say: the originals write IP addresses where the directory has names.
    by_ip: HashMap<(IpAddr, u16), usize>,
    users_by_name: HashMap<Arc<str>, usize>,
}

impl Peers {
    pub(super) fn new(profile: Profile, max_delay: Duration, directory: &Directory) -> Self {
        let mut peers = Self {
            profile,
            max_delay,
            layers: Vec::new(),
            providers: Vec::new(),
            users: Vec::new(),
            all: Vec::new(),
            by_id: HashMap::new(),
            by_address: HashMap::new(),
            by_ip: HashMap::new(),
            users_by_name: HashMap::new(),
        };
        for (layer, mixes) in directory.layers().iter().enumerate() {
            let places = mixes.iter().map(|mix| peers.add(of_mix(mix, layer))).collect();
            peers.layers.push(places);
        }
        for provider in directory.providers() {
            let place = peers.add(of_provider(provider));
            peers.providers.push(place);
        }
        for user in directory.users() {
            let place = peers.add(of_user(user));
            peers.users.push(place);
            let name = peers.all[place].name.clone();
            peers.users_by_name.entry(name).or_insert(place);
        }
        peers
    }

    fn add(&mut self, peer: Peer) -> usize {
        let place = self.all.len();
        self.by_id.entry(peer.id).or_insert(place);
        self.by_address.entry(peer.address.clone()).or_insert(place);
        self.all.push(peer);
        place
    }

    /// From now on these are the addresses of the directory's hosts. Of two nodes with one address
    /// and port, the first in the directory counts.
    pub(super) fn set_hosts(&mut self, hosts: &Hosts) {
        self.by_ip.clear();
        for (place, peer) in self.all.iter().enumerate() {
            for ip in hosts.of(&peer.address.host) {
                self.by_ip.entry((ip, peer.address.port)).or_insert(place);
            }
        }
    }

    /// What a hop is told. `None` if it makes no sense.
    pub(super) fn command(&self, value: &Value) -> Option<Command> {
        match self.profile {
            Profile::Hardened => Command::parse_id(value, self.max_delay),
            Profile::Ucl2017 | Profile::Fork2018 => Command::parse_named(value, self.max_delay),
        }
    }

    /// Who is meant. A user is found by name, as a provider of the originals does; everybody else
    /// by address, in the directory's words or as the IP address that they stand for. What is
    /// sent goes where the directory says.
    pub(super) fn find(&self, next: &Next) -> Option<&Peer> {
        match next {
            Next::Id(id) => self.all.get(*self.by_id.get(id)?),
            Next::Named { host, port, name } => self.user(name).or_else(|| {
                let address = Address { host: host.as_str().into(), port: *port };
                self.all.get(*self.by_address.get(&address).or_else(|| self.by_ip(host, *port))?)
            }),
        }
    }

    fn by_ip(&self, host: &str, port: u16) -> Option<&usize> {
        self.by_ip.get(&(address(host)?, port))
    }

    pub(super) fn user(&self, name: &str) -> Option<&Peer> {
        self.all.get(*self.users_by_name.get(name)?)
    }

    pub(super) fn by_id(&self, id: NodeId) -> Option<&Peer> {
        self.all.get(*self.by_id.get(&id)?)
    }

    pub(super) fn provider(&self, name: &str) -> Option<&Peer> {
        self.providers.iter().filter_map(|place| self.all.get(*place)).find(|peer| *peer.name == *name)
    }
}

pub(super) fn of_mix(mix: &MixEntry, layer: usize) -> Peer {
    Peer::new(&mix.name, &mix.host, mix.port, mix.public_key, Duty::Mix { layer })
}

pub(super) fn of_provider(provider: &ProviderEntry) -> Peer {
    Peer::new(&provider.name, &provider.host, provider.port, provider.public_key, Duty::Provider)
}

pub(super) fn of_user(user: &UserEntry) -> Peer {
    let duty = Duty::User { provider: user.provider.as_str().into() };
    Peer::new(&user.name, &user.host, user.port, user.public_key, duty)
}
